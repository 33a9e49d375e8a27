"""Distances of words between the values of a column (Tables 2 to 4 and Figure 1 of the paper), and their common mean.

Slices are compared that differ in one column alone; over the other columns distances are averaged, unless they are kept
apart. The hierarchical model of Proposition 3 gives every word a vector around which those of its groups scatter. It is
no parameter, since it has its maximum in closed form, with γ₁ the strength and γ₀ the spread of `GroupMean`:

    ρ₀ = γ₁ Σ_s ρ_s / (γ₀ + S γ₁)

V words, n ids, D dimensions, S groups.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from laplex.errors import InputError, check_int, quote
from laplex.model.priors.prior import saved_priors
from laplex.model.vectors import Vectors
from laplex.runtime.display import bar
from laplex.text.periods import in_order

Measure = Literal["euclidean", "cosine"]


@dataclass(frozen=True)
class ValuePair:
    """Two values of a column, and pairs of slices that have them and agree in all other columns."""

    first: str
    second: str
    labels: Mapping[str, str]  # the values of the columns that are not averaged over
    slices: Sequence[tuple[int, int]]

    @property
    def name(self) -> str:
        return f"{self.first} – {self.second}"

    def distances(
        self, vectors: Vectors, language: int, ids: Sequence[int] | None, measure: Measure
    ) -> NDArray[np.float64]:
        """(n) The mean distance of words between the two values; (V) of all words if `ids` is None."""
        pairs = [slice_distances(vectors, language, ids, one, two, measure) for one, two in self.slices]
        return np.asarray(np.mean(pairs, axis=0))

    def counts(self, vectors: Vectors, language: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(V), (V) How often each word occurs at the first value and at the second."""
        counts = vectors.counts[language]
        first, second = ([pair[side] for pair in self.slices] for side in (0, 1))
        return counts[first].sum(0), counts[second].sum(0)


def value_pairs(
    vectors: Vectors,
    column: str,
    apart: Sequence[str] = (),
    where: Mapping[str, Any] | None = None,
    values: Sequence[Any] | None = None,
) -> list[ValuePair]:
    """Every pair of values of a column, or of those in `values`, for every combination of the columns `apart`."""
    matched = matched_slices(vectors, column, where or {})
    compared = compared_values(in_order({value for slices in matched for value in slices}), column, values)
    keys = vectors.rows.slices.keys
    places = [vectors.columns.index(name) for name in apart]
    orders = [vectors.values(name) for name in apart]
    pairs = []
    for one, two in combinations(compared, 2):
        by_labels: dict[tuple[str, ...], list[tuple[int, int]]] = {}
        for slices in matched:
            if one in slices and two in slices:
                labels = tuple(keys[slices[one]][place] for place in places)
                by_labels.setdefault(labels, []).append((slices[one], slices[two]))
        for labels in sorted(by_labels, key=lambda key: [order.index(value) for order, value in zip(orders, key)]):
            pairs.append(ValuePair(one, two, dict(zip(apart, labels)), by_labels[labels]))
    if not pairs:
        others = quote(name for name in vectors.columns if name != column)
        raise InputError(f'no two values of "{column}" share a slice of {others}: there is nothing to compare')
    return pairs


def compared_values(known: Sequence[str], column: str, values: Sequence[Any] | None) -> list[str]:
    """The values to compare: all that a column has, or those in `values`, in the order of the column."""
    if values is None:
        return list(known)
    requested = [values] if isinstance(values, str) else list(dict.fromkeys(map(str, values)))
    for value in requested:
        if value not in known:
            raise InputError(f'"{column}" has no value {value!r} to compare; it has {quote(known, 12)}')
    if len(requested) < 2:
        raise InputError(f"values={values!r}: name two values or more to compare, such as {list(known[:2])}")
    return [value for value in known if value in requested]


def matched_slices(vectors: Vectors, column: str, where: Mapping[str, Any]) -> list[dict[str, int]]:
    """Sets of slices that differ in `column` alone, each as a dict from its value, in order, to the slice."""
    vectors.values(column)  # raises if there is no such column
    allowed = set(vectors.chosen(where))
    sets = [
        {value: slice for value, slice in slices.items() if slice in allowed}
        for slices in vectors.rows.slices.cells(column)
    ]
    values = {value for slices in sets for value in slices}
    if len(values) < 2:
        here = " in these slices" if where else ""
        raise InputError(
            f'column "{column}" has one value only{here}, {next(iter(values))}: there is nothing to compare'
        )
    return [slices for slices in sets if slices]


def slice_distances(
    vectors: Vectors, language: int, ids: Sequence[int] | None, one: int, two: int, measure: Measure
) -> NDArray[np.float64]:
    """(n) The distance of words between two slices; NaN for the cosine with a vector of length zero."""
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


def most_distant(
    distances: NDArray[np.float64], words: Sequence[str], top: int, allowed: NDArray[np.bool_]
) -> list[int]:
    """The ids of the `top` allowed words with the largest distances; ties in alphabetical order."""
    candidates = np.flatnonzero(allowed & np.isfinite(distances))
    if len(candidates) > top:
        least = np.partition(distances[candidates], -top)[-top]
        candidates = candidates[distances[candidates] >= least]
    return sorted(candidates.tolist(), key=lambda i: (-distances[i], words[i]))[:top]


def contrast(
    vectors: Vectors,
    column: str,
    top: int = 15,
    *,
    words: str | Sequence[str] | None = None,
    values: Sequence[Any] | None = None,
    measure: Measure = "euclidean",
    min_count: int = 0,
    each: bool = False,
    language: str | None = None,
    where: Mapping[str, Any] | None = None,
) -> pd.DataFrame:
    """For each pair of values, the `top` words, or the given ones, by the distance of their vectors.

    A word that is not named must occur at both values; a named one must do so only if `min_count` says so.
    """
    top, min_count = check_int("top", top), check_int("min_count", min_count, 0)
    index = vectors.language(language)
    names = vectors.rows.vocabularies[index].words
    ids = None if words is None else vectors.ids(words, index)
    others = [name for name in vectors.columns if name != column] if each else []
    pairs = value_pairs(vectors, column, others, where, values)
    frames = []
    with bar("comparing") as progress:
        for number, pair in enumerate(pairs):
            distances = np.full(len(names), np.nan)
            distances[slice(None) if ids is None else ids] = pair.distances(vectors, index, ids, measure)
            one, two = pair.counts(vectors, index)
            if ids is None:
                least = max(min_count, 1)
                shown = most_distant(distances, names, top, (one >= least) & (two >= least))
            else:
                shown = [i for i in ids if one[i] >= min_count and two[i] >= min_count]
            frames.append(
                pd.DataFrame(
                    {
                        "word": [names[i] for i in shown],
                        column: pair.name,
                        **pair.labels,
                        "distance": distances[shown],
                        "count_one": one[shown],
                        "count_two": two[shown],
                    }
                )
            )
            progress.update((number + 1) / len(pairs), f"{column}: {pair.name}")
    table = pd.concat([frame for frame in frames if len(frame)] or frames[:1])
    return table.sort_values(["distance", "word"], ascending=[False, True], kind="stable").reset_index(drop=True)


def distance(
    vectors: Vectors,
    words: str | Sequence[str],
    across: str,
    along: str | None = None,
    *,
    measure: Measure = "euclidean",
    language: str | None = None,
    where: Mapping[str, Any] | None = None,
) -> pd.DataFrame:
    """The distance of each word between every two values of `across`, for each value of `along`, in order."""
    if along == across:
        raise InputError(f'across="{across}" and along="{along}" are the same column: choose two')
    if along is not None:
        vectors.values(along)  # raises if there is no such column
    index = vectors.language(language)
    ids = vectors.ids(words, index)
    names = vectors.rows.vocabularies[index].words
    frames = []
    for pair in value_pairs(vectors, across, [] if along is None else [along], where):
        one, two = pair.counts(vectors, index)
        frames.append(
            pd.DataFrame(
                {
                    "word": [names[i] for i in ids],
                    **pair.labels,
                    across: pair.name,
                    "distance": pair.distances(vectors, index, ids, measure),
                    "count_one": one[ids],
                    "count_two": two[ids],
                }
            )
        )
    # sorted by the row numbers within frames, all rows of a word are together
    return pd.concat(frames).sort_index(kind="stable").reset_index(drop=True)


def group_mean_strengths(settings: Mapping[str, Any], column: str) -> tuple[float, float]:
    """Strength and spread of the prior's GroupMean on a column; without one, those that give the plain mean."""
    priors = (prior.group_mean(described, column) for prior, described in saved_priors(settings))
    means = [mean for mean in priors if mean is not None]
    if len(means) > 1:
        raise InputError(f'the prior has {len(means)} GroupMeans on "{column}", so there is no one mean')
    return means[0] if means else (1.0, 0.0)


def group_mean(
    vectors: Vectors,
    word: str,
    column: str,
    *,
    strength: float = 1.0,
    spread: float = 0.0,
    language: str | None = None,
    where: Mapping[str, Any] | None = None,
) -> NDArray[np.float32]:
    """(D) The vector that the values of a column share; without a spread, the plain mean."""
    where = where or {}
    if column in where:
        raise InputError(f'the mean is over all of "{column}": leave out {column}=')
    index = vectors.language(language)
    number = vectors.id(word, index)
    matched = matched_slices(vectors, column, where)
    if len(matched) > 1:
        missing = ", ".join(f"{name}=" for name in vectors.columns if name != column and name not in where)
        raise InputError(f"say which slice: {missing} is not given")
    groups = np.stack([vectors.take([number], index, slice)[0] for slice in matched[0].values()]).astype(np.float64)
    total = spread + len(groups) * strength
    mean = groups.mean(0) if total == 0 else strength * groups.sum(0) / total
    return np.asarray(mean, np.float32)
