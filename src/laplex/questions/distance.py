"""How far apart are the values of one column in the meaning of a word, along another column? (The paper's Figure 1.)

Vectors, words and the two columns come in; a table of distances goes out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from laplex.errors import InputError
from laplex.questions.pairing import Measure, pairings
from laplex.vectors import Vectors


def distance(
    vectors: Vectors,
    words: str | Sequence[str],
    across: str,
    along: str | None = None,
    *,
    measure: Measure = "euclidean",
    language: str | None = None,
    where: Mapping[str, Any] | None = None,
) -> pd.DataFrame:
    """The distance of each word between every two values of `across`, for each value of `along`, in order."""
    if along == across:
        raise InputError(f'across="{across}" and along="{along}" are the same column: choose two')
    if along is not None:
        vectors.values(along)  # complains if there is no such column
    index = vectors.language(language)
    ids = vectors.ids(words, index)
    names = vectors.rows.vocabularies[index].words
    frames = []
    for pairing in pairings(vectors, across, [] if along is None else [along], where):
        one, two = pairing.counts(vectors, index)
        frames.append(
            pd.DataFrame(
                {
                    "word": [names[i] for i in ids],
                    **pairing.apart,
                    across: pairing.name,
                    "distance": pairing.gap(vectors, index, ids, measure),
                    "count_one": one[ids],
                    "count_two": two[ids],
                }
            )
        )
    # sorted by their old numbers, all rows of a word stand together
    return pd.concat(frames).sort_index(kind="stable").reset_index(drop=True)
