"""Test sets of rated pairs and of analogies, and Spearman's correlation with its bootstrap.

Without a source, the sets that come with laplex are read (NOTICE says where they are from). In a bootstrap, pairs are
sorted once; the ranks within a resample then follow from cumulative counts of how often each pair was drawn, ties
sharing the mean of their ranks. n pairs, B resamples, G different values.
"""

from __future__ import annotations

import csv
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from laplex.errors import InputError, quote

SHIPPED = Path(__file__).with_name("data")
ENDINGS = (".tsv", ".txt", ".csv")
Question = tuple[str, str, str, str]


@dataclass(frozen=True, eq=False)
class RatedPairs:
    """Pairs of words with the score that people gave to their similarity."""

    name: str
    left: list[str]
    right: list[str]
    score: NDArray[np.float64]  # (n)

    def __len__(self) -> int:
        return len(self.left)


def read_rated_pairs(source: Any = None) -> list[RatedPairs]:
    """The sets in a folder (.tsv, .txt, .csv), a file, a frame, or in a dict of those by name.

    A line is a word, a word and a score, separated by tabs, commas or spaces; columns between or after them, a header,
    empty lines and lines that start with "#" are ignored. A frame has the words in its first two columns and the
    score in its third.

    >>> [(rated.name, len(rated)) for rated in read_rated_pairs()]
    [('WordSim-353', 353)]
    """
    if source is None:
        source = SHIPPED / "similarity"
    if isinstance(source, Mapping):
        if not source:
            raise InputError("there is no set of rated pairs")
        return [_rated(str(name), one) for name, one in source.items()]
    if not isinstance(source, (str, os.PathLike)):
        return [_rated("set", source)]
    path = Path(source)
    if not path.is_dir():
        return [_rated(path.stem, path)]
    files = sorted(file for file in path.iterdir() if file.suffix.lower() in ENDINGS)
    if not files:
        raise InputError(f'the folder "{path}" has no {quote(ENDINGS)} file')
    stems = Counter(file.stem for file in files)
    return [_rated(file.stem if stems[file.stem] == 1 else file.name, file) for file in files]


def _rated(name: str, source: Any) -> RatedPairs:
    """One set, from a file, a frame or tuples."""
    if isinstance(source, (str, os.PathLike)):
        where = f'"{source}"'
        triples: Iterable[tuple[str, str, float]] = _of_file(Path(source))
    elif hasattr(source, "columns"):
        where = f'the set "{name}"'
        triples = _of_tuples(where, zip(*(list(source[column]) for column in list(source.columns)[:3])))
    elif isinstance(source, Iterable):
        where = f'the set "{name}"'
        triples = _of_tuples(where, source)
    else:
        raise InputError(f"cannot read rated pairs from {type(source).__name__}: pass a path, a frame or tuples")
    rows = list(triples)
    if not rows:
        raise InputError(f"{where} has no pairs of words")
    return RatedPairs(name, [r[0] for r in rows], [r[1] for r in rows], np.array([r[2] for r in rows]))


def _of_tuples(where: str, rows: Iterable[Any]) -> Iterator[tuple[str, str, float]]:
    """Two words and a score from each row; `where` is for errors."""
    for number, row in enumerate(rows, 1):
        try:
            one, two, score = row
            score = float(score)
        except (TypeError, ValueError):
            raise InputError(f"{where}, pair {number:,}: {row!r} is not two words and a score") from None
        if not isfinite(score):
            raise InputError(f"{where}, pair {number:,}: the score of {one} and {two} is {score}")
        yield str(one), str(two), score


def _of_file(path: Path) -> Iterator[tuple[str, str, float]]:
    """Two words and a score from each line of a file."""
    content = [(n, line) for n, line in enumerate(_lines(path), 1) if line.strip() and not line.startswith("#")]
    column = None  # of the score, as in the first line that has one
    for order, (number, line) in enumerate(content):
        fields = _split(path, number, line)
        here = next((i for i, field in enumerate(fields) if i > 1 and _number(field) is not None), None)
        if order == 0 and here is None and len(fields) > 2:
            continue  # a header
        column = here if column is None else column
        if column is None or here != column or not all(fields[:2]):
            raise InputError(f'"{path}", line {number:,}: {line.strip()[:60]!r} is not a word, a word and a score')
        score = float(fields[column])
        if not isfinite(score):
            raise InputError(f'"{path}", line {number:,}: the score of {fields[0]} and {fields[1]} is {score}')
        yield fields[0], fields[1], score


@dataclass(frozen=True)
class Section:
    """Questions of one kind: as the first word is to the second, so is the third to the fourth."""

    name: str
    questions: list[Question]

    @property
    def kind(self) -> str:
        """Syntactic if the name begins with "gram", as Google's sections of grammar do, else semantic."""
        return "syntactic" if self.name.startswith("gram") else "semantic"


def read_questions(source: Any = None) -> list[Section]:
    """Questions of analogy from a file in Google's format, or from a dict of four-word tuples by section.

    A line is four words; a line such as ": capital-world" begins a section.

    >>> sections = read_questions()
    >>> len(sections), sum(len(section.questions) for section in sections)
    (14, 19544)
    """
    if source is None:
        source = SHIPPED / "google-analogies.txt"
    sections: dict[str, list[Question]] = {}
    if isinstance(source, (str, os.PathLike)):
        name, path = Path(source).stem, Path(source)
        for number, line in enumerate(_lines(path), 1):
            if line.startswith(":"):
                name = line[1:].strip()
            elif line.strip() and not line.startswith("#"):
                where = f'"{path}", line {number:,}: {line.strip()[:60]!r}'
                sections.setdefault(name, []).append(_question(where, line.split()))
    elif isinstance(source, Mapping):
        for name, rows in source.items():
            sections[str(name)] = [_question(f'section "{name}": {row!r}', row) for row in rows]
    else:
        raise InputError(f"cannot read questions from {type(source).__name__}: pass a path, or tuples by section")
    if not any(sections.values()):
        raise InputError(f"there are no questions in {source!r}")
    return [Section(name, questions) for name, questions in sections.items() if questions]


def _question(where: str, words: Sequence[Any]) -> Question:
    if isinstance(words, str) or len(words) != 4:
        raise InputError(f"{where} is not four words")
    one, two, three, four = map(str, words)
    return one, two, three, four


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8-sig").split("\n")
    except OSError as error:
        raise InputError(f'cannot read "{path}": {error.strerror or error}') from None
    except UnicodeDecodeError as error:
        raise InputError(f'"{path}" is not utf-8: {error}') from None


def _split(path: Path, number: int, line: str) -> list[str]:
    """The fields of a line, separated by tabs, commas or spaces."""
    if "\t" in line:
        return [field.strip() for field in line.split("\t")]
    if "," in line:
        try:
            return [field.strip() for field in next(csv.reader([line], skipinitialspace=True))]
        except csv.Error as error:
            raise InputError(f'"{path}", line {number:,}: {error}') from None
    return line.split()


def _number(text: str) -> float | None:
    try:
        return float(text.replace("_", "?"))  # only Python allows it in numbers
    except ValueError:
        return None


Floats = NDArray[np.float64]
COUNTS_IN_MEMORY = 1 << 19


def spearman(one: Floats, two: Floats) -> float:
    """Spearman's correlation; NaN if there are fewer than two pairs, or one of the lists is constant.

    >>> spearman(np.array([1.0, 2.0, 3.0]), np.array([2.0, 2.0, 9.0]))
    0.8660254037844387
    """
    return float(_weighted_spearman(one, two, np.ones((1, len(one))))[0]) if len(one) else float("nan")


def bootstrap_spearman(one: Floats, two: Floats, times: int, seed: int | list[int]) -> Floats:
    """(B) Spearman's correlation in resamples of the pairs; NaN where all values of a resample are equal."""
    size = len(one)
    if not size:
        return np.full(times, np.nan)
    random = np.random.default_rng(seed)
    step = max(1, COUNTS_IN_MEMORY // size)
    batches = []
    for start in range(0, times, step):
        rows = min(step, times - start)
        draws = random.integers(0, size, (rows, size)) + size * np.arange(rows)[:, None]
        counts = np.bincount(draws.reshape(-1), minlength=rows * size).reshape(rows, size)
        batches.append(_weighted_spearman(one, two, counts.astype(np.float64)))
    return np.concatenate(batches) if batches else np.empty(0)


def _weighted_spearman(one: Floats, two: Floats, counts: Floats) -> Floats:
    """(B) The correlation of ranks if pair i occurs `counts[b, i]` times."""
    middle = (len(one) + 1) / 2  # the mean of the ranks, whatever the ties
    first, second = _ranks(one, counts) - middle, _ranks(two, counts) - middle
    weighted = counts * first
    covariance = np.einsum("bn,bn->b", weighted, second)
    variance = np.einsum("bn,bn->b", weighted, first) * np.einsum("bn,bn,bn->b", counts, second, second)
    with np.errstate(invalid="ignore"):
        correlation: Floats = covariance / np.sqrt(variance)
    return correlation


def _ranks(values: Floats, counts: Floats) -> Floats:
    """(B, n) The rank of each pair's value in each resample."""
    order = np.argsort(values, kind="stable")
    new = np.concatenate([[True], np.diff(values[order]) != 0])
    group = np.empty(len(values), np.int64)
    group[order] = np.cumsum(new) - 1
    share = np.add.reduceat(counts[:, order], np.flatnonzero(new), axis=1)  # (B, G)
    ranks: Floats = (np.cumsum(share, axis=1) - (share - 1) / 2)[:, group]
    return ranks
