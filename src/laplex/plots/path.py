"""The path of a word through time, among its neighbors, in two dimensions. D dimensions, k neighbors."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

import numpy as np
import pandas as pd

from laplex.errors import InputError, whole
from laplex.plots.chart import COLORS, MUTED, Chart, finish, records, tip, title_of
from laplex.plots.plane import Floats, Plane, component_titles, directed, principal, texts, written
from laplex.questions.cosine import cosines, directions, nearest
from laplex.questions.order import ordered_column
from laplex.questions.pairing import cells_of
from laplex.vectors import Vectors

_SIZE = 11.0  # of the font


def trajectory(
    fitted: Vectors, word: str, along: str | None = None, k: int = 8, *, language: str | None = None, **slice: Any
) -> Chart:
    """The path of a word along a column, such as the period, among its neighbors, in two dimensions by PCA.

    There is a path for each value of the other columns; `party="D"` leaves one. The `k` neighbors are the nearest
    words of each point of the path in turn, and stand where they are on average. A point is hollow where the word
    does not occur, so that its vector comes from the prior alone.
    """
    index = fitted.language(language)
    along = ordered_column(fitted, along)
    paths = _paths(fitted, along, slice)
    number = fitted.id(word, index)
    slices = [at for path in paths.values() for at in path.values()]
    near = _neighbors(fitted, index, number, slices, k)
    own = np.concatenate([directed(fitted, [number], index, at) for at in slices])
    mean = np.mean([directed(fitted, near, index, at) for at in slices], axis=0)
    points, shares = principal(np.concatenate([own, mean]))
    plane = Plane.around(points, 480, 360)
    words = fitted.rows.vocabularies[index].words
    steps = pd.DataFrame(
        {
            "_x": points[: len(slices), 0],
            "_y": points[: len(slices), 1],
            "_path": [name for name, path in paths.items() for _ in path],
            "_text": [value for path in paths.values() for value in path],
            "_step": [step for path in paths.values() for step in range(len(path))],
            "_count": [int(fitted.counts[index][at, number]) for at in slices],
        }
    )
    others = pd.DataFrame(points[len(slices) :], columns=["_x", "_y"]).assign(_text=[words[i] for i in near])
    return finish(_draw(plane, steps, others, along, shares), title=word)


def _paths(fitted: Vectors, along: str, slice: dict[str, Any]) -> dict[str, dict[str, int]]:
    """For each path its name, and its values of the column with their slices."""
    if along in slice:
        raise InputError(f'the path runs along "{along}": leave out {along}={slice[along]!r}')
    column = fitted.columns.index(along)
    paths = {}
    for path in cells_of(fitted, along, slice):
        if len(path) > 1:
            key = fitted.rows.slices.keys[next(iter(path.values()))]
            paths[", ".join(key[:column] + key[column + 1 :])] = path
    if not paths:
        raise InputError(f'no slices that agree in all else differ by "{along}": there is no path to draw')
    if len(paths) > len(COLORS):
        missing = ", ".join(f"{name}=" for name in fitted.columns if name not in (along, *slice))
        raise InputError(f"{len(paths):,} paths are too many: choose by {missing}")
    return paths


def _neighbors(fitted: Vectors, language: int, word: int, slices: Sequence[int], k: int) -> list[int]:
    """The words nearest to a word in each of the slices in turn, k in all."""
    k = whole("k", k)
    ranked = []
    for at in slices:
        similarity = cosines(fitted, directions(fitted, [word], language, at), language, at)[0]
        ranked.append(nearest(similarity, k, [word]).tolist())
    found = dict.fromkeys(number for rank in zip_longest(*ranked) for number in rank if number is not None)
    return list(found)[:k]


def _draw(plane: Plane, steps: pd.DataFrame, others: pd.DataFrame, along: str, shares: Floats) -> Any:
    import altair as alt

    axes = plane.axes(component_titles(shares))
    names = list(dict.fromkeys(steps["_path"]))
    legend = alt.Legend(title=None, orient="top", symbolOpacity=1) if len(names) > 1 else None
    scale = alt.Scale(domain=names, range=list(COLORS[: len(names)]))
    color = alt.Color(field="_path", type="nominal", scale=scale, legend=legend)
    tips = [tip("_text", title_of(along)), tip("_count", "Occurrences", ",")]
    middles, sampled = _segments(plane, steps)
    labels = written(pd.concat([steps, others]), plane, _SIZE, obstacles=sampled, always=True)
    times, near = labels[: len(steps)], labels[len(steps) :].drop(columns=["_path", "_step", "_count"])
    line = alt.Chart(records(steps)).mark_line(strokeWidth=1.5, opacity=0.7).encode(**axes, color=color)
    arrow = alt.Chart(records(middles)).mark_point(shape="triangle", size=40, filled=True, opacity=1)
    dot = alt.Chart(records(steps)).mark_point(size=36, opacity=1).encode(**axes, color=color, tooltip=tips)
    return alt.layer(
        alt.Chart(records(others)).mark_circle(size=14, color=MUTED, opacity=1).encode(**axes),
        texts(near, _SIZE, color="#444444").encode(**axes),
        line.encode(order=alt.Order(field="_step", type="quantitative")),
        arrow.encode(**axes, color=color, angle=alt.Angle(field="_angle", type="quantitative", scale=None)),
        dot.encode(fill=alt.condition("datum._count > 0", color, alt.value("#ffffff"))),
        texts(times, _SIZE).encode(**axes, color=color),
        width=plane.width,
        height=plane.height,
    )


def _segments(plane: Plane, steps: pd.DataFrame) -> tuple[pd.DataFrame, Floats]:
    """The middles of the long segments of the paths with their directions, and points (N, 2) all along, in pixels."""
    rows: list[dict[str, Any]] = []
    sampled = [np.empty((0, 2))]
    for name, path in steps.groupby("_path", sort=False):
        points = path[["_x", "_y"]].to_numpy()
        for start, end, one, two in zip(points, points[1:], plane.pixels(points), plane.pixels(points[1:])):
            length = float(np.linalg.norm(two - one))
            sampled.append(one + np.linspace(0, 1, 2 + int(length / 5))[:, None] * (two - one))
            if length > 24:
                x, y = 0.45 * start + 0.55 * end
                angle = np.degrees(np.arctan2(two[0] - one[0], one[1] - two[1]))
                rows.append({"_x": x, "_y": y, "_path": name, "_angle": angle})
    return pd.DataFrame(rows, columns=["_x", "_y", "_path", "_angle"]), np.concatenate(sampled)
