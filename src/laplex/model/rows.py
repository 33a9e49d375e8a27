"""Which row of θ is which vector.

A row is the vector of a word in a slice (ρ), or of a word as context (α), which all slices share (paper, "Dynamic Party
Affiliation Embeddings"). They are laid out as

    [ words of language 0: slice 0, slice 1, … | words of language 1: … | contexts of language 0 | … ]

R rows, S slices, V words of a language.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from laplex.errors import InputError, quote
from laplex.text.slices import Slices
from laplex.text.vocabulary import Vocabulary

Role = Literal["word", "context"]
WORDS_IN_EXAMPLE = 6


class Rows:
    """The layout of θ: `rows.words(language, slice)[w]` and `rows.contexts(language)[w]` are row numbers.

    Languages, slices and words are given by number.
    """

    def __init__(self, vocabularies: Sequence[Vocabulary], slices: Slices) -> None:
        self.vocabularies = tuple(vocabularies)
        self.slices = slices
        sizes = np.array([len(vocabulary) for vocabulary in vocabularies], np.int64)
        starts = np.concatenate([[0], np.cumsum(np.concatenate([sizes * len(slices), sizes]))])
        self._word_start, self._context_start = starts[: len(sizes)], starts[len(sizes) : -1]
        self.count = int(starts[-1])

    def __len__(self) -> int:
        return self.count

    def word_start(self, language: int, slice: int) -> int:
        """The row of the first word of a language in a slice; the others follow in the order of their ids."""
        return int(self._word_start[language]) + slice * len(self.vocabularies[language])

    def context_start(self, language: int) -> int:
        """The row of the first context word of a language."""
        return int(self._context_start[language])

    def words(self, language: int, slice: int) -> range:
        """The rows of the words of a language in a slice."""
        start = self.word_start(language, slice)
        return range(start, start + len(self.vocabularies[language]))

    def contexts(self, language: int) -> range:
        """The rows of the context words of a language."""
        start = self.context_start(language)
        return range(start, start + len(self.vocabularies[language]))

    def language(self, name: str | None) -> int:
        """The number of a language, whose name may be left out if there is one only."""
        names = [vocabulary.language for vocabulary in self.vocabularies]
        if name is None and len(names) == 1:
            return 0
        if name and names == [""]:
            raise InputError(f"there is one language, which has no name: leave out language={name!r}")
        if name not in names:
            if name is not None:
                raise InputError(f'there is no language "{name}"; there are {quote(names)}')
            raise InputError(
                f'say which language, of {quote(names)}: language="{names[0]}", or --language {names[0]} as an option'
            )
        return names.index(name)

    def everywhere(self, role: Role, language: int) -> list[int]:
        """The first rows of a language in a role: one in each slice for words, only one for contexts."""
        if role == "context":
            return [self.context_start(language)]
        return [self.word_start(language, slice) for slice in range(len(self.slices))]

    def places(self, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The words of word rows, numbered through all languages, and their slices."""
        sizes = np.array([len(vocabulary) for vocabulary in self.vocabularies], np.int64)
        language = np.searchsorted(self._word_start, rows, "right") - 1
        slice, word = np.divmod(rows - self._word_start[language], sizes[language])
        return (np.cumsum(sizes) - sizes)[language] + word, slice

    def without_slices(self) -> NDArray[np.int64]:
        """(R) The row of the same word, in the same role, in the layout of the same languages without slices."""
        words, sizes, begin = [], [len(vocabulary) for vocabulary in self.vocabularies], 0
        for size in sizes:
            words.append(np.tile(np.arange(begin, begin + size), len(self.slices)))
            begin += size
        return np.concatenate([*words, begin + np.arange(begin)])

    def tied_words(self, slot: NDArray[np.int32]) -> str:
        """A sentence on words of one language that share a vector, since priors tie them; empty if there are none.

        Args:
            slot: (R) The parameter of each row.

        Returns:
            The numbers of words and vectors of each language, with the largest group of words.
        """
        parts = []
        for language, vocabulary in enumerate(self.vocabularies):
            words = self.words(language, 0)
            slots = slot[words.start : words.stop]
            parameters, sizes = np.unique(slots[slots >= 0], return_counts=True)
            if (shared := sizes > 1).any():
                group = np.array(vocabulary.words)[slots == parameters[sizes.argmax()]]
                of = f"{sizes[shared].sum():,} words of {vocabulary.language}".removesuffix(" of ")
                vectors = "a vector" if shared.sum() == 1 else f"{shared.sum():,} vectors"
                parts.append(f"{of} share {vectors}, such as {_equation(group)}")
        return "; ".join(parts)

    def name(self, row: int) -> tuple[str, Role, tuple[str, ...]]:
        """The word, role and slice of a row, for messages."""
        if row >= self._context_start[0]:
            language = int(np.searchsorted(self._context_start, row, "right")) - 1
            return self.vocabularies[language].words[row - int(self._context_start[language])], "context", ()
        language = int(np.searchsorted(self._word_start, row, "right")) - 1
        slice, word = divmod(row - int(self._word_start[language]), len(self.vocabularies[language]))
        return self.vocabularies[language].words[word], "word", self.slices.keys[slice]


def _equation(words: Sequence[str]) -> str:
    """Words that are the same: tax = duty = levy …"""
    return " = ".join(words[:WORDS_IN_EXAMPLE]) + " …" * (len(words) > WORDS_IN_EXAMPLE)
