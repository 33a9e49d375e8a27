"""Vectors of words, by slice, and of contexts: the table that every question is asked of.

Vectors are kept as parameters (P, D); a row's vector is that of its slot, since tied rows share one. Context rows
without a vector (a file of word vectors has none) have slot −1. P parameters, D dimensions, S slices, V words.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from laplex.errors import InputError, quote
from laplex.rows import Rows


class Vectors:
    """Which vector belongs to which word in which slice, and how often the word occurs there."""

    def __init__(
        self,
        rows: Rows,
        theta: NDArray[np.float32],
        slot: NDArray[np.int32],
        counts: list[NDArray[np.int64]],
    ) -> None:
        self.rows = rows
        self.theta = theta
        self.slot = slot
        self.counts = counts  # of each language, (S, V)

    @property
    def dimensions(self) -> int:
        return int(self.theta.shape[1])

    @property
    def languages(self) -> list[str]:
        return [vocabulary.language for vocabulary in self.rows.vocabularies]

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that vectors vary by."""
        return self.rows.slices.columns

    @property
    def slices(self) -> pd.DataFrame:
        """The slices, with their tokens."""
        frame = pd.DataFrame(list(self.rows.slices.keys), columns=list(self.columns))
        return frame.assign(tokens=sum(count.sum(1) for count in self.counts))

    def words(self, language: str | None = None) -> list[str]:
        """The vocabulary, most frequent first."""
        return list(self.rows.vocabularies[self.language(language)].words)

    def __contains__(self, word: object) -> bool:
        return any(word in vocabulary for vocabulary in self.rows.vocabularies)

    def __iter__(self) -> Iterator[str]:
        for vocabulary in self.rows.vocabularies:
            yield from vocabulary

    def __len__(self) -> int:
        return sum(map(len, self.rows.vocabularies))

    def __repr__(self) -> str:
        words = " + ".join(f"{len(v):,}" for v in self.rows.vocabularies)
        by = f" by {', '.join(self.columns)} ({len(self.rows.slices)} slices)" if self.columns else ""
        return f"{type(self).__name__}: {words} words{by}, {self.dimensions} dimensions"

    def matrix(self, language: str | None = None, **slice: Any) -> NDArray[np.float32]:
        """(V, D) The vectors of all words in a slice, in the order of `words()`."""
        return self.block(self.language(language), self.slice(slice))

    def contexts(self, language: str | None = None) -> NDArray[np.float32]:
        """(V, D) The context vectors, in the order of `words()`."""
        rows = self.rows.contexts(self.language(language))
        slots = self.slot[rows.start : rows.stop]
        if len(slots) and slots.min() < 0:
            raise InputError("these vectors came without context vectors")
        return self.theta[slots]

    def vector(self, word: str, language: str | None = None, **slice: Any) -> NDArray[np.float32]:
        """The vector of a word in a slice."""
        index = self.language(language)
        row = self.rows.word_start(index, self.slice(slice)) + self.rows.vocabularies[index][word]
        vector: NDArray[np.float32] = self.theta[self.slot[row]].copy()
        return vector

    def count(self, word: str, language: str | None = None, **slice: Any) -> int:
        """How often a word occurs, in the slices with these values or in all of them."""
        index = self.language(language)
        return int(self.counts[index][self.chosen(slice), self.rows.vocabularies[index][word]].sum())

    def language(self, name: str | None) -> int:
        """The number of a language; with one alone it need not be named."""
        if name is None and len(self.languages) == 1:
            return 0
        if name not in self.languages:
            raise InputError(f"say which language: language= one of {quote(self.languages)}, not {name!r}")
        return self.languages.index(name)

    def chosen(self, values: dict[str, Any]) -> list[int]:
        """The slices with these values, all of them if none are given."""
        for column, value in values.items():
            if column not in self.columns:
                raise InputError(f'vectors do not vary by "{column}"; they vary by: {quote(self.columns) or "nothing"}')
            known = self.values(column)
            if str(value) not in known:
                raise InputError(f'"{column}" has no value {value!r}; it has {quote(known, 12)}')
        places = [(self.columns.index(column), str(value)) for column, value in values.items()]
        found = [
            slice
            for slice, key in enumerate(self.rows.slices.keys)
            if all(key[place] == value for place, value in places)
        ]
        if not found:
            raise InputError(f"there is no slice {values}; there are {quote(self.rows.slices.keys, 12)}")
        return found

    def slice(self, values: dict[str, Any]) -> int:
        """The one slice with these values."""
        found = self.chosen(values)
        if len(found) > 1:
            missing = ", ".join(f"{column}=" for column in self.columns if column not in values)
            raise InputError(f"say which slice: {missing} is not given")
        return found[0]

    def values(self, column: str) -> list[str]:
        """The values of a column that vectors vary by, in order."""
        if column not in self.columns:
            raise InputError(f'vectors do not vary by "{column}"; they vary by: {quote(self.columns) or "nothing"}')
        return self.rows.slices.values(column)

    def block(self, language: int, slice: int) -> NDArray[np.float32]:
        """(V, D) The vectors of a language in a slice, both by number."""
        rows = self.rows.words(language, slice)
        return self.theta[self.slot[rows.start : rows.stop]]
