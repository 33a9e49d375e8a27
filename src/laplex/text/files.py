"""Files from untrusted sources: decompressed, decoded and checked, every failure an InputError that names the file.

A few bytes of a compressed file can stand for gigabytes: it is read while it is decompressed, and no document in it may
be longer than MAX_DOCUMENT_BYTES. A few wrong bytes of a Parquet file can make Polars ask for so much memory that the
process is aborted: the sizes that its pages claim are checked first.
"""

from __future__ import annotations

import gzip
import io
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from laplex.errors import InputError
from laplex.runtime import lazy

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

if TYPE_CHECKING:
    import polars as pl
else:
    pl = lazy.module("polars")

COMPRESSED = (".gz", ".zst")
MAX_DOCUMENT_BYTES = 1 << 25  # in a compressed file
MAX_PAGE_BYTES = 1 << 30  # of a Parquet file, decompressed; usual are a million
MAX_PAGE_HEADER_BYTES = 1 << 26
MAX_VALUES_PER_BYTE, MIN_VALUES_ALLOWED = 100, 10**7  # of a Parquet column, by the size of the file

# Fields of Parquet's metadata, which Thrift numbers
_ROW_GROUPS = 4  # of the file
_COLUMNS, _ROWS = 1, 3  # of a row group
_COLUMN_METADATA = 3  # of a column of a row group
_VALUES, _COMPRESSED_BYTES, _DATA_OFFSET, _DICTIONARY_OFFSET = 5, 7, 9, 11  # of its metadata
_PAGE_BYTES, _PAGE_COMPRESSED_BYTES, _PAGE_KINDS, _PAGE_VALUES = 2, 3, (5, 7, 8), 1  # of a page


@contextmanager
def input_errors(name: Path | str) -> Iterator[None]:
    """Turn every way in which reading can fail into an InputError that names the file."""
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
        if type(error).__name__ != "PanicException":  # of Polars, which is not one of its exceptions
            raise
        raise InputError(f'cannot read "{name}": it is damaged ({str(error).splitlines()[0]})') from None


@contextmanager
def open_text(
    path: Path, encoding: str, one_document: bool = False
) -> Iterator[tuple[io.TextIOWrapper, Callable[[], float]]]:
    """The text of a file, of which each line or the whole is a document, and a function for the share that was read."""
    with input_errors(path), open(path, "rb") as raw:
        size = max(path.stat().st_size, 1)
        text = io.TextIOWrapper(_decompressed(path, raw, one_document), encoding, newline="")
        try:
            yield text, lambda: raw.tell() / size
        except UnicodeError as error:
            raise InputError(_decoding_failure(path, encoding, error)) from None


def _decompressed(path: Path, raw: BinaryIO, one_document: bool = False) -> Any:
    ending = path.suffix.lower()
    if ending not in COMPRESSED:
        return raw
    file = gzip.GzipFile(fileobj=raw) if ending == ".gz" else zstd.ZstdFile(raw)
    return io.BufferedReader(_Decompressed(path, file, one_document), 1 << 17)


class _Decompressed(io.RawIOBase):
    """The content of a compressed file, up to a document of more than MAX_DOCUMENT_BYTES."""

    def __init__(self, path: Path, file: Any, one_document: bool) -> None:
        self._path, self._file, self._one_document = path, file, one_document
        self._length = 0  # of the document so far

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data: bytes = self._file.read1(len(buffer))
        end = -1 if self._one_document else max(data.rfind(b"\n"), data.rfind(b"\r"))
        self._length = len(data) - end - 1 + (self._length if end < 0 else 0)
        if self._length > MAX_DOCUMENT_BYTES:
            raise InputError(
                f'"{self._path}" holds a document of more than {MAX_DOCUMENT_BYTES:,} bytes: split it, or decompress '
                "the file"
            )
        buffer[: len(data)] = data
        return len(data)


def _decoding_failure(path: Path, encoding: str, error: UnicodeError) -> str:
    """A message that names the line of the first byte that the encoding does not have."""
    shown = encoding.replace("-sig", "")
    if "utf-16" in encoding or "utf-32" in encoding:
        return f'"{path}" is not {shown}: {error}'
    hint = f'if it is not {shown}, give its encoding, such as encoding="latin-1"'
    with open(path, "rb") as raw:
        for number, line in enumerate(_decompressed(path, raw), 1):
            try:
                line.decode(shown)
            except UnicodeDecodeError as failure:
                byte = failure.object[failure.start]
                return f'"{path}", line {number:,}: byte 0x{byte:02x} is not {shown}; {hint}'
    return f'"{path}" is not {shown}: {error}; {hint}'


def check_parquet(path: Path) -> None:
    """Raise an InputError if the pages of a Parquet file claim more than they can hold.

    Whatever cannot be parsed here (encrypted files, say) is left for Polars to judge.
    """
    with open(path, "rb") as file, suppress(LookupError, TypeError, AttributeError, OverflowError, RecursionError):
        size = file.seek(0, 2)
        file.seek(max(size - 8, 0))
        length = int.from_bytes(file.read(4), "little")
        if file.read(4) != b"PAR1" or length > size - 8:
            return
        most = MAX_VALUES_PER_BYTE * size + MIN_VALUES_ALLOWED
        for group in _Thrift(file, size - 8 - length, size - 8).struct()[_ROW_GROUPS]:
            for column in (chunk[_COLUMN_METADATA] for chunk in group[_COLUMNS]):
                if not (0 <= group[_ROWS] <= most and 0 <= column[_VALUES] <= most):
                    raise InputError(f'"{path}" is damaged, or no corpus: {group[_ROWS]:,} rows in {size:,} bytes')
                _check_column(path, file, column, size)


def _check_column(path: Path, file: BinaryIO, column: dict[int, Any], size: int) -> None:
    place = min(column[_DATA_OFFSET], column.get(_DICTIONARY_OFFSET) or column[_DATA_OFFSET])
    end = min(place + column[_COMPRESSED_BYTES], size)
    while 0 <= place < end:
        page = _Thrift(file, place, min(place + MAX_PAGE_HEADER_BYTES, end))
        try:
            header = page.struct()
        except IndexError:
            return
        values = [header[kind][_PAGE_VALUES] for kind in _PAGE_KINDS if kind in header]
        most = max(column[_VALUES], header[_PAGE_BYTES])
        if not all(0 <= count <= most for count in values) or not 0 <= header[_PAGE_BYTES] <= MAX_PAGE_BYTES:
            raise InputError(f'"{path}" is damaged: the page at byte {place:,} cannot hold what its header says')
        place = page.place + max(header[_PAGE_COMPRESSED_BYTES], 1)


class _Thrift:
    """Structs in Thrift's compact protocol, as Parquet writes them, parsed to dicts by the numbers of their fields.

    What ends too early raises an IndexError, what is not in the protocol a TypeError.
    """

    def __init__(self, file: BinaryIO, place: int, end: int) -> None:
        self._file, self.place, self._end = file, place, end
        file.seek(place)

    def struct(self) -> dict[int, Any]:
        fields: dict[int, Any] = {}
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._signed()
            fields[number] = head & 15 == 1 if head & 15 in (1, 2) else self._value(head & 15)
        return fields

    def _value(self, kind: int) -> Any:
        if kind in (1, 2, 3):  # booleans in lists, and bytes
            return self._byte()
        if kind in (4, 5, 6):  # integers
            return self._signed()
        if kind in (7, 8):  # doubles and strings
            return self._read(8 if kind == 7 else self._varint())
        if kind in (9, 10):  # lists and sets
            head = self._byte()
            count = head >> 4 if head >> 4 < 15 else self._varint()
            return [self._value(head & 15) for _ in range(min(count, self._end))]
        if kind == 12:
            return self.struct()
        raise TypeError("an unknown type")

    def _read(self, length: int) -> bytes:
        self.place += length
        if self.place > self._end:
            raise IndexError("cut off")
        return self._file.read(length)

    def _byte(self) -> int:
        return self._read(1)[0]

    def _varint(self) -> int:
        value = shift = 0
        while (byte := self._byte()) & 128:
            value, shift = value | (byte & 127) << shift, shift + 7
        return value | byte << shift

    def _signed(self) -> int:
        value = self._varint()
        return value >> 1 ^ -(value & 1)
