"""Similar words within slices: neighbors, similarity of two words, translations, and positions between two poles.

All are cosines, computed in each slice by itself, among words that are used there. V words, D dimensions, n candidates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from laplex.errors import InputError, check_int, explain_keywords, quote
from laplex.model.vectors import Vectors, as_list
from laplex.questions.answers import Answers, is_inference, provided, slice_values
from laplex.questions.cosine import (
    By,
    Floats,
    context_products,
    cosines,
    directions,
    nearest,
    normalize,
    slices_with,
    top_k,
    used,
)
from laplex.questions.positions import MIN_USES, Pole, positions
from laplex.runtime.display import say
from laplex.text.tokens import Tokens

CSLS_NEIGHBORS = 10  # words over which CSLS takes the mean cosine of a word
WORDS_FOR_BOUND = 32  # neighbors of the word to translate, by which candidates are bounded
CANDIDATES_PER_BATCH = 32


class Similarities(Answers):
    """Questions about similar words within slices."""

    @explain_keywords
    def at(self, values: Mapping[str, Any] | None = None, language: str | None = None) -> View:
        """One slice by itself, with the methods of gensim's KeyedVectors.

        Args:
            values: The value of every column that the vectors vary by.
            language: The language, if there are several.

        Returns:
            A View: `view["health"]`, `view.most_similar("health")`, `view.similarity(...)`, `view.words`.

        Example:
            fitted.at({"party": "D"}).most_similar("health")
        """
        return View(self, self.language(language), self.slice(values))

    @explain_keywords
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
        min_clusters: int | None = None,
        min_count: int = 100,
        tokens: Tokens | None = None,
        min_uses: int = MIN_USES,
        at: Mapping[str, Any] | None = None,
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
            min_uses: How often a word must be used in a slice to be a neighbor there. Slices in which the word itself
                has no use are left out.
            at: Values of columns that the vectors vary by; without any, all slices.

        Returns:
            Word, slice, rank, neighbor, similarity and count; with `interval` also the interval.

        Example:
            fitted.neighbors("health", at={"party": "D"})
            fitted.neighbors(positive=["king", "woman"], negative="man")
            fitted.neighbors("health", at={"party": "D"}, interval=0.9, cluster="senator")
        """
        if is_inference(interval, cluster):
            _check_words_only(by, positive, negative, to_language)
            if len(as_list(word)) != 1:
                raise InputError("intervals are of the neighbors of one word: name it")
            options = {"cluster": cluster, "min_clusters": min_clusters, "min_count": min_count, "tokens": tokens}
            return self._ask("neighbors", options | {"interval": interval, "language": language})(
                as_list(word)[0], k, at=at, min_uses=min_uses
            )
        k, min_uses = check_int("k", k), check_int("min_uses", min_uses, 0)
        plus, minus = [*as_list(word), *as_list(positive)], as_list(negative)
        if not plus and not minus:
            raise InputError(
                'name a word, or words: neighbors("health"), neighbors(positive=["king"], negative=["man"])'
            )
        source = self.language(language)
        target = source if to_language is None else self.language(to_language)
        vocabulary = self.rows.vocabularies[target]
        if not len(vocabulary):
            raise InputError(f'the language "{vocabulary.language}" has no words')
        signed = [(self.id(name, source), 1) for name in plus] + [(self.id(name, source), -1) for name in minus]
        label = " ".join([*(f"+ {name}" for name in plus), *(f"− {name}" for name in minus)]).removeprefix("+ ")
        places = _slices(self, by, at)
        if by != "contexts":
            places = slices_with(self, [i for i, _ in signed], source, self.chosen(at))
        queries = np.stack([mean_direction(self, signed, source, place, by) for place in places])
        _check_directions(label, queries)
        context_parts = context_products(self, queries, target) if by == "both" else [None] * len(places)
        records: list[dict[str, Any]] = []
        for place, query, context_part in zip(places, queries, context_parts):
            similarity = cosines(self, query[None], target, place, by, context_part)[0]
            known = [i for i, _ in signed] if source == target else ()
            ids = nearest(similarity, k, known, used(self, target, place, min_uses))
            counts = self.counts[target].sum(0) if place is None else self.counts[target][place]
            values = {} if place is None else slice_values(self, place)
            records += [
                {"word": label, **values, "rank": rank, "neighbor": vocabulary.words[i], "similarity": s, "count": c}
                for rank, (i, s, c) in enumerate(zip(ids.tolist(), similarity[ids].tolist(), counts[ids].tolist()), 1)
            ]
        columns = ["word", *(self.columns if by != "contexts" else ()), "rank", "neighbor", "similarity", "count"]
        return pd.DataFrame(records, columns=columns).astype({"rank": int, "similarity": float, "count": int})

    @explain_keywords
    def similarity(
        self,
        one: str,
        two: str,
        *,
        language: str | None = None,
        to_language: str | None = None,
        interval: float | None = None,
        cluster: str | None = None,
        min_clusters: int | None = None,
        min_count: int = 100,
        tokens: Tokens | None = None,
        at: Mapping[str, Any] | None = None,
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
            at: Values of columns that the vectors vary by; without any, all slices.

        Returns:
            Both words, slice, similarity and the count of each; with `interval` also the interval.

        Example:
            fitted.similarity("health", "insurance", at={"party": "D"}, interval=0.9, cluster="senator")
        """
        if is_inference(interval, cluster):
            _check_words_only("words", to_language)
            options = {"cluster": cluster, "min_clusters": min_clusters, "min_count": min_count, "tokens": tokens}
            return self._ask("similarity", options | {"interval": interval, "language": language})(one, two, at=at)
        first = self.language(language)
        second = first if to_language is None else self.language(to_language)
        a, b = self.id(one, first), self.id(two, second)
        records = []
        places = slices_with(self, [a], first, self.chosen(at))
        for place in slices_with(self, [b], second, places):
            cosine = float(directions(self, [a], first, place)[0] @ directions(self, [b], second, place)[0])
            found = {"similarity": float(np.clip(cosine, -1.0, 1.0)), "count": int(self.counts[first][place, a])}
            found["count_other"] = int(self.counts[second][place, b])
            records.append({"word": one, "other": two, **slice_values(self, place), **found})
        return pd.DataFrame(records)

    @explain_keywords
    def project(
        self,
        words: str | Sequence[str],
        axis: tuple[Pole, Pole],
        *,
        across: str | None = None,
        interval: float | None = None,
        cluster: str | None = None,
        min_clusters: int | None = None,
        min_count: int = 100,
        tokens: Tokens | None = None,
        language: str | None = None,
        at: Mapping[str, Any] | None = None,
    ) -> pd.DataFrame:
        """The position of words on the axis from the words of the second pole to those of the first.

        Positions are in standard deviations from the mean of the words that are used in the slice.

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
            at: Values of columns that the vectors vary by; without any, all slices.

        Returns:
            Word, slice, position and uses; with `interval` estimate and interval, with `across` the difference. In
            `frame.attrs["poles"]` is how often the words of the poles are used.

        Example:
            fitted.project(["opera", "boxing"], axis=(["rich", "wealthy"], ["poor"]))
            fitted.project("tax", axis=("good", "bad"), across="party", cluster="senator")
        """
        if is_inference(interval, cluster, across):
            options = {"cluster": cluster, "min_clusters": min_clusters, "min_count": min_count, "tokens": tokens}
            return self._ask("project", options | {"interval": interval, "language": language})(
                words, axis, across=across, at=at
            )
        return positions(self, words, axis, language=language, at=at)

    def _ask(self, question: str, options: Mapping[str, Any]) -> Callable[..., pd.DataFrame]:
        """The function of `laplex.inference` that answers, with its options."""
        given = {name: value for name, value in options.items() if name != "interval" or value is not None}
        kind: Any = provided("Options")
        shared = kind.of(given, self.columns)
        return partial(provided(question), self, options=shared)


def mean_direction(
    vectors: Vectors, signed: Sequence[tuple[int, int]], language: int, slice: int | None, by: By = "words"
) -> Floats:
    """(D) The direction of the sum of unit vectors of words, each word with its sign."""
    ids, signs = zip(*signed)
    total: Floats = np.array(signs, np.float32) @ directions(vectors, ids, language, slice, by)
    return normalize(total)


def _slices(vectors: Vectors, by: By, at: Mapping[str, Any] | None) -> Sequence[int | None]:
    if by not in get_args(By):
        raise InputError(f'by="{by}": write "words", "contexts" or "both"')
    slices = vectors.chosen(at)
    if by == "contexts" and at:
        raise InputError(f"context vectors are shared by all slices: leave out {quote(at)}")
    return [None] if by == "contexts" else slices


def _check_directions(label: str, queries: Floats) -> None:
    """Say in how many slices a query has no direction; it is an error if it has none in all of them."""
    missing = int(np.isnan(queries).any(axis=1).sum())
    if not missing:
        return
    where = f"in {missing} of {len(queries)} slices" if len(queries) > 1 else "here"
    message = f'the vector of "{label}" is zero {where}, so nothing is similar to it'
    if missing == len(queries):
        raise InputError(
            f"{message}; a word has such a vector where it does not occur and the prior says nothing of it"
        )
    say(f"{message}: they are left out")


def _check_words_only(by: By, *others: Any) -> None:
    if by != "words" or any(other is not None for other in others):
        raise InputError(
            "intervals are of the similarity of two words: leave out by=, positive=, negative= and to_language="
        )


@explain_keywords
def translate(
    vectors: Vectors,
    word: str,
    language: str | None,
    target: str,
    k: int = 20,
    *,
    at: Mapping[str, Any] | None = None,
) -> pd.DataFrame:
    """The k best words of another language by CSLS: neighbor, csls, similarity, and the rank by similarity alone.

    The result is exact over the whole vocabulary. Since r(y) of every candidate y would take minutes, each gets a lower
    bound first: the mean over its ten nearest among a few words around x is never more than r(y). Candidates are
    evaluated from the best bound on CSLS down, until no other can be among the k best.
    """
    here, there, place = vectors.language(language), vectors.language(target), vectors.slice(at)
    direction = directions(vectors, [vectors.id(word, here)], here, place)
    similarity = _cosines(vectors, direction, there, place)[0]
    own_mean = _mean_of_nearest(similarity[None])[0]
    bounds = 2 * similarity - own_mean - _lower_bounds(vectors, direction, here, there, place)
    bounds[similarity <= -1.0] = -np.inf  # a word without a direction is no translation
    scores = np.full(len(similarity), -np.inf, np.float32)
    batch = nearest(bounds, max(k, CANDIDATES_PER_BATCH))
    while len(batch):
        back = _cosines(vectors, directions(vectors, batch.tolist(), there, place), here, place)
        scores[batch] = 2 * similarity[batch] - own_mean - _mean_of_nearest(back)
        least = np.partition(scores, -k)[-k] if k <= len(scores) else -np.inf
        batch = nearest(np.where(np.isneginf(scores) & (bounds > least), bounds, -np.inf), CANDIDATES_PER_BATCH)
    best = nearest(scores, k)
    words = vectors.rows.vocabularies[there].words
    return pd.DataFrame(
        {
            "word": word,
            **slice_values(vectors, place),
            "neighbor": [words[i] for i in best],
            "csls": scores[best],
            "similarity": similarity[best],
            "rank": [1 + int((similarity > similarity[i]).sum()) for i in best],
            "count": vectors.counts[there][place, best],
        }
    )


def _lower_bounds(vectors: Vectors, direction: Floats, here: int, there: int, slice: int) -> Floats:
    """(V) A lower bound of r for each word of the other language, from the words around the one to translate."""
    known = nearest(_cosines(vectors, direction, here, slice)[0], WORDS_FOR_BOUND)
    if len(known) < min(CSLS_NEIGHBORS, len(vectors.rows.vocabularies[here])):
        return np.full(len(vectors.rows.vocabularies[there]), -1.0, np.float32)
    similarity = _cosines(vectors, directions(vectors, known.tolist(), here, slice), there, slice)
    return _mean_of_nearest(np.ascontiguousarray(similarity.T))


def _mean_of_nearest(similarity: Floats) -> Floats:
    """(n) r of CSLS: the mean of the largest similarities of each row."""
    mean: Floats = top_k(similarity, min(CSLS_NEIGHBORS, similarity.shape[1]))[1].mean(1)
    return mean


def _cosines(vectors: Vectors, directions: Floats, language: int, slice: int) -> Floats:
    """(n, V) Cosines, −1 where one of the vectors has no direction."""
    similarity = cosines(vectors, directions, language, slice)
    return np.fmax(similarity, np.float32(-1.0), out=similarity)


class View:
    """The words of one language in one slice, with the methods of gensim's KeyedVectors.

    view = fitted.at({"party": "D"})
    view["health"], view.most_similar("health"), "health" in view
    """

    def __init__(self, vectors: Vectors, language: int, slice: int) -> None:
        self._vectors = vectors
        self._language = language
        self._slice = slice
        self._vocabulary = vectors.rows.vocabularies[language]

    @property
    def words(self) -> list[str]:
        """The vocabulary, most frequent word of all slices first."""
        return list(self._vocabulary.words)

    def __contains__(self, word: object) -> bool:
        return word in self._vocabulary

    def __iter__(self) -> Iterator[str]:
        return iter(self._vocabulary)

    def __len__(self) -> int:
        return len(self._vocabulary)

    def __getitem__(self, words: str | Sequence[str]) -> NDArray[np.float32]:
        """The vector of a word (D), or of several (n, D)."""
        rows = self._vectors.take(self._ids(words), self._language, self._slice)
        return rows[0] if isinstance(words, str) else rows

    def count(self, word: str) -> int:
        """How often a word occurs in this slice."""
        return int(self._vectors.counts[self._language][self._slice, self._ids(word)[0]])

    def similarity(self, one: str, two: str) -> float:
        """The cosine of the vectors of two words."""
        first, second = directions(self._vectors, self._ids([one, two]), self._language, self._slice)
        return float(first @ second)

    def most_similar(
        self, positive: str | Sequence[str] | None = None, negative: str | Sequence[str] | None = None, topn: int = 10
    ) -> list[tuple[str, float]]:
        """The words most similar to the mean of `positive` minus `negative` (unit vectors), without these words.

        Args:
            positive: A word or several.
            negative: Words that are subtracted.
            topn: The number of words to return.

        Returns:
            Words with their cosines, best first.

        Example:
            fitted.at({"party": "D"}).most_similar(["king", "woman"], ["man"])
        """
        topn = check_int("topn", topn)
        signed = [(word, 1) for word in self._ids(positive)] + [(word, -1) for word in self._ids(negative)]
        if not signed:
            raise InputError('name a word, or words: most_similar("health")')
        query = mean_direction(self._vectors, signed, self._language, self._slice)
        similarity = cosines(self._vectors, query[None], self._language, self._slice)[0]
        ids = nearest(similarity, topn, [word for word, _ in signed])
        return [(self._vocabulary.words[i], float(similarity[i])) for i in ids]

    def __repr__(self) -> str:
        where = ", ".join(f"{column}={value}" for column, value in slice_values(self._vectors, self._slice).items())
        return f"View: {len(self):,} words, {self._vectors.dimensions} dimensions{where and f', {where}'}"

    def _ids(self, words: str | Sequence[str] | None) -> list[int]:
        return [self._vectors.id(word, self._language) for word in as_list(words)]
