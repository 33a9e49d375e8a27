"""The model that is explored, its text if that is at hand, and answers that take long, kept.

The folder of a saved model comes in by the environment; one model is explored by one process.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st

from laplex.embeddings import Embeddings, load
from laplex.errors import InputError
from laplex.provenance import tokens_of
from laplex.report import choosing
from laplex.tokens import Tokens

MODEL = "LAPLEX_EXPLORED"
INTERVAL = 0.9
FEW_CLUSTERS = 2  # for one word by itself, of which the intervals say how sure it is
ALL = 1_000_000_000  # words: as many as there are


def folder() -> Path:
    return Path(os.environ[MODEL])


@st.cache_resource(show_spinner=False)
def opened(path: str) -> Embeddings:
    return load(path)


def model() -> Embeddings:
    """The model, memory-mapped."""
    return opened(os.environ[MODEL])


@st.cache_resource(show_spinner=False)
def _text(path: str) -> Tokens | str:
    try:
        return tokens_of(opened(path))
    except InputError as error:
        return str(error)


def text() -> Tokens | None:
    """The tokens the model was fitted on, if they are still there."""
    found = _text(os.environ[MODEL])
    return found if isinstance(found, Tokens) else None


def missing_text() -> str:
    """Why there is no text."""
    found = _text(os.environ[MODEL])
    return found if isinstance(found, str) else ""


@st.cache_data(show_spinner=False)
def _telling(path: str, most: int, language: str | None) -> list[str]:
    return choosing.telling_words(opened(path), most=most, language=language)


def telling_words(most: int = 1, language: str | None = None) -> list[str]:
    """Words to begin with."""
    return _telling(os.environ[MODEL], most, language)


@st.cache_data(show_spinner=False, max_entries=20)
def contrast(path: str, column: str, measure: str, min_count: int, language: str | None, where: tuple[Any, ...]) -> Any:
    """All words by how much they differ between the values of a column."""
    return opened(path).contrast(
        column,
        ALL,
        measure=measure,  # type: ignore[arg-type]
        min_count=min_count,
        language=language,
        **dict(where),
    )


@st.cache_data(show_spinner=False, max_entries=20)
def drift(path: str, column: str, top: int, min_count: int, language: str | None, where: tuple[Any, ...]) -> Any:
    return opened(path).drift(column, top, min_count=min_count, language=language, **dict(where))


@st.cache_data(show_spinner=False, max_entries=20)
def tested(
    path: str,
    column: str,
    words: tuple[str, ...],
    cluster: str | None,
    min_clusters: int,
    language: str | None,
    where: Any,
) -> Any:
    """Words by the evidence that they differ; some seconds for a hundred words the first time."""
    return opened(path).contrast(
        column,
        words=list(words),
        cluster=cluster,
        min_clusters=min_clusters,
        interval=INTERVAL,
        rank="evidence",
        language=language,
        **dict(where),
    )


@st.cache_data(show_spinner=False, max_entries=50)
def tested_distance(path: str, word: str, across: str, along: str, cluster: str | None, language: str | None) -> Any:
    """How far apart a word is, with intervals."""
    return opened(path).distance(
        word, across, along, cluster=cluster, min_clusters=FEW_CLUSTERS, interval=INTERVAL, language=language
    )


def fixed(where: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Chosen slices as something that an answer can be kept under."""
    return tuple(sorted(where.items()))


def clusters(column: str) -> list[str]:
    """Columns of the text that may say who speaks: those that the model does not vary by."""
    tokens = text()
    if tokens is None:
        return []
    return [name for name in tokens.columns if name not in (*model().columns, column)]


def likely_cluster(column: str) -> str | None:
    """The column whose values have mostly one value of the compared column each, and of which there are enough."""
    tokens = text()
    if tokens is None:
        return None
    pairs = {
        name: pd.DataFrame({"cluster": tokens.codes(name), "label": tokens.codes(column)}).drop_duplicates()
        for name in clusters(column)
    }
    nested = {
        name: len(frame["cluster"].unique())
        for name, frame in pairs.items()
        if len(frame["cluster"].unique()) >= 10 and len(frame) <= 1.1 * len(frame["cluster"].unique())
    }
    return min(nested, key=lambda name: nested[name]) if nested else None
