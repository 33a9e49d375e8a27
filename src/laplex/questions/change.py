"""Change along an ordered column: the words that moved most, and the trajectory of one word.

A path is a set of slices that agree in all other columns, in the order of the column. Distances are means over the
paths that have both the first and the last value; a value that a path lacks is stepped over, as a Chain does.
V words, n ids.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from laplex.errors import InputError, check_int, explain_keywords, quote
from laplex.model.vectors import Vectors
from laplex.questions.answers import Answers, slice_values
from laplex.questions.contrast import SlicePairs, matched_slices, slice_distances
from laplex.questions.cosine import cosines, directions, nearest
from laplex.runtime.display import bar, say
from laplex.text.periods import in_order

Path = Mapping[str, int]


class Changes(Answers):
    """Questions about change along an ordered column."""

    @explain_keywords
    def drift(
        self,
        column: str,
        words: str | Sequence[str] | None = None,
        *,
        at: Mapping[str, Any] | None = None,
        test: bool = True,
    ) -> pd.DataFrame:
        """The words whose use changes along an ordered column: how far, how surely, and from what to what.

        What is tested is a line: how far the word moves in one direction from the first value to the last. It is
        straight in the numbers that the values are, in the middles of the periods that they name, or in their order.

        Args:
            column: A column with an order: numbers, periods of time, or one that has a Chain.
            words: A word, or several, instead of all that have enough text.
            at: Values of other columns, to which the text is restricted.
            test: False for the bare distances between the fitted vectors at the two ends.

        Returns:
            A row for each word, those that hold first, with the columns of `contrast`: "value" and "against" are the
            first and the last value, "estimate" how far the line leads from one to the other, and the sides of all
            other columns are its halves. Bare: word, value, against, distance, cosine, path (the length of all steps),
            and uses at either end; over slices of other columns that have both ends they are means.

        Example:
            fitted.drift("period").head(20)
            fitted.drift("period", ["war", "peace"], at={"party": "D"})
        """
        answer: pd.DataFrame = self.inference().drift(column, words, at=at, test=test)
        return answer

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
        """How similar a word is, along an ordered column, to what it was at the first value, and its neighbors.

        Args:
            word: A word.
            along: The column; it may be left out if only one has an order.
            to: Other words to compare it with, in the same slice, instead of with itself.
            reference: Compare the word with itself at the "first" or at the "last" value.
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
        paths = [list(path.values()) for path in matched_slices(self, column, at)]
        total = sum(map(len, paths))
        with bar("neighbors") as progress:
            for path in paths:
                start = path[0 if reference == "first" else -1]
                for place in path:
                    here = directions(self, [number], index, place)
                    near = ", ".join(names[i] for i in nearest(cosines(self, here, index, place)[0], k, [number]))
                    count = int(self.counts[index][place, number])
                    for other in others:
                        there = directions(self, [other], index, start if other == number else place)
                        similarity = float(np.clip(here[0] @ there[0], -1.0, 1.0))
                        found = {"to": names[other], "similarity": similarity, "count": count, "neighbors": near}
                        records.append({"word": word, **slice_values(self, place), **found})
                    progress.update(len(records) / len(others) / total)
        table = pd.DataFrame(records)
        return pd.concat([table[table["to"] == names[other]] for other in others]).reset_index(drop=True)


def distances_along(
    vectors: Vectors, language: int, column: str, ids: Sequence[int] | None, at: Mapping[str, Any]
) -> pd.DataFrame:
    """The bare distances of words, or of all used at both ends, from the first value of a column to the last."""
    ordered_column(vectors, column)
    paths = _paths(vectors, column, at)
    first, *_, last = paths[0]
    ends = SlicePairs(vectors, language, [(path[first], path[last]) for path in paths])
    ids = ends.used() if ids is None else ids
    table = ends.table(ids, {}, (first, last))
    table.insert(5, "path", np.mean([_length(vectors, language, ids, path) for path in paths], axis=0))
    return table


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


def _length(vectors: Vectors, language: int, ids: Sequence[int], path: Path) -> NDArray[np.float64]:
    """(n) The sum of the distances of words over all steps of a path."""
    steps = [slice_distances(vectors, language, ids, one, two, "euclidean") for one, two in pairwise(path.values())]
    return np.asarray(np.sum(steps, axis=0))
