"""Rows, as Polars frames of a few megabytes."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from laplex.errors import InputError
from laplex.formats.values import series_of

ROWS = 8192  # at most so many documents in a batch
CHARACTERS = 4_000_000  # and about so much text: more is slower, since it leaves the cache


def in_batches(rows: pl.LazyFrame) -> Iterator[pl.DataFrame]:
    """The rows in frames of about `CHARACTERS` bytes."""
    waiting: list[pl.DataFrame] = []
    size = count = 0
    for piece in rows.collect_batches(chunk_size=256, maintain_order=True):
        waiting.append(piece)
        size += piece.estimated_size()  # type: ignore[assignment]
        count += len(piece)
        if size >= CHARACTERS or count >= ROWS:
            yield pl.concat(waiting)
            waiting, size, count = [], 0, 0
    if waiting:
        yield pl.concat(waiting)


def keys_of(dicts: Iterable[Mapping[str, Any]], name: str) -> tuple[str, ...]:
    """The keys of the first hundred dicts, in the order in which they appear."""
    keys: dict[str, None] = {}
    for mapping in itertools.islice(dicts, 100):
        keys.update(dict.fromkeys(str(key) for key in mapping))
    if not keys:
        raise InputError(f"{name} is empty")
    return tuple(keys)


def frames_of_dicts(dicts: Iterable[Mapping[str, Any]], columns: Sequence[str], name: str) -> Iterator[pl.DataFrame]:
    return frames_of_rows(([mapping.get(column) for column in columns] for mapping in dicts), columns, name)


def frames_of_rows(rows: Iterable[list[Any]], columns: Sequence[str], name: str = "") -> Iterator[pl.DataFrame]:
    """Gather rows of Python values into frames."""
    waiting: list[list[Any]] = []
    size = done = 0
    for row in rows:
        waiting.append(row)
        size += sum(len(value) for value in row if isinstance(value, (str, list)))
        if size >= CHARACTERS or len(waiting) >= ROWS:
            yield _frame(waiting, columns, name, done)
            done += len(waiting)
            waiting, size = [], 0
    if waiting:
        yield _frame(waiting, columns, name, done)


def _frame(rows: list[list[Any]], columns: Sequence[str], name: str, done: int) -> pl.DataFrame:
    values = zip(*rows, strict=True) if columns else []
    # by name, since Polars gives a list of columns names of its own where theirs are empty
    return pl.DataFrame({column: series_of(column, list(v), name, done) for column, v in zip(columns, values)})
