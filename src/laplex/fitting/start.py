"""The start of a fit whose vectors vary: some epochs without slices, from which every slice begins.

The first epochs are those of the same likelihood with one vector a word and a Ridge alone for a prior. They know
nothing of the metadata, so their vectors are kept with the model for tests, whose contexts must not have seen labels.
The step size falls over all epochs, with slices or without; how the state goes over into slices is said by
`State.from_pooled`. benchmarks/start.py is the trial.

V words of all languages, D dimensions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from laplex.engines.state import State
from laplex.errors import InputError
from laplex.fitting.training import Training
from laplex.model.model import Model
from laplex.model.priors.prior import saved_ridge
from laplex.model.problem import Problem, make_problem
from laplex.model.rows import Rows
from laplex.text.tokens import Tokens

Records = list[dict[str, Any]]
POOLED = "pooled"  # the array of a checkpoint that has gone on to slices
EPOCHS_PER_POOLED = 5  # epochs for each of which one more is without slices
SHARED = ("likelihood", "dimensions", "window", "negatives", "subsample", "noise_power")


@dataclass(eq=False)
class Start:
    """What the epochs without slices leave to those with slices."""

    vectors: NDArray[np.float32]  # (2V, D) of words, then of contexts
    state: State | None  # None where a checkpoint has gone further
    history: Records


def pooled_epochs(model: Model, training: Training, problem: Problem) -> int:
    """The number of epochs without slices: what the training says, or one and another for every five epochs.

    It is 0 where no column varies, where the maximum is found exactly, and where vectors are drawn to fixed ones, whose
    axes a start that does not know them would miss.
    """
    chosen = training.pooled_epochs
    if chosen and not model.vary:
        raise InputError(f"pooled_epochs={chosen}: this model's vectors do not vary, so it has no slices: leave it out")
    if chosen and len(problem.graph.targets):
        raise InputError(f"pooled_epochs={chosen}: this model draws vectors to fixed ones (Anchor): leave it out")
    if chosen is not None:
        return chosen
    if not model.vary or training.engine == "reference" or len(problem.graph.targets):
        return 0
    return min(1 + training.epochs // EPOCHS_PER_POOLED, training.epochs - 1)


def pooled_model(settings: dict[str, Any]) -> Model:
    """The model without slices, from the settings of one with slices."""
    return Model(prior=saved_ridge(settings), **{name: settings["model"][name] for name in SHARED})


def pooled_problem(model: Model, tokens: Tokens, training: Training) -> Problem:
    """The problem without slices: the same documents, of which the same are held out."""
    rows = Rows(tokens.vocabularies, tokens.slices([]))
    return make_problem(pooled_model({"model": model.settings()}), tokens, rows, training.holdout, training.seed)
