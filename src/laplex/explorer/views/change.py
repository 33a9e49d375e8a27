"""The page of the words that change along an ordered column, and how the use of one of them moved."""

from __future__ import annotations

import streamlit as st

from laplex import plots
from laplex.errors import InputError
from laplex.explorer import address, loading, showing
from laplex.explorer.loading import ask, code_of_call
from laplex.explorer.views.comparison import ComparisonPage, first_tested

WIDTH, HEIGHT = 400, 170  # pixels of a line


def show() -> None:
    """Draw the page of words that change along an ordered column."""
    fitted = loading.model()
    showing.heading("Change", "The words whose use changes: how far, how surely, and from what words to what words.")
    with address.controls():
        language = address.language_box(fitted)
        along = address.column_box(first_tested(fitted, "drift", language), "along", "Along")
        page = ChangePage(fitted, "drift", along, language, None)
    page.show()


class ChangePage(ComparisonPage):
    """The page of drift, whose panel also shows the path of a word."""

    def show_path(self, word: str) -> None:
        """How the use of a word moved along the column, with its interval; without the text, by the vectors alone."""
        options = {name: value for name, value in self.options.items() if name in ("at", "given")}
        known = {name: value for name, value in self.shared.items() if value is not None and name != "exclude"}
        try:
            frame = loading.effect(self.fitted, word, self.column, known, options)
        except InputError:
            self._show_similarity(word)
            return
        showing.label(f"Where its use stands at each {self.column}, with intervals")
        chart = plots.lines(frame, x=self.column, width=WIDTH, height=HEIGHT)
        showing.chart(chart, f"How the use of {word} moved along {self.column}")
        name = code_of_call("fitted.inference", **known) if known else "fitted"
        showing.download(
            frame, f"path {word}", f"frame = {code_of_call(f'{name}.effect', word, self.column, **options)}", key="path"
        )

    def _show_similarity(self, word: str) -> None:
        try:
            frame, code = ask(self.fitted, "trajectory", word, along=self.column, language=self.language, at=self.where)
        except InputError as error:
            st.caption(showing.escape_markdown(f"Its path cannot be shown: {error}."))
            return
        showing.label(f"How similar its vector is to the first along {self.column}; this is no test")
        chart = plots.lines(frame, x=self.column, width=WIDTH, height=HEIGHT)
        showing.chart(chart, f"Similarity of {word} to its first vector")
        showing.download(frame, f"path {word}", f"frame = {code}", key="path")
