"""Many words tested at once: the sums of each are made into an effect and a counted p, with more permutations where
they matter.

After 999 permutations of every word, those that fewer than ten of them reach are permuted ten times as often, and so on
up to a million times. Stopping at ten keeps p valid at every level: a p below (10 + 1) / (N + 1) always comes from a
longer run. More are made while the smallest p there can be is too large to stand out among all words tested, or if they
take little time.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from laplex.inference.counting import ENOUGH_EXCEEDANCES, FIRST_DRAWS, MAX_DRAWS, Counted
from laplex.inference.permutations import Design, Permutations
from laplex.inference.score_test import Effect, GroupScores, formula_p, group_scores
from laplex.inference.scores import ScorePass, ScoreTable
from laplex.inference.statistics import thread_pool
from laplex.inference.units import Floats
from laplex.runtime.display import bar

SMALL_ENOUGH_P = 0.01  # the smallest adjusted p that the number of permutations must allow
CHEAP_OPERATIONS = 1e10  # a round of permutations that is made in any case
MAX_OPERATIONS = 2e12  # of a round
KEPT_BYTES = 2**28  # for what further permutations are made of


class WordOutcome(NamedTuple):
    """What a test says about a word."""

    effect: Effect
    p: float
    permutations: int  # over which p was counted; 0 if it comes from a formula


class Prepared(NamedTuple):
    """What the test of a word can compute."""

    effect: Callable[[], Effect]
    formula: Callable[[], float]
    permuted: Callable[[], Counted]


class WordTest(ABC):
    """A question that is asked of the words `tested` (n)."""

    tested: NDArray[np.bool_]

    @abstractmethod
    def prepare(self, table: ScoreTable) -> Prepared | None:
        """What the test of a word can compute; None if its text does not allow one."""

    @abstractmethod
    def operations(self, pieces: int, dimensions: int) -> float:
        """Of one draw for a word; `pieces` is `ScorePass.exchanged` of it."""

    def begin(self, table: ScoreTable, draws: int) -> tuple[WordOutcome, Counted | None] | None:
        """The effect and p after the first draws, and what more can be made of if these reach T too rarely."""
        prepared = self.prepare(table)
        if prepared is None:
            return None
        if not draws:
            return WordOutcome(prepared.effect(), prepared.formula(), 0), None
        permuted = prepared.permuted()
        exceeding = permuted.exceedances(0, draws)
        finding = WordOutcome(prepared.effect(), (exceeding + 1) / (draws + 1), draws)
        return finding, permuted if exceeding < ENOUGH_EXCEEDANCES else None

    def permuted(self, table: ScoreTable) -> Counted:
        """The draws for a word that has been tested."""
        prepared = self.prepare(table)
        assert prepared is not None
        return prepared.permuted()


@dataclass(frozen=True, eq=False)
class GroupTest(WordTest):
    """Whether groups of labels differ."""

    tested: NDArray[np.bool_]
    groups: Sequence[Sequence[int]]
    design: Design
    effect: Callable[[GroupScores], Effect]
    permutations: Permutations

    def prepare(self, table: ScoreTable) -> Prepared | None:
        """What the test of a word can compute; None if fewer than two groups have the word."""
        scores = group_scores(table, self.groups)
        if scores is None:
            return None
        residuals = scores.residuals()
        return Prepared(
            lambda: self.effect(scores),
            lambda: formula_p(residuals, self.design),
            lambda: self.permutations.of_word(residuals, self.design, table.id),
        )

    def operations(self, pieces: int, dimensions: int) -> float:
        """Of one permutation of all `pieces` that are relabelled."""
        return 2.0 * pieces * dimensions * max(len(self.groups) - 1, 1)


def run_tests(text: ScorePass, tests: Sequence[WordTest], permutations: int | None) -> list[dict[int, WordOutcome]]:
    """For each test, the findings by word; with `permutations`, these are made for every word and no others."""
    draws = FIRST_DRAWS if permutations is None else permutations
    found: list[dict[int, WordOutcome]] = [{} for _ in tests]
    kept: dict[tuple[int, int], Counted] = {}  # by test and word
    room = KEPT_BYTES

    def begin(table: ScoreTable) -> list[tuple[WordOutcome, Counted | None] | None]:
        return [test.begin(table, draws) if test.tested[table.word] else None for test in tests]

    chosen = np.flatnonzero(np.any([test.tested for test in tests], axis=0)).tolist()
    for word, results in zip(chosen, text.run(chosen, begin)):
        for number, result in enumerate(results):
            if result is not None:
                found[number][word], permuted = result
                if permuted is not None and permuted.pieces.nbytes <= room:
                    kept[number, word] = permuted
                    room -= permuted.pieces.nbytes
    while permutations is None and (pending := _pending(text, tests, found, draws)):
        last = min(10 * (draws + 1) - 1, MAX_DRAWS)
        for number, word, exceeding in _more_exceedances(text, tests, pending, kept, draws, last):
            finding = found[number][word]
            p = (_exceedances(finding) + exceeding + 1) / (last + 1)
            found[number][word] = finding._replace(p=p, permutations=last)
        draws = last
    return found


def _more_exceedances(
    text: ScorePass,
    tests: Sequence[WordTest],
    pending: Sequence[set[int]],
    kept: Mapping[tuple[int, int], Counted],
    first: int,
    last: int,
) -> Iterator[tuple[int, int, int]]:
    """The exceedances of draws from `first` up to `last`, by test and word; what was not kept is made anew."""
    of_test = list(enumerate(pending))
    ready = [(number, word) for number, words in of_test for word in words if (number, word) in kept]
    with bar("testing", quiet=text.quiet) as progress, thread_pool(text.threads) as pool:
        counts = pool.map(lambda key: kept[key].exceedances(first, last), ready)
        for done, (key, exceeding) in enumerate(zip(ready, counts), 1):
            progress.update(done / len(ready), f"{last:,} permutations of {done:,} words")
            yield *key, exceeding

    def count(table: ScoreTable) -> list[tuple[int, int, int]]:
        missing = [n for n, words in of_test if table.word in words and (n, table.word) not in kept]
        return [(n, table.word, tests[n].permuted(table).exceedances(first, last)) for n in missing]

    others = sorted({word for number, words in of_test for word in words if (number, word) not in kept})
    if others:
        yield from chain.from_iterable(text.run(others, count))


def _exceedances(found: WordOutcome) -> int:
    return round(found.p * (found.permutations + 1)) - 1


def _pending(
    text: ScorePass, tests: Sequence[WordTest], found: Sequence[dict[int, WordOutcome]], draws: int
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
    order = np.flatnonzero(known)[np.argsort(p[known])]
    of_rank = p[order] * (len(order) / np.arange(1, len(order) + 1))
    adjusted[order] = np.minimum(np.minimum.accumulate(of_rank[::-1])[::-1], 1.0)
    return adjusted
