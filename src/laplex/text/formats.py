"""File formats: the columns of a file and its rows, as Polars frames of a few megabytes.

The ending of a file tells its format: CSV and TSV, JSON lines, plain text (each also compressed), or Parquet.
"""

from __future__ import annotations

import codecs
import csv
import io
import itertools
import json
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import polars as pl
from polars.selectors import by_name

from laplex.errors import InputError, quote
from laplex.text.dealing import FileRange
from laplex.text.files import COMPRESSED, MAX_DOCUMENT_BYTES, check_parquet, input_errors, open_text

MAX_BATCH_ROWS = 8192
BATCH_CHARACTERS = 4_000_000  # about; more is slower, since it leaves the cache
MAX_CSV_FIELD_BYTES = 4 * MAX_DOCUMENT_BYTES  # the csv module's own limit of 131,072 is shorter than some documents
WHOLE_FILE = FileRange(0, 0, -1)
KEYS_FROM_DOCUMENTS = 100  # that are read to find the columns of dicts

ENDINGS = ".csv .tsv .jsonl .ndjson .txt, each also .gz or .zst, and .parquet"
_NAMES = {f".{name}": name for name in ("csv", "tsv", "jsonl", "parquet")}
_NAMES |= {".tab": "tsv", ".ndjson": "jsonl", ".pq": "parquet", ".txt": "text"}

Item = TypeVar("Item")


class Format(ABC):
    """One file format with its settings, which `identity` tells."""

    identity: str

    def __init__(self, encoding: str) -> None:
        try:
            "".encode(encoding)
        except LookupError:
            raise InputError(f'there is no encoding "{encoding}": try "utf-8", "latin-1" or "utf-16"') from None
        name = codecs.lookup(encoding).name
        self.encoding = "utf-8-sig" if name == "utf-8" else name  # UTF-8 may begin with a byte order mark

    @abstractmethod
    def columns(self, path: Path) -> tuple[str, ...]:
        """The names of the columns of a file."""

    @abstractmethod
    def read(
        self, path: Path, columns: Sequence[str], part: FileRange = WHOLE_FILE
    ) -> Iterator[tuple[pl.DataFrame, float]]:
        """The rows in batches, each with the share of the file that has been read. Only Parquet can read a part."""


def format_name(path: Path) -> str | None:
    """The format that the ending of a file tells, None if laplex does not read it."""
    endings = [ending.lower() for ending in path.suffixes[-2:]]
    if endings and endings[-1] in COMPRESSED:
        endings.pop()
    return _NAMES.get(endings[-1]) if endings else None


def format_of(paths: Sequence[Path], encoding: str, documents: str) -> Format:
    """The one format of these files."""
    counts = Counter(format_name(path) for path in paths)
    if None in counts:
        unknown = next(path for path in paths if format_name(path) is None)
        raise InputError(f'"{unknown}" has no ending that laplex reads: {ENDINGS}')
    if len(counts) > 1:
        mix = ", ".join(f"{count} {name}" for name, count in counts.items())
        raise InputError(f'"{paths[0].parent}" has files of more than one format ({mix}): name one, as in "*.csv"')
    name = next(iter(counts))
    if name == "parquet":
        return Parquet(encoding)
    if name == "text":
        return PlainText(encoding, documents)
    return Json(encoding) if name == "jsonl" else Csv(encoding, "\t" if name == "tsv" else None)


class Csv(Format):
    """A header with the names of the columns, then rows, quoted by "...".

    The delimiter is a comma, or, if the header has none, a semicolon, a tab or a bar.
    """

    def __init__(self, encoding: str, delimiter: str | None) -> None:
        super().__init__(encoding)
        self._delimiter = delimiter
        self.identity = f"csv {self.encoding} {delimiter}"

    def columns(self, path: Path) -> tuple[str, ...]:
        with open_text(path, self.encoding) as (file, _):
            return tuple(next(self._rows(path, file)))

    def read(
        self, path: Path, columns: Sequence[str], part: FileRange = WHOLE_FILE
    ) -> Iterator[tuple[pl.DataFrame, float]]:
        with open_text(path, self.encoding) as (file, share):
            rows = self._rows(path, file)
            names = next(rows)
            absent = [column for column in columns if column not in names]
            if absent:
                raise InputError(f'there is no column "{absent[0]}" in "{path}"; its columns are: {quote(names, 30)}')
            indices = [names.index(column) for column in columns]
            for frame in frames_of_rows(([row[index] for index in indices] for row in rows), columns):
                yield frame, share()

    def _rows(self, path: Path, file: io.TextIOWrapper) -> Iterator[list[str]]:
        """The names of the columns, then each row with as many values."""
        blank_lines, line = next(((number, line) for number, line in enumerate(file) if line.strip()), (0, ""))
        if not line:
            raise InputError(f'"{path}" is empty')
        if "\0" in line:
            raise InputError(f'"{path}" has NUL characters in its header: give its encoding, perhaps "utf-16"')
        delimiter = self._delimiter or next((mark for mark in ",;\t|" if mark in line), ",")
        csv.field_size_limit(MAX_CSV_FIELD_BYTES)
        reader = csv.reader(itertools.chain([line], file), delimiter=delimiter, strict=True)
        try:
            names = [name.strip() for name in next(reader)]
            check_unique(names, f'"{path}"')
            yield names
            for row in reader:
                if len(row) == len(names):
                    yield row
                elif row:
                    number = blank_lines + reader.line_num
                    raise InputError(
                        f'"{path}", line {number:,}: {len(row)} values where the header has {len(names)} columns'
                    )
        except csv.Error as error:
            raise InputError(
                f'"{path}", up to line {blank_lines + reader.line_num:,}: {error}. If its quotes follow another rule, '
                "read it with pandas or polars and pass the frame"
            ) from None


class Json(Format):
    """One JSON object per line, whose keys are the columns."""

    def __init__(self, encoding: str) -> None:
        super().__init__(encoding)
        self.identity = f"jsonl {self.encoding}"

    def columns(self, path: Path) -> tuple[str, ...]:
        with open_text(path, self.encoding) as (file, _):
            return keys_of(self._objects(path, file), f'"{path}"')

    def read(
        self, path: Path, columns: Sequence[str], part: FileRange = WHOLE_FILE
    ) -> Iterator[tuple[pl.DataFrame, float]]:
        with open_text(path, self.encoding) as (file, share):
            for frame in frames_of_dicts(self._objects(path, file), columns, f'"{path}"'):
                yield frame, share()

    def _objects(self, path: Path, file: Iterable[str]) -> Iterator[dict[str, Any]]:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                value = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise InputError(f'"{path}", line {number:,}: not JSON ({error})') from None
            if not isinstance(value, dict):
                raise InputError(f'"{path}", line {number:,}: a JSON {type(value).__name__} where an object should be')
            yield value


class Parquet(Format):
    """Parquet, read by Polars once its pages are known to hold what they claim."""

    identity = "parquet"

    def columns(self, path: Path) -> tuple[str, ...]:
        with input_errors(path):
            if path.stat().st_size == 0:
                raise InputError(f'"{path}" is empty')
            check_parquet(path)
            return tuple(pl.scan_parquet(path, glob=False).collect_schema().names())

    def rows(self, path: Path) -> int:
        """The number of rows of a file."""
        with input_errors(path):
            check_parquet(path)
            return int(pl.scan_parquet(path, glob=False).select(pl.len()).collect().item())

    def read(
        self, path: Path, columns: Sequence[str], part: FileRange = WHOLE_FILE
    ) -> Iterator[tuple[pl.DataFrame, float]]:
        with input_errors(path):
            total = self.rows(path) if part.rows < 0 else part.rows
            rows = pl.scan_parquet(path, glob=False).select(by_name(*columns))  # a plain "^a$" is a pattern
            done = 0
            for frame in in_batches(rows if part.rows < 0 else rows.slice(part.first, part.rows)):
                done += len(frame)
                yield frame, done / max(total, 1)


class PlainText(Format):
    """A document per line or per file. The column "file" holds the name of the file without its ending."""

    def __init__(self, encoding: str, documents: str = "lines") -> None:
        super().__init__(encoding)
        if documents not in ("lines", "files"):
            raise InputError(f'documents="{documents}": plain text holds a document in each of its "lines" or "files"')
        self._one_document = documents == "files"
        self.identity = f"text {self.encoding} {documents}"

    def columns(self, path: Path) -> tuple[str, ...]:
        with open_text(path, self.encoding) as (file, _):
            if not file.read(1):
                raise InputError(f'"{path}" is empty')
        return ("text", "file")

    def read(
        self, path: Path, columns: Sequence[str], part: FileRange = WHOLE_FILE
    ) -> Iterator[tuple[pl.DataFrame, float]]:
        stem = path.name.split(".")[0]
        with open_text(path, self.encoding, self._one_document) as (file, share):
            texts = [file.read()] if self._one_document else file
            rows = ([text if column == "text" else stem for column in columns] for text in texts)
            for frame in frames_of_rows(rows, columns):
                yield frame, share()


def keys_of(dicts: Iterable[Mapping[str, Any]], name: str) -> tuple[str, ...]:
    """The keys of the first dicts, in the order in which they appear."""
    keys = {str(key): None for mapping in itertools.islice(dicts, KEYS_FROM_DOCUMENTS) for key in mapping}
    if not keys:
        raise InputError(f"{name} is empty")
    return tuple(keys)


def check_unique(columns: Sequence[str], name: str) -> None:
    """Raise an InputError if two columns have one name."""
    repeated = sorted(column for column, count in Counter(columns).items() if count > 1)
    if repeated:
        raise InputError(f"{name} has more than one column named {quote(repeated)}: rename them")


def _batched(
    items: Iterable[Item], characters: Callable[[Item], int], rows: Callable[[Item], int]
) -> Iterator[list[Item]]:
    """Consecutive items of about BATCH_CHARACTERS characters, or MAX_BATCH_ROWS rows, together."""
    waiting: list[Item] = []
    size = count = 0
    for item in items:
        waiting.append(item)
        size += characters(item)
        count += rows(item)
        if size >= BATCH_CHARACTERS or count >= MAX_BATCH_ROWS:
            yield waiting
            waiting, size, count = [], 0, 0
    if waiting:
        yield waiting


def in_batches(rows: pl.LazyFrame) -> Iterator[pl.DataFrame]:
    """The rows of a frame in batches."""
    pieces = rows.collect_batches(chunk_size=256, maintain_order=True)
    return map(pl.concat, _batched(pieces, lambda piece: int(piece.estimated_size()), len))


def frames_of_dicts(dicts: Iterable[Mapping[str, Any]], columns: Sequence[str], name: str) -> Iterator[pl.DataFrame]:
    """Dicts in batches, as frames of some of their keys."""
    return frames_of_rows(([mapping.get(column) for column in columns] for mapping in dicts), columns, name)


def frames_of_rows(rows: Iterable[list[Any]], columns: Sequence[str], name: str = "") -> Iterator[pl.DataFrame]:
    """Rows of Python values in batches, as frames."""
    done = 0
    for batch in _batched(rows, _characters, lambda row: 1):
        values = zip(*batch, strict=True) if columns else []
        # by name, since Polars renames columns of a list whose names are empty
        yield pl.DataFrame({column: series_of(column, list(v), name, done) for column, v in zip(columns, values)})
        done += len(batch)


def _characters(row: list[Any]) -> int:
    return sum(len(value) for value in row if isinstance(value, (str, list)))


def series_of(name: str, values: list[Any], source: str = "", done: int = 0) -> pl.Series:
    """Python values as a column of strings, or of lists of strings if they are lists; other values become strings.

    `source` names where they come from, of which `done` documents came before.
    """
    of = f" of {source}" if source else ""
    try:
        if all(value is None or isinstance(value, str) for value in values):
            return pl.Series(name, values, pl.String)
        if not any(map(_is_list, values)):
            return pl.Series(name, [_as_text(value) for value in values], pl.String)
        for number, value in enumerate(values, done + 1):
            if value is not None and not _is_list(value):
                raise InputError(
                    f'column "{name}" holds lists and, in document {number:,}{of}, {repr(value)[:40]}: make them all '
                    "lists"
                )
        words = [None if value is None else [_as_text(item) for item in value] for value in values]
        return pl.Series(name, words, pl.List(pl.String))
    except TypeError as error:
        raise InputError(f'column "{name}"{of}: {error}') from None
    except UnicodeEncodeError as error:
        raise InputError(f"column {name!r}{of}: {error.object[:40]!r} holds half a character (a surrogate)") from None


def _is_list(value: Any) -> bool:
    return isinstance(value, (list, tuple)) or type(value).__name__ in ("ndarray", "Series")


def _as_text(value: Any) -> str | None:
    """A value as it would stand in a CSV file."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, (bool, np.bool_)):
        return str(value).lower()
    if isinstance(value, (float, np.floating)):
        if value != value:
            return None
        return str(int(value)) if value.is_integer() and abs(float(value)) < 2**63 else str(value)
    if isinstance(value, datetime):
        return value.replace(tzinfo=None).isoformat(" ", "seconds").removesuffix(" 00:00:00")
    if isinstance(value, (Mapping, set, bytes, list, tuple)):
        raise TypeError(f"{repr(value)[:60]} is neither text nor a number")
    return str(value)
