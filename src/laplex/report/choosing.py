"""Where to begin? Words, columns and thresholds that make a good first look at a model nobody has looked at yet.

Embeddings come in; names and numbers go out. V words.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from laplex.embeddings import Embeddings
from laplex.errors import InputError
from laplex.lexicons import stop_words
from laplex.report.describing import SMALL
from laplex.tokens import Tokens

STEPS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000)  # thresholds that are offered
KEPT = 1_000  # about so many words are left by the threshold that is chosen
FREQUENT = 1_000  # a first word is among so many of the most frequent
SHARED = 2.0  # and at most so many times as frequent on one side as on the other


def function_words(fitted: Embeddings, language: str | None = None) -> frozenset[str]:
    """Words without a content of their own: of the language if it is known, of English if it has no name."""
    name = fitted.languages[fitted.language(language)] or "en"
    try:
        return stop_words(name)
    except InputError:
        return frozenset()


def has_content(words: pd.Series, without: frozenset[str]) -> pd.Series:
    """Which words are more than a function word, a number or two letters?"""
    texts = words.astype(str)
    return (texts.str.len() > 2) & texts.map(str.isalpha) & ~texts.isin(list(without))


def ordered_columns(fitted: Embeddings) -> list[str]:
    """Columns with an order, such as periods, along which there is something to compare."""
    return [name for name in compared_columns(fitted) if fitted.ordered(name)]


def compared_columns(fitted: Embeddings) -> list[str]:
    """Columns of which two values meet in slices that agree in all else; groups before periods."""
    cells = fitted.rows.slices.cells
    several = [name for name in fitted.columns if any(len(cell) > 1 for cell in cells(name))]
    return sorted(several, key=lambda name: fitted.ordered(name))


def min_count(fitted: Embeddings, column: str, language: str | None = None) -> int:
    """A threshold that leaves about a thousand words which occur so often at every value of a column."""
    index = fitted.language(language)
    cells = [list(cell.values()) for cell in fitted.rows.slices.cells(column) if len(cell) > 1]
    if not cells:
        return STEPS[0]
    place = fitted.columns.index(column)
    keys = fitted.rows.slices.keys
    met = sorted({slice for cell in cells for slice in cell})
    by_value = [
        fitted.counts[index][[slice for slice in met if keys[slice][place] == value]].sum(0)
        for value in {keys[slice][place] for slice in met}
    ]
    least = np.sort(np.min(by_value, axis=0))[::-1]
    reached = int(least[min(KEPT, len(least)) - 1]) if len(least) else 0
    return max(step for step in STEPS if step <= max(reached, STEPS[0]))


def min_clusters(tokens: Tokens, cluster: str) -> int:
    """At how many values of a cluster a word has to occur in each group, to be tested: some of them, at most 25."""
    return max(2, min(25, len(tokens.values(cluster)) // 8))


def first_slice(fitted: Embeddings, without: Sequence[str] = ()) -> dict[str, str]:
    """A slice to begin with: the latest, or the first, for which there is text enough at all values of `without`."""
    slices = fitted.slices
    columns = [name for name in fitted.columns if name not in without]
    if not columns:
        return {}
    cells = slices.groupby(columns, sort=False)["tokens"].agg(["min", "size", "sum"]).reset_index()
    full = cells[cells["size"] == cells["size"].max()]
    enough = full[full["min"] >= SMALL]
    if enough.empty:
        best = full.loc[full["sum"].idxmax()]
    else:
        orders = {name: fitted.values(name) for name in columns}
        signs = {name: -1 if fitted.ordered(name) else 1 for name in columns}
        rank = enough[columns].apply(lambda row: tuple(signs[n] * orders[n].index(row[n]) for n in columns), axis=1)
        best = enough.loc[rank.sort_values().index[0]]
    return {name: str(best[name]) for name in columns}


def telling_words(
    fitted: Embeddings, column: str | None = None, most: int = 1, language: str | None = None
) -> list[str]:
    """Frequent words with a content that differ much, in the order of how much; without columns, frequent words."""
    index = fitted.language(language)
    names = fitted.rows.vocabularies[index].words
    frequent = pd.Series(names[:FREQUENT], dtype=object)
    candidates = frequent[has_content(frequent, function_words(fitted, language))].tolist() or frequent.tolist()
    columns = [column] if column else compared_columns(fitted)
    for name in columns[:1]:
        try:
            frame = fitted.contrast(
                name, words=candidates, min_count=min_count(fitted, name, language), language=language
            )
        except InputError:  # no two slices differ in this column alone
            break
        # a name belongs to one side; what both sides say differs in an interesting way
        one, two = (frame[side] / max(int(frame[side].sum()), 1) for side in ("count_one", "count_two"))
        shared = frame[np.maximum(one, two) <= SHARED * np.minimum(one, two)]
        found = list(dict.fromkeys([*shared["word"], *frame["word"]]))
        if found:
            return found[:most]
    return candidates[:most]


def known_words(fitted: Embeddings, words: Sequence[str], language: str | None = None) -> list[str]:
    """The given words, each once; complains about one that is not known."""
    index = fitted.language(language)
    names = fitted.rows.vocabularies[index].words
    return [names[i] for i in fitted.ids(words, index)]


def first_language(fitted: Embeddings) -> str | None:
    """The language that is looked at first; None if there is one alone."""
    return fitted.languages[0] if len(fitted.languages) > 1 else None
