"""Spearman's correlation of two lists of numbers, and how much it varies from sample to sample.

A resample is a count for each pair, how often it was drawn. The pairs are sorted once; the ranks within a resample then
follow from cumulative counts, ties sharing the mean of their ranks, so that no resample has to be sorted.
n pairs, B resamples, G different values.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
AT_ONCE = 1 << 19  # counts held in memory


def spearman(one: Floats, two: Floats) -> float:
    """Spearman's correlation; NaN if there are fewer than two pairs, or one of the lists is constant.

    >>> spearman(np.array([1.0, 2.0, 3.0]), np.array([2.0, 2.0, 9.0]))
    0.8660254037844387
    """
    return float(_weighted(one, two, np.ones((1, len(one))))[0]) if len(one) else float("nan")


def resampled(one: Floats, two: Floats, times: int, seed: int | list[int]) -> Floats:
    """(B) Spearman's correlation in resamples of the pairs; NaN where all that was drawn is alike."""
    size = len(one)
    if not size:
        return np.full(times, np.nan)
    random = np.random.default_rng(seed)
    step = max(1, AT_ONCE // size)
    found = []
    for start in range(0, times, step):
        rows = min(step, times - start)
        drawn = random.integers(0, size, (rows, size)) + size * np.arange(rows)[:, None]
        counts = np.bincount(drawn.reshape(-1), minlength=rows * size).reshape(rows, size)
        found.append(_weighted(one, two, counts.astype(np.float64)))
    return np.concatenate(found) if found else np.empty(0)


def _weighted(one: Floats, two: Floats, counts: Floats) -> Floats:
    """(B) The correlation of ranks when pair i is there `counts[b, i]` times."""
    middle = (len(one) + 1) / 2  # the mean of the ranks, whatever the ties
    first, second = _ranks(one, counts) - middle, _ranks(two, counts) - middle
    weighted = counts * first
    covariance = np.einsum("bn,bn->b", weighted, second)
    variance = np.einsum("bn,bn->b", weighted, first) * np.einsum("bn,bn,bn->b", counts, second, second)
    with np.errstate(invalid="ignore"):
        correlation: Floats = covariance / np.sqrt(variance)
    return correlation


def _ranks(values: Floats, counts: Floats) -> Floats:
    """(B, n) The rank of each pair's value in each resample."""
    order = np.argsort(values, kind="stable")
    new = np.concatenate([[True], np.diff(values[order]) != 0])
    group = np.empty(len(values), np.int64)
    group[order] = np.cumsum(new) - 1
    share = np.add.reduceat(counts[:, order], np.flatnonzero(new), axis=1)  # (B, G)
    ranks: Floats = (np.cumsum(share, axis=1) - (share - 1) / 2)[:, group]
    return ranks
