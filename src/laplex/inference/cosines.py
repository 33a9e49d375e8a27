"""Similarities, neighbors and trajectories with intervals, and differences of similarities between groups.

"estimate" is the cosine at the maximum of the log posterior without the noise that draws it towards zero; the interval
says how it would come out with other units of the same kind, given the contexts: that these would be others as well is
not in it. Words with too little text have their counts alone. "uses" and "units" are those of the word that has fewer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from laplex.embeddings import Embeddings
from laplex.errors import InputError, explain_keywords
from laplex.fitting.provenance import tokens_of
from laplex.inference.associations import association, differences_of_position, positions_with_intervals
from laplex.inference.cosine_intervals import (
    INTERVAL_COLUMNS,
    ComparedValues,
    CosineIntervals,
    Interval,
    finish,
    with_intervals,
)
from laplex.inference.jackknife import Estimate, cosine_of
from laplex.inference.neighbor_ratios import neighbor_ratio
from laplex.inference.units import Options
from laplex.model.vectors import as_list, check_slice
from laplex.questions.change import ordered_column, similarity_along
from laplex.questions.cosine import By
from laplex.questions.positions import Axis, Pole, positions_on
from laplex.questions.similarity import cosines_of_pair, nearest_words
from laplex.runtime.display import say

Given = str | Sequence[str] | None


@dataclass(frozen=True, eq=False)
class CosineQuestions(Options):
    """Questions about similarities; `Inference` has them all."""

    fitted: Embeddings

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that vectors vary by."""
        return self.fitted.columns

    @explain_keywords
    def neighbors(
        self,
        word: str | Sequence[str] = (),
        k: int = 10,
        *,
        negative: str | Sequence[str] | None = None,
        by: By = "words",
        to_language: str | None = None,
        at: Mapping[str, Any] | None = None,
        test: bool = True,
    ) -> pd.DataFrame:
        """The words most similar to a word, with intervals; see `Embeddings.neighbors`.

        Args:
            word: A word, or several, of which the mean direction is taken.
            k: The number of neighbors.
            negative: Words that count against it.
            by: Compare vectors of "words", of "contexts", or "both".
            to_language: The language of the neighbors, for translations.
            at: Values of columns that the vectors vary by.
            test: False for the fitted vectors alone.

        Returns:
            A row for each slice and neighbor.

        Example:
            fitted.inference(unit="senator").neighbors("health", at={"party": "D"})
        """
        fitted = self.fitted
        choices: dict[str, Any] = {"negative": negative, "by": by, "to_language": to_language, "at": at}
        table = nearest_words(fitted, word, k, language=self.language, min_uses=self.min_uses, **choices)
        if not test:
            return table
        words, index = as_list(word), fitted.language(self.language)
        if len(words) != 1 or negative is not None or by != "words" or to_language is not None or not self._has_text():
            return with_intervals(table, None, "similarity")
        one, slices = fitted.id(words[0], index), slice_numbers(fitted, table)
        others = [fitted.id(other, index) for other in table["neighbor"]]
        pairs = [(one, other, slice) for other, slice in zip(others, slices)]
        return with_intervals(table, pair_intervals(fitted, pairs, self), "similarity")

    @explain_keywords
    def similarity(
        self,
        one: str,
        two: str,
        *,
        across: str | None = None,
        given: Given = None,
        to_language: str | None = None,
        at: Mapping[str, Any] | None = None,
        test: bool = True,
    ) -> pd.DataFrame:
        """The cosine of two words, or its differences between the values of a column; see `Embeddings.similarity`.

        Args:
            one: A word.
            two: Another word.
            across: A column of the text, between whose values the cosine is compared.
            given: Columns that are controlled for, with `across`.
            to_language: The language of the second word, if it is another.
            at: Values of columns, to which slices (or with `across` the text) are restricted.
            test: False for the fitted vectors alone.

        Returns:
            A row for each slice, or for each comparison.

        Example:
            fitted.inference(unit="speaker").similarity("work", "status", across="gender")
        """
        fitted = self.fitted
        if across is not None:
            if not test or to_language is not None:
                raise InputError("across= is a test of two words of one language: leave out test= and to_language=")
            return difference_of_similarity(fitted, one, two, self, across, columns_given(given), check_slice(at))
        columns_given(given, across is not None)
        table = cosines_of_pair(fitted, one, two, self.language, to_language, at)
        if not test:
            return table
        if to_language is not None or not self._has_text():
            return with_intervals(table, None, "similarity")
        a, b = (fitted.id(word, fitted.language(self.language)) for word in (one, two))
        pairs = [(a, b, slice) for slice in slice_numbers(fitted, table)]
        return with_intervals(table, pair_intervals(fitted, pairs, self), "similarity")

    @explain_keywords
    def neighbor_ratio(
        self,
        word: str,
        across: str,
        k: int = 10,
        *,
        values: Sequence[Any] | None = None,
        at: Mapping[str, Any] | None = None,
    ) -> pd.DataFrame:
        """Which neighbors of a word belong to one group; see `Embeddings.neighbor_ratio`.

        Args:
            word: A word.
            across: The column whose values are compared.
            k: The number of neighbors in each group.
            values: Two values, or one, which is compared with the others.
            at: Values of other columns, to which the text is restricted.

        Returns:
            A row for each neighbor.

        Example:
            fitted.inference(unit="senator").neighbor_ratio("immigrants", "party")
        """
        return neighbor_ratio(self.fitted, word, across, self, k, values, check_slice(at))

    @explain_keywords
    def association(
        self,
        targets: tuple[Pole, Pole],
        attributes: tuple[Pole, Pole],
        *,
        across: str | None = None,
        given: Given = None,
        at: Mapping[str, Any] | None = None,
    ) -> pd.DataFrame:
        """How much more one set of words is associated with an attribute than another; see `Embeddings.association`.

        Args:
            targets: Two sets of words.
            attributes: Two sets of words.
            across: A column of the text, between whose values the association is compared.
            given: Columns that are controlled for, with `across`.
            at: Values of columns, to which slices (or with `across` the text) are restricted.

        Returns:
            A row for each slice, or for each comparison.

        Example:
            fitted.inference(unit="speaker").association((["career"], ["home"]), (["he"], ["she"]), across="party")
        """
        chosen = columns_given(given, across is not None)
        return association(self.fitted, targets, attributes, self, across, chosen, check_slice(at))

    @explain_keywords
    def project(
        self,
        words: str | Sequence[str],
        axis: tuple[Pole, Pole],
        *,
        across: str | None = None,
        given: Given = None,
        at: Mapping[str, Any] | None = None,
        test: bool = True,
    ) -> pd.DataFrame:
        """The positions of words between two poles, or their differences; see `Embeddings.project`.

        Args:
            words: A word, or several.
            axis: The two poles, each a word or several.
            across: A column of the text, between whose values positions are compared.
            given: Columns that are controlled for, with `across`.
            at: Values of columns, to which slices (or with `across` the text) are restricted.
            test: False for the fitted vectors alone.

        Returns:
            A row for each word and slice, or for each word and comparison.

        Example:
            fitted.inference(unit="speaker").project("tax", axis=("good", "bad"))
        """
        fitted, index = self.fitted, self.fitted.language(self.language)
        if across is not None:
            if not test:
                raise InputError("across= is a test: leave out test=False, or compare the positions of slices")
            chosen = columns_given(given)
            return differences_of_position(fitted, words, axis, self, across, chosen, check_slice(at))
        columns_given(given, across is not None)
        ids, found = fitted.ids(words, index), Axis(fitted, axis, index, fitted.chosen(at), self.min_uses, self.quiet)
        table = positions_on(found, ids)
        if not test:
            return table
        if not self._has_text():
            return with_intervals(table, None, "position")
        return positions_with_intervals(fitted, found, ids, table, self)

    @explain_keywords
    def trajectory(
        self,
        word: str,
        *,
        along: str | None = None,
        to: str | Sequence[str] | None = None,
        at: Mapping[str, Any] | None = None,
        test: bool = True,
    ) -> pd.DataFrame:
        """How similar a word is, along an ordered column, to what it was at first; see `Embeddings.trajectory`.

        Args:
            word: A word.
            along: The column; it may be left out if only one has an order.
            to: Other words to compare it with, instead of with itself.
            at: Values of other columns that the vectors vary by.
            test: False for the fitted vectors alone.

        Returns:
            A row for each slice that has the word.

        Example:
            fitted.inference(unit="president").trajectory("war")
        """
        fitted, index = self.fitted, self.fitted.language(self.language)
        number, column = fitted.id(word, index), ordered_column(fitted, along)
        others = [number] if to is None else fitted.ids(to, index)
        if test and self._has_text():
            return trajectory_with_intervals(fitted, number, self, column, others, at)
        table = similarity_along(fitted, index, number, column, others, at).drop(columns=["slice", "reference"])
        return with_intervals(table, None, "similarity") if test else table

    def _has_text(self) -> bool:
        """Whether the text is at hand, without which there are no intervals; a sentence says if it is gone."""
        if not self.fitted.settings.get("tokens"):  # vectors that were made elsewhere never had any
            return False
        try:
            tokens_of(self.fitted, self.tokens)
        except InputError as error:
            say(f"no intervals: {error}", quiet=self.quiet)
            return False
        return True


def columns_given(given: Given, used: bool = True) -> tuple[str, ...]:
    """The columns that are controlled for, or a formula of them; InputError if these are no part of what is asked."""
    found = () if given is None else (given,) if isinstance(given, str) else tuple(given)
    if found and not used:
        raise InputError(
            "given= controls for columns in a test of differences: name what is compared (across=), and leave out "
            "test=False"
        )
    if len(found) > 1 and any(name.strip().startswith("~") for name in found):
        raise InputError(f"given={list(found)!r}: write either one formula or a list of columns")
    return found


def difference_of_similarity(
    fitted: Embeddings,
    one: str,
    two: str,
    options: Options,
    across: str,
    given: Sequence[str],
    at: Mapping[str, Any],
) -> pd.DataFrame:
    """The difference of the cosine of two words between the values of a column.

    The vectors are estimated at each value by itself, with contexts that have not seen the values.
    """
    index = fitted.language(options.language)
    a, b = fitted.id(one, index), fitted.id(two, index)
    compared = ComparedValues(fitted, across, at, options, given)
    text = compared.text
    text.read([a, b])
    found = [text.cosine(a, b, slice) for slice in range(len(compared.values))]
    rows = [compared.row(found, pair, [a, b]) for pair in compared.comparisons()]
    return finish([{"word": one, "other": two, **row} for row in rows], options.level)


def pair_intervals(fitted: Embeddings, pairs: Sequence[tuple[int, int, int]], options: Options) -> list[dict[str, Any]]:
    """The columns of intervals for the cosines of pairs of words, each in a slice: (one, two, slice)."""
    text = CosineIntervals(fitted, options)
    text.read([word for one, two, _ in pairs for word in (one, two)])
    return [interval_columns(text, text.cosine(one, two, slice), [one, two], slice) for one, two, slice in pairs]


def interval_columns(text: CosineIntervals, found: Estimate | None, words: Sequence[int], slice: int) -> dict[str, Any]:
    """The columns of a cosine in a slice: its interval, and the uses and units of the rarest of some words."""
    interval = Interval.of(found, text.options.interval, -1.0, 1.0)
    return dict(zip(INTERVAL_COLUMNS, (*interval[:3], *text.text_size(words, slice))))


def slice_numbers(fitted: Embeddings, table: pd.DataFrame) -> list[int]:
    """The number of the slice that each row of a table is about."""
    keys = {key: number for number, key in enumerate(fitted.rows.slices.keys)}
    if not fitted.columns:
        return [0] * len(table)
    return [keys[key] for key in table[list(fitted.columns)].itertuples(index=False, name=None)]


def trajectory_with_intervals(
    fitted: Embeddings,
    word: int,
    options: Options,
    column: str,
    others: Sequence[int],
    at: Mapping[str, Any] | None,
) -> pd.DataFrame:
    """The trajectory of a word, whose first slice is the first that has enough text for an interval."""
    text = CosineIntervals(fitted, options)
    text.read([word, *others])
    index = text.language
    table = similarity_along(fitted, index, word, column, others, at, lambda slice: text.is_enough(word, slice))
    ids = {fitted.rows.vocabularies[index].words[other]: other for other in others}
    found = []
    for name, slice, reference in zip(table["to"], table["slice"], table["reference"]):
        here, there = text.direction(word, slice), text.direction(ids[name], reference)
        cosine = None if here is None or there is None else cosine_of(here, there)
        found.append(interval_columns(text, cosine, [word, ids[name]], slice))
    return with_intervals(table.drop(columns=["slice", "reference"]), found, "similarity")
