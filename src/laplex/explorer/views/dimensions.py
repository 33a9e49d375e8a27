"""Where do words stand between two poles?"""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from laplex import plots
from laplex.embeddings import Embeddings
from laplex.explorer import address, loading
from laplex.explorer.coding import call
from laplex.explorer.grid import Group, Item, List, show_grid
from laplex.explorer.showing import draw, heading, offer, section
from laplex.report import choosing

PLACED = 14
RANKED = 3_000  # frequent words among which the most extreme are looked for
EXTREME = 12


def show() -> None:
    fitted = loading.model()
    heading("Dimensions", "Name two poles, and see where words stand between them, and for whom.")
    with st.container(horizontal=True, vertical_alignment="bottom", key="controls"):
        language = address.language_box(fitted)
        first, second = address.pole_boxes(fitted, language)
        groups = [name for name in choosing.compared_columns(fitted) if not fitted.ordered(name)]
        where = address.slice_boxes(fitted, without=groups[:1], every=False)
    axis = (first, second)
    words = _chosen(fitted, language, [*first, *second])
    frame = fitted.project(words, axis, language=language, **where)
    order = frame.groupby("word", sort=False)["position"].mean().sort_values(ascending=False).index
    frame = frame.set_index("word").loc[order].reset_index()
    left, right = st.columns([6, 5], gap="large")
    with left:
        section("Where words stand", "Right: nearer to the first pole. A wide gap: the groups do not agree.")
        color = groups[0] if groups and groups[0] not in where else None
        ends = (", ".join(second), ", ".join(first))
        draw(plots.dots(frame.drop(columns=list(where)), color=color, ends=ends, width=400), alt="Positions of words")
        offer(frame, "dimension", call("fitted.project", words, axis=axis, language=language, **where), key="dimension")
    with right:
        _extremes(
            fitted, axis, language, {**where, **{name: fitted.values(name)[0] for name in groups[:1]}}, groups[:1]
        )
    _along(fitted, words, axis, language)


def _chosen(fitted: Embeddings, language: str | None, poles: list[str]) -> list[str]:
    vocabulary = fitted.rows.vocabularies[fitted.language(language)]
    telling = [word for word in loading.telling_words(PLACED + 4, language) if word not in poles]
    words = st.multiselect(
        "Words to place",
        vocabulary.words[: address.OFFERED],
        telling[:PLACED],
        key="words",
        bind="query-params",
        accept_new_options=True,
        filter_mode="prefix",
        max_selections=40,
    )
    return choosing.known_words(fitted, words or telling[:PLACED], language)


def _extremes(
    fitted: Embeddings,
    axis: tuple[list[str], list[str]],
    language: str | None,
    slice: dict[str, Any],
    groups: list[str],
) -> None:
    vocabulary = fitted.rows.vocabularies[fitted.language(language)]
    frequent = pd.Series(vocabulary.words[:RANKED], dtype=object)
    frequent = frequent[choosing.has_content(frequent, choosing.function_words(fitted, language))]
    if frequent.empty:
        return
    section(
        "The most extreme words", f"Of the {len(frequent):,} most frequent, for all together. Click one to look at it."
    )
    where = {name: value for name, value in slice.items() if name not in groups}
    frame = fitted.project(frequent.tolist(), axis, language=language, **where)
    mean = frame.groupby("word", sort=False)["position"].mean().sort_values()
    lists = []
    for title, part in ((axis[0], mean.iloc[::-1]), (axis[1], mean)):
        items = [
            Item(word=str(word), share=abs(float(value)), value=f"{value:+.2f}".replace("-", "−"), mark="")
            for word, value in part.head(EXTREME).items()
        ]
        lists.append(List(title=", ".join(title), note="", items=items))
    picked = show_grid([Group(title="", lists=lists)], key="extremes", languages=[language] * 2)
    if picked:
        address.go("word", word=picked, language=language)


def _along(fitted: Embeddings, words: list[str], axis: tuple[list[str], list[str]], language: str | None) -> None:
    ordered = choosing.ordered_columns(fitted)
    if not ordered:
        return
    section(f"By {ordered[0]}", "Up: nearer to the first pole.")
    word = str(st.selectbox("Word", words, key="followed", bind="query-params", width=260))
    frame = fitted.project(word, axis, language=language)
    others = [name for name in fitted.columns if name != ordered[0]]
    color = others[0] if len(others) == 1 else None
    draw(plots.lines(frame, x=ordered[0], color=color, width=520, height=260), alt=f"{word} on the dimension")
    offer(frame, f"dimension {word}", call("fitted.project", word, axis=axis, language=language), key="along")
