"""Which slices are set against each other, and how far apart is a word in them?

Slices are compared that differ in one column alone; over all others the distance is averaged, or they are told apart.
V words, n ids, D dimensions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from laplex.corpus import in_order
from laplex.errors import InputError, quote
from laplex.vectors import Vectors

Measure = Literal["euclidean", "cosine"]


@dataclass(frozen=True)
class Pairing:
    """Two values of a column, and the slices that have them and agree in all else: `slices[i]` is (one, two)."""

    one: str
    two: str
    apart: Mapping[str, str]  # the values of the columns that are not averaged over
    slices: Sequence[tuple[int, int]]

    @property
    def name(self) -> str:
        return f"{self.one} – {self.two}"

    def gap(self, vectors: Vectors, language: int, ids: Sequence[int] | None, measure: Measure) -> NDArray[np.float64]:
        """(n) The distance of words between the two values; of all words if `ids` is None."""
        gaps = [between(vectors, language, ids, one, two, measure) for one, two in self.slices]
        return np.asarray(np.mean(gaps, axis=0))

    def counts(self, vectors: Vectors, language: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(V), (V) How often each word occurs at one value and at the other."""
        whole = vectors.counts[language]
        first, second = ([pair[side] for pair in self.slices] for side in (0, 1))
        return whole[first].sum(0), whole[second].sum(0)


def pairings(
    vectors: Vectors,
    column: str,
    apart: Sequence[str] = (),
    where: Mapping[str, Any] | None = None,
    values: Sequence[Any] | None = None,
) -> list[Pairing]:
    """Every pair of values of a column, or of those named, for every combination of values of the columns `apart`."""
    cells = cells_of(vectors, column, where or {})
    compared = chosen_of(in_order({value for cell in cells for value in cell}), column, values)
    keys = vectors.rows.slices.keys
    places = [vectors.columns.index(name) for name in apart]
    found = []
    for one, two in combinations(compared, 2):
        together: dict[tuple[str, ...], list[tuple[int, int]]] = {}
        for cell in cells:
            if one in cell and two in cell:
                key = tuple(keys[cell[one]][place] for place in places)
                together.setdefault(key, []).append((cell[one], cell[two]))
        orders = [vectors.values(name) for name in apart]
        for key in sorted(together, key=lambda key: [order.index(value) for order, value in zip(orders, key)]):
            found.append(Pairing(one, two, dict(zip(apart, key)), together[key]))
    if not found:
        others = quote(name for name in vectors.columns if name != column)
        raise InputError(f'no two values of "{column}" share a slice of {others}: there is nothing to compare')
    return found


def chosen_of(known: Sequence[str], column: str, values: Sequence[Any] | None) -> list[str]:
    """The values to compare: all that are known, or those named."""
    if values is None:
        return list(known)
    wanted = [values] if isinstance(values, str) else list(dict.fromkeys(map(str, values)))
    for value in wanted:
        if value not in known:
            raise InputError(f'"{column}" has no value {value!r} to compare; it has {quote(known, 12)}')
    if len(wanted) < 2:
        raise InputError(f"values={values!r}: name two values or more to compare, such as {list(known[:2])}")
    return [value for value in known if value in wanted]


def cells_of(vectors: Vectors, column: str, where: Mapping[str, Any]) -> list[dict[str, int]]:
    """Chosen slices that differ in `column` alone: for each such set its values in order, and their slices."""
    vectors.values(column)  # complains if there is no such column
    chosen = set(vectors.chosen(where))
    cells = [
        {value: slice for value, slice in cell.items() if slice in chosen} for cell in vectors.rows.slices.cells(column)
    ]
    values = {value for cell in cells for value in cell}
    if len(values) < 2:
        here = " in these slices" if where else ""
        raise InputError(
            f'column "{column}" has one value only{here}, {next(iter(values))}: there is nothing to compare'
        )
    return [cell for cell in cells if cell]


def between(
    vectors: Vectors, language: int, ids: Sequence[int] | None, one: int, two: int, measure: Measure
) -> NDArray[np.float64]:
    """(n) How far apart words are in two slices; NaN where the cosine of a vector of length zero is asked for."""
    if ids is None:
        a, b = vectors.block(language, one), vectors.block(language, two)
    else:
        a, b = vectors.take(ids, language, one), vectors.take(ids, language, two)
    distance: NDArray[np.float32]
    if measure == "euclidean":
        distance = np.linalg.norm(a - b, axis=1)
    elif measure == "cosine":
        lengths = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
        with np.errstate(invalid="ignore"):
            distance = 1 - np.clip(np.einsum("nd,nd->n", a, b) / lengths, -1.0, 1.0)
    else:
        raise InputError(f'measure="{measure}": write "euclidean" or "cosine"')
    return distance.astype(np.float64)


def farthest(distance: NDArray[np.float64], words: Sequence[str], top: int, allowed: NDArray[np.bool_]) -> list[int]:
    """The numbers of the `top` words with the largest distances, those as far in the order of the alphabet."""
    candidates = np.flatnonzero(allowed & np.isfinite(distance))
    if len(candidates) > top:
        least = np.partition(distance[candidates], -top)[-top]
        candidates = candidates[distance[candidates] >= least]
    return sorted(candidates.tolist(), key=lambda i: (-distance[i], words[i]))[:top]
