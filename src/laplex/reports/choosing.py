"""The words, columns, slices and thresholds with which reports and the explorer begin."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from laplex.embeddings import Embeddings
from laplex.errors import InputError
from laplex.reports.describing import SMALL_SLICE_TOKENS
from laplex.text.spelling import split_tag

MIN_COUNTS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000)  # thresholds that are offered
MIN_COUNT_OF_DISTANCES = 10  # where the threshold is lower; bare distances of rarer words are mostly noise
WORDS_ABOVE_THRESHOLD = 1_000  # about as many are left by the default threshold
FREQUENT_WORDS = 1_000  # among which the first words are chosen
JOINTS = r"(?<=\w)[-_'’ ](?=\w)"  # within a word or a phrase
MAX_FREQUENCY_RATIO = 2.0  # between the two sides, of a first word


def inference(fitted: Embeddings, language: str | None = None, **options: Any) -> Any:
    """The `laplex.inference.Inference` that asks for findings, without a word on the way."""
    return fitted.inference(language=language, quiet=True, **options)


def function_words(fitted: Embeddings, language: str | None = None) -> frozenset[str]:
    """The words that tables of findings leave out."""
    words: frozenset[str] = inference(fitted, language).excluded()
    return words


def is_content_word(fitted: Embeddings, words: pd.Series, language: str | None = None) -> pd.Series:
    """Which words are neither function words nor numbers nor shorter than three letters."""
    texts = words.astype(str)
    letters = texts.map(lambda word: split_tag(word)[0]).astype(str).str.replace(JOINTS, "", regex=True)
    return (
        (letters.str.len() > 2)
        & letters.map(str.isalpha).astype(bool)
        & ~texts.isin(list(function_words(fitted, language)))
    )


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


def first_slice(fitted: Embeddings, without: Sequence[str] = ()) -> dict[str, str]:
    """A slice to begin with: the latest, and of these the largest, with enough text at all values of `without`."""
    columns = [name for name in fitted.columns if name not in without]
    if not columns:
        return {}
    cells = fitted.slices.groupby(columns, sort=False)["tokens"].agg(["min", "size", "sum"]).reset_index()
    full = cells[cells["size"] == cells["size"].max()]
    large = full[full["min"] >= SMALL_SLICE_TOKENS]
    if large.empty:
        best = full.loc[full["sum"].idxmax()]
    else:
        ranks = [large[name].map(fitted.values(name).index) for name in columns if fitted.ordered(name)]
        best = large.iloc[np.lexsort([large["sum"], *reversed(ranks)])[-1]]
    return {name: str(best[name]) for name in columns}


def slices_to_show(fitted: Embeddings, column: str | None, most: int) -> list[int]:
    """Slices to stand side by side: as many at each value of the compared column, at the same values of the others.

    Of more values than there is room for, those with most text are shown, or of an ordered column some at equal steps.
    """
    frame = fitted.slices.reset_index(drop=True)
    if len(frame) <= most:
        return list(range(len(frame)))
    if column is None or column not in fitted.columns:
        return sorted(frame.nlargest(most, "tokens", keep="first").index.tolist())
    others = [name for name in fitted.columns if name != column]
    cell = pd.Series(list(frame[others].itertuples(index=False, name=None)), index=frame.index)
    sizes = frame.groupby(column)["tokens"].sum().reindex(fitted.values(column)).dropna()
    room = max(2, most // cell.nunique()) if fitted.ordered(column) else most
    values = _some(sizes, min(room, most), line=fitted.ordered(column))
    frame = frame[frame[column].isin(values)]
    cells = frame.groupby(cell, sort=False)["tokens"].agg(["size", "sum"])
    cells = cells.sort_values(["size", "sum"], ascending=False, kind="stable")
    shared, room = cells[cells["size"] == cells["size"].max()]["sum"], most // len(values)
    if len(others) == 1 and fitted.ordered(others[0]):
        shared = shared.loc[sorted(shared.index, key=lambda key: fitted.values(others[0]).index(key[0]))]
        shared = shared.loc[_some(shared, room, line=True)]
    rank = {key: number for number, key in enumerate(dict.fromkeys([*shared.index, *cells.index]))}
    first = frame.assign(rank=cell.map(rank)).sort_values("rank").groupby(column, sort=False).head(room)
    return sorted(first.index.tolist())


def _some(sizes: pd.Series, most: int, line: bool) -> list[Any]:
    """Of the labels of sizes, as many as there is room for: at equal steps of a line, else the largest."""
    if len(sizes) <= most:
        return list(sizes.index)
    if not line:
        return list(sizes.nlargest(most, keep="first").index)
    steps = np.linspace(0, len(sizes) - 1, most).round().astype(int) if most > 1 else [len(sizes) - 1]
    return [sizes.index[step] for step in steps]


def stored_findings(fitted: Embeddings, language: str | None = None) -> dict[str, pd.DataFrame]:
    """The findings that are kept with a model, by column; columns where something holds come first."""
    asked = inference(fitted, language)
    found = {column: asked.stored(column) for column in compared_columns(fitted)}
    tables = {column: table for column, table in found.items() if table is not None}
    return dict(sorted(tables.items(), key=lambda item: not item[1]["holds"].any()))


def comparisons(frame: pd.DataFrame) -> list[tuple[str, str]]:
    """The comparisons in a table of findings, those with most rows that hold first; of bare distances, most rows."""
    pairs = frame.groupby(["value", "against"], sort=False)
    held = pairs["holds"].sum() if "holds" in frame else pairs.size()
    return [(str(one), str(two)) for one, two in held.sort_values(ascending=False, kind="stable").index]


def first_words(
    fitted: Embeddings, column: str | None = None, count: int = 1, language: str | None = None
) -> list[str]:
    """Words to begin with: those of stored findings, else frequent ones that differ most by the bare distance."""
    frequent = pd.Series(fitted.words(language)[:FREQUENT_WORDS], dtype=object)
    candidates = frequent[is_content_word(fitted, frequent, language)].tolist() or frequent.tolist()
    stored = stored_findings(fitted, language)
    tables = [stored[name] for name in ([column] if column else stored) if name in stored]
    found = pd.concat([table[table["holds"]] for table in tables]) if tables else pd.DataFrame({"word": []})
    words = found["word"][is_content_word(fitted, found["word"], language)].tolist()
    column = column or next(iter(compared_columns(fitted)), None)
    if len(words) < count and column is not None:
        words += _most_distant(fitted, column, candidates, language)
    return list(dict.fromkeys([*words, *candidates]))[:count]


def _most_distant(fitted: Embeddings, column: str, words: Sequence[str], language: str | None) -> list[str]:
    """The words that are farthest apart at the values of a column, those first that both sides use as often."""
    try:
        frame = inference(fitted, language).contrast(column, words, test=False)
    except InputError:  # no two slices differ in this column alone
        return []
    least = min_count(fitted, column, language)
    frame = frame[frame[["uses", "uses_against"]].min(axis=1) >= least]
    # names are mostly used by one side; of words that both use as often, the difference is more interesting
    one, two = (frame[side] / max(int(frame[side].sum()), 1) for side in ("uses", "uses_against"))
    shared = frame[np.maximum(one, two) <= MAX_FREQUENCY_RATIO * np.minimum(one, two)]
    return [*shared["word"], *frame["word"]]


def bare(fitted: Embeddings, question: str, language: str | None) -> tuple[Any, dict[str, Any]]:
    """What answers a question by the vectors alone, at once, and the options that it needs for that.

    That is the model itself, or for a language that its method does not take, the object that tests share.
    """
    if language is None:
        return fitted, {"test": False}
    if "language" in inspect.signature(getattr(fitted, question)).parameters:
        return fitted, {"language": language, "test": False}
    return fitted.inference(language=language), {"test": False}


def check_words(fitted: Embeddings, words: Sequence[str], language: str | None = None) -> list[str]:
    """The given words, each once; an error names one that is not in the vocabulary."""
    index = fitted.language(language)
    return [fitted.rows.vocabularies[index].words[i] for i in fitted.ids(words, index)]


def first_language(fitted: Embeddings) -> str | None:
    """The language to begin with; None if there is only one."""
    return fitted.languages[0] if len(fitted.languages) > 1 else None
