"""A disk that is full or may not be written: each write says so in one sentence, and what was there before stays."""

from __future__ import annotations

import hashlib
import os
import re
import resource
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import small

import laplex as lx
from laplex.embeddings import Embeddings
from laplex.lexicons.wordpairs import WordPairs
from laplex.text.vocabulary import Vocabulary

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="of disks that can be limited")

ROOMS = [0, *(4096 * 4**step for step in range(6))]  # bytes that are left on the disk
MODEL = lx.Model(["party"], lx.Ridge(1.0) + lx.Groups("party", 10.0), dimensions=8, window=2)
CHOICES = {"epochs": 2, "threads": 1, "quiet": True}
NAMES = [f"word{number}" for number in range(2000)]


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    """Models of half a megabyte, an old and a new one, and tokens; kernels are compiled."""
    random = np.random.default_rng(1)
    counts = np.arange(len(NAMES), 0, -1)
    models = [Embeddings.of([Vocabulary(NAMES, counts)], [random.random((len(NAMES), 60))]) for _ in range(2)]
    corpus = small.corpus(small.documents(count=400))
    tokens = lx.Tokens.of(corpus, min_count=1, cache=tmp_path_factory.mktemp("cache"), quiet=True)
    lx.fit(MODEL, tokens, **CHOICES)
    return models, corpus, tokens


def export(ending):
    def write(folder, inputs, turn):
        inputs[0][turn].export(folder / f"vectors{ending}")

    return write


def save(folder, inputs, turn):
    inputs[0][turn].save(folder / "model")


def save_pairs(folder, inputs, turn):
    weight = np.full(len(NAMES) - 1, 1.0 + turn)
    WordPairs("pairs", NAMES[:-1], NAMES[1:], weight).save(folder / "pairs.tsv")


def read_text(folder, inputs, turn):
    lx.Tokens.of(inputs[1], min_count=1 + turn, cache=folder, quiet=True)


def keep_checkpoints(folder, inputs, turn):
    lx.fit(MODEL, inputs[2], checkpoint=folder / f"state-{turn}", checkpoint_minutes=1e-9, **CHOICES)


def tune(folder, inputs, turn):
    grid = {"party": [1.0, 10.0]}
    lx.tune(MODEL, inputs[2], grid, holdout=0.2, checkpoint=folder / f"tuning-{turn}", **CHOICES | {"epochs": 1})


WRITES = {
    "model": save,
    "pairs": save_pairs,
    "tokens": read_text,
    "checkpoint": keep_checkpoints,
    "tuning": tune,
    **{ending: export(ending) for ending in (".vec", ".vec.gz", ".bin", ".npz", ".parquet", ".csv")},
}


def content(folder):
    """The hash of every file."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != "filler")
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


class Disk:
    """A disk of eight megabytes if one can be had, else a limit for files. `leave` says how much may be written."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        mount = ["mount", "-t", "tmpfs", "-o", "size=8m", "none", str(folder)]
        self.mounted = os.geteuid() == 0 and subprocess.run(mount, capture_output=True).returncode == 0

    @contextmanager
    def leave(self, room: int):
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        if self.mounted:
            state = os.statvfs(self.folder)
            free = state.f_bavail * state.f_frsize
            (self.folder / "filler").write_bytes(bytes(max(0, free - room)))
        else:
            resource.setrlimit(resource.RLIMIT_FSIZE, (room, limits[1]))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
            (self.folder / "filler").unlink(missing_ok=True)

    def close(self) -> None:
        if self.mounted:
            subprocess.run(["umount", "--lazy", str(self.folder)], check=True)


@pytest.fixture
def disk(tmp_path):
    disk = Disk(tmp_path / "small")
    yield disk
    disk.close()


@pytest.mark.parametrize("name", WRITES)
def test_a_disk_that_is_full_at_some_point_of_a_write(name, disk, inputs):
    WRITES[name](disk.folder, inputs, 0)
    old = content(disk.folder)
    messages = []
    for room in ROOMS:
        with disk.leave(room):
            try:
                WRITES[name](disk.folder, inputs, 1)
                break
            except lx.StorageError as error:
                messages.append(str(error))
        kept = content(disk.folder)
        assert old.items() <= kept.items()
        assert not [path for path in kept if Path(path).name.startswith(".")]
    assert messages
    for message in messages:
        assert re.search("cannot write .*(No space left|File too large)", message)
    assert content(disk.folder) != old, "it was never written"


@pytest.fixture
def locked():
    """A folder that may be read, with what is in it, but not written."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        yield Path(folder)
        os.chmod(folder, 0o755)


@pytest.mark.parametrize("name", WRITES)
def test_a_folder_that_may_not_be_written(name, locked, inputs, as_nobody):
    WRITES[name](locked, inputs, 0)
    old = content(locked)
    for path in [locked, *locked.rglob("*")]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    with as_nobody(), pytest.raises(lx.StorageError, match=r"cannot write .*Permission denied"):
        WRITES[name](locked, inputs, 1)
    assert content(locked) == old
    for path in [locked, *locked.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)


def test_no_room_for_temporary_files_is_no_reason_to_stop_a_fit(inputs, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", "/nowhere")
    assert len(lx.fit(MODEL, inputs[2], **CHOICES).history) == 2


def test_a_full_temporary_disk_is_no_reason_to_stop_a_fit(inputs, disk, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(disk.folder))
    with disk.leave(0):
        assert len(lx.fit(MODEL, inputs[2], **CHOICES).history) == 2


def test_a_tuning_without_room_for_what_it_keeps_for_the_time_being(inputs, disk, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(disk.folder))
    with disk.leave(0), pytest.raises(lx.StorageError, match=r"cannot write .*(No space left|File too large)"):
        lx.tune(MODEL, inputs[2], {"party": [1.0, 10.0]}, holdout=0.2, **CHOICES | {"epochs": 1})
    assert list(disk.folder.iterdir()) == []
