"""The slices of a corpus: the combinations of metadata values that vectors vary by."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from laplex.text.periods import in_order


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
