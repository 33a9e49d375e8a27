"""What all questions share: their options, and the sampling units.

A unit is the documents of a cluster (a speaker, say) under one label: a cluster with documents under two labels is two
units with one cluster number. U units, M documents, G labels.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from laplex.errors import InputError, check_int, check_interval, check_keywords, quote
from laplex.model.vectors import check_slice
from laplex.text.tokens import Tokens

DOCUMENTS = "documents"
ENOUGH_CLUSTERS, FEWEST_CLUSTERS = 25, 5  # that must use a word, if there are many and if there are few
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Options:
    """The keywords that contrast, distance, drift, similarity, neighbors and project have in common.

    Args:
        cluster: The column that says who was sampled, such as the speaker; by default the unit that was named when the
            text was read, and else documents. "documents" takes these as independent in any case.
        interval: The share of samples in which "lower" and "upper" hold the estimate.
        min_clusters: The clusters (or documents) that must use a word, at each value or in each slice; by default 25,
            and fewer if there are under 100 clusters: a quarter of them, but 5 at least.
        min_count: How often a word must occur at the values compared, or in a slice.
        tokens: The text, if it is no longer where the model was fitted on it.
        language: The language, if the model has several.
        seed: Of everything that is drawn by chance.
        threads: How many threads read the text; all processors by default.
        quiet: Whether to say nothing on the way.
        level: The false discovery rate: a finding holds if its adjusted p is at most this.

    Example:
        contrast(fitted, "party", cluster="senator", interval=0.95, min_count=50, at={"period": 2010})
    """

    cluster: str | None = None
    interval: float = 0.9
    min_clusters: int | None = None
    min_count: int = 100
    tokens: Tokens | None = None
    language: str | None = None
    seed: int = 1
    threads: int | None = None
    quiet: bool = False
    level: float = 0.1

    @property
    def unit(self) -> str | None:
        """The column that says who was sampled."""
        return self.cluster

    @property
    def fewest(self) -> int:
        """How many clusters must use a word."""
        return ENOUGH_CLUSTERS if self.min_clusters is None else self.min_clusters

    def with_unit(self, tokens: Tokens, columns: Iterable[str]) -> Options:
        """The same with the cluster that a question about some columns has, and how many of them must use a word."""
        cluster = self.cluster
        if cluster is None and tokens.unit is not None and tokens.unit not in columns:
            cluster = tokens.unit
        cluster = None if cluster == DOCUMENTS and DOCUMENTS not in tokens.columns else cluster
        least = self.min_clusters
        if least is None:
            size = tokens.documents if cluster is None else len(tokens.values(cluster))
            least = max(FEWEST_CLUSTERS, min(ENOUGH_CLUSTERS, size // 4))
        return replace(self, cluster=cluster, min_clusters=least)

    @classmethod
    def of(cls, keywords: Mapping[str, Any], columns: Iterable[str]) -> Options:
        """The options that the keywords of a question are, checked; `columns` are those that vectors vary by."""
        names = [field.name for field in fields(cls)]
        if unknown := {name: value for name, value in keywords.items() if name not in names}:
            check_keywords(unknown, columns)
            name, value = next(iter(unknown.items()))
            raise InputError(
                f"there is no option {name}={value!r}; there are {quote(names, 20)}, and a value of a column is "
                f'written at={{"{name}": …}}'
            )
        options = cls(**keywords)
        check_interval(options.interval)
        least = None if options.min_clusters is None else check_int("min_clusters", options.min_clusters, 2)
        return replace(options, min_clusters=least, min_count=check_int("min_count", options.min_count))


@dataclass(frozen=True, eq=False)
class Units:
    """Documents sorted by unit."""

    documents: Ints  # those that are read
    start: Ints  # (U + 1) where the documents of each unit begin
    cluster: Ints  # (U) from 0
    label: Ints  # (U) index into `labels`
    labels: list[str]

    @classmethod
    def group(cls, documents: Ints, cluster: Ints, label: Ints, labels: list[str]) -> Units:
        """Units from the cluster and the label of each document, sorted by cluster, then label."""
        cells, unit = np.unique(cluster * len(labels) + label, return_inverse=True)
        start = np.concatenate([[0], np.cumsum(np.bincount(unit, minlength=len(cells)))])
        numbers = np.unique(cells // len(labels), return_inverse=True)[1]
        return cls(documents[np.argsort(unit, kind="stable")], start, numbers, cells % len(labels), labels)

    def __len__(self) -> int:
        return len(self.cluster)

    @property
    def nested(self) -> bool:
        """Whether every cluster has one label only."""
        return int(self.cluster.max()) + 1 == len(self)

    def reorder(self, order: Ints) -> Units:
        """The same units in another order."""
        sizes = np.diff(self.start)[order]
        start = np.concatenate([[0], np.cumsum(sizes)])
        documents = np.repeat(self.start[order] - start[:-1], sizes) + np.arange(start[-1])
        return Units(self.documents[documents], start, self.cluster[order], self.label[order], self.labels)

    def relabel(self, label: Ints, labels: list[str]) -> Units:
        """Units with other labels (U), those of a cluster that now have the same one taken together."""
        cluster, label = (np.repeat(values, np.diff(self.start)) for values in (self.cluster, label))
        return Units.group(self.documents, cluster, label, labels)


def gather(tokens: Tokens, column: str, cluster: str | None, language: int, at: Mapping[str, Any] | None) -> Units:
    """The units of a column: documents, or the values of another column."""
    if cluster == column:
        raise InputError(f'cluster="{cluster}" is the column that is compared: name the one that says who speaks')
    chosen = (tokens.languages == language) & (np.diff(tokens.offsets) > 0)
    for name, value in check_slice(at).items():
        values = tokens.values(name)
        if str(value) not in values:
            raise InputError(f'"{name}" has no value {value!r}; it has {quote(values, 12)}')
        chosen &= tokens.codes(name) == values.index(str(value))
    documents = np.flatnonzero(chosen)
    label = tokens.codes(column)[documents].astype(np.int64)
    if len(np.unique(label)) < 2:
        raise InputError(f'column "{column}" has one value only in these documents: there is nothing to compare')
    clusters = documents if cluster is None else tokens.codes(cluster)[documents].astype(np.int64)
    return Units.group(documents, clusters, label, tokens.values(column))


def determining_columns(tokens: Tokens, column: str) -> list[str]:
    """The columns each value of which has one value of `column` only, those with the fewest values first."""
    return tokens.determining_columns(column)


def warn_of_speakers(tokens: Tokens, cluster: str | None, columns: Iterable[str]) -> None:
    """Warn if documents are taken for independent though each value of another column has one label only."""
    for column in columns if cluster is None else ():
        for name in determining_columns(tokens, column)[:1]:
            warnings.warn(
                f'every value of "{name}" has one value of "{column}" only: documents of one {name} are no independent '
                f'evidence about "{column}", and far too much will look significant; write cluster="{name}"',
                UserWarning,
                stacklevel=3,
            )


def interval_quantile(interval: float) -> float:
    """The standard deviations on each side of the mean that hold a share `interval` of a normal distribution."""
    check_interval(interval)
    return float(stats.norm.ppf(0.5 + interval / 2))
