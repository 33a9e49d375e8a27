"""Small problems with known structure, for tests of the model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import laplex as lx
from laplex.model.problem import Problem, make_problem
from laplex.model.rows import Rows

YEARS = ("2000", "2001", "2003")


def documents(
    count: int = 40, length: int = 20, words: int = 18, seed: int = 0, languages: Sequence[str] = ("",)
) -> list[dict[str, Any]]:
    """Documents about one of three topics, each with its own third of the words; some words change sides by party.

    Word k is "<language>k"; it means the same in every language. Every word is in every slice of every language.
    """
    random = np.random.default_rng(seed)
    whole = []
    for m in range(count):
        language, party = languages[m % len(languages)], "DR"[m // len(languages) % 2]
        year = YEARS[m // len(languages) // 2 % len(YEARS)]
        topic = np.arange(words) % 3
        if party == "R":
            topic = np.where(np.arange(words) < 3, (topic + 1) % 3, topic)
        chance = np.where(topic == random.integers(3), 8.0, 1.0) / (2.0 + np.arange(words))
        chosen = random.choice(words, length, p=chance / chance.sum())
        whole.append({"text": [f"{language}{k}" for k in chosen], "party": party, "year": year, "lang": language})
    return whole


def corpus(rows: list[dict[str, Any]]) -> lx.Corpus:
    bilingual = len({row["lang"] for row in rows}) > 1
    return lx.read(rows, metadata=["party", "year"], language_column="lang" if bilingual else None)


def layout(rows: list[dict[str, Any]], vary: Sequence[str] = ()) -> Rows:
    """Which row is what, for these documents."""
    tokens = lx.Tokens.of(corpus(rows), min_count=1, quiet=True)
    return Rows(tokens.vocabularies, tokens.slices(vary))


def problem(rows: list[dict[str, Any]], prior: lx.Prior, vary: Sequence[str] = (), **choices: Any) -> Problem:
    """What an engine sees of these documents; nothing subsampled, nothing held out."""
    choices = {"dimensions": 4, "window": 2, "negatives": 3, "subsample": 0.0} | choices
    tokens = lx.Tokens.of(corpus(rows), min_count=1, quiet=True)
    model = lx.Model(vary=vary, prior=prior, **choices)
    return make_problem(model, tokens, Rows(tokens.vocabularies, tokens.slices(vary)), 0.0, 1)


def some_theta(problem: Problem, seed: int = 1, scale: float = 0.5) -> NDArray[np.float64]:
    return scale * np.random.default_rng(seed).standard_normal((problem.parameters, problem.dimensions))


def full_laplacian(graph: lx.Graph) -> NDArray[np.float64]:
    dense: NDArray[np.float64] = graph.laplacian().toarray()
    return dense
