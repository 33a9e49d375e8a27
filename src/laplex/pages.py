"""Do the pages of a Parquet file hold what they say? A few wrong bytes can ask for more memory than there is.

A path comes in; an InputError goes out, or nothing. The names of fields are numbers, as Thrift has them.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

from laplex.errors import InputError

LARGEST_PAGE = 1 << 30  # bytes of a page of a Parquet file, unpacked; they have about one million
VALUES_A_BYTE, VALUES_FREELY = 100, 10**7  # that a column of a Parquet file may have, by its size and besides


def check_pages(path: Path) -> None:
    """Do the pages of a Parquet file hold as many values as they may? Polars takes them at their word, and asks for so
    much memory that its process ends. What cannot be understood here is left for Polars to judge."""
    with open(path, "rb") as file:
        size = file.seek(0, 2)
        file.seek(max(size - 8, 0))
        length = int.from_bytes(file.read(4), "little")
        if file.read(4) != b"PAR1" or length > size - 8:
            return  # encrypted, or none at all
        file.seek(size - 8 - length)
        try:
            most = VALUES_A_BYTE * size + VALUES_FREELY
            for group in _Thrift(file.read(length)).struct()[4]:
                for column in (chunk[3] for chunk in group[1]):
                    if not (0 <= group[3] <= most and 0 <= column[5] <= most):
                        raise InputError(f'"{path}" is damaged, or no corpus: {group[3]:,} rows in {size:,} bytes')
                    _check_column(path, file, column, size)
        except InputError:
            raise
        except (ValueError, IndexError, KeyError, TypeError, AttributeError, OverflowError):
            return


def _check_column(path: Path, file: BinaryIO, column: dict[int, Any], size: int) -> None:
    place = min(column[9], column.get(11) or column[9])
    end = min(place + column[7], size)
    while 0 <= place < end:
        for much in (1 << 10, 1 << 16, 1 << 26):
            file.seek(place)
            page = _Thrift(file.read(min(much, end - place)))
            with suppress(IndexError):
                header = page.struct()
                break
        else:
            return
        values = [header[kind][1] for kind in (5, 7, 8) if kind in header]
        if not all(0 <= count <= max(column[5], header[2]) for count in values) or not 0 <= header[2] <= LARGEST_PAGE:
            raise InputError(f'"{path}" is damaged: a page at byte {place:,} cannot hold what it says')
        place += page.place + max(header[3], 1)


class _Thrift:
    """Structs as Parquet writes them (Thrift's compact protocol), as dicts by the numbers of their fields."""

    def __init__(self, data: bytes) -> None:
        self._data, self.place = data, 0

    def struct(self, depth: int = 0) -> dict[int, Any]:
        if depth > 32:
            raise ValueError("too deep")
        fields: dict[int, Any] = {}
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._signed()
            fields[number] = head & 15 == 1 if head & 15 in (1, 2) else self._value(head & 15, depth)
        return fields

    def _value(self, kind: int, depth: int) -> Any:
        if kind in (1, 2, 3):
            return self._byte()
        if kind in (4, 5, 6):
            return self._signed()
        if kind in (7, 8):
            length = 8 if kind == 7 else self._varint()
            self.place += length  # numbers with a point, and texts, are passed over
            return None
        if kind in (9, 10):
            head = self._byte()
            count = head >> 4 if head >> 4 < 15 else self._varint()
            return [self._value(head & 15, depth + 1) for _ in range(min(count, len(self._data)))]
        if kind == 12:
            return self.struct(depth + 1)
        raise ValueError("an unknown type")

    def _byte(self) -> int:
        self.place += 1
        return self._data[self.place - 1]

    def _varint(self) -> int:
        value = shift = 0
        while (byte := self._byte()) & 128:
            value, shift = value | (byte & 127) << shift, shift + 7
        return value | byte << shift

    def _signed(self) -> int:
        value = self._varint()
        return value >> 1 ^ -(value & 1)
