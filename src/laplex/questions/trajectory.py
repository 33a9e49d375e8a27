"""How did one word change along an ordered column: against itself, against other words, and in its neighbors?

Vectors and a word come in; a table with one row for each slice and each word it is compared with goes out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd

from laplex.errors import InputError, whole
from laplex.progress import bar
from laplex.questions.cosine import cosines, directions, nearest
from laplex.questions.order import ordered_column
from laplex.questions.pairing import cells_of
from laplex.vectors import Vectors


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
    k = whole("k", k)
    if reference not in ("first", "last"):
        raise InputError(f'reference="{reference}": write "first" or "last"')
    column = ordered_column(vectors, along)
    index = vectors.language(language)
    own = vectors.id(word, index)
    others = [own] if to is None else vectors.ids(to, index)
    names = vectors.rows.vocabularies[index].words
    rows = []
    cells = [list(cell.values()) for cell in cells_of(vectors, column, where or {})]
    whole_way = sum(map(len, cells))
    with bar("neighbors") as progress:
        for slices in cells:
            start = slices[0 if reference == "first" else -1]
            for slice in slices:
                here = directions(vectors, [own], index, slice)
                around = ", ".join(names[i] for i in nearest(cosines(vectors, here, index, slice)[0], k, [own]))
                for other in others:
                    there = directions(vectors, [other], index, start if other == own else slice)
                    rows.append(
                        {
                            "word": word,
                            **dict(zip(vectors.columns, vectors.rows.slices.keys[slice])),
                            "to": names[other],
                            "similarity": float(np.clip(here[0] @ there[0], -1.0, 1.0)),
                            "count": int(vectors.counts[index][slice, own]),
                            "neighbors": around,
                        }
                    )
                progress.update(len(rows) / len(others) / whole_way)
    found = pd.DataFrame(rows)
    return pd.concat([found[found["to"] == names[other]] for other in others]).reset_index(drop=True)
