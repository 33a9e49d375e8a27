"""Dots: where words stand on a line, for each group beside the other."""

from __future__ import annotations

from typing import Any

from laplex.errors import InputError, quote
from laplex.plots import columns as which
from laplex.plots.chart import COLORS, Chart, finish, plain, records, tame, title_of, tooltips

_STEP = 20  # pixels a word


def dots(
    frame: Any,
    *,
    x: str | None = None,
    y: str | None = None,
    color: str | None = None,
    ends: tuple[str, str] | None = None,
    width: int = 480,
) -> Chart:
    """A row of dots for each word, in the order of the frame: what it measures for each value of another column.

    x      the column drawn, by default the position, distance or similarity
    y      the column that names the rows, by default the word
    color  the column whose values are the dots, by default the one that rows of a word differ by
    ends   what the left and the right of the chart mean
    """
    import altair as alt

    frame = which.table(frame)
    x = which.measure(frame, x, "x")
    y = which.check(frame, y or which.WORD, "y")
    varying = [name for name in which.keys(frame, x) if name != y and frame[name].nunique(dropna=False) > 1]
    if color is None and len(varying) > 1:
        raise InputError(f"say which column the dots are: color= one of {quote(varying)}")
    color = which.check(frame, color, "color") if color else (varying[0] if varying else None)
    names = tame(frame.columns)
    label = which.label(frame, [color] if color else [])
    data = frame.rename(columns=names).assign(_y=frame[y].astype(str), _series=label)
    twice = data[data.duplicated(["_y", "_series"])]
    if len(twice):
        raise InputError(f'"{twice["_y"].iloc[0]}" has more than one row for a dot: choose rows, or say color=')
    order = list(dict.fromkeys(data["_y"]))
    values = which.drawn_values(frame, x)
    low, high = float(values.min()), float(values.max())
    margin = 0.06 * (high - low) or 0.1
    title = plain(which.axis_title(frame, x, title_of(x)))
    title = f"← {plain(ends[0])} · {plain(ends[1])} →" if ends else title
    axis = alt.Axis(grid=True, ticks=False, domain=False, tickCount=5)
    scale = alt.Scale(domain=[low - margin, high + margin], nice=False, zero=False)
    rows = alt.Axis(ticks=False, domain=False, labelPadding=8, labelLimit=200)
    base = alt.Chart(records(data)).encode(
        y=alt.Y(field="_y", type="nominal", sort=None, scale=alt.Scale(domain=order), title=None, axis=rows)
    )
    groups = which.ordered(frame[color]) if color else [""]
    legend = alt.Legend(title=None, orient="top", symbolOpacity=1) if color else None
    colors = alt.Scale(domain=groups, range=[COLORS[i % len(COLORS)] for i in range(len(groups))])
    reach = {"x": alt.X("min(_value):Q", title=title, scale=scale, axis=axis), "x2": alt.X2("max(_value):Q")}
    shown = [y, *(name for name in frame.columns if name != y)]
    data_x = data.assign(_value=frame[x].to_numpy())
    base = base.properties(data=alt.InlineData(**records(data_x)))
    line = base.mark_rule(color="#8c8c8c", strokeWidth=1.5).encode(**reach)
    dot = base.mark_circle(size=80, opacity=0.95).encode(
        x=alt.X(field="_value", type="quantitative", title=title, scale=scale, axis=axis),
        color=alt.Color(field="_series", type="nominal", scale=colors, legend=legend),
        tooltip=tooltips(frame, shown, names),
    )
    return finish(alt.layer(line, dot, width=width, height=_STEP * len(order)))
