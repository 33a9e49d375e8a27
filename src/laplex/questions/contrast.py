"""Which words differ most between the values of a column? (The paper's Tables 2 to 4.)

Vectors and a column come in; a table of words with their distances goes out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from laplex.errors import whole
from laplex.progress import bar
from laplex.questions.pairing import Measure, farthest, pairings
from laplex.vectors import Vectors


def contrast(
    vectors: Vectors,
    column: str,
    top: int = 15,
    *,
    words: str | Sequence[str] | None = None,
    values: Sequence[Any] | None = None,
    measure: Measure = "euclidean",
    min_count: int = 0,
    each: bool = False,
    language: str | None = None,
    where: Mapping[str, Any] | None = None,
) -> pd.DataFrame:
    """For each pair of values, or of those named, the `top` words, or the given ones, by the distance of their vectors.

    A word that is not asked for by name must occur at both values, a named one only if `min_count` says so.
    """
    top, min_count = whole("top", top), whole("min_count", min_count, 0)
    index = vectors.language(language)
    names = vectors.rows.vocabularies[index].words
    ids = None if words is None else vectors.ids(words, index)
    others = [name for name in vectors.columns if name != column] if each else []
    asked = pairings(vectors, column, others, where, values)
    frames = []
    with bar("comparing") as progress:
        for number, pairing in enumerate(asked):
            distance = np.full(len(names), np.nan)
            distance[slice(None) if ids is None else ids] = pairing.gap(vectors, index, ids, measure)
            one, two = pairing.counts(vectors, index)
            if ids is None:
                least = max(min_count, 1)
                chosen = farthest(distance, names, top, (one >= least) & (two >= least))
            else:
                chosen = [i for i in ids if one[i] >= min_count and two[i] >= min_count]
            frames.append(
                pd.DataFrame(
                    {
                        "word": [names[i] for i in chosen],
                        column: pairing.name,
                        **pairing.apart,
                        "distance": distance[chosen],
                        "count_one": one[chosen],
                        "count_two": two[chosen],
                    }
                )
            )
            progress.update((number + 1) / len(asked), f"{column}: {pairing.name}")
    found = pd.concat([frame for frame in frames if len(frame)] or frames[:1])
    return found.sort_values(["distance", "word"], ascending=[False, True], kind="stable").reset_index(drop=True)
