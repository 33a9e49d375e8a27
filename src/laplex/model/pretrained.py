"""Vectors of words that were estimated elsewhere, to be looked up by word: for `Anchor` and for the start of a fit.

V words, S slices, D dimensions.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from laplex.errors import InputError
from laplex.model.stored import KIND, stored_vectors
from laplex.model.vectors import Vectors
from laplex.runtime import storage
from laplex.text import word2vec

Floats = NDArray[np.float64]
USUAL_SHARE = 0.5  # of the vocabulary that vectors of the same language have; those of another have a quarter or less


class RowsByWord(Mapping[str, NDArray[Any]]):
    """The rows of a matrix by word."""

    def __init__(self, words: Sequence[str], matrix: NDArray[Any]) -> None:
        self._row = {word: row for row, word in enumerate(words)}
        self._matrix = matrix

    def __getitem__(self, word: str) -> NDArray[Any]:
        vector: NDArray[Any] = self._matrix[self._row[word]]
        return vector

    def __iter__(self) -> Iterator[str]:
        return iter(self._row)

    def __len__(self) -> int:
        return len(self._row)


@dataclass(frozen=True, eq=False)
class Pretrained:
    """Word vectors, and context vectors if there are any, each by word."""

    name: str
    words: Mapping[str, Any]
    contexts: Mapping[str, Any] | None = None

    @classmethod
    def of(cls, source: Any, language: str | None = None) -> Pretrained:
        """Vectors from what a user may give.

        Args:
            source: A file of word2vec, GloVe or fastText; a saved model; Embeddings; gensim's KeyedVectors; or a
                mapping from words to vectors.
            language: The language of the words, if the source has several.
        """
        name = Path(source).name if isinstance(source, (str, os.PathLike)) else "the given model"
        source = opened(source)
        if isinstance(source, (str, os.PathLike)):
            words, matrix = word2vec.read(source)
            return cls(name, RowsByWord(words, matrix))
        if isinstance(source, Vectors):
            return cls._of_model(source, name, language)
        if hasattr(source, "index_to_key") and hasattr(source, "vectors"):
            return cls(
                "the given KeyedVectors", RowsByWord([str(word) for word in source.index_to_key], source.vectors)
            )
        if not hasattr(source, "__contains__") or not hasattr(source, "__getitem__"):
            raise InputError(
                f"{type(source).__name__} has no vectors of words: give a file of word2vec, GloVe or fastText, a model "
                "of laplex or gensim, or a dict"
            )
        return cls(f"the {len(source):,} given vectors", source)

    @classmethod
    def _of_model(cls, model: Vectors, name: str, language: str | None) -> Pretrained:
        number = model.language(None if len(model.languages) == 1 else language)
        words = model.rows.vocabularies[number].words
        slots = model.slot[model.rows.context_start(number) :][: len(words)]
        contexts = None if (slots < 0).any() else RowsByWord(words, model.block(number, None))
        return cls(name, RowsByWord(words, mean_over_slices(model, number)), contexts)


def opened(source: Any) -> Any:
    """A saved model that a path leads to; anything else, also a file of word vectors, as it is."""
    if isinstance(source, (str, os.PathLike)) and Path(source).is_dir():
        return stored_vectors(storage.load(source, KIND))
    return source


def look_up(vectors: Mapping[str, Any], words: Sequence[str], name: str) -> tuple[NDArray[np.bool_], Floats]:
    """(V), (n, D) Which words have a vector in a mapping, and these vectors; InputError if none has one."""
    known = np.array([word in vectors for word in words], bool)
    if not known.any():
        raise InputError(
            f"none of the {len(words):,} words of the vocabulary has a vector in {name}: check its language, and "
            "whether its words are in lower case as those of the text are"
        )
    found = [np.asarray(vectors[word], np.float64) for word, is_known in zip(words, known, strict=True) if is_known]
    if len({vector.shape for vector in found}) > 1 or not np.isfinite(matrix := np.array(found)).all():
        raise InputError(f"the vectors in {name} are not all of one length, or not finite")
    return known, matrix


def foreign(known: int, words: int) -> str:
    """What to add to a line on how many words are known, if these are few."""
    if known >= USUAL_SHARE * words:
        return ""
    return (
        f"; that is only {known / words:.0%}, as with vectors of another language: check the language, and whether the "
        "words are spelled as in the text (lower case)"
    )


def mean_over_slices(model: Vectors, language: int) -> NDArray[np.float32]:
    """(V, D) The mean of a word's vectors in all slices that it has one in, weighted by how often it occurs there."""
    counts = model.counts[language].astype(np.float64)
    blocks = [model.rows.words(language, slice) for slice in range(len(model.rows.slices))]
    slots = np.stack([model.slot[rows.start : rows.stop] for rows in blocks])
    weights = np.where(slots < 0, 0.0, counts)
    weights[:, weights.sum(0) == 0] = 1.0
    weights /= weights.sum(0)
    mean = np.zeros((counts.shape[1], model.dimensions), np.float32)
    for slot, weight in zip(slots, weights.astype(np.float32), strict=True):
        mean += weight[:, None] * model.theta[slot]
    return mean


def principal_axes(matrix: NDArray[Any], dimensions: int) -> tuple[Floats, float]:
    """(D, d) The axes along which vectors (V, D) are longest, and the share of their squared length that lies there."""
    lengths, axes = np.linalg.eigh(np.asarray(matrix, np.float64).T @ matrix)
    axes, lengths = axes[:, ::-1][:, :dimensions], lengths[::-1]
    return axes, float(lengths[:dimensions].sum() / max(lengths.sum(), 1e-300))
