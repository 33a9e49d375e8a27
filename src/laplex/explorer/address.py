"""What is chosen on a page is in its address, so that a view can be sent to someone, or gone back to.

Each function draws a widget that reads its value from the address and writes it there; what is the default is left out
of it. Words are chosen from the whole vocabulary; the most frequent ones are offered while one types.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import streamlit as st

from laplex.embeddings import Embeddings
from laplex.errors import LaplexError
from laplex.explorer import loading
from laplex.explorer.showing import plain
from laplex.plots.chart import title_of
from laplex.report import choosing
from laplex.vocabulary import Vocabulary

OFFERED = 20_000  # words that are offered while one types
POLES = (("rich", "poor"), ("war", "peace"), ("good", "bad"), ("strong", "weak"), ("man", "woman"), ("new", "old"))
BOX, WORD_BOX = 180, 260  # pixels
ALL = "all"
_PAGES = "_pages"
_BACK = """
export default function () {
  if (window.laplexPath === undefined)
    window.addEventListener("popstate", () => {
      if (location.pathname === window.laplexPath) location.reload();
      window.laplexPath = location.pathname;
    });
  window.laplexPath = location.pathname;
}
"""


class UnknownWordError(LaplexError):
    """A word was chosen that is not in the vocabulary; `key` is that of the widget."""

    def __init__(self, word: str, vocabulary: Vocabulary, key: str) -> None:
        super().__init__(f"“{word}” is not in the vocabulary ({len(vocabulary):,} words).")
        self.word, self.vocabulary, self.key = word, vocabulary, key


def remember_pages(pages: dict[str, Any]) -> None:
    """So that `go` finds them."""
    st.session_state[_PAGES] = pages


def go(page: str, **values: str | None) -> None:
    """To another page, with values of its own."""
    st.switch_page(
        st.session_state[_PAGES][page], query_params={name: value for name, value in values.items() if value}
    )


def follow_back() -> None:
    """Let the browser's back button undo a choice: Streamlit alone would change the address and not the page."""
    st.components.v2.component("laplex_back", js=_BACK)(key="_back")


def language_box(fitted: Embeddings, key: str = "language", label: str = "Language") -> str | None:
    """The language, if there are several."""
    if len(fitted.languages) < 2:
        return None
    return st.selectbox(label, fitted.languages, key=key, bind="query-params", width=BOX)


def word_box(fitted: Embeddings, language: str | None, key: str = "word", default: str | None = None) -> str:
    """A word; for one that is not known, an error."""
    vocabulary = fitted.rows.vocabularies[fitted.language(language)]
    offered = vocabulary.words[:OFFERED]
    first = default or loading.telling_words(language=language)[0]
    word = st.selectbox(
        "Word",
        offered,
        index=offered.index(first) if first in offered else 0,
        key=key,
        accept_new_options=True,
        filter_mode="prefix",
        bind="query-params",
        placeholder="Type a word",
        width=WORD_BOX,
    )
    chosen = (word or first).strip()
    if chosen in vocabulary or chosen.casefold() in vocabulary:
        return chosen if chosen in vocabulary else chosen.casefold()
    raise UnknownWordError(chosen, vocabulary, key)


def suggest(error: UnknownWordError) -> None:
    """Words that are written like one that is not known; a click takes one."""
    word, vocabulary, key = error.word, error.vocabulary, error.key
    longer = [known for known in vocabulary.words if known.startswith(word.casefold())][:6] if word else []
    close = list(dict.fromkeys([*vocabulary.close(word, 6), *longer]))
    st.warning(plain(str(error)), icon=":material/search_off:")

    def take() -> None:
        picked = st.session_state[f"{key}_suggested"]
        if picked is not None:
            st.session_state[key] = close[picked]

    if close:
        st.pills(
            "Did you mean",
            range(len(close)),
            format_func=lambda place: plain(close[place]),
            key=f"{key}_suggested",
            on_change=take,
        )


def column_box(columns: Sequence[str], key: str, label: str) -> str:
    """A column; if there is one alone, nothing is asked."""
    if len(columns) == 1:
        return columns[0]
    return str(st.selectbox(label, columns, format_func=title_of, key=key, bind="query-params", width=BOX))


def slice_boxes(fitted: Embeddings, without: Sequence[str] = (), every: bool = True) -> dict[str, Any]:
    """The values of the columns that the page looks at; with `every`, all of them unless one is chosen."""
    chosen = {}
    begun = {} if every else choosing.first_slice(fitted, without)
    for name in fitted.columns:
        values = fitted.values(name)
        if name in without or len(values) < 2:
            continue
        options = [ALL, *values] if every else values
        first = 0 if every else values.index(begun[name])
        value = st.selectbox(
            plain(title_of(name)), options, index=first, key=f"at.{name}", bind="query-params", width=BOX
        )
        if value != ALL or not every:
            chosen[name] = str(value)
    return chosen


def pole_boxes(fitted: Embeddings, language: str | None) -> tuple[list[str], list[str]]:
    """The words at the two poles of a dimension."""
    vocabulary = fitted.rows.vocabularies[fitted.language(language)]
    known = next((poles for poles in POLES if all(word in vocabulary for word in poles)), None)
    first, last = known or (loading.telling_words(2, language) * 2)[:2]
    help = "One word or several, with commas or spaces between them."
    one = st.text_input("One pole", first, key="plus", bind="query-params", help=help, width=BOX)
    other = st.text_input("The other", last, key="minus", bind="query-params", help=help, width=BOX)
    plus, minus = ([word for word in re.split(r"[,;\s]+", text or "") if word] for text in (one, other))
    return plus, minus
