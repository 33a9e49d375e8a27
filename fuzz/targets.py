"""What is fuzzed: each reader with small files to start from.

A target writes the bytes it gets where its reader looks for them, reads, and checks what can be known of the result. A
LaplexError with a message is a good answer to a bad file; whatever else is raised is a failure.
"""

from __future__ import annotations

import gzip
import io
import json
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import oracles
import polars as pl

import laplex as lx
from laplex import lexicons
from laplex.evaluation.datasets import read_questions, read_rated_pairs
from laplex.fitting.race import Results
from laplex.runtime import storage
from laplex.runtime.checkpoint import Checkpoint, Position
from laplex.text import word2vec

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

Read = Callable[[Path, bytes], None]


@dataclass(frozen=True)
class Target:
    """A reader: `read(folder, data)` puts the bytes where they belong, reads them and checks the result."""

    name: str
    seeds: Sequence[bytes]
    read: Read
    prepare: Callable[[Path], None] = field(default=lambda folder: None)


def _file(name: str, check: Callable[[Path, bytes], None], pack: Callable[[bytes], bytes] = bytes) -> Read:
    """Write the bytes, packed, as one file, and check what is read from it; `check` gets them as they were."""

    def read(folder: Path, data: bytes) -> None:
        path = folder / name
        path.write_bytes(pack(data))
        check(path, data)

    return read


def _parquet(**columns: object) -> bytes:
    file = io.BytesIO()
    pl.DataFrame(columns).write_parquet(file, compression="uncompressed", statistics=False)
    return file.getvalue()


# Corpora

CSV = [
    b'text,party,year\na b,D,2010\n"c, ""d""\ne",R,2011\n',
    b"text;party\na;b\n\nc;d\n",
    b"\xef\xbb\xbftext|when\r\na b|1\r\n",
]
TSV = [b"text\tparty\na b\tD\nc d\tR\n", b'text\n"a\tb"\n']
JSONL = [
    b'{"text": "a b", "party": "D", "year": 2010}\n{"text": "c", "party": null, "year": 1.5}\n',
    b'{"text": ["a", "b"]}\n\n{"text": ["c"]}\n{"text": null}\n',
    b'{"text": "\\ud83d\\ude00 \\u0000"}',
]
TEXT = [b"a b c\nd e f\n", "é ß 東京\r\n\r\nx\u2028y\n".encode()]
PARQUET = [
    _parquet(text=["a b", "c"], party=["D", None]),
    _parquet(text=[["a", "b"], None], year=[2010, 1]),
    _parquet(text=pl.Series(["a", "b"], dtype=pl.Categorical), at=[1.5, None]),
]


def _folder(folder: Path, data: bytes) -> None:
    """Two files of one kind, parted where a NUL stands."""
    one, _, two = data.partition(b"\0")
    inner = folder / "texts"
    inner.mkdir(exist_ok=True)
    (inner / "1.csv").write_bytes(one)
    (inner / "2.csv").write_bytes(two)
    oracles.folder(inner, [one, two])


CORPORA = [
    Target("csv", CSV, _file("a.csv", oracles.csv_corpus)),
    Target("tsv", TSV, _file("a.tsv", oracles.csv_corpus)),
    Target("csv.gz", CSV, _file("a.csv.gz", oracles.csv_corpus, lambda data: gzip.compress(data, 1))),
    Target("jsonl", JSONL, _file("a.jsonl", oracles.json_corpus)),
    Target("jsonl.zst", JSONL, _file("a.jsonl.zst", oracles.json_corpus, lambda data: zstd.compress(data, 1))),
    Target("raw.gz", [gzip.compress(data, 1) for data in JSONL], _file("a.jsonl.gz", oracles.any_corpus)),
    Target("raw.zst", [zstd.compress(data, 1) for data in JSONL], _file("a.jsonl.zst", oracles.any_corpus)),
    Target("text", TEXT, _file("a.txt", oracles.text_corpus)),
    Target("text files", TEXT, _file("a.txt", oracles.whole_text_corpus)),
    Target("parquet", PARQUET, _file("a.parquet", oracles.any_corpus)),
    Target("folder", [CSV[0] + b"\0" + CSV[0], b"text\na\n\0text,b\nc,d\n"], _folder),
]

# Pairs of words

LISTS = [
    b"dog hound\ncat kitten\n",
    b"dog\thound puppy\ncat\tkitten\n",
    b'dog,hound,0.5\n"hot, very",cold,-1\n',
    b'word1,word2,weight\ndog,hound,0.5\n"a ""b""",c,1e-3\n',
    b"# list\nfrom\tto\tscore\ndog\thound\t2\n#me\ttoo\t1\n",
    b"dog hound 1\ncat 2 3\n",
]
PPDB = [b"[NN] ||| dog ||| hound ||| PPDB2.0Score=4.1 A=NA ||| 0-0\n[NN] ||| a b ||| c ||| PPDB2.0Score=NA\n"]
PAIR_ROWS = [b'{"word1": "a", "word2": "b", "weight": 2}\n{"word1": "c", "word2": "d", "weight": "1e2"}\n']
PAIR_TABLE = [
    _parquet(word1=["a", "b"], word2=["c", "d"], weight=[1.0, 2.0]),
    _parquet(one=["a"], two=["b"]),
    _parquet(left=pl.Series(["a"], dtype=pl.Categorical), right=[5], score=["1"]),
]
PAIRS = [
    Target("pairs", LISTS, _file("a.txt", oracles.pairs)),
    Target("translations", LISTS, _file("a.tsv.gz", oracles.translations, lambda data: gzip.compress(data, 1))),
    Target("ppdb", PPDB, _file("a.txt", oracles.paraphrases)),
    Target("pairs.jsonl", PAIR_ROWS, _file("a.jsonl", oracles.pairs)),
    Target("pairs.parquet", PAIR_TABLE, _file("a.parquet", oracles.pairs)),
]

# Definitions and test sets

GLOSSARY = [
    b"word,definition\ncar,a vehicle\nvehicle,car or ship\n",
    b'car,"a vehicle, quick"\nvehicle,the car\n',
    b"word\tdefinition\ncar\ta vehicle\n",
]
GLOSSARY_ROWS = [b'{"word": "car", "definition": "a vehicle"}\n{"word": "vehicle", "definition": "car"}\n']
RATED = [b"word1,word2,score\ndog,cat,7.5\na,b,1\n", b"dog\tcat\t7.5\tx\n", b'# set\ndog cat 7.5\n"a,b",c,2\n']
QUESTIONS = [b": capital\nAthens Greece Oslo Norway\n: gram1\na b c d\n", b"a b c d\n#x\n"]
OTHERS = [
    Target("definitions.csv", GLOSSARY, _file("a.csv", oracles.definitions)),
    Target("definitions.txt", GLOSSARY, _file("a.txt", oracles.definitions)),
    Target("definitions.jsonl", GLOSSARY_ROWS, _file("a.jsonl", oracles.definitions)),
    Target(
        "stop words",
        [b"a\nb\n# c\n"],
        _file("a.txt", lambda path, _: oracles.words(lexicons.definitions({"d": "e"}, stop_words=path).strong.left)),
    ),
    Target("similarity", RATED, _file("a.csv", lambda path, _: oracles.rated(read_rated_pairs(path)))),
    Target("analogies", QUESTIONS, _file("a.txt", lambda path, _: oracles.questions(read_questions(path)))),
]

# Vectors


def _vectors(binary: bool) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a"
        matrix = np.array([[1.5, -2e-3, 3], [0, 1e20, -1], [4, 5, 6]])
        word2vec.write(path, ["the", "é", "c"], matrix, binary, quiet=True)
        return path.read_bytes()


VECTORS = [
    Target("word2vec text", [_vectors(False), b"a 1 2\nb c 3 4\n", b"1 2\na 1 2 \n"], _file("a.vec", oracles.vectors)),
    Target("word2vec binary", [_vectors(True), b"1 1\na \0\0\0\0"], _file("a.bin", oracles.vectors)),
    Target("word2vec gz", [gzip.compress(_vectors(False), 1)], _file("a.vec.gz", oracles.vectors)),
]

# Saved objects: the manifest, the header of the arrays, or their values are changed; name and size are always right


def _saved_model(folder: Path) -> None:
    rows = [{"text": "a b c a b", "party": "D"}, {"text": "a c d", "party": "R"}, {"text": "b d a", "party": "D"}]
    corpus = lx.read(rows, metadata=["party"])
    model = lx.Model(["party"], lx.Ridge(1.0) + lx.Groups("party", 10.0), dimensions=2, window=1)
    lx.fit(model, corpus, min_count=1, epochs=1, engine="reference", cache=folder / "cache", quiet=True).save(
        folder / "m"
    )


def _saved_tokens(folder: Path) -> None:
    rows = [{"text": "a b c a b", "party": "D"}, {"text": "a c d", "party": "R"}]
    tokens = lx.Tokens.of(lx.read(rows, metadata=["party"]), min_count=1, cache=folder / "cache", quiet=True)
    saved = storage.load(tokens.folder)
    storage.save(folder / "m", "tokens", saved.settings, saved.arrays)


STATE = {"theta": np.arange(6, dtype=np.float32).reshape(3, 2), "accumulator": np.ones(3, np.float32)}


def _saved_checkpoint(folder: Path) -> None:
    Checkpoint(folder / "m", {"a": 1}, True).save(STATE, Position([{"epoch": 1, "held_out": None}], 2, np.ones(3), 1.0))


def _saved_results(folder: Path) -> None:
    storage.save(folder / "m", "tuning", {"records": [{"key": "k", "epochs": 1, "seconds": 0.5}]}, {"0": np.ones(2)})


def _manifest(folder: Path) -> bytes:
    return (folder / storage.MANIFEST).read_bytes()


def _arrays(folder: Path) -> Path:
    return folder / json.loads(_manifest(folder))["arrays"]["file"]


def _halves(folder: Path) -> tuple[bytes, bytes]:
    file_bytes = _arrays(folder).read_bytes()
    end = 8 + int.from_bytes(file_bytes[:8], "little")
    return file_bytes[8:end], file_bytes[end:]


def _with_manifest(use: Callable[[Path], None]) -> Read:
    def read(folder: Path, data: bytes) -> None:
        (folder / "m" / storage.MANIFEST).write_bytes(data)
        use(folder / "m")

    return read


def _with_arrays(use: Callable[[Path], None], make: Callable[[bytes, bytes, bytes], bytes]) -> Read:
    """`make` gives the file of arrays from the input, the header and the values as they were."""
    was: dict[Path, tuple[bytes, bytes, dict[str, object]]] = {}

    def read(folder: Path, data: bytes) -> None:
        model = folder / "m"
        if folder not in was:
            was[folder] = (*_halves(model), json.loads(_manifest(model)))
            _arrays(model).unlink()
        header, values, manifest = was[folder]
        file_bytes = make(data, header, values)
        name = "arrays-" + "0" * 32 + ".safetensors"
        (model / name).write_bytes(file_bytes)
        content = manifest | {"arrays": {"file": name, "bytes": len(file_bytes)}}
        (model / storage.MANIFEST).write_text(json.dumps(content))
        use(model)

    return read


def _headed(header: bytes, values: bytes) -> bytes:
    return len(header).to_bytes(8, "little") + header + values


def _use_checkpoint(folder: Path) -> None:
    state = {name: np.zeros_like(array) for name, array in STATE.items()}
    position = Checkpoint(folder, {"a": 1}, True).resume(state)
    oracles.position(position)


def _use_results(folder: Path) -> None:
    parsed = Results(folder).outcomes.get(("k", 1))
    if parsed is not None:
        oracles.outcome(parsed)


def _saved(name: str, save: Callable[[Path], None], use: Callable[[Path], None]) -> list[Target]:
    with tempfile.TemporaryDirectory() as folder:
        save(Path(folder))
        model = Path(folder) / "m"
        header, values = _halves(model)
        parts = {
            "manifest": (_manifest(model), _with_manifest(use)),
            "header": (header, _with_arrays(use, lambda data, _, values: _headed(data, values))),
            "values": (values, _with_arrays(use, lambda data, header, _: _headed(header, data))),
            "arrays": (_arrays(model).read_bytes(), _with_arrays(use, lambda data, *_: data)),
        }
    return [Target(f"{name} {part}", [seed], read, save) for part, (seed, read) in parts.items()]


SAVED = [
    *_saved("model", _saved_model, oracles.model),
    *_saved("tokens", _saved_tokens, oracles.tokens),
    *_saved("checkpoint", _saved_checkpoint, _use_checkpoint)[:2],
    *_saved("tuning", _saved_results, _use_results)[:2],
]

TARGETS = {target.name: target for target in [*VECTORS, *PAIRS, *SAVED, *CORPORA, *OTHERS]}
