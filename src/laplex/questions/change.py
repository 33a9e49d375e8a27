"""Change along an ordered column: the words that moved most, and the trajectory of one word.

A path is a set of slices that agree in all other columns, in the order of the column. Distances are means over the
paths that have both the first and the last value; a value that a path lacks is stepped over, as a Chain does.
V words, n ids.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from laplex.errors import InputError, explain_keywords, quote
from laplex.model.vectors import Vectors
from laplex.questions.answers import MIN_USES, Answers, slice_values
from laplex.questions.contrast import SlicePairs, matched_slices, slice_distances
from laplex.questions.cosine import cosines, directions, nearest, slices_with, used
from laplex.runtime.display import bar, say
from laplex.text.periods import in_order

TRAJECTORY_NEIGHBORS = 5
Path = Mapping[str, int]


class Changes(Answers):
    """Questions about change along an ordered column."""

    @explain_keywords
    def drift(
        self,
        column: str,
        words: str | Sequence[str] | None = None,
        *,
        given: str | Sequence[str] | None = None,
        at: Mapping[str, Any] | None = None,
        test: bool = True,
    ) -> pd.DataFrame:
        """The words whose use changes along an ordered column: how far, how surely, and from what to what.

        What is tested is a line: how far the word moves in one direction from the first value to the last. It is
        straight in the numbers that the values are, in the middles of the periods that they name, or in their order.

        Args:
            column: A column with an order: numbers, periods of time, or one that has a Chain.
            words: A word, or several, instead of all that have enough text.
            given: Columns to compare like with like, as in `contrast`.
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
        answer: pd.DataFrame = self.inference().drift(column, words, given=given, at=at, test=test)
        return answer

    @explain_keywords
    def effect(
        self,
        word: str,
        along: str,
        *,
        given: str | Sequence[str] | None = None,
        at: Mapping[str, Any] | None = None,
    ) -> pd.DataFrame:
        """Where a word stands at each value of a number or time, on the line along which it moves most, with a band.

        The word's vectors follow a smooth curve. The line is found in one half of the units and used for the other, so
        that noise does not look like movement: of a word that does not move, all positions are near zero.

        Args:
            word: The word.
            along: A column of numbers or times of the text, which the vectors need not vary by.
            given: Columns to compare like with like, as in `contrast`.
            at: Values of other columns, to which the text is restricted.

        Returns:
            A row for each value (of more than 64 values, for each of 24 bins): word, the value, estimate (in the units
            of `contrast`, from the mean over the word's text, rising from the first value to the last), lower, upper,
            uses and units.

        Example:
            lx.plots.lines(fitted.effect("war", "year", given="party"))
        """
        answer: pd.DataFrame = self.inference().effect(word, along, given=given, at=at)
        return answer

    @explain_keywords
    def trajectory(
        self,
        word: str,
        *,
        along: str | None = None,
        to: str | Sequence[str] | None = None,
        language: str | None = None,
        at: Mapping[str, Any] | None = None,
        test: bool = True,
    ) -> pd.DataFrame:
        """How similar a word is, along an ordered column, to what it was at first, or to other words.

        Slices without the word are left out. What it was at first is its vector in the first slice with enough text.

        Args:
            word: A word.
            along: The column; it may be left out if only one has an order.
            to: Other words to compare it with, in the same slice, instead of with itself.
            language: The language, if there are several.
            at: Values of other columns that the vectors vary by; without any, all slices.
            test: False for the fitted vectors alone.

        Returns:
            Word, slice, the word it is compared with ("to"), similarity, estimate, lower and upper as in `neighbors`,
            uses, units and its five nearest neighbors there.

        Example:
            fitted.trajectory("health", to=["insurance", "security"], at={"party": "D"})
        """
        answer: pd.DataFrame = self.inference(language=language).trajectory(word, along=along, to=to, at=at, test=test)
        return answer


def similarity_along(
    vectors: Vectors,
    language: int,
    word: int,
    column: str,
    others: Sequence[int],
    at: Mapping[str, Any] | None,
    enough: Callable[[int], bool] | None = None,
) -> pd.DataFrame:
    """The similarity of a word, along a column, to other words, or to itself in the first slice with `enough` text.

    The columns "slice" and "reference" number the slices that are compared.
    """
    names = vectors.rows.vocabularies[language].words
    records = []
    paths = paths_with(vectors, column, word, language, at)
    total = sum(map(len, paths))
    with bar("neighbors") as progress:
        for path in paths:
            known = [place for place in path if enough is not None and enough(place)]
            start = known[0] if known else reference_slice(vectors, word, language, path)
            for place in path:
                here = directions(vectors, [word], language, place)
                near = ", ".join(names[i] for i in neighbors_in(vectors, word, language, place, TRAJECTORY_NEIGHBORS))
                uses = int(vectors.counts[language][place, word])
                for other in others:
                    reference = start if other == word else place
                    there = directions(vectors, [other], language, reference)
                    similarity = float(np.clip(here[0] @ there[0], -1.0, 1.0))
                    found = {"to": names[other], "similarity": similarity, "uses": uses, "neighbors": near}
                    found |= {"slice": place, "reference": reference}
                    records.append({"word": names[word], **slice_values(vectors, place), **found})
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


def _length(vectors: Vectors, language: int, ids: Sequence[int], path: Path) -> NDArray[np.float64]:
    """(n) The sum of the distances of words over all steps of a path."""
    steps = [slice_distances(vectors, language, ids, one, two, "euclidean") for one, two in pairwise(path.values())]
    return np.asarray(np.sum(steps, axis=0))
