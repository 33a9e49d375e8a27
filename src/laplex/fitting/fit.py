"""Fitting: from a Model and a Corpus to Embeddings."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from laplex.embeddings import Embeddings
from laplex.errors import InputError
from laplex.fitting.estimation import DivergedError, Estimation, Report
from laplex.fitting.provenance import fit_environment
from laplex.fitting.training import Training, as_tokens, split_token_options
from laplex.model.likelihoods import Likelihood
from laplex.model.model import GENSIM_NAMES, Model
from laplex.model.problem import Problem, make_problem
from laplex.model.rows import Rows
from laplex.runtime.distributed import communicator
from laplex.text.corpus import Corpus
from laplex.text.tokens import Tokens


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
            `max_words=30_000`, `keep=["tax"]`, `cache="folder"`).

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
    return fit_tokens(model, as_tokens(corpus, token_options, quiet), training, quiet=quiet)


def fit_tokens(
    model: Model,
    tokens: Tokens,
    training: Training,
    stop_after: int | None = None,
    *,
    report: Report | None = None,
    quiet: bool = False,
) -> Embeddings:
    """Fit a model once all is decided; with `stop_after`, only these epochs, to be resumed from the checkpoint.

    `report` is called with the share that is done and a message, instead of a progress bar.
    """
    rows = Rows(tokens.vocabularies, tokens.slices(model.vary))
    if model.absent == "filled":
        _check_filled(training)
    problem = make_problem(model, tokens, rows, training.holdout, training.seed, quiet=quiet)
    _check_text(problem)
    if training.inference == "variational":
        from laplex.engines import variational

        variational.check(problem)
    settings = _settings(model, tokens, training)

    def embeddings(
        theta: NDArray[np.float32], history: list[dict[str, Any]], spread: NDArray[np.float32] | None = None
    ) -> Embeddings:
        counts = [communicator().allreduce(tokens.counts(rows.slices, i)) for i in range(len(tokens.vocabularies))]
        return Embeddings(
            rows, theta, problem.slot, counts, problem.graph, settings, history, spread, problem.slice_covariance
        )

    estimation = Estimation(problem, training, fit_identity(model, training, tokens, problem), quiet, report)
    try:
        return embeddings(*estimation.run(stop_after))
    except DivergedError as error:
        if error.theta is not None:
            error.last_good = embeddings(error.theta, error.history)
        raise


def _settings(model: Model, tokens: Tokens, training: Training) -> dict[str, Any]:
    """What a model keeps of how it was fitted."""
    text = {"folder": str(tokens.folder), "digest": tokens.digest, **tokens.settings}
    if communicator().size > 1:  # each rank has a part of the text
        digests = b" ".join(communicator().allgather(tokens.digest.encode()))
        digest = hashlib.blake2b(digests, digest_size=16).hexdigest()
        text |= {"folder": "", "digest": digest, "ranks": communicator().size}
    return {
        "model": model.settings(),
        "training": asdict(training) | {"checkpoint": None},
        "tokens": text,
        **fit_environment(training.engine),
    }


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
