"""Words that differ between the values of a column, or move along an ordered one, in a way that would hold in another
sample: the distance without its noise, an interval, p.

The tests are those of `score_test.py`, on contexts that do not know the labels (`contexts.py`). n words, G values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import combinations
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from laplex.embeddings import Embeddings
from laplex.errors import InputError, check_int, quote
from laplex.fitting.provenance import tokens_of
from laplex.inference.contexts import label_free
from laplex.inference.permutations import Difference, Permutations, Trend
from laplex.inference.score_test import difference_effect, trend_effect
from laplex.inference.scores import ScorePass
from laplex.inference.testing import Finding, WordTest, adjust_p, run_tests
from laplex.inference.units import Floats, Ints, Options, Units, gather, warn_of_speakers
from laplex.model.vectors import check_slice
from laplex.questions.change import ordered_column
from laplex.questions.contrast import compared_values
from laplex.runtime.display import say
from laplex.text.periods import positions
from laplex.text.tokens import Tokens

MAX_VALUES_ON_LINE = 24  # values that drift keeps apart; of more, neighbors are taken together
ORDERS = {"evidence": ["p", "lower", "estimate", "word"], "estimate": ["lower", "estimate", "word"]}

Rank = Literal["evidence", "estimate"]


def contrast(
    fitted: Embeddings,
    column: str,
    *,
    words: str | Sequence[str] | None = None,
    values: Sequence[Any] | None = None,
    top: int | None = None,
    joint: bool = False,
    rank: Rank = "evidence",
    permutations: int | None = None,
    at: Mapping[str, Any] | None = None,
    pooled: Embeddings | None = None,
    **options: Any,
) -> pd.DataFrame:
    """Find the words that differ between the values of a column.

    p is counted: labels are exchanged between whole clusters, 999 times for every word and more often, up to a million
    times, for those that no permutation reaches, as long as their adjusted p depends on it. So p is never smaller than
    one over the number of permutations, which is in the table. That is exact if clusters could have had each other's
    labels, also where groups write about other things. Where clusters have text under several labels, the signs of
    their contributions are flipped instead. `permutations=0` asks for a formula, which extrapolates.

    Args:
        fitted: The model.
        column: The column whose values are compared; vectors need not vary by it.
        words: The words to test, which are listed in any case; by default all that have enough text.
        values: The only values compared, if given.
        top: How many rows are given back.
        joint: Whether to test all values that `min_clusters` clusters have at once, rather than each pair of values.
        rank: What comes first: "evidence" the smallest p, "estimate" the largest distance that is sure ("lower").
        permutations: How many permutations are counted for every word, instead; 0 for the formula.
        at: Values of other columns, to which the text is restricted.
        pooled: A model of the same text without labels, if there is one; else it is fitted, or taken from the cache.
        **options: Those of `Options`, such as `cluster`.

    Returns:
        A row for each word and pair of values (or each word). "estimate" is how different the word is: by how much the
        log odds of the word in a context typically differ between the values (their standard deviation over its
        contexts, without noise; of several values, the root of the mean square over all pairs). It depends neither on
        how frequent the word is nor on the strengths of the prior. "se", "lower" and "upper" say how sure it is;
        "p_adjusted" is p after Benjamini and Hochberg, over all words and pairs tested; "permutations" is how many
        labellings p was counted over, so that 1 / (permutations + 1) is the smallest p there can be; "n" counts
        occurrences, and "clusters" is the smallest number of clusters at a value.

    Example:
        contrast(fitted, "party", cluster="senator")
    """
    request = Request(fitted, column, at, options, words, permutations, rank, top)
    units = request.units
    warn_of_speakers(request.tokens, request.options.cluster, [column])
    present = np.unique(units.label).tolist()
    named = compared_values([units.labels[i] for i in present], column, values)
    labels = [i for i in present if units.labels[i] in named]
    text = request.read(pooled)
    groups = [_large_labels(request, labels)] if joint else [list(pair) for pair in combinations(labels, 2)]
    counts, clusters = text.counts()
    tests = [_difference_test(request, group, counts[:, group], clusters[:, group]) for group in groups]
    request.say_untested(np.any([test.tested for test in tests], axis=0), " at a value")
    frames = []
    for group, findings in zip(groups, run_tests(text, tests, request.permutations)):
        count, users = counts[:, group], clusters[:, group]
        frame = request.table("all" if joint else request.name(group), findings, count.sum(1), users.min(1))
        if not joint:
            frame[["count_one", "count_two"]], frame[["clusters_one", "clusters_two"]] = count, users
        frames.append(frame)
    return request.ranked(frames)


def _large_labels(request: Request, labels: list[int]) -> list[int]:
    """The labels that enough clusters have, if these are two or more; else all."""
    units, least = request.units, request.options.fewest
    sizes = np.bincount(units.label, minlength=len(units.labels))
    large = [label for label in labels if sizes[label] >= least]
    if len(large) < 2:
        return labels
    if left := [units.labels[label] for label in labels if sizes[label] < least]:
        say(f"left out, with under {least} clusters: {', '.join(left)}", quiet=request.options.quiet)
    return large


def _difference_test(request: Request, labels: list[int], counts: Ints, clusters: Ints) -> WordTest:
    """The test between some values, for the words that have enough text at them."""
    groups = [[label] for label in labels]
    design = Difference(len(labels))
    permutations = request.permute(groups, [request.options.seed, 5, *labels])
    return WordTest(request.enough(counts.sum(1), clusters.min(1)), groups, design, difference_effect, permutations)


def distance(
    fitted: Embeddings,
    words: str | Sequence[str],
    across: str,
    along: str,
    *,
    at: Mapping[str, Any] | None = None,
    pooled: Embeddings | None = None,
    **options: Any,
) -> pd.DataFrame:
    """Measure how far apart words are across one column, at each value of another, each on its own text.

    Args:
        fitted: The model.
        words: The words.
        across: The column whose values are compared.
        along: The column at each value of which they are.
        at: Values of other columns, to which the text is restricted.
        pooled: A model of the same text without labels, if there is one.
        **options: Those of `Options` and other keywords of `contrast`.

    Returns:
        The table of `contrast` with a column for the value of `along`; p is adjusted over all rows.

    Example:
        distance(fitted, ["health", "relief"], across="party", along="period", cluster="senator")
    """
    tokens, quiet = tokens_of(fitted, options.get("tokens")), options.get("quiet", False)
    if along == across:
        raise InputError(f'across and along are both "{along}": name two columns')
    options |= {"words": words, "tokens": tokens, "pooled": label_free(fitted, tokens, pooled, quiet)}
    frames = []
    for number, value in enumerate(tokens.values(along)):
        if len(np.unique(tokens.codes(across)[tokens.codes(along) == number])) < 2:
            say(f'"{across}" has one value only where "{along}" is {value}: left out', quiet=quiet)
            continue
        frame = contrast(fitted, across, at={**check_slice(at), along: value}, **options)
        frame.insert(2, along, value)
        frames.append(frame)
    if not frames:
        raise InputError(f'"{across}" has one value only at every value of "{along}": there is nothing to compare')
    table = pd.concat(frames, ignore_index=True)
    table = table.assign(p_adjusted=adjust_p(table["p"].to_numpy()))
    order = {word: number for number, word in enumerate(dict.fromkeys([words] if isinstance(words, str) else words))}
    return table.sort_values(
        ["word", across], key=lambda column: column.map(order) if column.name == "word" else column, kind="stable"
    ).reset_index(drop=True)


def drift(
    fitted: Embeddings,
    column: str,
    *,
    words: str | Sequence[str] | None = None,
    top: int | None = None,
    rank: Rank = "evidence",
    permutations: int | None = None,
    at: Mapping[str, Any] | None = None,
    pooled: Embeddings | None = None,
    **options: Any,
) -> pd.DataFrame:
    """Find the words that move along an ordered column.

    The line is straight in the numbers that the values are, in the middles of the periods that they name, or in their
    order (if there is a Chain along them). Of more than 24 values, neighbors are taken together. A cluster may have
    text at several values: its text counts as one piece of evidence, whose sign is flipped to count p. What happened
    once counts as documents do: that a word has another meaning in a year is no evidence about what years do to words.

    Args:
        fitted: The model.
        column: The ordered column.
        words: The words to test, which are listed in any case; by default all that have enough text.
        top: How many rows are given back.
        rank: What comes first: "evidence" the smallest p, "estimate" the largest distance that is sure ("lower").
        permutations: How many permutations are counted for every word; see `contrast`.
        at: Values of other columns, to which the text is restricted.
        pooled: A model of the same text without labels, if there is one; else it is fitted, or taken from the cache.
        **options: Those of `Options` (`min_clusters` and `min_count` are for all values together).

    Returns:
        A row for each word. "estimate" is how far the line leads from the first value to the last, without noise; the
        other columns are those of `contrast`.

    Example:
        drift(fitted, "year", cluster="senator")
    """
    request = Request(fitted, column, at, options, words, permutations, rank, top)
    warn_of_speakers(request.tokens, request.options.cluster, [column])
    request.units, x, ends = units_on_line(fitted, request.units, column, request.tokens)
    text = request.read(pooled)
    n, clusters = text.counts()[0].sum(1), text.cluster_counts()
    tested = request.enough(n, clusters)
    request.say_untested(tested)
    groups = [[number] for number in range(len(x))]
    draws = request.permute(groups, [request.options.seed, 7])
    test = WordTest(tested, groups, Trend(x), partial(trend_effect, x=x), draws)
    (findings,) = run_tests(text, [test], request.permutations)
    return request.ranked([request.table(" – ".join(ends), findings, n, clusters)])


def units_on_line(
    fitted: Embeddings, units: Units, column: str, tokens: Tokens
) -> tuple[Units, Floats, tuple[str, str]]:
    """Units with labels that stand at numbers x from −½ to ½, these numbers, and the first and the last value."""
    present, label = np.unique(units.label, return_inverse=True)
    values = [units.labels[i] for i in present]
    line = positions_on_line(fitted, column, values)
    x = (line - line[0]) / (line[-1] - line[0]) - 0.5
    lengths = np.diff(tokens.offsets)[units.documents]
    sizes = np.bincount(np.repeat(label, np.diff(units.start)), lengths).astype(np.int64)
    bins = _bins(sizes)
    x = np.bincount(bins, sizes * x) / np.bincount(bins, sizes)
    return units.relabel(bins[label], [str(number) for number in range(len(x))]), x, (values[0], values[-1])


def positions_on_line(fitted: Embeddings, column: str, values: list[str]) -> Floats:
    """(G) Numbers for the values of an ordered column: what they are, the middles of periods, or their order.

    A column that is neither numbers nor time needs a Chain in the prior.
    """
    line = positions(values)
    if line is not None:
        return line
    if column not in fitted.columns:
        raise InputError(
            f'"{column}" has no order: its values {quote(values, 4)} are not all numbers or all periods of time'
        )
    ordered_column(fitted, column)
    return np.arange(len(values), dtype=np.float64)


def _bins(sizes: Ints) -> Ints:
    """(G) The bin of each value: its own, or if there are many, one of neighbors that have much the same text."""
    if len(sizes) <= MAX_VALUES_ON_LINE:
        return np.arange(len(sizes))
    middle = (np.cumsum(sizes) - sizes / 2) / sizes.sum()
    return np.unique((middle * MAX_VALUES_ON_LINE).astype(np.int64), return_inverse=True)[1]


class Request:
    """A question about a column, as the user asked it, checked: the units it labels, and the words to be tested."""

    def __init__(
        self,
        fitted: Embeddings,
        column: str,
        at: Mapping[str, Any] | None,
        keywords: Mapping[str, Any],
        words: str | Sequence[str] | None,
        permutations: int | None,
        rank: str = "evidence",
        top: int | None = None,
    ) -> None:
        self.fitted, self.column, self.rank = fitted, column, rank
        options = Options.of(keywords, fitted.columns)
        if rank not in tuple(ORDERS):
            raise InputError(f'rank="{rank}" is unknown: write "evidence" or "estimate"')
        self.top = None if top is None else check_int("top", top)
        self.permutations = None if permutations is None else check_int("permutations", permutations, 0)
        self.tokens, self.language = tokens_of(fitted, options.tokens), fitted.language(options.language)
        self.options = options = options.with_unit(self.tokens, [column])
        self.units = gather(self.tokens, column, options.cluster, self.language, at)
        self.named = words is not None
        if words is not None:
            self.ids = fitted.ids(words, self.language)
        else:
            self.ids = np.flatnonzero(fitted.counts[self.language].sum(0) >= options.min_count).tolist()
        if not self.ids:
            raise InputError(f"no word occurs {options.min_count} times: lower min_count")

    def permute(self, groups: Sequence[Sequence[int]], seed: Sequence[int]) -> Permutations:
        """Permutations of the labels of the units in groups of labels."""
        return Permutations.of(self.text.units, groups, not self.text.cells.shared, seed)

    def read(self, pooled: Embeddings | None) -> ScorePass:
        """The text, made ready; contexts without labels are fitted if none are given."""
        free = label_free(self.fitted, self.tokens, pooled, self.options.quiet)
        self.text = ScorePass(self.tokens, self.units, free, self.ids, self.language, self.options)
        return self.text

    def enough(self, counts: Ints, clusters: Ints) -> NDArray[np.bool_]:
        """(n) Which words occur often enough, in enough clusters."""
        return (counts >= self.options.min_count) & (clusters >= self.options.fewest)

    def say_untested(self, tested: NDArray[np.bool_], where: str = "") -> None:
        """Report how many words have too little text, if none are asked for by name."""
        options, left = self.options, len(self.ids) - int(tested.sum())
        if not self.named and left:
            who = f'values of "{options.cluster}"' if options.cluster else "documents"
            say(
                f"{left:,} of {len(self.ids):,} words are not tested: under {options.min_count} occurrences or "
                f"{options.fewest} {who}{where}",
                quiet=options.quiet,
            )

    def name(self, labels: Sequence[int]) -> str:
        """What the column of the table says of a pair of labels."""
        return " – ".join(self.units.labels[label] for label in labels)

    def words(self) -> list[str]:
        """The words to be tested."""
        names = self.fitted.rows.vocabularies[self.language].words
        return [names[i] for i in self.ids]

    def table(self, name: str, findings: Mapping[int, Finding], n: Ints, clusters: Ints) -> pd.DataFrame:
        """A row for each word; `name` says between which values. p is not adjusted yet."""
        p, draws, squares = np.full(len(self.ids), np.nan), np.zeros(len(self.ids), np.int64), []
        for word, found in findings.items():
            p[word], draws[word] = found.p, found.permutations
            squares.append(
                (found.effect.square, *found.effect.bounds(1.0), *found.effect.interval(self.options.interval))
            )
        sizes = np.full((len(self.ids), 5), np.nan)
        sizes[list(findings)] = np.sqrt(np.maximum(np.array(squares).reshape(-1, 5), 0.0))
        estimate, least, most, lower, upper = sizes.T
        columns = {"word": self.words(), self.column: name, "estimate": estimate, "se": (most - least) / 2}
        columns |= {"lower": lower, "upper": upper, "p": p, "p_adjusted": np.nan, "permutations": draws}
        return pd.DataFrame(columns | {"n": n, "clusters": clusters})

    def ranked(self, frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
        """All rows with p adjusted over them, in the order asked for. Words that are not named need a p."""
        if not self.named:
            frames = [frame[frame["p"].notna()] for frame in frames]
        table = pd.concat([frame for frame in frames if len(frame)] or frames[:1])
        table = table.assign(p_adjusted=adjust_p(table["p"].to_numpy()))
        by = ORDERS[self.rank]
        table = table.sort_values(by, ascending=[name in ("p", "word") for name in by], kind="stable")
        return table.head(len(table) if self.top is None else self.top).reset_index(drop=True)
