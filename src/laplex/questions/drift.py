"""Which words moved most along an ordered column, and from what to what?

Vectors and a column come in; a table of words goes out, or of their steps. A path is that of the slices which agree
in all other columns; distances are means over the paths that have both the first and the last value. A value that a
path lacks is stepped over, as a Chain does. V words, n ids.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from laplex.corpus import in_order
from laplex.errors import InputError, quote, whole
from laplex.progress import bar, say
from laplex.questions.cosine import cosines, directions, nearest
from laplex.questions.order import ordered_column
from laplex.questions.pairing import Measure, Pairing, between, cells_of, farthest
from laplex.vectors import Vectors

BATCH = 64  # words whose neighbors are looked up at once


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
    top, min_count, k = whole("top", top), whole("min_count", min_count, 0), whole("k", k)
    ordered_column(vectors, column)
    index = vectors.language(language)
    names = vectors.rows.vocabularies[index].words
    paths = _paths(vectors, column, where or {})
    ends = _ends(paths)
    one, two = ends.counts(vectors, index)
    ids = None if words is None else vectors.ids(words, index)
    distance = ends.gap(vectors, index, ids, measure)
    if ids is None:
        least = max(min_count, 1)
        chosen = farthest(distance, names, top, (one >= least) & (two >= least))
        moved = dict(zip(chosen, distance[chosen].tolist()))
    else:
        moved = dict(zip(ids, distance.tolist()))
        moved = {i: moved[i] for i in ids if one[i] >= min_count and two[i] >= min_count}
        moved = dict(sorted(moved.items(), key=lambda item: (np.isnan(item[1]), -item[1], names[item[0]])))
    if steps:
        return _steps(vectors, index, list(moved), paths, measure)
    return _whole(vectors, index, moved, paths, ends, measure, k)


def _paths(vectors: Vectors, column: str, where: Mapping[str, Any]) -> list[dict[str, int]]:
    cells = cells_of(vectors, column, where)
    values = in_order({value for cell in cells for value in cell})
    paths = [cell for cell in cells if values[0] in cell and values[-1] in cell]
    if not paths:
        others = quote(f"{name}=" for name in vectors.columns if name != column)
        raise InputError(
            f'no slices that agree in all else have both the first and the last value of "{column}", '
            f"{values[0]} and {values[-1]}: choose some by {others}"
        )
    if lost := len(cells) - len(paths):
        say(f"{lost} of {len(cells)} paths lack {values[0]} or {values[-1]} and are left out")
    return paths


def _ends(paths: Sequence[Mapping[str, int]]) -> Pairing:
    first, *_, last = paths[0]
    return Pairing(first, last, {}, [(path[first], path[last]) for path in paths])


def _whole(
    vectors: Vectors,
    language: int,
    moved: Mapping[int, float],
    paths: Sequence[Mapping[str, int]],
    ends: Pairing,
    measure: Measure,
    k: int,
) -> pd.DataFrame:
    ids = list(moved)
    lengths = [
        np.sum([between(vectors, language, ids, one, two, measure) for one, two in pairwise(path.values())], axis=0)
        for path in paths
    ]
    met = [slice for path in paths for slice in path.values()]
    sides = [[pair[side] for pair in ends.slices] for side in (0, 1)]
    with bar("neighbors") as progress:
        around = [_around(vectors, language, ids, slices, k, progress.update) for slices in sides]
    return pd.DataFrame(
        {
            "word": [vectors.rows.vocabularies[language].words[i] for i in ids],
            "from": ends.one,
            "to": ends.two,
            "distance": np.array(list(moved.values()), np.float64),
            "path": np.mean(lengths, axis=0),
            "count": vectors.counts[language][np.ix_(met, ids)].sum(0),
            "before": around[0],
            "after": around[1],
        }
    )


def _steps(
    vectors: Vectors, language: int, ids: Sequence[int], paths: Sequence[Mapping[str, int]], measure: Measure
) -> pd.DataFrame:
    """One row for each word and each step that some path takes, in order."""
    taken: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for path in paths:
        for (one, first), (two, second) in pairwise(path.items()):
            taken.setdefault((one, two), []).append((first, second))
    values = in_order({value for step in taken for value in step})
    frames = []
    for one, two in sorted(taken, key=lambda step: [values.index(value) for value in step]):
        step = Pairing(one, two, {}, taken[one, two])
        before, after = step.counts(vectors, language)
        frames.append(
            pd.DataFrame(
                {
                    "word": [vectors.rows.vocabularies[language].words[i] for i in ids],
                    "from": one,
                    "to": two,
                    "distance": step.gap(vectors, language, ids, measure),
                    "count": (before + after)[list(ids)],
                }
            )
        )
    # sorted by their old numbers, all rows of a word stand together
    return pd.concat(frames).sort_index(kind="stable").reset_index(drop=True)


def _around(
    vectors: Vectors, language: int, ids: Sequence[int], slices: Sequence[int], k: int, update: Any
) -> list[str]:
    """The nearest words of each word, by the mean of the similarities in some slices, as text."""
    names = vectors.rows.vocabularies[language].words
    found = []
    for start in range(0, len(ids), BATCH):
        batch = ids[start : start + BATCH]
        total = np.zeros((len(batch), len(names)), np.float32)
        for slice in slices:
            total += cosines(vectors, directions(vectors, batch, language, slice), language, slice)
        for word, similarity in zip(batch, total):
            found.append(", ".join(names[i] for i in nearest(similarity, k, [word])))
        update(len(found) / len(ids), f"{len(found):,} of {len(ids):,} words")
    return found
