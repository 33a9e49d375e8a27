"""Are the tests of `laplex.posterior` right? False positives, thinning, power and split halves on real text.

    python benchmarks/calibration.py --data ../shared/data [--corpus senate] [--dimensions 50 100] [--labellings 30]

300 words in five bands of frequency, used by at least 25 clusters of each label.

cluster   labels are permuted by cluster (senator, speaker) and every word is tested: the share of p under 5% and 1%,
          and of words that are still called different after adjustment at 10%
document  labels are permuted by document
halves    clusters in two halves: the corrected squared distance in each against the product of both differences
thinned   half of the occurrences of some words are taken out in one group of permuted labels
power     in one group of permuted labels, a share of the occurrences of two words of a band are swapped
separate  the same, for what is done without these tests: a fit for each group, rotated onto each other, and distances
          against those of refits under 19 other labellings
drift     quarters are permuted by document; and time runs backwards for a random half of the clusters

With `--corpus three`, "cluster" and "document" test three groups at once.
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

from laplex.posterior.comparison import Draws
from laplex.posterior.evidence import Rotated, analytic_p, effect, losses, rotate, scale_of, share_of, step_of
from laplex.posterior.groups import joint_p, permuted_by, slope_along, spread, trend_p
from laplex.posterior.permutation import counted_p, evened, smoothed_p
from laplex.posterior.permutation import permuted as under_labellings
from laplex.posterior.tables import Table
from laplex.posterior.units import gather

Answers = Callable[[NDArray[np.int64]], tuple[float, float, float]]
Statistics = Callable[[NDArray[np.int64]], NDArray[np.float64]]
Formula = Callable[[NDArray[np.int64]], float]


def null_by_cluster(trial: Trial, times: int) -> pd.DataFrame:
    units = trial.units(trial.source.cluster)
    sides = [some.label for some in permuted(units, times, 2)]
    draws = np.array([some.label for some in permuted(units, 999, 3)])
    answers_of = pair_answers if len(trial.source.values) == 2 else joint_answers

    def ask(table: Table) -> NDArray[np.float64]:
        rotated = rotate(table)
        answers = np.full((3, times), np.nan)
        answer = answers_of(rotated, draws)
        for number, label in enumerate(sides):
            if enough(table, label):
                answers[:, number] = answer(label)
        return answers

    p = np.array(list(trial.read(units, whole=True).run(trial.numbers, ask)))
    name = f"by {trial.source.cluster}"
    names = (name, f"{name}, counted", f"{name}, formula")
    return pd.concat([table_of(name, p[:, i].T, trial.bands) for i, name in enumerate(names)])


def pair_answers(table: Rotated, draws: NDArray[np.int64]) -> Answers:
    """How p is found for labels: by the smooth curve, by counting, by the formula."""

    def statistics(label: NDArray[np.int64]) -> NDArray[np.float64]:
        return under_labellings(table, label == 0, PRIOR, draws == 0)

    def observed(label: NDArray[np.int64]) -> NDArray[np.float64]:
        return under_labellings(table, label == 0, PRIOR, draws[:2] == 0)

    return _answers(table, draws, statistics, observed, lambda label: analytic_p(table, label == 0, PRIOR))


def joint_answers(table: Rotated, draws: NDArray[np.int64]) -> Answers:
    """The same for several groups at once."""
    size = int(draws.max()) + 1
    scale = step_of(table.spectrum, PRIOR, 1 / (2 * size))

    def statistics(label: NDArray[np.int64]) -> NDArray[np.float64]:
        return permuted_by(table, label, draws, scale, size, spread)

    def observed(label: NDArray[np.int64]) -> NDArray[np.float64]:
        return permuted_by(table, label, draws[:2], scale, size, spread)

    return _answers(table, draws, statistics, observed, lambda label: joint_p(table, label, size, scale))


def _answers(
    table: Rotated, draws: NDArray[np.int64], statistics: Statistics, observed: Statistics, formula: Formula
) -> Answers:
    """Where the frequency of a word is left as it is, the same labellings need not be computed again."""
    known: dict[str, NDArray[np.float64]] = {}

    def answer(label: NDArray[np.int64]) -> tuple[float, float, float]:
        same = evened(table, label, draws, np.unique(label).tolist())
        if np.array_equal(same.weight, table.weight):
            if "others" not in known:
                known["others"] = statistics(label)[1:]
            found = np.concatenate([observed(label)[:1], known["others"]])
        else:
            found = statistics(label)
        return smoothed_p(found), counted_p(found), formula(label)

    return answer


OWN = Draws(np.zeros((0, 0), np.int16), False, 999, [8])  # as by default for documents


def null_by_document(trial: Trial, times: int) -> pd.DataFrame:
    units = trial.units(None)

    def ask(table: Table) -> tuple[float, float]:
        rotated, one = rotate(table), table.label == 0
        if len(trial.source.values) == 2:
            formula = analytic_p(rotated, one, PRIOR)
            p = OWN.p(rotated, table.label, lambda t, x, y: under_labellings(t, x == 0, PRIOR, y == 0), lambda: formula)
            return p, formula
        scale = step_of(rotated.spectrum, PRIOR, 1 / 6)
        formula = joint_p(rotated, table.label, 3, scale)
        p = OWN.p(rotated, table.label, lambda t, x, y: permuted_by(t, x, y, scale, 3, spread), lambda: formula)
        return p, formula

    p = np.array([list(trial.read(some).run(trial.numbers, ask)) for some in permuted(units, times, 4)])
    names = ("by document", "by document, formula")
    return pd.concat([table_of(name, p[:, :, i], trial.bands) for i, name in enumerate(names)])


def null_of_drift(trial: Trial, times: int) -> pd.DataFrame:
    """Quarters permuted by document, and with time reversed for half of the clusters, by cluster and by document."""
    documents = gather(trial.tokens, "quarter", None, 0, {})
    x = np.linspace(-0.5, 0.5, len(documents.labels))

    def ask(table: Table) -> tuple[float, float]:
        rotated = rotate(table)
        formula, scale = trend(rotated, table.label), step_of(rotated.spectrum, PRIOR, float(np.var(x)))
        along = slope_along(x)
        p = OWN.p(rotated, table.label, lambda t, y, z: permuted_by(t, y, z, scale, len(x), along), lambda: formula)
        return p, formula

    def trend(table: Rotated, label: NDArray[np.int64]) -> float:
        return trend_p(table, label, x, step_of(table.spectrum, PRIOR, float(np.var(x))))

    p = np.array([list(trial.read(some).run(trial.numbers, ask)) for some in permuted(documents, times, 4)])
    clusters = gather(trial.tokens, "quarter", trial.source.cluster, 0, {})
    random = np.random.default_rng(7)
    turned = [random.random(int(clusters.cluster.max()) + 1) < 0.5 for _ in range(times)]

    def ask_reversed(table: Table) -> NDArray[np.float64]:
        rotated, found = rotate(table), []
        alone = replace(rotated, cluster=np.arange(len(table.tau)))
        for back in turned:
            label = np.where(back[table.cluster], len(x) - 1 - table.label, table.label)
            found.append([trend(rotated, label), trend(alone, label)])
        return np.array(found)

    q = np.array(list(trial.read(clusters, whole=True).run(trial.numbers, ask_reversed)))
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

    def difference(part: Rotated, one: NDArray[np.bool_]) -> NDArray[np.float64]:
        (first, second), f = losses(part, one)[1], share_of(part, one)
        return ((1 - f) * first - f * second) * scale_of(part.spectrum, PRIOR / 2, f)

    def ask(table: Table) -> NDArray[np.float64]:
        rotated, found = rotate(table), []
        for split in splits:
            parts = [(rotated.of(half), table.label[half] == first) for half in (split, ~split)]
            if min(((p.tau > 0) & side).sum() for p, one in parts for side in (one, ~one)) < 10:
                continue
            parts = [(replace(part, spectrum=rotated.spectrum / 2), one) for part, one in parts]
            d = [difference(part, one) for part, one in parts]
            corrected = np.mean([effect(part, one, PRIOR / 2).square for part, one in parts])
            found.append([d[0] @ d[1], corrected, np.mean([v @ v for v in d])])
        return np.sum(found, axis=0) if found else np.zeros(3)

    sums = np.array(list(trial.read(units, whole=True).run(trial.numbers, ask)))
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
    asked = parser.parse_args()
    source = SOURCES[asked.corpus]
    source = replace(source, documents=asked.documents or source.documents)
    with tempfile.TemporaryDirectory() as cache:
        os.environ["LAPLEX_CACHE"] = cache
        tokens = read(asked.data, source)
        print(f"{tokens!r}, {len(tokens.values(source.cluster))} values of {source.cluster}")
        for dimensions in asked.dimensions:
            trial = begin(source, tokens, dimensions, asked.likelihood, asked.words)
            print(f"\n{dimensions} dimensions, words by band: {np.bincount(trial.bands).tolist()}", flush=True)
            run(trial, asked)


def run(trial: Trial, asked: argparse.Namespace) -> None:
    started = time.monotonic()
    if "cluster" in asked.parts:
        show("Null by cluster", null_by_cluster(trial, asked.labellings), started)
    if "halves" in asked.parts:
        show("Split halves: ratio to the cross-product", halves(trial), started)
    if "document" in asked.parts:
        show("Null by document", null_by_document(trial, asked.labellings), started)
    if "thinned" in asked.parts:
        show("Thinned", pd.concat([planted(trial, None, 20, hidden) for hidden in (False, True)]), started)
    if "power" in asked.parts:
        frames = [planted(trial, share, 2) for share in (0.1, 0.25, 0.5)]
        show("Power at 5%", pd.concat(frames), started)
    if "separate" in asked.parts:
        show("Power at 5% of separate fits", separate(trial), started)
    if "drift" in asked.parts:
        show("Null of drift", null_of_drift(trial, asked.labellings), started)


if __name__ == "__main__":
    main()
