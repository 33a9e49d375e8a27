"""Tests of coefficients: p of some columns of a design matrix, given the others, by counting.

T is that of `partial_scores.py`. How its distribution under the null hypothesis is found depends on the design:

- Where every cluster has one value of the tested columns, as a senator has one party, what other columns that hardly
  vary within clusters do not explain of these values is permuted between whole clusters, while the residuals of the
  scores given all other columns stay where they are (the method of Freedman and Lane, with the roles exchanged so that
  the amount of text of a cluster stays with its scores). If some of these columns are factors that do not vary within
  clusters at all, and enough clusters have each combination of their levels, values are permuted among those only.
- Where values vary within a cluster, or clusters are many, the signs of the clusters' contributions to u are flipped by
  chance. This assumes that they are symmetric about zero, or many; they need not have the same variance.

C clusters, D dimensions, t columns that are tested, P draws.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from laplex.inference.counting import CHUNK, Counted, Draws, Kept, Singles
from laplex.inference.design import DesignUnits
from laplex.inference.partial_scores import PartialScores, SharedScores, pseudo_inverse
from laplex.inference.permutations import squared_lengths
from laplex.inference.score_test import quadratic_form_p
from laplex.inference.scores import ScoreTable
from laplex.inference.testing import Prepared, WordTest
from laplex.inference.units import Floats, Ints

MOSTLY_BETWEEN = 0.9  # share of a column's variance between clusters, from which on it explains values of clusters


@dataclass(eq=False)
class ColumnPermutations(Draws):
    """The draws for some columns, which all words share if clusters are permuted."""

    explained: Floats  # (C, t) what the other columns explain of the tested columns' values in a cluster
    residual: Floats | None  # (C, t) the rest, which is permuted between clusters; None if signs are flipped
    stratum: Ints  # (C) clusters are permuted among those with the same number
    seed: Sequence[int]
    kept: Kept = field(default_factory=Kept)

    @classmethod
    def of(cls, units: DesignUnits, tested: Sequence[int], permutable: bool, seed: Sequence[int]) -> ColumnPermutations:
        """The draws for units; `permutable` says whether every cluster has a row in the tables of all words."""
        x, cluster, size = units.x, units.cluster, units.size
        clusters = int(cluster.max()) + 1
        others = [k for k in range(x.shape[1]) if k not in tested]
        first = np.unique(cluster, return_index=True)[1]
        nested = permutable and bool((x[:, tested] == x[first][cluster][:, tested]).all())
        if not nested:
            return cls(np.empty((0, 0)), None, np.zeros(clusters, np.int64), seed)
        text = np.bincount(cluster, size, clusters)
        mean = np.stack([np.bincount(cluster, size * x[:, k], clusters) / text for k in range(x.shape[1])], 1)
        # what varies within clusters is taken out of the scores, and cannot be taken out of the values of clusters
        spread = [np.cov(values, aweights=weight, ddof=0) for values, weight in ((mean.T, text), (x.T, size))]
        between = np.divide(
            np.diag(spread[0]), np.diag(spread[1]), where=np.diag(spread[1]) > 0, out=np.ones(x.shape[1])
        )
        z, value = mean[:, [k for k in others if between[k] >= MOSTLY_BETWEEN]], x[first][:, tested]
        weighted = z * text[:, None]
        explained = z @ (pseudo_inverse(weighted.T @ z) @ (weighted.T @ value))
        return cls(explained, value - explained, units.strata(tested), seed)

    @property
    def flips(self) -> ColumnPermutations:
        """The same columns with signs that are flipped."""
        return replace(self, residual=None, kept=Kept())

    def are_shared(self, size: int) -> bool:
        return self.residual is not None or size == len(
            self.stratum
        )  # signs by the words that all clusters have a row of

    def draw(self, chunk: int, size: int, word: int) -> NDArray[np.int32]:
        """(C, CHUNK) The cluster whose values each cluster gets, or signs."""
        random = np.random.default_rng([*self.seed, chunk, *([] if self.are_shared(size) else [word])])
        if self.residual is None:
            return (2 * random.integers(0, 2, (size, CHUNK), np.int8) - 1).astype(np.int32)
        drawn = np.empty((size, CHUNK), np.int32)
        for stratum in np.unique(self.stratum).tolist():
            mine = np.flatnonzero(self.stratum == stratum).astype(np.int32)
            drawn[mine] = random.permuted(np.repeat(mine[:, None], CHUNK, 1), axis=0)
        return drawn


@dataclass(frozen=True, eq=False)
class WordColumnPermutations(Counted):
    """The statistic of one word, and what its draws are made of."""

    question: ColumnPermutations
    word: int
    observed: float
    pieces: Singles  # (C, D + 1 + others) e, v and v z of clusters, or (C, t D) their contributions to u
    inverse: Floats  # of the other columns' Gram matrix

    @classmethod
    def of(
        cls,
        question: ColumnPermutations,
        scores: PartialScores,
        tested: Sequence[int],
        residual: tuple[Floats, Floats],
        word: int,
    ) -> WordColumnPermutations:
        """The draws of one word; `residual` is that of the tested columns (`PartialScores.residual_columns`)."""
        others, (weights, gram) = [k for k in range(scores.matrix.shape[1]) if k not in tested], residual
        root = weights @ np.linalg.inv(np.linalg.cholesky(gram)).T
        y = scores.null_contributions(others, root).reshape(scores.clusters, -1)
        observed = float((y.sum(0) ** 2).sum())
        if question.residual is not None:
            of_clusters = scores.null_contributions(others, np.eye(len(weights), 1))[:, 0]
            pieces = np.concatenate([of_clusters, scores.cluster_information(others)], 1)
            inverse = pseudo_inverse(scores.gram[np.ix_(others, others)])
            return cls(question, word, observed, pieces.astype(np.float32), inverse)
        y = y / np.sqrt(1 - scores.null_leverage(weights, others))[:, None]
        return cls(question, word, observed, y.astype(np.float32), np.empty((0, 0)))

    def formula_p(self) -> float:
        """p by the formula, for contributions whose signs are flipped."""
        return quadratic_form_p(self.pieces.astype(np.float64), self.observed)

    def code(self, drawn: NDArray[np.signedinteger[Any]]) -> Singles:
        """(t, P, C) The values of the tested columns, or (P, C) signs."""
        if self.question.residual is None:
            return drawn.T.astype(np.float32)
        value = self.question.explained + self.question.residual[drawn.T]  # (P, C, t)
        return np.ascontiguousarray(value.transpose(2, 0, 1), np.float32)

    def statistics(self, coded: Singles) -> NDArray[np.floating[Any]]:
        if self.question.residual is None:
            return squared_lengths(coded @ self.pieces)
        columns, others = len(coded), len(self.inverse)
        size = self.pieces.shape[1] - 1 - others
        sums = (coded @ self.pieces).astype(np.float64)  # (t, P, …)
        u, cross, v = sums[:, :, :size], sums[:, :, size + 1 :], self.pieces[:, size]
        gram = np.empty((coded.shape[1], columns, columns))
        for one in range(columns):
            for two in range(columns):
                gram[:, one, two] = (coded[one] * coded[two]) @ v
        gram -= np.einsum("apk,kl,bpl->pab", cross, self.inverse, cross)
        if columns == 1:
            return np.asarray(np.einsum("pd,pd->p", u[0], u[0]) / np.maximum(gram[:, 0, 0], 1e-300))
        gram[:, range(columns), range(columns)] += 1e-9 * gram.trace(axis1=1, axis2=2)[:, None]
        return np.asarray(np.linalg.solve(gram, np.einsum("apd,bpd->pab", u, u)).trace(axis1=1, axis2=2))


@dataclass(frozen=True, eq=False)
class PartialTest(WordTest):
    """Whether words differ with some columns of a design matrix, given the others."""

    tested: NDArray[np.bool_]
    columns: Sequence[int]
    scores: SharedScores
    permutations: ColumnPermutations

    def prepare(self, table: ScoreTable) -> Prepared | None:
        """What the test of a word can compute; None if its text cannot tell the columns from the others."""
        scores = self.scores.of(table)
        if scores is None:
            return None
        others = [k for k in range(scores.matrix.shape[1]) if k not in self.columns]
        found = scores.residual_columns(self.columns, others)
        if found is None:
            return None
        draws = partial(WordColumnPermutations.of, scores=scores, tested=self.columns, residual=found, word=table.id)
        return Prepared(
            lambda: scores.effect(self.columns, *found),
            lambda: draws(self.permutations.flips).formula_p(),
            lambda: draws(self.permutations),
        )

    def operations(self, pieces: int, dimensions: int) -> float:
        """Of one draw; clusters are at most the rows of the word's table."""
        return 2.0 * min(pieces, len(self.permutations.stratum)) * dimensions * len(self.columns)
