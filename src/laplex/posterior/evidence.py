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
the 5% level. There T is computed under permuted labels of the speakers (`permutation.py`).
All is done in the directions of A's eigenvectors, in which L is a vector. m rows, D dimensions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse, stats

from laplex.posterior.tables import Floats, Table


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
        """Some rows, with their share of the curvature."""
        share = self.tau[rows].sum() / max(float(self.tau.sum()), 1e-300)
        here, tau, around = self.here[rows], self.tau[rows], self.around[rows]
        return Rotated(here, tau, around, self.weight[rows], self.cluster[rows], share * self.spectrum)


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


def scale_of(spectrum: Floats, prior: float, share: float = 0.5) -> Floats:
    """(D) What L multiplies each direction with."""
    return step_of(spectrum, prior, share * (1 - share))


def step_of(spectrum: Floats, prior: float, part: float) -> Floats:
    """(D) A Newton step for a score in which a part of the curvature is: for two groups f(1−f)."""
    prior = max(prior, 1e-3 * part * float(spectrum.mean()), 1e-12)
    return np.asarray(1 / (part * spectrum + prior))


def losses(table: Rotated, one: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """(m, D) e_c for each row, and (2, D) U of both groups."""
    return losses_by(table, np.where(one, 0, 1), 2)


def losses_by(table: Rotated, label: NDArray[np.int64], groups: int) -> tuple[Floats, Floats]:
    """(m, D) e_c for each row, and (groups, D) U of each group.

    h̄ in e_c is that of the others: with its own, noise would look small where clusters are few.
    """
    e = np.zeros_like(table.here)
    totals = np.zeros((groups, table.here.shape[1]))
    for group in range(groups):
        side = label == group
        tau, weight, around = table.tau[side], table.weight[side], table.around[side]
        ratio = tau.sum() / weight.sum() if tau.any() else 0.0
        others = (around.sum(0) - around) / np.maximum(weight.sum() - weight, 1e-300)[:, None]
        e[side] = (table.here[side] - tau[:, None] * others) - ratio * (around - weight[:, None] * others)
        totals[group] = table.here[side].sum(0) - ratio * around.sum(0)
    return e, totals


def share_of(table: Rotated, one: NDArray[np.bool_]) -> float:
    """f, the share of group one in τ."""
    return float(table.tau[one].sum() / table.tau.sum())


def by_cluster(y: Floats, cluster: NDArray[np.int64]) -> Floats:
    """Rows of one cluster added up."""
    names, place = np.unique(cluster, return_inverse=True)
    if len(names) == len(y):
        return y
    belongs = sparse.csr_array((np.ones(len(y)), (place, np.arange(len(y)))))
    return np.asarray(belongs @ y)


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


def analytic_p(table: Rotated, one: NDArray[np.bool_], prior: float) -> float:
    """The p-value of a difference; L is that of groups of equal size, which knows nothing of the labels.

    It takes clusters for many and none of them for large, as documents are.
    """
    e, (first, second) = losses(table, one)
    f = share_of(table, one)
    scale = scale_of(table.spectrum, prior)
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
    d = ((1 - f) * first - f * second) * scale
    rest, keep = unpredicted(y, table.tau, np.where(one, 0, 1))
    z = by_cluster(rest * np.sqrt(keep)[:, None], table.cluster)
    return corrected(d, by_cluster(y, table.cluster), by_cluster(rest, table.cluster), z)


def unpredicted(y: Floats, tau: Floats, label: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """What is left of y beside the mean of the others of its group, and (m) the share 1 − w of the others."""
    rest, keep = np.zeros_like(y), np.ones(len(y))
    for group in np.unique(label):
        side = label == group
        w = tau[side] / max(float(tau[side].sum()), 1e-300)
        keep[side] = np.maximum(1 - w, 0.05)
        rest[side] = (y[side] - np.outer(w, y[side].sum(0))) / keep[side][:, None]
    return rest, keep


def corrected(d: Floats, y: Floats, rest: Floats, z: Floats) -> Effect:
    """‖d‖² without the noise Σ y·rest, and its variance from the squares of z; a row for each cluster."""
    sigma = z.T @ z
    k = (z * z).sum(1)
    flat = 2 * max(float((sigma * sigma).sum() - (k * k).sum()), 0.0)
    slope = float(d @ sigma @ d) / max(float(d @ d), 1e-300)
    return Effect(float(d @ d) - float((y * rest).sum()), flat, slope)
