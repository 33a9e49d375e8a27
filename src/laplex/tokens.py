"""The corpus as numbers: one long array of word ids, and what document each stretch of it is.

A Corpus goes in; Tokens go out, written once to a cache folder under a hash of the input and the settings, and
memory-mapped from there. Words outside the vocabulary are gone, document borders are kept.
N tokens, M documents, S slices, V words.
"""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import platformdirs
from numpy.typing import NDArray

from laplex import storage
from laplex.corpus import Corpus, in_order
from laplex.errors import InputError, StorageError, quote, whole
from laplex.ingest import build, key_of, spans
from laplex.progress import say
from laplex.vocabulary import Vocabulary
from laplex.world import world


@dataclass(frozen=True)
class Slices:
    """The combinations of metadata values that occur: `keys[of_document[m]]` is that of document m."""

    columns: tuple[str, ...]
    keys: tuple[tuple[str, ...], ...]
    of_document: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.keys)

    def values(self, column: str) -> list[str]:
        """The values of a column, in order."""
        place = self.columns.index(column)
        return in_order({key[place] for key in self.keys})

    def cells(self, column: str) -> list[dict[str, int]]:
        """Slices that differ in `column` alone: for each such set, its values in order and their slices."""
        place = self.columns.index(column)
        found: dict[tuple[str, ...], dict[str, int]] = {}
        for slice, key in enumerate(self.keys):
            found.setdefault(key[:place] + key[place + 1 :], {})[key[place]] = slice
        return [{value: cell[value] for value in in_order(cell)} for cell in found.values()]


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
            self._check_arrays()
        except (KeyError, ValueError, TypeError) as error:
            raise StorageError(f'"{saved.folder}" is damaged: {error} is missing or wrong') from None

    def _check_arrays(self) -> None:
        """Do they fit together? Kernels take them at their word."""
        if not all(isinstance(name, str) for name in (*self.columns, *self._names)) or not self._names:
            raise ValueError("a name of a column or a language")
        int32, documents = np.dtype(np.int32), (len(self.offsets) - 1,)
        if self.ids.ndim != 1 or self.ids.dtype != int32 or self.offsets.dtype != np.int64 or self.offsets.ndim != 1:
            raise ValueError("the type of the ids or of the offsets")
        lengths = np.diff(self.offsets)
        if not len(self.offsets) or self.offsets[0] != 0 or self.offsets[-1] != len(self) or (lengths < 0).any():
            raise ValueError("where a document begins")
        sizes = {"the language of a document": (self.languages, len(self._names))}
        sizes |= {f'the "{name}" of a document': (self._codes[name], len(self._values[name])) for name in self.columns}
        for what, (codes, size) in sizes.items():
            if codes.dtype != int32 or codes.shape != documents or not ((codes >= 0) & (codes < size)).all():
                raise ValueError(what)
        # seen without their sign, numbers below 0 are too large as well
        filled = lengths > 0
        largest = np.maximum.reduceat(self.ids.view(np.uint32), self.offsets[:-1][filled]) if filled.any() else 0
        if (largest >= np.array([len(v) for v in self.vocabularies])[self.languages[filled]]).any():
            raise ValueError("the id of a word")

    @property
    def _names(self) -> list[str]:
        return [vocabulary.language for vocabulary in self.vocabularies]

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
        texts = world().texts(np.unique(combined).tobytes())
        found = np.unique(np.concatenate([np.frombuffer(text, np.int64) for text in texts]))
        of_document = np.searchsorted(found, combined)
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
        for first, last in spans(self.offsets):
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
        min_count = whole("min_count", min_count)
        max_words = None if max_words is None else whole("max_words", max_words)
        threads = None if threads is None else whole("threads", threads)
        settings = {"min_count": min_count, "max_words": max_words, "keep": sorted(keep)}
        key = key_of(corpus, settings)
        part = f"-{world().rank}-of-{world().size}" if world().size > 1 else ""
        world().agree("the corpus, as its hash says,", key)
        folder = Path(cache or cache_folder()) / f"tokens-{key}{part}"
        if world().total(np.array([int(storage.exists(folder))]))[0] == world().size:
            try:
                tokens = cls(storage.load(folder, "tokens"))
                storage.clear_up(folder)
                say(f"{tokens._sizes}, as read before", quiet=quiet)
                return tokens
            except StorageError as error:
                if world().size > 1:
                    raise  # reading again takes all ranks
                say(f"{error}; the text is read again", quiet=quiet)
        started = time.monotonic()
        build(corpus, settings, folder, threads or os.cpu_count() or 1, quiet)
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


def _unpack(arrays: dict[str, NDArray[Any]], name: str) -> list[str]:
    return storage.unpack(arrays[f"{name}/text"], arrays[f"{name}/starts"])
