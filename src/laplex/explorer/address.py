"""Widgets whose values are kept in the address of the page, so that a view can be shared, or returned to.

Values that are the default are left out of the address. Words are chosen from the whole vocabulary; the most frequent
ones are offered while the reader types.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import streamlit as st

from laplex.embeddings import Embeddings
from laplex.errors import LaplexError
from laplex.explorer import loading, showing
from laplex.plots.chart import title_of
from laplex.reports import choosing
from laplex.text.vocabulary import Vocabulary

OFFERED_WORDS = 20_000
SUGGESTED_WORDS = 6
POLES = (("rich", "poor"), ("war", "peace"), ("good", "bad"), ("strong", "weak"), ("man", "woman"), ("new", "old"))
BOX_WIDTH, WORD_BOX_WIDTH = 180, 260  # pixels
ALL = "all"
_PAGES, _NEXT_LANGUAGE = "_pages", "_next_language"  # of the state of a session
# without it, Streamlit changes the address at a click on the back button, but not the page
_BACK_SCRIPT = """
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
    """Keep the pages of this session for `go_to_word`, and make the back button of the browser undo choices."""
    st.session_state[_PAGES] = pages
    st.components.v2.component("laplex_back", js=_BACK_SCRIPT)(key="_back")


def go_to_word(word: str, language: str | None) -> None:
    """Switch to the page of a word in its language; both are then in the address."""
    # Streamlit refuses a new value of the language in the address while the box of this page is bound to it
    st.session_state[_NEXT_LANGUAGE] = language
    st.switch_page(st.session_state[_PAGES]["word"], query_params={"word": word})


def controls() -> Any:
    """The row of widgets at the top of a page."""
    return st.container(horizontal=True, vertical_alignment="bottom", key="controls")


def language_box(fitted: Embeddings, label: str = "Language") -> str | None:
    """The language, if there are several."""
    if len(fitted.languages) < 2:
        return None
    if language := st.session_state.pop(_NEXT_LANGUAGE, None):
        st.session_state["language"] = language
    return st.selectbox(label, fitted.languages, key="language", bind="query-params", width=BOX_WIDTH)


def word_box(fitted: Embeddings, language: str | None, key: str = "word", default: str | None = None) -> str:
    """A word of the vocabulary, also one in another case; raises UnknownWordError for others."""
    vocabulary = fitted.rows.vocabularies[fitted.language(language)]
    offered = vocabulary.words[:OFFERED_WORDS]
    default = default or loading.first_words(language=language)[0]
    chosen = st.selectbox(
        "Word",
        offered,
        index=offered.index(default) if default in offered else 0,
        key=key,
        accept_new_options=True,
        filter_mode="prefix",
        bind="query-params",
        placeholder="Type a word",
        width=WORD_BOX_WIDTH,
    )
    word = (chosen or default).strip()
    for spelling in (word, word.casefold()):
        if spelling in vocabulary:
            return spelling
    raise UnknownWordError(word, vocabulary, key)


def suggest_words(error: UnknownWordError) -> None:
    """Words that are spelled like an unknown one; a click chooses one."""
    word, vocabulary, key = error.word, error.vocabulary, error.key
    longer = [known for known in vocabulary.words if known.startswith(word.casefold())] if word else []
    words = list(dict.fromkeys([*vocabulary.close(word, SUGGESTED_WORDS), *longer[:SUGGESTED_WORDS]]))
    st.warning(showing.escape_markdown(str(error)), icon=":material/search_off:")

    def choose() -> None:
        place = st.session_state[f"{key}_suggested"]
        if place is not None:
            st.session_state[key] = words[place]

    if words:
        st.pills(
            "Did you mean",
            range(len(words)),
            format_func=lambda place: showing.escape_markdown(words[place]),
            key=f"{key}_suggested",
            on_change=choose,
        )


def column_box(columns: Sequence[str], key: str, label: str) -> str:
    """One of these columns; without a widget if there is only one."""
    if len(columns) == 1:
        return columns[0]
    return str(st.selectbox(label, columns, format_func=title_of, key=key, bind="query-params", width=BOX_WIDTH))


def slice_boxes(fitted: Embeddings, without: Sequence[str] = (), every: bool = True) -> dict[str, Any]:
    """The values of columns that the page shows; with `every`, all values of a column unless one is chosen."""
    chosen: dict[str, Any] = {}
    first = {} if every else choosing.first_slice(fitted, without)
    for name in fitted.columns:
        values = fitted.values(name)
        if name in without or len(values) < 2:
            continue
        label, options = showing.escape_markdown(title_of(name)), [ALL, *values] if every else values
        index = options.index(first.get(name, ALL))
        value = st.selectbox(label, options, index=index, key=f"at.{name}", bind="query-params", width=BOX_WIDTH)
        if value != ALL or not every:
            chosen[name] = str(value)
    return chosen


def min_count_box(label: str, default: int) -> int:
    """How often a word must occur to be listed."""
    steps = choosing.MIN_COUNTS
    return int(st.select_slider(label, steps, default, key="min_count", bind="query-params", width=260))


def pole_boxes(fitted: Embeddings, language: str | None) -> tuple[list[str], list[str]]:
    """The words at the two poles of a dimension."""
    vocabulary = fitted.rows.vocabularies[fitted.language(language)]
    known = next((poles for poles in POLES if all(word in vocabulary for word in poles)), None)
    defaults = known or (loading.first_words(2, language) * 2)[:2]
    boxes = zip(("One pole", "The other"), defaults, ("plus", "minus"))
    help = "One word or several, with commas or spaces between them."
    texts = [
        st.text_input(label, default, key=key, bind="query-params", help=help, width=BOX_WIDTH)
        for label, default, key in boxes
    ]
    first, second = ([word for word in re.split(r"[,;\s]+", text or "") if word] for text in texts)
    return first, second


def cluster_box(column: str, key: str) -> str | None:
    """The column that says who speaks; None for documents that are independent of each other."""
    names = loading.cluster_columns(column)
    if not names:
        return None
    documents = "each document on its own"
    chosen = st.selectbox(
        "Who speaks",
        [*names, documents],
        index=[*names, None].index(loading.likely_cluster(column)),
        key=key,
        bind="query-params",
        help="Texts by the same speaker are alike. Naming the column with the speakers keeps one talkative speaker "
        "from looking like a difference between groups.",
        width=260,
    )
    return None if chosen == documents else str(chosen)
