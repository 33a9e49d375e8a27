"""The questions that fitted vectors answer, each a method that returns a table.

By default an answer describes the vectors (`questions/`). With `interval`, `cluster` or `rank="evidence"` it says what
would hold in another sample (`laplex.inference`), for which the text is read again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from laplex.errors import InputError
from laplex.model.priors.prior import saved_priors
from laplex.model.vectors import Vectors, as_list
from laplex.questions.change import drift, trajectory
from laplex.questions.contrast import Measure, contrast, distance, group_mean, group_mean_strengths
from laplex.questions.cosine import By
from laplex.questions.similarity import Pole, View, neighbors, project, similarity
from laplex.text.tokens import Tokens

DEFAULT_INTERVAL = 0.9
_PROVIDERS: dict[str, Callable[[], Callable[..., Any]]] = {}


def provide(functions: Mapping[str, Callable[[], Callable[..., Any]]]) -> None:
    """Register functions that answer methods of `Answers` and `Embeddings` by name.

    Tests and reports are made from Embeddings, so their packages import this one, not the other way round; each
    registers its functions here, and they are imported when they are first called.
    """
    _PROVIDERS.update(functions)


def provided(name: str) -> Callable[..., Any]:
    """The function that was registered under a name."""
    return _PROVIDERS[name]()


class Answers(Vectors):
    """Vectors with methods that answer questions about them."""

    settings: dict[str, Any]

    def ordered(self, column: str) -> bool:
        """Whether a column has an order: numbers, periods of time, or a Chain along it in the prior.

        Args:
            column: A column that the vectors vary by.

        Returns:
            True if `drift` and `trajectory` can be asked along the column.

        Example:
            fitted.ordered("period")
        """
        chained = (prior.chained_column(described) for prior, described in saved_priors(self.settings))
        return super().ordered(column) or column in chained

    def at(self, language: str | None = None, **slice: Any) -> View:
        """One slice by itself, with the methods of gensim's KeyedVectors.

        Args:
            language: The language, if there are several.
            **slice: The value of every column that the vectors vary by.

        Returns:
            A View: `view["health"]`, `view.most_similar("health")`, `view.similarity(...)`, `view.words`.

        Example:
            fitted.at(party="D").most_similar("health")
        """
        return View(self, self.language(language), self.slice(slice))

    def neighbors(
        self,
        word: str | Sequence[str] | None = None,
        k: int = 10,
        *,
        by: By = "words",
        positive: str | Sequence[str] | None = None,
        negative: str | Sequence[str] | None = None,
        language: str | None = None,
        to_language: str | None = None,
        interval: float | None = None,
        cluster: str | None = None,
        min_clusters: int = 25,
        min_count: int = 100,
        tokens: Tokens | None = None,
        **slice: Any,
    ) -> pd.DataFrame:
        """The k words most similar to a word by the cosine, in one slice or in several side by side.

        Args:
            word: A word, or several, of which the mean direction is taken.
            k: The number of neighbors.
            by: Compare vectors of "words", of "contexts" (which do not vary by slice), or "both", their sum.
            positive: More words that count for the mean direction.
            negative: Words that count against it.
            language: The language of the words, if there are several.
            to_language: The language of the neighbors, for translations.
            interval: The share of other samples, such as 0.9, in which the interval holds the similarity.
            cluster: The column that says whose text it is; without it, documents are what was sampled.
            min_clusters: With an interval: the number of clusters that must use a word.
            min_count: With an interval: how often a word must occur.
            tokens: The text, if that of the model has moved.
            **slice: Values of columns that the vectors vary by; without any, all slices.

        Returns:
            Word, slice, rank, neighbor, similarity and count; with `interval` also the interval.

        Example:
            fitted.neighbors("health", party="D")
            fitted.neighbors(positive=["king", "woman"], negative="man")
            fitted.neighbors("health", party="D", interval=0.9, cluster="senator")
        """
        if _is_inference(interval, cluster):
            _check_words_only(by, positive, negative, to_language)
            if len(as_list(word)) != 1:
                raise InputError("intervals are of the neighbors of one word: name it")
            options = {"cluster": cluster, "min_clusters": min_clusters, "min_count": min_count, "tokens": tokens}
            return self._infer("neighbors", interval, as_list(word)[0], k, language=language, **options, **slice)
        return neighbors(
            self,
            word,
            k,
            by=by,
            positive=positive,
            negative=negative,
            language=language,
            to_language=to_language,
            where=slice,
        )

    def similarity(
        self,
        one: str,
        two: str,
        *,
        language: str | None = None,
        to_language: str | None = None,
        interval: float | None = None,
        cluster: str | None = None,
        min_clusters: int = 25,
        min_count: int = 100,
        tokens: Tokens | None = None,
        **slice: Any,
    ) -> pd.DataFrame:
        """The cosine of two words in each slice.

        Args:
            one: A word.
            two: Another word.
            language: The language of the words, if there are several.
            to_language: The language of the second word, if it is another.
            interval: The share of other samples, such as 0.9, in which the interval holds the result.
            cluster: The column that says whose text it is; without it, documents are what was sampled.
            min_clusters: With an interval: the number of clusters that must use a word.
            min_count: With an interval: how often a word must occur.
            tokens: The text, if that of the model has moved.
            **slice: Values of columns that the vectors vary by; without any, all slices.

        Returns:
            Both words, slice, similarity and the count of each; with `interval` also the interval.

        Example:
            fitted.similarity("health", "insurance", party="D", interval=0.9, cluster="senator")
        """
        if _is_inference(interval, cluster):
            _check_words_only("words", None, None, to_language)
            options = {"cluster": cluster, "min_clusters": min_clusters, "min_count": min_count, "tokens": tokens}
            return self._infer("similarity", interval, one, two, language=language, **options, **slice)
        return similarity(self, one, two, language=language, to_language=to_language, where=slice)

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
        rank: Literal["distance", "evidence"] = "distance",
        interval: float | None = None,
        cluster: str | None = None,
        min_clusters: int = 25,
        joint: bool = False,
        permutations: int | None = None,
        tokens: Tokens | None = None,
        language: str | None = None,
        **slice: Any,
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
            cluster: The column that says whose text it is. If the label is the senator's, senators must be compared,
                not press releases.
            min_clusters: For tests: the number of clusters that must use a word at each value.
            joint: Test more than two values together, with one row for each word.
            permutations: The number of permutations of labels; see `laplex.inference.contrast`.
            tokens: The text, if that of the model has moved.
            language: The language, if there are several.
            **slice: Values of other columns that the vectors vary by; without any, all slices.

        Returns:
            Word, pair of values, distance and counts; for tests estimate, interval, p and p_adjusted.

        Example:
            fitted.contrast("party", top=15, min_count=50)
            fitted.contrast("party", values=["Labour", "Conservative"])
            fitted.contrast("party", cluster="senator", interval=0.9, rank="evidence")
        """
        if _is_inference(interval, cluster, rank == "evidence", joint, permutations is not None):
            _check_plain_distance(measure, each)
            return self._infer(
                "contrast",
                interval,
                column,
                top=None if words is not None else top,
                words=words,
                values=values,
                rank="evidence" if rank == "evidence" else "estimate",
                cluster=cluster,
                min_clusters=min_clusters,
                min_count=100 if min_count is None else min_count,
                joint=joint,
                permutations=permutations,
                tokens=tokens,
                language=language,
                **slice,
            )
        return contrast(
            self,
            column,
            top,
            words=words,
            values=values,
            measure=measure,
            min_count=min_count or 0,
            each=each,
            language=language,
            where=slice,
        )

    def distance(
        self,
        words: str | Sequence[str],
        across: str,
        along: str | None = None,
        *,
        measure: Measure = "euclidean",
        interval: float | None = None,
        cluster: str | None = None,
        min_clusters: int = 25,
        min_count: int = 100,
        tokens: Tokens | None = None,
        language: str | None = None,
        **slice: Any,
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
            tokens: The text, if that of the model has moved.
            min_clusters: With an interval: the number of clusters that must use a word at each value.
            min_count: With an interval: how often a word must occur at each value.
            language: The language, if there are several.
            **slice: Values of other columns that the vectors vary by; without any, all slices.

        Returns:
            Word, value of `along`, pair of values, distance and counts; with `interval` estimate and interval.

        Example:
            fitted.distance(["health", "relief"], across="party", along="period")
            fitted.distance("health", across="party", along="period", cluster="senator", interval=0.9)
        """
        if _is_inference(interval, cluster):
            _check_plain_distance(measure, False)
            options = {"cluster": cluster, "min_clusters": min_clusters, "min_count": min_count, "tokens": tokens}
            options |= {"language": language, **slice}
            if along is None:
                return self._infer("contrast", interval, across, words=words, **options)
            return self._infer("distance", interval, words, across, along, **options)
        return distance(self, words, across, along, measure=measure, language=language, where=slice)

    def drift(
        self,
        column: str,
        top: int = 15,
        *,
        words: str | Sequence[str] | None = None,
        measure: Measure = "euclidean",
        min_count: int | None = None,
        steps: bool = False,
        k: int = 5,
        rank: Literal["distance", "evidence"] = "distance",
        interval: float | None = None,
        cluster: str | None = None,
        min_clusters: int = 25,
        tokens: Tokens | None = None,
        language: str | None = None,
        **slice: Any,
    ) -> pd.DataFrame:
        """The words that moved most from the first value of an ordered column to the last.

        Distances are means over the other slices that have both the first and the last value. With `interval`,
        `cluster` or `rank="evidence"` it tests a linear trend: how far it leads from the first value to the last,
        corrected for noise, with an interval and a test as in `contrast`.

        Args:
            column: A column with an order: numbers, periods of time, or one that has a Chain.
            top: The number of words.
            words: A word, or several, to look at instead of the top ones.
            measure: The distance, "euclidean" or "cosine".
            min_count: How often a word must occur at the first and at the last value; 100 for tests, if not given.
            steps: Return every step from one value to the next.
            k: The number of neighbors to list at both ends.
            rank: Order words by "distance", or by the "evidence" for a trend.
            interval: The share of other samples, such as 0.9, in which the interval holds the result.
            cluster: The column that says whose text it is; without it, documents are what was sampled.
            min_clusters: With an interval: the number of clusters that must use a word.
            tokens: The text, if that of the model has moved.
            language: The language, if there are several.
            **slice: Values of other columns that the vectors vary by; without any, all slices.

        Returns:
            Word, from, to, distance, "path" (the length of all steps), count in all these slices, and the neighbors
            before and after; for tests estimate, interval, p and p_adjusted.

        Example:
            fitted.drift("period", top=15, min_count=50, party="D")
            fitted.drift("period", interval=0.9, rank="evidence")
        """
        if _is_inference(interval, cluster, rank == "evidence"):
            _check_plain_distance(measure, steps)
            return self._infer(
                "drift",
                interval,
                column,
                top=None if words is not None else top,
                words=words,
                rank="evidence" if rank == "evidence" else "estimate",
                cluster=cluster,
                min_clusters=min_clusters,
                min_count=100 if min_count is None else min_count,
                tokens=tokens,
                language=language,
                **slice,
            )
        return drift(
            self,
            column,
            top,
            words=words,
            measure=measure,
            min_count=min_count or 0,
            steps=steps,
            k=k,
            language=language,
            where=slice,
        )

    def trajectory(
        self,
        word: str,
        *,
        along: str | None = None,
        to: str | Sequence[str] | None = None,
        reference: Literal["first", "last"] = "first",
        k: int = 5,
        language: str | None = None,
        **slice: Any,
    ) -> pd.DataFrame:
        """How similar a word is, along an ordered column, to what it was at the first value, and its neighbors.

        Args:
            word: A word.
            along: The column; it may be left out if only one has an order.
            to: Other words to compare it with, in the same slice, instead of with itself.
            reference: Compare the word with itself at the "first" or at the "last" value.
            k: The number of neighbors to list.
            language: The language, if there are several.
            **slice: Values of other columns that the vectors vary by; without any, all slices.

        Returns:
            Word, slice, the word it is compared with, similarity, count and neighbors.

        Example:
            fitted.trajectory("health", to=["insurance", "security"], party="D")
        """
        return trajectory(self, word, along=along, to=to, reference=reference, k=k, language=language, where=slice)

    def project(
        self,
        words: str | Sequence[str],
        axis: tuple[Pole, Pole],
        *,
        across: str | None = None,
        interval: float | None = None,
        cluster: str | None = None,
        min_clusters: int = 25,
        min_count: int = 100,
        tokens: Tokens | None = None,
        language: str | None = None,
        **slice: Any,
    ) -> pd.DataFrame:
        """The position of words, from −1 to 1, on the axis from the words of the second pole to those of the first.

        Args:
            words: A word, or several.
            axis: The two poles, each a word or several.
            across: A column: test how far its values are apart on the axis.
            interval: The share of other samples, such as 0.9, in which the interval holds the result.
            cluster: The column that says whose text it is; without it, documents are what was sampled.
            min_clusters: With an interval: the number of clusters that must use a word.
            min_count: With an interval: how often a word must occur.
            tokens: The text, if that of the model has moved.
            language: The language, if there are several.
            **slice: Values of columns that the vectors vary by; without any, all slices.

        Returns:
            Word, slice, position and count; with `interval` also the interval, with `across` the difference.

        Example:
            fitted.project(["opera", "boxing"], axis=(["rich", "wealthy"], ["poor"]))
            fitted.project("tax", axis=("good", "bad"), across="party", cluster="senator")
        """
        if _is_inference(interval, cluster, across):
            options = {"cluster": cluster, "min_clusters": min_clusters, "min_count": min_count, "tokens": tokens}
            return self._infer("project", interval, words, axis, across=across, language=language, **options, **slice)
        return project(self, words, axis, language=language, where=slice)

    def group_mean(self, word: str, column: str, *, language: str | None = None, **slice: Any) -> NDArray[np.float32]:
        """The vector that the values of a column share: that of the prior's GroupMean (Proposition 3), or the mean.

        Args:
            word: A word.
            column: The column over whose values the mean is taken.
            language: The language, if there are several.
            **slice: The value of every other column that the vectors vary by.

        Returns:
            The vector (D).

        Example:
            fitted.group_mean("health", "party", period="2010")
        """
        strength, spread = group_mean_strengths(self.settings, column)
        return group_mean(self, word, column, strength=strength, spread=spread, language=language, where=slice)

    def posterior(self, words: str | Sequence[str], **options: Any) -> Mapping[str, Any]:
        """The posterior of the vectors of words, in all slices together: mean, covariance and draws.

        This is no test: it takes every occurrence as independent. See `contrast` for what would hold in another sample.

        Args:
            words: A word, or several.
            **options: Those of `laplex.inference.posterior`; with `coupled`, words that the prior joins have a joint
                posterior.

        Returns:
            The posterior of each word, by word.

        Example:
            fitted.posterior("health")["health"].distance({"party": "D"}, {"party": "R"}, interval=0.9)
        """
        posteriors: Mapping[str, Any] = provided("posterior")(self, words, **options)
        return posteriors

    def _infer(self, question: str, interval: float | None, *arguments: Any, **options: Any) -> pd.DataFrame:
        """Call the function of `laplex.inference`, which reads the text again."""
        interval = DEFAULT_INTERVAL if interval is None else interval
        table: pd.DataFrame = provided(question)(self, *arguments, interval=interval, **options)
        return table


def _is_inference(*options: Any) -> bool:
    """Whether an option asks what would hold in another sample."""
    return any(option is not None and option is not False for option in options)


def _check_plain_distance(measure: Measure, apart: bool) -> None:
    if measure != "euclidean" or apart:
        raise InputError(
            "intervals and tests are of the euclidean distance as a whole: leave out "
            + (f'measure="{measure}"' if measure != "euclidean" else "each= and steps=")
        )


def _check_words_only(by: By, *others: Any) -> None:
    if by != "words" or any(other is not None for other in others):
        raise InputError(
            "intervals are of the similarity of two words: leave out by=, positive=, negative= and to_language="
        )
