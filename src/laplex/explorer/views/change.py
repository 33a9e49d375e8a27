"""The page of the words that change along an ordered column, and the path of one of them."""

from __future__ import annotations

from typing import Any

import streamlit as st

from laplex import plots
from laplex.embeddings import Embeddings
from laplex.explorer import address, loading, showing
from laplex.explorer.loading import ask
from laplex.explorer.views.comparison import CHOSEN, ComparisonPage, first_tested


def show() -> None:
    """Draw the page of words that change along an ordered column."""
    fitted = loading.model()
    showing.heading("Change", "The words whose use changes: how far, how surely, and from what words to what words.")
    with address.controls():
        language = address.language_box(fitted)
        along = address.column_box(first_tested(fitted, "drift", language), "along", "Along")
        page = ComparisonPage(fitted, "drift", along, language, None)
    first = page.show()
    _path(fitted, along, language, page.where, first)


def _path(fitted: Embeddings, along: str, language: str | None, where: dict[str, Any], first: str | None) -> None:
    """The path of the word that is looked into, or of the first."""
    showing.section("The path of a word", "What the vectors of a word say at each value; this is no test.")
    chosen = st.session_state.get(CHOSEN)
    known = chosen if chosen in fitted.rows.vocabularies[fitted.language(language)] else first
    with st.container(horizontal=True):
        word = address.word_box(fitted, language, key="moved", default=known)
    options: dict[str, Any] = {"language": language, "at": where}
    left, right = st.columns([1, 1], gap="large")
    with left:
        st.caption("Its path among its neighbors, in two dimensions. Hollow: not used then, placed by the prior.")
        showing.chart(plots.trajectory(fitted, word, along, **options), f"The path of {word}")
    with right:
        st.caption(f"Its similarity to itself at the first {along}.")
        path, code = ask(fitted, "trajectory", word, along=along, **options)
        showing.chart(plots.lines(path, x=along, width=400, height=220), f"Similarity of {word} to its first vector")
        counts = [name for name in ("neighbors", "uses", "count") if name in path]
        showing.table(path[[*fitted.columns, *counts]])
    showing.download(path, f"trajectory {word}", code, key="path")
