"""Words drawn by their noise distribution in constant time: Walker's alias tables. V words of all languages."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from laplex.problem import Problem


def alias_tables(problem: Problem) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
    """(V), (V) Draw a place of a language evenly, stay there with the first, else go to the second."""
    tables = [_alias(problem.noise[a:b]) for a, b in zip(problem.vocabulary_start, problem.vocabulary_start[1:])]
    return np.concatenate([chance for chance, _ in tables]), np.concatenate([other for _, other in tables])


def _alias(probability: NDArray[np.float64]) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
    size = len(probability)
    scaled = (probability * size).tolist()
    chance, other = np.ones(size, np.float32), np.arange(size, dtype=np.int32)
    small = [i for i, p in enumerate(scaled) if p < 1.0]
    large = [i for i, p in enumerate(scaled) if p >= 1.0]
    while small and large:
        low, high = small.pop(), large.pop()
        chance[low], other[low] = scaled[low], high
        scaled[high] -= 1.0 - scaled[low]
        (small if scaled[high] < 1.0 else large).append(high)
    return chance, other
