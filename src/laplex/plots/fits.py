"""The history of a fit, and the curve of a tuning."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from laplex.errors import InputError, quote
from laplex.plots import chart, frames
from laplex.plots.chart import COLORS, Chart, alt, records, title_of
from laplex.plots.series import lines, name_axis

_TUNING_COLUMNS = ("log_likelihood", "difference", "se", "epochs", "seconds", "chosen")


def history(frame: Any) -> Chart:
    """Draw the log likelihood of a fit by epoch, of the text trained on and of held-out text.

    Args:
        frame: The `history` of a fitted model.

    Returns:
        A Chart.

    Example:
        >>> chart = history(pd.DataFrame({"epoch": [1, 2], "log_likelihood": [-3.0, -2.5]}))
    """
    frame = frames.as_frame(frame)
    labels = {"log_likelihood": "trained on", "held_out": "held out"}
    measured = [name for name in labels if name in frame.columns and frame[name].notna().any()]
    if "epoch" not in frame.columns or not measured:
        raise InputError("this is no history: it has no column epoch, or neither log_likelihood nor held_out")
    tall = frame.melt(["epoch"], measured, "text", "log likelihood per token").replace({"text": labels})
    return lines(tall, x="epoch", y="log likelihood per token", color="text", width=360, height=220)


def curve(frame: Any, names: Sequence[str] | None = None, *, width: int = 420, height: int = 260) -> Chart:
    """Draw the table of `lx.tune` or of `fitted.tuning`: the held-out log likelihood, as a difference to the best.

    There is a line for each value of the other strengths. Vertical lines are one standard error each way, the ring is
    the choice. Hollow points were stopped early, and are compared with the best after the same number of epochs; if a
    fit chose, the hollow point is the choice between those that were tried.

    Args:
        frame: The table of a tuning.
        names: The columns of strengths, the one along the x axis first. By default all columns that are not results.
        width: The width in pixels.
        height: The height in pixels.

    Returns:
        A Chart.

    Example:
        >>> results = {"log_likelihood": [-3.1, -3.0], "difference": [-0.1, 0.0], "se": [0.02, 0.0]}
        >>> run = {"epochs": 5, "seconds": 2.0, "chosen": [False, True]}
        >>> chart = curve(pd.DataFrame({"party": [1.0, 10.0], **results, **run}))
    """
    frame = frames.as_frame(frame)
    if missing := [name for name in _TUNING_COLUMNS if name not in frame.columns]:
        raise InputError(f"this is no table of a tuning: it has no column {quote(missing)}")
    first, *others = names or [name for name in frame.columns if name not in _TUNING_COLUMNS]
    frame = frame[np.isfinite(frame["difference"])].reset_index(drop=True)
    series = frames.row_labels(frame.assign(**{name: frame[name].map(_strength_text) for name in others}), others)
    positions, x = _strength_axis(
        frame[first], "Model" if first == "model" else f"Strength of {chart.escape_title(first)}", width
    )
    difference, se = frame["difference"], frame["se"].fillna(0.0)
    stopped = frame["epochs"] < frame["epochs"].max()
    hollow = "Hollow: interpolated" if (frame["epochs"] == 0).any() else "Hollow: stopped early"
    data = frame[list(_TUNING_COLUMNS)].rename(columns=lambda name: f"_{name}")
    data = data.assign(_series=series, _x=positions, _stopped=stopped, _low=difference - se, _high=difference + se)
    title = "Held-out log likelihood per token, from the best"
    y = alt.Y("_difference:Q", title=title, scale=alt.Scale(zero=False), axis=alt.Axis(**chart.VALUE_AXIS))
    legend = alt.Legend(title=", ".join(map(title_of, others)), symbolType="stroke") if others else None
    names = list(dict.fromkeys(series))
    colors = chart.color_scale(names, ordered=len(names) > len(COLORS))
    color = alt.Color("_series:N", scale=colors, legend=legend)
    shown = [chart.tooltip("_x", title_of(first), "~g" if frame[first].dtype.kind == "f" else None)]
    shown += [chart.tooltip("_series", ", ".join(others))] if others else []
    shown += [chart.tooltip(f"_{name}", title_of(name), ".4~g") for name in _TUNING_COLUMNS[:-1]]
    base = alt.Chart().encode(x=x, color=color)
    filled = alt.Fill("_series:N", scale=colors, legend=None)
    fill = alt.when("datum._stopped").then(alt.value("white")).otherwise(filled)
    points = base.mark_point(size=50, filled=False, opacity=1, strokeWidth=1.5)
    ring = base.transform_filter("datum._chosen").mark_point(size=220, strokeWidth=2, color="#000000")
    layers = [base.mark_line(strokeWidth=1.5, opacity=0.6).encode(y=y)] if first != "model" else []
    layers += [
        base.mark_rule(strokeWidth=1.5).encode(y=alt.Y("_low:Q"), y2=alt.Y2(field="_high")),
        points.encode(y=y, fill=fill, tooltip=shown),
        ring.encode(y=y, color=alt.value("#000000")),
    ]
    layered = alt.layer(*layers, width=width, height=height, data=alt.InlineData(**records(data)))
    hollow = f". {hollow}" if stopped.any() else ""
    return chart.finish(layered, frame, subtitle=f"Ring: the choice. Bars: one standard error{hollow}")


def _strength_axis(values: pd.Series, title: str, width: float) -> tuple[pd.Series, Any]:
    """Strengths along a logarithmic axis; models, and strengths with 0 or ∞ among them, at equal distances."""
    numbers = pd.to_numeric(values, errors="coerce")
    if (np.isfinite(numbers) & (numbers > 0)).all():
        axis = alt.Axis(values=sorted(set(numbers)), format="~g" if numbers.max() < 1e6 else "~e", labelOverlap=True)
        return numbers, alt.X("_x:Q", title=title, scale=alt.Scale(type="log", nice=False, padding=12), axis=axis)
    is_number = pd.api.types.is_numeric_dtype(values)
    order = values.sort_values() if is_number else values
    axis = alt.Axis(labelAngle=0 if is_number else -20, labelLimit=round(width / 2))
    names = list(dict.fromkeys(order.map(_strength_text)))
    return values.map(_strength_text), name_axis(names, title, axis, padding=0.4)


def _strength_text(value: Any) -> str:
    return value if isinstance(value, str) else f"{value:g}".replace("inf", "∞")
