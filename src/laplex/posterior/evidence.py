"""Does a word differ between two labels, and by how much? A score test at the pooled fit.

A Table comes in, and which of its rows have the one label and which the other; p, or an Effect, goes out. The score
of group g is taken against the group's own background B_g / W_g, so that a word which is only more frequent there
does not differ:

    U_g = s_g − τ_g B_g / W_g;    f = τ_1 / (τ_1 + τ_2);    u = (1−f) U_1 − f U_2;    T = ‖u L‖²
    e_c = (s_c − τ_c h̄) − (τ_g / W_g)(B_c − W_c h̄)    what U_g loses without cluster c; h̄ is B / W of the others
    Y_c = a_c e_c L,  a_c = 1−f in group 1, −f in group 2
    d = u (f(1−f) A + q)⁻¹    one Newton step to the difference of the word's vectors; q is the prior's part

The noise of T is Σ ‖Y_c‖² on average; taken out, what is left are products of different clusters, whose second and
third moments are known, and a chi-square with these moments gives p (`analytic_p`). That holds for thousands of
documents; of a hundred speakers one may have a third of a word's occurrences, and it rejects 7 to 9 times in 100 at
the 5% level. There T is computed under permuted labels of the speakers, which is exact (`permuted`).
All is done in the directions of A's eigenvectors, in which L is a vector. m rows, D dimensions, P permutations.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from laplex.posterior.tables import Floats, Table

Metric = Literal["step", "rao"]


@dataclass(frozen=True)
class Effect:
    """The squared distance, free of noise on average (so it may be negative). Its variance is flat + 4 slope δ²."""

    square: float
    flat: float
    slope: float

    def bounds(self, z: float) -> tuple[float, float]:
        """The smallest and largest δ² from which `square` is z standard deviations away, those of that δ²."""
        middle = self.square + 2 * z * z * self.slope
        width = np.sqrt(max(middle * middle - self.square**2 + z * z * self.flat, 0.0))
        return middle - width, middle + width


@dataclass(frozen=True, eq=False)
class Rotated:
    """A table in the directions of its curvature."""

    here: Floats
    tau: Floats
    around: Floats
    weight: Floats
    cluster: NDArray[np.int64]
    spectrum: Floats  # (D) eigenvalues of A

    def of(self, rows: NDArray[np.bool_]) -> Rotated:
        return Rotated(
            self.here[rows], self.tau[rows], self.around[rows], self.weight[rows], self.cluster[rows], self.spectrum
        )


def rotate(table: Table) -> Rotated:
    spectrum, directions = np.linalg.eigh(table.curvature)
    return Rotated(
        table.here @ directions,
        table.tau,
        table.around @ directions,
        table.weight,
        table.cluster,
        np.maximum(spectrum, 0.0),
    )


def scale_of(spectrum: Floats, prior: float, share: float = 0.5, metric: Metric = "step") -> Floats:
    """(D) What L multiplies each direction with."""
    prior = max(prior, 1e-3 * share * (1 - share) * float(spectrum.mean()), 1e-12)
    if metric == "rao":
        return np.asarray(1 / np.sqrt(spectrum + 4 * prior))
    return np.asarray(1 / (share * (1 - share) * spectrum + prior))


def losses(table: Rotated, one: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """(m, D) e_c for each row, and (2, D) U of both groups.

    h̄ in e_c is that of the others: with its own, noise would look small where clusters are few.
    """
    e = np.empty_like(table.here)
    totals = []
    for side in (one, ~one):
        tau, weight, around = table.tau[side], table.weight[side], table.around[side]
        ratio = tau.sum() / weight.sum()
        others = (around.sum(0) - around) / np.maximum(weight.sum() - weight, 1e-300)[:, None]
        e[side] = (table.here[side] - tau[:, None] * others) - ratio * (around - weight[:, None] * others)
        totals.append(table.here[side].sum(0) - ratio * around.sum(0))
    return e, np.array(totals)


def share_of(table: Rotated, one: NDArray[np.bool_]) -> float:
    """f, the share of group one in τ."""
    return float(table.tau[one].sum() / table.tau.sum())


def by_cluster(y: Floats, cluster: NDArray[np.int64]) -> Floats:
    """Rows of one cluster added up."""
    names, place = np.unique(cluster, return_inverse=True)
    if len(names) == len(y):
        return y
    total = np.zeros((len(names), y.shape[1]))
    np.add.at(total, place, y)
    return total


def p_value(y: Floats, total: float) -> float:
    """How likely a squared length of `total` or more is for Σ y, if the rows are independent and of mean zero."""
    c = y.T @ y
    k = (y * y).sum(1)
    spread = float((c * c).sum() - (k * k).sum())
    if not spread > 0:
        return float("nan")
    along = ((y @ c) * y).sum(1)
    skew = float(((c @ c) * c).sum() - 3 * (k * along).sum() + 2 * (k**3).sum())
    skew = max(skew, 1e-3 * spread**1.5)
    freedom = spread**3 / skew**2
    z = (total - float(k.sum())) / np.sqrt(2 * spread)
    return float(stats.chi2.sf(max(freedom + np.sqrt(2 * freedom) * z, 0.0), freedom))


def analytic_p(table: Rotated, one: NDArray[np.bool_], prior: float, metric: Metric = "step") -> float:
    """The p-value of a difference; L is that of groups of equal size, which knows nothing of the labels.

    It takes clusters for many and none of them for large, as documents are.
    """
    e, (first, second) = losses(table, one)
    f = share_of(table, one)
    scale = scale_of(table.spectrum, prior, metric=metric)
    # what both groups have in common changes nothing in u, but would count as noise of each cluster
    e -= np.outer(table.tau / table.tau.sum(), first + second)
    y = by_cluster(np.where(one, 1 - f, -f)[:, None] * e * scale, table.cluster)
    u = ((1 - f) * first - f * second) * scale
    return p_value(y, float((u**2).sum()))


def effect(table: Rotated, one: NDArray[np.bool_], prior: float) -> Effect:
    """The squared length of d without its noise.

    The noise is the part of each cluster's product with itself that the others do not predict,
    Σ y_c·(y_c − w_c/(1−w_c) Σ_others y), w_c its share in τ of its group; Σ has the squares of what is not predicted.
    """
    e, (first, second) = losses(table, one)
    f = share_of(table, one)
    scale = scale_of(table.spectrum, prior, f)
    y = np.where(one, 1 - f, -f)[:, None] * e * scale
    rest = np.empty_like(y)
    keep = np.empty(len(y))
    for side in (one, ~one):
        w = table.tau[side] / table.tau[side].sum()
        keep[side] = np.maximum(1 - w, 0.05)
        rest[side] = (y[side] - np.outer(w, y[side].sum(0))) / keep[side][:, None]
    d = ((1 - f) * first - f * second) * scale
    noise = float((by_cluster(y, table.cluster) * by_cluster(rest, table.cluster)).sum())
    z = by_cluster(rest * np.sqrt(keep)[:, None], table.cluster)
    sigma = z.T @ z
    k = (z * z).sum(1)
    flat = 2 * max(float((sigma * sigma).sum() - (k * k).sum()), 0.0)
    return Effect(float(d @ d) - noise, flat, float(d @ sigma @ d) / max(float(d @ d), 1e-300))


def permuted(
    table: Rotated, one: NDArray[np.bool_], prior: float, labellings: NDArray[np.bool_], metric: Metric = "step"
) -> Floats:
    """(1 + P) T under the labels as they are, and under other labellings (P, m)."""
    scale = scale_of(table.spectrum, prior, metric=metric)
    whole = np.concatenate([table.here * scale, table.tau[:, None], table.around * scale, table.weight[:, None]], 1)
    sums = np.concatenate([(one @ whole)[None], *(part @ whole for part in _portions(labellings))])
    return _statistic(sums, whole.sum(0) - sums)


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
    freedom = 8 / max(float(stats.skew(others)), 1e-3) ** 2
    z = (statistics[0] - float(others.mean())) / spread
    return float(stats.chi2.sf(max(freedom + np.sqrt(2 * freedom) * z, 0.0), freedom))


def _portions(labellings: NDArray[np.bool_]) -> list[Floats]:
    """As numbers, a few at a time."""
    size = max(1, 2**24 // labellings.shape[1])
    return [labellings[i : i + size].astype(np.float64) for i in range(0, len(labellings), size)]


def _statistic(one: Floats, two: Floats) -> Floats:
    """(P) T, from the sums of both groups, each (P, 2D + 2): s, τ, B, W."""
    width = (one.shape[1] - 2) // 2
    f = one[:, width] / (one[:, width] + two[:, width])
    total = np.zeros((len(one), width))
    for side, a in ((one, 1 - f), (two, -f)):
        ratio = side[:, width] / side[:, -1]
        total += a[:, None] * (side[:, :width] - ratio[:, None] * side[:, width + 1 : -1])
    return np.asarray((total**2).sum(1))
