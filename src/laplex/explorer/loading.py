"""The model that is explored, its text if that is still there, and answers that take long, which Streamlit caches.

A process explores one model, whose folder is in an environment variable. n occurrences, D dimensions.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from laplex.embeddings import Embeddings, load
from laplex.errors import InputError
from laplex.fitting.provenance import tokens_of
from laplex.questions.cosine import directions, normalize
from laplex.reports import choosing
from laplex.text.tokens import Tokens

MODEL_VARIABLE = "LAPLEX_EXPLORED"
INTERVAL = 0.9
MIN_CLUSTERS_OF_WORD = 2  # for a single word, whose interval says how certain it is
MIN_LIKELY_CLUSTERS = 10
ALL_WORDS = 1_000_000_000
MAX_OCCURRENCES = 2_000  # spread over the text, of which the most typical are shown
CONTEXT_WORDS = 14  # on each side of a passage


def folder() -> Path:
    """The folder of the model."""
    return Path(os.environ[MODEL_VARIABLE])


def model() -> Embeddings:
    """The model, memory-mapped."""
    return _model(os.environ[MODEL_VARIABLE])


@st.cache_resource(show_spinner=False)
def _model(path: str) -> Embeddings:
    return load(path)


@st.cache_resource(show_spinner=False)
def _text(path: str) -> Tokens | str:
    try:
        return tokens_of(_model(path))
    except InputError as error:
        return str(error)


def text() -> Tokens | None:
    """The tokens that the model was fitted on, if they are still there."""
    tokens = _text(os.environ[MODEL_VARIABLE])
    return tokens if isinstance(tokens, Tokens) else None


def missing_text() -> str:
    """Why there is no text."""
    error = _text(os.environ[MODEL_VARIABLE])
    return error if isinstance(error, str) else ""


def first_words(count: int = 1, language: str | None = None) -> list[str]:
    """Words to begin with."""
    return _first_words(os.environ[MODEL_VARIABLE], count, language)


@st.cache_data(show_spinner=False)
def _first_words(path: str, count: int, language: str | None) -> list[str]:
    return choosing.first_words(_model(path), count=count, language=language)


def ask(question: str, *arguments: Any, **options: Any) -> pd.DataFrame:
    """The answer of a method of the model, such as `contrast`, computed once for the same arguments."""
    return _answer(os.environ[MODEL_VARIABLE], question, arguments, tuple(sorted(options.items())))


@st.cache_data(show_spinner=False, max_entries=20)
def _answer(path: str, question: str, arguments: tuple[Any, ...], options: tuple[tuple[str, Any], ...]) -> pd.DataFrame:
    frame: pd.DataFrame = getattr(_model(path), question)(*arguments, **dict(options))
    return frame


def cluster_columns(column: str) -> list[str]:
    """Columns of the text that may say who speaks: those that the model does not vary by."""
    tokens = text()
    return [] if tokens is None else [name for name in tokens.columns if name not in (*model().columns, column)]


def likely_cluster(column: str) -> str | None:
    """The column with the fewest values of which nearly all belong to one value of the compared column each."""
    tokens = text()
    if tokens is None:
        return None
    nested = {}
    for name in cluster_columns(column):
        pairs = pd.DataFrame({"cluster": tokens.codes(name), "group": tokens.codes(column)}).drop_duplicates()
        clusters = pairs["cluster"].nunique()
        if clusters >= MIN_LIKELY_CLUSTERS and len(pairs) <= 1.1 * clusters:
            nested[name] = clusters
    return min(nested, key=nested.__getitem__) if nested else None


@dataclass(frozen=True)
class Passage:
    """An occurrence of a word with the words around it."""

    left: str
    word: str
    right: str
    document: int


def typical_passages(
    fitted: Embeddings, tokens: Tokens, word: str, slice: int, language: int = 0, most: int = 4
) -> list[Passage]:
    """The passages of a slice whose words are most similar to the word's vector there, at most one of a document.

    Words outside the vocabulary are not in the tokens, and so not in a passage.
    """
    word_id = fitted.id(word, language)
    places = np.flatnonzero(tokens.ids == word_id)
    documents = np.searchsorted(tokens.offsets, places, "right") - 1
    inside = (fitted.rows.slices.of_document[documents] == slice) & (tokens.languages[documents] == language)
    places, documents = places[inside], documents[inside]
    if len(places) > MAX_OCCURRENCES:
        sample = np.linspace(0, len(places) - 1, MAX_OCCURRENCES).astype(np.int64)
        places, documents = places[sample], documents[sample]
    if not len(places):
        return []
    scores = _passage_scores(fitted, tokens, places, documents, directions(fitted, [word_id], language, slice)[0])
    words = fitted.rows.vocabularies[language].words
    passages: dict[int, Passage] = {}
    for best in np.argsort(-scores, kind="stable").tolist():
        place, document = int(places[best]), int(documents[best])
        start, end = (int(edge) for edge in tokens.offsets[document : document + 2])
        left = " ".join(words[i] for i in tokens.ids[max(start, place - CONTEXT_WORDS) : place])
        right = " ".join(words[i] for i in tokens.ids[place + 1 : min(end, place + 1 + CONTEXT_WORDS)])
        passages.setdefault(document, Passage(left, word, right, document))
        if len(passages) == most:
            break
    return list(passages.values())


def _passage_scores(
    fitted: Embeddings, tokens: Tokens, places: NDArray[Any], documents: NDArray[Any], direction: NDArray[np.float32]
) -> NDArray[np.float64]:
    """(n) The cosine of the word's vector with the sum of the context vectors around each occurrence."""
    window = int(fitted.settings.get("model", {}).get("window", 5))
    contexts = fitted.block(int(tokens.languages[documents[0]]), None)
    total = np.zeros((len(places), fitted.dimensions))
    for step in [*range(-window, 0), *range(1, window + 1)]:
        at = places + step
        inside = (at >= tokens.offsets[documents]) & (at < tokens.offsets[documents + 1])
        total[inside] += contexts[tokens.ids[at[inside]]]
    scores: NDArray[np.float64] = normalize(total) @ direction
    return np.nan_to_num(scores, nan=-1.0)
