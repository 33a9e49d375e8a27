"""Simulated speakers, for tests of what would hold in another sample."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import laplex as lx
from laplex.model.rows import Rows
from laplex.text.slices import Slices

TOPICS = 6
PLANTED = ("w6", "w7")  # change places in the speech of the party R, if asked for


def speeches(
    seed: int,
    speakers: int = 60,
    each: int = 5,
    length: int = 50,
    swap: float = 0.0,
    *,
    vocabulary: int = 48,
    own: float = 0.1,
    thin: str | None = None,
) -> list[dict[str, Any]]:
    """Speakers with topics of their own, who use a share `own` of the words in their own way. Each topic has its own
    words. Party says nothing but what is planted: R swaps a share `swap` of the planted words, and says `thin` less."""
    random = np.random.default_rng(seed)
    rows = []
    for speaker in range(speakers):
        party = "DR"[speaker % 2]
        taste = random.dirichlet(np.full(TOPICS, 0.7))
        theirs = random.random(vocabulary) < own
        topic_of = np.where(theirs, random.integers(TOPICS, size=vocabulary), np.arange(vocabulary) % TOPICS)
        for _ in range(each):
            chance = np.where(topic_of == random.choice(TOPICS, p=taste), 20.0, 1.0) / (10.0 + np.arange(vocabulary))
            words = [f"w{k}" for k in random.choice(vocabulary, length, p=chance / chance.sum())]
            if party == "R":
                other = dict(zip(PLANTED, reversed(PLANTED)))
                words = [other.get(word, word) if random.random() < swap else word for word in words]
                words = [word for word in words if word != thin or random.random() < 0.4]
            rows.append({"text": words, "party": party, "speaker": f"s{speaker:03}"})
    return rows


def read(rows: list[dict[str, Any]]) -> lx.Tokens:
    return lx.Tokens.of(lx.read(rows, metadata=["party", "speaker"]), min_count=5, quiet=True)


def fit(tokens: lx.Tokens, vary: tuple[str, ...] = ("party",), strength: float = 10.0, **choices: Any) -> lx.Embeddings:
    prior = lx.Ridge(1.0) + lx.Groups("party", strength) if vary else lx.Ridge(1.0)
    choices = {"dimensions": 6, "window": 3, "subsample": 0.0, "prior": prior} | choices
    return lx.fit(lx.Model(vary=vary, **choices), tokens, holdout=0.0, epochs=10, threads=1, quiet=True)


def in_halves(fitted: lx.Embeddings, tokens: lx.Tokens, seed: int) -> lx.Embeddings:
    """A model without slices, its words now with vectors of their own in two halves of the speakers."""
    codes = tokens.codes("speaker")
    half: NDArray[Any] = (np.random.default_rng(seed).permutation(int(codes.max()) + 1) % 2)[codes].astype(np.int32)
    rows = Rows(fitted.rows.vocabularies, Slices(("half",), (("a",), ("b",)), half))
    theta = np.concatenate([fitted.matrix(), fitted.matrix(), fitted.contexts()])
    graph = lx.Graph.of(len(theta), diagonal=np.full(len(theta), 1.0))
    slot = np.arange(len(theta), dtype=np.int32)
    return lx.Embeddings(rows, theta, slot, [tokens.counts(rows.slices)], graph, fitted.settings, [])
