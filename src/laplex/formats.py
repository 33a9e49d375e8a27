"""How a file becomes rows: CSV, TSV, JSON lines, Parquet and plain text, each also compressed.

A format lists the columns of a file and reads it as Polars frames of a few megabytes, saying after each how
far into the file it is. Text formats are read by the standard library, which streams, takes any encoding and
knows the line of an error. Whatever goes wrong becomes an InputError that names the file. A few bytes of a compressed
file can stand for gigabytes: it is read as it is unpacked, and no document in it may be longer than LONGEST.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import itertools
import json
import sys
import zlib
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import polars as pl
from polars.selectors import by_name

from laplex.errors import InputError, quote
from laplex.pages import check_pages

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

ROWS = 8192  # at most so many documents in a batch
CHARACTERS = 4_000_000  # and about so much text: more is slower, since it leaves the cache
LONGEST = 1 << 25  # bytes of a document in a compressed file; a value in a CSV file has up to four times as many
ENDINGS = ".csv .tsv .jsonl .ndjson .txt, each also .gz or .zst, and .parquet"

_NAMES = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".txt": "text",
}
_COMPRESSED = {".gz", ".zst"}

Piece = tuple[pl.DataFrame, float]


class Format(ABC):
    """One file format with its settings."""

    identity: str

    @abstractmethod
    def columns(self, path: Path) -> tuple[str, ...]:
        """The names of the columns of a file."""

    @abstractmethod
    def read(self, path: Path, columns: Sequence[str]) -> Iterator[Piece]:
        """Its rows, some at a time, with the share of the file that has been read."""


def name_of(path: Path) -> str | None:
    """The format that the ending of a file tells, if laplex knows it."""
    endings = [ending.lower() for ending in path.suffixes[-2:]]
    if endings and endings[-1] in _COMPRESSED:
        endings.pop()
    return _NAMES.get(endings[-1]) if endings else None


def of_files(paths: Sequence[Path], encoding: str, documents: str) -> Format:
    """The one format of these files."""
    counted = Counter(name_of(path) for path in paths)
    if None in counted:
        odd = next(path for path in paths if name_of(path) is None)
        raise InputError(f'"{odd}" has no ending that laplex reads: {ENDINGS}')
    if len(counted) > 1:
        mix = ", ".join(f"{count} {name}" for name, count in counted.items())
        raise InputError(f'"{paths[0].parent}" has files of more than one format ({mix}): name one, as in "*.csv"')
    try:
        "".encode(encoding)
    except LookupError:
        raise InputError(f'there is no encoding "{encoding}": try "utf-8", "latin-1" or "utf-16"') from None
    encoding = codecs.lookup(encoding).name  # of all its names the official one
    encoding = "utf-8-sig" if encoding == "utf-8" else encoding
    name = next(iter(counted))
    if name == "parquet":
        return Parquet()
    if name == "text":
        return Text(encoding, documents)
    return Json(encoding) if name == "jsonl" else Csv(encoding, "\t" if name == "tsv" else None)


@contextmanager
def reading(name: Path | str) -> Iterator[None]:
    """Turn every way in which reading can fail into an error that names the file."""
    try:
        yield
    except FileNotFoundError:
        raise InputError(f'there is no file "{name}"') from None
    except (EOFError, zlib.error, gzip.BadGzipFile, zstd.ZstdError) as error:
        raise InputError(f'"{name}" cannot be decompressed: {error}') from None
    except OSError as error:
        raise InputError(f'cannot read "{name}": {error.strerror or error}') from None
    except pl.exceptions.PolarsError as error:
        raise InputError(f'cannot read "{name}": {str(error).splitlines()[0]}') from None
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # of Polars, which no longer calls it one of its errors
            raise
        raise InputError(f'cannot read "{name}": it is damaged ({str(error).splitlines()[0]})') from None


class Csv(Format):
    """Values between commas (or semicolons, tabs, bars, if the header has no comma), quoted by "..." """

    def __init__(self, encoding: str, delimiter: str | None) -> None:
        self._encoding = encoding
        self._delimiter = delimiter
        self.identity = f"csv {encoding} {delimiter}"

    def columns(self, path: Path) -> tuple[str, ...]:
        with _decoded(path, self._encoding) as (file, _):
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
        with _decoded(path, self._encoding) as (file, share):
            names, rows = self._header(path, file)
            absent = [column for column in columns if column not in names]
            if absent:
                raise InputError(f'there is no column "{absent[0]}" in "{path}"; its columns are: {quote(names, 30)}')
            places = [names.index(column) for column in columns]
            for frame in _frames(self._values(path, names, rows, places), columns):
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


class Json(Format):
    """One JSON object a line."""

    def __init__(self, encoding: str) -> None:
        self._encoding = encoding
        self.identity = f"jsonl {encoding}"

    def columns(self, path: Path) -> tuple[str, ...]:
        with _decoded(path, self._encoding) as (file, _):
            return keys_of(self._objects(path, file), f'"{path}"')

    def read(self, path: Path, columns: Sequence[str]) -> Iterator[Piece]:
        with _decoded(path, self._encoding) as (file, share):
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


class Text(Format):
    """Plain text: a document a line, or a document a file. The column "file" holds the file's name."""

    def __init__(self, encoding: str, documents: str) -> None:
        if documents not in ("lines", "files"):
            raise InputError(f'documents="{documents}": plain text holds a document in each of its "lines" or "files"')
        self._encoding = encoding
        self._whole = documents == "files"
        self.identity = f"text {encoding} {documents}"

    def columns(self, path: Path) -> tuple[str, ...]:
        with _decoded(path, self._encoding) as (file, _):
            if not file.read(1):
                raise InputError(f'"{path}" is empty')
        return ("text", "file")

    def read(self, path: Path, columns: Sequence[str]) -> Iterator[Piece]:
        stem = path.name.split(".")[0]
        with _decoded(path, self._encoding, self._whole) as (file, share):
            texts = [file.read()] if self._whole else file
            rows = ([text if column == "text" else stem for column in columns] for text in texts)
            for frame in _frames(rows, columns):
                yield frame, share()


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
    return _frames(([mapping.get(column) for column in columns] for mapping in dicts), columns, name)


def _frames(rows: Iterable[list[Any]], columns: Sequence[str], name: str = "") -> Iterator[pl.DataFrame]:
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


def series_of(name: str, values: list[Any], place: str = "", done: int = 0) -> pl.Series:
    """Python values as a column of strings, or of lists of strings if they are lists. Mixed scalars become text."""
    of = f" of {place}" if place else ""
    try:
        return _series_of(name, values, of, done)
    except TypeError as error:
        raise InputError(f'column "{name}"{of}: {error}') from None
    except UnicodeEncodeError as error:
        raise InputError(f"column {name!r}{of}: {error.object[:40]!r} holds half a character (a surrogate)") from None


def _series_of(name: str, values: list[Any], of: str, done: int) -> pl.Series:
    if all(value is None or isinstance(value, str) for value in values):
        return pl.Series(name, values, pl.String)
    lists = any(_is_list(value) for value in values)
    if lists:
        odd = next((i for i, value in enumerate(values) if value is not None and not _is_list(value)), None)
        if odd is not None:
            where = f"document {done + odd + 1:,}{of}"
            raise InputError(
                f'column "{name}" holds lists and, in {where}, {repr(values[odd])[:40]}: make them all lists'
            )
        words = [None if value is None else [_as_text(item) for item in value] for value in values]
        return pl.Series(name, words, pl.List(pl.String))
    return pl.Series(name, [_as_text(value) for value in values], pl.String)


def _is_list(value: Any) -> bool:
    return isinstance(value, (list, tuple)) or type(value).__name__ in ("ndarray", "Series")


def _as_text(value: Any) -> str | None:
    """A scalar as it would stand in a CSV file."""
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


@contextmanager
def _decoded(path: Path, encoding: str, whole: bool = False) -> Iterator[tuple[io.TextIOWrapper, Any]]:
    """The text of a file, decompressed, and a function that says what share of the file has been read."""
    with reading(path), open(path, "rb") as raw:
        size = max(path.stat().st_size, 1)
        text = io.TextIOWrapper(_decompressed(path, raw, whole), encoding, newline="")
        try:
            yield text, lambda: raw.tell() / size
        except UnicodeError as error:
            raise InputError(_undecodable(path, encoding, error)) from None


class _Unpacked(io.RawIOBase):
    """What a compressed file holds, up to a document that is longer than any: a line, or all of it if `whole`."""

    def __init__(self, path: Path, file: Any, whole: bool) -> None:
        self._path, self._file, self._whole = path, file, whole
        self._length = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data: bytes = self._file.read1(len(buffer))
        end = -1 if self._whole else max(data.rfind(b"\n"), data.rfind(b"\r"))
        self._length = len(data) - end - 1 + (self._length if end < 0 else 0)
        if self._length > LONGEST:
            raise InputError(
                f'"{self._path}" holds a document of more than {LONGEST:,} bytes: split it, or unpack the file'
            )
        buffer[: len(data)] = data
        return len(data)


def _decompressed(path: Path, raw: BinaryIO, whole: bool = False) -> Any:
    ending = path.suffix.lower()
    if ending not in _COMPRESSED:
        return raw
    file = gzip.GzipFile(fileobj=raw) if ending == ".gz" else zstd.ZstdFile(raw)
    return io.BufferedReader(_Unpacked(path, file, whole), 1 << 17)


def _undecodable(path: Path, encoding: str, error: UnicodeError) -> str:
    """Say in which line the first byte is that the encoding does not have."""
    shown = encoding.replace("-sig", "")
    hint = f'if it is not {shown}, give its encoding, such as encoding="latin-1"'
    if "utf-16" in encoding or "utf-32" in encoding:
        return f'"{path}" is not {shown}: {error}'
    with open(path, "rb") as raw:
        for number, line in enumerate(_decompressed(path, raw), 1):
            try:
                line.decode(shown)
            except UnicodeDecodeError as found:
                byte = found.object[found.start]
                return f'"{path}", line {number:,}: byte 0x{byte:02x} is not {shown}; {hint}'
    return f'"{path}" is not {shown}: {error}; {hint}'
