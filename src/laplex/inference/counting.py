"""Counting: how often draws give a statistic at least as large as the one observed.

Draws are made in chunks with seeds of their own, so that p does not depend on how they are dealt out. Where all words
have the same pieces, such as speakers, they share the draws: these are made once, as the matrix in single precision
whose product with the pieces of a word gives its sums under a whole chunk of draws.
P draws.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

FIRST_DRAWS = 999
MAX_DRAWS = 999_999
ENOUGH_EXCEEDANCES = 10  # of a p that more draws would hardly change
CHUNK = 1_000  # draws with one seed
KEPT_BYTES = 2**28  # for the draws of a question that all words share
ROUNDING = 1 - 1e-5  # statistics that differ by less are equal: sums are in single precision

Singles = NDArray[np.float32]


class Kept:
    """The first chunks of something, which are made once, as far as there is room."""

    def __init__(self) -> None:
        self._arrays: dict[tuple[int, Hashable], Singles] = {}

    def get(self, chunk: int, kind: Hashable, make: Callable[[int], Singles]) -> Singles:
        """The chunk of that number and kind."""
        found = self._arrays.get((chunk, kind))
        if found is None:
            found = make(chunk)
            if (chunk + 1) * found.nbytes <= KEPT_BYTES:
                self._arrays[chunk, kind] = found
        return found


class Draws(ABC):
    """The draws of one question."""

    kept: Kept

    @abstractmethod
    def are_shared(self, size: int) -> bool:
        """Whether the draws of all words that have this number of pieces are the same."""

    @abstractmethod
    def draw(self, chunk: int, size: int, word: int) -> NDArray[np.signedinteger[Any]]:
        """(size, CHUNK) What each piece of a word gets in the draws of a chunk."""


class Counted(ABC):
    """The statistic of one word, and what its draws are made of."""

    question: Draws
    word: int
    observed: float
    pieces: Singles  # (pieces, …)
    kind: Hashable = None  # what the coded draws depend on, beside the question

    @abstractmethod
    def code(self, drawn: NDArray[np.signedinteger[Any]]) -> Singles:
        """(…, P, pieces) What the pieces are multiplied by under draws (pieces, P), whatever the word."""

    @abstractmethod
    def statistics(self, coded: Singles) -> NDArray[np.floating]:
        """(P) T"""

    def exceedances(self, first: int, last: int) -> int:
        """How many of the draws from `first` up to `last` have a T at least as large as the word has."""
        number, size = 0, len(self.pieces)
        for chunk in range(first // CHUNK, -(-last // CHUNK)):
            inside = slice(max(first - chunk * CHUNK, 0), last - chunk * CHUNK)
            if self.question.are_shared(size):
                coded = self.question.kept.get(chunk, (size, self.kind), self._coded)[..., inside, :]
            else:
                coded = self._coded(chunk, inside)
            number += int(np.count_nonzero(self.statistics(coded) >= ROUNDING * self.observed))
        return number

    def _coded(self, chunk: int, inside: slice = slice(None)) -> Singles:
        return self.code(self.question.draw(chunk, len(self.pieces), self.word)[:, inside])
