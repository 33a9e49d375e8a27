"""A map of the whole vocabulary: where each word lies, where it moves between slices, and what its regions are called.

One layout of the mean directions of words is the frame of everything. A word in a slice moves from there by as much as
its nearest words lie elsewhere: by the difference between the middle of the words that are nearest to its vector in the
slice, and the middle of those that are nearest to its mean. The middle is the geometric median, which is among the
majority if neighbors are in several regions.

V words, D dimensions, S slices, n moved words, k neighbors.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.vq import kmeans2

from laplex.errors import StorageError
from laplex.model.vectors import Vectors
from laplex.questions.answers import MIN_USES
from laplex.questions.cosine import directions, nearest, normalize, search
from laplex.questions.layout import neighbor_layout
from laplex.questions.positions import Pole, check_poles
from laplex.runtime import storage
from laplex.text.tokens import cache_folder

KIND, VERSION = "map", 1  # of what is kept in the cache
MOVED_WORDS, CANDIDATES = 5_000, 10_000  # the most frequent words: that are moved, and that say where to
NEIGHBORS = 10
MEDIAN_STEPS = 12
SHARE_OF_REACH = 0.05  # of the map's width: how far a word has to move to lose its place beside its neighbors
LEVELS = (10, 40, 160)  # regions, if there are enough words
WORDS_PER_REGION = 12  # at least, on average
WORDS_IN_NAME = 3
Floats = NDArray[np.float32]
Report = Callable[[float], None]


@dataclass(frozen=True)
class Region:
    """A part of the map, with the words of its name and the place of its middle."""

    level: int
    words: list[int]
    place: tuple[float, float]


def mean_directions(vectors: Vectors, language: int, slices: Sequence[int]) -> Floats:
    """(V, D) The mean direction of each word over slices, weighted by its uses; zero if it has none."""
    counts = np.asarray(vectors.counts[language])[list(slices)]
    if not counts.any():  # vectors that came without counts
        counts = np.ones_like(counts)
    total = np.zeros((counts.shape[1], vectors.dimensions), np.float32)
    for slice, uses in zip(slices, counts):
        ids = np.flatnonzero(uses)
        unit = np.nan_to_num(directions(vectors, ids.tolist(), language, slice))
        total[ids] += unit * uses[ids, None].astype(np.float32)
    mean: Floats = np.nan_to_num(normalize(total))
    return mean


def word_points(vectors: Vectors, language: int, report: Report = lambda share: None) -> Floats:
    """(V, 2) Where the words of a language lie; computed once and kept in the cache.

    Args:
        vectors: Fitted or loaded vectors.
        language: The number of the language.
        report: Called with the share of the work that is done, 0 to 1. It may raise to stop.

    Returns:
        The points, in the order of the vocabulary.

    Example:
        word_points(fitted, 0)
    """
    means = mean_directions(vectors, language, range(len(vectors.rows.slices)))
    return _kept("points", [means], lambda: neighbor_layout(means, report).astype(np.float32))


def moved_points(
    vectors: Vectors, language: int, points: Floats, column: str, report: Report = lambda share: None
) -> tuple[NDArray[np.int64], Floats]:
    """Where the most frequent words lie at each value of a column; computed once and kept in the cache.

    Args:
        vectors: Fitted or loaded vectors.
        language: The number of the language.
        points: (V, 2) Those of `word_points`.
        column: A column that vectors vary by. Slices that differ in other columns are taken together.
        report: Called with the share of the work that is done, 0 to 1. It may raise to stop.

    Returns:
        The ids of the words (n), and their points at each value (values, n, 2); a word with fewer than five uses at a
        value stays in its place.

    Example:
        moved_points(fitted, 0, points, "period")
    """
    every = mean_directions(vectors, language, range(len(vectors.rows.slices)))
    total = np.asarray(vectors.counts[language]).sum(0)
    frequent = np.argsort(-total, kind="stable")
    ids = np.asarray(frequent[:MOVED_WORDS], np.int64)
    groups = [vectors.chosen({column: value}) for value in vectors.values(column)]
    means = [mean_directions(vectors, language, slices)[ids] for slices in groups]

    def compute() -> Floats:
        known = frequent[:CANDIDATES]
        candidates, places = np.ascontiguousarray(every[known]), points[known].astype(np.float64)
        middles = []
        for done, queries in enumerate([every[ids], *means]):
            # the candidates begin with the moved words, in the same order
            near, _ = search(queries, candidates, min(NEIGHBORS, len(known) - 1), exclude=np.arange(len(ids))[:, None])
            middles.append(geometric_median(places[near]))
            report((done + 1) / (len(means) + 1))
        steps = np.stack(middles[1:]) - middles[0]
        steps[uses_by_value(vectors, language, column)[:, ids] < MIN_USES] = 0.0
        # a word that stays among its neighbors stays where it is; one that leaves them arrives in the middle of others
        reach = SHARE_OF_REACH * float(np.ptp(points, axis=0).max())
        home = np.exp(-np.linalg.norm(steps, axis=2, keepdims=True) / max(reach, 1e-9))
        return np.asarray(middles[0] + steps + home * (points[ids] - middles[0]), np.float32)

    return ids, _kept(f"moved {column}", [every, points, *means], compute)


def uses_by_value(vectors: Vectors, language: int, column: str) -> NDArray[np.int64]:
    """(values, V) How often each word occurs at each value of a column."""
    counts = np.asarray(vectors.counts[language])
    return np.stack([counts[vectors.chosen({column: value})].sum(0) for value in vectors.values(column)])


def geometric_median(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """(n, 2) The points with the least sum of distances to each of the sets (n, k, 2), by Weiszfeld's algorithm.

    >>> geometric_median(np.array([[[0.0, 0.0], [0.0, 0.1], [0.1, 0.0], [9.0, 9.0]]])).round(1)
    array([[0.1, 0.1]])
    """
    middle = np.asarray(points.mean(1))
    for _ in range(MEDIAN_STEPS):
        weights = 1.0 / np.maximum(np.linalg.norm(points - middle[:, None], axis=2, keepdims=True), 1e-3)
        middle = np.asarray((weights * points).sum(1) / weights.sum(1))
    return middle


def nearest_words(means: Floats, counts: NDArray[np.int64], word: int, k: int) -> tuple[NDArray[np.int64], Floats]:
    """The words whose directions are nearest to that of a word, among those that are used often enough.

    Args:
        means: (V, D) Those of `mean_directions`.
        counts: (V) How often words occur in these slices; if they are not known, all are zero.
        word: The id of the word.
        k: The number of neighbors.

    Returns:
        Their ids, nearest first, and their cosines.

    Example:
        nearest_words(mean_directions(fitted, 0, [0]), fitted.counts[0][0], 3, 10)
    """
    cosine = np.einsum("vd,d->v", means, means[word])
    ids = nearest(cosine, k, [word], counts >= MIN_USES if counts.any() else None)
    return ids, np.asarray(cosine[ids], np.float32)


def positions(vectors: Vectors, language: int, means: Floats, poles: tuple[Pole, Pole]) -> NDArray[np.float64]:
    """Where words stand between two poles by their mean directions, in standard deviations from the mean of all words.

    Args:
        vectors: Fitted or loaded vectors.
        language: The number of the language.
        means: (V, D) Those of `mean_directions`.
        poles: The words of either pole.

    Returns:
        The positions (V); those near the first pole are positive.

    Example:
        positions(fitted, 0, mean_directions(fitted, 0, [0, 1]), ("war", "peace"))
    """
    first, second = (means[ids].mean(0) for ids in check_poles(vectors, poles, language))
    cosine = np.einsum("vd,d->v", means, np.nan_to_num(normalize(first - second))).astype(np.float64)
    return np.asarray((cosine - cosine.mean()) / max(float(cosine.std()), 1e-12))


def regions(
    vectors: Vectors, language: int, points: Floats, allowed: NDArray[np.bool_], seed: int = 0
) -> tuple[NDArray[np.int64], list[Region]]:
    """Divide the map into regions at three levels, and name them by frequent words that are typical of them.

    Args:
        vectors: Fitted or loaded vectors.
        language: The number of the language.
        points: (V, 2) Those of `word_points`.
        allowed: (V) Which words may be in a name.
        seed: Of the first centers of k-means.

    Returns:
        The region of each word at the first level (V), and the regions of all levels.

    Example:
        regions(fitted, 0, points, np.ones(len(points), bool))
    """
    means = mean_directions(vectors, language, range(len(vectors.rows.slices)))
    counts = np.asarray(vectors.counts[language]).sum(0)
    sizes = sorted({max(1, min(size, len(points) // WORDS_PER_REGION)) for size in LEVELS})
    first, found = np.zeros(len(points), np.int64), []
    for level, size in enumerate(sizes):
        _, labels = kmeans2(points.astype(np.float64), size, minit="++", rng=np.random.default_rng(seed))
        first = labels.astype(np.int64) if level == 0 else first
        weights = np.sqrt(np.maximum(counts, 1))  # neither the most frequent words alone nor all alike
        centers = np.stack([weights[labels == label] @ means[labels == label] for label in range(size)])
        typical = np.einsum("vd,vd->v", means, np.nan_to_num(normalize(centers))[labels])
        scores = np.where(allowed, weights * np.maximum(typical, 0.0) ** 4, 0.0)
        for label in range(size):
            members = np.flatnonzero(labels == label)
            words = members[np.argsort(-scores[members], kind="stable")][:WORDS_IN_NAME]
            words = words[scores[words] > 0]
            if len(words):
                place = np.median(points[members], axis=0)
                found.append(Region(level, words.tolist(), (float(place[0]), float(place[1]))))
    return first, found


def _kept(name: str, made_from: Sequence[Floats], compute: Callable[[], Floats]) -> Floats:
    """What the cache has for these arrays; it is computed and kept if there is nothing, or if it is damaged."""
    hashed = hashlib.blake2b(f"{VERSION} {name}".encode(), digest_size=16)
    for array in made_from:
        hashed.update(np.ascontiguousarray(array).data)
    folder = cache_folder() / f"{KIND}-{hashed.hexdigest()}"
    with suppress(StorageError, KeyError):
        if storage.exists(folder):
            return np.asarray(storage.load(folder, KIND).arrays["points"], np.float32)
    points = compute()
    with suppress(StorageError):  # a cache that cannot be written is no reason to show nothing
        storage.save(folder, KIND, {"name": name}, {"points": points})
    return points
