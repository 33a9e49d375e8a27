"""Saved objects: a folder with `laplex.json` (what it is, its settings) and one file with its arrays.

The arrays are written beside the old ones under a name of their own, then `laplex.json` is replaced in one step, then
the old arrays are deleted. A kill at any moment leaves the old object or the new one, and two processes that write the
same object do not disturb each other. A folder from an untrusted source cannot make laplex read outside of it, wait
for a pipe or parse JSON without end.

The arrays have the safetensors layout: 8 bytes with the length of the header, the header (JSON: the type, the shape and
the place of each array), and the arrays without gaps or overlaps. It is written and read here because the safetensors
library holds whole arrays in memory; the tests read these files with the library.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import metadata
from math import prod
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from laplex.errors import StorageError
from laplex.runtime.atomic import PART_NAME, atomic_file, remove_leftovers, shared_lock, write_errors

VERSION = 1
MANIFEST = "laplex.json"
MAX_JSON_BYTES = 1 << 24  # parsed, it can take twenty times as much memory
MAX_DIMENSIONS = 32
MAX_ATTEMPTS = 10  # to open an object that other processes replace
_ARRAYS_NAME = re.compile(r"arrays-[0-9a-f]{32}\.safetensors")
_DTYPES = {"BOOL": np.dtype(bool)} | {
    f"{code[0].upper()}{8 * int(code[1])}": np.dtype(f"<{code}")  # "F32" is "<f4"
    for code in ("u1", "i1", "u2", "i2", "f2", "u4", "i4", "f4", "u8", "i8", "f8")
}
_DTYPE_NAMES = {dtype: name for name, dtype in _DTYPES.items()}


@dataclass(frozen=True)
class Stream:
    """An array to be saved that is never complete in memory: its dtype, its shape, and its values in pieces."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    pieces: Iterable[NDArray[Any]]


@dataclass(frozen=True)
class Saved:
    """A loaded object. `digest` is the hash of all bytes of its arrays."""

    folder: Path
    kind: str
    settings: dict[str, Any]
    arrays: dict[str, NDArray[Any]]
    digest: str


def save(
    folder: str | os.PathLike[str],
    kind: str,
    settings: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any] | Stream],
) -> None:
    """Write an object into `folder`, replacing the laplex object that is there, if any."""
    folder = Path(folder)
    with write_errors(folder):
        _check_may_write(folder)
        folder.mkdir(parents=True, exist_ok=True)
        old = _current_arrays(folder)
        with shared_lock(folder) as try_exclusive:
            # both files are written completely before either appears, the arrays first
            with atomic_file(folder, lambda: MANIFEST) as manifest, atomic_file(folder, lambda: name) as file:
                digest, size = _write_arrays(file, arrays)
                name = f"arrays-{digest}.safetensors"
                described = {"file": name, "bytes": size}
                header = {"format": "laplex", "version": VERSION, "kind": kind, "arrays": described}
                manifest.write(_json_bytes(header | {"settings": dict(settings)}, indent=1))
                manifest.flush()
            alone = try_exclusive()
            if alone:  # otherwise another process may be about to write its manifest; the last one cleans up
                _remove_arrays(folder, _arrays_in(folder))
            elif alone is None and old is not None:
                _remove_arrays(folder, [old])


def load(folder: str | os.PathLike[str], kind: str | None = None) -> Saved:
    """Open a saved object, its arrays memory-mapped and read-only. `kind` is the required kind, if given."""
    folder = Path(folder)
    for attempt in range(MAX_ATTEMPTS):
        manifest = read_manifest(folder, kind)
        path = folder / manifest["arrays"]["file"]
        try:
            arrays = _map_arrays(path, manifest["arrays"]["bytes"])
            break
        except StorageError as error:
            # another process may have replaced the object since the manifest was read; a damaged file stays damaged
            missing = isinstance(error.__cause__, FileNotFoundError)
            replaced = missing and (path.exists() or _current_arrays(folder) != path.name)
            if attempt == MAX_ATTEMPTS - 1 or not replaced:
                raise
    return Saved(folder, manifest["kind"], manifest["settings"], arrays, path.stem.removeprefix("arrays-"))


def exists(folder: str | os.PathLike[str]) -> bool:
    """Whether there is a saved object in this folder, be it damaged or not."""
    return os.path.isfile(Path(folder) / MANIFEST)  # False also where reading is not permitted


def clear_up(folder: str | os.PathLike[str]) -> None:
    """Delete what killed writers have left beside a saved object, unless a process is writing there now."""
    folder = Path(folder)
    with suppress(OSError), shared_lock(folder) as try_exclusive:
        if try_exclusive():
            remove_leftovers(folder)
            _remove_arrays(folder, _arrays_in(folder))


def delete(folder: str | os.PathLike[str]) -> None:
    """Delete a saved object, and its folder unless other files are in it."""
    folder = Path(folder)
    for name in [*_arrays_in(folder), MANIFEST]:
        (folder / name).unlink(missing_ok=True)
    remove_leftovers(folder)
    with suppress(OSError):
        folder.rmdir()  # fails if it is not empty


def read_manifest(folder: Path, kind: str | None = None) -> dict[str, Any]:
    """The checked content of `laplex.json`. `kind` is the required kind, if given."""
    path = folder / MANIFEST
    try:
        manifest = _read_json(path)
    except FileNotFoundError:
        problem = "is not a folder that laplex saved" if folder.is_dir() else "does not exist"
        raise StorageError(f'"{folder}" {problem} (no {MANIFEST} there)') from None
    except OSError as error:
        raise StorageError(f'cannot read "{path}": {error.strerror or error}') from error
    except (ValueError, RecursionError) as error:
        raise StorageError(f'"{path}" is damaged: it is not JSON ({error})') from None
    if not isinstance(manifest, dict) or manifest.get("format") != "laplex":
        raise StorageError(f'"{path}" was not written by laplex')
    version = manifest.get("version")
    if not isinstance(version, int) or version < 1:
        raise StorageError(f'"{path}" is damaged: its format version is {version!r}')
    if version > VERSION:
        raise StorageError(f'"{path}" has format {version}, this laplex reads up to {VERSION}: update laplex')
    typed = {"settings": dict, "kind": str, "arrays": dict}
    complete = all(isinstance(manifest.get(name), kind) for name, kind in typed.items())
    arrays = manifest["arrays"] if complete else {}
    if not isinstance(arrays.get("bytes"), int) or not _is_arrays_name(arrays.get("file")):
        raise StorageError(f'"{path}" is damaged: it does not say what it holds')
    if kind is not None and manifest["kind"] != kind:
        raise StorageError(f'"{folder}" holds {manifest["kind"]}, not {kind}')
    return manifest


def pack(words: Iterable[str]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Strings as two arrays: all bytes one after the other, and where each begins (with the end of the last)."""
    encoded = [word.encode("utf-8", "surrogatepass") for word in words]
    starts = np.zeros(len(encoded) + 1, np.int64)
    np.cumsum([len(word) for word in encoded], out=starts[1:])
    return np.frombuffer(b"".join(encoded), np.uint8), starts


def unpack(text: NDArray[np.uint8], starts: NDArray[np.int64]) -> list[str]:
    """The inverse of `pack`. Raises ValueError if the arrays do not fit together."""
    data = text.tobytes()
    edges = starts.tolist()
    if not edges or edges[0] != 0 or edges[-1] != len(data) or any(a > b for a, b in zip(edges, edges[1:])):
        raise ValueError("the starts of the strings do not fit their bytes")
    return [data[a:b].decode("utf-8", "surrogatepass") for a, b in zip(edges, edges[1:])]


def versions(*packages: str) -> dict[str, str]:
    """The versions of laplex, Python, and the packages whose arithmetic a saved object depends on."""
    packages = ("numpy", "numba", "scipy", "polars", *packages)
    return {"laplex": metadata.version("laplex"), "python": platform.python_version()} | {
        name: metadata.version(name) for name in packages
    }


def _write_arrays(file: BinaryIO, arrays: Mapping[str, NDArray[Any] | Stream]) -> tuple[str, int]:
    """Write arrays to a file; return the hash and the number of its bytes."""
    entries: dict[str, dict[str, Any]] = {}
    position = 0
    # the widest items first, so that every array starts at a multiple of its item size
    for name in sorted(arrays, key=lambda name: (-arrays[name].dtype.itemsize, name)):
        dtype, shape = arrays[name].dtype.newbyteorder("<"), arrays[name].shape
        end = position + prod(shape) * dtype.itemsize
        entries[name] = {"dtype": _DTYPE_NAMES[dtype], "shape": list(shape), "data_offsets": [position, end]}
        position = end
    header = _json_bytes(entries)
    header += b" " * (-len(header) % 8)
    header = len(header).to_bytes(8, "little") + header
    hashed = hashlib.blake2b(header, digest_size=16)
    file.write(header)
    for name, entry in entries.items():
        array = arrays[name]
        written = 0
        for piece in array.pieces if isinstance(array, Stream) else [array]:
            data = np.ascontiguousarray(piece, _DTYPES[entry["dtype"]]).reshape(-1).view(np.uint8).data
            hashed.update(data)
            file.write(data)
            written += len(data)
        start, end = entry["data_offsets"]
        if written != end - start:
            raise ValueError(f"array {name} has {written} bytes, but its shape needs {end - start}")
    return hashed.hexdigest(), len(header) + position


def _map_arrays(path: Path, size: int) -> dict[str, NDArray[Any]]:
    """The arrays of a file of `size` bytes, memory-mapped."""
    try:
        with _open(path) as (file, actual):
            if actual != size:
                raise StorageError(f'"{path}" is damaged: {actual:,} bytes, should be {size:,}')
            length = int.from_bytes(file.read(8), "little")
            if size < 8 or length > min(size - 8, MAX_JSON_BYTES):
                raise StorageError(f'"{path}" is damaged: its header is cut off')
            header = json.loads(file.read(length))
            header.pop("__metadata__", None)
            _check_places(header, size - 8 - length)
            data = np.memmap(file, np.uint8, "r", offset=0) if size > 8 + length else np.empty(0, np.uint8)
            return {name: _view(data, 8 + length, entry) for name, entry in header.items()}
    except OSError as error:
        raise StorageError(f'cannot read "{path}": {error.strerror or error}') from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise StorageError(f'"{path}" is damaged: its header is invalid ({error})') from None


def _check_places(header: dict[str, Any], size: int) -> None:
    """Raise ValueError unless the arrays fill the bytes after the header, each byte belonging to one array."""
    for entry in header.values():
        # checked for empty arrays, too, since other arrays are made from their shapes
        sizes = (*entry["shape"], *entry["data_offsets"])
        if len(sizes) > MAX_DIMENSIONS + 2 or not all(type(n) is int and 0 <= n <= max(size, 1 << 16) for n in sizes):
            raise ValueError("sizes that do not fit the file")
    places = sorted(entry["data_offsets"] for entry in header.values())
    edges = [0, *(edge for place in places for edge in place), size]
    if any(len(place) != 2 for place in places) or edges[::2] != edges[1::2]:
        raise ValueError("arrays with gaps or overlaps")


def _view(data: NDArray[np.uint8], base: int, entry: dict[str, Any]) -> NDArray[Any]:
    dtype, shape = _DTYPES[entry["dtype"]], entry["shape"]
    start, end = entry["data_offsets"]
    if prod(shape) * dtype.itemsize != end - start:
        raise ValueError("sizes that do not fit the file")
    array = np.ndarray(shape, dtype, data, base + start) if end > start else np.empty(shape, dtype)
    array.flags.writeable = False
    return array


@contextmanager
def _open(path: Path) -> Iterator[tuple[BinaryIO, int]]:
    """A regular file of a saved object and its size; links and pipes are refused."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    if path.is_symlink():
        raise StorageError(f'"{path}" is a link to elsewhere, which laplex does not follow: put the file itself there')
    with open(os.open(path, flags), "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise StorageError(f'"{path}" is not a file')
        yield file, status.st_size


def _read_json(path: Path) -> Any:
    with _open(path) as (file, size):
        if size > MAX_JSON_BYTES:
            raise StorageError(f'"{path}" is damaged: {size:,} bytes are more than laplex writes there')
        return json.loads(file.read(MAX_JSON_BYTES))


def _json_bytes(value: Any, indent: int | None = None) -> bytes:
    """A value as JSON, unless it is longer than what can be read back."""
    text = json.dumps(value, indent=indent, ensure_ascii=False).encode()
    if len(text) > MAX_JSON_BYTES - 8:
        raise StorageError(f"{len(text):,} bytes of settings are more than can be saved ({MAX_JSON_BYTES:,})")
    return text


def _check_may_write(folder: Path) -> None:
    """Raise StorageError if the folder holds anything but a saved object and what killed writers left."""
    if folder.is_dir() and not exists(folder):
        names = [entry.name for entry in folder.iterdir()]
        others = [name for name in names if not PART_NAME.fullmatch(name) and not _is_arrays_name(name)]
        if others:
            raise StorageError(f'"{folder}" holds other things ("{others[0]}"): choose a new or an empty folder')
    elif folder.exists() and not folder.is_dir():
        raise StorageError(f'"{folder}" is a file, not a folder: choose another name')


def _is_arrays_name(name: Any) -> bool:
    return isinstance(name, str) and _ARRAYS_NAME.fullmatch(name) is not None


def _current_arrays(folder: Path) -> str | None:
    """The name of the file with the arrays of the object in this folder, None if no readable manifest names one."""
    try:
        name = _read_json(folder / MANIFEST)["arrays"]["file"]
    except (OSError, StorageError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return name if _is_arrays_name(name) else None


def _arrays_in(folder: Path) -> list[str]:
    return [entry.name for entry in folder.iterdir() if _is_arrays_name(entry.name)]


def _remove_arrays(folder: Path, names: Iterable[str]) -> None:
    """Delete the files among `names` that the manifest does not name. Without a manifest none is deleted."""
    current = _current_arrays(folder)
    for name in names:
        if current is not None and name != current:
            with suppress(OSError):
                (folder / name).unlink()
