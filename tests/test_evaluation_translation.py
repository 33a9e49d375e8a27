"""Lexicon induction: against NumPy written out, what is counted, and what is wrong with the input."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import laplex as lx
from laplex.evaluation.retrieval import translation
from laplex.text.slices import Slices

ENGLISH = [f"e{i}" for i in range(200)]
ITALIAN = [f"i{i}" for i in range(230)]


def matrices(noise=1.3, seed=0):
    random = np.random.default_rng(seed)
    english = random.standard_normal((200, 12))
    italian = np.concatenate([english, random.standard_normal((30, 12))]) + noise * random.standard_normal((230, 12))
    return english.astype(np.float32), (italian + 0.7).astype(np.float32)  # the shift makes hubs


def vocabularies(english=ENGLISH, italian=ITALIAN):
    return [
        lx.Vocabulary(words, np.arange(len(words), 0, -1), language)
        for words, language in ((english, "en"), (italian, "it"))
    ]


def vectors(noise=1.3, seed=0):
    return lx.Embeddings.of(vocabularies(), matrices(noise, seed))


PAIRS = [(f"e{i}", f"i{i}") for i in range(80)]


def scale(matrix):
    return matrix / np.linalg.norm(matrix, axis=1, keepdims=True)


def precision(source, target, gold, k, method, neighborhood):
    """By the full matrix of similarities. `gold`: for each source word, its translations."""
    cosine = scale(source) @ scale(target).T
    if method == "csls":
        over_target = np.sort(cosine, axis=1)[:, -neighborhood:].mean(1)
        over_source = np.sort(cosine, axis=0)[-neighborhood:].mean(0)
        cosine = 2 * cosine - over_target[:, None] - over_source[None]
    hits = [bool(set(np.argsort(-cosine[word])[:k]) & right) for word, right in gold.items()]
    return np.mean(hits)


def test_precision_is_that_of_the_full_matrix_both_ways():
    model = vectors()
    english, italian = matrices()
    frame = translation(model, PAIRS, source="en", target="it", neighborhood=7)
    assert list(frame.columns) == [
        *("from", "to", "model", "method"),
        *("P@1", "P@5", "P@15", "words", "missing", "missing_gold"),
    ]
    assert list(zip(frame["from"], frame["to"], frame["method"], strict=True)) == [
        ("en", "it", "nearest"),
        ("en", "it", "csls"),
        ("it", "en", "nearest"),
        ("it", "en", "csls"),
    ]
    gold = {i: {i} for i in range(80)}
    for row in frame.to_dict("records"):
        pair = (english, italian) if row["from"] == "en" else (italian, english)
        for k in (1, 5, 15):
            assert row[f"P@{k}"] == pytest.approx(precision(*pair, gold, k, row["method"], 7))
    assert (frame["words"] == 80).all()
    assert frame["P@15"][0] != frame["P@15"][1]
    assert frame["P@5"].between(0.05, 0.95).all()


def test_any_of_several_translations_counts_and_what_is_not_known_is_counted(write):
    path = write("it-en.tsv", "i0\te5 e0 e0\ni1\te7\ni2\tnowhere\nstrange\te3 e4\ni3\te3 nowhere\n")
    frame = translation(vectors(), path, source="it", target="en", k=[1, 3], method="nearest")
    english, italian = matrices()
    assert frame["P@3"][0] == pytest.approx(precision(italian, english, {0: {0, 5}, 1: {7}, 3: {3}}, 3, "nearest", 1))
    back = {0: {0}, 5: {0}, 7: {1}, 3: {3}}
    assert frame["P@3"][1] == pytest.approx(precision(english, italian, back, 3, "nearest", 1))
    assert frame[["words", "missing", "missing_gold"]].to_numpy().tolist() == [[3, 1, 1], [4, 1, 1]]
    assert "P@5" not in frame


def test_two_languages_need_not_be_named():
    named = translation(vectors(), PAIRS, source="en", target="it")
    backwards = [pair[::-1] for pair in PAIRS]
    turned = translation(vectors(), backwards, source="it", target="en")
    for languages in ({}, {"source": "en"}, {"target": "it"}):
        assert translation(vectors(), PAIRS, **languages).equals(named)
    for languages in ({}, {"source": "it"}, {"target": "en"}):
        assert translation(vectors(), backwards, **languages).equals(turned)
    assert turned["from"].tolist() == ["it", "it", "en", "en"]


def test_of_three_languages_two_are_to_be_named():
    matrices = [np.eye(5)] * 3
    words = [lx.Vocabulary([f"{name}{i}" for i in range(5)], np.ones(5, np.int64), name) for name in "abc"]
    model = lx.Embeddings.of(words, matrices)
    pairs = [("a1", "c1"), ("a2", "c3")]
    frame = translation(model, pairs, source="a", target="c", k=1, method="nearest")
    assert frame["P@1"].tolist() == [0.5, 0.5]
    with pytest.raises(lx.InputError, match="say which languages: source= and target= of a, b, c"):
        translation(model, pairs, source="a")


def test_only_the_most_frequent_words_count():
    english, italian = matrices()
    frame = translation(vectors(), PAIRS, source="en", target="it", most=50, method="csls")
    gold = {i: {i} for i in range(50)}
    assert frame["P@5"][0] == pytest.approx(precision(english[:50], italian[:50], gold, 5, "csls", 10))
    assert (frame["words"][0], frame["missing"][0]) == (50, 30)


def test_models_side_by_side_and_slices_of_some():
    slices = Slices(("party",), (("D",), ("R",)), np.empty(0, np.int32))
    good, bad = matrices(0.1), matrices(3.0)
    counts = [np.ones((2, 200), np.int64), np.ones((2, 230), np.int64)]
    parts = [np.stack(pair) for pair in zip(good, bad, strict=True)]
    parties = lx.Embeddings.of(vocabularies(), parts, slices=slices, counts=counts)
    frame = translation(
        {"parties": parties, "bad": vectors(3.0)}, PAIRS, source="en", target="it", k=1, at={"party": "D"}
    )
    alone = translation(vectors(0.1), PAIRS, source="en", target="it", k=1)
    assert frame[frame["model"] == "parties"]["P@1"].tolist() == alone["P@1"].tolist()
    assert frame[frame["model"] == "bad"]["P@1"].max() < alone["P@1"].min()
    with pytest.raises(lx.InputError, match='parties has 2 slices: say which by a value of "party"'):
        translation({"parties": parties}, PAIRS, source="en", target="it")


def test_lists_of_which_few_words_are_known_are_said(capsys):
    asked = {"source": "en", "target": "it", "method": "nearest"}
    unknown = [("Haus", f"Casa{i}") for i in range(81)]
    frame = translation(vectors(), PAIRS + unknown, **asked)
    assert frame["words"][0] == 80
    said = "80 of 161 pairs of the list of pairs have both words in the vocabulary (en – it); not in it are Haus, Casa0"
    assert said in capsys.readouterr().err
    translation(vectors(), PAIRS + unknown[:80], **asked)
    translation(vectors(), PAIRS + unknown, **asked, quiet=True)
    assert "pairs" not in capsys.readouterr().err


def test_the_lower_case_of_a_language_is_its_own():
    names = [*ITALIAN[:-1], "Roma"]
    model = lx.Embeddings.of(vocabularies(italian=names), matrices(0.1))
    frame = translation(model, [("E0", "i0"), ("e1", "I1"), ("E199", "Roma")], source="en", target="it", quiet=True)
    assert frame["words"].tolist() == [2, 2, 2, 2]
    assert frame["missing_gold"].tolist() == [1, 1, 0, 0]
    assert frame["missing"].tolist() == [0, 0, 1, 1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "cosine"}, 'method="cosine"'),
        ({"k": (1, 0)}, "k=0 must be a whole number from 1"),
        ({"k": (1, 2.5)}, "k=2.5 must be a whole number from 1"),
        ({"k": ()}, r"k=\(\) must be"),
        ({"k": (1, 201)}, 'k=201, but "en" has only 200 words'),
        ({"neighborhood": 0}, "neighborhood=0 must be"),
        ({"neighborhood": 500}, 'neighborhood=500, but "en" has only 200 words'),
        ({"target": "fr"}, "fr"),
        ({"target": "fr", "source": None}, "fr"),
        ({"target": "en"}, 'source and target are both "en"'),
        (
            {"pairs": [("i0", "e0")]},
            "none of the 1 pairs of the list of pairs in en and it; they are the other way round",
        ),
        ({"pairs": [("x", "y")]}, "knows both words of none of the 1 pairs"),
        ({"pairs": []}, "no pairs"),
        ({"at": {"year": 3}}, "do not vary by"),
    ],
)
def test_bad_input(options, message):
    chosen = {"pairs": PAIRS, "source": "en", "target": "it"} | options
    with pytest.raises(lx.InputError, match=message):
        translation(vectors(), **chosen)


def test_a_neighborhood_that_is_not_used_may_be_anything():
    frame = translation(vectors(), PAIRS, source="en", target="it", method="nearest", neighborhood=500)
    assert len(frame) == 2


def test_whole_numbers_may_be_floats_as_r_writes_them():
    asked = {"source": "en", "target": "it", "method": "csls"}
    ints, floats = ({"k": (1, 5), "neighborhood": 7}, {"k": [1.0, 5.0], "neighborhood": 7.0})
    pd.testing.assert_frame_equal(
        translation(vectors(), PAIRS, **asked, **ints), translation(vectors(), PAIRS, **asked, **floats)
    )
