"""Which vectors of a model an evaluation uses, and which of them belongs to each word of a test set.

V words, D dimensions, n words of a test set.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from laplex.errors import InputError, quote
from laplex.model.vectors import Vectors
from laplex.questions.cosine import By
from laplex.runtime.display import say
from laplex.text.vocabulary import Vocabulary


@dataclass(frozen=True, eq=False)
class WordVectors:
    """The unit vectors of one language in one slice, in the order of the vocabulary."""

    vocabulary: Vocabulary
    unit: NDArray[np.float32]  # (V, D), perhaps only of the most frequent words; zero vectors stay zero
    lowercase: bool  # no word of the vocabulary has a capital, so words are looked up in lower case

    @classmethod
    def of(
        cls, model: Vectors, by: By, language: str | None, slice: dict[str, Any], most: int | None, name: str
    ) -> WordVectors:
        """The vectors of a model's words, of its contexts, or their sums; only those of the `most` frequent words."""
        if by not in get_args(By):
            raise InputError(f'by="{by}": write one of {quote(get_args(By))}')
        if most is not None and most < 1:
            raise InputError(f"most={most} must be at least 1, or None for all words")
        index = model.language(language)
        vocabulary = model.rows.vocabularies[index]
        if not len(vocabulary):
            raise InputError(f'the language "{vocabulary.language}" has no words')
        slices = model.chosen(slice)
        if len(slices) > 1 and by != "contexts":
            missing = ", ".join(f"{column}=" for column in model.columns if column not in slice)
            raise InputError(
                f"{name} has {len(slices)} slices: say which by {missing} such as "
                f"{quote((dict(zip(model.columns, model.rows.slices.keys[s], strict=True)) for s in slices), 3)}"
            )
        parts = [] if by == "contexts" else [model.block(index, slices[0])]
        parts += [] if by == "words" else [model.contexts(language)]
        total: NDArray[np.float32] = np.sum([part[:most] for part in parts], axis=0, dtype=np.float32)
        lengths = np.linalg.norm(total, axis=1, keepdims=True)
        total /= np.where(lengths > 0, lengths, 1.0)
        return cls(vocabulary, total, not any(word != word.lower() for word in vocabulary))

    def __len__(self) -> int:
        return len(self.unit)

    def spelling(self, word: str) -> str:
        """A word as the vocabulary would write it."""
        return word.lower() if self.lowercase else word

    def find(self, words: Iterable[str]) -> NDArray[np.int64]:
        """(n) The ids of words, −1 for those without a vector."""
        ids = self.vocabulary.ids([self.spelling(word) for word in words])
        return np.where(ids < len(self), ids, -1)


def slices_of(models: Mapping[str, Vectors], values: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """For each model the values of those columns that it varies by.

    So a model without slices can be compared with one that has them; a column that no model varies by is an error.
    """
    for column in values:
        if not any(column in model.columns for model in models.values()):
            known = dict.fromkeys(name for model in models.values() for name in model.columns)
            raise InputError(f'vectors do not vary by "{column}"; they vary by: {quote(known) or "nothing"}')
    return {
        name: {column: value for column, value in values.items() if column in model.columns}
        for name, model in models.items()
    }


def say_lowered(tables: Iterable[WordVectors], words: Iterable[str], quiet: bool) -> None:
    """Say how many words of the test sets are looked up without their capitals."""
    lowered = sum(word != word.lower() for word in set(words))
    if lowered and any(table.lowercase for table in tables):
        say(f"{lowered:,} words with capitals are looked up in lower case, as the vocabulary is", quiet=quiet)
