"""One source of a corpus with what is to be read of it: its documents in batches, all columns or only some."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from laplex.text.dealing import DocumentBatch, DocumentShare
from laplex.text.phrases import Phrases
from laplex.text.sources import Source
from laplex.text.steps import ROW, Step, Where, added_columns, needed
from laplex.text.tokenizer import Tokenizer
from laplex.text.values import as_metadata, as_numbers, as_text

TEXT = "\0text"  # no column of a user has such a name
LANGUAGE = "\0language"
AS_WRITTEN = "\0as written "  # before the name of a column of numbers: what stands there instead of one


@dataclass(frozen=True)
class CorpusPart:
    """One source with what is to be read of it."""

    source: Source
    text: str
    metadata: tuple[str, ...]
    language: str | None
    language_column: str | None
    tokenizer: Tokenizer
    drop_missing: bool
    unit: str | None = None
    numbers: tuple[str, ...] = ()
    steps: tuple[Step, ...] = ()
    phrases: Phrases | None = None

    @property
    def source_columns(self) -> list[str]:
        """The columns of the source that are read."""
        return self._columns_to_read({TEXT, LANGUAGE, *self.metadata})

    @property
    def columns(self) -> tuple[str, ...]:
        """The metadata columns after all steps."""
        return tuple(dict.fromkeys([*self.metadata, *added_columns(self.steps)]))

    @property
    def has_language(self) -> bool:
        return self.language is not None or self.language_column is not None

    @property
    def identity(self) -> str:
        settings: list[Any] = [
            self.text,
            self.metadata,
            self.language,
            self.language_column,
            self.drop_missing,
            self.unit,
        ]
        settings += [self.numbers] if self.numbers else []
        settings += [{"phrases": self.phrases.identity}] if self.phrases else []
        source = self.source.identity(self.source_columns)
        return json.dumps([source, settings, self.tokenizer.identity, repr(self.steps)])

    def documents(
        self, columns: Collection[str] | None = None, share: DocumentShare | None = None
    ) -> Iterator[DocumentBatch]:
        """Batches with TEXT, LANGUAGE and metadata as strings, null where missing; or only with some columns.

        With the share of one of several processes, only its documents are read where that is possible. Where only some
        are kept, shares could be uneven: all are read.
        """
        if any(isinstance(step, Where) for step in self.steps):
            share = None
        steps, names = needed(self.steps, (TEXT, LANGUAGE, *self.columns) if columns is None else columns)
        rows = 0
        for batch in self.source.batches(self._columns_to_read(names), share):
            place = f"document {batch.first:,} of {batch.place} or soon after"
            frame = self._clean(batch.frame, names, place)
            if ROW in names:
                frame = frame.with_columns(pl.int_range(rows, rows + len(batch.frame), eager=True).alias(ROW))
            rows += len(batch.frame)
            for step in steps:
                frame = step.apply(frame, place)
            yield replace(batch, frame=frame)

    def _columns_to_read(self, names: set[str]) -> list[str]:
        """The columns of the source for columns of a batch, at least one."""
        read = [self.text] if TEXT in names else []
        read += [name for name in self.metadata if name in names]
        read += [self.language_column] if LANGUAGE in names and self.language_column is not None else []
        return list(dict.fromkeys(read or [self.text]))

    def _clean(self, frame: pl.DataFrame, names: set[str], place: str) -> pl.DataFrame:
        """A frame of the source with these columns as a corpus gives them."""
        columns: dict[str, pl.Series] = {}
        if TEXT in names:
            columns[TEXT] = as_text(frame[self.text], place)
        if LANGUAGE in names and self.language_column is not None:
            columns[LANGUAGE] = as_metadata(frame[self.language_column], place)
        elif LANGUAGE in names:
            columns[LANGUAGE] = pl.repeat(self.language or "", len(frame), dtype=pl.String, eager=True)
        for name in self.metadata:
            if name in names:
                columns[name] = as_metadata(frame[name], place)
        for name in names.intersection(self.numbers):
            written, columns[name] = columns[name], as_numbers(columns[name])
            if columns[name].null_count() > written.null_count():
                columns[AS_WRITTEN + name] = written.set(columns[name].is_not_null(), None)
        return pl.DataFrame(columns)
