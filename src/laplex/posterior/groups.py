"""Does a word differ among several labels at all, or move along ordered ones? `evidence.py` for more than two.

A rotated Table and the label of each row come in; p, or an Effect, goes out. With U_g and e_c as there, and
f_g = τ_g / Στ:

    any difference    u_g = U_g − f_g ΣU    T = Σ_g ‖u_g L‖² / f_g    Y_c = v_g ⊗ e_c L,  v_g·v_h = [g = h]/f_g − 1
                      the effect is the mean of ‖d‖² over all pairs of labels, each as in evidence.py
    a trend           u = Σ_g (x_g − x̄) U_g,  x̄ = Σ f_g x_g    T = ‖u L‖²    Y_c = (x_g − x̄) e_c L
                      d = u (Σ f_g (x_g − x̄)² A + q)⁻¹ is the way from x = −½ to ½

With two labels, at ±½, all of it is what it is there. m rows, D dimensions, G labels, P permutations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from laplex.posterior.evidence import Effect, Rotated, by_cluster, corrected, losses_by, p_value, step_of, unpredicted
from laplex.posterior.permutation import evened
from laplex.posterior.tables import Floats

Labels = NDArray[np.int64]
Statistic = Callable[[Floats, Floats], Floats]  # from (P, G, D) U L and (P, G) τ to (P) T


def shares(table: Rotated, label: Labels, groups: int) -> Floats:
    """(G) f, the share of each label in τ."""
    return np.asarray(np.bincount(label, table.tau, groups) / table.tau.sum())


def joint_p(table: Rotated, label: Labels, groups: int, scale: Floats) -> float:
    """The p-value of any difference; every label must have the word."""
    f = shares(table, label, groups)
    # v_g in the G − 1 dimensions that are left beside √f
    complement = np.linalg.svd(np.sqrt(f)[None])[2][1:].T
    return _p(table, label, scale, ((np.eye(groups) - f) / np.sqrt(f)) @ complement)


def trend_p(table: Rotated, label: Labels, x: Floats, scale: Floats) -> float:
    """The p-value of a trend."""
    return _p(table, label, scale, (x - shares(table, label, len(x)) @ x)[:, None])


def _p(table: Rotated, label: Labels, scale: Floats, weights: Floats) -> float:
    """p of Σ_g weights[g] ⊗ U_g L; Σ f_g weights[g] is zero."""
    e, totals = losses_by(table, label, len(weights))
    # what all have in common changes nothing in the sum, but would count as noise of each cluster
    e = (e - np.outer(table.tau / table.tau.sum(), totals.sum(0))) * scale
    y = np.einsum("mk,md->mkd", weights[label], e).reshape(len(e), -1)
    return p_value(by_cluster(y, table.cluster), float(((weights.T @ (totals * scale)) ** 2).sum()))


def joint_effect(table: Rotated, label: Labels, groups: int, priors: Mapping[tuple[int, int], float]) -> Effect:
    """The mean over pairs of labels of the squared length of d without its noise."""
    e, totals = losses_by(table, label, groups)
    f = shares(table, label, groups)
    pairs = list(combinations(range(groups), 2))
    y, d = np.zeros((len(e), len(pairs), e.shape[1])), np.zeros((len(pairs), e.shape[1]))
    for number, (one, two) in enumerate(pairs):
        both = f[one] + f[two]
        share = f[one] / both
        scale = step_of(table.spectrum, priors[one, two], both * share * (1 - share)) / np.sqrt(len(pairs))
        for group, a in ((one, 1 - share), (two, -share)):
            y[label == group, number] = a * e[label == group] * scale
            d[number] += a * totals[group] * scale
    flat = y.reshape(len(e), -1)
    rest, keep = unpredicted(flat, table.tau, label)
    z = by_cluster(rest * np.sqrt(keep)[:, None], table.cluster)
    return corrected(d.reshape(-1), by_cluster(flat, table.cluster), by_cluster(rest, table.cluster), z)


def trend_effect(table: Rotated, label: Labels, x: Floats, prior: float) -> Effect:
    """The squared length of d without its noise, which is what a line through the other clusters does not predict."""
    e, totals = losses_by(table, label, len(x))
    f = shares(table, label, len(x))
    center = x - f @ x
    scale = step_of(table.spectrum, prior, float(f @ center**2))
    a = center[label][:, None] * scale
    predicted, keep = _line_of_others(e, table.tau, x[label], table.cluster)
    y, rest = by_cluster(a * e, table.cluster), by_cluster(a * (e - predicted), table.cluster)
    z = by_cluster(a * (e - predicted) * np.sqrt(keep)[:, None], table.cluster)
    return corrected((center @ totals) * scale, y, rest, z)


def _line_of_others(e: Floats, tau: Floats, x: Floats, cluster: Labels) -> tuple[Floats, Floats]:
    """(m, D) e by a line in x through the other clusters, weighted by τ, and (m) how much weight they have."""
    place = np.unique(cluster, return_inverse=True)[1]
    terms = np.stack([np.ones_like(x), x], 1)
    squares = by_cluster((tau[:, None, None] * terms[:, :, None] * terms[:, None]).reshape(-1, 4), cluster)
    sums = by_cluster((terms[:, :, None] * e[:, None]).reshape(len(e), -1), cluster)
    if len(squares) == len(e):  # by_cluster leaves the order alone if each row is a cluster
        place = np.arange(len(e))
    squares, sums = squares.reshape(-1, 2, 2), sums.reshape(len(sums), 2, -1)
    whole, total = squares.sum(0), sums.sum(0)
    floor = 1e-9 * np.trace(whole) * np.eye(2)
    line = np.linalg.solve(whole - squares + floor, total - sums)
    taken = np.trace(np.linalg.solve(whole + floor, squares), axis1=1, axis2=2)
    return tau[:, None] * np.einsum("mk,mkd->md", terms, line[place]), np.clip(1 - taken, 0.05, 1.0)[place]


def permuted_by(
    table: Rotated, label: Labels, labellings: NDArray[np.integer], scale: Floats, groups: int, statistic: Statistic
) -> Floats:
    """(1 + P) T under the labels as they are, and under other labellings (P, m)."""
    table = evened(table, label, labellings, range(groups))
    whole = np.concatenate([table.here * scale, table.tau[:, None], table.around * scale, table.weight[:, None]], 1)
    size = max(1, 2**22 // len(label))
    found = [_statistics(whole, label[None], groups, statistic)]
    for i in range(0, len(labellings), size):
        found.append(_statistics(whole, labellings[i : i + size], groups, statistic))
    return np.concatenate(found)


def _statistics(whole: Floats, labels: NDArray[np.integer], groups: int, statistic: Statistic) -> Floats:
    width = (whole.shape[1] - 2) // 2
    sums = np.stack([(labels == group).astype(np.float64) @ whole for group in range(groups)], 1)
    tau, weight = sums[:, :, width], sums[:, :, -1]
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(tau > 0, tau / weight, 0.0)
    return statistic(sums[:, :, :width] - ratio[..., None] * sums[:, :, width + 1 : -1], tau)


def spread(u: Floats, tau: Floats) -> Floats:
    """T of any difference."""
    f = tau / tau.sum(1, keepdims=True)
    own = u - f[..., None] * u.sum(1, keepdims=True)
    return np.asarray(((own**2).sum(2) / np.where(f > 0, f, np.inf)).sum(1))


def slope_along(x: Floats) -> Statistic:
    """T of a trend, over the variance of x."""

    def slope(u: Floats, tau: Floats) -> Floats:
        f = tau / tau.sum(1, keepdims=True)
        center = x - (f @ x)[:, None]
        return np.asarray((np.einsum("pg,pgd->pd", center, u) ** 2).sum(1) / (f * center**2).sum(1))

    return slope
