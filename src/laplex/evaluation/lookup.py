"""What of a model an evaluation looks at: which of its vectors, and which of them a word of a test set means.

One model or several by name, a language and the values of a slice come in; a Table goes out for each model.
V words, D dimensions, n words of a test set.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from laplex.errors import InputError, quote
from laplex.progress import say
from laplex.questions.cosine import By
from laplex.vectors import Vectors
from laplex.vocabulary import Vocabulary

Models = Vectors | Mapping[str, Vectors]


@dataclass(frozen=True, eq=False)
class Table:
    """The vectors of one language in one slice, each of length one, in the order of the vocabulary."""

    vocabulary: Vocabulary
    unit: NDArray[np.float32]  # (V, D), perhaps only of the most frequent words
    lowercase: bool  # no word of the vocabulary has a capital, so words are looked up without theirs

    def __len__(self) -> int:
        return len(self.unit)

    def spelling(self, word: str) -> str:
        """A word as the vocabulary would write it."""
        return word.lower() if self.lowercase else word

    def find(self, words: Iterable[str]) -> NDArray[np.int64]:
        """(n) The numbers of words, −1 for those without a vector."""
        ids = numbers(self.vocabulary, [self.spelling(word) for word in words])
        return np.where(ids < len(self), ids, -1)


def named(models: Models) -> dict[str, Vectors]:
    """The models by name; one alone is called "model"."""
    found = dict(models) if isinstance(models, Mapping) else {"model": models}
    if not found:
        raise InputError("there is no model to evaluate")
    for name, model in found.items():
        if not isinstance(model, Vectors):
            raise InputError(f'"{name}" is no model but {type(model).__name__}: give what lx.fit or lx.load returns')
    return found


def slices_of(models: Mapping[str, Vectors], values: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The values that choose a slice of each model: those of columns that it varies by.

    So a model without slices can stand beside one with; a column that no model varies by is an error.
    """
    for column in values:
        if not any(column in model.columns for model in models.values()):
            known = dict.fromkeys(name for model in models.values() for name in model.columns)
            raise InputError(f'vectors do not vary by "{column}"; they vary by: {quote(known) or "nothing"}')
    return {
        name: {column: value for column, value in values.items() if column in model.columns}
        for name, model in models.items()
    }


def table(
    model: Vectors, by: By, language: str | None, slice: dict[str, Any], most: int | None = None, name: str = ""
) -> Table:
    """The vectors of a model's words, of its contexts, or their sums; those of the `most` frequent words."""
    if by not in get_args(By):
        raise InputError(f'by="{by}": write one of {quote(get_args(By))}')
    if most is not None and most < 1:
        raise InputError(f"most={most} must be at least 1, or None for all words")
    index = model.language(language)
    vocabulary = model.rows.vocabularies[index]
    if not len(vocabulary):
        raise InputError(f'the language "{vocabulary.language}" has no words')
    model.chosen(slice)
    parts = []
    if by != "contexts":
        parts.append(model.block(index, _slice(model, slice, name)))
    if by != "words":
        parts.append(model.contexts(language))
    return Table(vocabulary, unit([part[:most] for part in parts]), not any(w != w.lower() for w in vocabulary))


def _slice(model: Vectors, values: dict[str, Any], name: str) -> int:
    found = model.chosen(values)
    if len(found) > 1:
        missing = ", ".join(f"{column}=" for column in model.columns if column not in values)
        raise InputError(
            f"{name or 'the model'} has {len(found)} slices: say which by {missing} such as "
            f"{quote((dict(zip(model.columns, model.rows.slices.keys[s], strict=True)) for s in found), 3)}"
        )
    return found[0]


def numbers(vocabulary: Vocabulary, words: Sequence[str]) -> NDArray[np.int64]:
    """(n) The numbers of words in a vocabulary, −1 for those that are not in it."""
    ids = np.full(len(words), -1, np.int64)
    ids[[word in vocabulary for word in words]] = [vocabulary[word] for word in words if word in vocabulary]
    return ids


def unit(parts: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
    """The sum of matrices, its rows scaled to length one; rows of zeros stay zeros."""
    total: NDArray[np.float32] = np.sum(parts, axis=0, dtype=np.float32)
    length = np.sqrt(np.einsum("vd,vd->v", total, total))
    total /= np.where(length > 0, length, 1.0)[:, None]
    return total


def say_lowered(tables: Iterable[Table], words: Iterable[str], quiet: bool) -> None:
    """Say how many words of the test sets are looked up without their capitals."""
    lowered = sum(word != word.lower() for word in set(words))
    if lowered and any(found.lowercase for found in tables):
        say(f"{lowered:,} words with capitals are looked up in lower case, as the vocabulary is", quiet=quiet)
