"""Test sets of rated pairs and of analogies, and the vectors of a model that belong to their words.

Without a source, the sets that come with laplex are read (NOTICE says where they are from).
V words, D dimensions, n pairs or words of a test set.
"""

from __future__ import annotations

import csv
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from laplex.errors import InputError, quote
from laplex.fitting.held_out import Models, named_models
from laplex.model.vectors import Vectors, check_slice
from laplex.questions.cosine import By, directions
from laplex.runtime.display import say
from laplex.text.spelling import split_tag
from laplex.text.vocabulary import Vocabulary

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
    empty lines and lines that start with "#" are ignored. The first three columns of a frame are the words and a score.
    """
    source = SHIPPED / "similarity" if source is None else source
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
    where = f'the set "{name}"'
    if isinstance(source, (str, os.PathLike)):
        where = f'"{source}"'
        triples = _of_file(Path(source))
    elif hasattr(source, "columns"):
        triples = _of_tuples(where, zip(*(list(source[column]) for column in list(source.columns)[:3])))
    elif isinstance(source, Iterable):
        triples = _of_tuples(where, source)
    else:
        raise InputError(f"cannot read rated pairs from {type(source).__name__}: pass a path, a frame or tuples")
    rows = []
    for place, one, two, score in triples:
        if not isfinite(score):
            raise InputError(f"{where}, {place}: the score of {one} and {two} is {score}")
        rows.append((one, two, score))
    if not rows:
        raise InputError(f"{where} has no pairs of words")
    left, right, scores = zip(*rows, strict=True)
    return RatedPairs(name, list(left), list(right), np.array(scores))


def _of_tuples(where: str, rows: Iterable[Any]) -> Iterator[tuple[str, str, str, float]]:
    """The number of each row, two words and a score."""
    for number, row in enumerate(rows, 1):
        try:
            one, two, score = row
            yield f"pair {number:,}", str(one), str(two), float(score)
        except (TypeError, ValueError):
            raise InputError(f"{where}, pair {number:,}: {row!r} is not two words and a score") from None


def _of_file(path: Path) -> Iterator[tuple[str, str, str, float]]:
    """The number of each line, two words and a score."""
    content = [(n, line) for n, line in enumerate(_lines(path), 1) if line.strip() and not line.startswith("#")]
    column = None  # of the score, as in the first line that has one
    for order, (number, line) in enumerate(content):
        fields = _split(path, number, line)
        here = next((i for i, field in enumerate(fields) if i > 1 and _is_number(field)), None)
        if order == 0 and here is None and len(fields) > 2:
            continue  # a header
        column = here if column is None else column
        if column is None or here != column or not all(fields[:2]):
            raise InputError(f'"{path}", line {number:,}: {line.strip()[:60]!r} is not a word, a word and a score')
        yield f"line {number:,}", fields[0], fields[1], float(fields[column])


def read_questions(source: Any = None) -> dict[str, list[Question]]:
    """Questions of analogy by section, from a file in Google's format or from such a dict of four-word tuples.

    A line is four words, of which the first is to the second as the third to the fourth; a line such as
    ": capital-world" begins a section.
    """
    source = SHIPPED / "google-analogies.txt" if source is None else source
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
    return {name: questions for name, questions in sections.items() if questions}


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


def _is_number(text: str) -> bool:
    try:
        float(text.replace("_", "?"))  # only Python allows it in numbers
    except ValueError:
        return False
    return True


def evaluated_models(models: Models, at: Mapping[str, Any] | None) -> dict[str, Vectors]:
    """Models by name, where one without slices may be compared with one that has them: one must have each column."""
    named = named_models(models)
    known = dict.fromkeys(column for model in named.values() for column in model.columns)
    for column in check_slice(at):
        if column not in known:
            raise InputError(f'vectors do not vary by "{column}"; they vary by: {quote(known) or "nothing"}')
    return named


@dataclass(frozen=True, eq=False)
class WordVectors:
    """The unit vectors of one language in one slice, in the order of the vocabulary."""

    vocabulary: Vocabulary
    unit: NDArray[np.float32]  # (V, D), perhaps only of the most frequent words; zero vectors stay zero

    @classmethod
    def of(
        cls, model: Vectors, by: By, language: str | None, at: Mapping[str, Any] | None, most: int | None, name: str
    ) -> WordVectors:
        """The vectors of a model's words, of its contexts, or their sums; only those of the `most` frequent words."""
        if by not in get_args(By):
            raise InputError(f'by="{by}": write one of {quote(get_args(By))}')
        if most is not None and most < 1:
            raise InputError(f"most={most} must be at least 1, or None for all words")
        at = {column: value for column, value in (at or {}).items() if column in model.columns}
        index = model.language(language)
        vocabulary = model.rows.vocabularies[index]
        if not len(vocabulary):
            raise InputError(f'the language "{vocabulary.language}" has no words')
        slices = model.chosen(at)
        if len(slices) > 1 and by != "contexts":
            missing = quote(f'"{column}"' for column in model.columns if column not in at)
            raise InputError(
                f"{name} has {len(slices)} slices: say which by a value of {missing}, such as "
                f"{quote((dict(zip(model.columns, model.rows.slices.keys[s], strict=True)) for s in slices), 3)}"
            )
        unit = np.nan_to_num(directions(model, range(len(vocabulary))[:most], index, slices[0], by))
        return cls(vocabulary, unit)

    def __len__(self) -> int:
        return len(self.unit)

    def spelling(self, word: str) -> str:
        """A word as the vocabulary would write it."""
        return word.lower() if self.vocabulary.is_lower_case and not split_tag(word)[1] else word

    def find(self, words: Iterable[str]) -> NDArray[np.int64]:
        """(n) The ids of words, −1 for those without a vector. If words have tags, that of the most frequent form."""
        known = self.vocabulary
        spelled = [self.spelling(word) for word in words]
        ids = known.ids([word if word in known else next(iter(known.tagged(word)), word) for word in spelled])
        return np.where(ids < len(self), ids, -1)


def say_lowered(tables: Iterable[WordVectors], words: Iterable[str], quiet: bool) -> None:
    """Say how many words of the test sets are looked up without their capitals, or with the tag of a part of speech."""
    tables, different = list(tables), set(words)
    lowered = sum(word != word.lower() for word in different)
    if lowered and any(table.vocabulary.is_lower_case for table in tables):
        say(f"{lowered:,} words with capitals are looked up in lower case, as the vocabulary is", quiet=quiet)
    tagged = sum(any(word not in t.vocabulary and t.vocabulary.tagged(word) for t in tables) for word in different)
    if tagged:
        say(f"{tagged:,} words are looked up with the part of speech that is their most frequent one", quiet=quiet)
