"""Contexts that have not seen the labels, which tests need.

Contexts that have seen the labels make a test reject too often, so the text is fitted once more without slices.
"""

from __future__ import annotations

import hashlib
import json
import math
from typing import Any

from laplex.embeddings import Embeddings, load
from laplex.errors import InputError, StorageError
from laplex.fitting.estimation import fit
from laplex.fitting.provenance import tokens_of
from laplex.model.model import Model
from laplex.model.priors.prior import Ridge, saved_priors
from laplex.runtime import storage
from laplex.runtime.display import say
from laplex.text.tokens import Tokens, cache_folder

POOLED_KIND = "pooled"  # in the manifest of a fit in the cache, whose folder is pooled-<key>; `laplex cache` lists it
ENGINE = "cpu"  # with one thread, the only one that gives the same bytes each time
SHARED = ("likelihood", "dimensions", "window", "negatives", "subsample", "noise_power")


def ridge_strength(settings: dict[str, Any]) -> float:
    """The strength of the model's Ridge if it is one number, else that of the default."""
    ridges = (prior.ridge(described) for prior, described in saved_priors(settings))
    strengths = [ridge for ridge in ridges if ridge is not None and not math.isnan(ridge)]
    return sum(strengths) if strengths else 1.0


def pooled(
    fitted: Embeddings, tokens: Tokens | None = None, *, threads: int | None = 1, quiet: bool = False
) -> Embeddings:
    """Fit the model without labels: one vector a word, on the whole text, with the same likelihood.

    The result is kept in the cache, under a hash of everything that decides it: the tokens, the settings, the engine
    and its number of threads, and the versions of laplex and of what it computes with.

    Args:
        fitted: The model whose text, likelihood and training options are taken.
        tokens: The text, if it is no longer where the model was fitted on it.
        threads: How many threads fit it, None for all processors. Only one gives the same bytes each time.
        quiet: Whether to say nothing on the way.

    Returns:
        A model without slices. It is `fitted` itself if that has no slices and a Ridge alone for a prior.

    Example:
        free = pooled(fitted, threads=8)
        contrast(fitted, "party", cluster="senator", pooled=free)
    """
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
    say("fitting contexts that do not know the labels (once for these tokens and settings)", quiet=quiet)
    model = Model(prior=Ridge(identity["ridge"]), **identity["model"])
    free = fit(model, tokens, quiet=quiet, holdout=0.0, **identity["training"])
    free.save(folder, kind=POOLED_KIND)
    return free


def pooled_identity(fitted: Embeddings, tokens: Tokens, threads: int | None) -> dict[str, Any]:
    """Everything that decides the label-free fit of a model."""
    model, training, versions = fitted.settings["model"], fitted.settings["training"], storage.versions()
    options = {name: training[name] for name in ("epochs", "rate", "seed", "block", "drawn")}
    return {
        "format": storage.VERSION,
        "versions": {name: versions[name] for name in ("laplex", "numpy", "numba")},
        "tokens": tokens.digest,
        "model": {name: model[name] for name in SHARED},
        "ridge": ridge_strength(fitted.settings),
        "training": options | {"engine": ENGINE, "threads": threads},
    }


def label_free(fitted: Embeddings, tokens: Tokens, given: Embeddings | None, quiet: bool) -> Embeddings:
    """The given model, if it is one without labels of the same text (InputError if not); or such a fit."""
    free = pooled(fitted, tokens, quiet=quiet) if given is None else given
    if free.columns:
        raise InputError(f"pooled= has vectors that vary by {', '.join(free.columns)}: fit it with vary=[]")
    digest, expected = (model.settings.get("tokens", {}).get("digest") for model in (free, fitted))
    if digest is None or (digest != expected and expected):  # a model of several processes has no hash of all the text
        raise InputError("pooled= was not fitted on the tokens of this model")
    return free
