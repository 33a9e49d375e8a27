"""Who is near whom?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from laplex import plots
from laplex.embeddings import Embeddings
from laplex.explorer import address, loading
from laplex.explorer.coding import Name, call, literal
from laplex.explorer.showing import draw, heading, note, offer
from laplex.plots.atlas import Color, layout
from laplex.report import choosing

FREQUENT, NEAR = "the most frequent words", "the words around a word"
PLAIN, POLES = "by nothing", "between two poles"
FIRST = 500  # function words and such are among so many
WIDE, HIGH = 900, 640  # pixels
MANY = (20, 50, 100, 200, 300, 500, 1000)


def show() -> None:
    fitted = loading.model()
    heading(
        "Map",
        "Words in two dimensions: what is near is used alike. Drag to move, scroll to zoom, point at a dot to read it.",
    )
    with st.container(horizontal=True, vertical_alignment="bottom", key="controls"):
        language = address.language_box(fitted)
        kind = st.selectbox("Show", [FREQUENT, NEAR], key="show", bind="query-params", width=230)
        word = address.word_box(fitted, language, key="near") if kind == NEAR else None
        top = int(st.select_slider("How many", MANY, 100, key="top", bind="query-params", width=200))
        color = _color_box(fitted, language)
        column = [color] if isinstance(color, str) else []
        where = address.slice_boxes(fitted, without=column, every=False)
    words = words_near(fitted, word, top, language, where) if word else frequent_words(fitted, top, language, where)
    if column:
        note("A word has a dot at each value, as large as it is frequent there. Long lines: used differently.")
    options: dict[str, Any] = {"color": color, "language": language, **where}
    with st.container(key="atlas"):
        draw(plots.map(fitted, words, width=WIDE, height=HIGH, **options), alt="A map of words")
    asked = [call(f"lx.plots.{name}", Name("fitted"), Name("words"), **options) for name in ("atlas.layout", "map")]
    code = f"words = {literal(words)}\nframe = {asked[0]}\nchart = {asked[1]}"
    offer(layout(fitted, words, **options), "map", code, key="map")


def _color_box(fitted: Embeddings, language: str | None) -> Color | None:
    """A column, two poles, or nothing."""
    columns = {f"by {name}": name for name in choosing.compared_columns(fitted)}
    chosen = st.selectbox("Color", [PLAIN, *columns, POLES], key="color", bind="query-params", width=200)
    if chosen == POLES:
        return address.pole_boxes(fitted, language)
    return columns.get(str(chosen))


def frequent_words(fitted: Embeddings, top: int, language: str | None, where: dict[str, Any]) -> list[str]:
    """The most frequent words with a content, in the slices with these values."""
    index = fitted.language(language)
    counts = fitted.counts[index][fitted.chosen(where)].sum(0)
    names = np.array(fitted.rows.vocabularies[index].words, object)
    order = np.argsort(-counts, kind="stable")
    order = order[: max(int((counts > 0).sum()), 3)]
    for few in (order[: FIRST + 4 * top], order):  # to look at all words takes long
        frequent = pd.Series(names[few])
        content = frequent[choosing.has_content(frequent, choosing.function_words(fitted, language))]
        if len(content) >= top:
            break
    return (content if len(content) > 2 else frequent).head(top).tolist()


def words_near(fitted: Embeddings, word: str, top: int, language: str | None, where: dict[str, Any]) -> list[str]:
    """A word and its neighbors, the nearest of each slice first."""
    frame = fitted.neighbors(word, top, language=language, **where).sort_values("rank", kind="stable")
    return list(dict.fromkeys([word, *frame["neighbor"]]))[: top + 1]
