"""Lines: something measured along time, or along any other column with an order."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from laplex.errors import InputError
from laplex.plots import columns as which
from laplex.plots.chart import COLORS, FONT_SIZE, MUTED, Chart, finish, plain, records, tame, title_of, tooltips
from laplex.plots.labels import spread, text_width

DASHES = ([1, 0], [6, 3], [2, 2])
LABELLED = 6  # lines that have their name at their end; more have a legend
DISTINCT = len(COLORS) * len(DASHES)  # lines that can be told apart; more are all gray
PANELS = 12
BANDS = 2  # lines whose bands can be told apart; more have panels of their own
_TICKS = 12  # periods that all have their own tick
_TITLE = 24  # letters that stand beside a panel, one above the other
_POINTS = 20  # periods whose values are marked by points


def lines(
    frame: Any,
    *,
    x: str | None = None,
    y: str | None = None,
    color: str | None = None,
    width: int = 480,
    height: int = 300,
) -> Chart:
    """What a frame measures, along a column: a distance by period, with a band where it has `lower` and `upper`.

    x      the column along the chart, by default the one with numbers or dates
    y      the column drawn, by default the distance, similarity or position
    color  the column whose values are the lines, by default the word, or what else there is more than one of. If the
           rows differ by yet another column, its values are panels side by side; so are more than two lines with
           bands, unless color= is given
    """
    import altair as alt

    frame = which.table(frame)
    drawn = _Drawn.of(frame, x, y, color)
    data, layers = _layers(drawn, width)
    chart: Any
    if drawn.panels is None:
        labels = [_end_labels(drawn, data, width, height)] if len(drawn.series) <= LABELLED else []
        chart = alt.layer(*layers, *labels, width=width, height=height, data=records(data))
    else:
        chart = _panels(drawn, data, layers, width, height)
    return finish(chart)


def history(frame: Any) -> Chart:
    """The log likelihood by epoch, of the text trained on and of that held out; of a model's `history`."""
    frame = which.table(frame)
    known = {"log_likelihood": "trained on", "held_out": "held out"}
    found = [name for name in known if name in frame.columns and frame[name].notna().any()]
    if "epoch" not in frame.columns or not found:
        raise InputError("this is no history: it has no column epoch, or neither log_likelihood nor held_out")
    tall = frame.melt(["epoch"], found, "text", "log likelihood per token").replace({"text": known})
    return lines(tall, x="epoch", y="log likelihood per token", color="text", width=360, height=220)


@dataclass(frozen=True)
class _Drawn:
    """A frame and the roles of its columns; `panels` is None if there is one."""

    frame: pd.DataFrame
    x: str
    y: str
    label: pd.Series  # (rows) which line
    series: list[str]  # the lines
    color_title: str
    panels: list[str] | None
    panel: pd.Series

    @classmethod
    def of(cls, frame: pd.DataFrame, x: str | None, y: str | None, color: str | None) -> _Drawn:
        y = which.measure(frame, y, "y")
        keys = which.keys(frame, y)
        x = which.along(frame, keys, x)
        varying = [name for name in keys if name != x and frame[name].nunique(dropna=False) > 1]
        varying = [name for name in varying if not which.decides(frame, x, name)]
        if color is not None:
            chosen = which.check(frame, color, "color")
        else:
            # words are panels if something else differs too: what is compared is then seen in one panel
            chosen = next(iter([*(name for name in varying if name != which.WORD), *varying]), which.WORD)
        others = [name for name in varying if name != chosen]
        if color is None and not others and which.has_interval(frame) and BANDS < frame[chosen].nunique() <= PANELS:
            chosen, others = "", [chosen]
        label = which.label(frame, [chosen]) if chosen in frame else pd.Series("", frame.index)
        panel = which.label(frame, others)
        panels = list(dict.fromkeys(panel)) if others else None
        if panels is not None and len(panels) > PANELS:
            raise InputError(
                f"{len(panels):,} panels, one for each value of {', '.join(others)}, are too many: "
                f"choose up to {PANELS}, or say color="
            )
        _check_once(frame, label, panel, x)
        named = chosen in frame and chosen not in (which.WORD, color)
        order = which.ordered(frame[chosen]) if named else list(dict.fromkeys(label))
        return cls(frame, x, y, label, order, title_of(chosen), panels, panel)

    def domain(self) -> tuple[float, float]:
        """From where to where the y axis goes: with zero, if that does not press the lines together."""
        values = which.drawn_values(self.frame, self.y)
        low, high = float(values.min()), float(values.max())
        if 0 < low < 0.4 * high or 0 > high > 0.4 * low:
            low, high = min(low, 0.0), max(high, 0.0)
        margin = 0.05 * (high - low) or 0.05 * abs(high) or 1.0
        return (low if low == 0 else low - margin), (high if high == 0 else high + margin)


def _check_once(frame: pd.DataFrame, label: pd.Series, panel: pd.Series, x: str) -> None:
    whole = pd.DataFrame({"label": label, "panel": panel, "x": frame[x].astype(str)})
    twice = whole[whole.duplicated()]
    if len(twice):
        name, _, value = twice.iloc[0]
        whose = f'"{name}"' if name else "the frame"
        raise InputError(f"{whose} has more than one row where {x} is {value}: say color=, or choose rows")


def _layers(drawn: _Drawn, width: int) -> tuple[pd.DataFrame, list[Any]]:
    """The data of all layers, and the layers: bands, lines and points."""
    import altair as alt

    frame = drawn.frame
    names = tame(frame.columns)
    shown = [*which.keys(frame, drawn.y), drawn.y, *(n for n in frame.columns if n in (which.LOWER, which.UPPER))]
    shown += [name for name in frame.columns if name.startswith("count") and name not in shown]
    shown = list(dict.fromkeys(shown if drawn.x in shown else [drawn.x, *shown]))
    steps = drawn.x == "to" and "from" in frame.columns
    across, x = _x_axis(frame[drawn.x], "Step to" if steps else title_of(drawn.x), width)
    data = frame[shown].rename(columns=names).assign(_x=across, _series=drawn.label, _panel=drawn.panel)
    title: Any = plain(which.axis_title(frame, drawn.y, title_of(drawn.y)))
    if drawn.panels is not None:
        rows = textwrap.wrap(title, _TITLE)
        title = rows if len(rows) > 1 else title
    scale = alt.Scale(domain=list(drawn.domain()), nice=False, zero=False)
    y = alt.Y(field=names[drawn.y], type="quantitative", title=title, scale=scale, axis=_Y_AXIS)
    many = len(drawn.series) > DISTINCT
    look = {"detail": alt.Detail(field="_series", type="nominal")} if many else _colors(drawn)
    base = alt.Chart().encode(x=x)
    layers: list[Any] = []
    if which.has_interval(frame) and not many:
        ends = {"y": alt.Y(field=names[which.LOWER], type="quantitative"), "y2": alt.Y2(field=names[which.UPPER])}
        layers.append(base.mark_area(opacity=0.18).encode(color=look["color"], **ends))
    style = {"color": MUTED, "opacity": 0.4, "strokeWidth": 1} if many else {"strokeWidth": 2}
    layers.append(base.mark_line(**style).encode(y=y, **look))
    few = frame[drawn.x].nunique() <= _POINTS and not many
    tips = tooltips(frame, shown, names)
    point = base.mark_point(filled=True, size=28, opacity=1 if few else 0).encode(y=y, tooltip=tips)
    layers.append(point.encode(color=look["color"]) if not many else point)
    return data, layers


def _x_axis(values: pd.Series, title: str, width: float) -> tuple[pd.Series, Any]:
    """The values as the chart has them, and how they are laid out."""
    import altair as alt

    sort = which.kind(values)
    if sort == "name":
        order = which.ordered(values)
        room = width / len(order) - 8
        fits = all(text_width(name, FONT_SIZE) < room for name in order)
        axis = alt.Axis(labelAngle=0 if fits else -35, labelOverlap=False)
        scale = alt.Scale(domain=order, padding=0.2)
        return values.astype(str), alt.X(field="_x", type="ordinal", title=title, sort=None, scale=scale, axis=axis)
    if sort == "date":
        moments = which.moments(values).dt.tz_localize(None).astype("datetime64[ms]").astype("int64")
        scale = alt.Scale(type="utc", nice=False)  # in UTC, so that a month does not begin a day early
        return moments, alt.X(field="_x", type="temporal", title=title, scale=scale, axis=alt.Axis(labelOverlap=True))
    numbers = pd.to_numeric(values.astype(object)).astype(np.float64)
    distinct = sorted(set(numbers))
    whole = all(value.is_integer() for value in distinct)
    choices: dict[str, Any] = {"values": distinct} if len(distinct) <= _TICKS else {}
    axis = alt.Axis(format="d" if whole else "~g", labelOverlap=True, tickMinStep=1 if whole else 0, **choices)
    scale = alt.Scale(zero=False, nice=False, padding=8)
    return numbers, alt.X(field="_x", type="quantitative", title=title, scale=scale, axis=axis)


_Y_AXIS: dict[str, Any] = {
    "grid": True,
    "domain": False,
    "ticks": False,
    "tickCount": 5,
    "gridColor": {"condition": {"test": "datum.value === 0", "value": "#8c8c8c"}, "value": "#ebebeb"},
}


def _colors(drawn: _Drawn) -> dict[str, Any]:
    """How lines are told apart: by colors, and by dashes once those run out. Few lines in one panel need no legend."""
    import altair as alt

    count = len(drawn.series)
    labelled = drawn.panels is None and count <= LABELLED
    above = drawn.panels is not None and count <= LABELLED
    place: dict[str, Any] = {"orient": "top", "title": None} if above else {}
    legend = (
        None
        if labelled or count == 1
        else alt.Legend(symbolType="stroke", symbolSize=220, symbolOpacity=1, **({"title": drawn.color_title} | place))
    )
    range_ = [COLORS[i % len(COLORS)] for i in range(count)]
    scale = alt.Scale(domain=drawn.series, range=range_)
    look: dict[str, Any] = {"color": alt.Color(field="_series", type="nominal", scale=scale, legend=legend)}
    if count > len(COLORS):
        dashes = [DASHES[i // len(COLORS)] for i in range(count)]
        scale = alt.Scale(domain=drawn.series, range=dashes)
        look["strokeDash"] = alt.StrokeDash(field="_series", type="nominal", scale=scale, legend=legend)
    return look


def _end_labels(drawn: _Drawn, data: pd.DataFrame, width: int, height: int) -> Any:
    """The name of each line at its end, moved up or down where two would cover each other."""
    import altair as alt

    y = tame(drawn.frame.columns)[drawn.y]
    position = dict(zip(which.ordered(drawn.frame[drawn.x]), range(len(data))))
    known = data.assign(_at=[position[str(value)] for value in drawn.frame[drawn.x]]).dropna(subset=[y])
    last = known.sort_values("_at", kind="stable").groupby("_series", sort=False).tail(1)
    low, high = drawn.domain()
    pixels = height * (high - last[y].to_numpy(np.float64)) / (high - low)
    moved = high - spread(pixels, FONT_SIZE + 3.0) * (high - low) / height
    ends = pd.DataFrame({"_series": last["_series"].to_numpy(), "_end": moved})
    scale = alt.Scale(domain=[low, high], nice=False, zero=False)
    return (
        alt.Chart(records(ends))
        .mark_text(align="left", baseline="middle")
        .encode(
            x=alt.value(width + 6),
            y=alt.Y(field="_end", type="quantitative", scale=scale),
            text=alt.Text(field="_series", type="nominal"),
            color=_colors(drawn)["color"],
        )
    )


def _panels(drawn: _Drawn, data: pd.DataFrame, layers: Sequence[Any], width: int, height: int) -> Any:
    import altair as alt

    assert drawn.panels is not None
    across = 2 if len(drawn.panels) in (2, 4) else 3
    size = {"width": max(140, round(1.25 * width / across)), "height": max(110, round(1.25 * height / across))}
    facet = alt.Facet(field="_panel", type="nominal", sort=drawn.panels, title=None)
    return alt.layer(*layers, **size).facet(facet=facet, data=alt.InlineData(**records(data)), columns=across)
