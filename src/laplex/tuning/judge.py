"""How well does a fit predict the documents that were held out?

Tokens and which documents are held out come in; for every fit the log likelihood of each such document goes out. All
fits are judged by the same tokens and the same negatives, so that they can be compared document by document. Frequent
words are thinned out as in training: what is judged is what training maximizes.
M held-out documents, n tokens.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from laplex.embeddings import Embeddings
from laplex.errors import InputError
from laplex.evaluation.likelihood import mean_by_token, sums_by_document
from laplex.evaluation.text import Text
from laplex.problem import Problem
from laplex.tokens import Tokens

Floats = NDArray[np.float64]
MOST = 300_000  # tokens that are judged
FEWEST = 10  # documents


@dataclass(frozen=True, eq=False)
class Judge:
    tokens: Tokens
    text: Text
    seed: int

    @classmethod
    def of(cls, tokens: Tokens, problem: Problem, seed: int) -> Judge:
        """The documents that a problem holds out, as many as are needed."""
        lengths = np.diff(tokens.offsets)
        chosen = np.flatnonzero(problem.held_out & (lengths > 1))
        chosen = chosen[np.cumsum(lengths[chosen]) - lengths[chosen] < MOST]
        random = np.random.default_rng([seed, 4])
        kept, documents = [], []
        for document in chosen.tolist():
            ids = tokens.document(document)
            chance = problem.keep[problem.vocabulary_start[problem.language[document]] + ids]
            ids = ids[random.random(len(ids)) < chance]
            if len(ids) > 1:
                kept.append(ids.astype(np.int64))
                documents.append(document)
        if len(kept) < FEWEST:
            raise InputError(
                f"{len(kept)} documents are held out to judge by, of {tokens.documents:,}: give a larger holdout= "
                f"or more documents; {FEWEST} are the fewest"
            )
        offsets = np.concatenate([[0], np.cumsum([len(ids) for ids in kept])])
        held = np.array(documents, np.int64)
        return cls(tokens, Text(np.concatenate(kept), offsets, held, problem.language[held]), seed)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """(M) The tokens of each document."""
        return np.diff(self.text.offsets)

    def __call__(self, fitted: Embeddings) -> Floats:
        """(M) The log likelihood of each document."""
        return sums_by_document({"the fit": fitted}, self.tokens, self.text, seed=self.seed, quiet=True)["the fit"]

    def mean(self, sums: Floats) -> tuple[float, float]:
        """The mean of a token, and its standard error over documents."""
        if not np.isfinite(sums).all():
            return float("-inf"), float("nan")
        return mean_by_token(sums, self.lengths)
