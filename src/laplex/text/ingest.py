"""A corpus becomes arrays of word ids, in one pass over the text.

Each word first gets a number in the order of appearance, written to a temporary file. When all is read, words are
counted, the vocabulary is chosen, and the numbers are rewritten as ids. `tokens.py` describes the arrays.
"""

from __future__ import annotations

import hashlib
import io
import json
import tempfile
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
import polars as pl
from numpy.typing import NDArray

from laplex.errors import InputError, StorageError
from laplex.runtime import storage
from laplex.runtime.display import bar
from laplex.runtime.distributed import communicator
from laplex.text.bins import Bins
from laplex.text.corpus import Corpus
from laplex.text.dealing import DocumentBatch, DocumentShare
from laplex.text.originals import Blocks, OriginalsWriter, folder_of
from laplex.text.parts import LANGUAGE, TEXT, CorpusPart
from laplex.text.periods import Periods, in_order, last_date
from laplex.text.phrases import words_of_phrases
from laplex.text.slices import spans
from laplex.text.tokenizer import LISTS, Tokenizer
from laplex.text.vocabulary import pack_phrases

if TYPE_CHECKING:
    from laplex.text.joining import Joiner

Numbers = NDArray[np.uint32]  # of words, in the order in which they appear
Lengths = NDArray[np.int64]  # of documents
_Matched = tuple[pl.Series, Lengths, Blocks | None]
LAYOUT_VERSION = 4  # of the arrays; part of the hash, so that an older cache is never misread
TOKENS_IN_CACHE = 1 << 18  # of a processor, with what is computed of them


def cache_key(corpus: Corpus, settings: dict[str, Any]) -> str:
    """A hash of the documents and the settings of their vocabulary."""
    text = json.dumps([LAYOUT_VERSION, corpus.identity, settings])
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _new_categories() -> pl.Categorical:
    return pl.Categorical(pl.Categories.random())


def _extended(flags: NDArray[np.bool_], numbers: Numbers) -> NDArray[np.bool_]:
    """Flags by word number, with room for these numbers."""
    top = int(numbers.max())
    return flags if top < len(flags) else np.concatenate([flags, np.zeros(max(top, len(flags)), bool)])


class _Finisher:
    """Replaces matches of a tokenizer by their words (`Tokenizer.words_of`), each different match once."""

    def __init__(self, categories: pl.Categorical, tokenizer: Tokenizer) -> None:
        self._categories, self._tokenizer = categories, tokenizer
        self._known = np.zeros(1 << 16, bool)
        self._several = np.zeros(1 << 16, bool)
        self._words: dict[int, Numbers] = {}  # of matches that are several words, or none
        self._word = np.arange(1 << 16, dtype=np.uint32)  # of every other match

    def finish(
        self, matches: pl.Series, numbers: Numbers, lengths: Lengths, store: Callable[[pl.Series, Numbers], None]
    ) -> tuple[Numbers, Lengths]:
        """The numbers of the words, and the number of words of each document. `store` is called with all new words."""
        if not len(numbers):
            return numbers, lengths
        self._known, self._several = _extended(self._known, numbers), _extended(self._several, numbers)
        self._word = np.concatenate([self._word, np.arange(len(self._word), len(self._known), dtype=np.uint32)])
        new = ~self._known[numbers]
        if new.any():
            self._learn(matches.filter(pl.Series(new)).unique(), store)
            self._known[numbers[new]] = True
        places, single = np.flatnonzero(self._several[numbers]), self._word[numbers]
        if not len(places):
            return single, lengths
        words = [self._words[number] for number in numbers[places].tolist()]
        sizes = np.array([len(each) for each in words])
        repeats = np.ones(len(numbers), np.int64)
        repeats[places] = sizes
        finished = np.repeat(single, repeats)
        ends = np.cumsum(repeats)[places]
        finished[np.repeat(ends - np.cumsum(sizes), sizes) + np.arange(sizes.sum())] = np.concatenate(words)
        document = np.searchsorted(np.cumsum(lengths), places, "right")
        return finished, lengths + np.bincount(document, sizes - 1, len(lengths)).astype(np.int64)

    def _learn(self, matches: pl.Series, store: Callable[[pl.Series, Numbers], None]) -> None:
        """Find the words of those among new matches that are not words as they are."""
        texts = matches.cast(pl.String)
        unusual = self._tokenizer.unusual(texts)
        numbers = matches.to_physical().filter(unusual).to_numpy()
        words = [self._tokenizer.words_of(text) for text in texts.filter(unusual).to_list()]
        if not len(numbers):
            return
        flat = pl.Series([word for each in words for word in each], dtype=pl.String).cast(self._categories)
        physical = flat.to_physical().to_numpy()
        store(flat, physical)
        sizes = np.array([len(each) for each in words])
        starts = np.cumsum(sizes) - sizes
        self._word[numbers[sizes == 1]] = physical[starts[sizes == 1]]
        several = np.flatnonzero(sizes != 1).tolist()
        self._words.update({int(numbers[i]): physical[starts[i] : starts[i] + sizes[i]] for i in several})
        self._several[numbers[several]] = True


class _CorpusReader:
    """Reads a corpus once: writes word numbers to a file, and keeps counts and metadata."""

    def __init__(self, corpus: Corpus, file: BinaryIO, originals: OriginalsWriter | None) -> None:
        self.corpus, self.file, self._originals = corpus, file, originals
        self._categories = _new_categories()
        # Polars forgets the numbers of categories when the last column that uses them is deleted
        self._keep_categories = pl.Series([""], dtype=self._categories)
        self._finishers: dict[str, _Finisher] = {}  # by the identity of the tokenizer
        self._known = np.zeros(1 << 16, bool)
        self.words: list[pl.DataFrame] = []  # "number" and "word"
        self.counts: defaultdict[str, NDArray[np.int64]] = defaultdict(lambda: np.zeros(0, np.int64))  # by language
        self.lengths: list[NDArray[np.int64]] = []
        self._values = {name: pl.Series([], dtype=_new_categories()) for name in (LANGUAGE, *corpus.columns)}
        self.tokenizers: list[dict[str, Any]] = []  # of consecutive documents
        self.documents = self.tokens = 0

    def read(self, threads: int, quiet: bool) -> None:
        """Read the documents of this rank, splitting batches in several threads."""
        waiting: deque[tuple[DocumentBatch, CorpusPart, pl.DataFrame, Future[_Matched]]] = deque()
        rank, ranks, documents = communicator().rank, communicator().size, 0
        share = DocumentShare(rank, ranks) if ranks > 1 else None

        def finish() -> None:
            batch, part, frame, matches = waiting.popleft()
            self._add(part, frame, *matches.result())
            progress.update(batch.share, f"{self.documents:,} documents, {self.tokens:,} tokens")

        with bar("reading", quiet=quiet) as progress, ThreadPoolExecutor(threads) as pool:
            try:
                for part, batch in self.corpus.complete_documents(share):
                    frame = batch.frame
                    if share is not None and not batch.is_dealt:  # documents are dealt to the ranks in turn
                        frame = frame.gather_every(ranks, (rank - documents) % ranks)
                        documents += len(batch.frame)
                    waiting.append((batch, part, frame, pool.submit(self._match, part, frame)))
                    while len(waiting) > threads + 1:
                        finish()
                while waiting:
                    finish()
            finally:
                pool.shutdown(cancel_futures=True)

    def _match(self, part: CorpusPart, frame: pl.DataFrame) -> _Matched:
        """All matches of a batch as categories, and the number of each document. Called in several threads."""
        text, places = frame[TEXT], None
        if part.tokenizer.pipeline is not None and text.dtype == pl.String:
            words, places = part.tokenizer.located(text)
        else:
            words = part.tokenizer.matches(text)
        originals = None if self._originals is None else self._originals.compress(text, places)
        lengths = words.list.len().to_numpy().astype(np.int64)
        return words.explode().drop_nulls().cast(self._categories), lengths, originals

    def _add(
        self, part: CorpusPart, frame: pl.DataFrame, words: pl.Series, lengths: Lengths, originals: Blocks | None
    ) -> None:
        """Add a batch that was matched. Called in one thread, in the order of the batches."""
        if self._originals is not None and originals is not None and len(frame):
            self._originals.add(*originals)
        self._count_documents(part, frame)
        numbers = words.to_physical().to_numpy()
        self._store_new_words(words, numbers)
        if part.tokenizer.finishes and frame[TEXT].dtype == pl.String:
            identity = part.tokenizer.identity
            if identity not in self._finishers:
                self._finishers[identity] = _Finisher(self._categories, part.tokenizer)
            numbers, lengths = self._finishers[identity].finish(words, numbers, lengths, self._store_new_words)
        for name, values in self._values.items():
            values.append(frame[name].cast(values.dtype))
        languages = frame[LANGUAGE].unique().to_list()
        for language in languages:
            documents = (frame[LANGUAGE] == language).to_numpy()
            inside = numbers if len(languages) == 1 else numbers[np.repeat(documents, lengths)]
            before = self.counts[language]
            self.counts[language] = np.bincount(inside, minlength=len(before))
            self.counts[language][: len(before)] += before
        self.file.write(numbers.astype(np.int32).data)
        self.lengths.append(lengths)
        self.documents += len(lengths)
        self.tokens += len(numbers)

    def _count_documents(self, part: CorpusPart, frame: pl.DataFrame) -> None:
        """Keep how the documents are split, for those who show them: `passages.py`."""
        rule = part.tokenizer.described if frame[TEXT].dtype == pl.String else LISTS
        described = {"rule": rule, "lowercase": part.tokenizer.lowercase}
        if not self.tokenizers or self.tokenizers[-1] | {"documents": 0} != described | {"documents": 0}:
            self.tokenizers.append({**described, "documents": 0})
        self.tokenizers[-1]["documents"] += len(frame)

    def _store_new_words(self, words: pl.Series, numbers: NDArray[np.uint32]) -> None:
        """Keep the words of numbers that have not occurred before."""
        if not len(numbers):
            return
        self._known = _extended(self._known, numbers)
        new = ~self._known[numbers]
        if new.any():
            unique = words.filter(pl.Series(new)).unique()
            self.words.append(pl.DataFrame({"number": unique.to_physical(), "word": unique.cast(pl.String)}))
            self._known[numbers[new]] = True

    def check_text(self) -> None:
        """Raise an InputError unless there is text for every rank."""
        ranks, name = communicator(), self.corpus.name
        tokens = ranks.allreduce(np.eye(ranks.size, dtype=np.int64)[ranks.rank] * self.tokens)
        if not tokens.any():
            if self.documents:
                documents = f"{name} has {self.documents:,} documents, but no word in any of them"
                raise InputError(f"{documents}: check text= and tokenizer=")
            filtered = any(part.steps or part.drop_missing for part in self.corpus.parts)
            reason = self.corpus.unmatched() or (" left after where= or missing=" if filtered else "")
            raise InputError(f"{name} has no documents{reason}")
        if not tokens.all():
            empty = ", ".join(map(str, np.flatnonzero(tokens == 0)))
            raise InputError(f"there is no text for rank {empty} of {len(tokens)}: start fewer processes")

    def codes(self, column: str) -> tuple[list[str], NDArray[np.int32]]:
        """The values of a column in all ranks, in order, and the index of each document's value among them."""
        unique = self._values[column].unique(maintain_order=True)
        numbers, here = unique.to_physical().to_numpy(), unique.cast(pl.String).to_list()
        parts = communicator().allgather(json.dumps(here).encode())
        values = in_order({value: None for part in parts for value in json.loads(part)})
        place = {value: i for i, value in enumerate(values)}
        index = np.zeros(int(numbers.max()) + 1, np.int32)
        index[numbers] = [place[value] for value in here]
        return values, index[self._values[column].to_physical().to_numpy()]

    def word_counts(self, words: pl.DataFrame, counts: NDArray[np.int64]) -> pl.DataFrame:
        """word, count: those of `words` that a language has and how often they occur, in all ranks."""
        words = words.filter(pl.col("number") < len(counts))
        counted = words.select("word", pl.Series("count", counts[words["number"].to_numpy()], pl.Int64))
        if communicator().size == 1:
            return counted
        file = io.BytesIO()
        counted.write_ipc(file)
        parts = [pl.read_ipc(io.BytesIO(data)) for data in communicator().allgather(file.getvalue())]
        return pl.concat(parts).group_by("word", maintain_order=True).agg(pl.col("count").sum())


def build(
    corpus: Corpus, settings: dict[str, Any], folder: Path, threads: int, quiet: bool, originals: bool = False
) -> None:
    """Read a corpus and save its tokens to a folder, whose name has the key of `cache_key`, and perhaps its text."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with ExitStack() as stack:  # of files without names, so that a kill leaves nothing
            file, texts = (stack.enter_context(tempfile.TemporaryFile(dir=folder.parent)) for _ in range(2))
            has_places = any(part.tokenizer.pipeline is not None for part in corpus.parts)
            writer = OriginalsWriter(texts, has_places) if originals else None
            reader = _CorpusReader(corpus, file, writer)
            reader.read(threads, quiet)
            if cache_key(corpus, settings) not in folder.name:
                raise InputError(f"{corpus.name} changed while it was being read: run again when nothing writes to it")
            reader.check_text()
            if writer is not None:
                writer.save(folder_of(folder))
            _write(settings, folder, reader, threads)
    except OSError as error:
        raise StorageError(
            f'cannot write the tokens to "{folder.parent}": {error.strerror or error}. '
            "Make room there, or name another folder in the environment variable LAPLEX_CACHE"
        ) from error


def _joiner(
    reader: _CorpusReader,
    words: pl.DataFrame,
    offsets: NDArray[np.int64],
    languages: NDArray[np.int32],
    threads: int,
) -> Joiner | None:
    """What joins the phrases of a text; None if it is read without phrases."""
    phrases = reader.corpus.phrases
    if phrases is None:
        return None
    from laplex.text.collocations import Text  # which import Numba
    from laplex.text.joining import Joiner

    if phrases.find and communicator().size > 1:
        raise InputError(
            "phrases are found in one process: find them there (lx.Tokens.of(corpus).vocabularies[0].phrases) and give "
            "the list to all as phrases="
        )
    reader.file.flush()
    numbers = np.memmap(reader.file, np.int32, "r+")
    text = Text(numbers, offsets, np.zeros(len(languages), np.bool_), list(spans(offsets, TOKENS_IN_CACHE)), threads)
    tokenizers = {part.tokenizer.identity: part.tokenizer for part in reader.corpus.parts}
    lists = any(kind["rule"] == LISTS for kind in reader.tokenizers)
    listed = words_of_phrases(phrases.listed, tokenizers.values(), lists=lists)
    return Joiner(phrases, text, languages, words, listed)


def _write(settings: dict[str, Any], folder: Path, reader: _CorpusReader, threads: int) -> None:
    """Choose the vocabularies, join phrases, turn word numbers into ids and save everything."""
    languages, language_of = reader.codes(LANGUAGE)
    offsets = np.concatenate([[0], np.cumsum(np.concatenate(reader.lengths))])
    words = pl.concat(reader.words)
    joiner = _joiner(reader, words, offsets, language_of, threads)
    arrays: dict[str, NDArray[Any] | storage.Stream] = {"languages": language_of}
    vocabularies = []

    def counted(counts: NDArray[np.int64]) -> pl.DataFrame:
        return reader.word_counts(joiner.words if joiner else words, counts)

    for i, language in enumerate(languages):

        def choose(counts: NDArray[np.int64], language: str = language) -> pl.DataFrame:
            reader.counts[language] = counts
            return _choose(counted(counts), **settings)

        if joiner is None:
            chosen = choose(reader.counts[language])
        else:
            chosen, phrases = joiner.join(i, language, reader.counts[language], choose)
            arrays |= pack_phrases(phrases, i)
        _check_words(chosen, counted(reader.counts[language]), language, settings["min_count"])
        vocabularies.append(chosen.with_row_index("id"))
        arrays[f"counts/{i}"] = chosen["count"].to_numpy()
        arrays[f"words/{i}/text"], arrays[f"words/{i}/starts"] = storage.pack(chosen["word"].to_list())
    words = joiner.words if joiner else words
    # the last column is that of words within phrases, whose number is −1
    ids = np.full((len(languages), int(words["number"].max()) + 2), -1, np.int32)  # type: ignore[arg-type]
    for i, chosen in enumerate(vocabularies):
        numbered = words.join(chosen, on="word")
        ids[i, numbered["number"].to_numpy()] = numbered["id"].to_numpy()
    periods = [step for step in reader.corpus.parts[0].steps if isinstance(step, Periods)]
    dates: dict[str, str] = {}  # the last of each column that periods are made of
    for name in reader.corpus.columns:
        values, arrays[f"codes/{name}"] = reader.codes(name)
        if any(step.column == name and step.format is None for step in periods):
            dates[name] = last_date(values)
        arrays[f"values/{name}/text"], arrays[f"values/{name}/starts"] = storage.pack(values)
    ends = [np.zeros(1, np.int64)]  # of the documents, counting the words in the vocabulary only
    for first, last, span in _as_ids(reader.file, offsets, language_of, ids):
        within = np.concatenate([[0], np.cumsum(span >= 0)])
        ends.append(ends[-1][-1] + within[offsets[first + 1 : last + 1] - offsets[first]])
    pieces = (span[span >= 0] for _, _, span in _as_ids(reader.file, offsets, language_of, ids))
    arrays["offsets"] = np.concatenate(ends)
    arrays["ids"] = storage.Stream(np.dtype(np.int32), (int(ends[-1][-1]),), pieces)
    described = settings | {
        "columns": list(reader.corpus.columns),
        "languages": languages,
        "sources": reader.corpus.sources,
        "unit": reader.corpus.unit,
        "tokenizers": reader.tokenizers,
        "numbers": list(reader.corpus.numbers),
        **{name: _sources(reader.corpus, kind) for name, kind in (("periods", Periods), ("bins", Bins))},
        "period_lengths": {step.name: step.every for step in periods},
        "last_dates": {step.name: dates[step.column] for step in periods if step.column in dates},
        "tokens_read": reader.tokens - (joiner.removed if joiner else 0),
        "words_read": sum(int((counts > 0).sum()) for counts in reader.counts.values()),
    }
    if joiner is not None:
        described["phrases"] = joiner.facts()
    storage.save(folder, "tokens", described, arrays)


def _sources(corpus: Corpus, kind: type[Periods | Bins]) -> dict[str, str]:
    """By column that steps of this kind have added, the column that it was made from."""
    return {step.name: step.column for step in corpus.parts[0].steps if isinstance(step, kind)}


def _choose(words: pl.DataFrame, *, min_count: int, max_words: int | None, keep: list[str]) -> pl.DataFrame:
    """The rows of `words` (columns "word" and "count") that enter a vocabulary, most frequent first.

    They are the `max_words` most frequent words that occur at least `min_count` times, and those in `keep` that occur.
    """
    ranked = words.filter(pl.col("count") > 0).sort("count", "word", descending=[True, False])
    frequent = (pl.col("count") >= min_count) & (pl.row_index() < (max_words or len(ranked)))
    return ranked.filter(frequent | pl.col("word").is_in(keep))


def _check_words(chosen: pl.DataFrame, words: pl.DataFrame, language: str, min_count: int) -> None:
    """Raise an InputError if none of the words of a language, which have counts, was chosen."""
    if not len(chosen):
        of = f' of "{language}"' if language else ""
        word, count = words.sort("count", "word").row(-1) if len(words) else ("", 0)
        raise InputError(
            f'min_count={min_count} leaves no word{of}: the most frequent, "{word}", occurs {count:,} times'
        )


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
