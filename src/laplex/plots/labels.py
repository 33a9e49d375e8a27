"""Where words are written beside points, so that they cover neither each other nor points nor run out of the chart.

N points, in the pixels of a screen, where y grows downwards.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from laplex.plots.chart import Floats, alt, records, text_width

LABEL_SIZE = 11.0  # of words beside points
# right, left, above, below, and the corners
_SIDES = ((1, 0), (-1, 0), (0, -1), (0, 1), (1, -1), (-1, -1), (1, 1), (-1, 1))
_ALIGN = {1: "left", -1: "right", 0: "center"}
_LABEL_GAP = 6.0  # pixels between two labels, so that they are not read as one
_ROUNDS = 4  # in which labels that must be shown are placed anew, knowing where the others are


def spread_heights(heights: Floats, gap: float) -> Floats:
    """The heights nearest to these (by least squares) that are at least `gap` apart, in the same order.

    >>> spread_heights(np.array([10.0, 12.0, 50.0]), 10.0).tolist()
    [6.0, 16.0, 50.0]
    """
    from scipy.optimize import isotonic_regression  # slow to import

    order = np.argsort(heights, kind="stable")
    steps = gap * np.arange(len(heights))
    moved = np.empty(len(heights))
    moved[order] = isotonic_regression(heights[order] - steps).x + steps
    return moved


def place_labels(
    frame: pd.DataFrame,
    pixels: Floats,
    area: tuple[float, float],
    *,
    size: float = LABEL_SIZE,
    radius: Floats | float = 2.0,
    obstacles: Floats | None = None,
    obstacle_radius: Floats | float = 0.0,
    always: bool = False,
) -> pd.DataFrame:
    """The rows whose `_text` finds a free place beside its point, with that place as columns `_dx`, `_dy`, `_align`.

    The points (N, 2) are in pixels, in an area of (width, height); rows that come first choose first. Labels cover
    neither each other nor points nor `obstacles`, which are further points. A point is as large as its radius. With
    `always`, all rows are kept: a label without a free place stands where it covers the least.
    """
    blocked = pixels if obstacles is None else np.concatenate([pixels, obstacles])
    radii = np.broadcast_to(np.asarray(radius, np.float64), len(pixels))
    margins = np.concatenate([radii, np.broadcast_to(obstacle_radius, len(blocked) - len(pixels))]) + 1.0
    boxes = np.full((len(pixels), 4), np.nan)  # left, top, right, bottom of the labels that are placed
    places: dict[int, tuple[float, float, str]] = {}
    for _ in range(_ROUNDS if always else 1):
        for row, (point, text) in enumerate(zip(pixels, frame["_text"], strict=True)):
            boxes[row] = np.nan
            options, candidates = _label_options(
                point, text_width(text, size) + _LABEL_GAP, size, float(radii[row]), always
            )
            cost = _label_cost(candidates, boxes, blocked, margins, area)
            best = int(cost.argmin())
            if always or cost[best] < 1:
                places[row], boxes[row] = options[best], candidates[best]
    kept = sorted(places)
    columns = {name: [places[row][i] for row in kept] for i, name in enumerate(("_dx", "_dy", "_align"))}
    return frame.iloc[kept].assign(**columns)


def _label_options(
    point: Floats, width: float, size: float, radius: float, far: bool
) -> tuple[list[tuple[float, float, str]], Floats]:
    """Places (dx, dy, align) around a point, the best first, and the boxes (n, 4) of a label there."""
    places, boxes = [], []
    for distance in (radius + 4.0, radius + 12.0) if far else (radius + 4.0,):
        for right, down in _SIDES:
            shift = distance if 0 in (right, down) else 0.7 * distance
            dx, dy = right * shift, down * (shift + 0.5 * size)
            left, middle = point[0] + dx - width * (1 - right) / 2, point[1] + dy
            places.append((dx, dy, _ALIGN[right]))
            boxes.append([left, middle - size / 2, left + width, middle + size / 2])
    return places, np.array(boxes)


def _label_cost(boxes: Floats, taken: Floats, blocked: Floats, radii: Floats, area: tuple[float, float]) -> Floats:
    """(n) How much each box covers of other boxes, of points, and what is outside; later boxes cost a little more."""
    taken = taken[~np.isnan(taken[:, 0])]
    shared = np.minimum(boxes[:, None, 2:], taken[None, :, 2:]) - np.maximum(boxes[:, None, :2], taken[None, :, :2])
    covered = np.prod(np.maximum(shared, 0.0), axis=2).sum(1)
    away = np.maximum(np.maximum(boxes[:, None, :2] - blocked, blocked - boxes[:, None, 2:]), 0.0)
    inside = ((away**2).sum(2) < radii**2).sum(1)
    outside = np.maximum(-boxes[:, :2], 0.0).sum(1) + np.maximum(boxes[:, 2:] - area, 0.0).sum(1)
    cost: Floats = covered + 40.0 * inside + 20.0 * outside + np.arange(len(boxes)) / len(boxes)
    return cost


def label_marks(frame: pd.DataFrame, size: float = LABEL_SIZE, **style: Any) -> Any:
    """The labels of a frame of `place_labels`, as a layer that still needs its axes."""
    offset: dict[str, Any] = {name: alt.ExprRef(f"datum._{name}") for name in ("dx", "dy", "align")}
    marks = alt.Chart(records(frame)).mark_text(baseline="middle", fontSize=size, **offset, **style)
    return marks.encode(text="_text:N")
