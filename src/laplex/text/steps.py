"""The steps between a source and a corpus: documents that are left out, and columns that are added.

A step works on frames of metadata, one after the other, each as the step before it has left it. It names the `column`
that it reads; a step that adds a column has its `name`. Its `repr` is part of the identity of a corpus.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl
from numpy.typing import NDArray

from laplex.text.bins import Bins
from laplex.text.periods import Periods

ROW = "\0row"  # the column with the number of the row in the source, from 0, if a step needs it


@dataclass(frozen=True)
class Where:
    """Keeps the documents whose `column` has one of `values`."""

    column: str
    values: tuple[str, ...]

    def apply(self, frame: pl.DataFrame, place: str) -> pl.DataFrame:
        """The documents of the frame that are kept."""
        return frame.filter(frame[self.column].is_in(self.values))


@dataclass(frozen=True)
class Assigned:
    """Adds a column `name` to a frame: the value of each row of the source, such as its topic.

    Attributes:
        name: The name of the column.
        digest: A hash of the values, which stands for them in the identity of a corpus.
        codes: The value of each row of the source, an index into `values`, negative where it has none.
        values: The values.
    """

    name: str
    digest: str
    codes: NDArray[np.int32] = field(repr=False, compare=False)
    values: tuple[str, ...] = field(repr=False, compare=False)
    column: str = field(default=ROW, init=False, repr=False)

    @classmethod
    def of(cls, name: str, codes: NDArray[np.int32], values: Sequence[str]) -> Assigned:
        """The step for these values."""
        digest = hashlib.blake2b(json.dumps(list(values)).encode() + codes.tobytes(), digest_size=16)
        return cls(name, digest.hexdigest(), codes, tuple(values))

    def apply(self, frame: pl.DataFrame, place: str) -> pl.DataFrame:
        """The frame with the column, null where a row has no value."""
        codes = np.append(self.codes, -1)[np.minimum(frame[ROW].to_numpy(), len(self.codes))]
        values = pl.Series(self.name, self.values, pl.String).gather(np.maximum(codes, 0))
        return frame.with_columns(values.set(pl.Series(codes < 0), None))


Step = Where | Periods | Bins | Assigned


def added_columns(steps: Sequence[Step]) -> list[str]:
    """The names of the columns that steps add."""
    return [step.name for step in steps if not isinstance(step, Where)]


def needed(steps: Sequence[Step], columns: Collection[str]) -> tuple[list[Step], set[str]]:
    """The steps that decide which documents there are or give one of `columns`, and all columns that take part."""
    taking_part, names = [], set(columns)
    for step in reversed(steps):
        if isinstance(step, Where) or step.name in names:
            taking_part.append(step)
            names.add(step.column)
    return taking_part[::-1], names
