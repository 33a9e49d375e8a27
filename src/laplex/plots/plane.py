"""Vectors on a plane: where their points are, and how they are written beside them.

Vectors come in and are brought to length one, so that near means similar by the cosine, as for neighbors.
N points, D dimensions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from laplex.plots.chart import records
from laplex.plots.labels import place
from laplex.questions.cosine import directions
from laplex.vectors import Vectors

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Plane:
    """An area of a chart, in which a unit is as long across as it is up: `left` and `bottom` are its corner."""

    left: float
    bottom: float
    scale: float  # pixels a unit
    width: int
    height: int

    @classmethod
    def around(cls, points: Floats, width: int, height: int, margin: tuple[int, int] = (64, 32)) -> Plane:
        """The plane in whose middle these points (N, 2) are as large as they can be."""
        low, high = points.min(0), points.max(0)
        room = np.array([width, height]) - 2 * np.array(margin)
        scale = float((room / np.maximum(high - low, 1e-9)).min())
        left, bottom = (low + high) / 2 - np.array([width, height]) / scale / 2
        return cls(float(left), float(bottom), scale, width, height)

    def pixels(self, points: Floats) -> Floats:
        """Points (N, 2) as the screen has them: y grows downwards."""
        across = (points - [self.left, self.bottom]) * self.scale
        return np.stack([across[:, 0], self.height - across[:, 1]], axis=1)

    def axes(self, titles: tuple[str | None, str | None]) -> dict[str, Any]:
        """The encodings of columns `_x` and `_y`. What matters is who is near whom, so there are no numbers."""
        import altair as alt

        right, top = self.left + self.width / self.scale, self.bottom + self.height / self.scale
        look: dict[str, Any] = {"labels": False, "ticks": False, "grid": False}
        axis = [alt.Axis(**look, domain=title is not None) for title in titles]
        across, up = (
            alt.Scale(domain=ends, nice=False, zero=False) for ends in ([self.left, right], [self.bottom, top])
        )
        return {
            "x": alt.X(field="_x", type="quantitative", title=titles[0], scale=across, axis=axis[0]),
            "y": alt.Y(field="_y", type="quantitative", title=titles[1], scale=up, axis=axis[1]),
        }


def directed(fitted: Vectors, ids: Sequence[int], language: int, slice: int) -> Floats:
    """(n, D) The vectors of some words in a slice at length one; a vector of length zero is left as it is."""
    return np.nan_to_num(directions(fitted, ids, language, slice).astype(np.float64))


def principal(vectors: Floats) -> tuple[Floats, Floats]:
    """Points (N, 2) on the first two principal components, and the shares of the variance that those have."""
    centered = vectors - vectors.mean(0)
    left, size, _ = np.linalg.svd(centered, full_matrices=False)
    left = left * np.where(np.take_along_axis(left, np.abs(left).argmax(0)[None], 0) < 0, -1.0, 1.0)
    points = np.zeros((len(vectors), 2))
    points[:, : len(size)] = (left * size)[:, :2]
    shares = np.zeros(2)
    shares[: len(size)] = (size**2 / max(float((size**2).sum()), 1e-300))[:2]
    return points, shares


def component_titles(shares: Floats) -> tuple[str, str]:
    first, second = (f"{name} principal component ({share:.0%})" for name, share in zip(("First", "Second"), shares))
    return first, second


def written(frame: pd.DataFrame, plane: Plane, size: float, **choices: Any) -> pd.DataFrame:
    """The rows whose `_text` finds room, with its place."""
    area = (plane.width, plane.height)
    places = place(plane.pixels(frame[["_x", "_y"]].to_numpy()), frame["_text"].tolist(), area, size=size, **choices)
    kept = frame[[found is not None for found in places]]
    return kept.assign(
        **{f"_{name}": [getattr(p, name) for p in places if p is not None] for name in ("dx", "dy", "align")}
    )


def texts(frame: pd.DataFrame, size: float, **choices: Any) -> Any:
    import altair as alt

    beside: dict[str, Any] = {name: alt.ExprRef(f"datum._{name}") for name in ("dx", "dy", "align")}
    base = alt.Chart(records(frame)).mark_text(baseline="middle", fontSize=size, **beside, **choices)
    return base.encode(text=alt.Text(field="_text", type="nominal"))
