"""Contexts that have not seen the labels, which tests need.

Contexts that have seen the labels make a test reject too often. Those of the epochs that a fit begins with, before it
has slices, have not, and are kept with it; for a model that does not have them the text is fitted once more.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from laplex.embeddings import Embeddings, load
from laplex.errors import StorageError
from laplex.fitting.provenance import tokens_of
from laplex.fitting.start import SHARED, pooled_model
from laplex.model.priors.prior import saved_priors, saved_ridge
from laplex.model.rows import Rows
from laplex.runtime import storage
from laplex.runtime.display import say
from laplex.text.slices import Slices
from laplex.text.tokens import Tokens, cache_folder

POOLED_KIND = "pooled"  # in the manifest of a fit in the cache, whose folder is pooled-<key>; `laplex cache` lists it
ENGINE = "cpu"  # with one thread, the only one that gives the same bytes each time


def pooled(
    fitted: Embeddings, tokens: Tokens | None = None, *, threads: int | None = 1, quiet: bool = False
) -> Embeddings:
    """The model without labels: one vector a word, on the whole text, with the same likelihood.

    A model whose fit began without slices (`lx.Training.pooled_epochs`) has kept it. For others it is fitted, and kept
    in the cache, under a hash of everything that decides it: the tokens, the settings, the engine and its number of
    threads, and the versions of laplex and of what it computes with.

    Args:
        fitted: The model whose text, likelihood and training options are taken.
        tokens: The text, if it has to be fitted and is no longer where the model was fitted on it.
        threads: How many threads fit it, None for all processors. Only one gives the same bytes each time.
        quiet: Whether to say nothing on the way.

    Returns:
        A model without slices. It is `fitted` itself if that has no slices and a Ridge alone for a prior.

    Example:
        pooled(fitted, threads=8).neighbors("health")
    """
    if fitted.pooled is not None:
        return _kept(fitted, fitted.pooled)
    tokens = tokens_of(fitted, tokens)
    parts = list(saved_priors(fitted.settings))
    if not fitted.columns and len(parts) == 1 and parts[0][0].ridge(parts[0][1]) is not None:
        return fitted
    identity = pooled_identity(fitted, tokens, threads)
    key = hashlib.blake2b(json.dumps(identity, sort_keys=True).encode(), digest_size=10).hexdigest()
    folder = cache_folder() / f"pooled-{key}"
    if storage.exists(folder):
        try:
            return load(folder, kind=POOLED_KIND)
        except StorageError as error:
            say(f"{error}; it is fitted again", quiet=quiet)
    from laplex.fitting.estimation import fit

    say("fitting contexts that do not know the labels (once for these tokens and settings)", quiet=quiet)
    free = fit(pooled_model(fitted.settings), tokens, quiet=quiet, holdout=0.0, **identity["training"])
    free.save(folder, kind=POOLED_KIND)
    return free


def _kept(fitted: Embeddings, vectors: NDArray[np.float32]) -> Embeddings:
    """The vectors (2N, D) of words and contexts that a fit began with, as a model."""
    vocabularies = fitted.rows.vocabularies
    rows = Rows(vocabularies, Slices((), ((),), np.zeros_like(fitted.rows.slices.of_document)))
    model = pooled_model(fitted.settings)
    counts = [count.sum(0, keepdims=True) for count in fitted.counts]
    settings = fitted.settings | {"model": model.settings()}
    slot = np.arange(len(rows), dtype=np.int32)
    return Embeddings(rows, vectors, slot, counts, model.prior.graph(rows), settings, [])


def pooled_identity(fitted: Embeddings, tokens: Tokens, threads: int | None) -> dict[str, Any]:
    """Everything that decides the label-free fit of a model."""
    model, training, versions = fitted.settings["model"], fitted.settings["training"], storage.versions()
    options = {name: training[name] for name in ("epochs", "rate", "seed", "block", "drawn")}
    return {
        "format": storage.VERSION,
        "versions": {name: versions[name] for name in ("laplex", "numpy", "numba")},
        "tokens": tokens.digest,
        "model": {name: model[name] for name in SHARED},
        "ridge": repr(saved_ridge(fitted.settings)),
        "training": options | {"engine": ENGINE, "threads": threads},
    }
