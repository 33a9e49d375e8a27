"""Explanations: which context words and which passages make a word differ between two groups, and typical passages.

The numbers are those of `decomposition.py`; passages are shown in the original text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from laplex.embeddings import Embeddings
from laplex.errors import InputError, check_int, quote
from laplex.fitting.provenance import tokens_of
from laplex.inference.contexts import label_free
from laplex.inference.decomposition import Decomposition, Occurrences, decompose, read_occurrences
from laplex.inference.scores import ScorePass
from laplex.inference.units import Floats, Ints, Options, Units, gather, interval_quantile
from laplex.model.vectors import check_slice
from laplex.runtime.display import card
from laplex.text.passages import passages_at
from laplex.text.periods import positions
from laplex.text.tokens import Tokens

CONTEXT_COLUMNS = ["word", "value", "contribution", "lower", "upper", "uses", "uses_other"]


@dataclass(frozen=True, eq=False)
class Explanation:
    """What a difference between two groups is made of.

    Attributes:
        word: The word.
        column: The column whose values are compared.
        values: The two groups.
        total: What is tested: the sum of all contributions.
        context: A row for each context word. "value" is the group in which it is found around the word more often than
            the background there leads one to expect, "contribution" its part of the total with an interval by unit, and
            "uses" and "uses_other" how often it is around the word in that group, and in the other.
        passages: The passages that carry the difference, the most typical of each group first, in the original text:
            "value", "before", "word" and "after", the document's number and its metadata.
    """

    word: str
    column: str
    values: tuple[str, str]
    total: float
    context: pd.DataFrame
    passages: pd.DataFrame

    def _repr_html_(self) -> str:
        rows: list[list[str]] = []
        for value in self.values:
            words = self.context.loc[self.context["value"] == value, "word"].astype(str).tolist()
            rows.append([value, ", ".join(words[:8])])
        shown = [[str(row.value), f"… {row.before}{row.word}{row.after} …"] for row in self.passages.itertuples()]
        title = f"“{self.word}” by {self.column}: {' and '.join(self.values)}"
        return card(title, [], [self.column, "around the word, more than elsewhere"], [*rows, *shown])


def explain(
    fitted: Embeddings,
    word: str,
    column: str,
    *,
    values: Sequence[Any] | None = None,
    at: Mapping[str, Any] | None = None,
    passages: int = 3,
    **options: Any,
) -> Explanation:
    """Take the difference of a word between two groups apart, into context words and passages.

    Args:
        fitted: The model.
        word: The word.
        column: The column whose values are compared.
        values: Two values, or one, which is compared with all others. By default both values of a column that has two,
            and the earlier and the later half of one that has an order.
        at: Values of other columns, to which the text is restricted.
        passages: How many passages are shown for each group.
        **options: Those of `Options`, such as `cluster` and `interval`.

    Returns:
        The explanation, with a table of context words and a table of passages.

    Example:
        explain(fitted, "war", "party", values=["Democratic", "Republican"]).context
    """
    shared = Options.of(options, fitted.columns)
    tokens, language = tokens_of(fitted, shared.tokens), fitted.language(shared.language)
    passages, shared = check_int("passages", passages, 0), shared.with_unit(tokens, [column])
    units = gather(tokens, column, shared.cluster, language, at)
    names, groups = _sides(fitted, column, units, values)
    number = fitted.id(word, language)
    free = label_free(fitted, tokens, None, shared.quiet)
    text = ScorePass(tokens, units, free, [number], language, shared)
    counts = text.counts()[0][0]
    for name, group in zip(names, groups):
        if not counts[list(group)].sum():
            raise InputError(f'"{word}" does not occur where {column} is {name}: there is nothing to compare')
    table = next(text.run([0], lambda table: table))
    found = read_occurrences(text, [0])
    parts = decompose(text, table, found, groups)
    spelled = tokens.vocabularies[language].words
    context = _context_table(parts, spelled, names, interval_quantile(shared.interval))
    carried = _passages(tokens, found, parts, names, passages)
    return Explanation(spelled[number], column, names, float(parts.contribution.sum()), context, carried)


def _sides(
    fitted: Embeddings, column: str, units: Units, values: Sequence[Any] | None
) -> tuple[tuple[str, str], tuple[list[int], list[int]]]:
    """The names of the two groups, and their labels."""
    present = np.unique(units.label).tolist()
    known = [units.labels[label] for label in present]
    if values is None and len(known) > 2:
        line = positions(known)
        if line is None and column in fitted.columns and fitted.ordered(column):
            line = np.arange(len(known), dtype=np.float64)
        if line is None:
            raise InputError(f'"{column}" has {len(known)} values: name one or two of {quote(known, 12)} by values=')
        early = line < (line[0] + line[-1]) / 2
        halves = [np.flatnonzero(early), np.flatnonzero(~early)]
        ends = [(known[half[0]], known[half[-1]]) for half in halves]
        names = [one if one == two else f"{one} to {two}" for one, two in ends]
        sides = [[present[i] for i in half] for half in halves]
        return (names[0], names[1]), (sides[0], sides[1])
    chosen = known if values is None else [str(value) for value in ([values] if isinstance(values, str) else values)]
    if unknown := [value for value in chosen if value not in known]:
        raise InputError(f'"{column}" has no value {unknown[0]!r}; it has {quote(known, 12)}')
    if not 1 <= len(set(chosen)) == len(chosen) <= 2:
        raise InputError(f"values={values!r}: name two values, or one to compare with all others")
    first = [units.labels.index(chosen[0])]
    if len(chosen) == 2:
        return (chosen[0], chosen[1]), (first, [units.labels.index(chosen[1])])
    return (chosen[0], f"not {chosen[0]}"), (first, [label for label in present if label not in first])


def _context_table(parts: Decomposition, words: Sequence[str], names: tuple[str, str], z: float) -> pd.DataFrame:
    """A row for each context word, those that contribute most first."""
    around = np.flatnonzero(parts.count.sum(0) > 0)
    more = np.where(parts.excess[around] > 0, 0, 1)
    contribution, width = parts.contribution[around], z * parts.error[around]
    columns = {
        "word": [words[i] for i in around.tolist()],
        "value": np.array(names, object)[more],
        "contribution": contribution,
    }
    columns |= {"lower": contribution - width, "upper": contribution + width}
    columns |= {"uses": parts.count[more, around], "uses_other": parts.count[1 - more, around]}
    table = pd.DataFrame(columns)[CONTEXT_COLUMNS]
    return table.sort_values(["contribution", "word"], ascending=[False, True]).reset_index(drop=True)


def _passages(
    tokens: Tokens, found: Occurrences, parts: Decomposition, names: tuple[str, str], most: int
) -> pd.DataFrame:
    """The most typical passages of each group, at most one of a document."""
    chosen: list[int] = []
    values: list[str] = []
    for group, name in enumerate(names):
        mine = np.flatnonzero(parts.group == group)
        mine = mine[np.argsort((2 * group - 1) * parts.typicality[mine], kind="stable")]
        first = np.sort(np.unique(found.document[mine], return_index=True)[1])[:most]
        chosen += mine[first].tolist()
        values += [name] * len(first)
    return shown_passages(tokens, found.document[chosen], found.position[chosen], {"value": values})


def shown_passages(tokens: Tokens, documents: Ints, positions: Ints, labels: Mapping[str, Any]) -> pd.DataFrame:
    """Passages in the original text, with labels before them and the metadata of their documents behind."""
    frame = passages_at(tokens, documents, positions)
    metadata = {name: [tokens.values(name)[i] for i in tokens.codes(name)[documents]] for name in tokens.columns}
    parts = [pd.DataFrame(labels, index=frame.index), frame[["before", "word", "after", "document"]]]
    return pd.concat([*parts, pd.DataFrame(metadata, index=frame.index)], axis=1)


def passages(
    fitted: Embeddings, word: str, *, at: Mapping[str, Any] | None = None, top: int = 10, **options: Any
) -> pd.DataFrame:
    """Show typical passages with a word, in the original text.

    Args:
        fitted: The model.
        word: The word.
        at: Values of columns, to which the passages are restricted.
        top: How many passages are shown, at most one of a document.
        **options: `tokens`, `language`, `seed` and `threads` of `Options`.

    Returns:
        A row for each passage, those whose words predict the word best first: "before", "word", "after", the number of
        the document, and its metadata.

    Example:
        passages(fitted, "health", at={"party": "D"})
    """
    shared = Options.of(options, fitted.columns)
    tokens, language = tokens_of(fitted, shared.tokens), fitted.language(shared.language)
    number, documents = fitted.id(word, language), np.flatnonzero(tokens.languages == language)
    for name, value in check_slice(at).items():
        values = tokens.values(name)
        if str(value) not in values:
            raise InputError(f'"{name}" has no value {value!r}; it has {quote(values, 12)}')
        documents = documents[tokens.codes(name)[documents] == values.index(str(value))]
    units = Units.group(documents, np.arange(len(documents)), np.zeros(len(documents), np.int64), ["all"])
    free = label_free(fitted, tokens, None, shared.quiet)
    text = ScorePass(tokens, units, free, [number], language, shared)
    found = read_occurrences(text, [0])
    if not len(found.document):
        where = ", ".join(f"{name} is {value}" for name, value in (at or {}).items())
        raise InputError(f'"{word}" does not occur' + (f" where {where}" if where else ""))
    order = np.argsort(-_expected(text, found), kind="stable")
    order = order[np.sort(np.unique(found.document[order], return_index=True)[1])[: check_int("top", top)]]
    return shown_passages(tokens, found.document[order], found.position[order], {})


def _expected(text: ScorePass, found: Occurrences) -> Floats:
    """(n) How well the words around each occurrence predict the word: the mean of ρ·α over them."""
    along = text.text.alpha @ text.rho[0]
    inside = found.context >= 0
    return np.asarray(np.where(inside, along[found.context], 0.0).sum(1) / np.maximum(inside.sum(1), 1))
