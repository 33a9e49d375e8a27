"""Other spellings of words: by their letters, their frequency and their contexts."""

from __future__ import annotations

from functools import cache
from itertools import combinations

import numpy as np
import pytest

import laplex as lx
from laplex.lexicons.spellings import close_spellings


@cache
def edits(one, two):
    """The edits between two words, by recursion."""
    if not one or not two:
        return len(one) + len(two)
    best = min(edits(one[1:], two) + 1, edits(one, two[1:]) + 1, edits(one[1:], two[1:]) + (one[0] != two[0]))
    if len(one) > 1 and len(two) > 1 and one[:2] == two[1::-1]:
        best = min(best, edits(one[2:], two[2:]) + 1)
    return best


def test_close_spellings_are_those_of_all_pairs():
    random = np.random.default_rng(3)
    words = {"".join(random.choice(list("abé"), size)) for size in random.integers(3, 7, 60)}
    long = "verwaltung verwaltnng vervaltnng verwaltungs verwalt eingaben abgeben ausgaben ausgeben agbeben"
    words = tuple(sorted(words | {*long.split(), "bab1", "x" * 60, "x" * 61}))
    expected = {
        (i, j)
        for (i, one), (j, two) in combinations(enumerate(words), 2)
        if min(len(one), len(two)) >= 4 and one.isalpha() and two.isalpha() and max(len(one), len(two)) < 41
        if abs(len(one) - len(two)) < 3 and edits(one, two) <= (2 if min(len(one), len(two)) >= 8 else 1)
    }
    assert len(expected) > 20
    assert {tuple(pair) for pair in close_spellings(words).tolist()} == expected
    assert close_spellings(("abc", "1900")).shape == close_spellings(()).shape == (0, 2)


def texts(seed=1, documents=600):
    """Documents of two topics, with "parliament" and "harbor" in their own, and rarer words that are spelled alike."""
    random = np.random.default_rng(seed)
    topics = [[f"{start}{letter}" for letter in "abcdefghijklmnopqrst"] for start in ("law", "sea")]
    rows = []
    for number in range(documents):
        words = random.choice(topics[number % 2], 12).tolist()
        words[6] = "harbor" if number % 2 else "parliament"
        if number % 20 == 0:
            words[6] = "parlimaent"
        if number % 20 == 1:
            words[6] = "parliaments"  # at sea, so it is another word
        if number % 20 == 3:
            words[6] = "harbour"
        rows.append({"text": " ".join(words), "lang": "en"})
    return rows


def test_variants_stand_in_the_contexts_of_a_more_frequent_word(capfd):
    tokens = lx.Tokens.of(lx.read(texts()), quiet=True)
    pairs = lx.lexicons.variants(tokens, min_fit=1.0)
    assert set(zip(pairs.left, pairs.right, strict=True)) == {("parlimaent", "parliament"), ("harbour", "harbor")}
    assert pairs.weight.tolist() == [1.0, 1.0]
    assert "2 words may be other spellings" in capfd.readouterr().err
    again = lx.lexicons.variants(lx.read(texts()), min_fit=1.0, quiet=True)
    assert (again.left, again.right) == (pairs.left, pairs.right)
    rarer = lx.lexicons.variants(tokens, min_ratio=1.0, min_fit=-9.0, quiet=True)
    assert ("parliaments", "parliament") in zip(rarer.left, rarer.right, strict=True)
    assert len(set(rarer.left)) == len(rarer)  # each word has one other


def test_languages_are_apart():
    english, other = lx.read(texts(), language_column="lang"), lx.read(texts(2), language="xx")
    both = lx.Tokens.of(english + other, quiet=True)
    pairs = lx.lexicons.variants(both, min_fit=1.0, language="xx", quiet=True)
    alone = lx.lexicons.variants(lx.Tokens.of(other, quiet=True), min_fit=1.0, language="xx", quiet=True)
    assert set(zip(pairs.left, pairs.right)) == set(zip(alone.left, alone.right))
    for language in (None, "de"):
        with pytest.raises(lx.InputError, match="none of the languages of the text: en, xx"):
            lx.lexicons.variants(both, language=language)


def test_a_prior_of_variants_brings_their_vectors_together():
    tokens = lx.Tokens.of(lx.read(texts()), quiet=True)
    pairs = lx.lexicons.variants(tokens, min_fit=1.0, quiet=True)
    options = {"epochs": 2, "threads": 1, "tests": False, "quiet": True}
    alone = lx.fit(lx.Model(dimensions=10), tokens, **options)
    tied = lx.fit(lx.Model(prior=lx.Ridge() + lx.Pairs(pairs, 100.0), dimensions=10), tokens, **options)

    def distance(fitted):
        return np.linalg.norm(fitted.vector("parlimaent") - fitted.vector("parliament"))

    assert distance(tied) < 0.5 * distance(alone)


def test_what_gives_no_pairs_is_an_error():
    tokens = lx.Tokens.of(lx.read(texts()), quiet=True)
    with pytest.raises(lx.InputError, match="spelling variants has no pairs"):
        lx.lexicons.variants(tokens, min_fit=1e9, quiet=True)
    with pytest.raises(lx.InputError, match=r"min_ratio=0.5 must be at least 1"):
        lx.lexicons.variants(tokens, min_ratio=0.5)
    with pytest.raises(lx.InputError, match="spelling variants has no pairs"):
        lx.lexicons.variants(lx.read([{"text": "a b c"}] * 9), quiet=True)
