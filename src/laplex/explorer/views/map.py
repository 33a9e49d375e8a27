"""Who is near whom?"""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from laplex import plots
from laplex.embeddings import Embeddings
from laplex.explorer import address, loading
from laplex.explorer.coding import call
from laplex.explorer.showing import draw, heading, offer
from laplex.report import choosing

FREQUENT, NEAR = "the most frequent words", "the words around a word"


def show() -> None:
    fitted = loading.model()
    heading(
        "Map",
        "Words in two dimensions: what is near is used alike. Drag to move, scroll to zoom, point at a dot to read it.",
    )
    with st.container(horizontal=True, vertical_alignment="bottom", key="controls"):
        language = address.language_box(fitted)
        kind = st.selectbox("Show", [FREQUENT, NEAR], key="show", bind="query-params")
        word = address.word_box(fitted, language, key="near") if kind == NEAR else None
        top = int(
            st.select_slider("How many", (50, 100, 200, 300, 500, 1000), 200, key="top", bind="query-params", width=220)
        )
        where = address.slice_boxes(fitted, every=False)
    words = words_near(fitted, word, top, language, where) if word else frequent_words(fitted, top, language, where)
    chart = plots.map(fitted, words, language=language, width=980, height=620, **where)
    draw(chart, alt="A map of words")
    index, at = fitted.language(language), fitted.slice(where)
    points = pd.DataFrame({"word": words, "count": fitted.counts[index][at, fitted.ids(words, index)]})
    offer(
        points,
        "map",
        call("lx.plots.map", words, language=language, **where).replace("map(", "map(fitted, ", 1),
        key="map",
    )


def frequent_words(fitted: Embeddings, top: int, language: str | None, where: dict[str, Any]) -> list[str]:
    """The most frequent words of a slice that have a content."""
    index, at = fitted.language(language), fitted.slice(where)
    counts = fitted.counts[index][at]
    names = pd.Series(fitted.rows.vocabularies[index].words, dtype=object)
    content = names[choosing.has_content(names, choosing.function_words(fitted, language)) & (counts > 0)]
    some = content if len(content) > 2 else names
    order = (-pd.Series(counts)[some.index]).sort_values(kind="stable").index
    return some.loc[order].head(top).tolist()


def words_near(fitted: Embeddings, word: str, top: int, language: str | None, where: dict[str, Any]) -> list[str]:
    """A word and its neighbors in a slice."""
    return [word, *fitted.neighbors(word, top, language=language, **where)["neighbor"]]
