"""The page of words on a dimension between two poles, by group and through time."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from laplex import plots
from laplex.embeddings import Embeddings
from laplex.explorer import address, loading, showing
from laplex.explorer.loading import ask
from laplex.reports import choosing

PLACED_WORDS = 14
RANKED_WORDS = 3_000  # frequent words, among which the most extreme are looked for
EXTREME_WORDS = 12

Axis = tuple[list[str], list[str]]


def show() -> None:
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
