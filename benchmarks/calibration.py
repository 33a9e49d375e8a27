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

import agreement
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from planted import planted
from results import Aim, Section, record
from separate import separate
from trial import BANDS, SOURCES, Trial, begin, both_p, difference_of, enough, permuted, read, show, table_of

from laplex.inference.permutations import Permutations, Trend
from laplex.inference.score_test import GroupScores, difference_effect, group_scores
from laplex.inference.scores import ScoreTable
from laplex.inference.units import gather

NULL_TEXT = """300 words in five bands of frequency, each used by at least 25 clusters of every label. The
labels mean nothing, so that 5% and 1% of p-values should be under these levels; "adjusted 10%" is the share of
words that are called different after adjustment, "runs" that of labellings with any such word, which should be
10%."""
PLANTED_TEXT = """Labels are permuted, and then the text of one group is changed: shares of words under 5%, by
band of frequency."""
TEXTS = {
    "cluster": NULL_TEXT,
    "document": NULL_TEXT,
    "drift": NULL_TEXT,
    "halves": """Clusters are split into halves: the corrected square of one half over the product of the
differences of both (1 is right), its standard error, the same for the plain square, and the error of the noise
that was taken out.""",
    "thinned": PLANTED_TEXT,
    "power": PLANTED_TEXT,
    "separate": PLANTED_TEXT,
}


def null_by_cluster(trial: Trial, times: int) -> pd.DataFrame:
    units = trial.units(trial.source.cluster)
    text = trial.read(units)
    test = difference_of(units, text)
    sides = [some.label for some in permuted(units, times, 2)]

    def ask(table: ScoreTable) -> list[tuple[float, float]]:
        tables = [replace(table, label=label) for label in sides]
        return [both_p(some, *test) if enough(some, some.label) else (np.nan, np.nan) for some in tables]

    p = np.array(list(text.run(trial.numbers, ask)))
    name = f"by {trial.source.cluster}"
    return pd.concat([table_of(name, p[:, :, i].T, trial.bands) for i, name in enumerate((name, f"{name}, formula"))])


def null_by_document(trial: Trial, times: int) -> pd.DataFrame:
    p = []
    for some in permuted(trial.units(None), times, 4):
        text = trial.read(some)
        test = difference_of(some, text)
        p.append(list(text.run(trial.numbers, lambda table, test=test: both_p(table, *test))))  # type: ignore[misc]
    found = np.array(p)
    names = ("by document", "by document, formula")
    return pd.concat([table_of(name, found[:, :, i], trial.bands) for i, name in enumerate(names)])


def null_of_drift(trial: Trial, times: int) -> pd.DataFrame:
    """Quarters permuted by document, and with time reversed for half of the clusters, by cluster and by document."""
    documents = gather(trial.tokens, "quarter", None, 0, {})
    trend = Trend(np.linspace(-0.5, 0.5, len(documents.labels)))
    p = []
    for some in permuted(documents, times, 4):
        text = trial.read(some)
        test = difference_of(some, text)[0], trend
        p.append(list(text.run(trial.numbers, lambda table, test=test: both_p(table, *test))))  # type: ignore[misc]
    clusters = gather(trial.tokens, "quarter", trial.source.cluster, 0, {})
    random = np.random.default_rng(7)
    turned = [random.random(int(clusters.cluster.max()) + 1) < 0.5 for _ in range(times)]
    text = trial.read(clusters)
    flips: Permutations = difference_of(clusters, text)[0]

    def ask_reversed(table: ScoreTable) -> list[tuple[float, float]]:
        last = len(trend.x) - 1
        tables = [
            replace(table, label=np.where(back[table.cluster], last - table.label, table.label)) for back in turned
        ]
        return [both_p(some, flips, trend) for some in tables]

    q = np.array(list(text.run(trial.numbers, ask_reversed)))
    who, found = trial.source.cluster, np.array(p)
    tables = [table_of(f"by document{more}", found[:, :, i], trial.bands) for i, more in enumerate(("", ", formula"))]
    names = (f"reversed, by {who}", f"reversed, by {who}, formula")
    return pd.concat(tables + [table_of(name, q[:, :, i].T, trial.bands) for i, name in enumerate(names)])


def halves(trial: Trial) -> pd.DataFrame:
    """Corrected squared distances in halves of the clusters, and the products of the two differences."""
    units = trial.units(trial.source.cluster)
    first = int(units.label[0])
    random = np.random.default_rng(6)
    splits = [random.permutation(len(units)) % 2 == 0 for _ in range(10)]

    def difference(scores: GroupScores) -> NDArray[np.float64]:
        tau = scores.share * scores.tau.sum()
        return np.asarray((scores.score[0] / tau[0] - scores.score[1] / tau[1]) @ scores.size_metric)

    def ask(table: ScoreTable) -> NDArray[np.float64]:
        found, label = [], np.where(table.label == first, 0, 1)
        for split in splits:
            parts = []
            for half in (split, ~split):
                sums = {name: getattr(table, name)[half] for name in ("score", "tau", "background", "weight")}
                rows = {"label": label[half], "cluster": table.cluster[half], "piece": table.piece[half]}
                parts.append(replace(table, **sums, **rows))
            if min(((part.tau > 0) & (part.label == side)).sum() for part in parts for side in (0, 1)) < 10:
                continue
            scores = [some for part in parts if (some := group_scores(part, [[0], [1]]))]
            d = [difference(some) for some in scores]
            corrected = np.mean([difference_effect(some).square for some in scores])
            found.append([d[0] @ d[1], corrected, np.mean([v @ v for v in d])])
        return np.sum(found, axis=0) if found else np.zeros(3)

    sums = np.array(list(trial.read(units).run(trial.numbers, ask)))
    rows = []
    for band, (low, high) in [*enumerate(BANDS), (-1, (0, 0))]:
        mine = sums[trial.bands == band] if band >= 0 else sums
        cross, corrected, plain = mine.sum(0)
        again = mine[random.integers(len(mine), size=(500, len(mine)))].sum(1)
        label = f"{low:,}–{high:,}" if band >= 0 else "all"
        row = {"occurrences": label, "corrected": corrected / cross, "se": (again[:, 1] / again[:, 0]).std()}
        rows.append(row | {"plain": plain / cross, "error of the noise": (corrected - cross) / (plain - cross)})
    return pd.DataFrame(rows)


def measure(data: Path) -> list[Section]:
    """Level under labels without meaning, and agreement on real labels with permutations that are only counted."""
    tables, aims = [], []
    with tempfile.TemporaryDirectory() as cache:
        os.environ["LAPLEX_CACHE"] = cache
        for corpus in ("senate", "europarl"):
            source = SOURCES[corpus]
            table = null_by_cluster(begin(source, read(data, source), 50, "cbow", 60), 100)
            tables.append(table.assign(test=f"{corpus}, " + table["test"]))
        levels = pd.concat(tables)
        for _, row in levels[levels["occurrences"] == "all"].iterrows():
            bounds = {"at_least": 3.5, "at_most": 6.5}
            aims.append(Aim(f"p under 5%, {row['test']}", 100 * row["at 5%"], "% of tests", **bounds))
        answers = [agreement.compare(name, data, 50, 40) for name in ("sotu-parties", "senate", "europarl")]
    return [Section("Level of the tests", NULL_TEXT, [levels], aims), agreement.section(answers)]


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
    parser.add_argument("--record", action="store_true", help="write the tables into VALIDITY.md")
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
    started, times = time.monotonic(), arguments.labellings
    setting = f"{arguments.corpus}, {trial.free.dimensions} dimensions, {arguments.likelihood}"
    parts: dict[str, tuple[str, Callable[[], pd.DataFrame]]] = {
        "cluster": ("Labels permuted by cluster", lambda: null_by_cluster(trial, times)),
        "halves": ("Split halves", lambda: halves(trial)),
        "document": ("Labels permuted by document", lambda: null_by_document(trial, times)),
        "thinned": ("Thinned", lambda: pd.concat([planted(trial, None, 20, hidden) for hidden in (False, True)])),
        "power": ("Power at 5%", lambda: pd.concat([planted(trial, share, 2) for share in (0.1, 0.25, 0.5)])),
        "separate": ("Power at 5% of separate fits", lambda: separate(trial)),
        "drift": ("Times permuted", lambda: null_of_drift(trial, times)),
    }
    for part in arguments.parts:
        title, measure = parts[part]
        frame = measure()
        show(title, frame, started)
        if arguments.record:
            record(f"{title} ({setting})", TEXTS[part], [frame])


if __name__ == "__main__":
    main()
