"""Files that appear whole or not at all, whatever becomes of the process that writes them, and of others beside it.

What is being written has a name that says whose it is: `.part-HOST-PID-RANDOM`, a scratch folder `.laplex-…`. It gets
its own name in one step at the end. What a process left that was killed is deleted by the next one that writes there.
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
except ModuleNotFoundError:  # Windows has none
    fcntl = None  # type: ignore[assignment]

PART_NAME = re.compile(r"\.(part|laplex)-(?P<host>.+)-(?P<pid>\d+)-[0-9a-f]{8}")


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A file that appears at `path` whole or not at all, compressed if its name ends in .gz."""
    path = Path(path)
    if path.is_dir():
        raise StorageError(f'"{path}" is a folder: give the name of a file')
    try:
        with appearing(path.parent, lambda: path.name) as file:
            if path.suffix.lower() == ".gz":
                with gzip.GzipFile("", "wb", 6, file, 0) as compressed:
                    yield compressed  # type: ignore[misc]
            else:
                yield file
    except OSError as error:
        raise StorageError(f'cannot write "{path}": {error.strerror or error}; nothing was changed there') from error


@contextmanager
def scratch() -> Iterator[Path]:
    """A folder for the time being. If the process is killed, the next one that wants such a folder deletes it."""
    place = Path(tempfile.gettempdir())
    with writing(place):
        remove_leftovers(place)
        folder = place / _part_name("laplex")
        folder.mkdir(mode=0o700)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def appearing(folder: Path, name: Callable[[], str]) -> Iterator[BinaryIO]:
    """A file that appears in `folder` whole and on disk, or not at all; its name is asked for at the end."""
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
def writing(folder: Path) -> Iterator[None]:
    """Say of what cannot be written that it cannot, and take away the folder if it was not there before."""
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


@contextmanager
def shared(folder: Path) -> Iterator[Callable[[], bool | None]]:
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


def remove_leftovers(folder: Path) -> None:
    """Delete what processes of this machine that are gone have left unfinished."""
    entries: list[Path] = []
    with suppress(OSError):  # it may be that files can be written there, but not listed
        entries = list(folder.iterdir())
    for entry in entries:
        part = PART_NAME.fullmatch(entry.name)
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
    except (OSError, OverflowError):
        pass  # it lives and is not ours to signal, or the name is none that we gave
    return True


def _part_name(what: str = "part") -> str:
    return f".{what}-{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}"
