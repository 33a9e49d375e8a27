"""How similar are words, by the angle between their vectors?

Vectors and the numbers of words, of a language and of a slice come in; similarities go out. A vector of length zero
(that of a word which is absent from a slice, and which no prior joins to another one) has no direction: whatever
involves it is NaN. D dimensions, V words, n directions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from laplex.vectors import Vectors

By = Literal["words", "contexts", "both"]


def directions(
    vectors: Vectors, ids: Sequence[int], language: int, slice: int | None, by: By = "words"
) -> NDArray[np.float32]:
    """(n, D) The vectors of some words, at length one: as words in a slice, as contexts, or the sum of both."""
    taken = vectors.take(ids, language, None if by == "contexts" else slice)
    if by == "both":
        taken = taken + vectors.take(ids, language, None)
    return at_length_one(taken)


def at_length_one(vectors: NDArray[Any]) -> NDArray[Any]:
    """(…, D) The same directions; NaN where there is none."""
    with np.errstate(invalid="ignore"):
        scaled: NDArray[Any] = vectors / _known(np.linalg.norm(vectors, axis=-1, keepdims=True))
    return scaled


def cosines(
    vectors: Vectors,
    directions: NDArray[np.float32],
    language: int,
    slice: int | None,
    by: By = "words",
    around: NDArray[np.float32] | None = None,
) -> NDArray[np.float32]:
    """(n, V) The similarity of directions to every word of a language in a slice.

    `around` are their products with the contexts, if they are known: those of many directions at once cost little more
    than those of one.
    """
    place = None if by == "contexts" else slice
    products = _products(directions, vectors.block(language, place))
    if by == "both":
        products += context_products(vectors, directions, language) if around is None else around
    with np.errstate(invalid="ignore"):
        products /= _known(vectors.lengths(language, place, by == "both"))
    return np.clip(products, -1.0, 1.0, out=products)


def _known(lengths: NDArray[Any]) -> NDArray[Any]:
    """The lengths, NaN for zero: that of a vector of 1e-30 is zero too, which is not to be near to everything."""
    return np.where(lengths > 0, lengths, np.float32(np.nan))


def context_products(vectors: Vectors, directions: NDArray[np.float32], language: int) -> NDArray[np.float32]:
    """(n, V) The products of directions with every context of a language."""
    return _products(directions, vectors.block(language, None))


def _products(directions: NDArray[np.float32], block: NDArray[np.float32]) -> NDArray[np.float32]:
    # of one direction, bound by memory: BLAS is no faster with its threads, and several times slower on a busy machine
    alone = len(directions) == 1
    products: NDArray[np.float32] = np.einsum("vd,d->v", block, directions[0])[None] if alone else directions @ block.T
    return products


def nearest(similarity: NDArray[np.float32], k: int, without: Sequence[int] = ()) -> NDArray[np.int64]:
    """The numbers of the k most similar words, or of all if there are fewer, the most similar first."""
    ranked = -similarity
    ranked[list(without)] = np.inf
    k = min(k, len(ranked))
    found = np.argpartition(ranked, k - 1)[:k] if k else np.empty(0, np.int64)
    found = found[np.isfinite(ranked[found])]
    return found[np.lexsort((found, ranked[found]))]
