"""Documents that lack metadata: how many there are, by column, and an example of them, for an error message."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import polars as pl

from laplex.errors import InputError
from laplex.text.dealing import DocumentBatch
from laplex.text.parts import AS_WRITTEN, LANGUAGE, TEXT


class MissingMetadata:
    """Counts the documents that lack a value of some columns, `numbers` among them."""

    def __init__(self, columns: Sequence[str], numbers: Sequence[str]) -> None:
        self._columns, self._numbers = columns, numbers
        self._counts: Counter[str] = Counter()
        self._document = ""
        self._no_numbers: dict[str, str] = {}  # by column, what one document has instead

    def add(self, batch: DocumentBatch, missing: Mapping[str, pl.Series], complete: pl.Series) -> None:
        """Count the documents of a batch: which lack a value of each column, and which lack none."""
        self._counts.update({name: int(column.sum()) for name, column in missing.items()})
        if not self._document:
            values = batch.frame.row(complete.arg_min() or 0, named=True)
            shown = {name: values.get(AS_WRITTEN + name) or values[name] for name in self._columns}
            self._document = f"{shown}, beginning {str(values[TEXT])[:60]!r} ({batch.place})"
        for name in self._numbers:
            if name not in self._no_numbers and AS_WRITTEN + name in batch.frame.columns:
                self._no_numbers |= dict.fromkeys([name], batch.frame[AS_WRITTEN + name].drop_nulls()[0])

    def check(self) -> None:
        """Raise an InputError if any document lacks a value."""
        counts = ", ".join(self._describe(name, count) for name, count in self._counts.items() if count)
        if counts:
            raise InputError(
                f'documents lack metadata: {counts}. One is {self._document}. To leave them out: missing="drop"'
            )

    def _describe(self, name: str, count: int) -> str:
        if name not in self._numbers:
            return f'{count:,} have no "{name.replace(LANGUAGE, "language")}"'
        example = f' (one is "{self._no_numbers[name]}")' if name in self._no_numbers else ""
        return f'{count:,} have no number in "{name}"{example}'
