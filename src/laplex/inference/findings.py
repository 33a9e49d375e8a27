"""What all tests share: the request as the user made it, checked; the tests of a word; and the table of findings.

A Request holds the text, its units and the words. A WordTest gives p and the Effect of a word from its rotated table.
`list_findings` and `rank_findings` turn these into a table of distances with intervals and adjusted p.
n words, G labels, m rows of a table, P labellings.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, NamedTuple, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from laplex.embeddings import Embeddings
from laplex.errors import InputError, check_int
from laplex.fitting.provenance import tokens_of
from laplex.inference import score_test
from laplex.inference.contexts import check_pooled
from laplex.inference.contexts import pooled as fit_pooled
from laplex.inference.score_test import Effect, RotatedTable
from laplex.inference.statistics import ScorePass, ScoreTable
from laplex.inference.units import Floats, Ints, Units, gather, interval_quantile
from laplex.runtime.display import say
from laplex.text.tokens import Tokens

DEFAULT_PERMUTATIONS = 999
MAX_CLUSTERS_FOR_PERMUTATION = 2_000  # with more, labels are permuted among the units that have a word
MAX_OWNERS_FOR_PERMUTATION = 1_000  # units that have a word; with more, the formula is right
RANKS = ("evidence", "estimate")


@dataclass(frozen=True)
class Options:
    """What all tests have in common, as the user gave it."""

    cluster: str | None
    words: str | Sequence[str] | None
    top: int | None
    min_clusters: int
    min_count: int
    interval: float
    permutations: int | None
    rank: str
    seed: int
    threads: int | None
    quiet: bool

    def checked(self) -> Options:
        """The same with whole numbers as integers; raises InputError where one makes no sense."""
        interval_quantile(self.interval)
        if self.rank not in RANKS:
            raise InputError(f'rank="{self.rank}" is unknown: write "evidence" or "estimate"')
        return replace(
            self,
            min_clusters=check_int("min_clusters", self.min_clusters, 2),
            min_count=check_int("min_count", self.min_count),
            permutations=None if self.permutations is None else check_int("permutations", self.permutations, 0),
            top=None if self.top is None else check_int("top", self.top),
        )


@dataclass(frozen=True, eq=False)
class Request:
    """A question that can be answered: a column, the units it labels, and the words to be tested."""

    fitted: Embeddings
    column: str
    options: Options
    tokens: Tokens
    language: int
    where: Mapping[str, Any]
    units: Units
    ids: list[int]

    @property
    def permutations(self) -> int:
        """How often the labels of all units are permuted."""
        if self.options.permutations is not None:
            return self.options.permutations
        return DEFAULT_PERMUTATIONS if self.units.nested and len(self.units) <= MAX_CLUSTERS_FOR_PERMUTATION else 0

    @property
    def owner_permutations(self) -> int:
        """How often labels are permuted among the units that have a word."""
        by_default = self.options.permutations is None and self.units.nested and not self.permutations
        return DEFAULT_PERMUTATIONS if by_default else 0

    def read(self, pooled: Embeddings | None) -> ScorePass:
        """The text, made ready; contexts without labels are fitted if none are given."""
        options = self.options
        if pooled is None:
            pooled = fit_pooled(self.fitted, self.tokens, quiet=options.quiet)
        return ScorePass(
            self.tokens,
            self.units,
            check_pooled(pooled, self.fitted),
            self.ids,
            self.language,
            seed=options.seed,
            threads=options.threads,
            quiet=options.quiet,
            row_per_unit=self.permutations > 0,
        )

    def permute(self, label: Ints, seed: Sequence[int]) -> Permutations:
        """Permutations of the labels of units."""
        labellings = np.tile(label.astype(np.int16), (self.permutations, 1))
        np.random.default_rng(seed).permuted(labellings, axis=1, out=labellings)
        return Permutations(labellings, self.options.permutations is not None, self.owner_permutations, seed)

    def say_untested(self, tested: NDArray[np.bool_], where: str = "") -> None:
        """Report how many words have too little text, if none are asked for by name."""
        left = len(self.ids) - int(tested.sum())
        if self.options.words is None and left:
            who = f'values of "{self.options.cluster}"' if self.options.cluster else "documents"
            say(
                f"{left:,} of {len(self.ids):,} words are not tested: under {self.options.min_count} occurrences or "
                f"{self.options.min_clusters} {who}{where}",
                quiet=self.options.quiet,
            )


def prepare(
    fitted: Embeddings,
    column: str,
    options: Options,
    tokens: Tokens | None,
    language: str | None,
    where: Mapping[str, Any],
) -> Request:
    """A Request from what the user gave; raises InputError where that makes no sense."""
    options = options.checked()
    tokens = tokens_of(fitted, tokens)
    index = fitted.language(language)
    units = gather(tokens, column, options.cluster, index, where)
    if options.permutations and not units.nested:
        raise InputError(
            f'a value of "{options.cluster}" has several values of "{column}", so labels cannot be exchanged between '
            "them: leave out permutations="
        )
    if options.words is not None:
        ids = fitted.ids(options.words, index)
    else:
        ids = np.flatnonzero(fitted.counts[index].sum(0) >= options.min_count).tolist()
    if not ids:
        raise InputError(f"no word occurs {options.min_count} times: lower min_count")
    return Request(fitted, column, options, tokens, index, where, units, ids)


class Finding(NamedTuple):
    """What a test says of a word."""

    p: float
    effect: Effect


UNTESTABLE = Finding(float("nan"), Effect(float("nan"), float("nan"), float("nan")))

Statistics = Callable[[RotatedTable, Ints, NDArray[np.integer]], Floats]  # of a table, its labels, other labellings


@dataclass(frozen=True, eq=False)
class Permutations:
    """Other labellings: of all units or, if these are many, of those that have a word, if these are few.

    Where many have it, p comes from the formula.
    """

    labellings: NDArray[np.int16]  # (P, m)
    counted: bool  # whether labellings are counted, or p is the tail of a smooth curve through them
    among_owners: int  # how many are drawn among the units that have a word, if there are none of all units
    seed: Sequence[int]

    def p(self, table: RotatedTable, label: Ints, statistics: Statistics, formula: Callable[[], float]) -> float:
        """p of a word, in the way that suits the number of units."""
        if len(self.labellings):
            values = statistics(table, label, self.labellings)
            return score_test.counted_p(values) if self.counted else score_test.smoothed_p(values)
        if self.among_owners and np.count_nonzero(table.tau) <= MAX_OWNERS_FOR_PERMUTATION:
            exchanged = score_test.among_owners(table, label, self.among_owners, self.seed)
            return score_test.smoothed_p(statistics(*exchanged))
        return formula()


class WordTest(Protocol):
    """A question that is asked of the table of every word."""

    @property
    def tested(self) -> NDArray[np.bool_]: ...  # (n)

    def find(self, table: RotatedTable, label: Ints, word: int) -> Finding: ...


@dataclass(frozen=True, eq=False)
class DifferenceTest:
    """Whether a word differs between any of some labels. Permutations are of their places in `labels`."""

    labels: Sequence[int]
    tested: NDArray[np.bool_]
    priors: Mapping[tuple[int, int], Floats]  # (n) for each pair of places
    permutations: Permutations

    def find(self, table: RotatedTable, label: Ints, word: int) -> Finding:
        """p and effect of a word."""
        inside = np.isin(label, self.labels)
        part, place, size = table.select(inside), np.searchsorted(self.labels, label[inside]), len(self.labels)
        if not score_test.has_every_label(part, place, size):
            return UNTESTABLE
        priors = {pair: float(self.priors[pair][word]) for pair in combinations(range(size), 2)}
        # L is that of labels with equal shares, which knows nothing of the labels
        scale = score_test.newton_scale(part.spectrum, float(np.mean(list(priors.values()))), 1 / (2 * size))

        def statistics(table: RotatedTable, label: Ints, labellings: NDArray[np.integer]) -> Floats:
            statistic = score_test.difference_statistic
            return score_test.permuted_statistics(table, label, labellings, scale, size, statistic)

        p = self.permutations.p(part, place, statistics, lambda: score_test.difference_p(part, place, size, scale))
        return Finding(p, score_test.difference_effect(part, place, size, priors))


@dataclass(frozen=True, eq=False)
class TrendTest:
    """Whether a word moves along a line through all labels."""

    x: Floats  # (G) from −½ to ½
    variance: float  # of x over the units, which does not depend on who has which label
    tested: NDArray[np.bool_]
    prior: Floats  # (n)
    permutations: Permutations

    def find(self, table: RotatedTable, label: Ints, word: int) -> Finding:
        """p and effect of a word."""
        size, prior = len(self.x), float(self.prior[word])
        shares = score_test.label_shares(table, label, size)
        if not shares @ (self.x - shares @ self.x) ** 2 > 0:
            return UNTESTABLE
        scale = score_test.newton_scale(table.spectrum, prior, self.variance)

        def statistics(table: RotatedTable, label: Ints, labellings: NDArray[np.integer]) -> Floats:
            statistic = score_test.trend_statistic(self.x)
            return score_test.permuted_statistics(table, label, labellings, scale, size, statistic)

        p = self.permutations.p(table, label, statistics, lambda: score_test.trend_p(table, label, self.x, scale))
        return Finding(p, score_test.trend_effect(table, label, self.x, prior))


def run_tests(text: ScorePass, tests: Sequence[WordTest]) -> list[dict[int, Finding]]:
    """For each test, the findings of the words that can be tested."""

    def find(table: ScoreTable) -> list[Finding | None]:
        rotated = score_test.rotate(table)
        return [test.find(rotated, table.label, table.word) if test.tested[table.word] else None for test in tests]

    chosen = np.flatnonzero(np.any([test.tested for test in tests], axis=0)).tolist()
    findings: list[dict[int, Finding]] = [{} for _ in tests]
    for word, results in zip(chosen, text.run(chosen, find)):
        for of_test, finding in zip(findings, results):
            if finding is not None:
                of_test[word] = finding
    return findings


def list_findings(
    request: Request, name: str, findings: Mapping[int, Finding], n: Ints, clusters: Ints, **more: Any
) -> pd.DataFrame:
    """A row for each word; `name` says between which values. p is not adjusted yet."""
    p, square, least, most, lower, upper = np.full((6, len(request.ids)), np.nan)
    z = interval_quantile(request.options.interval)
    for word, (value, effect) in findings.items():
        p[word], square[word] = value, effect.square
        least[word], most[word] = effect.bounds(1.0)
        lower[word], upper[word] = effect.bounds(z)
    names = request.fitted.rows.vocabularies[request.language].words
    columns = {
        "word": [names[i] for i in request.ids],
        request.column: name,
        "estimate": _root(square),
        "se": (_root(most) - _root(least)) / 2,
        "lower": _root(lower),
        "upper": _root(upper),
        "p": p,
        "p_adjusted": np.nan,
        "n": n,
        "clusters": clusters,
    }
    return pd.DataFrame(columns | more)


def _root(square: Floats) -> Floats:
    return np.asarray(np.sqrt(np.maximum(square, 0.0)))


def rank_findings(request: Request, frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """All rows with p adjusted over them, in the order asked for. Words that are not named need a p."""
    if request.options.words is None:
        frames = [frame[frame["p"].notna()] for frame in frames]
    table = pd.concat([frame for frame in frames if len(frame)] or frames[:1])
    table = table.assign(p_adjusted=adjust_p(table["p"].to_numpy()))
    order = {"evidence": ["p", "lower", "estimate", "word"], "estimate": ["lower", "estimate", "word"]}
    by = order[request.options.rank]
    table = table.sort_values(by, ascending=[name in ("p", "word") for name in by], kind="stable")
    return table.head(len(table) if request.options.top is None else request.options.top).reset_index(drop=True)


def adjust_p(p: Floats) -> Floats:
    """p after Benjamini and Hochberg, over all that are known; the others stay unknown."""
    adjusted, known = np.full(len(p), np.nan), np.isfinite(p)
    if known.any():
        adjusted[known] = stats.false_discovery_control(p[known])
    return adjusted
