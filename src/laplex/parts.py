"""One source, and what is to be read of it: its text, its language, its metadata, and what is done to them.

Batches of a source come in; batches of documents go out, their text as strings or lists of words, their language and
their metadata as strings, the same from every format.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace

import polars as pl

from laplex.errors import InputError
from laplex.periods import Periods
from laplex.sources import Batch, Source
from laplex.tokenizer import Tokenizer

TEXT = "\0text"  # names that no column of a user has
LANGUAGE = "\0language"


@dataclass(frozen=True)
class Part:
    """One source with what is to be read of it. A sum of corpora has several."""

    source: Source
    text: str
    metadata: tuple[str, ...]
    language: str | None
    language_column: str | None
    tokenizer: Tokenizer
    drop_missing: bool
    steps: tuple[Periods | Where, ...] = ()

    @property
    def wanted(self) -> list[str]:
        """The columns of the source to read."""
        extra = [] if self.language_column is None else [self.language_column]
        return list(dict.fromkeys([self.text, *self.metadata, *extra]))

    @property
    def columns(self) -> tuple[str, ...]:
        """The metadata that a document has in the end."""
        added = [step.name for step in self.steps if isinstance(step, Periods)]
        return tuple(dict.fromkeys([*self.metadata, *added]))

    @property
    def identity(self) -> str:
        settings = [self.text, self.metadata, self.language, self.language_column, self.drop_missing]
        return json.dumps([self.source.identity(self.wanted), settings, self.tokenizer.identity, repr(self.steps)])

    def documents(self) -> Iterator[Batch]:
        """Batches with TEXT, LANGUAGE and metadata as strings, null where missing."""
        for batch in self.source.batches(self.wanted):
            where = f"document {batch.first:,} of {batch.place} or soon after"
            columns = {name: as_values(batch.frame[name], where) for name in self.metadata}
            text, languages = _as_text(batch.frame[self.text], where), self._languages(batch.frame, where)
            frame = pl.DataFrame({TEXT: text, LANGUAGE: languages, **columns})
            for step in self.steps:
                frame = step.apply(frame, where)
            yield replace(batch, frame=frame)

    def _languages(self, frame: pl.DataFrame, where: str) -> pl.Series:
        if self.language_column is None:
            return pl.repeat(self.language or "", len(frame), dtype=pl.String, eager=True)
        return as_values(frame[self.language_column], where)


@dataclass(frozen=True)
class Where:
    """Keeps the documents whose `column` has one of `values`."""

    column: str
    values: tuple[str, ...]

    def apply(self, frame: pl.DataFrame, where: str) -> pl.DataFrame:
        return frame.filter(frame[self.column].is_in(self.values))


def _as_text(column: pl.Series, where: str) -> pl.Series:
    """Text as strings or as lists of strings, never null."""
    if isinstance(column.dtype, pl.List) and not column.dtype.inner.is_nested():
        return column.cast(pl.List(pl.String)).fill_null(pl.Series([[]], dtype=pl.List(pl.String)))
    if column.dtype in (pl.String, pl.Categorical, pl.Enum, pl.Null):
        return column.cast(pl.String).fill_null("")
    raise InputError(f'column "{column.name}" holds {column.dtype}, not text ({where}): choose another with text=')


def as_values(column: pl.Series, where: str) -> pl.Series:
    """Metadata as trimmed strings, the same from every format; null where empty."""
    kind = column.dtype
    if kind.is_nested() or kind in (pl.Binary, pl.Object, pl.Duration):
        raise InputError(f'column "{column.name}" holds {kind}, which cannot be metadata ({where})')
    if kind.is_float():
        whole = column.is_finite() & (column == column.round()) & (column.abs() < 2**63)
        text = pl.select(
            pl.when(whole.fill_null(False))
            .then(column.cast(pl.Int64, strict=False).cast(pl.String))
            .otherwise(column.fill_nan(None).cast(pl.String).str.replace(r"e(\d)", "e+$1"))  # as Python writes 1e+20
        ).to_series()
    elif isinstance(kind, pl.Datetime):
        text = column.dt.to_string("%Y-%m-%d %H:%M:%S").str.strip_suffix(" 00:00:00")
    else:
        text = column.cast(pl.String)
    text = text.str.strip_chars().alias(column.name)
    return text.set(text == "", None)
