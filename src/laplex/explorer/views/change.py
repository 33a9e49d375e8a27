"""Which words changed most?"""

from __future__ import annotations

from typing import Any

import streamlit as st

from laplex import plots
from laplex.embeddings import Embeddings
from laplex.explorer import address, loading
from laplex.explorer.coding import call
from laplex.explorer.showing import draw, heading, offer, section, table
from laplex.report import choosing

SHOWN = 60


def show() -> None:
    fitted = loading.model()
    heading(
        "Change", "The words that moved farthest from the first period to the last, and what they moved from and to."
    )
    with st.container(horizontal=True, vertical_alignment="bottom", key="controls"):
        language = address.language_box(fitted)
        along = address.column_box(choosing.ordered_columns(fitted), "along", "Along")
        where = address.slice_boxes(fitted, without=[along])
        least = int(
            st.select_slider(
                "Used at least … times at both ends",
                choosing.STEPS,
                _least(fitted, along, language),
                key="min_count",
                bind="query-params",
                width=260,
            )
        )
    frame = loading.drift(str(loading.folder()), along, 3 * SHOWN, least, language, loading.fixed(where))
    frame = frame[choosing.has_content(frame["word"], choosing.function_words(fitted, language))]
    frame = frame.head(SHOWN).reset_index(drop=True)
    code = call("fitted.drift", along, top=3 * SHOWN, min_count=least, language=language, **where)
    if frame.empty:
        st.info("No word is left: lower the number of uses.", icon=":material/filter_alt_off:")
        return
    section(
        "Most changed",
        "Distance: from the first to the last. Path: all steps on the way. Click a row to follow the word.",
    )
    row = table(
        frame.drop(columns=["from", "to"]),
        key="drift_rows",
        height=360,
        before=str(frame["from"][0]),
        after=str(frame["to"][0]),
    )
    offer(frame, f"drift {along}", code, key="drift")
    word = str(frame["word"].iloc[row if row is not None else 0])
    _path(fitted, word, along, language, where)


def _least(fitted: Embeddings, along: str, language: str | None) -> int:
    return max(choosing.min_count(fitted, along, language), choosing.STEPS[3])


def _path(fitted: Embeddings, first: str, along: str, language: str | None, where: dict[str, Any]) -> None:
    section("The path of a word")
    with st.container(horizontal=True):
        word = address.word_box(fitted, language, key="moved", default=first)
    left, right = st.columns([1, 1], gap="large")
    with left:
        st.caption("Its path among its neighbors, in two dimensions. Hollow: not used then, placed by the prior.")
        draw(plots.trajectory(fitted, word, along, language=language, **where), alt=f"The path of {word}")
    with right:
        st.caption(f"How similar it still is to what it was at the first {along}.")
        frame = fitted.trajectory(word, along=along, language=language, **where)
        draw(plots.lines(frame, x=along, width=400, height=220), alt=f"Similarity of {word} to its first")
        shown = frame[[*fitted.columns, "neighbors", "count"]]
        table(shown)
    offer(
        frame,
        f"trajectory {word}",
        call("fitted.trajectory", word, along=along, language=language, **where),
        key="path",
    )
