"""A corpus becomes arrays of word ids, in one pass over the text.

Each word first gets a number in the order of appearance, written to a temporary file. When all is read, words are
counted, the vocabulary is chosen, and the numbers are rewritten as ids. `tokens.py` describes the arrays.
"""

from __future__ import annotations

import hashlib
import io
import json
import tempfile
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import polars as pl
from numpy.typing import NDArray

from laplex.errors import InputError, StorageError
from laplex.runtime import storage
from laplex.runtime.display import bar
from laplex.runtime.distributed import communicator
from laplex.text.corpus import LANGUAGE, TEXT, Corpus, CorpusPart
from laplex.text.periods import in_order
from laplex.text.sources import DocumentBatch
from laplex.text.vocabulary import choose

LAYOUT_VERSION = 1  # of the arrays; part of the hash, so that an older cache is never misread
TOKENS_PER_SPAN = 1_000_000


def cache_key(corpus: Corpus, settings: dict[str, Any]) -> str:
    """A hash of the documents and the settings of their vocabulary."""
    text = json.dumps([LAYOUT_VERSION, corpus.identity, settings])
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def spans(offsets: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Ranges of documents of about TOKENS_PER_SPAN tokens, as (first, last + 1)."""
    first, end = 0, len(offsets) - 1
    while first < end:
        last = int(np.searchsorted(offsets, offsets[first] + TOKENS_PER_SPAN))
        last = min(max(last, first + 1), end)
        yield first, last
        first = last


class _Codes:
    """A column of strings as integer codes, numbered in the order in which they appear."""

    def __init__(self) -> None:
        self.code: dict[str, int] = {}
        self.batches: list[NDArray[np.int32]] = []

    def add(self, column: pl.Series) -> NDArray[np.int32]:
        values = column.unique(maintain_order=True).to_list()
        known = [self.code.setdefault(value, len(self.code)) for value in values]
        codes = column.replace_strict(values, known, return_dtype=pl.Int32) if values else column.cast(pl.Int32)
        self.batches.append(codes.to_numpy())
        return self.batches[-1]

    def sorted(self) -> tuple[list[str], NDArray[np.int32]]:
        """The values of all ranks in order, and the index of each row's value among them."""
        for data in communicator().allgather(json.dumps(list(self.code)).encode("utf-8", "surrogatepass")):
            for value in json.loads(data.decode("utf-8", "surrogatepass")):
                self.code.setdefault(value, len(self.code))
        values = in_order(self.code)
        index = np.empty(len(values), np.int32)
        index[[self.code[value] for value in values]] = np.arange(len(values))
        return values, index[np.concatenate(self.batches)] if self.batches else np.empty(0, np.int32)


class _CorpusReader:
    """Reads a corpus once: writes word numbers to a file, and keeps counts and metadata."""

    def __init__(self, corpus: Corpus, file: BinaryIO) -> None:
        self._file = file
        self._categories = pl.Categorical(pl.Categories.random())
        # Polars forgets the numbers of categories when the last column that uses them is deleted
        self._keep_categories = pl.Series([""], dtype=self._categories)
        self._known = np.zeros(1 << 16, bool)
        self.words: list[pl.DataFrame] = []  # "number" and "word"
        self.counts: list[NDArray[np.int64]] = []  # of each language, by word number
        self.lengths: list[NDArray[np.int64]] = []
        self.languages = _Codes()
        self.columns = {name: _Codes() for name in corpus.columns}
        self.documents = self.tokens = 0

    def split(self, part: CorpusPart, frame: pl.DataFrame) -> tuple[pl.Series, NDArray[np.int64]]:
        """All words of a batch as categories, and the number of each document. Called in several threads."""
        words = part.tokenizer.split(frame[TEXT])
        lengths = words.list.len().to_numpy().astype(np.int64)
        return words.explode().drop_nulls().cast(self._categories), lengths

    def add(self, frame: pl.DataFrame, words: pl.Series, lengths: NDArray[np.int64]) -> None:
        """Add a batch that was split. Called in one thread, in the order of the batches."""
        numbers = words.to_physical().to_numpy()
        self._store_new_words(words, numbers)
        languages = self.languages.add(frame[LANGUAGE])
        for name, codes in self.columns.items():
            codes.add(frame[name])
        for language in np.unique(languages).tolist():
            one_language = len(self.languages.code) == 1
            self._count(language, numbers if one_language else numbers[np.repeat(languages == language, lengths)])
        self._file.write(numbers.astype(np.int32).data)
        self.lengths.append(lengths)
        self.documents += len(lengths)
        self.tokens += len(numbers)

    def _store_new_words(self, words: pl.Series, numbers: NDArray[np.uint32]) -> None:
        """Keep the words of numbers that have not occurred before."""
        if not len(numbers):
            return
        if (top := int(numbers.max())) >= len(self._known):
            self._known = np.concatenate([self._known, np.zeros(max(top, len(self._known)), bool)])
        new = ~self._known[numbers]
        if new.any():
            unique = words.filter(pl.Series(new)).unique()
            self.words.append(pl.DataFrame({"number": unique.to_physical(), "word": unique.cast(pl.String)}))
            self._known[numbers[new]] = True

    def _count(self, language: int, numbers: NDArray[np.uint32]) -> None:
        while len(self.counts) <= language:
            self.counts.append(np.zeros(0, np.int64))
        counts = np.bincount(numbers, minlength=len(self.counts[language]))
        counts[: len(self.counts[language])] += self.counts[language]
        self.counts[language] = counts


def _read(corpus: Corpus, reader: _CorpusReader, threads: int, quiet: bool) -> None:
    """Read the documents of this rank, splitting batches in several threads."""
    waiting: deque[tuple[DocumentBatch, pl.DataFrame, Future[tuple[pl.Series, NDArray[np.int64]]]]] = deque()
    rank, ranks, documents = communicator().rank, communicator().size, 0

    def finish() -> None:
        batch, frame, split = waiting.popleft()
        reader.add(frame, *split.result())
        progress.update(batch.share, f"{reader.documents:,} documents, {reader.tokens:,} tokens")

    with bar("reading", quiet=quiet) as progress, ThreadPoolExecutor(threads) as pool:
        try:
            for part, batch in corpus.complete_documents():
                # the documents are dealt to the ranks in turn
                frame = batch.frame.gather_every(ranks, (rank - documents) % ranks) if ranks > 1 else batch.frame
                documents += len(batch.frame)
                waiting.append((batch, frame, pool.submit(reader.split, part, frame)))
                while len(waiting) > threads + 1:
                    finish()
            while waiting:
                finish()
        finally:
            pool.shutdown(cancel_futures=True)


def build(corpus: Corpus, settings: dict[str, Any], folder: Path, threads: int, quiet: bool) -> None:
    """Read a corpus and save its tokens to a folder, whose name has the key of `cache_key`."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder.parent) as file:  # has no name: a kill leaves nothing
            reader = _CorpusReader(corpus, file)
            _read(corpus, reader, threads, quiet)
            if cache_key(corpus, settings) not in folder.name:
                raise InputError(f"{corpus.name} changed while it was being read: run again when nothing writes to it")
            _check_text(corpus, reader)
            _write(settings, corpus.sources, folder, reader, file)
    except OSError as error:
        raise StorageError(
            f'cannot write the tokens to "{folder.parent}": {error.strerror or error}. '
            "Make room there, or name another folder in the environment variable LAPLEX_CACHE"
        ) from error


def _check_text(corpus: Corpus, reader: _CorpusReader) -> None:
    """Raise an InputError unless there is text for every rank."""
    tokens = communicator().allreduce(np.eye(communicator().size, dtype=np.int64)[communicator().rank] * reader.tokens)
    if not tokens.any():
        if reader.documents:
            raise InputError(
                f"{corpus.name} has {reader.documents:,} documents, but no word in any of them: check text= and "
                "tokenizer="
            )
        filtered = any(part.steps or part.drop_missing for part in corpus.parts)
        raise InputError(f"{corpus.name} has no documents" + (" left after where= or missing=" if filtered else ""))
    if not tokens.all():
        empty = ", ".join(map(str, np.flatnonzero(tokens == 0)))
        raise InputError(f"there is no text for rank {empty} of {len(tokens)}: start fewer processes")


def _write(settings: dict[str, Any], sources: list[str], folder: Path, reader: _CorpusReader, file: BinaryIO) -> None:
    """Choose the vocabularies, turn word numbers into ids and save everything."""
    languages, language_of = reader.languages.sorted()
    words = pl.concat(reader.words)
    arrays: dict[str, NDArray[Any] | storage.Stream] = {"languages": language_of}
    ids = np.full((len(languages), max(map(len, reader.counts))), -1, np.int32)
    for i, language in enumerate(languages):
        counts = _over_ranks(_word_counts(reader, words, reader.languages.code[language]))
        chosen = choose(counts, **settings)
        if not len(chosen):
            raise InputError(_no_words_left(counts, settings["min_count"], language))
        numbered = words.join(chosen.with_row_index("id"), on="word")
        ids[i, numbered["number"].to_numpy()] = numbered["id"].to_numpy()
        arrays[f"counts/{i}"] = chosen["count"].to_numpy()
        arrays |= _packed(f"words/{i}", chosen["word"].to_list())
    for name, codes in reader.columns.items():
        values, arrays[f"codes/{name}"] = codes.sorted()
        arrays |= _packed(f"values/{name}", values)
    offsets = np.concatenate([[0], np.cumsum(np.concatenate(reader.lengths))])
    lengths = [
        _lengths_within(span_ids, offsets[first : last + 1])
        for first, last, span_ids in _as_ids(file, offsets, language_of, ids)
    ]
    ends = np.concatenate([[0], np.cumsum(np.concatenate(lengths))])
    pieces = (span_ids[span_ids >= 0] for _, _, span_ids in _as_ids(file, offsets, language_of, ids))
    arrays |= {"offsets": ends, "ids": storage.Stream(np.dtype(np.int32), (int(ends[-1]),), pieces)}
    described = settings | {
        "columns": list(reader.columns),
        "languages": languages,
        "sources": sources,
        "tokens_read": reader.tokens,
        "words_read": sum(int((counts > 0).sum()) for counts in reader.counts),
    }
    storage.save(folder, "tokens", described, arrays)


def _word_counts(reader: _CorpusReader, words: pl.DataFrame, language: int) -> pl.DataFrame:
    """word, count: the words of a language and how often they occur."""
    counts = reader.counts[language] if language < len(reader.counts) else np.zeros(0, np.int64)
    words = words.filter(pl.col("number") < len(counts))
    return words.select("word", pl.Series("count", counts[words["number"].to_numpy()], pl.Int64))


def _over_ranks(counts: pl.DataFrame) -> pl.DataFrame:
    """The counts of words summed over ranks."""
    if communicator().size == 1:
        return counts
    file = io.BytesIO()
    counts.write_ipc(file)
    parts = [pl.read_ipc(io.BytesIO(data)) for data in communicator().allgather(file.getvalue())]
    return pl.concat(parts).group_by("word", maintain_order=True).agg(pl.col("count").sum())


def _as_ids(
    file: BinaryIO, offsets: NDArray[np.int64], languages: NDArray[np.int32], ids: NDArray[np.int32]
) -> Iterator[tuple[int, int, NDArray[np.int32]]]:
    """first, last, ids: the words of documents `first` up to `last` as ids, −1 for those outside the vocabulary."""
    file.seek(0)
    for first, last in spans(offsets):
        numbers = np.frombuffer(file.read(4 * int(offsets[last] - offsets[first])), np.int32)
        if len(ids) == 1:
            yield first, last, ids[0][numbers]
        else:
            language = np.repeat(languages[first:last], np.diff(offsets[first : last + 1]))
            yield first, last, ids[language, numbers]


def _lengths_within(ids: NDArray[np.int32], offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """The number of tokens of each document that are in the vocabulary."""
    before: NDArray[np.int64] = np.concatenate([[0], np.cumsum(ids >= 0, dtype=np.int32)])
    lengths: NDArray[np.int64] = np.diff(before[offsets - offsets[0]])
    return lengths


def _no_words_left(words: pl.DataFrame, min_count: int, language: str) -> str:
    of = f' of "{language}"' if language else ""
    word, count = words.sort("count", "word").select("word", "count").row(-1) if len(words) else ("", 0)
    return f'min_count={min_count} leaves no word{of}: the most frequent, "{word}", occurs {count:,} times'


def _packed(name: str, words: list[str]) -> dict[str, NDArray[Any]]:
    text, starts = storage.pack(words)
    return {f"{name}/text": text, f"{name}/starts": starts}
