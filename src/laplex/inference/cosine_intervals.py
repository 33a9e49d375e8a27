"""Intervals and tests for cosines of some words in the slices of a model, and models sliced by any column.

Intervals come from clusters (`jackknife.py`): one that uses both words counts for both at once. They are Student's,
since few large clusters make the variance itself uncertain. Differences between the values of a column are those of
vectors that are estimated for each value by itself, given contexts that have not seen the values. S slices, C clusters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy

from laplex.embeddings import Embeddings
from laplex.errors import InputError
from laplex.fitting.provenance import tokens_of
from laplex.inference.contexts import pooled
from laplex.inference.jackknife import (
    Direction,
    Estimate,
    JackknifeVectors,
    clusters_of,
    cosine_of,
    direction,
    jackknife_vectors,
)
from laplex.inference.standardization import Strata, standardize
from laplex.inference.statistics import units_with_words
from laplex.inference.testing import adjust_p
from laplex.inference.units import Floats, Ints, Options, Units, check_given, gather, tokens_for, warn_of_speakers
from laplex.model.priors.prior import saved_ridge
from laplex.model.rows import Rows
from laplex.text.slices import Slices
from laplex.text.tokens import Tokens

INTERVAL_COLUMNS = ["estimate", "lower", "upper", "uses", "units"]
OUTSIDE = "\0"  # the value of documents that a question does not ask about


class Interval(NamedTuple):
    """The columns of an estimate: its interval, and the p of being zero."""

    estimate: float
    lower: float
    upper: float
    p: float

    @classmethod
    def of(cls, found: Estimate | None, share: float, least: float = -np.inf, most: float = np.inf) -> Interval:
        """The interval that holds a share of other samples, within bounds; NaN if nothing was found."""
        if found is None or not np.isfinite(found.value):
            return cls(np.nan, np.nan, np.nan, np.nan)
        error, freedom = found.standard_error, found.freedom
        width = float(scipy.special.stdtrit(max(freedom, 1.0), 0.5 + share / 2)) * error
        value, lower, upper = np.clip([found.value, found.value - width, found.value + width], least, most).tolist()
        p = 2 * scipy.special.stdtr(max(freedom, 1.0), -abs(found.value) / error) if error > 0 else float("nan")
        return cls(value, lower, upper, float(p))


class CosineIntervals:
    """Cosines of some words with their influences, where there is enough text."""

    def __init__(self, fitted: Embeddings, options: Options, strata: Strata | None = None) -> None:
        """With `strata`, documents have the weights of theirs."""
        self.fitted, self._strata = fitted, strata
        self.tokens, self.language = tokens_of(fitted, options.tokens), fitted.language(options.language)
        self.options = options.with_unit(self.tokens, fitted.columns)
        if self.options.unit is None:
            for column in fitted.columns:
                warn_of_speakers(column, next(iter(self.tokens.determining_columns(column)), None))
        self._cluster_of_document = clusters_of(fitted, self.tokens, self.options.unit)
        self.clusters: dict[int, Ints] = {}  # by word, (S) how many use it
        self.vectors: dict[int, JackknifeVectors] = {}

    def read(self, ids: Sequence[int]) -> None:
        """Read the text of words."""
        ids = list(dict.fromkeys(ids))
        self.clusters = self._count_clusters(ids)
        enough = [i for i in ids if any(self.is_enough(i, slice) for slice in range(len(self.fitted.rows.slices)))]
        if enough:
            text = self.tokens, self.options, self._strata
            self.vectors = jackknife_vectors(self.fitted, enough, self.language, *text)

    def _count_clusters(self, ids: Sequence[int]) -> dict[int, Ints]:
        tokens, slices = self.tokens, self.fitted.rows.slices
        place = np.full(len(tokens.vocabularies[self.language]), -1, np.int32)
        place[list(ids)] = np.arange(len(ids))
        documents = np.flatnonzero(tokens.languages == self.language)
        clusters, slice = self._cluster_of_document[documents], slices.of_document[documents].astype(np.int64)
        units = Units.group(documents, clusters, slice, list(map(str, slices.keys)))
        number = np.repeat(np.arange(len(units)), np.diff(units.start))
        start, unit, _ = units_with_words(tokens.ids, tokens.offsets, units.documents, number, place, len(ids))
        word = np.repeat(np.arange(len(ids)), np.diff(start))
        counts = np.bincount(word * len(slices) + units.label[unit], minlength=len(ids) * len(slices))
        return dict(zip(ids, counts.reshape(len(ids), len(slices))))

    def text_size(self, words: Sequence[int], slice: int) -> tuple[int, int]:
        """How often the rarest of some words occurs in a slice, and the fewest clusters that use one of them."""
        uses = self.fitted.counts[self.language][slice, list(words)]
        return int(uses.min()), min(int(self.clusters[word][slice]) for word in words)

    def is_enough(self, word: int, slice: int) -> bool:
        """Whether a word has enough text in a slice for an interval."""
        uses, clusters = self.text_size([word], slice)
        return uses >= self.options.min_count and clusters >= self.options.fewest

    def direction(self, word: int, slice: int) -> Direction | None:
        """The direction of a word in a slice, if there is enough text."""
        if word not in self.vectors or not self.is_enough(word, slice):
            return None
        vectors, influence = self.vectors[word]
        return direction(vectors[slice], influence[slice])

    def cosine(self, one: int, two: int, slice: int) -> Estimate | None:
        """The cosine of two words in a slice."""
        first, second = self.direction(one, slice), self.direction(two, slice)
        return None if first is None or second is None else cosine_of(first, second)

    def with_axis(self, word: int, axis: Floats, slice: int) -> Estimate | None:
        """The cosine of a word and an axis, which is held."""
        found = self.direction(word, slice)
        return None if found is None else cosine_of(found, Direction(axis, np.zeros_like(found.influence)))


class ValuePair(NamedTuple):
    """A value of a column, and the slices that it is compared with, by number."""

    value: int
    others: list[int]
    name: str
    against: str


class ComparedValues:
    """A model of the text in which vectors vary by one column, for differences between its values.

    Contexts, and where Newton's method starts, are those of the model without labels; the prior is its ridge. With two
    values these are compared, with more each value with the mean of the others. Columns in `given` are controlled for
    by standardization.
    """

    def __init__(
        self, fitted: Embeddings, column: str, at: Mapping[str, Any], options: Options, given: Sequence[str] = ()
    ) -> None:
        tokens, language = tokens_for(fitted, options, [column, *given]), fitted.language(options.language)
        options = options.with_unit(tokens, [column])
        units = gather(tokens, column, options.unit, language, at)
        self.values = [units.labels[i] for i in np.unique(units.label).tolist()]
        of_document = np.full(tokens.documents, len(self.values), np.int32)
        label = np.repeat(units.label, np.diff(units.start))
        of_document[units.documents] = np.searchsorted(np.unique(units.label), label)
        strata = None
        if given:
            check_given(given, column, options.unit)
            value = of_document[units.documents].astype(np.int64)
            strata = standardize(tokens, units.documents, value, given, quiet=options.quiet)
            of_document[strata.of_document < 0] = len(self.values)
        keys = [(value,) for value in self.values]
        if (of_document == len(self.values)).any():
            keys.append((OUTSIDE,))
        free = pooled(fitted, tokens, quiet=options.quiet)
        self.free = free
        self.fitted = sliced(free, tokens, Slices((column,), tuple(keys), of_document))
        self.text = CosineIntervals(self.fitted, options, strata)

    def comparisons(self) -> list[ValuePair]:
        """The values that are compared."""
        numbers = range(len(self.values))
        if len(numbers) == 2:
            return [ValuePair(0, [1], self.values[0], self.values[1])]
        return [ValuePair(i, [j for j in numbers if j != i], self.values[i], "rest") for i in numbers]

    def difference(self, found: Sequence[Estimate | None], compared: ValuePair) -> Estimate | None:
        """The difference of a number that is known at each value, from the mean of the others that have it."""
        one, rest = found[compared.value], mean_of([found[i] for i in compared.others])
        return None if one is None or rest is None else one.minus(rest)

    def row(self, found: Sequence[Estimate | None], compared: ValuePair, words: Sequence[int]) -> dict[str, Any]:
        """The row of a comparison; the text is that of the rarest of the words on either side."""
        interval = Interval.of(self.difference(found, compared), self.text.options.interval)
        size = self.text.text_size(words, compared.value)
        rest = [self.text.text_size(words, other) for other in compared.others]
        row = {"value": compared.name, "against": compared.against, **interval._asdict()}
        row |= {"p_adjusted": np.nan, "holds": False, "uses": size[0], "uses_against": sum(uses for uses, _ in rest)}
        return row | {"units": size[1], "units_against": sum(units for _, units in rest)}


def sliced(free: Embeddings, tokens: Tokens, slices: Slices) -> Embeddings:
    """A model without slices as one whose words have a vector of their own in each slice, held by the ridge alone."""
    rows = Rows(free.rows.vocabularies, slices)
    theta = np.empty((len(rows), free.dimensions), np.float32)
    for language in range(len(rows.vocabularies)):
        theta[rows.contexts(language)] = free.block(language, None)
        for slice in range(len(slices)):
            theta[rows.words(language, slice)] = free.block(language, 0)
    graph = saved_ridge(free.settings).graph(rows)
    counts = [tokens.counts(slices, language) for language in range(len(rows.vocabularies))]
    slot = np.arange(len(theta), dtype=np.int32)
    return Embeddings(rows, theta, slot, counts, graph, free.settings, [])


def mean_of(found: Sequence[Estimate | None]) -> Estimate | None:
    """The mean of the estimates that there are."""
    known = [some for some in found if some is not None]
    if not known:
        return None
    influence = np.array([some.influence for some in known])
    return Estimate(float(np.mean([some.value for some in known])), np.asarray(influence.mean(0)))


def with_intervals(table: pd.DataFrame, found: Sequence[Mapping[str, Any]] | None, after: str) -> pd.DataFrame:
    """A table of the fitted vectors with the columns of intervals behind `after`; empty if none were found."""
    if found is None:
        empty = dict.fromkeys(("estimate", "lower", "upper"), np.nan)
        columns = pd.DataFrame(empty, index=table.index).assign(uses=table["uses"], units=np.nan)
    else:
        columns = pd.DataFrame(list(found), columns=INTERVAL_COLUMNS, index=table.index)
    rest = [name for name in table.columns if name not in ("uses", "uses_other")]
    place = rest.index(after) + 1
    joined = pd.concat([table[rest[:place]], columns, table[rest[place:]]], axis=1)
    joined.attrs = dict(table.attrs)
    return joined


def finish(rows: Sequence[Mapping[str, Any]], level: float) -> pd.DataFrame:
    """The table of rows with a p, adjusted over all of them."""
    table = pd.DataFrame(list(rows))
    if not len(table):
        raise InputError("there is no slice in which all of these words are used")
    table["p_adjusted"] = adjust_p(table["p"].to_numpy(np.float64))
    table["holds"] = table["p_adjusted"] <= level
    return table
