"""What a file format must know: the columns of a file, and its rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl

Piece = tuple[pl.DataFrame, float]


class Format(ABC):
    """One file format with its settings."""

    identity: str

    @abstractmethod
    def columns(self, path: Path) -> tuple[str, ...]:
        """The names of the columns of a file."""

    @abstractmethod
    def read(self, path: Path, columns: Sequence[str]) -> Iterator[Piece]:
        """Its rows, some at a time, with the share of the file that has been read."""
