"""Where do words stand on a dimension of meaning, such as from poor to rich?

Vectors, words and the words at the two poles come in; a table of positions goes out. In each slice

    axis = u / ‖u‖,  u = mean of the first pole − mean of the second,  position = cosine of the word with the axis,

the vectors of the poles' words all at length one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from laplex.errors import InputError, quote
from laplex.questions.cosine import at_length_one, directions
from laplex.vectors import Vectors

Pole = str | Sequence[str]


def project(
    vectors: Vectors,
    words: str | Sequence[str],
    axis: tuple[Pole, Pole],
    *,
    language: str | None = None,
    where: Mapping[str, Any] | None = None,
) -> pd.DataFrame:
    """The position of each word, from −1 (the second pole) to 1 (the first), in each slice."""
    index = vectors.language(language)
    ids = vectors.ids(words, index)
    names = vectors.rows.vocabularies[index].words
    first, second = _poles(vectors, axis, index)
    frames = []
    for slice in vectors.chosen(where or {}):
        means = [directions(vectors, pole, index, slice).mean(0) for pole in (first, second)]
        position = directions(vectors, ids, index, slice) @ at_length_one(means[0] - means[1])
        frames.append(
            pd.DataFrame(
                {
                    "word": [names[i] for i in ids],
                    **dict(zip(vectors.columns, vectors.rows.slices.keys[slice])),
                    "position": np.clip(position, -1.0, 1.0),
                    "count": vectors.counts[index][slice, ids],
                }
            )
        )
    # sorted by their old numbers, all rows of a word stand together
    return pd.concat(frames).sort_index(kind="stable").reset_index(drop=True)


def _poles(vectors: Vectors, axis: tuple[Pole, Pole], language: int) -> tuple[list[int], list[int]]:
    if isinstance(axis, str) or len(axis) != 2:
        raise InputError('an axis has two poles: write axis=(["rich", "wealthy"], ["poor"])')
    if any(len(pole) == 0 for pole in axis):
        raise InputError("a pole of the axis is empty: name at least one word for each")
    first, second = (vectors.ids(pole, language) for pole in axis)
    if both := [vectors.rows.vocabularies[language].words[i] for i in first if i in second]:
        raise InputError(f"{quote(both)} is at both poles of the axis: it can be at one only")
    return first, second
