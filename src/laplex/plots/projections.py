"""Word vectors in two dimensions: the words of a slice as a map, and the path of one word through time.

Vectors are first scaled to length one, so that near points mean a large cosine, as for neighbors. The two dimensions
are principal components, or those of t-SNE. N points, D dimensions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any, Literal

import numpy as np
import pandas as pd

from laplex.errors import InputError, check_int, explain_keywords, quote
from laplex.model.vectors import Vectors, as_list, check_slice, slice_needed
from laplex.plots import chart
from laplex.plots.chart import COLORS, MUTED, Chart, Floats, alt, records, title_of
from laplex.questions.change import ordered_column
from laplex.questions.contrast import matched_slices
from laplex.questions.cosine import cosines, directions, nearest
from laplex.questions.layout import neighbor_layout
from laplex.questions.positions import Pole
from laplex.questions.similarity import Similarities

Method = Literal["pca", "tsne"]
Color = str | tuple[Pole, Pole]
AxisTitles = tuple[str | None, str | None]

_LARGEST_POINT = 260.0  # square pixels
_EARLY_TO_LATE = ("#E69F00", "#CC79A7", "#0072B2")
_POLE_TO_POLE = ("#D55E00", "#b3b3b3", "#0072B2")
_MIN_ARROW_PIXELS = 24.0  # of a step of a path that has an arrowhead
_SAMPLES_PER_SEGMENT = 60


class Plane:
    """The area of a chart with the same scale on both axes, in pixels a unit.

    Points (N, 2) are in its middle, as large as the margins in pixels allow; `corner` is at the left and the bottom.
    """

    def __init__(self, points: Floats, width: int, height: int, margin: tuple[int, int] = (64, 32)) -> None:
        low, high = points.min(0), points.max(0)
        self.width, self.height, self.size = width, height, np.array([width, height])
        self.scale = float(((self.size - 2 * np.array(margin)) / np.maximum(high - low, 1e-9)).min())
        self.corner = (low + high) / 2 - self.size / self.scale / 2

    def pixels(self, points: Floats) -> Floats:
        """Points (N, 2) in pixels of the screen, where y grows downwards."""
        across = (points - self.corner) * self.scale
        return np.stack([across[:, 0], self.height - across[:, 1]], axis=1)

    def axes(self, titles: AxisTitles = (None, None)) -> dict[str, Any]:
        """The encodings of columns `_x` and `_y`, without numbers, since only distances have a meaning."""
        axes = {}
        ends = np.stack([self.corner, self.corner + self.size / self.scale], axis=1).tolist()
        for name, encoding, title, domain in zip("xy", (alt.X, alt.Y), titles, ends):
            scale = alt.Scale(domain=domain, nice=False, zero=False)
            axis = alt.Axis(labels=False, ticks=False, grid=False, domain=title is not None)
            axes[name] = encoding(f"_{name}:Q", title=title, scale=scale, axis=axis)
        return axes

    def labels(self, frame: pd.DataFrame, **options: Any) -> pd.DataFrame:
        """The rows whose `_text` has a free place; see `place_labels`."""
        pixels = self.pixels(frame[["_x", "_y"]].to_numpy())
        return chart.place_labels(frame, pixels, (self.width, self.height), **options)

    def along(self, segments: pd.DataFrame) -> Floats:
        """Points (N, 2) in pixels all along the segments from (_x, _y) to (_x2, _y2), for labels to avoid."""
        starts, ends = (self.pixels(segments[names].to_numpy()) for names in (["_x", "_y"], ["_x2", "_y2"]))
        shares = np.linspace(0, 1, _SAMPLES_PER_SEGMENT)[:, None, None]
        return np.asarray((starts + shares * (ends - starts)).reshape(-1, 2))


def arrowheads(segments: pd.DataFrame, share: float, **style: Any) -> Any:
    """A layer of arrowheads, at a share of the way along the segments from (_x, _y) to (_x2, _y2)."""
    across, up = segments["_x2"] - segments["_x"], segments["_y2"] - segments["_y"]
    heads = segments.assign(
        _x=segments["_x"] + share * across, _y=segments["_y"] + share * up, _angle=np.degrees(np.arctan2(across, up))
    )
    marks = alt.Chart(records(heads)).mark_point(shape="triangle", filled=True, opacity=1, **style)
    return marks.encode(angle=alt.Angle("_angle:Q", scale=None))


def principal_components(vectors: Floats) -> tuple[Floats, AxisTitles]:
    """Points (N, 2) on the first two principal components, and titles of axes with their shares of the variance."""
    left, size, _ = np.linalg.svd(vectors - vectors.mean(0), full_matrices=False)
    left = left * np.where(np.take_along_axis(left, np.abs(left).argmax(0)[None], 0) < 0, -1.0, 1.0)
    points, shares = np.zeros((len(vectors), 2)), np.zeros(2)
    points[:, : len(size)] = (left * size)[:, :2]
    shares[: len(size)] = (size**2 / max(float((size**2).sum()), 1e-300))[:2]
    return points, (f"First principal component ({shares[0]:.0%})", f"Second principal component ({shares[1]:.0%})")


def _unit_vectors(fitted: Vectors, ids: Sequence[int], language: int, slice: int) -> Floats:
    """(n, D) The vectors of words in a slice, scaled to length one; a vector of length zero stays zero."""
    return np.nan_to_num(directions(fitted, ids, language, slice).astype(np.float64))


@explain_keywords
def map(
    fitted: Similarities,
    words: Sequence[str] | None = None,
    top: int = 300,
    method: Method = "pca",
    *,
    color: Color | None = None,
    language: str | None = None,
    width: int = 640,
    height: int = 480,
    at: Mapping[str, Any] | None = None,
) -> Chart:
    """Draw the words of a slice in two dimensions; words that are used alike are near each other.

    The area of a point grows with the count of its word. Words are written beside their points as long as there is
    room, the most frequent first; tooltips show the others.

    Args:
        fitted: Fitted or loaded vectors.
        words: The words to draw. By default the most frequent ones of the slice.
        top: How many words are drawn if none are given.
        method: "pca" for principal components, or "tsne", which keeps the nearest neighbors of words together.
        color: A column that vectors vary by: each word then has a point at each of its values, joined by a line. Or
            two poles, such as ("rich", "poor"): words are then colored by where they stand between them.
        language: The language of the words, if there are several.
        width: The width in pixels.
        height: The height in pixels.
        at: The value of each column that vectors vary by, except `color`.

    Returns:
        A Chart, whose `frame` has the points: word, slice, x, y, count, and the position between two poles.

    Example:

        lx.plots.map(fitted, color="party", at={"period": "2010"})
        lx.plots.map(fitted, color=(["rich", "wealthy"], ["poor"]), at={"party": "D", "period": "2010"})
    """
    index = fitted.language(language)
    slices = _map_slices(fitted, color, at)
    counts = np.asarray(fitted.counts[index][slices])
    total = counts.sum(0)
    if words is None:
        ids = np.argsort(-total, kind="stable")[: check_int("top", top)]
    else:
        ids = np.array(fitted.ids(words, index), np.int64)
        ids = ids[np.argsort(-total[ids], kind="stable")]
    if len(ids) < 3:
        raise InputError(f"a map needs three words or more, not {len(ids)}")
    vectors = np.stack([_unit_vectors(fitted, ids.tolist(), index, number) for number in slices], axis=1)
    positions, titles = _two_dimensions(vectors.reshape(-1, fitted.dimensions), method)
    names = [fitted.rows.vocabularies[index].words[i] for i in ids]
    # each word in all its slices before the next word, the most frequent first
    points = pd.DataFrame({"_text": np.repeat(np.array(names, object), len(slices)), "_x": positions[:, 0]})
    points = points.assign(_y=positions[:, 1], _slice=slices * len(names), _count=counts[:, ids].T.ravel())
    keys = pd.DataFrame([fitted.rows.slices.keys[number] for number in points["_slice"]], columns=fitted.columns)
    frame = pd.DataFrame({"word": points["_text"], **keys})
    frame = frame.assign(x=points["_x"], y=points["_y"], count=points["_count"])
    encoding = None
    if isinstance(color, str):
        points["_color"], encoding = keys[color], _column_colors(fitted, color)
    elif color is not None:
        by = ["word", *fitted.columns]  # slices in which a pole is not used have no positions
        found = fitted.project(names, color, language=language, at=at).set_index(by)["position"]
        points["_color"] = found.reindex(frame.set_index(by).index).to_numpy()
        frame["position"], encoding = points["_color"], _pole_colors(points["_color"].to_numpy(np.float64), color)
    plane = Plane(positions, width, height, margin=(56, 24))
    title = ", ".join(value for name, value in keys.iloc[0].items() if name != color)
    color_title = title_of(color) if isinstance(color, str) else None
    return chart.finish(_draw_map(plane, points, titles, encoding, color_title), frame, title or None)


def _map_slices(fitted: Vectors, color: Color | None, at: Mapping[str, Any] | None) -> list[int]:
    """The slice that is drawn, or one for each value of the column `color`, in their order."""
    if not isinstance(color, str):
        return [fitted.slice(at)]
    if color not in fitted.columns:
        raise InputError(
            f'color="{color}" is no column that vectors vary by; those are: {quote(fitted.columns) or "none"}. '
            'Two poles are written color=("rich", "poor")'
        )
    if color in check_slice(at):
        raise InputError(f'color="{color}" shows all its values: leave "{color}" out of at=')
    chosen = set(fitted.chosen(at))
    cells = [list(cell.values()) for cell in fitted.rows.slices.cells(color) if chosen.issuperset(cell.values())]
    if len(cells) > 1:
        raise slice_needed([name for name in fitted.columns if name != color], at or {})
    return cells[0]


def _two_dimensions(vectors: Floats, method: str) -> tuple[Floats, AxisTitles]:
    """Points (N, 2), and the titles of their axes."""
    if method == "pca":
        return principal_components(vectors)
    if method != "tsne":
        raise InputError(f'method="{method}" is not known: write "pca" or "tsne"')
    return neighbor_layout(vectors), (None, None)


def _column_colors(fitted: Vectors, column: str) -> Any:
    """A color for each value; the colors of ordered values have an order too."""
    values = fitted.values(column)
    scale = chart.color_scale(values)
    if len(values) > len(COLORS) or fitted.ordered(column):
        scale = alt.Scale(domain=values, range=_blend(_EARLY_TO_LATE, len(values)))
    return alt.Color("_color:N", scale=scale, legend=alt.Legend(title=title_of(column), offset=12))


def _blend(colors: Sequence[str], count: int) -> list[str]:
    """Colors at even steps from the first to the last.

    >>> _blend(("#000000", "#ffffff"), 3)
    ['#000000', '#808080', '#ffffff']
    """
    channels = np.array([[int(color[i : i + 2], 16) for i in (1, 3, 5)] for color in colors]).T
    steps = np.linspace(0, len(colors) - 1, count) if count > 1 else np.zeros(1)
    mixed = np.stack([np.interp(steps, np.arange(len(colors)), channel) for channel in channels], axis=1)
    return ["#{:02x}{:02x}{:02x}".format(*color) for color in (mixed + 0.5).astype(int).tolist()]


def _pole_colors(positions: Floats, poles: tuple[Pole, Pole]) -> Any:
    """From the color of the second pole to that of the first, with gray between them."""
    largest = max(float(np.nanmax(np.abs(positions), initial=0.0)), 1e-9)
    first, second = (chart.escape_title(", ".join(as_list(pole))) for pole in poles)
    scale = alt.Scale(domain=[-largest, 0.0, largest], range=list(_POLE_TO_POLE))
    legend = alt.Legend(title=[f"↑ {first}", f"↓ {second}"], gradientLength=120, format=".1f", tickCount=3, offset=12)
    return alt.Color("_color:Q", scale=scale, legend=legend)


def _draw_map(plane: Plane, points: pd.DataFrame, titles: AxisTitles, color: Any, color_title: str | None) -> Any:
    """Points with their words; if they are colored by a column, lines join the points of a word."""
    axes = plane.axes(titles)
    largest = max(float(points["_count"].max()), 1.0)
    sizes = chart.round_counts(1, largest)[::-1][:5:2]
    legend = alt.Legend(orient="right", values=sorted(sizes), symbolStrokeWidth=0, symbolFillColor=MUTED)
    scale = alt.Scale(range=[14, _LARGEST_POINT], zero=True)
    size = alt.Size("_count:Q", title="Occurrences", scale=scale, legend=legend)
    shown = [chart.tooltip("_text", "Word"), chart.tooltip("_count", "Occurrences", ",")]
    circles = alt.Chart(records(points))
    if color is None:
        circles = circles.mark_circle(opacity=0.45, color=COLORS[0])
    else:
        shown.insert(1, chart.tooltip("_color", color_title or "Position", None if color_title else ".2f"))
        circles = circles.mark_circle(opacity=0.75).encode(color=color)
    layers = [circles.encode(**axes, size=size, tooltip=shown), _map_labels(plane, points).encode(**axes)]
    if color_title:
        steps = points.assign(_order=points.groupby("_text", sort=False).cumcount())
        lines = alt.Chart(records(steps)).mark_line(color="#b3b3b3", strokeWidth=1)
        layers.insert(0, lines.encode(**axes, detail=alt.Detail("_text:N"), order=alt.Order("_order:Q")))
    return alt.layer(*layers, width=plane.width, height=plane.height).interactive()


def _map_labels(plane: Plane, points: pd.DataFrame) -> Any:
    """Each word once, beside the point where it is most frequent."""
    radius = np.sqrt(_LARGEST_POINT * points["_count"].to_numpy(np.float64) / max(points["_count"].max(), 1) / np.pi)
    rows = points.groupby("_text", sort=False)["_count"].idxmax().to_numpy(np.int64)
    others = np.setdiff1d(np.arange(len(points)), rows)
    obstacles = plane.pixels(points[["_x", "_y"]].to_numpy()[others])
    size = 12.0 if len(rows) <= 60 else 10.0
    labels = plane.labels(points.iloc[rows], size=size, radius=radius[rows], obstacles=obstacles)
    return chart.label_marks(labels, size, color="#222222")


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

    There is a path for each value of the other columns. The neighbors are the nearest words of each point of the path
    in turn, at their mean over the path. Where the word does not occur, its point is hollow: placed by the prior alone.

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
    path_vectors = np.concatenate([_unit_vectors(fitted, [word_id], index, number) for number in slices])
    means = np.mean([_unit_vectors(fitted, neighbors, index, number) for number in slices], axis=0)
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
    drawn = _draw_paths(Plane(points, 480, 360), steps, others, title_of(along), titles)
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
    if len(paths) > len(COLORS):
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
    legend = alt.Legend(title=None, orient="top", symbolOpacity=1) if len(names) > 1 else None
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
        chart.label_marks(words, color="#444444").encode(**axes),
        path.mark_line(strokeWidth=1.5, opacity=0.7).encode(order=alt.Order("_step:Q")),
        arrowheads(segments[length > _MIN_ARROW_PIXELS], 0.55, size=40).encode(**axes, color=color),
        point,
        chart.label_marks(times).encode(**axes, color=color),
        width=plane.width,
        height=plane.height,
    )
