"""`laplex.json`: what a saved object is, its format version, its settings, and which file holds its arrays."""

from __future__ import annotations

import json
import platform
import re
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

from laplex.errors import StorageError
from laplex.storage.limits import LONGEST_JSON, json_bytes, opened

VERSION = 1
MANIFEST = "laplex.json"
ARRAYS_NAME = re.compile(r"arrays-[0-9a-f]{32}\.safetensors")


def arrays_name(digest: str) -> str:
    """The file that holds the arrays whose bytes have this hash."""
    return f"arrays-{digest}.safetensors"


def manifest_bytes(kind: str, settings: Mapping[str, Any], digest: str, size: int) -> bytes:
    """What `laplex.json` says of an object whose arrays have this hash and so many bytes."""
    manifest = {
        "format": "laplex",
        "version": VERSION,
        "kind": kind,
        "arrays": {"file": arrays_name(digest), "bytes": size},
        "settings": dict(settings),
    }
    return json_bytes(manifest, indent=1)


def read_manifest(folder: Path, kind: str | None) -> dict[str, Any]:
    """What `laplex.json` says, with all that `load` needs; `kind` is what the object must be, if given."""
    path = folder / MANIFEST
    try:
        manifest = _parsed(path)
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
    if not _is_whole(manifest):
        raise StorageError(f'"{path}" is damaged: it does not say what it holds')
    if kind is not None and manifest["kind"] != kind:
        raise StorageError(f'"{folder}" holds {manifest["kind"]}, not {kind}')
    return manifest


def arrays_named_in(folder: Path) -> str | None:
    """The file that holds the arrays of the object in this folder, None if nothing readable says so."""
    try:
        name = _parsed(folder / MANIFEST)["arrays"]["file"]
    except (OSError, StorageError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return name if isinstance(name, str) and ARRAYS_NAME.fullmatch(name) else None


def _parsed(path: Path) -> Any:
    with opened(path) as (file, size):
        if size > LONGEST_JSON:
            raise StorageError(f'"{path}" is damaged: {size:,} bytes are more than laplex writes there')
        return json.loads(file.read(LONGEST_JSON))


def _is_whole(manifest: dict[str, Any]) -> bool:
    arrays = manifest.get("arrays")
    return (
        isinstance(arrays, dict)
        and isinstance(arrays.get("file"), str)
        and ARRAYS_NAME.fullmatch(arrays["file"]) is not None
        and isinstance(arrays.get("bytes"), int)
        and isinstance(manifest.get("settings"), dict)
        and isinstance(manifest.get("kind"), str)
    )


def as_json(value: Any) -> Any:
    """A value as it comes back from being saved (tuples as lists, for one)."""
    return json.loads(json.dumps(value))


def versions(*more: str) -> dict[str, str]:
    """What is running: laplex, Python, and the packages whose arithmetic a saved object depends on."""
    packages = ("numpy", "numba", "scipy", "polars", *more)
    return {"laplex": metadata.version("laplex"), "python": platform.python_version()} | {
        name: metadata.version(name) for name in packages
    }
