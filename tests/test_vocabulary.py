"""Which words enter a vocabulary, and what follows from their counts."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from gensim.models import Word2Vec

import laplex as lx

TEXT = "d d d d c c c b b b a a e"


@pytest.fixture
def vocabulary():
    """The vocabulary of TEXT under some settings."""

    def made(**settings):
        return lx.Tokens.of(lx.read([{"text": TEXT}]), **settings).vocabularies[0]

    return made


@pytest.fixture(scope="module")
def sentences():
    return [text.lower().split() for text in lx.demo().head(1500)["text"]]


def test_frequent_words_come_first_and_ties_are_in_the_order_of_the_alphabet(vocabulary):
    chosen = vocabulary(min_count=1)
    assert chosen.words == ("d", "b", "c", "a", "e")
    assert chosen.counts.tolist() == [4, 3, 3, 2, 1]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"min_count": 3}, "d b c"),
        ({"min_count": 1, "max_words": 2}, "d b"),
        ({"min_count": 3, "max_words": 9}, "d b c"),
        ({"min_count": 4, "keep": ["e", "unseen"]}, "d e"),
        ({"min_count": 1, "max_words": 1, "keep": {"a", "d"}}, "d a"),
        ({"min_count": 99, "keep": ("c",)}, "c"),
    ],
)
def test_rare_words_are_left_out_unless_they_are_to_be_kept(vocabulary, settings, words):
    assert " ".join(vocabulary(**settings)) == words


def test_a_word_has_an_id(vocabulary):
    chosen = vocabulary(min_count=1)
    assert [chosen[word] for word in chosen] == list(range(len(chosen)))
    assert "a" in chosen
    assert "unseen" not in chosen
    with pytest.raises(lx.InputError, match=r'"unseen" is not in the vocabulary \(5 words\)'):
        chosen["unseen"]


@pytest.mark.parametrize("word", ["été", "e\u0301te\u0301", "Été", "E\u0301TE\u0301"])
def test_a_word_is_found_in_either_form_of_unicode_and_in_upper_case(word):
    chosen = lx.Vocabulary(["tax", "été"], np.array([2, 1]))
    assert chosen.find(word) == chosen[word] == 1
    assert chosen.ids([word, "tax", "TAX", "x"]).tolist() == [1, 0, 0, -1]


def test_a_word_is_found_with_either_apostrophe():
    chosen = lx.Vocabulary(["don't"], np.array([1]))
    assert chosen.find("don’t") == chosen.find("DON’T") == 0
    assert chosen.find("dont") is None


def test_case_matters_if_the_vocabulary_has_upper_case():
    chosen = lx.Vocabulary(["us", "US", "tax"], np.array([3, 2, 1]))
    assert [chosen.find(word) for word in ("us", "US", "Us", "Tax")] == [0, 1, None, None]
    assert chosen.ids(["us", "US", "Us", "Tax"]).tolist() == [0, 1, -1, -1]
    assert "Tax" not in lx.Vocabulary(["tax"], np.array([1]))  # as in a list


def test_questions_find_words_as_users_write_them():
    corpus = lx.read([{"text": "état tax war don't", "party": "Rép"}] * 20, metadata=["party"])
    fitted = lx.fit(lx.Model(["party"], dimensions=4), corpus, epochs=1, threads=1, quiet=True)
    for asked in ("E\u0301tat", "État", "Don’t"):
        assert fitted.count(asked, at={"party": "Re\u0301p"}) == 20
    assert fitted.ids(["Tax", "tax", "TAX"], 0) == [fitted.id("tax", 0)]


def test_repr_tells_size_and_first_words(vocabulary):
    assert repr(vocabulary(min_count=1)) == "Vocabulary: 5 words, 13 tokens, from d b c a e …"


def test_words_to_keep_are_spelled_as_the_text_is():
    rows = [{"text": "the Senate and the House in the Senate"}]
    kept = [
        lx.Tokens.of(lx.read(rows, lowercase=lowercase), min_count=3, keep=["House"], quiet=True).vocabularies[0].words
        for lowercase in (True, False)
    ]
    assert kept == [("the", "house"), ("the", "House")]


@pytest.mark.parametrize(("min_count", "threshold"), [(1, 1e-3), (5, 1e-3), (5, 1e-5)])
def test_subsampling_is_that_of_gensim(sentences, min_count, threshold):
    chosen = lx.Tokens.of(lx.read([{"text": s} for s in sentences]), min_count=min_count).vocabularies[0]
    model = Word2Vec(vector_size=1, min_count=min_count, sample=threshold)
    model.build_vocab(sentences)
    theirs = np.array([model.wv.get_vecattr(word, "sample_int") for word in chosen]) / (2**32 - 1)
    assert set(chosen) == set(model.wv.index_to_key)
    assert theirs.min() < 0.5
    np.testing.assert_allclose(chosen.subsampling(threshold), theirs, rtol=1e-5)


def test_a_threshold_of_zero_keeps_every_word(vocabulary):
    assert vocabulary(min_count=1).subsampling(0).tolist() == [1] * 5


def test_a_negative_threshold_is_refused(vocabulary):
    with pytest.raises(lx.InputError, match=r"threshold of -0\.1"):
        vocabulary(min_count=1).subsampling(-0.1)


def test_noise_is_the_counts_to_the_power_of_three_quarters(sentences):
    chosen = lx.Tokens.of(lx.read([{"text": s} for s in sentences])).vocabularies[0]
    counted = Counter(word for sentence in sentences for word in sentence)
    weights = np.array([counted[word] ** 0.75 for word in chosen])
    assert chosen.noise().sum() == pytest.approx(1)
    np.testing.assert_allclose(chosen.noise(), weights / weights.sum())
    assert chosen.noise(0).tolist() == pytest.approx([1 / len(chosen)] * len(chosen))
