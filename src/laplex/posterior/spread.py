"""Of which words is there enough text to say how their vectors would come out in another sample, and how is that?

What the user asked for comes in and is checked; a Spread goes out, which gives cosines with intervals. S slices.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import stats

from laplex.embeddings import Embeddings
from laplex.errors import InputError, whole
from laplex.posterior import kernels
from laplex.posterior.block import Floats, Ints
from laplex.posterior.sampling import Sampled, cosine, owners, sample
from laplex.provenance import tokens_of
from laplex.tokens import Tokens

Row = tuple[float, float, float, float, int, int]
NAN = float("nan")
NOTHING = (NAN, NAN, NAN, NAN)


class Spread:
    """The vectors of some words, what clusters say of their noise, and which words have enough text."""

    def __init__(
        self,
        fitted: Embeddings,
        cluster: str | None,
        interval: float,
        min_clusters: int,
        min_count: int,
        tokens: Tokens | None,
        language: str | None,
        seed: int,
        threads: int | None,
        quiet: bool,
    ) -> None:
        self.least = (whole("min_count", min_count), whole("min_clusters", min_clusters, 2))
        if not 0 < interval < 1:
            raise InputError(f"interval={interval} must be between 0 and 1: 0.9 is that which holds in 90% of samples")
        self.fitted, self.cluster = fitted, cluster
        self.tokens, self.language = tokens_of(fitted, tokens), fitted.language(language)
        self.interval = interval
        self.z = float(stats.norm.ppf(0.5 + interval / 2))
        self._owner = owners(fitted, self.tokens, cluster)
        self._how: dict[str, Any] = {"seed": seed, "threads": threads, "quiet": quiet}
        self.clusters: dict[int, Ints] = {}  # by word, (S) how many use it
        self.sampled: dict[int, Sampled] = {}

    def read(self, ids: Sequence[int]) -> None:
        """Look at the text of words."""
        self.clusters = self._users(ids)
        enough = [i for i in ids if any(self._is_enough(i, slice) for slice in range(len(self.fitted.rows.slices)))]
        if enough:
            self.sampled = sample(self.fitted, enough, self.language, self.tokens, self.cluster, **self._how)

    def _users(self, ids: Sequence[int]) -> dict[int, Ints]:
        tokens, slices = self.tokens, self.fitted.rows.slices
        place = np.full(len(tokens.vocabularies[self.language]), -1, np.int32)
        place[list(ids)] = np.arange(len(ids))
        found = np.zeros((len(ids), len(slices)), np.int64)
        for slice in range(len(slices)):
            documents = np.flatnonzero((slices.of_document == slice) & (tokens.languages == self.language))
            owner = self._owner[documents]
            documents = documents[np.argsort(owner, kind="stable")]
            start = np.concatenate([[0], np.cumsum(np.unique(owner, return_counts=True)[1])])
            found[:, slice] = kernels.count_pairs(tokens.ids, tokens.offsets, documents, start, place, len(ids))
        return dict(zip(ids, found))

    def numbers(self, word: int, slice: int) -> tuple[int, int]:
        """How often a word occurs in a slice, and in how many clusters."""
        return int(self.fitted.counts[self.language][slice, word]), int(self.clusters[word][slice])

    def _is_enough(self, word: int, slice: int) -> bool:
        return all(number >= least for number, least in zip(self.numbers(word, slice), self.least))

    def of(self, word: int, slice: int) -> tuple[Floats, Floats] | None:
        """A word's vector in a slice and its losses, if there is enough text."""
        if word not in self.sampled or not self._is_enough(word, slice):
            return None
        sampled = self.sampled[word]
        return sampled.vectors[slice], sampled.losses[slice]

    def pair(self, one: int, two: int, slice: int) -> Row:
        """Estimate, standard error, lower and upper end, n and clusters of a cosine."""
        numbers = [self.numbers(word, slice) for word in (one, two)]
        fewest = min(n for n, _ in numbers), min(clusters for _, clusters in numbers)
        first, second = self.of(one, slice), self.of(two, slice)
        if first is None or second is None:
            return *NOTHING, *fewest
        return *self._bounded(*cosine(*first, *second)), *fewest

    def against(self, word: int, direction: Floats, slice: int) -> Row:
        """The same for a word and a direction, which is held."""
        numbers, own = self.numbers(word, slice), self.of(word, slice)
        if own is None:
            return *NOTHING, *numbers
        return *self._bounded(*cosine(*own, direction, np.zeros_like(own[1]))), *numbers

    def _bounded(self, value: float, error: float) -> tuple[float, float, float, float]:
        """A cosine with its standard error and the ends of its interval, none of which is beyond ±1."""
        low, middle, high = np.clip([value - self.z * error, value, value + self.z * error], -1.0, 1.0).tolist()
        return middle, error, low, high


def columns_of(rows: Sequence[Row]) -> dict[str, Any]:
    """As columns of a table."""
    names = ("estimate", "se", "lower", "upper", "n", "clusters")
    return dict(zip(names, map(list, zip(*rows))))
