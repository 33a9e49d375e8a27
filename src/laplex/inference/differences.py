"""Words that differ between the values of a column, or move along an ordered one, in a way that would hold in another
sample: the distance without its noise, an interval, p.

The tests are those of `score_test.py`, on contexts that do not know the labels (`contexts.py`).
n words, G values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from laplex.embeddings import Embeddings
from laplex.errors import InputError
from laplex.fitting.provenance import tokens_of
from laplex.inference.contexts import check_pooled, step_precision
from laplex.inference.contexts import pooled as fit_pooled
from laplex.inference.findings import (
    DifferenceTest,
    Options,
    Request,
    TrendTest,
    adjust_p,
    list_findings,
    prepare,
    rank_findings,
    run_tests,
)
from laplex.inference.statistics import ScorePass
from laplex.inference.units import Floats, Ints, positions_on_line, warn_of_speakers
from laplex.questions.contrast import compared_values
from laplex.runtime.display import say
from laplex.text.tokens import Tokens

MAX_VALUES_ON_LINE = 24  # values that drift keeps apart; of more, neighbors are taken together

Rank = Literal["evidence", "estimate"]


def contrast(
    fitted: Embeddings,
    column: str,
    *,
    cluster: str | None = None,
    words: str | Sequence[str] | None = None,
    values: Sequence[Any] | None = None,
    top: int | None = None,
    joint: bool = False,
    rank: Rank = "evidence",
    min_clusters: int = 25,
    min_count: int = 100,
    interval: float = 0.9,
    permutations: int | None = None,
    pooled: Embeddings | None = None,
    tokens: Tokens | None = None,
    language: str | None = None,
    seed: int = 1,
    threads: int | None = None,
    quiet: bool = False,
    **where: Any,
) -> pd.DataFrame:
    """Find the words that differ between the values of a column.

    Where p comes from:

    - by default from 999 permutations of the labels of clusters, and not by counting them, but as the tail of a smooth
      curve through them, so that it can be smaller than 1/1000: of a hundred speakers one may have a third of a
      word's occurrences, and no formula is right for that;
    - where clusters are more than 2,000, as documents are, in the same way for a word that at most 1,000 of them have,
      among which labels are permuted, and from a formula for more frequent words;
    - from a formula where clusters have several labels; `permutations=0` asks for it;
    - with `permutations=999`, from that number of labellings by counting: the share under which a word differs as much.
      This is exact if clusters could have had each other's labels; a word that is clearly more frequent at a value is
      first made equally frequent, since frequency is no difference.

    Args:
        fitted: The model.
        column: The column whose values are compared; vectors need not vary by it.
        cluster: The column that says who speaks, if the label is the speaker's; without it documents are independent.
        words: The words to test, which are listed in any case; all others that have enough text are left out.
        values: The only values compared, if given.
        top: How many rows are given back.
        joint: Whether to test all values at once, one row a word, rather than each pair of values. Values that fewer
            than `min_clusters` clusters have are left out.
        rank: What comes first: "evidence" the smallest p, "estimate" the largest distance that is sure ("lower").
        min_clusters: The clusters (or documents) that must use a word at each value.
        min_count: How often a word must occur at the values compared.
        interval: The share of samples in which "lower" and "upper" hold the distance.
        permutations: How many labellings are counted; see above.
        pooled: A model of the same text without labels, if there is one; else it is fitted, or taken from the cache.
        tokens: The text, if it is no longer where the model was fitted on it.
        language: The language, if the model has several.
        seed: Of everything that is drawn by chance.
        threads: How many threads read the text; all processors by default.
        quiet: Whether to say nothing on the way.
        **where: Values of other columns, to which the text is restricted.

    Returns:
        A row for each word and pair of values (or each word). "estimate" is the distance of the word's vectors without
        its noise (of several values, the root of the mean square over all pairs), "se", "lower" and "upper" say how
        sure it is; "p_adjusted" is p after Benjamini and Hochberg, over all words and pairs tested; "n" counts
        occurrences, and "clusters" is the smallest number of clusters at a value.

    Example:
        contrast(fitted, "party", cluster="senator")
    """
    options = Options(cluster, words, top, min_clusters, min_count, interval, permutations, rank, seed, threads, quiet)
    request = prepare(fitted, column, options, tokens, language, where)
    if cluster is None:
        warn_of_speakers(request.tokens, column)
    present = np.unique(request.units.label).tolist()
    named = compared_values([request.units.labels[i] for i in present], column, values)
    labels = [i for i in present if request.units.labels[i] in named]
    text = request.read(pooled)
    return rank_findings(
        request, _all_at_once(request, text, labels) if joint else _pair_by_pair(request, text, labels)
    )


def _pair_by_pair(request: Request, text: ScorePass, labels: Sequence[int]) -> list[pd.DataFrame]:
    """A table for every pair of values."""
    counts, clusters = text.counts()
    pairs = [list(pair) for pair in combinations(labels, 2)]
    tests = [_difference_test(request, pair, counts[:, pair], clusters[:, pair]) for pair in pairs]
    request.say_untested(np.any([test.tested for test in tests], axis=0), " at a value")
    frames = []
    for pair, findings in zip(pairs, run_tests(text, tests)):
        count, users = counts[:, pair], clusters[:, pair]
        each = {"count_one": count[:, 0], "count_two": count[:, 1]}
        each |= {"clusters_one": users[:, 0], "clusters_two": users[:, 1]}
        name = " – ".join(request.units.labels[label] for label in pair)
        frames.append(list_findings(request, name, findings, count.sum(1), users.min(1), **each))
    return frames


def _all_at_once(request: Request, text: ScorePass, labels: Sequence[int]) -> list[pd.DataFrame]:
    """One table, of all values that enough clusters have."""
    units, least = request.units, request.options.min_clusters
    sizes = np.bincount(units.label, minlength=len(units.labels))
    large = [label for label in labels if sizes[label] >= least]
    if len(large) < 2:
        large = list(labels)
    elif left := [units.labels[label] for label in labels if sizes[label] < least]:
        say(f"left out, with under {least} clusters: {', '.join(left)}", quiet=request.options.quiet)
    counts, clusters = (numbers[:, large] for numbers in text.counts())
    test = _difference_test(request, large, counts, clusters)
    request.say_untested(test.tested, " at a value")
    (findings,) = run_tests(text, [test])
    return [list_findings(request, "all", findings, counts.sum(1), clusters.min(1))]


def _difference_test(request: Request, labels: list[int], counts: Ints, clusters: Ints) -> DifferenceTest:
    """The test between some values, for the words that have enough text at them."""
    units, options = request.units, request.options
    tested = (clusters.min(1) >= options.min_clusters) & (counts.sum(1) >= options.min_count)
    priors = {
        (one, two): _precision(request, {units.labels[labels[one]]: 0.5, units.labels[labels[two]]: -0.5})
        for one, two in combinations(range(len(labels)), 2)
    }
    places = np.searchsorted(labels, units.label[np.isin(units.label, labels)])
    return DifferenceTest(labels, tested, priors, request.permute(places, [options.seed, 5, *labels]))


def _precision(request: Request, at: dict[str, float]) -> Floats:
    """(n) The precision of the prior along a contrast, for each word."""
    return step_precision(request.fitted, request.column, at, request.language, request.where)[request.ids]


def distance(
    fitted: Embeddings,
    words: str | Sequence[str],
    across: str,
    along: str,
    *,
    pooled: Embeddings | None = None,
    tokens: Tokens | None = None,
    threads: int | None = None,
    quiet: bool = False,
    **options: Any,
) -> pd.DataFrame:
    """Measure how far apart words are across one column, at each value of another, each on its own text.

    Args:
        fitted: The model.
        words: The words.
        across: The column whose values are compared.
        along: The column at each value of which they are.
        pooled: A model of the same text without labels, if there is one.
        tokens: The text, if it is no longer where the model was fitted on it.
        threads: How many threads read the text.
        quiet: Whether to say nothing on the way.
        **options: Other options of `contrast`, such as `cluster` and `interval`.

    Returns:
        The table of `contrast` with a column for the value of `along`; p is adjusted over all rows.

    Example:
        distance(fitted, ["health", "relief"], across="party", along="period", cluster="senator")
    """
    tokens = tokens_of(fitted, tokens)
    if along == across:
        raise InputError(f'across and along are both "{along}": name two columns')
    pooled = check_pooled(fit_pooled(fitted, tokens, quiet=quiet) if pooled is None else pooled, fitted)
    shared: dict[str, Any] = {"pooled": pooled, "tokens": tokens, "threads": threads, "quiet": quiet}
    frames = []
    for number, value in enumerate(tokens.values(along)):
        if len(np.unique(tokens.codes(across)[tokens.codes(along) == number])) < 2:
            say(f'"{across}" has one value only where "{along}" is {value}: left out', quiet=quiet)
            continue
        frame = contrast(fitted, across, words=words, **shared, **options, **{along: value})  # type: ignore[arg-type]
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
    cluster: str | None = None,
    words: str | Sequence[str] | None = None,
    top: int | None = None,
    rank: Rank = "evidence",
    min_clusters: int = 25,
    min_count: int = 100,
    interval: float = 0.9,
    permutations: int | None = None,
    pooled: Embeddings | None = None,
    tokens: Tokens | None = None,
    language: str | None = None,
    seed: int = 1,
    threads: int | None = None,
    quiet: bool = False,
    **where: Any,
) -> pd.DataFrame:
    """Find the words that move along an ordered column.

    The line is straight in the numbers that the values are, in the middles of the periods that they name, or in their
    order (if there is a Chain along them). Of more than 24 values, neighbors are taken together. A cluster may have
    text at several values: its text counts as one piece of evidence, and p comes from a formula.

    What happened once counts as documents do: that a word has another meaning in a year is no evidence about what
    years do to words.

    Args:
        fitted: The model.
        column: The ordered column.
        cluster: The column that says who speaks; without it documents are independent.
        words: The words to test, which are listed in any case; by default all that have enough text.
        top: How many rows are given back.
        rank: What comes first: "evidence" the smallest p, "estimate" the largest distance that is sure ("lower").
        min_clusters: The clusters (or documents) that must use a word, at all values together.
        min_count: How often a word must occur.
        interval: The share of samples in which "lower" and "upper" hold the distance.
        permutations: How many labellings are counted; see `contrast`.
        pooled: A model of the same text without labels, if there is one; else it is fitted, or taken from the cache.
        tokens: The text, if it is no longer where the model was fitted on it.
        language: The language, if the model has several.
        seed: Of everything that is drawn by chance.
        threads: How many threads read the text; all processors by default.
        quiet: Whether to say nothing on the way.
        **where: Values of other columns, to which the text is restricted.

    Returns:
        A row for each word. "estimate" is how far the line leads from the first value to the last, without noise; the
        other columns are those of `contrast`.

    Example:
        drift(fitted, "year", cluster="senator")
    """
    options = Options(cluster, words, top, min_clusters, min_count, interval, permutations, rank, seed, threads, quiet)
    request = prepare(fitted, column, options, tokens, language, where)
    values, sizes = _values_and_sizes(request)
    line = positions_on_line(fitted, column, values)
    x = (line - line[0]) / (line[-1] - line[0]) - 0.5
    if cluster is None:
        warn_of_speakers(request.tokens, column)
    prior = _precision(request, dict(zip(values, x.tolist())))
    request, x = _merge_neighbors(request, values, x, sizes)
    text = request.read(pooled)
    n, clusters = text.counts()[0].sum(1), _clusters_of_words(text)
    tested = (n >= min_count) & (clusters >= min_clusters)
    request.say_untested(tested)
    permuted = request.permute(request.units.label, [seed, 7])
    (findings,) = run_tests(text, [TrendTest(x, float(np.var(x[request.units.label])), tested, prior, permuted)])
    return rank_findings(request, [list_findings(request, f"{values[0]} – {values[-1]}", findings, n, clusters)])


def _values_and_sizes(request: Request) -> tuple[list[str], Ints]:
    """The values that occur, in order, and the tokens of each."""
    units, tokens = request.units, request.tokens
    label = np.repeat(units.label, np.diff(units.start))
    size = np.bincount(label, np.diff(tokens.offsets)[units.documents], len(units.labels)).astype(np.int64)
    present = np.unique(units.label)
    return [units.labels[i] for i in present], size[present]


def _merge_neighbors(request: Request, values: Sequence[str], x: Floats, sizes: Ints) -> tuple[Request, Floats]:
    """Units labeled by the values that occur, or by stretches of them with much the same text; and where they lie."""
    bins: NDArray[np.int64] = np.arange(len(values))
    if len(values) > MAX_VALUES_ON_LINE:
        middle = (np.cumsum(sizes) - sizes / 2) / sizes.sum()
        bins = np.unique((middle * MAX_VALUES_ON_LINE).astype(np.int64), return_inverse=True)[1]
    at = np.bincount(bins, sizes * x) / np.bincount(bins, sizes)
    place = np.full(len(request.units.labels), -1)
    place[np.unique(request.units.label)] = bins
    names = [str(number) for number in range(len(at))]
    return replace(request, units=request.units.relabel(place[request.units.label], names)), at


def _clusters_of_words(text: ScorePass) -> Ints:
    """(n) In how many clusters each word occurs."""
    size = int(text.units.cluster.max()) + 1
    word = np.repeat(np.arange(len(text.ids)), np.diff(text.start))
    cells = np.unique(word * size + text.units.cluster[text.unit])
    return np.bincount(cells // size, minlength=len(text.ids))
