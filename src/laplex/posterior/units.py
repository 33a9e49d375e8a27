"""Who carries the label? Documents gathered into units: a cluster (a speaker, say) under one label.

Tokens, a column and perhaps a cluster come in; Units go out. A cluster under two labels is two units with one key.
U units, M documents.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from laplex.errors import InputError, quote
from laplex.tokens import Tokens


@dataclass(frozen=True, eq=False)
class Units:
    documents: NDArray[np.int64]  # those that are looked at, sorted by unit
    start: NDArray[np.int64]  # (U + 1) where the documents of each unit begin
    cluster: NDArray[np.int64]  # (U) from 0
    label: NDArray[np.int64]  # (U) index into `labels`
    labels: list[str]

    def __len__(self) -> int:
        return len(self.cluster)

    @property
    def nested(self) -> bool:
        """Does every cluster have one label only?"""
        return int(self.cluster.max()) + 1 == len(self)


def gather(tokens: Tokens, column: str, cluster: str | None, language: int, where: Mapping[str, Any]) -> Units:
    """The units of a column: documents, or the values of another column."""
    if cluster == column:
        raise InputError(f'cluster="{cluster}" is the column that is compared: name the one that says who speaks')
    chosen = (tokens.languages == language) & (np.diff(tokens.offsets) > 0)
    for name, value in where.items():
        values = tokens.values(name)
        if str(value) not in values:
            raise InputError(f'"{name}" has no value {value!r}; it has {quote(values, 12)}')
        chosen &= tokens.codes(name) == values.index(str(value))
    documents = np.flatnonzero(chosen)
    labels = tokens.values(column)
    label = tokens.codes(column)[documents].astype(np.int64)
    if len(np.unique(label)) < 2:
        raise InputError(f'column "{column}" has one value only in these documents: there is nothing to compare')
    owner = documents if cluster is None else tokens.codes(cluster)[documents].astype(np.int64)
    cells, unit = np.unique(owner * len(labels) + label, return_inverse=True)
    order = np.argsort(unit, kind="stable")
    start = np.concatenate([[0], np.cumsum(np.bincount(unit, minlength=len(cells)))])
    clusters = np.unique(cells // len(labels), return_inverse=True)[1]
    return Units(documents[order], start, clusters, cells % len(labels), labels)


def determining(tokens: Tokens, column: str) -> list[str]:
    """The columns each value of which has one value of `column` only, those with the fewest values first.

    A column with hardly fewer values than there are documents says nothing about who speaks, nor does one that is
    the same thing under another name.
    """
    label = tokens.codes(column).astype(np.int64)
    size = len(tokens.values(column))
    found = []
    for other in tokens.columns:
        values = len(tokens.values(other))
        if other != column and size < values <= tokens.documents // 2:
            cells = np.unique(tokens.codes(other) * np.int64(size) + label)
            if len(cells) == len(np.unique(cells // size)):
                found.append((values, other))
    return [name for _, name in sorted(found)]


def warn_of_speakers(tokens: Tokens, column: str) -> None:
    """Say it if documents are taken for independent though their label belongs to somebody."""
    for name in determining(tokens, column)[:1]:
        warnings.warn(
            f'every value of "{name}" has one value of "{column}" only: documents of one {name} are no independent '
            f'evidence about "{column}", and far too much will look significant; write cluster="{name}"',
            UserWarning,
            stacklevel=3,
        )
