"""Arrays in one file of the safetensors layout: written in pieces, mapped into memory, read-only.

    8 bytes      the length of the header
    the header   JSON: the type, the shape and the place of each array
    the arrays   one behind the other, no byte of them in two

The layout is written and read here rather than by its library because that one holds whole arrays in memory, on both
ways; the tests read our files with it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from laplex.errors import StorageError
from laplex.storage.limits import LONGEST_JSON, json_bytes, opened

_MOST_DIMENSIONS = 32
_NAME_OF_DTYPE = {
    np.dtype("bool"): "BOOL",
    np.dtype("uint8"): "U8",
    np.dtype("int8"): "I8",
    np.dtype("<u2"): "U16",
    np.dtype("<i2"): "I16",
    np.dtype("<u4"): "U32",
    np.dtype("<i4"): "I32",
    np.dtype("<u8"): "U64",
    np.dtype("<i8"): "I64",
    np.dtype("<f2"): "F16",
    np.dtype("<f4"): "F32",
    np.dtype("<f8"): "F64",
}
_DTYPE_OF_NAME = {name: dtype for dtype, name in _NAME_OF_DTYPE.items()}


@dataclass(frozen=True)
class Stream:
    """An array that is never whole in memory: its dtype, its shape, and its values in pieces, in order."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    pieces: Iterable[NDArray[Any]]


def write_arrays(file: BinaryIO, arrays: Mapping[str, NDArray[Any] | Stream]) -> tuple[str, int]:
    """Write them all; the hash and the number of the bytes."""
    streams = {name: _as_stream(array) for name, array in arrays.items()}
    header = _header_of(streams)
    text = json_bytes(header)
    text += b" " * (-len(text) % 8)
    head = len(text).to_bytes(8, "little") + text
    digest = hashlib.blake2b(head, digest_size=16)
    file.write(head)
    size = len(head)
    for name, entry in header.items():
        written = 0
        for piece in streams[name].pieces:
            data = np.ascontiguousarray(piece, streams[name].dtype).reshape(-1).view(np.uint8).data
            digest.update(data)
            file.write(data)
            written += len(data)
        start, end = entry["data_offsets"]
        if written != end - start:
            raise ValueError(f"array {name}: {written} bytes given, {end - start} promised")
        size += written
    return digest.hexdigest(), size


def _header_of(streams: Mapping[str, Stream]) -> dict[str, dict[str, Any]]:
    header = {}
    position = 0
    # widest items first, so that every array starts at a multiple of its item size
    for name in sorted(streams, key=lambda name: (-streams[name].dtype.itemsize, name)):
        stream = streams[name]
        end = position + prod(stream.shape) * stream.dtype.itemsize
        header[name] = {
            "dtype": _NAME_OF_DTYPE[stream.dtype],
            "shape": list(stream.shape),
            "data_offsets": [position, end],
        }
        position = end
    return header


def _as_stream(array: NDArray[Any] | Stream) -> Stream:
    if isinstance(array, Stream):
        return Stream(np.dtype(array.dtype).newbyteorder("<"), array.shape, array.pieces)
    dtype = array.dtype.newbyteorder("<")
    return Stream(dtype, array.shape, [array] if array.size else [])


def map_arrays(path: Path, size: int) -> dict[str, NDArray[Any]]:
    """The arrays of a file that should have `size` bytes."""
    try:
        with opened(path) as (file, actual):
            if actual != size:
                raise StorageError(f'"{path}" is damaged: {actual:,} bytes, should be {size:,}')
            length = int.from_bytes(file.read(8), "little")
            if size < 8 or length > min(size - 8, LONGEST_JSON):
                raise StorageError(f'"{path}" is damaged: its header is cut off')
            header = json.loads(file.read(length))
            header.pop("__metadata__", None)
            _check_places(header, size - 8 - length)
            data = np.memmap(file, np.uint8, "r", offset=0) if size > 8 + length else np.empty(0, np.uint8)
            return {name: _view(data, 8 + length, entry) for name, entry in header.items()}
    except OSError as error:
        raise StorageError(f'cannot read "{path}": {error.strerror or error}') from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise StorageError(f'"{path}" is damaged: its header makes no sense ({error})') from None


def _check_places(header: dict[str, Any], size: int) -> None:
    """Do the arrays fill the bytes behind the header, each byte once? So none of them is there many times over."""
    for entry in header.values():
        # also those of an array without values, since other arrays are made by them
        sizes = (*entry["shape"], *entry["data_offsets"])
        if len(sizes) > _MOST_DIMENSIONS + 2 or not all(type(n) is int and 0 <= n <= max(size, 1 << 16) for n in sizes):
            raise ValueError("sizes that do not fit the file")
    places = sorted(entry["data_offsets"] for entry in header.values())
    edges = [0, *(edge for place in places for edge in place), size]
    if any(len(place) != 2 for place in places) or edges[::2] != edges[1::2]:
        raise ValueError("arrays that do not lie one behind the other")


def _view(data: NDArray[np.uint8], base: int, entry: dict[str, Any]) -> NDArray[Any]:
    dtype = _DTYPE_OF_NAME[entry["dtype"]]
    shape = entry["shape"]
    start, end = entry["data_offsets"]
    if prod(shape) * dtype.itemsize != end - start:
        raise ValueError("sizes that do not fit the file")
    array = np.ndarray(shape, dtype, data, base + start) if end > start else np.empty(shape, dtype)
    array.flags.writeable = False
    return array
