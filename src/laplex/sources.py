"""Where documents come from: files, frames, or anything that can be iterated over again.

A source knows its columns and gives batches of rows as Polars frames of only the columns asked for, a few
megabytes at a time, so that a corpus is never whole in memory. Formats themselves are in `formats/`.
"""

from __future__ import annotations

import glob
import hashlib
import json
import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from polars.selectors import by_name

from laplex import formats
from laplex.errors import InputError, quote


@dataclass(frozen=True)
class Batch:
    """Some consecutive documents. `place` and `first` say where they stand, for messages; `share` how far we are."""

    frame: pl.DataFrame
    place: str
    first: int
    share: float | None

    def __post_init__(self) -> None:
        pattern = next((name for name in self.frame.columns if name.startswith("^") and name.endswith("$")), None)
        if pattern is not None:
            raise InputError(
                f'{self.place} has a column named "{pattern}", which Polars takes for a pattern: rename it'
            )


class Source(ABC):
    """Rows with named columns that can be read any number of times."""

    name: str
    columns: tuple[str, ...]

    @abstractmethod
    def batches(self, columns: Sequence[str]) -> Iterator[Batch]:
        """The rows in their order, only these columns of them."""

    @abstractmethod
    def identity(self, columns: Sequence[str]) -> str:
        """Two sources of the same identity hold the same rows."""


def source_of(source: Any, *, encoding: str, documents: str) -> Source:
    """The source behind whatever the user passed to `read`."""
    if isinstance(source, (str, os.PathLike)):
        return Files([source], encoding, documents)
    if isinstance(source, (pl.DataFrame, pl.LazyFrame)) or hasattr(source, "__arrow_c_stream__") or _is_pandas(source):
        return Frame(source)
    if isinstance(source, Iterable) and not isinstance(source, (bytes, Mapping)):
        if iter(source) is source:
            raise InputError(
                f"a {type(source).__name__} can be read only once: pass a list of dicts, "
                "or an object whose __iter__ starts anew each time"
            )
        if isinstance(source, Sequence) and source and all(isinstance(item, (str, os.PathLike)) for item in source):
            return Files(source, encoding, documents)
        return Documents(source)
    raise InputError(
        f"cannot read a corpus from {type(source).__name__}: pass a path, a pandas, polars or Arrow frame, "
        "or a list of dicts"
    )


class Files(Source):
    """One or more files of one format."""

    def __init__(self, sources: Iterable[str | os.PathLike[str]], encoding: str, documents: str) -> None:
        sources = list(sources)
        self.paths = [path for source in sources for path in _expand(source)]
        self.name = str(sources[0]) if len(sources) == 1 else f"{len(sources)} files"
        self._format = formats.of_files(self.paths, encoding, documents)
        self.columns = self._format.columns(self.paths[0])

    def batches(self, columns: Sequence[str]) -> Iterator[Batch]:
        sizes = [_state(path).st_size for path in self.paths]
        whole = max(sum(sizes), 1)
        before = 0
        for path, size in zip(self.paths, sizes, strict=True):
            first = 1
            for frame, share in self._format.read(path, columns):
                yield Batch(frame, str(path), first, (before + share * size) / whole)
                first += len(frame)
            before += size

    def identity(self, columns: Sequence[str]) -> str:
        stamps = []
        for path in self.paths:
            state = _state(path)
            stamps.append([str(path.resolve()), state.st_size, state.st_mtime_ns])
        return json.dumps([self._format.identity, stamps])


class Frame(Source):
    """A pandas, polars or Arrow frame in memory, or a polars LazyFrame."""

    def __init__(self, frame: Any) -> None:
        self._pandas = frame if _is_pandas(frame) else None
        names = [str(name) for name in (frame.columns if self._pandas is not None else _names(frame))]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise InputError(f"the frame has more than one column named {quote(twice)}: rename them")
        self._polars = None if self._pandas is not None else frame.lazy() if _is_polars(frame) else pl.from_arrow(frame)
        if isinstance(self._polars, pl.DataFrame):
            self._polars.columns = names  # as they are, also empty ones
        self.columns = tuple(names)
        self.name = f"a {type(frame).__module__.split('.')[0]} frame"

    def batches(self, columns: Sequence[str]) -> Iterator[Batch]:
        first = 1
        frames = self._pandas_frames(columns) if self._pandas is not None else self._polars_frames(columns)
        for frame, share in frames:
            yield Batch(frame, self.name, first, share)
            first += len(frame)

    def _polars_frames(self, columns: Sequence[str]) -> Iterator[tuple[pl.DataFrame, float | None]]:
        assert self._polars is not None
        with formats.reading(self.name):
            for frame in formats.in_batches(self._polars.lazy().select(by_name(*columns))):  # type: ignore[union-attr]
                yield frame, None

    def _pandas_frames(self, columns: Sequence[str]) -> Iterator[tuple[pl.DataFrame, float | None]]:
        whole = len(self._pandas)  # type: ignore[arg-type]
        for start in range(0, whole, formats.frames.ROWS):
            piece = self._pandas.iloc[start : start + formats.frames.ROWS]  # type: ignore[union-attr]
            series = {name: _from_pandas(name, piece[_label(piece, name)]) for name in columns}
            yield pl.DataFrame(series), min(1.0, (start + formats.frames.ROWS) / whole)

    def identity(self, columns: Sequence[str]) -> str:
        # with the types, since a date has the same hash as its number
        return f"{self._types(columns)} {_digest(batch.frame for batch in self.batches(columns))}"

    def _types(self, columns: Sequence[str]) -> list[Any]:
        if self._pandas is not None:
            return [self._pandas[_label(self._pandas, name)].dtype for name in columns]
        return self._polars.lazy().select(by_name(*columns)).collect_schema().dtypes()  # type: ignore[union-attr]


class Documents(Source):
    """Dicts, from anything that can be iterated over again: a list, or an object with __iter__ of one's own."""

    def __init__(self, documents: Iterable[Mapping[str, Any]]) -> None:
        self._documents = documents
        self._digest: str | None = None
        self.name = "a list of documents" if isinstance(documents, list) else f"a {type(documents).__name__}"
        self.columns = formats.keys_of(self._checked(), self.name)

    def _checked(self) -> Iterator[Mapping[str, Any]]:
        for number, document in enumerate(self._documents, 1):
            if not isinstance(document, Mapping):
                raise InputError(
                    f"document {number:,} of {self.name} is a {type(document).__name__}, not a dict such as "
                    '{"text": "...", "party": "D"}'
                )
            yield document

    def batches(self, columns: Sequence[str]) -> Iterator[Batch]:
        digest = hashlib.blake2b(digest_size=16)
        first = 1
        for frame in formats.frames_of_dicts(self._checked(), columns, self.name):
            digest.update(_hash(frame))
            yield Batch(frame, self.name, first, None)
            first += len(frame)
        if self._digest is not None and digest.hexdigest() != self._digest:
            raise InputError(
                f"{self.name} gave other documents when it was read again: it must give the same each time"
            )

    def identity(self, columns: Sequence[str]) -> str:
        self._digest = None
        self._digest = _digest(batch.frame for batch in self.batches(columns))
        return self._digest


def _state(path: Path) -> os.stat_result:
    with formats.reading(path):
        return path.stat()


def _expand(source: str | os.PathLike[str]) -> list[Path]:
    """The files behind a path, a folder or a glob, sorted."""
    path = Path(source)
    with formats.reading(path):
        files = sorted(p for p in path.iterdir() if p.is_file()) if path.is_dir() else None
        there = path.exists()
    if files is not None:
        known = [p for p in files if formats.name_of(p) and not p.name.startswith(".")]
        if not known:
            raise InputError(f'no file in the folder "{path}" has an ending that laplex reads ({formats.ENDINGS})')
        return known
    if there:
        return [path]
    found = sorted(Path(p) for p in glob.glob(str(source), recursive=True) if Path(p).is_file())
    if not found:
        raise InputError(f'there is no file "{source}"')
    return found


def _names(frame: Any) -> Sequence[str]:
    if isinstance(frame, pl.LazyFrame):
        return frame.collect_schema().names()
    if isinstance(frame, pl.DataFrame):
        return frame.columns
    schema = getattr(frame, "schema", None)
    names = getattr(schema, "names", None)
    if names is None:
        raise InputError(f"cannot read a corpus from {type(frame).__name__}: pass a table, which can be read again")
    return list(names)


def _is_pandas(frame: Any) -> bool:
    return type(frame).__module__.split(".")[0] == "pandas" and hasattr(frame, "iloc") and hasattr(frame, "columns")


def _is_polars(frame: Any) -> bool:
    return isinstance(frame, (pl.DataFrame, pl.LazyFrame))


def _label(frame: Any, name: str) -> Any:
    """A pandas column may be labelled by something that is not a string."""
    return next(label for label in frame.columns if str(label) == name)


def _from_pandas(name: str, column: Any) -> pl.Series:
    if column.dtype.kind in "iufbM" and not hasattr(column.dtype, "na_value"):
        values = column.dt.as_unit("us") if column.dtype.kind == "M" else column  # Polars has no whole seconds
        return pl.Series(name, values.to_numpy(), nan_to_null=True)
    missing = column.isna()
    return formats.series_of(name, [None if gone else v for v, gone in zip(column, missing, strict=True)])


def _hash(frame: pl.DataFrame) -> bytes:
    return frame.hash_rows(seed=0).to_numpy().tobytes()


def _digest(frames: Iterable[pl.DataFrame]) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for frame in frames:
        digest.update(_hash(frame))
    return digest.hexdigest()
