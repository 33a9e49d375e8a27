"""Files that appear complete or not at all, even if the process that writes them is killed.

An unfinished file or folder is named after its process (`.part-HOST-PID-RANDOM`, `.laplex-HOST-PID-RANDOM`) and gets
its final name in one step. What a killed process left is deleted by the next one that writes in the same folder.
"""

from __future__ import annotations

import gzip
import os
import re
import secrets
import shutil
import socket
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from laplex.errors import StorageError

try:
    import fcntl
except ModuleNotFoundError:  # on Windows
    fcntl = None  # type: ignore[assignment]

PART_NAME = re.compile(r"\.(part|laplex)-(?P<host>.+)-(?P<pid>\d+)-[0-9a-f]{8}")


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file that replaces `path` once it is complete, compressed if its name ends in .gz."""
    path = Path(path)
    if path.is_dir():
        raise StorageError(f'"{path}" is a folder: give the name of a file')
    with write_errors(path), atomic_file(path.parent, lambda: path.name) as file:
        if path.suffix.lower() == ".gz":
            with gzip.GzipFile("", "wb", 6, file, 0) as compressed:
                yield compressed  # type: ignore[misc]
        else:
            yield file


@contextmanager
def scratch() -> Iterator[Path]:
    """A temporary folder. If the process is killed, the next one that asks for such a folder deletes it."""
    parent = Path(tempfile.gettempdir())
    with write_errors(parent):
        remove_leftovers(parent)
        folder = parent / _part_name("laplex")
        folder.mkdir(mode=0o700)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def atomic_file(folder: Path, name: Callable[[], str]) -> Iterator[BinaryIO]:
    """Open a file that appears in `folder` once it is complete and on disk; `name` is called at the end."""
    remove_leftovers(folder)
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
def write_errors(path: Path) -> Iterator[None]:
    """Turn an OSError into a StorageError; remove `path` again if it is a folder that is new and still empty."""
    existed = True
    try:
        existed = path.exists()
        yield
    except OSError as error:
        raise StorageError(f'cannot write "{path}": {error.strerror or error}; nothing was changed there') from error
    finally:
        if not existed:
            with suppress(OSError):
                path.rmdir()  # fails for a file, and for a folder that is not empty


@contextmanager
def shared_lock(folder: Path) -> Iterator[Callable[[], bool | None]]:
    """Lock a folder together with other writers; the function tries to make the lock exclusive until the end.

    It returns False if others hold the lock too, and None if that cannot be known: Windows and some network disks have
    no such locks. The system releases the locks of a process that is killed.
    """
    if fcntl is None:
        yield lambda: None
        return
    handle = os.open(folder, os.O_RDONLY)

    def try_exclusive() -> bool | None:
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
        yield try_exclusive
    finally:
        os.close(handle)


def remove_leftovers(folder: Path) -> None:
    """Delete the unfinished files and folders of processes of this machine that no longer run."""
    entries: list[Path] = []
    with suppress(OSError):  # a folder may be writable but not listable
        entries = list(folder.iterdir())
    for entry in entries:
        part = PART_NAME.fullmatch(entry.name)
        if part and part["host"] == socket.gethostname() and not _is_alive(int(part["pid"])):
            with suppress(OSError):
                shutil.rmtree(entry) if entry.is_dir() else entry.unlink()


def _is_alive(pid: int) -> bool:
    if os.name != "posix":
        return True  # on other systems, signal 0 would end the process
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        pass  # it belongs to another user, or the name was not made by laplex
    return True


def _part_name(prefix: str = "part") -> str:
    return f".{prefix}-{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}"
