"""Occurrences of words, each with the vector that an encoder has given it in its context.

They are Tokens with one word in each document, so that metadata, slices and units are those of any text; beside these
they have the vectors, the text around each occurrence, and the words around it, by which differences are explained.
N occurrences, D dimensions, C places around a word.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from laplex.errors import InputError, StorageError, quote
from laplex.runtime import lazy, storage
from laplex.runtime.atomic import scratch
from laplex.runtime.distributed import communicator
from laplex.text.spelling import compose
from laplex.text.tokens import Tokens, cache_folder

if TYPE_CHECKING:
    import polars as pl
else:
    pl = lazy.module("polars")

KIND = "occurrences"
PLACES_AROUND = 10  # words on either side by which differences are explained
CHARACTERS_AROUND = 400  # of the text that are kept on either side
AXES_OCCURRENCES = 100_000  # from which axes are found
LEAST_CONTEXT_COUNT = 5  # of a word around occurrences


class Occurrences(Tokens):
    """Occurrences of words with their vectors, made by `lx.encode` or `lx.occurrences`.

    Attributes:
        vectors: (N, D) The vector of each occurrence, memory-mapped.
        context: (N, C) The words around each, as indices into `context_words`, or −1.
        context_words: The words that are found around occurrences.
        encoder: What made the vectors, in words; empty if they were brought.

    Example:
        occurrences = lx.encode(speeches, ["tax", "health"], "sentence-transformers/all-MiniLM-L6-v2")
        fitted = lx.fit(lx.Model(["party"], lx.Ridge() + lx.Groups("party")), occurrences)
    """

    def __init__(self, saved: storage.Saved) -> None:
        super().__init__(saved)
        arrays = saved.arrays
        try:
            self.vectors: NDArray[np.floating[Any]] = arrays["vectors"]
            self.context: NDArray[np.int32] = arrays["context"]
            self.context_words = storage.unpack(arrays["context_words/text"], arrays["context_words/starts"])
            self._texts = arrays["text/text"], arrays["text/starts"]
            self._spans: NDArray[np.int64] = arrays["places"]
            self._projected: NDArray[np.float32] | None = None
            self.encoder = str(self.settings["encoder"])
            self._check_vectors()
        except (KeyError, ValueError, TypeError) as error:
            raise StorageError(f'"{saved.folder}" is damaged: {error} is missing or wrong') from None

    def save(self, folder: str | os.PathLike[str]) -> Occurrences:
        """Write them to a folder, from which `Occurrences.load` reads them, here or elsewhere.

        Args:
            folder: The folder, which is replaced if it holds occurrences.

        Returns:
            The occurrences there. A model that is fitted to these finds them in that folder.

        Example:
            lx.encode(speeches, ["tax"], "encoder").save("tax.occurrences")
        """
        storage.save(folder, KIND, self.settings, storage.load(self.folder, KIND).arrays)
        return Occurrences.load(folder)

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Occurrences:
        """Open saved occurrences; their vectors are memory-mapped.

        Args:
            folder: A folder that `save` wrote.

        Returns:
            The Occurrences.

        Example:
            lx.Occurrences.load("tax.occurrences")
        """
        return cls(storage.load(folder, KIND))

    def projected(self, dimensions: int) -> NDArray[np.floating[Any]]:
        """The vectors along the axes on which they vary most.

        Args:
            dimensions: The number of axes.

        Returns:
            (N, dimensions) The vectors, as they are if they have no more dimensions.

        Example:
            occurrences.projected(100)
        """
        if dimensions >= self.vectors.shape[1]:
            return self.vectors
        if self._projected is None or self._projected.shape[1] != dimensions:
            some = np.asarray(self.vectors[:: max(1, len(self) // AXES_OCCURRENCES)], np.float64)
            some = some - some.mean(0)
            axes = np.linalg.eigh(some.T @ some)[1][:, ::-1][:, :dimensions].astype(np.float32)
            self._projected = np.asarray(self.vectors, np.float32) @ axes
        return self._projected

    def _check_vectors(self) -> None:
        """Raise ValueError unless there is a vector, a place and a context for each occurrence."""
        size, (data, starts) = len(self), self._texts
        if (np.diff(self.offsets) != 1).any():
            raise ValueError("a document, which is one occurrence")
        if self.vectors.ndim != 2 or self.vectors.dtype.kind != "f" or len(self.vectors) != size:
            raise ValueError("the vectors")
        if self.context.ndim != 2 or self.context.dtype != np.int32 or len(self.context) != size:
            raise ValueError("the words around occurrences")
        if size and not (self.context.min() >= -1 and self.context.max(initial=-1) < len(self.context_words)):
            raise ValueError("a word around an occurrence")
        if self._spans.shape != (size, 2) or self._spans.dtype != np.int64 or starts.shape != (size + 1,):
            raise ValueError("where occurrences stand")
        if starts[0] != 0 or starts[-1] != len(data) or (np.diff(starts) < 0).any():
            raise ValueError("the text around occurrences")

    def texts_and_places(self, documents: Sequence[int] | NDArray[np.int64]) -> list[tuple[str | None, str]]:
        """The text around occurrences, and where these stand in it, for `lemmas.word_places`."""
        data, starts = self._texts
        found: list[tuple[str | None, str]] = []
        for number in np.asarray(documents, np.int64).tolist():
            text = data[starts[number] : starts[number + 1]].tobytes().decode("utf-8", "replace")
            (start, end), word = self._spans[number].tolist(), self.vocabularies[0].words[self.ids[number]]
            found.append((text, json.dumps([[word], [start], [end - start]])))
        return found

    def __repr__(self) -> str:
        words = len(self.vocabularies[0])
        return f"Occurrences: {len(self):,} of {words:,} words, vectors of {self.vectors.shape[1]} dimensions"


def occurrences(
    frame: Any,
    vectors: Any,
    *,
    word: str = "word",
    text: str = "text",
    start: str = "start",
    end: str = "end",
    metadata: Sequence[str] = (),
    unit: str | None = None,
    language: str | None = None,
    encoder: str = "",
) -> Occurrences:
    """Occurrences of words whose vectors were made elsewhere.

    Args:
        frame: A row for each occurrence: a pandas, polars or Arrow frame, a list of dicts, or a file.
        vectors: (N, D) The vector of each row.
        word: The column with the word, or its lemma.
        text: The column with the text around it.
        start: The column with the character of the text at which the word begins.
        end: The column with the character behind its end.
        metadata: The columns to keep, such as a party or a period.
        unit: The column that says who was sampled, such as the speaker.
        language: The language of the text, by which function words are left out of explanations.
        encoder: What made the vectors, for reports.

    Returns:
        The Occurrences, kept in the cache.

    Example:
        >>> import numpy as np
        >>> rows = [{"word": "bank", "text": "the bank of the river", "start": 4, "end": 8, "period": "1900"}]
        >>> occurrences(rows, np.ones((1, 3)), metadata=["period"])
        Occurrences: 1 of 1 words, vectors of 3 dimensions
    """
    from laplex.text.sources import source_of  # which imports Polars

    source = source_of(frame, encoding="utf-8", documents="lines", storage_options=None)
    columns = list(dict.fromkeys([word, text, start, end, *metadata, *([] if unit is None else [unit])]))
    if unknown := [name for name in columns if name not in source.columns]:
        raise InputError(f'there is no column "{unknown[0]}" in {source.name}; it has {quote(source.columns, 30)}')
    rows = pl.concat([batch.frame for batch in source.batches(columns)])
    return made_of(rows, np.asarray(vectors), (word, text, start, end), metadata, unit, language, encoder)


def made_of(
    rows: pl.DataFrame,
    vectors: NDArray[Any],
    named: tuple[str, str, str, str],
    metadata: Sequence[str],
    unit: str | None,
    language: str | None,
    encoder: str,
    settings: dict[str, Any] | None = None,
) -> Occurrences:
    """Occurrences from rows with a word, a text, and where the word begins and ends there (the columns `named`)."""
    from laplex.text.corpus import read

    if communicator().size > 1:
        raise InputError("occurrences are read by one process")
    if vectors.ndim != 2 or vectors.dtype.kind != "f" or len(vectors) != len(rows):
        raise InputError(f"vectors of shape {vectors.shape}: {len(rows):,} rows need one vector of numbers each")
    if not len(rows):
        raise InputError("there are no occurrences")
    if not np.isfinite(vectors).all():
        bad = int(np.flatnonzero(~np.isfinite(vectors).all(1))[0])
        raise InputError(f"the vector of row {bad + 1:,} has numbers that are not finite")
    words = [compose(str(value)) for value in rows[named[0]].to_list()]
    texts, places = _cut(rows, named)
    context, context_words = _words_around(texts, places)
    listed = rows.select(list(dict.fromkeys([named[0], *metadata, *([unit] if unit else [])])))
    listed = listed.with_columns(pl.Series("\x01", [[one] for one in words], pl.List(pl.String)))
    corpus = read(listed, "\x01", list(metadata), unit=unit, language=language, lowercase=False)
    with scratch() as folder:
        tokens = Tokens.of(corpus, min_count=1, cache=folder, originals=False, quiet=True)
        saved = storage.load(tokens.folder)
        arrays = {name: np.array(array) for name, array in saved.arrays.items()}
        described = saved.settings | (settings or {})
    arrays["vectors"], arrays["places"], arrays["context"] = np.ascontiguousarray(vectors), places, context
    arrays["text/text"], arrays["text/starts"] = storage.pack(texts)
    arrays["context_words/text"], arrays["context_words/starts"] = storage.pack(context_words)
    described |= {"encoder": encoder, "sources": described.get("sources", [])}
    hashed = hashlib.blake2b(json.dumps(described, sort_keys=True).encode(), digest_size=12)
    for name in sorted(arrays):
        hashed.update(name.encode() + np.ascontiguousarray(arrays[name]).tobytes())
    target = cache_folder() / f"{KIND}-{hashed.hexdigest()}"
    if not storage.exists(target):
        storage.save(target, KIND, described, arrays)
    return Occurrences(storage.load(target, KIND))


def open_tokens(folder: str | Path) -> Tokens:
    """Saved tokens, or saved occurrences."""
    saved = storage.load(folder)
    if saved.kind == KIND:
        return Occurrences(saved)
    return Tokens(storage.load(folder, "tokens"))


def _cut(rows: pl.DataFrame, named: tuple[str, str, str, str]) -> tuple[list[str], NDArray[np.int64]]:
    """The text around each occurrence, and where it stands there."""
    from laplex.text.formats import series_of

    texts: list[str] = []
    places = np.empty((len(rows), 2), np.int64)
    values = (series_of(name, rows[name].to_list()).to_list() for name in named[1:])
    for row, (text, begin, end) in enumerate(zip(*values, strict=True)):
        try:
            first, last = int(float(begin)), int(float(end))
        except (TypeError, ValueError):
            raise InputError(
                f'row {row + 1:,}: "{named[2]}" and "{named[3]}" are {begin!r} and {end!r}, not characters of the text'
            ) from None
        if text is None or not 0 <= first < last <= len(text):
            size = 0 if text is None else len(text)
            raise InputError(
                f"row {row + 1:,}: characters {first} to {last} are not in its text of {size:,} characters"
            )
        low, high = max(first - CHARACTERS_AROUND, 0), last + CHARACTERS_AROUND
        texts.append(text[low:high])
        places[row] = first - low, last - low
    return texts, places


def _words_around(texts: list[str], places: NDArray[np.int64]) -> tuple[NDArray[np.int32], list[str]]:
    """(N, C) The words before and after each occurrence, nearest first, as indices into a list of words."""
    from laplex.text.tokenizer import Tokenizer

    tokenizer = Tokenizer("paper")
    parts = (
        [text[:start] for text, (start, _) in zip(texts, places.tolist(), strict=True)],
        [text[end:] for text, (_, end) in zip(texts, places.tolist(), strict=True)],
    )
    before, after = (tokenizer.matches(pl.Series(part, dtype=pl.String)).to_list() for part in parts)
    around = [[*one[::-1][:PLACES_AROUND], *two[:PLACES_AROUND]] for one, two in zip(before, after, strict=True)]
    counts: dict[str, int] = {}
    for words in around:
        for one in set(words):
            counts[one] = counts.get(one, 0) + 1
    kept = sorted((one for one, count in counts.items() if count >= LEAST_CONTEXT_COUNT), key=lambda w: (-counts[w], w))
    number = {one: i for i, one in enumerate(kept)}
    context = np.full((len(texts), 2 * PLACES_AROUND), -1, np.int32)
    for row, words in enumerate(around):
        found = [number[one] for one in dict.fromkeys(words) if one in number]
        context[row, : len(found)] = found
    return context, kept
