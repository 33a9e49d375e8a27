"""The model that is explored, its text if that is still there, and answers with the Python that gives them.

A process explores one model, whose folder is in an environment variable.
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
from laplex.fitting.provenance import tokens_of
from laplex.reports import choosing
from laplex.reports.highlights import Highlights
from laplex.reports.highlights import highlights as choose_highlights
from laplex.text.tokens import Tokens

MODEL_VARIABLE = "LAPLEX_EXPLORED"

_load = st.cache_resource(show_spinner=False)(load)
# what is cached belongs to the folder of the model
_BY_FOLDER: dict[str | type[Any], Callable[[Any], Any]] = {Embeddings: lambda _: os.environ[MODEL_VARIABLE]}


def folder() -> Path:
    """The folder of the model."""
    return Path(os.environ[MODEL_VARIABLE])


def model() -> Embeddings:
    """The model, memory-mapped."""
    return _load(os.environ[MODEL_VARIABLE])


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
    with st.spinner("Reading the text to test what would hold in another sample …", show_time=True):
        frame, said = _tested(fitted, question, arguments, known, options)
    name = code_of_call("fitted.inference", **known) if known else "fitted"
    return Answer(frame, code_of_call(f"{name}.{question}", *arguments, **options), said)


@st.cache_data(show_spinner=False, max_entries=30, hash_funcs=_BY_FOLDER)
def _tested(
    fitted: Embeddings, question: str, arguments: tuple[Any, ...], shared: dict[str, Any], options: dict[str, Any]
) -> tuple[pd.DataFrame, list[str]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        frame = getattr(fitted.inference(quiet=True, **shared), question)(*arguments, **options)
    return frame, [str(one.message) for one in caught if one.category is UserWarning]


@st.cache_data(show_spinner=False, max_entries=30, hash_funcs=_BY_FOLDER)
def bare_distances(
    fitted: Embeddings, question: str, column: str, shared: dict[str, Any], options: dict[str, Any]
) -> pd.DataFrame:
    """The distances between vectors of all words that are used on both sides."""
    frame: pd.DataFrame = getattr(fitted.inference(quiet=True, **shared), question)(column, test=False, **options)
    return frame


@st.cache_resource(show_spinner="Reading the passages with the word …", max_entries=60, hash_funcs=_BY_FOLDER)
def explain(fitted: Embeddings, word: str, column: str, shared: dict[str, Any], options: dict[str, Any]) -> Any:
    """What the difference of a word is made of."""
    return fitted.inference(quiet=True, **shared).explain(word, column, **options)


@st.cache_data(show_spinner="Reading the text for its path …", max_entries=60, hash_funcs=_BY_FOLDER)
def effect(fitted: Embeddings, word: str, along: str, shared: dict[str, Any], options: dict[str, Any]) -> pd.DataFrame:
    """Where the use of a word stands at each value of an ordered column, with intervals."""
    frame: pd.DataFrame = fitted.inference(quiet=True, **shared).effect(word, along, **options)
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
