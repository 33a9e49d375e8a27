"""Sources of documents: files, frames, or any iterable of dicts that can be read again.

A source has a name for messages and the names of its columns. It gives its rows in batches, any number of times and
with only the columns asked for, so that a corpus is never complete in memory, and an identity: a string that is equal
for sources with the same rows in these columns.
"""

from __future__ import annotations

import glob
import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
from polars.selectors import by_name

from laplex.errors import InputError
from laplex.text import formats
from laplex.text.dealing import DocumentBatch, DocumentShare, FileRange, deal_files, deal_rows
from laplex.text.files import input_errors
from laplex.text.remote import RemoteFiles, is_address


class Files:
    """One or more files of one format."""

    def __init__(self, sources: Sequence[str | os.PathLike[str]], encoding: str, documents: str = "lines") -> None:
        self.paths = [path for source in sources for path in _expand(source)]
        self.name = str(sources[0]) if len(sources) == 1 else f"{len(sources)} files"
        self._format = formats.format_of(self.paths, encoding, documents)
        self.columns = self._format.columns(self.paths[0])

    def batches(self, columns: Sequence[str], share: DocumentShare | None = None) -> Iterator[DocumentBatch]:
        """All documents; with a share, only those if the files can be dealt out evenly, and batches say so."""
        sizes = [_stat(path).st_size for path in self.paths]
        own = [FileRange(file, 0, -1) for file in range(len(self.paths))]
        dealt = self._dealt(sizes, share) if share else None
        weights = [sizes[part.file] if part.rows < 0 else part.rows for part in (own if dealt is None else dealt)]
        total = max(sum(weights), 1)
        done = 0
        for part, weight in zip(own if dealt is None else dealt, weights, strict=True):
            path, first = self.paths[part.file], part.first + 1
            for frame, share_of_part in self._format.read(path, columns, part):
                read = (done + share_of_part * weight) / total
                yield DocumentBatch(frame, str(path), first, read, is_dealt=dealt is not None)
                first += len(frame)
            done += weight

    def _dealt(self, sizes: Sequence[int], share: DocumentShare) -> list[FileRange] | None:
        """What one of several processes reads; None if files cannot be dealt out evenly."""
        if isinstance(self._format, formats.Parquet):
            return deal_rows([self._format.rows(path) for path in self.paths], share)
        files = deal_files(sizes, share)
        return None if files is None else [FileRange(file, 0, -1) for file in files]

    def identity(self, columns: Sequence[str]) -> str:
        stamps = [[str(path.resolve()), _stat(path).st_size, _stat(path).st_mtime_ns] for path in self.paths]
        return json.dumps([self._format.identity, stamps])


class Frame:
    """A pandas, polars or Arrow frame in memory, or a polars LazyFrame."""

    def __init__(self, frame: Any) -> None:
        names = [str(name) for name in _column_names(frame)]
        formats.check_unique(names, "the frame")
        self.columns = tuple(names)
        self.name = f"a {type(frame).__module__.split('.')[0]} frame"
        self._is_pandas = _is_pandas(frame)
        if not self._is_pandas and not isinstance(frame, (pl.DataFrame, pl.LazyFrame)):
            frame = pl.from_arrow(frame)
            frame.columns = names  # Polars renames empty ones
        self._frame: Any = frame if self._is_pandas else frame.lazy()

    def batches(self, columns: Sequence[str], share: DocumentShare | None = None) -> Iterator[DocumentBatch]:
        first = 1
        with input_errors(self.name):
            for frame in self._frames(columns):
                read = (first - 1 + len(frame)) / len(self._frame) if self._is_pandas else None
                yield DocumentBatch(frame, self.name, first, read)
                first += len(frame)

    def _frames(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        if not self._is_pandas:
            yield from formats.in_batches(self._frame.select(by_name(*columns)))
            return
        for start in range(0, len(self._frame), formats.MAX_BATCH_ROWS):
            piece = self._frame.iloc[start : start + formats.MAX_BATCH_ROWS]
            yield pl.DataFrame({name: _from_pandas(name, piece[_label(piece, name)]) for name in columns})

    def identity(self, columns: Sequence[str]) -> str:
        if self._is_pandas:
            types = [self._frame[_label(self._frame, name)].dtype for name in columns]
        else:
            types = self._frame.select(by_name(*columns)).collect_schema().dtypes()
        # the types, too, since a date has the hash of its number
        return f"{types} {_digest(batch.frame for batch in self.batches(columns))}"


class Documents:
    """Dicts, from anything that can be iterated over again: a list, or an object whose __iter__ starts anew."""

    def __init__(self, documents: Iterable[Mapping[str, Any]]) -> None:
        self._documents = documents
        self._known_digests: dict[tuple[str, ...], str] = {}  # by the columns that were read
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

    def batches(self, columns: Sequence[str], share: DocumentShare | None = None) -> Iterator[DocumentBatch]:
        digest = hashlib.blake2b(digest_size=16)
        first = 1
        for frame in formats.frames_of_dicts(self._checked(), columns, self.name):
            digest.update(frame.hash_rows(seed=0).to_numpy().tobytes())
            yield DocumentBatch(frame, self.name, first, None)
            first += len(frame)
        if digest.hexdigest() != self._known_digests.get(tuple(columns), digest.hexdigest()):
            raise InputError(
                f"{self.name} gave other documents when it was read again: it must give the same each time"
            )

    def identity(self, columns: Sequence[str]) -> str:
        self._known_digests.pop(tuple(columns), None)
        digest = _digest(batch.frame for batch in self.batches(columns))
        self._known_digests[tuple(columns)] = digest
        return digest


Source = Files | RemoteFiles | Frame | Documents


def source_of(
    source: Any, *, encoding: str, documents: str, storage_options: Mapping[str, Any] | None = None
) -> Source:
    """The source for what a user passed to `read`."""
    several = isinstance(source, Sequence) and not isinstance(source, (str, bytes))
    addresses = [each for each in (source if several else [source]) if is_address(each)]
    if addresses:
        if several and len(addresses) < len(source):
            raise InputError(
                "some sources are addresses and some are files of this machine: read each kind with an lx.read of its "
                "own, and add the corpora"
            )
        return RemoteFiles(addresses, storage_options)
    if storage_options is not None:
        raise InputError("storage_options= is for addresses such as s3://bucket/file.parquet: leave it out")
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


def _stat(path: Path) -> os.stat_result:
    with input_errors(path):
        return path.stat()


def _expand(source: str | os.PathLike[str]) -> list[Path]:
    """The files of a path, a folder or a glob, sorted."""
    path = Path(source)
    with input_errors(path):
        if path.is_dir():
            entries = sorted(entry for entry in path.iterdir() if entry.is_file())
            known = [entry for entry in entries if formats.format_name(entry) and not entry.name.startswith(".")]
            if not known:
                raise InputError(f'no file in the folder "{path}" has an ending that laplex reads ({formats.ENDINGS})')
            return known
        if path.exists():
            return [path]
    matches = sorted(Path(match) for match in glob.glob(str(source), recursive=True) if Path(match).is_file())
    if not matches:
        raise InputError(f'there is no file "{source}"')
    return matches


def _column_names(frame: Any) -> Sequence[str]:
    if isinstance(frame, pl.LazyFrame):
        return frame.collect_schema().names()
    if isinstance(frame, pl.DataFrame) or _is_pandas(frame):
        return list(frame.columns)
    names = getattr(getattr(frame, "schema", None), "names", None)
    if names is None:
        raise InputError(f"cannot read a corpus from {type(frame).__name__}: pass a table, which can be read again")
    return list(names)


def _is_pandas(frame: Any) -> bool:
    return type(frame).__module__.split(".")[0] == "pandas" and hasattr(frame, "iloc") and hasattr(frame, "columns")


def _label(frame: Any, name: str) -> Any:
    """The label of a pandas column, which need not be a string."""
    return next(label for label in frame.columns if str(label) == name)


def _from_pandas(name: str, column: Any) -> pl.Series:
    if column.dtype.kind in "iufbM" and not hasattr(column.dtype, "na_value"):
        values = column.dt.as_unit("us") if column.dtype.kind == "M" else column  # Polars has no unit of seconds
        return pl.Series(name, values.to_numpy(), nan_to_null=True)
    values = [None if missing else value for value, missing in zip(column, column.isna(), strict=True)]
    return formats.series_of(name, values)


def _digest(frames: Iterable[pl.DataFrame]) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for frame in frames:
        digest.update(frame.hash_rows(seed=0).to_numpy().tobytes())
    return digest.hexdigest()
