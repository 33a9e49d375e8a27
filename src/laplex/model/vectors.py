"""Vectors of words, by slice, and of contexts: the table that every question is asked of.

Vectors are kept as parameters (P, D); a row's vector is that of its slot, since tied rows share one. Context rows
without a vector (a file of word vectors has none) have slot −1, and so have words in slices where they do not occur,
if their vectors are computed from the prior (`absent.py`). P parameters, D dimensions, S slices, V words, n ids.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from laplex.errors import InputError, explain_keywords, quote
from laplex.model.rows import Rows
from laplex.text.periods import have_order
from laplex.text.spelling import compose

if TYPE_CHECKING:
    from laplex.model.absent import AbsentVectors

MAX_FILLED_BLOCKS = 4  # of a language and slice with absent words, kept for the next question


class Vectors:
    """Which vector belongs to which word in which slice, and how often the word occurs there."""

    def __init__(
        self,
        rows: Rows,
        theta: NDArray[np.float32],
        slot: NDArray[np.int32],
        counts: list[NDArray[np.int64]],
        absent: AbsentVectors | None = None,
    ) -> None:
        self.rows = rows
        self.theta = theta
        self.slot = slot
        self.counts = counts  # of each language, (S, V)
        self.absent = absent  # computes vectors of words in slices where they have no parameter
        self._lengths: dict[tuple[int, int | None, bool], NDArray[np.float32]] = {}
        self._filled: dict[tuple[int, int | None], NDArray[np.float32]] = {}

    @property
    def dimensions(self) -> int:
        """The length of a vector."""
        return int(self.theta.shape[1])

    @property
    def languages(self) -> list[str]:
        """The names of the languages; one alone may have the empty name."""
        return [vocabulary.language for vocabulary in self.rows.vocabularies]

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that vectors vary by."""
        return self.rows.slices.columns

    @property
    def slices(self) -> pd.DataFrame:
        """The slices: a row each, with its values of the columns that vectors vary by, and its number of tokens."""
        frame = pd.DataFrame(list(self.rows.slices.keys), columns=list(self.columns))
        return frame.assign(tokens=sum(count.sum(1) for count in self.counts))

    def words(self, language: str | None = None) -> list[str]:
        """The vocabulary, most frequent first.

        Args:
            language: Which language, if there are several.

        Returns:
            The words, in the order of the rows of `matrix` and `contexts`.

        Example:
            fitted.words()[:3]
        """
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

    @explain_keywords
    def matrix(self, language: str | None = None, *, at: Mapping[str, Any] | None = None) -> NDArray[np.float32]:
        """The vectors of all words in a slice.

        Args:
            language: Which language, if there are several.
            at: The value of each column that vectors vary by.

        Returns:
            An array (V, D) in the order of `words()`. It is read-only: copy it to change it.

        Example:
            fitted.matrix(at={"party": "D"}).shape
        """
        return self.block(self.language(language), self.slice(at))

    def contexts(self, language: str | None = None) -> NDArray[np.float32]:
        """The context vectors, which all slices share.

        Args:
            language: Which language, if there are several.

        Returns:
            An array (V, D) in the order of `words()`. It is read-only: copy it to change it.

        Example:
            fitted.contexts().shape
        """
        return self.block(self.language(language), None)

    @explain_keywords
    def vector(
        self, word: str, language: str | None = None, *, at: Mapping[str, Any] | None = None
    ) -> NDArray[np.float32]:
        """The vector of a word in a slice.

        Args:
            word: The word.
            language: Its language, if there are several.
            at: The value of each column that vectors vary by.

        Returns:
            An array (D).

        Example:
            fitted.vector("tax", at={"party": "D"})
        """
        index = self.language(language)
        vector: NDArray[np.float32] = self.take([self.id(word, index)], index, self.slice(at))[0]
        return vector

    @explain_keywords
    def count(
        self,
        word: str,
        language: str | None = None,
        *,
        at: Mapping[str, Any] | None = None,
        within_phrases: bool = False,
    ) -> int:
        """How often a word occurs.

        Args:
            word: The word.
            language: Its language, if there are several.
            at: Values of columns that vectors vary by; of those not given, all values count.
            within_phrases: Also count the word within phrases: "rights" in human_rights.

        Returns:
            The number of occurrences.

        Example:
            fitted.count("tax", at={"party": "D"})
        """
        index = self.language(language)
        containing = self.rows.vocabularies[index].containing(word) if within_phrases and isinstance(word, str) else ()
        ids = containing if len(containing) else [self.id(word, index)]
        return int(self.counts[index][self.chosen(at)][:, ids].sum())

    def language(self, name: str | None) -> int:
        """The number of a language, as in `Rows`."""
        return self.rows.language(name)

    def id(self, word: str, language: int) -> int:
        """The id of a word in a language, which is given by its number."""
        vocabulary = self.rows.vocabularies[language]
        if not isinstance(word, str):
            raise InputError(f"a word is text, not {word!r}")
        if not len(vocabulary):
            raise InputError(f'the language "{vocabulary.language}" has no words')
        if (index := vocabulary.find(word)) is not None:
            return index
        for other in self.rows.vocabularies:
            if other.find(word) is not None:
                raise InputError(
                    f'"{word}" is not a word of "{vocabulary.language}", but of "{other.language}": '
                    f'write language="{other.language}"'
                )
        return vocabulary[word]  # the error of which suggests similar words

    def ids(self, words: str | Sequence[str], language: int) -> list[int]:
        """The ids of one or several words, each once."""
        ids = list(dict.fromkeys(self.id(word, language) for word in as_list(words)))
        if not ids:
            raise InputError("no words are given: name at least one")
        return ids

    def chosen(self, values: Mapping[str, Any] | None) -> list[int]:
        """The numbers of the slices with these values of columns, all of them if none are given."""
        values, wanted = check_slice(values), set()
        for column, value in values.items():
            known = self.values(column)
            spelled = next((text for text in (str(value), compose(str(value))) if text in known), None)
            if spelled is None:
                raise InputError(f'"{column}" has no value {value!r}; it has {quote(known, 12)}')
            wanted.add((column, spelled))
        slices = [slice for slice, key in enumerate(self.rows.slices.keys) if wanted <= set(zip(self.columns, key))]
        if not slices:
            raise InputError(f"there is no slice {dict(values)}; there are {quote(self.rows.slices.keys, 12)}")
        return slices

    def slice(self, values: Mapping[str, Any] | None) -> int:
        """The number of the one slice with these values."""
        slices = self.chosen(values)
        if len(slices) > 1:
            raise slice_needed(self.columns, values or {})
        return slices[0]

    def values(self, column: str) -> list[str]:
        """The values of a column that vectors vary by, in order.

        Args:
            column: The name of the column.

        Returns:
            The values, as text.

        Example:
            fitted.values("party")
        """
        if column not in self.columns:
            raise InputError(f'vectors do not vary by "{column}"; they vary by: {quote(self.columns) or "nothing"}')
        return self.rows.slices.values(column)

    def ordered(self, column: str) -> bool:
        """Whether the values of a column have an order of their own: all are numbers, or periods of time."""
        return have_order(self.values(column))

    def slots(self, language: int, slice: int | None) -> NDArray[np.int32]:
        """(V) The parameters of a language's words in a slice, or of its contexts if the slice is None."""
        rows = self._rows(language, slice)
        slots = self.slot[rows.start : rows.stop]
        if (slots < 0).any():
            raise InputError(
                "this needs a vector of its own for every word in every slice, and this model has none for words that "
                'do not occur in a slice: fit it with absent="kept"'
            )
        return slots

    def _rows(self, language: int, slice: int | None) -> range:
        rows = self.rows.contexts(language) if slice is None else self.rows.words(language, slice)
        if (slice is None or self.absent is None) and (self.slot[rows.start : rows.stop] < 0).any():
            raise InputError("these vectors came without context vectors")
        return rows

    def of_rows(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """(…, D) The vectors of rows, by number."""
        slots = self.slot[rows]
        vectors: NDArray[np.float32] = self.theta[slots]
        if self.absent is not None and (missing := slots < 0).any():
            vectors[missing] = self.absent.vectors(self.theta, rows[missing])
        return vectors

    def take(self, ids: Sequence[int], language: int, slice: int | None) -> NDArray[np.float32]:
        """(n, D) The vectors of words in a slice, or as contexts if the slice is None; all are given by number."""
        return self.of_rows(self._rows(language, slice).start + np.asarray(ids, np.int64))

    def block(self, language: int, slice: int | None) -> NDArray[np.float32]:
        """(V, D) The vectors of a language in a slice, or its contexts if the slice is None; both given by number.

        Where the parameters are consecutive this is a view of θ. The last few blocks with absent words are kept.
        """
        key = (language, slice)
        if key in self._filled:
            return self._filled[key]
        rows = self._rows(language, slice)
        slots = self.slot[rows.start : rows.stop]
        first = int(slots[0]) if len(slots) else 0
        consecutive = np.array_equal(slots, np.arange(first, first + len(slots)))
        block = self.theta[first : first + len(slots)] if consecutive else self.of_rows(np.array(rows))
        block.flags.writeable = False
        if (slots < 0).any():
            if len(self._filled) >= MAX_FILLED_BLOCKS:
                self._filled.pop(next(iter(self._filled)), None)
            self._filled[key] = block
        return block

    def lengths(self, language: int, slice: int | None, with_contexts: bool = False) -> NDArray[np.float32]:
        """(V) The lengths of the vectors of a block, or of their sums with the context vectors; they are kept."""
        key = (language, slice, with_contexts)
        if key not in self._lengths:
            block = self.block(language, slice)
            block = block + self.block(language, None) if with_contexts else block
            self._lengths[key] = np.sqrt(np.einsum("vd,vd->v", block, block))
        return self._lengths[key]


def check_slice(values: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """The values of columns that name slices; InputError if they are no mapping."""
    if not isinstance(values or {}, Mapping):
        raise InputError(f'at={values!r} must be values of columns: write at={{"party": "D"}}')
    return values or {}


def slice_needed(columns: Iterable[str], values: Mapping[str, Any]) -> InputError:
    """The error that values of columns name several slices, where one is needed."""
    missing = quote(f'"{column}"' for column in columns if column not in values)
    return InputError(f"say which slice: no value of {missing} is given")


def as_list(words: str | Iterable[str] | None) -> list[str]:
    """No word, one or several, as a list."""
    if words is None or isinstance(words, str):
        return [] if words is None else [words]
    if not isinstance(words, Iterable):
        raise InputError(f"a word is text, not {words!r}")
    return list(words)
