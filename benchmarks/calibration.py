"""Calibration of the tests of `laplex.inference`: false positives, thinning, power and split halves on real text.

    python benchmarks/calibration.py --data DATA [--corpus senate] [--dimensions 50 100] [--labellings 30]

The words are 300 in five bands of frequency, used by at least 25 clusters of each label.

cluster   labels are permuted by cluster (senator, speaker) and every word is tested: the share of p-values under 5% and
          1%, and the share of words that differ after adjustment at 10%
document  labels are permuted by document
halves    clusters are split into halves: the corrected squared distance in each half is compared with the product of
          the two differences
thinned   half of the occurrences of some words are removed in one group of permuted labels
power     in one group of permuted labels, a share of the occurrences of two words of a band are swapped
separate  the same for the usual method without a test: a fit for each group, alignment by rotation, and distances
          compared with those of refits under 19 other labelings
drift     quarters are permuted by document; and time is reversed for a random half of the clusters

With `--corpus three`, "cluster" and "document" test three groups jointly.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from planted import planted
from separate import separate
from trial import BANDS, PRIOR, SOURCES, Trial, begin, enough, permuted, read, show, table_of

from laplex.inference.score_test import (
    Permutations,
    RotatedTable,
    counted_p,
    difference_effect,
    difference_p,
    difference_statistic,
    equalize_frequency,
    jackknife_influence,
    newton_scale,
    permuted_statistics,
    rotate,
    smoothed_p,
    trend_p,
    trend_statistic,
)
from laplex.inference.statistics import ScoreTable
from laplex.inference.units import gather

Answers = Callable[[NDArray[np.int64]], tuple[float, float, float]]
Statistics = Callable[[NDArray[np.int64]], NDArray[np.float64]]
Formula = Callable[[NDArray[np.int64]], float]


def null_by_cluster(trial: Trial, times: int) -> pd.DataFrame:
    units = trial.units(trial.source.cluster)
    sides = [some.label for some in permuted(units, times, 2)]
    draws = np.array([some.label for some in permuted(units, 999, 3)])

    def ask(table: ScoreTable) -> NDArray[np.float64]:
        rotated = rotate(table)
        answers = np.full((3, times), np.nan)
        answer = answers_of(rotated, draws)
        for number, label in enumerate(sides):
            if enough(table, label):
                answers[:, number] = answer(label)
        return answers

    p = np.array(list(trial.read(units, row_per_unit=True).run(trial.numbers, ask)))
    name = f"by {trial.source.cluster}"
    names = (name, f"{name}, counted", f"{name}, formula")
    return pd.concat([table_of(name, p[:, i].T, trial.bands) for i, name in enumerate(names)])


def answers_of(table: RotatedTable, draws: NDArray[np.int64]) -> Answers:
    """How p is found for labels: by the smooth curve, by counting, by the formula."""
    size = int(draws.max()) + 1
    scale = newton_scale(table.spectrum, PRIOR, 1 / (2 * size))

    def statistics(label: NDArray[np.int64]) -> NDArray[np.float64]:
        return permuted_statistics(table, label, draws, scale, size, difference_statistic)

    def observed(label: NDArray[np.int64]) -> NDArray[np.float64]:
        return permuted_statistics(table, label, draws[:2], scale, size, difference_statistic)

    return _answers(table, draws, statistics, observed, lambda label: difference_p(table, label, size, scale))


def _answers(
    table: RotatedTable, draws: NDArray[np.int64], statistics: Statistics, observed: Statistics, formula: Formula
) -> Answers:
    """Where the frequency of a word is left as it is, the same labellings need not be computed again."""
    known: dict[str, NDArray[np.float64]] = {}

    def answer(label: NDArray[np.int64]) -> tuple[float, float, float]:
        same = equalize_frequency(table, label, draws, int(draws.max()) + 1)
        if np.array_equal(same.weight, table.weight):
            if "others" not in known:
                known["others"] = statistics(label)[1:]
            found = np.concatenate([observed(label)[:1], known["others"]])
        else:
            found = statistics(label)
        return smoothed_p(found), counted_p(found), formula(label)

    return answer


AMONG_OWNERS = Permutations(np.zeros((0, 0), np.int16), False, 999, [8])  # as by default for documents


def null_by_document(trial: Trial, times: int) -> pd.DataFrame:
    units = trial.units(None)

    def ask(table: ScoreTable) -> tuple[float, float]:
        rotated, size = rotate(table), len(trial.source.values)
        scale = newton_scale(rotated.spectrum, PRIOR, 1 / (2 * size))
        formula = difference_p(rotated, table.label, size, scale)

        def statistics(
            table: RotatedTable, label: NDArray[np.int64], labellings: NDArray[np.integer]
        ) -> NDArray[np.float64]:
            return permuted_statistics(table, label, labellings, scale, size, difference_statistic)

        return AMONG_OWNERS.p(rotated, table.label, statistics, lambda: formula), formula

    p = np.array([list(trial.read(some).run(trial.numbers, ask)) for some in permuted(units, times, 4)])
    names = ("by document", "by document, formula")
    return pd.concat([table_of(name, p[:, :, i], trial.bands) for i, name in enumerate(names)])


def null_of_drift(trial: Trial, times: int) -> pd.DataFrame:
    """Quarters permuted by document, and with time reversed for half of the clusters, by cluster and by document."""
    documents = gather(trial.tokens, "quarter", None, 0, {})
    x = np.linspace(-0.5, 0.5, len(documents.labels))

    def ask(table: ScoreTable) -> tuple[float, float]:
        rotated = rotate(table)
        formula, scale = trend(rotated, table.label), newton_scale(rotated.spectrum, PRIOR, float(np.var(x)))

        def statistics(
            table: RotatedTable, label: NDArray[np.int64], labellings: NDArray[np.integer]
        ) -> NDArray[np.float64]:
            return permuted_statistics(table, label, labellings, scale, len(x), trend_statistic(x))

        return AMONG_OWNERS.p(rotated, table.label, statistics, lambda: formula), formula

    def trend(table: RotatedTable, label: NDArray[np.int64]) -> float:
        return trend_p(table, label, x, newton_scale(table.spectrum, PRIOR, float(np.var(x))))

    p = np.array([list(trial.read(some).run(trial.numbers, ask)) for some in permuted(documents, times, 4)])
    clusters = gather(trial.tokens, "quarter", trial.source.cluster, 0, {})
    random = np.random.default_rng(7)
    turned = [random.random(int(clusters.cluster.max()) + 1) < 0.5 for _ in range(times)]

    def ask_reversed(table: ScoreTable) -> NDArray[np.float64]:
        rotated, found = rotate(table), []
        alone = replace(rotated, cluster=np.arange(len(table.tau)))
        for back in turned:
            label = np.where(back[table.cluster], len(x) - 1 - table.label, table.label)
            found.append([trend(rotated, label), trend(alone, label)])
        return np.array(found)

    q = np.array(list(trial.read(clusters, row_per_unit=True).run(trial.numbers, ask_reversed)))
    who = trial.source.cluster
    names = {f"reversed, by {who}": q[:, :, 0].T, f"reversed, by {who} and quarter": q[:, :, 1].T}
    tables = [table_of(f"by document{more}", p[:, :, i], trial.bands) for i, more in enumerate(("", ", formula"))]
    return pd.concat(tables + [table_of(name, values, trial.bands) for name, values in names.items()])


def halves(trial: Trial) -> pd.DataFrame:
    """Corrected squared distances in halves of the clusters, and the products of the two differences."""
    units = trial.units(trial.source.cluster)
    first = int(units.label[0])
    random = np.random.default_rng(6)
    splits = [random.permutation(len(units)) % 2 == 0 for _ in range(10)]

    def difference(part: RotatedTable, label: NDArray[np.int64]) -> NDArray[np.float64]:
        (first, second), f = jackknife_influence(part, label, 2)[1], part.tau[label == 0].sum() / part.tau.sum()
        return ((1 - f) * first - f * second) * newton_scale(part.spectrum, PRIOR / 2, f * (1 - f))

    def ask(table: ScoreTable) -> NDArray[np.float64]:
        rotated, found = rotate(table), []
        for split in splits:
            parts = [(rotated.select(half), np.where(table.label[half] == first, 0, 1)) for half in (split, ~split)]
            if min(((p.tau > 0) & (label == side)).sum() for p, label in parts for side in (0, 1)) < 10:
                continue
            parts = [(replace(part, spectrum=rotated.spectrum / 2), label) for part, label in parts]
            d = [difference(part, label) for part, label in parts]
            effects = [difference_effect(part, label, 2, {(0, 1): PRIOR / 2}) for part, label in parts]
            corrected = np.mean([effect.square for effect in effects])
            found.append([d[0] @ d[1], corrected, np.mean([v @ v for v in d])])
        return np.sum(found, axis=0) if found else np.zeros(3)

    sums = np.array(list(trial.read(units, row_per_unit=True).run(trial.numbers, ask)))
    rows = []
    for band, (low, high) in [*enumerate(BANDS), (-1, (0, 0))]:
        mine = sums[trial.bands == band] if band >= 0 else sums
        cross, corrected, plain = mine.sum(0)
        again = mine[random.integers(len(mine), size=(500, len(mine)))].sum(1)
        label = f"{low:,}–{high:,}" if band >= 0 else "all"
        row = {"occurrences": label, "corrected": corrected / cross, "se": (again[:, 1] / again[:, 0]).std()}
        rows.append(row | {"plain": plain / cross, "error of the noise": (corrected - cross) / (plain - cross)})
    return pd.DataFrame(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="the folder with the corpora")
    parser.add_argument("--corpus", choices=list(SOURCES), default="senate")
    parser.add_argument("--documents", type=int, help="fewer than there are")
    parser.add_argument("--dimensions", type=int, nargs="+", default=[50, 100])
    parser.add_argument("--likelihood", choices=["cbow", "sgns"], default="cbow")
    parser.add_argument("--labellings", type=int, default=30)
    parser.add_argument("--words", type=int, default=60, help="of each band")
    parser.add_argument("--parts", nargs="+", default=["cluster", "document", "halves", "thinned", "power"])
    arguments = parser.parse_args()
    source = SOURCES[arguments.corpus]
    source = replace(source, documents=arguments.documents or source.documents)
    with tempfile.TemporaryDirectory() as cache:
        os.environ["LAPLEX_CACHE"] = cache
        tokens = read(arguments.data, source)
        print(f"{tokens!r}, {len(tokens.values(source.cluster))} values of {source.cluster}")
        for dimensions in arguments.dimensions:
            trial = begin(source, tokens, dimensions, arguments.likelihood, arguments.words)
            print(f"\n{dimensions} dimensions, words by band: {np.bincount(trial.bands).tolist()}", flush=True)
            run(trial, arguments)


def run(trial: Trial, arguments: argparse.Namespace) -> None:
    started = time.monotonic()
    if "cluster" in arguments.parts:
        show("Null by cluster", null_by_cluster(trial, arguments.labellings), started)
    if "halves" in arguments.parts:
        show("Split halves: ratio to the cross-product", halves(trial), started)
    if "document" in arguments.parts:
        show("Null by document", null_by_document(trial, arguments.labellings), started)
    if "thinned" in arguments.parts:
        show("Thinned", pd.concat([planted(trial, None, 20, hidden) for hidden in (False, True)]), started)
    if "power" in arguments.parts:
        frames = [planted(trial, share, 2) for share in (0.1, 0.25, 0.5)]
        show("Power at 5%", pd.concat(frames), started)
    if "separate" in arguments.parts:
        show("Power at 5% of separate fits", separate(trial), started)
    if "drift" in arguments.parts:
        show("Null of drift", null_of_drift(trial, arguments.labellings), started)


if __name__ == "__main__":
    main()
