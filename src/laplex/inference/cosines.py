"""Similarities, neighbors and trajectories with intervals, and differences of similarities between groups.

"estimate" is the cosine at the maximum of the log posterior without the noise that draws it towards zero; the interval
says how it would come out with other units of the same kind, given the contexts: that these would be others as well is
not in it. Words with too little text have their counts alone. "uses" and "units" are those of the word that has fewer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from laplex.embeddings import Embeddings
from laplex.errors import explain_keywords
from laplex.inference.cosine_intervals import ComparedValues, CosineIntervals, Interval, finish
from laplex.inference.jackknife import cosine_of
from laplex.inference.units import Options
from laplex.questions.answers import slice_values
from laplex.questions.change import neighbors_in, ordered_column, paths_with, reference_slice
from laplex.questions.cosine import slices_with
from laplex.questions.positions import MIN_USES

TRAJECTORY_NEIGHBORS = 5


@explain_keywords
def similarity(
    fitted: Embeddings,
    one: str,
    two: str,
    options: Options,
    *,
    across: str | None = None,
    at: Mapping[str, Any] | None = None,
) -> pd.DataFrame:
    """Compute the cosine of two words in each slice with an interval, or its difference between groups.

    Args:
        fitted: The model.
        one: A word.
        two: Another word.
        options: What all tests share.
        across: A column, between whose values the cosine is compared; vectors need not vary by it.
        at: Values of columns, to which slices (or with `across` the text) are restricted.

    Returns:
        A row for each slice: word, other, the slice, estimate, lower, upper, uses and units. With `across` a row for
        two values, or for each of several against the mean of the rest, with p, p_adjusted and holds. The vectors are
        then estimated at each value by itself, with contexts that have not seen the values.

    Example:
        similarity(fitted, "work", "family", Options(), across="gender")
    """
    index = fitted.language(options.language)
    a, b = fitted.id(one, index), fitted.id(two, index)
    if across is not None:
        compared = ComparedValues(fitted, across, at or {}, options)
        text = compared.text
        text.read([a, b])
        found = [text.cosine(a, b, slice) for slice in range(len(compared.values))]
        rows = [compared.row(found, pair, [a, b]) for pair in compared.comparisons()]
        return finish([{"word": one, "other": two, **row} for row in rows], options.level)
    slices = slices_with(fitted, [a, b], index, fitted.chosen(at), options.quiet)
    text = CosineIntervals(fitted, options)
    text.read([a, b])
    return pd.DataFrame(
        [{"word": one, "other": two, **slice_values(fitted, s), **pair_columns(text, a, b, s)} for s in slices]
    )


def pair_columns(text: CosineIntervals, one: int, two: int, slice: int) -> dict[str, Any]:
    """The columns of the cosine of two words in a slice."""
    interval = Interval.of(text.cosine(one, two, slice), text.options.interval, -1.0, 1.0)
    return interval_columns(interval, *text.text_size([one, two], slice))


def interval_columns(interval: Interval, uses: int, units: int) -> dict[str, Any]:
    """The columns of an interval that is no test."""
    ends = {"estimate": interval.estimate, "lower": interval.lower, "upper": interval.upper}
    return {**ends, "uses": uses, "units": units}


@explain_keywords
def neighbors(
    fitted: Embeddings,
    word: str,
    k: int = 10,
    *,
    options: Options,
    at: Mapping[str, Any] | None = None,
    min_uses: int = MIN_USES,
) -> pd.DataFrame:
    """Find the k words most similar to a word by the fitted vectors, and an interval for each similarity.

    The words were chosen because they looked similar, so those at the end of a long list will on average be a little
    less similar in another sample than here.

    Args:
        fitted: The model.
        word: The word.
        k: How many neighbors it has in each slice.
        options: What all tests share.
        at: Values of columns that vectors vary by, to which slices are restricted.
        min_uses: How often a word must be used in a slice to be a neighbor there.

    Returns:
        A row for each slice and neighbor: word, the slice, rank, neighbor, estimate, lower, upper, uses and units.

    Example:
        neighbors(fitted, "health", options=Options(), at={"party": "D"})
    """
    text = CosineIntervals(fitted, options)
    table = fitted.neighbors(word, k, language=options.language, at=at, min_uses=min_uses)
    index = fitted.id(word, text.language)
    others = [fitted.id(other, text.language) for other in table["neighbor"]]
    text.read([index, *others])
    keys = {key: number for number, key in enumerate(fitted.rows.slices.keys)}
    slices = [keys[key] for key in table[list(fitted.columns)].itertuples(index=False, name=None)]
    if not fitted.columns:
        slices = [0] * len(table)
    found = [pair_columns(text, index, other, slice) for other, slice in zip(others, slices)]
    columns = list(interval_columns(Interval.of(None, 0.9), 0, 0))
    return table[["word", *fitted.columns, "rank", "neighbor"]].join(pd.DataFrame(found, columns=columns))


@explain_keywords
def trajectory(
    fitted: Embeddings,
    word: str,
    options: Options,
    *,
    along: str | None = None,
    to: str | Sequence[str] | None = None,
    at: Mapping[str, Any] | None = None,
) -> pd.DataFrame:
    """Compute how similar a word is, along an ordered column, to what it was at first, or to other words.

    Args:
        fitted: The model.
        word: The word.
        options: What all tests share.
        along: The column; it may be left out if only one has an order.
        to: Other words to compare it with, in the same slice, instead of with itself in the first slice that has
            enough text for an interval.
        at: Values of other columns, to which slices are restricted.

    Returns:
        A row for each slice that has the word: word, the slice, to, estimate, lower, upper, uses, units and neighbors.

    Example:
        trajectory(fitted, "health", Options(), to=["insurance", "security"], at={"party": "D"})
    """
    column, index = ordered_column(fitted, along), fitted.language(options.language)
    number = fitted.id(word, index)
    others = [number] if to is None else fitted.ids(to, index)
    names = fitted.rows.vocabularies[index].words
    paths = paths_with(fitted, column, number, index, at)
    text = CosineIntervals(fitted, options)
    text.read([number, *others])
    records = []
    for path in paths:
        known = [slice for slice in path if text.is_enough(number, slice)]
        start = known[0] if known else reference_slice(fitted, number, index, path)
        for slice in path:
            near = ", ".join(names[i] for i in neighbors_in(fitted, number, index, slice, TRAJECTORY_NEIGHBORS))
            for other in others:
                if other == number:
                    here, there = text.direction(number, slice), text.direction(number, start)
                    found = None if here is None or there is None else cosine_of(here, there)
                    interval = Interval.of(found, options.interval, -1.0, 1.0)
                    columns = interval_columns(interval, *text.text_size([number], slice))
                else:
                    columns = pair_columns(text, number, other, slice)
                row = {"word": word, **slice_values(fitted, slice), "to": names[other], **columns}
                records.append({**row, "neighbors": near})
    table = pd.DataFrame(records)
    return pd.concat([table[table["to"] == names[other]] for other in others]).reset_index(drop=True)
