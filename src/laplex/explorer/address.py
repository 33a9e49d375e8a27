"""Widgets whose values are kept in the address of the page, so that a view can be shared, or returned to.

Values that are the default are left out of the address. Words are chosen from the whole vocabulary; the most frequent
ones are offered while the reader types.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import streamlit as st

from laplex.embeddings import Embeddings
from laplex.errors import LaplexError
from laplex.explorer import loading, showing
from laplex.plots.chart import title_of
from laplex.reports import choosing
from laplex.text.tokens import Tokens
from laplex.text.vocabulary import Vocabulary

OFFERED_WORDS = 20_000
SUGGESTED_WORDS = 6
POLES = (("rich", "poor"), ("war", "peace"), ("good", "bad"), ("strong", "weak"), ("man", "woman"), ("new", "old"))
BOX_WIDTH, WORD_BOX_WIDTH = 180, 260  # pixels
ALL = "all"
_PAGES, _NEXT_LANGUAGE = "_pages", "_next_language"  # of the state of a session
_BACK_SCRIPT = Path(__file__).with_name("back.js")


class UnknownWordError(LaplexError):
    """A word was chosen that is not in the vocabulary; `key` is that of the widget."""

    def __init__(self, word: str, vocabulary: Vocabulary, key: str) -> None:
        phrase = " Read the text with phrases=True, or a list of phrases, to make it a word." if " " in word else ""
        super().__init__(f"“{word}” is not in the vocabulary ({len(vocabulary):,} words).{phrase}")
        self.word, self.vocabulary, self.key = word, vocabulary, key


def remember_pages(pages: dict[str, Any]) -> None:
    """Keep the pages of this session for `go_to_word`, and make the back button of the browser undo choices."""
    st.session_state[_PAGES] = pages
    st.components.v2.component("laplex_back", js=_BACK_SCRIPT.read_text(encoding="utf-8"))(key="_back")


def go_to_word(word: str, language: str | None) -> None:
    """Switch to the page of a word in its language; both are then in the address."""
    # Streamlit refuses a new value of the language in the address while the box of this page is bound to it
    st.session_state[_NEXT_LANGUAGE] = language
    st.switch_page(st.session_state[_PAGES]["word"], query_params={"word": word})


def controls() -> Any:
    """The row of widgets at the top of a page."""
    return st.container(horizontal=True, vertical_alignment="bottom", key="controls")


def select(label: str, options: Sequence[Any], key: str, index: int = 0, width: int = BOX_WIDTH, **more: Any) -> Any:
    """A box with one of several values."""
    return st.selectbox(label, options, index, key=key, bind="query-params", width=width, **more)


def slider(label: str, options: Sequence[int], default: int, key: str, width: int = 200) -> int:
    """One of several numbers."""
    return int(st.select_slider(label, options, default, key=key, bind="query-params", width=width))


def language_box(fitted: Embeddings, label: str = "Language") -> str | None:
    """The language, if there are several."""
    if len(fitted.languages) < 2:
        return None
    if language := st.session_state.pop(_NEXT_LANGUAGE, None):
        st.session_state["language"] = language
    return str(select(label, fitted.languages, "language"))


def word_box(fitted: Embeddings, language: str | None, key: str = "word", default: str | None = None) -> str:
    """A word of the vocabulary, written as `Vocabulary.find` allows; raises UnknownWordError for others."""
    vocabulary = fitted.rows.vocabularies[fitted.language(language)]
    offered = vocabulary.words[:OFFERED_WORDS]
    default = default or loading.first_words(fitted, language=language)[0]
    typed = {"accept_new_options": True, "filter_mode": "prefix", "placeholder": "Type a word"}
    index = offered.index(default) if default in offered else 0
    word = (select("Word", offered, key, index, WORD_BOX_WIDTH, **typed) or default).strip()
    return _known(word, vocabulary, key)


def _known(word: str, vocabulary: Vocabulary, key: str) -> str:
    """A word as the vocabulary spells it."""
    for spelling in (word, word.casefold()):
        if (index := vocabulary.find(spelling)) is not None:
            return vocabulary.words[index]
    raise UnknownWordError(word, vocabulary, key)


def suggest_words(error: UnknownWordError) -> None:
    """Words that are spelled like an unknown one; a click chooses one."""
    word, vocabulary, key = error.word, error.vocabulary, f"{error.key}_suggested"
    longer = [known for known in vocabulary.words if known.startswith(word.casefold())] if word else []
    words = list(dict.fromkeys([*vocabulary.close(word, SUGGESTED_WORDS), *longer[:SUGGESTED_WORDS]]))
    st.warning(showing.escape_markdown(str(error)), icon=":material/search_off:")

    def choose() -> None:
        place = st.session_state[key]
        if place is not None:
            st.session_state[error.key] = words[place]

    if words:
        showing.pills("Did you mean", words, key=key, on_change=choose)


def column_box(columns: Sequence[str], key: str, label: str) -> str:
    """One of these columns; without a widget if there is only one."""
    return columns[0] if len(columns) == 1 else str(select(label, columns, key, format_func=title_of))


def slice_boxes(fitted: Embeddings, without: Sequence[str] = (), every: bool = True) -> dict[str, Any]:
    """The values of columns that the page shows; with `every`, all values of a column unless one is chosen."""
    chosen: dict[str, Any] = {}
    first = {} if every else choosing.first_slice(fitted, without)
    for name in fitted.columns:
        values = fitted.values(name)
        if name in without or len(values) < 2:
            continue
        label, options = showing.escape_markdown(title_of(name)), [ALL, *values] if every else values
        value = select(label, options, f"at.{name}", options.index(first.get(name, ALL)))
        if value != ALL or not every:
            chosen[name] = str(value)
    return chosen


def pole_boxes(fitted: Embeddings, language: str | None) -> tuple[list[str], list[str]]:
    """The words at the two poles of a dimension."""
    vocabulary = fitted.rows.vocabularies[fitted.language(language)]
    known = next((poles for poles in POLES if all(word in vocabulary for word in poles)), None)
    defaults = known or (loading.first_words(fitted, 2, language) * 2)[:2]
    help = "One word or several, with commas or spaces between them."
    texts = [
        st.text_input(label, default, key=key, bind="query-params", help=help, width=BOX_WIDTH)
        for label, default, key in zip(("One pole", "The other"), defaults, ("plus", "minus"))
    ]
    first, second = (vocabulary.words_in(text or "") for text in texts)
    return first, second


def unit_box(fitted: Embeddings, tokens: Tokens, column: str) -> str | None:
    """The column that says who was sampled; None for that of the text, with which the findings are kept."""
    names = [name for name in tokens.columns if name not in (*fitted.columns, column, tokens.unit)]
    if not names:
        return None
    first = title_of(tokens.unit) if tokens.unit not in (None, column) else "each document"
    help = (
        "Texts by the same speaker are alike. Naming the column with the speakers keeps one talkative speaker "
        "from looking like a difference between groups. Another unit than the first has to be tested anew."
    )
    chosen = select("Who was sampled", [first, *names], "unit", help=help)
    return None if chosen == first else str(chosen)


def chosen_word(
    fitted: Embeddings,
    language: str | None,
    words: Sequence[str],
    key: str,
    placeholder: str = "Click a row, or type a word",
) -> str | None:
    """A word that is looked into, if one is chosen; raises UnknownWordError for one that is not in the vocabulary."""
    word = st.selectbox(
        "Look into",
        list(words),
        None,
        key=key,
        bind="query-params",
        width=WORD_BOX_WIDTH,
        accept_new_options=True,
        filter_mode="prefix",
        placeholder=placeholder,
    )
    if not word:
        return None
    vocabulary = fitted.rows.vocabularies[fitted.language(language)]
    return _known(str(word).strip(), vocabulary, key)
