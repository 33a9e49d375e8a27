"""A belief, a sum of beliefs, and how strong they are."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from laplex.errors import InputError, quote
from laplex.graph import Graph
from laplex.rows import Rows
from laplex.vocabulary import Vocabulary

ByWord: TypeAlias = float | Mapping[str, float]  # a number, or one for each word named; 0 for the others
ByValues: TypeAlias = float | Mapping[tuple[str, str], float]  # or one for two values of a column; 0 for the others
ByEdge: TypeAlias = float | Sequence[float] | NDArray[Any]  # or one for each edge, in the order of the source


class Prior(ABC):
    """A belief about the vectors. `graph(rows)` says it in edges."""

    @abstractmethod
    def graph(self, rows: Rows) -> Graph: ...

    def coverage(self, rows: Rows) -> str | None:
        """What of a lexicon is known to the vocabulary, in words; None where there is no lexicon."""
        return None

    @property
    def parts(self) -> tuple[Prior, ...]:
        return (self,)

    def describe(self) -> dict[str, Any]:
        """The belief as JSON: its kind, and those of its settings that are a text or a number."""
        assert is_dataclass(self)
        described: dict[str, Any] = {"kind": type(self).__name__}
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, (str, bool)):
                described[field.name] = value
            elif isinstance(value, Real):
                described[field.name] = float(value) if math.isfinite(value) else "inf"  # JSON has no infinity
        return described

    def __add__(self, other: Prior) -> Prior:
        if not isinstance(other, Prior):
            return NotImplemented
        return Sum((*self.parts, *other.parts))


class Sum(Prior):
    """Several beliefs at once: the union of their edges."""

    def __init__(self, terms: tuple[Prior, ...]) -> None:
        self._terms = terms

    @property
    def parts(self) -> tuple[Prior, ...]:
        return self._terms

    def graph(self, rows: Rows) -> Graph:
        whole = Graph.of(len(rows))
        for term in self._terms:
            whole = whole + term.graph(rows)
        return whole

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sum) and self._terms == other._terms

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return " + ".join(map(repr, self._terms))


def check_strength(strength: Any, infinite: bool = True) -> None:
    """One number, or many of them, each from 0 and perhaps infinite."""
    if isinstance(strength, Mapping):
        values: Any = strength.values()
    elif isinstance(strength, (Sequence, np.ndarray)) and not isinstance(strength, (str, bytes)):
        values = strength
    else:
        values = (strength,)
    for value in values:
        if not isinstance(value, Real) or math.isnan(value) or value < 0:
            raise InputError(f"a strength is a number from 0, not {value!r}")
        if math.isinf(value) and not infinite:
            raise InputError("this strength cannot be infinite")


def by_word(strength: ByWord, vocabulary: Vocabulary) -> NDArray[np.float64]:
    """(V) The strength of each word."""
    if not isinstance(strength, Mapping):
        return np.full(len(vocabulary), float(strength))
    if not any(word in vocabulary for word in strength):
        raise InputError(f"none of the {len(strength):,} words that strengths are given for is in the vocabulary")
    return np.array([strength.get(word, 0.0) for word in vocabulary], np.float64)


def by_values(strength: ByValues, one: str, two: str) -> float:
    """The strength between two values of a column, named in either order."""
    if not isinstance(strength, Mapping):
        return float(strength)
    return float(strength.get((one, two), strength.get((two, one), 0.0)))


def check_values(strength: ByValues, column: str, known: Sequence[str]) -> None:
    """Are the values that strengths are given for values of the column?"""
    for key in strength if isinstance(strength, Mapping) else ():
        if not isinstance(key, tuple) or len(key) != 2 or not set(key) <= set(known) or key[0] == key[1]:
            raise InputError(
                f'a strength is given for {key!r}, which are not two values of "{column}"; it has {quote(known, 12)}'
            )


def by_edge(strength: ByEdge, count: int, name: str) -> float | NDArray[np.float64]:
    """The strength of each edge of a source with `count` of them, or of all."""
    if isinstance(strength, Real):
        return float(strength)
    values = np.asarray(strength, np.float64)
    if values.shape != (count,):
        raise InputError(f"{name} has {count:,} edges, and there are {values.size:,} strengths: give one for each")
    return values


def shown(strength: Any) -> str:
    """A strength as one would write it; many as how many there are."""
    return str(strength) if isinstance(strength, Real) else f"{len(strength):,} strengths"
