"""The documents as they were written, compressed, so that passages can be shown with their case and punctuation.

Tokens forget everything but the words of the vocabulary. The originals are saved beside them as an object of their own:
blocks of documents, each compressed by Zstandard with a checksum, so that one document can be read without the others.
Where a tokenizer says where in the text its words stand, this follows after a NUL character (`lemmas.word_places`).
M documents, B blocks.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import polars as pl
from numpy.typing import NDArray

from laplex.errors import StorageError
from laplex.runtime import storage

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

BLOCK_BYTES = 1 << 18  # of text, about; a longer document is a block of its own
MAX_BLOCK_BYTES = 1 << 28  # of text that any block may have; more only up to
MAX_EXPANSION = 1000  # times its compressed size, which no text exceeds
COPIED_BYTES = 1 << 22  # at once
NOT_KEPT = -1  # the length of a document that was given as a list of words
_LEVEL = 1  # higher ones take longer than reading the text should
_OPTIONS: dict[int, int] = {
    zstd.CompressionParameter.compression_level: _LEVEL,
    zstd.CompressionParameter.checksum_flag: 1,
}

Ints = NDArray[np.int64]
Blocks = tuple[list[bytes], Ints, Ints]  # compressed texts, the number of documents in each, the bytes of each document


def folder_of(tokens: Path) -> Path:
    """The folder of the originals of the tokens in a folder."""
    return tokens.with_name(f"originals-{tokens.name.removeprefix('tokens-')}")


def compress(texts: pl.Series) -> Blocks:
    """Blocks of consecutive texts; for lists of words there is nothing to keep. Called in several threads."""
    if texts.dtype != pl.String:
        return [], np.zeros(0, np.int64), np.full(len(texts), NOT_KEPT, np.int64)
    lengths = texts.str.len_bytes().to_numpy().astype(np.int64)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    edges = [0]
    while edges[-1] < len(texts):
        edges.append(max(edges[-1] + 1, int(np.searchsorted(starts, starts[edges[-1]] + BLOCK_BYTES, "right")) - 1))
    data = memoryview(b"".join(texts.cast(pl.Binary).to_list()))
    blocks = [zstd.compress(data[starts[a] : starts[b]], options=_OPTIONS) for a, b in zip(edges, edges[1:])]
    return blocks, np.diff(edges), lengths


class OriginalsWriter:
    """Collects compressed blocks in a file, in the order of the documents, and saves them."""

    def __init__(self, file: BinaryIO, has_places: bool = False) -> None:
        self.file, self._has_places = file, has_places
        self._sizes: list[int] = []  # of the blocks, in bytes
        self._first = [np.zeros(1, np.int64)]  # document of each block, and the end of the last
        self._lengths: list[Ints] = []
        self._documents = 0

    def compress(self, texts: pl.Series, places: pl.Series | None) -> Blocks:
        """Blocks of consecutive texts, perhaps with the places of their words. Called in several threads."""
        if self._has_places and texts.dtype == pl.String:
            texts = texts + "\0" + ("" if places is None else places)
        return compress(texts)

    def add(self, blocks: list[bytes], documents: Ints, lengths: Ints) -> None:
        """Add what `compress` made of the next texts."""
        for block in blocks:
            self.file.write(block)
            self._sizes.append(len(block))
        if not blocks:  # lists of words
            documents = np.array([len(lengths)])
            self._sizes.append(0)
        self._first.append(self._documents + np.cumsum(documents))
        self._lengths.append(lengths)
        self._documents += len(lengths)

    def save(self, folder: Path) -> None:
        """Save the originals of all documents."""
        starts = np.concatenate([[0], np.cumsum(np.array(self._sizes, np.int64))])
        arrays: dict[str, NDArray[Any] | storage.Stream] = {
            "data": storage.Stream(np.dtype(np.uint8), (int(starts[-1]),), self._pieces()),
            "starts": starts,
            "first": np.concatenate(self._first),
            "lengths": np.concatenate(self._lengths),
        }
        storage.save(folder, "originals", {"documents": self._documents, "places": self._has_places}, arrays)

    def _pieces(self) -> Iterator[NDArray[np.uint8]]:
        self.file.seek(0)
        while piece := self.file.read(COPIED_BYTES):
            yield np.frombuffer(piece, np.uint8)


class Originals:
    """The saved originals of M documents.

    Attributes:
        nbytes: The size of the compressed text.
    """

    def __init__(self, saved: storage.Saved, documents: int) -> None:
        self._folder, self._has_places = saved.folder, bool(saved.settings.get("places"))
        try:
            self._data: NDArray[np.uint8] = saved.arrays["data"]
            self._starts, self._first, self._lengths = (saved.arrays[name] for name in ("starts", "first", "lengths"))
            self._check(documents)
        except (KeyError, ValueError) as error:
            raise StorageError(f'"{saved.folder}" is damaged: {error} is missing or wrong') from None
        self.nbytes = len(self._data)

    def _check(self, documents: int) -> None:
        """Raise ValueError unless the arrays fit together and no block claims to be larger than memory."""
        for name, edges, last in (("starts", self._starts, len(self._data)), ("first", self._first, documents)):
            one_by_one = edges.dtype == np.int64 and edges.ndim == 1 and len(edges) > 0
            if not one_by_one or edges[0] != 0 or edges[-1] != last or (np.diff(edges) < 0).any():
                raise ValueError(f"where blocks begin ({name})")
        lengths = self._lengths
        if lengths.dtype != np.int64 or lengths.shape != (documents,) or len(self._starts) != len(self._first):
            raise ValueError("the length of a document")
        if self._data.dtype != np.uint8 or self._data.ndim != 1:
            raise ValueError("the compressed text")
        allowed = np.maximum(np.diff(self._starts) * MAX_EXPANSION, MAX_BLOCK_BYTES)
        if not ((lengths >= NOT_KEPT) & (lengths <= (allowed.max() if len(allowed) else 0))).all():
            raise ValueError("the length of a document")
        sizes = np.diff(np.concatenate([[0], np.cumsum(np.maximum(lengths, 0))])[self._first])
        if (sizes > allowed).any():
            raise ValueError("the size of a block")

    def texts(self, documents: Sequence[int] | NDArray[np.int64]) -> list[str | None]:
        """The texts of documents, None for those that were given as lists of words; each block is read once."""
        return [text for text, _ in self.texts_and_places(documents)]

    def texts_and_places(self, documents: Sequence[int] | NDArray[np.int64]) -> list[tuple[str | None, str]]:
        """The texts, and where their words stand for `lemmas.word_places`, empty where that is not known."""
        stored = self._stored(documents)
        if not self._has_places:
            return [(text, "") for text in stored]
        parts = [(None, "", "") if text is None else text.rpartition("\0") for text in stored]
        return [(text, places) for text, _, places in parts]

    def _stored(self, documents: Sequence[int] | NDArray[np.int64]) -> list[str | None]:
        """What is stored for documents: the text, after which places may follow."""
        numbers = np.asarray(documents, np.int64)
        blocks = np.searchsorted(self._first, numbers, "right") - 1
        found: dict[int, str | None] = {}
        order = np.argsort(blocks, kind="stable")
        for group in np.split(order, np.flatnonzero(np.diff(blocks[order])) + 1) if len(order) else []:
            found.update(self._from_block(int(blocks[group[0]]), numbers[group].tolist()))
        return [found[number] for number in numbers.tolist()]

    def _from_block(self, block: int, documents: list[int]) -> dict[int, str | None]:
        first, last = int(self._first[block]), int(self._first[block + 1])
        lengths = self._lengths[first:last]
        ends = np.cumsum(np.maximum(lengths, 0))
        data = self._decompress(block, int(ends[-1])) if (lengths != NOT_KEPT).any() else b""
        texts: dict[int, str | None] = {}
        for document in documents:
            length, end = int(lengths[document - first]), int(ends[document - first])
            texts[document] = None if length == NOT_KEPT else data[end - length : end].decode("utf-8", "replace")
        return texts

    def _decompress(self, block: int, size: int) -> bytes:
        """The text of a block, which must have `size` bytes: no more are decompressed, whatever a file may claim."""
        data = self._data[self._starts[block] : self._starts[block + 1]].tobytes()
        decompressor = zstd.ZstdDecompressor()
        try:
            text: bytes = decompressor.decompress(data, size + 1)
        except zstd.ZstdError as error:
            raise StorageError(
                f'"{self._folder}" is damaged: block {block:,} cannot be decompressed ({error})'
            ) from None
        if len(text) != size or not decompressor.eof or decompressor.unused_data:
            raise StorageError(f'"{self._folder}" is damaged: block {block:,} does not have {size:,} bytes')
        return text
