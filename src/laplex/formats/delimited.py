"""CSV and TSV: a header with the names of the columns, then a row a line."""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from laplex.errors import InputError, quote
from laplex.formats.decoding import LONGEST, decoded
from laplex.formats.format import Format, Piece
from laplex.formats.frames import frames_of_rows


class Csv(Format):
    """Values between commas (or semicolons, tabs, bars, if the header has no comma), quoted by "..." """

    def __init__(self, encoding: str, delimiter: str | None) -> None:
        self._encoding = encoding
        self._delimiter = delimiter
        self.identity = f"csv {encoding} {delimiter}"

    def columns(self, path: Path) -> tuple[str, ...]:
        with decoded(path, self._encoding) as (file, _):
            return self._header(path, file)[0]

    def _header(self, path: Path, file: io.TextIOWrapper) -> tuple[tuple[str, ...], Iterator[tuple[int, list[str]]]]:
        """The names of the columns, and the rows after them, each with the number of its line."""
        blank, line = next(((number, line) for number, line in enumerate(file) if line.strip()), (0, ""))
        if not line:
            raise InputError(f'"{path}" is empty')
        if "\0" in line:
            raise InputError(f'"{path}" has NUL characters in its header: give its encoding, perhaps "utf-16"')
        delimiter = self._delimiter or next((mark for mark in ",;\t|" if mark in line), ",")
        csv.field_size_limit(4 * LONGEST)  # documents are longer than the default of 131,072
        reader = csv.reader(itertools.chain([line], file), delimiter=delimiter, strict=True)
        rows = self._rows(path, reader, blank)
        names = tuple(name.strip() for name in next(rows)[1])
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise InputError(f'"{path}" has more than one column named {quote(twice)}: rename them')
        return names, rows

    def _rows(self, path: Path, reader: Any, blank: int) -> Iterator[tuple[int, list[str]]]:
        try:
            for row in reader:
                yield blank + reader.line_num, row
        except csv.Error as error:
            raise InputError(
                f'"{path}", up to line {blank + reader.line_num:,}: {error}. If its quotes follow another rule, '
                "read it with pandas or polars and pass the frame"
            ) from None

    def read(self, path: Path, columns: Sequence[str]) -> Iterator[Piece]:
        with decoded(path, self._encoding) as (file, share):
            names, rows = self._header(path, file)
            absent = [column for column in columns if column not in names]
            if absent:
                raise InputError(f'there is no column "{absent[0]}" in "{path}"; its columns are: {quote(names, 30)}')
            places = [names.index(column) for column in columns]
            for frame in frames_of_rows(self._values(path, names, rows, places), columns):
                yield frame, share()

    def _values(
        self, path: Path, names: Sequence[str], rows: Iterable[tuple[int, list[str]]], places: Sequence[int]
    ) -> Iterator[list[str]]:
        for line, row in rows:
            if len(row) == len(names):
                yield [row[place] for place in places]
            elif row:
                raise InputError(
                    f'"{path}", line {line:,}: {len(row)} values where the header has {len(names)} columns'
                )
