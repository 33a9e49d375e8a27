"""Embeddings of numbers that are made up, for tests of what is done to vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import ortho_group

import laplex as lx
from laplex.text.slices import Slices


def made(
    vectors: NDArray[Any],
    language: str = "",
    words: Sequence[str] | None = None,
    contexts: NDArray[Any] | None = None,
    keys: tuple[tuple[str, ...], ...] = ((),),
    columns: tuple[str, ...] = (),
) -> lx.Embeddings:
    """Embeddings of an array (V, D) or (S, V, D)."""
    stack = np.asarray(vectors).reshape(len(keys), -1, np.shape(vectors)[-1])
    words = words or [f"{language}{i}" for i in range(stack.shape[1])]
    return lx.Embeddings.of(
        [lx.Vocabulary(words, np.full(len(words), len(keys)), language)],
        [stack],
        slices=Slices(columns, keys, np.empty(0, np.int32)),
        counts=[np.ones((len(keys), len(words)), np.int64)],
        contexts=None if contexts is None else [contexts],
    )


def normal(seed: int, *shape: int) -> NDArray[np.float64]:
    return np.random.default_rng(seed).standard_normal(shape)


def rotation(seed: int, dimensions: int) -> NDArray[np.float64]:
    """(D, D) A random orthogonal matrix."""
    turn: NDArray[np.float64] = ortho_group.rvs(dimensions, random_state=seed)
    return turn
