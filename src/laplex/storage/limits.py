"""What a folder from a stranger cannot make us do: read outside it, wait for a pipe, or read JSON without end."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from laplex.errors import StorageError

LONGEST_JSON = 1 << 24  # bytes; in memory it can take up twenty times as much


@contextmanager
def opened(path: Path) -> Iterator[tuple[BinaryIO, int]]:
    """A file of a saved object, and its size. It is a file that lies in the folder itself, and no link or pipe."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    if path.is_symlink():
        raise StorageError(f'"{path}" is a link to elsewhere, which laplex does not follow: put the file itself there')
    with open(os.open(path, flags), "rb") as file:
        state = os.fstat(file.fileno())
        if not stat.S_ISREG(state.st_mode):
            raise StorageError(f'"{path}" is not a file')
        yield file, state.st_size


def json_bytes(value: Any, indent: int | None = None) -> bytes:
    """A value as JSON, if it is not longer than what is read back."""
    text = json.dumps(value, indent=indent, ensure_ascii=False).encode()
    if len(text) > LONGEST_JSON - 8:
        raise StorageError(f"{len(text):,} bytes of settings are more than can be saved ({LONGEST_JSON:,})")
    return text
