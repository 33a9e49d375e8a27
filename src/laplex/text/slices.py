"""The slices of a corpus: the combinations of metadata values that vectors vary by."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from laplex.text.periods import in_order

TOKENS_PER_SPAN = 1_000_000


@dataclass(frozen=True)
class Slices:
    """The combinations of metadata values that occur; that of document m is `keys[of_document[m]]`."""

    columns: tuple[str, ...]
    keys: tuple[tuple[str, ...], ...]
    of_document: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.keys)

    def values(self, column: str) -> list[str]:
        """The values of a column, in order."""
        place = self.columns.index(column)
        return in_order({key[place] for key in self.keys})

    def cells(self, column: str) -> list[dict[str, int]]:
        """The sets of slices that differ in `column` only, each a dict from its values in order to their slices."""
        place = self.columns.index(column)
        cells: dict[tuple[str, ...], dict[str, int]] = {}
        for slice, key in enumerate(self.keys):
            cells.setdefault(key[:place] + key[place + 1 :], {})[key[place]] = slice
        return [{value: cell[value] for value in in_order(cell)} for cell in cells.values()]


def spans(offsets: NDArray[np.int64], tokens: int | None = None) -> Iterator[tuple[int, int]]:
    """Ranges of documents of about this number of tokens, as (first, last + 1)."""
    first, end = 0, len(offsets) - 1
    tokens = tokens or TOKENS_PER_SPAN
    while first < end:
        last = int(np.searchsorted(offsets, offsets[first] + tokens))
        last = min(max(last, first + 1), end)
        yield first, last
        first = last
