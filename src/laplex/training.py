"""From a Model and a Corpus to Embeddings: the computational choices, the loop over epochs, history, checkpoints."""

from __future__ import annotations

import hashlib
import math
import os
import time
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from laplex.checkpoint import Checkpoint, LastGood, Position
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
    """Training ran into values that are not finite. `last_good` is the model after the last epoch that went well."""

    last_good: Embeddings | None = None

    def __init__(self, rate: float, theta: NDArray[np.float32] | None, history: list[dict[str, Any]]) -> None:
        kept = f"; the model after epoch {len(history)} is in the error's last_good" if theta is not None else ""
        super().__init__(f"training ran into values that are not finite: lower rate={rate}{kept}")
        self.theta, self.history = theta, history


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
    checkpoint_minutes  save it also every so many minutes
    block       tokens read at once;  drawn: negatives drawn for a block. By default 8 for CBOW, 16 for SGNS
    """

    engine: Literal["auto", "cpu", "reference"] = "auto"
    epochs: int = 5
    threads: int | None = None
    rate: float | None = None
    seed: int = 1
    holdout: float = 0.01
    patience: int | None = None
    checkpoint: str | os.PathLike[str] | None = None
    checkpoint_minutes: float | None = None
    block: int | None = None
    drawn: int | None = None

    def __post_init__(self) -> None:
        if self.engine not in ("auto", "cpu", "reference"):
            raise InputError(f'engine="{self.engine}": write "auto", "cpu" or "reference"')
        if self.epochs < 1 or (self.patience is not None and self.patience < 1):
            raise InputError(f"epochs={self.epochs} and patience={self.patience} must be at least 1")
        if self.threads is not None and not 1 <= self.threads <= 1024:
            raise InputError(f"threads={self.threads} must be from 1")
        if (self.rate is not None and not 0 < self.rate < 1e6) or not 0 <= self.holdout < 1:
            raise InputError(f"rate={self.rate} must be above 0, holdout={self.holdout} from 0 and below 1")
        if self.checkpoint_minutes is not None and (self.checkpoint is None or not self.checkpoint_minutes > 0):
            raise InputError(f"checkpoint_minutes={self.checkpoint_minutes} must be above 0, and needs checkpoint=")
        if any(size is not None and (size < 8 or size % 8) for size in (self.block, self.drawn)):
            raise InputError(f"block={self.block} and drawn={self.drawn} must be multiples of 8")

    def completed(self, likelihood: str) -> Training:
        """With the defaults of a likelihood where nothing was chosen."""
        block = self.block or BLOCKS[likelihood]
        return replace(self, rate=self.rate or RATES[likelihood], block=block, drawn=self.drawn or block)


RATES = {"cbow": 0.12, "sgns": 0.35}  # benchmarks/RESULTS.md has the trials
BLOCKS = {"cbow": 8, "sgns": 16}
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
    training = replace(training or Training(), **options).completed(model.likelihood)
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
    described = {
        "model": model.settings(),
        "training": asdict(training) | {"checkpoint": None},
        "tokens": {"folder": str(tokens.folder), "digest": tokens.digest, **tokens.settings},
    }

    def embeddings(theta: NDArray[np.float32], history: list[dict[str, Any]]) -> Embeddings:
        counts = [tokens.counts(rows.slices, i) for i in range(len(tokens.vocabularies))]
        return Embeddings(rows, theta, problem.slot, counts, problem.graph, described, history)

    try:
        return embeddings(*(run.reference() if training.engine == "reference" else run.cpu()))
    except DivergedError as error:
        if error.theta is not None:
            error.last_good = embeddings(error.theta, error.history)
        raise


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
    free = ("checkpoint", "checkpoint_minutes", "threads", "patience")
    same = {name: value for name, value in asdict(training).items() if name not in free}
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
        theta = state.theta[: problem.parameters, : problem.dimensions]
        arrays = {"theta": state.theta, "note": state.note}
        checkpoint = Checkpoint(training.checkpoint, self.identity, self.quiet)
        at = checkpoint.resume(arrays)
        engine = cpu.Cpu(problem, state)
        started = time.monotonic()
        engine.compile()
        if time.monotonic() - started > 1.0:
            say(f"compiled for this machine in {time.monotonic() - started:.0f} s (once)", quiet=self.quiet)
        assert training.rate is not None
        assert training.block is not None
        assert training.drawn is not None
        threads, seconds = training.threads or os.cpu_count() or 1, 60 * (training.checkpoint_minutes or math.inf)
        good = LastGood()
        with bar("fitting", quiet=self.quiet) as progress:
            while (number := len(at.history)) < training.epochs:
                if _stale(at.history, training.patience):
                    say(f"stopped after epoch {number}: the held-out likelihood rises no more", quiet=self.quiet)
                    break
                epoch = cpu.Epoch(
                    number, training.epochs, training.rate, training.seed, threads, training.block, training.drawn
                )
                label = f"epoch {number + 1} of {training.epochs}{_note(at.history)}"

                def report(share: float, number: int = number, label: str = label) -> None:
                    progress.update((number + share) / training.epochs, label)

                started = time.monotonic()
                at.piece, totals = engine.run(epoch, report, at.piece, seconds)
                at.totals = at.totals + totals
                at.seconds += time.monotonic() - started
                tokens, likelihood, watched = at.totals.tolist()
                if not (math.isfinite(likelihood) and np.isfinite(state.note).all()):
                    raise DivergedError(training.rate, good.take(theta.shape), at.history)
                if at.piece == engine.pieces:
                    priors = {name: engine.log_prior(graph) for name, graph in problem.parts.items()}
                    mean = likelihood / max(watched, 1.0)
                    record = _record(number + 1, mean, priors, self._judge(theta), int(tokens), at.seconds)
                    at = Position([*at.history, record])
                    good.keep(state.theta)
                checkpoint.save(arrays, at)
        engine.fill()
        say(f"fitted in {len(at.history)} epochs{_note(at.history)}", quiet=self.quiet)
        return state.unpadded(problem.parameters, problem.dimensions), at.history


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
