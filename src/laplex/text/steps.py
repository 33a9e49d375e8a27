"""The steps between a source and a corpus: documents that are left out, and columns that are added.

A step works on frames of metadata, one after the other, each as the step before it has left it. It names the `column`
that it reads; a step that adds a column has its `name`. Its `repr` is part of the identity of a corpus.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import polars as pl

from laplex.text.bins import Bins
from laplex.text.periods import Periods


@dataclass(frozen=True)
class Where:
    """Keeps the documents whose `column` has one of `values`."""

    column: str
    values: tuple[str, ...]

    def apply(self, frame: pl.DataFrame, place: str) -> pl.DataFrame:
        """The documents of the frame that are kept."""
        return frame.filter(frame[self.column].is_in(self.values))


Step = Where | Periods | Bins


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
