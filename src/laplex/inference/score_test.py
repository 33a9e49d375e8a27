"""Score tests of whether a word's vectors differ between labels, at the fit that does not know the labels.

For label g, sums over its clusters c give s_g and τ_g (where the word stands) and B_g and W_g (the background); see
`kernels.py`. The score is taken against the label's own background, so that a word which is only more frequent there
does not differ:

    U_g = s_g − τ_g B_g / W_g,    f_g = τ_g / Στ
    e_c = (s_c − τ_c h̄) − (τ_g / W_g)(B_c − W_c h̄)    the jackknife influence of c on U_g; h̄ is B / W of the others

    any difference    u_g = U_g − f_g ΣU    T = Σ_g ‖u_g L‖² / f_g    Y_c = v_g ⊗ e_c L,  v_g·v_h = [g = h]/f_g − 1
                      the effect is the mean of ‖d‖² over pairs of labels, d = u (f(1−f) A + q)⁻¹ with f among the two
    a trend           u = Σ_g (x_g − x̄) U_g,  x̄ = Σ f_g x_g    T = ‖u L‖²    Y_c = (x_g − x̄) e_c L
                      the effect is ‖d‖², d = u (Σ f_g (x_g − x̄)² A + q)⁻¹, the displacement from x = −½ to ½
    along an axis a   estimate = a·d = Σ_c y_c    variance = Σ_c y_c²    ν = 3 (Σ y_c²)² / Σ y_c⁴

Each d is one Newton step from the pooled vector; q is the precision of the prior along it.

There are two kinds of p. The formula takes the expected noise Σ ‖Y_c‖² out of T; what is left are products of different
clusters, whose second and third moments are known, and a chi-square with these moments gives p. That is right for
thousands of documents; of a hundred speakers one may have a third of a word's occurrences, and the formula rejects 7 to
9 times in 100 at the 5% level. There T is computed under permuted labels of the clusters. A labelling under which a
label lacks the word has T of 0, the limit of T as the label's share goes to 0.

All is done in the directions of A's eigenvectors, in which L is a vector.
m rows, D dimensions, G labels, P permutations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse, stats

from laplex.inference.statistics import ScoreTable
from laplex.inference.units import Floats, Ints

LABELS_PER_BATCH = 2**22  # labels of permuted clusters that are held as numbers at once
MAX_OWNERS_FOR_PERMUTATION = 1_000  # units that have a word; with more, the formula is right

Labellings = NDArray[np.integer]  # (P, m) labels of the rows of a table
Statistic = Callable[[Floats, Floats], Floats]  # from (P, G, D) U L and (P, G) τ to (P) T
Statistics = Callable[["RotatedTable", Ints, Labellings], Floats]  # from a table, its labels and others to (1 + P) T
Priors = Mapping[tuple[int, int], float]  # the precision of the prior for each pair of labels
Finding = tuple[float, "Effect"]  # p and effect of a word
AxisDifference = tuple[float, float, float]  # estimate, standard error and degrees of freedom


@dataclass(frozen=True)
class Effect:
    """An estimate of the squared distance δ², without bias from noise (so it may be negative).

    Its variance is `variance` + 4 `direction_variance` δ², where the latter is the noise in the direction of d.
    """

    square: float
    variance: float
    direction_variance: float

    def bounds(self, z: float) -> tuple[float, float]:
        """The smallest and largest δ² from which `square` is z standard deviations away, those of that δ²."""
        middle = self.square + 2 * z * z * self.direction_variance
        width = np.sqrt(max(middle * middle - self.square**2 + z * z * self.variance, 0.0))
        return middle - width, middle + width


@dataclass(frozen=True, eq=False)
class RotatedTable:
    """A ScoreTable in the directions of the eigenvectors of its curvature."""

    score: Floats  # (m, D) s
    tau: Floats  # (m)
    background: Floats  # (m, D) B
    weight: Floats  # (m) W
    cluster: Ints  # (m)
    spectrum: Floats  # (D) eigenvalues of A

    def select(self, rows: NDArray[np.bool_]) -> RotatedTable:
        """Some rows, with their share of the curvature."""
        share = self.tau[rows].sum() / max(float(self.tau.sum()), 1e-300)
        sums = self.score[rows], self.tau[rows], self.background[rows], self.weight[rows]
        return RotatedTable(*sums, self.cluster[rows], share * self.spectrum)


def rotate(table: ScoreTable) -> RotatedTable:
    """A table in the directions in which its curvature is diagonal."""
    spectrum, directions = np.linalg.eigh(table.curvature)
    score, background = table.score @ directions, table.background @ directions
    return RotatedTable(score, table.tau, background, table.weight, table.cluster, np.maximum(spectrum, 0.0))


def newton_scale(spectrum: Floats, prior: float, share: float) -> Floats:
    """(D) The diagonal of (share A + prior)⁻¹; share is f(1−f) for two labels, and the variance of x for a trend."""
    prior = max(prior, 1e-3 * share * float(spectrum.mean()), 1e-12)
    return np.asarray(1 / (share * spectrum + prior))


def label_shares(table: RotatedTable, label: Ints, groups: int) -> Floats:
    """(G) f, the share of each label in τ."""
    return np.asarray(np.bincount(label, table.tau, groups) / table.tau.sum())


def has_every_label(table: RotatedTable, label: Ints, groups: int) -> bool:
    """Whether every label has the word, and a background."""
    return bool(min(np.bincount(label, values, groups).min() for values in (table.tau, table.weight)) > 0)


def jackknife_influence(table: RotatedTable, label: Ints, groups: int) -> tuple[Floats, Floats]:
    """(m, D) The influence e_c of each row, and (G, D) the score U of each label."""
    influence, scores = np.zeros_like(table.score), np.zeros((groups, table.score.shape[1]))
    for group in range(groups):
        side = label == group
        tau, weight, background = table.tau[side], table.weight[side], table.background[side]
        rate = tau.sum() / weight.sum() if tau.any() else 0.0
        # h̄ is that of the other clusters: with its own, noise would look small where clusters are few
        others = (background.sum(0) - background) / np.maximum(weight.sum() - weight, 1e-300)[:, None]
        influence[side] = table.score[side] - tau[:, None] * others - rate * (background - weight[:, None] * others)
        scores[group] = table.score[side].sum(0) - rate * background.sum(0)
    return influence, scores


def unpredicted_influence(influence: Floats, tau: Floats, label: Ints) -> tuple[Floats, Floats]:
    """(m, D) What the mean of the other rows of the label does not predict, and (m) the share 1 − w of these in τ."""
    rest, others = np.zeros_like(influence), np.ones(len(influence))
    for group in np.unique(label):
        side = label == group
        w = tau[side] / max(float(tau[side].sum()), 1e-300)
        others[side] = np.maximum(1 - w, 0.05)
        rest[side] = (influence[side] - np.outer(w, influence[side].sum(0))) / others[side][:, None]
    return rest, others


def sum_by_cluster(values: Floats, cluster: Ints) -> Floats:
    """Rows of one cluster added up, in the order of the clusters; the rows as they are if each is a cluster."""
    names, place = np.unique(cluster, return_inverse=True)
    if len(names) == len(values):
        return values
    membership = sparse.csr_array((np.ones(len(values)), (place, np.arange(len(values)))))
    return np.asarray(membership @ values)


def quadratic_form_p(y: Floats, statistic: float) -> float:
    """How likely ‖Σ y‖² is to be `statistic` or more, if the rows of y are independent and of mean zero."""
    c, k = y.T @ y, (y * y).sum(1)
    variance = float((c * c).sum() - (k * k).sum())
    if not variance > 0:
        return float("nan")
    third = float(((c @ c) * c).sum() - 3 * (k * ((y @ c) * y).sum(1)).sum() + 2 * (k**3).sum())
    freedom = variance**3 / max(third, 1e-3 * variance**1.5) ** 2
    return _chi_square_tail((statistic - float(k.sum())) / np.sqrt(2 * variance), freedom)


def _chi_square_tail(z: float, freedom: float) -> float:
    """The upper tail at z of a chi-square that is scaled to mean 0 and variance 1."""
    return float(stats.chi2.sf(max(freedom + np.sqrt(2 * freedom) * z, 0.0), freedom))


def difference_p(table: RotatedTable, label: Ints, groups: int, scale: Floats) -> float:
    """p of any difference by the formula; every label must have the word."""
    f = label_shares(table, label, groups)
    # v_g in the G − 1 dimensions that are left beside √f
    complement = np.linalg.svd(np.sqrt(f)[None])[2][1:].T
    return _formula_p(table, label, scale, ((np.eye(groups) - f) / np.sqrt(f)) @ complement)


def trend_p(table: RotatedTable, label: Ints, x: Floats, scale: Floats) -> float:
    """p of a trend by the formula."""
    return _formula_p(table, label, scale, (x - label_shares(table, label, len(x)) @ x)[:, None])


def _formula_p(table: RotatedTable, label: Ints, scale: Floats, weights: Floats) -> float:
    """p of Σ_g weights[g] ⊗ U_g L; Σ f_g weights[g] is zero."""
    influence, scores = jackknife_influence(table, label, len(weights))
    # what all labels have in common changes nothing in the sum, but would count as noise of each cluster
    influence = (influence - np.outer(table.tau / table.tau.sum(), scores.sum(0))) * scale
    y = np.einsum("mk,md->mkd", weights[label], influence).reshape(len(influence), -1)
    statistic = float(((weights.T @ (scores * scale)) ** 2).sum())
    return quadratic_form_p(sum_by_cluster(y, table.cluster), statistic)


def difference_effect(table: RotatedTable, label: Ints, groups: int, priors: Priors) -> Effect:
    """The mean over pairs of labels of ‖d‖² without its noise.

    The noise is the part of each cluster's product with itself that the others do not predict,
    Σ y_c·(y_c − w_c/(1−w_c) Σ_others y), w_c the cluster's share in τ of its label.
    """
    influence, scores = jackknife_influence(table, label, groups)
    f = label_shares(table, label, groups)
    pairs = list(combinations(range(groups), 2))
    y, d = np.zeros((len(influence), len(pairs), influence.shape[1])), np.zeros((len(pairs), influence.shape[1]))
    for number, (one, two) in enumerate(pairs):
        both = f[one] + f[two]
        share = f[one] / both
        scale = newton_scale(table.spectrum, priors[one, two], both * share * (1 - share)) / np.sqrt(len(pairs))
        for group, a in ((one, 1 - share), (two, -share)):
            y[label == group, number] = a * influence[label == group] * scale
            d[number] += a * scores[group] * scale
    flat = y.reshape(len(influence), -1)
    return _without_noise(d.reshape(-1), flat, *unpredicted_influence(flat, table.tau, label), table.cluster)


def trend_effect(table: RotatedTable, label: Ints, x: Floats, prior: float) -> Effect:
    """‖d‖² of a trend without its noise, which is what a line through the other clusters does not predict."""
    influence, scores = jackknife_influence(table, label, len(x))
    f = label_shares(table, label, len(x))
    center = x - f @ x
    scale = newton_scale(table.spectrum, prior, float(f @ center**2))
    predicted, others = _line_through_others(influence, table.tau, x[label], table.cluster)
    a = center[label][:, None] * scale
    return _without_noise((center @ scores) * scale, a * influence, a * (influence - predicted), others, table.cluster)


def _without_noise(d: Floats, y: Floats, rest: Floats, others: Floats, cluster: Ints) -> Effect:
    """‖d‖² without the noise Σ y·rest, and its variance from the squares of √(1−w) rest; summed by cluster."""
    z = sum_by_cluster(rest * np.sqrt(others)[:, None], cluster)
    noise = float((sum_by_cluster(y, cluster) * sum_by_cluster(rest, cluster)).sum())
    covariance, k = z.T @ z, (z * z).sum(1)
    variance = 2 * max(float((covariance * covariance).sum() - (k * k).sum()), 0.0)
    return Effect(float(d @ d) - noise, variance, float(d @ covariance @ d) / max(float(d @ d), 1e-300))


def _line_through_others(influence: Floats, tau: Floats, x: Floats, cluster: Ints) -> tuple[Floats, Floats]:
    """(m, D) The influence predicted by a line in x through the other clusters, weighted by τ, and (m) their weight."""
    place = np.unique(cluster, return_inverse=True)[1]
    terms = np.stack([np.ones_like(x), x], 1)
    squares = sum_by_cluster((tau[:, None, None] * terms[:, :, None] * terms[:, None]).reshape(-1, 4), cluster)
    sums = sum_by_cluster((terms[:, :, None] * influence[:, None]).reshape(len(influence), -1), cluster)
    if len(squares) == len(influence):  # sum_by_cluster leaves the order alone if each row is a cluster
        place = np.arange(len(influence))
    squares, sums = squares.reshape(-1, 2, 2), sums.reshape(len(sums), 2, -1)
    total = squares.sum(0)
    floor = 1e-9 * np.trace(total) * np.eye(2)
    line = np.linalg.solve(total - squares + floor, sums.sum(0) - sums)
    leverage = np.trace(np.linalg.solve(total + floor, squares), axis1=1, axis2=2)
    return tau[:, None] * np.einsum("mk,mkd->md", terms, line[place]), np.clip(1 - leverage, 0.05, 1.0)[place]


def axis_difference(table: ScoreTable, one: int, two: int, axis: Floats, prior: float) -> AxisDifference | None:
    """The difference of a word's vectors between two labels along an axis (D); None if a label lacks the word.

    Few large clusters make the variance itself uncertain, which the degrees of freedom say (Satterthwaite's).
    """
    rows = (table.label == one) | (table.label == two)
    label = np.where(table.label[rows] == one, 0, 1)
    tau = table.tau[rows]
    f, share = float(tau[label == 0].sum() / max(tau.sum(), 1e-300)), float(tau.sum() / max(table.tau.sum(), 1e-300))
    step = np.linalg.solve(f * (1 - f) * share * table.curvature + prior * np.eye(len(axis)), axis)
    score, background = (values[rows] @ step[:, None] for values in (table.score, table.background))
    along = RotatedTable(score, tau, background, table.weight[rows], table.cluster[rows], np.ones(1))
    if not has_every_label(along, label, 2):
        return None
    influence, (first, second) = jackknife_influence(along, label, 2)
    rest, _ = unpredicted_influence(np.where(label == 0, 1 - f, -f)[:, None] * influence, tau, label)
    squares = sum_by_cluster(rest, along.cluster) ** 2
    freedom = 3 * squares.sum() ** 2 / max(float((squares**2).sum()), 1e-300)
    estimate = (1 - f) * first - f * second
    return float(estimate[0]), float(np.sqrt(squares.sum())), float(freedom)


def _batches(label: Ints, labellings: Labellings) -> list[Labellings]:
    """The labels as they are, then the other labellings, some at a time."""
    size = max(1, LABELS_PER_BATCH // len(label))
    return [label[None], *(labellings[i : i + size] for i in range(0, len(labellings), size))]


def permuted_statistics(
    table: RotatedTable, label: Ints, labellings: Labellings, scale: Floats, groups: int, statistic: Statistic
) -> Floats:
    """(1 + P) T under the labels as they are, and under other labellings (P, m)."""
    table = equalize_frequency(table, label, labellings, groups)
    sums = [table.score * scale, table.tau[:, None], table.background * scale, table.weight[:, None]]
    columns = np.concatenate([*sums, (table.tau > 0)[:, None], (table.weight > 0)[:, None]], 1)
    scores = (_label_scores(columns, batch, groups) for batch in _batches(label, labellings))
    return np.concatenate([statistic(*values) for values in scores])


def _label_scores(columns: Floats, labellings: Labellings, groups: int) -> tuple[Floats, Floats]:
    """(P, G, D) U L and (P, G) τ; columns are s L, τ, B L, W and whether a row has the word, and a background."""
    size, total = (columns.shape[1] - 4) // 2, columns.sum(0)
    sums = np.empty((len(labellings), groups, columns.shape[1]))
    for group in range(groups - 1):
        sums[:, group] = (labellings == group).astype(np.float64) @ columns
    sums[:, -1] = total - sums[:, :-1].sum(1)
    # numbers of rows are exact, which a difference of sums is not
    has_word, has_background = sums[..., -2] > 0, sums[..., -1] > 0
    tau = np.where(has_word, sums[..., size], 0.0)
    weight = np.where(has_background, sums[..., -3], 1.0)
    mean = sums[..., size + 1 : -3] / weight[..., None]
    mean[~has_background] = total[size + 1 : -3] / total[-3]  # that of all labels
    return np.where(has_word[..., None], sums[..., :size] - tau[..., None] * mean, 0.0), tau


def difference_statistic(u: Floats, tau: Floats) -> Floats:
    """(P) T of any difference. A label without the word adds nothing to it."""
    f = tau / tau.sum(1, keepdims=True)
    centered = u - f[..., None] * u.sum(1, keepdims=True)
    return np.asarray(((centered**2).sum(2) / np.where(f > 0, f, np.inf)).sum(1))


def trend_statistic(x: Floats) -> Statistic:
    """T of a trend over the variance of x; 0 where one label has all occurrences."""

    def statistic(u: Floats, tau: Floats) -> Floats:
        f = tau / tau.sum(1, keepdims=True)
        center = x - (f @ x)[:, None]
        variance = (f * center**2).sum(1)
        square = (np.einsum("pg,pgd->pd", center, u) ** 2).sum(1)
        return np.asarray(np.divide(square, variance, out=np.zeros_like(square), where=variance > 0))

    return statistic


def equalize_frequency(table: RotatedTable, label: Ints, labellings: Labellings, groups: int) -> RotatedTable:
    """The table with as much background as if the word were equally frequent under each label, where it clearly is not.

    T does not depend on that, but groups of permuted labels would mix clusters that have the word often with others,
    which adds to their noise: of words that are twice as frequent under a label 2% would be called different instead of
    5%. A log ratio of frequencies ℓ is taken out up to a share 1 − (2 sd / ℓ)², with sd that of permuted labels.
    """
    factor, both = np.ones(len(table.tau)), np.stack([table.tau, table.weight], 1)
    mean = np.log(table.tau.sum() / table.weight.sum())
    batches = _batches(label, labellings)
    for group in range(groups):
        tau, weight = np.concatenate([(part == group).astype(np.float64) @ both for part in batches]).T
        with np.errstate(divide="ignore", invalid="ignore"):  # where the label lacks the word there is no ratio
            ratio = np.log(tau / weight) - mean
        observed, chance = ratio[0], ratio[1:][np.isfinite(ratio[1:])]
        if np.isfinite(observed) and observed != 0 and len(chance):
            factor[label == group] = np.exp(observed * max(0.0, 1 - 4 * chance.var() / observed**2))
    return replace(table, background=factor[:, None] * table.background, weight=factor * table.weight)


def among_owners(
    table: RotatedTable, label: Ints, count: int, seed: Sequence[int]
) -> tuple[RotatedTable, Ints, NDArray[np.int16]]:
    """A table, its labels and (count, m) labellings in which only rows that have the word exchange theirs.

    Rows without it, which are most documents, are one row for each label.
    """
    owners = table.tau > 0
    values, place = np.unique(label, return_inverse=True)
    others = [(place == i) & ~owners for i in range(len(values))]
    small = RotatedTable(
        np.concatenate([table.score[owners], np.zeros((len(values), table.score.shape[1]))]),
        np.concatenate([table.tau[owners], np.zeros(len(values))]),
        np.concatenate([table.background[owners], [table.background[side].sum(0) for side in others]]),
        np.concatenate([table.weight[owners], [table.weight[side].sum() for side in others]]),
        np.arange(owners.sum() + len(values)),
        table.spectrum,
    )
    labels = np.concatenate([label[owners], values])
    labellings = np.tile(labels.astype(np.int16), (count, 1))
    exchanged = labellings[:, : owners.sum()]
    exchanged[:] = np.random.default_rng(seed).permuted(exchanged, axis=1)
    return small, labels, labellings


def counted_p(statistics: Floats) -> float:
    """The share of labellings under which T is at least as large as it is, the first of them among these."""
    if not np.isfinite(statistics).all():
        return float("nan")
    return float((statistics >= statistics[0] * (1 - 1e-12)).mean())


def smoothed_p(statistics: Floats) -> float:
    """The tail of the chi-square with the mean, variance and skewness of T under other labellings, also below 1/P."""
    others = statistics[1:]
    deviation = float(others.std(ddof=1))
    if not deviation > 0:
        return counted_p(statistics)
    standard = (others - others.mean()) / others.std()
    freedom = 8 / max(float((standard**3).mean()), 1e-3) ** 2
    return _chi_square_tail((statistics[0] - float(others.mean())) / deviation, freedom)


@dataclass(frozen=True, eq=False)
class Permutations:
    """Other labellings: of all units or, if these are many, of those that have a word, if these are few."""

    labellings: NDArray[np.int16]  # (P, m)
    counted: bool  # whether labellings are counted, or p is the tail of a smooth curve through them
    among_owners: int  # how many are drawn among the units that have a word, if there are none of all units
    seed: Sequence[int]

    def p(self, table: RotatedTable, label: Ints, statistics: Statistics, formula: Callable[[], float]) -> float:
        """p of a word from other labellings or, where too many units have it, from the formula."""
        if len(self.labellings):
            values = statistics(table, label, self.labellings)
            return counted_p(values) if self.counted else smoothed_p(values)
        if self.among_owners and np.count_nonzero(table.tau) <= MAX_OWNERS_FOR_PERMUTATION:
            return smoothed_p(statistics(*among_owners(table, label, self.among_owners, self.seed)))
        return formula()


def find_difference(
    table: RotatedTable, label: Ints, labels: Sequence[int], priors: Priors, permutations: Permutations
) -> Finding | None:
    """Whether a word differs between any of some labels; priors and permutations are of their places in `labels`."""
    inside = np.isin(label, labels)
    part, place, size = table.select(inside), np.searchsorted(labels, label[inside]), len(labels)
    if not has_every_label(part, place, size):
        return None
    # L is that of labels with equal shares, which knows nothing of the labels
    scale = newton_scale(part.spectrum, float(np.mean(list(priors.values()))), 1 / (2 * size))
    statistics = partial(permuted_statistics, scale=scale, groups=size, statistic=difference_statistic)
    p = permutations.p(part, place, statistics, lambda: difference_p(part, place, size, scale))
    return p, difference_effect(part, place, size, priors)


def find_trend(
    table: RotatedTable, label: Ints, x: Floats, variance: float, prior: float, permutations: Permutations
) -> Finding | None:
    """Whether a word moves along a line through all labels, which lie at x; `variance` is that of x over the units."""
    shares = label_shares(table, label, len(x))
    if not shares @ (x - shares @ x) ** 2 > 0:
        return None
    scale = newton_scale(table.spectrum, prior, variance)
    statistics = partial(permuted_statistics, scale=scale, groups=len(x), statistic=trend_statistic(x))
    p = permutations.p(table, label, statistics, lambda: trend_p(table, label, x, scale))
    return p, trend_effect(table, label, x, prior)
