"""Vectors are near given ones."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from laplex import word2vec
from laplex.errors import InputError
from laplex.graph import Graph
from laplex.priors.prior import ByWord, Prior, by_word, check_strength, shown
from laplex.rows import Role, Rows


@dataclass(frozen=True)
class Anchor(Prior):
    """Vectors are near given ones that stay fixed: −½ strength Σ_w ‖x_w − u_w‖², in every slice.

    `vectors` is a file of word2vec's formats, text or binary; or maps words to vectors, as a dict and gensim's
    KeyedVectors do. `on` says which vectors they hold. The strength may differ by word, 0 for those not named.
    """

    vectors: Any
    strength: ByWord = 1.0
    on: Literal["words", "contexts"] = "words"
    language: str | None = None

    def __post_init__(self) -> None:
        check_strength(self.strength, infinite=False)
        if self.on not in ("words", "contexts"):
            raise InputError(f'Anchor(on="{self.on}"): write "words" or "contexts"')
        if isinstance(self.vectors, (str, os.PathLike)):
            words, vectors = word2vec.read(self.vectors)
            object.__setattr__(self, "vectors", dict(zip(words, vectors, strict=True)))
        if not hasattr(self.vectors, "__contains__") or not hasattr(self.vectors, "__getitem__"):
            raise InputError(f"{type(self.vectors).__name__} does not map words to vectors: pass a path or a dict")

    def graph(self, rows: Rows) -> Graph:
        language = rows.language(self.language)
        vocabulary = rows.vocabularies[language]
        strengths = by_word(self.strength, vocabulary)
        words = [word for word in vocabulary if word in self.vectors]
        if not words:
            raise InputError(f"none of the {len(vocabulary):,} words of the vocabulary has a vector to be anchored to")
        vectors = [np.asarray(self.vectors[word], np.float64) for word in words]
        if len({vector.shape for vector in vectors}) > 1 or not np.isfinite(targets := np.array(vectors)).all():
            raise InputError("the vectors to be anchored to are not all of one length, or not finite")
        ids = np.array([vocabulary[word] for word in words])
        role: Role = "word" if self.on == "words" else "context"
        starts = list(rows.everywhere(role, language))
        first = np.concatenate([start + ids for start in starts])
        second = np.tile(len(rows) + np.arange(len(words)), len(starts))
        return Graph.of(len(rows), first, second, np.tile(strengths[ids], len(starts)), targets=targets)

    def coverage(self, rows: Rows) -> str:
        vocabulary = rows.vocabularies[rows.language(self.language)]
        known = sum(word in self.vectors for word in vocabulary)
        return f"{known:,} of {len(vocabulary):,} words have a vector to be anchored to"

    def __repr__(self) -> str:
        return f'Anchor({len(self.vectors):,} vectors, {shown(self.strength)}, on="{self.on}")'
