"""Memory that a thread uses again and again for large products.

New memory for each of them would cost more than the products themselves: the system has to clear its pages, for which
threads wait for one another.
"""

from __future__ import annotations

import math
import threading

import numpy as np
from numpy.typing import NDArray


class _Buffers(threading.local):
    """The buffers of a thread, by name."""

    def __init__(self) -> None:
        self.flat: dict[str, NDArray[np.float32]] = {}


_buffers = _Buffers()


def buffer(name: str, *shape: int) -> NDArray[np.float32]:
    """An array with any content, which is that of the last one with this name."""
    size = math.prod(shape)
    flat = _buffers.flat.get(name)
    if flat is None or flat.size < size:
        flat = _buffers.flat[name] = np.empty(size, np.float32)
    return flat[:size].reshape(shape)
