"""Distances of words between the values of a column (Tables 2 to 4 and Figure 1 of the paper), and their common mean.

Slices are compared that differ in one column alone; over the other columns distances are averaged, unless they are kept
apart. The hierarchical model of Proposition 3 gives every word a vector around which those of its groups scatter. It is
no parameter, since it has its maximum in closed form, with γ₁ the strength and γ₀ the spread of `GroupMean`:

    ρ₀ = γ₁ Σ_s ρ_s / (γ₀ + S γ₁)

V words, n ids, D dimensions, S groups.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from laplex.errors import InputError, explain_keywords, quote
from laplex.model.priors.prior import saved_priors
from laplex.model.vectors import Vectors, check_slice, slice_needed
from laplex.questions.answers import MIN_USES, Answers, slice_values
from laplex.text.periods import in_order

Measure = Literal["euclidean", "cosine"]


class Contrasts(Answers):
    """Questions about differences between the values of a column."""

    @explain_keywords
    def contrast(
        self,
        column: str,
        words: str | Sequence[str] | None = None,
        *,
        values: Sequence[Any] | None = None,
        against: str | None = None,
        given: str | Sequence[str] | None = None,
        at: Mapping[str, Any] | None = None,
        test: bool = True,
    ) -> pd.DataFrame:
        """The words that are used differently at the values of a column: how much, how surely, and with what words.

        Of two values one is compared with the other, of up to twelve each with the rest, of more all jointly.

        Args:
            column: The column whose values are compared: one that the vectors vary by, or any other of the text.
            words: A word, or several, instead of all that have enough text.
            values: The values to compare, if not all; one alone is compared with the rest of the column.
            against: What each value is compared with: "rest" for all others, "pairs" for each other value, or a value;
                "joint" tests whether any differ.
            given: Columns to compare like with like: time, topic or whatever else may explain the difference. Documents
                are compared within their values, and along a curve of numbers with many values; "~ year * chamber"
                is a formula of them, and "topic" a clustering of documents, if the text has no such column.
            at: Values of other columns, to which the comparison is restricted.
            test: False for the bare distances between the fitted vectors (the paper's Tables 2 to 4), which say nothing
                about another sample and grow with frequency; the largest come first.

        Returns:
            A row for each word and comparison, those that hold first. `laplex.inference.Inference` describes the
            columns. Bare distances: word, value, against, distance (Euclidean), cosine (one minus the cosine), and
            uses on either side; over slices of other columns they are means.

        Example:
            fitted.contrast("party").head(20)
            fitted.contrast("party", values=["Labour", "Conservative"])
            fitted.contrast("party", given=["period", "chamber"])
            fitted.inference(unit="senator", interval=0.95).contrast("party", ["health", "tax"])
        """
        answer: pd.DataFrame = self.inference().contrast(
            column, words, values=values, against=against, given=given, at=at, test=test
        )
        return answer

    @explain_keywords
    def distance(
        self,
        words: str | Sequence[str],
        across: str,
        along: str | None = None,
        *,
        given: str | Sequence[str] | None = None,
        at: Mapping[str, Any] | None = None,
        test: bool = True,
    ) -> pd.DataFrame:
        """How different words are between the values of one column, at each value of another (the paper's Figure 1).

        Args:
            words: A word, or several.
            across: The column whose values are compared.
            along: The column at each value of which they are, each on its own text.
            given: Columns to compare like with like, as in `contrast`.
            at: Values of other columns, to which the comparison is restricted.
            test: False for the bare distances between the fitted vectors.

        Returns:
            The columns of `contrast`, with one for the value of `along` after the word.

        Example:
            fitted.distance(["health", "relief"], across="party", along="period")
        """
        answer: pd.DataFrame = self.inference().distance(words, across, along, given=given, at=at, test=test)
        return answer

    @explain_keywords
    def regress(
        self,
        formula: str | Sequence[str],
        words: str | Sequence[str] | None = None,
        *,
        terms: str | Sequence[str] | None = None,
        at: Mapping[str, Any] | None = None,
    ) -> pd.DataFrame:
        """How words differ with several columns of the text at once, each given all others.

        A column whose values are all numbers or times is a number, any other a factor. Numbers are divided by their
        standard deviation over documents.

        Args:
            formula: A formula of columns such as "~ party * year + s(age) + C(chamber)", or a list of columns. "*"
                adds interactions, s(age) is a curve, C(year) takes numbers as categories, C(party, "R") compares with
                that value instead of the first, log(income) is a logarithm; a name with spaces is put in backticks.
            words: A word, or several, instead of all that have enough text.
            terms: The terms to test, if not all; the others are controlled for.
            at: Values of columns, each one or several, to which the text is restricted.

        Returns:
            A row for each word and coefficient, those that hold first: word, term, level (of a factor, against the
            reference; empty for numbers and for all columns of a term together), estimate (how different the word is
            at the level, or how much it changes over one standard deviation of a number, in the units of `contrast`,
            without noise), standard_error, lower, upper, p, p_adjusted (over all words and levels of the term), holds,
            and uses, units and context words on either side: at the level and at the reference, or in the upper and the
            lower half of a number.

        Example:
            fitted.regress("~ party + year + topic", terms="party")
            fitted.inference(unit="senator").regress("~ party * s(year)", ["health", "war"])
        """
        answer: pd.DataFrame = self.inference().regress(formula, words, terms=terms, at=at)
        return answer

    @explain_keywords
    def group_mean(
        self, word: str, column: str, *, language: str | None = None, at: Mapping[str, Any] | None = None
    ) -> NDArray[np.float32]:
        """The vector that the values of a column share: that of the prior's GroupMean (Proposition 3), or the mean.

        Args:
            word: A word.
            column: The column over whose values the mean is taken.
            language: The language, if there are several.
            at: The value of every other column that the vectors vary by.

        Returns:
            The vector (D).

        Example:
            fitted.group_mean("health", "party", at={"period": "2010"})
        """
        strength, spread = group_mean_strengths(self.settings, column)
        if column in check_slice(at):
            raise InputError(f'the mean is over all of "{column}": leave it out of at=')
        index = self.language(language)
        number = self.id(word, index)
        matched = matched_slices(self, column, at)
        if len(matched) > 1:
            raise slice_needed([name for name in self.columns if name != column], at or {})
        groups = np.stack([self.take([number], index, place)[0] for place in matched[0].values()]).astype(np.float64)
        total = spread + len(groups) * strength
        mean = groups.mean(0) if total == 0 else strength * groups.sum(0) / total
        return np.asarray(mean, np.float32)


def distances_between(
    vectors: Vectors,
    language: int,
    column: str,
    ids: Sequence[int] | None,
    *,
    values: Sequence[Any] | None = None,
    against: str | None = None,
    along: str | None = None,
    at: Mapping[str, Any] | None = None,
) -> pd.DataFrame:
    """The bare distances of words, or of all that are used on both sides, for every pair of values of a column."""
    if along is not None:
        vectors.values(along)  # raises if there is no such column
    frames = []
    for (one, two), labels, slices in value_pairs(vectors, column, [along] if along else [], at or {}, values):
        if against not in (None, "pairs", one, two):
            known = vectors.values(column)
            if against not in known:
                raise InputError(
                    f'against="{against}" with test=False: bare distances are between two values, so write "pairs" or '
                    f"one of {quote(known, 12)}"
                )
            continue
        sides = (two, one) if against == one else (one, two)
        pair = SlicePairs(vectors, language, slices if sides[0] == one else [(b, a) for a, b in slices])
        frames.append(pair.table(pair.used() if ids is None else ids, labels, sides))
    if not frames:
        raise InputError(f'"{against}" cannot be compared with itself: name other values')
    return pd.concat([frame for frame in frames if len(frame)] or frames[:1], ignore_index=True)


@dataclass(frozen=True)
class SlicePairs:
    """Pairs of slices that differ in one column; distances of words are means over the pairs."""

    vectors: Vectors
    language: int
    slices: Sequence[tuple[int, int]]

    def distances(self, ids: Sequence[int], measure: Measure = "euclidean") -> NDArray[np.float64]:
        """(n) The mean distance of words."""
        pairs = [slice_distances(self.vectors, self.language, ids, *pair, measure) for pair in self.slices]
        return np.asarray(np.mean(pairs, axis=0))

    def counts(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(V), (V) How often each word occurs in the first slices of the pairs, and in the second."""
        counts = self.vectors.counts[self.language]
        first, second = zip(*self.slices)
        return counts[list(first)].sum(0), counts[list(second)].sum(0)

    def used(self) -> list[int]:
        """The words that are used often enough on both sides to have a vector of their own there."""
        return [int(i) for i in np.flatnonzero(np.minimum(*self.counts()) >= MIN_USES)]

    def table(self, ids: Sequence[int], labels: Mapping[str, str], sides: tuple[str, str]) -> pd.DataFrame:
        """A row for each word: the labels, its distances, and how often it occurs on each side."""
        names = self.vectors.rows.vocabularies[self.language].words
        one, two = (counts[list(ids)] for counts in self.counts())
        found: dict[str, Any] = {"word": [names[i] for i in ids], **labels, "value": sides[0], "against": sides[1]}
        found |= {"distance": self.distances(ids), "cosine": self.distances(ids, "cosine")}
        return pd.DataFrame(found | {"uses": one, "uses_against": two})


def by_distance(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows with the largest distance first."""
    frame = frame.sort_values(["distance", "word"], ascending=[False, True], kind="stable")
    return frame.reset_index(drop=True)


def value_pairs(
    vectors: Vectors,
    column: str,
    apart: Sequence[str],
    at: Mapping[str, Any],
    values: Sequence[Any] | None = None,
) -> list[tuple[tuple[str, str], dict[str, str], list[tuple[int, int]]]]:
    """Every pair of values of a column, or of those in `values`, for every combination of the columns `apart`.

    A pair is two values, with the values of the columns `apart`, and the pairs of slices that have the two values.
    """
    matched = matched_slices(vectors, column, at)
    compared = compared_values(in_order({value for slices in matched for value in slices}), column, values)
    orders = [vectors.values(name) for name in apart]
    pairs = []
    for one, two in combinations(compared, 2):
        by_labels: dict[tuple[str, ...], list[tuple[int, int]]] = {}
        for slices in matched:
            if one in slices and two in slices:
                found = slice_values(vectors, slices[one])
                by_labels.setdefault(tuple(found[name] for name in apart), []).append((slices[one], slices[two]))
        for labels in sorted(by_labels, key=lambda key: [order.index(value) for order, value in zip(orders, key)]):
            pairs.append(((one, two), dict(zip(apart, labels)), by_labels[labels]))
    if not pairs:
        others = quote(name for name in vectors.columns if name != column)
        raise InputError(f'no two values of "{column}" share a slice of {others}: there is nothing to compare')
    return pairs


def compared_values(known: Sequence[str], column: str, values: Sequence[Any] | None) -> list[str]:
    """The values to compare: all that a column has, or those in `values`, in the order of the column."""
    if values is None:
        return list(known)
    requested = [values] if isinstance(values, str) else list(dict.fromkeys(map(str, values)))
    for value in requested:
        if value not in known:
            raise InputError(f'"{column}" has no value {value!r} to compare; it has {quote(known, 12)}')
    if len(requested) < 2:
        raise InputError(f"values={values!r}: name two values or more to compare, such as {list(known[:2])}")
    return [value for value in known if value in requested]


def matched_slices(vectors: Vectors, column: str, at: Mapping[str, Any] | None) -> list[dict[str, int]]:
    """Sets of slices that differ in `column` alone, each as a dict from its value, in order, to the slice."""
    vectors.values(column)  # raises if there is no such column
    allowed = set(vectors.chosen(at))
    sets = [
        {value: slice for value, slice in slices.items() if slice in allowed}
        for slices in vectors.rows.slices.cells(column)
    ]
    values = {value for slices in sets for value in slices}
    if len(values) < 2:
        here = " in these slices" if at else ""
        raise InputError(
            f'column "{column}" has one value only{here}, {next(iter(values))}: there is nothing to compare'
        )
    return [slices for slices in sets if slices]


def slice_distances(
    vectors: Vectors, language: int, ids: Sequence[int], one: int, two: int, measure: Measure
) -> NDArray[np.float64]:
    """(n) The distance of words between two slices; NaN for the cosine with a vector of length zero."""
    a, b = vectors.take(ids, language, one), vectors.take(ids, language, two)
    if measure == "euclidean":
        return np.asarray(np.linalg.norm(a - b, axis=1), np.float64)
    lengths = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        cosine = np.einsum("nd,nd->n", a, b) / lengths
    return np.asarray(1 - np.clip(np.where(lengths > 0, cosine, np.nan), -1.0, 1.0), np.float64)


def group_mean_strengths(settings: Mapping[str, Any], column: str) -> tuple[float, float]:
    """Strength and spread of the prior's GroupMean on a column; without one, those that give the plain mean."""
    priors = (prior.group_mean(described, column) for prior, described in saved_priors(settings))
    means = [mean for mean in priors if mean is not None]
    if len(means) > 1:
        raise InputError(f'the prior has {len(means)} GroupMeans on "{column}", so there is no one mean')
    return means[0] if means else (1.0, 0.0)
