"""Change along an ordered column: the words that moved most, and the trajectory of one word.

A path is a set of slices that agree in all other columns, in the order of the column. Distances are means over the
paths that have both the first and the last value; a value that a path lacks is stepped over, as a Chain does.
V words, n ids.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from laplex.errors import InputError, check_int, explain_keywords, quote
from laplex.model.vectors import Vectors
from laplex.questions.answers import Answers, Rank, in_order_of_words, is_inference, slice_values, tested_words
from laplex.questions.contrast import Comparison, Measure, check_plain_distance, matched_slices, slice_distances
from laplex.questions.cosine import cosines, directions, nearest, slices_with, used
from laplex.questions.positions import MIN_USES
from laplex.runtime.display import bar, say
from laplex.text.periods import in_order
from laplex.text.tokens import Tokens

WORDS_PER_BATCH = 64  # words whose neighbors are searched together
Path = Mapping[str, int]


class Changes(Answers):
    """Questions about change along an ordered column."""

    @explain_keywords
    def drift(
        self,
        column: str,
        top: int = 15,
        *,
        words: str | Sequence[str] | None = None,
        measure: Measure = "euclidean",
        min_count: int | None = None,
        steps: bool = False,
        k: int = 5,
        rank: Rank = "distance",
        interval: float | None = None,
        cluster: str | None = None,
        min_clusters: int | None = None,
        tokens: Tokens | None = None,
        language: str | None = None,
        at: Mapping[str, Any] | None = None,
    ) -> pd.DataFrame:
        """The words that moved most from the first value of an ordered column to the last.

        Distances are means over the other slices that have both the first and the last value. With `interval`,
        `cluster` or `rank="evidence"` it tests a linear trend: how far it leads from the first value to the last,
        corrected for noise, with an interval and a test as in `contrast`.

        Args:
            column: A column with an order: numbers, periods of time, or one that has a Chain.
            top: The number of words.
            words: A word, or several, to look at instead of the top ones.
            measure: The distance, "euclidean" or "cosine".
            min_count: How often a word must occur at the first and at the last value; 100 for tests, if not given.
            steps: Return every step from one value to the next.
            k: The number of neighbors to list at both ends.
            rank: Order words by "distance", or by the "evidence" for a trend.
            interval: The share of other samples, such as 0.9, in which the interval holds the result.
            cluster: The column that says whose text it is; without it, documents are what was sampled.
            min_clusters: With an interval: the number of clusters that must use a word.
            tokens: The text, if that of the model has moved.
            language: The language, if there are several.
            at: Values of other columns that the vectors vary by; without any, all slices.

        Returns:
            Word, from, to, distance, "path" (the length of all steps), count in all these slices, and the neighbors
            before and after; for tests estimate, interval, p and p_adjusted.

        Example:
            fitted.drift("period", top=15, min_count=50, at={"party": "D"})
            fitted.drift("period", interval=0.9, rank="evidence")
        """
        if is_inference(interval, cluster, rank == "evidence"):
            check_plain_distance(measure, steps)
            options = tested_words(top, words, rank, min_count)
            options |= {"cluster": cluster, "min_clusters": min_clusters, "tokens": tokens, "language": language}
            return self._infer("drift", interval, column, at=at, **options)
        top, min_count, k = check_int("top", top), check_int("min_count", min_count or 0, 0), check_int("k", k)
        ordered_column(self, column)
        index = self.language(language)
        paths = _paths(self, column, at)
        first, *_, last = paths[0]
        ends = Comparison(self, index, measure, [(path[first], path[last]) for path in paths])
        given = None if words is None else self.ids(words, index)
        ids, distances = ends.most_distant(given, top, min_count)
        if steps:
            return _steps(self, index, ids, paths, measure)
        visited = [place for path in paths for place in path.values()]
        with bar("neighbors") as progress:
            before, after = (_neighbor_lists(self, index, ids, side, k, progress.update) for side in zip(*ends.slices))
        return pd.DataFrame(
            {
                "word": [self.rows.vocabularies[index].words[i] for i in ids],
                "from": first,
                "to": last,
                "distance": distances,
                "path": np.mean([_length(self, index, ids, path, measure) for path in paths], axis=0),
                "count": self.counts[index][np.ix_(visited, ids)].sum(0),
                "before": before,
                "after": after,
            }
        )

    @explain_keywords
    def trajectory(
        self,
        word: str,
        *,
        along: str | None = None,
        to: str | Sequence[str] | None = None,
        reference: Literal["first", "last"] = "first",
        k: int = 5,
        language: str | None = None,
        at: Mapping[str, Any] | None = None,
    ) -> pd.DataFrame:
        """How similar a word is, along an ordered column, to what it was at first, and its neighbors.

        Slices without the word are left out, and the first or last one needs a few uses of it.

        Args:
            word: A word.
            along: The column; it may be left out if only one has an order.
            to: Other words to compare it with, in the same slice, instead of with itself.
            reference: Compare the word with itself at the "first" or at the "last" value that has a few uses of it.
            k: The number of neighbors to list.
            language: The language, if there are several.
            at: Values of other columns that the vectors vary by; without any, all slices.

        Returns:
            Word, slice, the word it is compared with, similarity, count and neighbors.

        Example:
            fitted.trajectory("health", to=["insurance", "security"], at={"party": "D"})
        """
        k = check_int("k", k)
        if reference not in ("first", "last"):
            raise InputError(f'reference="{reference}": write "first" or "last"')
        column = ordered_column(self, along)
        index = self.language(language)
        number = self.id(word, index)
        others = [number] if to is None else self.ids(to, index)
        names = self.rows.vocabularies[index].words
        records = []
        paths = paths_with(self, column, number, index, at)
        total = sum(map(len, paths))
        with bar("neighbors") as progress:
            for path in paths:
                start = reference_slice(self, number, index, path if reference == "first" else path[::-1])
                for place in path:
                    here = directions(self, [number], index, place)
                    near = ", ".join(names[i] for i in neighbors_in(self, number, index, place, k))
                    count = int(self.counts[index][place, number])
                    for other in others:
                        there = directions(self, [other], index, start if other == number else place)
                        similarity = float(np.clip(here[0] @ there[0], -1.0, 1.0))
                        found = {"to": names[other], "similarity": similarity, "count": count, "neighbors": near}
                        records.append({"word": word, **slice_values(self, place), **found})
                    progress.update(len(records) / len(others) / total)
        table = pd.DataFrame(records)
        return pd.concat([table[table["to"] == names[other]] for other in others]).reset_index(drop=True)


def paths_with(
    vectors: Vectors, column: str, word: int, language: int, at: Mapping[str, Any] | None
) -> list[list[int]]:
    """The slices along a column, for each combination of other values, in which a word is used."""
    paths = [list(path.values()) for path in matched_slices(vectors, column, at)]
    kept = {*slices_with(vectors, [word], language, [slice for path in paths for slice in path])}
    return [path for path in ([slice for slice in path if slice in kept] for path in paths) if path]


def reference_slice(vectors: Vectors, word: int, language: int, path: Sequence[int], min_uses: int = MIN_USES) -> int:
    """The first slice of a path with enough uses of a word; if there is none, that with most."""
    for slice in path:
        if (known := used(vectors, language, slice, min_uses)) is None or known[word]:
            return slice
    return max(path, key=lambda slice: int(vectors.counts[language][slice, word]))


def neighbors_in(vectors: Vectors, word: int, language: int, slice: int, k: int) -> list[int]:
    """The k words most similar to a word among those that are used in a slice."""
    here = directions(vectors, [word], language, slice)
    candidates = used(vectors, language, slice, MIN_USES)
    found: list[int] = nearest(cosines(vectors, here, language, slice)[0], k, [word], candidates).tolist()
    return found


def ordered_column(vectors: Vectors, column: str | None = None) -> str:
    """The given column, if it has an order; if none is given, the only column that has one."""
    known = [name for name in vectors.columns if vectors.ordered(name)]
    if column is None:
        if not known:
            varying = quote(vectors.columns) or "nothing"
            raise InputError(f"there is no time here: vectors vary by {varying}, and none of that has an order")
        if len(known) > 1:
            raise InputError(f"say along which column: along= one of {quote(known)}")
        return known[0]
    values = vectors.values(column)
    if column not in known:
        instead = f"; columns with an order: {quote(known)}" if known else ""
        raise InputError(
            f'"{column}" has no order: its values {quote(values, 4)} are not all numbers or all periods of time, '
            f"and the prior has no Chain on it{instead}"
        )
    return column


def _paths(vectors: Vectors, column: str, at: Mapping[str, Any] | None) -> list[dict[str, int]]:
    """The slices along the column, for each combination of other values that has both its ends."""
    matched = matched_slices(vectors, column, at)
    values = in_order({value for slices in matched for value in slices})
    paths = [slices for slices in matched if values[0] in slices and values[-1] in slices]
    if not paths:
        others = quote(f'"{name}"' for name in vectors.columns if name != column)
        raise InputError(
            f'no slices that agree in all else have both the first and the last value of "{column}", '
            f"{values[0]} and {values[-1]}: choose some by {others}"
        )
    if incomplete := len(matched) - len(paths):
        say(f"{incomplete} of {len(matched)} paths lack {values[0]} or {values[-1]} and are left out")
    return paths


def _length(vectors: Vectors, language: int, ids: Sequence[int], path: Path, measure: Measure) -> NDArray[np.float64]:
    """(n) The sum of the distances of words over all steps of a path."""
    steps = [slice_distances(vectors, language, ids, one, two, measure) for one, two in pairwise(path.values())]
    return np.asarray(np.sum(steps, axis=0))


def _steps(
    vectors: Vectors, language: int, ids: Sequence[int], paths: Sequence[Path], measure: Measure
) -> pd.DataFrame:
    """One row for each word and each step of a path, in order."""
    slices: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for path in paths:
        for (one, first), (two, second) in pairwise(path.items()):
            slices.setdefault((one, two), []).append((first, second))
    values = in_order({value for step in slices for value in step})
    frames = []
    for one, two in sorted(slices, key=lambda step: [values.index(value) for value in step]):
        step = Comparison(vectors, language, measure, slices[one, two])
        table = step.table(ids, step.distances(ids), {"from": one, "to": two})
        frames.append(table.assign(count=table["count_one"] + table["count_two"]))
    return in_order_of_words(frames)[["word", "from", "to", "distance", "count"]]


def _neighbor_lists(
    vectors: Vectors,
    language: int,
    ids: Sequence[int],
    slices: Sequence[int],
    k: int,
    update: Callable[[float, str], None],
) -> list[str]:
    """The nearest words of each word, by the mean of its similarities in several slices, as text."""
    names = vectors.rows.vocabularies[language].words
    lists = []
    for start in range(0, len(ids), WORDS_PER_BATCH):
        batch = ids[start : start + WORDS_PER_BATCH]
        total = np.zeros((len(batch), len(names)), np.float32)
        for slice in slices:
            total += cosines(vectors, directions(vectors, batch, language, slice), language, slice)
        for word, similarity in zip(batch, total):
            lists.append(", ".join(names[i] for i in nearest(similarity, k, [word])))
        update(len(lists) / len(ids), f"{len(lists):,} of {len(ids):,} words")
    return lists
