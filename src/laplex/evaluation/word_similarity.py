"""Evaluation by word similarity (paper, the table of word similarity): Spearman's correlation of ratings and cosines.

n pairs of a set, B resamples.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from laplex.errors import InputError, check_int, quote
from laplex.evaluation.datasets import RatedPairs, bootstrap_spearman, read_rated_pairs, spearman
from laplex.evaluation.lookup import WordVectors, say_lowered, slices_of
from laplex.fitting.held_out import Models, named_models
from laplex.lexicons.pairs import read_pairs
from laplex.questions.cosine import By
from laplex.runtime.display import bar

Floats = NDArray[np.float64]


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
    **slice: Any,
) -> pd.DataFrame:
    """Spearman's correlation between people's ratings and the cosines of vectors, by set.

    Words are looked up in lower case if the vocabulary is in lower case. A set without known pairs has no correlation
    and no part in the means.

    Args:
        models: A model, or several by name: `{"plain": one, "with a dictionary": other}`.
        sets: A folder of .tsv, .txt or .csv, a file, a frame, or a dict of these by name; WordSim-353 by default. A
            line is a word, a word and a score.
        by: The cosine of the "words" vectors (as in the paper), of the "contexts", or of "both", their sum.
        leave_out: Pairs that the prior joins, a file, a frame or tuples as for `lx.Pairs`: pairs of a set that are
            among them, in either order, are not counted, since the model was given them.
        shared: Count only the pairs that all models know.
        language: The language of the sets, if the models have several.
        bootstrap: The number of resamples of the pairs for the 95% interval (percentiles); 0 for none. Models that know
            the same pairs are judged on the same resamples.
        seed: The seed of the resamples.
        quiet: Print nothing.
        **slice: The slice to use, where vectors vary: `party="D"`. Models that do not vary by a column ignore it.

    Returns:
        For each set and model: spearman, lower, upper, and the numbers of pairs, missing pairs and, with `leave_out`,
        of those left out. The last rows are the "mean" over sets and the "weighted mean" by the number of known pairs;
        their intervals take the sets as independent, though some sets share pairs.

    Example:
        lx.evaluation.similarity(fitted, "data/word-sim", by="both")
    """
    bootstrap = check_int("bootstrap", bootstrap, 0)
    rated = read_rated_pairs(sets)
    named = named_models(models)
    values = slices_of(named, slice)
    given = None if leave_out is None else read_pairs(leave_out)
    words = [word for pairs in rated for word in pairs.left + pairs.right]
    scored: dict[str, list[_Scored]] = {}
    for name, model in named.items():
        table = WordVectors.of(model, by, language, values[name], None, name)
        say_lowered([table], words, quiet or bool(scored))
        excluded = set() if given is None else {_key(table, *pair) for pair in zip(given.left, given.right)}
        scored[name] = [_score(table, pairs, excluded) for pairs in rated]
        _check_known(name, scored[name], table)
    if shared:
        scored = _common_pairs(scored)
    results: dict[str, list[_Result]] = {name: [] for name in scored}
    with bar("resampling", quiet=quiet) as progress:
        for number, pairs in enumerate(rated):
            for name, sets_scored in scored.items():
                results[name].append(_Result.of(pairs, sets_scored[number], bootstrap, seed))
            progress.update((number + 1) / len(rated), pairs.name)
    frame = _frame(results, [pairs.name for pairs in rated])
    return frame if given is not None else frame.drop(columns="left_out")


@dataclass(frozen=True, eq=False)
class _Scored:
    """The cosines of the pairs of one set under one model."""

    cosine: Floats  # (n)
    known: NDArray[np.bool_]  # (n)
    left_out: NDArray[np.bool_]  # (n)


def _key(table: WordVectors, one: str, two: str) -> frozenset[str]:
    return frozenset((table.spelling(one), table.spelling(two)))


def _score(table: WordVectors, pairs: RatedPairs, excluded: set[frozenset[str]]) -> _Scored:
    left, right = table.find(pairs.left), table.find(pairs.right)
    cosine = np.einsum("nd,nd->n", table.unit[left], table.unit[right], dtype=np.float64)
    keys = [_key(table, *pair) in excluded for pair in zip(pairs.left, pairs.right, strict=True)]
    left_out = np.array(keys, np.bool_)
    return _Scored(cosine, (left >= 0) & (right >= 0) & ~left_out, left_out)


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


@dataclass(frozen=True, eq=False)
class _Result:
    """The correlation of one model on one set, or a mean over sets."""

    spearman: float
    resamples: Floats  # (B)
    pairs: int
    missing: int
    left_out: int

    @classmethod
    def of(cls, pairs: RatedPairs, scored: _Scored, bootstrap: int, seed: int) -> _Result:
        known, left_out = scored.known, int(scored.left_out.sum())
        cosine, score = scored.cosine[known], pairs.score[known]
        # with the set's name in the seed, its interval does not depend on the other sets
        resamples = bootstrap_spearman(cosine, score, bootstrap, [seed, zlib.crc32(pairs.name.encode())])
        count = int(known.sum())
        return cls(spearman(cosine, score), resamples, count, len(pairs) - count - left_out, left_out)

    def row(self, label: str, model: str) -> dict[str, Any]:
        """The row of the table, with the middle 95% of the resamples; none if over 5% of them are undefined."""
        lower, upper = np.nan, np.nan
        if len(self.resamples) and np.isnan(self.resamples).mean() <= 0.05:
            lower, upper = map(float, np.nanpercentile(self.resamples, [2.5, 97.5]))
        counts = {"pairs": self.pairs, "missing": self.missing, "left_out": self.left_out}
        return {"set": label, "model": model, "spearman": self.spearman, "lower": lower, "upper": upper} | counts


def _mean(values: Floats, weight: Floats) -> Floats:
    """The weighted mean over the first axis of those that are not NaN."""
    weight = weight.reshape(-1, *[1] * (values.ndim - 1)) * ~np.isnan(values)
    with np.errstate(invalid="ignore"):
        mean: Floats = (np.nan_to_num(values) * weight).sum(0) / weight.sum(0)
    return mean


def _frame(results: dict[str, list[_Result]], sets: list[str]) -> pd.DataFrame:
    rows = [results[name][i].row(label, name) for i, label in enumerate(sets) for name in results]
    for label in ("mean", "weighted mean"):
        for name, parts in results.items():
            weight = np.array([float(part.pairs) if label == "weighted mean" else 1.0 for part in parts])
            mean = _Result(
                float(_mean(np.array([part.spearman for part in parts]), weight)),
                _mean(np.array([part.resamples for part in parts]), weight),
                sum(part.pairs for part in parts),
                sum(part.missing for part in parts),
                sum(part.left_out for part in parts),
            )
            rows.append(mean.row(label, name))
    return pd.DataFrame(rows)
