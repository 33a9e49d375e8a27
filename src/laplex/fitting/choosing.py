"""Strengths that a model leaves out: chosen by held-out text before its fit, and kept with it."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

from laplex.errors import InputError
from laplex.fitting.grid import names_of, with_strengths
from laplex.fitting.held_out import MIN_TUNING_DOCUMENTS
from laplex.fitting.search import MakeRun, Plan, Search
from laplex.fitting.training import Training
from laplex.model.model import Model
from laplex.model.priors.prior import CHOSEN
from laplex.runtime import atomic
from laplex.runtime.checkpoint import saved_identity
from laplex.runtime.display import bar, say
from laplex.runtime.distributed import communicator
from laplex.text.tokens import Tokens


@dataclass(frozen=True)
class Choice:
    """A model with all strengths, and how those were chosen that the given one left out.

    Attributes:
        model: The model to be fitted.
        given: The model as it was given.
        tuning: What is kept with the fit, as JSON; None if nothing was chosen by text.
    """

    model: Model
    given: Model
    tuning: dict[str, Any] | None = None

    @property
    def identity(self) -> dict[str, Any]:
        """What a checkpoint of the fit keeps of it, so that a fit that resumes has no need to choose again."""
        return {} if self.tuning is None else {"tuning": self.tuning}

    def added_to(self, settings: dict[str, Any]) -> dict[str, Any]:
        """The settings of the fit, with the choice."""
        if self.tuning is None:
            return settings
        beliefs = [
            described | ({CHOSEN: True} if part.is_unchosen else {})
            for part, described in zip(self.given.prior.parts, settings["model"]["beliefs"], strict=True)
        ]
        return settings | {"model": settings["model"] | {"beliefs": beliefs}, "tuning": self.tuning}


def choose_strengths(model: Model, tokens: Tokens, training: Training, make: MakeRun, quiet: bool) -> Choice:
    """Choose the strengths that the prior of a model leaves out.

    Args:
        model: The model.
        tokens: The text.
        training: The computational choices of the fit that follows, with all defaults.
        make: Makes the fit of a candidate.
        quiet: Print nothing.
    """
    places = [place for place, part in enumerate(model.prior.parts) if part.is_unchosen]
    if not places:
        return Choice(model, model)
    usual = tuple(math.log10(model.prior.parts[place].usual_strength) for place in places)
    at_usual = with_strengths(model, {place: 10**power for place, power in zip(places, usual, strict=True)})
    plan = Plan.of(at_usual, len(places), tokens, training)
    names = [names_of(model.prior)[place] for place in places]
    if plan.documents < MIN_TUNING_DOCUMENTS:
        strengths = ", ".join(f"{name} {10**power:g}" for name, power in zip(names, usual, strict=True))
        say(f"too few documents to choose a strength by, so the usual one is taken: {strengths}", quiet=quiet)
        return Choice(at_usual, model)
    tuning = _saved(names, training)
    if tuning is None:
        with atomic.scratch() as folder, bar("choosing strengths", quiet=quiet) as progress:
            search = Search(at_usual, places, names, plan, make, folder, progress.update, usual)
            search.run()
            tuning = _of_first_rank(search.result())
    say(tuning["summary"], quiet=quiet)
    return Choice(with_strengths(model, dict(zip(places, tuning["chosen"], strict=True))), model, tuning)


def _saved(names: list[str], training: Training) -> dict[str, Any] | None:
    """What a fit that was interrupted had chosen, from its checkpoint; of several processes, the first reads it."""
    found: dict[str, Any] | None = None
    if training.checkpoint is not None and communicator().rank == 0:
        identity = saved_identity(training.checkpoint)
        found = None if identity is None else identity.get("tuning") or {}
    everywhere: dict[str, Any] | None = _of_first_rank(found)
    if everywhere is not None and everywhere.get("names") != names:
        raise InputError(
            f'"{training.checkpoint}" is the checkpoint of another model, text or training: name another folder'
        )
    return everywhere


def _of_first_rank(tuning: dict[str, Any] | None) -> Any:
    """What the first process has, since the seconds in it are another process's own."""
    if communicator().size == 1:
        return tuning
    return json.loads(communicator().allgather(json.dumps(tuning).encode())[0])
