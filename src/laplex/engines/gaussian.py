"""The exact posterior of word vectors under the Gaussian likelihood of occurrence vectors.

An occurrence i of word w in slice s has the vector

    x_i ~ N(c + ρ_ws, σ_w² Σ)

with c the center of all words, Σ the covariance of occurrences within words and slices, and σ_w² how much more or less
a word's occurrences vary than those of the mean word. In the coordinates z = (x − c) Σ^(−½) the prior of the graph has
precision P over rows, with latent rows among them, so that a strength counts in occurrences: groups joined by 10 are
held together as by ten occurrences of either. With n_r occurrences of mean z̄_r in row r and N = diag(n_r / σ_w²)

    (P + N) m = N z̄      Var(m_r) = [(P + N)⁻¹]_rr

which is one sparse solve for all dimensions, and

    log p(x) = −½ D (log|P + N| − log|P|) − ½ Σ_d (z̄ᵀ N z̄ − z̄ᵀ N m) + what does not depend on the strengths

by which strengths are chosen. n occurrences, R rows, W words, D dimensions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from laplex.errors import InputError
from laplex.model.graph import Graph

if TYPE_CHECKING:
    from scipy.sparse.linalg import SuperLU

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

PRIOR_OCCURRENCES = 10.0  # by which σ_w² is drawn to 1
LARGEST_DENSE = 400  # rows of a component whose precision is inverted as a dense matrix
COLUMNS_TOGETHER = 512  # of the inverse of a larger one
LEAST_EIGENVALUE = 1e-6  # of Σ, as a share of the largest


@dataclass(frozen=True, eq=False)
class OccurrenceSums:
    """What the posterior needs of the occurrences.

    Attributes:
        count: (R) How many occurrences each row has.
        mean: (R, D) Their mean in the coordinates z, 0 where there are none.
        noise: (R) σ² of the word of each row.
        center: (D) c
        root: (D, D) Σ^½, symmetric.
        word_noise: (W) σ_w²
    """

    count: Floats
    mean: Floats
    noise: Floats
    center: Floats
    root: Floats
    word_noise: Floats

    @classmethod
    def of(cls, vectors: NDArray[np.floating], row: Ints, word: Ints, rows: int, words: int) -> OccurrenceSums:
        """The sums of occurrence vectors (n, D), with the row and the word of each."""
        x = np.asarray(vectors, np.float64)
        count = np.bincount(row, minlength=rows).astype(np.float64)
        mean = sums_by(x, row, rows) / np.maximum(count, 1.0)[:, None]
        of_word = np.bincount(word, minlength=words).astype(np.float64)
        center = (sums_by(x, word, words) / np.maximum(of_word, 1.0)[:, None])[of_word > 0].mean(0)
        free = int(len(x) - np.count_nonzero(count))
        if free < 2:
            raise InputError("every occurrence is alone in its word and slice: their spread cannot be estimated")
        rest = x - mean[row]
        covariance = shrunk(rest.T @ rest / free, free)
        values, axes = np.linalg.eigh(covariance)
        values = np.maximum(values, LEAST_EIGENVALUE * values[-1])
        root, inverse = (axes * values**power @ axes.T for power in (0.5, -0.5))
        square = ((rest @ inverse) ** 2).sum(1)
        cells = np.zeros((words, 2))
        cells[:, 0] = np.bincount(word, square, words) / x.shape[1]
        first = np.unique(row, return_index=True)[1]
        cells[:, 1] = of_word - np.bincount(word[first], minlength=words)
        noise = (cells[:, 0] + PRIOR_OCCURRENCES) / (cells[:, 1] + PRIOR_OCCURRENCES)
        of_row = np.ones(rows)
        of_row[row] = noise[word]
        z = (mean - center) @ inverse
        z[count == 0] = 0.0
        return cls(count, z, of_row, center, root, noise)

    @property
    def precision(self) -> Floats:
        """(R) n / σ²"""
        return self.count / self.noise


class GaussianPosterior:
    """The posterior of the rows of a graph, whose precision is factorized once."""

    def __init__(self, graph: Graph, sums: OccurrenceSums) -> None:
        self.sums, self._prior = sums, graph.laplacian().tocsc()
        self._known = np.concatenate([sums.precision, np.zeros(len(graph) - len(sums.count))])
        self._total = (self._prior + sparse.diags_array(self._known)).tocsc()
        self._factor = factorize(self._total)
        self._right = self._known[:, None] * np.concatenate([sums.mean, np.zeros((graph.latent, sums.mean.shape[1]))])
        self.mean: Floats = self._factor.solve(self._right)

    def log_evidence(self) -> float:
        """The log marginal likelihood, but for what does not depend on the prior."""
        size, sums = self.sums.mean.shape[1], self.sums
        logs = log_determinant(self._factor) - log_determinant(factorize(self._prior))
        square = float((sums.precision[:, None] * sums.mean**2).sum() - np.vdot(self._right, self.mean))
        return float(-0.5 * (size * logs + square))

    def covariance(self, rows: Ints) -> Floats:
        """The covariance of some rows in each dimension of the coordinates z."""
        unit = np.zeros((self._total.shape[0], len(rows)))
        unit[rows, np.arange(len(rows))] = 1.0
        return np.asarray(self._factor.solve(unit)[rows])

    def variance(self) -> Floats:
        """(R + latent) The variance of each number of a row in the coordinates z."""
        from scipy.sparse import csgraph

        size = self._total.shape[0]
        number, component = csgraph.connected_components(self._total, directed=False)
        order = np.argsort(component, kind="stable")
        starts = np.searchsorted(component[order], np.arange(number + 1))
        variance, sizes = np.empty(size), np.diff(starts)
        for width in np.unique(sizes[sizes <= LARGEST_DENSE]).tolist():
            rows = order[starts[:-1][sizes == width][:, None] + np.arange(width)]  # (components, width)
            for some in np.array_split(rows, max(1, len(rows) * width**2 // 4_000_000)):
                blocks = np.stack([self._total[np.ix_(one, one)].toarray() for one in some])
                variance[some] = np.diagonal(np.linalg.inv(blocks), axis1=1, axis2=2)
        for first, last in zip(starts[:-1][sizes > LARGEST_DENSE], starts[1:][sizes > LARGEST_DENSE]):
            for place in range(first, last, COLUMNS_TOGETHER):
                rows = order[place : min(place + COLUMNS_TOGETHER, last)]
                unit = np.zeros((size, len(rows)))
                unit[rows, np.arange(len(rows))] = 1.0
                variance[rows] = self._factor.solve(unit)[rows, np.arange(len(rows))]
        return variance


def sums_by(values: Floats, group: Ints, groups: int) -> Floats:
    """(groups, D) The sums of the rows of each group."""
    member = sparse.csr_array((np.ones(len(group)), (group, np.arange(len(group)))), shape=(groups, len(group)))
    return np.asarray(member @ values)


def shrunk(covariance: Floats, observations: float) -> Floats:
    """A covariance matrix drawn to a multiple of the identity, the more so the fewer observations it has (OAS)."""
    size = len(covariance)
    trace, square = float(np.trace(covariance)), float(np.vdot(covariance, covariance))
    share = ((1 - 2 / size) * square + trace**2) / max(
        (observations + 1 - 2 / size) * (square - trace**2 / size), 1e-300
    )
    share = min(max(share, 0.0), 1.0)
    return np.asarray((1 - share) * covariance + share * trace / size * np.eye(size))


def factorize(matrix: sparse.csc_array) -> SuperLU:
    """The sparse factors of a symmetric, positive definite matrix."""
    from scipy.sparse.linalg import splu  # which many questions do without

    return splu(matrix, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})


def log_determinant(factor: SuperLU) -> float:
    """Of a matrix that was factorized."""
    return float(np.log(np.abs(factor.U.diagonal())).sum())
