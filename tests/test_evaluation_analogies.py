"""Analogies: against gensim and written out, what is counted, and what is wrong with the input."""

from __future__ import annotations

import numpy as np
import pytest
from gensim.models import KeyedVectors

import laplex as lx
from laplex.evaluation.retrieval import analogies
from laplex.text.slices import Slices

SINGULAR = [f"s{i}" for i in range(12)]
PLURAL = [f"p{i}" for i in range(12)]
OTHERS = [f"o{i}" for i in range(300)]
WORDS = [*SINGULAR, *PLURAL, *OTHERS]


def matrix(noise=0.9, seed=0):
    """A plural is its singular and something common to all plurals, more or less."""
    random = np.random.default_rng(seed)
    one = random.standard_normal((12, 20))
    two = one + 2 * random.standard_normal(20) + noise * random.standard_normal((12, 20))
    return np.concatenate([one, two, random.standard_normal((300, 20))]).astype(np.float32)


def vectors(noise=0.9, seed=0, words=WORDS):
    return lx.Embeddings.of([lx.Vocabulary(words, np.arange(len(words), 0, -1))], [matrix(noise, seed)[: len(words)]])


QUESTIONS = {
    "gram plural": [(f"s{i}", f"p{i}", f"s{j}", f"p{j}") for i in range(12) for j in range(12) if i != j],
    "gram singular": [(f"p{i}", f"s{i}", f"p{j}", f"s{j}") for i in range(12) for j in range(12) if i != j],
    "nonsense": [(f"o{i}", f"o{i + 1}", f"o{i + 2}", f"o{i + 3}") for i in range(100)],
}


def written_out(unit, ids):
    """The right answers, one question at a time."""
    right = 0
    for a, b, c, d in ids:
        cosines = unit @ (unit[b] - unit[a] + unit[c])
        cosines[[a, b, c]] = -np.inf
        right += int(cosines.argmax() == d)
    return right


def test_the_share_of_right_answers_is_that_of_gensim(write):
    model = vectors()
    lines = [f": {name}\n" + "".join(" ".join(q) + "\n" for q in rows) for name, rows in QUESTIONS.items()]
    path = write("questions.txt", "".join(lines))
    theirs = KeyedVectors(20)
    theirs.add_vectors(WORDS, model.matrix())
    total, sections = theirs.evaluate_word_analogies(str(path), case_insensitive=False)
    frame = analogies(model, path).set_index("section")
    for section in sections[:-1]:
        assert frame.loc[section["section"], "correct"] == len(section["correct"])
    assert frame.loc["total", "accuracy"] == pytest.approx(total)
    assert 0.1 < total < 0.9


def test_right_answers_are_those_written_out_section_by_section():
    model = vectors(noise=1.5)
    unit = model.matrix() / np.linalg.norm(model.matrix(), axis=1, keepdims=True)
    frame = analogies(model, QUESTIONS).set_index("section")
    assert list(frame.index) == [*QUESTIONS, "semantic", "syntactic", "total"]
    assert list(frame.columns) == ["model", "accuracy", "correct", "questions", "missing"]
    right = [written_out(unit, [[WORDS.index(w) for w in q] for q in rows]) for rows in QUESTIONS.values()]
    assert list(frame["correct"]) == [*right, right[2], right[0] + right[1], sum(right)]
    assert list(frame["questions"]) == [132, 132, 100, 100, 264, 364]
    assert frame["accuracy"].to_numpy() == pytest.approx((frame["correct"] / frame["questions"]).to_numpy())


def test_of_one_kind_alone_there_is_only_the_total():
    frame = analogies(vectors(), {"nonsense": QUESTIONS["nonsense"]})
    assert list(frame["section"]) == ["nonsense", "total"]


def test_only_the_most_frequent_words_ask_and_answer():
    model = vectors()
    frame = analogies(model, QUESTIONS, most=18).set_index("section")  # of the plurals, p0 to p5
    assert list(frame.loc[:"nonsense", "questions"]) == [30, 30, 0]
    assert list(frame.loc[:"nonsense", "missing"]) == [102, 102, 100]
    assert np.isnan(frame.loc["nonsense", "accuracy"])
    few = lx.Embeddings.of([lx.Vocabulary(WORDS[:18], np.arange(18, 0, -1))], [matrix()[:18]])
    assert list(frame["correct"]) == list(analogies(few, QUESTIONS, most=None)["correct"])


def test_words_of_the_question_are_never_the_answer():
    model = lx.Embeddings.of([lx.Vocabulary(["a", "b", "c"], np.ones(3, np.int64))], [np.eye(3)])
    assert analogies(model, {"x": [("a", "b", "c", "c"), ("a", "b", "c", "a")]})["correct"].tolist() == [0, 0]


def test_the_answer_may_be_behind_all_words_of_the_question():
    close = [[1, 0.0], [1, 0.01], [1, 0.02], [1, 0.3]]
    model = lx.Embeddings.of([lx.Vocabulary(list("abcdef"), np.ones(6, np.int64))], [[*close, [-1, 0], [-1, 1]]])
    assert analogies(model, {"x": [("a", "b", "c", "d"), ("b", "a", "c", "e")]})["correct"].tolist() == [1, 1]


def test_models_side_by_side_and_capitals(capsys):
    questions = {"capitals": [tuple(word.upper() for word in q) for q in QUESTIONS["gram plural"]]}
    frame = analogies({"good": vectors(0.1), "bad": vectors(3.0)}, questions)
    assert list(frame["model"]) == ["good", "bad"] * 2
    assert frame["accuracy"][0] > 0.9 > frame["accuracy"][1]
    assert capsys.readouterr().err.count("24 words with capitals are looked up in lower case") == 1


def test_slices_are_chosen():
    slices = Slices(("party",), (("D",), ("R",)), np.empty(0, np.int32))
    counts = [np.ones((2, len(WORDS)), np.int64)]
    both = np.stack([matrix(0.1), matrix(3.0)])
    model = lx.Embeddings.of([lx.Vocabulary(WORDS, counts[0].sum(0))], [both], slices=slices, counts=counts)
    for party, noise in (("D", 0.1), ("R", 3.0)):
        assert list(analogies(model, QUESTIONS, at={"party": party})["correct"]) == list(
            analogies(vectors(noise), QUESTIONS)["correct"]
        )
    with pytest.raises(lx.InputError, match='model has 2 slices: say which by a value of "party"'):
        analogies(model, QUESTIONS)


def test_bad_input():
    with pytest.raises(lx.InputError, match="most=0 must be at least 1"):
        analogies(vectors(), QUESTIONS, most=0)
    with pytest.raises(lx.InputError, match=r"model knows all four words of none of the 1 questions \(20 words"):
        analogies(vectors(), {"x": [("s0", "p0", "s1", "p11")]}, most=20)
    with pytest.raises(lx.InputError, match="by="):
        analogies(vectors(), QUESTIONS, by="sentences")
    with pytest.raises(lx.InputError, match="without context vectors"):
        analogies(vectors(), QUESTIONS, by="both")
