"""The model that is explored, its text if that is still there, and answers with the Python that gives them.

A process explores one model, whose folder is in an environment variable. n occurrences, D dimensions.
"""

from __future__ import annotations

import os
from collections.abc import Callable
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
MIN_LIKELY_CLUSTERS = 10
MAX_OCCURRENCES = 2_000  # spread over the text, of which the most typical are shown
CONTEXT_WORDS = 14  # on each side of a passage

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


def ask(fitted: Embeddings, question: str, /, *arguments: Any, **options: Any) -> tuple[pd.DataFrame, str]:
    """The answer of a method of the model, and the Python that gives it. Answers that take long are cached."""
    is_slow = question in ("contrast", "drift") or "interval" in options
    answer = _cached_answer if is_slow else _answer
    return answer(fitted, question, arguments, options), code_of_call(f"fitted.{question}", *arguments, **options)


def _answer(fitted: Embeddings, question: str, arguments: tuple[Any, ...], options: dict[str, Any]) -> pd.DataFrame:
    frame: pd.DataFrame = getattr(fitted, question)(*arguments, **options)
    return frame


_cached_answer = st.cache_data(show_spinner=False, max_entries=20, hash_funcs=_BY_FOLDER)(_answer)


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


def likely_cluster(tokens: Tokens, candidates: list[str], column: str) -> str | None:
    """The candidate with the fewest values of which nearly all belong to one value of the compared column each."""
    nested = {}
    for name in candidates:
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
