"""The evidence plot of a comparison: every tested word by the size of its difference and by how often it is used.

Rare words need a large difference to be sure of it, so the height is the number of uses on the side that uses a word
less. (p would be the same for most findings: it is counted over permutations, and cannot be smaller than one of them.)
The template draws the numbers that are computed here as SVG, all dots of one color as one path.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from laplex.plots.chart import round_counts
from laplex.plots.labels import place_labels
from laplex.reports.finding import JOINT

WIDTH, HEIGHT = 720, 400
LEFT, RIGHT, TOP, BOTTOM = 58, 12, 10, 44  # around the dots, for axes
LABELS = 40  # words that are written beside their dots, at most
RADIUS = 3.0

Floats = NDArray[np.float64]


def evidence(rows: pd.DataFrame, min_effect: float, first: Collection[str] = ()) -> dict[str, Any] | None:
    """Where the dots, labels and ticks of a comparison's plot are.

    Args:
        rows: The tested rows of one comparison, in the order of the table.
        min_effect: The size below which no difference holds, which is drawn as a threshold.
        first: Words that are labelled before others.

    Returns:
        Pixels for the template, and the ends of both axes, by which the page finds the word below the pointer; None if
        there are no rows.
    """
    if rows.empty:
        return None
    x, uses = rows["estimate"].to_numpy(np.float64), least_uses(rows)
    ends_x = (0.0, float(max(x.max(), min_effect)) * 1.04)
    ends_y = (float(np.log10(uses.min())) - 0.05, float(np.log10(uses.max())) + 0.08)
    wide, high = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
    across = LEFT + wide * (x - ends_x[0]) / (ends_x[1] - ends_x[0])
    down = TOP + high * (1 - (np.log10(uses) - ends_y[0]) / (ends_y[1] - ends_y[0]))
    pixels, holds = np.stack([across, down], 1), rows["holds"].to_numpy(bool)
    step = _step(ends_x[1])
    ticks_x = [step * i for i in range(int(ends_x[1] / step) + 1)]
    ticks_y = round_counts(10 ** ends_y[0], 10 ** ends_y[1])
    return {
        "width": WIDTH,
        "height": HEIGHT,
        "box": {"left": LEFT, "top": TOP, "right": WIDTH - RIGHT, "bottom": HEIGHT - BOTTOM},
        "ends": {"x": ends_x, "y": ends_y},
        "doubtful": _path(pixels[~holds]),
        "sure": _path(pixels[holds]),
        "labels": _labels(rows, pixels, first),
        "threshold": round(LEFT + wide * min_effect / ends_x[1], 1),
        "x": [{"at": round(LEFT + wide * tick / ends_x[1], 1), "text": f"{tick:.2g}"} for tick in ticks_x],
        "y": [
            {
                "at": round(TOP + high * (1 - (np.log10(tick) - ends_y[0]) / (ends_y[1] - ends_y[0])), 1),
                "text": f"{tick:,}",
            }
            for tick in map(int, ticks_y)
            if ends_y[0] <= np.log10(tick) <= ends_y[1]
        ],
        "y_title": "uses" if is_joint(rows) else "uses, on the side that uses it less",
    }


def is_joint(rows: pd.DataFrame) -> bool:
    """Whether the rows of a comparison are of a joint test, which has no two sides."""
    return (str(rows["value"].iloc[0]), str(rows["against"].iloc[0])) == JOINT


def least_uses(rows: pd.DataFrame) -> Floats:
    """How often each word is used on the side that uses it less; of a joint test, at all values together."""
    uses = rows[["uses", "uses_against"]].astype(np.float64)
    least: Floats = (uses.sum(axis=1) if is_joint(rows) else uses.min(axis=1)).to_numpy()
    return np.maximum(least, 1.0)


def _labels(rows: pd.DataFrame, pixels: Floats, first: Collection[str]) -> list[dict[str, Any]]:
    """Words beside their dots: those named first, then those that hold at the upper right edge of the cloud."""
    place = pixels[:, 0] / WIDTH - pixels[:, 1] / HEIGHT
    is_first = rows["word"].isin(list(first)).to_numpy(bool)
    order = np.lexsort((-place, ~is_first, ~rows["holds"].to_numpy(bool)))[: 4 * LABELS]
    chosen = pd.DataFrame({"_text": rows["word"].astype(str).to_numpy()[order]})
    area = float(WIDTH - LEFT - RIGHT), float(HEIGHT - TOP - BOTTOM)
    inside = pixels - np.array([LEFT, TOP])
    placed = place_labels(chosen, inside[order], area, radius=RADIUS, obstacles=inside).head(LABELS)
    points = pixels[order[placed.index.to_numpy(np.int64)]]
    anchors = placed["_align"].map({"left": "start", "right": "end", "center": "middle"})
    return [
        {"text": text, "x": round(x + dx, 1), "y": round(y + dy, 1), "anchor": anchor}
        for text, (x, y), dx, dy, anchor in zip(placed["_text"], points.tolist(), placed["_dx"], placed["_dy"], anchors)
    ]


def _path(pixels: Floats) -> str:
    """Dots as one path of points, each of which a round line end makes visible."""
    return "".join(f"M{x:.0f} {y:.0f}h0" for x, y in pixels)


def _step(end: float) -> float:
    """The distance of about six round ticks from 0 to an end."""
    size = 10.0 ** np.floor(np.log10(end / 5))
    return float(next(size * factor for factor in (1, 2, 5, 10) if end / (size * factor) <= 8))
