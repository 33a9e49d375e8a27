"""The words, columns, slices and thresholds with which reports and the explorer begin."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from laplex.embeddings import Embeddings
from laplex.errors import InputError
from laplex.lexicons import stop_words
from laplex.reports.describing import SMALL_SLICE_TOKENS
from laplex.text.tokens import Tokens

MIN_COUNTS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000)  # thresholds that are offered
MIN_COUNT_OF_CHANGE = 10  # where the threshold is lower; distances over time of rarer words are mostly noise
WORDS_ABOVE_THRESHOLD = 1_000  # about as many are left by the default threshold
FREQUENT_WORDS = 1_000  # among which the first words are chosen
MAX_FREQUENCY_RATIO = 2.0  # between the two sides, of a first word
MAX_MIN_CLUSTERS = 25


def function_words(fitted: Embeddings, language: str | None = None) -> frozenset[str]:
    """The function words of a language; of English if it has no name, none if there is no list."""
    name = fitted.languages[fitted.language(language)] or "en"
    try:
        return stop_words(name)
    except InputError:
        return frozenset()


def is_content_word(fitted: Embeddings, words: pd.Series, language: str | None = None) -> pd.Series:
    """Which words are neither function words nor numbers nor shorter than three letters."""
    texts = words.astype(str)
    return (texts.str.len() > 2) & texts.map(str.isalpha) & ~texts.isin(list(function_words(fitted, language)))


def compared_columns(fitted: Embeddings) -> list[str]:
    """Columns that differ between slices which agree in all other columns; groups before ordered columns."""
    cells = fitted.rows.slices.cells
    several = [name for name in fitted.columns if any(len(cell) > 1 for cell in cells(name))]
    return sorted(several, key=fitted.ordered)


def ordered_columns(fitted: Embeddings) -> list[str]:
    """The compared columns that have an order, such as periods."""
    return [name for name in compared_columns(fitted) if fitted.ordered(name)]


def group_columns(fitted: Embeddings) -> list[str]:
    """The compared columns that have no order, such as parties."""
    return [name for name in compared_columns(fitted) if not fitted.ordered(name)]


def min_count(fitted: Embeddings, column: str, language: str | None = None) -> int:
    """A threshold that about a thousand words reach at every value of a column."""
    counts = fitted.counts[fitted.language(language)]
    cells = [cell for cell in fitted.rows.slices.cells(column) if len(cell) > 1]
    if not cells:
        return MIN_COUNTS[0]
    values = {value for cell in cells for value in cell}
    by_value = [counts[[cell[value] for cell in cells if value in cell]].sum(0) for value in values]
    least = np.sort(np.min(by_value, axis=0))[::-1]
    reached = int(least[min(WORDS_ABOVE_THRESHOLD, len(least)) - 1]) if len(least) else 0
    return max(step for step in MIN_COUNTS if step <= max(reached, MIN_COUNTS[0]))


def min_clusters(tokens: Tokens, cluster: str) -> int:
    """How many clusters (speakers) of each group must use a word for it to be tested: an eighth of all, at most 25."""
    return max(2, min(MAX_MIN_CLUSTERS, len(tokens.values(cluster)) // 8))


def first_slice(fitted: Embeddings, without: Sequence[str] = ()) -> dict[str, str]:
    """A slice to begin with: the latest, or the first, that has enough text at all values of the columns `without`."""
    columns = [name for name in fitted.columns if name not in without]
    if not columns:
        return {}
    cells = fitted.slices.groupby(columns, sort=False)["tokens"].agg(["min", "size", "sum"]).reset_index()
    full = cells[cells["size"] == cells["size"].max()]
    large = full[full["min"] >= SMALL_SLICE_TOKENS]
    if large.empty:
        best = full.loc[full["sum"].idxmax()]
    else:
        ranks = pd.DataFrame({name: large[name].map(fitted.values(name).index) for name in columns})
        best = large.loc[ranks.sort_values(columns, ascending=[not fitted.ordered(name) for name in columns]).index[0]]
    return {name: str(best[name]) for name in columns}


def first_words(
    fitted: Embeddings, column: str | None = None, count: int = 1, language: str | None = None
) -> list[str]:
    """Frequent content words that differ most between the values of a column; without columns, frequent ones."""
    frequent = pd.Series(fitted.words(language)[:FREQUENT_WORDS], dtype=object)
    candidates = frequent[is_content_word(fitted, frequent, language)].tolist() or frequent.tolist()
    column = column or next(iter(compared_columns(fitted)), None)
    if column is None:
        return candidates[:count]
    least = min_count(fitted, column, language)
    try:
        frame = fitted.contrast(column, words=candidates, min_count=least, language=language)
    except InputError:  # no two slices differ in this column alone
        return candidates[:count]
    # names are mostly used by one side; of words that both use as often, the difference is more interesting
    one, two = (frame[side] / max(int(frame[side].sum()), 1) for side in ("count_one", "count_two"))
    shared = frame[np.maximum(one, two) <= MAX_FREQUENCY_RATIO * np.minimum(one, two)]
    return (list(dict.fromkeys([*shared["word"], *frame["word"]])) or candidates)[:count]


def check_words(fitted: Embeddings, words: Sequence[str], language: str | None = None) -> list[str]:
    """The given words, each once; an error names one that is not in the vocabulary."""
    index = fitted.language(language)
    return [fitted.rows.vocabularies[index].words[i] for i in fitted.ids(words, index)]


def first_language(fitted: Embeddings) -> str | None:
    """The language to begin with; None if there is only one."""
    return fitted.languages[0] if len(fitted.languages) > 1 else None
