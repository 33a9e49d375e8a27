"""Many words tested at once: the sums of each are made into an effect and a counted p, with more permutations where
they matter.

After 999 permutations of every word, those that fewer than ten of them reach are permuted ten times as often, and so on
up to a million times. Stopping at ten keeps p valid at every level: a p below (10 + 1) / (N + 1) always comes from a
longer run. More are made while the smallest p there can be is too large to stand out among all words tested, or if they
take little time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from laplex.inference.permutations import (
    ENOUGH_EXCEEDANCES,
    FIRST_DRAWS,
    MAX_DRAWS,
    Design,
    Permutations,
)
from laplex.inference.score_test import Effect, GroupScores, formula_p, group_scores
from laplex.inference.scores import ScorePass, ScoreTable
from laplex.inference.units import Floats

SMALL_ENOUGH_P = 0.005  # the smallest adjusted p that the number of permutations must allow
CHEAP_OPERATIONS = 1e10  # a round of permutations that is made in any case
MAX_OPERATIONS = 2e12  # of a round


class Finding(NamedTuple):
    """What a test says about a word."""

    effect: Effect
    p: float
    permutations: int  # over which p was counted; 0 if it comes from a formula


@dataclass(frozen=True, eq=False)
class WordTest:
    """Whether groups of labels differ, asked of the words `tested` (n)."""

    tested: NDArray[np.bool_]
    groups: Sequence[Sequence[int]]
    design: Design
    effect: Callable[[GroupScores], Effect]
    permutations: Permutations

    def begin(self, table: ScoreTable, draws: int) -> Finding | None:
        """The effect, and p after the first permutations; None if a group lacks the word."""
        scores = group_scores(table, self.groups)
        if scores is None:
            return None
        effect, residuals = self.effect(scores), scores.residuals()
        if not draws:
            return Finding(effect, formula_p(residuals, self.design), 0)
        exceeding = self.permutations.exceedances(residuals, self.design, table.id, 0, draws)
        return Finding(effect, (exceeding + 1) / (draws + 1), draws)

    def go_on(self, table: ScoreTable, found: Finding, draws: int) -> Finding:
        """The same with more permutations."""
        scores = group_scores(table, self.groups)
        assert scores is not None  # since it has been tested
        exceeding = _exceedances(found) + self.permutations.exceedances(
            scores.residuals(), self.design, table.id, found.permutations, draws
        )
        return found._replace(p=(exceeding + 1) / (draws + 1), permutations=draws)

    def operations(self, pieces: int, dimensions: int) -> float:
        """Of one permutation of all `pieces` that are relabelled."""
        return 2.0 * pieces * dimensions * max(len(self.groups) - 1, 1)


def run_tests(text: ScorePass, tests: Sequence[WordTest], permutations: int | None) -> list[dict[int, Finding]]:
    """For each test, the findings by word; with `permutations`, these are made for every word and no others."""
    draws = FIRST_DRAWS if permutations is None else permutations
    found: list[dict[int, Finding]] = [{} for _ in tests]

    def begin(table: ScoreTable) -> list[Finding | None]:
        return [test.begin(table, draws) if test.tested[table.word] else None for test in tests]

    chosen = np.flatnonzero(np.any([test.tested for test in tests], axis=0)).tolist()
    for word, results in zip(chosen, text.run(chosen, begin)):
        for findings, finding in zip(found, results):
            if finding is not None:
                findings[word] = finding
    while permutations is None and (pending := _pending(text, tests, found, draws)):
        draws = min(10 * (draws + 1) - 1, MAX_DRAWS)

        def go_on(table: ScoreTable, draws: int = draws, pending: list[set[int]] = pending) -> list[Finding | None]:
            return [
                test.go_on(table, findings[table.word], draws) if table.word in words else None
                for test, findings, words in zip(tests, found, pending)
            ]

        chosen = sorted(set().union(*pending))
        for word, results in zip(chosen, text.run(chosen, go_on)):
            for findings, finding in zip(found, results):
                if finding is not None:
                    findings[word] = finding
    return found


def _exceedances(found: Finding) -> int:
    return round(found.p * (found.permutations + 1)) - 1


def _pending(
    text: ScorePass, tests: Sequence[WordTest], found: Sequence[dict[int, Finding]], draws: int
) -> list[set[int]] | None:
    """The words of each test that are worth ten times as many permutations, if any are."""
    latest = [{word: f for word, f in findings.items() if f.permutations == draws} for findings in found]
    pending = [{word for word, f in of.items() if _exceedances(f) < ENOUGH_EXCEEDANCES} for of in latest]
    if draws >= MAX_DRAWS or not any(pending):
        return None
    operations = (
        9.0
        * draws
        * sum(
            test.operations(text.exchanged(word), text.dimensions)
            for test, words in zip(tests, pending)
            for word in words
        )
    )
    at_floor = sum(_exceedances(f) == 0 for of in latest for f in of.values())
    smallest_p = sum(map(len, found)) / (max(at_floor, 1) * (draws + 1))
    worth = operations <= CHEAP_OPERATIONS or (smallest_p > SMALL_ENOUGH_P and operations <= MAX_OPERATIONS)
    return pending if worth else None


def adjust_p(p: Floats) -> Floats:
    """p after Benjamini and Hochberg, over all that are known; the others stay unknown."""
    adjusted, known = np.full(len(p), np.nan), np.isfinite(p)
    if known.any():
        adjusted[known] = stats.false_discovery_control(p[known])
    return adjusted
