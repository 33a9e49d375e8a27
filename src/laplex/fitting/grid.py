"""The models that a tuning compares: all combinations of strengths of a model's prior, or a list of models.

A grid names the parts of a prior by their column ("party") or by their kind in lower case ("ridge", "pairs"); two of
one kind are "pairs 1" and "pairs 2".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import product
from numbers import Real
from operator import add
from typing import Any, Literal

import numpy as np

from laplex.errors import InputError, quote
from laplex.model.likelihoods import Likelihood
from laplex.model.model import Model
from laplex.model.priors.prior import Prior

EXTENSION_FACTOR = 10.0  # from the end of an "auto" grid to the next strength
MAX_EXTENSIONS = 4  # of one strength
MAX_AUTO_STRENGTHS = 3  # that "auto" tunes together
MODEL = "model"  # the name of what varies in a list of models

Values = Sequence[float] | Literal["auto"]


@dataclass(frozen=True, eq=False)
class Candidate:
    """A model, and its strengths in the order of the grid's names; in a list of models, its number."""

    model: Model
    strengths: tuple[float, ...]


@dataclass(eq=False)
class Grid:
    """Strengths by name, ascending, and the models with them; a list of models has no strengths."""

    candidates: list[Candidate]
    strengths: dict[str, list[float]] = field(default_factory=dict)
    places: dict[str, int] = field(default_factory=dict)  # of the part of the prior that has each strength
    extensions: dict[str, int] = field(default_factory=dict)  # how often each strength may still be extended

    @classmethod
    def of(cls, model: Model | Sequence[Model], grid: Any) -> Grid:
        """All combinations of the strengths that the user gave, in any of the ways that `tune` accepts."""
        if not isinstance(model, Model):
            return cls([Candidate(one, (float(number),)) for number, one in enumerate(_checked_models(model, grid))])
        by_name = _values_by_name(model.prior, grid)
        places = {name: _find_part(model.prior, name) for name in by_name}
        if len(set(places.values())) < len(places):
            raise InputError(f"two of {quote(places)} are the same part of the prior: name it once")
        values = {name: _strengths(name, model.prior.parts[place], by_name[name]) for name, place in places.items()}
        for place, part in enumerate(model.prior.parts):
            if part.is_unchosen and place not in places.values():
                name = names_of(model.prior)[place]
                raise InputError(f'{part!r} has no strength: give it a number, or try some, grid={{"{name}": "auto"}}')
        combinations = list(product(*values.values()))
        if len(combinations) < 2:
            raise InputError(f"the grid has one value alone, {values}: give two or more to choose from")
        candidates = [Candidate(with_strengths(model, dict(zip(places.values(), c))), c) for c in combinations]
        extensions = {name: MAX_EXTENSIONS for name in by_name if isinstance(by_name[name], str)}
        return cls(candidates, values, places, extensions)

    @property
    def names(self) -> tuple[str, ...]:
        """What varies: the names of strengths, or "model"."""
        return tuple(self.strengths) or (MODEL,)

    def labels(self, candidate: Candidate) -> dict[str, Any]:
        """The columns of a candidate in the table of results."""
        if not self.strengths:
            return {MODEL: repr(candidate.model.prior)}
        return dict(zip(self.names, candidate.strengths, strict=True))

    def describe(self, candidate: Candidate) -> str:
        """A candidate in a message."""
        labels = self.labels(candidate).items()
        return ", ".join(f"{name} {value:g}" if isinstance(value, float) else str(value) for name, value in labels)

    def simplicity(self, candidate: Candidate) -> float:
        """How simple a model is: one with a stronger prior is simpler; of a list of models, the first is simplest."""
        return float(sum(self._steps(candidate))) if self.strengths else -candidate.strengths[0]

    def neighbors(self, candidate: Candidate) -> list[Candidate]:
        """The candidates that are one step away in one strength."""
        if not self.strengths:
            return []
        steps = np.array(self._steps(candidate))
        return [other for other in self.candidates if abs(steps - self._steps(other)).sum() == 1]

    def _steps(self, candidate: Candidate) -> list[int]:
        """How many smaller values the grid has for each strength of a candidate."""
        return list(map(list.index, self.strengths.values(), candidate.strengths))

    def ends(self, candidate: Candidate) -> list[str]:
        """The names whose first or last value a candidate has."""
        pairs = zip(self.strengths.items(), candidate.strengths)
        return [name for (name, values), strength in pairs if strength in (values[0], values[-1]) and len(values) > 1]

    def extend(self, candidate: Candidate, name: str) -> Candidate | None:
        """One more candidate beyond one at the end of an "auto" grid; None if it may not be extended."""
        if not self.extensions.get(name):
            return None
        self.extensions[name] -= 1
        strength = self.labels(candidate)[name]
        new = strength / EXTENSION_FACTOR if strength == self.strengths[name][0] else strength * EXTENSION_FACTOR
        self.strengths[name] = sorted([*self.strengths[name], new])
        strengths = self.labels(candidate) | {name: new}
        added = Candidate(with_strengths(candidate.model, {self.places[name]: new}), tuple(strengths.values()))
        self.candidates.append(added)
        return added


def with_strengths(model: Model, strengths: Mapping[int, float]) -> Model:
    """The model with other strengths of some parts of its prior, by their place."""
    parts = enumerate(model.prior.parts)
    changed = [part.with_strength(strengths[place]) if place in strengths else part for place, part in parts]
    return replace(model, prior=reduce(add, changed))


def _checked_models(models: Any, grid: Any) -> list[Model]:
    """A list of models whose likelihoods can be compared."""
    as_list = list(models) if isinstance(models, Sequence) else []
    if len(as_list) < 2 or not all(isinstance(model, Model) for model in as_list):
        raise InputError(f"tune takes an lx.Model, or a list of two or more, not {models!r}")
    if not isinstance(grid, str) or grid != "auto":
        raise InputError("a list of models says all that is tried: leave out grid=")
    for name in (*Likelihood.of(as_list[0].likelihood).comparable, "subsample"):
        if len(values := {getattr(model, name) for model in as_list}) > 1:
            raise InputError(f"models with {name}={quote(values)} have likelihoods of different things")
    return as_list


def _values_by_name(prior: Prior, grid: Any) -> dict[str, Values]:
    """The values to try by the name of their strength, from any form of grid."""
    if isinstance(grid, Mapping):
        if not grid:
            raise InputError(f"the grid names no part of the prior; there are {_known_names(prior)}")
        return {str(name): values for name, values in grid.items()}
    parts = list(zip(names_of(prior), prior.parts, strict=True))
    tunable = [name for name, part in parts if part.tuned_by_default and part.is_tunable]
    tunable = tunable or [name for name, part in parts if part.is_tunable]
    if isinstance(grid, str):
        if grid != "auto":
            raise InputError(f'grid="{grid}": write "auto", a list of strengths, or a dict of such lists')
        if not tunable or len(tunable) > MAX_AUTO_STRENGTHS:
            raise InputError(
                f'"auto" tunes one to {MAX_AUTO_STRENGTHS} strengths: name which, grid={{…: "auto"}}; '
                f"{_known_names(prior)}"
            )
        return dict.fromkeys(tunable, "auto")
    if not isinstance(grid, (Sequence, np.ndarray)):
        raise InputError(f'grid={grid!r}: write "auto", a list of strengths, or a dict of such lists')
    if len(tunable) != 1:
        raise InputError(f"say whose strengths these are: grid={{NAME: [1, 10, …]}}; there are {_known_names(prior)}")
    return {tunable[0]: list(grid)}


def _aliases(prior: Prior) -> list[list[str]]:
    """All names of each part of a prior: its column, its kind, its kind and number."""
    names = [part.tuning_names for part in prior.parts]
    kinds = [aliases[-1] for aliases in names]
    return [[*aliases, f"{aliases[-1]} {kinds[: i + 1].count(aliases[-1])}"] for i, aliases in enumerate(names)]


def names_of(prior: Prior) -> list[str]:
    """The shortest unambiguous name of each part of a prior."""
    aliases = _aliases(prior)
    every = [name for names in aliases for name in names]
    return [next(name for name in names if every.count(name) == 1) for names in aliases]


def _known_names(prior: Prior) -> str:
    return quote(f'"{name}" ({type(part).__name__})' for name, part in zip(names_of(prior), prior.parts, strict=True))


def _find_part(prior: Prior, name: str) -> int:
    """The place of the part of a prior with this name."""
    matches = [place for place, names in enumerate(_aliases(prior)) if name in names or name.lower() in names[-2:]]
    if not matches:
        raise InputError(f'no part of the prior is called "{name}"; there are {_known_names(prior)}')
    if len(matches) > 1:
        raise InputError(
            f'"{name}" is the name of {len(matches)} parts of the prior; write one of {_known_names(prior)}'
        )
    if not prior.parts[matches[0]].is_tunable:
        raise InputError(f'"{name}" has many strengths, not one, and only one number can be tuned')
    return matches[0]


def _strengths(name: str, part: Prior, values: Any) -> list[float]:
    """The strengths to try for a part of a prior, ascending."""
    if isinstance(values, str):
        if values != "auto":
            raise InputError(f'the grid of "{name}" is "{values}": write "auto", or a list of strengths')
        return part.tuning_grid()
    if isinstance(values, Real):
        values = [values]
    if not isinstance(values, (Sequence, np.ndarray)) or not len(values):
        raise InputError(f'the grid of "{name}" is {values!r}: write "auto", or a list of strengths')
    for value in values:
        part.with_strength(value)  # raises an error for what is no strength
    return sorted({float(value) for value in values})
