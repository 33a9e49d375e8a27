"""The curve of a tuning: how far behind the best every strength is, with its standard error, and which was chosen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from laplex.errors import InputError, quote
from laplex.plots import columns as which
from laplex.plots.chart import COLORS, Chart, finish, records, tip, title_of

_MEASURED = ("log_likelihood", "difference", "se", "epochs", "seconds", "chosen")
_WHOLE, _STOPPED = "to the end", "stopped early"


def curve(frame: Any, names: Sequence[str] | None = None, *, width: int = 420, height: int = 260) -> Chart:
    """The table of `lx.tune`: the difference to the best by strength, one line for each value of other strengths.

    Bars are one standard error each way. Hollow points are candidates that were stopped early: they are compared with
    the best after as many epochs as they ran. The ring is the choice. `names` are the columns of strengths.
    """
    import altair as alt

    frame = which.table(frame)
    if missing := [name for name in _MEASURED if name not in frame.columns]:
        raise InputError(f"this is no table of a tuning: it has no column {quote(missing)}")
    first, *others = names or [name for name in frame.columns if name not in _MEASURED]
    frame = frame[np.isfinite(frame["difference"])].reset_index(drop=True)
    named = frame.assign(**{str(name): [_text(value) for value in frame[name]] for name in others})
    series = which.label(named, others) if others else pd.Series("", frame.index)
    data = pd.DataFrame(
        {
            "_series": series,
            "_run": np.where(frame["epochs"] == frame["epochs"].max(), _WHOLE, _STOPPED),
            "_low": frame["difference"] - frame["se"].fillna(0.0),
            "_high": frame["difference"] + frame["se"].fillna(0.0),
        }
    )
    data = data.assign(**{f"_{name}": frame[name] for name in _MEASURED})
    values, across = _across(frame[first], title_of(str(first)), width)
    data = data.assign(_x=values)
    title = "Held-out log likelihood a token, to the best"
    ticks = alt.Axis(grid=True, domain=False, ticks=False, tickCount=5)
    up = alt.Y(field="_difference", type="quantitative", title=title, scale=alt.Scale(zero=False), axis=ticks)
    lines = list(dict.fromkeys(series))
    legend = alt.Legend(title=", ".join(map(title_of, others)), symbolType="stroke") if others else None
    colors = alt.Scale(domain=lines, range=[COLORS[i % len(COLORS)] for i in range(len(lines))])
    color = alt.Color(field="_series", type="nominal", scale=colors, legend=legend)
    told = [tip("_x", title_of(str(first)), "~g" if frame[first].dtype.kind == "f" else None)]
    told += [tip("_series", ", ".join(others))] if others else []
    told += [tip(f"_{name}", title_of(name), ".4~g") for name in _MEASURED[:-1]]
    base = alt.Chart().encode(x=across, color=color)
    ends = {"y": alt.Y(field="_low", type="quantitative"), "y2": alt.Y2(field="_high")}
    fill = alt.when(f"datum._run === '{_STOPPED}'").then(alt.value("white"))
    own = alt.Fill(field="_series", type="nominal", scale=colors, legend=None)
    layers = [base.mark_line(strokeWidth=1.5, opacity=0.6).encode(y=up)] if first != "model" else []
    layers += [
        base.mark_rule(strokeWidth=1.5).encode(**ends),
        base.mark_point(size=50, filled=False, opacity=1, strokeWidth=1.5).encode(
            y=up, fill=fill.otherwise(own), tooltip=told
        ),
        base.transform_filter("datum._chosen")
        .mark_point(size=220, strokeWidth=2, color="#000000")
        .encode(y=up, color=alt.value("#000000")),
    ]
    chart = alt.layer(*layers, width=width, height=height, data=alt.InlineData(**records(data)))
    hollow = ". Hollow: stopped early" if (data["_run"] == _STOPPED).any() else ""
    return finish(chart, subtitle=f"Ring: the choice. Bars: one standard error{hollow}")


def _across(values: pd.Series, title: str, width: float) -> tuple[pd.Series, Any]:
    """The strengths along a logarithmic axis; with 0 or ∞ among them, or models, one beside the other."""
    import altair as alt

    numbers = pd.to_numeric(values, errors="coerce")
    if numbers.notna().all() and np.isfinite(numbers).all() and (numbers > 0).all():
        axis = alt.Axis(values=sorted(set(numbers)), format="~g" if numbers.max() < 1e6 else "~e", labelOverlap=True)
        scale = alt.Scale(type="log", nice=False, padding=12)
        return numbers, alt.X(field="_x", type="quantitative", title=title, scale=scale, axis=axis)
    texts = [_text(value) for value in values]
    order = list(dict.fromkeys(text for _, text in sorted(zip(values, texts, strict=True)))) if len(numbers) else []
    order = list(dict.fromkeys(texts)) if values.dtype == object else order
    axis = alt.Axis(labelAngle=-20 if values.dtype == object else 0, labelLimit=round(width / 2))
    scale = alt.Scale(domain=order, padding=0.4)
    return pd.Series(texts), alt.X(field="_x", type="ordinal", title=title, sort=None, scale=scale, axis=axis)


def _text(value: Any) -> str:
    return str(value) if isinstance(value, str) else f"{value:g}".replace("inf", "∞")
