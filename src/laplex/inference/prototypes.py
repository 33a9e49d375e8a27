"""The measures of change that are usual for contextual vectors, with intervals by unit.

    prt = 1 − cos(x̄_1, x̄_2)        apd = mean over pairs of 1 − cos(x_i, y_j) = 1 − ū_1·ū_2,  u = x / ‖x‖

Intervals are those of the jackknife: each unit is left out in turn.
n occurrences of a word, U units, D dimensions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from laplex.engines.gaussian import sums_by
from laplex.text.occurrences import Occurrences

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def usual_measures(occurrences: Occurrences, end: Ints, unit: Ints, words: Ints, interval: float) -> pd.DataFrame:
    """PRT and APD of words between two ends, which `end` (N) says of occurrences, with intervals over `unit` (N)."""
    ids = np.asarray(occurrences.ids)
    reach = float(scipy.special.ndtri(0.5 + interval / 2))
    rows = []
    for word in words.tolist():
        mine = np.flatnonzero((ids == word) & (end >= 0))
        x = np.asarray(occurrences.vectors[mine], np.float64)
        u = x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-300)
        row: dict[str, Any] = {"word": occurrences.vocabularies[0].words[word]}
        for name, values, distance in (("prt", x, _cosine_distance), ("apd", u, _one_minus_product)):
            found, error = _jackknife(values, end[mine], unit[mine], distance)
            row |= {name: found, f"{name}_lower": found - reach * error, f"{name}_upper": found + reach * error}
        rows.append(row)
    return pd.DataFrame(rows)


def _cosine_distance(one: Floats, two: Floats) -> Floats:
    lengths = np.linalg.norm(one, axis=-1) * np.linalg.norm(two, axis=-1)
    return np.asarray(1 - (one * two).sum(-1) / np.maximum(lengths, 1e-300))


def _one_minus_product(one: Floats, two: Floats) -> Floats:
    return np.asarray(1 - (one * two).sum(-1))


def _jackknife(values: Floats, end: Ints, unit: Ints, distance: Any) -> tuple[float, float]:
    """A distance of the means of two ends, and its standard error over units."""
    names, place = np.unique(unit, return_inverse=True)
    sums = np.stack([sums_by(values[end == k], place[end == k], len(names)) for k in (0, 1)])
    counts = np.stack([np.bincount(place[end == k], minlength=len(names)) for k in (0, 1)])
    total, number = sums.sum(1, keepdims=True), counts.sum(1, keepdims=True)
    if not number.all():
        return float("nan"), float("nan")
    found = float(distance(*(total / number[..., None]))[0])
    left = number - counts
    kept = (left > 0).all(0)
    if np.count_nonzero(kept) < 2:
        return found, float("nan")
    without = distance(*((total - sums)[:, kept] / left[:, kept, None]))
    size = np.count_nonzero(kept)
    return found, float(np.sqrt((size - 1) / size * ((without - without.mean()) ** 2).sum()))
