"""What is saved comes back, whatever happens in between; what is broken says so."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import load_file

from laplex import StorageError, Tokens, read
from laplex.fitting.race import Results
from laplex.runtime import storage
from laplex.runtime.atomic import shared_lock
from laplex.runtime.checkpoint import Checkpoint, Position

DTYPES = ["bool", "u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f2", "f4", "f8"]


@pytest.fixture
def folder(tmp_path):
    """A saved object."""
    storage.save(tmp_path / "saved", "thing", {"size": 3}, {"a": np.arange(3), "b": np.ones((2, 2), np.float32)})
    return tmp_path / "saved"


def arrays_of(folder):
    return next(folder.glob("arrays-*.safetensors"))


def change_manifest(folder, **changes):
    path = folder / storage.MANIFEST
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def change_header(folder, change, length=None):
    """Rewrite the header of the arrays file so that all sizes but those in `change` are right."""
    path = arrays_of(folder)
    data = path.read_bytes()
    end = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:end])
    change(header)
    text = json.dumps(header).encode()
    data = (len(text) if length is None else length).to_bytes(8, "little") + text + data[end:]
    path.write_bytes(data)
    change_manifest(folder, arrays={"file": path.name, "bytes": len(data)})


# What is saved comes back


@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize("dtype", DTYPES)
def test_arrays_of_every_type_come_back(dtype, order, tmp_path):
    array = np.array([[0, 1, 2], [3, 100, 5]]).astype(np.dtype(dtype).newbyteorder(order))
    storage.save(tmp_path / "s", "thing", {}, {"a": array})
    loaded = storage.load(tmp_path / "s").arrays["a"]
    assert loaded.dtype == np.dtype(dtype)
    np.testing.assert_array_equal(loaded, array)


@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 5, 2), ()])
def test_arrays_without_values_or_dimensions_come_back(shape, tmp_path):
    storage.save(tmp_path / "s", "thing", {}, {"a": np.zeros(shape, np.int16), "b": np.arange(2)})
    loaded = storage.load(tmp_path / "s").arrays["a"]
    assert loaded.shape == shape
    assert not loaded.flags.writeable


def test_no_arrays_at_all_come_back(tmp_path):
    storage.save(tmp_path / "s", "thing", {"only": "settings"}, {})
    saved = storage.load(tmp_path / "s")
    assert (saved.settings, saved.arrays) == ({"only": "settings"}, {})


def test_arrays_that_are_not_in_order_in_memory_come_back(tmp_path):
    array = np.arange(12).reshape(3, 4).T[::2]
    storage.save(tmp_path / "s", "thing", {}, {"a": array})
    np.testing.assert_array_equal(storage.load(tmp_path / "s").arrays["a"], array)


def test_a_stream_comes_back_as_one_array(tmp_path):
    pieces = (np.arange(i * 10, i * 10 + 10) for i in range(3))
    storage.save(tmp_path / "s", "thing", {}, {"a": storage.Stream(np.dtype("i4"), (30,), pieces)})
    np.testing.assert_array_equal(storage.load(tmp_path / "s").arrays["a"], np.arange(30, dtype="i4"))


def test_a_stream_that_gives_less_than_it_promised_is_not_saved(tmp_path):
    with pytest.raises(ValueError, match="array a has 8 bytes, but its shape needs 16"):
        storage.save(tmp_path / "s", "thing", {}, {"a": storage.Stream(np.dtype("i8"), (2,), [np.arange(1)])})
    assert not (tmp_path / "s").exists()


def test_settings_and_kind_come_back(folder):
    saved = storage.load(folder, "thing")
    assert (saved.kind, saved.settings, saved.folder) == ("thing", {"size": 3}, folder)


def test_arrays_are_mapped_and_read_only(folder):
    array = storage.load(folder).arrays["a"]
    assert isinstance(array.base, np.memmap)
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 1


def test_arrays_begin_at_a_multiple_of_their_item_size(tmp_path):
    storage.save(tmp_path / "s", "thing", {}, {f"of {dtype}": np.ones(3, dtype) for dtype in DTYPES})
    assert all(array.flags.aligned for array in storage.load(tmp_path / "s").arrays.values())


def test_the_safetensors_library_reads_our_file(tmp_path):
    arrays = {f"of/{dtype}": np.arange(5).astype(dtype) for dtype in DTYPES} | {"empty é": np.zeros((0, 2))}
    storage.save(tmp_path / "s", "thing", {}, arrays)
    loaded = load_file(arrays_of(tmp_path / "s"))
    assert loaded.keys() == arrays.keys()
    for name, array in arrays.items():
        assert loaded[name].dtype == array.dtype
        np.testing.assert_array_equal(loaded[name], array)


def test_the_digest_is_that_of_the_data(folder, tmp_path):
    storage.save(tmp_path / "same", "thing", {}, {"b": np.ones((2, 2), np.float32), "a": np.arange(3)})
    storage.save(tmp_path / "other", "thing", {}, {"b": np.ones((2, 2), np.float32), "a": np.arange(1, 4)})
    digests = [storage.load(place).digest for place in (folder, tmp_path / "same", tmp_path / "other")]
    assert digests[0] == digests[1] != digests[2]


@given(st.lists(st.text(st.characters())))
def test_strings_come_back_from_their_bytes(words):
    assert storage.unpack(*storage.pack(words)) == words


@pytest.mark.parametrize("starts", [[], [1, 3], [0, 2], [0, 3, 2, 3]])
def test_bytes_and_starts_of_strings_must_fit(starts):
    with pytest.raises(ValueError, match="do not fit"):
        storage.unpack(np.frombuffer(b"abc", np.uint8), np.array(starts, np.int64))


# Replacing


def test_replacing_leaves_only_the_new_object(folder):
    storage.save(folder, "thing", {"size": 4}, {"a": np.arange(4)})
    assert storage.load(folder).arrays["a"].tolist() == [0, 1, 2, 3]
    assert len(list(folder.iterdir())) == 2


def test_an_array_loaded_before_a_replacement_stays(folder):
    array = storage.load(folder).arrays["a"]
    storage.save(folder, "thing", {}, {"a": np.arange(9)})
    assert array.tolist() == [0, 1, 2]


def test_a_killed_save_leaves_the_old_object(folder):
    script = f"""
import os, signal, numpy as np
from laplex.runtime import storage
def pieces():
    yield np.arange(100_000)
    os.kill(os.getpid(), signal.SIGKILL)
storage.save({str(folder)!r}, "thing", {{}}, {{"a": storage.Stream(np.dtype("i8"), (200_000,), pieces())}})
"""
    assert subprocess.run([sys.executable, "-c", script]).returncode == -signal.SIGKILL
    assert list(folder.glob(".part-*")) != []
    assert storage.load(folder).arrays["a"].tolist() == [0, 1, 2]
    storage.save(folder, "thing", {}, {"a": np.arange(4)})
    assert list(folder.glob(".part-*")) == []


def test_a_failed_save_leaves_the_old_object_and_nothing_else(folder):
    before = sorted(folder.iterdir())
    with pytest.raises(TypeError):
        storage.save(folder, "thing", {"not JSON": object()}, {"a": np.arange(9)})
    assert sorted(folder.iterdir()) == before
    assert storage.load(folder).arrays["a"].tolist() == [0, 1, 2]


def test_unfinished_files_of_living_processes_and_other_machines_stay(folder):
    host = socket.gethostname()
    dead = subprocess.Popen(["true"])
    dead.wait()
    names = [f".part-{host}-{os.getpid()}-00000000", f".part-elsewhere-{dead.pid}-00000000"]
    for name in (*names, f".part-{host}-{dead.pid}-00000000"):
        (folder / name).touch()
    storage.save(folder, "thing", {}, {})
    assert sorted(path.name for path in folder.glob(".part-*")) == sorted(names)


def test_a_save_killed_before_its_manifest_does_not_block_the_folder(folder):
    (folder / storage.MANIFEST).unlink()
    storage.save(folder, "thing", {}, {"a": np.arange(4)})
    assert storage.load(folder).arrays["a"].tolist() == [0, 1, 2, 3]


def orphan(folder):
    """Arrays that no manifest names, as a save leaves them that is killed before it deletes the old ones."""
    path = folder / f"arrays-{'0' * 32}.safetensors"
    path.touch()
    return path


def test_what_a_killed_save_has_left_is_cleared_up(folder):
    dead = subprocess.Popen(["true"])
    dead.wait()
    part = folder / f".part-{socket.gethostname()}-{dead.pid}-00000000"
    part.touch()
    left = orphan(folder)
    storage.clear_up(folder)
    assert not part.exists()
    assert not left.exists()
    assert storage.load(folder).arrays["a"].tolist() == [0, 1, 2]


@pytest.mark.parametrize("number", ["9" * 10, "9" * 30])
def test_what_no_process_can_have_left_stays(folder, number):
    """A stranger's folder can hold such a name; asking the system for that process raised an OverflowError."""
    part = folder / f".part-{socket.gethostname()}-{number}-00000000"
    part.touch()
    storage.clear_up(folder)
    storage.save(folder, "test", {}, {})
    assert part.exists()


def test_nothing_is_cleared_up_while_somebody_writes(folder):
    left = orphan(folder)
    with shared_lock(folder):
        storage.clear_up(folder)
    assert left.exists()


def test_nothing_is_cleared_up_where_the_manifest_is_damaged_or_missing(folder, tmp_path):
    os.truncate(folder / storage.MANIFEST, 40)
    storage.clear_up(folder)
    assert arrays_of(folder).exists()
    storage.clear_up(tmp_path / "none")


@pytest.mark.parametrize("kind", ["checkpoint", "tuning", "tokens"])
def test_a_run_that_was_killed_at_its_very_end_leaves_nothing_over(kind, tmp_path):
    """It finds all that it wants, and so it does not save again."""

    def run():
        if kind == "checkpoint":
            state = {"theta": np.ones(2)}
            known = Checkpoint(tmp_path / kind, {}, True)
            if not known.resume(state).history:
                known.save(state, Position([{"epoch": 1}]))
        elif kind == "tuning":
            Results(tmp_path / kind)
        else:
            Tokens.of(read([{"text": "a b"}]), min_count=1, cache=tmp_path, quiet=True)

    run()
    folders = list(tmp_path.iterdir())
    assert len(folders) == (2 if kind == "tokens" else 1)  # the tokens and the original text
    left = [orphan(folder) for folder in folders]
    run()
    assert not any(path.exists() for path in left)
    assert [len(list(folder.iterdir())) for folder in folders] == [2] * len(folders)


def test_a_folder_with_other_things_is_not_written_to(tmp_path):
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(StorageError, match=r'holds other things \("thesis.tex"\): choose a new'):
        storage.save(tmp_path, "thing", {}, {})
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_file_is_not_written_over(tmp_path):
    (tmp_path / "thesis").touch()
    with pytest.raises(StorageError, match="is a file, not a folder"):
        storage.save(tmp_path / "thesis", "thing", {}, {})


def test_a_place_that_cannot_be_written_to_is_named(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match=f'cannot write "{tmp_path}/file/s": Not a directory'):
        storage.save(tmp_path / "file" / "s", "thing", {}, {})


# What is broken says so


def test_a_missing_folder(tmp_path):
    with pytest.raises(StorageError, match=f'"{tmp_path}/none" does not exist'):
        storage.load(tmp_path / "none")


def test_a_foreign_folder(tmp_path):
    with pytest.raises(StorageError, match=f'"{tmp_path}" is not a folder that laplex saved'):
        storage.load(tmp_path)


@pytest.mark.parametrize("content", ['{"format": "other"}', "[]", "5"])
def test_a_foreign_manifest(folder, content):
    (folder / storage.MANIFEST).write_text(content)
    with pytest.raises(StorageError, match=r'laplex.json" was not written by laplex'):
        storage.load(folder)


def test_a_truncated_manifest(folder):
    os.truncate(folder / storage.MANIFEST, 40)
    with pytest.raises(StorageError, match=r'laplex.json" is damaged: it is not JSON'):
        storage.load(folder)


def test_a_manifest_nested_without_end(folder):
    (folder / storage.MANIFEST).write_text("[" * 1_000_000)
    with pytest.raises(StorageError, match=r'laplex.json" is damaged'):
        storage.load(folder)


def test_a_newer_version(folder):
    change_manifest(folder, version=storage.VERSION + 1)
    with pytest.raises(StorageError, match=r'laplex.json" has format 2, this laplex reads up to 1: update laplex'):
        storage.load(folder)


@pytest.mark.parametrize(
    "changes",
    [
        {"version": "1"},
        {"version": 0},
        {"arrays": None},
        {"arrays": {"file": "../../secret", "bytes": 5}},
        {"arrays": {"file": "../arrays-" + "0" * 32 + ".safetensors", "bytes": 5}},
        {"arrays": {"file": "arrays-" + "0" * 32 + ".safetensors", "bytes": "5"}},
        {"settings": []},
        {"kind": None},
    ],
)
def test_a_manifest_that_makes_no_sense(folder, changes):
    change_manifest(folder, **changes)
    with pytest.raises(StorageError, match=r'laplex.json" is damaged'):
        storage.load(folder)


def test_the_wrong_kind(folder):
    with pytest.raises(StorageError, match=f'"{folder}" holds thing, not tokens'):
        storage.load(folder, "tokens")


def test_missing_arrays(folder):
    name = arrays_of(folder).name
    arrays_of(folder).unlink()
    with pytest.raises(StorageError, match=f'{name}": No such file'):
        storage.load(folder)


@pytest.mark.parametrize("size", [0, 4, 50, -1])
def test_truncated_arrays(folder, size):
    path = arrays_of(folder)
    os.truncate(path, size % path.stat().st_size)
    with pytest.raises(StorageError, match=f'{path.name}" is damaged: .* bytes, should be'):
        storage.load(folder)


@pytest.mark.parametrize("length", [2**63, 2**40, 10_000])
def test_a_header_longer_than_its_file(folder, length):
    change_header(folder, lambda header: None, length)
    with pytest.raises(StorageError, match=r'safetensors" is damaged: its header is cut off'):
        storage.load(folder)


@pytest.mark.parametrize(
    "entry",
    [
        {"data_offsets": [16, 48]},
        {"data_offsets": [2**70, 2**70 + 24]},
        {"data_offsets": [-24, 0]},
        {"data_offsets": [24, 0], "shape": [-3]},
        {"data_offsets": [0, 2**50], "shape": [2**47]},
        {"data_offsets": [0, 0], "shape": [0, 2**70]},
        {"data_offsets": [0]},
        {"shape": [4]},
        {"shape": ["3"]},
        {"shape": 3},
        {"dtype": "O"},
        {"dtype": ["I64"]},
    ],
    ids=str,
)
def test_a_header_that_does_not_fit_its_file(folder, entry):
    change_header(folder, lambda header: header["a"].update(entry))
    with pytest.raises(StorageError, match=r'safetensors" is damaged: its header is invalid'):
        storage.load(folder)


@given(st.data())
def test_random_bytes_in_a_saved_object_are_an_error_or_a_load(data):
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "saved"
        storage.save(folder, "thing", {"size": 3}, {"a": np.arange(3), "b": np.ones((2, 2), np.float32)})
        path = data.draw(st.sampled_from([folder / storage.MANIFEST, arrays_of(folder)]))
        content = path.read_bytes()
        position = data.draw(st.integers(0, min(len(content), 200) - 1))
        noise = data.draw(st.one_of(st.binary(min_size=1, max_size=30), st.text('0123456789[]{}",:-e').map(str.encode)))
        path.write_bytes((content[:position] + noise + content[position + len(noise) :])[: len(content)])
        with suppress(StorageError):
            assert all(array.nbytes <= len(content) for array in storage.load(folder).arrays.values())


def test_deleting_an_object_leaves_other_files_alone(tmp_path):
    for name in ("plain", "shared"):
        storage.save(tmp_path / name, "tokens", {}, {"a": np.arange(3)})
    (tmp_path / "shared" / "notes.txt").touch()
    storage.delete(tmp_path / "plain")
    storage.delete(tmp_path / "shared")
    assert [path.name for path in tmp_path.iterdir()] == ["shared"]
    assert [path.name for path in (tmp_path / "shared").iterdir()] == ["notes.txt"]
