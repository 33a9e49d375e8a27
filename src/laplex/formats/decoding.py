"""The bytes of a file, as text: decompressed, decoded, and every failure an InputError that names the file.

A few bytes of a compressed file can stand for gigabytes: it is read as it is unpacked, and no document in it may be
longer than LONGEST.
"""

from __future__ import annotations

import gzip
import io
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import polars as pl

from laplex.errors import InputError

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

LONGEST = 1 << 25  # bytes of a document in a compressed file; a value in a CSV file has up to four times as many
COMPRESSED = {".gz", ".zst"}


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


@contextmanager
def decoded(path: Path, encoding: str, whole: bool = False) -> Iterator[tuple[io.TextIOWrapper, Any]]:
    """The text of a file, decompressed, and a function that says what share of the file has been read."""
    with reading(path), open(path, "rb") as raw:
        size = max(path.stat().st_size, 1)
        text = io.TextIOWrapper(_decompressed(path, raw, whole), encoding, newline="")
        try:
            yield text, lambda: raw.tell() / size
        except UnicodeError as error:
            raise InputError(_undecodable(path, encoding, error)) from None


def _decompressed(path: Path, raw: BinaryIO, whole: bool = False) -> Any:
    ending = path.suffix.lower()
    if ending not in COMPRESSED:
        return raw
    file = gzip.GzipFile(fileobj=raw) if ending == ".gz" else zstd.ZstdFile(raw)
    return io.BufferedReader(_Unpacked(path, file, whole), 1 << 17)


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
