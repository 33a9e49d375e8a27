"""Embeddings as a collection of vectors: what is where, how they are made, and what is said of wrong input."""

from __future__ import annotations

import time

import numpy as np
import pytest

import laplex as lx
from laplex.text.slices import Slices

PARTIES = Slices(("party",), (("D",), ("R",)), np.empty(0, np.int32))


@pytest.fixture
def vectors():
    return np.random.default_rng(0).standard_normal((2, 3, 4)).astype(np.float32)


@pytest.fixture
def made(vectors):
    counts = np.array([[3, 2, 0], [1, 0, 1]])
    vocabulary = lx.Vocabulary(["sun", "moon", "star"], counts.sum(0))
    return lx.Embeddings.of([vocabulary], [vectors], slices=PARTIES, counts=[counts])


def test_vectors_are_those_given(made, vectors):
    np.testing.assert_array_equal(made.matrix(at={"party": "R"}), vectors[1])
    np.testing.assert_array_equal(made.vector("moon", at={"party": "D"}), vectors[0, 1])
    assert made.words() == ["sun", "moon", "star"]
    assert list(made) == made.words()
    assert "moon" in made
    assert "mars" not in made
    assert len(made) == 3
    assert made.dimensions == 4
    assert (made.count("sun"), made.count("sun", at={"party": "R"}), made.count("star", at={"party": "D"})) == (4, 1, 0)
    assert made.slices.to_dict("list") == {"party": ["D", "R"], "tokens": [5, 2]}
    assert repr(made) == "Embeddings: 3 words by party (2 slices), 4 dimensions"


def test_a_matrix_is_read_only_and_a_vector_is_a_copy(made, vectors):
    with pytest.raises(ValueError, match="read-only"):
        made.matrix(at={"party": "D"})[0] = 0
    vector = made.vector("sun", at={"party": "D"})
    vector[:] = 0
    np.testing.assert_array_equal(made.vector("sun", at={"party": "D"}), vectors[0, 0])


def test_one_slice_takes_its_counts_from_the_vocabulary():
    vocabulary = lx.Vocabulary(["a", "b"], np.array([5, 3]))
    made = lx.Embeddings.of([vocabulary], [np.eye(2)])
    assert made.count("b") == 3
    assert made.columns == ()
    with pytest.raises(lx.InputError, match="without context vectors"):
        made.contexts()
    assert lx.Embeddings.of([vocabulary], [np.eye(2)], contexts=[2 * np.eye(2)]).contexts()[1, 1] == 2


def test_made_embeddings_come_back_from_disk(made, tmp_path):
    made.save(tmp_path / "saved")
    again = lx.load(tmp_path / "saved")
    np.testing.assert_array_equal(again.matrix(at={"party": "R"}), made.matrix(at={"party": "R"}))
    with pytest.raises(lx.InputError, match="without context vectors"):
        again.contexts()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"vectors": [np.zeros((2, 4, 4))]},
            r"the vectors have the shapes \[\(2, 4, 4\)\]: they must be \[\(2, 3, 4\)\]",
        ),
        ({"vectors": [np.zeros((3, 4))]}, "the vectors have the shapes"),
        ({"vectors": [np.zeros((2, 3, 4))] * 2}, "one for each language"),
        (
            {"contexts": [np.zeros((3, 5))]},
            r"the contexts have the shapes \[\(1, 3, 5\)\]: they must be \[\(1, 3, 4\)\]",
        ),
        ({"counts": [np.zeros((1, 3))]}, "the counts have the shapes"),
        ({"counts": None}, "there are 2 slices: give counts="),
    ],
)
def test_vectors_that_do_not_fit_are_refused(change, message):
    vocabulary = lx.Vocabulary(["sun", "moon", "star"], np.array([3, 2, 1]))
    right = {"vectors": [np.zeros((2, 3, 4))], "slices": PARTIES, "counts": [np.ones((2, 3), np.int64)]}
    with pytest.raises(lx.InputError, match=message):
        lx.Embeddings.of([vocabulary], **(right | change))


def test_languages_of_different_dimensions_are_refused():
    vocabularies = [lx.Vocabulary(["a", "b"], np.array([2, 1]), name) for name in ("x", "y")]
    with pytest.raises(lx.InputError, match=r"they must be \[\(1, 2, 3\), \(1, 2, 3\)\]"):
        lx.Embeddings.of(vocabularies, [np.eye(2), np.ones((2, 3))])


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda made: made.vector("mars", at={"party": "D"}), r'"mars" is not in the vocabulary \(3 words\)'),
        (lambda made: made.vector("moom", at={"party": "D"}), "close to it are moon"),
        (lambda made: made.vector("sun"), 'say which slice: no value of "party" is given'),
        (lambda made: made.vector("sun", at={"party": "X"}), r"\"party\" has no value 'X'; it has D, R"),
        (lambda made: made.vector("sun", at={"color": "red"}), 'do not vary by "color"'),
        (lambda made: made.vector(7, at={"party": "D"}), "a word is text, not 7"),
        (lambda made: made.count("mars"), '"mars" is not in the vocabulary'),
        (lambda made: made.words("en"), "one language, which has no name: leave out language='en'"),
    ],
)
def test_what_is_not_there_is_said(made, ask, message):
    with pytest.raises(lx.InputError, match=message):
        ask(made)


def test_close_words_are_suggested_whatever_their_case():
    vocabulary = lx.Vocabulary(["wealth", "Health", "insurance", "health"], np.array([4, 3, 2, 1]))
    with pytest.raises(lx.InputError, match=r'"helth" is not in the vocabulary \(4 words\); close to it are Health'):
        vocabulary["helth"]
    assert vocabulary.close("INSURANCES") == ["insurance"]
    assert vocabulary.close("HEALTH")[0] == "Health"  # the more frequent of two
    with pytest.raises(lx.InputError, match=r'"xyz" is not in the vocabulary \(4 words\)$'):
        vocabulary["xyz"]


def test_close_words_are_found_at_once_among_many():
    letters = np.random.default_rng(0).integers(ord("a"), ord("z") + 1, (120_000, 8))
    words = list(dict.fromkeys("".join(map(chr, row)) for row in letters.tolist()))
    vocabulary = lx.Vocabulary(words, np.arange(len(words), 0, -1))
    word = words[77_777]
    started = time.process_time()
    close = vocabulary.close(word[:3] + word[4:])
    assert time.process_time() - started < 1  # of the processor: to compare with each word takes many
    assert word in close
