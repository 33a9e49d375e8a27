"""Bars: words by how much something differs, the first at the top."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from laplex.errors import InputError, quote, whole
from laplex.plots import columns as which
from laplex.plots.chart import COLORS, Chart, finish, plain, records, tame, title_of, tooltips
from laplex.plots.series import PANELS

_STEP = 18  # pixels a bar
_LIGHT = "#8CBFDD"  # a bar behind the line of its interval


def bars(
    frame: Any,
    *,
    x: str | None = None,
    y: str | None = None,
    panels: Sequence[str] | None = None,
    top: int = 40,
    width: int = 360,
) -> Chart:
    """Words and what a frame measures of them, as bars in the order of the frame, with `lower` and `upper` as a line.

    x       the column drawn, by default the distance, similarity or position
    y       the column that names the bars, by default the neighbor or the word
    panels  columns whose values have bars of their own, side by side; by default all that rows differ by
    top     the bars drawn of each
    """
    frame = which.table(frame)
    x = which.measure(frame, x, "x")
    y = which.check(frame, y or ("neighbor" if "neighbor" in frame.columns else which.WORD), "y")
    top = whole("top", top)
    chosen = _panel_columns(frame, x, y) if panels is None else [which.check(frame, name, "panels") for name in panels]
    panel = which.label(frame, chosen)
    parts = {name: frame[panel == name] for name in which.ordered(panel)}
    if len(parts) > PANELS:
        raise InputError(
            f"{len(parts):,} panels, by {quote(chosen)}, are too many: choose up to {PANELS}, or say panels="
        )
    for name, part in parts.items():
        twice = part[y][part[y].duplicated()]
        if len(twice):
            where = f" in {name}" if name else ""
            raise InputError(f'"{twice.iloc[0]}" has more than one row{where}: say panels=, or choose rows')
    title = plain(which.axis_title(frame, x, title_of(x)))
    domain = _domain(pd.concat([part.head(top) for part in parts.values()]), x)
    drawn = [_bars(part.head(top), x, y, name, title, domain, width) for name, part in parts.items()]
    longest = max(map(len, parts.values()))
    subtitle = None if longest <= top else f"The first {top:,} of {longest:,} {title_of(y).lower()}s"
    return finish(_side_by_side(drawn), subtitle=subtitle)


def _panel_columns(frame: pd.DataFrame, x: str, y: str) -> list[str]:
    return [name for name in which.keys(frame, x) if name != y and frame[name].nunique(dropna=False) > 1]


def _domain(frame: pd.DataFrame, x: str) -> list[float]:
    values = which.drawn_values(frame, x)
    low, high = min(0.0, float(values.min())), max(0.0, float(values.max()))
    return [1.04 * low, 1.04 * high] if high > low else [0.0, 1.0]


def _bars(part: pd.DataFrame, x: str, y: str, panel: str, title: str, domain: list[float], width: int) -> Any:
    import altair as alt

    names = tame(part.columns)
    shown = [y, *(name for name in part.columns if name != y)]
    data = part.rename(columns=names).assign(_y=part[y].astype(str))
    scale = alt.Scale(domain=domain, nice=False)
    axis = alt.Axis(grid=True, domain=False, ticks=False, tickCount=5, labelFlush=False)
    order = data["_y"].tolist()
    base = alt.Chart(records(data)).encode(
        y=alt.Y(
            field="_y",
            type="nominal",
            sort=None,
            scale=alt.Scale(domain=order),
            title=None,
            axis=alt.Axis(domain=domain[0] == 0, ticks=False, labelPadding=6, labelLimit=240),
        ),
        tooltip=tooltips(part, shown, names),
    )
    interval = which.has_interval(part)
    wide = alt.X(field=names[x], type="quantitative", title=title, scale=scale, axis=axis)
    layers: list[Any] = [base.mark_bar(color=_LIGHT if interval else COLORS[0], height=12).encode(x=wide)]
    if interval:
        ends = {"x": alt.X(field=names[which.LOWER], type="quantitative"), "x2": alt.X2(field=names[which.UPPER])}
        layers.append(base.mark_rule(color="#000000", strokeWidth=1.3).encode(**ends))
    return alt.layer(*layers, width=width, height=_STEP * len(order), title=panel or alt.Undefined)


def _side_by_side(drawn: list[Any]) -> Any:
    import altair as alt

    return drawn[0] if len(drawn) == 1 else alt.concat(*drawn, columns=2)
