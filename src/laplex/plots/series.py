"""Lines: values along time or another ordered column."""

from __future__ import annotations

import textwrap
from typing import Any

import numpy as np
import pandas as pd

from laplex.errors import InputError
from laplex.plots import chart, frames, naming
from laplex.plots.chart import COLORS, MUTED, Chart, alt, records, title_of
from laplex.plots.labels import spread_heights

MAX_PANELS = 12
_MAX_LINE_PANELS = 24
_MAX_NAMED_LINES = 6  # that have their name at their end; more lines have a legend
_MAX_BANDS = 2  # in one panel
_MAX_TICKS = 12  # up to which each value of x has a tick
_MAX_POINTS = 20  # up to which each value of x is marked by a point
_LETTER_PIXELS = 6.4  # of the title of an axis, about
ZERO_LINE = {"condition": {"test": "datum.value === 0", "value": "#8c8c8c"}, "value": "#ebebeb"}


def lines(
    frame: Any,
    *,
    x: str | None = None,
    y: str | None = None,
    color: str | None = None,
    width: int = 480,
    height: int = 300,
) -> Chart:
    """Draw what a frame measures along a column, such as a distance by period.

    Where the frame has columns `lower` and `upper`, each line has a band, and a point that stands alone an error bar;
    points of findings that do not hold are hollow. There are panels if rows differ by more columns than x and color,
    for more than two comparisons or (unless `color` is given) lines with bands, and for more lines than there are
    colors; of more than 24 lines, all are gray.

    Args:
        frame: A table of laplex or any other frame (pandas, polars, Arrow).
        x: The column along the chart. By default the one with numbers or dates.
        y: The column that is drawn. By default the estimate, distance, similarity or position.
        color: The column whose values are the lines. By default the word, or what else there is more than one of.
        width: The width in pixels.
        height: The height in pixels.

    Returns:
        A Chart.

    Example:
        >>> frame = pd.DataFrame({"word": "tax", "period": [2000, 2010], "distance": [0.3, 0.5]})
        >>> chart = lines(frame)
    """
    given = frames.as_frame(frame)
    drawn = _Lines(frames.with_comparisons(given), x, y, color)
    notes = [f"Hollow: {frames.DOUBTFUL_TEXT}"] if drawn.doubtful is not None else []
    notes += ["no point: too little text"] if frames.untested(drawn.frame, drawn.y) else []
    notes += [f"{len(drawn.names):,} lines: choose up to {_MAX_LINE_PANELS} to name them"] if drawn.is_gray else []
    subtitle = chart.sentence(notes)
    if not drawn.panels:
        data, layers = drawn.layers(width, height)
        if len(drawn.names) <= _MAX_NAMED_LINES:
            layers.append(drawn.end_names(data, width, height))
        layered = alt.layer(*layers, width=width, height=height, data=records(data))
        return chart.finish(layered, given, subtitle=subtitle)
    across = panels_across(len(drawn.panels))
    width, height = max(140, round(1.25 * width / across)), max(110, round(1.25 * height / across))
    data, layers = drawn.layers(width, height)
    facet = alt.Facet("_panel:N", sort=drawn.panels, title=None)
    panel = alt.layer(*layers, width=width, height=height)
    panels = panel.facet(facet=facet, data=alt.InlineData(**records(data)), columns=across)
    return chart.finish(panels, given, subtitle=subtitle)


def panels_across(count: int) -> int:
    """How many panels stand beside each other."""
    return 2 if count in (2, 4) else 3 if count <= MAX_PANELS else 4


class _Lines:
    """A frame as lines: which columns are drawn, the line and the panel of each row, and the layers of the chart."""

    def __init__(self, frame: pd.DataFrame, x: str | None, y: str | None, color: str | None) -> None:
        y = frames.measured_column(frame, y, "y")
        x = frames.axis_column(frame, y, x)
        frame = _between_ends(frame, x, y)
        varying = [name for name in frames.varying_columns(frame, y, x) if not frames.determines(frame, x, name)]
        if color is not None:
            column = frames.check_column(frame, color, "color")
        else:
            # words are panels if something else differs too, so that what is compared is seen in one panel; of more
            # than two comparisons, each is a panel
            many = frames.COMPARISON in varying and frame[frames.COMPARISON].nunique() > _MAX_BANDS
            apart = frames.COMPARISON if many else frames.WORD
            column = next(iter([*(name for name in varying if name != apart), *varying]), frames.WORD)
        others = [name for name in varying if name != column]
        column, others = self._split(frame, column, others, color)
        self.frame, self.x, self.y = frame, x, y
        self.doubtful = frames.holding(frame)
        self.series = frames.row_labels(frame, [column] if column in frame else [])
        self.panel = frames.row_labels(frame, others)
        self.panels = list(dict.fromkeys(self.panel)) if others else []
        if len(self.panels) > _MAX_LINE_PANELS:
            raise InputError(
                f"{len(self.panels):,} panels, one for each value of {', '.join(others)}, are too many: "
                f"choose up to {_MAX_LINE_PANELS}, or say color="
            )
        rows = pd.DataFrame({"series": self.series, "panel": self.panel, "x": frame[x].astype(str)})
        for name, _, value in rows[rows.duplicated()].itertuples(index=False):
            where = f'"{name}"' if name else "the frame"
            raise InputError(f"{where} has more than one row where {x} is {value}: say color=, or choose rows")
        is_sorted = column in frame and column not in (frames.WORD, color)
        self.names = frames.distinct_values(frame[column]) if is_sorted else list(dict.fromkeys(self.series))
        self.is_gray = len(self.names) > len(COLORS)
        values = frames.finite_values(frame, y)
        low, high = float(values.min()), float(values.max())
        # the y axis starts at zero if that does not press the lines together
        zero = 0 <= low < 0.4 * high or 0 >= high > 0.4 * low or low == high == 0
        self.y_domain = chart.axis_domain(values, zero=zero)

    @staticmethod
    def _split(frame: pd.DataFrame, column: str, others: list[str], color: str | None) -> tuple[str, list[str]]:
        """The column of lines, and those of panels: lines that could not be told apart have a panel each."""
        if column not in frame:
            return column, others
        lines, has_bands = frame[column].nunique(), bool(frames.interval_columns(frame))
        most = _MAX_BANDS if has_bands and color is None and not others else len(COLORS)
        panels = len(frame[[column, *others]].drop_duplicates())
        return ("", [*others, column]) if lines > most and panels <= _MAX_LINE_PANELS else (column, others)

    def layers(self, width: int, height: int) -> tuple[pd.DataFrame, list[Any]]:
        """The data of all layers, and the layers: bands, lines and points."""
        frame = self.frame
        fields = chart.field_names(frame.columns)
        intervals = frames.interval_columns(frame)
        counts = [name for name in frame.columns if name.startswith(("count", "uses", "units"))]
        tests = [name for name in ("p", "p_adjusted", frames.HOLDS) if name in frame.columns]
        shown = [*frames.key_columns(frame, self.y), self.y, *intervals, *tests, *counts]
        shown = list(dict.fromkeys(shown if self.x in shown else [self.x, *shown]))
        is_step = self.x == "to" and "from" in frame.columns
        positions, x = _x_axis(frame[self.x], "Step to" if is_step else title_of(self.x), width)
        data = frame[shown].rename(columns=fields).assign(_x=positions, _series=self.series, _panel=self.panel)
        title = textwrap.wrap(naming.axis_title(frame, self.y), max(12, int(height / _LETTER_PIXELS))) or [""]
        scale = alt.Scale(domain=self.y_domain, nice=False, zero=False)
        axis = chart.VALUE_AXIS | {"gridColor": ZERO_LINE}
        y = alt.Y(f"{fields[self.y]}:Q", title=title if len(title) > 1 else title[0], scale=scale, axis=axis)
        is_gray = self.is_gray
        look = {"detail": alt.Detail("_series:N")} if is_gray else self.colors(width)
        base = alt.Chart().encode(x=x)
        layers: list[Any] = []
        if intervals and not is_gray:
            ends = {"y": alt.Y(f"{fields[frames.LOWER]}:Q"), "y2": alt.Y2(field=fields[frames.UPPER])}
            layers.append(base.mark_area(opacity=0.18).encode(color=look["color"], **ends))
            data["_alone"] = self.alone()
            alone = base.transform_filter("datum._alone").mark_rule(strokeWidth=1.5)
            layers.append(alone.encode(color=look["color"], **ends))
        style = {"color": MUTED, "opacity": 0.4, "strokeWidth": 1} if is_gray else {"strokeWidth": 2}
        layers.append(base.mark_line(**style).encode(y=y, **look))
        has_points = frame[self.x].nunique() <= _MAX_POINTS and not is_gray
        point = base.mark_point(filled=True, size=28, opacity=1 if has_points else 0)
        point = point.encode(y=y, tooltip=chart.tooltips(frame, shown, naming.column_titles(frame)))
        layers.append(point if is_gray else point.encode(color=look["color"]))
        if self.doubtful is not None and has_points:
            data["_holds"] = self.doubtful
            hollow = base.transform_filter(f"datum._holds !== '{frames.HOLDS_TEXT}'")
            layers.append(hollow.mark_circle(size=14, opacity=1, color="#ffffff").encode(y=y))
        return data, layers

    def alone(self) -> pd.Series:
        """Which rows have an interval but no neighbor along x in their line, so that a band would not show it."""
        known = self.frame[[self.y, *frames.interval_columns(self.frame)]].notna().all(axis=1)
        rows = pd.DataFrame(
            {"known": known, "order": _places(self.frame[self.x]), "line": self.panel + "\0" + self.series}
        )
        lines = rows.sort_values("order", kind="stable").groupby("line", sort=False)["known"]
        beside = lines.shift(1, fill_value=False) | lines.shift(-1, fill_value=False)
        return known & ~beside.reindex(rows.index)

    def colors(self, width: int) -> dict[str, Any]:
        """The encoding that tells lines apart. Lines with names at their ends have no legend."""
        legend = None
        if len(self.names) > 1 and (self.panels or len(self.names) > _MAX_NAMED_LINES):
            whole = width * panels_across(len(self.panels)) if self.panels else width
            legend = chart.top_legend(self.names, whole, symbolType="stroke", symbolSize=220)
        return {"color": alt.Color("_series:N", scale=chart.color_scale(self.names), legend=legend)}

    def end_names(self, data: pd.DataFrame, width: int, height: int) -> Any:
        """The name of each line at its end, moved up or down where two would overlap."""
        y = chart.field_names(self.frame.columns)[self.y]
        rows = data.assign(_order=_places(self.frame[self.x])).dropna(subset=[y])
        last = rows.sort_values("_order", kind="stable").groupby("_series", sort=False).tail(1)
        low, high = self.y_domain
        pixels = height * (high - last[y].to_numpy(np.float64)) / (high - low)
        moved = spread_heights(pixels, chart.FONT_SIZE + 3.0)
        moved = moved + max(0.0, -moved.min()) - max(0.0, moved.max() - height)  # none runs out of the chart
        moved = high - moved * (high - low) / height
        ends = pd.DataFrame({"_series": last["_series"].to_numpy(), "_end": moved})
        marks = alt.Chart(records(ends)).mark_text(align="left", baseline="middle")
        height_scale = alt.Scale(domain=[low, high], nice=False, zero=False)
        marks = marks.encode(x=alt.value(width + 6), y=alt.Y("_end:Q", scale=height_scale))
        return marks.encode(text="_series:N", color=self.colors(width)["color"])


def _places(values: pd.Series) -> list[int]:
    """The place of each value in their order."""
    place = {value: number for number, value in enumerate(frames.distinct_values(values))}
    return [place[str(value)] for value in values]


def _between_ends(frame: pd.DataFrame, x: str, y: str) -> pd.DataFrame:
    """The rows from the first value of x at which some line has a value to the last."""
    places = pd.Series(_places(frame[x]), frame.index)
    known = places[frame[y].notna()]
    result: pd.DataFrame = frame[places.between(known.min(), known.max())].reset_index(drop=True)
    return result


def _x_axis(values: pd.Series, title: str, width: float) -> tuple[pd.Series, Any]:
    """The values as numbers, dates or names, and the encoding of column `_x`."""
    kind = frames.kind_of(values)
    if kind == "name":
        names = frames.distinct_values(values)
        fits = all(chart.text_width(name, chart.FONT_SIZE) < width / len(names) - 8 for name in names)
        axis = alt.Axis(labelAngle=0 if fits else -35, labelOverlap=False)
        return values.astype(str), name_axis(names, title, axis, padding=0.2)
    if kind == "date":
        dates = frames.as_dates(values).dt.tz_localize(None).astype("datetime64[ms]").astype("int64")
        scale = alt.Scale(type="utc", nice=False)  # in UTC, so that a month does not begin a day early
        return dates, alt.X("_x:T", title=title, scale=scale, axis=alt.Axis(labelOverlap=True))
    numbers = pd.to_numeric(values.astype(object)).astype(np.float64)
    distinct = sorted(set(numbers))
    integers = all(value.is_integer() for value in distinct)
    ticks: dict[str, Any] = {"values": distinct} if len(distinct) <= _MAX_TICKS else {}
    axis = alt.Axis(format="d" if integers else ".6~g", labelOverlap=True, tickMinStep=1 if integers else 0, **ticks)
    return numbers, alt.X("_x:Q", title=title, scale=alt.Scale(zero=False, nice=False, padding=8), axis=axis)


def name_axis(names: list[str], title: str, axis: Any, padding: float) -> Any:
    return alt.X("_x:O", title=title, sort=None, scale=alt.Scale(domain=names, padding=padding), axis=axis)
