"""Where labels go, so that they can be read.

Points in pixels and their texts come in; places beside the points come out, which do not cover each other as far as
possible. N points.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# right, left, above, below, and the corners; in the pixels of a screen y grows downwards
_SIDES = ((1, 0), (-1, 0), (0, -1), (0, 1), (1, -1), (-1, -1), (1, 1), (-1, 1))
_ALIGN = {1: "left", -1: "right", 0: "center"}
_NARROW, _WIDE = frozenset("fijlrtI.,:;'|!()[] "), frozenset("mwMW@%")


@dataclass(frozen=True)
class Place:
    """Where a label stands, seen from its point: `dx`, `dy` to its edge at `align`, and its middle line."""

    dx: float
    dy: float
    align: str


def text_width(text: str, size: float) -> float:
    """About how wide a text is in a font of this size."""
    return size * sum(map(_letter_width, text))


def _letter_width(letter: str) -> float:
    if unicodedata.combining(letter):
        return 0.0
    if unicodedata.east_asian_width(letter) in "WF":
        return 1.0
    return 0.3 if letter in _NARROW else 0.85 if letter in _WIDE else 0.68 if letter.isupper() else 0.54


def spread(heights: Floats, gap: float) -> Floats:
    """The heights nearest to these (by least squares) that are at least `gap` apart, in the same order.

    >>> spread(np.array([10.0, 12.0, 50.0]), 10.0).tolist()
    [6.0, 16.0, 50.0]
    """
    from scipy.optimize import isotonic_regression  # slow to import

    order = np.argsort(heights, kind="stable")
    steps = gap * np.arange(len(heights))
    moved = np.empty(len(heights))
    moved[order] = isotonic_regression(heights[order] - steps).x + steps
    return moved


def place(
    points: Floats,
    texts: Sequence[str],
    area: tuple[float, float],
    *,
    size: float,
    radius: Floats | float = 2.0,
    obstacles: Floats | None = None,
    always: bool = False,
) -> list[Place | None]:
    """A place beside each point (N, 2), in the order given, in an area of (width, height); None where none is free.

    Labels keep clear of each other, of all points and of the `obstacles`, which are further points. With `always`,
    a label without a free place stands where it covers the least, and all are placed anew, knowing of the others.
    """
    blocked = points if obstacles is None else np.concatenate([points, obstacles])
    radii = np.broadcast_to(np.asarray(radius, np.float64), len(points))
    boxes = np.full((len(points), 4), np.nan)  # left, top, right, bottom; those not placed cover nothing
    found: list[Place | None] = [None] * len(points)
    for _ in range(4 if always else 1):
        for number, (point, text) in enumerate(zip(points, texts, strict=True)):
            boxes[number] = np.nan
            places, candidates = _candidates(point, text_width(text, size), size, float(radii[number]), always)
            cost = _cost(candidates, boxes, blocked, area)
            best = int(cost.argmin())
            if always or cost[best] < 1:
                found[number], boxes[number] = places[best], candidates[best]
    return found


def _candidates(point: Floats, width: float, size: float, radius: float, far: bool) -> tuple[list[Place], Floats]:
    """Places around a point, the best first, and the boxes (n, 4) of a label there."""
    places, boxes = [], []
    for away in (radius + 4.0, radius + 12.0) if far else (radius + 4.0,):
        for right, down in _SIDES:
            shift = away if 0 in (right, down) else 0.7 * away
            dx, dy = right * shift, down * (shift + (0.5 if right == 0 else 0.3) * size)
            left, middle = point[0] + dx - width * (1 - right) / 2, point[1] + dy
            places.append(Place(dx, dy, _ALIGN[right]))
            boxes.append([left, middle - size / 2, left + width, middle + size / 2])
    return places, np.array(boxes)


def _cost(boxes: Floats, taken: Floats, blocked: Floats, area: tuple[float, float]) -> Floats:
    """(n) How much each box covers: of other boxes, of points, and of what is outside; a little more for later ones."""
    taken = taken[~np.isnan(taken[:, 0])]
    shared = np.minimum(boxes[:, None, 2:], taken[None, :, 2:]) - np.maximum(boxes[:, None, :2], taken[None, :, :2])
    covered = np.prod(np.maximum(shared, 0.0), axis=2).sum(1)
    inside = ((blocked > boxes[:, None, :2] - 1) & (blocked < boxes[:, None, 2:] + 1)).all(axis=2).sum(1)
    outside = np.maximum(-boxes[:, :2], 0.0).sum(1) + np.maximum(boxes[:, 2:] - area, 0.0).sum(1)
    cost: Floats = covered + 40.0 * inside + 20.0 * outside + np.arange(len(boxes)) / len(boxes)
    return cost
