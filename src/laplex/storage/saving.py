"""Save, load, clear up: an object in its folder.

The arrays are written beside the old ones under their own name, then `laplex.json` is replaced in one step, then the
old arrays go. A kill at any moment leaves the old object or the new one, never half of either, and two processes that
write the same object do not disturb each other.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from laplex.errors import StorageError
from laplex.storage.arrays import Stream, map_arrays, write_arrays
from laplex.storage.atomic import PART_NAME, appearing, remove_leftovers, shared, writing
from laplex.storage.manifest import ARRAYS_NAME, MANIFEST, arrays_name, arrays_named_in, manifest_bytes, read_manifest


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
    with writing(folder):
        _check_is_ours_to_write(folder)
        folder.mkdir(parents=True, exist_ok=True)
        old = arrays_named_in(folder)
        with shared(folder) as is_alone:
            # both are written whole before either appears, first the arrays
            with appearing(folder, lambda: MANIFEST) as said, appearing(folder, lambda: arrays_name(digest)) as file:
                digest, size = write_arrays(file, arrays)
                said.write(manifest_bytes(kind, settings, digest, size))
                said.flush()
            alone = is_alone()
            if alone:  # otherwise some may be about to get their manifest; the last one to write clears up
                _remove_arrays(folder, _arrays_in(folder))
            elif alone is None and old is not None:
                _remove_arrays(folder, [old])


def load(folder: str | os.PathLike[str], kind: str | None = None) -> Saved:
    """Open a saved object, its arrays memory-mapped. `kind` is what it must be, if given."""
    folder = Path(folder)
    for attempt in range(10):
        manifest = read_manifest(folder, kind)
        path = folder / manifest["arrays"]["file"]
        try:
            arrays = map_arrays(path, manifest["arrays"]["bytes"])
            break
        except StorageError as error:  # perhaps another process replaced the object in between: read its new manifest
            gone = isinstance(error.__cause__, FileNotFoundError)  # and not damaged, which reading again does not mend
            replaced = gone and (path.exists() or arrays_named_in(folder) != path.name)
            if attempt == 9 or not replaced:
                raise
    digest = path.stem.removeprefix("arrays-")
    return Saved(folder, manifest["kind"], manifest["settings"], arrays, digest)


def clear_up(folder: str | os.PathLike[str]) -> None:
    """Delete what writers that were killed have left beside a saved object, unless somebody writes there now."""
    folder = Path(folder)
    with suppress(OSError), shared(folder) as is_alone:
        if is_alone():
            remove_leftovers(folder)
            _remove_arrays(folder, _arrays_in(folder))


def exists(folder: str | os.PathLike[str]) -> bool:
    """Is there a saved object in this folder? (It may still be broken: `load` says.)"""
    return os.path.isfile(Path(folder) / MANIFEST)  # False also where we may not look


def _check_is_ours_to_write(folder: Path) -> None:
    if folder.is_dir() and not exists(folder):
        others = [entry.name for entry in folder.iterdir() if not PART_NAME.fullmatch(entry.name)]
        others = [name for name in others if not ARRAYS_NAME.fullmatch(name)]  # left by a kill before its manifest
        if others:
            raise StorageError(f'"{folder}" holds other things ("{others[0]}"): choose a new or an empty folder')
    elif folder.exists() and not folder.is_dir():
        raise StorageError(f'"{folder}" is a file, not a folder: choose another name')


def _arrays_in(folder: Path) -> list[str]:
    return [entry.name for entry in folder.iterdir() if ARRAYS_NAME.fullmatch(entry.name)]


def _remove_arrays(folder: Path, names: Iterable[str]) -> None:
    """Delete those of these arrays that the manifest does not name: of the old object, and of writers killed."""
    now = arrays_named_in(folder)
    for name in names:
        if now is not None and name != now:  # without a manifest nobody knows whose they are
            with suppress(OSError):
                (folder / name).unlink()
