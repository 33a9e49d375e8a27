"""Vectors that a fit starts from, instead of from random ones: those of other tools, or of another model.

A start says which words are alike before any of the text is read; what the text says of a word then takes its place,
the sooner the more text there is of it. Three things make the difference, and experiments/pretrained.py measures them:

length        Vectors of other tools have other lengths. They are centered, and brought to a root mean square of 3.
contexts      A file has no context vectors. They start at half the vector of the word, since words that are alike are
              alike as contexts, too. Those of a model of laplex are its own.
step size     Adagrad's first steps are so long that a few of them forget the start. So a vector that is known begins
              with the accumulator of one that has been trained for some time, the shorter the more text there is.

V words of all languages, D dimensions of the model, d of the start, P parameters.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from laplex.engines.state import State
from laplex.errors import InputError, quote
from laplex.model.pretrained import Pretrained, foreign, look_up, opened, principal_axes
from laplex.model.problem import Problem
from laplex.model.vectors import Vectors
from laplex.runtime.display import say
from laplex.text.vocabulary import Vocabulary

LENGTH = 3.0  # root mean square of word vectors of other tools
CONTEXT_LENGTH = 0.5  # of context vectors that are not known, relative to the vector of the word
FIRST_STEP = 0.013  # by which a gradient whose entries have a mean square of one moves a known vector in little text
LITTLE_TOKENS = 1_000_000  # with more, first steps are longer, as the square root


@dataclass(frozen=True, eq=False)
class InitialVectors:
    """The first vectors of those rows that are known, in the layout without slices."""

    vectors: NDArray[np.float32]  # (2V, min(d, D)) of words, then of contexts
    known: NDArray[np.bool_]  # (2V)
    first_step: float
    facts: dict[str, Any]
    digest: str

    @classmethod
    def of(
        cls, source: Any, vocabularies: Sequence[Vocabulary], dimensions: int, *, quiet: bool = False
    ) -> InitialVectors:
        """The vectors of the words that a source and the text both have, said in a line."""
        opened_source = opened(source)
        parts = [_of_language(opened_source, vocabulary, len(vocabularies)) for vocabulary in vocabularies]
        name = next((part.name for part in parts if part is not None), "")
        if isinstance(source, (str, os.PathLike)):
            name = Path(source).name
        if not any(parts):
            names = quote(vocabulary.language for vocabulary in vocabularies)
            raise InputError(
                f"the text has several languages ({names}), and start= is of none of them: name its language, as in "
                'start=lx.load_word2vec("vectors.txt", language="en")'
            )
        words, contexts = zip(*(_rows_of(part, vocabulary) for part, vocabulary in zip(parts, vocabularies)))
        blocks = [*words, *contexts]
        width = max(block.shape[1] for _, block in blocks)
        known = np.concatenate([known for known, _ in blocks])
        vectors = np.concatenate([block if block.shape[1] else np.zeros((len(block), width)) for _, block in blocks])
        number, size = int(known[: len(known) // 2].sum()), len(known) // 2
        tokens = np.concatenate([vocabulary.counts for vocabulary in vocabularies])
        share = tokens[known[:size]].sum() / max(tokens.sum(), 1)
        line = f"the fit starts from {name}: {number:,} of {size:,} words are known ({share:.0%} of the tokens)"
        facts = {"name": name, "words": number, "of": size, "dimensions": width}
        if width > dimensions:
            axes, kept = principal_axes(vectors[known], dimensions)
            vectors = vectors @ axes
            line += f", {width} dimensions projected to {dimensions}, which keeps {kept:.0%}"
        elif width < dimensions:
            line += f", {width} of {dimensions} dimensions; the others start at random"
        say(line + foreign(number, size), quiet=quiet)
        result = vectors.astype(np.float32)
        digest = hashlib.blake2b(result.tobytes() + known.tobytes(), digest_size=16).hexdigest()
        first_step = FIRST_STEP * max(1.0, float(tokens.sum()) / LITTLE_TOKENS) ** 0.5
        return cls(result, known, first_step, facts, digest)

    @property
    def settings(self) -> dict[str, Any]:
        """What the settings of the fit keep of its start."""
        return {"start": self.facts | {"digest": self.digest}}

    def place(self, theta: NDArray[Any], problem: Problem) -> NDArray[np.int64]:
        """Set the known rows of θ (P, D), and return their numbers; what they lack in dimensions stays as it is."""
        rows = np.flatnonzero(self.known[problem.pooled_row])
        theta[rows, : self.vectors.shape[1]] = self.vectors[problem.pooled_row[rows]]
        return rows

    def begin(self, state: State, problem: Problem, rate: float) -> None:
        """Set the known rows of a state, with accumulators that keep their first steps short."""
        state.accumulator[self.place(state.theta, problem)] += np.float32((rate / self.first_step) ** 2)


def _of_language(source: Any, vocabulary: Vocabulary, languages: int) -> Pretrained | None:
    """The source's vectors of a language; None if the text has several, of which the source has not this one."""
    if languages > 1 and not (isinstance(source, Vectors) and vocabulary.language in source.languages):
        return None
    return Pretrained.of(source, vocabulary.language or None)


def _rows_of(source: Pretrained | None, vocabulary: Vocabulary) -> list[tuple[NDArray[np.bool_], NDArray[np.float64]]]:
    """(V), (V, d) of words, and of contexts: which are known, and their vectors."""
    size = len(vocabulary)
    if source is None:
        return [(np.zeros(size, bool), np.zeros((size, 0)))] * 2
    known, found = look_up(source.words, vocabulary.words, source.name)
    if source.contexts is None:
        found = found - found.mean(0)
        found *= LENGTH / max(float(np.sqrt((found**2).sum(1).mean())), 1e-12)
        beside = CONTEXT_LENGTH * found
    else:
        beside = look_up(source.contexts, vocabulary.words, source.name)[1]
    placed = np.zeros((2, size, found.shape[1]))
    placed[0, known], placed[1, known] = found, beside
    return [(known, placed[0]), (known, placed[1])]
