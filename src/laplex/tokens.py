"""The corpus as numbers: one long array of word ids, and what document each stretch of it is.

A Corpus goes in; Tokens go out, written once to a cache folder under a hash of the input and the settings, and
memory-mapped from there. Words outside the vocabulary are gone, document borders are kept.
N tokens, M documents, S slices, V words.

Text is read once. Each word first gets a number in the order of appearance; when all is read, words are counted,
the vocabulary is cut, and the numbers are rewritten as ids.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import time
from collections import deque
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import platformdirs
import polars as pl
from numpy.typing import NDArray

from laplex import storage
from laplex.corpus import LANGUAGE, TEXT, Corpus, Part, in_order
from laplex.errors import InputError, StorageError, quote
from laplex.progress import bar, say
from laplex.sources import Batch
from laplex.vocabulary import Vocabulary, choose

LAYOUT = 1  # of the arrays below; part of the hash, so that an older cache is never misread
PIECE = 1 << 22  # tokens handled at a time when the vocabulary is cut


@dataclass(frozen=True)
class Slices:
    """The combinations of metadata values that occur: `keys[of_document[m]]` is that of document m."""

    columns: tuple[str, ...]
    keys: tuple[tuple[str, ...], ...]
    of_document: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.keys)


class Tokens:
    """ids (N), int32: word ids of all documents, one after the other, each in the vocabulary of its language.
    offsets (M + 1), int64: document m is `ids[offsets[m]:offsets[m + 1]]`.
    languages (M), int32: the language of each document, an index into `vocabularies`.
    """

    def __init__(self, saved: storage.Saved) -> None:
        arrays, settings = saved.arrays, saved.settings
        self.folder = saved.folder
        self.digest = saved.digest
        self.settings = settings
        try:
            self.ids: NDArray[np.int32] = arrays["ids"]
            self.offsets: NDArray[np.int64] = arrays["offsets"]
            self.languages: NDArray[np.int32] = arrays["languages"]
            self.columns: tuple[str, ...] = tuple(settings["columns"])
            self._codes = {name: arrays[f"codes/{name}"] for name in self.columns}
            self._values = {name: _unpack(arrays, f"values/{name}") for name in self.columns}
            self.vocabularies = tuple(
                Vocabulary(_unpack(arrays, f"words/{i}"), arrays[f"counts/{i}"], language)
                for i, language in enumerate(settings["languages"])
            )
        except (KeyError, ValueError, TypeError) as error:
            raise StorageError(f'"{saved.folder}" is damaged: {error} is missing or wrong') from None

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def documents(self) -> int:
        return len(self.offsets) - 1

    def document(self, index: int) -> NDArray[np.int32]:
        """The word ids of one document."""
        return self.ids[self.offsets[index] : self.offsets[index + 1]]

    def values(self, column: str) -> list[str]:
        """The values of a metadata column, in order."""
        return self._values[self._check(column)]

    def codes(self, column: str) -> NDArray[np.int32]:
        """(M) The value of a metadata column for each document, as an index into `values(column)`."""
        return self._codes[self._check(column)]

    def _check(self, column: str) -> str:
        if column not in self._values:
            raise InputError(f'there is no column "{column}"; the columns read are: {quote(self.columns, 30)}')
        return column

    def slices(self, columns: Sequence[str]) -> Slices:
        """The slices of these columns; of no columns, one slice that is everything."""
        if isinstance(columns, str):
            raise InputError(f'slices are made by a list of columns: write ["{columns}"]')
        sizes = [len(self.values(column)) for column in columns]
        combined = np.zeros(self.documents, np.int64)
        for column, size in zip(columns, sizes, strict=True):
            combined = combined * size + self.codes(column)
        found, of_document = np.unique(combined, return_inverse=True)
        keys = []
        for number in found.tolist():
            key = []
            for column, size in zip(reversed(columns), reversed(sizes), strict=True):
                number, code = divmod(number, size)
                key.append(self.values(column)[code])
            keys.append(tuple(reversed(key)))
        return Slices(tuple(columns), tuple(keys), of_document.astype(np.int32))

    def counts(
        self, slices: Slices, language: int = 0, documents: NDArray[np.bool_] | None = None
    ) -> NDArray[np.int64]:
        """(S, V) How often each word of a language occurs in each slice, in all documents or in the chosen ones."""
        size = len(self.vocabularies[language])
        counts = np.zeros(len(slices) * size, np.int64)
        for first, last in _spans(self.offsets):
            inside = self.languages[first:last] == language
            if documents is not None:
                inside = inside & documents[first:last]
            lengths = np.diff(self.offsets[first : last + 1])
            keep = np.repeat(inside, lengths)
            ids = self.ids[self.offsets[first] : self.offsets[last]][keep]
            row = np.repeat(slices.of_document[first:last][inside].astype(np.int64), lengths[inside])
            counts += np.bincount(row * size + ids, minlength=len(counts))
        return counts.reshape(len(slices), size)

    @cached_property
    def _sizes(self) -> str:
        words = " + ".join(f"{len(v):,}" for v in self.vocabularies)
        return f"{len(self):,} tokens of {words} words in {self.documents:,} documents"

    def __repr__(self) -> str:
        return f"Tokens: {self._sizes}"

    @classmethod
    def of(
        cls,
        corpus: Corpus,
        *,
        min_count: int = 5,
        max_words: int | None = None,
        keep: Collection[str] = (),
        cache: str | os.PathLike[str] | None = None,
        threads: int | None = None,
        quiet: bool = False,
    ) -> Tokens:
        """Tokenise and count a corpus, or take it from the cache if it and the settings have not changed.

        Words enter the vocabulary of their language if they occur `min_count` times, at most `max_words` of them;
        words in `keep` always do. `cache` is a folder, by default the one of `cache_folder()`.
        """
        if isinstance(keep, str):
            raise InputError(f'keep is a list of words: write keep=["{keep}"]')
        if min_count < 1 or (max_words is not None and max_words < 1):
            raise InputError(f"min_count={min_count} and max_words={max_words} must be at least 1")
        settings = {"min_count": min_count, "max_words": max_words, "keep": sorted(keep)}
        key = _key(corpus, settings)
        folder = Path(cache or cache_folder()) / f"tokens-{key}"
        if storage.exists(folder):
            try:
                tokens = cls(storage.load(folder, "tokens"))
                say(f"{tokens._sizes}, as read before", quiet=quiet)
                return tokens
            except StorageError as error:
                say(f"{error}; the text is read again", quiet=quiet)
        started = time.monotonic()
        _build(corpus, settings, folder, threads or os.cpu_count() or 1, quiet)
        tokens = cls(storage.load(folder, "tokens"))
        say(f"{tokens._sizes}, read in {time.monotonic() - started:.1f} s{tokens._left_out()}", quiet=quiet)
        return tokens

    def _left_out(self) -> str:
        read = self.settings["tokens_read"]
        lost = read - len(self)
        dropped = self.settings["words_read"] - sum(len(v) for v in self.vocabularies)
        return f"; {dropped:,} rarer words left out ({lost / read:.1%} of the tokens)" if lost else ""


def cache_folder() -> Path:
    """Where tokens are kept: $LAPLEX_CACHE, or the user's cache folder."""
    return Path(os.environ.get("LAPLEX_CACHE") or platformdirs.user_cache_dir("laplex"))


def _key(corpus: Corpus, settings: dict[str, Any]) -> str:
    text = json.dumps([LAYOUT, corpus.identity, settings])
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _names(corpus: Corpus) -> str:
    return quote(dict.fromkeys(part.source.name for part in corpus.parts), 3)


def _unpack(arrays: dict[str, NDArray[Any]], name: str) -> list[str]:
    return storage.unpack(arrays[f"{name}/text"], arrays[f"{name}/starts"])


def _spans(offsets: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
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
        """The values in order, and each row's index among them."""
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
    waiting: deque[tuple[Batch, Future[tuple[pl.Series, NDArray[np.int64]]]]] = deque()

    def finish() -> None:
        batch, split = waiting.popleft()
        reader.take(batch.frame, *split.result())
        progress.update(batch.share, f"{reader.documents:,} documents, {reader.tokens:,} tokens")

    with bar("reading", quiet=quiet) as progress, ThreadPoolExecutor(threads) as pool:
        try:
            for part, batch in corpus.complete_documents():
                waiting.append((batch, pool.submit(reader.split, part, batch.frame)))
                while len(waiting) > threads + 1:
                    finish()
            while waiting:
                finish()
        finally:
            pool.shutdown(cancel_futures=True)


def _build(corpus: Corpus, settings: dict[str, Any], folder: Path, threads: int, quiet: bool) -> None:
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder.parent) as file:  # has no name, so that a kill leaves nothing
            reader = _Reader(corpus, file)
            _read(corpus, reader, threads, quiet)
            if not folder.name.endswith(_key(corpus, settings)):
                raise InputError(f"{_names(corpus)} changed while it was being read: run again when it is at rest")
            if not reader.tokens:
                raise InputError(_nothing(corpus, reader))
            _write(settings, folder, reader, file)
    except OSError as error:
        raise StorageError(
            f'cannot write the tokens to "{folder.parent}": {error.strerror or error}. '
            "Make room there, or name another folder in the environment variable LAPLEX_CACHE"
        ) from error


def _nothing(corpus: Corpus, reader: _Reader) -> str:
    if not reader.documents:
        filtered = any(part.steps or part.drop_missing for part in corpus.parts)
        return f"{_names(corpus)} has no documents" + (" left after where= or missing=" if filtered else "")
    return (
        f"{_names(corpus)} has {reader.documents:,} documents, but no word in any of them: check text= and tokenizer="
    )


def _write(settings: dict[str, Any], folder: Path, reader: _Reader, file: BinaryIO) -> None:
    languages, language_of = reader.languages.sorted()
    words = pl.concat(reader.words)
    arrays: dict[str, NDArray[Any] | storage.Stream] = {"languages": language_of}
    ids = np.full((len(languages), max(map(len, reader.counts))), -1, np.int32)
    total = 0
    for i, language in enumerate(languages):
        counts = reader.counts[reader.languages.number[language]]
        occurring = words.filter(pl.col("number") < len(counts))
        occurring = occurring.with_columns(pl.Series("count", counts[occurring["number"].to_numpy()]))
        chosen = choose(occurring, **settings)
        if not len(chosen):
            raise InputError(_too_rare(occurring, settings["min_count"], language))
        ids[i, chosen["number"].to_numpy()] = np.arange(len(chosen))
        arrays[f"counts/{i}"] = chosen["count"].to_numpy()
        arrays |= _packed(f"words/{i}", chosen["word"].to_list())
        total += int(chosen["count"].sum())
    for name, codes in reader.columns.items():
        values, arrays[f"codes/{name}"] = codes.sorted()
        arrays |= _packed(f"values/{name}", values)
    offsets = np.concatenate([[0], np.cumsum(np.concatenate(reader.lengths))])
    kept = [_kept(found, offsets[first : last + 1]) for first, last, found in _cut(file, offsets, language_of, ids)]
    arrays["offsets"] = np.concatenate([[0], np.cumsum(np.concatenate(kept))])
    pieces = (found[found >= 0] for _, _, found in _cut(file, offsets, language_of, ids))
    arrays["ids"] = storage.Stream(np.dtype(np.int32), (total,), pieces)
    described = settings | {
        "columns": list(reader.columns),
        "languages": languages,
        "tokens_read": reader.tokens,
        "words_read": sum(int((counts > 0).sum()) for counts in reader.counts),
    }
    storage.save(folder, "tokens", described, arrays)


def _cut(
    file: BinaryIO, offsets: NDArray[np.int64], languages: NDArray[np.int32], ids: NDArray[np.int32]
) -> Iterator[tuple[int, int, NDArray[np.int32]]]:
    """Word numbers as ids, −1 outside the vocabulary, of documents `first` up to `last`."""
    file.seek(0)
    for first, last in _spans(offsets):
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
