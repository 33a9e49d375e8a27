"""Fitting: from a Model and a Corpus to Embeddings, by a loop over epochs with its history and checkpoints."""

from __future__ import annotations

import hashlib
import json
import math
import os
import time
from collections.abc import Callable
from dataclasses import asdict, fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from laplex.embeddings import Embeddings
from laplex.engines.state import Engine, Epoch, State
from laplex.errors import InputError, LaplexError
from laplex.fitting.provenance import fit_settings
from laplex.fitting.training import Training, as_tokens, split_token_options, suggest_unit
from laplex.model.likelihoods import Likelihood
from laplex.model.model import GENSIM_NAMES, Model
from laplex.model.objective import HeldOutDocuments, log_likelihood, log_prior
from laplex.model.problem import Problem, make_problem
from laplex.model.rows import Rows
from laplex.runtime.checkpoint import Checkpoint, Position
from laplex.runtime.display import bar, say
from laplex.runtime.distributed import communicator
from laplex.text.corpus import Corpus
from laplex.text.tokens import Tokens

if TYPE_CHECKING:
    from laplex.engines.languages import Rotation

Report = Callable[[float, str], None]  # called with the share that is done, and a message
Records = list[dict[str, Any]]
MAX_HELD_OUT_TOKENS = 100_000  # by which epochs are judged


def fit(
    model: Model, corpus: Corpus | Tokens, training: Training | None = None, *, quiet: bool = False, **options: Any
) -> Embeddings:
    """Estimate a model from a corpus.

    Args:
        model: The model.
        corpus: A Corpus, as `lx.read` gives, or Tokens.
        training: The computational choices; see `lx.Training`.
        quiet: Print nothing.
        **options: Fields of Training (`epochs=5, seed=1, threads=2`) and options of the vocabulary (`min_count=50`,
            `max_words=30_000`, `keep=["tax"]`, `cache="folder"`, `originals=False`).

    Returns:
        Embeddings, which answer questions and can be saved.

    Example:
        model = lx.Model(vary=["party"], prior=lx.Ridge(1.0) + lx.Groups("party", 100.0))
        fitted = lx.fit(model, speeches, min_count=50, epochs=5)
    """
    token_options, options = split_token_options(options)
    known = {field.name for field in fields(Training)}
    for name in options:
        if name not in known:
            instead = GENSIM_NAMES.get(name, "")
            hint = f": write {instead if instead.startswith('lx.fit') else f'lx.Model({instead})'}" if instead else ""
            raise InputError(f"fit has no {name}={hint}")
    training = replace(training or Training(), **options).with_defaults(Likelihood.of(model.likelihood))
    estimation = Estimation(model, as_tokens(corpus, token_options, quiet), training, quiet)
    suggest_unit(model.vary, estimation.tokens, quiet)
    return estimation.run()


def fit_identity(model: Model, training: Training, tokens: Tokens, problem: Problem) -> dict[str, Any]:
    """What a checkpoint must have in common with a fit that resumes from it.

    The graph has a hash, since two different lists of pairs may have the same settings.
    """
    graph = hashlib.sha256()
    for field in fields(problem.graph):
        if field.name != "names":
            graph.update(np.ascontiguousarray(getattr(problem.graph, field.name)).tobytes())
    may_change = ("checkpoint", "checkpoint_minutes", "threads", "patience")
    fixed = {name: value for name, value in asdict(training).items() if name not in may_change}
    ranks = {"ranks": communicator().size} if communicator().size > 1 else {}
    return {"model": model.settings(), "graph": graph.hexdigest(), "training": fixed, "tokens": tokens.digest} | ranks


def _check_filled(training: Training) -> None:
    if training.engine == "torch":
        raise InputError('absent="filled" is for engine="cpu" and engine="reference", not "torch"')
    if training.inference == "variational":
        raise InputError('absent="filled" is for inference="map": absent words have no deviations of their own')
    if communicator().size > 1:
        raise InputError(f'absent="filled" is for one process, not {communicator().size}: write absent="kept"')


def _check_text(problem: Problem) -> None:
    lengths = np.diff(problem.offsets)[~problem.held_out]
    if not (lengths > 1).any():
        raise InputError(
            f"no document has two words of the vocabulary, so there are no contexts to learn from "
            f"({len(lengths):,} documents, {lengths.sum():,} tokens): lower min_count, or give more text"
        )


class DivergedError(LaplexError):
    """Training ran into values that are not finite.

    Attributes:
        last_good: The Embeddings after the last epoch that went well, or None.
    """

    def __init__(self, rate: float | None, last_good: Embeddings | None) -> None:
        kept = (
            "" if last_good is None else f"; the model after epoch {len(last_good.history)} is in the error's last_good"
        )
        super().__init__(f"training ran into values that are not finite: lower rate={rate}{kept}")
        self.last_good = last_good


class Estimation:
    """The estimation of one model, by the engine and the kind of inference that the training names.

    `report` is called with the share that is done and a message, instead of a progress bar.
    """

    def __init__(
        self, model: Model, tokens: Tokens, training: Training, quiet: bool, report: Report | None = None
    ) -> None:
        if model.absent == "filled":
            _check_filled(training)
        self.tokens, self.training, self.quiet, self.report = tokens, training, quiet, report
        self.rows = Rows(tokens.vocabularies, tokens.slices(model.vary))
        problem = make_problem(model, tokens, self.rows, training.holdout, training.seed, quiet=quiet)
        _check_text(problem)
        if training.inference == "variational":
            from laplex.engines import variational

            variational.check(problem)
        self.settings = fit_settings(model, tokens, training)
        self.identity = fit_identity(model, training, tokens, problem)
        if communicator().size > 1:
            from laplex.engines import ranks

            if training.engine == "reference" or training.inference != "map":
                raise InputError('several processes take engine="cpu" or "torch" and inference="map"')
            problem = ranks.deal(problem, communicator())
        self.problem = problem
        self.checkpoint_seconds = 60 * (training.checkpoint_minutes or math.inf)
        self._held_out = HeldOutDocuments.of(problem, most=MAX_HELD_OUT_TOKENS / communicator().size)

    def run(self, stop_after: int | None = None) -> Embeddings:
        """Fit the model; with `stop_after`, only these epochs, to be resumed from the checkpoint."""
        if self.training.engine == "reference":
            theta, history = self._maximize_exactly()
        else:
            theta, history = _StochasticRun(self).run(stop_after or self.training.epochs)
        if self.training.inference == "variational" and (stop_after or math.inf) >= self.training.epochs:
            return self._find_deviations(theta, history)
        return self.embeddings(theta, history)

    def embeddings(
        self, theta: NDArray[np.float32], history: Records, spread: NDArray[np.float32] | None = None
    ) -> Embeddings:
        """The result, with the counts of words over the text of all ranks."""
        rows, tokens, problem = self.rows, self.tokens, self.problem
        counts = [communicator().allreduce(tokens.counts(rows.slices, i)) for i in range(len(tokens.vocabularies))]
        graph, covariance = problem.graph, problem.slice_covariance
        return Embeddings(rows, theta, problem.slot, counts, graph, self.settings, history, spread, covariance)

    def held_out_likelihood(self, theta: NDArray[Any]) -> float | None:
        """The mean log likelihood of a held-out token, over the text of all ranks."""
        tokens = len(self._held_out.ids)
        mean = self._held_out.log_likelihood(theta, self.training.seed)
        total, count = communicator().allreduce(np.array([mean * tokens, tokens])).tolist()
        return float(total / count) if count else None

    def _maximize_exactly(self) -> tuple[NDArray[np.float32], Records]:
        """Maximize the log posterior by L-BFGS."""
        from laplex.engines import reference

        problem, started = self.problem, time.monotonic()
        size = (int(problem.initial_row.max()) + 1, problem.dimensions)
        start = (np.random.default_rng([self.training.seed, 0]).random(size) - 0.5) / problem.dimensions
        theta = reference.maximize(problem, start[problem.initial_row])
        tokens = int(np.diff(problem.offsets)[~problem.held_out].sum())
        mean = log_likelihood(problem, theta)[0] / tokens
        priors = {name: log_prior(graph, theta) for name, graph in problem.parts.items()}
        record = _record(1, mean, priors, self.held_out_likelihood(theta), tokens, time.monotonic() - started)
        return theta.astype(np.float32), [record]

    def _find_deviations(self, theta: NDArray[np.float32], history: Records) -> Embeddings:
        """Means and standard deviations by variational inference, from the maximum of the log posterior."""
        from laplex.engines import variational

        training = self.training
        assert training.drawn is not None
        if training.engine == "reference":
            mean, spread, records = variational.fit(self.problem, theta.astype(np.float64), self.held_out_likelihood)
        else:
            folder = None if training.checkpoint is None else Path(training.checkpoint) / "variational"
            checkpoint = Checkpoint(folder, self.identity, self.quiet)
            names = ("epochs", "rate", "seed", "block", "patience")
            passes = variational.Passes(
                **{name: getattr(training, name) for name in names},
                negatives_per_block=training.drawn,
                threads=training.threads or os.cpu_count() or 1,
                seconds=self.checkpoint_seconds,
            )
            try:
                with bar("deviations", quiet=self.quiet) as progress:
                    report = self.report or progress.update
                    mean, spread, records = variational.refine(
                        self.problem, theta, passes, self.held_out_likelihood, checkpoint, report
                    )
            except FloatingPointError:
                raise DivergedError(passes.rate, self.embeddings(theta, history)) from None
        records = [{"epoch": len(history) + number} | record for number, record in enumerate(records, 1)]
        say(f"deviations found: ELBO {records[-1]['elbo']:,.0f}", quiet=self.quiet)
        return self.embeddings(mean, history + records, spread)


class _StochasticRun:
    """A stochastic engine at work: its state, and how far it has come.

    If the prior joins languages, the first epoch estimates them separately; then they are rotated onto each other.
    """

    def __init__(self, estimation: Estimation) -> None:
        self.estimation = estimation
        self.problem, self.training, self.quiet = estimation.problem, estimation.training, estimation.quiet
        self.rotation = self._find_rotation()
        problem = self.rotation.apart if self.rotation else self.problem
        self.state = State.initial(problem, self.training.seed)
        self.arrays = self.state.arrays  # of the first epoch's state, in whose memory later ones are
        folder = self.training.checkpoint if communicator().rank == 0 else None
        self.checkpoint = Checkpoint(folder, estimation.identity, self.quiet)
        self.position = self._resume()
        if self.rotation and self.position.history:
            self.state, problem = self.rotation.joined(self.state), self.problem
        self.engine = self._make_engine(problem)

    def run(self, epochs: int) -> tuple[NDArray[np.float32], Records]:
        """Read the text epoch by epoch; return the parameters and the history."""
        started = time.monotonic()
        self.engine.compile()
        if time.monotonic() - started > 1.0:
            say(f"compiled for this machine in {time.monotonic() - started:.0f} s (once)", quiet=self.quiet)
        with bar("fitting", quiet=self.quiet) as progress:
            report = self.estimation.report or progress.update
            while len(self.position.history) < epochs and not self._is_stale():
                self._read(report)
                if self.position.piece == self.engine.pieces:
                    self._finish_epoch()
                self.checkpoint.save(self.arrays, self.position)
        self.state.fill(self.problem.graph)
        communicator().broadcast(self.state.memory)
        history = self.position.history
        say(f"fitted in {len(history)} epochs{_summary(history)}", quiet=self.quiet)
        return self.state.unpadded(self.problem.parameters), history

    def _read(self, report: Report) -> None:
        """Read the rest of an epoch, or of it what there is time for until the next checkpoint."""
        position, training = self.position, self.training
        number = len(position.history)
        label = f"epoch {number + 1} of {training.epochs}{_summary(position.history)}"
        assert training.rate is not None
        threads = training.threads or max(1, (os.cpu_count() or 1) // int(os.environ.get("LOCAL_WORLD_SIZE", "1")))
        epoch = Epoch(number, training.epochs, training.rate, training.seed, threads)

        def report_share(share: float) -> None:
            report((number + share) / training.epochs, label)

        started = time.monotonic()
        seconds = self.estimation.checkpoint_seconds
        position.piece, totals = self.engine.run(epoch, report_share, position.piece, seconds)
        position.totals = position.totals + totals
        position.seconds += time.monotonic() - started
        self.engine.pull()
        if not (math.isfinite(position.totals[1]) and np.isfinite(self.state.accumulator).all()):
            theta = self.checkpoint.last_good(self.problem.parameters, self.problem.dimensions)
            last_good = None if theta is None else self.estimation.embeddings(theta, position.history)
            raise DivergedError(training.rate, last_good)

    def _finish_epoch(self) -> None:
        """Rotate languages after the first epoch, and add the record of the epoch to the history."""
        position, is_first = self.position, not self.position.history
        if self.rotation and is_first:
            self._rotate(self.rotation)
            self.engine = self._make_engine(self.problem)
        tokens, likelihood, scored = position.totals.tolist()  # the log likelihood is that of the scored tokens
        priors = {name: self.state.log_prior(graph) for name, graph in self.problem.parts.items()}
        held_out = self.estimation.held_out_likelihood(self.state.theta[: self.problem.parameters])
        mean, number = likelihood / max(scored, 1.0), len(position.history) + 1
        record = _record(number, mean, priors, held_out, int(tokens), position.seconds)
        record |= {"rotated": is_first} if self.rotation else {}
        record |= {"sent": communicator().bytes_sent} if communicator().size > 1 else {}
        self.position = Position([*position.history, record])
        self.checkpoint.keep_copy(self.state.memory)

    def _is_stale(self) -> bool:
        """Whether the held-out likelihood has not risen for `patience` epochs, not counting that before a rotation."""
        patience, history = self.training.patience, self.position.history[self.rotation is not None :]
        if patience is None or len(history) <= patience or history[-1]["held_out"] is None:
            return False
        values: list[float] = [record["held_out"] for record in history]
        stale = max(values[-patience:]) <= max(values[:-patience])
        if stale:
            epochs = len(self.position.history)
            say(f"stopped after epoch {epochs}: the held-out likelihood rises no more", quiet=self.quiet)
        return stale

    def _find_rotation(self) -> Rotation | None:
        """How languages are to be rotated after the first epoch, if they are."""
        from laplex.engines import languages

        training = self.training
        joins_languages = self.problem.present is None  # not where only words that occur have rows
        possible = training.rotate and training.epochs > 1 and joins_languages
        rotation = languages.find_rotation(self.problem) if possible else None
        if training.rotate is True and rotation is None:
            raise InputError(
                "rotate=True: no edge of the prior joins two languages that could be rotated: leave it out"
            )
        return rotation

    def _rotate(self, rotation: Rotation) -> None:
        """Rotate languages onto each other, on rank 0, and send the result to the others."""
        self.state = rotation.join(self.state) if communicator().rank == 0 else rotation.joined(self.state)
        for array in self.state.arrays.values():
            communicator().broadcast(array)
        joined = f"{rotation.languages} languages rotated onto each other, by {len(rotation.pull):,} edges"
        say(joined, quiet=self.quiet)

    def _make_engine(self, problem: Problem) -> Engine:
        training, ranks = self.training, communicator()
        sizes = {"block": training.block, "negatives_per_block": training.drawn}
        make = partial(_engine_class(training), problem, self.state, communicator=ranks, **sizes)
        if ranks.size > 1:
            from laplex.engines.ranks import Ranks

            return Ranks(problem, self.state, ranks, training.merge_tokens, lambda piece: make(piece=piece))
        return make()

    def _resume(self) -> Position:
        """Read the checkpoint on rank 0, if there is one, and send it to the others."""
        position = self.checkpoint.resume(self.arrays)
        if communicator().size > 1:
            texts = communicator().allgather(json.dumps(position.to_json()).encode())
            position = Position.from_json(json.loads(texts[0]))
            for array in self.arrays.values():
                communicator().broadcast(array)
        return position


def _engine_class(training: Training) -> Callable[..., Engine]:
    """The engine that a training names, with its own options."""
    if training.engine == "cpu":
        from laplex.engines.cpu import Cpu

        return Cpu
    try:
        from laplex.engines.torch import Torch
    except ModuleNotFoundError:
        raise InputError('engine="torch" needs PyTorch: pip install "laplex[torch]"') from None
    return partial(Torch, device=training.device, precision=training.precision)


def _record(
    epoch: int, likelihood: float, priors: dict[str, float], held_out: float | None, tokens: int, seconds: float
) -> dict[str, Any]:
    """The row of the history for an epoch."""
    return {
        "epoch": epoch,
        "log_likelihood": likelihood,
        "log_prior": sum(priors.values()),
        "held_out": held_out,
        "tokens_per_second": tokens / max(seconds, 1e-9),
        "priors": priors,
    }


def _summary(history: Records) -> str:
    """The last epoch in a message."""
    if not history:
        return ""
    last = history[-1]
    held_out = "" if last["held_out"] is None else f", held-out {last['held_out']:.3f}"
    speed = last["tokens_per_second"] / 1e6
    return f": log likelihood {last['log_likelihood']:.3f} a token{held_out}, {speed:.2f}M tokens/s"
