"""Fitting: from a Model and a Corpus to Embeddings."""

from __future__ import annotations

import hashlib
import json
import math
import time
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from laplex.embeddings import Embeddings
from laplex.engines.shares import Share
from laplex.errors import InputError
from laplex.fitting.choosing import choose_strengths
from laplex.fitting.earlier import EarlierModel, slices_with
from laplex.fitting.epochs import DivergedError, EpochLoop, Report, Task, record_of, summary
from laplex.fitting.estimate import announce
from laplex.fitting.initial import InitialVectors
from laplex.fitting.provenance import fit_settings
from laplex.fitting.start import POOLED, Records, Start, pooled_epochs, pooled_model, pooled_problem
from laplex.fitting.training import Training, as_tokens, split_token_options, suggest_unit
from laplex.model.likelihoods import Likelihood
from laplex.model.model import GENSIM_NAMES, Model
from laplex.model.objective import HeldOutDocuments, log_likelihood, log_prior
from laplex.model.problem import Problem, make_problem
from laplex.model.rows import Rows
from laplex.runtime.checkpoint import Checkpoint, checkpoint_of
from laplex.runtime.display import bar, say
from laplex.runtime.distributed import communicator
from laplex.runtime.processors import available_threads
from laplex.text.corpus import Corpus
from laplex.text.occurrences import Occurrences
from laplex.text.tokens import Tokens

__all__ = ["DivergedError", "Estimation", "Report", "fit", "fit_identity"]

MAX_HELD_OUT_TOKENS = 100_000  # by which epochs are judged


def fit(
    model: Model,
    corpus: Corpus | Tokens | Occurrences,
    training: Training | None = None,
    *,
    start: Any = None,
    tests: bool = True,
    quiet: bool = False,
    **options: Any,
) -> Embeddings:
    """Estimate a model from a corpus.

    Args:
        model: The model. Strengths that its prior leaves out, as in `lx.Groups("party")`, are chosen by held-out text
            first, which takes less than the fit itself; `tuning` of the result has what was tried.
        corpus: A Corpus, as `lx.read` gives, or Tokens.
        training: The computational choices; see `lx.Training`.
        start: Vectors to start from instead of random ones, for little text: a file of word2vec, GloVe or fastText,
            gensim's KeyedVectors, a dict, the folder of a saved model, or Embeddings, whose contexts are taken as well.
            Words that are not in it start at random. If dimensions differ, its vectors are projected.
        tests: Test all words that have enough text for each column that the vectors vary by, and keep the findings with
            the model, so that `contrast` and `drift` have them in an instant, also without the text.
        quiet: Print nothing.
        **options: Fields of Training (`epochs=5, seed=1, threads=2`) and options of the vocabulary (`min_count=50`,
            `max_words=30_000`, `keep=["tax"]`, `cache="folder"`, `originals=False`).

    Returns:
        Embeddings, which answer questions and can be saved.

    Example:
        model = lx.Model(vary=["party"], prior=lx.Ridge() + lx.Groups("party"))
        fitted = lx.fit(model, speeches, min_count=50, epochs=5)
    """
    if isinstance(corpus, Occurrences):
        if training is not None or start is not None or set(options) - {"threads"}:
            wrong = (
                ["training"] * (training is not None)
                + ["start"] * (start is not None)
                + sorted(set(options) - {"threads"})
            )
            raise InputError(f"{wrong[0]}= is of text: occurrences are fitted exactly, without epochs; leave it out")
        from laplex.fitting.exact import fit_occurrences

        return fit_occurrences(model, corpus, tests=tests, quiet=quiet, **options)
    token_options, options = split_token_options(options)
    known = {field.name for field in fields(Training)}
    for name in options:
        if name not in known:
            instead = GENSIM_NAMES.get(name, "")
            hint = f": write {instead if instead.startswith('lx.fit') else f'lx.Model({instead})'}" if instead else ""
            raise InputError(f"fit has no {name}={hint}")
    training = replace(training or Training(), **options).with_defaults(Likelihood.of(model.likelihood))
    tokens = as_tokens(corpus, token_options, quiet)
    if start is not None and training.engine == "reference":
        raise InputError('start=: engine="reference" finds the maximum wherever it starts: write engine="cpu"')
    initial = None if start is None else InitialVectors.of(start, tokens.vocabularies, model.dimensions, quiet=quiet)

    def candidate(model: Model, training: Training, report: Report, starts: Path) -> Estimation:
        return Estimation(model, tokens, training, True, report, starts, judge_epochs=False, initial=initial)

    if training.engine != "reference":
        announce(model, tokens, training, quiet)
    choice = choose_strengths(model, tokens, training, candidate, quiet)
    estimation = Estimation(choice.model, tokens, training, quiet, initial=initial)
    estimation.settings = choice.added_to(estimation.settings)
    estimation.identity |= choice.identity
    suggest_unit(model.vary, tokens, quiet)
    fitted = estimation.run()
    if tests:
        keep_tests(fitted, tokens, training.threads, quiet)
    return fitted


def keep_tests(fitted: Embeddings, tokens: Tokens, threads: int | None, quiet: bool) -> None:
    """Test the words of a model for each of its columns, and keep the findings with it.

    A model that did not begin without slices needs a second fit for tests, and one of several processes all of the
    text: they are tested when a question is asked.
    """
    if fitted.pooled is not None and communicator().size == 1:
        fitted.inference(tokens=tokens, threads=threads, quiet=quiet).test_columns()


def fit_identity(
    model: Model,
    training: Training,
    tokens: Tokens,
    problem: Problem,
    initial: InitialVectors | EarlierModel | None = None,
) -> dict[str, Any]:
    """What a checkpoint must have in common with a fit that resumes from it.

    The graph has a hash, since two different lists of pairs may have the same settings, and so has the start.
    """
    graph = hashlib.sha256()
    for field in fields(problem.graph):
        if field.name != "names":
            graph.update(np.ascontiguousarray(getattr(problem.graph, field.name)).tobytes())
    may_change = ("checkpoint", "checkpoint_minutes", "threads", "patience")
    fixed = {name: value for name, value in asdict(training).items() if name not in may_change}
    ranks = {"ranks": communicator().size} if communicator().size > 1 else {}
    start = {"start": initial.digest} if initial is not None else {}
    identity = {"model": model.settings(), "graph": graph.hexdigest(), "training": fixed, "tokens": tokens.digest}
    return identity | ranks | start


def _check_filled(training: Training) -> None:
    if training.inference == "variational":
        raise InputError('absent="filled" is for inference="map": absent words have no deviations of their own')


def _check_text(problem: Problem) -> None:
    lengths = np.diff(problem.offsets)[~problem.held_out]
    if not (lengths > 1).any():
        raise InputError(
            f"no document has two words of the vocabulary, so there are no contexts to learn from "
            f"({len(lengths):,} documents, {lengths.sum():,} tokens): lower min_count, or give more text"
        )


class Estimation:
    """The estimation of one model, by the engine and the kind of inference that the training names.

    `report` is called with the share that is done and a message, instead of a progress bar. `starts` is a folder in
    which several fits, that differ in what their priors say of slices alone, find the epochs they begin with. Without
    `judge_epochs`, the history does not say how well held-out text is predicted.
    """

    def __init__(
        self,
        model: Model,
        tokens: Tokens,
        training: Training,
        quiet: bool,
        report: Report | None = None,
        starts: Path | None = None,
        judge_epochs: bool = True,
        initial: InitialVectors | None = None,
        earlier: Embeddings | None = None,
    ) -> None:
        if model.absent == "filled":
            _check_filled(training)
        self.model, self.tokens, self.quiet, self.report, self.starts = model, tokens, quiet, report, starts
        slices = tokens.slices(model.vary) if earlier is None else slices_with(earlier, tokens)
        self.rows = Rows(tokens.vocabularies, slices)
        problem = make_problem(model, tokens, self.rows, training.holdout, training.seed, quiet=quiet)
        _check_text(problem)
        if training.inference == "variational":
            from laplex.engines import variational

            variational.check(problem)
        training = training.for_text(int(communicator().allreduce(np.array([len(tokens)]))[0]))
        self.training = training = replace(training, pooled_epochs=pooled_epochs(model, training, problem))
        self.pooled: NDArray[np.float32] | None = None  # (2V, D) the vectors before slices began
        self.precision: NDArray[np.float32] | None = None
        self.graph = problem.graph
        self.initial: InitialVectors | EarlierModel | None = initial
        if earlier is not None:
            self.initial = EarlierModel(earlier, self.rows, problem, training.epochs)
            problem = self.initial.held()
        self.settings = fit_settings(model, tokens, self.rows, training)
        self.settings |= self.initial.settings if self.initial else {}
        self.identity = fit_identity(model, training, tokens, problem, self.initial)
        if communicator().size > 1 and (training.engine == "reference" or training.inference != "map"):
            raise InputError('several processes take engine="cpu" or "torch" and inference="map"')
        self.share = Share.of(problem, communicator())
        self.problem = self.share.whole
        most = judge_epochs * MAX_HELD_OUT_TOKENS / communicator().size
        self._held_out = HeldOutDocuments.of(self.share.problem, most=most)
        self._held_out.prepared(training.seed)

    def run(self, stop_after: int | None = None) -> Embeddings:
        """Fit the model; with `stop_after`, only these epochs, to be resumed from the checkpoint."""
        if self.training.engine == "reference":
            theta, history = self._maximize_exactly()
        else:
            theta, history = self._run_epochs(stop_after or self.training.epochs)
        if self.training.inference == "variational" and (stop_after or math.inf) >= self.training.epochs:
            return self._find_deviations(theta, history)
        return self.embeddings(theta, history)

    def embeddings(
        self, theta: NDArray[np.float32], history: Records, spread: NDArray[np.float32] | None = None
    ) -> Embeddings:
        """The result, with the counts of words over the text of all ranks."""
        rows, tokens, problem = self.rows, self.tokens, self.problem
        counts = [communicator().allreduce(tokens.counts(rows.slices, i)) for i in range(len(tokens.vocabularies))]
        if isinstance(self.initial, EarlierModel):
            counts = self.initial.counts_with(counts)
        facts = self.graph, self.settings, history, spread, problem.filling, self.pooled
        return Embeddings(rows, theta, problem.row_slot, counts, *facts, precision=self.precision)

    def held_out_likelihood(self, theta: NDArray[Any], held_out: HeldOutDocuments | None = None) -> float | None:
        """The mean log likelihood of a held-out token, over the text of all ranks, from the vectors of each share."""
        held_out = held_out or self._held_out
        tokens = len(held_out.ids)
        threads = self.training.threads or available_threads()
        mean = held_out.log_likelihood(theta, self.training.seed, threads)
        total, count = communicator().allreduce(np.array([mean * tokens, tokens])).tolist()
        return float(total / count) if count else None

    def _run_epochs(self, epochs: int) -> tuple[NDArray[np.float32], Records]:
        """Run a stochastic engine, first without slices if the training says so."""
        training, start = self.training, None
        checkpoint = checkpoint_of(training.checkpoint, self.identity, self.quiet)
        if training.pooled_epochs:
            start = self._run_without_slices(checkpoint, epochs)
            if len(start.history) < training.pooled_epochs and start.state is not None:
                return start.vectors[self.problem.pooled_row], start.history
            self.pooled = start.vectors
        judges = self.held_out_likelihood, self.embeddings
        folder = self.tokens.folder.parent
        task = Task(self.share, training, *judges, self.report, self.quiet, self.initial, folder)
        loop = EpochLoop(task, checkpoint, True, start)
        history = loop.run(epochs)
        self.precision = loop.state.precision(self.problem.graph, len(history))
        if isinstance(self.initial, EarlierModel):
            self.precision = self.initial.precision_with(self.precision)
        say(f"fitted in {len(history)} epochs{summary(history)}", quiet=self.quiet)
        return loop.state.unpadded(self.problem.parameters), history

    def _run_without_slices(self, checkpoint: Checkpoint, epochs: int) -> Start:
        """The first epochs, or at most `epochs` of them; none if there is a checkpoint with slices."""
        training, origin = self.training, self.problem.pooled_row
        problem = pooled_problem(self.model, self.tokens, training)
        if checkpoint.holds(POOLED):
            return Start(np.zeros((problem.parameters, problem.dimensions), np.float32), None, [])
        if self.starts is not None:
            identity = fit_identity(pooled_model(self.settings), training, self.tokens, problem, self.initial)
            identity |= {"vary": list(self.model.vary), "absent": self.model.absent}  # by which they are judged
            key = hashlib.sha256(json.dumps(identity, sort_keys=True, default=str).encode()).hexdigest()[:24]
            checkpoint = checkpoint_of(self.starts / f"start-{key}", identity, self.quiet)
        at_pooled = replace(self._held_out, problem=self.problem.without_slices(self.rows))

        def judge(theta: NDArray[Any]) -> float | None:
            return self.held_out_likelihood(theta, at_pooled)

        def embeddings(theta: NDArray[np.float32], history: Records) -> Embeddings:
            return self.embeddings(theta[origin], history)

        # without slices, every rank reads the documents that it has read from the files, and holds all rows
        share = Share.of(problem, communicator(), dealt=False)
        folder = self.tokens.folder.parent
        task = Task(share, training, judge, embeddings, self.report, self.quiet, self.initial, folder)
        loop = EpochLoop(task, checkpoint, False)
        assert training.pooled_epochs is not None
        history = loop.run(min(epochs, training.pooled_epochs))
        return Start(loop.state.theta[: problem.parameters].copy(), loop.state, history)

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
        record = record_of(1, mean, priors, self.held_out_likelihood(theta), tokens, time.monotonic() - started)
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
                threads=training.threads or available_threads(),
                seconds=60 * (training.checkpoint_minutes or math.inf),
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
