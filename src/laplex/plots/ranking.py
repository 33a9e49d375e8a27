"""Words by how much they differ: bars in their order, dots for each group, and difference against evidence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from laplex.errors import InputError, check_int, quote
from laplex.plots import chart, frames
from laplex.plots.chart import COLORS, Chart, alt, records, title_of
from laplex.plots.series import MAX_PANELS

SIGNIFICANCE_LEVEL = 0.05  # of the adjusted p
MIN_P = 1e-16  # smaller p are drawn at the same height
_BAR_PIXELS, _ROW_PIXELS = 18, 20
_LIGHT_BLUE = "#8CBFDD"  # of a bar behind the line of its interval
_GRAY = "#B3B3B3"


def bars(
    frame: Any,
    *,
    x: str | None = None,
    y: str | None = None,
    panels: Sequence[str] | None = None,
    top: int = 40,
    width: int = 360,
) -> Chart:
    """Draw a bar for each word in the order of the frame, with a line from `lower` to `upper` where it has these.

    Args:
        frame: A table of laplex, such as that of `contrast`, or any other frame (pandas, polars, Arrow).
        x: The column that is drawn. By default the distance, similarity, position or estimate.
        y: The column that names the bars. By default the neighbor or the word.
        panels: Columns for each of whose values there is a panel. By default all that rows differ by.
        top: The number of bars in a panel.
        width: The width of a panel in pixels.

    Returns:
        A Chart.

    Example:
        >>> chart = bars(pd.DataFrame({"word": ["tax", "war"], "distance": [0.5, 0.3]}))
    """
    frame = frames.as_frame(frame)
    x = frames.measured_column(frame, x, "x")
    y = frames.check_column(frame, y or ("neighbor" if "neighbor" in frame.columns else frames.WORD), "y")
    top = check_int("top", top)
    if panels is None:
        panels = frames.varying_columns(frame, x, y)
    panel = frames.row_labels(frame, [frames.check_column(frame, name, "panels") for name in panels])
    parts = {name: frame[panel == name] for name in frames.distinct_values(panel)}
    if len(parts) > MAX_PANELS:
        raise InputError(
            f"{len(parts):,} panels, by {quote(panels)}, are too many: choose up to {MAX_PANELS}, or say panels="
        )
    for name, part in parts.items():
        if len(duplicates := part[y][part[y].duplicated()]):
            where = f" in {name}" if name else ""
            raise InputError(f'"{duplicates.iloc[0]}" has more than one row{where}: say panels=, or choose rows')
    shown = pd.concat([part.head(top) for part in parts.values()])
    domain = chart.axis_domain(frames.finite_values(shown, x), zero=True)
    title = frames.axis_title(frame, x)
    drawn = [_bars(part.head(top), x, y, name, title, domain, width) for name, part in parts.items()]
    longest = max(map(len, parts.values()))
    subtitle = None if longest <= top else f"The first {top:,} of {longest:,} {title_of(y).lower()}s"
    return chart.finish(drawn[0] if len(drawn) == 1 else alt.concat(*drawn, columns=2), frame, subtitle=subtitle)


def _bars(part: pd.DataFrame, x: str, y: str, panel: str, title: str, domain: list[float], width: int) -> Any:
    fields = chart.field_names(part.columns)
    data = part.rename(columns=fields).assign(_y=part[y].astype(str))
    base = alt.Chart(records(data)).encode(
        y=_row_axis(data["_y"], domain=domain[0] == 0, labelPadding=6, labelLimit=240),
        tooltip=_word_first_tooltips(part, y),
    )
    axis = alt.Axis(**chart.VALUE_AXIS, labelFlush=False)
    intervals = frames.interval_columns(part)
    across = alt.X(f"{fields[x]}:Q", title=title, scale=alt.Scale(domain=domain, nice=False), axis=axis)
    layers = [base.mark_bar(color=_LIGHT_BLUE if intervals else COLORS[0], height=12).encode(x=across)]
    if intervals:
        ends = {"x": alt.X(f"{fields[frames.LOWER]}:Q"), "x2": alt.X2(field=fields[frames.UPPER])}
        layers.append(base.mark_rule(color="#000000", strokeWidth=1.3).encode(**ends))
    return alt.layer(*layers, width=width, height=_BAR_PIXELS * len(data), title=panel or alt.Undefined)


def _row_axis(names: pd.Series, **look: Any) -> Any:
    """The axis of words, one below the other, in the order of the frame."""
    scale = alt.Scale(domain=list(dict.fromkeys(names)))
    return alt.Y("_y:N", sort=None, scale=scale, title=None, axis=alt.Axis(ticks=False, **look))


def _word_first_tooltips(frame: pd.DataFrame, word: str) -> list[Any]:
    return chart.tooltips(frame, [word, *(name for name in frame.columns if name != word)])


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

    Args:
        frame: A table of laplex, such as that of `project`, or any other frame (pandas, polars, Arrow).
        x: The column that is drawn. By default the distance, similarity, position or estimate.
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
    frame = frames.as_frame(frame)
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
    colors = chart.color_scale(frames.distinct_values(frame[color]) if color else [""])
    legend = alt.Legend(title=None, orient="top", symbolOpacity=1) if color else None
    base = alt.Chart(records(data)).encode(y=_row_axis(data["_y"], domain=False, labelPadding=8, labelLimit=200))
    line = base.mark_rule(color="#8c8c8c", strokeWidth=1.5)
    line = line.encode(x=alt.X("min(_value):Q", **axis), x2=alt.X2("max(_value):Q"))
    dot = base.mark_circle(size=80, opacity=0.95).encode(
        x=alt.X("_value:Q", **axis),
        color=alt.Color("_series:N", scale=colors, legend=legend),
        tooltip=_word_first_tooltips(frame, y),
    )
    return chart.finish(alt.layer(line, dot, width=width, height=_ROW_PIXELS * data["_y"].nunique()), frame)


def volcano(
    frame: Any, *, x: str | None = None, labels: int = 30, most: int = 3_000, width: int = 620, height: int = 400
) -> Chart:
    """Draw every word by the size of its difference and by the evidence for it.

    With tests in the frame (a column p) the height is −log10 p, and words whose adjusted p is above 0.05 are gray.
    Without, it is how often the word occurs where it is rarer, since few occurrences make large distances by chance.

    Args:
        frame: The table of `contrast`, or another frame with words and p or counts.
        x: The column across. By default the estimate or distance.
        labels: How many words at most are written beside their points; each is written only where there is room.
        most: Of more words than this, those with the largest differences are drawn.
        width: The width in pixels.
        height: The height in pixels.

    Returns:
        A Chart. A click on a point selects its word (the selection "picked" of the Altair chart).

    Example:
        >>> frame = pd.DataFrame({"word": ["tax", "war"], "estimate": [0.5, 0.3], "p": [0.001, 0.2]})
        >>> chart = volcano(frame)
    """
    frame = frames.as_frame(frame)
    x = frames.measured_column(frame, x, "x")
    frames.check_column(frame, frames.WORD, "word")
    labels, most = check_int("labels", labels, 0), check_int("most", most)
    points = _volcano_points(frame, x)
    if len(points) > most:
        points = points.nlargest(most, "_x", keep="first")
    subtitle = None if len(points) == len(frame) else f"{len(points):,} of {len(frame):,} words"
    return chart.finish(_draw_volcano(frame, points, x, labels, width, height), frame, subtitle=subtitle)


def _volcano_points(frame: pd.DataFrame, x: str) -> pd.DataFrame:
    """The position of each word that has one, and whether its difference is significant."""
    if "p" in frame.columns:
        height = -np.log10(np.maximum(frame["p"].to_numpy(np.float64, na_value=np.nan), MIN_P))
        adjusted = frame["p_adjusted"] if "p_adjusted" in frame.columns else frame["p"]
        significant = adjusted.to_numpy(np.float64, na_value=1.0) <= SIGNIFICANCE_LEVEL
    else:
        counts = frame.filter(regex="^count").select_dtypes("number")
        if counts.empty:
            raise InputError("this frame has neither p nor counts: there is no evidence to draw")
        least = counts.to_numpy(np.float64, na_value=np.nan).min(1)
        height = np.where(least > 0, least, np.nan)
        significant = np.ones(len(frame), bool)
    columns = {"_x": frame[x].to_numpy(np.float64, na_value=np.nan), "_y": height, "_found": significant}
    points: pd.DataFrame = pd.DataFrame(columns, frame.index).assign(_text=frame[frames.WORD].astype(str))
    points = points.loc[np.isfinite(points["_x"]) & np.isfinite(points["_y"])]
    if points.empty:
        raise InputError("no word has both a difference and evidence: there is nothing to draw")
    return points


def _draw_volcano(frame: pd.DataFrame, points: pd.DataFrame, x: str, labels: int, width: int, height: int) -> Any:
    is_log = "p" not in frame.columns  # counts are drawn on a logarithmic axis
    fields = chart.field_names(frame.columns)
    data = frame.loc[points.index].rename(columns=fields).assign(**points)
    x_domain = chart.axis_domain(points["_x"].to_numpy())
    y_domain = chart.axis_domain(points["_y"].to_numpy(), log=is_log)
    y_scale: dict[str, Any] = {"type": "log"} if is_log else {"type": "linear", "zero": False}
    ticks: dict[str, Any] = {"values": chart.round_counts(*y_domain), "format": ",~g"} if is_log else {"format": ".6~g"}
    x_scale = alt.Scale(domain=x_domain, nice=False, zero=False)
    x_axis = alt.Axis(**chart.VALUE_AXIS | {"tickCount": 6})
    y_title = "Occurrences, where it is rarer" if is_log else "Evidence (−log10 p)"
    y_axis = alt.Axis(**chart.VALUE_AXIS | ticks)
    axes = {
        "x": alt.X("_x:Q", title=frames.axis_title(frame, x), scale=x_scale, axis=x_axis),
        "y": alt.Y("_y:Q", title=y_title, scale=alt.Scale(domain=y_domain, nice=False, **y_scale), axis=y_axis),
    }
    picked = alt.selection_point(name="picked", fields=["_text"], on="click", empty=False)
    color = alt.condition("datum._found", alt.value(COLORS[0]), alt.value(_GRAY))
    circles = alt.Chart(records(data)).mark_circle(size=34, opacity=0.65, cursor="pointer")
    circles = circles.encode(**axes, color=color, tooltip=_word_first_tooltips(frame, frames.WORD))
    right = (points["_x"] - x_domain[0]) / np.ptp(x_domain)
    up, ends = (np.log(values) if is_log else values for values in (points["_y"], np.array(y_domain)))
    up = (up - ends[0]) / np.ptp(ends)
    pixels = pd.DataFrame({"x": width * right, "y": height * (1 - up)})
    # words far to the right and high up have the first choice of places
    best = (right + 0.5 * up)[points["_found"]].nlargest(4 * labels).index
    ranked, places = points.loc[best, ["_x", "_y", "_text"]], pixels.loc[best].to_numpy()
    placed = chart.place_labels(ranked, places, (width, height), radius=2.5, obstacles=pixels.to_numpy())
    texts = chart.label_marks(placed.head(labels), color="#222222").encode(**axes)
    return alt.layer(circles.add_params(picked), texts, width=width, height=height)
