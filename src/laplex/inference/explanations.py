"""Explanations: which context words and which passages make a word differ between two groups, and typical passages.

The numbers are those of `decomposition.py`; passages are shown in the original text.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from laplex import plots
from laplex.embeddings import Embeddings
from laplex.errors import InputError, check_int, quote
from laplex.fitting.provenance import tokens_of
from laplex.inference.coefficients import CoefficientQuestion, control
from laplex.inference.comparisons import Comparison, two_sides, units_on_line
from laplex.inference.contexts import pooled
from laplex.inference.decomposition import Decomposition, OccurrencePlaces, decompose, read_occurrences
from laplex.inference.occurrence_pass import OccurrencePass, score_pass
from laplex.inference.regression import regression
from laplex.inference.scores import ScorePass
from laplex.inference.units import Floats, Ints, Options, Units, gather, interval_quantile, tokens_for
from laplex.runtime.display import Cell, card
from laplex.text.tokens import Tokens

if TYPE_CHECKING:
    from laplex.plots import Chart

NEIGHBORS = 20  # on either side
CARD_CONTEXT_WORDS = 6  # of either side, in a notebook
CONTEXT_COLUMNS = ["word", "value", "contribution", "lower", "upper", "uses", "uses_other"]


@dataclass(frozen=True, eq=False)
class Explanation:
    """What a difference between two groups is made of.

    Attributes:
        word: The word.
        column: The column whose values are compared.
        values: The two groups.
        total: What is tested: the sum of all contributions.
        direction: (D) How the word's vector differs: from the second group to the first, or along an increase.
        context: A row for each context word. "value" is the group in which it is found around the word more often than
            the background there leads one to expect, "contribution" its part of the total with an interval by unit, and
            "uses" and "uses_other" how often it is around the word in that group, and in the other.
        neighbors: The words towards which the word moves: those whose vectors lie most in the direction of the
            difference ("value" is the first group), and in the opposite one.
        passages: The passages that carry the difference, the most typical of each group first, in the original text:
            "value", "before", "word" and "after", the document's number and its metadata.
    """

    word: str
    column: str
    values: tuple[str, str]
    total: float
    direction: Floats
    context: pd.DataFrame
    neighbors: pd.DataFrame
    passages: pd.DataFrame

    def plot(self, top: int = 10, exclude: Collection[str] = ()) -> Chart:
        """The context words with their shares of the difference, one group to the left, the other to the right.

        Args:
            top: The number of context words of each group, the surest.
            exclude: Context words that are left out, such as function words.

        Returns:
            A Chart.

        Example:
            fitted.explain("war", "party").plot().save("war.pdf")
        """
        return plots.explanation(self, top=top, exclude=exclude)

    def _repr_html_(self) -> str:
        table = self.context[(self.context["uses"] > 0) & (self.context["contribution"] > 0)]
        largest = float(table["contribution"].max()) if len(table) else 1.0
        rows: list[list[Cell]] = []
        folded = []
        for value in self.values:
            surest = table[table["value"] == value].sort_values("lower", ascending=False, kind="stable")
            for row in surest.head(CARD_CONTEXT_WORDS).to_dict("records"):
                size = f"{row['contribution']:.3g} ({row['lower']:.3g} to {row['upper']:.3g})"
                here_and_there = f"{row['uses']:,} / {row['uses_other']:,}"
                rows.append([value, str(row["word"]), (size, row["contribution"] / largest), here_and_there])
            near = self.neighbors.loc[self.neighbors["value"] == value, "neighbor"].astype(str).head(10)
            if len(near):
                folded.append((f"{value}: words towards which its vector lies", card("", [("", ", ".join(near))])))
        quotes = [(str(row.value), f"… {row.before}{row.word}{row.after} …") for row in self.passages.itertuples()]
        if quotes:
            folded.append((f"{len(quotes)} passages", card("", quotes)))
        heads = [self.column, "found with it", "part of the difference", "here / there"]
        return card(
            f"“{self.word}” by {self.column}: {' and '.join(self.values)}", heads=heads, rows=rows, folded=folded
        )


def explain(
    fitted: Embeddings,
    word: str,
    column: str,
    options: Options,
    *,
    values: Sequence[Any] | None,
    given: Sequence[str],
    at: Mapping[str, Any],
    passages: int,
) -> Explanation:
    """Take the difference of a word between two groups, or along a term of a formula, apart."""
    tokens, language = tokens_for(fitted, options, [column, *given]), fitted.language(options.language)
    passages = check_int("passages", passages, 0)
    if column in tokens.columns:
        options = options.with_unit(tokens, [column])
        names, units, question = _two_groups(fitted, column, tokens, options, language, values, given, at)
    else:
        options, names, units, question = _term(tokens, column, options, language, values, given, at)
    number = fitted.id(word, language)
    free = pooled(fitted, tokens, quiet=options.quiet)
    text = score_pass(fitted, tokens, units, [number], language, options)
    counts = text.counts()[0][0]
    for name, side in zip(names, question.sides):
        if not counts[list(side)].sum():
            raise InputError(f'"{word}" does not occur where {column} is {name}: there is nothing to compare')
    table = next(text.run([0], lambda table: table, with_sigma=True))
    weights = question.unit_weights(text, table)
    if weights is None:
        raise InputError(f'the text of "{word}" cannot tell "{column}" from {quote(given, 6)}: leave out a column')
    found = read_occurrences(text, [0])
    parts = decompose(text, table, found, weights)
    spelled = tokens.vocabularies[language].words
    return Explanation(
        *(spelled[number], column, names, float(parts.contribution.sum()), parts.direction),
        _context_table(parts, text.context_names, names, interval_quantile(options.interval)),
        _neighbors(free, language, number, parts.direction, names, options.min_count),
        _passages(tokens, found, parts, names, passages),
    )


def _two_groups(
    fitted: Embeddings,
    column: str,
    tokens: Tokens,
    options: Options,
    language: int,
    values: Sequence[Any] | None,
    given: Sequence[str],
    at: Mapping[str, Any],
) -> tuple[tuple[str, str], Units, Comparison | CoefficientQuestion]:
    """The names of two groups, the units, and the comparison of the groups, or with `given` a trend along an order."""
    units = gather(tokens, column, options.unit, language, at)
    names, groups = two_sides(fitted, column, units, values)
    if not given:
        return names, units, Comparison.pair(*names, *groups)
    compared = Comparison.pair(*names, *groups)
    if values is None and len(np.unique(units.label)) > 2:
        units, x, ends = units_on_line(fitted, units, column, tokens)
        # the direction of a trend is that of its increase: the later half is the first side
        compared = Comparison.trend(*ends, x).reversed()
        names = (names[1], names[0])
    units, (question,) = control([compared], units, column, tokens, given, options.unit)
    return names, units, question


def _term(
    tokens: Tokens,
    term: str,
    options: Options,
    language: int,
    values: Sequence[Any] | None,
    given: Sequence[str],
    at: Mapping[str, Any],
) -> tuple[Options, tuple[str, str], Units, CoefficientQuestion]:
    """A term of a formula, such as "party:year" given "~ party + year": names of its sides, units and question."""
    others = given[0].strip().removeprefix("~") if len(given) == 1 else " + ".join(f"`{name}`" for name in given)
    if ":" not in term or not others:
        raise InputError(
            f'there is no column "{term}"; the columns read are: {quote(tokens.columns, 30)}. A term such as '
            '"party:year" is explained given the rest of its formula: given="~ party + year"'
        )
    options, units, questions = regression(tokens, f"~ {others} + {term}", None, options, language, at)
    parts = sorted(term.replace(" ", "").split(":"))
    found = [some for some in questions if sorted(some.value.split(":")) == parts and some.has_two_sides]
    chosen = [str(value) for value in ([values] if isinstance(values, str) else values or [])]
    found = [some for some in found if not chosen or some.against in chosen]
    if len(found) != 1:
        known = [some.against for some in questions if sorted(some.value.split(":")) == parts and some.against]
        raise InputError(f'"{term}" has several levels: name one of {quote(known, 12)} by values=')
    return options, (f"more of {term}", f"less of {term}"), units, found[0]


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


def _neighbors(
    free: Embeddings, language: int, word: int, direction: Floats, names: tuple[str, str], least: int
) -> pd.DataFrame:
    """The words whose vectors lie in the direction of a difference, and in the opposite one; the closest first."""
    vectors = free.block(language, 0).astype(np.float64)
    counts = free.counts[language].sum(0)
    vectors = vectors - (counts / counts.sum()) @ vectors
    lengths = np.linalg.norm(vectors, axis=1) * max(float(np.linalg.norm(direction)), 1e-300)
    cosine = vectors @ direction / np.maximum(lengths, 1e-300)
    used = np.flatnonzero((counts >= least) & (np.arange(len(counts)) != word))
    spelled, frames = free.rows.vocabularies[language].words, []
    for sign, name in zip((1, -1), names):
        order = used[np.argsort(-sign * cosine[used], kind="stable")[:NEIGHBORS]]
        found = {"value": name, "neighbor": [spelled[i] for i in order], "similarity": sign * cosine[order]}
        frames.append(pd.DataFrame(found))
    return pd.concat(frames, ignore_index=True)


def _passages(
    tokens: Tokens, found: OccurrencePlaces, parts: Decomposition, names: tuple[str, str], most: int
) -> pd.DataFrame:
    """The most typical passages of each group, at most one of a document."""
    chosen: list[int] = []
    values: list[str] = []
    for group, name in enumerate(names):
        mine = np.flatnonzero(parts.side == group)
        mine = mine[np.argsort((2 * group - 1) * parts.typicality[mine], kind="stable")]
        first = np.sort(np.unique(found.document[mine], return_index=True)[1])[:most]
        chosen += mine[first].tolist()
        values += [name] * len(first)
    return shown_passages(tokens, found.document[chosen], found.position[chosen], {"value": values})


def shown_passages(tokens: Tokens, documents: Ints, positions: Ints, labels: Mapping[str, Any]) -> pd.DataFrame:
    """Passages in the original text, with labels before them and the metadata of their documents behind."""
    from laplex.text.passages import passages_at

    frame = passages_at(tokens, documents, positions)
    metadata = {name: [tokens.values(name)[i] for i in tokens.codes(name)[documents]] for name in tokens.columns}
    parts = [pd.DataFrame(labels, index=frame.index), frame[["before", "word", "after", "document"]]]
    return pd.concat([*parts, pd.DataFrame(metadata, index=frame.index)], axis=1)


def passages(fitted: Embeddings, word: str, options: Options, *, at: Mapping[str, Any], top: int) -> pd.DataFrame:
    """Typical passages with a word: those whose words predict the word best first."""
    tokens, language = tokens_of(fitted, options.tokens), fitted.language(options.language)
    number, documents = fitted.id(word, language), np.flatnonzero(tokens.languages == language)
    for name, value in at.items():
        values = tokens.values(name)
        if str(value) not in values:
            raise InputError(f'"{name}" has no value {value!r}; it has {quote(values, 12)}')
        documents = documents[tokens.codes(name)[documents] == values.index(str(value))]
    units = Units.group(documents, np.arange(len(documents)), np.zeros(len(documents), np.int64), ["all"])
    text = score_pass(fitted, tokens, units, [number], language, options)
    found = read_occurrences(text, [0])
    if not len(found.document):
        where = ", ".join(f"{name} is {value}" for name, value in at.items())
        raise InputError(f'"{word}" does not occur' + (f" where {where}" if where else ""))
    order = np.argsort(-_expected(text, found), kind="stable")
    order = order[np.sort(np.unique(found.document[order], return_index=True)[1])[: check_int("top", top)]]
    return shown_passages(tokens, found.document[order], found.position[order], {})


def _expected(text: ScorePass, found: OccurrencePlaces) -> Floats:
    """(n) How well the words around each occurrence predict the word: the mean of ρ·α over them."""
    if isinstance(text, OccurrencePass):
        z = text.vectors_of(found.document)
        return np.asarray(z @ z.mean(0) / np.maximum(np.linalg.norm(z, axis=1), 1e-300))
    along = text.text.alpha @ text.rho[0]
    inside = found.context >= 0
    return np.asarray(np.where(inside, along[found.context], 0.0).sum(1) / np.maximum(inside.sum(1), 1))
