"""Test sets: pairs of words that people have rated, and questions of analogy.

Files, folders, frames or tuples come in, or None for the sets that come with laplex (NOTICE says where they are from);
RatedPairs and Questions go out. Anything malformed is an error that names the file and the line.
n pairs.
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
    """People found `left[i]` and `right[i]` alike by `score[i]`."""

    name: str
    left: list[str]
    right: list[str]
    score: NDArray[np.float64]  # (n)

    def __len__(self) -> int:
        return len(self.left)


def read_rated_pairs(source: Any = None) -> list[RatedPairs]:
    """The sets in a folder (.tsv, .txt, .csv), a file, a frame, or in a dict of those by name.

    A line is a word, a word and a score, separated by tabs, commas or spaces; columns between or after them, a header,
    empty lines and lines that start with "#" are passed over. A frame has the words in its first two columns and the
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
    content = [(n, line) for n, line in enumerate(_lines(path), 1) if line.strip() and not line.startswith("#")]
    place = None  # of the score, as in the first line that has one
    for order, (number, line) in enumerate(content):
        fields = _split(path, number, line)
        here = next((i for i, field in enumerate(fields) if i > 1 and _number(field) is not None), None)
        if order == 0 and here is None and len(fields) > 2:
            continue  # a header
        place = here if place is None else place
        if place is None or here != place or not all(fields[:2]):
            raise InputError(f'"{path}", line {number:,}: {line.strip()[:60]!r} is not a word, a word and a score')
        score = float(fields[place])
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
        """Google's sections of grammar have names that begin with "gram"."""
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
        return float(text.replace("_", "?"))  # which Python alone allows in numbers
    except ValueError:
        return None
