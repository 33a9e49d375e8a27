"""How a page shows things: charts in light and dark, tables, and below them the file and the line of Python.

Charts are those of `laplex.plots`. Words and names of columns are data: wherever Streamlit would read Markdown they go
through `plain`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape
from textwrap import wrap
from typing import Any

import pandas as pd
import streamlit as st

from laplex.exchange import neutral
from laplex.explorer.coding import literal
from laplex.explorer.loading import folder
from laplex.plots import Chart

LETTER = 6.4  # pixels, about, of a letter in the title of an axis
# what charts are drawn with on white, and what takes its place on black
_ON_BLACK = {
    "#000000": "#e4e9ee",
    "#222222": "#d5dbe1",
    "#333333": "#c3cad2",
    "#444444": "#b4bcc5",
    "#555555": "#a5aeb8",
    "#767676": "#8f99a4",
    "#8c8c8c": "#6b7580",
    "#ebebeb": "#2a313a",
    "#ffffff": "#12161c",
    "#0072b2": "#4fa8e0",
    "#d55e00": "#f08a4b",
    "#009e73": "#2fc296",
    "#cc79a7": "#de9cc0",
    "#8cbfdd": "#2d5f80",
    "#b3b3b3": "#525c67",
}


def heading(title: str, lead: str) -> None:
    """What the page asks, and how to read the answer."""
    st.title(plain(title), anchor=False)
    st.html(f'<p class="lead">{escape(lead)}</p>')


def section(title: str, text: str = "") -> None:
    st.subheader(plain(title), anchor=False)
    if text:
        note(text)


def note(text: str) -> None:
    """How to read what follows."""
    st.html(f'<p class="note">{escape(text)}</p>')


def plain(text: str) -> str:
    """A text that Markdown shows as it is.

    >>> plain("<b> *x* :red[y]")
    '\\\\<b\\\\> \\\\*x\\\\* \\\\:red\\\\[y\\\\]'
    """
    return re.sub(r"([!-/:-@\[-`{-~])", r"\\\1", " ".join(text.split()))


def draw(chart: Chart, *, alt: str, key: str | None = None, pick: bool = False) -> Any:
    """A chart; with `pick`, what was clicked on of its parameter "picked"."""
    spec = chart.altair.to_dict(validate=False)  # which would take longer than all else
    if st.context.theme.type == "dark":
        spec = on_black(spec)
    spec = with_short_titles(spec)
    spec["autosize"] = {"type": "pad"}  # as wide as it was made, with its labels outside
    spec["usermeta"] = {"embedOptions": {"renderer": "svg"}}
    spec["config"] = {**spec.get("config", {}), "background": "transparent"}
    return st.vega_lite_chart(
        spec=spec, theme=None, width="content", alt=alt, key=key, on_select="rerun" if pick else "ignore"
    )


def with_short_titles(part: Any, height: float | None = None) -> Any:
    """A chart in which the title of an axis that runs up is broken where it is longer than the axis."""
    if isinstance(part, list):
        return [with_short_titles(value, height) for value in part]
    if not isinstance(part, Mapping):
        return part
    height = part["height"] if isinstance(part.get("height"), (int, float)) else height
    made = {
        name: value if name in ("values", "datasets", "data") else with_short_titles(value, height)
        for name, value in part.items()
    }
    up = made.get("y")
    if height and isinstance(up, dict) and isinstance(up.get("title"), str):
        lines = wrap(up["title"], max(12, int(height / LETTER)))
        made["y"] = {**up, "title": lines if len(lines) > 1 else up["title"]}
    return made


def on_black(part: Any) -> Any:
    """A chart with the colors of the dark; its data stay as they are."""
    if isinstance(part, Mapping):
        return {name: value if name in ("values", "datasets") else on_black(value) for name, value in part.items()}
    if isinstance(part, list):
        return [on_black(value) for value in part]
    return _ON_BLACK.get(part.lower(), part) if isinstance(part, str) else part


def table(frame: pd.DataFrame, *, key: str | None = None, height: int | None = None, **labels: str) -> int | None:
    """A table; with a key, the number of the row that was clicked on, if any. `labels` are names for columns."""
    config = {str(name): _column(str(name), values, labels.get(str(name))) for name, values in frame.items()}
    options: dict[str, Any] = {} if height is None else {"height": height}
    if key is None:
        st.dataframe(frame, hide_index=True, column_config=config, **options)
        return None
    answer = st.dataframe(
        frame,
        hide_index=True,
        column_config=config,
        key=key,
        on_select="rerun",
        selection_mode="single-row",
        **options,
    )
    rows: Sequence[int] = answer["selection"]["rows"]
    return rows[0] if rows else None


def _column(name: str, values: pd.Series, label: str | None) -> Any:
    shown = label or name.replace("_", " ")
    if pd.api.types.is_integer_dtype(values):
        return st.column_config.NumberColumn(shown, format="localized")
    if pd.api.types.is_float_dtype(values):
        return st.column_config.NumberColumn(
            shown, format="%.2g" if name.startswith("p") and name != "path" else "%.3f"
        )
    return st.column_config.TextColumn(shown)


def offer(frame: pd.DataFrame, name: str, code: str, *, key: str) -> None:
    """The table as a file, and the Python that gives it."""
    with st.container(horizontal=True, key=f"offer_{key}"):
        st.download_button(
            "CSV",
            lambda: csv(frame),
            f"{re.sub(r'[^0-9A-Za-z_-]+', '_', name)}.csv",
            "text/csv",
            key=f"csv_{key}",
            on_click="ignore",
            icon=":material/download:",
            type="tertiary",
        )
        with st.popover("Python", icon=":material/code:", type="tertiary"):
            st.code(f"import laplex as lx\n\nfitted = lx.load({literal(str(folder()))})\n{code}", wrap_lines=True)


def csv(frame: pd.DataFrame) -> bytes:
    """With nothing in it that a spreadsheet would run."""
    return neutral(frame).to_csv(index=False).encode()
