"""Findings: every word by the size of its difference and the evidence for it, and what a difference is made of."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from laplex.errors import InputError, check_int
from laplex.plots import chart, frames, naming
from laplex.plots.chart import COLORS, Chart, alt, records
from laplex.plots.labels import label_marks, place_labels
from laplex.plots.ranking import sure_color
from laplex.plots.series import MAX_PANELS

SIGNIFICANCE_LEVEL = 0.1  # of the adjusted p, in frames that do not say what holds
MIN_P = 1e-16  # smaller p are drawn at the same height
_MIN_WORDS_WITH_THRESHOLD = 20  # of few words, a line would stand for one of them
_GRAY = "#B3B3B3"
_LIGHT = ("#8CBFDD", "#EAAE80")  # bars behind the lines of their intervals, for the two sides
_PALE = ("#DCEAF4", "#F8E6D8")  # of contributions whose interval reaches zero
PANEL_WIDTH, PANEL_HEIGHT = 320, 260  # pixels of each of several
_BAR_PIXELS = 18
_RINGED_SIZE = 13.0  # of the name of a word with a ring
_YEARS = re.compile(r"\d{4}(\D|$)")


def volcano(
    frame: Any,
    *,
    x: str | None = None,
    by: Literal["evidence", "uses"] | None = None,
    words: Collection[str] = (),
    labels: int = 30,
    most: int = 3_000,
    width: int = 620,
    height: int = 400,
) -> Chart:
    """Draw every word by the size of its difference and by the evidence for it.

    With tests in the frame (a column p) the height is −log10 p, and words whose difference does not hold are gray.
    A dashed line is drawn at the largest p that holds; if none holds, words with the most evidence are named in gray.
    Without tests, the height is how often the word occurs where it is rarer, since few occurrences make large distances
    by chance. Several comparisons, or terms of a regression, have a panel each.

    Args:
        frame: The table of `contrast`, `drift` or `regress`, or another frame with words and p or counts.
        x: The column across. By default the estimate or distance.
        by: What the height is: "evidence" or "uses", how often the word occurs where it is rarer. By default evidence,
            if there is any.
        words: Words to ring and to name in any case.
        labels: How many words at most are written beside their points; each is written only where there is room.
        most: Of more words than this, those with the largest differences are drawn.
        width: The width in pixels.
        height: The height in pixels.

    Returns:
        A Chart. With one comparison, a click on a point selects its word (the selection "picked" of the Altair chart).

    Example:
        >>> frame = pd.DataFrame({"word": ["tax", "war"], "estimate": [0.5, 0.3], "p": [0.001, 0.2]})
        >>> chart = volcano(frame)
    """
    given = frames.as_frame(frame)
    frame = frames.with_comparisons(given)
    x = frames.measured_column(frame, x, "x")
    frames.check_column(frame, frames.WORD, "word")
    labels, most = check_int("labels", labels, 0), check_int("most", most)
    by_uses = by == "uses" or (by is None and "p" not in frame.columns)
    points = _volcano_points(frame, x, by_uses)
    notes = [f"The {most:,} of {len(points):,} words that differ most"] if len(points) > most else []
    if len(points) > most:
        chosen = points["_text"].isin(list(words))
        points = pd.concat([points[chosen], points[~chosen].nlargest(most - int(chosen.sum()), "_x", keep="first")])
    if "p" in frame.columns:
        has_line = not by_uses and points["_found"].any() and len(points) >= _MIN_WORDS_WITH_THRESHOLD
        notes += ["dashed: the largest p that holds"] if has_line else []
        notes += [] if points["_found"].any() else ["no word is shown to hold"]
    pairs = frame[frames.COMPARISON] if frames.COMPARISON in frame.columns else pd.Series("", frame.index)
    terms = frames.distinct_values(pairs) if frames.is_regression(frame) else list(dict.fromkeys(pairs))
    parts = {name: points[pairs[points.index] == name] for name in terms}
    parts = {name: part for name, part in parts.items() if len(part)}
    if len(parts) > MAX_PANELS:
        raise InputError(f"{len(parts):,} comparisons are too many: choose up to {MAX_PANELS}")
    area = _Area(points, is_log=by_uses, width=width, height=height)
    title = next(iter(parts)) if len(parts) == 1 and frames.is_regression(frame) else None
    if len(parts) == 1:
        whole = _draw_volcano(frame, points, x, labels, area, words)
    else:
        area = replace(area, width=PANEL_WIDTH, height=PANEL_HEIGHT)
        panels = [_draw_volcano(frame, part, x, labels // 2, area, words, panel=name) for name, part in parts.items()]
        whole = alt.concat(*panels, columns=2).resolve_scale(color="shared")
    return chart.finish(whole, given, title, chart.sentence(notes))


@dataclass(frozen=True)
class _Area:
    """The axes that all panels share, and how many pixels they have."""

    points: pd.DataFrame
    is_log: bool  # counts are drawn on a logarithmic axis
    width: int
    height: int

    @property
    def x(self) -> list[float]:
        return chart.axis_domain(self.points["_x"].to_numpy())

    @property
    def y(self) -> list[float]:
        return chart.axis_domain(self.points["_y"].to_numpy(), log=self.is_log)

    def pixels(self, points: pd.DataFrame) -> pd.DataFrame:
        """Where points are drawn; in pixels, y grows downwards."""
        right = (points["_x"] - self.x[0]) / np.ptp(self.x)
        up, ends = (np.log(values) if self.is_log else values for values in (points["_y"], np.array(self.y)))
        up = (up - ends[0]) / np.ptp(ends)
        return pd.DataFrame({"x": self.width * right, "y": self.height * (1 - up)})


def _volcano_points(frame: pd.DataFrame, x: str, by_uses: bool) -> pd.DataFrame:
    """The position of each word that has one, and whether its difference is significant."""
    significant = np.ones(len(frame), bool)
    if "p" in frame.columns:
        adjusted = frame["p_adjusted"] if "p_adjusted" in frame.columns else frame["p"]
        significant = adjusted.to_numpy(np.float64, na_value=1.0) <= SIGNIFICANCE_LEVEL
        if frames.HOLDS in frame.columns:
            significant = frame[frames.HOLDS].to_numpy(bool)
    if not by_uses:
        if "p" not in frame.columns:
            raise InputError('this frame has no p: by="uses" draws how often words occur')
        height = -np.log10(np.maximum(frame["p"].to_numpy(np.float64, na_value=np.nan), MIN_P))
    else:
        counts = frame.filter(regex="^(count|uses)(_|$)").select_dtypes("number")
        if counts.empty:
            raise InputError("this frame has neither p nor counts of uses: there is no evidence to draw")
        least = counts.to_numpy(np.float64, na_value=np.nan).min(1)
        height = np.where(least > 0, least, np.nan)
    columns = {"_x": frame[x].to_numpy(np.float64, na_value=np.nan), "_y": height, "_found": significant}
    points: pd.DataFrame = pd.DataFrame(columns, frame.index).assign(_text=frame[frames.WORD].astype(str))
    points = points.loc[np.isfinite(points["_x"]) & np.isfinite(points["_y"])]
    if points.empty:
        raise InputError("no word has both a difference and evidence: there is nothing to draw")
    return points


def _draw_volcano(
    frame: pd.DataFrame,
    points: pd.DataFrame,
    x: str,
    labels: int,
    area: _Area,
    words: Collection[str],
    panel: str = "",
) -> Any:
    fields = chart.field_names(frame.columns)
    data = frame.loc[points.index].rename(columns=fields).assign(**points)
    data["_holds"] = data["_found"].map({True: frames.HOLDS_TEXT, False: frames.DOUBTFUL_TEXT})
    y_scale: dict[str, Any] = {"type": "log"} if area.is_log else {"type": "linear", "zero": False}
    ticks: dict[str, Any] = {"format": ".6~g"}
    if area.is_log:
        ticks = {"values": chart.round_counts(*area.y), "format": ",~g"}
    y_axis = alt.Axis(**chart.VALUE_AXIS | ticks)
    x_axis = alt.Axis(**chart.VALUE_AXIS | {"tickCount": 6})
    x_scale = alt.Scale(domain=area.x, nice=False, zero=False)
    y_title = "Occurrences, where it is rarer" if area.is_log else "Evidence (−log10 p)"
    axes = {
        "x": alt.X("_x:Q", title=naming.axis_title(frame, x), scale=x_scale, axis=x_axis),
        "y": alt.Y("_y:Q", title=y_title, scale=alt.Scale(domain=area.y, nice=False, **y_scale), axis=y_axis),
    }
    color = alt.value(COLORS[0])
    if "p" in frame.columns:
        color = sure_color((frames.HOLDS_TEXT, frames.DOUBTFUL_TEXT), COLORS[0], _GRAY)
    circles = alt.Chart(records(data)).mark_circle(size=34, opacity=0.65, cursor="pointer")
    circles = circles.encode(**axes, color=color, tooltip=naming.tooltips(frame, frames.WORD))
    if not panel:
        circles = circles.add_params(alt.selection_point(name="picked", fields=["_text"], on="click", empty=False))
    pixels = area.pixels(points)
    size = float(area.width), float(area.height)
    is_ringed = points["_text"].isin(list(words))
    ringed = points.index[is_ringed]
    look: dict[str, Any] = {"size": _RINGED_SIZE, "radius": 7.0, "obstacles": pixels.to_numpy(), "always": True}
    named = place_labels(points.loc[ringed], pixels.loc[ringed].to_numpy(), size, **look)
    # words far to the right and high up have the first choice of places
    merit = pixels["x"] / area.width - 0.5 * pixels["y"] / area.height
    is_found = bool(points["_found"].any())
    best = merit[(points["_found"] | (not is_found)) & ~is_ringed].nlargest(4 * labels).index
    ranked, places = points.loc[best, ["_x", "_y", "_text"]], pixels.loc[best].to_numpy()
    obstacles, threshold = np.concatenate([pixels.to_numpy(), *_points_of_labels(named, pixels)]), None
    if is_found and not area.is_log and len(points) >= _MIN_WORDS_WITH_THRESHOLD:
        lowest = points.loc[points["_found"], "_y"].idxmin()
        threshold = points.loc[lowest, "_y"]
        along = np.arange(0.0, area.width, 4.0)  # labels do not cross the line
        obstacles = np.concatenate([obstacles, np.stack([along, np.full(len(along), pixels.loc[lowest, "y"])], 1)])
    placed = place_labels(ranked, places, size, radius=3.3, obstacles=obstacles, obstacle_radius=3.3)
    texts = label_marks(placed.head(labels), color="#222222" if is_found else chart.MUTED).encode(**axes)
    layers = [circles, texts]
    if threshold is not None:
        least = pd.DataFrame({"_y": [threshold]})
        layers.append(alt.Chart(records(least)).mark_rule(color="#8c8c8c", strokeDash=[5, 4]).encode(y=axes["y"]))
    if len(named):
        ring = alt.Chart(records(named)).mark_point(size=150, strokeWidth=2, color=COLORS[1], opacity=1)
        names = label_marks(named, size=_RINGED_SIZE, color=COLORS[1], fontWeight="bold")
        layers += [ring.encode(**axes), names.encode(**axes)]
    return alt.layer(*layers, width=area.width, height=area.height, title=panel or alt.Undefined)


def _points_of_labels(named: pd.DataFrame, pixels: pd.DataFrame) -> list[NDArray[np.float64]]:
    """Points (n, 2) within each of some labels, which no other label may cover."""
    made = []
    for place, row in zip(pixels.loc[named.index].to_numpy(), named.to_dict("records")):
        width = 1.1 * chart.text_width(row["_text"], _RINGED_SIZE)
        left = place[0] + row["_dx"] - width * {"left": 0.0, "center": 0.5, "right": 1.0}[row["_align"]]
        x, y = np.meshgrid(np.arange(left, left + width, 4.0), place[1] + row["_dy"] + np.array([-6.0, 0.0, 6.0]))
        made.append(np.stack([x.ravel(), y.ravel()], axis=1))
    return made


class Explained(Protocol):
    """What `explanation` draws: a `laplex.inference.Explanation`."""

    @property
    def word(self) -> str: ...
    @property
    def values(self) -> tuple[str, str]: ...
    @property
    def total(self) -> float: ...
    @property
    def context(self) -> pd.DataFrame: ...


def explanation(found: Explained, *, top: int = 10, exclude: Collection[str] = (), width: int = 230) -> Chart:
    """Draw what the difference of a word between two groups is made of: context words, one group left, one right.

    A bar is the share that a context word has in the whole difference, with its interval. The surest words of each
    group are drawn, in the order of their shares; those whose interval reaches zero are lighter. Of two periods, the
    earlier is left.

    Args:
        found: What `explain` gives.
        top: The number of context words of each group.
        exclude: Context words that are left out, such as function words.
        width: The width of each side in pixels.

    Returns:
        A Chart.

    Example:

        lx.plots.explanation(fitted.explain("war", "party"))
    """
    top = check_int("top", top)
    table = frames.as_frame(found.context)
    table = table[~table["word"].isin(list(exclude)) & (table["contribution"] > 0)]
    surest = table.sort_values("lower", ascending=False, kind="stable")
    values = sorted(found.values) if all(map(_YEARS.match, found.values)) else found.values
    sides = [surest[surest["value"] == value].head(top) for value in values]
    if not sum(map(len, sides)):
        raise InputError(f'no context word makes a difference of "{found.word}": there is nothing to draw')
    share = 100 / found.total if found.total > 0 else 1.0
    title = "Share of the difference, %" if found.total > 0 else "Contribution"
    scaled = [
        side.assign(**{name: share * side[name] for name in ("contribution", "lower", "upper")}) for side in sides
    ]
    drawn = pd.concat(scaled)
    domain = chart.axis_domain(drawn[["contribution", "lower", "upper"]].to_numpy(np.float64), zero=True)
    rows, names = max(map(len, sides)), [frames.name_of_side(value) for value in values]
    panels = [
        _contributions(side.sort_values("contribution", ascending=False), number, names, domain, title)
        for number, side in enumerate(scaled)
        if len(side)
    ]
    panels = [panel.properties(width=width, height=_BAR_PIXELS * rows) for panel in panels]
    return chart.finish(alt.hconcat(*panels, spacing=30), drawn.reset_index(drop=True), chart.escape_title(found.word))


def _contributions(side: pd.DataFrame, number: int, names: list[str], domain: list[float], title: str) -> Any:
    """The context words of one group; the bars of the first grow to the left."""
    is_left = number == 0
    data = side.assign(_sure=side["lower"] > 0)
    scale = alt.Scale(domain=domain, nice=False, reverse=is_left)
    orient = "right" if is_left else "left"
    rows = alt.Axis(ticks=False, domain=domain[0] == 0, orient=orient, labelPadding=6, labelLimit=240)
    value, other = names[number], names[1 - number]
    tips = [("word", "Context word", None), ("contribution", title, ".3~g")]
    tips += [("lower", "Interval, lower end", ".3~g"), ("upper", "Interval, upper end", ".3~g")]
    tips += [("uses", f"Uses near the word, {value}", ","), ("uses_other", f"Uses near the word, {other}", ",")]
    base = alt.Chart(records(data)).encode(
        y=alt.Y("word:N", sort=None, title=None, scale=alt.Scale(domain=data["word"].tolist()), axis=rows),
        tooltip=[chart.tooltip(field, chart.escape_title(name), form) for field, name, form in tips],
    )
    across = alt.X("contribution:Q", title=title, scale=scale, axis=alt.Axis(**chart.VALUE_AXIS, labelFlush=False))
    fill = alt.condition("datum._sure", alt.value(_LIGHT[number]), alt.value(_PALE[number]))
    ink = alt.condition("datum._sure", alt.value("#000000"), alt.value("#8c8c8c"))
    ends = {"x": alt.X("lower:Q"), "x2": alt.X2(field="upper")}
    label = alt.Title(chart.escape_title(value), anchor="end" if is_left else "start", frame="bounds")
    return alt.layer(
        base.mark_bar(height=12).encode(x=across, color=fill),
        base.mark_rule(strokeWidth=1.3).encode(color=ink, **ends),
        title=label,
    )
