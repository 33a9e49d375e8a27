"""Words that may be other spellings of more frequent words, such as errors of a scan and old spellings.

Three conditions make a pair. The words are one edit apart, or two if they are long; they are found by what is left of
each word after deletions, so that not all pairs are compared. One is much rarer. And the contexts c of the rarer word
fit the other, w, better than words at random, by the mean over its contexts of

    log(½ P(c | w) / P(c) + ½).

V words, P pairs, R rarer words, B words at random.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse

from laplex.errors import InputError
from laplex.lexicons.wordpairs import WordPairs, not_empty
from laplex.runtime.display import say
from laplex.text.corpus import Corpus
from laplex.text.slices import spans
from laplex.text.tokens import Tokens
from laplex.text.vocabulary import Vocabulary

SHORTEST, LONG, LONGEST = 4, 8, 40  # letters: of a word, of one for which two edits count as close, of any
WINDOW = 5
MAX_OCCURRENCES = 1000  # of a word, the contexts of which are read; a random sample of those of more frequent words
BACKGROUND_WORDS, MIN_BACKGROUND_COUNT = 300, 20  # words at random, and how often they occur, unless most are rarer
PAIRS_PER_PRODUCT = 20_000

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


def variants(
    text: Corpus | Tokens,
    *,
    min_ratio: float = 3.0,
    min_fit: float = 4.0,
    language: str | None = None,
    seed: int = 1,
    quiet: bool = False,
) -> WordPairs:
    """Find words that may be other spellings of more frequent words, such as errors of a scan and old spellings.

    Inflected forms are spelled alike, too, and names and opposites that stand in the same contexts cannot be told from
    them (Prussia and Russia, decrease and increase): look through the pairs, and leave some out by `without`.

    Args:
        text: The text, whose vocabulary has the words.
        min_ratio: How many times as frequent the other word is at least.
        min_fit: By how many standard deviations the contexts of the rarer word fit the other one better than they fit
            words at random, at least.
        language: The language of the words, if there are several.
        seed: The seed of the words and the occurrences that are drawn.
        quiet: Print nothing.

    Returns:
        Pairs of a rarer word (left) and the word that it may be (right), each rarer word once, the best fit first. An
        InputError says if there are none.

    Example:
        tokens = lx.Tokens.of(scans)
        pairs = lx.lexicons.variants(tokens)
        fitted = lx.fit(lx.Model(prior=lx.Ridge() + lx.Pairs(pairs, 10.0, directed=True)), tokens)
    """
    if min_ratio < 1:
        raise InputError(f"min_ratio={min_ratio} must be at least 1: the other word is the more frequent one")
    tokens = text if isinstance(text, Tokens) else Tokens.of(text, quiet=quiet)
    names = [vocabulary.language for vocabulary in tokens.vocabularies]
    if language not in names and (language is not None or len(names) > 1):
        raise InputError(f"language={language!r} is none of the languages of the text: {', '.join(names)}")
    index = 0 if language is None else names.index(language)
    vocabulary = tokens.vocabularies[index]
    pairs = close_spellings(vocabulary.words)
    counts = vocabulary.counts
    pairs = pairs[counts[pairs[:, 0]] >= min_ratio * counts[pairs[:, 1]]]  # the first has the smaller id
    fit = _fits(tokens, index, pairs, np.random.default_rng([seed, 7]))
    order = np.argsort(-fit, kind="stable")
    order = order[fit[order] >= min_fit]
    order = order[np.sort(np.unique(pairs[order, 1], return_index=True)[1])]
    say(f"{len(order):,} words may be other spellings, of {len(pairs):,} pairs that are spelled alike", quiet=quiet)
    rare, other = ([vocabulary.words[i] for i in pairs[order, side].tolist()] for side in (1, 0))
    return not_empty(WordPairs("spelling variants", rare, other, np.ones(len(order))))


def close_spellings(words: tuple[str, ...]) -> Ints:
    """(P, 2) Indices i < j of words of letters that are one edit apart, or two if both are long.

    An edit is a letter more, less or exchanged for another one, or two neighbors that change places. Two words within
    k edits have the same letters left after some k deletions in each.
    """
    usable = [i for i, word in enumerate(words) if SHORTEST <= len(word) <= LONGEST and word.isalpha()]
    chosen = np.array(usable, np.int64)
    lengths = np.array([len(words[i]) for i in usable], np.int64)
    letters = np.array([words[i] for i in usable], f"U{LONGEST}").view(np.uint32).reshape(len(usable), LONGEST)
    values = np.random.default_rng(1).integers(1, 2**63, 1 << 16, dtype=np.uint64)
    powers = np.cumprod(np.full(LONGEST, 0x9E3779B97F4A7C15, np.uint64))  # an odd number, so none is zero
    keys, owners = [np.zeros(0, np.uint64)], [np.zeros(0, np.int64)]
    for length in np.unique(lengths).tolist():
        members = np.flatnonzero(lengths == length)
        codes = values[letters[members, :length] % len(values)]
        for deletions in range(3 if length >= LONG else 2):
            for left_out in combinations(range(length), deletions):
                keys.append((np.delete(codes, left_out, 1) * powers[: length - deletions]).sum(1))
                owners.append(members)
    table = pl.DataFrame({"key": np.concatenate(keys), "word": np.concatenate(owners)}).unique().sort("key", "word")
    key, word = table["key"].to_numpy(), table["word"].to_numpy()
    found, shift = [np.zeros(0, np.int64)], 1
    while (same := np.flatnonzero(key[shift:] == key[:-shift])).size:
        found.append(word[same] * np.int64(len(usable)) + word[same + shift])
        shift += 1
    pairs = np.stack(np.divmod(np.unique(np.concatenate(found)), max(len(usable), 1)), axis=1)
    allowed = np.where(lengths[pairs].min(axis=1) >= LONG, 2, 1)
    close = _edits(letters[pairs[:, 0]].T, letters[pairs[:, 1]].T, lengths[pairs]) <= allowed
    return np.sort(chosen[pairs[close]], axis=1)


def _edits(one: NDArray[np.uint32], two: NDArray[np.uint32], lengths: Ints) -> NDArray[np.int8]:
    """(P) The number of edits between words (letters, P); numbers above 2 are not exact."""
    most, size = int(lengths.max(initial=0)), len(lengths)
    table = np.full((most + 1, most + 1, size), 100, np.int8) if size <= PAIRS_PER_PRODUCT else None
    if table is None:
        parts = np.array_split(np.arange(size), -(-size // PAIRS_PER_PRODUCT))
        return np.concatenate([_edits(one[:, part], two[:, part], lengths[part]) for part in parts])
    table[0, :3] = np.arange(min(3, most + 1))[:, None]
    table[:3, 0] = np.arange(min(3, most + 1))[:, None]
    for i in range(1, most + 1):
        for j in range(max(1, i - 2), min(most, i + 2) + 1):
            best = np.minimum(table[i - 1, j], table[i, j - 1]) + 1
            best = np.minimum(best, table[i - 1, j - 1] + (one[i - 1] != two[j - 1]))
            if i > 1 and j > 1:
                swapped = (one[i - 1] == two[j - 2]) & (one[i - 2] == two[j - 1])
                best = np.where(swapped, np.minimum(best, table[i - 2, j - 2] + 1), best)
            table[i, j] = np.minimum(best, 100)
    result: NDArray[np.int8] = table[lengths[:, 0], lengths[:, 1], np.arange(size)]
    return result


def _fits(tokens: Tokens, language: int, pairs: Ints, random: np.random.Generator) -> Floats:
    """(P) By how many standard deviations the contexts of each second word fit the first better than random words."""
    if not len(pairs):
        return np.zeros(0)
    vocabulary = tokens.vocabularies[language]
    usual = np.flatnonzero(vocabulary.counts >= min(MIN_BACKGROUND_COUNT, np.median(vocabulary.counts)))
    background = np.sort(random.choice(usual, min(BACKGROUND_WORDS, len(usual)), replace=False))
    rows = np.unique(np.concatenate([pairs.ravel(), background]))
    contexts = _contexts(tokens, language, rows, random)
    share = vocabulary.counts / vocabulary.counts.sum()
    conditional = _divided(contexts, contexts.sum(axis=1))
    fit = conditional.multiply((1 / share[None, :]).astype(np.float32)).tocsr()
    fit.data = np.log(0.5 * fit.data + 0.5) - np.log(0.5)  # more than that of contexts never seen with a word
    one, two = (np.searchsorted(rows, pairs[:, side]) for side in (0, 1))
    rare, place = np.unique(two, return_inverse=True)
    at_random = (conditional[rare] @ fit[np.searchsorted(rows, background)].T).toarray()  # (R, B)
    mean, deviation = at_random.mean(axis=1), np.maximum(at_random.std(axis=1), 1e-9)
    parts = [slice(low, low + PAIRS_PER_PRODUCT) for low in range(0, len(pairs), PAIRS_PER_PRODUCT)]
    products = [np.asarray(conditional[two[part]].multiply(fit[one[part]]).sum(axis=1)).ravel() for part in parts]
    result: Floats = (np.concatenate([np.zeros(0), *products]) - mean[place]) / deviation[place]
    return result


def _contexts(tokens: Tokens, language: int, words: Ints, random: np.random.Generator) -> sparse.csr_array:
    """(words, V) How often each word of the language stands near these words, at a sample of their occurrences."""
    vocabulary: Vocabulary = tokens.vocabularies[language]
    row = np.full(len(vocabulary), -1, np.int64)
    row[words] = np.arange(len(words))
    chance = MAX_OCCURRENCES / np.maximum(vocabulary.counts, MAX_OCCURRENCES)
    total = sparse.csr_array((len(words), len(vocabulary)), dtype=np.float32)
    for first, last in spans(tokens.offsets):
        ids = np.asarray(tokens.ids[tokens.offsets[first] : tokens.offsets[last]], np.int64)
        lengths = np.diff(tokens.offsets[first : last + 1])
        document = np.repeat(np.arange(first, last), lengths)
        own = np.repeat(tokens.languages[first:last] == language, lengths)
        known = np.where(own, ids, 0)
        places = np.flatnonzero(own & (row[known] >= 0) & (random.random(len(ids)) < chance[known]))
        offsets = np.array([*range(-WINDOW, 0), *range(1, WINDOW + 1)])
        near = (places + offsets[:, None]).ravel()
        center = np.tile(places, len(offsets))
        inside = (near >= 0) & (near < len(ids))
        inside &= document[np.clip(near, 0, len(ids) - 1)] == document[center]
        index = row[ids[center[inside]]], ids[near[inside]]
        total = total + sparse.coo_array((np.ones(len(index[0]), np.float32), index), total.shape).tocsr()
    return total


def _divided(matrix: sparse.csr_array, by: Floats) -> sparse.csr_array:
    """A matrix with each row divided by a number."""
    return matrix.multiply(1 / np.maximum(by, 1)[:, None].astype(np.float32)).tocsr()
