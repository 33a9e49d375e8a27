"""What the text looks like to someone who does not know the labels: contexts fitted on all of it at once.

A fitted model comes in; its tokens and a label-free fit of them go out, which is made on demand and kept in the cache.
Contexts that have seen the labels make a test reject too often.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from laplex import storage
from laplex.embeddings import Embeddings, load
from laplex.errors import InputError, StorageError
from laplex.model import Model
from laplex.priors import Ridge
from laplex.progress import say
from laplex.provenance import tokens_of
from laplex.questions.belief import beliefs
from laplex.tokens import Tokens, cache_folder
from laplex.training import fit

SHARED = ("likelihood", "dimensions", "window", "negatives", "subsample", "noise_power")


def ridge_of(settings: dict[str, Any]) -> float:
    """The strength of the model's Ridge if it is one number, else that of the default."""
    found = [part["strength"] for part in beliefs(settings, "Ridge") if isinstance(part.get("strength"), float)]
    return float(sum(found)) if found else 1.0


def pooled(
    fitted: Embeddings, tokens: Tokens | None = None, *, threads: int | None = None, quiet: bool = False
) -> Embeddings:
    """The model without labels: one vector a word, fitted on the whole text, with the same likelihood.

    It is kept in the cache, under a hash of the tokens and the settings.
    """
    tokens = tokens_of(fitted, tokens)
    model, training = fitted.settings["model"], fitted.settings["training"]
    ridge = ridge_of(fitted.settings)
    if not fitted.columns and [part["kind"] for part in model["beliefs"]] == ["Ridge"]:
        return fitted
    choices = {name: model[name] for name in SHARED}
    options = {name: training[name] for name in ("epochs", "rate", "seed", "block", "drawn")}
    identity = {"tokens": tokens.digest, "model": choices, "ridge": ridge, "training": options}
    key = hashlib.blake2b(json.dumps(identity, sort_keys=True).encode(), digest_size=10).hexdigest()
    folder = cache_folder() / f"pooled-{key}"
    if storage.exists(folder):
        try:
            return load(folder)
        except StorageError as error:
            say(f"{error}; it is fitted again", quiet=quiet)
    say("fitting contexts that do not know the labels (once for these tokens and settings)", quiet=quiet)
    free = fit(Model(prior=Ridge(ridge), **choices), tokens, threads=threads, quiet=quiet, holdout=0.0, **options)
    free.save(folder)
    return free


def check_pooled(given: Embeddings, fitted: Embeddings) -> Embeddings:
    """Is this a model without labels, of the same words?"""
    if given.columns:
        raise InputError(f"pooled= has vectors that vary by {', '.join(given.columns)}: fit it with vary=[]")
    mine, theirs = (model.settings.get("tokens", {}).get("digest") for model in (given, fitted))
    if mine is None or (mine != theirs and theirs):  # a model of several processes has no hash of the whole text
        raise InputError("pooled= was not fitted on the tokens of this model")
    return given
