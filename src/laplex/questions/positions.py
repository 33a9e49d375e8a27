"""Positions of words between two poles, on a scale that is the same in every slice.

The axis between two poles, and where a word with unit vector u stands on it, are

    axis = d / ‖d‖,  d = mean of the first pole − mean of the second,   position = (u·axis − mean) / deviation,

where the vectors of the poles' words have length one, and mean and deviation are those of u·axis over the words that
are used in the slice. Without them, whatever moves a whole slice would move every word in it. V words, D dimensions.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from laplex.errors import InputError, quote
from laplex.model.vectors import Vectors
from laplex.questions.answers import MIN_USES, in_order_of_words, slice_values
from laplex.questions.cosine import Floats, cosines, directions, normalize, used
from laplex.runtime.display import say

Pole = str | Sequence[str]


class SliceAxis(NamedTuple):
    """An axis in a slice, and the scale of positions on it."""

    slice: int
    direction: Floats  # (D)
    mean: float
    deviation: float

    def position(self, cosine: NDArray[Any]) -> NDArray[np.float64]:
        """The positions of words from their cosines with the axis."""
        return (np.asarray(cosine, np.float64) - self.mean) / self.deviation


class Axis:
    """The axis between two poles in some slices, in each from the words of the poles that are used there."""

    def __init__(
        self,
        vectors: Vectors,
        poles: tuple[Pole, Pole],
        language: int,
        slices: Sequence[int],
        min_uses: int = MIN_USES,
        quiet: bool = False,
    ) -> None:
        self.vectors, self.language = vectors, language
        self.poles = check_poles(vectors, poles, language)
        counts = vectors.counts[language]
        self.slices: list[SliceAxis] = []
        rare: dict[str, list[str]] = {}
        empty: list[str] = []
        for slice in slices:
            known = used(vectors, language, slice, min_uses)
            words = [[i for i in pole if known is None or known[i]] for pole in self.poles]
            name = ", ".join(slice_values(vectors, slice).values())
            for word in {*self.poles[0], *self.poles[1]} - {*words[0], *words[1]}:
                rare.setdefault(vectors.rows.vocabularies[language].words[word], []).append(name)
            if not all(words):
                empty.append(name)
                continue
            first, second = (directions(vectors, pole, language, slice).mean(0) for pole in words)
            self.slices.append(self._scale(slice, np.asarray(normalize(first - second)), known))
        self.table = self._count_poles(slices, counts)
        self._report(rare, empty, min_uses, quiet)

    def _scale(self, slice: int, direction: Floats, known: NDArray[np.bool_] | None) -> SliceAxis:
        cosine = cosines(self.vectors, direction[None], self.language, slice)[0].astype(np.float64)
        cosine = cosine[np.isfinite(cosine) & (True if known is None else known)]
        deviation = float(cosine.std()) if len(cosine) > 1 else float("nan")
        return SliceAxis(slice, direction, float(cosine.mean()) if len(cosine) else float("nan"), deviation)

    def _count_poles(self, slices: Sequence[int], counts: NDArray[np.int64]) -> pd.DataFrame:
        """How often each word of the poles is used in each slice."""
        names = self.vectors.rows.vocabularies[self.language].words
        records = [
            {"word": names[i], "pole": pole, **slice_values(self.vectors, slice), "uses": int(counts[slice, i])}
            for pole, ids in zip(("first", "second"), self.poles)
            for i in ids
            for slice in slices
        ]
        return pd.DataFrame(records)

    def _report(self, rare: Mapping[str, Sequence[str]], empty: Sequence[str], min_uses: int, quiet: bool) -> None:
        if rare:
            shown = "; ".join(f'"{word}" ({quote(where, 3)})' for word, where in sorted(rare.items()))
            message = f"used under {min_uses} times, and left out of the poles there: {shown}"
            warnings.warn(message, UserWarning, stacklevel=4)
        if not self.slices:
            raise InputError(
                f"a pole has no word that is used {min_uses} times in {quote(empty, 6)}: name more frequent words"
            )
        if empty:
            say(f"a pole has no word that is used {min_uses} times in {quote(empty, 6)}: left out", quiet=quiet)
        least = self.table.groupby("word", sort=False)["uses"].agg(["min", "max"])
        spans = (f"{word} {low:,}" + (f" to {high:,}" if high > low else "") for word, low, high in least.itertuples())
        say(f"uses of the poles' words in a slice: {', '.join(spans)}", quiet=quiet or len(self.vectors.columns) == 0)


def check_poles(vectors: Vectors, axis: tuple[Pole, Pole], language: int) -> tuple[list[int], list[int]]:
    """The ids of the words of two poles."""
    if isinstance(axis, str) or len(axis) != 2:
        raise InputError('an axis has two poles: write axis=(["rich", "wealthy"], ["poor"])')
    if any(len(pole) == 0 for pole in axis):
        raise InputError("a pole of the axis is empty: name at least one word for each")
    first, second = (vectors.ids(pole, language) for pole in axis)
    if both := [vectors.rows.vocabularies[language].words[i] for i in first if i in second]:
        raise InputError(f"{quote(both)} is at both poles of the axis: it can be at one only")
    return first, second


def positions_on(axis: Axis, ids: Sequence[int]) -> pd.DataFrame:
    """The positions of words on an axis by the fitted vectors: word, slice, position and uses.

    `frame.attrs["poles"]` says how often the words of the poles are used in each slice. A word without a use in a slice
    has no position there.
    """
    vectors, index = axis.vectors, axis.language
    names = [vectors.rows.vocabularies[index].words[i] for i in ids]
    frames = []
    for part in axis.slices:
        place = part.slice
        position = part.position(directions(vectors, ids, index, place) @ part.direction)
        if (known := used(vectors, index, place, 1)) is not None:
            position = np.where(known[ids], position, np.nan)
        counts = {"position": position, "uses": vectors.counts[index][place, ids]}
        frames.append(pd.DataFrame({"word": names, **slice_values(vectors, place), **counts}))
    table = in_order_of_words(frames)
    table.attrs["poles"] = axis.table.to_dict("records")
    return table
