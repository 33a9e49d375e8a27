"""What all questions share: their options, and the sampling units.

A unit is the documents of a cluster (a speaker, say) under one label: a cluster with documents under two labels is two
units with one cluster number. U units, M documents, G labels.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import scipy
from numpy.typing import NDArray

from laplex.embeddings import Embeddings
from laplex.errors import InputError, check_int, check_interval, quote
from laplex.fitting.provenance import tokens_of
from laplex.questions.answers import MIN_USES
from laplex.text.tokens import Tokens
from laplex.text.topics import TOPIC, with_topics

DOCUMENTS = "documents"
ENOUGH_UNITS, FEWEST_UNITS = 25, 5  # that must use a word, if there are many and if there are few
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Options:
    """What all tests share.

    Args:
        unit: The column that says who was sampled, such as the speaker; by default the unit that was named when the
            text was read, and else documents. "documents" takes these as independent in any case.
        interval: The share of samples in which "lower" and "upper" hold the estimate.
        level: The false discovery rate: a finding holds if its adjusted p is at most this.
        min_effect: A finding holds only if the lower end of its interval is at least this size.
        min_units: The units that must use a word, on each side or in each slice; by default 25, and fewer if there are
            under 100 units: a quarter of them, but 5 at least.
        min_count: How often a word must occur on both sides together, or in a slice.
        min_uses: How often a word must be used in a slice to be a neighbor or a part of a pole there.
        exclude: Words that are left out of tables unless they are asked for by name; by default the function words of
            the language. () leaves out none.
        permutations: How many permutations are counted for every word; by default as many as it takes, from 999 to a
            million. 0 takes p from a formula.
        tokens: The text, if it is no longer where the model was fitted on it.
        language: The language, if the model has several.
        seed: Of everything that is drawn by chance.
        threads: How many threads read the text; all processors of this process by default.
        quiet: Whether to say nothing on the way.

    Example:
        fitted.inference(unit="senator", interval=0.95, min_count=50).contrast("party")
    """

    unit: str | None = None
    interval: float = 0.9
    level: float = 0.1
    min_effect: float = 0.1
    min_units: int | None = None
    min_count: int = 100
    min_uses: int = MIN_USES
    exclude: Collection[str] | None = None
    permutations: int | None = None
    tokens: Tokens | None = None
    language: str | None = None
    seed: int = 1
    threads: int | None = None
    quiet: bool = False

    def __post_init__(self) -> None:
        check_interval(self.interval)
        check_int("min_count", self.min_count)
        check_int("min_uses", self.min_uses, 0)
        if self.min_units is not None:
            check_int("min_units", self.min_units, 2)
        if self.permutations is not None:
            check_int("permutations", self.permutations, 0)
        if not 0 < self.level < 1:
            raise InputError(f"level={self.level!r}: the false discovery rate is a share, such as 0.1")
        if not self.min_effect >= 0:
            raise InputError(f"min_effect={self.min_effect!r}: an effect is 0 or more")
        if isinstance(self.exclude, str):
            raise InputError(f'exclude="{self.exclude}" is one text: give a list of words')

    @property
    def fewest(self) -> int:
        """How many units must use a word."""
        return ENOUGH_UNITS if self.min_units is None else self.min_units

    def with_unit(self, tokens: Tokens, columns: Iterable[str]) -> Self:
        """The same with the unit that a question about some columns has, and how many of them must use a word."""
        unit = self.unit
        if unit is None and tokens.unit is not None and tokens.unit not in columns:
            unit = tokens.unit
        unit = None if unit == DOCUMENTS and DOCUMENTS not in tokens.columns else unit
        least = self.min_units
        if least is None:
            size = tokens.documents if unit is None else len(tokens.values(unit))
            least = max(FEWEST_UNITS, min(ENOUGH_UNITS, size // 4))
        return replace(self, unit=unit, min_units=least)


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


def check_unit(unit: str | None, column: str) -> None:
    """Raise if the units are the values of the column that is compared."""
    if unit == column:
        raise InputError(f'unit="{unit}" is the column that is compared: name the one that says who speaks')


def tokens_for(fitted: Embeddings, options: Options, named: Iterable[str]) -> Tokens:
    """The text of a model; with topics, if they are among the columns or formulas that are `named` and it has none."""
    tokens = tokens_of(fitted, options.tokens)
    if any(re.search(rf"\b{TOPIC}\b", text) for text in named):
        tokens = with_topics(tokens, quiet=options.quiet)
    return tokens


def design_units(tokens: Tokens, documents: Ints, cell: Ints, cells: int, unit: str | None) -> Units:
    """The units of documents whose labels are the cells of a design matrix."""
    clusters = documents if unit is None else tokens.codes(unit)[documents].astype(np.int64)
    return Units.group(documents, clusters, cell, [str(number) for number in range(cells)])


def check_given(given: Sequence[str], column: str, unit: str | None) -> None:
    """Raise if what is controlled for is what is compared, or who was sampled."""
    for taken, why in ((column, "is what is compared"), (unit, "is the unit")):
        if taken in given:
            raise InputError(f'given="{taken}" {why}: name columns that may explain the difference')


def documents_at(tokens: Tokens, language: int, at: Mapping[str, Any]) -> Ints:
    """The documents of a language that have a word, and some values of columns, each one or several."""
    chosen = (tokens.languages == language) & (np.diff(tokens.offsets) > 0)
    for name, value in at.items():
        values = tokens.values(name)
        allowed = [str(one) for one in (value if isinstance(value, list | tuple | set) else [value])]
        if unknown := [one for one in allowed if one not in values]:
            raise InputError(f'"{name}" has no value {unknown[0]!r}; it has {quote(values, 12)}')
        chosen &= np.isin(tokens.codes(name), [values.index(one) for one in allowed])
    return np.flatnonzero(chosen)


def gather(tokens: Tokens, column: str, unit: str | None, language: int, at: Mapping[str, Any]) -> Units:
    """The units of a column: documents, or the values of another column."""
    check_unit(unit, column)
    documents = documents_at(tokens, language, at)
    label = tokens.codes(column)[documents].astype(np.int64)
    if len(np.unique(label)) < 2:
        raise InputError(f'column "{column}" has one value only in these documents: there is nothing to compare')
    clusters = documents if unit is None else tokens.codes(unit)[documents].astype(np.int64)
    return Units.group(documents, clusters, label, tokens.values(column))


def warn_of_speakers(column: str, decided_by: str | None) -> None:
    """Warn if documents are taken for independent though each value of another column has one label only."""
    if decided_by is not None:
        warnings.warn(
            f'every value of "{decided_by}" has one value of "{column}" only: documents of one {decided_by} are no '
            f'independent evidence about "{column}", and far too much will look significant; ask '
            f'fitted.inference(unit="{decided_by}"), or read the text with unit="{decided_by}"',
            UserWarning,
            stacklevel=4,
        )


def interval_quantile(interval: float) -> float:
    """The standard deviations on each side of the mean that hold a share `interval` of a normal distribution."""
    check_interval(interval)
    return float(scipy.special.ndtri(0.5 + interval / 2))
