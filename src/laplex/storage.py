"""A saved object on disk: arrays as safetensors, the rest as JSON, in one folder.

    NAME/
      laplex.json                   what it is, its format version, its settings, which arrays file belongs to it
      arrays-<digest>.safetensors   every array, named by the hash of its bytes

`laplex.json` is the commit point. The arrays are written beside the old ones under their own name, then
`laplex.json` is replaced in one step, then the old arrays go. A kill at any moment leaves the old object or
the new one, never half of either, and two processes that write the same object do not disturb each other.

Arrays load memory-mapped and read-only. The safetensors layout is written and read here rather than by its
library because that one holds whole arrays in memory, on both ways; the tests read our files with it.
Nothing is ever unpickled. A folder from a stranger can make us read no file outside it, and allocate no more than its
files hold: sizes are compared with theirs, arrays may not overlap, and what is JSON may not be long.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import platform
import re
import secrets
import shutil
import socket
import stat
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.metadata import version
from math import prod
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from laplex.errors import StorageError

try:
    import fcntl
except ModuleNotFoundError:  # Windows has none
    fcntl = None  # type: ignore[assignment]

VERSION = 1
MANIFEST = "laplex.json"
_ARRAYS_NAME = re.compile(r"arrays-[0-9a-f]{32}\.safetensors")
_PART_NAME = re.compile(r"\.(part|laplex)-(?P<host>.+)-(?P<pid>\d+)-[0-9a-f]{8}")
_LONGEST_JSON = 1 << 24  # bytes; in memory it can take up twenty times as much
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


@dataclass(frozen=True)
class Saved:
    """What `load` gives back. `digest` is the hash of all array bytes, and so of the data."""

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
    with _writing(folder):
        _check_is_ours_to_write(folder)
        folder.mkdir(parents=True, exist_ok=True)
        old = _arrays_named_by(folder / MANIFEST)
        with _shared(folder) as is_alone:
            # both are written whole before either appears, first the arrays
            with _appearing(folder, lambda: MANIFEST) as said, _appearing(folder, lambda: _arrays_name(digest)) as file:
                digest, size = _write_arrays(file, arrays)
                manifest = {
                    "format": "laplex",
                    "version": VERSION,
                    "kind": kind,
                    "arrays": {"file": _arrays_name(digest), "bytes": size},
                    "settings": dict(settings),
                }
                said.write(_as_bytes(manifest, indent=1))
                said.flush()
            alone = is_alone()
            if alone:  # otherwise some may be about to get their manifest; the last one to write clears up
                _remove_arrays(folder, _arrays_in(folder))
            elif alone is None and old is not None:
                _remove_arrays(folder, [old])


def clear_up(folder: str | os.PathLike[str]) -> None:
    """Delete what writers that were killed have left beside a saved object, unless somebody writes there now."""
    folder = Path(folder)
    with suppress(OSError), _shared(folder) as is_alone:
        if is_alone():
            _remove_leftovers(folder)
            _remove_arrays(folder, _arrays_in(folder))


def load(folder: str | os.PathLike[str], kind: str | None = None) -> Saved:
    """Open a saved object, its arrays memory-mapped. `kind` is what it must be, if given."""
    folder = Path(folder)
    for attempt in range(10):
        manifest = _read_manifest(folder, kind)
        path = folder / manifest["arrays"]["file"]
        try:
            arrays = _map_arrays(path, manifest["arrays"]["bytes"])
            break
        except StorageError as error:  # perhaps another process replaced the object in between: read its new manifest
            gone = isinstance(error.__cause__, FileNotFoundError)  # and not damaged, which reading again does not mend
            replaced = gone and (path.exists() or _arrays_named_by(folder / MANIFEST) != path.name)
            if attempt == 9 or not replaced:
                raise
    digest = path.stem.removeprefix("arrays-")
    return Saved(folder, manifest["kind"], manifest["settings"], arrays, digest)


def exists(folder: str | os.PathLike[str]) -> bool:
    """Is there a saved object in this folder? (It may still be broken: `load` says.)"""
    return os.path.isfile(Path(folder) / MANIFEST)  # False also where we may not look


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


def versions(*more: str) -> dict[str, str]:
    """What is running: laplex, Python, and the packages whose arithmetic a saved object depends on."""
    packages = ("numpy", "numba", "scipy", "polars", *more)
    return {"laplex": version("laplex"), "python": platform.python_version()} | {
        name: version(name) for name in packages
    }


def as_json(value: Any) -> Any:
    """A value as it comes back from being saved (tuples as lists, for one)."""
    return json.loads(json.dumps(value))


def _arrays_name(digest: str) -> str:
    return f"arrays-{digest}.safetensors"


# Writing


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    there = True
    try:
        there = folder.exists()
        yield
    except OSError as error:
        raise StorageError(f'cannot write "{folder}": {error.strerror or error}; nothing was changed there') from error
    finally:
        if not there:
            with suppress(OSError):  # it goes only if it is empty
                folder.rmdir()


def _check_is_ours_to_write(folder: Path) -> None:
    if folder.is_dir() and not exists(folder):
        others = [entry.name for entry in folder.iterdir() if not _PART_NAME.fullmatch(entry.name)]
        others = [name for name in others if not _ARRAYS_NAME.fullmatch(name)]  # left by a kill before its manifest
        if others:
            raise StorageError(f'"{folder}" holds other things ("{others[0]}"): choose a new or an empty folder')
    elif folder.exists() and not folder.is_dir():
        raise StorageError(f'"{folder}" is a file, not a folder: choose another name')


@contextmanager
def _shared(folder: Path) -> Iterator[Callable[[], bool | None]]:
    """Other processes may write there too; the function tells whether none does, and keeps them out until the end.

    It says None if that cannot be known: Windows has no such locks, nor have some disks of other machines. The system
    lets go of a lock when its process is gone, however that ended.
    """
    if fcntl is None:
        yield lambda: None
        return
    handle = os.open(folder, os.O_RDONLY)

    def is_alone() -> bool | None:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:
            return None
        return True

    try:
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_SH)
        yield is_alone
    finally:
        os.close(handle)


def _arrays_in(folder: Path) -> list[str]:
    return [entry.name for entry in folder.iterdir() if _ARRAYS_NAME.fullmatch(entry.name)]


def _remove_arrays(folder: Path, names: Iterable[str]) -> None:
    """Delete those of these arrays that the manifest does not name: of the old object, and of writers killed."""
    now = _arrays_named_by(folder / MANIFEST)
    for name in names:
        if now is not None and name != now:  # without a manifest nobody knows whose they are
            with suppress(OSError):
                (folder / name).unlink()


def _remove_leftovers(folder: Path) -> None:
    """Delete what processes of this machine that are gone have left unfinished."""
    entries: list[Path] = []
    with suppress(OSError):  # it may be that files can be written there, but not listed
        entries = list(folder.iterdir())
    for entry in entries:
        part = _PART_NAME.fullmatch(entry.name)
        if part and part["host"] == socket.gethostname() and not _is_alive(int(part["pid"])):
            with suppress(OSError):
                shutil.rmtree(entry) if entry.is_dir() else entry.unlink()


def _is_alive(pid: int) -> bool:
    if os.name != "posix":
        return True  # elsewhere signal 0 is not a question
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _part_name(what: str = "part") -> str:
    return f".{what}-{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}"


@contextmanager
def scratch() -> Iterator[Path]:
    """A folder for the time being. If the process is killed, the next one that wants such a folder deletes it."""
    place = Path(tempfile.gettempdir())
    with _writing(place):
        _remove_leftovers(place)
        folder = place / _part_name("laplex")
        folder.mkdir(mode=0o700)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _appearing(folder: Path, name: Callable[[], str]) -> Iterator[BinaryIO]:
    """A file that appears in `folder` whole and on disk, or not at all; its name is asked for at the end."""
    _remove_leftovers(folder)
    part = folder / _part_name()
    try:
        with open(part, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, folder / name())
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A file that appears at `path` whole or not at all, compressed if its name ends in .gz."""
    path = Path(path)
    if path.is_dir():
        raise StorageError(f'"{path}" is a folder: give the name of a file')
    try:
        with _appearing(path.parent, lambda: path.name) as file:
            if path.suffix.lower() == ".gz":
                with gzip.GzipFile("", "wb", 6, file, 0) as compressed:
                    yield compressed  # type: ignore[misc]
            else:
                yield file
    except OSError as error:
        raise StorageError(f'cannot write "{path}": {error.strerror or error}; nothing was changed there') from error


def _write_arrays(file: BinaryIO, arrays: Mapping[str, NDArray[Any] | Stream]) -> tuple[str, int]:
    """Write them all; the hash and the number of the bytes."""
    streams = {name: _as_stream(array) for name, array in arrays.items()}
    header: dict[str, Any] = {}
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
    text = _as_bytes(header)
    text += b" " * (-len(text) % 8)
    digest = hashlib.blake2b(digest_size=16)
    head = len(text).to_bytes(8, "little") + text
    digest.update(head)
    file.write(head)
    for name in header:
        written = 0
        for piece in streams[name].pieces:
            data = np.ascontiguousarray(piece, streams[name].dtype).reshape(-1).view(np.uint8).data
            digest.update(data)
            file.write(data)
            written += len(data)
        promised = header[name]["data_offsets"]
        if written != promised[1] - promised[0]:
            raise ValueError(f"array {name}: {written} bytes given, {promised[1] - promised[0]} promised")
    return digest.hexdigest(), len(head) + position


def _as_bytes(value: Any, indent: int | None = None) -> bytes:
    text = json.dumps(value, indent=indent, ensure_ascii=False).encode()
    if len(text) > _LONGEST_JSON - 8:
        raise StorageError(f"{len(text):,} bytes of settings are more than can be saved ({_LONGEST_JSON:,})")
    return text


def _as_stream(array: NDArray[Any] | Stream) -> Stream:
    if isinstance(array, Stream):
        return Stream(np.dtype(array.dtype).newbyteorder("<"), array.shape, array.pieces)
    dtype = array.dtype.newbyteorder("<")
    return Stream(dtype, array.shape, [array] if array.size else [])


# Reading


@contextmanager
def _opened(path: Path) -> Iterator[tuple[BinaryIO, int]]:
    """A file of a saved object, and its size. It is a file that lies in the folder itself, and no link or pipe."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    if path.is_symlink():
        raise StorageError(f'"{path}" is a link to elsewhere, which laplex does not follow: put the file itself there')
    with open(os.open(path, flags), "rb") as file:
        state = os.fstat(file.fileno())
        if not stat.S_ISREG(state.st_mode):
            raise StorageError(f'"{path}" is not a file')
        yield file, state.st_size


def _manifest_in(path: Path) -> Any:
    with _opened(path) as (file, size):
        if size > _LONGEST_JSON:
            raise StorageError(f'"{path}" is damaged: {size:,} bytes are more than laplex writes there')
        return json.loads(file.read(_LONGEST_JSON))


def _arrays_named_by(manifest: Path) -> str | None:
    try:
        name = _manifest_in(manifest)["arrays"]["file"]
    except (OSError, StorageError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return name if isinstance(name, str) and _ARRAYS_NAME.fullmatch(name) else None


def _read_manifest(folder: Path, kind: str | None) -> dict[str, Any]:
    path = folder / MANIFEST
    try:
        manifest = _manifest_in(path)
    except FileNotFoundError:
        what = "is not a folder that laplex saved" if folder.is_dir() else "does not exist"
        raise StorageError(f'"{folder}" {what} (no {MANIFEST} there)') from None
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
    arrays = manifest.get("arrays")
    if not (
        isinstance(arrays, dict)
        and isinstance(arrays.get("file"), str)
        and _ARRAYS_NAME.fullmatch(arrays["file"])
        and isinstance(arrays.get("bytes"), int)
        and isinstance(manifest.get("settings"), dict)
        and isinstance(manifest.get("kind"), str)
    ):
        raise StorageError(f'"{path}" is damaged: it does not say what it holds')
    if kind is not None and manifest["kind"] != kind:
        raise StorageError(f'"{folder}" holds {manifest["kind"]}, not {kind}')
    return manifest


def _map_arrays(path: Path, size: int) -> dict[str, NDArray[Any]]:
    try:
        with _opened(path) as (file, actual):
            if actual != size:
                raise StorageError(f'"{path}" is damaged: {actual:,} bytes, should be {size:,}')
            length = int.from_bytes(file.read(8), "little")
            if size < 8 or length > min(size - 8, _LONGEST_JSON):
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
