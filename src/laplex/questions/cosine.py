"""Cosine similarity and the search for nearest neighbors, which every question about similar words uses.

A vector of length zero (that of a word which is absent from a slice, and which no prior joins to another) has no
direction: its similarities are NaN, and it is never a neighbor. `search` compares rows of one matrix with rows of
another block by block, without holding all similarities. CSLS corrects for words that are near to everything:

    csls(x, y) = 2 cos(x, y) − r(x) − r(y),   r: the mean cosine with the nearest words of the other language

D dimensions, V words or candidates, n queries, k neighbors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from laplex.errors import InputError, quote
from laplex.model.vectors import Vectors
from laplex.runtime.display import say

By = Literal["words", "contexts", "both"]
Floats = NDArray[np.float32]
Ids = NDArray[np.int64]
SIMILARITIES_IN_MEMORY = 1 << 24
GROUP_SIZE = 32  # candidates of which only the best is looked at first


def directions(vectors: Vectors, ids: Sequence[int], language: int, slice: int | None, by: By = "words") -> Floats:
    """(n, D) Unit vectors of words: as words in a slice, as contexts, or the sum of both."""
    rows = vectors.take(ids, language, None if by == "contexts" else slice)
    if by == "both":
        rows = rows + vectors.take(ids, language, None)
    return normalize(rows)


def normalize(vectors: NDArray[Any]) -> NDArray[Any]:
    """(…, D) Vectors scaled to length one; NaN where the length is zero."""
    with np.errstate(invalid="ignore"):
        scaled: NDArray[Any] = vectors / _nonzero(np.linalg.norm(vectors, axis=-1, keepdims=True))
    return scaled


def cosines(
    vectors: Vectors,
    directions: Floats,
    language: int,
    slice: int | None,
    by: By = "words",
    context_part: Floats | None = None,
) -> Floats:
    """(n, V) The cosine of directions with every word of a language in a slice.

    `context_part` is their product with the contexts, if it is known: that of many directions at once costs little more
    than that of one.
    """
    place = None if by == "contexts" else slice
    products = _products(directions, vectors.block(language, place))
    if by == "both":
        products += context_products(vectors, directions, language) if context_part is None else context_part
    with np.errstate(invalid="ignore"):
        products /= _nonzero(vectors.lengths(language, place, by == "both"))
    return np.clip(products, -1.0, 1.0, out=products)


def context_products(vectors: Vectors, directions: Floats, language: int) -> Floats:
    """(n, V) The inner products of directions with every context of a language."""
    return _products(directions, vectors.block(language, None))


def _nonzero(lengths: NDArray[Any]) -> NDArray[Any]:
    """The lengths, NaN for zero (also for one that underflows: such a vector must not be near to everything)."""
    return np.where(lengths > 0, lengths, np.float32(np.nan))


def _products(directions: Floats, block: Floats) -> Floats:
    # a single direction is bound by memory: threads of BLAS do not help, and on a busy machine they slow it down
    single = len(directions) == 1
    products: Floats = np.einsum("vd,d->v", block, directions[0])[None] if single else directions @ block.T
    return products


def used(vectors: Vectors, language: int, slice: int | None, min_uses: int) -> NDArray[np.bool_] | None:
    """(V) Which words are used often enough in a slice to say anything there.

    None for all words: with one slice the vocabulary has decided, and vectors that came without counts know of no uses.
    """
    counts = vectors.counts[language]
    if slice is None or len(counts) < 2 or not counts.any():
        return None
    frequent: NDArray[np.bool_] = counts[slice] >= min_uses
    return frequent


def slices_with(
    vectors: Vectors, ids: Sequence[int], language: int, slices: Sequence[int], quiet: bool = False
) -> list[int]:
    """Those of some slices in which every one of some words is used; a sentence says which are left out."""
    kept: list[int] = []
    left: list[int] = []
    for slice in slices:
        known = used(vectors, language, slice, 1)
        missing = known is not None and not known[list(ids)].all()
        (left if missing else kept).append(slice)
    if left:
        words = quote(vectors.rows.vocabularies[language].words[i] for i in dict.fromkeys(ids))
        where = quote((", ".join(vectors.rows.slices.keys[slice]) for slice in left), 6)
        if not kept:
            raise InputError(f"{words} has no use in {where}: there is nothing to say about it there")
        say(f"{words} has no use in {where}: left out", quiet=quiet)
    return kept


def nearest(
    similarity: Floats, k: int, exclude: Sequence[int] = (), candidates: NDArray[np.bool_] | None = None
) -> Ids:
    """The k words of highest similarity, best first; fewer if the similarity of the others is NaN or −∞.

    `candidates` (V) are the words that may be found, by default all.
    """
    scores = np.fmax(similarity, np.float32(-np.inf))[None]  # a copy without NaN
    if candidates is not None:
        scores[0, ~candidates] = -np.inf
    scores[0, list(exclude)] = -np.inf
    (ids,), (best,) = top_k(scores, min(k, len(similarity)))
    finite: Ids = ids[np.isfinite(best)]
    return finite


def search(
    queries: Floats,
    candidates: Floats,
    k: int,
    *,
    penalty: Floats | None = None,
    exclude: Ids | None = None,
    report: Callable[[float], None] = lambda share: None,
) -> tuple[Ids, Floats]:
    """(n, k) The best candidates of each query by inner product, and their scores; −∞ where there are too few.

    `penalty` (V) is subtracted from the scores of each candidate, `exclude` (n, any) are candidates that a query must
    not get. `report` is called with the share of queries that are done.

    >>> line = np.array([[1.0], [3.0], [2.0]], np.float32)
    >>> search(np.ones((1, 1), np.float32), line, 2)[0]
    array([[1, 2]])
    """
    step = max(1, min(len(queries), SIMILARITIES_IN_MEMORY // max(len(candidates), 1)))
    memory = np.empty((step, len(candidates)), np.float32)
    ids, scores = np.empty((len(queries), k), np.int64), np.empty((len(queries), k), np.float32)
    for start in range(0, len(queries), step):
        rows = np.s_[start : start + step]
        batch = queries[rows]
        block = np.matmul(batch, candidates.T, out=memory[: len(batch)])
        if penalty is not None:
            block -= penalty
        if exclude is not None:
            np.put_along_axis(block, exclude[rows], -np.inf, 1)
        ids[rows], scores[rows] = top_k(block, k)
        report(min(1.0, (start + step) / len(queries)))
    return ids, scores


def csls_penalty(candidates: Floats, queries: Floats, neighborhood: int, **options: Any) -> Floats:
    """(V) What `search` must subtract to rank by CSLS: r(y) / 2; r(x) is the same for all candidates of a query."""
    penalty: Floats = search(candidates, queries, neighborhood, **options)[1].mean(1) / 2
    return penalty


def top_k(scores: Floats, k: int) -> tuple[Ids, Floats]:
    """(n, k) The columns of the k largest scores of each row (n, V), best first, and these scores.

    Of equal scores the lower column is first. Columns are divided into V / 32 groups: the k best are among the k groups
    whose largest scores are the largest, so that few have to be sorted.
    """
    size = scores.shape[1]
    groups = size // GROUP_SIZE
    columns: Ids | None = None
    if groups > 2 * k:
        grouped = scores[:, : GROUP_SIZE * groups].reshape(-1, GROUP_SIZE, groups)  # column j is in group j mod groups
        chosen = _largest(grouped.max(1), k)
        among = (chosen[:, None, :] + groups * np.arange(GROUP_SIZE)[:, None]).reshape(len(scores), -1)
        rest = np.broadcast_to(np.arange(GROUP_SIZE * groups, size), (len(scores), size - GROUP_SIZE * groups))
        columns = np.concatenate([among, rest], axis=1)
        scores = np.take_along_axis(scores, columns, 1)
    top = _largest(scores, k)
    ids = top if columns is None else np.take_along_axis(columns, top, 1)
    best = np.take_along_axis(scores, top, 1)
    order = np.lexsort((ids, -best), axis=1)
    return np.take_along_axis(ids, order, 1), np.take_along_axis(best, order, 1)


def _largest(scores: Floats, k: int) -> Ids:
    """(n, k) The columns of the k largest scores of each row, in any order."""
    first = scores.shape[1] - k
    order = np.argpartition(scores, first, axis=1) if k else np.empty((len(scores), 0), np.int64)
    return order[:, first:]
