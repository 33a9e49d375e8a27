"""One slice on its own answers as gensim's KeyedVectors do."""

from __future__ import annotations

import numpy as np
import planted
import pytest
from gensim.models import KeyedVectors

import laplex as lx


@pytest.fixture
def view(model):
    return model.embeddings.at({"party": "R", "year": "2001"})


@pytest.fixture
def theirs(model):
    vectors = KeyedVectors(model.x.shape[2])
    vectors.add_vectors(model.words, model.x[model.keys.index(("R", "2001"))].astype(np.float32))
    return vectors


@pytest.mark.parametrize(
    "question",
    [
        {"positive": "w03"},
        {"positive": ["w03"], "topn": 3},
        {"positive": ["w03", "w04"], "negative": ["w05"]},
        {"positive": ["w03", "w04"], "negative": "w05", "topn": 99},
        {"negative": ["w05", "w06"]},
    ],
)
def test_most_similar_is_that_of_gensim(view, theirs, question):
    right = theirs.most_similar(**question)
    found = view.most_similar(**question)
    assert [word for word, _ in found] == [word for word, _ in right]
    np.testing.assert_allclose([s for _, s in found], [s for _, s in right], atol=1e-6)
    assert all(type(word) is str and type(s) is float for word, s in found)


def test_similarity_is_that_of_gensim(view, theirs):
    assert view.similarity("w03", "w04") == pytest.approx(theirs.similarity("w03", "w04"), abs=1e-6)


def test_vectors_are_those_of_the_slice(view, theirs, model):
    np.testing.assert_array_equal(view["w03"], theirs["w03"])
    np.testing.assert_array_equal(view[["w03", "w04"]], theirs[["w03", "w04"]])
    assert view.count("w03") == model.count("w03", "R", "2001")


def test_a_view_is_a_collection_of_words(view, model):
    assert len(view) == 30
    assert "w03" in view
    assert "x03" not in view
    assert view.words == list(view) == model.words
    assert repr(view) == "View: 30 words, 6 dimensions, party=R, year=2001"


def test_changing_a_vector_does_not_change_the_model(view):
    vector = view["w03"]
    vector += 1
    assert not np.array_equal(vector, view["w03"])


def test_a_model_without_slices_is_its_own_view():
    made = planted.plant({}).embeddings
    assert made.at().most_similar("w03", topn=1)[0][0] == made.neighbors("w03", 1)["neighbor"].iloc[0]
    assert repr(made.at()) == "View: 30 words, 6 dimensions"


def test_a_view_of_one_language():
    vocabularies = [lx.Vocabulary(["a", "b"], np.array([2, 1]), "x"), lx.Vocabulary(["c"], np.array([1]), "y")]
    made = lx.Embeddings.of(vocabularies, [np.eye(2), np.ones((1, 2))])
    assert list(made.at(language="y")) == ["c"]
    assert made.at(language="y").most_similar("c") == []
    with pytest.raises(lx.InputError, match='"a" is not a word of "y", but of "x"'):
        made.at(language="y")["a"]
    with pytest.raises(lx.InputError, match="say which language"):
        made.at()


def test_bad_views_and_bad_questions_are_refused(model, view):
    for slice, message in [
        ({"party": "R"}, 'say which slice: no value of "year" is given'),
        ({"party": "X", "year": "2001"}, "no value 'X'; it has D, R"),
        ({"color": "red"}, 'do not vary by "color"'),
        ("english", r'at=.english. must be values of columns: write at={"party": "D"}'),
    ]:
        with pytest.raises(lx.InputError, match=message):
            model.embeddings.at(slice)
    for ask, message in [
        (lambda: view["w0"], '"w0" is not in the vocabulary'),
        (lambda: view.similarity("w03", "w0"), '"w0" is not in the vocabulary'),
        (lambda: view.most_similar("w0"), '"w0" is not in the vocabulary'),
        (lambda: view.most_similar(), "name a word"),
        (lambda: view.most_similar("w03", topn=0), "topn=0 must be a whole number from 1"),
    ]:
        with pytest.raises(lx.InputError, match=message):
            ask()
