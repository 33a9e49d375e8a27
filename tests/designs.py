"""Score tables of the cells of a design, and their partial scores in plain loops."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from laplex.inference.scores import COVARIANCE_POSITIONS, ScoreTable

SIZE = 5  # dimensions
COVARIANCE = np.diag(np.linspace(0.5, 1.5, SIZE)) + 0.1
Floats = NDArray[np.float64]


def design_matrix(three_levels: bool = True) -> Floats:
    """(12, 5) Cells by a group, a number, and a factor of three levels."""
    cells = np.array([(group, level, number) for group in (0, 1) for level in (0, 1, 2) for number in (-1.0, 1.5)])
    columns = [np.ones(12), cells[:, 0], cells[:, 2]]
    columns += [cells[:, 1] == 1, cells[:, 1] == 2] if three_levels else []
    return np.stack(columns, 1).astype(np.float64)


def table(
    seed: int,
    matrix: Floats,
    clusters: int = 60,
    most: int = 1,
    slope: Floats | None = None,
    rates: Floats | None = None,
    absent: float = 0.1,
    fixed: Sequence[str] = (),
) -> ScoreTable:
    """Clusters with up to `most` rows, whose background and rate differ with the columns of the design.

    `slope` (K, D) is by how much the word's vectors do. A share `absent` of the rows lacks the word. What is `fixed`,
    "group" or "number", is the same in all rows of a cluster.
    """
    random = np.random.default_rng(seed)
    rows = random.integers(1, most + 1, clusters)
    cluster = np.repeat(np.arange(clusters), rows)
    m = len(cluster)
    label = np.concatenate([np.arange(len(matrix)), random.integers(len(matrix), size=m - len(matrix))])
    label = random.permutation(label)
    if "group" in fixed:
        label = label % 6 + 6 * (cluster % 2)
    if "number" in fixed:
        label = label // 2 * 2 + (cluster % 3 == 0)
    x = matrix[label]
    rates = 0.2 * np.exp(0.2 * random.normal(size=matrix.shape[1])) if rates is None else rates
    weight = random.gamma(2.0, 40.0, m)
    topic = random.normal(0, 0.3, (m, SIZE)) + x @ random.normal(0, 0.4, (matrix.shape[1], SIZE))
    tau = random.poisson(weight * 0.2 * np.exp(x[:, 1:] @ np.log(rates[1:] / 0.2))) + 0.5
    tau = np.where(random.random(m) < absent, 0.0, tau)
    lean = np.zeros((m, SIZE)) if slope is None else x @ slope @ COVARIANCE
    own = random.normal(0, 0.2, (clusters, SIZE))[cluster]
    here = tau[:, None] * (topic + lean + own) + np.sqrt(tau)[:, None] * random.normal(size=(m, SIZE))
    around = weight[:, None] * topic + np.sqrt(weight)[:, None] * random.normal(0, 0.3, (m, SIZE))
    ones = np.ones(m, np.int64)
    return ScoreTable(0, 3, label, cluster, cluster, ones, here, tau, around, weight, COVARIANCE)


def shuffled(made: ScoreTable, seed: int = 0) -> ScoreTable:
    """The same rows in another order."""
    order = np.random.default_rng(seed).permutation(len(made.tau))
    names = ("label", "cluster", "piece", "size", "score", "tau", "background", "weight")
    return ScoreTable(made.word, made.id, *(getattr(made, name)[order] for name in names), made.covariance)


def poisson_rates(matrix: Floats, tau: Floats, weight: Floats) -> Floats:
    """exp(x·β) by a general optimizer."""

    def loss(beta: Floats) -> tuple[float, Floats]:
        mean = weight * np.exp(matrix @ beta)
        return float(mean.sum() - tau @ (matrix @ beta)), matrix.T @ (mean - tau)

    def curvature(beta: Floats) -> Floats:
        return (matrix * (weight * np.exp(matrix @ beta))[:, None]).T @ matrix

    start = np.zeros(matrix.shape[1])
    start[0] = np.log(tau.sum() / weight.sum())
    found = optimize.minimize(loss, start, jac=True, hess=curvature, method="trust-exact", options={"gtol": 1e-9})
    return np.asarray(np.exp(matrix @ found.x))


class Loops:
    """Everything that `PartialScores` computes, by loops over rows and over clusters that are left out."""

    def __init__(self, made: ScoreTable, matrix: Floats, tested: Sequence[int]) -> None:
        self.made, self.matrix, self.tested = made, matrix, list(tested)
        cells, self.columns = matrix.shape
        self.others = [k for k in range(self.columns) if k not in tested]
        tau, weight = np.zeros(cells), np.zeros(cells)
        for i, cell in enumerate(made.label):
            tau[cell] += made.tau[i]
            weight[cell] += made.weight[i]
        self.rate = poisson_rates(matrix, tau, weight)
        self.clusters = sorted(set(made.cluster.tolist()))
        self.gram = self.gram_of(range(len(made.tau)))
        everyone = self.slopes_of_background(range(len(made.tau)))
        self.total = sum(self.moment(i, everyone) for i in range(len(made.tau)))
        self._find_residual_columns()

    @cached_property
    def grams(self):
        return [self.gram_of(np.flatnonzero(self.made.cluster == c)) for c in self.clusters]

    @cached_property
    def moments(self):
        """Those of each cluster, with the background of the others."""
        found = []
        for c in self.clusters:
            rest = self.slopes_of_background(np.flatnonzero(self.made.cluster != c))
            found.append(sum(self.moment(i, rest) for i in np.flatnonzero(self.made.cluster == c)))
        return found

    def gram_of(self, rows):
        gram = np.zeros((self.columns, self.columns))
        for i in rows:
            x = self.matrix[self.made.label[i]]
            gram += self.rate[self.made.label[i]] * self.made.weight[i] * np.outer(x, x)
        return gram

    def slopes_of_background(self, rows):
        sums = np.zeros((self.columns, self.made.score.shape[1]))
        for i in rows:
            cell = self.made.label[i]
            sums += np.outer(self.matrix[cell], self.rate[cell] * self.made.background[i])
        return np.linalg.solve(self.gram_of(rows), sums)

    def moment(self, i, slopes):
        """x ⊗ e"""
        made, x = self.made, self.matrix[self.made.label[i]]
        h, rate = x @ slopes, self.rate[made.label[i]]
        e = (made.score[i] - made.tau[i] * h) - rate * (made.background[i] - made.weight[i] * h)
        return np.outer(x, e)

    def _find_residual_columns(self):
        """A and G: the residual of the tested columns, by a regression of cells with weights v."""
        v = np.zeros(len(self.matrix))
        for i, cell in enumerate(self.made.label):
            v[cell] += self.rate[cell] * self.made.weight[i]
        self.v = v
        root = np.sqrt(v)[:, None]
        z, t = self.matrix[:, self.others], self.matrix[:, self.tested]
        slopes = np.linalg.lstsq(root * z, root * t, rcond=None)[0]
        self.q = t - z @ slopes
        self.A = np.zeros((self.columns, len(self.tested)))
        self.A[self.tested] = np.eye(len(self.tested))
        self.A[self.others] = -slopes
        self.G = (v[:, None] * self.q).T @ self.q

    def metric(self, ridge):
        """(Σ + κI)⁻¹, κ a multiple of the mean eigenvalue."""
        covariance = self.made.covariance
        size = len(covariance)
        return np.linalg.inv(covariance + ridge * np.trace(covariance) / size * np.eye(size))

    def length(self):
        """The squared length of the coefficient of one column before Σ⁻¹, u / G, in the metric of T."""
        step = np.linalg.solve(self.G, self.A.T @ self.total)[0]
        return float(step @ self.metric(1.0) @ step)

    def statistic(self):
        """T, from the residuals of moments on the other columns."""
        slopes = np.linalg.solve(self.gram[np.ix_(self.others, self.others)], sum(self.moments)[self.others])
        u = sum(
            self.A.T @ (moment - gram[:, self.others] @ slopes) for moment, gram in zip(self.moments, self.grams)
        )  # fmt: skip
        return float(np.trace(np.linalg.solve(self.G, u @ self.metric(1.0) @ u.T)))

    def square(self):
        """δ² without noise: of one column that of its coefficient, of several the mean over pairs of units."""
        metric = (1 - (len(self.made.covariance) + 1) / COVARIANCE_POSITIONS) * self.metric(1e-4)

        def product(one, two):
            first, second = np.linalg.solve(self.G, self.A.T @ one), np.linalg.solve(self.G, self.A.T @ two)
            if len(self.tested) == 1:
                return float(first[0] @ metric @ second[0])
            found = 0.0
            for a, va in enumerate(self.v):
                for b, vb in enumerate(self.v):
                    step = self.matrix[a, self.tested] - self.matrix[b, self.tested]
                    found += va * vb * float((step @ first) @ metric @ (step @ second))
            return found / self.v.sum() ** 2

        noise, everything = 0.0, sum(self.moments)
        for moment, gram in zip(self.moments, self.grams):
            predicted = np.linalg.solve(self.gram - gram, everything - moment)
            noise += product(moment, moment - gram @ predicted)
        return product(self.total, self.total) - noise
