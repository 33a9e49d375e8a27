"""Findings: how words differ in a comparison, how sure that is, and what the difference is made of.

All comparisons of one column are tested in one pass over the text. What the tests gave is kept (`Findings`), so that a
model can store it: intervals, adjusted p-values and the order of rows are made when a table is asked for.
n words.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from laplex.errors import StorageError
from laplex.inference.coefficients import CoefficientQuestion
from laplex.inference.comparisons import Comparison
from laplex.inference.decomposition import OccurrencePlaces, decompose, read_occurrences
from laplex.inference.score_test import effect_bounds
from laplex.inference.scores import ScorePass, ScoreTable
from laplex.inference.testing import WordOutcome, adjust_p, run_tests
from laplex.inference.units import Floats, Ints, Options
from laplex.runtime import storage

COLUMNS = ["word", "value", "against", "estimate", "lower", "upper", "p", "p_adjusted", "holds"]
SIDES = ["value", "against"]
COUNTS = ["uses", "uses_against", "units", "units_against"]
COLUMNS += [*COUNTS, "context", "context_against", "permutations"]
NUMBERS = ["square", "variance", "direction_variance", "freedom", "p", "permutations", *COUNTS]
TEXTS = ["word", "value", "against", "context", "context_against"]
EXPLAINED = 200  # words of a comparison for which typical context words are found, those that come first
MAX_COUNT = 2**53  # beyond which a stored number is no count
OCCURRENCES_TOGETHER = 2**21  # of all words that are explained, each with the words around it; of more, a sample
CONTEXT_WORDS = 4  # that are shown for each side

Question = Comparison | CoefficientQuestion


@dataclass(frozen=True, eq=False)
class Findings:
    """What tests gave: a row for each word and comparison, with NUMBERS and TEXTS, and facts about all of them."""

    frame: pd.DataFrame
    facts: dict[str, Any]

    @classmethod
    def ask(
        cls,
        text: ScorePass,
        words: Sequence[str],
        comparisons: Sequence[Question],
        options: Options,
        *,
        named: bool,
        ignored: Collection[str],
    ) -> Findings:
        """Test the words of a pass that have enough text. Others are listed without numbers if they are `named`.

        `ignored` are words that say nothing about a difference, such as function words.
        """
        counts = text.counts()[0]
        tests, sizes = [], []
        for comparison in comparisons:
            uses = np.stack([counts[:, list(side)].sum(1) for side in comparison.sides], 1)
            units = comparison.units_using(text)
            enough = (uses.sum(1) >= options.min_count) & (units.min(1) >= options.fewest)
            tests.append(comparison.test(text, enough, options.seed))
            sizes.append(np.concatenate([uses, units], 1))
        frames = []
        for comparison, found, size in zip(comparisons, run_tests(text, tests, options.permutations), sizes):
            ids = np.arange(len(words)) if named else np.array(sorted(found), np.int64)
            frame = _frame(comparison, [words[i] for i in ids.tolist()], [found.get(i) for i in ids.tolist()])
            frame[COUNTS] = size[ids]
            frames.append(_explained(text, comparison, frame, ids, ignored))
        untested = int(np.count_nonzero(~np.any([test.tested for test in tests], axis=0)))
        facts = {"units": int(text.units.cluster.max()) + 1, "untested": untested, "unit": options.unit}
        facts |= {"min_units": options.fewest, "min_count": options.min_count}
        return cls(pd.concat(frames, ignore_index=True), facts)

    def table(
        self,
        options: Options,
        *,
        words: Sequence[str] | None,
        exclude: Collection[str],
        columns: Sequence[str] = COLUMNS,
        by_value: bool = False,
    ) -> pd.DataFrame:
        """The rows in the order of what is sure: first those that hold, by the lower end of their interval.

        p is adjusted over these rows, which are those of `words` if they are given, and else all but `exclude`; or over
        those with the same "value", such as the term of a regression.
        """
        frame = self.frame
        keep = frame["word"].isin(list(words)) if words is not None else ~frame["word"].isin(list(exclude))
        frame = frame[keep].reset_index(drop=True)
        z = scipy.special.stdtrit(np.maximum(frame["freedom"].to_numpy(np.float64), 1.0), 0.5 + options.interval / 2)
        square, variance, along = (frame[name].to_numpy(np.float64) for name in NUMBERS[:3])
        lower, upper = effect_bounds(square, variance, along, z)
        estimate, lower, upper = np.sqrt(np.maximum([square, lower, upper], 0.0))
        deviation = np.sqrt(np.maximum(variance + 4 * along * np.maximum(square, 0.0), 0.0))  # of the square
        error = deviation / (2 * np.maximum(estimate, np.sqrt(deviation / 2)))
        frame = frame.assign(estimate=estimate, standard_error=error, lower=lower, upper=upper)
        family = frame["value"] if by_value else pd.Series(0, index=frame.index)
        frame["p_adjusted"] = frame.groupby(family)["p"].transform(lambda p: adjust_p(p.to_numpy(np.float64)))
        frame["holds"] = holds(frame, options)
        frame = frame.sort_values(["holds", "lower", "estimate", "word"], ascending=[False, False, False, True])
        return frame[columns].reset_index(drop=True)

    def only(self, values: Collection[str]) -> Findings | None:
        """Those of some comparisons, by their "value"; None if one of them is not there."""
        if not set(values) <= set(self.frame["value"]):
            return None
        return replace(self, frame=self.frame[self.frame["value"].isin(list(values))])

    def incomplete(self, words: Sequence[str]) -> list[str]:
        """The words that have no row in some comparison."""
        rows, comparisons = self.frame["word"].value_counts(), len(self.frame[SIDES].drop_duplicates())
        return [word for word in words if rows.get(word, 0) < comparisons]

    def rows_without_counts(self, words: Sequence[str]) -> pd.DataFrame:
        """Rows without numbers for the comparisons in which words have none."""
        rows = pd.DataFrame({"word": list(words)}).merge(self.frame[SIDES].drop_duplicates(), how="cross")
        known = pd.MultiIndex.from_frame(self.frame[["word", *SIDES]])
        rows = rows[~pd.MultiIndex.from_frame(rows).isin(known)]
        rows = rows.assign(context="", context_against="", permutations=0).reindex(columns=self.frame.columns)
        return rows.astype(dict.fromkeys(["permutations", *COUNTS], "Int64"))

    def arrays(self) -> dict[str, Any]:
        """As arrays, to be stored with a model."""
        arrays: dict[str, Any] = {"numbers": self.frame[NUMBERS].to_numpy(np.float64)}
        for name in TEXTS:
            arrays[f"{name}/text"], arrays[f"{name}/starts"] = storage.pack(self.frame[name].tolist())
        return arrays

    @classmethod
    def load(cls, arrays: Mapping[str, Any], facts: Mapping[str, Any]) -> Findings:
        """From arrays; StorageError if they do not fit together."""
        try:
            texts = {name: storage.unpack(arrays[f"{name}/text"], arrays[f"{name}/starts"]) for name in TEXTS}
            "".join(text for column in texts.values() for text in column).encode()  # ValueError for half a character
            numbers = arrays["numbers"]
        except (KeyError, ValueError, TypeError) as error:
            raise StorageError(f"the stored tests are damaged: {error}") from None
        if numbers.dtype != np.float64 or numbers.ndim != 2 or numbers.shape[1] != len(NUMBERS):
            raise StorageError("the stored tests are damaged: their numbers")
        frame = pd.DataFrame(np.array(numbers), columns=NUMBERS)
        counted = frame[["permutations", *COUNTS]].to_numpy()
        if not np.isfinite(numbers).all() or not frame["p"].between(0, 1).all() or (abs(counted) > MAX_COUNT).any():
            raise StorageError("the stored tests are damaged: their numbers")
        if any(len(column) != len(frame) for column in texts.values()) or not _are_facts(facts):
            raise StorageError("the stored tests are damaged: their words or facts")
        return cls(frame.astype(dict.fromkeys(["permutations", *COUNTS], np.int64)).assign(**texts), dict(facts))


def _are_facts(facts: Mapping[str, Any]) -> bool:
    """Whether facts are of the types that `Findings.ask` gives them."""
    numbers, names = ("units", "untested", "min_units", "min_count"), ("unit", "decided_by")
    return all(isinstance(facts.get(name), int) for name in numbers) and all(
        isinstance(facts.get(name), str | None) for name in names
    )


def holds(frame: pd.DataFrame, options: Options) -> pd.Series:
    """Which rows hold: adjusted p is small enough, and the lower end of the interval large enough."""
    return (frame["p_adjusted"] <= options.level) & (frame["lower"] >= options.min_effect)


def _frame(comparison: Question, words: Sequence[str], found: Sequence[WordOutcome | None]) -> pd.DataFrame:
    """A row for each word with what its test gave, if it has one."""
    numbers = np.full((len(words), 6), np.nan)
    numbers[:, -1] = 0
    for row, finding in enumerate(found):
        if finding is not None:
            effect = finding.effect
            numbers[row] = effect.square, effect.variance, effect.direction_variance, effect.freedom, *finding[1:]
    frame = pd.DataFrame(numbers, columns=NUMBERS[:6]).astype({"permutations": np.int64})
    labels = {"word": list(words), "value": comparison.value, "against": comparison.against}
    return pd.DataFrame(labels, index=frame.index).join(frame).assign(context="", context_against="")


def _explained(
    text: ScorePass, comparison: Question, frame: pd.DataFrame, ids: Ints, ignored: Collection[str]
) -> pd.DataFrame:
    """The frame with typical context words for the rows that come first, other than words that say nothing."""
    tested = frame["p"].notna()
    if not tested.any() or not comparison.has_two_sides:
        return frame
    first = Findings(frame[tested], {}).table(Options(), words=None, exclude=ignored)["word"][:EXPLAINED]
    rows = np.flatnonzero(frame["word"].isin(list(first)))
    names, chosen = np.array(text.context_names, object), ids[rows].tolist()
    unshown = np.isin(names, list(ignored))
    row_of = dict(zip(chosen, rows.tolist()))
    # all in one reading: in batches, their number and the length of a reading would both grow with the text
    occurrences = read_occurrences(text, chosen, OCCURRENCES_TOGETHER)
    place = {word: number for number, word in enumerate(chosen)}

    def contexts(table: ScoreTable) -> tuple[str, str]:
        mine, itself = occurrences.of(place[table.word]), names == text.vocabulary.words[table.id]
        return typical_words(text, table, mine, comparison, unshown | itself)

    for word, (one, two) in zip(chosen, text.run(chosen, contexts, "context words", with_sigma=True)):
        frame.loc[row_of[word], ["context", "context_against"]] = one, two
    return frame


def typical_words(
    text: ScorePass, table: ScoreTable, found: OccurrencePlaces, comparison: Question, ignored: NDArray[np.bool_]
) -> tuple[str, str]:
    """The context words that contribute most to a difference and are found more often on a side, for both sides."""
    weights = comparison.unit_weights(text, table)
    if weights is None:
        return "", ""
    parts = decompose(text, table, found, weights)
    rate: Floats = parts.count / np.maximum(np.bincount(parts.side[parts.side >= 0], minlength=2), 1)[:, None]
    more = rate[0] - rate[1]
    names, sides = text.context_names, []
    for sign in (1, -1):
        sure = np.where((sign * parts.excess > 0) & (sign * more > 0) & ~ignored, parts.contribution - parts.error, 0.0)
        order = np.argsort(-sure, kind="stable")[:CONTEXT_WORDS]
        sides.append(", ".join(names[i] for i in order if sure[i] > 0))
    return sides[0], sides[1]
