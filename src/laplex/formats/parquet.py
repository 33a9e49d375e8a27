"""Parquet, read by Polars once its pages are known to hold what they say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl
from polars.selectors import by_name

from laplex.errors import InputError
from laplex.formats.decoding import reading
from laplex.formats.format import Format, Piece
from laplex.formats.frames import in_batches
from laplex.pages import check_pages


class Parquet(Format):
    """Columns, read by Polars."""

    identity = "parquet"

    def columns(self, path: Path) -> tuple[str, ...]:
        with reading(path):
            if path.stat().st_size == 0:
                raise InputError(f'"{path}" is empty')
            check_pages(path)
            return tuple(pl.scan_parquet(path, glob=False).collect_schema().names())

    def read(self, path: Path, columns: Sequence[str]) -> Iterator[Piece]:
        with reading(path):
            check_pages(path)
            rows = pl.scan_parquet(path, glob=False)
            whole = max(rows.select(pl.len()).collect().item(), 1)
            done = 0
            for frame in in_batches(rows.select(by_name(*columns))):  # as it is written: "^a$" is a name
                done += len(frame)
                yield frame, done / whole
