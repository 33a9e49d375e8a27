"""Strong and weak pairs of words from dictionary definitions, as in dict2vec.

Two words are a strong pair if each is in a definition of the other, a weak pair if only one is. The definitions of a
word in all sources are taken together. Let n(w, x) be the number of different definitions of w that contain x. The
weight of a strong pair is the smaller of n(w, x) and n(x, w), that of a weak pair is n(w, x): the number of definitions
that agree.
"""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from laplex.errors import InputError, quote
from laplex.lexicons.pairs import is_frame, lines
from laplex.lexicons.wordpairs import WordPairs
from laplex.runtime.display import bar
from laplex.text import formats
from laplex.text.sources import Files, Frame, Source
from laplex.text.stop_words import stop_words
from laplex.text.tokenizer import Rule, Tokenizer

COLUMNS = ("word", "definition")
ROWS_PER_BATCH = 8192  # definitions that are tokenized at once
_SCHEMA = dict.fromkeys(COLUMNS, pl.String)


@dataclass(frozen=True, eq=False)
class Definitions:
    """Pairs of words from definitions, made by `lx.lexicons.definitions`.

    Attributes:
        strong: The strong pairs, each in the order of the alphabet.
        weak: The weak pairs, each with the defined word left.
        rows: The number of definitions that were read.
        words: The number of words that are defined.
        several: The number of definitions that do not define a single word.
        repeated: The number of definitions that repeat another.
    """

    strong: WordPairs
    weak: WordPairs
    rows: int
    words: int
    several: int
    repeated: int

    @property
    def skipped(self) -> int:
        """The number of definitions that were not used."""
        return self.several + self.repeated

    def summary(self) -> str:
        """All counts.

        Returns:
            Four lines of text: definitions and words, skipped definitions, strong pairs, weak pairs.

        Example:
            print(lx.lexicons.definitions("definitions.tsv").summary())
        """
        return (
            f"{self.rows:,} definitions, of {self.words:,} words\n"
            f"{self.skipped:,} skipped ({self.several:,} of more than one word, {self.repeated:,} repeated)\n"
            f"{len(self.strong):,} strong pairs\n"
            f"{len(self.weak):,} weak pairs"
        )

    def __repr__(self) -> str:
        return f"Definitions: {len(self.strong):,} strong and {len(self.weak):,} weak pairs"


def definitions(
    source: Any,
    *,
    language: str = "en",
    stop_words: str | Iterable[str] | None = None,
    min_length: int = 2,
    tokenizer: Rule = None,
    lowercase: bool = True,
    encoding: str = "utf-8",
    quiet: bool = False,
) -> Definitions:
    """Make strong and weak pairs of words from their definitions.

    Args:
        source: A file with the columns word and definition (CSV, TSV, JSON lines, each also .gz and .zst, or Parquet),
            or with two columns without names; a frame; a dict; (word, definition) tuples; or a list of such sources.
        language: The language whose stop words are left out.
        stop_words: Words to leave out instead: a list, or a file with one word per line.
        min_length: Shorter words are left out.
        tokenizer: As in `read`: the words should be the same as those of the corpus.
        lowercase: As in `read`.
        encoding: The encoding of a file.
        quiet: Show no progress.

    Returns:
        The strong and the weak pairs.

    Example:
        >>> pairs = definitions({"car": "a vehicle", "vehicle": "a car or a ship", "ship": "it sails"})
        >>> pairs.strong.to_frame()
          left    right  weight
        0  car  vehicle     1.0
        >>> pairs.weak.to_frame()
              left  right  weight
        0     ship  sails     1.0
        1  vehicle   ship     1.0
    """
    ignored = _ignored_words(language, stop_words)
    name, rows = _read_sources(source, encoding)
    unique = rows.fill_null("").unique(maintain_order=True)
    uses, words, single = _uses(unique, Tokenizer(tokenizer, lowercase), ignored, min_length, quiet)
    strong, weak = _strong_and_weak(uses, name)
    return Definitions(
        strong=strong,
        weak=weak,
        rows=len(rows),
        words=words,
        several=len(unique) - single,
        repeated=len(rows) - len(unique),
    )


def _ignored_words(language: str, words: str | os.PathLike[str] | Iterable[str] | None) -> frozenset[str]:
    if words is None:
        return stop_words(language)
    if isinstance(words, (str, os.PathLike)):
        return frozenset(line.strip() for _, line in lines(Path(words), "utf-8"))
    words = list(words)
    for word in words:
        if not isinstance(word, str):
            raise InputError(f"stop_words= holds {word!r}, which is not a word")
    return frozenset(words)


def _read_sources(source: Any, encoding: str) -> tuple[str, pl.DataFrame]:
    """The name of a source, or of several, for messages, and its words and definitions."""
    if isinstance(source, Sequence) and not isinstance(source, str) and source and all(map(_is_source, source)):
        parts = [_read(part, encoding) for part in source]
        return " + ".join(name for name, _ in parts), pl.concat([rows for _, rows in parts])
    return _read(source, encoding)


def _is_source(item: Any) -> bool:
    """Whether an item of a list is a source itself, rather than a word with its definition."""
    if isinstance(item, (list, tuple)):
        return not any(isinstance(value, str) for value in item)
    return isinstance(item, (str, os.PathLike, Mapping)) or is_frame(item)


def _read(source: Any, encoding: str) -> tuple[str, pl.DataFrame]:
    if isinstance(source, (str, os.PathLike)):
        name = f'"{Path(source)}"'
        frames = _of_file(Path(source), name, encoding)
    elif is_frame(source):
        name = "the frame"
        frames = _of_source(Frame(source), name)
    elif isinstance(source, Iterable) and not isinstance(source, bytes):
        name = "the dict" if isinstance(source, Mapping) else "the list of definitions"
        frames = _of_tuples(_of_mapping(source) if isinstance(source, Mapping) else source, name)
    else:
        raise InputError(f"cannot read definitions from {type(source).__name__}: pass a path, a frame or tuples")
    rows = pl.concat([pl.DataFrame(schema=_SCHEMA), *frames])
    if not len(rows):
        raise InputError(f"{name} has no definitions")
    return name, rows


def _of_file(path: Path, name: str, encoding: str) -> Iterator[pl.DataFrame]:
    kind = formats.format_name(path)
    if kind in ("parquet", "jsonl"):
        return _of_source(Files([path], encoding), name)
    text = formats.PlainText(encoding)
    first = next((line for frame, _ in text.read(path, ["text"]) for line in frame["text"] if line.strip()), "")
    if set(COLUMNS) <= {field.strip().strip('"').lower() for field in re.split("[\t,;]", first)}:
        table = formats.Csv(encoding, "\t" if "\t" in first else None)
        return _of_table(table.columns(path), lambda columns: (frame for frame, _ in table.read(path, columns)), name)
    return _of_lines(path, name, text, "\t" if "\t" in first or kind != "csv" else ",")


def _of_lines(path: Path, name: str, text: formats.PlainText, delimiter: str) -> Iterator[pl.DataFrame]:
    """Lines of a word, a delimiter and a definition with perhaps further delimiters; quotes count only with commas."""
    csv.field_size_limit(formats.MAX_CSV_FIELD_BYTES)
    lines_of_file = (line for frame, _ in text.read(path, ["text"]) for line in frame["text"].to_list())
    reader = csv.reader(lines_of_file, delimiter=delimiter, quotechar=None if delimiter == "\t" else '"')
    rows = []
    try:
        for word, *definition in filter(None, reader):
            if definition:
                rows.append([word, delimiter.join(definition)])
            elif word.strip():
                mark = "tab" if delimiter == "\t" else "comma"
                where = f"{name}, line {reader.line_num:,}"
                raise InputError(f"{where}: {word.strip()[:60]!r} is not a word, a {mark} and its definition")
    except csv.Error as error:
        raise InputError(f"{name}, up to line {reader.line_num:,}: {error}") from None
    return formats.frames_of_rows(rows, COLUMNS, name)


def _of_source(source: Source, name: str) -> Iterator[pl.DataFrame]:
    return _of_table(source.columns, lambda columns: (batch.frame for batch in source.batches(columns)), name)


def _of_table(names: Sequence[str], read: Callable[[list[str]], Iterator[Any]], name: str) -> Iterator[pl.DataFrame]:
    """The columns named word and definition, or the only two there are."""
    known = {column.strip().lower(): column for column in names}
    chosen = [known[column] for column in COLUMNS] if set(COLUMNS) <= set(known) else list(names)
    if len(chosen) != 2:
        raise InputError(f'{name} has no columns "word" and "definition"; its columns are: {quote(names, 30)}')
    for frame in read(chosen):
        for column in frame.get_columns():
            if column.dtype.is_nested() or column.dtype in (pl.Binary, pl.Object):
                raise InputError(f'{name}: column "{column.name}" holds {column.dtype}, not text')
        yield pl.DataFrame([column.cast(pl.String).alias(new) for column, new in zip(frame.get_columns(), COLUMNS)])


def _of_mapping(source: Mapping[Any, Any]) -> Iterator[tuple[Any, Any]]:
    for word, definition in source.items():
        several = isinstance(definition, (list, tuple, set, frozenset))
        yield from ((word, one) for one in (definition if several else [definition]))


def _of_tuples(source: Iterable[Any], name: str) -> Iterator[pl.DataFrame]:
    rows = []
    for number, item in enumerate(source, 1):
        try:
            word, text = item
            if not (isinstance(word, str) and isinstance(text, str)):
                raise TypeError
        except (TypeError, ValueError):
            raise InputError(f"{name}, entry {number:,}: {repr(item)[:60]} is not a word and its definition") from None
        rows.append([word, text])
    return formats.frames_of_rows(rows, COLUMNS, name)


def _uses(
    rows: pl.DataFrame, tokenizer: Tokenizer, ignored: frozenset[str], min_length: int, quiet: bool
) -> tuple[pl.DataFrame, int, int]:
    """word, other: the words of each definition, without those to be ignored; how many words and rows define one."""
    kind = pl.Categorical(pl.Categories.random())  # words become numbers at once
    uses = [pl.DataFrame(schema={"word": kind, "other": kind})]
    defined = [pl.Series(dtype=pl.String)]
    single = 0
    word, other, both = pl.col("word"), pl.col("other"), pl.col("word", "other")
    kept = (both.str.len_chars() >= min_length) & ~both.is_in(sorted(ignored))
    with bar("reading definitions", quiet=quiet) as progress:
        for start in range(0, len(rows), ROWS_PER_BATCH):
            batch = rows.slice(start, ROWS_PER_BATCH)
            heads, others = tokenizer.split(batch["word"]), tokenizer.split(batch["definition"])
            frame = pl.DataFrame({"word": heads, "other": others.list.unique()}).filter(word.list.len() == 1)
            single += len(frame)
            frame = frame.with_columns(word.list.first()).explode("other").drop_nulls()
            defined.append(frame["word"].unique())
            uses.append(frame.filter(word != other, pl.all_horizontal(kept)).cast(kind))
            progress.update((start + len(batch)) / len(rows), f"{start + len(batch):,} definitions")
    return pl.concat(uses), pl.concat(defined).n_unique(), single


def _strong_and_weak(uses: pl.DataFrame, name: str) -> tuple[WordPairs, WordPairs]:
    """Count in how many definitions each word is, both in the order of the alphabet."""
    names = pl.concat([uses["word"].unique(), uses["other"].unique()]).unique().cast(pl.String).sort()
    size, ids = max(len(names), 1), uses.select(pl.all().cast(pl.Enum(names)).to_physical().cast(pl.Int64))
    keys, count = np.unique((ids["word"] * size + ids["other"]).to_numpy(), return_counts=True)
    one, two = np.divmod(keys, size)
    place = np.searchsorted(keys, two * size + one).clip(max=len(keys) - 1)
    reverse = np.where(keys[place] == two * size + one, count[place], 0)
    words = names.to_list()

    def chosen(kind: str, rows: NDArray[np.bool_], weight: NDArray[np.int64]) -> WordPairs:
        left, right = ([words[i] for i in side[rows].tolist()] for side in (one, two))
        return WordPairs(f"{kind} pairs of {name}", left, right, weight[rows].astype(np.float64))

    strong = chosen("strong", (reverse > 0) & (one < two), np.minimum(count, reverse))
    return strong, chosen("weak", reverse == 0, count)
