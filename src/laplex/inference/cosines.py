"""Similarities, neighbors and positions on an axis with intervals, and differences between groups along an axis.

The tables are those of `laplex.questions` with more columns. Rows of words with too little text have no interval.
Intervals come from clusters (`jackknife.py`): one that uses both words counts for both at once. Differences along an
axis are score tests from the pooled fit, with the background of each value taken out (`score_test.py`). S slices.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from laplex.embeddings import Embeddings
from laplex.fitting.provenance import tokens_of
from laplex.inference.contexts import label_free
from laplex.inference.differences import Request
from laplex.inference.jackknife import JackknifeVectors, clusters_of, cosine, jackknife_vectors
from laplex.inference.score_test import AxisDifference, axis_difference, group_scores
from laplex.inference.scores import ScoreTable
from laplex.inference.statistics import units_with_words
from laplex.inference.testing import adjust_p
from laplex.inference.units import Floats, Ints, Options, Units, interval_quantile, warn_of_speakers
from laplex.questions.cosine import directions, normalize
from laplex.questions.similarity import Pole


def similarity(
    fitted: Embeddings, one: str, two: str, *, at: Mapping[str, Any] | None = None, **options: Any
) -> pd.DataFrame:
    """Compute the cosine of two words in each slice, and an interval for it.

    Args:
        fitted: The model.
        one: A word.
        two: Another word.
        at: Values of columns that vectors vary by, to which slices are restricted.
        **options: Those of `Options`.

    Returns:
        A row for each slice. "similarity" is that of the fitted vectors. Noise draws it towards zero: "estimate" is
        what it would be without, at the maximum of the log posterior, and what "se", "lower" and "upper" are about.
        They say how it would come out with other clusters of the same kind, given the contexts: that these would be
        others as well is not in them. "n" and "clusters" are those of the word that has fewer.

    Example:
        similarity(fitted, "health", "insurance", cluster="senator", at={"party": "D"})
    """
    shared = Options.of(options, fitted.columns)
    text = CosineIntervals(fitted, shared)
    warn_of_speakers(text.tokens, text.options.cluster, fitted.columns)
    table = fitted.similarity(one, two, language=shared.language, at=at)
    ids = fitted.ids([one, two], text.language)
    text.read(ids)
    return table.assign(**pd.DataFrame([text.of_pair(ids[0], ids[-1], slice) for slice in fitted.chosen(at)]))


def neighbors(
    fitted: Embeddings, word: str, k: int = 10, *, at: Mapping[str, Any] | None = None, **options: Any
) -> pd.DataFrame:
    """Find the k words most similar to a word by the fitted vectors, and an interval for each similarity.

    The words were chosen because they looked similar, so those at the end of a long list will on average be a little
    less similar in another sample than here.

    Args:
        fitted: The model.
        word: The word.
        k: How many neighbors it has in each slice.
        at: Values of columns that vectors vary by, to which slices are restricted.
        **options: Those of `Options`.

    Returns:
        A row for each slice and neighbor, with the columns that `similarity` explains.

    Example:
        neighbors(fitted, "health", cluster="senator", at={"party": "D"})
    """
    shared = Options.of(options, fitted.columns)
    text = CosineIntervals(fitted, shared)
    warn_of_speakers(text.tokens, text.options.cluster, fitted.columns)
    table = fitted.neighbors(word, k, language=shared.language, at=at)
    index = fitted.id(word, text.language)
    others = [fitted.id(other, text.language) for other in table["neighbor"]]
    text.read(list(dict.fromkeys([index, *others])))
    keys = {key: number for number, key in enumerate(fitted.rows.slices.keys)}
    slices = [keys[key] for key in table[list(fitted.columns)].itertuples(index=False, name=None)]
    return table.assign(**pd.DataFrame([text.of_pair(index, other, slice) for other, slice in zip(others, slices)]))


def project(
    fitted: Embeddings,
    words: str | Sequence[str],
    axis: tuple[Pole, Pole],
    *,
    across: str | None = None,
    at: Mapping[str, Any] | None = None,
    pooled: Embeddings | None = None,
    **options: Any,
) -> pd.DataFrame:
    """Compute positions of words on an axis, or with `across` how far two values of a column are apart along it.

    Args:
        fitted: The model.
        words: The words.
        axis: Its two poles, each a word or several.
        across: The column whose values are compared, if any.
        at: Values of other columns, to which slices (or with `across` the text) are restricted.
        pooled: With `across`, a model of the same text without labels, if there is one.
        **options: Those of `Options`.

    Returns:
        Without `across`, a row for each word and slice: "position" is that of the fitted vectors, and the other columns
        are those that `similarity` explains. With `across`, a row for each word and pair of values: "estimate" is the
        difference of the word's vectors along the axis, which a word that is only more frequent at one value does not
        have, and "p_adjusted" is p after Benjamini and Hochberg over all rows; contexts and axis are those of
        `pooled`. Words with too little text are listed with their counts alone.

    Example:
        project(fitted, "tax", ("good", "bad"), cluster="senator")
        project(fitted, ["tax", "war"], ("good", "bad"), across="party", cluster="senator")
    """
    shared = Options.of(options, fitted.columns)
    text = CosineIntervals(fitted, shared)
    warn_of_speakers(text.tokens, text.options.cluster, fitted.columns if across is None else [across])
    # with `across`, for the complaints about poles that are none
    table = fitted.project(words, axis, language=shared.language, at=at if across is None else None)
    if across is not None:
        request = Request(fitted, across, at, options | {"tokens": text.tokens}, words, permutations=0)
        return _differences(request, axis, label_free(fitted, text.tokens, pooled, shared.quiet))
    ids, slices = fitted.ids(words, text.language), fitted.chosen(at)
    text.read(ids)
    axes = [_direction(fitted, axis, text.language, slice) for slice in slices]
    return table.assign(**pd.DataFrame([text.with_axis(word, *pair) for word in ids for pair in zip(axes, slices)]))


def _direction(vectors: Embeddings, axis: tuple[Pole, Pole], language: int, slice: int) -> Floats:
    """(D) The axis in a slice, of length one."""
    means = [directions(vectors, vectors.ids(pole, language), language, slice).mean(0) for pole in axis]
    return np.asarray(normalize(means[0] - means[1]), np.float64)


def _differences(request: Request, axis: tuple[Pole, Pole], free: Embeddings) -> pd.DataFrame:
    """A row for each word and pair of labels."""
    text, direction = request.read(free), _direction(free, axis, request.language, 0)
    counts, clusters = text.counts()
    pairs = list(combinations(np.unique(request.units.label).tolist(), 2))
    tested = [request.enough(counts[:, pair].sum(1), clusters[:, pair].min(1)) for pair in pairs]

    def find(table: ScoreTable) -> list[AxisDifference | None]:
        scores = [
            group_scores(table, [[label] for label in pair]) if enough[table.word] else None
            for pair, enough in zip(pairs, tested)
        ]
        return [None if found is None else axis_difference(found, direction) for found in scores]

    differences = np.full((len(request.ids), len(pairs), 3), np.nan)
    chosen = np.flatnonzero(np.any(tested, axis=0)).tolist()
    for word, results in zip(chosen, text.run(chosen, find)):
        for place, result in enumerate(results):
            if result is not None:
                differences[word, place] = result
    frames = []
    for place, pair in enumerate(pairs):
        estimate, error, freedom = differences[:, place].T
        width = stats.t.ppf(0.5 + request.options.interval / 2, freedom) * error
        p = student_p(differences[:, place])
        columns = {"word": request.words(), request.column: request.name(pair), "estimate": estimate, "se": error}
        columns |= {"lower": estimate - width, "upper": estimate + width, "z": estimate / error}
        columns |= {"p": p, "p_adjusted": np.nan}
        columns |= {"n": counts[:, pair].sum(1), "clusters": clusters[:, pair].sum(1)}
        frames.append(pd.DataFrame(columns))
    # sorted by their old numbers, all rows of a word stand together
    table = pd.concat(frames).sort_index(kind="stable").reset_index(drop=True)
    return table.assign(p_adjusted=adjust_p(table["p"].to_numpy()))


def student_p(differences: Floats) -> Floats:
    """(…) p of differences (…, 3), by Student's t."""
    return np.asarray(2 * stats.t.sf(abs(differences[..., 0] / differences[..., 1]), differences[..., 2]))


class CosineInterval(NamedTuple):
    """A cosine with its interval, and how much text it is from: columns of a table."""

    estimate: float
    se: float
    lower: float
    upper: float
    n: int
    clusters: int


class CosineIntervals:
    """Intervals for cosines of some words, where there is enough text."""

    def __init__(self, fitted: Embeddings, options: Options) -> None:
        self.fitted, self._z = fitted, interval_quantile(options.interval)
        self.tokens, self.language = tokens_of(fitted, options.tokens), fitted.language(options.language)
        self.options = options.with_unit(self.tokens, fitted.columns)
        self._cluster_of_document = clusters_of(fitted, self.tokens, self.options.cluster)
        self.clusters: dict[int, Ints] = {}  # by word, (S) how many use it
        self.vectors: dict[int, JackknifeVectors] = {}

    def read(self, ids: Sequence[int]) -> None:
        """Read the text of words."""
        self.clusters = self._count_clusters(ids)
        enough = [i for i in ids if any(self._is_enough(i, slice) for slice in range(len(self.fitted.rows.slices)))]
        if enough:
            self.vectors = jackknife_vectors(self.fitted, enough, self.language, self.tokens, self.options)

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

    def _text_size(self, word: int, slice: int) -> tuple[int, int]:
        """How often a word occurs in a slice, and in how many clusters."""
        return int(self.fitted.counts[self.language][slice, word]), int(self.clusters[word][slice])

    def _is_enough(self, word: int, slice: int) -> bool:
        n, clusters = self._text_size(word, slice)
        return n >= self.options.min_count and clusters >= self.options.fewest

    def _of(self, word: int, slice: int) -> tuple[Floats, Floats] | None:
        """A word's vector in a slice and the influence on it, if there is enough text."""
        if word not in self.vectors or not self._is_enough(word, slice):
            return None
        vectors, influence = self.vectors[word]
        return vectors[slice], influence[slice]

    def of_pair(self, one: int, two: int, slice: int) -> CosineInterval:
        """The interval for the cosine of two words; the text is that of the word that has less."""
        (n, clusters), (n_two, clusters_two) = self._text_size(one, slice), self._text_size(two, slice)
        first, second = self._of(one, slice), self._of(two, slice)
        value = None if first is None or second is None else cosine(*first, *second)
        return self._bound(value, min(n, n_two), min(clusters, clusters_two))

    def with_axis(self, word: int, axis: Floats, slice: int) -> CosineInterval:
        """The interval for the cosine of a word and an axis, which is held."""
        vector = self._of(word, slice)
        value = None if vector is None else cosine(*vector, axis, np.zeros_like(vector[1]))
        return self._bound(value, *self._text_size(word, slice))

    def _bound(self, value: tuple[float, float] | None, n: int, clusters: int) -> CosineInterval:
        """A cosine with the ends of its interval, none of which is beyond ±1."""
        estimate, se = value or (float("nan"), float("nan"))
        lower, estimate, upper = np.clip([estimate - self._z * se, estimate, estimate + self._z * se], -1, 1).tolist()
        return CosineInterval(estimate, se, lower, upper, n, clusters)
