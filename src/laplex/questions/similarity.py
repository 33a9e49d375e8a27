"""Similar words within slices: neighbors, similarity of two words, translations, and positions between two poles.

All are cosines, computed in each slice by itself, among words that are used there. V words, D dimensions, n candidates.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from laplex.errors import InputError, check_int, explain_keywords, quote
from laplex.model.vectors import Vectors, as_list
from laplex.questions.answers import Answers, slice_values
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
from laplex.questions.positions import Pole
from laplex.runtime.display import say

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
        word: str | Sequence[str] = (),
        k: int = 10,
        *,
        negative: str | Sequence[str] | None = None,
        by: By = "words",
        language: str | None = None,
        to_language: str | None = None,
        at: Mapping[str, Any] | None = None,
        test: bool = True,
    ) -> pd.DataFrame:
        """The k words most similar to a word, among those that are used in a slice, in one slice or in several.

        Args:
            word: A word, or several, of which the mean direction is taken.
            k: The number of neighbors.
            negative: Words that count against it, for analogies.
            by: Compare vectors of "words", of "contexts" (which do not vary by slice), or "both", their sum.
            language: The language of the words, if there are several.
            to_language: The language of the neighbors, for translations.
            at: Values of columns that the vectors vary by; without any, all slices that have the word.
            test: False for the fitted vectors alone, without intervals, for which the text is read again.

        Returns:
            Word, slice, rank, neighbor, similarity (the cosine of the fitted vectors, which decides the rank),
            estimate (the same without noise, which draws it towards zero), lower and upper (how it would come out with
            other units), uses and units. Intervals are of one word and its neighbors by "words" in its own language,
            where both have enough text; elsewhere they are empty.

        Example:
            fitted.neighbors("health", at={"party": "D"})
            fitted.neighbors(["king", "woman"], negative="man", test=False)
        """
        answer: pd.DataFrame = self.inference(language=language).neighbors(
            word, k, negative=negative, by=by, to_language=to_language, at=at, test=test
        )
        return answer

    @explain_keywords
    def similarity(
        self,
        one: str,
        two: str,
        *,
        across: str | None = None,
        given: str | Sequence[str] | None = None,
        language: str | None = None,
        to_language: str | None = None,
        at: Mapping[str, Any] | None = None,
        test: bool = True,
    ) -> pd.DataFrame:
        """The cosine of two words in each slice, or how it differs between the values of a column.

        Args:
            one: A word.
            two: Another word.
            across: A column of the text: test whether the cosine differs between its values.
            given: Columns to compare like with like, with `across`: documents are weighted so that all values have the
                same mix of them.
            language: The language of the words, if there are several.
            to_language: The language of the second word, if it is another.
            at: Values of columns that the vectors vary by; without any, all slices that have both words.
            test: False for the fitted vectors alone.

        Returns:
            Both words, slice, similarity, estimate, lower and upper as in `neighbors`, and the uses and units of the
            rarer word. With `across` a row for two values, or for each of several against the rest: estimate is the
            difference, with p, p_adjusted and holds as in `contrast`.

        Example:
            fitted.similarity("health", "insurance")
            fitted.similarity("work", "status", across="gender")
        """
        answer: pd.DataFrame = self.inference(language=language).similarity(
            one, two, across=across, given=given, to_language=to_language, at=at, test=test
        )
        return answer

    @explain_keywords
    def neighbor_ratio(
        self,
        word: str,
        across: str,
        k: int = 10,
        *,
        values: Sequence[Any] | None = None,
        language: str | None = None,
        at: Mapping[str, Any] | None = None,
    ) -> pd.DataFrame:
        """Which neighbors of a word belong to one group, and which to both: the ratio of their similarities.

        Vectors are estimated in each group by itself, with contexts that have not seen the groups, as in `similarity`
        with `across`. Like the ratio of nearest neighbors of conText (Rodriguez, Spirling and Stewart, 2023). A word
        that is among the nearest in one group only was chosen because it is near there: its ratio is somewhat too far
        from 1.

        Args:
            word: A word.
            across: The column of the text whose values are compared.
            k: The number of neighbors in each group.
            values: Two values, or one, which is compared with the others; needed if the column has more than two.
            language: The language, if there are several.
            at: Values of other columns, to which the text is restricted.

        Returns:
            A row for each neighbor, the most typical of the first group first: word, neighbor, value and against (the
            groups), nearest_in (the group in which it is among the k nearest, or "both"), similarity and
            similarity_against (without noise), estimate (their ratio), lower, upper, p (of a ratio of 1), p_adjusted,
            holds, and the uses and units of the rarer of the two words on either side.

        Example:
            lx.plots.neighbor_ratio(fitted.neighbor_ratio("immigrants", "party"))
        """
        answer: pd.DataFrame = self.inference(language=language).neighbor_ratio(word, across, k, values=values, at=at)
        return answer

    @explain_keywords
    def association(
        self,
        targets: tuple[Pole, Pole],
        attributes: tuple[Pole, Pole],
        *,
        across: str | None = None,
        given: str | Sequence[str] | None = None,
        language: str | None = None,
        at: Mapping[str, Any] | None = None,
    ) -> pd.DataFrame:
        """How much more one set of words is associated with an attribute than another set is (WEAT).

        The effect size is that of Caliskan, Bryson and Narayanan (2017), but what was sampled are units, not words.

        Args:
            targets: Two sets of words, such as occupations.
            attributes: Two sets of words, such as words for women and for men.
            across: A column of the text: test whether the association differs between its values.
            given: Columns to compare like with like, with `across`: documents are weighted so that all values have the
                same mix of them.
            language: The language, if there are several.
            at: Values of columns that the vectors vary by; without any, all slices.

        Returns:
            A row for each slice, or with `across` for each comparison: estimate (the effect size, or the difference of
            two), lower, upper, p, p_adjusted and holds, and the uses and units of the rarest word.

        Example:
            fitted.association((["career", "office"], ["home", "family"]), (["he", "man"], ["she", "woman"]))
        """
        answer: pd.DataFrame = self.inference(language=language).association(
            targets, attributes, across=across, given=given, at=at
        )
        return answer

    @explain_keywords
    def project(
        self,
        words: str | Sequence[str],
        axis: tuple[Pole, Pole],
        *,
        across: str | None = None,
        given: str | Sequence[str] | None = None,
        language: str | None = None,
        at: Mapping[str, Any] | None = None,
        test: bool = True,
    ) -> pd.DataFrame:
        """The position of words on the axis from the words of the second pole to those of the first.

        Positions are in standard deviations from the mean of the words that are used in the slice.

        Args:
            words: A word, or several.
            axis: The two poles, each a word or several. Words that are rare in a slice are no part of a pole there.
            across: A column of the text: test whether positions differ between its values.
            given: Columns to compare like with like, with `across`: documents are weighted so that all values have the
                same mix of them.
            language: The language, if there are several.
            at: Values of columns that the vectors vary by; without any, all slices.
            test: False for the fitted vectors alone.

        Returns:
            Word, slice, position (by the fitted vectors), estimate (without noise), lower, upper, uses and units; with
            `across` differences, as in `similarity`. How often the poles are used is in `frame.attrs["poles"]`.

        Example:
            fitted.project(["opera", "boxing"], axis=(["rich", "wealthy"], ["poor"]))
            fitted.project("tax", axis=("good", "bad"), across="party")
        """
        answer: pd.DataFrame = self.inference(language=language).project(
            words, axis, across=across, given=given, at=at, test=test
        )
        return answer


def nearest_words(
    vectors: Vectors,
    words: str | Sequence[str],
    k: int,
    *,
    negative: str | Sequence[str] | None,
    by: By,
    language: str | None,
    to_language: str | None,
    at: Mapping[str, Any] | None,
    min_uses: int,
) -> pd.DataFrame:
    """The k words most similar to some words in each slice by the fitted vectors."""
    k = check_int("k", k)
    plus, minus = as_list(words), as_list(negative)
    if not plus and not minus:
        raise InputError('name a word, or words: neighbors("health"), neighbors(["king"], negative=["man"])')
    source = vectors.language(language)
    target = source if to_language is None else vectors.language(to_language)
    vocabulary = vectors.rows.vocabularies[target]
    if not len(vocabulary):
        raise InputError(f'the language "{vocabulary.language}" has no words')
    signed = [(vectors.id(name, source), 1) for name in plus] + [(vectors.id(name, source), -1) for name in minus]
    label = " ".join([*(f"+ {name}" for name in plus), *(f"− {name}" for name in minus)]).removeprefix("+ ")
    places = _slices(vectors, by, at)
    if by != "contexts":
        places = slices_with(vectors, [i for i, _ in signed], source, vectors.chosen(at))
    queries = np.stack([mean_direction(vectors, signed, source, place, by) for place in places])
    _check_directions(label, queries)
    context_parts = context_products(vectors, queries, target) if by == "both" else [None] * len(places)
    records: list[dict[str, Any]] = []
    for place, query, context_part in zip(places, queries, context_parts):
        similarity = cosines(vectors, query[None], target, place, by, context_part)[0]
        known = [i for i, _ in signed] if source == target else ()
        ids = nearest(similarity, k, known, used(vectors, target, place, min_uses))
        counts = vectors.counts[target].sum(0) if place is None else vectors.counts[target][place]
        values = {} if place is None else slice_values(vectors, place)
        records += [
            {"word": label, **values, "rank": rank, "neighbor": vocabulary.words[i], "similarity": s, "uses": c}
            for rank, (i, s, c) in enumerate(zip(ids.tolist(), similarity[ids].tolist(), counts[ids].tolist()), 1)
        ]
    columns = ["word", *(vectors.columns if by != "contexts" else ()), "rank", "neighbor", "similarity", "uses"]
    return pd.DataFrame(records, columns=columns).astype({"rank": int, "similarity": float, "uses": int})


def cosines_of_pair(
    vectors: Vectors, one: str, two: str, language: str | None, to_language: str | None, at: Mapping[str, Any] | None
) -> pd.DataFrame:
    """The cosine of two words by the fitted vectors, in each slice that has both."""
    first = vectors.language(language)
    second = first if to_language is None else vectors.language(to_language)
    a, b = vectors.id(one, first), vectors.id(two, second)
    records = []
    places = slices_with(vectors, [a], first, vectors.chosen(at))
    for place in slices_with(vectors, [b], second, places):
        cosine = float(directions(vectors, [a], first, place)[0] @ directions(vectors, [b], second, place)[0])
        counts = {"uses": int(vectors.counts[first][place, a]), "uses_other": int(vectors.counts[second][place, b])}
        found = {"similarity": float(np.clip(cosine, -1.0, 1.0)), **counts}
        records.append({"word": one, "other": two, **slice_values(vectors, place), **found})
    return pd.DataFrame(records)


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
