"""Phrases become words of a text: each occurrence is written as one number, from left to right, the longest first.

The words of a phrase are looked up in a tree. Where any phrase begins is found in one pass over the text, so that it
costs little to join the phrases again without those that turn out to be too rare. P phrases.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from laplex.runtime.distributed import communicator
from laplex.text.collocations import Keys, Numbers, Text, compiled, find, hash_table, look_up
from laplex.text.phrases import Phrases
from laplex.text.stop_words import languages, linking_words, stop_words

NOT_THERE, TOO_RARE, JOINED_SOMEWHERE = range(3)
NAMED = 20  # phrases that are not joined, for messages
JOINED = -1  # the number of a word that a phrase before it includes
LEAST_SHARE = 0.2  # of the tokens that the function words of a language are; they are a third at least
TAG = "_(?:ADP|AUX|CCONJ|DET|PART|PRON|SCONJ)$"  # of function words, after the word

Words = tuple[str, ...]


class Matcher:
    """Where phrases stand in a text, also where they overlap."""

    def __init__(self, text: Text, phrases: Sequence[tuple[int, ...]], words: int) -> None:
        self._text, self._tree = text, _tree(phrases, words)
        self._lengths = np.array([len(phrase) for phrase in phrases], np.int32)
        self._matches = text.map(self._matches_of)

    def _matches_of(
        self, numbers: Numbers, offsets: Keys, inside: NDArray[np.bool_], _: int
    ) -> tuple[Numbers, Numbers]:
        places, phrases = (np.empty(len(numbers) + 1, np.int32) for _ in range(2))
        while (size := _matches(numbers, offsets, inside, *self._tree, places, phrases)) > len(places):
            places, phrases = (np.empty(size, np.int32) for _ in range(2))
        return places[:size].copy(), phrases[:size].copy()

    def join(self, chosen: NDArray[np.bool_], words: Numbers | None = None) -> Keys:
        """(P) How often each of the chosen phrases occurs if all of them are joined.

        With `words`, the number of each phrase as a word, they are written into the text.
        """
        written = np.empty(0, np.int32) if words is None else words

        def counts_of(numbers: Numbers, _: Keys, __: NDArray[np.bool_], span: int) -> Keys:
            counts = np.zeros(len(chosen), np.int64)
            _join(numbers, *self._matches[span], chosen, self._lengths, written, counts)
            return counts

        counts: Keys = np.sum(self._text.map(counts_of), axis=0, dtype=np.int64)
        return counts


def _tree(phrases: Sequence[tuple[int, ...]], words: int) -> tuple[NDArray[np.uint8], Numbers, Keys, Numbers, Numbers]:
    """The role of each word in `_matches`, the node of each first word, edges (a hash table from a node and a word to a
    node), and the phrase that ends at each node."""
    root, edges, ends = np.zeros(words, np.int32), dict[int, int](), [-1]
    role = np.zeros(words, np.uint8)
    role[[phrase[0] for phrase in phrases]] |= 1
    role[[phrase[1] for phrase in phrases]] |= 2
    for number, (first, *others) in enumerate(phrases):
        if not root[first]:
            root[first] = len(ends)
            ends.append(-1)
        node = int(root[first])
        for word in others:
            key = node << 32 | word
            if key not in edges:
                edges[key] = len(ends)
                ends.append(-1)
            node = edges[key]
        ends[node] = number
    table = hash_table(np.array([*edges], np.int64), np.array([*edges.values()], np.int32))
    return role, root, *table, np.array(ends, np.int32)


@compiled
def _matches(numbers, offsets, inside, role, root, keys, nodes, ends, places, phrases):
    """Write the place of each phrase and its number, shorter ones first; return how many there are.

    The `role` of a word is 1 if it begins a phrase, plus 2 if it is the second word of one.
    """
    size = 0
    for document in range(len(offsets) - 1):  # first without branches, which processors cannot predict
        if inside[document]:
            begins = False
            for t in range(offsets[document], offsets[document + 1]):
                places[size] = t - 1
                size += begins & (role[numbers[t]] > 1)
                begins = (role[numbers[t]] & 1) > 0
    candidates, found, document = places[:size].copy(), 0, 0
    for t in candidates:
        while offsets[document + 1] <= t:
            document += 1
        node, next = root[numbers[t]], t + 1
        while node > 0:
            if ends[node] >= 0:
                if found < len(places):
                    places[found], phrases[found] = t, ends[node]
                found += 1
            if next == offsets[document + 1]:
                break
            node = look_up((np.int64(node) << 32) | numbers[next], keys, nodes)
            next += 1
    return found


@compiled
def _join(numbers, places, phrases, chosen, lengths, words, counts):
    """Count the longest chosen phrase at each place that no phrase before it includes, and perhaps write it."""
    free = i = 0
    while i < len(places):
        place, longest = places[i], -1
        while i < len(places) and places[i] == place:
            longest = phrases[i] if chosen[phrases[i]] else longest
            i += 1
        if longest >= 0 and place >= free:
            counts[longest] += 1
            free = place + lengths[longest]
            if len(words):
                numbers[place] = words[longest]
                numbers[place + 1 : free] = JOINED


class Joiner:
    """Joins the phrases of each language of a text whose words are numbers.

    Attributes:
        words: "number" and "word" of all words of the text, and of the phrases that are words.
        removed: How many words there are fewer in the text, since they are parts of phrases.
        found: The number of phrases that were found.
        fate: Of each listed phrase NOT_THERE, TOO_RARE for the vocabulary, or JOINED_SOMEWHERE.
    """

    def __init__(
        self, phrases: Phrases, text: Text, languages: Numbers, words: pl.DataFrame, listed: Sequence[set[Words]]
    ) -> None:
        self.words, self.removed, self.found = words, 0, 0
        self.fate = np.full(len(listed), NOT_THERE)
        self._phrases, self._text, self._languages, self._listed = phrases, text, languages, listed
        self._size = _size(words)

    def join(
        self, index: int, language: str, counts: Keys, choose: Callable[[Keys], pl.DataFrame]
    ) -> tuple[pl.DataFrame, list[Words]]:
        """Join the phrases of one language.

        Args:
            index: The number of the language.
            language: Its name.
            counts: How often each word occurs in it.
            choose: Chooses the vocabulary, a frame with a column "word", by how often each of `words` occurs.

        Returns:
            The vocabulary, and the words of each phrase in it.
        """
        text = self._text._replace(inside=self._languages == index)
        counts = np.concatenate([counts, np.zeros(self._size - len(counts), np.int64)])
        spelled = list(dict.fromkeys([*self._find(text, language, counts), *sorted(set().union(*self._listed))]))
        numbers, parts = self._numbers(["_".join(words) for words in spelled]), self._parts(spelled)
        there = np.array([min(each) >= 0 for each in parts], np.bool_)
        matcher = Matcher(text, [each for each, is_there in zip(parts, there) if is_there], self._size)
        chosen, at_first = np.ones(len(spelled), np.bool_), np.zeros(len(spelled), np.int64)
        while True:
            occurrences = np.zeros(len(spelled), np.int64)
            occurrences[there] = matcher.join(chosen[there])
            vocabulary = choose(_joined_counts(counts, occurrences, parts, numbers, _size(self.words)))
            everywhere = communicator().allreduce(occurrences) if len(spelled) else occurrences
            at_first = np.maximum(at_first, everywhere)
            known = pl.Series(["_".join(words) for words in spelled], dtype=pl.String).is_in(
                vocabulary["word"].implode()
            )
            kept = chosen & (everywhere > 0) & known.to_numpy()
            if (kept == chosen).all():
                break
            chosen = kept  # without those too rare, whose words stay apart and may be parts of others
        matcher.join(chosen[there], numbers[there])
        self.removed += sum(int(count) * (len(words) - 1) for count, words in zip(occurrences, spelled))
        fate = dict(
            zip(spelled, np.where(chosen, JOINED_SOMEWHERE, np.where(at_first > 0, TOO_RARE, NOT_THERE)).tolist())
        )
        here = [max((fate[words] for words in phrases), default=NOT_THERE) for phrases in self._listed]
        self.fate = np.maximum(self.fate, np.array(here, int))
        kept_phrases = [words for words, is_chosen in zip(spelled, chosen) if is_chosen]
        self.found += len(set(kept_phrases).difference(*self._listed))
        return vocabulary, kept_phrases

    def facts(self) -> dict[str, Any]:
        """What became of the phrases, for messages."""
        facts: dict[str, Any] = {"sought": repr(self._phrases), "listed": len(self._listed)}
        facts |= {"found": self.found} if self._phrases.find else {}
        for name, fate in (("absent", NOT_THERE), ("rare", TOO_RARE)):
            places = np.flatnonzero(self.fate == fate).tolist()
            phrases = [self._phrases.listed[place] for place in places[:NAMED]]
            facts[name] = [phrase if isinstance(phrase, str) else " ".join(phrase) for phrase in phrases]
            facts[f"number_{name}"] = len(places)
        return facts

    def _find(self, text: Text, language: str, counts: Keys) -> list[Words]:
        """The phrases of a language that the text itself shows."""
        if not self._phrases.find:
            return []
        words = self.words.filter(pl.col("number") < self._size)
        occurring = counts[words["number"].to_numpy()]
        plain = words["word"].str.replace(TAG, "").str.to_lowercase()
        functional, linking = self._function_words(language, plain, occurring)
        links = words.with_columns(count=occurring).filter(plain.is_in(linking)).sort("count", "word", descending=True)
        outside = np.ones(self._size, np.bool_)
        outside[words["number"].to_numpy()] = (plain.is_in(functional) | ~plain.str.contains(r"\p{L}")).to_numpy()
        found = find(
            text,
            counts,
            outside,
            links["number"].to_list(),
            min_count=self._phrases.min_count,
            threshold=self._phrases.threshold,
            longest=self._phrases.longest,
        )
        used = words.filter(pl.col("number").is_in(list({part for phrase in found.phrases for part in phrase})))
        spelling = dict(used.iter_rows())
        return [tuple(spelling[part] for part in phrase) for phrase in found.phrases]

    def _function_words(self, language: str, words: pl.Series, counts: Keys) -> tuple[list[str], list[str]]:
        """The function words of a language, and those that link words; the language is seen from them if need be."""
        if self._phrases.function_words is not None:
            return [*self._phrases.function_words], [*self._phrases.function_words]
        if language not in languages():
            shares = {name: counts[words.is_in([*stop_words(name)]).to_numpy()].sum() for name in languages()}
            language = max(shares, key=lambda name: shares[name])
            if shares[language] < LEAST_SHARE * counts.sum():
                return [], []
        return [*stop_words(language)], [*linking_words(language)]

    def _numbers(self, names: list[str]) -> Numbers:
        """The numbers of phrases as words, which are added to the words unless they are there."""
        wanted = pl.DataFrame({"word": pl.Series(names, dtype=pl.String)})
        new = wanted.unique(maintain_order=True).join(self.words, on="word", how="anti", maintain_order="left")
        first = _size(self.words)
        numbers = pl.Series("number", range(first, first + len(new)), self.words["number"].dtype)
        self.words = pl.concat([self.words, new.select(numbers, "word")])
        found = wanted.join(self.words, on="word", how="left", maintain_order="left")["number"]
        return found.cast(pl.Int32).to_numpy()

    def _parts(self, phrases: Sequence[Words]) -> list[tuple[int, ...]]:
        """The numbers of the words of phrases, −1 for those that the text does not have."""
        used = {word for words in phrases for word in words}
        found = self.words.filter((pl.col("number") < self._size) & pl.col("word").is_in(list(used)))
        number = dict(zip(found["word"].to_list(), found["number"].to_list()))
        return [tuple(number.get(word, -1) for word in words) for words in phrases]


def _size(words: pl.DataFrame) -> int:
    return int(words["number"].max()) + 1  # type: ignore[arg-type]


def _joined_counts(
    counts: Keys, occurrences: Keys, parts: Sequence[tuple[int, ...]], numbers: Numbers, size: int
) -> Keys:
    """How often each word and phrase occurs on its own, from how often each word does and phrases are joined."""
    joined = np.concatenate([counts, np.zeros(size - len(counts), np.int64)])
    lengths = [len(words) for words in parts]
    inside = np.array([part for words in parts for part in words], np.int64)
    np.subtract.at(joined, inside, np.repeat(occurrences, lengths))  # −1 for a part that is not there is of no phrase
    np.add.at(joined, numbers, occurrences)
    return joined
