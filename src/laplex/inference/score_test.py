"""Score tests of whether a word's vectors differ between labels, at the fit that does not know the labels.

For label g, sums over its rows c give s_g and τ_g (where the word stands) and B_g and W_g (the background); see
`scores.py`. The score is taken against the label's own background, so that a word which is only more frequent there
does not differ, nor one whose label only has other topics:

    U_g = s_g − τ_g h̄_g,    h̄_g = B_g / W_g,    f_g = τ_g / Στ
    e_c = (s_c − τ_c h̄) − (τ_g / W_g)(B_c − W_c h̄)    the influence of c on U_g; h̄ is B / W of the label's other rows

U_g / τ_g is how far the mean context of the word under label g is from what the pooled vector expects. In the metric of
the covariance Σ of the word's contexts

    δ² = dᵀ Σ d,    d = Σ⁻¹ (U_g / τ_g − U_h / τ_h)

d is one Newton step from the pooled vector, without the prior, to the difference of the word's vectors; d·h is by how
much the log odds of the word in the context h differ between the labels, and δ is its standard deviation over the
word's contexts. So δ depends neither on the frequency of the word nor on the strengths of the prior. Of several labels
it is the mean of δ² over pairs; of a trend, d is the displacement from x = −½ to ½.

p is that of T, the squared length of the score in the metric of (Σ + κI)⁻¹ with κ the mean eigenvalue of Σ, which has
more power than that of Σ⁻¹ where a word is rare. It is counted (`permutations.py`) or, if asked for, comes from a
formula: without the expected noise Σ ‖Y_c‖², T has products of different clusters alone, whose second and third moments
are known, and a chi-square with these moments gives p. That is right for thousands of documents, not for a hundred
speakers, of whom one may have a third of a word's occurrences.
m rows, D dimensions, G labels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
import scipy

from laplex.inference import row_kernels
from laplex.inference.permutations import Design, Residuals, number_clusters, sum_by
from laplex.inference.scores import COVARIANCE_POSITIONS, ScoreTable
from laplex.inference.units import Floats, Ints

LEAST_OTHERS = 0.05  # of a label's background, for h̄ of the other rows; with less, h̄ is that of all
LEAST_SHARE_OF_OTHERS = 0.05  # in τ of a label, at which the mean of the others predicts a row
LEAST_EIGENVALUE = 1e-4  # of Σ, as a share of the mean one


@dataclass(frozen=True)
class Effect:
    """An estimate of δ², without bias from noise (so it may be negative).

    Its variance is `variance` + 4 `direction_variance` δ², where the latter is the noise in the direction of d. Where
    few clusters make up most of the noise, the variance is itself uncertain: `freedom` is the number of clusters of the
    same size that would make it as uncertain.
    """

    square: float
    variance: float
    direction_variance: float
    freedom: float

    def interval(self, share: float) -> tuple[float, float]:
        """The δ² that are compatible with `square` in a share of samples: the smallest, and the largest."""
        return self.bounds(float(scipy.special.stdtrit(max(self.freedom, 1.0), 0.5 + share / 2)))

    def bounds(self, z: float) -> tuple[float, float]:
        """The smallest and largest δ² from which `square` is z standard deviations away, those of that δ²."""
        lower, upper = effect_bounds(self.square, self.variance, self.direction_variance, z)
        return float(lower), float(upper)


def effect_bounds(square: Any, variance: Any, direction_variance: Any, z: Any) -> tuple[Any, Any]:
    """The bounds of one effect or of arrays of them; see `Effect.bounds`."""
    middle = square + 2 * z * z * direction_variance
    width = np.sqrt(np.maximum(middle * middle - square * square + z * z * variance, 0.0))
    # of a square far below zero, no size is that many deviations away
    return np.minimum(middle - width, square), np.maximum(middle + width, square)


@dataclass(frozen=True, eq=False)
class GroupScores:
    """The scores of a word by group of labels, and what each row has contributed to them."""

    influence: Floats  # (m, D) e
    score: Floats  # (G, D) U
    label: Ints  # (m) from 0
    tau: Floats  # (m)
    cluster: Ints  # (m)
    piece: Ints  # (m)
    size: Ints  # (m) how many units each row has
    covariance: Floats  # (D, D) Σ

    @cached_property
    def share(self) -> Floats:
        """(G) f"""
        return np.asarray(np.bincount(self.label, self.tau, len(self.score)) / self.tau.sum())

    @cached_property
    def size_metric(self) -> Floats:
        """(D, D) M, with ‖v M‖² = vᵀ Σ⁻¹ v."""
        return size_metric(self.covariance)

    @cached_property
    def test_metric(self) -> Floats:
        """(D, D) M, with ‖v M‖² = vᵀ (Σ + κI)⁻¹ v."""
        return inverse_root(self.covariance, 1.0)

    def residuals(self) -> Residuals:
        """The influences in the metric of T, without what all labels have in common."""
        residual = row_kernels.without_common(self.influence, self.test_metric, self.tau)
        return Residuals(residual, self.tau, self.label, self.cluster, self.piece, self.size)


def size_metric(covariance: Floats) -> Floats:
    """(D, D) M, with ‖v M‖² = vᵀ Σ⁻¹ v."""
    # the inverse of an estimated matrix is too large
    bias = max(1 - (len(covariance) + 1) / COVARIANCE_POSITIONS, 0.5)
    return np.asarray(np.sqrt(bias) * inverse_root(covariance, LEAST_EIGENVALUE))


def inverse_root(covariance: Floats, ridge: float) -> Floats:
    """(D, D) The transposed inverse of the Cholesky factor of Σ + κI, κ a multiple of its mean eigenvalue."""
    mean = max(float(np.trace(covariance)) / len(covariance), 1e-30)
    return np.asarray(row_kernels.inverse_root(covariance, ridge * mean))


def group_scores(table: ScoreTable, groups: Sequence[Sequence[int]]) -> GroupScores | None:
    """The scores between groups of labels; None if fewer than two of them have the word and a background.

    Others of several groups add nothing: their scores and influences are zero. Noise would look small where clusters
    are few if h̄ were the mean of a row's own background as well.
    """
    place = np.full(int(table.label.max()) + 1, -1)
    for number, labels in enumerate(groups):
        place[[label for label in labels if label < len(place)]] = number
    group = place[table.label]
    influence, sums = np.zeros_like(table.score), np.zeros((len(groups), table.score.shape[1]))
    values, used = (table.score, table.tau, table.background, table.weight), np.zeros(len(groups), bool)
    row_kernels.group_influence(group, *values, LEAST_OTHERS, influence, sums, used)
    if np.count_nonzero(used) < 2:
        return None
    rows: Any = slice(None) if group.min() >= 0 else group >= 0
    tau = np.where(used[group], table.tau, 0.0)[rows]
    pieces = table.cluster[rows], table.piece[rows], table.size[rows]
    return GroupScores(influence[rows], sums, group[rows], tau, *pieces, table.covariance)


def difference_effect(scores: GroupScores) -> Effect:
    """The mean over pairs of groups that have the word of δ² without its noise.

    The noise is the part of each cluster's product with itself that the others do not predict,
    Σ y_c·(y_c − w_c/(1−w_c) Σ_others y), w_c the cluster's share in τ of its label.
    """
    influence, score = scores.influence @ scores.size_metric, scores.score @ scores.size_metric
    tau = scores.share * scores.tau.sum()
    pairs = list(combinations(np.flatnonzero(tau).tolist(), 2))
    scale = np.zeros((len(score), len(pairs)))
    for number, (one, two) in enumerate(pairs):
        scale[one, number], scale[two, number] = 1 / tau[one], -1 / tau[two]
    scale /= np.sqrt(len(pairs))
    d, y = scale.T @ score, scale[scores.label][:, :, None] * influence[:, None]
    flat = y.reshape(len(influence), -1)
    return without_noise(d.reshape(-1), flat, *unpredicted(flat, scores.tau, scores.label), scores.cluster)


def trend_effect(scores: GroupScores, x: Floats) -> Effect:
    """δ² of a trend without its noise, which is what a line through the other clusters does not predict."""
    influence, score = scores.influence @ scores.size_metric, scores.score @ scores.size_metric
    center = x - scores.share @ x
    scale = 1 / (scores.tau.sum() * float(scores.share @ center**2))
    predicted, others = _line_through_others(influence, scores.tau, x[scores.label], scores.cluster)
    a = scale * center[scores.label][:, None]
    return without_noise(scale * (center @ score), a * influence, a * (influence - predicted), others, scores.cluster)


def unpredicted(influence: Floats, tau: Floats, label: Ints) -> tuple[Floats, Floats]:
    """(m, D) What the mean of the other rows of the label does not predict, and (m) the share 1 − w of these in τ."""
    rest, others = np.empty_like(influence), np.empty(len(influence))
    row_kernels.without_predicted(influence, tau, label, int(label.max()) + 1, LEAST_SHARE_OF_OTHERS, rest, others)
    return rest, others


def without_noise(d: Floats, y: Floats, rest: Floats, others: Floats, cluster: Ints) -> Effect:
    """‖d‖² without the noise Σ y·rest, and its variance from the squares of √(1−w) rest; summed by cluster."""
    clusters, place = number_clusters(cluster)
    noise, z, k = row_kernels.noise_by_cluster(y, rest, others, place, clusters)
    products = z @ z.T if len(z) < len(d) else z.T @ z  # the sum of whose squares is the same
    variance = 2 * max(float(np.vdot(products, products)) - float(k @ k), 0.0)
    along = float(((z @ d) ** 2).sum()) / max(float(d @ d), 1e-300)
    freedom = float(k.sum()) ** 2 / max(float(k @ k), 1e-300)
    return Effect(float(d @ d) - noise, variance, along, freedom)


def _line_through_others(influence: Floats, tau: Floats, x: Floats, cluster: Ints) -> tuple[Floats, Floats]:
    """(m, D) The influence predicted by a line in x through the other clusters, weighted by τ, and (m) their weight."""
    place = np.unique(cluster, return_inverse=True)[1]
    terms = np.stack([np.ones_like(x), x], 1)
    squares = sum_by((tau[:, None, None] * terms[:, :, None] * terms[:, None]).reshape(-1, 4), cluster)
    sums = sum_by((terms[:, :, None] * influence[:, None]).reshape(len(influence), -1), cluster)
    if len(squares) == len(influence):  # sum_by leaves the order alone if each row is a cluster
        place = np.arange(len(influence))
    squares, sums = squares.reshape(-1, 2, 2), sums.reshape(len(sums), 2, -1)
    total = squares.sum(0)
    floor = 1e-9 * np.trace(total) * np.eye(2)
    line = np.linalg.solve(total - squares + floor, sums.sum(0) - sums)
    leverage = np.trace(np.linalg.solve(total + floor, squares), axis1=1, axis2=2)
    return tau[:, None] * np.einsum("mk,mkd->md", terms, line[place]), np.clip(1 - leverage, 0.05, 1.0)[place]


def formula_p(residuals: Residuals, design: Design) -> float:
    """p by the formula."""
    total = residuals.contributions(design).sum(0, dtype=np.float64)
    return quadratic_form_p(residuals.by_sign().contributions(design).astype(np.float64), float(total @ total))


def quadratic_form_p(y: Floats, statistic: float) -> float:
    """How likely ‖Σ y‖² is to be `statistic` or more, if the rows of y are independent and of mean zero."""
    c, k = y.T @ y, (y * y).sum(1)
    variance = float((c * c).sum() - (k * k).sum())
    if not variance > 0:
        return float("nan")
    third = float(((c @ c) * c).sum() - 3 * (k * ((y @ c) * y).sum(1)).sum() + 2 * (k**3).sum())
    freedom = variance**3 / max(third, 1e-3 * variance**1.5) ** 2
    z = (statistic - float(k.sum())) / np.sqrt(2 * variance)
    # the upper tail of a chi-square that is scaled to mean 0 and variance 1
    return float(scipy.special.chdtrc(freedom, max(freedom + np.sqrt(2 * freedom) * z, 0.0)))
