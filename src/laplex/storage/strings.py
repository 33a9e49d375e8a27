"""Many strings as two arrays, which can be saved and mapped as such."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray


def pack(words: Iterable[str]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Strings as two arrays: all bytes one after the other, and where each begins (with the end of the last)."""
    encoded = [word.encode("utf-8", "surrogatepass") for word in words]
    starts = np.zeros(len(encoded) + 1, np.int64)
    np.cumsum([len(word) for word in encoded], out=starts[1:])
    return np.frombuffer(b"".join(encoded), np.uint8), starts


def unpack(text: NDArray[np.uint8], starts: NDArray[np.int64]) -> list[str]:
    """The inverse of `pack`. Raises ValueError if the arrays do not fit together."""
    data = text.tobytes()
    edges = starts.tolist()
    if not edges or edges[0] != 0 or edges[-1] != len(data) or any(a > b for a, b in zip(edges, edges[1:])):
        raise ValueError("the starts of the strings do not fit their bytes")
    return [data[a:b].decode("utf-8", "surrogatepass") for a, b in zip(edges, edges[1:])]
