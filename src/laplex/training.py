"""From a Model and a Corpus to Embeddings: the computational choices, the loop over epochs, history, checkpoints."""

from __future__ import annotations

import hashlib
import math
import os
import time
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from laplex import storage
from laplex.corpus import Corpus
from laplex.embeddings import Embeddings
from laplex.errors import InputError, LaplexError
from laplex.model import ELSEWHERE, Model
from laplex.objective import Group, groups, held_out_log_likelihood, log_likelihood, log_prior
from laplex.problem import Problem, make_problem
from laplex.progress import bar, say
from laplex.rows import Rows
from laplex.tokens import Tokens

HELD_OUT_TOKENS = 100_000  # so many of them are enough to judge by


class DivergedError(LaplexError):
    """Training ran into values that are not finite."""


@dataclass(frozen=True)
class Training:
    """How a model is computed. None of it changes what is estimated.

    engine      "cpu" (Numba, all cores), "reference" (exact L-BFGS, for small problems), or "auto"
    epochs      passes over the text
    threads     all cores by default; with one, the same seed gives the same bytes
    rate        the first step size; it falls linearly. By default 0.12 for CBOW, 0.35 for SGNS
    holdout     the share of documents to judge by, not trained on
    patience    stop when the held-out likelihood has not risen for so many epochs
    checkpoint  a folder to save the state in after every epoch; a run that finds its own state there goes on from it
    block       tokens read at once;  drawn: negatives drawn for a block
    """

    engine: Literal["auto", "cpu", "reference"] = "auto"
    epochs: int = 5
    threads: int | None = None
    rate: float | None = None
    seed: int = 1
    holdout: float = 0.01
    patience: int | None = None
    checkpoint: str | os.PathLike[str] | None = None
    block: int = 16
    drawn: int = 16

    def __post_init__(self) -> None:
        if self.engine not in ("auto", "cpu", "reference"):
            raise InputError(f'engine="{self.engine}": write "auto", "cpu" or "reference"')
        if self.epochs < 1 or (self.patience is not None and self.patience < 1):
            raise InputError(f"epochs={self.epochs} and patience={self.patience} must be at least 1")
        if self.threads is not None and not 1 <= self.threads <= 1024:
            raise InputError(f"threads={self.threads} must be from 1")
        if (self.rate is not None and not 0 < self.rate < 1e6) or not 0 <= self.holdout < 1:
            raise InputError(f"rate={self.rate} must be above 0, holdout={self.holdout} from 0 and below 1")
        if self.block < 8 or self.block % 8 or self.drawn < 8 or self.drawn % 8:
            raise InputError(f"block={self.block} and drawn={self.drawn} must be multiples of 8")


RATES = {"cbow": 0.12, "sgns": 0.35}  # benchmarks/RESULTS.md has the trials
TOKEN_OPTIONS = {"min_count", "max_words", "keep", "cache"}


def fit(
    model: Model, corpus: Corpus | Tokens, training: Training | None = None, *, quiet: bool = False, **options: Any
) -> Embeddings:
    """Estimate a model from a corpus.

    Options are the fields of Training (`epochs=5, seed=1, threads=2`) and those of the vocabulary
    (`min_count=50, max_words=…, keep=[…]`).
    """
    settings = {name: options.pop(name) for name in TOKEN_OPTIONS & set(options)}
    known = {field.name for field in fields(Training)}
    for name in options:
        if name not in known:
            here = ELSEWHERE.get(name, "")
            hint = f": write {here if here.startswith('lx.fit') else f'lx.Model({here})'}" if here else ""
            raise InputError(f"fit has no {name}={hint}")
    training = replace(training or Training(), **options)
    if training.rate is None:
        training = replace(training, rate=RATES[model.likelihood])
    if isinstance(corpus, Tokens):
        if settings:
            raise InputError(f"{', '.join(sorted(settings))} were chosen when the tokens were made")
        tokens = corpus
    else:
        tokens = Tokens.of(corpus, quiet=quiet, **settings)
    rows = Rows(tokens.vocabularies, tokens.slices(model.vary))
    for part in model.prior.parts:
        if found := part.coverage(rows):
            say(found, quiet=quiet)
    problem = make_problem(model, tokens, rows, training.holdout, training.seed)
    _check_text(problem)
    run = _Run(problem, training, _identity(model, training, tokens, problem), quiet)
    theta, history = run.reference() if training.engine == "reference" else run.cpu()
    described = {
        "model": model.settings(),
        "training": asdict(training) | {"checkpoint": None},
        "tokens": {"folder": str(tokens.folder), "digest": tokens.digest, **tokens.settings},
    }
    counts = [tokens.counts(rows.slices, i) for i in range(len(tokens.vocabularies))]
    return Embeddings(rows, theta, problem.slot, counts, problem.graph, described, history)


def _check_text(problem: Problem) -> None:
    lengths = np.diff(problem.offsets)[~problem.held_out]
    if not (lengths > 1).any():
        raise InputError(
            f"no document has two words of the vocabulary, so there are no contexts to learn from "
            f"({len(lengths):,} documents, {lengths.sum():,} tokens): lower min_count, or give more text"
        )


def _identity(model: Model, training: Training, tokens: Tokens, problem: Problem) -> dict[str, Any]:
    """What a checkpoint must share with the run that goes on from it; two lists of pairs may be written alike."""
    graph = hashlib.sha256()
    for field in fields(problem.graph):
        if field.name != "names":
            graph.update(np.ascontiguousarray(getattr(problem.graph, field.name)).tobytes())
    same = {
        name: value for name, value in asdict(training).items() if name not in ("checkpoint", "threads", "patience")
    }
    return {"model": model.settings(), "graph": graph.hexdigest(), "training": same, "tokens": tokens.digest}


class _Run:
    """One estimation."""

    def __init__(self, problem: Problem, training: Training, identity: dict[str, Any], quiet: bool) -> None:
        self.problem = problem
        self.training = training
        self.identity = identity
        self.quiet = quiet
        self.held_out: list[Group] = list(groups(problem, True, HELD_OUT_TOKENS)) if problem.held_out.any() else []

    def _judge(self, theta: NDArray[Any]) -> float | None:
        if not self.held_out:
            return None
        return held_out_log_likelihood(self.problem, theta, self.held_out, self.training.seed)

    def reference(self) -> tuple[NDArray[np.float32], list[dict[str, Any]]]:
        from laplex.engines import reference

        size = (len(self.problem.slot), self.problem.dimensions)
        start = (np.random.default_rng([self.training.seed, 0]).random(size) - 0.5) / self.problem.dimensions
        started = time.monotonic()
        theta = reference.maximize(self.problem, start[self.problem.twin])
        value, _ = log_likelihood(self.problem, theta)
        tokens = int(np.diff(self.problem.offsets)[~self.problem.held_out].sum())
        priors = {name: log_prior(graph, theta) for name, graph in self.problem.parts.items()}
        record = _record(1, value / tokens, priors, self._judge(theta), tokens, time.monotonic() - started)
        return theta.astype(np.float32), [record]

    def cpu(self) -> tuple[NDArray[np.float32], list[dict[str, Any]]]:
        from laplex.engines import cpu

        problem, training = self.problem, self.training
        state = cpu.initial(problem, training.seed)
        history = self._resume(state)
        engine = cpu.Cpu(problem, state)
        started = time.monotonic()
        engine.compile()
        if time.monotonic() - started > 1.0:
            say(f"compiled for this machine in {time.monotonic() - started:.0f} s (once)", quiet=self.quiet)
        threads = training.threads or os.cpu_count() or 1
        with bar("fitting", quiet=self.quiet) as progress:
            for number in range(len(history), training.epochs):
                if _stale(history, training.patience):
                    say(f"stopped after epoch {number}: the held-out likelihood rises no more", quiet=self.quiet)
                    break
                note = _note(history)
                started = time.monotonic()
                assert training.rate is not None
                epoch = cpu.Epoch(
                    number, training.epochs, training.rate, training.seed, threads, training.block, training.drawn
                )

                def report(share: float, done: int = number, note: str = note) -> None:
                    progress.update((done + share) / training.epochs, f"epoch {done + 1} of {training.epochs}{note}")

                tokens, likelihood = engine.run(epoch, report)
                seconds = time.monotonic() - started
                self._check_finite(state, likelihood)
                theta = state.theta[: problem.parameters, : problem.dimensions]
                priors = {name: engine.log_prior(graph) for name, graph in problem.parts.items()}
                history.append(_record(number + 1, likelihood, priors, self._judge(theta), tokens, seconds))
                self._save(state, history)
        engine.fill()
        say(f"fitted in {len(history)} epochs{_note(history)}", quiet=self.quiet)
        return state.theta[: problem.parameters, : problem.dimensions].copy(), history

    def _check_finite(self, state: Any, likelihood: float) -> None:
        if math.isfinite(likelihood) and np.isfinite(state.note).all():
            return
        kept = (
            f'; the state after the last good epoch is in "{self.training.checkpoint}"'
            if self.training.checkpoint
            else ""
        )
        raise DivergedError(f"training ran into values that are not finite: lower rate={self.training.rate}{kept}")

    def _resume(self, state: Any) -> list[dict[str, Any]]:
        """Take the state of an interrupted run of the same kind, if there is one."""
        folder = self.training.checkpoint
        if folder is None or not storage.exists(folder):
            return []
        saved = storage.load(folder, "checkpoint")
        if saved.settings["identity"] != storage.as_json(self.identity):
            raise InputError(
                f'"{Path(folder)}" is the checkpoint of another model, text or training: name another folder'
            )
        state.theta[:] = saved.arrays["theta"]
        state.note[:] = saved.arrays["note"]
        history: list[dict[str, Any]] = saved.settings["history"]
        say(f"going on after epoch {len(history)}", quiet=self.quiet)
        return history

    def _save(self, state: Any, history: list[dict[str, Any]]) -> None:
        if self.training.checkpoint is not None:
            settings = {"identity": self.identity, "history": history}
            storage.save(self.training.checkpoint, "checkpoint", settings, {"theta": state.theta, "note": state.note})


def _record(
    epoch: int, likelihood: float, priors: dict[str, float], held_out: float | None, tokens: int, seconds: float
) -> dict[str, Any]:
    return {
        "epoch": epoch,
        "log_likelihood": likelihood,
        "log_prior": sum(priors.values()),
        "held_out": held_out,
        "tokens_per_second": tokens / max(seconds, 1e-9),
        "priors": priors,
    }


def _note(history: list[dict[str, Any]]) -> str:
    if not history:
        return ""
    last = history[-1]
    held_out = "" if last["held_out"] is None else f", held-out {last['held_out']:.3f}"
    speed = last["tokens_per_second"] / 1e6
    return f": log likelihood {last['log_likelihood']:.3f} a token{held_out}, {speed:.2f}M tokens/s"


def _stale(history: list[dict[str, Any]], patience: int | None) -> bool:
    if patience is None or len(history) <= patience or history[-1]["held_out"] is None:
        return False
    values: list[float] = [record["held_out"] for record in history]
    return max(values[-patience:]) <= max(values[:-patience])
