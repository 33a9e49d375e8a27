"""Similarities, neighbors and positions on an axis with intervals, and differences between groups along an axis.

The tables are those of `laplex.questions` with more columns. Rows of words with too little text have no interval.
Intervals come from clusters (`jackknife.py`): one that uses both words counts for both at once. Differences along an
axis are score tests from the pooled fit, with the background of each value taken out (`score_test.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from laplex.embeddings import Embeddings
from laplex.inference.contexts import check_pooled, step_precision
from laplex.inference.contexts import pooled as fit_pooled
from laplex.inference.findings import adjust_p
from laplex.inference.jackknife import CosineInterval, CosineIntervals
from laplex.inference.score_test import AxisDifference, axis_difference
from laplex.inference.statistics import ScorePass, ScoreTable
from laplex.inference.units import Floats, gather, warn_of_speakers
from laplex.questions.cosine import directions, normalize
from laplex.questions.similarity import Pole
from laplex.text.tokens import Tokens


def similarity(
    fitted: Embeddings,
    one: str,
    two: str,
    *,
    cluster: str | None = None,
    interval: float = 0.9,
    min_clusters: int = 25,
    min_count: int = 100,
    tokens: Tokens | None = None,
    language: str | None = None,
    seed: int = 1,
    threads: int | None = None,
    quiet: bool = False,
    **where: Any,
) -> pd.DataFrame:
    """Compute the cosine of two words in each slice, and an interval for it.

    Args:
        fitted: The model.
        one: A word.
        two: Another word.
        cluster: The column that says who speaks; without it documents are independent.
        interval: The share of samples in which "lower" and "upper" hold the cosine.
        min_clusters: The clusters (or documents) that must use each word in a slice.
        min_count: How often each word must occur in a slice.
        tokens: The text, if it is no longer where the model was fitted on it.
        language: The language, if the model has several.
        seed: Of everything that is drawn by chance.
        threads: How many threads read the text; all processors by default.
        quiet: Whether to say nothing on the way.
        **where: Values of the columns that vectors vary by, to which slices are restricted.

    Returns:
        A row for each slice. "similarity" is that of the fitted vectors. Noise draws it towards zero: "estimate" is
        what it would be without, at the maximum of the log posterior, and what "se", "lower" and "upper" are about.
        They say how it would come out with other clusters of the same kind, given the contexts: that these would be
        others as well is not in them. "n" and "clusters" are those of the word that has fewer.

    Example:
        similarity(fitted, "health", "insurance", cluster="senator", party="D")
    """
    text = CosineIntervals(fitted, cluster, interval, min_clusters, min_count, tokens, language, seed, threads, quiet)
    if cluster is None:
        for column in fitted.columns:
            warn_of_speakers(text.tokens, column)
    table = fitted.similarity(one, two, language=language, **where)
    ids = fitted.ids([one, two], text.language)
    text.read(ids)
    return _with_columns(table, [text.of_pair(ids[0], ids[-1], slice) for slice in fitted.chosen(where)])


def neighbors(
    fitted: Embeddings,
    word: str,
    k: int = 10,
    *,
    cluster: str | None = None,
    interval: float = 0.9,
    min_clusters: int = 25,
    min_count: int = 100,
    tokens: Tokens | None = None,
    language: str | None = None,
    seed: int = 1,
    threads: int | None = None,
    quiet: bool = False,
    **where: Any,
) -> pd.DataFrame:
    """Find the k words most similar to a word by the fitted vectors, and an interval for each similarity.

    The words were chosen because they looked similar, so those at the end of a long list will on average be a little
    less similar in another sample than here.

    Args:
        fitted: The model.
        word: The word.
        k: How many neighbors it has in each slice.
        cluster: The column that says who speaks; without it documents are independent.
        interval: The share of samples in which "lower" and "upper" hold the cosine.
        min_clusters: The clusters (or documents) that must use both words in a slice.
        min_count: How often both words must occur in a slice.
        tokens: The text, if it is no longer where the model was fitted on it.
        language: The language, if the model has several.
        seed: Of everything that is drawn by chance.
        threads: How many threads read the text; all processors by default.
        quiet: Whether to say nothing on the way.
        **where: Values of the columns that vectors vary by, to which slices are restricted.

    Returns:
        A row for each slice and neighbor, with the columns that `similarity` explains.

    Example:
        neighbors(fitted, "health", cluster="senator", party="D")
    """
    text = CosineIntervals(fitted, cluster, interval, min_clusters, min_count, tokens, language, seed, threads, quiet)
    if cluster is None:
        for column in fitted.columns:
            warn_of_speakers(text.tokens, column)
    table = fitted.neighbors(word, k, language=language, **where)
    index = fitted.id(word, text.language)
    others = [fitted.id(other, text.language) for other in table["neighbor"]]
    text.read(list(dict.fromkeys([index, *others])))
    keys = {key: number for number, key in enumerate(fitted.rows.slices.keys)}
    slices = [keys[key] for key in table[list(fitted.columns)].itertuples(index=False, name=None)]
    return _with_columns(table, [text.of_pair(index, other, slice) for other, slice in zip(others, slices)])


def project(
    fitted: Embeddings,
    words: str | Sequence[str],
    axis: tuple[Pole, Pole],
    *,
    across: str | None = None,
    cluster: str | None = None,
    interval: float = 0.9,
    min_clusters: int = 25,
    min_count: int = 100,
    pooled: Embeddings | None = None,
    tokens: Tokens | None = None,
    language: str | None = None,
    seed: int = 1,
    threads: int | None = None,
    quiet: bool = False,
    **where: Any,
) -> pd.DataFrame:
    """Compute positions of words on an axis, or with `across` how far two values of a column are apart along it.

    Args:
        fitted: The model.
        words: The words.
        axis: Its two poles, each a word or several.
        across: The column whose values are compared, if any.
        cluster: The column that says who speaks; without it documents are independent.
        interval: The share of samples in which "lower" and "upper" hold the estimate.
        min_clusters: The clusters (or documents) that must use a word in the slice, or at each of two values.
        min_count: How often a word must occur in the slice, or at two values together.
        pooled: With `across`, a model of the same text without labels, if there is one.
        tokens: The text, if it is no longer where the model was fitted on it.
        language: The language, if the model has several.
        seed: Of everything that is drawn by chance.
        threads: How many threads read the text; all processors by default.
        quiet: Whether to say nothing on the way.
        **where: Values of other columns, to which slices (or with `across` the text) are restricted.

    Returns:
        Without `across`, a row for each word and slice: "position" is that of the fitted vectors, and the other columns
        are those that `similarity` explains. With `across`, a row for each word and pair of values: "estimate" is the
        difference of the word's vectors along the axis, which a word that is only more frequent at one value does not
        have, and "p_adjusted" is p after Benjamini and Hochberg over the words; contexts and axis are those of
        `pooled`. Words with too little text are listed with their counts alone.

    Example:
        project(fitted, "tax", ("good", "bad"), cluster="senator")
        project(fitted, ["tax", "war"], ("good", "bad"), across="party", cluster="senator")
    """
    text = CosineIntervals(fitted, cluster, interval, min_clusters, min_count, tokens, language, seed, threads, quiet)
    if cluster is None:
        for column in fitted.columns if across is None else [across]:
            warn_of_speakers(text.tokens, column)
    if across is None:
        table = fitted.project(words, axis, language=language, **where)
        ids, slices = fitted.ids(words, text.language), fitted.chosen(where)
        text.read(ids)
        axes = [_direction(fitted, axis, text.language, slice) for slice in slices]
        return _with_columns(table, [text.with_axis(word, *pair) for word in ids for pair in zip(axes, slices)])
    units = gather(text.tokens, across, cluster, text.language, where)
    ids = fitted.ids(words, text.language)
    fitted.project(words, axis, language=language)  # which complains of poles that are none
    if pooled is None:
        pooled = fit_pooled(fitted, text.tokens, quiet=quiet)
    free = check_pooled(pooled, fitted)
    direction = _direction(free, axis, text.language, 0)
    read = ScorePass(text.tokens, units, free, ids, text.language, seed=seed, threads=threads, quiet=quiet)
    frames = _differences(text, read, direction, across, where)
    # sorted by their old numbers, all rows of a word stand together
    return pd.concat(frames).sort_index(kind="stable").reset_index(drop=True)


def _direction(vectors: Embeddings, axis: tuple[Pole, Pole], language: int, slice: int) -> Floats:
    """(D) The axis in a slice, of length one."""
    means = [directions(vectors, vectors.ids(pole, language), language, slice).mean(0) for pole in axis]
    return np.asarray(normalize(means[0] - means[1]), np.float64)


def _with_columns(table: pd.DataFrame, intervals: Sequence[CosineInterval]) -> pd.DataFrame:
    return table.assign(**dict(zip(CosineInterval._fields, map(list, zip(*intervals)))))


def _differences(
    text: CosineIntervals, read: ScorePass, axis: Floats, column: str, where: Mapping[str, Any]
) -> list[pd.DataFrame]:
    """A table for each pair of labels."""
    counts, clusters = read.counts()
    labels, pairs = read.units.labels, list(combinations(np.unique(read.units.label).tolist(), 2))
    tested, priors = [], []
    for one, two in pairs:
        enough = np.minimum(clusters[:, one], clusters[:, two]) >= text.min_clusters
        tested.append(enough & (counts[:, one] + counts[:, two] >= text.min_count))
        at = {labels[one]: 0.5, labels[two]: -0.5}
        priors.append(step_precision(text.fitted, column, at, text.language, where)[read.ids])

    def find(table: ScoreTable) -> list[AxisDifference | None]:
        return [
            axis_difference(table, *pair, axis, float(prior[table.word])) if enough[table.word] else None
            for pair, enough, prior in zip(pairs, tested, priors)
        ]

    differences = np.full((len(read.ids), len(pairs), 3), np.nan)
    chosen = np.flatnonzero(np.any(tested, axis=0)).tolist()
    for word, results in zip(chosen, read.run(chosen, find)):
        for place, result in enumerate(results):
            if result is not None:
                differences[word, place] = result
    names = text.fitted.rows.vocabularies[text.language].words
    frames = []
    for place, (one, two) in enumerate(pairs):
        frame: dict[str, Any] = {"word": [names[i] for i in read.ids], column: f"{labels[one]} – {labels[two]}"}
        frame |= _student_columns(differences[:, place], text.interval)
        frame |= {"n": counts[:, one] + counts[:, two], "clusters": clusters[:, one] + clusters[:, two]}
        frames.append(pd.DataFrame(frame))
    return frames


def student_p(differences: Floats) -> Floats:
    """(…) p of differences (…, 3), by Student's t."""
    return np.asarray(2 * stats.t.sf(abs(differences[..., 0] / differences[..., 1]), differences[..., 2]))


def _student_columns(differences: Floats, interval: float) -> dict[str, Any]:
    estimate, error, freedom = differences.T
    p = student_p(differences)
    width = stats.t.ppf(0.5 + interval / 2, freedom) * error
    ends = {"lower": estimate - width, "upper": estimate + width}
    return {"estimate": estimate, "se": error, **ends, "z": estimate / error, "p": p, "p_adjusted": adjust_p(p)}
