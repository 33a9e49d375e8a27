"""The vocabulary of a language: its words with their ids and counts.

Word ids run from the most frequent word down, ties by the alphabet, so that the same text always gives the same ids.
V words.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import cached_property
from itertools import islice, repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from laplex.errors import InputError, quote
from laplex.runtime import storage
from laplex.text.spelling import compose, split_tag, words_of

_BETWEEN_PARTS = re.compile(r"[\s_\-\u2010-\u2015]+")
_BETWEEN_WORDS = re.compile(r"[,;]+")


class Vocabulary:
    """The words of one language: word ↔ id, and how often each occurs.

    `vocabulary["tax"]` is the id of a word; `"tax" in vocabulary`, `len(vocabulary)` and iteration work as for a list.

    Args:
        words: Each word once; its place is its id.
        counts: (V) How often each word occurs.
        language: The name of the language, empty if there is only one.
        phrases: The words of each phrase that is a word of the vocabulary: ("human", "rights") of human_rights.

    Attributes:
        phrases: By phrase its words, the most frequent phrase first.

    Example:
        >>> Vocabulary(["tax", "war"], np.array([3, 2]))["war"]
        1
    """

    def __init__(
        self,
        words: Sequence[str],
        counts: NDArray[np.int64],
        language: str = "",
        phrases: Iterable[tuple[str, ...]] = (),
    ) -> None:
        if len(words) != len(counts):
            raise ValueError(f"{len(words)} words, {len(counts)} counts")
        self.words = tuple(words)
        try:
            "".join(words).encode()
        except UnicodeEncodeError as error:  # half characters (surrogates), which no table, file or terminal can hold
            word = next(word for word in words if error.object[error.start] in word)
            raise InputError(f"the word {word!r} holds half a character (a surrogate): leave it out") from None
        if len(set(self.words)) < len(self.words):
            repeated = next(word for word, count in Counter(self.words).items() if count > 1)
            raise InputError(f'the word "{repeated}" is there more than once: a vocabulary has each word once')
        self.counts = counts
        self.language = language
        self.phrases = {"_".join(phrase): phrase for phrase in phrases}
        if unknown := self.phrases.keys() - set(self.words):
            raise ValueError(f'the phrase "{min(unknown)}", which is no word of the vocabulary')
        self.phrases = {name: self.phrases[name] for name in sorted(self.phrases, key=self._ids.__getitem__)}

    @cached_property
    def is_lower_case(self) -> bool:
        """Whether no word has a capital, apart from the tags of parts of speech."""
        capitals = (part for word in self.words if word != word.lower() for part in self.phrases.get(word, (word,)))
        return all(split_tag(part)[0].lower() == split_tag(part)[0] for part in capitals)

    @cached_property
    def _tagged(self) -> dict[str, list[str]]:
        """By word, its forms with the tag of a part of speech, the most frequent first."""
        tagged: dict[str, list[str]] = {}
        for word in self.words:
            if word[-1:].isupper() and split_tag(word)[1]:
                untagged = [split_tag(part)[0] for part in self.phrases.get(word, (word,))]
                tagged.setdefault("_".join(untagged), []).append(word)
        return tagged

    def tagged(self, word: str) -> list[str]:
        """Find the forms of a word that have the tag of a part of speech.

        Args:
            word: The word without a tag, as `find` allows it to be written.

        Returns:
            The forms, the most frequent first; none if words have no tags.

        Example:
            >>> Vocabulary(["attack_NOUN", "attack_VERB"], np.array([3, 2])).tagged("attack")
            ['attack_NOUN', 'attack_VERB']
        """
        forms = (self._tagged.get(spelled) for spelled in self._spellings(word))
        return next(filter(None, forms), [])

    def _spellings(self, word: str) -> Iterator[str]:
        """A word as it may be in the vocabulary."""
        for spelled in (_spell(word), "_".join(_parts(word))):
            yield spelled
            if self.is_lower_case:
                tag = split_tag(spelled.upper())[1]
                yield spelled.lower()
                yield f"{spelled[: -len(tag)].lower()}{tag}" if tag else spelled

    @cached_property
    def _has_phrases(self) -> bool:  # also of vectors that were made elsewhere
        return any("_" in word for word in self.words)

    @cached_property
    def _ids(self) -> dict[str, int]:
        return {word: index for index, word in enumerate(self.words)}

    def __len__(self) -> int:
        return len(self.words)

    def __iter__(self) -> Iterator[str]:
        return iter(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self._ids

    def __getitem__(self, word: str) -> int:
        """The id of a word, which may be written as `find` allows."""
        index = self.find(word)
        if index is None:
            if forms := self.tagged(word):
                raise InputError(f'"{word}" is there with the tag of a part of speech only: write {", ".join(forms)}')
            unknown = f'"{word}" is not in the vocabulary ({len(self):,} words)'
            if len(_parts(word)) > 1:
                how = f'phrases=lx.Phrases(["{word}"])' if self.phrases else f'phrases=True or phrases=["{word}"]'
                raise InputError(f"{unknown}: to make this phrase a word, read the text with lx.read(..., {how})")
            close = self.close(word)
            raise InputError(f"{unknown}{f'; close to it are {quote(close)}' if close else ''}")
        return index

    def find(self, word: str) -> int | None:
        """Look a word up as a user may write it.

        Args:
            word: The word as it is in the vocabulary; or with decomposed Unicode or a typographic apostrophe (don’t);
                or in another case, if the vocabulary is all in lower case. A tag belongs to the word (attack_NOUN).

        Returns:
            Its id, or None if there is no such word.

        Example:
            >>> Vocabulary(["don't", "war"], np.array([3, 2])).find("Don’t")
            0
        """
        if (index := self._ids.get(word)) is not None:
            return index
        return next((self._ids[spelled] for spelled in self._spellings(word) if spelled in self._ids), None)

    def words_in(self, text: str) -> list[str]:
        """The words of a text that a user typed, with spaces, commas or semicolons between them.

        Args:
            text: Words, of which those that are a phrase of the vocabulary are taken together.

        Returns:
            The words, known or not, as they were typed.

        Example:
            >>> vocabulary = Vocabulary(["human_rights", "tax"], np.array([3, 2]), phrases=[("human", "rights")])
            >>> vocabulary.words_in("human rights tax, war")
            ['human rights', 'tax', 'war']
        """
        longest = max(map(len, self.phrases.values()), default=1)
        words: list[str] = []
        for piece in map(str.split, _BETWEEN_WORDS.split(text)):
            start = 0
            while start < len(piece):
                ends = range(min(start + longest, len(piece)), start + 1, -1)
                end = next((end for end in ends if self.find(" ".join(piece[start:end])) is not None), start + 1)
                words.append(" ".join(piece[start:end]))
                start = end
        return words

    def containing(self, word: str) -> NDArray[np.int64]:
        """The ids of all words in which a word occurs: its own, and those of the phrases that it is part of.

        Args:
            word: The word, which may be written as `find` allows.

        Returns:
            The ids; that of a phrase is repeated if it has the word more than once. The sum of their counts is how
            often the word occurs in all.

        Example:
            >>> vocabulary = Vocabulary(["rights", "human_rights"], np.array([3, 2]), phrases=[("human", "rights")])
            >>> vocabulary.counts[vocabulary.containing("rights")].sum()
            np.int64(5)
        """
        own = self.find(word)
        forms = {self.words[own]} if own is not None else {*self._spellings(word)}
        inside = [self._ids[name] for name, parts in self.phrases.items() for part in parts if part in forms]
        return np.array([*([own] if own is not None else []), *inside], np.int64)

    def ids(self, words: Sequence[str]) -> NDArray[np.int64]:
        """The ids of several words, such as those of a list, each looked up as by `find`.

        Args:
            words: The words, known or not.

        Returns:
            Their ids, −1 for words that are not in the vocabulary.

        Example:
            tokens.vocabularies[0].ids(["health", "care"])
        """
        ids = np.fromiter(map(self._ids.get, words, repeat(-1)), np.int64, len(words))
        for place in np.flatnonzero(ids < 0).tolist():
            word = words[place]
            plain = word.isascii() and not (self._has_phrases and _BETWEEN_PARTS.search(word)) and "_" not in word
            if not (plain and (word.islower() or not self.is_lower_case)):  # else it has no other spelling
                found = self.find(word)
                ids[place] = -1 if found is None else found
        return ids

    def close(self, word: str, most: int = 3) -> list[str]:
        """Find words with a similar spelling, for a message about an unknown word.

        Args:
            word: The unknown word.
            most: The largest number of words to return.

        Returns:
            The words, most similar first.

        Example:
            tokens.vocabularies[0].close("helth")
        """
        # of equal ones the more frequent
        folded = {split_tag(known)[0].casefold(): known for known in reversed(self.words)}
        matches = get_close_matches(split_tag(word)[0].casefold(), folded, most, 0.7)
        return list(dict.fromkeys([*self.tagged(word), *(folded[match] for match in matches)]))[:most]

    def __repr__(self) -> str:
        of = f" of {self.language}" if self.language else ""
        return f"Vocabulary{of}: {len(self):,} words, {self.counts.sum():,} tokens, from {' '.join(self.words[:5])} …"

    def subsampling(self, threshold: float = 1e-3) -> NDArray[np.float32]:
        """The probability that an occurrence of a word is kept: min(1, √(t/f) + t/f), f its share of the tokens.

        This is the formula of word2vec's code, which differs from that of its paper.

        Args:
            threshold: The t of the formula; 0 keeps everything.

        Returns:
            (V) The probabilities.

        Example:
            tokens.vocabularies[0].subsampling(1e-4)
        """
        if threshold < 0:
            raise InputError(f"a subsampling threshold of {threshold} is negative: give 0 (keep all) to 1")
        if threshold == 0:
            return np.ones(len(self), np.float32)
        ratio = threshold * self.counts.sum() / np.maximum(self.counts, 1)
        kept: NDArray[np.float32] = np.minimum(1.0, np.sqrt(ratio) + ratio).astype(np.float32)
        return kept

    def noise(self, power: float = 0.75) -> NDArray[np.float64]:
        """The distribution of negative samples (paper, Eq. 6).

        Args:
            power: The exponent of the counts.

        Returns:
            (V) The probabilities.

        Example:
            tokens.vocabularies[0].noise()
        """
        weights: NDArray[np.float64] = self.counts.astype(np.float64) ** power
        weights /= weights.sum()
        return weights


def _spell(word: str) -> str:
    """A word with composed Unicode and plain apostrophes, as the tokenizer writes it."""
    return compose(word).replace("’", "'")


def _parts(word: str) -> list[str]:
    """The words of a phrase as a user may write it, as the tokenizer writes them."""
    return [each for part in _BETWEEN_PARTS.split(_spell(word)) if part for each in words_of(part)]


def pack_phrases(phrases: Sequence[tuple[str, ...]], language: int) -> dict[str, NDArray[Any]]:
    """The phrases of the language with this number as arrays: their words, and how many each has."""
    text, starts = storage.pack(word for phrase in phrases for word in phrase)
    lengths = np.array([len(phrase) for phrase in phrases], np.int32)
    names = (f"phrases/{language}/{name}" for name in ("text", "starts", "lengths"))
    return dict(zip(names, (text, starts, lengths)))


def unpack_phrases(arrays: Mapping[str, NDArray[Any]], language: int) -> list[tuple[str, ...]]:
    """The inverse of `pack_phrases`. Raises ValueError if the arrays do not fit together."""
    if f"phrases/{language}/lengths" not in arrays:  # read without phrases
        return []
    text, starts, lengths = (arrays[f"phrases/{language}/{name}"] for name in ("text", "starts", "lengths"))
    words = iter(storage.unpack(text, starts))
    if lengths.ndim != 1 or lengths.dtype != np.int32 or (lengths < 2).any() or lengths.sum() != len(starts) - 1:
        raise ValueError("the words of phrases")
    return [tuple(islice(words, length)) for length in lengths.tolist()]
