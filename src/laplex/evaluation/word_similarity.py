"""Evaluation by word similarity (paper, the table of word similarity): Spearman's correlation of ratings and cosines.

In a bootstrap, pairs are sorted once; the ranks within a resample then follow from cumulative counts of how often each
pair was drawn, ties sharing the mean of their ranks. n pairs of a set, B resamples, G different values.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from laplex.errors import InputError, check_int, explain_keywords, quote
from laplex.evaluation.datasets import RatedPairs, WordVectors, evaluated_models, read_rated_pairs, say_lowered
from laplex.fitting.held_out import Models
from laplex.lexicons.pairs import read_pairs
from laplex.questions.cosine import By
from laplex.runtime.display import bar

Floats = NDArray[np.float64]
COUNTS_IN_MEMORY = 1 << 19


@explain_keywords
def similarity(
    models: Models,
    sets: Any = None,
    *,
    by: By = "words",
    leave_out: Any = None,
    shared: bool = False,
    language: str | None = None,
    bootstrap: int = 1000,
    seed: int = 1,
    quiet: bool = False,
    at: Mapping[str, Any] | None = None,
) -> pd.DataFrame:
    """Spearman's correlation between people's ratings and the cosines of vectors, by set.

    Words are looked up in lower case if the vocabulary is in lower case. A set without known pairs has no correlation
    and no part in the means. Models that know the same pairs are judged on the same resamples.

    Args:
        models: A model, or several by name: `{"plain": one, "with a dictionary": other}`.
        sets: A folder of .tsv, .txt or .csv, a file, a frame, or a dict of these by name; WordSim-353 by default. A
            line is a word, a word and a score.
        by: The cosine of the "words" vectors (as in the paper), of the "contexts", or of "both", their sum.
        leave_out: Pairs that the prior joins, as for `lx.Pairs`: these are not counted, in either order.
        shared: Count only the pairs that all models know.
        language: The language of the sets, if the models have several.
        bootstrap: The number of resamples of the pairs for the 95% interval (percentiles); 0 for none.
        seed: The seed of the resamples.
        quiet: Print nothing.
        at: The slice to use, where vectors vary: `{"party": "D"}`. Models that do not vary by a column ignore it.

    Returns:
        For each set and model: spearman, lower, upper, and the numbers of pairs, missing pairs and, with `leave_out`,
        of those left out. The last rows are the "mean" over sets and the "weighted mean" by the number of known pairs;
        their intervals take the sets as independent, though some sets share pairs.

    Example:
        lx.evaluation.similarity(fitted, "data/word-sim", by="both")
    """
    bootstrap = check_int("bootstrap", bootstrap, 0)
    rated = read_rated_pairs(sets)
    named = evaluated_models(models, at)
    given = None if leave_out is None else read_pairs(leave_out)
    words = [word for pairs in rated for word in pairs.left + pairs.right]
    scored: dict[str, list[_Scored]] = {}
    for name, model in named.items():
        table = WordVectors.of(model, by, language, at, None, name)
        say_lowered([table], words, quiet or bool(scored))
        excluded = set() if given is None else {_key(table, *pair) for pair in zip(given.left, given.right)}
        scored[name] = [_Scored.of(table, pairs, excluded) for pairs in rated]
        _check_known(name, scored[name], table)
    if shared:
        scored = _common_pairs(scored)
    rows = []
    with bar("resampling", quiet=quiet) as progress:
        for number, pairs in enumerate(rated):
            rows += [_correlation(pairs, name, scored[name][number], bootstrap, seed) for name in named]
            progress.update((number + 1) / len(rated), pairs.name)
    by_model = {name: [row for row in rows if row["model"] == name] for name in named}
    rows += [_mean(label, by_model[name]) for label in ("mean", "weighted mean") for name in named]
    columns = ["set", "model", "spearman", "lower", "upper", "pairs", "missing"]
    columns += [] if given is None else ["left_out"]
    return pd.DataFrame([row | _interval(row["resamples"]) for row in rows], columns=columns)


@dataclass(frozen=True, eq=False)
class _Scored:
    """The cosines of the pairs of one set under one model."""

    cosine: Floats  # (n)
    known: NDArray[np.bool_]  # (n)
    left_out: NDArray[np.bool_]  # (n)

    @classmethod
    def of(cls, table: WordVectors, pairs: RatedPairs, excluded: set[frozenset[str]]) -> _Scored:
        left, right = table.find(pairs.left), table.find(pairs.right)
        cosine = np.einsum("nd,nd->n", table.unit[left], table.unit[right], dtype=np.float64)
        keys = [_key(table, *pair) in excluded for pair in zip(pairs.left, pairs.right, strict=True)]
        left_out = np.array(keys, np.bool_)
        return cls(cosine, (left >= 0) & (right >= 0) & ~left_out, left_out)


def _key(table: WordVectors, one: str, two: str) -> frozenset[str]:
    return frozenset((table.spelling(one), table.spelling(two)))


def _check_known(name: str, scored: list[_Scored], table: WordVectors) -> None:
    if any(part.known.any() for part in scored):
        return
    pairs = sum(len(part.known) for part in scored)
    left_out = sum(int(part.left_out.sum()) for part in scored)
    raise InputError(
        f"{name} knows none of the {pairs:,} pairs of words{f' once {left_out:,} are left out' if left_out else ''} "
        f"({len(table):,} words, such as {quote(table.vocabulary.words[:5])}): check the language and the sets"
    )


def _common_pairs(scored: dict[str, list[_Scored]]) -> dict[str, list[_Scored]]:
    """Only the pairs that all models know."""
    common = [np.logical_and.reduce([part.known for part in parts]) for parts in zip(*scored.values(), strict=True)]
    if not any(known.any() for known in common):
        raise InputError(f"there is no pair of words that all of {quote(scored)} know")
    return {
        name: [replace(part, known=known) for part, known in zip(parts, common, strict=True)]
        for name, parts in scored.items()
    }


def _correlation(pairs: RatedPairs, model: str, scored: _Scored, bootstrap: int, seed: int) -> dict[str, Any]:
    """The row of one set and one model, with the correlations in resamples (B)."""
    cosine, score = scored.cosine[scored.known], pairs.score[scored.known]
    # with the set's name in the seed, its interval does not depend on the other sets
    resamples = bootstrap_spearman(cosine, score, bootstrap, [seed, zlib.crc32(pairs.name.encode())])
    known, left_out = int(scored.known.sum()), int(scored.left_out.sum())
    counts = {"pairs": known, "missing": len(pairs) - known - left_out, "left_out": left_out}
    row = {"set": pairs.name, "model": model, "spearman": spearman(cosine, score), "resamples": resamples}
    return row | counts


def _mean(label: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The row of the mean over sets of one model, weighted by their known pairs or not."""
    weight = np.array([float(row["pairs"]) if label == "weighted mean" else 1.0 for row in rows])
    mean = _mean_of_known(np.array([row["spearman"] for row in rows]), weight)
    resamples = _mean_of_known(np.array([row["resamples"] for row in rows]), weight[:, None])
    counts = {name: sum(row[name] for row in rows) for name in ("pairs", "missing", "left_out")}
    return {"set": label, "model": rows[0]["model"], "spearman": float(mean), "resamples": resamples} | counts


def _mean_of_known(values: Floats, weight: Floats) -> Floats:
    """The weighted mean over the first axis of those that are not NaN."""
    weight = weight * ~np.isnan(values)
    with np.errstate(invalid="ignore"):
        mean: Floats = (np.nan_to_num(values) * weight).sum(0) / weight.sum(0)
    return mean


def _interval(resamples: Floats) -> dict[str, float]:
    """The middle 95% of the resamples; NaN if over 5% of them are undefined."""
    if not len(resamples) or np.isnan(resamples).mean() > 0.05:
        return {"lower": np.nan, "upper": np.nan}
    lower, upper = map(float, np.nanpercentile(resamples, [2.5, 97.5]))
    return {"lower": lower, "upper": upper}


def spearman(one: Floats, two: Floats) -> float:
    """Spearman's correlation; NaN if there are fewer than two pairs, or one of the lists is constant.

    >>> spearman(np.array([1.0, 2.0, 3.0]), np.array([2.0, 2.0, 9.0]))
    0.8660254037844387
    """
    return float(_weighted_spearman(one, two, np.ones((1, len(one))))[0]) if len(one) else float("nan")


def bootstrap_spearman(one: Floats, two: Floats, times: int, seed: int | list[int]) -> Floats:
    """(B) Spearman's correlation in resamples of the pairs; NaN where all values of a resample are equal."""
    size = len(one)
    if not size:
        return np.full(times, np.nan)
    random = np.random.default_rng(seed)
    step = max(1, COUNTS_IN_MEMORY // size)
    batches = []
    for start in range(0, times, step):
        rows = min(step, times - start)
        draws = random.integers(0, size, (rows, size)) + size * np.arange(rows)[:, None]
        counts = np.bincount(draws.reshape(-1), minlength=rows * size).reshape(rows, size)
        batches.append(_weighted_spearman(one, two, counts.astype(np.float64)))
    return np.concatenate(batches) if batches else np.empty(0)


def _weighted_spearman(one: Floats, two: Floats, counts: Floats) -> Floats:
    """(B) The correlation of ranks if pair i occurs `counts[b, i]` times."""
    middle = (len(one) + 1) / 2  # the mean of the ranks, whatever the ties
    first, second = _ranks(one, counts) - middle, _ranks(two, counts) - middle
    weighted = counts * first
    covariance = np.einsum("bn,bn->b", weighted, second)
    variance = np.einsum("bn,bn->b", weighted, first) * np.einsum("bn,bn,bn->b", counts, second, second)
    with np.errstate(invalid="ignore"):
        correlation: Floats = covariance / np.sqrt(variance)
    return correlation


def _ranks(values: Floats, counts: Floats) -> Floats:
    """(B, n) The rank of each pair's value in each resample."""
    order = np.argsort(values, kind="stable")
    new = np.concatenate([[True], np.diff(values[order]) != 0])
    group = np.empty(len(values), np.int64)
    group[order] = np.cumsum(new) - 1
    share = np.add.reduceat(counts[:, order], np.flatnonzero(new), axis=1)  # (B, G)
    ranks: Floats = (np.cumsum(share, axis=1) - (share - 1) / 2)[:, group]
    return ranks
