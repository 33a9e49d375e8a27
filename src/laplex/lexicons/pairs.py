"""Pairs of words from lists, tables, graphs, dicts and tuples, and lists of a known kind such as synonyms.

    dog hound                     the words may be separated by tabs, commas or spaces: the first line tells
    dog<tab>hound puppy           a word and all that belong to it
    dog,hound,0.5                 with a weight
    word1,word2,weight            a header; the fields below it may be quoted
    [NN] ||| dog ||| hound ||| PPDB2.0Score=4.1 … ||| …

Blank lines and lines that begin with # are left out (below a header only blank ones, since "#metoo" may be a word).
Every error names its line.
"""

from __future__ import annotations

import csv
import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from laplex.errors import InputError, quote
from laplex.lexicons.wordpairs import WordPairs, not_empty
from laplex.runtime.display import bar
from laplex.text.formats import PlainText, format_name
from laplex.text.sources import Files, Frame, Source

WORD_COLUMNS = (("word1", "word2"), ("left", "right"), ("source", "target"), ("from", "to"))
WEIGHT_COLUMNS = ("weight", "score")
PPDB_SEPARATOR = "|||"
BLANKS = " \t\r\n"  # other white space occurs within words of PPDB and MUSE
_WORD = f"[^{BLANKS}]+"
_IS_COMMENT = pl.col("text").str.starts_with("#")
_NOT_READ = {
    ".tei": "pass its words as tuples, or as a table with the columns word1 and word2",
    ".xml": "pass its words as tuples, or as a table with the columns word1 and word2",
    ".graphml": "pass the graph that networkx.read_graphml reads from it",
    ".gml": "pass the graph that networkx.read_gml reads from it",
    ".edgelist": "pass the graph that networkx.read_edgelist reads from it",
}


def read_pairs(
    source: Any,
    *,
    separator: str | None = None,
    weights: bool | None = None,
    lowercase: bool = False,
    encoding: str = "utf-8",
) -> WordPairs:
    """Read pairs of words.

    Args:
        source: A file, a frame, a networkx graph, a dict, or an iterable of (word, word) or (word, word, weight).
            A line of a file is two words, or a word and several others, perhaps with a weight at the end, separated by
            tabs, commas or spaces; a first line may name the columns word1, word2 and weight in any order. PPDB's
            format, .parquet and .jsonl are read too.
        separator: The separator of a file, if its first line does not tell.
        weights: Whether lines end with a weight; by default they do if most of three values or more end with a number.
        lowercase: Make all words lower case, as `read` makes those of a corpus.
        encoding: The encoding of a file.

    Returns:
        The pairs with their weights, 1 where none is given.

    Example:
        >>> read_pairs([("dog", "hound"), ("hot", "cold", -1.0)])
        WordPairs of the list of pairs: 2 pairs
    """
    pairs = _pairs(source, separator, weights, encoding)
    if not lowercase:
        return pairs
    return replace(pairs, left=[word.lower() for word in pairs.left], right=[word.lower() for word in pairs.right])


def _pairs(source: Any, separator: str | None, weights: bool | None, encoding: str) -> WordPairs:
    if isinstance(source, WordPairs):
        return source
    if isinstance(source, (str, os.PathLike)):
        return _of_file(Path(source), separator, weights, encoding)
    if hasattr(source, "edges") and hasattr(source, "nodes"):
        return _of_networkx(source)
    if is_frame(source):
        return _of_source(Frame(source), "the frame")
    if isinstance(source, Mapping):
        return WordPairs.of("the dict", _of_mapping(source))
    if isinstance(source, Iterable):
        return WordPairs.of("the list of pairs", source)
    raise InputError(f"cannot read pairs of words from {type(source).__name__}: pass a path, a frame or tuples")


def _of_networkx(graph: Any) -> WordPairs:
    """The edges of a graph whose nodes are words, or have their words as the attribute "label"."""
    labels = {node: label for node, label in graph.nodes(data="label") if isinstance(label, str)}
    names = labels if len(labels) == len(graph) else {}
    edges = ((names.get(a, a), names.get(b, b), weight) for a, b, weight in graph.edges(data="weight", default=1.0))
    return WordPairs.of("the graph", edges, directed=bool(graph.is_directed()))


def _of_mapping(source: Mapping[Any, Any]) -> Iterator[tuple[Any, ...]]:
    """A word and its partner, its partners, or its partners with their weights."""
    for word, partners in source.items():
        if isinstance(partners, Mapping):
            yield from ((word, partner, weight) for partner, weight in partners.items())
        elif isinstance(partners, Iterable) and not isinstance(partners, (str, bytes)):
            yield from ((word, partner) for partner in partners)
        else:
            yield word, partners


def synonyms(source: Any, *, lowercase: bool = True, **options: Any) -> WordPairs:
    """Read words that mean the same.

    Args:
        source: Any source of `read_pairs`.
        lowercase: Make all words lower case.
        **options: Further options of `read_pairs`.

    Returns:
        The pairs with weight 1 or the weight of the list, none of them negative.

    Example:
        >>> synonyms([("dog", "hound")])
        WordPairs of the list of pairs: 1 pairs
    """
    pairs = read_pairs(source, lowercase=lowercase, **options)
    if (pairs.weight < 0).any():
        row = int((pairs.weight < 0).argmax())
        raise InputError(
            f"{pairs.name}: {pairs.left[row]} and {pairs.right[row]} have the weight {pairs.weight[row]:g}, so "
            "they are no synonyms: read the list by read_pairs, or as antonyms"
        )
    return pairs


def antonyms(source: Any, *, lowercase: bool = True, **options: Any) -> WordPairs:
    """Read words that mean the contrary, which the prior `Pairs` keeps unlike.

    Args:
        source: Any source of `read_pairs`.
        lowercase: Make all words lower case.
        **options: Further options of `read_pairs`.

    Returns:
        The pairs with weight −1 or minus the weight of the list.

    Example:
        >>> antonyms([("hot", "cold")]).to_frame()
          left right  weight
        0  hot  cold    -1.0
    """
    pairs = read_pairs(source, lowercase=lowercase, **options)
    return replace(pairs, weight=-np.abs(pairs.weight))


def paraphrases(source: Any, score: str | None = None, *, lowercase: bool = True, encoding: str = "utf-8") -> WordPairs:
    """Read paraphrases: a word and its paraphrases per line, or PPDB's format with ||| between its fields.

    Args:
        source: Any source of `read_pairs`. In plain lists no number is a weight.
        score: The feature of PPDB that is the weight, such as "PPDB2.0Score"; lines where it is NA are skipped.
        lowercase: Make all words lower case.
        encoding: The encoding of a file.

    Returns:
        The pairs of single words; phrases are skipped and counted.

    Example:
        >>> paraphrases({"dog": ["hound", "puppy"]})
        WordPairs of the dict: 2 pairs
    """
    if score is None:
        return read_pairs(source, separator=" ", weights=False, lowercase=lowercase, encoding=encoding)
    if not isinstance(source, (str, os.PathLike)):
        raise InputError(f'score="{score}" is a feature in a file of PPDB\'s: pass its path')
    path = Path(source)
    return read_pairs(_of_ppdb(f'"{path}"', lines(path, encoding), score), lowercase=lowercase)


def translations(source: Any, *, lowercase: bool = True, **options: Any) -> WordPairs:
    """Read words and their translations, such as MUSE's lists.

    Args:
        source: Any source of `read_pairs`.
        lowercase: Make all words lower case.
        **options: Further options of `read_pairs`.

    Returns:
        The pairs, words of the first language left.

    Example:
        >>> translations({"dog": ["Hund", "Rüde"]}).right
        ['hund', 'rüde']
    """
    return read_pairs(source, lowercase=lowercase, **options)


class PairColumns(NamedTuple):
    """The places of the words and the weight of a pair in a row."""

    one: int
    two: int
    weight: int | None
    directed: bool


def is_frame(source: Any) -> bool:
    """Whether a source is a pandas, polars or Arrow frame. The columns of a LazyFrame would be slow to ask for."""
    return isinstance(source, pl.LazyFrame) or hasattr(source, "columns") or hasattr(source, "__arrow_c_stream__")


def _pair_columns(names: Sequence[str]) -> PairColumns | None:
    """The columns of pairs by their names, None if these are not names of such columns.

    "left right" alone may be a pair of words: names other than word1 and word2 count only beside a weight.
    """
    known = [name.strip().lower() for name in names]
    if len(set(known)) < len(known):
        return None
    weight = next((known.index(name) for name in WEIGHT_COLUMNS if name in known), None)
    for one, two in WORD_COLUMNS:
        if one in known and two in known and (one == "word1" or weight is not None):
            return PairColumns(known.index(one), known.index(two), weight, one == "from")
    return None


def _of_source(source: Source, name: str) -> WordPairs:
    """The pairs in the rows of a source, by the names of its columns or else by their order."""
    columns = _pair_columns(source.columns)
    if columns is None:
        if len(source.columns) not in (2, 3):
            raise InputError(
                f"{name} has {len(source.columns)} columns ({quote(source.columns)}): a row is not two words and "
                "perhaps a weight. Name the columns word1, word2 and weight"
            )
        columns = PairColumns(0, 1, 2 if len(source.columns) == 3 else None, False)
    left: list[str] = []
    right: list[str] = []
    weight = [np.empty(0)]
    for batch in source.batches([source.columns[place] for place in columns[:3] if place is not None]):
        one, two, *rest = batch.frame.get_columns()
        left += _words(one, name, batch.first)
        right += _words(two, name, batch.first)
        weight.append(_weights(rest[0], name, batch.first) if rest else np.ones(len(one)))
    return not_empty(WordPairs(name, left, right, np.concatenate(weight), columns.directed))


def _words(values: pl.Series, name: str, first: int) -> list[str]:
    if values.dtype.is_integer() or isinstance(values.dtype, (pl.Categorical, pl.Enum)):
        values = values.cast(pl.String)
    if values.dtype not in (pl.String, pl.Null):
        raise InputError(f'{name}: column "{values.name}" holds {values.dtype}, not words')
    missing = (values.cast(pl.String).fill_null("").str.strip_chars() == "").arg_true()
    if len(missing):
        raise InputError(f'{name}, row {first + missing[0]:,}: there is no word in column "{values.name}"')
    return values.to_list()


def _weights(values: pl.Series, name: str, first: int) -> NDArray[np.float64]:
    if not (values.dtype.is_numeric() or values.dtype in (pl.String, pl.Null)):
        raise InputError(f'{name}: column "{values.name}" holds {values.dtype}, not weights')
    stripped = values.str.strip_chars() if values.dtype == pl.String else values
    numbers = stripped.cast(pl.Float64, strict=False)
    bad = (~numbers.is_finite().fill_null(False)).arg_true()
    if len(bad):
        raise InputError(f'{name}, row {first + bad[0]:,}: the weight in column "{values.name}" is {values[bad[0]]!r}')
    return numbers.to_numpy()


def _of_file(path: Path, separator: str | None, weights: bool | None, encoding: str) -> WordPairs:
    ending, name = path.suffix.lower(), f'"{path}"'
    if ending in _NOT_READ:
        raise InputError(f"laplex reads no {ending} files such as {name}: {_NOT_READ[ending]}")
    if format_name(path) in ("parquet", "jsonl"):
        return _of_source(Files([path], encoding), name)
    batches = _line_batches(path, encoding)
    first = next((batch for batch in batches if len(batch)), None)
    if first is None:
        raise InputError(f"{name} has no pairs of words")
    start = first["text"][0]
    if PPDB_SEPARATOR in start:
        return _of_ppdb(name, _without_comments(chain([first], batches)), None)
    table = pl.concat([first, *batches])
    mark = next((mark for mark in "\t," if mark in start), " ") if separator is None else separator
    if len(mark) != 1:
        raise InputError(f"separator={mark!r}: give one character")
    fields = re.split("[ \t]+" if mark == " " else re.escape(mark), start)
    header = _pair_columns([field.strip(BLANKS).strip('"') for field in fields])
    if header is not None:
        return _with_header(name, table, mark, header)
    return _without_header(name, _split_lines(name, table.filter(~_IS_COMMENT), mark), weights)


def lines(path: Path, encoding: str) -> Iterator[tuple[int, str]]:
    """The lines of a file that are neither blank nor comments, with their numbers."""
    return _without_comments(_line_batches(path, encoding))


def _line_batches(path: Path, encoding: str) -> Iterator[pl.DataFrame]:
    """number, text: the lines of a file that are not blank, in batches, from the first that is no comment."""
    done = 0
    begun = False
    with bar(f"reading {path.name}") as progress:
        for frame, share in PlainText(encoding).read(path, ["text"]):
            batch = frame.with_row_index("number", done + 1).filter(pl.col("text").str.strip_chars(BLANKS) != "")
            if not begun:
                batch = batch.filter((~_IS_COMMENT).cast(pl.Int8).cum_max() == 1)
            begun = begun or len(batch) > 0
            yield batch
            done += len(frame)
            progress.update(share, f"{done:,} lines")


def _without_comments(batches: Iterable[pl.DataFrame]) -> Iterator[tuple[int, str]]:
    for batch in batches:
        yield from batch.filter(~_IS_COMMENT).iter_rows()


def _split_lines(name: str, table: pl.DataFrame, mark: str) -> pl.DataFrame:
    """number, values: the words of each line of a list without a header, and its weight if it has one."""
    if mark not in " \t":
        rows = [(number, [field for field in fields if field]) for number, fields in _csv_rows(name, table, mark)]
        return pl.DataFrame(rows, {"number": pl.UInt32, "values": pl.List(pl.String)}, orient="row")
    text = pl.col("text")
    if mark == " ":
        return table.select("number", text.str.extract_all(_WORD).alias("values"))
    parts = text.str.splitn("\t", 2).struct
    word = parts[0].str.strip_chars(BLANKS)
    others = parts[1].fill_null("").str.extract_all(_WORD)
    values = pl.when(word == "").then(others).otherwise(pl.concat_list(word, others))
    return table.select("number", values.alias("values"))


def _csv_rows(name: str, table: pl.DataFrame, mark: str) -> Iterator[tuple[int, list[str]]]:
    """The fields of each line, which may be quoted."""
    numbers = table["number"].to_list()
    reader = csv.reader(table["text"].to_list(), delimiter=mark, skipinitialspace=True, strict=True)
    try:
        for fields in reader:
            yield numbers[reader.line_num - 1], [field.strip(BLANKS) for field in fields]
    except csv.Error as error:
        raise InputError(f"{name}, up to line {numbers[max(reader.line_num, 1) - 1]:,}: {error}") from None


def _with_header(name: str, table: pl.DataFrame, mark: str, header: PairColumns) -> WordPairs:
    rows = _split_lines(name, table, mark).iter_rows() if mark == " " else _csv_rows(name, table, mark)
    width = len(next(rows)[1])
    triples: list[tuple[str, str, float]] = []
    for number, fields in rows:
        if len(fields) != width:
            raise InputError(f"{name}, line {number:,}: {len(fields)} values where the header has {width} columns")
        one, two = fields[header.one], fields[header.two]
        if not one or not two:
            raise InputError(f"{name}, line {number:,}: a word is missing")
        weight = 1.0 if header.weight is None else _weight(name, number, fields[header.weight], one, two)
        triples.append((one, two, weight))
    return WordPairs.of(name, triples, directed=header.directed)


def _without_header(name: str, rows: pl.DataFrame, weights: bool | None) -> WordPairs:
    values = pl.col("values")
    rows = rows.with_columns(size=values.list.len(), last=values.list.last())
    long = rows.filter(pl.col("size") > 2)
    if weights is None:
        weights = 2 * long["last"].cast(pl.Float64, strict=False).count() >= len(long)
    weighted = (pl.col("size") > 2) & weights
    words = pl.when(weighted).then(values.list.head(values.list.len() - 1)).otherwise(values)
    number = pl.when(weighted).then("last").otherwise(pl.lit("1")).cast(pl.Float64, strict=False)
    rows = rows.with_columns(words.alias("values"), weight=number)
    bad = (pl.col("size") < 2) | ~pl.col("weight").is_finite().fill_null(False)
    for line, fields, size, last, weight in rows.filter(bad).iter_rows():
        if size < 2:
            raise InputError(f"{name}, line {line:,}: {' '.join(fields)[:60]!r} is not two words")
        _weight(name, line, last if weight is None else str(weight), fields[0], fields[1])
        raise InputError(f"{name}, line {line:,}: {last[:40]!r} is not a weight")  # for Polars, though for Python it is
    partners = values.list.slice(1).alias("right")
    pairs = rows.select(values.list.first().alias("left"), partners, "weight").explode("right")
    left, right = pairs["left"].to_list(), pairs["right"].to_list()
    return not_empty(WordPairs(name, left, right, pairs["weight"].to_numpy()))


def _weight(name: str, number: int, value: str, one: str, two: str) -> float:
    try:
        weight = float(value.replace("_", "?"))  # Python allows 1_000
    except ValueError:
        raise InputError(
            f"{name}, line {number:,}: {value[:40]!r} is not a weight. If this list has no weights, read it by "
            "read_pairs(…, weights=False)"
        ) from None
    if not math.isfinite(weight):
        raise InputError(f"{name}, line {number:,}: the weight of {one} and {two} is {weight}")
    return weight


def _of_ppdb(name: str, numbered: Iterable[tuple[int, str]], score: str | None) -> WordPairs:
    """Pairs of single words; phrases, and words whose score is not known, are skipped and counted."""
    triples: list[tuple[str, str, float]] = []
    skipped = 0
    for number, line in numbered:
        fields = [field.strip(BLANKS) for field in line.split(PPDB_SEPARATOR)]
        if fields[0].startswith("["):
            fields.pop(0)  # the category of the phrase
        if len(fields) < 2 or not fields[0] or not fields[1]:
            raise InputError(f"{name}, line {number:,}: {line.strip()[:60]!r} is not a phrase ||| its paraphrase")
        one, two = fields[:2]
        weight = 1.0 if score is None else _feature(name, number, fields[2:3], score)
        if weight is None or " " in one or " " in two:
            skipped += 1
        else:
            triples.append((one, two, weight))
    return WordPairs.of(name, triples, skipped=skipped)


def _feature(name: str, number: int, fields: list[str], score: str) -> float | None:
    """The value of a feature, None if it is not known (NA)."""
    features = dict(feature.rpartition("=")[::2] for field in fields for feature in field.split())
    if score not in features:
        raise InputError(
            f'{name}, line {number:,}: there is no feature "{score}"; there are: {quote(features) or "none"}'
        )
    return None if features[score] == "NA" else _weight(name, number, features[score], "a word", "its paraphrase")
