"""Findings: how a word differs between groups of labels, how sure that is, and what the difference is made of.

A question compares one group of labels with another, any of several, or first with last along a line. All questions
about one column are answered in one pass over the text. The answers are kept as they come (`Findings`), so that a model
can store them: intervals, adjusted p-values and the order of rows are made when a table is asked for.
n words, U units.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from laplex.embeddings import Embeddings
from laplex.errors import StorageError
from laplex.fitting.provenance import tokens_of
from laplex.inference.contexts import label_free
from laplex.inference.decomposition import Occurrences, decompose, read_occurrences
from laplex.inference.differences import units_on_line
from laplex.inference.permutations import Design, Difference, Permutations, Trend
from laplex.inference.score_test import Effect, GroupScores, difference_effect, trend_effect
from laplex.inference.scores import ScorePass, ScoreTable
from laplex.inference.testing import WordTest, adjust_p, run_tests
from laplex.inference.units import Floats, Ints, Options, gather
from laplex.runtime import storage

COLUMNS = ["word", "value", "against", "estimate", "lower", "upper", "p", "p_adjusted", "holds"]
COLUMNS += ["uses", "uses_against", "units", "units_against", "context", "context_against", "permutations"]
NUMBERS = ["square", "variance", "direction_variance", "freedom", "p", "permutations"]
NUMBERS += ["uses", "uses_against", "units", "units_against"]
EXPLAINED = 60  # words of a question for which the typical context words are found, those that come first
CONTEXT_WORDS = 4  # that are shown for each side


@dataclass(frozen=True)
class Question:
    """What is compared: sides of labels, by name, and the labels that stand on each side for what it is made of."""

    value: str
    against: str
    groups: tuple[tuple[int, ...], ...]
    design: Design
    sides: tuple[tuple[int, ...], tuple[int, ...]]

    @classmethod
    def pair(cls, value: str, against: str, one: Sequence[int], two: Sequence[int]) -> Question:
        """Whether one group of labels differs from another."""
        sides = tuple(one), tuple(two)
        return cls(value, against, sides, Difference(2), sides)

    @classmethod
    def joint(cls, labels: Sequence[int]) -> Question:
        """Whether any of some labels differ."""
        groups = tuple((label,) for label in labels)
        return cls("any", "others", groups, Difference(len(labels)), (tuple(labels[:1]), tuple(labels[1:])))

    @classmethod
    def trend(cls, first: str, last: str, x: Floats) -> Question:
        """Whether a word moves along a line on which the labels stand at x; its halves are the sides."""
        labels = tuple((label,) for label in range(len(x)))
        middle = float(np.mean(x[[0, -1]]))
        early = tuple(np.flatnonzero(x < middle).tolist())
        return cls(first, last, labels, Trend(x), (early, tuple(np.flatnonzero(x >= middle).tolist())))

    def test(self, text: ScorePass, tested: NDArray[np.bool_], seed: Sequence[int]) -> WordTest:
        """The test of this question for words (n)."""
        effect: Callable[[GroupScores], Effect] = difference_effect
        if isinstance(self.design, Trend):
            effect = partial(trend_effect, x=self.design.x.astype(np.float64))
        draws = Permutations.of(text.units, self.groups, not text.cells.shared, seed)
        return WordTest(tested, self.groups, self.design, effect, draws)


@dataclass(frozen=True, eq=False)
class Findings:
    """What tests said, a row for each word and question: the numbers of NUMBERS, and the typical context words."""

    frame: pd.DataFrame

    @classmethod
    def ask(
        cls,
        text: ScorePass,
        words: Sequence[str],
        questions: Sequence[Question],
        *,
        least: tuple[int, int],
        permutations: int | None,
        seed: int,
        explained: int = EXPLAINED,
        unexplaining: Collection[str] = (),
    ) -> Findings:
        """Test all words of a pass that have `least` uses, and units at each side; those without are left out.

        `unexplaining` are words that say nothing about a difference, such as function words.
        """
        counts = text.counts()[0]
        tests, sizes = [], []
        for question in questions:
            uses = np.stack([counts[:, list(side)].sum(1) for side in question.sides], 1)
            units = _units_at(text, question)
            enough = (uses.sum(1) >= least[0]) & (units.min(1) >= least[1])
            tests.append(question.test(text, enough, [seed, 5, *question.sides[0], *question.sides[1]]))
            sizes.append((uses, units))
        frames = []
        for question, found, (uses, units) in zip(questions, run_tests(text, tests, permutations), sizes):
            ids = sorted(found)
            numbers = np.array([(*_numbers(found[i].effect), found[i].p, found[i].permutations) for i in ids])
            frame = pd.DataFrame(numbers.reshape(-1, 6), columns=NUMBERS[:6])
            frame[["uses", "uses_against"]], frame[["units", "units_against"]] = uses[ids], units[ids]
            frame = frame.astype({"permutations": np.int64})
            labels = {"word": [words[i] for i in ids], "value": question.value, "against": question.against}
            frame = pd.DataFrame(labels, index=frame.index).join(frame).assign(context="", context_against="")
            frames.append(_explained(text, question, frame, np.array(ids, np.int64), explained, unexplaining))
        return cls(pd.concat(frames, ignore_index=True))

    def table(
        self,
        *,
        interval: float,
        level: float,
        min_effect: float = 0.0,
        exclude: Collection[str] = (),
        words: Sequence[str] | None = None,
    ) -> pd.DataFrame:
        """The rows in the order of what is sure: first those that hold, by the lower end of their interval."""
        frame = self.frame
        keep = frame["word"].isin(list(words)) if words is not None else ~frame["word"].isin(list(exclude))
        frame = frame[keep].reset_index(drop=True)
        ends = np.array([_effect(row).interval(interval) for row in frame[NUMBERS].itertuples(index=False)])
        sizes = np.sqrt(np.maximum(np.column_stack([frame["square"], ends.reshape(-1, 2)]), 0.0))
        frame = frame.assign(estimate=sizes[:, 0], lower=sizes[:, 1], upper=sizes[:, 2])
        frame["p_adjusted"] = adjust_p(frame["p"].to_numpy(np.float64))
        frame["holds"] = (frame["p_adjusted"] <= level) & (frame["lower"] >= min_effect)
        frame = frame.sort_values(["holds", "lower", "estimate", "word"], ascending=[False, False, False, True])
        return frame[COLUMNS].reset_index(drop=True)

    def arrays(self) -> dict[str, Any]:
        """As arrays, to be stored with a model."""
        arrays: dict[str, Any] = {"numbers": self.frame[NUMBERS].to_numpy(np.float64)}
        for name in ("word", "value", "against", "context", "context_against"):
            arrays[f"{name}/text"], arrays[f"{name}/starts"] = storage.pack(self.frame[name].tolist())
        return arrays

    @classmethod
    def load(cls, arrays: Mapping[str, Any]) -> Findings:
        """From arrays; StorageError if they do not fit together."""
        numbers = arrays.get("numbers")
        if numbers is None or numbers.ndim != 2 or numbers.shape[1] != len(NUMBERS) or numbers.dtype != np.float64:
            raise StorageError("the stored tests are damaged")
        frame = pd.DataFrame(np.array(numbers), columns=NUMBERS)
        whole = ["permutations", "uses", "uses_against", "units", "units_against"]
        if not np.isfinite(numbers).all():
            raise StorageError("the stored tests are damaged")
        frame = frame.astype(dict.fromkeys(whole, np.int64))
        for name in ("word", "value", "against", "context", "context_against"):
            texts = storage.unpack(arrays[f"{name}/text"], arrays[f"{name}/starts"])
            if len(texts) != len(frame):
                raise StorageError("the stored tests are damaged")
            frame[name] = texts
        return cls(frame)


def _numbers(effect: Effect) -> tuple[float, float, float, float]:
    return effect.square, effect.variance, effect.direction_variance, effect.freedom


def _effect(row: Any) -> Effect:
    return Effect(row.square, row.variance, row.direction_variance, row.freedom)


def _units_at(text: ScorePass, question: Question) -> Ints:
    """(n, 2) How many clusters use each word on each side; for any of several labels, the fewest at one."""
    sides = question.sides if len(question.groups) == 2 or isinstance(question.design, Trend) else question.groups
    found = np.stack([text.cluster_counts(side) for side in sides], 1)
    return found if found.shape[1] == 2 else np.stack([found.min(1), found.max(1)], 1)


def _explained(
    text: ScorePass, question: Question, frame: pd.DataFrame, ids: Ints, most: int, unexplaining: Collection[str]
) -> pd.DataFrame:
    """The frame with typical context words for the rows that come first, other than words that say nothing."""
    if not len(frame) or not most or (len(question.groups) != 2 and not isinstance(question.design, Trend)):
        return frame
    shown = Findings(frame).table(interval=0.9, level=0.1, exclude=unexplaining)["word"][:most]
    rows = np.flatnonzero(frame["word"].isin(list(shown)))
    names, chosen = np.array(text.vocabulary.words, object), ids[rows].tolist()
    ignored = np.isin(names, list(unexplaining))
    occurrences = read_occurrences(text, chosen)
    place = {word: number for number, word in enumerate(chosen)}

    def contexts(table: ScoreTable) -> tuple[str, str]:
        mine = occurrences.of(place[table.word])
        return typical_words(text, table, mine, question, ignored | (np.arange(len(names)) == text.ids[table.word]))

    for row, (one, two) in zip(rows.tolist(), text.run(chosen, contexts)):
        frame.loc[row, ["context", "context_against"]] = one, two
    return frame


def typical_words(
    text: ScorePass, table: ScoreTable, found: Occurrences, question: Question, ignored: NDArray[np.bool_]
) -> tuple[str, str]:
    """The context words that contribute most to a difference and are found more often on a side, for both sides."""
    parts = decompose(text, table, found, question.sides)
    rate = parts.count / np.maximum(np.bincount(parts.group[parts.group >= 0], minlength=2), 1)[:, None]
    more = rate[0] - rate[1]
    names, sides = text.vocabulary.words, []
    for sign in (1, -1):
        sure = np.where((sign * parts.excess > 0) & (sign * more > 0) & ~ignored, parts.contribution - parts.error, 0.0)
        order = np.argsort(-sure, kind="stable")[:CONTEXT_WORDS]
        sides.append(", ".join(names[i] for i in order if sure[i] > 0))
    return sides[0], sides[1]


def find_changes(fitted: Embeddings, column: str, options: Options, unexplaining: Collection[str] = ()) -> Findings:
    """Test all words for a trend along an ordered column."""
    tokens, language = tokens_of(fitted, options.tokens), fitted.language(options.language)
    options = options.with_unit(tokens, [column])
    units, x, ends = units_on_line(fitted, gather(tokens, column, options.cluster, language, None), column, tokens)
    ids = np.flatnonzero(fitted.counts[language].sum(0) >= options.min_count).tolist()
    free = label_free(fitted, tokens, None, options.quiet)
    text = ScorePass(tokens, units, free, ids, language, options)
    return Findings.ask(
        text,
        [text.vocabulary.words[i] for i in ids],
        [Question.trend(*ends, x)],
        least=(options.min_count, options.fewest),
        permutations=None,
        seed=options.seed,
        unexplaining=unexplaining,
    )
