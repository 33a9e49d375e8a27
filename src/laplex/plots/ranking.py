"""Words by how much they differ: bars in their order, and dots for each group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import pandas as pd

from laplex.errors import InputError, check_int, quote
from laplex.plots import chart, frames
from laplex.plots.chart import COLORS, Chart, alt, records, title_of
from laplex.plots.series import MAX_PANELS

BARS, BARS_IN_PANEL = 40, 15  # in a chart of its own, and in one of several panels
_BAR_PIXELS, _ROW_PIXELS = 18, 20
_OFFSET_PIXELS = 11  # of each of several dots of a word that have intervals
_LIGHT_BLUE = "#8CBFDD"  # of a bar behind the line of its interval
_LIGHT_GRAY = "#E0E0E0"
_MAX_PANEL_WIDTH = 300  # pixels, of each of several panels


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

    Of a table of findings, the rows that do not hold are lighter, and each comparison has a panel of its own.

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
    look = _BarLook(
        title=frames.axis_title(frame, x),
        domain=chart.axis_domain(frames.finite_values(shown, x), zero=True),
        width=width if len(parts) == 1 else min(width, _MAX_PANEL_WIDTH),
        has_legend=frames.holding(shown) is not None,
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
    has_legend: bool


def _bars(part: pd.DataFrame, x: str, y: str, panel: str, look: _BarLook) -> Any:
    fields = chart.field_names(part.columns)
    data = part.rename(columns=fields).assign(_y=part[y].astype(str))
    color, ink = _LIGHT_BLUE if frames.interval_columns(part) else COLORS[0], alt.value("#000000")
    fill = alt.value(color)
    if look.has_legend:
        data["_holds"] = part[frames.HOLDS].astype(bool).map({True: frames.HOLDS_TEXT, False: frames.DOUBTFUL_TEXT})
        fill = holds_color(color, _LIGHT_GRAY)
        ink = alt.condition(f"datum._holds === '{frames.HOLDS_TEXT}'", alt.value("#000000"), alt.value("#8c8c8c"))
    base = alt.Chart(records(data)).encode(
        y=_row_axis(data["_y"], domain=look.domain[0] == 0, labelPadding=6, labelLimit=240),
        tooltip=word_first_tooltips(part, y),
    )
    axis = alt.Axis(**chart.VALUE_AXIS, labelFlush=False)
    across = alt.X(f"{fields[x]}:Q", title=look.title, scale=alt.Scale(domain=look.domain, nice=False), axis=axis)
    layers = [base.mark_bar(height=12).encode(x=across, color=fill)]
    if frames.interval_columns(part):
        ends = {"x": alt.X(f"{fields[frames.LOWER]}:Q"), "x2": alt.X2(field=fields[frames.UPPER])}
        layers.append(base.mark_rule(strokeWidth=1.3).encode(color=ink, **ends))
    return alt.layer(*layers, width=look.width, height=_BAR_PIXELS * len(data), title=panel or alt.Undefined)


def holds_color(sure: str, doubtful: str) -> Any:
    """The colors of rows that hold and of those that do not, with a legend that says so."""
    scale = alt.Scale(domain=[frames.HOLDS_TEXT, frames.DOUBTFUL_TEXT], range=[sure, doubtful])
    legend = alt.Legend(title=None, orient="top", symbolType="square", symbolOpacity=1)
    return alt.Color("_holds:N", scale=scale, legend=legend)


def _row_axis(names: pd.Series, **look: Any) -> Any:
    """The axis of words, one below the other, in the order of the frame."""
    scale = alt.Scale(domain=list(dict.fromkeys(names)))
    return alt.Y("_y:N", sort=None, scale=scale, title=None, axis=alt.Axis(ticks=False, **look))


def word_first_tooltips(frame: pd.DataFrame, word: str) -> list[Any]:
    """A tooltip with all columns of a frame, beginning with the word."""
    others = (name for name in frame.columns if name not in (word, frames.COMPARISON))
    return chart.tooltips(frame, [word, *others])


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

    Where the frame has columns `lower` and `upper`, each dot has a line of its own; else a line joins those of a word.

    Args:
        frame: A table of laplex, such as that of `project`, or any other frame (pandas, polars, Arrow).
        x: The column that is drawn. By default the estimate, distance, similarity or position.
        y: The column that names the rows. By default the word.
        color: The column whose values are the dots. By default the one that the rows of a word differ by.
        ends: What the left and the right end of the axis mean, such as ("poor", "rich").
        width: The width in pixels.

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
    title = f"← {left} · {right} →" if ends else frames.axis_title(frame, x)
    scale = alt.Scale(domain=chart.axis_domain(frames.finite_values(frame, x)), nice=False, zero=False)
    axis: dict[str, Any] = {"title": title, "scale": scale, "axis": alt.Axis(**chart.VALUE_AXIS)}
    names = frames.distinct_values(frame[color]) if color else [""]
    legend = alt.Legend(title=None, orient="top", symbolOpacity=1) if color else None
    shade = alt.Color("_series:N", scale=chart.color_scale(names), legend=legend)
    base = alt.Chart(records(data)).encode(y=_row_axis(data["_y"], domain=False, labelPadding=8, labelLimit=200))
    height = _ROW_PIXELS * data["_y"].nunique()
    if intervals := frames.interval_columns(frame):
        # the dots of a word stand below each other, since their intervals would cover each other
        base = base.encode(yOffset=alt.YOffset("_series:N", scale=alt.Scale(domain=names, paddingOuter=0.6)))
        low, high = (fields[name] for name in intervals)
        line = base.mark_rule(strokeWidth=1.5, opacity=0.6)
        line = line.encode(x=alt.X(f"{low}:Q", **axis), x2=alt.X2(field=high), color=shade)
        height = max(height, _OFFSET_PIXELS * len(data))
    else:
        line = base.mark_rule(color="#8c8c8c", strokeWidth=1.5)
        line = line.encode(x=alt.X("min(_value):Q", **axis), x2=alt.X2("max(_value):Q"))
    dot = base.mark_circle(size=80 if not intervals else 50, opacity=0.95)
    dot = dot.encode(x=alt.X("_value:Q", **axis), color=shade, tooltip=word_first_tooltips(frame, y))
    return chart.finish(alt.layer(line, dot, width=width, height=height), given)
