"""What was read of the whole text for the last question, so that the next one about the same model need not read it.

It is let go of together with the vectors that it was made from.
"""

from __future__ import annotations

import hashlib
import weakref
from collections.abc import Hashable
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T")


class Latest(Generic[T]):
    """One value, with the vectors that it was made from and what else decides it."""

    def __init__(self) -> None:
        self._found: tuple[weakref.ref[NDArray[np.float32]], Hashable, T] | None = None

    def get(self, vectors: NDArray[np.float32], key: Hashable) -> T | None:
        """The value, if it was made from these very vectors under the same key."""
        found = self._found
        return found[2] if found is not None and found[0]() is vectors and found[1] == key else None

    def keep(self, vectors: NDArray[np.float32], key: Hashable, value: T) -> None:
        """Take the place of the value before."""
        self._found = weakref.ref(vectors, self._let_go), key, value

    def _let_go(self, gone: weakref.ref[NDArray[np.float32]]) -> None:
        if self._found is not None and self._found[0] is gone:
            self._found = None


def hashed(*arrays: NDArray[Any]) -> bytes:
    """A hash of arrays."""
    found = hashlib.blake2b(digest_size=16)
    for array in arrays:
        found.update(np.ascontiguousarray(array).data)
        found.update(b"/")
    return found.digest()
