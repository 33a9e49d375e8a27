"""How much against how sure: every word by the size of its difference and by the evidence for it.

A frame of `contrast` comes in. With tests in it (a column p), height is the evidence; without, how often the word
occurs where it is rarer, since few occurrences make a distance large by chance.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from laplex.errors import InputError, whole
from laplex.plots import columns as which
from laplex.plots.chart import COLORS, Chart, finish, plain, records, tame, title_of, tooltips
from laplex.plots.labels import place

LEVEL = 0.05  # of the adjusted p from which a word counts as found
LEAST_P = 1e-16  # of what is drawn; smaller ones stand at the top
_FAINT = "#B3B3B3"
_SIZE = 11.0  # of the font
_MARGIN = 0.04  # of the axes, on each side


def volcano(
    frame: Any, *, x: str | None = None, labels: int = 30, most: int = 3_000, width: int = 620, height: int = 400
) -> Chart:
    """Words as points: to the right those that differ more, up those of which that is surer.

    x       the column across, by default the estimate or distance
    labels  how many words are written beside their points, if there is room
    most    of more words, those with the largest differences are drawn

    With p in the frame, words whose adjusted p is at most 0.05 are colored, and those with no evidence are gray.
    A click selects a word (the parameter "picked").
    """
    frame = which.table(frame)
    x = which.measure(frame, x, "x")
    which.check(frame, which.WORD, "word")
    labels, most = whole("labels", labels, 0), whole("most", most)
    tested = "p" in frame.columns
    drawn = _points(frame, x, tested)
    if len(drawn) > most:
        drawn = drawn.nlargest(most, "_x", keep="first")
    subtitle = None if len(drawn) == len(frame) else f"{len(drawn):,} of {len(frame):,} words"
    return finish(_draw(frame, drawn, x, tested, labels, width, height), subtitle=subtitle)


def _points(frame: pd.DataFrame, x: str, tested: bool) -> pd.DataFrame:
    """Where each word stands, and whether there is evidence for it."""
    across = frame[x].to_numpy(np.float64, na_value=np.nan)
    if tested:
        up = -np.log10(np.maximum(frame["p"].to_numpy(np.float64, na_value=np.nan), LEAST_P))
        adjusted = frame["p_adjusted"] if "p_adjusted" in frame.columns else frame["p"]
        found = adjusted.to_numpy(np.float64, na_value=1.0) <= LEVEL
    else:
        counts = [
            name for name in frame.columns if name.startswith("count") and pd.api.types.is_numeric_dtype(frame[name])
        ]
        if not counts:
            raise InputError("this frame has neither p nor counts: there is no evidence to draw")
        up = frame[counts].to_numpy(np.float64, na_value=np.nan).min(1)
        up = np.where(up > 0, up, np.nan)
        found = np.ones(len(frame), bool)
    names = frame[which.WORD].astype(str)
    points: pd.DataFrame = pd.DataFrame({"_x": across, "_y": up, "_text": names, "_found": found}, frame.index)
    points = points.loc[np.isfinite(points["_x"]) & np.isfinite(points["_y"])]
    if points.empty:
        raise InputError("no word has both a difference and evidence: there is nothing to draw")
    return points


def _draw(frame: pd.DataFrame, drawn: pd.DataFrame, x: str, tested: bool, labels: int, width: int, height: int) -> Any:
    import altair as alt

    names = tame(frame.columns)
    shown = [which.WORD, *(name for name in frame.columns if name != which.WORD)]
    data = frame.loc[drawn.index].rename(columns=names).assign(**drawn)
    across, up = _domain(drawn["_x"], False), _domain(drawn["_y"], not tested)
    title = plain(which.axis_title(frame, x, title_of(x)))
    height_title = "Evidence (−log10 p)" if tested else "Occurrences, where it is rarer"
    kind: dict[str, Any] = {"type": "linear", "zero": False} if tested else {"type": "log"}
    scale = alt.Scale(domain=up, nice=False, **kind)
    axes = {
        "x": alt.X(
            field="_x",
            type="quantitative",
            title=title,
            scale=alt.Scale(domain=across, nice=False, zero=False),
            axis=alt.Axis(grid=True, ticks=False, domain=False, tickCount=6),
        ),
        "y": alt.Y(
            field="_y",
            type="quantitative",
            title=height_title,
            scale=scale,
            axis=alt.Axis(grid=True, ticks=False, domain=False, **_ticks(up, tested)),
        ),
    }
    picked = alt.selection_point(name="picked", fields=["_text"], on="click", empty=False)
    color = alt.condition("datum._found", alt.value(COLORS[0]), alt.value(_FAINT))
    points = (
        alt.Chart(records(data))
        .mark_circle(size=34, opacity=0.65, cursor="pointer")
        .encode(**axes, color=color, tooltip=tooltips(frame, shown, names))
        .add_params(picked)
    )
    written = _labels(drawn, across, up, not tested, labels, width, height)
    beside: dict[str, Any] = {name: alt.ExprRef(f"datum._{name}") for name in ("dx", "dy", "align")}
    texts = alt.Chart(records(written)).mark_text(baseline="middle", fontSize=_SIZE, color="#222222", **beside)
    named = texts.encode(**axes, text=alt.Text(field="_text", type="nominal"))
    return alt.layer(points, named, width=width, height=height)


def _ticks(ends: list[float], tested: bool) -> dict[str, Any]:
    if tested:
        return {"tickCount": 5, "format": "~g"}
    powers = range(int(np.floor(np.log10(ends[0]))), int(np.ceil(np.log10(ends[1]))) + 1)
    values = [step * 10.0**power for power in powers for step in (1, 2, 5)]
    return {"values": [value for value in values if ends[0] <= value <= ends[1]], "format": ",~g"}


def _domain(values: pd.Series, log: bool) -> list[float]:
    low, high = float(values.min()), float(values.max())
    if log:
        margin = max((high / low) ** _MARGIN, 1.05)
        return [low / margin, high * margin]
    margin = _MARGIN * (high - low) or 0.05 * abs(high) or 1.0
    return [low - margin, high + margin]


def _labels(
    drawn: pd.DataFrame, across: list[float], up: list[float], log: bool, most: int, width: int, height: int
) -> pd.DataFrame:
    """The words that are written: those far to the right and high up first, as long as there is room."""
    right = (drawn["_x"] - across[0]) / (across[1] - across[0])
    raised, low, high = (np.log(v) if log else v for v in (drawn["_y"].to_numpy(), up[0], up[1]))
    above = (raised - low) / (high - low)
    best = drawn.assign(_px=width * right, _py=height * (1 - above), _score=right + 0.5 * above)
    ranked = best[best["_found"]].nlargest(4 * most, "_score") if most else best.head(0)
    points = ranked[["_px", "_py"]].to_numpy(np.float64)
    others = best[["_px", "_py"]].to_numpy(np.float64)
    places = place(points, ranked["_text"].tolist(), (width, height), size=_SIZE, radius=2.5, obstacles=others)
    free = [number for number, found in enumerate(places) if found is not None][:most]
    kept = ranked.iloc[free][["_x", "_y", "_text"]]
    return kept.assign(**{f"_{name}": [getattr(places[i], name) for i in free] for name in ("dx", "dy", "align")})
