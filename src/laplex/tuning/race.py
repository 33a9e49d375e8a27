"""Who is best, without running everyone to the end: successive halving.

All candidates run some epochs of the same schedule, the better half goes on, and so on to the last two. Each run is the
very fit that `lx.fit` would give, paused at the rungs and resumed: whatever is compared has read the same text equally
often, at the same step sizes, from the same start. (To start a candidate from the vectors of its neighbor was tried,
and is not done: the comparison leans to where the path began; benchmarks/tuning.py has the trial.)
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from laplex.embeddings import Embeddings
from laplex.errors import InputError
from laplex.problem import Problem, make_problem
from laplex.progress import Bar, say
from laplex.rows import Rows
from laplex.tokens import Tokens
from laplex.training import DivergedError, Training, fit_until, identify
from laplex.tuning.grid import Candidate, Grid
from laplex.tuning.judge import Judge
from laplex.tuning.results import Outcome, Results, key_of

FIRST = 0.2  # the share of the epochs that everyone runs
FINALISTS = 2


class Race:
    """Candidates, and what is known of each after how many epochs."""

    def __init__(
        self, grid: Grid, tokens: Tokens, training: Training, results: Results, progress: Bar, quiet: bool
    ) -> None:
        self.grid = grid
        self.outcomes: dict[Candidate, dict[int, Outcome]] = {}
        self.rungs = rungs(1 if training.engine == "reference" else training.epochs, len(grid.candidates))
        self._tokens, self._training, self._results = tokens, training, results
        self._progress, self._quiet = progress, quiet
        self._keys: dict[Candidate, str] = {}
        self._done, self._planned = 0, planned(self.rungs, len(grid.candidates))
        self.judge = Judge.of(tokens, self._problem(grid.candidates[0]), training.seed)

    @property
    def last(self) -> int:
        """The epochs of a whole fit."""
        return self.rungs[-1]

    def run(self) -> Candidate:
        """The best of those that have run to the end."""
        alive = list(self.grid.candidates)
        for place, rung in enumerate(self.rungs):
            for candidate in alive:
                self.advance(candidate, rung)
            if not any(np.isfinite(self.outcomes[candidate][rung].sums).all() for candidate in alive):
                raise InputError(f"training diverged with every strength: lower rate={self._training.rate}")
            if place > 0 or rung == self.last:  # the first is too early to tell
                alive += self._grown(alive, rung)
            if place > 0 and rung == self.rungs[-2]:
                alive += self._caught_up(alive, rung)
            if rung != self.last:
                alive = self.ranked(alive, rung)[: survivors(len(self.grid.candidates), place + 1, len(self.rungs))]
        return self.ranked(alive, self.last)[0]

    def _caught_up(self, alive: list[Candidate], rung: int) -> list[Candidate]:
        """Neighbors of the best that were dropped, brought to this rung before it is said who runs to the end.

        At the first rung strong beliefs look too good, since they need not be learnt. It has half the time of a fit.
        """
        budget = self._done + (self.last - self.rungs[0]) // 2
        added: list[Candidate] = []
        while True:
            best = self.ranked([*alive, *added], rung)[0]
            dropped = [other for other in self.grid.neighbors(best) if rung not in self.outcomes[other]]
            afforded = [other for other in dropped if self._done + rung - max(self.outcomes[other]) <= budget]
            if not afforded:
                return added
            added.append(max(afforded, key=lambda other: self.compared(other, best)[0]))
            self.advance(added[-1], rung)

    def ranked(self, candidates: Iterable[Candidate], rung: int) -> list[Candidate]:
        """Best first; of equals the simpler one."""

        def worth(candidate: Candidate) -> tuple[float, float]:
            return self.judge.mean(self.outcomes[candidate][rung].sums)[0], self.grid.simplicity(candidate)

        return sorted(candidates, key=worth, reverse=True)

    def compared(self, one: Candidate, two: Candidate) -> tuple[float, float]:
        """By how much one is better, after as many epochs as both have run, and the standard error over documents."""
        rung = max(set(self.outcomes[one]) & set(self.outcomes[two]))
        first, second = self.outcomes[one][rung].sums, self.outcomes[two][rung].sums
        if one is two or not np.isfinite(second).all():
            return 0.0, 0.0
        return self.judge.mean(first - second)

    def _grown(self, alive: list[Candidate], rung: int) -> list[Candidate]:
        """New candidates, as long as the best stands at an end of a grid of our choosing, ahead of those within."""
        added: list[Candidate] = []
        while True:
            best = self.ranked([*alive, *added], rung)[0]
            inner = [self.compared(best, other) for other in self.grid.neighbors(best)]
            if not inner or any(difference <= error for difference, error in inner):
                return added
            new = [grown for name in self.grid.ends(best) if (grown := self.grid.grow(best, name))]
            if not new:
                return added
            for candidate in new:
                self._planned += rung
                self.advance(candidate, rung)
            added += new

    def advance(self, candidate: Candidate, rung: int) -> None:
        """Run a candidate up to a rung, and judge it there and on the way."""
        known = self.outcomes.setdefault(candidate, {})
        for epochs in (number for number in self.rungs if number <= rung and number not in known):
            key = self.key(candidate)
            found = self._results.get(key, epochs)
            if found is None:
                started = time.monotonic()
                try:
                    sums = self.judge(self.fit(candidate, epochs))
                except DivergedError:
                    say(f"training diverged with {self._described(candidate)}", quiet=self._quiet)
                    sums = np.full(len(self.judge.lengths), -np.inf)
                found = Outcome(sums, time.monotonic() - started)
                self._results.put(key, epochs, found)
            self._done += epochs - max(known, default=0)
            known[epochs] = found

    def fit(self, candidate: Candidate, epochs: int | None = None) -> Embeddings:
        """The fit of a candidate after so many epochs, or whole; what is there of it is taken from its checkpoint."""
        training = replace(self._training, checkpoint=self._results.run(self.key(candidate)))
        before = max(self.outcomes.get(candidate, {}), default=0)

        def watch(share: float, note: str) -> None:
            done = self._done + max(share * self.last - before, 0.0)
            self._progress.update(min(done / self._planned, 1.0), f"{self._described(candidate)}: {note}")

        return fit_until(candidate.model, self._tokens, training, epochs, watch=watch, quiet=True)

    def finish(self, chosen: Candidate) -> None:
        """Keep the vectors of the chosen candidate only."""
        self._results.forget_runs(keep=[self.key(chosen)])

    def key(self, candidate: Candidate) -> str:
        if candidate not in self._keys:
            problem = self._problem(candidate)
            self._keys[candidate] = key_of(identify(candidate.model, self._training, self._tokens, problem))
        return self._keys[candidate]

    def _problem(self, candidate: Candidate) -> Problem:
        rows = Rows(self._tokens.vocabularies, self._tokens.slices(candidate.model.vary))
        return make_problem(candidate.model, self._tokens, rows, self._training.holdout, self._training.seed)

    def _described(self, candidate: Candidate) -> str:
        return ", ".join(
            f"{name} {value:g}" if isinstance(value, float) else str(value)
            for name, value in self.grid.labels(candidate).items()
        )


def rungs(epochs: int, candidates: int) -> list[int]:
    """After how many epochs candidates are compared: from a fifth of them to all, once for every halving.

    >>> rungs(5, 6), rungs(10, 2), rungs(1, 6)
    ([1, 3, 5], [10], [1])
    """
    halvings = math.ceil(math.log2(max(candidates / FINALISTS, 1)))
    places = np.linspace(FIRST * epochs, epochs, halvings + 1) if halvings else np.array([epochs])
    return sorted({max(1, round(place)) for place in places.tolist()})


def survivors(candidates: int, place: int, of: int) -> int:
    """How many candidates run to a rung.

    >>> [survivors(6, place, 3) for place in range(3)], [survivors(36, place, 5) for place in range(5)]
    ([6, 3, 2], [36, 17, 8, 4, 2])
    """
    if of == 1 or candidates <= FINALISTS:
        return candidates
    share: float = (FINALISTS / candidates) ** (place / (of - 1))
    return max(FINALISTS, round(candidates * share))


def planned(rungs: list[int], candidates: int) -> int:
    """The epochs of all runs, if nothing comes in between.

    >>> planned([1, 3, 5], 6)
    16
    """
    steps = [later - before for before, later in zip([0, *rungs], rungs)]
    return sum(step * survivors(candidates, place, len(rungs)) for place, step in enumerate(steps))
