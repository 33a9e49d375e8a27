"""Successive halving: the best of several models, without running all of them to the end.

All candidates run some epochs of the same schedule, the better half goes on, and so on to the last two. Each run is the
fit that `lx.fit` would give, stopped at the rungs and resumed: candidates that are compared have read the same text
equally often, at the same step sizes, from the same start. The epochs without slices that fits begin with (`start.py`)
are the same for all candidates with the same ridge and run once; candidates are compared after epochs with slices.
(To start a candidate from the vectors of its neighbor would bias the comparison towards where the path began;
benchmarks/tuning.py has the trial.)

Results are kept in a folder, so that an interrupted tuning resumes:

    FOLDER/
      laplex.json, arrays-….safetensors   for each candidate and number of epochs: the log likelihood of each document
      run-<key>/                          the checkpoint of a candidate's fit
      start-<key>/                        that of the epochs without slices

The key is the hash of all that a fit depends on: model, graph, text and training. M held-out documents, n tokens.
"""

from __future__ import annotations

import hashlib
import json
import math
import shutil
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from laplex.embeddings import Embeddings
from laplex.errors import InputError, StorageError
from laplex.fitting.estimation import DivergedError, Estimation, fit_identity
from laplex.fitting.grid import Candidate, Grid
from laplex.fitting.held_out import HeldOutText
from laplex.fitting.start import pooled_epochs
from laplex.fitting.training import Training
from laplex.model.problem import Problem, make_problem
from laplex.model.rows import Rows
from laplex.runtime import storage
from laplex.runtime.display import Bar, say
from laplex.text.tokens import Tokens

Floats = NDArray[np.float64]
FIRST_RUNG = 0.2  # the share of the epochs that every candidate runs
FINALISTS = 2
STORAGE_KIND = "tuning"


@dataclass(frozen=True, eq=False)
class Outcome:
    """The log likelihoods of a candidate after some epochs, and the seconds since the rung before."""

    sums: Floats  # (M) of documents; −∞ where training diverged
    seconds: float


class Results:
    """The outcomes of a tuning by the key of a candidate and its epochs, in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.outcomes: dict[tuple[str, int], Outcome] = {}
        if not storage.exists(folder):
            self._save()
            return
        saved = storage.load(folder, STORAGE_KIND)
        try:
            for number, record in enumerate(saved.settings["records"]):
                outcome = Outcome(np.array(saved.arrays[str(number)]), float(record["seconds"]))
                if outcome.sums.ndim != 1 or outcome.sums.dtype != np.float64:
                    raise ValueError("a result")
                self.outcomes[record["key"], record["epochs"]] = outcome
        except (KeyError, TypeError, ValueError) as error:
            raise StorageError(f'"{folder}" is damaged: {error} is missing or wrong; delete it') from None
        storage.clear_up(folder)  # a tuning that was at its end saves nothing more

    def put(self, key: str, epochs: int, outcome: Outcome) -> None:
        self.outcomes[key, epochs] = outcome
        self._save()

    def _save(self) -> None:
        records = [
            {"key": key, "epochs": epochs, "seconds": outcome.seconds}
            for (key, epochs), outcome in self.outcomes.items()
        ]
        arrays = {str(number): outcome.sums for number, outcome in enumerate(self.outcomes.values())}
        storage.save(self.folder, STORAGE_KIND, {"records": records}, arrays)


class Race:
    """Candidates, and the outcome of each after some numbers of epochs (the rungs)."""

    def __init__(
        self, grid: Grid, tokens: Tokens, training: Training, results: Results, progress: Bar, quiet: bool
    ) -> None:
        self.grid = grid
        self.outcomes: dict[Candidate, dict[int, Outcome]] = {}
        self._tokens, self._training, self._results = tokens, training, results
        self._progress, self._quiet = progress, quiet
        self._keys: dict[Candidate, str] = {}
        problem = self._problem(grid.candidates[0], quiet=quiet)
        self.text = HeldOutText.of_problem(tokens, problem, training.seed)
        alike = grid.candidates[:1] if grid.strengths else grid.candidates
        pooled = [pooled_epochs(candidate.model, training, problem) for candidate in alike]
        self._pooled_epochs, epochs = max(pooled), 1 if training.engine == "reference" else training.epochs
        self.rungs = rungs(epochs, len(grid.candidates), self._pooled_epochs)
        self.last_rung = self.rungs[-1]  # the epochs of a complete fit
        self._epochs_done = 0
        self.epochs_planned = planned_epochs(self.rungs, len(grid.candidates), self._pooled_epochs)

    def run(self) -> Candidate:
        """The best of the candidates that have run to the end."""
        alive = list(self.grid.candidates)
        for place, rung in enumerate(self.rungs):
            for candidate in alive:
                self.advance(candidate, rung)
            if not any(np.isfinite(self.outcomes[candidate][rung].sums).all() for candidate in alive):
                raise InputError(f"training diverged with every strength: lower rate={self._training.rate}")
            if place > 0 or rung == self.last_rung:  # after the first rung it is too early to extend the grid
                self._extend_grid(alive, rung)
            if place > 0 and rung == self.rungs[-2]:
                self._resume_neighbors(alive, rung)
            if rung != self.last_rung:
                alive = self.ranked(alive, rung)[: survivors(len(self.grid.candidates), place + 1, len(self.rungs))]
        return self.ranked(alive, self.last_rung)[0]

    def _resume_neighbors(self, alive: list[Candidate], rung: int) -> None:
        """Bring neighbors of the best that were dropped to this rung, before it is decided who runs to the end.

        At the first rung strong priors look too good, since little has to be learnt.
        """
        budget = self._epochs_done + (self.last_rung - self.rungs[0]) // 2  # about half of the epochs of a fit
        while True:
            best = self.ranked(alive, rung)[0]
            dropped = [other for other in self.grid.neighbors(best) if rung not in self.outcomes[other]]
            affordable = [one for one in dropped if self._epochs_done + rung - max(self.outcomes[one]) <= budget]
            if not affordable:
                return
            alive.append(max(affordable, key=lambda other: self.compare(other, best)[0]))
            self.advance(alive[-1], rung)

    def _extend_grid(self, alive: list[Candidate], rung: int) -> None:
        """Add candidates as long as the best is at an end of an "auto" grid and clearly better than its neighbors."""
        while True:
            best = self.ranked(alive, rung)[0]
            differences = [self.compare(best, other) for other in self.grid.neighbors(best)]
            if not differences or any(difference <= error for difference, error in differences):
                return
            new = [one for name in self.grid.ends(best) if (one := self.grid.extend(best, name))]
            if not new:
                return
            for candidate in new:
                self.epochs_planned += rung - self._shared_epochs
                self.advance(candidate, rung)
            alive.extend(new)

    def ranked(self, candidates: Iterable[Candidate], rung: int) -> list[Candidate]:
        """Candidates by their held-out likelihood at a rung, best first; of equals the simpler one."""

        def worth(candidate: Candidate) -> tuple[float, float]:
            return self.mean(self.outcomes[candidate][rung].sums)[0], self.grid.simplicity(candidate)

        return sorted(candidates, key=worth, reverse=True)

    def mean(self, sums: Floats) -> tuple[float, float]:
        """The mean per token of sums by document, and its standard error; −∞ where training diverged."""
        return self.text.mean_per_token(sums) if np.isfinite(sums).all() else (-math.inf, math.nan)

    def compare(self, one: Candidate, two: Candidate) -> tuple[float, float]:
        """How much better one is per token, after as many epochs as both have run, and the standard error."""
        rung = max(set(self.outcomes[one]) & set(self.outcomes[two]))
        first, second = self.outcomes[one][rung].sums, self.outcomes[two][rung].sums
        if one is two or not np.isfinite(second).all():
            return 0.0, 0.0
        return self.mean(first - second)

    def is_within_error(self, candidate: Candidate, best: Candidate) -> bool:
        """Whether a candidate is within one standard error of the best."""
        difference, error = self.compare(candidate, best)
        return difference >= -error

    def advance(self, candidate: Candidate, rung: int) -> None:
        """Run a candidate up to a rung, and judge it there and at all rungs before."""
        outcomes, key = self.outcomes.setdefault(candidate, {}), self.key(candidate)
        for epochs in (number for number in self.rungs if number <= rung and number not in outcomes):
            if (key, epochs) not in self._results.outcomes:
                started = time.monotonic()
                try:
                    sums = self.text.log_likelihoods({"the fit": self.fit(candidate, epochs)})["the fit"]
                except DivergedError:
                    say(f"training diverged with {self.grid.describe(candidate)}", quiet=self._quiet)
                    sums = np.full(len(self.text.lengths), -np.inf)
                self._results.put(key, epochs, Outcome(sums, time.monotonic() - started))
            self._epochs_done += epochs - max(outcomes, default=self._shared_epochs)
            outcomes[epochs] = self._results.outcomes[key, epochs]

    def fit(self, candidate: Candidate, epochs: int | None = None) -> Embeddings:
        """The fit of a candidate after some epochs, or complete; it resumes from its checkpoint."""
        training = replace(self._training, checkpoint=self._checkpoint(candidate))
        before = max(self.outcomes.get(candidate, {}), default=self._shared_epochs)

        def report(share: float, message: str) -> None:
            done = self._epochs_done + max(share * self.last_rung - before, 0.0)
            self._progress.update(min(done / self.epochs_planned, 1.0), f"{self.grid.describe(candidate)}: {message}")

        starts = self._results.folder
        return Estimation(candidate.model, self._tokens, training, True, report, starts).run(epochs)

    @property
    def _shared_epochs(self) -> int:
        """The epochs that a candidate need not run, since another has run them for all."""
        return self._pooled_epochs if any(self.outcomes.values()) else 0

    def delete_checkpoints(self, keep: Candidate) -> None:
        """Delete the checkpoints of all candidates but one."""
        for folder in [*self._results.folder.glob("run-*"), *self._results.folder.glob("start-*")]:
            if folder != self._checkpoint(keep):
                shutil.rmtree(folder, ignore_errors=True)

    def _checkpoint(self, candidate: Candidate) -> Path:
        return self._results.folder / f"run-{self.key(candidate)}"

    def key(self, candidate: Candidate) -> str:
        """The hash of all that a candidate's fit depends on."""
        if candidate not in self._keys:
            identity = fit_identity(candidate.model, self._training, self._tokens, self._problem(candidate))
            text = json.dumps(identity, sort_keys=True, default=str)
            self._keys[candidate] = hashlib.sha256(text.encode()).hexdigest()[:24]
        return self._keys[candidate]

    def _problem(self, candidate: Candidate, *, quiet: bool = True) -> Problem:
        model, training = candidate.model, self._training
        rows = Rows(self._tokens.vocabularies, self._tokens.slices(model.vary))
        return make_problem(model, self._tokens, rows, training.holdout, training.seed, quiet=quiet)


def rungs(epochs: int, candidates: int, pooled: int = 0) -> list[int]:
    """The numbers of epochs after which candidates are compared, one for every halving.

    They are from a fifth of the epochs with slices to all; the first `pooled` ones are without.
    """
    halvings = math.ceil(math.log2(max(candidates / FINALISTS, 1)))
    first = pooled + FIRST_RUNG * (epochs - pooled)
    places = np.linspace(first, epochs, halvings + 1) if halvings else np.array([epochs])
    return sorted({max(pooled + 1, round(place)) for place in places.tolist()})


def survivors(candidates: int, place: int, of: int) -> int:
    """The number of candidates that run to the rung at a place."""
    if of == 1 or candidates <= FINALISTS:
        return candidates
    share: float = (FINALISTS / candidates) ** (place / (of - 1))
    return max(FINALISTS, round(candidates * share))


def planned_epochs(rungs: list[int], candidates: int, pooled: int = 0) -> int:
    """The epochs of all runs together, unless the grid is extended; the first `pooled` ones are run once."""
    steps = [later - before for before, later in zip([pooled, *rungs], rungs)]
    return pooled + sum(step * survivors(candidates, place, len(rungs)) for place, step in enumerate(steps))
