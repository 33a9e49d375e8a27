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

from laplex.errors import InputError, check_int, explain_keywords, quote
from laplex.model.priors.prior import saved_priors
from laplex.model.vectors import Vectors, check_slice, slice_needed
from laplex.questions.answers import Answers, Rank, in_order_of_words, is_inference, slice_values, tested_words
from laplex.runtime.display import bar
from laplex.text.periods import in_order
from laplex.text.tokens import Tokens

Measure = Literal["euclidean", "cosine"]


class Contrasts(Answers):
    """Questions about differences between the values of a column."""

    @explain_keywords
    def contrast(
        self,
        column: str,
        top: int = 15,
        *,
        words: str | Sequence[str] | None = None,
        values: Sequence[Any] | None = None,
        measure: Measure = "euclidean",
        min_count: int | None = None,
        each: bool = False,
        rank: Rank = "distance",
        interval: float | None = None,
        cluster: str | None = None,
        min_clusters: int | None = None,
        joint: bool = False,
        permutations: int | None = None,
        tokens: Tokens | None = None,
        language: str | None = None,
        at: Mapping[str, Any] | None = None,
    ) -> pd.DataFrame:
        """The words whose vectors differ most between two values of a column (the paper's Tables 2 to 4).

        With `interval`, `cluster` or `rank="evidence"` it tests what would hold in another sample: "estimate" is then
        the distance corrected for noise, with an interval, p, and p_adjusted for the number of words.

        Args:
            column: The column whose values are compared; of more than two, every pair.
            top: The number of words for each pair of values.
            words: A word, or several, to look at instead of the top ones.
            values: The values to compare, if not all.
            measure: The distance, "euclidean" or "cosine".
            min_count: How often a word must occur at each of the two values; 100 for tests, if not given.
            each: Keep the slices of the other columns apart, instead of averaging over them.
            rank: Order words by "distance", or by the "evidence" for a difference.
            interval: The share of other samples, such as 0.9, in which the interval holds the estimate.
            cluster: The column that says whose text it is: if senators have the labels, not press releases, "senator".
            min_clusters: For tests: the number of clusters that must use a word at each value.
            joint: Test more than two values together, with one row for each word.
            permutations: The number of permutations of labels; see `laplex.inference.contrast`.
            tokens: The text, if that of the model has moved.
            language: The language, if there are several.
            at: Values of other columns that the vectors vary by; without any, all slices.

        Returns:
            Word, pair of values, distance and counts; for tests estimate, interval, p and p_adjusted.

        Example:
            fitted.contrast("party", top=15, min_count=50)
            fitted.contrast("party", values=["Labour", "Conservative"])
            fitted.contrast("party", cluster="senator", interval=0.9, rank="evidence")
        """
        if is_inference(interval, cluster, rank == "evidence", joint, permutations is not None):
            check_plain_distance(measure, each)
            options = tested_words(top, words, rank, min_count)
            options |= {"cluster": cluster, "min_clusters": min_clusters, "tokens": tokens, "language": language}
            options |= {"values": values, "joint": joint, "permutations": permutations}
            return self._infer("contrast", interval, column, at=at, **options)
        top, min_count = check_int("top", top), check_int("min_count", min_count or 0, 0)
        index = self.language(language)
        ids = None if words is None else self.ids(words, index)
        others = [name for name in self.columns if name != column] if each else []
        pairs = value_pairs(self, column, others, at, values)
        frames = []
        with bar("comparing") as progress:
            for number, (name, labels, slices) in enumerate(pairs, 1):
                compared = Comparison(self, index, measure, slices)
                shown = compared.most_distant(ids, top, min_count)
                frames.append(compared.table(*shown, {column: name, **labels}))
                progress.update(number / len(pairs), f"{column}: {name}")
        table = pd.concat([frame for frame in frames if len(frame)] or frames[:1])
        return table.sort_values(["distance", "word"], ascending=[False, True], kind="stable").reset_index(drop=True)

    @explain_keywords
    def distance(
        self,
        words: str | Sequence[str],
        across: str,
        along: str | None = None,
        *,
        measure: Measure = "euclidean",
        interval: float | None = None,
        cluster: str | None = None,
        min_clusters: int | None = None,
        min_count: int = 100,
        tokens: Tokens | None = None,
        language: str | None = None,
        at: Mapping[str, Any] | None = None,
    ) -> pd.DataFrame:
        """How far apart words are between the values of one column, for each value of another (the paper's Figure 1).

        Over columns that are neither named nor given a value, the distance is the mean. With `interval` it is corrected
        for noise, as in `contrast`; words that are too rare at a value are listed without one.

        Args:
            words: A word, or several.
            across: The column whose values are compared.
            along: The column for each of whose values the distance is computed.
            measure: The distance, "euclidean" or "cosine".
            interval: The share of other samples, such as 0.9, in which the interval holds the result.
            cluster: The column that says whose text it is; without it, documents are what was sampled.
            min_clusters: With an interval: the number of clusters that must use a word at each value.
            min_count: With an interval: how often a word must occur at each value.
            tokens: The text, if that of the model has moved.
            language: The language, if there are several.
            at: Values of other columns that the vectors vary by; without any, all slices.

        Returns:
            Word, value of `along`, pair of values, distance and counts; with `interval` estimate and interval.

        Example:
            fitted.distance(["health", "relief"], across="party", along="period")
            fitted.distance("health", across="party", along="period", cluster="senator", interval=0.9)
        """
        if is_inference(interval, cluster):
            check_plain_distance(measure, False)
            options: dict[str, Any] = {"min_clusters": min_clusters, "min_count": min_count, "tokens": tokens}
            options |= {"cluster": cluster, "language": language, "at": at}
            if along is None:
                return self._infer("contrast", interval, across, words=words, **options)
            return self._infer("distance", interval, words, across, along, **options)
        if along == across:
            raise InputError(f'across="{across}" and along="{along}" are the same column: choose two')
        if along is not None:
            self.values(along)  # raises if there is no such column
        index = self.language(language)
        ids = self.ids(words, index)
        frames = []
        for name, labels, slices in value_pairs(self, across, [] if along is None else [along], at):
            compared = Comparison(self, index, measure, slices)
            frames.append(compared.table(ids, compared.distances(ids), {**labels, across: name}))
        return in_order_of_words(frames)

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


@dataclass(frozen=True)
class Comparison:
    """Words in pairs of slices that differ in one column; distances are means over the pairs."""

    vectors: Vectors
    language: int
    measure: Measure
    slices: Sequence[tuple[int, int]]

    def distances(self, ids: Sequence[int] | None) -> NDArray[np.float64]:
        """(n) The mean distance of words; (V) of all words if `ids` is None."""
        pairs = [slice_distances(self.vectors, self.language, ids, *pair, self.measure) for pair in self.slices]
        return np.asarray(np.mean(pairs, axis=0))

    def counts(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(V), (V) How often each word occurs in the first slices of the pairs, and in the second."""
        counts = self.vectors.counts[self.language]
        first, second = zip(*self.slices)
        return counts[list(first)].sum(0), counts[list(second)].sum(0)

    def most_distant(
        self, ids: Sequence[int] | None, top: int, min_count: int
    ) -> tuple[list[int], NDArray[np.float64]]:
        """The `top` words, or the given ones, and their distances (n), the largest first; ties in alphabetical order.

        A word that is not named must occur on both sides; a named one must do so only if `min_count` says so.
        """
        names = self.vectors.rows.vocabularies[self.language].words
        distances = np.full(len(names), np.nan)
        distances[np.s_[:] if ids is None else ids] = self.distances(ids)
        rarer = np.minimum(*self.counts())
        if ids is None:
            candidates = np.flatnonzero((rarer >= max(min_count, 1)) & np.isfinite(distances))
            if len(candidates) > top:
                least = np.partition(distances[candidates], -top)[-top]
                candidates = candidates[distances[candidates] >= least]
            shown = sorted(candidates.tolist(), key=lambda i: (-distances[i], names[i]))[:top]
        else:
            shown = [i for i in ids if rarer[i] >= min_count]
            shown.sort(key=lambda i: (np.isnan(distances[i]), -distances[i], names[i]))
        return shown, distances[shown]

    def table(self, ids: Sequence[int], distances: NDArray[np.float64], labels: Mapping[str, str]) -> pd.DataFrame:
        """A row for each word: the labels, its distance, and how often it occurs on each side."""
        names = self.vectors.rows.vocabularies[self.language].words
        one, two = (counts[list(ids)] for counts in self.counts())
        found = {"distance": distances, "count_one": one, "count_two": two}
        return pd.DataFrame({"word": [names[i] for i in ids], **labels, **found})


def value_pairs(
    vectors: Vectors,
    column: str,
    apart: Sequence[str],
    at: Mapping[str, Any] | None,
    values: Sequence[Any] | None = None,
) -> list[tuple[str, dict[str, str], list[tuple[int, int]]]]:
    """Every pair of values of a column, or of those in `values`, for every combination of the columns `apart`.

    A pair has a name, the values of the columns `apart`, and the pairs of slices that have its two values.
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
            pairs.append((f"{one} – {two}", dict(zip(apart, labels)), by_labels[labels]))
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
    vectors: Vectors, language: int, ids: Sequence[int] | None, one: int, two: int, measure: Measure
) -> NDArray[np.float64]:
    """(n) The distance of words between two slices; NaN for the cosine with a vector of length zero."""
    if ids is None:
        a, b = vectors.block(language, one), vectors.block(language, two)
    else:
        a, b = vectors.take(ids, language, one), vectors.take(ids, language, two)
    distance: NDArray[np.float32]
    if measure == "euclidean":
        distance = np.linalg.norm(a - b, axis=1)
    elif measure == "cosine":
        lengths = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
        with np.errstate(invalid="ignore"):
            distance = 1 - np.clip(np.einsum("nd,nd->n", a, b) / lengths, -1.0, 1.0)
    else:
        raise InputError(f'measure="{measure}": write "euclidean" or "cosine"')
    return distance.astype(np.float64)


def group_mean_strengths(settings: Mapping[str, Any], column: str) -> tuple[float, float]:
    """Strength and spread of the prior's GroupMean on a column; without one, those that give the plain mean."""
    priors = (prior.group_mean(described, column) for prior, described in saved_priors(settings))
    means = [mean for mean in priors if mean is not None]
    if len(means) > 1:
        raise InputError(f'the prior has {len(means)} GroupMeans on "{column}", so there is no one mean')
    return means[0] if means else (1.0, 0.0)


def check_plain_distance(measure: Measure, apart: bool) -> None:
    """Raise if a test is asked for something that only a description can give."""
    if measure != "euclidean" or apart:
        raise InputError(
            "intervals and tests are of the euclidean distance as a whole: leave out "
            + (f'measure="{measure}"' if measure != "euclidean" else "each= and steps=")
        )
