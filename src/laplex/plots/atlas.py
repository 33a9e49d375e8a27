"""The words of a slice, or of several, as a map: who is near whom, in two dimensions.

Vectors and words come in; a chart goes out, or the points that it is drawn from. N points, D dimensions.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any, Literal

import numpy as np
import pandas as pd

from laplex.errors import InputError, quote, whole
from laplex.plots.chart import COLORS, MUTED, Chart, finish, plain, records, tip, title_of
from laplex.plots.plane import Floats, Plane, component_titles, directed, principal, texts, written
from laplex.progress import say
from laplex.questions.projection import Pole, project
from laplex.vectors import Vectors, listed

_AREA = 260.0  # pixels of the largest point
_EARLY_TO_LATE = ("#E69F00", "#CC79A7", "#0072B2")
_POLE_TO_POLE = ("#D55E00", "#b3b3b3", "#0072B2")

Method = Literal["pca", "umap"]
Color = str | tuple[Pole, Pole]
Titles = tuple[str | None, str | None]


def map(
    fitted: Vectors,
    words: Sequence[str] | None = None,
    top: int = 300,
    method: Method = "pca",
    *,
    color: Color | None = None,
    language: str | None = None,
    width: int = 640,
    height: int = 480,
    **slice: Any,
) -> Chart:
    """The words of a slice in two dimensions: the given ones, or the `top` most frequent there.

    color  a column that vectors vary by: each word has a point at each of its values, joined by a line;
           or two poles, such as ("rich", "poor"): how near words are to the one and to the other

    The area of a point grows with the count of its word. Words are written beside their points as long as there is
    room, the most frequent first; the others are shown under the mouse.

        lx.plots.map(fitted, color="party", period="2010")
        lx.plots.map(fitted, color=(["rich", "wealthy"], ["poor"]), party="D", period="2010")
    """
    frame, titles = _place(fitted, words, top, method, color, language, slice)
    colors, column = None, title_of(color) if isinstance(color, str) else None
    if isinstance(color, str):
        colors = _column_colors(fitted, color)
    elif color is not None:
        colors = _pole_colors(frame["_color"].to_numpy(np.float64), color)
    plane = Plane.around(frame[["_x", "_y"]].to_numpy(), width, height, margin=(56, 24))
    key = fitted.rows.slices.keys[int(frame["_slice"].iloc[0])]
    title = ", ".join(value for name, value in zip(fitted.columns, key) if name != color)
    return finish(_draw(plane, frame, titles, colors, column), title=title or None)


def layout(
    fitted: Vectors,
    words: Sequence[str] | None = None,
    top: int = 300,
    method: Method = "pca",
    *,
    color: Color | None = None,
    language: str | None = None,
    **slice: Any,
) -> pd.DataFrame:
    """The points that `map` draws: word, slice, x, y and count; with two poles, also the position between them."""
    placed, _ = _place(fitted, words, top, method, color, language, slice)
    keys = [fitted.rows.slices.keys[at] for at in placed["_slice"]]
    frame = pd.DataFrame({"word": placed["_text"]})
    for place, name in enumerate(fitted.columns):
        frame[name] = [key[place] for key in keys]
    frame = frame.assign(x=placed["_x"], y=placed["_y"], count=placed["_count"])
    return frame if color is None or isinstance(color, str) else frame.assign(position=placed["_color"])


def _place(
    fitted: Vectors,
    words: Sequence[str] | None,
    top: int,
    method: str,
    color: Color | None,
    language: str | None,
    where: dict[str, Any],
) -> tuple[pd.DataFrame, Titles]:
    """The points, a word in all slices before the next, the most frequent first; and the titles of the axes."""
    index = fitted.language(language)
    slices = _slices(fitted, color, where)
    counts = np.asarray(fitted.counts[index][slices])
    total = counts.sum(0)
    if words is None:
        chosen = np.argsort(-total, kind="stable")[: whole("top", top)]
    else:
        chosen = np.array(fitted.ids(words, index), np.int64)
        chosen = chosen[np.argsort(-total[chosen], kind="stable")]
    if len(chosen) < 3:
        raise InputError(f"a map needs three words or more, not {len(chosen)}")
    vectors = np.stack([directed(fitted, chosen.tolist(), index, at) for at in slices], axis=1)
    points, titles = _flatten(vectors.reshape(-1, fitted.dimensions), method)
    names = [fitted.rows.vocabularies[index].words[i] for i in chosen]
    frame = pd.DataFrame({"_text": np.repeat(np.array(names, object), len(slices)), "_x": points[:, 0]})
    frame = frame.assign(_y=points[:, 1], _slice=slices * len(names), _count=counts[:, chosen].T.ravel())
    if isinstance(color, str):
        place = fitted.columns.index(color)
        frame["_color"] = [fitted.rows.slices.keys[at][place] for at in frame["_slice"]]
    elif color is not None:
        frame["_color"] = project(fitted, names, color, language=language, where=where)["position"]
    return frame, titles


def _slices(fitted: Vectors, color: Color | None, where: dict[str, Any]) -> list[int]:
    """The slice that is drawn, or one for each value of the column `color`, in their order."""
    if not isinstance(color, str):
        return [fitted.slice(where)]
    if color not in fitted.columns:
        raise InputError(
            f'color="{color}" is no column that vectors vary by; those are: {quote(fitted.columns) or "none"}. '
            'Two poles are written color=("rich", "poor")'
        )
    if color in where:
        raise InputError(f'color="{color}" shows all its values: leave out {color}={where[color]!r}')
    place = fitted.columns.index(color)
    keys = {at: fitted.rows.slices.keys[at] for at in fitted.chosen(where)}
    others = {(*key[:place], *key[place + 1 :]) for key in keys.values()}
    if len(others) > 1:
        missing = ", ".join(f"{name}=" for name in fitted.columns if name != color and name not in where)
        raise InputError(f"say which slice: {missing} is not given")
    by_value = {key[place]: at for at, key in keys.items()}
    return [by_value[value] for value in fitted.values(color) if value in by_value]


def _flatten(vectors: Floats, method: str) -> tuple[Floats, Titles]:
    """Points (N, 2), and the titles of their axes."""
    if method == "pca":
        points, shares = principal(vectors)
        return points, component_titles(shares)
    if method != "umap":
        raise InputError(f'method="{method}" is not known: write "pca" or "umap"')
    try:
        make = import_module("umap").UMAP
    except (ImportError, AttributeError) as error:
        raise InputError(
            f'method="umap" needs umap-learn ({error}): pip install umap-learn, or write method="pca"'
        ) from None
    say(f"placing {len(vectors):,} words by UMAP")
    near = min(15, len(vectors) - 1)
    made = make(n_neighbors=near, metric="cosine", init="pca", random_state=0, n_jobs=1).fit_transform(vectors)
    return np.asarray(made, np.float64), (None, None)


def _column_colors(fitted: Vectors, column: str) -> Any:
    """A color for each value; where values have an order, so have their colors."""
    import altair as alt

    values = fitted.values(column)
    colors = list(COLORS[: len(values)])
    if len(values) > len(COLORS) or fitted.ordered(column):
        colors = _blend(_EARLY_TO_LATE, len(values))
    scale = alt.Scale(domain=values, range=colors)
    legend = alt.Legend(title=title_of(column), offset=12)
    return alt.Color(field="_color", type="nominal", scale=scale, legend=legend)


def _blend(ends: Sequence[str], count: int) -> list[str]:
    """Colors at even steps from the first to the last.

    >>> _blend(("#000000", "#ffffff"), 3)
    ['#000000', '#808080', '#ffffff']
    """
    known = np.array([[int(color[i : i + 2], 16) for i in (1, 3, 5)] for color in ends])
    steps = np.linspace(0, len(ends) - 1, count) if count > 1 else np.zeros(1)
    mixed = [np.interp(steps, np.arange(len(ends)), channel) for channel in known.T]
    return ["#{:02x}{:02x}{:02x}".format(*(int(value + 0.5) for value in color)) for color in zip(*mixed)]


def _pole_colors(positions: Floats, axis: tuple[Pole, Pole]) -> Any:
    """From the second pole to the first, gray between them."""
    import altair as alt

    most = max(float(np.nanmax(np.abs(positions), initial=0.0)), 1e-9)
    first, second = (plain(", ".join(listed(pole))) for pole in axis)
    scale = alt.Scale(domain=[-most, 0.0, most], range=list(_POLE_TO_POLE))
    legend = alt.Legend(title=[f"↑ {first}", f"↓ {second}"], gradientLength=120, format=".1f", tickCount=3, offset=12)
    return alt.Color(field="_color", type="quantitative", scale=scale, legend=legend)


def _draw(plane: Plane, frame: pd.DataFrame, titles: Titles, color: Any, column: str | None) -> Any:
    """Points with their names; with a column, from slice to slice."""
    import altair as alt

    axes = plane.axes(titles)
    count = alt.Size(
        field="_count",
        type="quantitative",
        title="Occurrences",
        scale=alt.Scale(range=[14, _AREA], zero=True),
        legend=alt.Legend(
            orient="right",
            values=_round_values(float(frame["_count"].max())),
            symbolStrokeWidth=0,
            symbolFillColor=MUTED,
        ),
    )
    tips = [tip("_text", "Word"), tip("_count", "Occurrences", ",")]
    points = alt.Chart(records(frame))
    if color is None:
        points = points.mark_circle(opacity=0.45, color=COLORS[0])
    else:
        tips.insert(1, tip("_color", column) if column else tip("_color", "Position", ".2f"))
        points = points.mark_circle(opacity=0.75).encode(color=color)
    layers = [points.encode(**axes, size=count, tooltip=tips), _draw_names(plane, frame).encode(**axes)]
    if column:
        layers.insert(0, _draw_lines(frame).encode(**axes))
    return alt.layer(*layers, width=plane.width, height=plane.height).interactive()


def _draw_lines(frame: pd.DataFrame) -> Any:
    """From slice to slice of each word."""
    import altair as alt

    steps = frame.assign(_order=frame.groupby("_text", sort=False).cumcount())
    return (
        alt.Chart(records(steps))
        .mark_line(color="#b3b3b3", strokeWidth=1)
        .encode(detail=alt.Detail(field="_text", type="nominal"), order=alt.Order(field="_order", type="quantitative"))
    )


def _draw_names(plane: Plane, frame: pd.DataFrame) -> Any:
    """Each word once, where it is most frequent."""
    radius = np.sqrt(_AREA * frame["_count"].to_numpy(np.float64) / max(frame["_count"].max(), 1) / np.pi)
    largest = frame.groupby("_text", sort=False)["_count"].idxmax().to_numpy(np.int64)
    others = np.setdiff1d(np.arange(len(frame)), largest)
    obstacles = plane.pixels(frame[["_x", "_y"]].to_numpy()[others])
    size = 12.0 if len(largest) <= 60 else 10.0
    kept = written(frame.iloc[largest], plane, size, radius=radius[largest], obstacles=obstacles)
    return texts(kept, size, color="#222222")


def _round_values(most: float) -> list[float]:
    """Three counts for a legend, such as 200, 1,000 and 5,000."""
    top = 10.0 ** np.floor(np.log10(max(most, 1.0)))
    top *= max(step for step in (1, 2, 5) if step * top <= max(most, 1.0))
    return sorted({max(1.0, float(np.round(top / part))) for part in (1, 5, 25)})
