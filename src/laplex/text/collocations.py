"""Phrases that are found by counting: words that stand together far more often than by chance.

A phrase joins two parts x and y, each a word or a pair of words, that follow each other directly or with one or two
linking words between them (of, of the). With c occurrences among N words, their normalized pointwise mutual
information is

    NPMI = ln(c(xy) N / (c(x) c(y))) / ln(N / c(xy)),   at most 1, when neither occurs without the other

First come pairs of words, also with links between them, then pairs of such a pair and a word or another pair. Each
occurrence is a number of 64 bits, and these are sorted, so that counts are exact. N words, W different ones.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, call-overload, assignment"

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

compiled: Callable[[Any], Any] = njit(nogil=True, cache=True, boundscheck=False, error_model="numpy")

MAX_LINKS = 63  # different linking words, each a part from −2 downwards
LINK_BITS = 12  # for two of them
PART_BITS = 26
OUTSIDE = -1  # the part of a word that stands in no phrase
KEYS_AT_ONCE = 1 << 25  # about, in memory

Keys = NDArray[np.int64]
Floats = NDArray[np.float64]
Numbers = NDArray[np.int32]


class Text(NamedTuple):
    """The text of one language as the loops read it."""

    numbers: Numbers  # of all words, also those of other languages
    offsets: Keys  # of documents
    inside: NDArray[np.bool_]  # which documents are in the language
    spans: list[tuple[int, int]]  # of documents, each read by one thread
    threads: int

    def map(self, function: Callable[..., Any]) -> list[Any]:
        """Call a function with the numbers, the offsets and the languages of each span, and its number."""

        def call(span: int) -> Any:
            first, last = self.spans[span]
            start, end = self.offsets[first], self.offsets[last]
            offsets = self.offsets[first : last + 1] - start
            return function(self.numbers[start:end], offsets, self.inside[first:last], span)

        with ThreadPoolExecutor(self.threads) as pool:
            return list(pool.map(call, range(len(self.spans))))


class Found(NamedTuple):
    """Phrases as sequences of word numbers, and the NPMI and the number of occurrences of each."""

    phrases: list[tuple[int, ...]]
    npmi: Floats
    counts: Keys


def find(
    text: Text,
    counts: Keys,
    outside: NDArray[np.bool_],
    links: Sequence[int],
    *,
    min_count: int,
    threshold: float,
    longest: int,
) -> Found:
    """Find the phrases of a text.

    Args:
        text: The text.
        counts: (W) How often each word occurs in it.
        outside: (W) The words that neither begin nor end a phrase.
        links: The numbers of those that may stand within one.
        min_count: How often a phrase must occur.
        threshold: The smallest NPMI.
        longest: The largest number of words of a phrase, 2 to 4.

    Returns:
        The phrases, each once, and those that are parts of others as well.
    """
    words = np.flatnonzero((counts >= min_count) & ~outside)[: 1 << (PART_BITS - 1)]
    part = np.full(len(counts), OUTSIDE, np.int32)
    part[words] = np.arange(len(words))
    part[links[:MAX_LINKS]] = -2 - np.arange(len(links[:MAX_LINKS]))
    total, occurrences = int(counts.sum()), counts[words]  # of parts: words, then phrases of two units
    known, scores = np.empty(0, np.int64), np.empty(0)
    for _ in range(min(longest - 1, 2)):
        keys, count = _candidates(text, part, known, len(words), longest, min_count)
        first, second, _ = _sides(keys)
        npmi = np.log(count * (total / occurrences[first]) / occurrences[second]) / np.log(total / count)
        chosen = npmi >= threshold
        known, scores = np.concatenate([known, keys[chosen]]), np.concatenate([scores, npmi[chosen]])
        occurrences = np.concatenate([occurrences, count[chosen]])
        if not chosen.any():
            break
    return _spelled(words, links, known, scores, occurrences[len(words) :])


def _sides(keys: Keys) -> tuple[Keys, Keys, Keys]:
    """The first part, the second part and the links between them."""
    return keys >> (PART_BITS + LINK_BITS), keys & ((1 << PART_BITS) - 1), keys >> PART_BITS & ((1 << LINK_BITS) - 1)


def _candidates(text: Text, part: Numbers, pairs: Keys, words: int, longest: int, min_count: int) -> tuple[Keys, Keys]:
    """The pairs of words, or if these are known, of words and known pairs, that occur often enough, and how often."""
    table = hash_table(pairs, np.arange(len(pairs), dtype=np.int32))
    maybe = np.zeros(4 * len(table[0]), np.bool_)
    maybe[_slots(pairs, len(maybe))] = True
    _, _, links_within = _sides(pairs)
    length = (2 + (links_within > 0) + (links_within > MAX_LINKS)).astype(np.int32)
    shares = 1 + len(text.numbers) // (KEYS_AT_ONCE * (8 if len(pairs) else 1))  # of the keys, with a round for each
    rounds = []
    for share in range(shares):

        def keys_of(numbers: Numbers, offsets: Keys, inside: NDArray[np.bool_], _: int, share: int = share) -> Keys:
            units, links = np.empty(len(numbers) + 1, np.int32), np.empty(len(numbers) + 1, np.int32)
            size = _units(numbers, offsets, inside, part, longest, units, links)
            units, links = units[:size], links[:size]
            keys = np.empty(size * (3 if len(pairs) else 1) + 1, np.int64)
            if len(pairs):
                patterns = maybe, *table, length, words, longest
                count = _pairs_of_parts(units, links, share, shares, *patterns, keys)
            else:
                count = _pairs_of_words(units, links, share, shares, keys)
            return keys[:count].copy()

        keys = np.concatenate(text.map(keys_of))
        keys.sort()
        rounds.append(_frequent(keys, min_count))
    keys, counts = (np.concatenate(each) for each in zip(*rounds))
    return keys, counts


def _spelled(words: Keys, links: Sequence[int], known: Keys, scores: Floats, counts: Keys) -> Found:
    """Write out phrases as words."""
    written: list[tuple[int, ...]] = [(word,) for word in words.tolist()]
    best: dict[tuple[int, ...], int] = {}
    for i, (first, second, between) in enumerate(zip(*(side.tolist() for side in _sides(known)))):
        inner = [links[code - 1] for code in divmod(between, MAX_LINKS + 1) if code]
        written.append((*written[first], *inner, *written[second]))
        other = best.setdefault(written[-1], i)
        if scores[i] > scores[other]:
            best[written[-1]] = i
    chosen = list(best.values())
    return Found(list(best), scores[chosen], counts[chosen])


@compiled
def _slot(key, size):
    mixed = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    return np.int64((mixed >> np.uint64(32)) & np.uint64(size - 1))


@compiled
def _slots(keys, size):
    slots = np.empty(len(keys), np.int64)
    for i in range(len(keys)):
        slots[i] = _slot(keys[i], size)
    return slots


@compiled
def _fill(keys, values, table_keys, table_values):
    for i in range(len(keys)):
        slot = _slot(keys[i], len(table_keys))
        while table_keys[slot] >= 0:
            slot = (slot + 1) & (len(table_keys) - 1)
        table_keys[slot], table_values[slot] = keys[i], values[i]


@compiled
def look_up(key, keys, values):
    """The value of a key in a hash table, −1 if it is not there."""
    slot = _slot(key, len(keys))
    while keys[slot] >= 0:
        if keys[slot] == key:
            return values[slot]
        slot = (slot + 1) & (len(keys) - 1)
    return np.int32(-1)


def hash_table(keys: Keys, values: Numbers) -> tuple[Keys, Numbers]:
    """A hash table for `look_up`: its keys, −1 where it is empty, and their values."""
    size = 1 << max(4, (4 * len(keys)).bit_length())
    table = np.full(size, -1, np.int64), np.zeros(size, np.int32)
    _fill(keys, values, *table)
    return table


@compiled
def _key(first, links, second):
    return (np.int64(first) << (PART_BITS + LINK_BITS)) | (np.int64(links) << PART_BITS) | np.int64(second)


@compiled
def _units(numbers, offsets, inside, part, longest, units, links):
    """Write the words that are no links, and the links before each, −1 if it does not follow another; return how many.

    Without branches that depend on the words, which processors cannot predict.
    """
    most = (-1, 0, MAX_LINKS)[longest - 2]  # that another link may follow
    size = 0
    for document in range(len(offsets) - 1):
        if not inside[document]:
            continue
        between = -1
        for t in range(offsets[document], offsets[document + 1]):
            word = part[numbers[t]]
            units[size], links[size] = word, between
            size += word >= 0
            is_link = (word < OUTSIDE) & (between >= 0) & (between <= most)
            longer = between * (MAX_LINKS + 1) - (word + 1) if is_link else -1
            between = 0 if word >= 0 else longer
    return size


@compiled
def _pairs_of_words(units, links, share, shares, keys):
    """Write the keys of all pairs of words; return how many there are."""
    found = 0
    for i in range(1, len(units)):
        keys[found] = _key(units[i - 1], links[i], units[i])
        found += (links[i] >= 0) & (shares == 1 or units[i - 1] % shares == share)
    return found


@compiled
def _pairs_of_parts(units, links, share, shares, maybe, table, phrases, length, words, longest, keys):
    """Write the keys of all pairs of a known pair and a word or another known pair; return how many there are.

    `maybe` is false where no known pair has a key with this hash, `length` the number of words of each known pair.
    """
    size, found = 0, 0
    places = np.empty(len(units), np.int32)  # where pairs end
    for i in range(1, len(units)):
        places[size] = i
        size += (links[i] >= 0) & maybe[_slot(_key(units[i - 1], links[i], units[i]), len(maybe))]
    pair = np.full(len(units) + 2, -1, np.int32)
    for i in places[:size]:
        pair[i] = look_up(_key(units[i - 1], links[i], units[i]), table, phrases)
        places[found] = i
        found += pair[i] >= 0
    places, found = places[:found], 0
    for i in places:
        own, this, before = length[pair[i]], words + pair[i], links[i - 1]
        if before >= 0 and own + _words(before) < longest and (shares == 1 or units[i - 2] % shares == share):
            keys[found] = _key(units[i - 2], before, this)
            found += 1
        if i + 1 == len(units) or links[i + 1] < 0 or not (shares == 1 or this % shares == share):
            continue
        own += _words(links[i + 1])
        if own < longest:
            keys[found] = _key(this, links[i + 1], units[i + 1])
            found += 1
        if pair[i + 2] >= 0 and own + length[pair[i + 2]] <= longest:
            keys[found] = _key(this, links[i + 1], words + pair[i + 2])
            found += 1
    return found


@compiled
def _frequent(ordered, least):
    """The numbers that occur often enough among sorted ones, which they overwrite, and how often."""
    size, start = 0, 0
    counts = np.empty(len(ordered) // least + 1, np.int64)
    for i in range(1, len(ordered) + 1):
        if i == len(ordered) or ordered[i] != ordered[start]:
            if i - start >= least:
                ordered[size], counts[size] = ordered[start], i - start
                size += 1
            start = i
    return ordered[:size].copy(), counts[:size]


@compiled
def _words(links):
    """The number of linking words."""
    return 0 if links == 0 else 1 if links <= MAX_LINKS else 2
