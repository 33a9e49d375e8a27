"""Groups at a glance: words by several groups, and the neighbors that a word has in one group or in both."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from laplex.errors import InputError, check_int, quote
from laplex.plots import chart, frames, naming
from laplex.plots.chart import COLORS, MUTED, Chart, alt, records
from laplex.plots.ranking import ROW_PIXELS, row_axis

_CELL_PIXELS = 44  # the least width of a column
_LARGEST_DOT = 250.0  # square pixels
_MAX_GROUPS = 40
_UNSURE = "#b3b3b3"
_RATIOS = (0.1, 0.2, 0.33, 0.5, 0.67, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0)
_NEIGHBOR_TEXTS = 8  # neighbors without a ratio that are named


def matrix(frame: Any, *, top: int = 30, width: int | None = None) -> Chart:
    """Draw how words differ in each of several groups: a row for each word, a column for each group.

    The area of a dot is the size of the difference. Dots of differences that hold are filled with a color, others are
    gray rings; where there is too little text, there is none. Negative differences have another color. Of many words,
    the first that hold in each group are drawn, beside each other.

    Args:
        frame: The table of `contrast` with against="rest", of `project` across a column, or any other table with the
            columns word, value and estimate.
        top: The number of words, an equal share of them for each group.
        width: The width in pixels. By default that which the groups need.

    Returns:
        A Chart.

    Example:
        >>> found = {"estimate": [0.5, 0.3], "holds": [True, False]}
        >>> chart = matrix(pd.DataFrame({"word": "tax", "value": ["north", "south"], "against": "rest", **found}))
    """
    given = frames.as_frame(frame)
    x, top = frames.measured_column(given, None, "frame"), check_int("top", top)
    for column in (frames.WORD, frames.VALUE):
        frames.check_column(given, column, column)
    if len(duplicates := given[given.duplicated([frames.WORD, frames.VALUE])]):
        row = duplicates.iloc[0]
        raise InputError(f'"{row[frames.WORD]}" has more than one row for {row[frames.VALUE]}: choose rows')
    groups = frames.distinct_values(given.loc[given[x].notna(), frames.VALUE])
    if len(groups) > _MAX_GROUPS:
        raise InputError(f"{len(groups):,} groups are too many: choose up to {_MAX_GROUPS} values")
    holds = given[frames.HOLDS].astype(bool) if frames.HOLDS in given.columns else pd.Series(True, given.index)
    # a group in which no word has enough text has no column
    table = given.assign(_size=given[x].abs(), _holds=holds & given[x].notna())
    words = _words_by_group(table, groups, top)
    table = table[table[frames.WORD].isin(words) & table[frames.VALUE].astype(str).isin(groups)]
    notes = [] if len(words) == given[frames.WORD].nunique() else [_of_words(given, words)]
    notes += [] if table["_holds"].all() else ["Gray ring: not shown to hold"]
    is_full = len(table) == len(words) * len(groups) and table[x].notna().all()
    notes += [] if is_full else ["No dot: too little text"]
    fields = chart.field_names(given.columns)
    data = table.rename(columns=fields).assign(
        _y=table[frames.WORD].astype(str),
        _x=table[frames.VALUE].astype(str),
        _kind=np.where(table["_holds"], np.where(table[x] < 0, "less", "more"), "not shown to hold"),
    )
    columns_width = width or max(_CELL_PIXELS * len(groups), 120)
    fits = all(chart.text_width(name, chart.FONT_SIZE) < columns_width / len(groups) - 6 for name in groups)
    look = alt.Axis(orient="top", labelAngle=0 if fits else -40, ticks=False, domain=False, labelPadding=6, grid=True)
    against = list(table[frames.AGAINST].unique()) if frames.AGAINST in table.columns else []
    title = f"Compared with {frames.name_of_side(str(against[0]))}" if len(against) == 1 else None
    scale = alt.Scale(domain=groups)
    largest = float(data["_size"].max())
    sizes = alt.Scale(domain=[0, largest], range=[0, _LARGEST_DOT])
    shown = _round_sizes(largest)
    size_title = naming.axis_title(given.drop(columns=[frames.AGAINST], errors="ignore"), x)
    ring: dict[str, Any] = {"symbolStrokeColor": MUTED, "symbolStrokeWidth": 1.2}
    legend = alt.Legend(title=size_title, orient="bottom", values=shown, format="~g", **ring)
    colors = alt.Scale(domain=["more", "less", "not shown to hold"], range=[COLORS[0], COLORS[1], _UNSURE])
    marks = alt.Chart(records(data)).mark_point(opacity=1, strokeWidth=1.2)
    marks = marks.encode(
        x=alt.X("_x:N", sort=None, scale=scale, title=title, axis=look),
        y=row_axis(pd.Series(words), domain=False, labelPadding=8, labelLimit=240, grid=True),
        size=alt.Size("_size:Q", scale=sizes, legend=legend),
        stroke=alt.Stroke("_kind:N", scale=colors, legend=None),
        fill=alt.condition("datum._holds", alt.Fill("_kind:N", scale=colors, legend=None), alt.value("transparent")),
        tooltip=naming.tooltips(frames.with_comparisons(table.drop(columns=["_size", "_holds"])), frames.WORD),
    )
    drawn = marks.properties(width=columns_width, height=ROW_PIXELS * len(words))
    return chart.finish(drawn, given, subtitle=notes or None)


def _words_by_group(table: pd.DataFrame, groups: list[str], top: int) -> list[str]:
    """Up to `top` words, those that hold in each group in turn, in the order of the groups where they differ most."""
    first = table[table["_holds"]] if table["_holds"].any() else table
    turns = first.assign(_turn=first.groupby(frames.VALUE, observed=True).cumcount()).sort_values(
        "_turn", kind="stable"
    )
    words = list(dict.fromkeys(turns[frames.WORD]))
    if len(words) < top:  # then the others, which do not hold
        words = list(dict.fromkeys([*words, *table[frames.WORD]]))
    chosen = table[table[frames.WORD].isin(words[:top])].sort_values(["_holds", "_size"], ascending=False)
    best = chosen.drop_duplicates(frames.WORD)
    place = best[frames.VALUE].astype(str).map({name: number for number, name in enumerate(groups)})
    order = best.assign(_place=place).sort_values(["_place", "_holds", "_size"], ascending=[True, False, False])
    return [str(word) for word in order[frames.WORD]]


def _of_words(frame: pd.DataFrame, words: list[str]) -> str:
    return f"{len(words):,} of {frame[frames.WORD].nunique():,} words, the first in each group"


def _round_sizes(largest: float) -> list[float]:
    """Two or three round numbers up to the largest."""
    rounded = chart.round_counts(largest / 12, largest)
    return rounded[-3:] if rounded else [largest]


def neighbor_ratio(frame: Any, *, width: int = 360) -> Chart:
    """Draw which neighbors of a word belong to one group: the ratio of their similarities to it in both groups.

    Right of one, a neighbor is nearer in the first group, left of it in the second; colors say in which group it is
    among the nearest. Lines are intervals, and dots are hollow where the ratio is not shown to differ from one.

    Args:
        frame: The table of `neighbor_ratio`.
        width: The width in pixels.

    Returns:
        A Chart.

    Example:
        >>> found = {"estimate": [1.5, 0.8], "lower": [1.1, 0.5], "upper": [2.0, 1.3], "holds": [True, False]}
        >>> sides = {"value": "D", "against": "R", "nearest_in": ["D", "both"]}
        >>> chart = neighbor_ratio(pd.DataFrame({"word": "tax", "neighbor": ["cut", "rate"], **sides, **found}))
    """
    given = frames.as_frame(frame)
    needed = ["word", "neighbor", "value", "against", "nearest_in", "estimate", "lower", "upper", "holds"]
    if missing := [name for name in needed if name not in given.columns]:
        raise InputError(f"this is no table of neighbor_ratio: it has no column {quote(missing)}")
    if (several := given[["word", "value", "against"]].drop_duplicates()).shape[0] > 1:
        raise InputError(f"a chart is of one word and two groups, not of {len(several)}: choose rows")
    table = given[given["estimate"].notna()].sort_values("estimate", ascending=False, kind="stable")
    if table.empty:
        raise InputError("no neighbor has enough text in both groups: there is nothing to draw")
    word, one = (str(given[name].iloc[0]) for name in ("word", "value"))
    two = frames.name_of_side(str(given["against"].iloc[0]))
    kinds = {one: f"nearest in {one}", "both": "in both", str(given["against"].iloc[0]): f"nearest in {two}"}
    data = table.rename(columns=chart.field_names(given.columns)).assign(
        _y=table["neighbor"].astype(str), _side=table["nearest_in"].map(kinds), _holds=table["holds"].astype(bool)
    )
    values = frames.finite_values(table, "estimate")
    domain = chart.axis_domain(np.append(values, 1.0), log=True)
    ticks = [value for value in _RATIOS if domain[0] <= value <= domain[1]]
    line = {"condition": {"test": "datum.value === 1", "value": "#8c8c8c"}, "value": "#ebebeb"}
    axis = alt.Axis(**chart.VALUE_AXIS | {"values": ticks, "format": "~g", "gridColor": line, "labelOverlap": True})
    title = chart.escape_title(f"← {two} · ratio of similarities to {word} · {one} →")
    x = {"title": title, "scale": alt.Scale(type="log", domain=domain, nice=False), "axis": axis}
    scale = alt.Scale(domain=list(kinds.values()), range=[COLORS[0], MUTED, COLORS[1]])
    legend = chart.top_legend(list(kinds.values()), width, symbolSize=70)
    color = alt.Color("_side:N", scale=scale, legend=legend)
    base = alt.Chart(records(data)).encode(y=row_axis(data["_y"], domain=False, labelPadding=8, labelLimit=240))
    tips = naming.tooltips(frames.with_comparisons(table), "neighbor")
    rule = base.mark_rule(strokeWidth=1.5, opacity=0.7)
    layers = [
        rule.encode(x=alt.X("lower:Q", **x), x2=alt.X2(field="upper"), color=color),
        base.mark_circle(size=56, opacity=1).encode(x=alt.X("estimate:Q", **x), color=color, tooltip=tips),
    ]
    notes = []
    if not data["_holds"].all():
        hollow = base.transform_filter("!datum._holds").mark_circle(size=20, opacity=1, color="#ffffff")
        layers.append(hollow.encode(x=alt.X("estimate:Q", **x), tooltip=tips))
        notes.append("hollow: not shown to differ from 1")
    subtitle = [chart.sentence(notes) or "", *_without_ratio(given, {one: one, str(given["against"].iloc[0]): two})]
    whole = alt.layer(*layers, width=width, height=ROW_PIXELS * len(data))
    return chart.finish(whole, given, chart.escape_title(word), [line for line in subtitle if line] or None)


def _without_ratio(table: pd.DataFrame, names: dict[str, str]) -> list[str]:
    """Which neighbors in one group have too little text in the other, a line for each group."""
    lines = []
    for value, name in names.items():
        words = table.loc[table["estimate"].isna() & (table["nearest_in"] == value), "neighbor"].astype(str).tolist()
        if words:
            more = ", …" if len(words) > _NEIGHBOR_TEXTS else ""
            listed = chart.escape_title(", ".join(words[:_NEIGHBOR_TEXTS]))
            lines.append(f"Nearest in {name}, without enough text for a ratio: {listed}{more}")
    return lines
