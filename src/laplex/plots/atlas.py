"""The words of a slice as a map: who is near whom, in two dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any, Literal

import numpy as np
import pandas as pd

from laplex.errors import InputError
from laplex.plots.chart import COLORS, Chart, finish, records, tip
from laplex.plots.plane import Floats, Plane, component_titles, directed, principal, texts, written
from laplex.progress import say
from laplex.questions.cosine import check_whole
from laplex.vectors import Vectors

_AREA = 260.0  # pixels of the largest point


def map(
    fitted: Vectors,
    words: Sequence[str] | None = None,
    top: int = 300,
    method: Literal["pca", "umap"] = "pca",
    *,
    language: str | None = None,
    width: int = 640,
    height: int = 480,
    **slice: Any,
) -> Chart:
    """The words of a slice in two dimensions: the given ones, or the `top` most frequent there.

    The area of a point is the count of its word. Words are written beside their points as long as there is room, the
    most frequent first; the others are shown under the mouse.
    """
    index = fitted.language(language)
    at = fitted.slice(slice)
    counts = np.asarray(fitted.counts[index][at])
    vocabulary = fitted.rows.vocabularies[index]
    if words is None:
        check_whole("top", top)
        chosen = np.argsort(-counts, kind="stable")[:top]
    else:
        chosen = np.array(fitted.ids(words, index), np.int64)
        chosen = chosen[np.argsort(-counts[chosen], kind="stable")]
    if len(chosen) < 3:
        raise InputError(f"a map needs three words or more, not {len(chosen)}")
    points, titles = _flatten(directed(fitted, chosen.tolist(), index, at), method)
    plane = Plane.around(points, width, height, margin=(56, 24))
    names = [vocabulary.words[i] for i in chosen]
    frame = pd.DataFrame({"_x": points[:, 0], "_y": points[:, 1], "_text": names, "_count": counts[chosen]})
    chart = _draw_points(plane, frame, titles)
    return finish(chart, title=", ".join(fitted.rows.slices.keys[at]) or None)


def _flatten(vectors: Floats, method: str) -> tuple[Floats, tuple[str | None, str | None]]:
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
    layout = make(n_neighbors=near, metric="cosine", init="pca", random_state=0, n_jobs=1).fit_transform(vectors)
    return np.asarray(layout, np.float64), (None, None)


def _draw_points(plane: Plane, frame: pd.DataFrame, titles: tuple[str | None, str | None]) -> Any:
    import altair as alt

    axes = plane.axes(titles)
    count = alt.Size(
        field="_count",
        type="quantitative",
        title="Occurrences",
        scale=alt.Scale(range=[4, _AREA], zero=True),
        legend=alt.Legend(orient="right", values=_round_values(float(frame["_count"].max())), symbolStrokeWidth=0),
    )
    tips = [tip("_text", "Word"), tip("_count", "Occurrences", ",")]
    points = alt.Chart(records(frame)).mark_circle(color=COLORS[0], opacity=0.45)
    radius = np.sqrt(_AREA * frame["_count"].to_numpy() / max(frame["_count"].max(), 1) / np.pi)
    size = 12.0 if len(frame) <= 60 else 10.0
    names = texts(written(frame, plane, size, radius=radius), size, color="#222222")
    chart = alt.layer(points.encode(**axes, size=count, tooltip=tips), names.encode(**axes))
    return chart.properties(width=plane.width, height=plane.height).interactive()


def _round_values(most: float) -> list[float]:
    """Three counts for a legend, such as 200, 1,000 and 5,000."""
    top = 10.0 ** np.floor(np.log10(max(most, 1.0)))
    top *= max(step for step in (1, 2, 5) if step * top <= max(most, 1.0))
    return sorted({max(1.0, float(np.round(top / part))) for part in (1, 5, 25)})
