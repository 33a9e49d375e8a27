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

from laplex.errors import InputError, check_int, quote
from laplex.model.vectors import Vectors
from laplex.questions.contrast import Measure, ValuePair, matched_slices, most_distant, slice_distances
from laplex.questions.cosine import cosines, directions, nearest
from laplex.runtime.display import bar, say
from laplex.text.periods import in_order

WORDS_PER_BATCH = 64  # words whose neighbors are searched together
Path = Mapping[str, int]


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


def drift(
    vectors: Vectors,
    column: str,
    top: int = 15,
    *,
    words: str | Sequence[str] | None = None,
    measure: Measure = "euclidean",
    min_count: int = 0,
    steps: bool = False,
    k: int = 5,
    language: str | None = None,
    where: Mapping[str, Any] | None = None,
) -> pd.DataFrame:
    """The `top` words, or the given ones, by the distance from the first value of the column to the last."""
    top, min_count, k = check_int("top", top), check_int("min_count", min_count, 0), check_int("k", k)
    ordered_column(vectors, column)
    index = vectors.language(language)
    names = vectors.rows.vocabularies[index].words
    paths = _paths(vectors, column, where or {})
    first, *_, last = paths[0]
    ends = ValuePair(first, last, {}, [(path[first], path[last]) for path in paths])
    one, two = ends.counts(vectors, index)
    ids = None if words is None else vectors.ids(words, index)
    distances = ends.distances(vectors, index, ids, measure)
    if ids is None:
        least = max(min_count, 1)
        shown = most_distant(distances, names, top, (one >= least) & (two >= least))
        moved = dict(zip(shown, distances[shown].tolist()))
    else:
        moved = dict(zip(ids, distances.tolist()))
        moved = {i: moved[i] for i in ids if one[i] >= min_count and two[i] >= min_count}
        moved = dict(sorted(moved.items(), key=lambda item: (np.isnan(item[1]), -item[1], names[item[0]])))
    if steps:
        return _steps(vectors, index, list(moved), paths, measure)
    return _overview(vectors, index, moved, paths, ends, measure, k)


def _paths(vectors: Vectors, column: str, where: Mapping[str, Any]) -> list[dict[str, int]]:
    """The slices along the column, for each combination of other values that has both its ends."""
    matched = matched_slices(vectors, column, where)
    values = in_order({value for slices in matched for value in slices})
    paths = [slices for slices in matched if values[0] in slices and values[-1] in slices]
    if not paths:
        others = quote(f"{name}=" for name in vectors.columns if name != column)
        raise InputError(
            f'no slices that agree in all else have both the first and the last value of "{column}", '
            f"{values[0]} and {values[-1]}: choose some by {others}"
        )
    if incomplete := len(matched) - len(paths):
        say(f"{incomplete} of {len(matched)} paths lack {values[0]} or {values[-1]} and are left out")
    return paths


def _overview(
    vectors: Vectors,
    language: int,
    moved: Mapping[int, float],
    paths: Sequence[Path],
    ends: ValuePair,
    measure: Measure,
    k: int,
) -> pd.DataFrame:
    """One row for each word: its distance, the length of its path, and its neighbors at both ends."""
    ids = list(moved)
    lengths = [
        np.sum(
            [slice_distances(vectors, language, ids, one, two, measure) for one, two in pairwise(path.values())], axis=0
        )
        for path in paths
    ]
    visited = [slice for path in paths for slice in path.values()]
    sides = [[pair[side] for pair in ends.slices] for side in (0, 1)]
    with bar("neighbors") as progress:
        before, after = (_neighbor_lists(vectors, language, ids, slices, k, progress.update) for slices in sides)
    return pd.DataFrame(
        {
            "word": [vectors.rows.vocabularies[language].words[i] for i in ids],
            "from": ends.first,
            "to": ends.second,
            "distance": np.array(list(moved.values()), np.float64),
            "path": np.mean(lengths, axis=0),
            "count": vectors.counts[language][np.ix_(visited, ids)].sum(0),
            "before": before,
            "after": after,
        }
    )


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
        step = ValuePair(one, two, {}, slices[one, two])
        before, after = step.counts(vectors, language)
        frames.append(
            pd.DataFrame(
                {
                    "word": [vectors.rows.vocabularies[language].words[i] for i in ids],
                    "from": one,
                    "to": two,
                    "distance": step.distances(vectors, language, ids, measure),
                    "count": (before + after)[list(ids)],
                }
            )
        )
    # sorted by the row numbers within frames, all rows of a word are together
    return pd.concat(frames).sort_index(kind="stable").reset_index(drop=True)


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


def trajectory(
    vectors: Vectors,
    word: str,
    *,
    along: str | None = None,
    to: str | Sequence[str] | None = None,
    reference: Literal["first", "last"] = "first",
    k: int = 5,
    language: str | None = None,
    where: Mapping[str, Any] | None = None,
) -> pd.DataFrame:
    """The similarity of a word to itself in the first or last slice, or to other words in the same slice."""
    k = check_int("k", k)
    if reference not in ("first", "last"):
        raise InputError(f'reference="{reference}": write "first" or "last"')
    column = ordered_column(vectors, along)
    index = vectors.language(language)
    number = vectors.id(word, index)
    others = [number] if to is None else vectors.ids(to, index)
    names = vectors.rows.vocabularies[index].words
    records = []
    paths = [list(path.values()) for path in matched_slices(vectors, column, where or {})]
    total = sum(map(len, paths))
    with bar("neighbors") as progress:
        for path in paths:
            start = path[0 if reference == "first" else -1]
            for slice in path:
                here = directions(vectors, [number], index, slice)
                near = ", ".join(names[i] for i in nearest(cosines(vectors, here, index, slice)[0], k, [number]))
                for other in others:
                    there = directions(vectors, [other], index, start if other == number else slice)
                    records.append(
                        {
                            "word": word,
                            **dict(zip(vectors.columns, vectors.rows.slices.keys[slice])),
                            "to": names[other],
                            "similarity": float(np.clip(here[0] @ there[0], -1.0, 1.0)),
                            "count": int(vectors.counts[index][slice, number]),
                            "neighbors": near,
                        }
                    )
                progress.update(len(records) / len(others) / total)
    table = pd.DataFrame(records)
    return pd.concat([table[table["to"] == names[other]] for other in others]).reset_index(drop=True)
