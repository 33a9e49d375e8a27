"""Batches of documents, and which of them each of several processes reads from the files of a corpus."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl

from laplex.errors import InputError

RANGES_PER_RANK = 4  # of rows, so that a rank has some from everywhere: files are often sorted
MAX_LOAD = 1.25  # of a process, relative to the mean: with larger ones, whole files are not dealt out


class DocumentShare(NamedTuple):
    """The part of all documents that one of several processes reads."""

    rank: int
    ranks: int


class FileRange(NamedTuple):
    """Consecutive rows of a file."""

    file: int
    first: int
    rows: int


@dataclass(frozen=True)
class DocumentBatch:
    """Consecutive documents of a source."""

    frame: pl.DataFrame
    place: str  # for messages: the file or frame they are from,
    first: int  # and the number of the first document there
    share: float | None  # of the source that has been read, if that is known
    is_dealt: bool = False  # whether other processes read other documents

    def __post_init__(self) -> None:
        pattern = next((name for name in self.frame.columns if name.startswith("^") and name.endswith("$")), None)
        if pattern is not None:
            raise InputError(
                f'{self.place} has a column named "{pattern}", which Polars takes for a pattern: rename it'
            )


def deal_rows(counts: Sequence[int], share: DocumentShare) -> list[FileRange]:
    """The rows of files with these numbers of rows that a process reads: some ranges, as many as others read.

    >>> deal_rows([10, 6], DocumentShare(0, 2))
    [FileRange(file=0, first=0, rows=2), FileRange(file=0, first=4, rows=2), FileRange(file=0, first=8, rows=2), \
FileRange(file=1, first=2, rows=2)]
    """
    ends = np.cumsum(counts)
    cuts = np.linspace(0, int(ends[-1]) if len(ends) else 0, RANGES_PER_RANK * share.ranks + 1).astype(np.int64)
    ranges = []
    for first, last in zip(cuts[share.rank : -1 : share.ranks], cuts[share.rank + 1 :: share.ranks], strict=True):
        for file, end in enumerate(ends.tolist()):
            begin = end - counts[file]
            low, high = max(int(first), begin), min(int(last), end)
            if low < high:
                ranges.append(FileRange(file, low - begin, high - low))
    return ranges


def deal_files(sizes: Sequence[int], share: DocumentShare) -> list[int] | None:
    """The files that a process reads, the largest dealt out first; None if that would not be even."""
    load = np.zeros(share.ranks)
    own = []
    for file in np.argsort(-np.asarray(sizes, np.int64), kind="stable").tolist():
        rank = int(load.argmin())
        load[rank] += sizes[file]
        own += [file] if rank == share.rank else []
    return sorted(own) if load.min() > 0 and load.max() <= MAX_LOAD * load.mean() else None
