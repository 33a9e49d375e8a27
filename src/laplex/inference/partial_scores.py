"""Partial scores: how a word's vectors differ with some columns of a design matrix, given all other columns.

Units i have the sums of `scores.py` and a row x of the design matrix. The rate of the word is r = exp(x·β), from a
log-linear model of τ with offset W, and v = r W is how much a unit says about the word. The score of a unit is

    e = (s − τ h̃) − r (B − W h̃)        h̃ = x·H, the background's mean context, by a regression on x of other clusters

It is zero on average if the word is only more or less frequent, and if only the background differs: its bias is the
product of two errors, that of the rate and that of the background. Under a linear model of the word's vectors, e is
v Σ Θᵀx and noise, with Σ the covariance of the word's contexts. So everything is a regression of e / v on x with
weights v: with q the residual of the columns that are tested on the others,

    u = Σ q e     G = Σ v q qᵀ     Θ = G⁻¹ u Σ⁻¹     T = tr(uᵀ G⁻¹ u) in the metric of (Σ + κI)⁻¹

With two groups and no other columns this is the test of `score_test.py`.
m rows of a table, C clusters, D dimensions, K columns, G cells, t columns that are tested.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from laplex.inference import row_kernels
from laplex.inference.score_test import Effect, inverse_root, size_metric, without_noise
from laplex.inference.scores import ScoreTable
from laplex.inference.units import Floats, Ints

MAX_STEPS = 30  # of the log-linear model
MAX_LOG_RATE = 12.0  # by which rates differ from the mean rate, where a cell lacks the word
MAX_LEVERAGE = 0.95
SMALLEST_SHARE = 1e-10  # of the largest eigenvalue of a Gram matrix, below which a direction has no information
LEAST_INFORMATION = 1e-6  # of a column given the others, as a share of that without them, below which nothing is tested


def fit_rates(matrix: Floats, tau: Floats, weight: Floats) -> Floats:
    """(G) exp(x·β), with which W exp(x·β) is closest to τ by Poisson likelihood."""
    used = weight > 0
    x, y, w = matrix[used], tau[used], weight[used]
    beta = np.zeros(matrix.shape[1])
    beta[0] = center = np.log(y.sum() / w.sum())
    step: Floats = np.zeros_like(beta)
    previous = -np.inf
    for _ in range(MAX_STEPS):
        eta = np.clip(x @ beta, center - MAX_LOG_RATE, center + MAX_LOG_RATE)
        mean = w * np.exp(eta)
        likelihood = float(y @ eta - mean.sum())
        gain, least = likelihood - previous, 1e-9 * max(abs(likelihood), 1.0)
        if gain < -least:  # the step led too far
            step = step / 2
            beta = beta - step
            continue
        if gain < least:
            break
        previous = likelihood
        information = (x * mean[:, None]).T @ x
        information[np.diag_indices_from(information)] += 1e-9 * np.trace(information) / len(information)
        whole = np.linalg.solve(information, x.T @ (y - mean))
        step = np.asarray(whole * min(1.0, 3.0 / max(float(abs(x @ whole).max()), 1e-300)))
        beta = beta + step
    return np.asarray(np.exp(np.clip(matrix @ beta, center - MAX_LOG_RATE, center + MAX_LOG_RATE)))


def pseudo_inverse(gram: Floats) -> Floats:
    """The inverse of a Gram matrix; the smallest one, if columns cannot be told apart."""
    return np.asarray(np.linalg.pinv(gram, SMALLEST_SHARE, hermitian=True))


@dataclass(frozen=True, eq=False)
class PartialScores:
    """The scores of a word, and the regression of them on the columns of a design matrix.

    A moment of a cluster is Σ x ⊗ e over its rows. If every cluster has one row it is not kept, as it is x ⊗ e.
    """

    matrix: Floats  # (G, K) the design matrix by cell; the first column is the intercept
    cell: Ints  # (m) rows are sorted by cluster
    start: Ints  # (C + 1) where the rows of each cluster begin
    unit_rate: Floats  # (G) r
    score: Floats  # (m, D) s
    tau: Floats  # (m)
    background: Floats  # (m, D) B
    weight: Floats  # (m) W
    covariance: Floats  # (D, D) Σ

    @classmethod
    def of(cls, table: ScoreTable, matrix: Floats, included: Floats | None = None) -> PartialScores | None:
        """The scores of the word that a table is of; None if it is not used in the cells that are `included` (G)."""
        rows: Any = slice(None)  # if they are sorted by cluster, as units are, they are not copied
        if included is not None or (np.diff(table.cluster) < 0).any():
            rows = np.argsort(table.cluster, kind="stable")
        if included is not None:
            rows = rows[included[table.label[rows]] > 0]
        cell, cluster, cells = table.label[rows], table.cluster[rows], len(matrix)
        tau, weight = (
            np.bincount(cell, values[rows], cells).astype(np.float64) for values in (table.tau, table.weight)
        )
        if not tau.sum() > 0 or not weight.sum() > 0:
            return None
        start = np.append(np.flatnonzero(np.diff(cluster, prepend=-1)), len(cluster))
        sums = table.score[rows], table.tau[rows], table.background[rows], table.weight[rows]
        rate = fit_rates(matrix, tau, weight)
        return cls(matrix, cell, start, rate, *sums, table.covariance)

    @cached_property
    def size_metric(self) -> Floats:
        """(D, D) That of sizes."""
        return size_metric(self.covariance)

    @cached_property
    def test_metric(self) -> Floats:
        """(D, D) That of T."""
        return inverse_root(self.covariance, 1.0)

    @property
    def clusters(self) -> int:
        """C"""
        return len(self.start) - 1

    @property
    def single(self) -> bool:
        """Whether every cluster has one row."""
        return self.clusters == len(self.cell)

    @cached_property
    def x(self) -> Floats:
        """(m, K)"""
        return self.matrix[self.cell]

    @cached_property
    def rate(self) -> Floats:
        """(m) r"""
        return self.unit_rate[self.cell]

    @cached_property
    def information(self) -> Floats:
        """(m) v"""
        return self.rate * self.weight

    @cached_property
    def gram(self) -> Floats:
        """(K, K) Σ v x xᵀ"""
        by_cell = np.bincount(self.cell, self.information, len(self.matrix))
        return np.asarray((self.matrix * by_cell[:, None]).T @ self.matrix)

    @cached_property
    def inverse(self) -> Floats:
        """(K, K) That of the Gram matrix."""
        return pseudo_inverse(self.gram)

    @cached_property
    def leverage(self) -> Floats:
        """(C) How much of the regression a cluster decides: tr(gram⁻¹ Σ v x xᵀ), at most 0.95."""
        by_cell = ((self.matrix @ self.inverse) * self.matrix).sum(1)
        of_rows = self.information * by_cell[self.cell]
        return np.clip(np.add.reduceat(of_rows, self.start[:-1]), 0.0, MAX_LEVERAGE)

    @cached_property
    def _sums(self) -> tuple[Floats, Floats, Floats, Floats]:
        """(C, K, K) Σ v x xᵀ and Σ (τ − v) x xᵀ, and (C, K, D) Σ x ⊗ (s − r B) and Σ x ⊗ r B, of clusters."""
        clusters, columns, size = self.clusters, self.matrix.shape[1], self.score.shape[1]
        squares = np.zeros((2, clusters, columns, columns))
        plain, around = np.zeros((2, clusters, columns, size))
        weights = np.stack([self.information, self.tau - self.information])
        rows = self.x, self.start, weights, self.score, self.rate, self.background
        row_kernels.cluster_moments(*rows, squares, plain, around)
        return squares[0], squares[1], plain, around

    @cached_property
    def background_slopes(self) -> Floats:
        """(K, D) H, from all rows."""
        around = self.x.T @ (self.rate[:, None] * self.background) if self.single else self._sums[3].sum(0)
        return np.asarray(self.inverse @ around)

    @cached_property
    def total(self) -> Floats:
        """(K, D) Σ x ⊗ e with h̃ from all rows."""
        if not self.single:
            _, excess, plain, _ = self._sums
            return np.asarray(plain.sum(0) - excess.sum(0) @ self.background_slopes)
        plain = self.x.T @ (self.score - self.rate[:, None] * self.background)
        by_cell = np.bincount(self.cell, self.tau - self.information, len(self.matrix))
        return np.asarray(plain - (self.matrix * by_cell[:, None]).T @ (self.matrix @ self.background_slopes))

    @cached_property
    def influence(self) -> Floats:
        """(m, D) e, if every cluster has one row.

        h̃ is that of the others: with its own, noise would look small where clusters are few.
        """
        center = self.matrix[self.cell] @ self.background_slopes
        own = self.background / np.maximum(self.weight, 1e-300)[:, None]
        share = np.where(self.weight > 0, self.leverage / (1 - self.leverage), 0.0)
        center -= share[:, None] * (own - center)
        excess = (self.tau - self.information)[:, None]
        return np.asarray(self.score - self.rate[:, None] * self.background - excess * center)

    @cached_property
    def _moments(self) -> tuple[Floats, Floats]:
        """(C, K, D) Σ x ⊗ e and (C, K, K) Σ v x xᵀ of clusters, h̃ from the other clusters."""
        information, excess, plain, around = self._sums
        others = self._without(around)
        others[self.leverage >= MAX_LEVERAGE] = self.background_slopes
        return plain - excess @ others, information

    @cached_property
    def _inverse_without(self) -> Floats:
        """(C, K, K) The inverse of the Gram matrix without each cluster."""
        floor = 1e-9 * np.trace(self.gram) / len(self.gram) * np.eye(len(self.gram))
        return np.asarray(np.linalg.inv(self.gram - self._sums[0] + floor))

    def _without(self, sums: Floats) -> Floats:
        """(C, K, D) The regression without each cluster, from the sums of clusters."""
        return np.asarray(self._inverse_without @ (sums.sum(0) - sums))

    @cached_property
    def _unpredicted(self) -> Floats:
        """(m, D) or (C, K, D) Scores, or moments, without what the regression of the other clusters predicts."""
        if self.single:
            slopes = self.inverse @ (self.x.T @ self.influence)
            residual = self.influence - self.information[:, None] * (self.x @ slopes)
            return np.asarray(residual / (1 - self.leverage)[:, None])
        moments, information = self._moments
        return np.asarray(moments - information @ self._without(moments))

    def contract(self, values: Floats, weights: Floats) -> Floats:
        """(C, t, D) Scores or moments, of each cluster, along directions (K, t) in the space of the columns."""
        if self.single:
            return np.asarray((self.x @ weights)[:, :, None] * values[:, None])
        return np.asarray(weights.T @ values)

    @property
    def contributions(self) -> Floats:
        """(m, D) or (C, K, D) What `contract` makes the contributions of clusters from."""
        return self.influence if self.single else self._moments[0]

    def residual_columns(self, tested: Sequence[int], others: Sequence[int]) -> tuple[Floats, Floats] | None:
        """(K, t) A, with q = x·A, and (t, t) G; None if the word's text cannot tell these columns from the others."""
        inverse = pseudo_inverse(self.gram[np.ix_(others, others)])
        cross = self.gram[np.ix_(others, tested)]
        weights = np.zeros((self.matrix.shape[1], len(tested)))
        weights[list(tested), range(len(tested))] = 1.0
        weights[list(others)] = -inverse @ cross
        left = self.gram[np.ix_(tested, tested)] - cross.T @ inverse @ cross
        scale = np.sqrt(np.maximum(np.diag(self.gram)[list(tested)], 1e-300))
        smallest = np.linalg.eigvalsh(left / np.outer(scale, scale))[0]
        return (weights, left) if smallest > LEAST_INFORMATION else None

    def effect(self, tested: Sequence[int], weights: Floats, gram: Floats) -> Effect:
        """The squared size of a coefficient without its noise.

        Of several columns together it is the mean squared difference between two units, weighted by v.
        """
        metric, mix = self.size_metric, np.linalg.inv(gram)
        if len(tested) > 1:
            columns = list(tested)
            mean = self.gram[0, columns] / self.gram[0, 0]
            spread = self.gram[np.ix_(columns, columns)] / self.gram[0, 0] - np.outer(mean, mean)
            values, vectors = np.linalg.eigh(2 * spread)
            mix = (vectors * np.sqrt(np.maximum(values, 0.0))).T @ mix
        along = weights @ mix.T
        d = (along.T @ self.total @ metric).reshape(-1)
        y, rest = (
            (self.contract(values, along) @ metric).reshape(self.clusters, -1)
            for values in (self.contributions, self._unpredicted)
        )
        others = 1 - (self.leverage if self.single else self._share(weights, gram))
        return without_noise(d, y, rest, others, np.arange(self.clusters))

    def _share(self, weights: Floats, gram: Floats) -> Floats:
        """(C) The share of the noise of what is unpredicted that the prediction has, at most 0.95.

        Of a cluster with one row it is its leverage.
        """
        along = self._moments[1] @ weights
        own, predicted = weights.T @ along, along.swapaxes(1, 2) @ self._inverse_without @ along
        noise, more = (np.trace(np.linalg.solve(gram, part), axis1=1, axis2=2) for part in (own, predicted))
        return np.asarray(np.clip(more / np.maximum(noise + more, 1e-300), 0.0, MAX_LEVERAGE))

    def null_contributions(self, others: Sequence[int], weights: Floats) -> Floats:
        """(C, t, D) What the other columns do not explain of clusters' contributions along directions (K, t) in the
        space of the columns, in the metric of T.
        """
        inverse = pseudo_inverse(self.gram[np.ix_(others, others)])
        if self.single:
            z = self.x[:, list(others)]
            slopes = inverse @ (z.T @ self.influence)
            left = self.influence - self.information[:, None] * (z @ slopes)
            return np.asarray(self.contract(left @ self.test_metric, weights))
        moments, information = self._moments
        slopes = inverse @ moments.sum(0)[list(others)]
        explained = (weights.T @ information)[:, :, list(others)] @ slopes
        return np.asarray((weights.T @ moments - explained) @ self.test_metric)

    def cluster_information(self, others: Sequence[int]) -> Floats:
        """(C, 1 + others) v, and v z, of clusters."""
        if self.single:
            return np.asarray(
                self.information[:, None] * np.concatenate([np.ones((len(self.x), 1)), self.x[:, others]], 1)
            )
        information = self._moments[1][:, 0]
        return np.asarray(np.concatenate([information[:, :1], information[:, list(others)]], 1))

    def partial_contributions(self, tested: Sequence[int], weights: Floats) -> tuple[Floats, Floats]:
        """(C, t, D) Contributions to u without what the other columns explain, and (C, t, t) to G, of clusters."""
        others = [k for k in range(self.matrix.shape[1]) if k not in tested]
        if self.single:
            slopes = (self.inverse @ (self.x.T @ self.influence))[others]
            values = self.influence - self.information[:, None] * (self.x[:, others] @ slopes)
            q = self.x @ weights
            return self.contract(values, weights), self.information[:, None, None] * q[:, :, None] * q[:, None]
        moments, information = self._moments
        slopes = (self.inverse @ moments.sum(0))[others]
        values = moments - information[:, :, others] @ slopes
        return self.contract(values, weights), np.asarray(weights.T @ information @ weights)

    def null_leverage(self, weights: Floats, others: Sequence[int]) -> Floats:
        """(C) The share of the noise of a cluster's contribution that the regression on the other columns takes out."""
        inverse = pseudo_inverse(self.gram[np.ix_(others, others)])
        if self.single:
            z = self.matrix[:, list(others)]
            shares = self.information * ((z @ inverse) * z).sum(1)[self.cell]
        else:
            along = weights.T @ self._moments[1]
            total = np.trace(along @ weights, axis1=1, axis2=2)
            taken = np.einsum("ctk,kl,ctl->c", along[:, :, list(others)], inverse, along[:, :, list(others)])
            shares = np.divide(taken, total, out=np.zeros_like(taken), where=total > 0)
        return np.asarray(np.clip(shares, 0.0, MAX_LEVERAGE))


class SharedScores:
    """The scores of the word that a thread is at, which all coefficients of one design share."""

    _latest = threading.local()  # of any design, so that a thread keeps the scores of one word at a time

    def __init__(self, matrix: Floats, included: Floats | None = None) -> None:
        self.matrix, self.included = matrix, included

    def of(self, table: ScoreTable) -> PartialScores | None:
        """The scores of the word of a table."""
        key, scores = getattr(self._latest, "found", ((None, None), None))
        if key[0] is not self or key[1] is not table:
            scores = PartialScores.of(table, self.matrix, self.included)
            self._latest.found = (self, table), scores
        return scores
