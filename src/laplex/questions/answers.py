"""What all questions share: the settings of the fit, and the functions that answer for another sample of text.

By default an answer describes the vectors. With `interval`, `cluster` or `rank="evidence"` it says what would hold in
another sample (`laplex.inference`), for which the text is read again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import pandas as pd

from laplex.model.priors.prior import saved_priors
from laplex.model.vectors import Vectors

Rank = Literal["distance", "evidence"]
DEFAULT_INTERVAL = 0.9
_PROVIDERS: dict[str, Callable[[], Callable[..., Any]]] = {}


def provide(functions: Mapping[str, Callable[[], Callable[..., Any]]]) -> None:
    """Register functions that answer methods of `Embeddings` by name; they are imported when they are first called.

    Tests and reports are made from Embeddings, so their packages import this one, not the other way round.
    """
    _PROVIDERS.update(functions)


def provided(name: str) -> Callable[..., Any]:
    """The function that was registered under a name."""
    return _PROVIDERS[name]()


class Answers(Vectors):
    """Vectors that know how they were fitted, and can be tested."""

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

    def explain(
        self,
        word: str,
        column: str,
        *,
        values: Sequence[Any] | None = None,
        at: Mapping[str, Any] | None = None,
        passages: int = 3,
        **options: Any,
    ) -> Any:
        """What the difference of a word between two groups is made of: context words, and passages of both groups.

        The contributions of all context words add up to what `contrast` tests; see `laplex.inference.explain`.

        Args:
            word: The word.
            column: The column whose values are compared.
            values: Two values, or one, which is compared with all others. By default both values of a column that has
                two, and the earlier and the later half of one that has an order.
            at: Values of other columns, to which the text is restricted.
            passages: How many passages are shown for each group.
            **options: Those of `laplex.inference.Options`, such as `cluster` and `interval`.

        Returns:
            An Explanation, with the tables `context` and `passages`.

        Example:
            fitted.explain("war", "party").passages
        """
        return provided("explain")(self, word, column, values=values, at=at, passages=passages, **options)

    def passages(
        self, word: str, *, at: Mapping[str, Any] | None = None, top: int = 10, **options: Any
    ) -> pd.DataFrame:
        """Typical passages with a word, in the original text.

        Args:
            word: The word.
            at: Values of columns, to which the passages are restricted.
            top: How many passages are shown, at most one of a document.
            **options: `tokens`, `language`, `seed` and `threads` of `laplex.inference.Options`.

        Returns:
            A row for each passage: "before", "word", "after", the number of its document, and its metadata.

        Example:
            fitted.passages("health", at={"party": "D"})
        """
        table: pd.DataFrame = provided("passages")(self, word, at=at, top=top, **options)
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

    def _infer(self, question: str, interval: float | None, *arguments: Any, **options: Any) -> pd.DataFrame:
        """Call the function of `laplex.inference`, which reads the text again."""
        interval = DEFAULT_INTERVAL if interval is None else interval
        table: pd.DataFrame = provided(question)(self, *arguments, interval=interval, **options)
        return table


def is_inference(*options: Any) -> bool:
    """Whether an option asks what would hold in another sample."""
    return any(option is not None and option is not False for option in options)


def tested_words(top: int, words: str | Sequence[str] | None, rank: Rank, min_count: int | None) -> dict[str, Any]:
    """The options that say which words a test shows, and in which order."""
    return {
        "top": None if words is not None else top,
        "words": words,
        "rank": "evidence" if rank == "evidence" else "estimate",
        "min_count": 100 if min_count is None else min_count,
    }


def slice_values(vectors: Vectors, slice: int) -> dict[str, str]:
    """The values of the columns in a slice."""
    return dict(zip(vectors.columns, vectors.rows.slices.keys[slice]))


def in_order_of_words(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """One table of several that list the same words, in which all rows of a word are together."""
    return pd.concat(frames).sort_index(kind="stable").reset_index(drop=True)
