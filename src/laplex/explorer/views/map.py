"""The page of the map: words that are used alike are near each other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from laplex import plots
from laplex.embeddings import Embeddings
from laplex.explorer import address, loading, showing
from laplex.explorer.loading import CodeName, ask, code_of_call
from laplex.plots.projections import Color
from laplex.reports import choosing

FREQUENT, NEAR = "the most frequent words", "the words around a word"
NO_COLOR, POLES = "by nothing", "between two poles"
MAP_WORDS = (20, 50, 100, 200, 300, 500, 1000)
MAP_SIZE: dict[str, Any] = {"width": 900, "height": 640}  # pixels


def show() -> None:
    """Draw the page of the map."""
    fitted = loading.model()
    lead = "Words that are near each other are used alike. Drag to move, scroll to zoom, point at a dot to read it."
    showing.heading("Map", lead)
    with address.controls():
        language = address.language_box(fitted)
        kind = address.select("Show", [FREQUENT, NEAR], "show", width=230)
        word = address.word_box(fitted, language, key="near") if kind == NEAR else None
        top = address.slider("How many", MAP_WORDS, 100, "top")
        color = _color_box(fitted, language)
        column = [color] if isinstance(color, str) else []
        where = address.slice_boxes(fitted, without=column, every=False)
    words = words_near(fitted, word, top, language, where) if word else frequent_words(fitted, top, language, where)
    if column:
        text = "A word has a dot at each value; its size is the frequency there. Long lines: used differently."
        showing.explain(text)
    options: dict[str, Any] = {"color": color, "language": language, "at": where}
    chart = plots.map(fitted, words, **MAP_SIZE, **options)
    with st.container(key="atlas"):
        showing.chart(chart, "A map of words")
    call = code_of_call("lx.plots.map", CodeName("fitted"), CodeName("words"), **options)
    code = f"words = {words!r}\nchart = {call}\nframe = chart.frame"
    showing.download(chart.frame, "map", code, key="map")


def _color_box(fitted: Embeddings, language: str | None) -> Color | None:
    """A column, two poles, or nothing."""
    columns = {f"by {name}": name for name in choosing.compared_columns(fitted)}
    chosen = address.select("Color", [NO_COLOR, *columns, POLES], "color", width=200)
    return address.pole_boxes(fitted, language) if chosen == POLES else columns.get(str(chosen))


def frequent_words(fitted: Embeddings, top: int, language: str | None, where: dict[str, Any]) -> list[str]:
    """The most frequent content words in the slices with these values; any words if there are fewer than three."""
    index = fitted.language(language)
    counts = fitted.counts[index][fitted.chosen(where)].sum(0)
    order = np.argsort(-counts, kind="stable")[: max(int((counts > 0).sum()), 3)]
    names = np.array(fitted.rows.vocabularies[index].words, object)
    for count in (500 + 4 * top, len(order)):  # to look at all words takes long, and is rarely needed
        frequent = pd.Series(names[order[:count]])
        content = frequent[choosing.is_content_word(fitted, frequent, language)]
        if len(content) >= top:
            break
    return (content if len(content) > 2 else frequent).head(top).tolist()


def words_near(fitted: Embeddings, word: str, top: int, language: str | None, where: dict[str, Any]) -> list[str]:
    """A word and its neighbors, the nearest of each slice first."""
    frame, _ = ask(fitted, "neighbors", word, top, language=language, at=where)
    frame = frame.sort_values("rank", kind="stable")
    return list(dict.fromkeys([word, *frame["neighbor"]]))[: top + 1]
