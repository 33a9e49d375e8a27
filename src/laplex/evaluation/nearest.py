"""The rows of one matrix that are most similar to each row of another, without ever holding all similarities.

Queries (n, D) and candidates (V, D) come in, k numbers for each query go out, best first. The similarities of a block
of queries are one product. Candidates are dealt out into V/32 groups; the k best of all are among the k groups with the
best best, so that only k · 32 similarities have to be sorted.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
AT_ONCE = 1 << 24  # similarities held in memory
GROUP = 32


def nearest(
    queries: Floats,
    candidates: Floats,
    k: int,
    *,
    penalty: Floats | None = None,
    report: Callable[[float], None] = lambda share: None,
) -> tuple[NDArray[np.int64], Floats]:
    """(n, k) The numbers of the best candidates of each query, and their similarities less each one's `penalty`.

    `report` is told the share of queries that are done.

    >>> line = np.array([[1.0], [3.0], [2.0]], np.float32)
    >>> nearest(np.ones((1, 1), np.float32), line, 2)[0]
    array([[1, 2]])
    """
    size, dimensions = candidates.shape
    groups = -(-size // GROUP)
    padded = np.zeros((groups * GROUP, dimensions), np.float32)
    padded[:size] = candidates
    step = max(1, min(len(queries), AT_ONCE // len(padded)))
    memory = np.empty((step, len(padded)), np.float32)
    ids, scores = np.empty((len(queries), k), np.int64), np.empty((len(queries), k), np.float32)
    for start in range(0, len(queries), step):
        some = queries[start : start + step]
        block = np.matmul(some, padded.T, out=memory[: len(some)])
        if penalty is not None:
            block[:, :size] -= penalty
        block[:, size:] = -np.inf
        ids[start : start + step], scores[start : start + step] = _best(block, k, groups)
        report(min(1.0, (start + step) / len(queries)))
    return ids, scores


def _best(block: Floats, k: int, groups: int) -> tuple[NDArray[np.int64], Floats]:
    if groups > k:
        best = block.reshape(len(block), GROUP, groups).max(1)  # candidate j is in group j mod `groups`
        chosen = np.argpartition(best, groups - k, axis=1)[:, groups - k :]
        among = (chosen[:, None, :] + groups * np.arange(GROUP)[:, None]).reshape(len(block), -1)
        block = np.take_along_axis(block, among, 1)
    else:
        among = np.broadcast_to(np.arange(block.shape[1]), block.shape)
    top = np.argpartition(block, block.shape[1] - k, axis=1)[:, block.shape[1] - k :]
    ids, scores = np.take_along_axis(among, top, 1), np.take_along_axis(block, top, 1)
    order = np.lexsort((ids, -scores), axis=1)  # of two alike, the more frequent word first
    return np.take_along_axis(ids, order, 1), np.take_along_axis(scores, order, 1)
