"""Words drawn by their noise distribution in constant time: Walker's alias tables. V words of all languages, M
documents."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from laplex.problem import Problem


def alias_tables(problem: Problem) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
    """(V), (V) Draw a place of a language evenly, stay there with the first, else go to the second."""
    tables = [_alias(problem.noise[a:b]) for a, b in zip(problem.vocabulary_start, problem.vocabulary_start[1:])]
    return np.concatenate([chance for chance, _ in tables]), np.concatenate([other for _, other in tables])


@dataclass(frozen=True, eq=False)
class Tables:
    """Alias tables of all distributions, one after the other. `words` are those at the places of a table that has not
    all words of its language."""

    chance: NDArray[np.float32]
    other: NDArray[np.int32]  # a word
    words: NDArray[np.int32] | None
    table: NDArray[np.int64]  # (M) of each document
    start: NDArray[np.int64]  # of each table, and the end of the last


def make_tables(problem: Problem) -> Tables:
    """A table for each language, or for the words that occur in each slice."""
    if problem.present is None:
        return Tables(*alias_tables(problem), None, problem.language, problem.vocabulary_start)
    starts, example, table = np.unique(problem.word_start, return_index=True, return_inverse=True)
    chances, others, words = [np.empty(0, np.float32)], [np.empty(0, np.int32)], [np.empty(0, np.int32)]
    for start, language in zip(starts.tolist(), problem.language[example].tolist(), strict=True):
        noise = problem.negatives_of(start, language)
        own = np.flatnonzero(noise).astype(np.int32)
        chance, other = _alias(noise[own])
        chances.append(chance)
        others.append(own[other])
        words.append(own)
    ends = np.cumsum([len(own) for own in words])
    return Tables(np.concatenate(chances), np.concatenate(others), np.concatenate(words), table.reshape(-1), ends)


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
