"""The elements of a page: texts, charts in light and dark, tables, lists of words, and their files and code.

Words and names of columns are data. Wherever Streamlit would read them as Markdown they go through `escape_markdown`;
in HTML they are escaped, and the script of the lists sets them as text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st

from laplex.embeddings import Embeddings
from laplex.explorer.loading import folder
from laplex.plots import Chart
from laplex.questions.export import escape_formulas

# colors of charts on white, and those that take their place on a dark page
_DARK_COLORS = {
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
    "#e0e0e0": "#2f3740",
    "#eaae80": "#8a5a34",
    "#dceaf4": "#22303c",
    "#f8e6d8": "#382c23",
}


def heading(title: str, lead: str) -> None:
    """The title of the page, and how to read it."""
    st.title(escape_markdown(title), anchor=False)
    st.html(f'<p class="lead">{escape(lead)}</p>')


def section(title: str, text: str = "") -> None:
    """The title of a section, and how to read what follows."""
    st.subheader(escape_markdown(title), anchor=False)
    if text:
        explain(text)


def explain(text: str) -> None:
    """A small text on how to read what follows."""
    st.html(f'<p class="note">{escape(text)}</p>')


def claim(word: str, text: str) -> None:
    """What is said of a word, as a heading."""
    st.html(f'<h3 class="claim">“{escape(word)}” <span>{escape(text)}</span></h3>')


def label(text: str) -> None:
    """What the next chart, list or text is."""
    st.html(f'<p class="label">{escape(text)}</p>')


def side(name: str) -> None:
    """The name of one side of a comparison."""
    st.markdown(f"**{escape_markdown(name)}**")


def warnings(texts: Sequence[str]) -> None:
    """Warnings, each in a box of its own."""
    for text in texts:
        st.warning(escape_markdown(text), icon=":material/warning:")


def sentences(lines: Sequence[str]) -> None:
    """A list of sentences."""
    st.markdown("\n".join(f"- {escape_markdown(line)}" for line in lines))


def passages(shown: Sequence[Mapping[str, str]]) -> None:
    """Passages of the text, each with "before", "word", "after" and "source"."""
    lines = [
        f'<p class="passage">… {escape(one["before"])}<mark>{escape(one["word"])}</mark>{escape(one["after"])} … '
        f'<span class="source">{escape(one["source"])}</span></p>'
        for one in shown
    ]
    st.html("".join(lines))


def pills(label: str, words: Sequence[str], **options: Any) -> int | None:
    """Words as buttons; the place of the one that is chosen."""
    places = range(len(words))
    chosen: int | None = st.pills(label, places, format_func=lambda place: escape_markdown(words[place]), **options)
    return chosen


def escape_markdown(text: str) -> str:
    """A text that Markdown shows as it is.

    >>> escape_markdown("<b> *x* :red[y]")
    '\\\\<b\\\\> \\\\*x\\\\* \\\\:red\\\\[y\\\\]'
    """
    return re.sub(r"([!-/:-@\[-`{-~])", r"\\\1", " ".join(text.split()))


def specification(drawn: Chart) -> dict[str, Any]:
    """The specification of a chart in Vega-Lite."""
    spec: dict[str, Any] = drawn.altair.to_dict(validate=False)  # validation would take longer than all else
    return spec


def chart(
    drawn: Chart | dict[str, Any],
    description: str,
    *,
    key: str | None = None,
    pick: Callable[[str], None] = lambda word: None,
) -> None:
    """A chart or its specification.

    With a key, `pick` is called with the word of a point that is clicked, before the page is drawn anew.
    """
    spec = dict(specification(drawn) if isinstance(drawn, Chart) else drawn)
    if st.context.theme.type == "dark":
        spec = dark_colors(spec)
    spec["autosize"] = {"type": "pad"}  # as wide as it was made, with its labels outside
    spec["usermeta"] = {"embedOptions": {"renderer": "svg"}}
    spec["config"] = {**spec.get("config", {}), "background": "transparent"}

    def on_click() -> None:
        if picked := st.session_state[str(key)]["selection"].get("picked"):
            pick(str(picked[0]["_text"]))

    on_select: Any = on_click if key else "ignore"
    st.vega_lite_chart(spec=spec, theme=None, width="content", alt=description, key=key, on_select=on_select)


def dark_colors(part: Any) -> Any:
    """A specification with colors for a dark page; its data are not changed."""
    if isinstance(part, Mapping):
        return {name: value if name in ("values", "datasets") else dark_colors(value) for name, value in part.items()}
    if isinstance(part, list):
        return [dark_colors(value) for value in part]
    return _DARK_COLORS.get(part.lower(), part) if isinstance(part, str) else part


def table(frame: pd.DataFrame, *, height: int | None = None, labels: Mapping[str, str] | None = None) -> None:
    """A table to read, with `labels` as names of columns."""
    options: dict[str, Any] = {} if height is None else {"height": height}
    columns = {str(name): _column(str(name), values, (labels or {}).get(str(name))) for name, values in frame.items()}
    st.dataframe(frame, hide_index=True, column_config=columns, **options)


def _column(name: str, values: pd.Series, label: str | None) -> Any:
    label = label or name.replace("_", " ")
    if pd.api.types.is_bool_dtype(values):
        return st.column_config.CheckboxColumn(label)
    if pd.api.types.is_integer_dtype(values):
        return st.column_config.NumberColumn(label, format="localized")
    if pd.api.types.is_float_dtype(values):
        return st.column_config.NumberColumn(label, format="%.2g" if re.fullmatch("p(_.*)?", name) else "%.3f")
    return st.column_config.TextColumn(label)


def word_list(
    title: str, items: list[dict[str, Any]], language: str | None, note: str = "", pale: bool = False
) -> dict[str, Any]:
    """Words below each other, each with a bar behind it; a click leads to the page of the word in `language`."""
    return {"title": title, "note": note, "language": language, "items": items, "pale": pale}


def item(word: str, share: float, value: str, mark: str = "") -> dict[str, Any]:
    """A word of a list: the share of the width that its bar has, and whether it is in "only" this list or in "all"."""
    return {"word": word, "share": share, "value": value, "mark": mark}


def similar_words(frame: pd.DataFrame, marks: Mapping[str, str] | None = None) -> list[dict[str, Any]]:
    """The neighbors of a frame with their cosine similarities, or with intervals if it has them."""
    items = []
    for row in frame.to_dict("records"):
        word, similarity = str(row["neighbor"]), float(row["similarity"])
        if pd.notna(row.get("lower")):
            similarity, value = float(row["estimate"]), f"{row['lower']:.2f}–{row['upper']:.2f}"
        else:
            value = f"{similarity:.2f}" if "lower" not in row else f"{row['uses']:,} uses"
        items.append(item(word, max(0.0, similarity), value.replace("-", "−"), (marks or {}).get(word, "")))
    return items


def grid(
    groups: dict[str, list[dict[str, Any]]], *, key: str, pick: Callable[[str, int], None] = lambda word, place: None
) -> str | None:
    """Lists of words side by side, by the title of their group. Returns the word that was just clicked.

    `pick` is called with that word and the place of its list, before the page is drawn anew.
    """

    def on_click() -> None:
        picked = st.session_state[key].picked
        if picked is not None:
            pick(str(picked["word"]), int(picked["list"]))

    data = {"groups": [{"title": title, "lists": lists} for title, lists in groups.items()]}
    answer: Any = component("grid")(data=data, key=key, on_picked_change=on_click)
    return str(answer.picked["word"]) if answer.picked is not None else None


def component(name: str) -> Any:
    """A component whose script and style are files of this folder."""
    script, style = (_file(f"{name}.{ending}") for ending in ("js", "css"))
    html = f'<div class="{name}"></div>'
    return st.components.v2.component(f"laplex_{name}", html=html, css=style, js=script)


@cache
def _file(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


def download(frame: pd.DataFrame, name: str, code: str, *, key: str, fitted: Embeddings | None = None) -> None:
    """The table as a CSV file, and the Python that gives it from the model that the page shows, or from another."""
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
            st.code(f"import laplex as lx\n\nfitted = lx.load({str(folder(fitted))!r})\n{code}", wrap_lines=True)


def csv(frame: pd.DataFrame) -> bytes:
    """A frame as CSV in which a spreadsheet finds no formulas."""
    return escape_formulas(frame).to_csv(index=False).encode()
