"""Which pairs of words are near in vectors that someone trained before.

Pairs of word ids and vectors come in, a mask goes out: True where each word is among the K words closest to the other
by cosine (dict2vec's promotion of weak pairs). W words with a vector, D dimensions, P pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from laplex.errors import InputError
from laplex.progress import Bar, bar

BLOCK = 1 << 25  # cosines at a time

Ids = NDArray[np.int64]


def near(words: Sequence[str], first: Ids, second: Ids, vectors: Any, k: int, *, quiet: bool = False) -> NDArray[Any]:
    """(P) Whether words[first[p]] and words[second[p]] are each among the k nearest words of the other."""
    known, unit = _unit_vectors(words, vectors)
    place = np.full(len(words), -1, np.int64)
    place[known] = np.arange(len(known))
    mask = np.zeros(len(first), np.bool_)
    pairs = np.flatnonzero((place[first] >= 0) & (place[second] >= 0))
    with bar("promoting weak pairs", quiet=quiet) as progress:
        pairs = pairs[_reached(unit, place[first[pairs]], place[second[pairs]], k, progress)]
        pairs = pairs[_reached(unit, place[second[pairs]], place[first[pairs]], k, progress)]
    mask[pairs] = True
    return mask


def _reached(unit: NDArray[np.float32], one: Ids, two: Ids, k: int, progress: Bar) -> NDArray[np.bool_]:
    """(P) Whether two[p] is among the k nearest of one[p]."""
    order = np.argsort(one, kind="stable")
    rows, starts = np.unique(one[order], return_index=True)
    ends = np.append(starts[1:], len(order))
    reached = np.zeros(len(one), np.bool_)
    step = max(1, BLOCK // max(len(unit), 1))
    for start in range(0, len(rows), step):
        block = rows[start : start + step]
        cosine = unit[block] @ unit.T
        cosine[np.arange(len(block)), block] = -np.inf
        least = np.partition(cosine, -k, axis=1)[:, -k] if k < len(unit) else np.full(len(block), -np.inf)
        pairs = order[starts[start] : ends[start + len(block) - 1]]
        row = np.searchsorted(block, one[pairs])
        reached[pairs] = cosine[row, two[pairs]] >= least[row]
        progress.update((start + len(block)) / len(rows), f"{start + len(block):,} words")
    return reached


def _unit_vectors(words: Sequence[str], vectors: Any) -> tuple[Ids, NDArray[np.float32]]:
    """The ids of the words that have a vector, and the vectors (W, D), each of length 1."""
    if isinstance(vectors, tuple) and len(vectors) == 2:
        names, matrix = list(vectors[0]), np.asarray(vectors[1])
        if matrix.ndim != 2 or len(matrix) != len(names):
            raise InputError(f"vectors=: {len(names):,} words and a matrix of shape {matrix.shape}")
        vectors = dict(zip(names, matrix))
    if not (hasattr(vectors, "__getitem__") and hasattr(vectors, "__contains__")):
        raise InputError(
            f"vectors= takes a dict of words and vectors, or (words, matrix), not {type(vectors).__name__}"
        )
    known = [i for i, word in enumerate(words) if word in vectors]
    if not known:
        raise InputError(f"none of the {len(words):,} words of the definitions has a vector: check the language")
    try:
        matrix = np.array([vectors[words[i]] for i in known], np.float32)
    except (TypeError, ValueError):
        raise InputError("vectors= are not all of one length, or not numbers") from None
    if matrix.ndim != 2 or not np.isfinite(matrix).all():
        raise InputError("vectors= are not all of one length, or not finite")
    length = np.linalg.norm(matrix, axis=1)
    return np.array(known, np.int64)[length > 0], matrix[length > 0] / length[length > 0, None]
