"""Words by how much they differ: bars in their order, and dots for each group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from laplex.errors import InputError, check_int, quote
from laplex.plots import chart, frames, naming
from laplex.plots.chart import COLORS, Chart, alt, records, title_of
from laplex.plots.series import MAX_PANELS, ZERO_LINE, panels_across

BARS, BARS_IN_PANEL = 40, 15  # in a chart of its own, and in one of several panels
_BAR_PIXELS, ROW_PIXELS = 18, 20
_OFFSET_PIXELS = 11  # of each of several dots of a word that have intervals
_LIGHT_BLUE = "#8CBFDD"  # of a bar behind the line of its interval
_LIGHT_GRAY = "#E0E0E0"
_MAX_PANEL_WIDTH = 300  # pixels, of each of several panels
_COEFFICIENTS_WIDTH = 200  # pixels, of each of several panels
_HOLLOW = f"Hollow: {frames.DOUBTFUL_TEXT}"
_NO_DOT = "no dot: too little text"
_WITH_INTERVAL, _FITTED_ALONE = "with interval", "fitted vectors alone: too little text for an interval"
_OR_MATRIX = ", or draw a matrix"  # of many comparisons
_PANELS_ACROSS = 4  # of dots


def bars(
    frame: Any,
    *,
    x: str | None = None,
    y: str | None = None,
    panels: Sequence[str] | None = None,
    top: int | None = None,
    width: int = 360,
) -> Chart:
    """Draw a bar for each word in the order of the frame, with a line from `lower` to `upper` where it has these.

    Of a table of findings, the rows that do not hold are lighter, and each comparison has a panel of its own. Where
    there is too little text for an interval, a lighter bar is what the fitted vectors alone give.

    Args:
        frame: A table of laplex, such as that of `contrast`, or any other frame (pandas, polars, Arrow).
        x: The column that is drawn. By default the estimate, distance, similarity or position.
        y: The column that names the bars. By default the neighbor or the word.
        panels: Columns for each of whose values there is a panel. By default all that rows differ by.
        top: The number of bars in a panel. By default 40, and 15 if there are several panels.
        width: The width of a panel in pixels.

    Returns:
        A Chart.

    Example:
        >>> chart = bars(pd.DataFrame({"word": ["tax", "war"], "distance": [0.5, 0.3]}))
    """
    given = frames.as_frame(frame)
    frame = frames.with_comparisons(given)
    x = frames.measured_column(frame, x, "x")
    y = frames.check_column(frame, y or ("neighbor" if "neighbor" in frame.columns else frames.WORD), "y")
    top = None if top is None else check_int("top", top)
    if panels is None:
        panels = frames.varying_columns(frame, x, y)
    panel = frames.row_labels(frame, [frames.check_column(frame, name, "panels") for name in panels])
    parts = _check_panels({name: frame[panel == name] for name in frames.distinct_values(panel)}, panels, y)
    top = top or (BARS if len(parts) == 1 else BARS_IN_PANEL)
    shown = pd.concat([part.head(top) for part in parts.values()])
    sure = _sure_bars(shown, x)
    values = np.concatenate([frames.finite_values(shown, x), _fitted_instead(shown, x).dropna()])
    look = _BarLook(
        title=naming.axis_title(frame, x),
        domain=chart.axis_domain(values, zero=True),
        width=width if len(parts) == 1 else min(width, _MAX_PANEL_WIDTH),
        kinds=None if sure is None else sure[0],
    )
    drawn = [_bars(part.head(top), x, y, name, look) for name, part in parts.items()]
    longest = max(map(len, parts.values()))
    subtitle = None if longest <= top else f"The first {top:,} of {longest:,} {title_of(y).lower()}s"
    whole = drawn[0] if len(drawn) == 1 else alt.concat(*drawn, columns=2).resolve_scale(color="shared")
    return chart.finish(whole, given, subtitle=subtitle)


def _check_panels(parts: dict[str, pd.DataFrame], panels: Sequence[str], y: str) -> dict[str, pd.DataFrame]:
    """The rows of each panel, if there are not too many panels, and no bar has two rows."""
    if len(parts) > MAX_PANELS:
        raise InputError(
            f"{len(parts):,} panels, by {quote(panels)}, are too many: choose up to {MAX_PANELS}, or say panels="
            f"{_OR_MATRIX if frames.COMPARISON in panels else ''}"
        )
    for name, part in parts.items():
        if len(duplicates := part[y][part[y].duplicated()]):
            where = f" in {name}" if name else ""
            raise InputError(f'"{duplicates.iloc[0]}" has more than one row{where}: say panels=, or choose rows')
    return parts


class _BarLook(NamedTuple):
    """What all panels of bars share."""

    title: str
    domain: list[float]
    width: int
    kinds: tuple[str, str] | None  # of bars, if there are darker and lighter ones


def _sure_bars(frame: pd.DataFrame, x: str) -> tuple[tuple[str, str], pd.Series] | None:
    """The names of darker and lighter bars, and which bars are darker; None if there is one kind."""
    if frames.holding(frame) is not None:
        return (frames.HOLDS_TEXT, frames.DOUBTFUL_TEXT), frame[frames.HOLDS].astype(bool)
    instead = _fitted_instead(frame, x)
    return ((_WITH_INTERVAL, _FITTED_ALONE), instead.isna()) if instead.notna().any() else None


def _fitted_instead(frame: pd.DataFrame, x: str) -> pd.Series:
    """What the fitted vectors give where there is too little text for an estimate; elsewhere nothing."""
    fitted = next((name for name in ("similarity", "position", "distance") if name in frame.columns), None)
    if x != "estimate" or fitted is None or frames.HOLDS in frame.columns:
        return pd.Series(np.nan, frame.index)
    return pd.Series(frame[fitted].where(frame[x].isna()), frame.index)


def _bars(part: pd.DataFrame, x: str, y: str, panel: str, look: _BarLook) -> Any:
    fields = chart.field_names(part.columns)
    value = part[x].fillna(_fitted_instead(part, x))
    data = part.rename(columns=fields).assign(_y=part[y].astype(str), _value=value)
    color, ink = _LIGHT_BLUE if frames.interval_columns(part) or look.kinds else COLORS[0], alt.value("#000000")
    fill = alt.value(color)
    if look.kinds:
        sure, doubtful = look.kinds
        kinds = _sure_bars(part, x)
        is_sure = pd.Series(True, part.index) if kinds is None else kinds[1]
        data["_holds"] = is_sure.map({True: sure, False: doubtful})
        fill = sure_color(look.kinds, color, _LIGHT_GRAY)
        ink = alt.condition(f"datum._holds === '{sure}'", alt.value("#000000"), alt.value("#8c8c8c"))
    base = alt.Chart(records(data)).encode(
        y=row_axis(data["_y"], domain=look.domain[0] == 0, labelPadding=6, labelLimit=240),
        tooltip=naming.tooltips(part, y),
    )
    axis = alt.Axis(**chart.VALUE_AXIS, labelFlush=False)
    across = alt.X("_value:Q", title=look.title, scale=alt.Scale(domain=look.domain, nice=False), axis=axis)
    layers = [base.mark_bar(height=12).encode(x=across, color=fill)]
    if frames.interval_columns(part):
        ends = {"x": alt.X(f"{fields[frames.LOWER]}:Q"), "x2": alt.X2(field=fields[frames.UPPER])}
        layers.append(base.mark_rule(strokeWidth=1.3).encode(color=ink, **ends))
    return alt.layer(*layers, width=look.width, height=_BAR_PIXELS * len(data), title=panel or alt.Undefined)


def sure_color(kinds: tuple[str, str], sure: str, doubtful: str) -> Any:
    """The colors of rows that hold and of those that do not, with a legend that says so."""
    scale = alt.Scale(domain=list(kinds), range=[sure, doubtful])
    legend = alt.Legend(title=None, orient="top", symbolType="square", symbolOpacity=1, labelLimit=320)
    return alt.Color("_holds:N", scale=scale, legend=legend)


def row_axis(names: pd.Series, **look: Any) -> Any:
    """The axis of words, one below the other, in the order of the frame."""
    scale = alt.Scale(domain=list(dict.fromkeys(names)))
    return alt.Y("_y:N", sort=None, scale=scale, title=None, axis=alt.Axis(ticks=False, **look))


def dots(
    frame: Any,
    *,
    x: str | None = None,
    y: str | None = None,
    color: str | None = None,
    ends: tuple[str, str] | None = None,
    width: int = 480,
) -> Chart:
    """Draw a row for each word in the order of the frame, with a dot for each value of another column.

    Where the frame has columns `lower` and `upper`, each dot has a line of its own, and is hollow if it does not hold;
    else a line joins those of a word. More values than there are colors have a panel each.

    Args:
        frame: A table of laplex, such as that of `project`, or any other frame (pandas, polars, Arrow).
        x: The column that is drawn. By default the estimate, distance, similarity or position.
        y: The column that names the rows. By default the word.
        color: The column whose values are the dots. By default the one that the rows of a word differ by.
        ends: What the left and the right end of the axis mean, such as ("poor", "rich"). By default the poles of a
            table of `project`.
        width: The width in pixels, of all panels together.

    Returns:
        A Chart.

    Example:
        >>> frame = pd.DataFrame({"word": "tax", "party": ["D", "R"], "position": [0.1, 0.4]})
        >>> chart = dots(frame, ends=("poor", "rich"))
    """
    given = frames.as_frame(frame)
    frame = frames.with_comparisons(given)
    x = frames.measured_column(frame, x, "x")
    y = frames.check_column(frame, y or frames.WORD, "y")
    varying = frames.varying_columns(frame, x, y)
    if color is None and len(varying) > 1:
        raise InputError(f"say which column the dots are: color= one of {quote(varying)}")
    color = frames.check_column(frame, color, "color") if color else (varying[0] if varying else None)
    fields = chart.field_names(frame.columns)
    groups = frames.row_labels(frame, [color] if color else [])
    data = frame.rename(columns=fields).assign(_y=frame[y].astype(str), _series=groups, _value=frame[x].to_numpy())
    if len(duplicates := data[data.duplicated(["_y", "_series"])]):
        raise InputError(f'"{duplicates["_y"].iloc[0]}" has more than one row for a dot: choose rows, or say color=')
    left, right = map(chart.escape_title, ends or ("", ""))
    title = f"← {left} · {right} →" if ends else naming.axis_title(frame, x)
    scale = alt.Scale(domain=chart.axis_domain(frames.finite_values(frame, x)), nice=False, zero=False)
    look: dict[str, Any] = chart.VALUE_AXIS | {"gridColor": ZERO_LINE}
    axis: dict[str, Any] = {"title": title, "scale": scale, "axis": alt.Axis(**look)}
    names = frames.distinct_values(frame[color]) if color else [""]
    is_split = len(names) > len(COLORS)
    if len(names) > MAX_PANELS:
        tip = _OR_MATRIX if color == frames.COMPARISON else ""
        raise InputError(f"{len(names):,} panels, by {color}, are too many: choose up to {MAX_PANELS} values{tip}")
    shade: Any = alt.value(COLORS[0])
    if not is_split:
        legend = chart.top_legend(names, width, symbolSize=70) if color else None
        shade = alt.Color("_series:N", scale=chart.color_scale(names), legend=legend)
    data["_holds"] = _are_held(frame)
    base = alt.Chart().encode(y=row_axis(data["_y"], domain=False, labelPadding=8, labelLimit=240))
    height = ROW_PIXELS * data["_y"].nunique()
    tips = naming.tooltips(frame, y)
    intervals = [fields[name] for name in frames.interval_columns(frame)]
    is_doubtful = bool(intervals) and frames.holding(frame) is not None
    if intervals and not is_split:
        # the dots of a word stand below each other, since their intervals would cover each other
        base = base.encode(yOffset=alt.YOffset("_series:N", scale=alt.Scale(domain=names, paddingOuter=0.6)))
        height = max(height, _OFFSET_PIXELS * len(data))
    if intervals:
        layers = _dots_with_intervals(base, axis, intervals, shade, tips, is_doubtful)
    else:
        line = base.mark_rule(color="#8c8c8c", strokeWidth=1.5)
        line = line.encode(x=alt.X("min(_value):Q", **axis), x2=alt.X2("max(_value):Q"))
        dot = base.mark_circle(size=80, opacity=0.95)
        dot = dot.encode(x=alt.X("_value:Q", **axis), color=shade, tooltip=tips)
        layers = [dot] if is_split else [line, dot]
    subtitle = _dot_notes(frame, x, is_doubtful)
    inline = alt.InlineData(**records(data))
    if not is_split:
        return chart.finish(alt.layer(*layers, width=width, height=height, data=inline), given, subtitle=subtitle)
    panel = alt.layer(*layers, width=max(110, width // 3), height=height)
    facet = alt.Facet("_series:N", sort=names, title=None)
    return chart.finish(panel.facet(facet=facet, data=inline, columns=_PANELS_ACROSS), given, subtitle=subtitle)


def _dot_notes(frame: pd.DataFrame, x: str, is_doubtful: bool) -> str | None:
    """What hollow dots, and rows without one, mean."""
    notes = [_HOLLOW if is_doubtful else "", _NO_DOT if frames.untested(frame, x) else ""]
    return chart.sentence(notes)


def _are_held(frame: pd.DataFrame) -> pd.Series:
    """Which rows hold; all of them in a frame that does not say."""
    return frame[frames.HOLDS].astype(bool) if frames.HOLDS in frame.columns else pd.Series(True, frame.index)


def _dots_with_intervals(
    base: Any, axis: dict[str, Any], ends: Sequence[str], color: Any, tips: list[Any], is_doubtful: bool
) -> list[Any]:
    """Dots at `_value`, each on the line of its interval; those of rows that do not hold are hollow on a faint line."""
    low, high = ends
    line = base.mark_rule(strokeWidth=1.5).encode(x=alt.X(f"{low}:Q", **axis), x2=alt.X2(field=high), color=color)
    strength = alt.condition("datum._holds", alt.value(0.7), alt.value(0.4 if is_doubtful else 0.7))
    dot = base.mark_circle(size=50, opacity=1).encode(x=alt.X("_value:Q", **axis), color=color, tooltip=tips)
    layers = [line.encode(opacity=strength), dot]
    if is_doubtful:
        hollow = base.transform_filter("!datum._holds").mark_circle(size=20, opacity=1, color="#ffffff")
        layers.append(hollow.encode(x=alt.X("_value:Q", **axis), tooltip=tips))
    return layers


def coefficients(frame: Any, *, x: str | None = None, width: int = 360) -> Chart:
    """Draw the coefficients of words in a regression: a row for each term and level, with a dot and its interval.

    Those that are not shown to hold are hollow. Several words have a panel each. All columns of a term together are
    "all levels" of a factor.

    Args:
        frame: The table of `regress` for up to twelve words.
        x: The column that is drawn. By default the estimate.
        width: The width of a panel in pixels.

    Returns:
        A Chart.

    Example:
        >>> estimates = {"estimate": [0.5, 0.3], "lower": [0.2, 0.0], "upper": [0.8, 0.6], "holds": [True, False]}
        >>> frame = pd.DataFrame({"word": "tax", "term": ["party", "year"], "level": ["R", ""], **estimates})
        >>> chart = coefficients(frame)
    """
    given = frames.as_frame(frame)
    if not frames.is_regression(given):
        raise InputError(f"this is no table of a regression: it has no term and level, but {quote(given.columns, 12)}")
    frame = frames.with_comparisons(given)
    x = frames.measured_column(frame, x, "x")
    words = list(dict.fromkeys(frame[frames.check_column(frame, frames.WORD, "word")].astype(str)))
    if len(words) > MAX_PANELS:
        raise InputError(f"{len(words):,} words are too many: choose up to {MAX_PANELS}, or draw a volcano")
    if len(duplicates := frame[frame.duplicated([frames.WORD, frames.COMPARISON])]):
        row = duplicates.iloc[0]
        raise InputError(f'"{row[frames.WORD]}" has more than one row for {row[frames.COMPARISON]}: choose rows')
    fields = chart.field_names(frame.columns)
    rows = frames.distinct_values(frame[frames.COMPARISON])
    columns = {"_y": frame[frames.COMPARISON].astype(str), "_panel": frame[frames.WORD].astype(str)}
    data = frame.rename(columns=fields).assign(**columns, _value=frame[x], _holds=_are_held(frame))
    scale = alt.Scale(domain=chart.axis_domain(frames.finite_values(frame, x), zero=True), nice=False)
    axis: dict[str, Any] = {
        "title": naming.axis_title(frame, x),
        "scale": scale,
        "axis": alt.Axis(**chart.VALUE_AXIS | {"tickCount": 4}, gridColor=ZERO_LINE, labelFlush=False),
    }
    base = alt.Chart().encode(y=row_axis(pd.Series(rows), domain=False, labelPadding=8, labelLimit=280))
    is_doubtful = frames.holding(frame) is not None
    ends = [fields[name] for name in frames.interval_columns(frame) or [x, x]]
    tips = naming.tooltips(frame, frames.WORD)
    layers = _dots_with_intervals(base, axis, ends, alt.value(COLORS[0]), tips, is_doubtful)
    subtitle, height = _dot_notes(frame, x, is_doubtful), ROW_PIXELS * len(rows)
    inline = alt.InlineData(**records(data))
    if len(words) == 1:
        return chart.finish(alt.layer(*layers, width=width, height=height, data=inline), given, words[0], subtitle)
    panel = alt.layer(*layers, width=min(width, _COEFFICIENTS_WIDTH), height=height)
    facet = alt.Facet("_panel:N", sort=words, title=None)
    return chart.finish(
        panel.facet(facet=facet, data=inline, columns=panels_across(len(words))), given, subtitle=subtitle
    )
