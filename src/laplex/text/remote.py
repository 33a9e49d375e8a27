"""Parquet files in object storage or behind http(s), which Polars reads by ranges.

Keys, passwords and signed addresses are secrets: they are given to Polars and to nobody else. Whatever is shown, saved
or raised has the public part of an address alone. Polars' own messages repeat addresses, so they are not passed on.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import polars as pl
from polars.selectors import by_name

from laplex.errors import InputError
from laplex.runtime.distributed import communicator
from laplex.text import formats
from laplex.text.dealing import DocumentBatch, DocumentShare, FileRange, deal_rows

SCHEMES = ("s3", "s3a", "gs", "gcs", "az", "azure", "abfs", "abfss", "adl", "hf", "http", "https")
_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")
_STATUS = re.compile(r"\b[45]\d\d [A-Z][a-z]+(?: [A-Z][a-z]+)*")


def is_address(source: Any) -> bool:
    """Whether a source is an address such as s3://bucket/file.parquet, and not a path."""
    return isinstance(source, str) and _ADDRESS.match(source) is not None


def public_address(address: str) -> str:
    """An address without user, password, query and fragment; text that is no address as it is.

    >>> public_address("https://me:secret@example.org/a.parquet?signature=secret")
    'https://example.org/a.parquet'
    """
    if not is_address(address):
        return address
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


class RemoteFiles:
    """Parquet files at one or more addresses."""

    def __init__(self, addresses: Sequence[str], storage_options: Mapping[str, Any] | None) -> None:
        self._names = [public_address(address) for address in addresses]
        self.name = self._names[0] if len(addresses) == 1 else f"{len(addresses)} files"
        for address, name in zip(addresses, self._names, strict=True):
            scheme = address.partition("://")[0].lower()
            if scheme not in SCHEMES:
                raise InputError(f'"{name}" begins with {scheme}://, which is not one of {", ".join(SCHEMES)}')
            if not name.lower().endswith((".parquet", ".pq")):
                raise InputError(f'"{name}" is no Parquet file, and only these are read from other machines')
        self._addresses = list(addresses)
        self._options = dict(storage_options) if storage_options else None
        self._digests: dict[tuple[str, ...], str] = {}  # by the columns that were read
        with _errors(self._names[0]):
            self.columns = tuple(self._scan(0).collect_schema().names())

    def _scan(self, number: int) -> pl.LazyFrame:
        address = self._addresses[number]
        return pl.scan_parquet(address, glob="*" in self._names[number], storage_options=self._options)

    def batches(self, columns: Sequence[str], share: DocumentShare | None = None) -> Iterator[DocumentBatch]:
        digest = hashlib.blake2b(digest_size=16)
        for batch in self._read(columns, share):
            digest.update(batch.frame.hash_rows(seed=0).to_numpy().tobytes())
            yield batch
        # what one process alone has read of the text of several was not compared before
        known = self._digests.get((*columns, str(share)))
        if known is not None and known != digest.hexdigest():
            raise InputError(f"{self.name} changed while it was being read: run again when nothing writes to it")

    def _read(self, columns: Sequence[str], share: DocumentShare | None) -> Iterator[DocumentBatch]:
        counts = []
        for number, name in enumerate(self._names):
            with _errors(name):
                counts.append(int(self._scan(number).select(pl.len()).collect().item()))
        ranges = deal_rows(counts, share) if share else [FileRange(i, 0, count) for i, count in enumerate(counts)]
        total, done = max(sum(part.rows for part in ranges), 1), 0
        for part in ranges:
            name, first = self._names[part.file], part.first + 1
            with _errors(name):
                rows = self._scan(part.file).select(by_name(*columns)).slice(part.first, part.rows)
                for frame in formats.in_batches(rows):
                    done += len(frame)
                    yield DocumentBatch(frame, name, first, done / total, is_dealt=share is not None)
                    first += len(frame)

    def identity(self, columns: Sequence[str]) -> str:
        """A hash of all rows, of which each of several processes reads its own share. They are read once for it."""
        ranks = communicator()
        share = DocumentShare(ranks.rank, ranks.size) if ranks.size > 1 else None
        key = (*columns, str(share))
        if key not in self._digests:
            digest = hashlib.blake2b(digest_size=16)
            for batch in self._read(columns, share):
                digest.update(batch.frame.hash_rows(seed=0).to_numpy().tobytes())
            self._digests[key] = digest.hexdigest()
        parts = [data.decode() for data in ranks.allgather(self._digests[key].encode())]
        return f"parquet {self._names} {parts}"


@contextmanager
def _errors(name: str) -> Iterator[None]:
    """Turn what Polars raises into an InputError that names the public address, and a status if there is one."""
    try:
        yield
    except InputError:
        raise
    except FileNotFoundError:
        raise InputError(f'there is no file "{name}"') from None
    except (OSError, ValueError, TypeError, pl.exceptions.PolarsError) as error:
        status = _STATUS.search(str(error))
        reason = status[0] if status else type(error).__name__
        raise InputError(
            f'cannot read "{name}" ({reason}): check the address, the network, and storage_options= or the variables '
            "of the environment that hold your keys"
        ) from None
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # of Polars, which is not one of its exceptions
            raise
        raise InputError(f'cannot read "{name}": it is damaged') from None
