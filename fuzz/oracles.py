"""What is known of a result without the reader: other parsers of the same bytes, and what must hold of any result.

Each function reads a file with laplex and compares; an AssertionError is a wrong result without an error.
"""

from __future__ import annotations

import csv
import io
import itertools
import json
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import laplex as lx
from laplex import lexicons
from laplex.evaluation.datasets import Question, RatedPairs
from laplex.fitting.race import Outcome
from laplex.runtime import storage
from laplex.runtime.checkpoint import Position
from laplex.text import word2vec
from laplex.text.corpus import TEXT

_turn = itertools.count(1)


def once_in(many: int) -> bool:
    """For what takes longer than reading."""
    return next(_turn) % many == 0


# Corpora


def _documents(source: Path, documents: str = "lines") -> list[Any]:
    """The texts of a corpus, read as a fit would read them."""
    corpus = lx.read(source, metadata="all", missing="drop", documents=documents)
    texts = [text for _, batch in corpus.documents() for text in batch.frame[TEXT].to_list()]
    if once_in(128):
        tokens = lx.Tokens.of(corpus, min_count=1, cache=source.parent / "cache", threads=1, quiet=True)
        assert tokens.offsets[-1] == len(tokens)
        assert sum(int(vocabulary.counts.sum()) for vocabulary in tokens.vocabularies) == len(tokens)
    if once_in(8):
        for _ in corpus.complete_documents():
            pass
    return texts


def any_corpus(path: Path, data: bytes) -> None:
    for text in _documents(path):
        assert isinstance(text, (str, list))


def csv_corpus(path: Path, data: bytes) -> None:
    assert _documents(path) == _of_csv(data, "\t" if ".tsv" in path.name else None)


def _of_csv(data: bytes, mark: str | None) -> list[str]:
    """The column "text" by Python's own module."""
    lines = io.StringIO(data.decode("utf-8-sig"), newline="").readlines()
    while not lines[0].strip():
        lines.pop(0)
    mark = mark or next((mark for mark in ",;\t|" if mark in lines[0]), ",")
    header, *rows = csv.reader(lines, delimiter=mark, strict=True)
    place = [name.strip() for name in header].index("text")
    return [row[place] for row in rows if row]


def json_corpus(path: Path, data: bytes) -> None:
    documents = _documents(path)
    lines = io.StringIO(data.decode("utf-8-sig"), newline="").readlines()
    given = [json.loads(line).get("text") for line in lines if line.strip()]
    for read, expected_value in zip(documents, given, strict=True):
        if expected_value is None or isinstance(expected_value, str):
            assert read in (expected_value or "", [])
        elif isinstance(expected_value, list):
            assert len(read) == len(expected_value)
        else:
            assert isinstance(read, str)


def text_corpus(path: Path, data: bytes) -> None:
    documents = _documents(path)
    lines = io.StringIO(data.decode("utf-8-sig"), newline="")
    assert [read.rstrip("\r\n") for read in documents] == [line.rstrip("\r\n") for line in lines]


def whole_text_corpus(path: Path, data: bytes) -> None:
    assert _documents(path, "files") == [data.decode("utf-8-sig")]


def folder(path: Path, parts: Sequence[bytes]) -> None:
    assert _documents(path) == [text for part in parts for text in _of_csv(part, None)]


# Pairs of words, definitions, test sets


def words(parsed: Iterable[str]) -> None:
    for word in parsed:
        assert isinstance(word, str)
        assert word.strip(" \t\r\n")
        word.encode()


def _pairs(parsed: lexicons.WordPairs, path: Path) -> None:
    words(parsed.left)
    words(parsed.right)
    assert len(parsed) > 0
    assert parsed.weight.dtype == np.float64
    assert np.isfinite(parsed.weight).all()
    if not once_in(8):
        return
    kept = path.with_name("kept.tsv")
    try:
        parsed.save(kept)
    except lx.InputError:
        return  # a tab or a new line in a word
    again = lexicons.read_pairs(kept)
    strip = " \t\r\n"
    assert [word.strip(strip) for word in parsed.left] == again.left, (parsed.left, again.left)
    assert [word.strip(strip) for word in parsed.right] == again.right
    assert (parsed.weight == again.weight).all()
    assert parsed.directed == again.directed


def pairs(path: Path, data: bytes) -> None:
    _pairs(lexicons.read_pairs(path), path)


def translations(path: Path, data: bytes) -> None:
    _pairs(lexicons.translations(path), path)


def paraphrases(path: Path, data: bytes) -> None:
    try:
        _pairs(lexicons.read_pairs(path), path)
    finally:
        _pairs(lexicons.paraphrases(path, "PPDB2.0Score"), path)


def definitions(path: Path, data: bytes) -> None:
    parsed = lexicons.definitions(path, quiet=True)
    for some in (parsed.strong, parsed.weak):
        words([*some.left, *some.right])
        assert (some.weight >= 1).all()
    assert parsed.rows >= parsed.words
    assert parsed.summary()


def rated(sets: list[RatedPairs]) -> None:
    for one in sets:
        assert len(one)
        assert np.isfinite(one.score).all()
        assert all([*one.left, *one.right])


def questions(sections: dict[str, list[Question]]) -> None:
    for asked in sections.values():
        assert asked
        for question in asked:
            words(question)


# Vectors and saved objects


def vectors(path: Path, data: bytes) -> None:
    parsed, matrix = word2vec.read(path, quiet=True)
    assert matrix.shape[0] == len(parsed) == len(set(parsed)) > 0
    assert matrix.dtype == np.float32
    assert np.isfinite(matrix).all()
    if path.suffix == ".vec":
        _check_text_vectors(data, *word2vec.read(path, binary=False, quiet=True))
    for binary in (False, True) if once_in(8) else ():
        kept = path.with_name("kept")
        try:
            word2vec.write(kept, parsed, matrix, binary, quiet=True)
        except lx.InputError:
            return  # a space in a word
        again, same = word2vec.read(kept, binary=binary, quiet=True)
        assert again == parsed
        assert (same == matrix).all()


def _check_text_vectors(data: bytes, parsed: list[str], matrix: np.ndarray[Any, Any]) -> None:
    """Each line ends with its numbers, whatever is before them."""
    if data.startswith(b"\x1f\x8b"):
        return
    lines = [line for line in data.removeprefix(b"\xef\xbb\xbf").split(b"\n") if line.strip()]
    for line, word, vector in zip(lines[len(lines) - len(parsed) :], parsed, matrix, strict=True):
        *start, end = line.rsplit(None, len(vector))[0:1], line.split()[-len(vector) :]
        assert start[0][0].decode() == word, (line, word)
        assert np.array_equal(np.array([float(number) for number in end]).astype(np.float32), vector), line


def model(folder: Path) -> None:
    fitted = lx.load(folder)
    repr(fitted)
    assert len(fitted.slices) == len(fitted.rows.slices)
    for language in fitted.languages:
        names = fitted.words(language)
        assert len(set(names)) == len(names)
        for key in fitted.rows.slices.keys:
            chosen = dict(zip(fitted.columns, key, strict=True))
            matrix = fitted.matrix(language, at=chosen)
            assert matrix.shape == (len(names), fitted.dimensions)
            if names and once_in(16):
                fitted.neighbors(names[0], k=2, language=language, at=chosen)
        fitted.contexts(language)
    fitted.graph.laplacian()
    assert isinstance(fitted.settings, dict)
    fitted.history.to_dict("records")
    if once_in(16):
        fitted.save(folder.with_name("again"))


def tokens(folder: Path) -> None:
    parsed = lx.Tokens(storage.load(folder, "tokens"))
    repr(parsed)
    for number in range(parsed.documents):
        vocabulary = parsed.vocabularies[parsed.languages[number]]
        [vocabulary.words[i] for i in parsed.document(number)]
    slices = parsed.slices(parsed.columns)
    total = 0
    for language in range(len(parsed.vocabularies)):
        total += int(parsed.counts(slices, language).sum())
    assert total == len(parsed)


def position(parsed: Position) -> None:
    assert isinstance(parsed.history, list)
    assert parsed.totals.shape == (3,)
    assert parsed.piece >= 0
    assert math.isfinite(parsed.seconds)


def outcome(parsed: Outcome) -> None:
    assert parsed.sums.ndim == 1
    assert parsed.sums.dtype == np.float64
    assert isinstance(parsed.seconds, float)
