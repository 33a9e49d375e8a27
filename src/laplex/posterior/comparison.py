"""What is asked of the table of a word: do two labels differ, do any of several, is there a trend along them?

Each Comparison knows which words can be tested and what the prior charges them; a rotated Table and the labels of its
rows come in, p and an Effect go out. n words, G labels, m rows, P labellings.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from laplex.posterior import groups
from laplex.posterior.evidence import Effect, Rotated, analytic_p, effect, rotate, step_of
from laplex.posterior.permutation import among_owners, counted_p, permuted, smoothed_p
from laplex.posterior.request import Request
from laplex.posterior.tables import Floats, Pass, Table

MANY = 1_000  # where more units than this have a word, the formula is right

Answer = tuple[float, Effect]
NOTHING: Answer = (float("nan"), Effect(float("nan"), float("nan"), float("nan")))


Statistics = Callable[[Rotated, NDArray[Any], NDArray[Any]], Floats]  # from a table, its labels and other labellings


@dataclass(frozen=True, eq=False)
class Draws:
    """Other labellings: of all units, or if these are many, of those that have a word, if these are few.

    Of many that have it p comes from a formula.
    """

    labellings: NDArray[np.int16]  # (P, m)
    counted: bool  # are labellings counted, or is p the tail of a smooth curve through them?
    own: int  # how many are drawn among the units that have a word, if there are none of all units
    seed: Sequence[int]

    def p(
        self, table: Rotated, label: NDArray[np.int64], statistics: Statistics, formula: Callable[[], float]
    ) -> float:
        if len(self.labellings):
            found = statistics(table, label, self.labellings)
            return counted_p(found) if self.counted else smoothed_p(found)
        if self.own and np.count_nonzero(table.tau) <= MANY:
            return smoothed_p(statistics(*among_owners(table, label, self.own, self.seed)))
        return formula()


def draw(request: Request, label: NDArray[np.int64], seed: Sequence[int]) -> Draws:
    """Labels of units, permuted as often as is asked for."""
    labellings = np.tile(label.astype(np.int16), (request.draws, 1))
    np.random.default_rng(seed).permuted(labellings, axis=1, out=labellings)
    return Draws(labellings, request.options.counted, request.own_draws, seed)


class Comparison(Protocol):
    @property
    def tested(self) -> NDArray[np.bool_]: ...  # (n)

    def ask(self, table: Rotated, label: NDArray[np.int64], word: int) -> Answer:
        """p and effect of a word."""
        ...


@dataclass(frozen=True, eq=False)
class Pair:
    """Two labels."""

    one: int
    two: int
    tested: NDArray[np.bool_]
    prior: Floats  # (n)
    draws: Draws

    def ask(self, table: Rotated, label: NDArray[np.int64], word: int) -> Answer:
        inside = np.isin(label, [self.one, self.two])
        part, one, prior = table.of(inside), label[inside] == self.one, float(self.prior[word])
        if not _everywhere(part, np.where(one, 0, 1), 2):
            return NOTHING
        p = self.draws.p(
            *(part, label[inside]),
            lambda table, label, others: permuted(table, label == self.one, prior, others == self.one),
            lambda: analytic_p(part, one, prior),
        )
        return p, effect(part, one, prior)


@dataclass(frozen=True, eq=False)
class Joint:
    """Any of several labels. The draws are of their places in `labels`."""

    labels: Sequence[int]
    tested: NDArray[np.bool_]
    priors: Mapping[tuple[int, int], Floats]  # (n) for each pair of places
    draws: Draws

    def ask(self, table: Rotated, label: NDArray[np.int64], word: int) -> Answer:
        inside = np.isin(label, self.labels)
        part, place, size = table.of(inside), np.searchsorted(self.labels, label[inside]), len(self.labels)
        if not _everywhere(part, place, size):
            return NOTHING
        priors = {pair: float(self.priors[pair][word]) for pair in combinations(range(size), 2)}
        # groups of equal size, which knows nothing of the labels
        scale = step_of(part.spectrum, float(np.mean(list(priors.values()))), 1 / (2 * size))
        p = self.draws.p(
            *(part, place),
            lambda table, label, others: groups.permuted_by(table, label, others, scale, size, groups.spread),
            lambda: groups.joint_p(part, place, size, scale),
        )
        return p, groups.joint_effect(part, place, size, priors)


@dataclass(frozen=True, eq=False)
class Trend:
    """A line along all labels."""

    x: Floats  # (G) from −½ to ½
    variance: float  # of x over the units, which does not depend on who has which
    tested: NDArray[np.bool_]
    prior: Floats  # (n)
    draws: Draws

    def ask(self, table: Rotated, label: NDArray[np.int64], word: int) -> Answer:
        size, prior = len(self.x), float(self.prior[word])
        found = groups.shares(table, label, size)
        if not found @ (self.x - found @ self.x) ** 2 > 0:
            return NOTHING
        scale = step_of(table.spectrum, prior, self.variance)
        along = groups.slope_along(self.x)
        p = self.draws.p(
            *(table, label),
            lambda table, label, others: groups.permuted_by(table, label, others, scale, size, along),
            lambda: groups.trend_p(table, label, self.x, scale),
        )
        return p, groups.trend_effect(table, label, self.x, prior)


def _everywhere(table: Rotated, label: NDArray[np.int64], size: int) -> bool:
    """Does every label have the word, and a background?"""
    return bool(min(np.bincount(label, values, size).min() for values in (table.tau, table.weight)) > 0)


def answers(text: Pass, comparisons: Sequence[Comparison]) -> list[dict[int, Answer]]:
    """For each comparison, p and effect of the words that can be tested."""

    def ask(table: Table) -> list[Answer | None]:
        rotated = rotate(table)
        return [
            asked.ask(rotated, table.label, table.word) if asked.tested[table.word] else None for asked in comparisons
        ]

    chosen = np.flatnonzero(np.any([asked.tested for asked in comparisons], axis=0)).tolist()
    found: list[dict[int, Answer]] = [{} for _ in comparisons]
    for word, given in zip(chosen, text.run(chosen, ask)):
        for place, answer in zip(found, given):
            if answer is not None:
                place[word] = answer
    return found
