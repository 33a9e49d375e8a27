"""More of the simulated speakers, fitted for longer, and asked which words the parties use differently."""

from __future__ import annotations

from typing import Any

import pandas as pd
import speakers

import laplex as lx

RATE = 0.17  # for few dimensions, more than by default: planted differences are found only near the maximum


def speeches(seed: int, number: int = 60, each: int = 6, **choices: Any) -> list[dict[str, Any]]:
    return speakers.speeches(seed, number, each, length=60, vocabulary=60, **choices)


def fit(
    rows: list[dict[str, Any]],
    vary: tuple[str, ...] = ("party",),
    *,
    pooled_epochs: int | None = None,
    tests: bool = False,
    **choices: Any,
) -> lx.Embeddings:
    corpus = lx.read(rows, metadata=["party", "speaker"])
    prior = lx.Ridge(1.0) + lx.Groups("party", 10.0) if vary else lx.Ridge(1.0)
    model = lx.Model(vary=vary, prior=prior, dimensions=8, window=3, subsample=0.0, **choices)
    options: dict[str, Any] = {"epochs": 30, "rate": RATE, "threads": 1, "pooled_epochs": pooled_epochs}
    return lx.fit(model, corpus, min_count=5, quiet=True, tests=tests, **options)


def ask(fitted: lx.Embeddings, words: Any = None, **options: Any) -> pd.DataFrame:
    """The contrast of parties; keywords of the question, and options that all tests share."""
    question = {name: options.pop(name) for name in ("values", "against", "at") if name in options}
    options = {"unit": "speaker", "min_units": 10, "min_count": 50, "quiet": True, "threads": 2} | options
    found: pd.DataFrame = fitted.inference(**options).contrast("party", words, **question)
    return found
