"""Where do words stand on a dimension of meaning, would they stand there in another sample, and do groups differ?

A fitted model, words and the two poles of an axis come in; a table goes out. Without `across`, it is that of
`questions.project` with intervals (`sampling.py`). With `across`, it has the difference between two values of a column
along the axis a, as a step from the pooled fit with the background of each value taken out (see `evidence.py`):

    estimate = a·d = x·u,   x = (f(1−f) A + q)⁻¹ a,   variance = Σ_c y_c²,   ν = 3 (Σ y_c²)² / Σ y_c⁴

Without cluster c the estimate loses y_c. Few large clusters make the variance itself uncertain: p and the interval are
those of Student's t with ν degrees of freedom (Satterthwaite's). m rows of a table, D dimensions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from laplex.embeddings import Embeddings
from laplex.posterior.charge import charge
from laplex.posterior.pooled import check_pooled, ridge_of
from laplex.posterior.pooled import pooled as fit_pooled
from laplex.posterior.spread import Spread, columns_of
from laplex.posterior.tables import Floats, Pass, Table
from laplex.posterior.units import gather, warn_of_speakers
from laplex.questions import projection as plain
from laplex.questions.cosine import at_length_one, directions
from laplex.questions.projection import Pole
from laplex.tokens import Tokens


class Difference(NamedTuple):
    """Along an axis; the degrees of freedom are those of clusters so unequal as these."""

    estimate: float
    error: float
    freedom: float


NOTHING = Difference(float("nan"), float("nan"), float("nan"))


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
    """Positions of words on an axis, or with `across` how far two values of a column are apart along it.

    "position" is that of the fitted vectors in each slice. Noise draws it towards zero: "estimate" is what it would be
    without, at the maximum of the log posterior, and what "se", "lower" and "upper" are about. They say how it would
    come out with other clusters of the same kind, given the contexts and the axis: that these would be others as well
    is not in them.

    With `across`, "estimate" is the difference of the word's vectors along the axis, which a word that is only more
    frequent at one value does not have; "p_adjusted" is p after Benjamini and Hochberg over the words. Contexts and
    axis are those of `pooled`, which knows no labels.

    Words with less than `min_count` occurrences or `min_clusters` clusters (documents, without `cluster`), in the
    slice or at each of the two values, are listed with their counts alone.

        project(fitted, "tax", ("good", "bad"), cluster="senator")
        project(fitted, ["tax", "war"], ("good", "bad"), across="party", cluster="senator")
    """
    text = Spread(fitted, cluster, interval, min_clusters, min_count, tokens, language, seed, threads, quiet)
    if cluster is None:
        for column in fitted.columns if across is None else [across]:
            warn_of_speakers(text.tokens, column)
    if across is None:
        return _positions(text, words, axis, where)
    units = gather(text.tokens, across, cluster, text.language, where)
    ids = fitted.ids(words, text.language)
    plain.project(fitted, words, axis, language=language)  # which complains of poles that are none
    if pooled is None:
        pooled = fit_pooled(fitted, text.tokens, threads=threads, quiet=quiet)
    free = check_pooled(pooled, fitted)
    way = _direction(free, axis, text.language, 0)
    read = Pass(text.tokens, units, free, ids, text.language, seed=seed, threads=threads, quiet=quiet)
    pairs = list(combinations(np.unique(units.label).tolist(), 2))
    frames = _differences(text, read, way, across, pairs, where)
    # sorted by their old numbers, all rows of a word stand together
    return pd.concat(frames).sort_index(kind="stable").reset_index(drop=True)


def _direction(vectors: Embeddings, axis: tuple[Pole, Pole], language: int, slice: int) -> Floats:
    """(D) The axis in a slice, of length one."""
    means = [directions(vectors, vectors.ids(pole, language), language, slice).mean(0) for pole in axis]
    return np.asarray(at_length_one(means[0] - means[1]), np.float64)


def _positions(
    text: Spread, words: str | Sequence[str], axis: tuple[Pole, Pole], where: Mapping[str, Any]
) -> pd.DataFrame:
    fitted, language = text.fitted, text.language
    found = plain.project(fitted, words, axis, language=fitted.languages[language] or None, where=where)
    ids, slices = fitted.ids(words, language), fitted.chosen(where)
    text.read(ids)
    ways = [_direction(fitted, axis, language, slice) for slice in slices]
    rows = [text.against(word, way, slice) for word in ids for way, slice in zip(ways, slices)]
    return found.assign(**columns_of(rows))


def _differences(
    text: Spread, read: Pass, way: Floats, column: str, pairs: Sequence[tuple[int, int]], where: Mapping[str, Any]
) -> list[pd.DataFrame]:
    """A table for each pair of labels."""
    counts, clusters = read.counts()
    min_count, min_clusters = text.least
    labels, size = read.units.labels, len(read.ids)
    ridge = ridge_of(text.fitted.settings) / 2
    tested, priors = [], []
    for one, two in pairs:
        enough = np.minimum(clusters[:, one], clusters[:, two]) >= min_clusters
        tested.append(enough & (counts[:, one] + counts[:, two] >= min_count))
        prior = charge(text.fitted, column, {labels[one]: 0.5, labels[two]: -0.5}, text.language, where)
        priors.append(np.maximum(prior[read.ids], ridge))

    def ask(table: Table) -> list[Difference]:
        return [
            difference(table, one, two, way, float(prior[table.word])) if enough[table.word] else NOTHING
            for (one, two), enough, prior in zip(pairs, tested, priors)
        ]

    found = np.full((size, len(pairs), 3), np.nan)
    chosen = np.flatnonzero(np.any(tested, axis=0)).tolist()
    for word, answers in zip(chosen, read.run(chosen, ask)):
        found[word] = answers
    names = text.fitted.rows.vocabularies[text.language].words
    frames = []
    for place, (one, two) in enumerate(pairs):
        frame: dict[str, Any] = {"word": [names[i] for i in read.ids], column: f"{labels[one]} – {labels[two]}"}
        frame |= _tested(found[:, place], text.interval)
        frame |= {"n": counts[:, one] + counts[:, two], "clusters": clusters[:, one] + clusters[:, two]}
        frames.append(pd.DataFrame(frame))
    return frames


def difference(table: Table, one: int, two: int, way: Floats, prior: float) -> Difference:
    """The difference of a word's vectors between two labels along a direction."""
    sides = [table.label == label for label in (one, two)]
    taus = [float(table.tau[side].sum()) for side in sides]
    if not min(*taus, *(table.weight[side].sum() for side in sides)) > 0:
        return NOTHING
    f, share = taus[0] / sum(taus), sum(taus) / float(table.tau.sum())
    inverse = f * (1 - f) * share * table.curvature + prior * np.eye(len(way))
    x = np.linalg.solve(inverse, way)
    here, around = table.here @ x, table.around @ x
    estimate, losses = 0.0, np.zeros(len(here))
    for side, a in zip(sides, (1 - f, -f)):
        s, b, tau, weight = here[side], around[side], table.tau[side], table.weight[side]
        ratio = tau.sum() / weight.sum()
        others = (b.sum() - b) / np.maximum(weight.sum() - weight, 1e-300)
        e = (s - tau * others) - ratio * (b - weight * others)
        part = tau / tau.sum()
        # what the others of the group do not predict of a cluster
        losses[side] = a * (e - part * e.sum()) / np.maximum(1 - part, 0.05)
        estimate += a * (s.sum() - ratio * b.sum())
    _, cluster = np.unique(table.cluster, return_inverse=True)
    squares = np.bincount(cluster, losses) ** 2
    freedom = 3 * squares.sum() ** 2 / max(float((squares**2).sum()), 1e-300)
    return Difference(float(estimate), float(np.sqrt(squares.sum())), float(freedom))


def p_value(found: Floats) -> Floats:
    """(…) p of differences (…, 3), from Student's t."""
    p: Floats = 2 * stats.t.sf(abs(found[..., 0] / found[..., 1]), found[..., 2])
    return p


def _tested(found: Floats, interval: float) -> dict[str, Any]:
    estimate, error, freedom = found.T
    p = p_value(found)
    adjusted = np.full(len(p), np.nan)
    known = np.isfinite(p)
    if known.any():
        adjusted[known] = stats.false_discovery_control(p[known])
    width = stats.t.ppf(0.5 + interval / 2, freedom) * error
    ends = {"lower": estimate - width, "upper": estimate + width}
    return {"estimate": estimate, "se": error, **ends, "z": estimate / error, "p": p, "p_adjusted": adjusted}
