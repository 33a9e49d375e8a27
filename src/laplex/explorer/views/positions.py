"""Two pages on where words stand: on a dimension between two poles, and on a map."""

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

PLACED_WORDS = 14
RANKED_WORDS = 3_000  # frequent words, among which the most extreme are looked for
EXTREME_WORDS = 12
FREQUENT, NEAR = "the most frequent words", "the words around a word"
NO_COLOR, POLES = "by nothing", "between two poles"
MAP_WORDS = (20, 50, 100, 200, 300, 500, 1000)
MAP_SIZE: dict[str, Any] = {"width": 900, "height": 640}  # pixels

Axis = tuple[list[str], list[str]]


def show_dimensions() -> None:
    """Draw the page of words between two poles."""
    fitted = loading.model()
    showing.heading("Dimensions", "Name two poles, and see where words stand between them in each group.")
    with address.controls():
        language = address.language_box(fitted)
        axis = address.pole_boxes(fitted, language)
        groups = choosing.group_columns(fitted)[:1]
        where = address.slice_boxes(fitted, without=groups, every=False)
    words = _words_box(fitted, language, [*axis[0], *axis[1]])
    options: dict[str, Any] = {"language": language, "at": where}
    frame, code = ask(fitted, "project", words, axis=axis, **options)
    order = frame.groupby("word", sort=False)[_measured(frame)].mean().sort_values(ascending=False).index
    frame = frame.set_index("word").loc[order].reset_index()
    left, right = st.columns([6, 5], gap="large")
    with left:
        showing.section("Where words stand", "Right: nearer to the first pole. A wide gap: the groups do not agree.")
        color = next((name for name in groups if name not in where), None)
        ends = (", ".join(axis[1]), ", ".join(axis[0]))
        chart = plots.dots(frame.drop(columns=list(where)), color=color, ends=ends, width=400)
        showing.chart(chart, "Positions of words")
        showing.download(frame, "dimension", code, key="dimension")
    with right:
        _extremes(fitted, axis, language, where)
    _dimension_along(fitted, words, axis, language)


def _words_box(fitted: Embeddings, language: str | None, poles: list[str]) -> list[str]:
    first = loading.first_words(fitted, PLACED_WORDS + 4, language)
    words = [word for word in first if word not in poles][:PLACED_WORDS]
    chosen = st.multiselect(
        "Words to place",
        fitted.words(language)[: address.OFFERED_WORDS],
        words,
        key="words",
        bind="query-params",
        accept_new_options=True,
        filter_mode="prefix",
        max_selections=40,
    )
    return choosing.check_words(fitted, chosen or words, language)


def _measured(frame: pd.DataFrame) -> str:
    return "position" if "position" in frame else "estimate"


def _extremes(fitted: Embeddings, axis: Axis, language: str | None, where: dict[str, Any]) -> None:
    frequent = pd.Series(fitted.words(language)[:RANKED_WORDS], dtype=object)
    frequent = frequent[choosing.is_content_word(fitted, frequent, language)]
    if frequent.empty:
        return
    text = f"Of {len(frequent):,} frequent words, on average over the groups. Click one to see it."
    showing.section("The most extreme words", text)
    frame, _ = ask(fitted, "project", frequent.tolist(), axis, language=language, at=where)
    mean = frame.groupby("word", sort=False)[_measured(frame)].mean().dropna().sort_values()  # NaN: not used here
    lists, largest = [], max(float(mean.abs().max()), 1e-9) if len(mean) else 1.0
    for pole, ranked in ((axis[0], mean.iloc[::-1]), (axis[1], mean)):
        items = [
            showing.item(str(word), abs(float(value)) / largest, f"{value:+.2f}".replace("-", "−"))
            for word, value in ranked.head(EXTREME_WORDS).items()
        ]
        lists.append(showing.word_list(", ".join(pole), items, language))
    if picked := showing.grid({"": lists}, key="extremes"):
        address.go_to_word(picked, language)


def _dimension_along(fitted: Embeddings, words: list[str], axis: Axis, language: str | None) -> None:
    ordered = choosing.ordered_columns(fitted)
    if not ordered:
        return
    showing.section(f"By {ordered[0]}", "Up: nearer to the first pole.")
    word = str(address.select("Word", words, "followed", width=address.WORD_BOX_WIDTH))
    frame, code = ask(fitted, "project", word, axis=axis, language=language)
    others = [name for name in fitted.columns if name != ordered[0]]
    color = others[0] if len(others) == 1 else None
    showing.chart(plots.lines(frame, x=ordered[0], color=color, width=520, height=260), f"{word} on the dimension")
    showing.download(frame, f"dimension {word}", code, key="along")


def show_map() -> None:
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
