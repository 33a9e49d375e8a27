"""Documents with metadata, read lazily: nothing is read until it is needed, and never all at once.

A Corpus has one or more parts, each a source with what is to be read of it. It gives batches of documents with their
text (a string or a list of words), their language and their metadata as strings, the same from every format.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import islice
from operator import or_
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import polars as pl
from numpy.typing import NDArray

from laplex.errors import InputError, quote
from laplex.runtime.display import bar, card
from laplex.runtime.distributed import communicator
from laplex.text.bins import bins_of
from laplex.text.dealing import DocumentBatch, DocumentShare
from laplex.text.formats import series_of
from laplex.text.missing import MissingMetadata
from laplex.text.parts import LANGUAGE, TEXT, CorpusPart
from laplex.text.periods import Periods, in_order
from laplex.text.phrases import Phrases
from laplex.text.sources import source_of
from laplex.text.steps import ROW, Assigned, Step, Where
from laplex.text.summary import MAX_VALUES_SHOWN, Summary
from laplex.text.tokenizer import Rule, Tokenizer
from laplex.text.values import as_metadata, as_numbers

DEMO_NAME = "the State of the Union addresses"
DEMO_PATH = Path(__file__).with_name("data") / "state-of-the-union.parquet"


def read(
    source: Any,
    text: str = "text",
    metadata: Sequence[str] | Literal["all"] = (),
    *,
    unit: str | None = None,
    numbers: Sequence[str] = (),
    language: str | None = None,
    language_column: str | None = None,
    tokenizer: Rule = None,
    lowercase: bool = True,
    tags: bool = False,
    phrases: bool | str | os.PathLike[str] | Iterable[str | tuple[str, ...]] | Phrases = False,
    missing: Literal["error", "drop"] = "error",
    encoding: str = "utf-8",
    documents: Literal["lines", "files"] = "lines",
    storage_options: Mapping[str, Any] | None = None,
) -> Corpus:
    """Open a corpus.

    Args:
        source: A file, a folder or a glob of CSV, TSV, JSON lines (each also .gz and .zst), Parquet or plain text; a
            pandas, polars or Arrow frame; or dicts in something that can be iterated over again. Parquet is also read
            from addresses that begin with s3://, gs://, az://, https:// and the like.
        text: The column with the text. If it holds lists of strings, they are taken as the words.
        metadata: The columns to keep, such as a party, a date or a speaker; "all" for every other column.
        unit: The column that says who was sampled, such as the speaker or the author. Documents of one unit are not
            independent evidence, and tests treat them as one observation. The column need not be in `metadata`.
        numbers: The columns that hold numbers, such as an age or an income. They need not be in `metadata`. Each number
            has one spelling, and whatever is none ("NA", an empty cell) is missing.
        language: The language of all documents. Each language has its own vocabulary.
        language_column: The column with the language of each document, instead of `language`.
        tokenizer: A regular expression whose matches are the words, a function from a text to its words, "paper";
            "simplemma:de" for the lemmas of a language's dictionary, or for those of spaCy "spacy:de_core_news_sm" (a
            pipeline's name or folder) or the pipeline itself. Passages show the text as it is written all the same.
            By default words are runs of letters and digits with apostrophes within them (don't), without the possessive
            ('s), and 1,000 is 1000; "paper" is the rule of the paper, runs of letters and digits only. Split texts in
            scripts without spaces before: give lists.
        lowercase: Make all words lower case.
        tags: Add the part of speech to each word, as in attack_NOUN; with spaCy only.
        phrases: Make phrases words, such as human_rights: True for those that are found in the text, a list of them, a
            file with one per line, or `lx.Phrases` for both and for thresholds. Wherever a word is asked for, a phrase
            may be written with spaces or hyphens, too.
        missing: What to do with a document that lacks a metadata value: raise an "error", or "drop" it.
        encoding: The encoding of text files.
        documents: Whether plain text holds a document in each of its "lines" or "files".
        storage_options: For addresses: keys and other options that `polars.scan_parquet` takes. Without them, Polars
            looks in the environment. They are not kept with tokens or models, nor is a password or a signature in an
            address.

    Returns:
        The corpus, of which only the columns have been read so far.

    Example:
        >>> read([{"text": "Hello, world", "party": "D"}], metadata=["party"]).summary().tokens
        2
    """
    opened = source_of(source, encoding=encoding, documents=documents, storage_options=storage_options)
    if isinstance(metadata, str):
        if metadata != "all":
            raise InputError(f'metadata is a list of columns: write metadata=["{metadata}"]')
        metadata = [name for name in opened.columns if name not in (text, language_column)]
    if language is not None and language_column is not None:
        raise InputError("give language or language_column, not both")
    if missing not in ("error", "drop"):
        raise InputError(f'missing="{missing}": write "error" or "drop"')
    if unit is not None and (not isinstance(unit, str) or unit == text):
        raise InputError(f'unit={unit!r}: name the one column that says who was sampled, such as "speaker"')
    if isinstance(numbers, str):
        raise InputError(f'numbers is a list of columns: write numbers=["{numbers}"]')
    if text in numbers:
        raise InputError(f'numbers={list(numbers)!r}: "{text}" is the column with the text')
    words = Tokenizer(tokenizer, lowercase, tags)
    columns = tuple(dict.fromkeys([*metadata, *([] if unit is None else [unit]), *numbers]))
    drop, numeric = missing == "drop", tuple(sorted(set(numbers)))
    part = CorpusPart(
        *(opened, text, columns, language, language_column, words, drop, unit, numeric), phrases=Phrases.of(phrases)
    )
    if any("\0" in name for name in part.source_columns):
        raise InputError(f"{opened.name} has a column with a NUL character in its name: rename it")
    unknown = [name for name in part.source_columns if name not in opened.columns]
    if unknown:
        known = f"its columns are: {quote(opened.columns, 30)}"
        raise InputError(f'there is no column "{unknown[0]}" in {opened.name}; {known}')
    return Corpus((part,))


def demo() -> Corpus:
    """The corpus that comes with laplex: 233 State of the Union addresses, from 1790 to 2021.

    They are cut into passages of about 150 words that end with a sentence, with president, party and year. Presidents
    are the sampled units. Works of the United States Government are free of copyright; the file NOTICE says where these
    are from.

    Returns:
        The corpus, a document per passage.

    Example:
        >>> demo().columns
        ('president', 'party', 'year')
    """
    corpus = read(DEMO_PATH, metadata=["president", "party", "year"], unit="president")
    corpus.parts[0].source.name = DEMO_NAME  # rather than the path of the installation
    return corpus


@dataclass(frozen=True)
class Corpus:
    """Documents with metadata, made by `lx.read`. They are read anew each time they are needed.

    Corpora are joined by `+`, such as those of two languages.
    """

    parts: tuple[CorpusPart, ...]
    _summary: list[Summary] = field(default_factory=list, repr=False, compare=False)

    @property
    def sources(self) -> list[str]:
        """The names of the files or frames that the documents are read from."""
        return list(dict.fromkeys(part.source.name for part in self.parts))

    @property
    def name(self) -> str:
        """The sources, for messages."""
        return quote(self.sources, 3)

    @property
    def columns(self) -> tuple[str, ...]:
        """The metadata columns."""
        return tuple(dict.fromkeys(name for part in self.parts for name in part.columns))

    @property
    def numbers(self) -> tuple[str, ...]:
        """The metadata columns that are read as numbers."""
        return tuple(dict.fromkeys(name for part in self.parts for name in part.numbers))

    @property
    def unit(self) -> str | None:
        """The column that says who was sampled, if `read` was told."""
        return self.parts[0].unit

    @property
    def phrases(self) -> Phrases | None:
        """Which phrases are words, if `read` was told."""
        return self.parts[0].phrases

    @property
    def identity(self) -> str:
        """A string that is equal for corpora with the same documents. Files are compared by name, size and time."""
        return json.dumps([part.identity for part in self.parts])

    def __add__(self, other: Corpus) -> Corpus:
        if not isinstance(other, Corpus):
            return NotImplemented
        parts = self.parts + other.parts
        if len({part.has_language for part in parts}) > 1:
            raise InputError('one corpus has a language and the other has none: read both with language="..."')
        if self.unit != other.unit:
            units = " and ".join(f'"{unit}"' if unit else "none" for unit in (self.unit, other.unit))
            raise InputError(f"the corpora have different units, {units}: read both with the same unit=")
        if self.phrases != other.phrases:
            raise InputError(
                "the corpora have different phrases: read both with the same phrases=, which may be a list of phrases "
                "of several languages"
            )
        return Corpus(parts)

    def where(self, **values: Any) -> Corpus:
        """Keep only some documents.

        Args:
            **values: For a metadata column its value, or a list of values, that documents must have.

        Returns:
            A corpus of these documents.

        Example:
            >>> demo().where(party=["Democratic", "Republican"]).columns
            ('president', 'party', 'year')
        """
        corpus = self
        for column, value in values.items():
            allowed = [value] if isinstance(value, str) or not isinstance(value, Iterable) else list(value)
            texts = as_metadata(series_of(column, allowed), "where")
            if column in self.numbers:
                texts = as_numbers(texts).fill_null(texts)
            corpus = corpus._with(Where(column, tuple(texts.to_list())))
        return corpus

    def periods(
        self, column: str, every: str = "1y", name: str = "period", *, start: int = 0, format: str | None = None
    ) -> Corpus:
        """Add a column with the period of time that a date falls into.

        Args:
            column: The column with dates such as 2010-05-31, or with years.
            every: The length of a period: "1y", "10y", "6m", "2w" or "30d".
            name: The name of the new column.
            start: A year in which a period begins; by default periods begin at multiples of their length.
            format: How dates are written, if otherwise ("%d/%m/%Y").

        Returns:
            A corpus with the new column.

        Example:
            >>> demo().periods("year", "4y", start=1789).head(1)["period"].to_list()
            ['1789']
        """
        self._check_name(name, "periods")
        return self._with(Periods(column, every, name, start, format))

    def bins(
        self, column: str, bins: int | Sequence[float] = 5, name: str | None = None, *, quiet: bool = False
    ) -> Corpus:
        """Add a column with the bin that a number falls into, for vectors that vary by it.

        Bins are named by their range, such as "18 to 34". Priors and questions along periods of time, such as Chain
        and drift, work along them as well. Only this column is read, once.

        Args:
            column: The column with numbers, such as an age or an income; see `numbers` of `lx.read`.
            bins: The number of bins, which have much the same number of documents; equal numbers are never split. Or
                the edges of the bins: [18, 35, 50, 65] for 18 to 34, 35 to 49 and 50 to 65; the first may be -inf and
                the last inf.
            name: The name of the new column, by default that of the old one with "_bin".
            quiet: Do not say if there are fewer bins, because there are fewer different numbers.

        Returns:
            A corpus with the new column.

        Example:
            >>> demo().bins("year", 3).head(1)["year_bin"].to_list()
            ['1790 to 1873']
        """
        name = f"{column}_bin" if name is None else name
        self._check_name(name, "bins")
        self._check_column(column)
        values = (batch.frame[column] for part in self.parts for batch in part.documents([column]))
        return self._with(bins_of(column, name, values, bins, quiet))

    def topics(self, count: int = 20, name: str = "topic", *, seed: int = 1, quiet: bool = False) -> Corpus:
        """Add a column with the topic of each document, found by clustering documents by their words.

        A topic is named by its three most typical words. Topics know no labels, so groups can be compared on the same
        topics. The text is tokenized once for this (see `lx.Tokens.of`).

        Args:
            count: The number of topics, in each language.
            name: The name of the new column.
            seed: The random seed. The same seed gives the same topics.
            quiet: Show no progress.

        Returns:
            A corpus with the new column.

        Example:
            >>> rows = [{"text": text} for text in ("tax budget spending", "school teacher college")] * 30
            >>> read(rows).topics(2, quiet=True).head(2)["topic"].to_list()
            ['budget, spending, tax', 'college, school, teacher']
        """
        from laplex.text.tokens import Tokens  # which import this module
        from laplex.text.topics import document_topics

        self._check_name(name, "topics")
        if communicator().size > 1:
            raise InputError("topics are found in one process: find them before, and write them into a column")
        tokens = Tokens.of(self, originals=False, quiet=quiet)
        found = document_topics(tokens, count, seed, quiet)
        parts, done = [], 0
        for part in self.parts:
            rows = self._complete_rows(part)
            codes = np.full(int(rows.max(initial=-1)) + 1, -1, np.int32)
            codes[rows] = found.code[done : done + len(rows)]
            done += len(rows)
            parts.append(replace(part, steps=(*part.steps, Assigned.of(name, codes, found.names))))
        return Corpus(tuple(parts))

    def _complete_rows(self, part: CorpusPart) -> NDArray[np.int64]:
        """The rows of a source whose documents lack no metadata."""
        columns = (ROW, LANGUAGE, *self.columns)
        complete = (self._batch(batch).frame.drop_nulls(columns)[ROW] for batch in part.documents(columns))
        return pl.concat([pl.Series([], dtype=pl.Int64), *complete]).to_numpy()

    def _check_name(self, name: str, kind: str) -> None:
        if name in self.columns:
            raise InputError(f'there is a column "{name}" already: give the {kind} another name')

    def _check_column(self, column: str) -> None:
        for part in self.parts:
            if column not in part.columns:
                known = f"the columns read are: {quote(part.columns, 30)}" if part.columns else "no metadata was read"
                raise InputError(f'there is no column "{column}" in {part.source.name}; {known} (see metadata=)')

    def _with(self, step: Step) -> Corpus:
        self._check_column(step.column)
        return Corpus(tuple(replace(part, steps=(*part.steps, step)) for part in self.parts))

    def documents(self, share: DocumentShare | None = None) -> Iterator[tuple[CorpusPart, DocumentBatch]]:
        """All documents in batches, also those that lack metadata; or those of one of several processes."""
        for part in self.parts:
            for batch in part.documents(share=share):
                yield part, self._batch(batch)

    def _batch(self, batch: DocumentBatch) -> DocumentBatch:
        """A batch of a part with null in the columns of other parts."""
        absent = [name for name in self.columns if name not in batch.frame.columns]
        return replace(batch, frame=batch.frame.with_columns(pl.lit(None, pl.String).alias(name) for name in absent))

    def complete_documents(self, share: DocumentShare | None = None) -> Iterator[tuple[CorpusPart, DocumentBatch]]:
        """The documents that lack no metadata. Others are dropped, or counted for an InputError at the end."""
        lacking = MissingMetadata(self.columns, self.numbers)
        for part, batch in self.documents(share):
            missing = {name: batch.frame[name].is_null() for name in (LANGUAGE, *self.columns)}
            if any(column.any() for column in missing.values()):
                complete = ~reduce(or_, missing.values())
                if not part.drop_missing:
                    lacking.add(batch, missing, complete)
                batch = replace(batch, frame=batch.frame.filter(complete))
            yield part, batch
        lacking.check()

    def unmatched(self) -> str:
        """For a message: which value of `where` no document has, and which there are. Reads the documents again."""
        for part in self.parts:
            for place, step in enumerate(part.steps):
                if isinstance(step, Where):
                    before = replace(part, steps=part.steps[:place])
                    values = {
                        value
                        for batch in before.documents([step.column])
                        for value in batch.frame[step.column].unique()
                    }
                    if values and not values & set(step.values):
                        known = quote(in_order(values - {None}), MAX_VALUES_SHOWN)
                        return f' with {step.column}={quote(step.values)}: the values of "{step.column}" are {known}'
        return ""

    def head(self, count: int = 5) -> pd.DataFrame:
        """Show the first documents.

        Args:
            count: The number of documents.

        Returns:
            A frame with their text, language and metadata.

        Example:
            >>> read([{"text": "Hello, world"}]).head()["text"].to_list()
            ['Hello, world']
        """
        every_row = (row for _, batch in self.documents() for row in batch.frame.iter_rows(named=True))
        rows = list(islice(every_row, max(count, 0)))
        columns = {"text": TEXT} | ({"language": LANGUAGE} if self.parts[0].has_language else {})
        columns |= {name: name for name in self.columns}
        return pd.DataFrame({shown: [row[name] for row in rows] for shown, name in columns.items()})

    def summary(self, *, quiet: bool = False) -> Summary:
        """Count documents, words and values of metadata, reading everything once.

        Args:
            quiet: Show no progress.

        Returns:
            The counts, which are kept for the next time.

        Example:
            print(lx.read("speeches.csv", text="speech", metadata=["party"]).summary())
        """
        if self._summary:
            return self._summary[0]
        documents = tokens = empty = 0
        values: dict[str, Counter[str | None]] = {name: Counter() for name in (LANGUAGE, *self.columns)}
        with bar("counting", quiet=quiet) as progress:
            for part, batch in self.documents():
                documents += len(batch.frame)
                lengths = part.tokenizer.counts(batch.frame[TEXT])
                tokens += int(lengths.sum())
                empty += int((lengths == 0).sum())
                for name, counter in values.items():
                    counter.update(dict(batch.frame[name].value_counts(name="\0count").iter_rows()))
                progress.update(batch.share, f"{documents:,} documents")
        self._summary.append(Summary(self.name, documents, empty, tokens, values.pop(LANGUAGE), values, self.unit))
        return self._summary[0]

    def __str__(self) -> str:
        return str(self.summary())

    def __repr__(self) -> str:
        if self._summary:
            return str(self)
        return f"Corpus of {self.name}; metadata: {quote(self.columns, 30) or 'none'} (print it to count its documents)"

    def _repr_html_(self) -> str:
        facts = [("metadata", quote(self.columns, 30) or "none"), ("documents", "not counted yet: print it to do so")]
        facts += [("unit", self.unit)] if self.unit else []
        if self._summary:
            summary = self._summary[0]
            facts = [("documents", f"{summary.documents:,}"), ("tokens", f"{summary.tokens:,}"), *summary.facts]
        return card(f"Corpus of {self.name}", facts)
