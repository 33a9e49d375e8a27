"""The path of one word through time or along another ordered column, among its neighbors, in two dimensions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any

import numpy as np
import pandas as pd

from laplex.errors import InputError, check_int, explain_keywords, quote
from laplex.model.vectors import Vectors, check_slice
from laplex.plots import chart
from laplex.plots.chart import COLORS, MUTED, Chart, alt, records, title_of
from laplex.plots.labels import label_marks
from laplex.plots.projections import PANEL_SIZE, AxisTitles, Plane, arrowheads, principal_components, unit_vectors
from laplex.plots.series import MAX_PANELS, panels_across
from laplex.questions.change import ordered_column
from laplex.questions.contrast import matched_slices
from laplex.questions.cosine import cosines, directions, nearest

_MIN_ARROW_PIXELS = 24.0  # of a step of a path that has an arrowhead


@explain_keywords
def trajectory(
    fitted: Vectors,
    word: str,
    along: str | None = None,
    k: int = 8,
    *,
    language: str | None = None,
    at: Mapping[str, Any] | None = None,
) -> Chart:
    """Draw the path of a word along a column, such as the period, among its neighbors, in two dimensions.

    There is a path for each value of the other columns; more paths than there are colors have a panel each. The
    neighbors are the nearest words of each point of the path in turn, at their mean over the path. Where the word does
    not occur, its point is hollow: placed by the prior alone.

    Args:
        fitted: Fitted or loaded vectors.
        word: The word.
        along: The column of the path. By default the one that has an order.
        k: The number of neighbors.
        language: The language of the word, if there are several.
        at: Values of other columns, such as {"party": "D"}, to draw only their paths.

    Returns:
        A Chart.

    Example:

        lx.plots.trajectory(fitted, "freedom", at={"party": "D"})
    """
    index = fitted.language(language)
    along = ordered_column(fitted, along)
    paths = _paths(fitted, along, at)
    word_id = fitted.id(word, index)
    slices = [number for path in paths.values() for number in path.values()]
    neighbors = _nearest_in_turn(fitted, index, word_id, slices, k)
    path_vectors = np.concatenate([unit_vectors(fitted, [word_id], index, number) for number in slices])
    means = np.mean([unit_vectors(fitted, neighbors, index, number) for number in slices], axis=0)
    points, titles = principal_components(np.concatenate([path_vectors, means]))
    frame = pd.DataFrame(points, columns=["_x", "_y"])
    steps = frame[: len(slices)].assign(
        _path=[name for name, path in paths.items() for _ in path],
        _text=[value for path in paths.values() for value in path],
        _step=[step for path in paths.values() for step in range(len(path))],
        _count=[int(fitted.counts[index][number, word_id]) for number in slices],
    )
    words = fitted.rows.vocabularies[index].words
    others = frame[len(slices) :].assign(_text=[words[i] for i in neighbors])
    if len(paths) <= len(COLORS):
        drawn = _draw_paths(Plane(points, 480, 360), steps, others, title_of(along), titles)
    else:
        plane = Plane(points, *PANEL_SIZE)
        each = {name: steps[steps["_path"] == name] for name in paths}
        drawn = alt.concat(
            *(
                _draw_paths(plane, path, others, title_of(along), titles).properties(title=name)
                for name, path in each.items()
            ),
            columns=panels_across(len(each)),
        )
    return chart.finish(drawn, pd.concat([steps, others]).rename(columns=lambda name: name.strip("_")), word)


def _paths(fitted: Vectors, along: str, at: Mapping[str, Any] | None) -> dict[str, dict[str, int]]:
    """The paths by name: the slice at each value of the column."""
    if along in check_slice(at):
        raise InputError(f'the path runs along "{along}": leave it out of at=')
    column = fitted.columns.index(along)
    paths = {}
    for path in matched_slices(fitted, along, at):
        if len(path) > 1:
            key = fitted.rows.slices.keys[next(iter(path.values()))]
            paths[", ".join(key[:column] + key[column + 1 :])] = path
    if not paths:
        raise InputError(f'no slices that agree in all else differ by "{along}": there is no path to draw')
    if len(paths) > MAX_PANELS:
        missing = quote(f'"{name}"' for name in fitted.columns if name not in (along, *(at or {})))
        raise InputError(f"{len(paths):,} paths are too many: choose some by {missing}")
    return paths


def _nearest_in_turn(fitted: Vectors, language: int, word: int, slices: Sequence[int], k: int) -> list[int]:
    """The nearest word in each of the slices, then the second nearest, and so on, k in all."""
    k = check_int("k", k)
    ranked = []
    for number in slices:
        similarity = cosines(fitted, directions(fitted, [word], language, number), language, number)[0]
        ranked.append(nearest(similarity, k, [word]).tolist())
    return list(dict.fromkeys(i for rank in zip_longest(*ranked) for i in rank if i is not None))[:k]


def _draw_paths(plane: Plane, steps: pd.DataFrame, others: pd.DataFrame, column: str, titles: AxisTitles) -> Any:
    axes = plane.axes(titles)
    names = list(dict.fromkeys(steps["_path"]))
    legend = chart.top_legend(names, plane.width, symbolSize=70) if len(names) > 1 else None
    color = alt.Color("_path:N", scale=chart.color_scale(names), legend=legend)
    ends = steps.groupby("_path", sort=False)[["_x", "_y"]].shift(-1)
    segments = steps[["_x", "_y", "_path"]].assign(_x2=ends["_x"], _y2=ends["_y"]).dropna()
    length = plane.scale * np.hypot(segments["_x2"] - segments["_x"], segments["_y2"] - segments["_y"])
    labels = plane.labels(pd.concat([steps, others]), obstacles=plane.along(segments), always=True)
    times, words = labels[: len(steps)], labels[len(steps) :].drop(columns=["_path", "_step", "_count"])
    path = alt.Chart(records(steps)).encode(**axes, color=color)
    point = path.mark_point(size=36, opacity=1).encode(
        fill=alt.condition("datum._count > 0", color, alt.value("#ffffff")),
        tooltip=[chart.tooltip("_text", column), chart.tooltip("_count", "Occurrences", ",")],
    )
    return alt.layer(
        alt.Chart(records(others)).mark_circle(size=14, color=MUTED, opacity=1).encode(**axes),
        label_marks(words, color="#444444").encode(**axes),
        path.mark_line(strokeWidth=1.5, opacity=0.7).encode(order=alt.Order("_step:Q")),
        arrowheads(segments[length > _MIN_ARROW_PIXELS], 0.55, size=40).encode(**axes, color=color),
        point,
        label_marks(times).encode(**axes, color=color),
        width=plane.width,
        height=plane.height,
    )
