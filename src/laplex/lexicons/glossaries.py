"""Words and their definitions, from wherever a user has them.

A file (CSV, TSV, JSON lines, Parquet), a frame, a dict, tuples, or a list of several of these come in; a Polars frame
of the columns word and definition goes out, one row for each definition.
"""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from laplex import formats
from laplex.errors import InputError, quote
from laplex.lexicons.tables import is_frame
from laplex.sources import Files, Frame, Source

COLUMNS = ("word", "definition")


def read(source: Any, encoding: str) -> tuple[str, pl.DataFrame]:
    """The name of the source, for messages, and its definitions."""
    if isinstance(source, Sequence) and not isinstance(source, str) and source and all(map(_is_whole, source)):
        parts = [_read(part, encoding) for part in source]
        return " + ".join(name for name, _ in parts), pl.concat([rows for _, rows in parts])
    return _read(source, encoding)


def _is_whole(item: Any) -> bool:
    """Whether an item of a list is a source of its own, rather than a word with its definition."""
    if isinstance(item, (list, tuple)):
        return not any(isinstance(value, str) for value in item)
    return isinstance(item, (str, os.PathLike, Mapping)) or is_frame(item)


def _read(source: Any, encoding: str) -> tuple[str, pl.DataFrame]:
    if isinstance(source, (str, os.PathLike)):
        path = Path(source)
        name = f'"{path}"'
        pieces = _of_file(path, name, encoding)
    elif is_frame(source):
        name = "the frame"
        pieces = _of_source(Frame(source), name)
    elif isinstance(source, Mapping):
        name = "the dict"
        pieces = _of_tuples(_of_mapping(source), name)
    elif isinstance(source, Iterable) and not isinstance(source, bytes):
        name = "the list of definitions"
        pieces = _of_tuples(source, name)
    else:
        raise InputError(f"cannot read definitions from {type(source).__name__}: pass a path, a frame or tuples")
    rows = pl.concat([pl.DataFrame(schema=dict.fromkeys(COLUMNS, pl.String)), *pieces])
    if not len(rows):
        raise InputError(f"{name} has no definitions")
    return name, rows


def _of_file(path: Path, name: str, encoding: str) -> Iterator[pl.DataFrame]:
    kind = formats.name_of(path)
    if kind in ("parquet", "jsonl"):
        return _of_source(Files([path], encoding, "lines"), name)
    text = formats.of_files([Path("lines.txt")], encoding, "lines")  # whatever the ending of this one
    first = next((line for frame, _ in text.read(path, ["text"]) for line in frame["text"] if line.strip()), "")
    if set(COLUMNS) <= {field.strip().strip('"').lower() for field in re.split("[\t,;]", first)}:
        table = formats.of_files([Path("table.tsv" if "\t" in first else "table.csv")], encoding, "lines")
        names = table.columns(path)
        return (_named(frame, name) for frame, _ in table.read(path, _places(names, name)))
    if "\t" in first or kind != "csv":
        return _of_lines(path, name, text)
    return _of_commas(path, name, text)


def _of_lines(path: Path, name: str, text: formats.Format) -> Iterator[pl.DataFrame]:
    """A word, a tab, its definition."""
    done = 0
    for frame, _ in text.read(path, ["text"]):
        whole = frame["text"]
        parts = whole.str.strip_chars("\r\n").str.splitn("\t", 2).struct.unnest()
        parts.columns = list(COLUMNS)
        bad = (parts["definition"].is_null() & (whole.str.strip_chars() != "")).arg_true()
        if len(bad):
            shown = whole[int(bad[0])].strip()[:60]
            raise InputError(f"{name}, line {done + bad[0] + 1:,}: {shown!r} is not a word, a tab and its definition")
        yield parts.drop_nulls("definition")
        done += len(frame)


def _of_commas(path: Path, name: str, text: formats.Format) -> Iterator[pl.DataFrame]:
    """A word, a comma, its definition, which may be quoted and may have further commas."""
    reader = csv.reader((line for frame, _ in text.read(path, ["text"]) for line in frame["text"].to_list()))
    words, definitions = [], []
    try:
        for fields in reader:
            if len(fields) == 1:
                raise InputError(
                    f"{name}, line {reader.line_num:,}: {fields[0][:60]!r} is not a word, a comma and its definition"
                )
            if fields:
                words.append(fields[0])
                definitions.append(",".join(fields[1:]))
    except csv.Error as error:
        raise InputError(f"{name}, up to line {reader.line_num:,}: {error}") from None
    yield pl.DataFrame({"word": words, "definition": definitions}, schema=dict.fromkeys(COLUMNS, pl.String))


def _of_source(source: Source, name: str) -> Iterator[pl.DataFrame]:
    places = _places(source.columns, name)
    return (_named(batch.frame, name) for batch in source.batches(places))


def _places(names: Sequence[str], name: str) -> list[str]:
    """The columns called word and definition, or the only two there are."""
    known = {column.strip().lower(): column for column in names}
    if set(COLUMNS) <= set(known):
        return [known[column] for column in COLUMNS]
    if len(names) != 2:
        raise InputError(f'{name} has no columns "word" and "definition"; its columns are: {quote(names, 30)}')
    return list(names)


def _named(frame: pl.DataFrame, name: str) -> pl.DataFrame:
    for column in frame.get_columns():
        if isinstance(column.dtype, (pl.List, pl.Struct, pl.Binary, pl.Object, pl.Array)):
            raise InputError(f'{name}: column "{column.name}" holds {column.dtype}, not text')
    return pl.DataFrame([column.cast(pl.String).alias(new) for column, new in zip(frame.get_columns(), COLUMNS)])


def _of_mapping(source: Mapping[Any, Any]) -> Iterator[tuple[Any, Any]]:
    for word, definitions in source.items():
        if isinstance(definitions, (list, tuple, set, frozenset)):
            yield from ((word, definition) for definition in definitions)
        else:
            yield word, definitions


def _of_tuples(source: Iterable[Any], name: str) -> Iterator[pl.DataFrame]:
    words, definitions = [], []
    for number, item in enumerate(source, 1):
        try:
            word, definition = item
            if not (isinstance(word, str) and isinstance(definition, str)):
                raise TypeError
        except (TypeError, ValueError):
            raise InputError(f"{name}, entry {number:,}: {repr(item)[:60]} is not a word and its definition") from None
        words.append(word)
        definitions.append(definition)
    yield pl.DataFrame([formats.series_of("word", words, name), formats.series_of("definition", definitions, name)])
