"""The corpus as numbers: one long array of word ids, and the borders and metadata of its documents.

Tokens are made from a Corpus once, written to a cache folder under a hash of the documents and the settings, and
memory-mapped from there. N tokens, M documents, S slices, V words.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Collection, Iterator, Sequence
from copy import copy
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import platformdirs
from numpy.typing import NDArray

from laplex.errors import InputError, StorageError, check_int, quote
from laplex.runtime import storage
from laplex.runtime.display import say
from laplex.runtime.distributed import communicator
from laplex.runtime.processors import available_threads
from laplex.text.periods import are_periods, is_number, numbers_of
from laplex.text.slices import Slices, spans
from laplex.text.spelling import compose
from laplex.text.vocabulary import Vocabulary, unpack_phrases

if TYPE_CHECKING:
    from laplex.text.corpus import Corpus
    from laplex.text.originals import Originals


class Tokens:
    """The documents of a corpus as word ids, made by `Tokens.of`.

    Attributes:
        ids: (N) int32. The word ids of all documents, one after the other, each in the vocabulary of its language.
        offsets: (M + 1) int64. Document m is `ids[offsets[m]:offsets[m + 1]]`.
        languages: (M) int32. The language of each document, an index into `vocabularies`.
        vocabularies: The vocabulary of each language, with its phrases if the text was read with any.
        columns: The names of the metadata columns.
        unit: The column that says who was sampled, or None if `lx.read` was not told.
        folder: The folder that the arrays are in.
        digest: The hash of all arrays.

    Example:
        >>> import laplex as lx
        >>> tokens = Tokens.of(lx.read([{"text": "a b a"}]), min_count=1, quiet=True)
        >>> tokens.ids.tolist(), tokens.vocabularies[0].words
        ([0, 1, 0], ('a', 'b'))
    """

    def __init__(self, saved: storage.Saved) -> None:
        arrays, self.settings = saved.arrays, saved.settings
        self.folder, self.digest = saved.folder, saved.digest
        self._originals: Originals | None = None

        def texts(name: str) -> list[str]:
            return storage.unpack(arrays[f"{name}/text"], arrays[f"{name}/starts"])

        try:
            self.ids: NDArray[np.int32] = arrays["ids"]
            self.offsets: NDArray[np.int64] = arrays["offsets"]
            self.languages: NDArray[np.int32] = arrays["languages"]
            self.columns: tuple[str, ...] = tuple(self.settings["columns"])
            self.unit: str | None = self.settings.get("unit")
            self._codes = {name: arrays[f"codes/{name}"] for name in self.columns}
            self._values = {name: texts(f"values/{name}") for name in self.columns}
            self.vocabularies = tuple(
                Vocabulary(texts(f"words/{i}"), arrays[f"counts/{i}"], language, unpack_phrases(arrays, i))
                for i, language in enumerate(self.settings["languages"])
            )
            self._check_arrays()
        except (KeyError, ValueError, TypeError) as error:
            raise StorageError(f'"{saved.folder}" is damaged: {error} is missing or wrong') from None

    def _check_arrays(self) -> None:
        """Raise ValueError unless the arrays fit together, since kernels do not check."""
        languages = [vocabulary.language for vocabulary in self.vocabularies]
        if not all(isinstance(name, str) for name in (*self.columns, *languages)) or not languages:
            raise ValueError("a name of a column or a language")
        if self.unit is not None and self.unit not in self.columns:
            raise ValueError("the name of the unit")
        if not all(
            isinstance(self.settings.get(name, {}), dict)
            for name in ("periods", "period_lengths", "last_dates", "bins")
        ):
            raise ValueError("which columns are periods or bins")
        if not isinstance(self.settings.get("phrases", {}), dict):
            raise ValueError("what became of phrases")
        if not isinstance(self.settings.get("numbers", []), list):
            raise ValueError("which columns are numbers")
        int32, documents = np.dtype(np.int32), (len(self.offsets) - 1,)
        if self.ids.ndim != 1 or self.ids.dtype != int32 or self.offsets.dtype != np.int64 or self.offsets.ndim != 1:
            raise ValueError("the type of the ids or of the offsets")
        lengths = np.diff(self.offsets)
        if not len(self.offsets) or self.offsets[0] != 0 or self.offsets[-1] != len(self) or (lengths < 0).any():
            raise ValueError("where a document begins")
        sizes = {"the language of a document": (self.languages, len(languages))}
        sizes |= {f'the "{name}" of a document': (self._codes[name], len(self._values[name])) for name in self.columns}
        for name, (codes, size) in sizes.items():
            if codes.dtype != int32 or codes.shape != documents or not ((codes >= 0) & (codes < size)).all():
                raise ValueError(name)
        # as unsigned integers, negative ids are too large as well
        full = lengths > 0
        largest = np.maximum.reduceat(self.ids.view(np.uint32), self.offsets[:-1][full]) if full.any() else 0
        if (largest >= np.array([len(v) for v in self.vocabularies])[self.languages[full]]).any():
            raise ValueError("the id of a word")

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def documents(self) -> int:
        """The number of documents."""
        return len(self.offsets) - 1

    def document(self, index: int) -> NDArray[np.int32]:
        """The word ids of one document.

        Args:
            index: The number of the document, from 0.

        Returns:
            Their ids.
        """
        return self.ids[self.offsets[index] : self.offsets[index + 1]]

    def text(self, index: int) -> str:
        """The text of one document as it was written, with case and punctuation.

        Args:
            index: The number of the document, from 0.

        Returns:
            The text. If the corpus has lists of words instead of texts: the words of the vocabulary, with spaces.

        Example:
            >>> import laplex as lx
            >>> Tokens.of(lx.read([{"text": "Hello, World!"}]), min_count=1, quiet=True).text(0)
            'Hello, World!'
        """
        text = self.texts([index])[0]
        return self.joined_words(index) if text is None else text

    def texts(self, documents: Sequence[int] | NDArray[np.int64]) -> list[str | None]:
        """The texts of several documents as they were written, None for those that were lists of words."""
        return [text for text, _ in self.texts_and_places(documents)]

    def texts_and_places(self, documents: Sequence[int] | NDArray[np.int64]) -> list[tuple[str | None, str]]:
        """The texts of several documents, and where their words stand for `lemmas.word_places`, if that is known."""
        numbers = np.asarray(documents, np.int64)
        if ((numbers < 0) | (numbers >= self.documents)).any():
            raise InputError(
                f"there is no document {numbers[(numbers < 0) | (numbers >= self.documents)][0]}: they are "
                f"numbered from 0 to {self.documents - 1:,}"
            )
        if self._originals is None:
            self._originals = self._open_originals()
        return self._originals.texts_and_places(numbers)

    def joined_words(self, index: int) -> str:
        """The words of a document that are in the vocabulary, with spaces between them."""
        words = self.vocabularies[self.languages[index]].words
        return " ".join(words[i] for i in self.document(index).tolist())

    def _open_originals(self) -> Originals:
        from laplex.text.originals import Originals, folder_of

        folder = folder_of(self.folder)
        if not self.folder.name.startswith("tokens-") or not storage.exists(folder):
            raise InputError(
                f'the text of these documents was not kept beside their tokens in "{self.folder}": read it again with '
                "lx.Tokens.of(corpus, ...), without originals=False or --no-originals"
            )
        return Originals(storage.load(folder, "originals"), self.documents)

    def values(self, column: str) -> list[str]:
        """The values of a metadata column.

        Args:
            column: The name of the column.

        Returns:
            The values in order, as strings.

        Example:
            lx.Tokens.of(lx.demo()).values("party")
        """
        return self._values[self._check(column)]

    def codes(self, column: str) -> NDArray[np.int32]:
        """The metadata of each document.

        Args:
            column: The name of the column.

        Returns:
            (M) The value of each document, as an index into `values(column)`.
        """
        return self._codes[self._check(column)]

    def numbers(self, column: str) -> NDArray[np.float64]:
        """The number of each document.

        Args:
            column: A column whose values are all numbers (lx.read(..., numbers=["age"])), ranges of numbers, or periods
                of time.

        Returns:
            (M) The numbers; years for periods of time, and the middles of periods and ranges.

        Example:
            >>> import laplex as lx
            >>> corpus = lx.read([{"text": "a", "age": "18"}, {"text": "a", "age": "1.5e1"}], numbers=["age"])
            >>> Tokens.of(corpus, min_count=1, quiet=True).numbers("age").tolist()
            [18.0, 15.0]
        """
        values, numbers = self.values(column), self.number_values(column)
        if numbers is None:
            wrong = np.array([not is_number(value) for value in values])[self.codes(column)]
            example = values[self.codes(column)[wrong.argmax()]]
            raise InputError(
                f'{wrong.sum():,} of {self.documents:,} documents have no number in "{column}" (one has "{example}"): '
                f'to leave them out, read the text with lx.read(..., numbers=["{column}"], missing="drop")'
            )
        return numbers[self.codes(column)]

    def number_values(self, column: str) -> NDArray[np.float64] | None:
        """The number that each of `values(column)` is; None if they are neither numbers nor periods of time."""
        declared = column in self.settings.get("numbers", [])
        return numbers_of(self.values(column), periods=not declared)

    def with_column(self, name: str, codes: NDArray[np.int32], values: Sequence[str]) -> Tokens:
        """The same text with another metadata column, which is not stored.

        Args:
            name: The name of the column.
            codes: (M) The value of each document, as an index into `values`.
            values: The values.

        Returns:
            The tokens with that column.
        """
        added = copy(self)
        added.columns = (*self.columns, name)
        added._codes, added._values = {**self._codes, name: codes}, {**self._values, name: list(values)}
        return added

    def in_vocabularies(self, vocabularies: Sequence[Vocabulary]) -> Tokens:
        """The same text with other vocabularies, which is not stored; words that these do not have are left out.

        Args:
            vocabularies: The vocabularies, matched by language; of one here and one there, the name does not matter.

        Returns:
            The tokens with the ids and counts of these vocabularies.
        """
        names = [vocabulary.language for vocabulary in vocabularies]
        single = len(names) == len(self.vocabularies) == 1
        place = np.array([0 if single else names.index(own.language) for own in self.vocabularies], np.int32)
        ids = np.full(len(self), -1, np.int32)
        language = np.repeat(self.languages, np.diff(self.offsets))
        for number, own in enumerate(self.vocabularies):
            inside = language == number
            ids[inside] = vocabularies[place[number]].ids(own.words)[self.ids[inside]]
        kept = ids >= 0
        other = copy(self)
        other.ids, other.languages = ids[kept], place[self.languages]
        other.offsets = np.concatenate([[0], np.cumsum(kept)])[self.offsets]
        other.vocabularies = tuple(vocabularies)
        hashed = hashlib.blake2b(self.digest.encode(), digest_size=16)
        for vocabulary in vocabularies:
            hashed.update("\n".join([vocabulary.language, *vocabulary.words]).encode())
            hashed.update(np.ascontiguousarray(vocabulary.counts, np.int64).tobytes())
        other.digest = hashed.hexdigest()
        vars(other).pop("_sizes", None)
        return other

    def _check(self, column: str) -> str:
        if column not in self._values:
            raise InputError(f'there is no column "{column}"; the columns read are: {quote(self.columns, 30)}')
        return column

    def determining_columns(self, column: str) -> list[str]:
        """The columns that decide another: each of their values has one value of it only, as a senator has one party.

        A column with hardly fewer values than there are documents says nothing about who speaks, nor does one that is
        the same thing under another name or is read as numbers, nor a date about the period that it falls into.

        Args:
            column: The column that is decided.

        Returns:
            The names of the others, those with the fewest values first.

        Example:
            lx.Tokens.of(speeches).determining_columns("party")
        """
        label, size = self.codes(column).astype(np.int64), len(self.values(column))
        time, numbers = are_periods(self.values(column)), self.settings.get("numbers", [])
        source = (self.settings.get("periods", {}) | self.settings.get("bins", {})).get(column)
        determining = []
        for other in self.columns:
            values = self.values(other)
            if other in (column, source, *numbers) or (time and are_periods(values)):
                continue
            if size < len(values) <= self.documents // 2:
                cells = np.unique(self.codes(other) * np.int64(size) + label)
                if len(cells) == len(np.unique(cells // size)):
                    determining.append((len(values), other))
        return [name for _, name in sorted(determining)]

    def slices(self, columns: Sequence[str]) -> Slices:
        """The combinations of values of some columns that occur, in any rank.

        Args:
            columns: The columns; none for one slice with all documents.

        Returns:
            The slices, and that of each document.
        """
        if isinstance(columns, str):
            raise InputError(f'slices are made by a list of columns: write ["{columns}"]')
        sizes = [len(self.values(column)) for column in columns]
        combined = np.zeros(self.documents, np.int64)
        for column, size in zip(columns, sizes, strict=True):
            combined = combined * size + self.codes(column)
        data = communicator().allgather(np.unique(combined).tobytes())
        occurring = np.unique(np.concatenate([np.frombuffer(part, np.int64) for part in data]))
        codes = np.unravel_index(occurring, sizes) if columns else ()
        values = [[self.values(column)[i] for i in index.tolist()] for column, index in zip(columns, codes)]
        keys = tuple(zip(*values)) if columns else ((),) * len(occurring)
        return Slices(tuple(columns), keys, np.searchsorted(occurring, combined).astype(np.int32))

    def occurs(self, slices: Slices, language: int = 0) -> NDArray[np.bool_]:
        """Find out where words occur.

        Args:
            slices: The slices, made by `slices`.
            language: The language, an index into `vocabularies`.

        Returns:
            (S, V) Whether each word of the language occurs in each slice.
        """
        size = len(self.vocabularies[language])
        occurs = np.zeros(len(slices) * size, np.bool_)
        for row, ids in self._places(slices, language, None):
            occurs[row * size + ids] = True
        return occurs.reshape(len(slices), size)

    def _places(
        self, slices: Slices, language: int, documents: NDArray[np.bool_] | None
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int32]]]:
        """The slice and the id of every token of a language, some documents at a time."""
        for first, last in spans(self.offsets):
            inside = self.languages[first:last] == language
            if documents is not None:
                inside = inside & documents[first:last]
            lengths = np.diff(self.offsets[first : last + 1])
            ids = self.ids[self.offsets[first] : self.offsets[last]][np.repeat(inside, lengths)]
            yield np.repeat(slices.of_document[first:last][inside].astype(np.int64), lengths[inside]), ids

    def counts(
        self, slices: Slices, language: int = 0, documents: NDArray[np.bool_] | None = None
    ) -> NDArray[np.int64]:
        """Count words by slice.

        Args:
            slices: The slices, made by `slices`.
            language: The language, an index into `vocabularies`.
            documents: (M) Which documents to count, by default all.

        Returns:
            (S, V) How often each word of the language occurs in each slice.
        """
        size = len(self.vocabularies[language])
        counts = np.zeros(len(slices) * size, np.int64)
        for row, ids in self._places(slices, language, documents):
            np.add.at(counts, row * size + ids, 1)
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
        originals: bool = True,
        quiet: bool = False,
    ) -> Tokens:
        """Tokenize and count a corpus, or load it from the cache if neither it nor the settings have changed.

        Args:
            corpus: The corpus.
            min_count: How often a word must occur to enter the vocabulary of its language.
            max_words: The largest size of a vocabulary, by default any.
            keep: Words that enter a vocabulary however rare they are.
            cache: The cache folder; by default $LAPLEX_CACHE, or the user's cache folder.
            threads: The number of threads, by default one for each processor that the process may use.
            originals: Keep a compressed copy of the text, with which passages are shown as they were written.
            quiet: Show no progress.

        Returns:
            The tokens.

        Example:
            >>> import laplex as lx
            >>> len(Tokens.of(lx.read([{"text": "to be or not to be"}]), min_count=2, quiet=True))
            4
        """
        from laplex.text.ingest import build, cache_key
        from laplex.text.originals import folder_of

        if isinstance(keep, str):
            raise InputError(f'keep is a list of words: write keep=["{keep}"]')
        min_count = check_int("min_count", min_count)
        max_words = None if max_words is None else check_int("max_words", max_words)
        threads = check_int("threads", available_threads() if threads is None else threads)
        kept = {compose(word) for word in keep}
        if all(part.tokenizer.lowercase for part in corpus.parts):
            kept |= {word.lower() for word in kept}
        settings = {"min_count": min_count, "max_words": max_words, "keep": sorted(kept)}
        key = cache_key(corpus, settings)
        part = f"-{communicator().rank}-of-{communicator().size}" if communicator().size > 1 else ""
        communicator().check_equal("the hash of the corpus", key)
        folder = Path(cache or cache_folder()) / f"tokens-{key}{part}"
        complete = storage.exists(folder) and (not originals or storage.exists(folder_of(folder)))
        if communicator().allreduce(np.array([int(complete)]))[0] == communicator().size:
            try:
                tokens = cls(storage.load(folder, "tokens"))
                if originals:
                    tokens._open_originals()
                    storage.clear_up(folder_of(folder))
                storage.clear_up(folder)
                say(f"{tokens._sizes}, as read before", quiet=quiet)
                tokens._say_phrases(quiet)
                return tokens
            except StorageError as error:
                if communicator().size > 1:
                    raise  # reading again is a collective operation
                say(f"{error}; the text is read again", quiet=quiet)
        started = time.monotonic()
        build(corpus, settings, folder, threads, quiet, originals)
        tokens = cls(storage.load(folder, "tokens"))
        words = tokens.settings["words_read"] - sum(map(len, tokens.vocabularies))
        read = tokens.settings["tokens_read"]
        share = (read - len(tokens)) / read
        left_out = f"; {words:,} rarer words left out ({share:.1%} of the tokens)" if share else ""
        say(f"{tokens._sizes}, read in {time.monotonic() - started:.1f} s{left_out}", quiet=quiet)
        tokens._say_phrases(quiet)
        return tokens

    def _say_phrases(self, quiet: bool) -> None:
        """Say which phrases were found, and which of those that were listed were not."""
        from laplex.text.phrases import phrases_in_words

        if "phrases" in self.settings:
            for line in phrases_in_words(self.settings["phrases"], self.vocabularies):
                say(line, quiet=quiet)


def cache_folder() -> Path:
    """The folder of cached tokens: $LAPLEX_CACHE, or the user's cache folder."""
    return Path(os.environ.get("LAPLEX_CACHE") or platformdirs.user_cache_dir("laplex"))
