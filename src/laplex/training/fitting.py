"""From a Model and a Corpus to Embeddings."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import asdict, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from laplex.corpus import Corpus
from laplex.embeddings import Embeddings
from laplex.errors import InputError
from laplex.filling import Belief, Filling
from laplex.model import ELSEWHERE, Model
from laplex.problem import Problem, make_problem
from laplex.progress import say
from laplex.provenance import circumstances
from laplex.rows import Rows
from laplex.tokens import Tokens
from laplex.training.choices import TOKEN_OPTIONS, Training
from laplex.training.estimation import DivergedError, Estimation
from laplex.world import world


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
    return fit_until(model, tokens, training, quiet=quiet)


def fit_until(
    model: Model,
    tokens: Tokens,
    training: Training,
    epochs: int | None = None,
    *,
    watch: Callable[[float, str], None] | None = None,
    quiet: bool = False,
) -> Embeddings:
    """Fit once all is decided, and go on after so many of all `training.epochs` another time, from the checkpoint.

    `watch` is told how far it is, instead of a bar.
    """
    rows = Rows(tokens.vocabularies, tokens.slices(model.vary))
    filling = None
    if model.absent == "filled":
        _check_filled(training)
        filling = Filling.of(Belief.of(model.prior, rows))
    for part in model.prior.parts:
        if found := part.coverage(rows):
            say(found, quiet=quiet)
    problem = make_problem(model, tokens, rows, training.holdout, training.seed, quiet=quiet)
    _check_text(problem)
    if training.inference == "variational":
        from laplex.engines import variational

        variational.check(problem)
    run = Estimation(problem, training, identify(model, training, tokens, problem), quiet)
    described = {
        "model": model.settings(),
        "training": asdict(training) | {"checkpoint": None},
        "tokens": {"folder": str(tokens.folder), "digest": tokens.digest, **tokens.settings},
        **circumstances(training.engine),
    }
    if world().size > 1:
        # no rank has the whole text
        parts = b" ".join(world().texts(tokens.digest.encode()))
        digest = hashlib.blake2b(parts, digest_size=16).hexdigest()
        described["tokens"] |= {"folder": "", "digest": digest, "ranks": world().size}

    def embeddings(
        theta: NDArray[np.float32], history: list[dict[str, Any]], spread: NDArray[np.float32] | None = None
    ) -> Embeddings:
        counts = [world().total(tokens.counts(rows.slices, i)) for i in range(len(tokens.vocabularies))]
        return Embeddings(rows, theta, problem.slot, counts, problem.graph, described, history, spread, filling)

    try:
        theta, history = run.reference() if training.engine == "reference" else run.stochastic(epochs, watch)
        whole = epochs is None or epochs >= training.epochs
        if training.inference == "variational" and whole:
            return embeddings(*run.variational(theta, history, watch))
        return embeddings(theta, history)
    except DivergedError as error:
        if error.theta is not None:
            error.last_good = embeddings(error.theta, error.history)
        raise


def _check_filled(training: Training) -> None:
    if training.engine == "torch":
        raise InputError('absent="filled" is for engine="cpu" and engine="reference", not "torch"')
    if training.inference == "variational":
        raise InputError('absent="filled" is for inference="map": absent words have no deviations of their own')
    if world().size > 1:
        raise InputError(f'absent="filled" is for one process, not {world().size}: write absent="kept"')


def _check_text(problem: Problem) -> None:
    lengths = np.diff(problem.offsets)[~problem.held_out]
    if not (lengths > 1).any():
        raise InputError(
            f"no document has two words of the vocabulary, so there are no contexts to learn from "
            f"({len(lengths):,} documents, {lengths.sum():,} tokens): lower min_count, or give more text"
        )


def identify(model: Model, training: Training, tokens: Tokens, problem: Problem) -> dict[str, Any]:
    """What a checkpoint must share with the run that goes on from it; two lists of pairs may be written alike."""
    graph = hashlib.sha256()
    for field in fields(problem.graph):
        if field.name != "names":
            graph.update(np.ascontiguousarray(getattr(problem.graph, field.name)).tobytes())
    free = ("checkpoint", "checkpoint_minutes", "threads", "patience")
    same = {name: value for name, value in asdict(training).items() if name not in free}
    ranks = {"ranks": world().size} if world().size > 1 else {}
    return {"model": model.settings(), "graph": graph.hexdigest(), "training": same, "tokens": tokens.digest} | ranks
