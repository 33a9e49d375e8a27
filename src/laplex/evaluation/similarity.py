"""Do vectors find those words alike that people find alike? (paper, the table of word similarity)

Models and sets of rated pairs come in; a frame with Spearman's correlation between the ratings and the cosines goes
out, with the pairs that a model knows and does not know, and a bootstrap interval.
n pairs of a set, B resamples.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from laplex.errors import InputError, quote, whole
from laplex.evaluation.correlation import resampled, spearman
from laplex.evaluation.datasets import RatedPairs, read_rated_pairs
from laplex.evaluation.lookup import Models, Table, named, say_lowered, slices_of, table
from laplex.lexicons.pairs import read_pairs
from laplex.progress import bar
from laplex.questions.cosine import By

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
    """Spearman's correlation between people's ratings and the cosines of vectors, set by set, then the means.

    models     a model, or several by name: {"plain": one, "with a dictionary": other}
    sets       a folder of .tsv, .txt or .csv, a file, a frame, or a dict of these by name; WordSim-353 by default.
               A line is a word, a word and a score
    by         the cosine of the "words" vectors (as in the paper), of the "contexts", or of "both", their sum
    leave_out  pairs that the prior joins, and that the model was thus told: the pairs of a set that are among them, in
               either order, are not counted. A file, a frame or tuples, as for lx.Pairs
    shared     count only the pairs that all models know
    bootstrap  resamples of the pairs for the 95% interval (percentiles); 0 for none. Models that know the same pairs
               are judged on the same resamples
    slice      which slice, where vectors vary: party="D". Models that do not vary by a column pass over it

    Words are looked up in lower case if the vocabulary is in lower case. The last rows are the "mean" over sets and the
    "weighted mean", by the number of known pairs; their intervals take the sets as independent, though some sets share
    pairs. A set without known pairs has no correlation and no part in the means.
    """
    bootstrap = whole("bootstrap", bootstrap, 0)
    rated = read_rated_pairs(sets)
    chosen = named(models)
    values = slices_of(chosen, slice)
    edges = None if leave_out is None else read_pairs(leave_out)
    words = [word for pairs in rated for word in pairs.left + pairs.right]
    judged: dict[str, list[_Judged]] = {}
    for name, model in chosen.items():
        found = table(model, by, language, values[name], name=name)
        say_lowered([found], words, quiet or bool(judged))
        told = None if edges is None else {_key(found, *pair) for pair in zip(edges.left, edges.right, strict=True)}
        judged[name] = [_judge(found, pairs, told) for pairs in rated]
        _check_known(name, judged[name], found)
    if shared:
        judged = _narrow(judged)
    results: dict[str, list[_Result]] = {name: [] for name in judged}
    with bar("resampling", quiet=quiet) as progress:
        for number, pairs in enumerate(rated):
            for name, cosines in judged.items():
                results[name].append(_Result.of(pairs, cosines[number], bootstrap, seed))
            progress.update((number + 1) / len(rated), pairs.name)
    frame = _frame(results, [pairs.name for pairs in rated])
    return frame if edges is not None else frame.drop(columns="left_out")


@dataclass(frozen=True, eq=False)
class _Judged:
    cosine: Floats  # (n)
    known: NDArray[np.bool_]  # (n)
    left_out: NDArray[np.bool_]  # (n)


def _key(words: Table, one: str, two: str) -> frozenset[str]:
    return frozenset((words.spelling(one), words.spelling(two)))


def _judge(words: Table, pairs: RatedPairs, told: set[frozenset[str]] | None) -> _Judged:
    left, right = words.find(pairs.left), words.find(pairs.right)
    cosine = np.einsum("nd,nd->n", words.unit[left], words.unit[right], dtype=np.float64)
    left_out = np.zeros(len(pairs), np.bool_)
    if told is not None:
        left_out[:] = [_key(words, *pair) in told for pair in zip(pairs.left, pairs.right, strict=True)]
    return _Judged(cosine, (left >= 0) & (right >= 0) & ~left_out, left_out)


def _check_known(name: str, judged: list[_Judged], words: Table) -> None:
    if any(part.known.any() for part in judged):
        return
    pairs = sum(len(part.known) for part in judged)
    told = sum(int(part.left_out.sum()) for part in judged)
    raise InputError(
        f"{name} knows none of the {pairs:,} pairs of words{f' once {told:,} are left out' if told else ''} "
        f"({len(words):,} words, such as {quote(words.vocabulary.words[:5])}): check the language and the sets"
    )


def _narrow(judged: dict[str, list[_Judged]]) -> dict[str, list[_Judged]]:
    """Only the pairs that all models know."""
    common = [np.logical_and.reduce([part.known for part in parts]) for parts in zip(*judged.values(), strict=True)]
    if not any(known.any() for known in common):
        raise InputError(f"there is no pair of words that all of {quote(judged)} know")
    return {
        name: [_Judged(part.cosine, known, part.left_out) for part, known in zip(parts, common, strict=True)]
        for name, parts in judged.items()
    }


@dataclass(frozen=True, eq=False)
class _Result:
    spearman: float
    resamples: Floats  # (B)
    pairs: int
    missing: int
    left_out: int

    @classmethod
    def of(cls, pairs: RatedPairs, judged: _Judged, bootstrap: int, seed: int) -> _Result:
        known, told = judged.known, int(judged.left_out.sum())
        cosine, score = judged.cosine[known], pairs.score[known]
        # the set's name in the seed: its interval is the same whatever sets are beside it
        resamples = resampled(cosine, score, bootstrap, [seed, zlib.crc32(pairs.name.encode())])
        count = int(known.sum())
        return cls(spearman(cosine, score), resamples, count, len(pairs) - count - told, told)


def _interval(resamples: Floats) -> tuple[float, float]:
    """The middle 95% of resamples; none if more than one in twenty has no correlation."""
    if not len(resamples) or np.isnan(resamples).mean() > 0.05:
        return float("nan"), float("nan")
    lower, upper = np.nanpercentile(resamples, [2.5, 97.5])
    return float(lower), float(upper)


def _mean(values: Floats, weight: Floats) -> Floats:
    """The weighted mean over the first axis of those that are not NaN."""
    weight = weight.reshape(-1, *[1] * (values.ndim - 1)) * ~np.isnan(values)
    total = weight.sum(0)
    with np.errstate(invalid="ignore"):
        mean: Floats = (np.nan_to_num(values) * weight).sum(0) / total
    return mean


def _frame(results: dict[str, list[_Result]], sets: list[str]) -> pd.DataFrame:
    rows = [_row(sets[i], name, results[name][i]) for i in range(len(sets)) for name in results]
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
            rows.append(_row(label, name, mean))
    return pd.DataFrame(rows)


def _row(label: str, name: str, result: _Result) -> dict[str, Any]:
    lower, upper = _interval(result.resamples)
    counts = {"pairs": result.pairs, "missing": result.missing, "left_out": result.left_out}
    return {"set": label, "model": name, "spearman": result.spearman, "lower": lower, "upper": upper} | counts
