"""The search for strengths that predict held-out text best, at less than the cost of a fit.

All candidates are fitted to the same share of the documents, with all epochs, the first of which (without slices) they
have in common, and judged by documents that neither they nor the fit that follows have read or are judged by. From the
usual strength on, others are tried in steps of a factor of ten until the best has a worse one on each side. The choice
is the vertex of the parabola through these three, over the logarithm. Several strengths are chosen in turn.

A fit to less text predicts best with a stronger prior between slices, about as much stronger as there is less of it
(benchmarks/tuning.py measures it): so a candidate that is fitted to a share f of the text has 1/f of the strength
that it stands for. Priors between words are not so. M judged documents.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from laplex.embeddings import Embeddings
from laplex.errors import InputError
from laplex.fitting.epochs import DivergedError, Report
from laplex.fitting.grid import with_strengths
from laplex.fitting.held_out import HeldOutText
from laplex.fitting.start import pooled_epochs
from laplex.fitting.training import Training
from laplex.model.model import Model
from laplex.model.problem import Problem, make_problem, order_of_holding_out
from laplex.model.rows import Rows
from laplex.runtime.distributed import communicator
from laplex.text.tokens import Tokens

Floats = NDArray[np.float64]
Point = tuple[float, ...]  # the logarithm, to the base of ten, of each strength that is to be chosen
PLANNED_COST, MAX_COST = 0.5, 0.75  # of the candidates that are expected and of all, in fits, without judging them
PLANNED_CANDIDATES, PLANNED_BY_FURTHER_STRENGTH = 4, 2
MAX_SHARE = 0.5  # of the documents that are trained on
JUDGED_SHARE, MIN_JUDGED_TOKENS, MAX_JUDGED_TOKENS = 0.05, 30_000, 300_000
RESAMPLES, COVERAGE = 200, 0.9


class Run(Protocol):
    """A fit that can be run."""

    def run(self) -> Embeddings:
        """Run it to the end."""


MakeRun = Callable[[Model, Training, Report, Path], Run]  # the path is a folder for what fits have in common


@dataclass(frozen=True, eq=False)
class Plan:
    """Which documents candidates are fitted to, which judge them, and what a candidate costs."""

    training: Training  # of candidates
    share: float  # of the documents of the fit
    cost_of_start: float  # of the epochs without slices, in fits
    cost: float  # of the other epochs, for each candidate
    text: HeldOutText
    lengths: Floats  # (M) the tokens of each judged document, over all ranks
    documents: int  # that are trained on or that judge, whichever are fewer

    @classmethod
    def of(cls, model: Model, strengths: int, tokens: Tokens, training: Training) -> Plan:
        """The plan for a number of strengths, from a model that has some."""
        rows = Rows(tokens.vocabularies, tokens.slices(model.vary))
        problem = make_problem(model, tokens, rows, training.holdout, training.seed)
        epochs = 1 if training.engine == "reference" else training.epochs
        pooled = pooled_epochs(model, training, problem) / epochs
        candidates = PLANNED_CANDIDATES + PLANNED_BY_FURTHER_STRENGTH * (strengths - 1)
        share = min(MAX_SHARE, PLANNED_COST / (pooled + candidates * (1 - pooled)))
        holdout = 1 - share * (1 - training.holdout)
        order, lengths = order_of_holding_out(tokens, training.seed), np.diff(tokens.offsets)
        text = _judged(tokens, problem, (order >= training.holdout) & (order < holdout), order, training.seed)
        trained = int(communicator().allreduce(np.array([((order >= holdout) & (lengths > 1)).sum()])).sum())
        all_lengths = _gathered(text.lengths.astype(np.float64))
        shorter = replace(training, holdout=holdout, checkpoint=None, checkpoint_minutes=None, patience=None)
        shorter = replace(shorter, inference="map")
        costs = share * pooled, share * (1 - pooled)
        return cls(shorter, share, *costs, text, all_lengths, min(trained, len(all_lengths)))


def _judged(tokens: Tokens, problem: Problem, chosen: NDArray[np.bool_], order: Floats, seed: int) -> HeldOutText:
    """The text of some of the chosen documents: those last in an order at random."""
    lengths = np.diff(tokens.offsets)
    documents = np.flatnonzero(chosen & (lengths > 1))
    documents = documents[np.argsort(-order[documents])]
    limit = min(MAX_JUDGED_TOKENS, max(MIN_JUDGED_TOKENS, JUDGED_SHARE * len(tokens)))
    documents = documents[np.cumsum(lengths[documents]) - lengths[documents] < limit]
    return HeldOutText.of_documents(tokens, problem, np.sort(documents), seed)


def _gathered(values: Floats) -> Floats:
    """The numbers of all ranks, one after another."""
    return np.concatenate([np.frombuffer(data) for data in communicator().allgather(values.tobytes())])


@dataclass(eq=False)
class Search:
    """The candidates that were fitted, and where the next one is."""

    model: Model
    places: list[int]  # of the parts of the prior whose strengths are chosen
    names: list[str]
    plan: Plan
    make: MakeRun
    folder: Path
    report: Report
    center: Point  # the best so far
    sums: dict[Point, Floats] = field(default_factory=dict)  # (M) the log likelihood of each document
    seconds: dict[Point, float] = field(default_factory=dict)

    def run(self) -> None:
        """Go along each strength in turn, until the best does not move any more or the cost is spent."""
        self._evaluate(self.center)
        before = None
        while before != self.center:
            before = self.center
            for axis in range(len(self.places)):
                self._climb(axis)
        if not np.isfinite(self.sums[self.center]).all():
            raise InputError(f"training diverged with every strength: lower rate={self.plan.training.rate}")

    def _climb(self, axis: int) -> None:
        """Try strengths along an axis until the best has a worse one on each side."""
        while True:
            line = self._line(axis)
            end = line.index(self.center)
            cost = self.plan.cost_of_start + (len(self.sums) + 1) * self.plan.cost
            if 0 < end < len(line) - 1 or cost > MAX_COST:
                return
            step = 1.0 if end == len(line) - 1 else -1.0
            self._evaluate(_moved(self.center, axis, step))
            self.center = max(self.sums, key=lambda point: self.sums[point].sum())

    def _line(self, axis: int) -> list[Point]:
        """The points that differ from the best in one strength alone, ascending."""
        others = self.center[:axis] + self.center[axis + 1 :]
        return sorted(
            (point for point in self.sums if point[:axis] + point[axis + 1 :] == others), key=lambda p: p[axis]
        )

    def _evaluate(self, point: Point) -> None:
        """Fit a candidate, and judge it."""
        done = len(self.sums)
        label = ", ".join(f"{name} {10**power:g}" for name, power in zip(self.names, point, strict=True))

        def report(share: float, message: str) -> None:
            expected = max(PLANNED_CANDIDATES, done + 1)
            self.report((done + share) / expected, f"{label}: {message}")

        parts, share_read = self.model.prior.parts, self.plan.share
        strengths = {
            place: 10**power / (share_read if parts[place].joins_slices else 1.0)
            for place, power in zip(self.places, point, strict=True)
        }
        started = time.monotonic()
        run = self.make(with_strengths(self.model, strengths), self.plan.training, report, self.folder)
        try:
            sums = self.plan.text.log_likelihoods({"the fit": run.run()})["the fit"]
        except DivergedError:
            if communicator().size > 1:  # others may not know
                raise
            sums = np.full(len(self.plan.text.lengths), -np.inf)
        self.sums[point], self.seconds[point] = _gathered(sums), time.monotonic() - started

    def result(self) -> dict[str, Any]:
        """The choice, the table of what was tried, and a line that says both."""
        lines = [self._line(axis) for axis in range(len(self.places))]
        powers = [_vertex([p[axis] for p in line], self._totals(line)) for axis, line in enumerate(lines)]
        chosen = [_rounded(10**power) for power in powers]
        intervals = [self._interval(axis, line) for axis, line in enumerate(lines)]
        told = []
        for name, strength, (low, high), line in zip(self.names, chosen, intervals, lines, strict=True):
            end = ", the end of what was tried" if self.center in (line[0], line[-1]) else ""
            interval = f"{COVERAGE:.0%} interval {_rounded(low):g} to {_rounded(high):g}"
            told.append(f"{name} {strength:g} ({interval}{end})")
        tokens = int(self.plan.lengths.sum())
        summary = (
            f"chosen by held-out text: strength of {', of '.join(told)}; {len(self.sums)} tried on "
            f"{self.plan.share:.0%} of the documents, judged by {tokens:,} tokens of others"
        )
        facts = {"names": self.names, "chosen": chosen, "intervals": intervals, "share": self.plan.share}
        facts |= {"tokens": tokens, "documents": len(self.plan.lengths), "summary": summary}
        return facts | {"table": self._table(chosen)}

    def _totals(self, line: list[Point]) -> Floats:
        return np.array([self.sums[point].sum() for point in line])

    def _interval(self, axis: int, line: list[Point]) -> list[float]:
        """Where the choice would be with other documents to judge by: quantiles over resampled ones."""
        weights = np.random.default_rng([self.plan.training.seed, 5]).poisson(1.0, (RESAMPLES, len(self.plan.lengths)))
        sums = np.array([self.sums[point] for point in line])
        totals = weights @ np.where(np.isfinite(sums), sums, 0.0).T
        totals[:, ~np.isfinite(sums).all(1)] = -np.inf  # where training diverged
        powers = [_vertex([point[axis] for point in line], one) for one in totals]
        outside = (1 - COVERAGE) / 2
        return [float(10**power) for power in np.quantile(powers, [outside, 1 - outside])]

    def _table(self, chosen: list[float]) -> list[dict[str, Any]]:
        """A row for each candidate, and for the choice if it is none of them: what parabolas say of it."""
        of_choice = self.sums[self.center].copy()
        for axis, strength in enumerate(chosen):
            step = math.log10(strength) - self.center[axis]
            below, above = (self.sums.get(_moved(self.center, axis, side)) for side in (-1.0, 1.0))
            if below is not None and above is not None and np.isfinite(below + above).all():
                of_choice += (above - below) * step / 2 + (above + below - 2 * self.sums[self.center]) * step**2 / 2
        rows = []
        for point, sums in sorted(self.sums.items()):
            rows.append((point, sums, self.plan.training.epochs, self.seconds[point]))
        where = tuple(math.log10(strength) for strength in chosen)
        if not np.allclose(where, self.center):
            rows.append((where, of_choice, 0, 0.0))
        best = where if not np.allclose(where, self.center) else self.center
        return [self._row(*row, of_choice, row[0] == best) for row in sorted(rows, key=lambda row: row[0])]

    def _row(
        self, point: Point, sums: Floats, epochs: int, seconds: float, best: Floats, chosen: bool
    ) -> dict[str, Any]:
        text = replace(self.plan.text, lengths=self.plan.lengths.astype(np.int64))
        finite = np.isfinite(sums).all()
        mean, difference, error = None, None, None
        if finite:
            mean = text.mean_per_token(sums)[0]
            difference, error = text.mean_per_token(sums - best)
        strengths = {name: float(f"{10**power:.6g}") for name, power in zip(self.names, point, strict=True)}
        results = {"log_likelihood": mean, "difference": difference, "se": error}
        return strengths | results | {"epochs": epochs, "seconds": seconds, "chosen": chosen}


def _rounded(strength: float) -> float:
    return float(f"{strength:.2g}")


def _moved(point: Point, axis: int, step: float) -> Point:
    return (*point[:axis], point[axis] + step, *point[axis + 1 :])


def _vertex(powers: list[float], totals: Floats) -> float:
    """The place of the maximum: the vertex of the parabola through the best point and its neighbors, a step apart."""
    best = int(totals.argmax())
    if not 0 < best < len(powers) - 1:
        return powers[best]
    below, at, above = totals[best - 1 : best + 2].tolist()
    curvature = below - 2 * at + above
    return powers[best] + (0.5 * (below - above) / curvature if curvature < 0 and math.isfinite(curvature) else 0.0)
