"""Nothing that comes from a stranger runs code, reads other files, or takes more memory than its size says."""

from __future__ import annotations

import ast
import gzip
import json
import os
import shutil
import struct
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import laplex as lx
from laplex.cli.printing import visible
from laplex.questions.export import escape_formulas, unescape_formulas
from laplex.runtime import storage

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

SOURCES = sorted(Path(lx.__file__).parent.rglob("*.py"))
MODULES = {"pickle", "marshal", "shelve", "dill", "joblib", "cloudpickle", "code", "pty"}
CALLS = {"eval", "exec", "compile", "__import__", "os.system", "os.popen", "torch.load", "pd.read_pickle", "yaml.load"}


# The source


def forbidden(source: str) -> list[str]:
    """What in a source can run what it reads."""
    unsafe = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
            unsafe += [name for name in names if name.partition(".")[0] in MODULES]
        elif isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            given = {keyword.arg: ast.unparse(keyword.value) for keyword in node.keywords}
            unsafe += [name] if name in CALLS else []
            unsafe += [f"{name}(shell=)"] if given.get("shell", "False") != "False" else []
            unsafe += [f"{name}(allow_pickle=)"] if given.get("allow_pickle", "False") != "False" else []
            unsafe += [name] if name in ("np.load", "numpy.load") and given.get("allow_pickle") != "False" else []
    return unsafe


def test_no_source_can_run_what_it_reads():
    unsafe = {str(path): forbidden(path.read_text(encoding="utf-8")) for path in SOURCES}
    assert {path: names for path, names in unsafe.items() if names} == {}


def test_what_is_forbidden_is_found():
    source = """
import pickle
from marshal import loads
eval("1")
def f():
    subprocess.run("ls", shell=True)
    return np.load(path, allow_pickle=True), np.load(path), torch.load(path)
"""
    assert sorted(forbidden(source)) == [
        "eval",
        "marshal",
        "np.load",
        "np.load",
        "np.load(allow_pickle=)",
        "pickle",
        "subprocess.run(shell=)",
        "torch.load",
    ]
    assert forbidden("re.compile('a'); np.load(p, allow_pickle=False); subprocess.run(['ls'], shell=False)") == []


# Memory: actions run in a process with a limit on the memory that it may take beyond that of importing laplex

CHILD = """
import json, resource, sys
import polars, scipy.linalg, scipy.special
import laplex as lx
from laplex.lexicons import pairs
from laplex.runtime import storage
from laplex.text import ingest, originals
for name in lx.__all__:
    getattr(lx, name)  # which imports it
pages = int(open("/proc/self/statm").read().split()[0])
limit = pages * resource.getpagesize() + int(sys.argv[1])
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
for path in sys.argv[2:]:
    try:
        print(json.dumps(f"done {{action}}"))
    except lx.LaplexError as error:
        print(json.dumps(f"refused {error}"))
"""


def each_within(megabytes: int, action: str, paths: Sequence[Path]) -> list[str]:
    """The outcomes of an action on several paths, in one process that may take this much memory for each."""
    if not Path("/proc/self/statm").exists():
        pytest.skip("the memory of a process is not known here")
    code = CHILD.replace("{action}", action)
    command = [sys.executable, "-c", code, str(megabytes << 20), *map(str, paths)]
    # Polars and BLAS map memory for each thread
    environment = os.environ | {"POLARS_MAX_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "RAYON_NUM_THREADS": "1"}
    result = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment)
    assert result.returncode == 0, result.stderr[-2000:]
    outcomes = [json.loads(line) for line in result.stdout.splitlines()]
    assert len(outcomes) == len(paths)
    return outcomes


def within(megabytes: int, action: str, path: Path) -> str:
    return each_within(megabytes, action, [path])[0]


LOAD = "lx.load(path)"


@pytest.fixture
def model(tmp_path):
    """A small model, to be tampered with."""
    words = ["tax", "oak", "elm"]
    vectors = np.arange(12, dtype=np.float32).reshape(3, 4)
    lx.Embeddings.of([lx.Vocabulary(words, np.array([3, 2, 1]))], [vectors]).save(tmp_path / "model")
    return tmp_path / "model"


def tamper(folder: Path, change=None, text: bytes | None = None, manifest=None) -> None:
    """Rewrite the header of the arrays, all other sizes right, or the manifest."""
    arrays = next(folder.glob("arrays-*"))
    if change is not None or text is not None:
        data = arrays.read_bytes()
        end = 8 + int.from_bytes(data[:8], "little")
        header = json.loads(data[8:end])
        if change is not None:
            change(header)
        text = json.dumps(header).encode() if text is None else text
        arrays.write_bytes(len(text).to_bytes(8, "little") + text + data[end:])
    content = json.loads((folder / storage.MANIFEST).read_text())
    content["arrays"]["bytes"] = arrays.stat().st_size
    if manifest is not None:
        manifest(content)
    (folder / storage.MANIFEST).write_text(json.dumps(content))


def overlap(header):
    for i in range(1000):
        header[f"words/{i}/text"] = header["theta"] | {"dtype": "U8", "shape": [48]}


def leave_a_gap(header):
    last = max(header, key=lambda name: header[name]["data_offsets"])
    del header[last]


TAMPERED = {
    "huge": lambda header: header["theta"].update(shape=[10**12, 4]),
    "huge without values": lambda header: header["counts/0"].update(shape=[0, 10**12], data_offsets=[0, 0]),
    "huge offsets": lambda header: header["theta"].update(shape=[10**12], data_offsets=[0, 4 * 10**12]),
    "numbers of thousands of digits": lambda header: header["theta"].update(shape=[10**4000] * 500),
    "many dimensions": lambda header: header["theta"].update(shape=[1] * 10**6 + [12]),
    "arrays over each other": overlap,
    "a gap": leave_a_gap,
    "negative": lambda header: header["theta"].update(shape=[-1, -12]),
    "true": lambda header: header["theta"].update(shape=[True, 12]),
}


def test_a_header_cannot_make_memory_grow(model, tmp_path):
    for name, change in TAMPERED.items():
        tamper(shutil.copytree(model, tmp_path / name), change)
    outcomes = each_within(200, LOAD, [tmp_path / name for name in TAMPERED])
    assert [name for name, outcome in zip(TAMPERED, outcomes) if not outcome.startswith("refused")] == []


def test_a_header_longer_than_any_is_not_read(model):
    tamper(model, text=b'{"a": [' + b"[]," * (6 << 20) + b"[]]}")
    assert "its header is cut off" in within(200, LOAD, model)


@pytest.mark.slow
def test_the_longest_header_takes_less_than_600_megabytes(model):
    tamper(model, text=b'{"a": [' + b"[]," * (5 << 20) + b"[]]}")
    assert "its header is invalid" in within(600, LOAD, model)


@pytest.mark.parametrize("deep", ["[" * 10**6, '{"a":' * 10**6])
def test_json_that_is_deep_is_refused(model, deep):
    (model / storage.MANIFEST).write_text(deep)
    assert "is not JSON" in within(400, LOAD, model)
    with pytest.raises(lx.StorageError, match="is not JSON"):
        lx.load(model)


def test_a_manifest_longer_than_any_is_not_read(model):
    with open(model / storage.MANIFEST, "r+b") as file:
        file.truncate(1 << 40)
    assert "more than laplex writes" in within(200, LOAD, model)


def test_what_is_too_long_to_be_read_is_not_saved(tmp_path):
    with pytest.raises(lx.StorageError, match="more than can be saved"):
        storage.save(tmp_path / "a", "thing", {"keep": "a" * (1 << 24)}, {})
    assert not (tmp_path / "a").exists()


def test_a_history_of_many_columns_is_no_table(model):
    def widen(content):
        content["settings"]["history"] = [{f"column {i}": 1} for i in range(20_000)]

    tamper(model, manifest=widen)
    assert "its history" in within(200, LOAD, model)


WRONG = {
    "counts of other slices": lambda arrays: arrays.update({"counts/0": np.ones((2, 3), np.int64)}),
    "counts that are no whole numbers": lambda arrays: arrays.update({"counts/0": np.ones((1, 3))}),
    "vectors in double precision": lambda arrays: arrays.update(theta=np.ones((3, 4))),
    "places beyond the vectors": lambda arrays: arrays.update(slot=np.full(6, 3, np.int32)),
    "places before them": lambda arrays: arrays.update(slot=np.full(6, -2, np.int32)),
    "places that are no numbers of rows": lambda arrays: arrays.update(slot=np.zeros(6)),
    "documents of no slice": lambda arrays: arrays.update(slice_of_document=np.full(5, 7, np.int32)),
    "a diagonal of another size": lambda arrays: arrays.update({"graph/diagonal": np.ones(5)}),
    "a sign too many": lambda arrays: arrays.update({"graph/sign": np.ones(5, np.int8)}),
    "fixed vectors in one row": lambda arrays: arrays.update({"graph/targets": np.ones(5)}),
    "deviations of another shape": lambda arrays: arrays.update(spread=np.ones((3, 5), np.float32)),
}


@pytest.mark.parametrize("change", WRONG.values(), ids=WRONG)
def test_arrays_that_do_not_fit_each_other_are_refused(model, change):
    saved = storage.load(model)
    arrays = dict(saved.arrays)
    change(arrays)
    storage.save(model, "embeddings", saved.settings, arrays)
    with pytest.raises(lx.StorageError, match="is damaged"):
        lx.load(model)


def test_a_header_of_word_vectors_cannot_make_memory_grow(write):
    paths = []
    for header in (b"1000000000000 300\n", b"999999999999999999 100000\n", b"1000000000000 1\n"):
        width = int(header.split()[1])
        paths.append(write(f"{width}.vec", header + b"oak " + b" ".join([b"1.5"] * width) + b"\n"))
        paths.append(write(f"{width}.bin", header + b"oak " + struct.pack("<f", 1.5) * width + b"\n"))
    outcomes = each_within(1000, "lx.load_word2vec(path)", paths)
    assert [outcome for outcome in outcomes if "its header says" not in outcome] == []


def test_word_vectors_that_unpack_to_much_more_than_they_are_are_refused(write):
    block = gzip.compress((b"oak " + bytes(400_000)) * 40)
    path = write("a.bin.gz", gzip.compress(b"1000000000 100000\n") + block * 64)
    assert path.stat().st_size < 1 << 21
    assert "decompresses to more than 100 times" in within(1000, "lx.load_word2vec(path)", path)


def packed(name: str, text: bytes, block: bytes, times: int) -> bytes:
    """`text`, then a block many times over, compressed; both formats let files be joined."""
    pack = gzip.compress if name.endswith(".gz") else zstd.compress
    return pack(text) + pack(block) * times


BOMBS = {
    "a.csv": (b"text\n", b"a" * (1 << 22)),
    "b.csv": (b'text\n"', b"a\n" * (1 << 21)),  # a quote that never ends
    "a.jsonl": (b'{"text": "', b"a" * (1 << 22)),
    "b.jsonl": (b'{"text": [', b"[]," * (1 << 20)),
    "a.txt": (b"", b"a " * (1 << 21)),
}


@pytest.mark.slow
@pytest.mark.parametrize("ending", [".gz", ".zst"])
def test_a_compressed_corpus_is_not_unpacked_into_memory(ending, write):
    names = [name + ending for name in BOMBS if name + ending != "b.csv.zst"]
    paths = [write(name, packed(name, *BOMBS[name.rpartition(".")[0]], 1024)) for name in names]  # four gigabytes each
    assert max(path.stat().st_size for path in paths) < 1 << 23
    outcomes = each_within(1000, "lx.read(path).summary(quiet=True)", paths)
    assert [name for name, outcome in zip(names, outcomes) if not outcome.startswith("refused")] == []


@pytest.mark.parametrize("ending", [".gz", ".zst"])
def test_a_compressed_file_that_is_one_document_is_bounded(ending, write):
    path = write(f"a.txt{ending}", packed(ending, b"", b"a b c d\n" * (1 << 19), 1024))
    message = within(1000, "lx.read(path, documents='files').summary(quiet=True)", path)
    assert "a document of more than 33,554,432 bytes" in message


@pytest.mark.slow
@pytest.mark.parametrize("ending", [".gz", ".zst"])
def test_a_compressed_corpus_of_many_lines_is_read(ending, write):
    line = b"a long text that is there again and again\n"
    path = write(f"a.txt{ending}", packed(ending, b"", line * 50_000, 20))
    assert lx.read(path).summary(quiet=True).documents == 1_000_000


# Files outside the folder


@pytest.fixture
def elsewhere(model, tmp_path):
    """Another model, which the first one is made to point to."""
    lx.load(model).save(tmp_path / "elsewhere")
    return tmp_path / "elsewhere"


@pytest.mark.parametrize("where", ["../elsewhere/{}", "{elsewhere}/{}", "./{}", "sub/{}", "..", "", "/dev/zero"])
def test_a_manifest_cannot_name_a_file_outside(model, elsewhere, where):
    name = next(elsewhere.glob("arrays-*")).name
    tamper(model, manifest=lambda content: content["arrays"].update(file=where.format(name, elsewhere=elsewhere)))
    with pytest.raises(lx.StorageError, match="does not say what it holds"):
        lx.load(model)


@pytest.mark.parametrize("which", [storage.MANIFEST, "arrays-*"])
def test_links_to_elsewhere_are_not_followed(model, elsewhere, which):
    own = next(model.glob(which))
    own.unlink()
    own.symlink_to(next(elsewhere.glob(which)))
    with pytest.raises(lx.StorageError, match="is a link to elsewhere"):
        lx.load(model)


def test_a_link_to_the_folder_is_the_user_s_own(model, tmp_path):
    (tmp_path / "link").symlink_to(model)
    assert lx.load(tmp_path / "link").words() == ["tax", "oak", "elm"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes here")
@pytest.mark.parametrize("which", [storage.MANIFEST, "arrays-*"])
def test_a_pipe_is_not_waited_for(model, which):
    own = next(model.glob(which))
    own.unlink()
    os.mkfifo(own)
    assert "is not a file" in within(200, LOAD, model)


def test_a_folder_in_place_of_a_file_is_refused(model):
    arrays = next(model.glob("arrays-*"))
    arrays.unlink()
    arrays.mkdir()
    with pytest.raises(lx.StorageError, match=r"is not a file|cannot read"):
        lx.load(model)


def test_a_model_cannot_choose_the_text_that_is_read(model, tmp_path):
    from laplex.fitting.provenance import tokens_of

    tokens = lx.Tokens.of(lx.read([{"text": "a private text of the user, a private text"}]), min_count=1, quiet=True)
    known = {"folder": str(tokens.folder), "digest": "0" * 32}
    tamper(model, manifest=lambda content: content["settings"]["fit"].update(tokens=known))
    with pytest.raises(lx.InputError, match="are not those that the model was fitted on"):
        tokens_of(lx.load(model))


# What is shown


@pytest.mark.slow
def test_words_cannot_command_the_terminal(tmp_path):
    words = ["tax", "\x1b]0;owned\x07", "\x9b2J", "oak\r", "elm"]
    vectors = np.random.default_rng(1).normal(size=(5, 4))
    lx.Embeddings.of([lx.Vocabulary(words, np.arange(5))], [vectors]).save(tmp_path / "model")

    def asked(word):
        command = [sys.executable, "-m", "laplex", "neighbors", str(tmp_path / "model"), word]
        return subprocess.run(command, capture_output=True, text=True, encoding="utf-8")

    table = asked("tax").stdout
    assert "\\x1b]0;owned\\x07" in table
    assert not {"\x1b", "\x07", "\x9b", "\r"} & set(table)
    assert "\x1b]" not in asked("\x1b]0;other\x07").stderr


@given(st.text())
def test_visible_text_keeps_what_commands_nothing(text):
    if text.isprintable():
        assert visible(text) == text
    assert not any(ord(mark) < 32 and mark not in "\t\n" for mark in visible(text))


FORMULAS = ["=cmd|' /C calc'!A0", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1", "＋1", "－1", "＠1"]


@pytest.mark.parametrize("word", FORMULAS)
def test_no_cell_begins_as_a_formula(word):
    frame = escape_formulas(pd.DataFrame({"word": [word], word: ["a"]}))
    assert frame["word"].to_list() == [f"'{word}"]
    assert list(frame.columns) == ["word", f"'{word}"]


@given(st.lists(st.text(st.sampled_from("'=+-@a\t\r\n ＝"), max_size=4), max_size=5))
def test_neutral_words_come_back(words):
    frame = pd.DataFrame({"word": pd.Series(words, dtype=object), "=n": np.arange(len(words)) - 2})
    safe = escape_formulas(frame)
    assert not any(word[:1] in "=+-@\t\r\n＝" for word in safe["word"] if word)
    pd.testing.assert_frame_equal(unescape_formulas(safe), frame, check_dtype=False)
    assert unescape_formulas(safe)["word"].to_list() == words


def test_every_csv_file_is_neutral(tmp_path):
    """Of the command line, of vectors, of a tuning, of the explorer: all are written by one function."""
    from laplex.cli.printing import write_csv

    words = ["=cmd", "tax"]
    write_csv(pd.DataFrame({"word": words}), tmp_path / "a.csv")
    vocabulary = lx.Vocabulary(words, np.array([2, 1]))
    lx.Embeddings.of([vocabulary], [np.ones((2, 3))]).export(tmp_path / "b.csv")
    frame = pd.DataFrame({"=cmd": ["@x"], "chosen": [True]})
    lx.Tuning(frame, lx.Model(), None, ("=cmd",), "best", 1, 1).save(tmp_path / "c.csv")  # type: ignore[arg-type]
    for path, wanted in (("a.csv", words), ("b.csv", words), ("c.csv", ["@x"])):
        text = (tmp_path / path).read_text()
        assert not any(line.startswith(("=", "@")) for line in text.splitlines())
        assert unescape_formulas(pd.read_csv(tmp_path / path)).iloc[:, 0].to_list() == wanted
    # word2vec.py and wordpairs.py write lists for programs, not tables for spreadsheets
    sources = [path.read_text() for path in SOURCES if path.name not in ("word2vec.py", "wordpairs.py")]
    writers = [source for source in sources if ".to_csv(" in source or ".write_csv(" in source]
    assert writers
    assert all("escape_formulas(" in source for source in writers)
