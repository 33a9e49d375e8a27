"""Widgets whose values are kept in the address of the page, so that a view can be shared, or returned to.

Values that are the default are left out of the address, which has the values themselves also where the page shows
another name of them. Words are chosen from the whole vocabulary; the most frequent ones are offered while the reader
types, and several may be typed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import streamlit as st

from laplex.embeddings import Embeddings
from laplex.errors import LaplexError
from laplex.explorer import loading, showing
from laplex.fitting.provenance import value_name
from laplex.plots.chart import title_of
from laplex.reports import choosing
from laplex.reports.describing import SMALL_SLICE_TOKENS
from laplex.text.tokens import Tokens
from laplex.text.topics import TOPIC
from laplex.text.vocabulary import Vocabulary

OFFERED_WORDS = 20_000
SUGGESTED_WORDS = 6
POLES = (("rich", "poor"), ("war", "peace"), ("good", "bad"), ("strong", "weak"), ("man", "woman"), ("new", "old"))
BOX_WIDTH, WORD_BOX_WIDTH = 180, 260  # pixels
ENOUGH_USES_OF_POLE = 50  # in every slice with enough text
ALL = "all"
_PAGES, _NEXT_LANGUAGE, _WRITTEN = "_pages", "_next_language", "_written"  # of the state of a session


class UnknownWordError(LaplexError):
    """A word was chosen that is not in the vocabulary; `key` is that of the widget, and `typed` its value."""

    def __init__(self, word: str, vocabulary: Vocabulary, key: str, typed: str | Sequence[str] = "") -> None:
        phrase = " Read the text with phrases=True, or a list of phrases, to make it a word." if " " in word else ""
        super().__init__(f"“{word}” is not in the vocabulary ({len(vocabulary):,} words).{phrase}")
        self.word, self.vocabulary, self.key, self.typed = word, vocabulary, key, typed or word


def show_links(pages: dict[str, Any], current: Any) -> None:
    """The links to all pages, which are kept for `go_to_word`."""
    st.session_state[_PAGES] = pages
    with st.container(horizontal=True, gap="small", key="page_links"):
        for name, page in pages.items():
            with st.container(width="content", key=f"page_{'this' if page is current else name}"):
                st.page_link(page, query_params=_model_params())


def model_box() -> None:
    """Which model the page shows, if there are two."""
    names = loading.names()
    if len(names) > 1:
        options = list(map(str, range(1, len(names) + 1)))
        select(
            "Model",
            options,
            loading.CHOSEN,
            format_func=lambda number: names[int(number) - 1],
            label_visibility="collapsed",
        )


def _model_params() -> dict[str, str]:
    return {loading.CHOSEN: str(loading.number() + 1)} if loading.number() else {}


def go_to_word(word: str, language: str | None) -> None:
    """Switch to the page of a word in its language; both are then in the address."""
    go_to("word", language, {"word": word})


def go_to(page: str, language: str | None, choices: dict[str, str]) -> None:
    """Switch to a page with these choices in its address, in this language."""
    # Streamlit refuses a new value of the language in the address while the box of this page is bound to it
    st.session_state[_NEXT_LANGUAGE] = language
    st.switch_page(st.session_state[_PAGES][page], query_params={**choices, **_model_params()})


def controls() -> Any:
    """The row of widgets at the top of a page."""
    return st.container(horizontal=True, vertical_alignment="bottom", key="controls")


def select(
    label: str,
    options: Sequence[Any],
    key: str,
    index: int = 0,
    width: int = BOX_WIDTH,
    format_func: Callable[[Any], str] | None = None,
    **more: Any,
) -> Any:
    """A box with one of several values; with `format_func`, these are text, of which the box shows other names."""
    if format_func is None:
        return st.selectbox(label, options, index, key=key, bind="query-params", width=width, **more)
    # Streamlit would keep the name in the address, so the value is kept here: what the address has is taken whenever
    # it is not what was written last, as after a click on the back button
    default, known = options[index], st.session_state.setdefault(_WRITTEN, {})
    given, (written, former) = st.query_params.get(key), known.get(key, (None, default))
    state = st.session_state.get(key)
    if given != written or state not in options or (given is None and state == former):
        st.session_state[key] = given if given in options else default
    value = st.selectbox(label, options, key=key, format_func=format_func, width=width, **more)
    wanted = None if value == default else value
    if wanted is None:
        st.query_params.pop(key, None)
    elif wanted != given:
        st.query_params[key] = wanted
    known[key] = wanted, default
    return value


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


def word_box(
    fitted: Embeddings, language: str | None, key: str = "word", default: str | None = None, label: str = "Word"
) -> str:
    """A word or phrase of the vocabulary; one of several that were typed. Raises UnknownWordError for others."""
    default = default or loading.first_words(fitted, language=language)[0]
    return str(_word_of_box(fitted, language, key, default, label, "Type a word"))


def chosen_word(
    fitted: Embeddings,
    language: str | None,
    words: Sequence[str],
    key: str,
    placeholder: str = "Type, or click a dot or a row",
) -> str | None:
    """A word that is looked into, if one is chosen; raises UnknownWordError for one that is not in the vocabulary."""
    return _word_of_box(fitted, language, key, None, "Find a word", placeholder, words)


def _word_of_box(
    fitted: Embeddings,
    language: str | None,
    key: str,
    default: str | None,
    label: str,
    placeholder: str,
    offered: Sequence[str] | None = None,
) -> str | None:
    vocabulary = fitted.rows.vocabularies[fitted.language(language)]
    offered = list(offered or vocabulary.words[:OFFERED_WORDS])
    index: Any = offered.index(default) if default in offered else 0 if default else None
    typed: dict[str, Any] = {"accept_new_options": True, "filter_mode": "prefix", "placeholder": placeholder}
    text = str(select(label, offered, key, index, WORD_BOX_WIDTH, **typed) or default or "").strip()
    if not text:
        return None
    words = known_words(text, vocabulary, key)
    if len(words) == 1:
        return words[0]
    shown: dict[str, Any] = {"default": 0, "label_visibility": "collapsed", "bind": "query-params"}
    place = showing.pills(f"{label}: which", words, key=f"{key}_of_{len(words)}", **shown)
    return words[place or 0]


def known_words(typed: str | Sequence[str], vocabulary: Vocabulary, key: str) -> list[str]:
    """The words and phrases of a text, or of several, as the vocabulary spells them.

    If some are unknown, what is spelled like them is offered; UnknownWordError if all are.
    """
    found: dict[str, int | None] = {}
    for text in [typed] if isinstance(typed, str) else typed:
        for word in [text] if vocabulary.find(text) is not None else vocabulary.words_in(text):
            index = vocabulary.find(word)
            found[word] = vocabulary.find(word.casefold()) if index is None else index
    known = [vocabulary.words[index] for index in found.values() if index is not None]
    for word in [word for word, index in found.items() if index is None][:1]:
        error = UnknownWordError(word, vocabulary, key, typed)
        if not known:
            raise error
        suggest_words(error)
    return list(dict.fromkeys(known))


def suggest_words(error: UnknownWordError) -> None:
    """Words that are spelled like an unknown one; a click puts one in its place."""
    word, vocabulary, key = error.word, error.vocabulary, f"{error.key}_suggested"
    longer = [known for known in vocabulary.words if known.startswith(word.casefold())] if word else []
    words = list(dict.fromkeys([*vocabulary.close(word, SUGGESTED_WORDS), *longer[:SUGGESTED_WORDS]]))

    def choose() -> None:
        place = st.session_state[key]
        if place is not None:
            typed, chosen = error.typed, words[place]
            several = [text.replace(word, chosen) for text in ([typed] if isinstance(typed, str) else typed)]
            st.session_state[error.key] = several[0] if isinstance(typed, str) else several

    with st.container(key=f"unknown_{error.key}"):
        st.warning(showing.escape_markdown(str(error)), icon=":material/search_off:")
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
        names = partial(value_name, fitted, name)
        value = select(label, options, f"at.{name}", options.index(first.get(name, ALL)), format_func=names)
        if value != ALL or not every:
            chosen[name] = str(value)
    return chosen


def pole_boxes(fitted: Embeddings, language: str | None) -> tuple[list[str], list[str]]:
    """The words at the two poles of a dimension; to begin with, two opposites that slices use often enough."""
    vocabulary = fitted.rows.vocabularies[fitted.language(language)]
    defaults = _first_poles(fitted, language) or (loading.first_words(fitted, 2, language) * 2)[:2]
    help = "One word or several, with commas or spaces between them; a phrase as one."
    first, second = [
        st.text_input(label, default, key=key, bind="query-params", help=help, width=BOX_WIDTH) or default
        for label, default, key in zip(("One pole", "The other"), defaults, ("plus", "minus"))
    ]
    return known_words(first, vocabulary, "plus"), known_words(second, vocabulary, "minus")


def _first_poles(fitted: Embeddings, language: str | None) -> tuple[str, str] | None:
    index = fitted.language(language)
    vocabulary, counts = fitted.rows.vocabularies[index], fitted.counts[index]
    tokens = counts.sum(1)
    large = tokens >= SMALL_SLICE_TOKENS
    full = counts[large if large.any() else tokens > 0]
    least = {
        poles: int(full[:, [vocabulary[word] for word in poles]].min(initial=ENOUGH_USES_OF_POLE))
        for poles in POLES
        if all(word in vocabulary for word in poles)
    }
    enough = next((poles for poles, uses in least.items() if uses >= ENOUGH_USES_OF_POLE), None)
    return enough or max(least, key=lambda poles: least[poles], default=None)


def given_box(tokens: Tokens, column: str) -> list[str]:
    """The columns of the text within whose values groups are compared: none unless some are chosen."""
    names = [name for name in tokens.columns if name not in (column, tokens.unit)]
    names += [TOPIC] if TOPIC not in names else []
    help = (
        "Compares like with like: texts of the same period, or about the same topic. Topics are found in the text "
        "if it has no such column. All words are tested anew, which may take minutes."
    )
    shown: dict[str, Any] = {"placeholder": "All texts together", "help": help, "width": WORD_BOX_WIDTH}
    chosen = st.multiselect("Compare within", names, key="given", bind="query-params", **shown)
    return list(map(str, chosen))


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
