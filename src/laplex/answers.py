"""The questions that fitted vectors answer, each as a method that gives a table.

Without more said, an answer is what the vectors are (`questions/`). With `interval`, `cluster` or `rank="evidence"` it
is what would hold in another sample (`posterior/`), for which the text is read again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from laplex.errors import InputError
from laplex.questions.belief import chained, mean_of
from laplex.questions.contrast import contrast
from laplex.questions.cosine import By
from laplex.questions.distance import distance
from laplex.questions.drift import drift
from laplex.questions.mean import group_mean
from laplex.questions.neighbors import neighbors, similarity
from laplex.questions.pairing import Measure
from laplex.questions.projection import Pole, project
from laplex.questions.trajectory import trajectory
from laplex.questions.view import View
from laplex.tokens import Tokens
from laplex.vectors import Vectors, listed

INTERVAL = 0.9


class Answers(Vectors):
    """Vectors that can be asked."""

    settings: dict[str, Any]

    def ordered(self, column: str) -> bool:
        """Does a column have an order: are its values numbers or periods of time, or is there a Chain along it?"""
        return super().ordered(column) or column in chained(self.settings)

    def at(self, language: str | None = None, **slice: Any) -> View:
        """One slice on its own, to be asked like gensim's KeyedVectors: fitted.at(party="D").most_similar("health")"""
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
        """The k words most similar to a word, in one slice or in several side by side, by the cosine.

        Of several words the mean direction is taken; those in `negative` count against it. `by` compares vectors of
        words, of contexts (which do not vary by slice), or the sum of both. `to_language` looks for translations.
        `interval` says how far a similarity would vary in other samples of clusters, or else documents.

            fitted.neighbors("health", party="D")
            fitted.neighbors(positive=["king", "woman"], negative="man")
            fitted.neighbors("health", party="D", interval=0.9, cluster="senator")
        """
        if _is_asked(interval, cluster):
            _only_words(by, positive, negative, to_language)
            if len(listed(word)) != 1:
                raise InputError("intervals are of the neighbors of one word: name it")
            word = listed(word)[0]
            sure: dict[str, Any] = {"interval": interval, "cluster": cluster, "tokens": tokens}
            sure |= {"min_clusters": min_clusters, "min_count": min_count, "language": language}
            return self._in_another_sample("neighbors", word, k, **sure, **slice)
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
        """The cosine of two words in each slice; `to_language` is that of the second word, if it is another.

        fitted.similarity("health", "insurance", party="D", interval=0.9, cluster="senator")
        """
        if _is_asked(interval, cluster):
            _only_words("words", None, None, to_language)
            sure: dict[str, Any] = {"interval": interval, "cluster": cluster, "tokens": tokens}
            sure |= {"min_clusters": min_clusters, "min_count": min_count, "language": language}
            return self._in_another_sample("similarity", one, two, **sure, **slice)
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

        The distance is the mean over all other slices, or with `each` that in each of them. `min_count` is asked of
        a word at each of the two values. `words` are looked at instead of the `top` ones. Of more than two values every
        pair is compared, or of those in `values`.

            fitted.contrast("party", top=15, min_count=50)
            fitted.contrast("party", values=["Labour", "Conservative"])

        `interval`, `cluster` or `rank="evidence"` ask what would hold in another sample: "estimate" is then the
        distance without its noise, with an interval and a test (p, and p_adjusted for the number of words).
        `cluster` is the column that says whose text it is: the label is the senator's, so senators are compared, not
        press releases. Words are tested that `min_clusters` of them use at each value, and that occur `min_count`
        times (100, if nothing is said). With more than two values, `joint` tests all at once. `permutations` is
        explained in `laplex.posterior.contrast`; `tokens` are needed if the model's text has moved.

            fitted.contrast("party", cluster="senator", interval=0.9, rank="evidence")
        """
        if _is_asked(interval, cluster, rank == "evidence", joint, permutations is not None):
            _only_plain(measure, each)
            return self._in_another_sample(
                "contrast",
                column,
                top=None if words is not None else top,
                words=words,
                values=values,
                rank="evidence" if rank == "evidence" else "estimate",
                interval=interval,
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

        Over columns that are neither named nor given a value, the distance is the mean. With `interval` it is the
        distance without its noise, from the text at each value, as in `contrast`; words that occur less than
        `min_count` times there, or at fewer than `min_clusters` clusters, are listed without one.

            fitted.distance(["health", "relief"], across="party", along="period")
            fitted.distance("health", across="party", along="period", cluster="senator", interval=0.9)
        """
        if _is_asked(interval, cluster):
            _only_plain(measure, False)
            sure: dict[str, Any] = {"interval": interval, "cluster": cluster, "tokens": tokens}
            sure |= {"min_clusters": min_clusters, "min_count": min_count, "language": language}
            if along is None:
                return self._in_another_sample("contrast", across, words=words, **sure, **slice)
            return self._in_another_sample("distance", words, across, along, **sure, **slice)
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
        """The words that moved most from the first value of an ordered column to the last, and k neighbors at both.

        "path" is the length of all steps on the way; `steps` gives them one by one. All are means over the other
        slices that have both the first and the last value; `min_count` is asked of a word at these two. "count" is
        that of all slices a row is about.

            fitted.drift("period", top=15, min_count=50, party="D")

        `interval`, `cluster` or `rank="evidence"` ask for a trend that would hold in another sample: how far it
        leads from the first value to the last, without noise, with an interval and a test, as in `contrast`.

            fitted.drift("period", interval=0.9, rank="evidence")
        """
        if _is_asked(interval, cluster, rank == "evidence"):
            _only_plain(measure, steps)
            return self._in_another_sample(
                "drift",
                column,
                top=None if words is not None else top,
                words=words,
                rank="evidence" if rank == "evidence" else "estimate",
                interval=interval,
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
        """How similar a word is to what it was at the first (or last) value of an ordered column, and its neighbors.

        Words in `to` are what it is compared with instead, in the same slice. `along` may be left out if only one
        column has an order.

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
        """Where words stand, from −1 to 1, on the axis from the words of the second pole to those of the first.

        With `interval`, how sure that is; with `across`, how far the values of a column are apart on the axis.

            fitted.project(["opera", "boxing"], axis=(["rich", "wealthy"], ["poor"]))
            fitted.project("tax", axis=("good", "bad"), across="party", cluster="senator")
        """
        if _is_asked(interval, cluster, across is not None):
            sure: dict[str, Any] = {"interval": interval, "cluster": cluster, "tokens": tokens}
            sure |= {"min_clusters": min_clusters, "min_count": min_count, "language": language}
            return self._in_another_sample("project", words, axis, across=across, **sure, **slice)
        return project(self, words, axis, language=language, where=slice)

    def group_mean(self, word: str, column: str, *, language: str | None = None, **slice: Any) -> NDArray[np.float32]:
        """The vector that the values of a column share: that of the prior's GroupMean (Proposition 3), or the mean.

        fitted.group_mean("health", "party", period="2010")
        """
        strength, spread = mean_of(self.settings, column)
        return group_mean(self, word, column, strength=strength, spread=spread, language=language, where=slice)

    def posterior(self, words: str | Sequence[str], **options: Any) -> Mapping[str, Any]:
        """What the model believes about the vectors of words, in all slices together: mean, covariance and draws.

        This is no test: it takes every occurrence for independent. See `contrast` for what would hold in another
        sample. Options are those of `laplex.posterior.posterior`; with `coupled`, words that the prior joins have a
        posterior in common.

            fitted.posterior("health")["health"].distance({"party": "D"}, {"party": "R"}, interval=0.9)
        """
        from laplex import posterior

        asked: Any = self
        found: Mapping[str, Any] = posterior.posterior(asked, words, **options)
        return found

    def _in_another_sample(
        self, question: str, *arguments: Any, interval: float | None, **options: Any
    ) -> pd.DataFrame:
        """Ask `posterior/`. It fits models, which can be asked in turn: so it is imported only now."""
        from laplex import posterior

        ask = getattr(posterior, question)
        answer: pd.DataFrame = ask(self, *arguments, interval=INTERVAL if interval is None else interval, **options)
        return answer


def _is_asked(interval: float | None, *others: Any) -> bool:
    """Is it asked what would hold in another sample?"""
    return interval is not None or any(other is not None and other is not False for other in others)


def _only_plain(measure: Measure, apart: bool) -> None:
    if measure != "euclidean" or apart:
        raise InputError(
            "intervals and tests are of the euclidean distance as a whole: leave out "
            + (f'measure="{measure}"' if measure != "euclidean" else "each= and steps=")
        )


def _only_words(by: By, *others: Any) -> None:
    if by != "words" or any(other is not None for other in others):
        raise InputError(
            "intervals are of the similarity of two words: leave out by=, positive=, negative= and to_language="
        )
