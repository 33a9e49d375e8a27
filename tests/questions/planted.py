"""Embeddings whose every vector is known, and the same vectors as plain NumPy."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

import laplex as lx
from laplex.text.slices import Slices

PARTIES, YEARS = ("D", "R"), ("2000", "2001", "2003")


@dataclass
class Planted:
    embeddings: lx.Embeddings
    words: list[str]
    keys: list[tuple[str, ...]]
    x: NDArray[np.float64]  # (S, V, D)
    counts: NDArray[np.int64]  # (S, V)
    contexts: NDArray[np.float64]  # (V, D)

    def vector(self, word: str, *key: str) -> NDArray[np.float64]:
        return self.x[self.keys.index(key), self.words.index(word)]

    def count(self, word: str, *key: str) -> int:
        return int(self.counts[self.keys.index(key), self.words.index(word)])


def names(count: int) -> list[str]:
    return [f"w{i:02d}" for i in range(count)]


def plant(
    values: dict[str, tuple[str, ...]] | None = None,
    *,
    without: tuple[tuple[str, ...], ...] = (),
    words: int = 30,
    dimensions: int = 6,
    seed: int = 0,
    settings: dict[str, Any] | None = None,
) -> Planted:
    """Random vectors by the columns of `values`; the slices `without` do not exist."""
    values = {"party": PARTIES, "year": YEARS} if values is None else values
    keys = [key for key in product(*values.values()) if key not in without]
    random = np.random.default_rng(seed)
    x = random.standard_normal((len(keys), words, dimensions)).astype(np.float32)
    contexts = random.standard_normal((words, dimensions)).astype(np.float32)
    counts = random.integers(1, 100, (len(keys), words))
    made = lx.Embeddings.of(
        [lx.Vocabulary(names(words), counts.sum(0))],
        [x],
        slices=Slices(tuple(values), tuple(keys), np.empty(0, np.int32)),
        counts=[counts],
        contexts=[contexts],
        settings=settings,
    )
    return Planted(made, names(words), keys, x.astype(np.float64), counts, contexts.astype(np.float64))


def cosine(a: NDArray[Any], b: NDArray[Any]) -> float:
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


def gap(measure: str, a: NDArray[Any], b: NDArray[Any]) -> float:
    return float(np.linalg.norm(a - b)) if measure == "euclidean" else 1 - cosine(a, b)


def unit(a: NDArray[Any]) -> NDArray[Any]:
    scaled: NDArray[Any] = a / np.linalg.norm(a, axis=-1, keepdims=True)
    return scaled


def prior(belief: lx.Prior) -> dict[str, Any]:
    """Settings as a fitted model has them."""
    return {"model": lx.Model(prior=belief).settings()}
