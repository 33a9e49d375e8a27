"""The words of one language: word ↔ id, how often each occurs, and what follows from that.

Ids run from the most frequent word down, ties by the alphabet, so that the same text always gives the same ids.
V words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from difflib import get_close_matches
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from laplex.errors import InputError


class Vocabulary:
    """Words and their counts, `counts[i]` that of `words[i]`."""

    def __init__(self, words: Sequence[str], counts: NDArray[np.int64], language: str = "") -> None:
        if len(words) != len(counts):
            raise ValueError(f"{len(words)} words, {len(counts)} counts")
        self.words = tuple(words)
        _check_whole(self.words)
        if len(set(self.words)) < len(self.words):
            twice = next(word for word, times in Counter(self.words).items() if times > 1)
            raise InputError(f'the word "{twice}" is there more than once: a vocabulary has each word once')
        self.counts = counts
        self.language = language

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
        """The id of a word."""
        try:
            return self._ids[word]
        except KeyError:
            close = self.close(word)
            instead = f"; close to it are {', '.join(close)}" if close else ""
            raise InputError(f'"{word}" is not in the vocabulary ({len(self):,} words){instead}') from None

    def close(self, word: str, most: int = 3) -> list[str]:
        """Words that are written nearly like this one, for a message about one that is not known."""
        folded = {known.casefold(): known for known in reversed(self.words)}  # of two alike, the more frequent one
        return [folded[match] for match in get_close_matches(word.casefold(), folded, most, 0.7)]

    def __repr__(self) -> str:
        of = f" of {self.language}" if self.language else ""
        return f"Vocabulary{of}: {len(self):,} words, {self.counts.sum():,} tokens, from {' '.join(self.words[:5])} …"

    def subsampling(self, threshold: float = 1e-3) -> NDArray[np.float32]:
        """The probability that an occurrence of a word is kept: min(1, √(t/f) + t/f), f its share of the tokens.

        word2vec's formula (its code, not its paper); `threshold` t = 0 keeps everything.
        """
        if threshold < 0:
            raise InputError(f"a subsampling threshold of {threshold} makes no sense: give 0 (keep all) to 1")
        if threshold == 0:
            return np.ones(len(self), np.float32)
        ratio = threshold * self.counts.sum() / np.maximum(self.counts, 1)
        kept: NDArray[np.float32] = np.minimum(1.0, np.sqrt(ratio) + ratio).astype(np.float32)
        return kept

    def noise(self, power: float = 0.75) -> NDArray[np.float64]:
        """The distribution of negative samples: counts to the `power`, normalised (paper, Eq. 6)."""
        weights: NDArray[np.float64] = self.counts.astype(np.float64) ** power
        weights /= weights.sum()
        return weights


def _check_whole(words: Sequence[str]) -> None:
    """Half characters can be in a str, but in no table, file or terminal."""
    try:
        "".join(words).encode()
    except UnicodeEncodeError as error:
        half = next(word for word in words if error.object[error.start] in word)
        raise InputError(f"the word {half!r} holds half a character (a surrogate): leave it out") from None


def choose(
    words: pl.DataFrame, *, min_count: int, max_words: int | None = None, keep: Collection[str] = ()
) -> pl.DataFrame:
    """The rows of `words` (columns "word" and "count") that enter a vocabulary, most frequent first.

    Those that occur at least `min_count` times, the `max_words` most frequent of them, and those in `keep`
    as long as they occur at all.
    """
    ranked = words.filter(pl.col("count") > 0).sort("count", "word", descending=[True, False])
    frequent = (pl.col("count") >= min_count) & (pl.row_index() < (max_words or len(ranked)))
    return ranked.filter(frequent | pl.col("word").is_in(list(keep)))
