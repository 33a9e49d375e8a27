"""How large is T under other labels? Those of the clusters are permuted, and p is the place of T among what comes out.

A rotated Table, the labels and other labellings come in; T under each of them goes out, and p from these. This is exact
if clusters could have had each other's labels. A word may be more frequent under a label, though, and still not differ:
see `evened`. m rows, D dimensions, P permutations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from laplex.posterior.evidence import Rotated, scale_of
from laplex.posterior.tables import Floats


def permuted(table: Rotated, one: NDArray[np.bool_], prior: float, labellings: NDArray[np.bool_]) -> Floats:
    """(1 + P) T / f(1−f) under the labels as they are, and under other labellings (P, m)."""
    scale = scale_of(table.spectrum, prior)
    table = evened(table, one, labellings, [True, False])
    whole = np.concatenate([table.here * scale, table.tau[:, None], table.around * scale, table.weight[:, None]], 1)
    sums = np.concatenate([(one @ whole)[None], *(part @ whole for part in portions(labellings))])
    return _statistic(sums, whole.sum(0) - sums)


def evened(table: Rotated, label: NDArray[Any], labellings: NDArray[Any], labels: Sequence[Any]) -> Rotated:
    """The table with as much background as if the word were equally frequent under each label, where it clearly is not.

    T does not depend on that, but groups of permuted labels would mix clusters that have the word often with others,
    which adds to their noise: of words that are twice as frequent in a group 2% would be called different instead of
    5%. A log ratio of frequencies ℓ is taken out up to a share 1 − (2 sd / ℓ)², with sd that of permuted labels, so
    that nothing is done to what is chance.
    """
    factor = np.ones(len(table.tau))
    both = np.stack([table.tau, table.weight], 1)
    whole = np.log(table.tau.sum() / table.weight.sum())
    for value in labels:
        side = label == value
        sums = np.concatenate([(side @ both)[None], *(part @ both for part in portions(labellings == value))])
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.log(sums[:, 0] / sums[:, 1]) - whole
        if np.isfinite(ratio).all() and ratio[0] != 0:
            factor[side] = np.exp(ratio[0] * max(0.0, 1 - 4 * ratio[1:].var() / ratio[0] ** 2))
    return replace(table, around=factor[:, None] * table.around, weight=factor * table.weight)


def among_owners(
    table: Rotated, label: NDArray[np.int64], count: int, seed: Sequence[int]
) -> tuple[Rotated, NDArray[np.int64], NDArray[np.int16]]:
    """A table, its labels and (count, m) labellings in which only units that have the word exchange theirs.

    Units without it, which are most documents, keep their labels: they say something of the background alone, and are
    one row for each label. That is a part of all permutations, so it is as exact as these.
    """
    owners = table.tau > 0
    values, place = np.unique(label, return_inverse=True)
    others = [(place == i) & ~owners for i in range(len(values))]
    small = Rotated(
        np.concatenate([table.here[owners], np.zeros((len(values), table.here.shape[1]))]),
        np.concatenate([table.tau[owners], np.zeros(len(values))]),
        np.concatenate([table.around[owners], [table.around[side].sum(0) for side in others]]),
        np.concatenate([table.weight[owners], [table.weight[side].sum() for side in others]]),
        np.arange(owners.sum() + len(values)),
        table.spectrum,
    )
    labels = np.concatenate([label[owners], values])
    labellings = np.tile(labels.astype(np.int16), (count, 1))
    mine = labellings[:, : owners.sum()]
    mine[:] = np.random.default_rng(seed).permuted(mine, axis=1)
    return small, labels, labellings


def counted_p(statistics: Floats) -> float:
    """The share of labellings under which T is at least as large as it is, the first among them."""
    if not np.isfinite(statistics).all():
        return float("nan")
    return float((statistics >= statistics[0] * (1 - 1e-12)).mean())


def smoothed_p(statistics: Floats) -> float:
    """The tail of the chi-square that has mean, variance and skewness of T under other labellings.

    It goes below 1/P, which matters where many words are tested.
    """
    others = statistics[1:]
    spread = float(others.std(ddof=1))
    if not spread > 0:
        return float("nan")
    standard = (others - others.mean()) / others.std()
    freedom = 8 / max(float((standard**3).mean()), 1e-3) ** 2
    z = (statistics[0] - float(others.mean())) / spread
    return float(stats.chi2.sf(max(freedom + np.sqrt(2 * freedom) * z, 0.0), freedom))


def portions(labellings: NDArray[np.bool_]) -> list[Floats]:
    """As numbers, a few at a time."""
    size = max(1, 2**24 // labellings.shape[1])
    return [labellings[i : i + size].astype(np.float64) for i in range(0, len(labellings), size)]


def _statistic(one: Floats, two: Floats) -> Floats:
    """(P) T / f(1−f), from the sums of both groups, each (P, 2D + 2): s, τ, B, W; NaN where a group lacks the word."""
    width = (one.shape[1] - 2) // 2
    with np.errstate(divide="ignore", invalid="ignore"):
        f = one[:, width] / (one[:, width] + two[:, width])
        total = np.zeros((len(one), width))
        for side, a in ((one, 1 - f), (two, -f)):
            ratio = side[:, width] / side[:, -1]
            total += a[:, None] * (side[:, :width] - ratio[:, None] * side[:, width + 1 : -1])
        return np.asarray((total**2).sum(1) / (f * (1 - f)))
