"""Documents with metadata, read lazily.

A path, a frame or an iterable goes in; a Corpus goes out, which later gives batches of documents: their text, their
language and their metadata as strings. Nothing is read until it is asked for, and never all at once.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from math import isnan
from operator import or_
from typing import Any, Literal

import pandas as pd
import polars as pl

from laplex.card import card
from laplex.errors import InputError, quote
from laplex.formats import series_of
from laplex.parts import LANGUAGE, TEXT, Part, Where, as_values
from laplex.periods import Periods
from laplex.progress import bar
from laplex.sources import Batch, source_of
from laplex.tokenizer import Rule, Tokenizer


def read(
    source: Any,
    text: str = "text",
    metadata: Sequence[str] | Literal["all"] = (),
    *,
    language: str | None = None,
    language_column: str | None = None,
    tokenizer: Rule = None,
    lowercase: bool = True,
    missing: Literal["error", "drop"] = "error",
    encoding: str = "utf-8",
    documents: Literal["lines", "files"] = "lines",
) -> Corpus:
    """Open a corpus.

    source     a file, a folder or a glob of CSV, TSV, JSON lines (each also .gz and .zst), Parquet or plain text;
               a pandas, polars or Arrow frame; or dicts in something that can be iterated over again
    text       the column with the text. If it holds lists of strings, they are taken as the words
    metadata   the columns to keep for each document: a party, a date, a speaker ("all" for every other column)
    language   the language of all documents, or `language_column`, which tells it for each. A language has its
               own vocabulary
    tokenizer  a regular expression whose matches are the words, or a function from a text to its words.
               By default words are runs of letters and digits. Scripts without spaces are to be split before:
               give the lists as `text`
    missing    what to do with a document that lacks a metadata value: an "error", or "drop" it
    documents  for plain text: a document in each of the "lines" or "files"

    >>> read([{"text": "Hello, world", "party": "D"}], metadata=["party"]).summary().tokens
    2
    """
    opened = source_of(source, encoding=encoding, documents=documents)
    if isinstance(metadata, str):
        if metadata != "all":
            raise InputError(f'metadata is a list of columns: write metadata=["{metadata}"]')
        metadata = [name for name in opened.columns if name not in (text, language_column)]
    if language is not None and language_column is not None:
        raise InputError("give language or language_column, not both")
    if missing not in ("error", "drop"):
        raise InputError(f'missing="{missing}": write "error" or "drop"')
    part = Part(
        opened,
        text,
        tuple(dict.fromkeys(metadata)),
        language,
        language_column,
        Tokenizer(tokenizer, lowercase),
        missing == "drop",
    )
    if any("\0" in name for name in part.wanted):
        raise InputError(f"{opened.name} has a column with a NUL character in its name: rename it")
    unknown = [name for name in part.wanted if name not in opened.columns]
    if unknown:
        raise InputError(
            f'there is no column "{unknown[0]}" in {opened.name}; its columns are: {quote(opened.columns, 30)}'
        )
    return Corpus((part,))


@dataclass(frozen=True)
class Corpus:
    """Documents with metadata, read anew each time they are asked for. Made by `read`; corpora add with `+`."""

    parts: tuple[Part, ...]
    _summary: list[Summary] = field(default_factory=list, repr=False, compare=False)

    @property
    def sources(self) -> list[str]:
        """What its documents are read from, by name."""
        return list(dict.fromkeys(part.source.name for part in self.parts))

    @property
    def name(self) -> str:
        """Its sources, for messages."""
        return quote(self.sources, 3)

    @property
    def columns(self) -> tuple[str, ...]:
        """The metadata columns."""
        return tuple(dict.fromkeys(name for part in self.parts for name in part.columns))

    @property
    def identity(self) -> str:
        """Two corpora of the same identity give the same documents. Files are told apart by size and time."""
        return json.dumps([part.identity for part in self.parts])

    def __add__(self, other: Corpus) -> Corpus:
        if not isinstance(other, Corpus):
            return NotImplemented
        parts = self.parts + other.parts
        named = {part.language is not None or part.language_column is not None for part in parts}
        if len(named) > 1:
            raise InputError('one corpus has a language and the other has none: read both with language="..."')
        return Corpus(parts)

    def where(self, **values: Any) -> Corpus:
        """Only the documents with these values: `corpus.where(party=["D", "R"], chamber="senate")`."""
        corpus = self
        for column, wanted in values.items():
            self._check_column(column)
            chosen = [wanted] if isinstance(wanted, str) or not isinstance(wanted, Iterable) else list(wanted)
            texts = as_values(series_of(column, chosen), "where").to_list()
            corpus = corpus._with(Where(column, tuple(texts)))
        return corpus

    def periods(
        self, column: str, every: str = "1y", name: str = "period", *, start: int = 0, format: str | None = None
    ) -> Corpus:
        """Add the column `name`: the period of `every` ("1y", "10y", "6m", "2w") that the date in `column` falls into.

        A date is written 2010-05-31, or is a year, unless `format` says otherwise ("%d/%m/%Y"). Periods of
        several years begin at multiples of them, or count from the year `start`: `every="4y", start=2005`.
        """
        self._check_column(column)
        if name in self.columns:
            raise InputError(f'there is a column "{name}" already: give the periods another name')
        return self._with(Periods(column, every, name, start, format))

    def _with(self, step: Periods | Where) -> Corpus:
        return Corpus(tuple(replace(part, steps=(*part.steps, step)) for part in self.parts))

    def _check_column(self, column: str) -> None:
        for part in self.parts:
            if column not in part.columns:
                there = f"the columns read are: {quote(part.columns, 30)}" if part.columns else "no metadata was read"
                raise InputError(f'there is no column "{column}" in {part.source.name}; {there} (see metadata=)')

    def documents(self) -> Iterator[tuple[Part, Batch]]:
        """Every document as it is, metadata missing or not, in batches."""
        for part in self.parts:
            for batch in part.documents():
                absent = [name for name in self.columns if name not in batch.frame.columns]
                frame = batch.frame.with_columns(pl.lit(None, pl.String).alias(name) for name in absent)
                yield part, replace(batch, frame=frame)

    def complete_documents(self) -> Iterator[tuple[Part, Batch]]:
        """The documents that lack no metadata. Others are dropped, or counted and raised in the end."""
        lacking: Counter[str] = Counter()
        example = ""
        needed = [LANGUAGE, *self.columns]
        for part, batch in self.documents():
            gaps = {name: batch.frame[name].is_null() for name in needed}
            if any(gap.any() for gap in gaps.values()):
                whole = ~reduce(or_, gaps.values())
                if not part.drop_missing:
                    lacking.update({name: int(gap.sum()) for name, gap in gaps.items()})
                    example = example or _show(batch, whole.arg_min() or 0)
                batch = replace(batch, frame=batch.frame.filter(whole))
            yield part, batch
        lacking = +lacking
        if lacking:
            counts = ", ".join(f'{n:,} have no "{name.replace(LANGUAGE, "language")}"' for name, n in lacking.items())
            raise InputError(f'documents lack metadata: {counts}. One is {example}. To leave them out: missing="drop"')

    def head(self, count: int = 5) -> pd.DataFrame:
        """The first documents, to look at."""
        frames = []
        left = count
        for _, batch in self.documents():
            frames.append(batch.frame.head(left))
            left -= len(frames[-1])
            if left <= 0:
                break
        columns = {"text": TEXT, **({"language": LANGUAGE} if self._has_languages else {})}
        columns |= {name: name for name in self.columns}
        return pd.DataFrame(
            {shown: [value for frame in frames for value in frame[name].to_list()] for shown, name in columns.items()}
        )

    @property
    def _has_languages(self) -> bool:
        return self.parts[0].language is not None or self.parts[0].language_column is not None

    def summary(self, *, quiet: bool = False) -> Summary:
        """Read everything once and count. The answer is kept."""
        if not self._summary:
            self._summary.append(_summarize(self, quiet))
        return self._summary[0]

    def __str__(self) -> str:
        return str(self.summary())

    def __repr__(self) -> str:
        if self._summary:
            return str(self)
        return f"Corpus of {self.name}; metadata: {quote(self.columns, 30) or 'none'} (print it to count its documents)"

    def _repr_html_(self) -> str:
        title = f"Corpus of {self.name}"
        if not self._summary:
            facts = [
                ("metadata", quote(self.columns, 30) or "none"),
                ("documents", "not counted yet: print it to do so"),
            ]
            return card(title, facts)
        summary = self._summary[0]
        facts = [("documents", f"{summary.documents:,}"), ("tokens", f"{summary.tokens:,}")]
        facts += [("languages", _counts(summary.languages))] if self._has_languages else []
        return card(title, [*facts, *((name, _counts(told)) for name, told in summary.values.items())])


@dataclass(frozen=True)
class Summary:
    """What is in a corpus: documents, words, and how many documents have each value of each column."""

    name: str
    documents: int
    empty: int
    tokens: int
    languages: Mapping[str | None, int]
    values: Mapping[str, Mapping[str | None, int]]

    def __str__(self) -> str:
        lines = [f"Corpus of {self.name}", f"  {self.documents:,} documents, {self.tokens:,} tokens"]
        if self.empty:
            lines[-1] += f" ({self.empty:,} documents without a word)"
        if set(self.languages) != {""}:
            lines.append(f"  languages: {_counts(self.languages)}")
        lines += [f"  {column}: {_counts(counts)}" for column, counts in self.values.items()]
        return "\n".join(lines)


def in_order(values: Iterable[str]) -> list[str]:
    """Values of a column as one would list them: numbers by size, everything else by the alphabet."""
    words = sorted(values)
    try:
        numbers = [float(word) for word in words]
    except ValueError:
        return words
    return words if any(map(isnan, numbers)) else [word for _, word in sorted(zip(numbers, words))]


def _counts(counts: Mapping[str | None, int]) -> str:
    known = in_order(value for value in counts if value is not None)
    if len(known) > 12:
        text = f"{len(known):,} values, {known[0]} to {known[-1]}"
    else:
        text = ", ".join(f"{value} ({counts[value]:,})" for value in known)
    missing = counts.get(None, 0)
    return text if not missing else f"{text}{', ' if text else ''}missing ({missing:,})"


def _summarize(corpus: Corpus, quiet: bool) -> Summary:
    documents = tokens = empty = 0
    values: dict[str, Counter[str | None]] = {name: Counter() for name in (LANGUAGE, *corpus.columns)}
    with bar("counting", quiet=quiet) as progress:
        for part, batch in corpus.documents():
            documents += len(batch.frame)
            counted = part.tokenizer.counts(batch.frame[TEXT])
            tokens += int(counted.sum())
            empty += int((counted == 0).sum())
            for name, counter in values.items():
                frequent = batch.frame[name].value_counts(name="\0n")
                counter.update(dict(zip(frequent[name].to_list(), frequent["\0n"].to_list(), strict=True)))
            progress.update(batch.share, f"{documents:,} documents")
    return Summary(corpus.name, documents, empty, tokens, values.pop(LANGUAGE), values)


def _show(batch: Batch, row: int) -> str:
    """One document for an error message."""
    values = batch.frame.row(row, named=True)
    shown = {name: value for name, value in values.items() if name not in (TEXT, LANGUAGE)}
    return f"{shown}, beginning {str(values[TEXT])[:60]!r} ({batch.place})"
