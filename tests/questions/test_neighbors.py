"""Neighbors and similarities are the cosines that NumPy and gensim compute."""

from __future__ import annotations

import numpy as np
import pandas as pd
import planted
import pytest
from gensim.models import KeyedVectors
from hypothesis import given
from hypothesis import strategies as st

import laplex as lx


def by_hand(matrix, query, words, without):
    """All words but some, by cosine."""
    similarity = planted.unit(matrix) @ planted.unit(query)
    order = [i for i in np.argsort(-similarity) if words[i] not in without]
    return [words[i] for i in order], similarity[order]


def test_neighbors_are_those_of_numpy_in_every_slice(model):
    found = model.embeddings.inference(min_uses=0).neighbors("w03", 5, test=False)
    assert list(found.columns) == ["word", "party", "year", "rank", "neighbor", "similarity", "uses"]
    assert len(found) == 6 * 5
    for slice, (key, rows) in enumerate(found.groupby(["party", "year"])):
        assert key == model.keys[slice]
        names, similarity = by_hand(model.x[slice], model.vector("w03", *key), model.words, ["w03"])
        assert rows["neighbor"].tolist() == names[:5]
        np.testing.assert_allclose(rows["similarity"], similarity[:5], atol=1e-6)
        assert rows["rank"].tolist() == [1, 2, 3, 4, 5]
        assert rows["uses"].tolist() == [model.count(name, *key) for name in names[:5]]
        assert set(rows["word"]) == {"w03"}


def test_part_of_a_slice_chooses_the_slices_that_agree(model):
    found = model.embeddings.neighbors("w03", 2, at={"party": "R"})
    assert found["year"].tolist() == [year for year in planted.YEARS for _ in range(2)]
    one = model.embeddings.neighbors("w03", 2, at={"party": "R", "year": 2001})
    pd.testing.assert_frame_equal(one, found[found["year"] == "2001"].reset_index(drop=True))


def test_neighbors_of_several_words_are_those_of_their_mean_direction(model):
    found = model.embeddings.neighbors(["w01", "w02"], 4, at={"party": "D", "year": "2000"})
    mean = planted.unit(model.x[0, [1, 2]]).mean(0)
    names, similarity = by_hand(model.x[0], mean, model.words, ["w01", "w02"])
    assert found["neighbor"].tolist() == names[:4]
    np.testing.assert_allclose(found["similarity"], similarity[:4], atol=1e-6)
    assert set(found["word"]) == {"w01 + w02"}


def test_contexts_are_compared_without_slices(model):
    found = model.embeddings.neighbors("w03", 4, by="contexts", test=False)
    names, similarity = by_hand(model.contexts, model.contexts[3], model.words, ["w03"])
    assert list(found.columns) == ["word", "rank", "neighbor", "similarity", "uses"]
    assert found["neighbor"].tolist() == names[:4]
    np.testing.assert_allclose(found["similarity"], similarity[:4], atol=1e-6)
    assert found["uses"].tolist() == [int(model.counts.sum(0)[model.words.index(name)]) for name in names[:4]]


def test_word_and_context_vectors_can_be_compared_by_their_sum(model):
    found = model.embeddings.neighbors("w03", 4, by="both", at={"party": "R", "year": "2003"})
    both = model.x[-1] + model.contexts
    names, similarity = by_hand(both, both[3], model.words, ["w03"])
    assert found["neighbor"].tolist() == names[:4]
    np.testing.assert_allclose(found["similarity"], similarity[:4], atol=1e-6)


def keyed(model):
    vectors = KeyedVectors(model.x.shape[2])
    vectors.add_vectors(model.words, model.x[0].astype(np.float32))
    return vectors


@pytest.mark.parametrize(
    ("positive", "negative"),
    [("w03", None), (["w03", "w04"], ["w05"]), (["w03"], ["w05", "w06"]), (None, "w07"), (["w03", "w03"], "w07")],
)
def test_analogies_are_those_of_gensim(model, positive, negative):
    theirs = keyed(model).most_similar(positive=positive, negative=negative, topn=7)
    ours = model.embeddings.inference(min_uses=0).neighbors(
        positive or (), 7, negative=negative, at={"party": "D", "year": "2000"}
    )
    assert ours["neighbor"].tolist() == [word for word, _ in theirs]
    np.testing.assert_allclose(ours["similarity"], [similarity for _, similarity in theirs], atol=1e-6)


def test_an_analogy_is_named_as_one_would_write_it(model):
    found = model.embeddings.neighbors(["w01", "w02"], 1, negative=["w03", "w04"], at={"party": "D", "year": "2000"})
    assert found["word"].tolist() == ["w01 + w02 − w03 − w04"]
    assert model.embeddings.neighbors(negative="w03", k=1)["word"].iloc[0] == "− w03"


@given(words=st.integers(1, 40), dimensions=st.integers(1, 8), k=st.integers(1, 60), seed=st.integers(0, 999))
def test_any_number_of_neighbors_is_ranked_as_a_full_sort_would(words, dimensions, k, seed):
    model = planted.plant({}, words=words, dimensions=dimensions, seed=seed)
    found = model.embeddings.neighbors("w00", k)
    _, similarity = by_hand(model.x[0], model.x[0, 0], model.words, ["w00"])
    assert len(found) == min(k, words - 1)
    np.testing.assert_allclose(found["similarity"], similarity[:k], atol=2e-6)
    assert found["similarity"].is_monotonic_decreasing
    assert found["neighbor"].is_unique


def test_more_neighbors_than_words_are_all_words(model):
    found = model.embeddings.inference(min_uses=0).neighbors("w03", 10**9, at={"party": "D", "year": "2000"})
    assert set(found["neighbor"]) == set(model.words) - {"w03"}


def two_languages():
    """Every Italian word lies near its English twin."""
    english = np.random.default_rng(1).standard_normal((20, 5))
    vocabularies = [
        lx.Vocabulary(planted.names(20), np.arange(20, 0, -1), "en"),
        lx.Vocabulary([*(f"i{i:02d}" for i in range(15)), "w03"], np.arange(16, 0, -1), "it"),
    ]
    return lx.Embeddings.of(vocabularies, [english, english[:16] + 0.01]), english


def test_translations_are_looked_for_in_the_other_language():
    made, english = two_languages()
    there = made.neighbors("w07", 3, language="en", to_language="it")
    assert there["neighbor"].iloc[0] == "i07"
    assert there["uses"].iloc[0] == 9
    assert there["similarity"].iloc[0] == pytest.approx(planted.cosine(english[7], english[7] + 0.01), abs=1e-6)
    back = made.neighbors("i07", 1, language="it", to_language="en")
    assert back["neighbor"].tolist() == ["w07"]


def test_a_word_written_alike_in_the_other_language_is_not_left_out():
    made, _ = two_languages()
    assert "w03" in set(made.neighbors("w03", 16, language="en", to_language="it")["neighbor"])
    assert "w03" not in set(made.neighbors("w03", 20, language="en", to_language="en")["neighbor"])


def test_similarity_of_two_words_in_each_slice(model):
    found = model.embeddings.similarity("w03", "w04", at={"party": "R"}, test=False)
    assert list(found.columns) == ["word", "other", "party", "year", "similarity", "uses", "uses_other"]
    for row in found.itertuples():
        key = (row.party, row.year)
        right = planted.cosine(model.vector("w03", *key), model.vector("w04", *key))
        assert row.similarity == pytest.approx(right, abs=1e-6)
        assert (row.uses, row.uses_other) == (model.count("w03", *key), model.count("w04", *key))
    assert found["year"].tolist() == list(planted.YEARS)


def test_similarity_of_a_word_and_its_translation():
    made, english = two_languages()
    found = made.similarity("w02", "i05", language="en", to_language="it", test=False)
    assert found["similarity"].tolist() == pytest.approx([planted.cosine(english[2], english[5] + 0.01)], abs=1e-6)
    assert found[["uses", "uses_other"]].to_numpy().tolist() == [[18, 11]]


def zeroed():
    """w03 has no vector in the party R, w04 in none."""
    x = np.random.default_rng(2).standard_normal((2, 6, 4))
    x[1, 3] = 0
    x[:, 4] = 0
    counts = np.ones((2, 6), np.int64)
    counts[1, 3] = counts[0, 4] = counts[1, 4] = 0
    slices = planted.Slices(("party",), (("D",), ("R",)), np.empty(0, np.int32))
    vocabulary = lx.Vocabulary(planted.names(6), counts.sum(0))
    return lx.Embeddings.of([vocabulary], [x], slices=slices, counts=[counts])


def test_a_slice_in_which_a_word_has_no_vector_is_left_out_and_said(capsys):
    made = zeroed()
    made.counts[0] = np.zeros_like(made.counts[0])  # as vectors have that came without counts
    assert set(made.neighbors("w03")["party"]) == {"D"}
    assert 'the vector of "w03" is zero in 1 of 2 slices' in capsys.readouterr().err


@pytest.mark.parametrize("question", ["neighbors", "similarity"])
def test_a_slice_in_which_a_word_has_no_use_is_left_out_and_said(model, capsys, question):
    made = planted.plant({"party": ["D", "R"]}).embeddings
    made.counts[0][1, 3] = 0
    others = {"neighbors": [], "similarity": ["w05"]}[question]
    found = getattr(made, question)("w03", *others)
    assert set(found["party"]) == {"D"}
    assert "w03" in (said := capsys.readouterr().err)
    assert "has no use in R: left out" in said
    with pytest.raises(lx.InputError, match=r"w03.* has no use in R: there is nothing to say about it there"):
        getattr(made, question)("w03", *others, at={"party": "R"})


def test_neighbors_in_a_slice_are_words_that_are_used_there():
    made = planted.plant({"party": ["D", "R"]}).embeddings
    made.counts[0][:] = 9
    before = made.neighbors("w03", 3)
    nearest = before["neighbor"][0]
    made.counts[0][0, made.id(nearest, 0)] = 4
    after = made.neighbors("w03", 3)
    assert nearest not in set(after.loc[after["party"] == "D", "neighbor"])
    pd.testing.assert_frame_equal(after[after["party"] == "R"], before[before["party"] == "R"])
    pd.testing.assert_series_equal(made.inference(min_uses=4).neighbors("w03", 3)["neighbor"], before["neighbor"])


def test_a_word_without_a_vector_is_nobodys_neighbor_and_has_none(recwarn):
    made = zeroed()
    assert "w04" not in set(made.neighbors("w00")["neighbor"])
    made.counts[0] = np.zeros_like(made.counts[0])
    assert np.isnan(made.similarity("w04", "w00")["similarity"]).all()
    with pytest.raises(lx.InputError, match='the vector of "w04" is zero in 2 of 2 slices'):
        made.neighbors("w04")
    with pytest.raises(lx.InputError, match='the vector of "w04" is zero here'):
        made.neighbors("w04", at={"party": "D"})
    assert len(recwarn) == 0


def test_a_vector_too_short_to_have_a_length_is_nobodys_neighbor():
    """Its square is zero in single precision, and a number divided by that was the largest similarity of all."""
    vectors = np.array([[1, 0], [1, 1], [1e-30, 1e-30]], np.float32)
    fitted = lx.Embeddings.of([lx.Vocabulary(["a", "b", "tiny"], np.ones(3, np.int64))], [vectors])
    assert fitted.neighbors("a")["neighbor"].tolist() == ["b"]
    assert fitted.similarity("a", "tiny")["similarity"].isna().all()


@pytest.mark.parametrize(
    "ask",
    [
        lambda fitted, five: fitted.neighbors("w03", five),
        lambda fitted, five: fitted.inference(min_uses=five).neighbors("w03"),
        lambda fitted, five: pd.DataFrame(fitted.at({"party": "D", "year": "2000"}).most_similar("w03", topn=five)),
    ],
    ids=["neighbors", "inference", "most_similar"],
)
def test_a_whole_number_may_be_written_as_a_float(model, ask):
    """R has no other way to write 5."""
    pd.testing.assert_frame_equal(ask(model.embeddings, 5.0), ask(model.embeddings, 5))
    pd.testing.assert_frame_equal(ask(model.embeddings, np.float64(5)), ask(model.embeddings, 5))
    with pytest.raises(lx.InputError, match=r"=5\.5 must be a whole number from"):
        ask(model.embeddings, 5.5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 0}, "k=0 must be a whole number from 1"),
        ({"k": 2.5}, r"k=2\.5 must be a whole number"),
        ({"word": "w033"}, r'"w033" is not in the vocabulary \(30 words\); close to it are'),
        ({"word": []}, "name a word"),
        ({"word": None}, "name a word"),
        ({"word": 3}, "a word is text, not 3"),
        ({"word": [3]}, "a word is text, not 3"),
        ({"by": "sums"}, 'by="sums": write "words", "contexts" or "both"'),
        ({"by": "contexts", "at": {"party": "D"}}, "shared by all slices: leave out party"),
        ({"at": {"party": "X"}}, r"no value 'X'; it has D, R"),
        ({"at": {"color": "red"}}, 'do not vary by "color"; they vary by: party, year'),
        ({"language": "en"}, "one language, which has no name"),
        ({"to_language": "en"}, "one language, which has no name"),
    ],
)
def test_bad_questions_are_refused(model, options, message):
    with pytest.raises(lx.InputError, match=message):
        model.embeddings.neighbors(**({"word": "w03"} | options))


def test_vectors_without_contexts_say_so():
    made = lx.Embeddings.of([lx.Vocabulary(["a", "b"], np.array([2, 1]))], [np.eye(2)])
    for by in ("contexts", "both"):
        with pytest.raises(lx.InputError, match="without context vectors"):
            made.neighbors("a", by=by)


def test_languages_are_told_apart():
    made, _ = two_languages()
    with pytest.raises(lx.InputError, match='say which language, of en, it: language="en", or --language en'):
        made.neighbors("w07")
    with pytest.raises(lx.InputError, match='"i07" is not a word of "en", but of "it": write language="it"'):
        made.neighbors("i07", language="en")
    with pytest.raises(lx.InputError, match='no language "de"; there are en, it'):
        made.neighbors("w07", language="en", to_language="de")


def test_a_language_without_words_says_so():
    vocabularies = [lx.Vocabulary(["a", "b"], np.array([2, 1]), "en"), lx.Vocabulary([], np.empty(0, np.int64), "it")]
    made = lx.Embeddings.of(vocabularies, [np.eye(2), np.empty((0, 2))])
    assert made.neighbors("a", language="en")["neighbor"].tolist() == ["b"]
    with pytest.raises(lx.InputError, match='the language "it" has no words'):
        made.neighbors("a", language="en", to_language="it")
    with pytest.raises(lx.InputError, match='the language "it" has no words'):
        made.neighbors("a", language="it")
