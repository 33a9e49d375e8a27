"""How a corpus becomes numbers, in one pass over the text.

Each word first gets a number in the order of appearance. When all is read, words are counted, the vocabulary is cut,
and the numbers are rewritten as ids and stored. `tokens.py` says what the arrays are.
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

from laplex import storage
from laplex.corpus import Corpus, in_order
from laplex.errors import InputError, StorageError
from laplex.parts import LANGUAGE, TEXT, Part
from laplex.progress import bar
from laplex.sources import Batch
from laplex.vocabulary import choose
from laplex.world import world

LAYOUT = 1  # of the arrays; part of the hash, so that an older cache is never misread
PIECE = 1_000_000  # tokens worked on at once


def key_of(corpus: Corpus, settings: dict[str, Any]) -> str:
    text = json.dumps([LAYOUT, corpus.identity, settings])
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def spans(offsets: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Runs of documents of about PIECE tokens, as (first, last + 1)."""
    first, end = 0, len(offsets) - 1
    while first < end:
        last = int(np.searchsorted(offsets, offsets[first] + PIECE))
        last = min(max(last, first + 1), end)
        yield first, last
        first = last


class _Codes:
    """Strings numbered in the order in which they appear."""

    def __init__(self) -> None:
        self.number: dict[str, int] = {}
        self.pieces: list[NDArray[np.int32]] = []

    def add(self, column: pl.Series) -> NDArray[np.int32]:
        values = column.unique(maintain_order=True).to_list()
        numbers = [self.number.setdefault(value, len(self.number)) for value in values]
        codes = column.replace_strict(values, numbers, return_dtype=pl.Int32) if values else column.cast(pl.Int32)
        self.pieces.append(codes.to_numpy())
        return self.pieces[-1]

    def sorted(self) -> tuple[list[str], NDArray[np.int32]]:
        """The values in order, those of all ranks, and each row's index among them."""
        for text in world().texts(json.dumps(list(self.number)).encode("utf-8", "surrogatepass")):
            for value in json.loads(text.decode("utf-8", "surrogatepass")):
                self.number.setdefault(value, len(self.number))
        values = in_order(self.number)
        rank = np.empty(len(values), np.int32)
        rank[[self.number[value] for value in values]] = np.arange(len(values))
        return values, rank[np.concatenate(self.pieces)] if self.pieces else np.empty(0, np.int32)


class _Reader:
    """Reads a corpus once: word numbers to a file, counts and metadata kept."""

    def __init__(self, corpus: Corpus, file: BinaryIO) -> None:
        self._file = file
        self._categories = pl.Categorical(pl.Categories.random())
        # Polars forgets the numbering of categories when the last column that uses them is gone
        self._alive = pl.Series([""], dtype=self._categories)
        self._known = np.zeros(1 << 16, bool)
        self.words: list[pl.DataFrame] = []  # "number" and "word"
        self.counts: list[NDArray[np.int64]] = []  # of each language, by word number
        self.lengths: list[NDArray[np.int64]] = []
        self.languages = _Codes()
        self.columns = {name: _Codes() for name in corpus.columns}
        self.documents = self.tokens = 0

    def split(self, part: Part, frame: pl.DataFrame) -> tuple[pl.Series, NDArray[np.int64]]:
        """All words of a batch as categories, and how many each document has. Runs in several threads."""
        words = part.tokenizer.split(frame[TEXT])
        lengths = words.list.len().to_numpy().astype(np.int64)
        return words.explode().drop_nulls().cast(self._categories), lengths

    def take(self, frame: pl.DataFrame, words: pl.Series, lengths: NDArray[np.int64]) -> None:
        """Take in a split batch. Runs in one thread, in the order of the batches."""
        numbers = words.to_physical().to_numpy()
        self._learn(words, numbers)
        languages = self.languages.add(frame[LANGUAGE])
        for name, codes in self.columns.items():
            codes.add(frame[name])
        for language in np.unique(languages).tolist():
            mine = numbers if len(self.languages.number) == 1 else numbers[np.repeat(languages == language, lengths)]
            self._count(language, mine)
        self._file.write(numbers.astype(np.int32).data)
        self.lengths.append(lengths)
        self.documents += len(lengths)
        self.tokens += len(numbers)

    def _learn(self, words: pl.Series, numbers: NDArray[np.uint32]) -> None:
        """Remember the spelling of numbers not seen before."""
        if not len(numbers):
            return
        if (top := int(numbers.max())) >= len(self._known):
            self._known = np.concatenate([self._known, np.zeros(max(top, len(self._known)), bool)])
        new = ~self._known[numbers]
        if new.any():
            fresh = words.filter(pl.Series(new)).unique()
            self.words.append(pl.DataFrame({"number": fresh.to_physical(), "word": fresh.cast(pl.String)}))
            self._known[numbers[new]] = True

    def _count(self, language: int, numbers: NDArray[np.uint32]) -> None:
        while len(self.counts) <= language:
            self.counts.append(np.zeros(0, np.int64))
        found = np.bincount(numbers, minlength=len(self.counts[language]))
        found[: len(self.counts[language])] += self.counts[language]
        self.counts[language] = found


def _read(corpus: Corpus, reader: _Reader, threads: int, quiet: bool) -> None:
    waiting: deque[tuple[Batch, pl.DataFrame, Future[tuple[pl.Series, NDArray[np.int64]]]]] = deque()
    rank, size, before = world().rank, world().size, 0

    def finish() -> None:
        batch, frame, split = waiting.popleft()
        reader.take(frame, *split.result())
        progress.update(batch.share, f"{reader.documents:,} documents, {reader.tokens:,} tokens")

    with bar("reading", quiet=quiet) as progress, ThreadPoolExecutor(threads) as pool:
        try:
            for part, batch in corpus.complete_documents():
                mine = batch.frame.gather_every(size, (rank - before) % size) if size > 1 else batch.frame
                before += len(batch.frame)
                waiting.append((batch, mine, pool.submit(reader.split, part, mine)))
                while len(waiting) > threads + 1:
                    finish()
            while waiting:
                finish()
        finally:
            pool.shutdown(cancel_futures=True)


def build(corpus: Corpus, settings: dict[str, Any], folder: Path, threads: int, quiet: bool) -> None:
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder.parent) as file:  # has no name, so that a kill leaves nothing
            reader = _Reader(corpus, file)
            _read(corpus, reader, threads, quiet)
            if key_of(corpus, settings) not in folder.name:
                raise InputError(f"{corpus.name} changed while it was being read: run again when it is at rest")
            _check_text(corpus, reader)
            _write(settings, corpus.sources, folder, reader, file)
    except OSError as error:
        raise StorageError(
            f'cannot write the tokens to "{folder.parent}": {error.strerror or error}. '
            "Make room there, or name another folder in the environment variable LAPLEX_CACHE"
        ) from error


def _check_text(corpus: Corpus, reader: _Reader) -> None:
    """There is text, for every rank."""
    tokens = world().total(np.eye(world().size, dtype=np.int64)[world().rank] * reader.tokens)
    if not tokens.any():
        raise InputError(_nothing(corpus, reader))
    if not tokens.all():
        none = ", ".join(map(str, np.flatnonzero(tokens == 0)))
        raise InputError(f"there is no text for rank {none} of {len(tokens)}: start fewer processes")


def _nothing(corpus: Corpus, reader: _Reader) -> str:
    if not reader.documents:
        filtered = any(part.steps or part.drop_missing for part in corpus.parts)
        return f"{corpus.name} has no documents" + (" left after where= or missing=" if filtered else "")
    return f"{corpus.name} has {reader.documents:,} documents, but no word in any of them: check text= and tokenizer="


def _write(settings: dict[str, Any], sources: list[str], folder: Path, reader: _Reader, file: BinaryIO) -> None:
    languages, language_of = reader.languages.sorted()
    words = pl.concat(reader.words)
    arrays: dict[str, NDArray[Any] | storage.Stream] = {"languages": language_of}
    ids = np.full((len(languages), max(map(len, reader.counts))), -1, np.int32)
    for i, language in enumerate(languages):
        occurring = _of_all_ranks(_occurring(reader, words, reader.languages.number[language]))
        chosen = choose(occurring, **settings)
        if not len(chosen):
            raise InputError(_too_rare(occurring, settings["min_count"], language))
        here = words.join(chosen.with_row_index("id"), on="word")
        ids[i, here["number"].to_numpy()] = here["id"].to_numpy()
        arrays[f"counts/{i}"] = chosen["count"].to_numpy()
        arrays |= _packed(f"words/{i}", chosen["word"].to_list())
    for name, codes in reader.columns.items():
        values, arrays[f"codes/{name}"] = codes.sorted()
        arrays |= _packed(f"values/{name}", values)
    offsets = np.concatenate([[0], np.cumsum(np.concatenate(reader.lengths))])
    kept = [_kept(found, offsets[first : last + 1]) for first, last, found in _cut(file, offsets, language_of, ids)]
    arrays["offsets"] = ends = np.concatenate([[0], np.cumsum(np.concatenate(kept))])
    pieces = (found[found >= 0] for _, _, found in _cut(file, offsets, language_of, ids))
    arrays["ids"] = storage.Stream(np.dtype(np.int32), (int(ends[-1]),), pieces)
    described = settings | {
        "columns": list(reader.columns),
        "languages": languages,
        "sources": sources,
        "tokens_read": reader.tokens,
        "words_read": sum(int((counts > 0).sum()) for counts in reader.counts),
    }
    storage.save(folder, "tokens", described, arrays)


def _occurring(reader: _Reader, words: pl.DataFrame, language: int) -> pl.DataFrame:
    """The words of a language and how often they occur."""
    counts = reader.counts[language] if language < len(reader.counts) else np.zeros(0, np.int64)
    found = words.filter(pl.col("number") < len(counts))
    return found.select("word", pl.Series("count", counts[found["number"].to_numpy()], pl.Int64))


def _of_all_ranks(mine: pl.DataFrame) -> pl.DataFrame:
    if world().size == 1:
        return mine
    file = io.BytesIO()
    mine.write_ipc(file)
    parts = [pl.read_ipc(io.BytesIO(text)) for text in world().texts(file.getvalue())]
    return pl.concat(parts).group_by("word", maintain_order=True).agg(pl.col("count").sum())


def _cut(
    file: BinaryIO, offsets: NDArray[np.int64], languages: NDArray[np.int32], ids: NDArray[np.int32]
) -> Iterator[tuple[int, int, NDArray[np.int32]]]:
    """Word numbers as ids, −1 outside the vocabulary, of documents `first` up to `last`."""
    file.seek(0)
    for first, last in spans(offsets):
        numbers = np.frombuffer(file.read(4 * int(offsets[last] - offsets[first])), np.int32)
        if len(ids) == 1:
            yield first, last, ids[0][numbers]
        else:
            language = np.repeat(languages[first:last], np.diff(offsets[first : last + 1]))
            yield first, last, ids[language, numbers]


def _kept(found: NDArray[np.int32], offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many tokens of each document are in the vocabulary."""
    before: NDArray[np.int64] = np.concatenate([[0], np.cumsum(found >= 0, dtype=np.int32)])
    kept: NDArray[np.int64] = np.diff(before[offsets - offsets[0]])
    return kept


def _too_rare(words: pl.DataFrame, min_count: int, language: str) -> str:
    of = f' of "{language}"' if language else ""
    word, count = words.sort("count", "word").select("word", "count").row(-1) if len(words) else ("", 0)
    return f'min_count={min_count} leaves no word{of}: the most frequent, "{word}", occurs {count:,} times'


def _packed(name: str, words: list[str]) -> dict[str, NDArray[Any]]:
    text, starts = storage.pack(words)
    return {f"{name}/text": text, f"{name}/starts": starts}
