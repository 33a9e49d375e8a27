"""The models that are explored, their text if that is still there, and answers with the Python that gives them.

A process explores one model, or two of which a page shows the one that is chosen. Their folders are in an environment
variable. Answers that read the text come with a bar that shows how much is done, and can be stopped.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import streamlit as st

from laplex.embeddings import Embeddings, load
from laplex.errors import InputError
from laplex.explorer.working import StoppedError, Work, Works
from laplex.fitting.provenance import tokens_of, value_name
from laplex.reports import choosing
from laplex.reports.highlights import Highlights
from laplex.reports.highlights import highlights as choose_highlights
from laplex.text.periods import have_order
from laplex.text.tokens import Tokens

MODEL_VARIABLE = "LAPLEX_EXPLORED"
BETWEEN_FOLDERS = "\n"
CHOSEN = "model"  # the key of the name of the model that the page shows
SECONDS_BEFORE_BAR = 0.4
SECONDS_BETWEEN_REPORTS = 0.2
_STOPPED = "_stopped"  # the key of what this session has stopped

_folders: dict[int, Path] = {}  # of the models in memory, by id
_works = Works()
# what is cached belongs to the folder of the model
_BY_FOLDER: dict[str | type[Any], Callable[[Any], Any]] = {Embeddings: lambda fitted: str(folder(fitted))}


def names() -> list[str]:
    """The names of the models: those of their folders, with a number where these are the same."""
    stems = [Path(folder).stem for folder in os.environ[MODEL_VARIABLE].split(BETWEEN_FOLDERS)]
    return [stem if stems.count(stem) == 1 else f"{stem} ({place})" for place, stem in enumerate(stems, 1)]


def number() -> int:
    """The place of the model that the page shows, from 0."""
    chosen = str(st.session_state.get(CHOSEN))
    return int(chosen) - 1 if chosen in [str(place) for place, _ in enumerate(names(), 1)] else 0


def folder(fitted: Embeddings | None = None) -> Path:
    """The folder of a model; by default that of the model that the page shows."""
    if fitted is not None:
        return _folders[id(fitted)]
    return Path(os.environ[MODEL_VARIABLE].split(BETWEEN_FOLDERS)[number()])


def model(place: int | None = None) -> Embeddings:
    """The model that the page shows, or that at a place, memory-mapped."""
    path = os.environ[MODEL_VARIABLE].split(BETWEEN_FOLDERS)[number() if place is None else place]
    return _load(path)


@st.cache_resource(show_spinner=False)
def _load(path: str) -> Embeddings:
    fitted = load(path)
    _folders[id(fitted)] = Path(path)
    return fitted


@st.cache_resource(show_spinner=False, hash_funcs=_BY_FOLDER)
def text(fitted: Embeddings) -> Tokens | str:
    """The tokens that the model was fitted on, or why they are not there."""
    try:
        return tokens_of(fitted)
    except InputError as error:
        return str(error)


@st.cache_data(show_spinner=False, hash_funcs=_BY_FOLDER)
def first_words(fitted: Embeddings, count: int = 1, language: str | None = None) -> list[str]:
    """Words to begin with."""
    return choosing.first_words(fitted, count=count, language=language)


@st.cache_data(show_spinner=False, hash_funcs=_BY_FOLDER)
def stored_findings(fitted: Embeddings, language: str | None = None) -> dict[str, pd.DataFrame]:
    """The findings that are kept with the model, by column; columns where something holds come first."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the page of each column shows them
        return choosing.stored_findings(fitted, language)


def with_names(fitted: Embeddings, frame: pd.DataFrame) -> pd.DataFrame:
    """A table for a chart: periods with the years in them, unless charts find their order by the beginnings only."""
    shown = frame.copy()
    for column in [name for name in fitted.columns if name in frame]:
        names = {value: value_name(fitted, column, value) for value in fitted.values(column)}
        if have_order(names.values()) or not have_order(names):
            shown[column] = [names.get(value, value) for value in frame[column].astype(str)]
    return shown


def ask(
    fitted: Embeddings, question: str, /, *arguments: Any, language: str | None = None, **options: Any
) -> tuple[pd.DataFrame, str]:
    """What the vectors alone answer to a question, and the Python that gives it."""
    asked, needed = choosing.bare(fitted, question, language)
    frame: pd.DataFrame = getattr(asked, question)(*arguments, **options, **needed)
    name = "fitted" if asked is fitted else code_of_call("fitted.inference", language=language)
    return frame, code_of_call(f"{name}.{question}", *arguments, **options, **needed)


class Answer(NamedTuple):
    """A table of findings, the Python that gives it, and warnings about it."""

    frame: pd.DataFrame
    code: str
    warnings: list[str]


def find(
    fitted: Embeddings, question: str, /, *arguments: Any, shared: dict[str, Any] | None = None, **options: Any
) -> Answer:
    """Findings, with `shared` the options that all tests share; those that are not kept with the model take a while."""
    known = {name: value for name, value in (shared or {}).items() if value is not None}
    opened = _opened(fitted)

    def ask_text() -> tuple[pd.DataFrame, list[str]]:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            frame = getattr(fitted.inference(quiet=True, **known, **opened), question)(*arguments, **options)
        return frame, [str(one.message) for one in caught if one.category is UserWarning]

    frame, said = work(fitted, (question, arguments, known, options), ask_text)
    name = code_of_call("fitted.inference", **known) if known else "fitted"
    return Answer(frame, code_of_call(f"{name}.{question}", *arguments, **options), said)


def _opened(fitted: Embeddings) -> dict[str, Tokens]:
    """The text as an option that all tests share, so that it is not opened each time."""
    tokens = text(fitted)
    return {"tokens": tokens} if isinstance(tokens, Tokens) else {}


def work(fitted: Embeddings, asked: Any, function: Callable[[], Any]) -> Any:
    """What a function returns that may take a while; if it does, the page shows a bar and a button that stops it.

    All who ask the same of a model share the work and its result. InputError if it was stopped.
    """
    key = f"{folder(fitted)} {asked!r}"
    stopped: set[str] = st.session_state.setdefault(_STOPPED, set())
    if key in stopped:
        st.button(
            "Go on", key=f"_again_{hash(key)}", on_click=stopped.discard, args=(key,), icon=":material/play_arrow:"
        )
        raise InputError("it was stopped")
    while True:
        running = _works.get(key, function)
        with running.waiting():
            if not running.wait(SECONDS_BEFORE_BAR):
                _show_bar(running, key, stopped)
        try:
            return running.result()
        except StoppedError:  # just before this page began to wait
            continue


def _show_bar(running: Work, key: str, stopped: set[str]) -> None:
    """A bar until the work is done. A click on its button ends the run of the page, and so the waiting."""

    def stop() -> None:
        stopped.add(key)
        running.stop()

    place = st.empty()
    with place.container(horizontal=True, vertical_alignment="center", key=f"_work_{hash(key)}"):
        bar = st.progress(0.0, "Reading the text …")
        st.button("Stop", key=f"_stop_{hash(key)}", on_click=stop, icon=":material/stop:")
    while not running.wait(SECONDS_BETWEEN_REPORTS):
        detail = f"Reading the text: {running.detail}" if running.detail else "Reading the text …"
        bar.progress(min(running.share or 0.0, 1.0), detail)
    place.empty()


@st.cache_data(show_spinner=False, max_entries=30, hash_funcs=_BY_FOLDER)
def bare_distances(
    fitted: Embeddings, question: str, column: str, shared: dict[str, Any], options: dict[str, Any]
) -> pd.DataFrame:
    """The distances between vectors of all words that are used on both sides."""
    frame: pd.DataFrame = getattr(fitted.inference(quiet=True, **shared), question)(column, test=False, **options)
    return frame


def explain(fitted: Embeddings, word: str, column: str, shared: dict[str, Any], options: dict[str, Any]) -> Any:
    """What the difference of a word is made of."""
    opened = _opened(fitted)
    asked = ("explain", word, column, shared, options)
    return work(
        fitted, asked, lambda: fitted.inference(quiet=True, **shared, **opened).explain(word, column, **options)
    )


def effect(fitted: Embeddings, word: str, along: str, shared: dict[str, Any], options: dict[str, Any]) -> pd.DataFrame:
    """Where the use of a word stands at each value of an ordered column, with intervals."""
    opened = _opened(fitted)
    asked = ("effect", word, along, shared, options)
    frame: pd.DataFrame = work(
        fitted, asked, lambda: fitted.inference(quiet=True, **shared, **opened).effect(word, along, **options)
    )
    return frame


@st.cache_resource(show_spinner=False, hash_funcs=_BY_FOLDER)
def highlights(fitted: Embeddings, language: str | None = None) -> Highlights:
    """The findings that a reader should see first."""
    return choose_highlights(choosing.inference(fitted, language), stored_findings(fitted, language))


class CodeName(str):
    """A name in the code, which is not put into quotes."""

    __repr__ = str.__str__


def code_of_call(function: str, /, *arguments: Any, **options: Any) -> str:
    """The Python code of a call; options that are None, and an empty `at`, are left out.

    >>> code_of_call("fitted.neighbors", "tax", k=5, language=None, at={"party": "D", "sub group": "x"})
    "fitted.neighbors('tax', k=5, at={'party': 'D', 'sub group': 'x'})"
    """
    named = [f"{name}={value!r}" for name, value in options.items() if value is not None and value != {}]
    return f"{function}({', '.join([*map(repr, arguments), *named])})"
