"""Lists of words in text files: a pair a line, a word and several others, a table with a header, or PPDB's format.

    dog hound                     the words may be separated by tabs, commas or spaces: the first line tells
    dog<tab>hound puppy           MUSE-like: a word and all that belong to it
    dog,hound,0.5                 with a weight
    word1,word2,weight            a header; then fields are taken as they are, and may be quoted
    [NN] ||| dog ||| hound ||| PPDB2.0Score=4.1 … ||| …

Blank lines and lines that begin with # are left out (below a header only blank ones, since "#metoo" may be a word),
and every error names its line.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

import numpy as np
import polars as pl

from laplex import formats
from laplex.errors import InputError, quote
from laplex.lexicons.tables import Columns, columns_of
from laplex.lexicons.wordpairs import WordPairs
from laplex.progress import bar

Line = tuple[int, str]
Row = tuple[int, list[str]]

BARS = "|||"
BLANKS = " \t\r\n"  # other white space is within words: PPDB and MUSE have such
WORD = f"[^{BLANKS}]+"
COMMENT = pl.col("text").str.starts_with("#")


def pairs_of(path: Path, separator: str | None, weights: bool | None, encoding: str) -> WordPairs:
    """The pairs in a list. `separator` and `weights` are as in `read_pairs`."""
    name = f'"{path}"'
    parts = batches(path, encoding)
    first = next((part for part in parts if len(part)), None)
    if first is None:
        raise InputError(f"{name} has no pairs of words")
    start = first["text"][0]
    if BARS in start:
        return _paraphrases(name, _numbered(chain([first], parts)), None)
    found = pl.concat([first, *parts])
    mark = next((mark for mark in "\t," if mark in start), " ") if separator is None else separator
    if len(mark) != 1:
        raise InputError(f"separator={mark!r}: give one character")
    header = columns_of(
        [field.strip(BLANKS).strip('"') for field in re.split("[ \t]+" if mark == " " else mark, start)]
    )
    if header is not None:
        return _of_table(name, found, mark, header)
    return _of_list(name, _values(name, found.filter(~COMMENT), mark), weights)


def paraphrases_of(path: Path, score: str, encoding: str) -> WordPairs:
    """The pairs in a file of PPDB's, weighted by one of its features."""
    return _paraphrases(f'"{path}"', lines(path, encoding), score)


def batches(path: Path, encoding: str) -> Iterator[pl.DataFrame]:
    """number, text: the lines of a file from the first that is no comment, without blank ones, some at a time."""
    format = formats.of_files([Path("a list.txt")], encoding, "lines")  # whatever the ending of this one
    done = 0
    begun = False
    with bar(f"reading {path.name}") as progress:
        for frame, share in format.read(path, ["text"]):
            part = frame.with_row_index("number", done + 1).filter(pl.col("text").str.strip_chars(BLANKS) != "")
            if not begun:
                part = part.filter((~COMMENT).cast(pl.Int8).cum_max() == 1)
            begun = begun or len(part) > 0
            yield part
            done += len(frame)
            progress.update(share, f"{done:,} lines")


def lines(path: Path, encoding: str) -> Iterator[Line]:
    """The lines of a file with something in them that is no comment, and their numbers."""
    return _numbered(batches(path, encoding))


def _numbered(parts: Iterable[pl.DataFrame]) -> Iterator[Line]:
    for part in parts:
        yield from part.filter(~COMMENT).iter_rows()


def _values(name: str, found: pl.DataFrame, mark: str) -> pl.DataFrame:
    """number, values: the words of each line of a list without a header, and its weight if it has one."""
    if mark not in " \t":
        rows = [(number, [field for field in fields if field]) for number, fields in _quoted(name, found, mark)]
        return pl.DataFrame(rows, {"number": pl.UInt32, "values": pl.List(pl.String)}, orient="row")
    text = pl.col("text")
    if mark == " ":
        return found.select("number", text.str.extract_all(WORD).alias("values"))
    field = text.str.splitn("\t", 2).struct
    start = field[0].str.strip_chars(BLANKS)
    rest = field[1].fill_null("").str.extract_all(WORD)
    whole = pl.when(start == "").then(rest).otherwise(pl.concat_list(start, rest))
    return found.select("number", whole.alias("values"))


def _quoted(name: str, found: pl.DataFrame, mark: str) -> Iterator[Row]:
    """Fields between marks, which may be quoted."""
    numbers = found["number"].to_list()
    reader = csv.reader(found["text"].to_list(), delimiter=mark, skipinitialspace=True, strict=True)
    try:
        for fields in reader:
            yield numbers[reader.line_num - 1], [field.strip(BLANKS) for field in fields]
    except csv.Error as error:
        raise InputError(f"{name}, up to line {numbers[max(reader.line_num, 1) - 1]:,}: {error}") from None


def _of_table(name: str, found: pl.DataFrame, mark: str, header: Columns) -> WordPairs:
    rows = _values(name, found, mark).iter_rows() if mark == " " else _quoted(name, found, mark)
    width = len(next(rows)[1])
    left: list[str] = []
    right: list[str] = []
    weight: list[float] = []
    for number, fields in rows:
        if len(fields) != width:
            raise InputError(f"{name}, line {number:,}: {len(fields)} values where the header has {width} columns")
        one, two = fields[header.one], fields[header.two]
        if not one or not two:
            raise InputError(f"{name}, line {number:,}: a word is missing")
        left.append(one)
        right.append(two)
        weight.append(1.0 if header.weight is None else _weight(name, number, fields[header.weight], one, two))
    return _checked(WordPairs(name, left, right, np.array(weight), header.directed))


def _of_list(name: str, rows: pl.DataFrame, weights: bool | None) -> WordPairs:
    values = pl.col("values")
    rows = rows.with_columns(size=values.list.len(), last=values.list.last())
    long = rows.filter(pl.col("size") > 2)
    if weights is None:
        weights = 2 * long["last"].cast(pl.Float64, strict=False).count() >= len(long)
    weighed = (pl.col("size") > 2) & weights
    words = pl.when(weighed).then(values.list.head(values.list.len() - 1)).otherwise(values)
    number = pl.when(weighed).then("last").otherwise(pl.lit("1")).cast(pl.Float64, strict=False)
    rows = rows.with_columns(words.alias("values"), weight=number)
    for line, given, size, last, weight in rows.filter(
        (pl.col("size") < 2) | ~pl.col("weight").is_finite().fill_null(False)
    ).iter_rows():
        if size < 2:
            raise InputError(f"{name}, line {line:,}: {' '.join(given)[:60]!r} is not two words")
        _weight(name, line, last if weight is None else str(weight), given[0], given[1])
        raise InputError(f"{name}, line {line:,}: {last[:40]!r} is not a weight")  # if Polars alone thinks so
    pairs = rows.select(values.list.first().alias("left"), values.list.slice(1).alias("right"), "weight").explode(
        "right"
    )
    return _checked(WordPairs(name, pairs["left"].to_list(), pairs["right"].to_list(), pairs["weight"].to_numpy()))


def _checked(pairs: WordPairs) -> WordPairs:
    if not len(pairs):
        only = f", only {pairs.skipped:,} phrases" if pairs.skipped else ""
        raise InputError(f"{pairs.name} has no pairs of words{only}")
    return pairs


def _weight(name: str, number: int, value: str, one: str, two: str) -> float:
    try:
        weight = float(value.replace("_", "?"))  # which Python alone allows in numbers
    except ValueError:
        raise InputError(
            f"{name}, line {number:,}: {value[:40]!r} is not a weight. If this list has no weights, read it by "
            "read_pairs(…, weights=False)"
        ) from None
    if not math.isfinite(weight):
        raise InputError(f"{name}, line {number:,}: the weight of {one} and {two} is {weight}")
    return weight


def _paraphrases(name: str, found: Iterable[Line], score: str | None) -> WordPairs:
    """Single words only; phrases, and words whose score is not known, are skipped and counted."""
    left: list[str] = []
    right: list[str] = []
    weights: list[float] = []
    skipped = 0
    for number, line in found:
        fields = [field.strip(BLANKS) for field in line.split(BARS)]
        if fields[0].startswith("["):
            fields.pop(0)  # the category of the phrase
        if len(fields) < 2 or not fields[0] or not fields[1]:
            raise InputError(f"{name}, line {number:,}: {line.strip()[:60]!r} is not a phrase ||| its paraphrase")
        one, two = fields[:2]
        weight = 1.0 if score is None else _feature(name, number, fields[2:3], score)
        if weight is None or " " in one or " " in two:
            skipped += 1
            continue
        left.append(one)
        right.append(two)
        weights.append(weight)
    return _checked(WordPairs(name, left, right, np.array(weights), skipped=skipped))


def _feature(name: str, number: int, fields: list[str], score: str) -> float | None:
    """The value of a feature, None if it is not known (NA)."""
    features = dict(feature.rpartition("=")[::2] for field in fields for feature in field.split())
    if score not in features:
        raise InputError(
            f'{name}, line {number:,}: there is no feature "{score}"; there are: {quote(features) or "none"}'
        )
    return None if features[score] == "NA" else _weight(name, number, features[score], "a word", "its paraphrase")
