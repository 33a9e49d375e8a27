"""What all questions share: the settings of the fit, the tests kept with it, and the way to `laplex.inference`.

By default an answer says what would hold in another sample of text; with `test=False` it describes the vectors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, NamedTuple

import pandas as pd

from laplex.errors import InputError, check_keywords, explain_keywords, quote
from laplex.model.priors.prior import saved_priors
from laplex.model.vectors import Vectors
from laplex.runtime.lazy import provided

MIN_USES = 5  # of a word in a slice, for its vector to say anything there


class StoredTest(NamedTuple):
    """What a test of all words gave, as arrays, and facts about it; `laplex.inference` reads both."""

    arrays: Mapping[str, Any]
    facts: dict[str, Any]


class Answers(Vectors):
    """Vectors that know how they were fitted, and can be tested."""

    settings: dict[str, Any]
    tests: dict[str, StoredTest]  # by what was asked

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

    @explain_keywords
    def inference(self, **options: Any) -> Any:
        """What tests share, said once, with the questions as methods.

        Args:
            **options: Those of `laplex.inference.Inference`: unit, interval, level, min_effect, min_units, min_count,
                exclude, permutations, tokens, language, seed, threads and quiet.

        Returns:
            An Inference, with contrast, distance, drift, neighbors, similarity, association, project, trajectory,
            explain and passages.

        Example:
            fitted.inference(unit="senator", interval=0.95).contrast("party")
        """
        inference: Any = provided("Inference")
        known = [field.name for field in fields(inference) if field.kw_only]
        if unknown := {name: value for name, value in options.items() if name not in known}:
            check_keywords(unknown, self.columns)
            name, value = next(iter(unknown.items()))
            raise InputError(f"there is no option {name}={value!r}; there are {quote(known, len(known))}")
        return inference(self, **options)

    @explain_keywords
    def explain(
        self,
        word: str,
        column: str,
        *,
        values: Sequence[Any] | None = None,
        given: str | Sequence[str] | None = None,
        at: Mapping[str, Any] | None = None,
        passages: int = 3,
    ) -> Any:
        """What the difference of a word between two groups is made of: context words, and passages of both groups.

        The contributions of all context words add up to what `contrast` tests.

        Args:
            word: The word.
            column: The column whose values are compared; with `given`, also a term such as "party:year".
            values: Two values, or one, which is compared with all others. By default both values of a column that has
                two, and the earlier and the later half of one that has an order.
            given: Columns to compare like with like, as in `contrast`. Along an order, what is explained is then the
                trend.
            at: Values of other columns, to which the text is restricted.
            passages: How many passages are shown for each group.

        Returns:
            A `laplex.inference.Explanation`, with the tables `context`, `neighbors` and `passages`.

        Example:
            fitted.explain("war", "party").passages
        """
        return self.inference().explain(word, column, values=values, given=given, at=at, passages=passages)

    @explain_keywords
    def passages(self, word: str, *, at: Mapping[str, Any] | None = None, top: int = 10) -> pd.DataFrame:
        """Typical passages with a word, in the original text.

        Args:
            word: The word.
            at: Values of columns, to which the passages are restricted.
            top: How many passages are shown, at most one of a document.

        Returns:
            A row for each passage: "before", "word", "after", the number of its document, and its metadata.

        Example:
            fitted.passages("health", at={"party": "D"})
        """
        table: pd.DataFrame = self.inference().passages(word, at=at, top=top)
        return table

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


def slice_values(vectors: Vectors, slice: int) -> dict[str, str]:
    """The values of the columns in a slice."""
    return dict(zip(vectors.columns, vectors.rows.slices.keys[slice]))


def in_order_of_words(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """One table of several that list the same words, in which all rows of a word are together."""
    return pd.concat(frames).sort_index(kind="stable").reset_index(drop=True)
