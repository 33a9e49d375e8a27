"""Which strengths are tried: a model and a grid come in, candidates go out.

A grid names beliefs by their column ("party") or by their kind in lower case ("ridge", "pairs"); two of one kind are
"pairs 1" and "pairs 2". Candidates are all combinations of the strengths given.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import reduce
from itertools import product
from numbers import Real
from operator import add
from typing import Any, Literal

import numpy as np

from laplex.errors import InputError, quote
from laplex.model import Model
from laplex.priors import Prior, Ridge

AUTO = [10.0**power for power in range(-2, 4)]  # times the model's own strength
STEP = 10.0  # from one to the next, also where the grid grows
GROWTH = 4  # how often it may grow at an end
AT_MOST = 3  # strengths that "auto" chooses at once

Values = Sequence[float] | Literal["auto"]
MODEL = "model"


@dataclass(frozen=True, eq=False)
class Candidate:
    """A model, and its strengths in the order of the grid's names; in a list of models, its number."""

    model: Model
    strengths: tuple[float, ...]


class Grid:
    """Strengths by name, ascending, and the models with them."""

    def __init__(self, base: Model | None, beliefs: Mapping[str, int], values: Mapping[str, list[float]]) -> None:
        self._base = base
        self._beliefs = dict(beliefs)
        self._values = {name: list(numbers) for name, numbers in values.items()}
        self._growing: dict[str, int] = {}
        self.candidates: list[Candidate] = []

    @classmethod
    def of(cls, model: Model | Sequence[Model], grid: Any) -> Grid:
        if not isinstance(model, Model):
            return cls._of_models(model, grid)
        chosen = _named(model.prior, grid)
        places = {name: _find(model.prior, name) for name in chosen}
        if len(set(places.values())) < len(places):
            raise InputError(f"two of {quote(places)} are the same belief: name it once")
        values = {name: _values(name, model.prior.parts[place], chosen[name]) for name, place in places.items()}
        made = cls(model, places, values)
        made._growing = {name: GROWTH for name in chosen if isinstance(chosen[name], str)}
        made.candidates = [made._candidate(strengths) for strengths in product(*values.values())]
        if len(made.candidates) < 2:
            raise InputError(f"the grid has one value alone, {values}: give two or more to choose from")
        return made

    @classmethod
    def _of_models(cls, models: Any, grid: Any) -> Grid:
        listed = list(models) if isinstance(models, Sequence) else []
        if len(listed) < 2 or not all(isinstance(one, Model) for one in listed):
            raise InputError(f"tune takes an lx.Model, or a list of two or more, not {models!r}")
        if not isinstance(grid, str) or grid != "auto":
            raise InputError("a list of models says all that is tried: leave out grid=")
        same = ["likelihood", "negatives", "noise_power", "subsample"]
        for field in [*same, "window"] if listed[0].likelihood == "sgns" else same:
            if len(found := {getattr(one, field) for one in listed}) > 1:
                raise InputError(f"models with {field}={quote(found)} have likelihoods of different things")
        made = cls(None, {}, {})
        made.candidates = [Candidate(one, (float(number),)) for number, one in enumerate(listed)]
        return made

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._values) or (MODEL,)

    def labels(self, candidate: Candidate) -> dict[str, Any]:
        """What the table says of a candidate."""
        if not self._values:
            return {MODEL: repr(candidate.model.prior)}
        return dict(zip(self.names, candidate.strengths, strict=True))

    def simplicity(self, candidate: Candidate) -> float:
        """Stronger beliefs are simpler models; of a list of models, those named first are."""
        if not self._values:
            return -candidate.strengths[0]
        return float(sum(map(list.index, self._values.values(), candidate.strengths)))

    def neighbors(self, candidate: Candidate) -> list[Candidate]:
        """The candidates that are one step away in one strength."""
        if not self._values:
            return []
        own = list(map(list.index, self._values.values(), candidate.strengths))
        found = []
        for other in self.candidates:
            places = map(list.index, self._values.values(), other.strengths)
            if sum(abs(a - b) for a, b in zip(own, places)) == 1:
                found.append(other)
        return found

    def ends(self, candidate: Candidate) -> list[str]:
        """The names whose first or last value a candidate has."""
        pairs = zip(self._values.items(), candidate.strengths)
        return [name for (name, values), strength in pairs if strength in (values[0], values[-1]) and len(values) > 1]

    def grow(self, candidate: Candidate, name: str) -> Candidate | None:
        """One more candidate behind one at the end of a grid of our own choosing; None if it is not to grow."""
        place, left = self.names.index(name), self._growing.get(name, 0)
        if not left:
            return None
        self._growing[name] = left - 1
        values, strength = self._values[name], candidate.strengths[place]
        new = strength / STEP if strength == values[0] else strength * STEP
        self._values[name] = sorted([*values, new])
        added = self._candidate((*candidate.strengths[:place], new, *candidate.strengths[place + 1 :]))
        self.candidates.append(added)
        return added

    def _candidate(self, strengths: tuple[float, ...]) -> Candidate:
        assert self._base is not None
        parts: list[Any] = list(self._base.prior.parts)
        for place, strength in zip(self._beliefs.values(), strengths, strict=True):
            parts[place] = replace(parts[place], strength=strength)
        return Candidate(replace(self._base, prior=reduce(add, parts)), strengths)


def _named(prior: Prior, grid: Any) -> dict[str, Values]:
    """The strengths by name, whatever the grid was written as."""
    if isinstance(grid, Mapping):
        if not grid:
            raise InputError(f"the grid names no belief; there are {_known(prior)}")
        return {str(name): values for name, values in grid.items()}
    names = _names(prior)
    parts = list(zip(names, prior.parts, strict=True))
    free = [name for name, part in parts if not isinstance(part, Ridge) and _is_tunable(part)]
    free = free or [name for name, part in parts if _is_tunable(part)]
    if isinstance(grid, str):
        if grid != "auto":
            raise InputError(f'grid="{grid}": write "auto", a list of strengths, or a dict of such lists')
        if not free or len(free) > AT_MOST:
            raise InputError(
                f'"auto" tunes one to {AT_MOST} strengths: name which, grid={{…: "auto"}}; {_known(prior)}'
            )
        return dict.fromkeys(free, "auto")
    if not isinstance(grid, (Sequence, np.ndarray)):
        raise InputError(f'grid={grid!r}: write "auto", a list of strengths, or a dict of such lists')
    if len(free) != 1:
        raise InputError(f"say whose strengths these are: grid={{NAME: [1, 10, …]}}; there are {_known(prior)}")
    return {free[0]: list(grid)}


def _is_tunable(part: Prior) -> bool:
    return isinstance(getattr(part, "strength", None), Real)


def _aliases(prior: Prior) -> list[list[str]]:
    """All that each belief may be called: by its column, its kind, its kind and number."""
    kinds = [type(part).__name__.lower() for part in prior.parts]
    called = []
    for place, (part, kind) in enumerate(zip(prior.parts, kinds, strict=True)):
        own = [part.column] if any(field.name == "column" for field in fields(part)) else []  # type: ignore
        called.append([*own, kind, f"{kind} {kinds[: place + 1].count(kind)}"])
    return called


def _names(prior: Prior) -> list[str]:
    """The shortest name of each belief that no other has."""
    aliases = _aliases(prior)
    every = [name for names in aliases for name in names]
    return [next(name for name in names if every.count(name) == 1) for names in aliases]


def _known(prior: Prior) -> str:
    return quote(f'"{name}" ({type(part).__name__})' for name, part in zip(_names(prior), prior.parts, strict=True))


def _find(prior: Prior, name: str) -> int:
    """The place of the belief with this name."""
    matches = [place for place, names in enumerate(_aliases(prior)) if name in names or name.lower() in names[-2:]]
    if not matches:
        raise InputError(f'no belief of the prior is called "{name}"; there are {_known(prior)}')
    if len(matches) > 1:
        raise InputError(f'"{name}" is the name of {len(matches)} beliefs; write one of {_known(prior)}')
    if not _is_tunable(prior.parts[matches[0]]):
        raise InputError(f'"{name}" has many strengths, not one, and only one number can be tuned')
    return matches[0]


def _values(name: str, part: Any, values: Any) -> list[float]:
    if isinstance(values, str):
        if values != "auto":
            raise InputError(f'the grid of "{name}" is "{values}": write "auto", or a list of strengths')
        own = float(part.strength)
        usual = own if own > 0 and math.isfinite(own) else 1.0 if isinstance(part, Ridge) else 100.0
        return [factor * usual for factor in AUTO]
    if isinstance(values, Real):
        values = [values]
    if not isinstance(values, (Sequence, np.ndarray)) or not len(values):
        raise InputError(f'the grid of "{name}" is {values!r}: write "auto", or a list of strengths')
    for value in values:
        replace(part, strength=value)  # complains about what is no strength
    return sorted({float(value) for value in values})
