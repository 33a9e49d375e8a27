"""Level and power of embedding regression (conText's method), beside the tests of `laplex.inference`.

    python benchmarks/embedding_regression.py --data DATA [--corpus senate] [--dimensions 50] [--labellings 20]
        [--units cluster]

Text, labels, words and vectors are the same for both: 300 words in five bands of frequency as in `calibration.py`,
vectors that have not seen the labels, and a dummy for the label as the only covariate.

level   labels are permuted by document, or by cluster (senator, speaker): the share of p-values under 5% and 1%
power   in one group of such labels, a share of the occurrences of two words of a band are swapped: the share under 5%

Labels that were permuted by cluster are also tested as if documents were independent, and labels that were permuted by
document as if occurrences were. With `--units`, only tests that take these as independent are run. Embedding regression
by cluster gives every cluster the same weight, as conText does, and otherwise every occurrence.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from planted import Found, by_band, changed, some_labelling, swapped, tested
from results import record
from trial import SOURCES, Trial, begin, fit, permuted, read, show, table_of

import laplex as lx
from laplex.baselines.a_la_carte import ContextEmbeddings, WordOccurrences
from laplex.baselines.regression import permutation_p
from laplex.inference.scores import ScorePass
from laplex.inference.statistics import thread_pool
from laplex.inference.units import Options, Units, gather

WINDOW, MIN_COUNT, PERMUTATIONS = 6, 100, 999
SHARES = (0.1, 0.25, 0.5)
UNITS = ("cluster", "documents", "occurrences")
TEXTS = {
    "level": """300 words in five bands of frequency, each used by at least 25 clusters of every label. The labels
mean nothing, so that 5% and 1% of p-values should be under these levels. "units" are what each test takes as
independent.""",
    "power": """Labels are permuted, and then words are swapped in the text of one group: shares of words under 5%, by
band of frequency. Tests by documents under labels permuted by cluster, and by occurrences, reject too
often without a swap as well (see the level): their shares are no power.""",
}


def labels_of(tokens: lx.Tokens, units: Units) -> NDArray[np.int64]:
    """(M) The label of each document; −1 where it has none."""
    labels = np.full(tokens.documents, -1)
    labels[units.documents] = np.repeat(units.label, np.diff(units.start))
    return labels


def relabelled(tokens: lx.Tokens, column: str, cluster: str | None, labels: NDArray[np.int64]) -> Units:
    """The units of a test, if documents have these labels."""
    units = gather(tokens, column, cluster, 0, {})
    clusters = units.documents if cluster is None else tokens.codes(cluster)[units.documents].astype(np.int64)
    return Units.group(units.documents, clusters, labels[units.documents], units.labels)


def regressed(
    tokens: lx.Tokens,
    vectors: lx.Embeddings,
    words: Sequence[int],
    labellings: Sequence[NDArray[np.int64]],
    unit: str,
) -> Found:
    """(labellings, words) p of embedding regression, whose contexts are read once for all labellings."""
    threads = os.cpu_count() or 1
    even = unit not in ("documents", "occurrences")
    group = tokens.codes(unit).astype(np.int64) if even else np.arange(tokens.documents)

    def ask(found: WordOccurrences) -> list[float]:
        units = np.arange(len(found.document)) if unit == "occurrences" else group[found.document]
        p = []
        for number, labels in enumerate(labellings):
            x = (labels == labels.max())[found.document][:, None].astype(np.float64)
            seed = [1, number, found.id]
            p.append(float(permutation_p(found.embeddings, x, units, PERMUTATIONS, seed, even=even)[0]))
        return p

    contexts = ContextEmbeddings(tokens, vectors, WINDOW, MIN_COUNT, threads)
    with thread_pool(threads) as pool:
        return np.array([p for batch in contexts.read(words) for p in pool.map(ask, batch)]).T


def both(
    trial: Trial,
    tokens: lx.Tokens,
    vectors: lx.Embeddings,
    labellings: Sequence[NDArray[np.int64]],
    units: Sequence[str],
) -> dict[tuple[str, str], Found]:
    """p of both methods by unit, (labellings, words); laplex has no test by occurrences.

    Words that too few clusters of a label use are left out of both.
    """
    found: dict[tuple[str, str], Found] = {}
    unknown = np.zeros((len(labellings), len(trial.words)), bool)
    for unit in units:
        if unit != "occurrences":
            p = []
            for labels in labellings:
                some = relabelled(tokens, trial.source.column, None if unit == "documents" else unit, labels)
                text = ScorePass(tokens, some, vectors, trial.words, 0, Options(quiet=True))
                p.append(tested(text, some, trial.words)[0])
            found["laplex", unit] = np.array(p)
            unknown |= np.isnan(found["laplex", unit])
        found["embedding regression", unit] = regressed(tokens, vectors, trial.words, labellings, unit)
    return {key: np.where(unknown, np.nan, p) for key, p in found.items()}


def designs(trial: Trial, kinds: Sequence[str]) -> list[tuple[str | None, list[str]]]:
    """By what labels are permuted (None: documents), and the units of tests, of the kinds that are asked for."""
    cluster = trial.source.cluster
    pairs: list[tuple[str | None, list[str]]] = [
        (cluster, ["cluster", "documents"]),
        (None, ["documents", "occurrences"]),
    ]
    asked = [(source, [kind for kind in mine if kind in kinds]) for source, mine in pairs]
    return [(source, [cluster if kind == "cluster" else kind for kind in mine]) for source, mine in asked if mine]


def level(trial: Trial, times: int, kinds: Sequence[str] = UNITS) -> pd.DataFrame:
    tables = []
    for source, units in reversed(designs(trial, kinds)):
        seed = 4 if source is None else 2
        labellings = [labels_of(trial.tokens, some) for some in permuted(trial.units(source), times, seed)]
        for (method, unit), p in both(trial, trial.tokens, trial.free, labellings, units).items():
            table = table_of(method, p, trial.bands).rename(columns={"test": "method"})
            table.insert(0, "labels permuted by", source or "document")
            table.insert(2, "units", unit)
            tables.append(table.drop(columns=["adjusted 10%", "runs"]))
    return pd.concat(tables)


def power(trial: Trial, runs: int, kinds: Sequence[str] = UNITS) -> pd.DataFrame:
    rows = []
    for share in SHARES:
        for source, units in designs(trial, kinds):
            found: dict[tuple[str, str], list[Found]] = {}
            for seed in range(runs):
                labelled, inside, _ = some_labelling(trial, source, seed)
                ids = swapped(trial, inside, trial.words, trial.bands, share, seed)
                with tempfile.TemporaryDirectory() as folder:
                    tokens = changed(trial.tokens, ids, Path(folder) / "text")
                    labellings = [labels_of(trial.tokens, labelled)]
                    for key, p in both(trial, tokens, fit(tokens, trial.free.dimensions), labellings, units).items():
                        found.setdefault(key, []).append(p[0])
            for (method, unit), p in found.items():
                what = {"planted": f"{share:.0%} swapped", "labels permuted by": source or "document"}
                rows.append(what | {"method": method, "units": unit} | by_band(np.array(p), trial.bands))
    return pd.DataFrame(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="the folder with the corpora")
    parser.add_argument("--corpus", choices=["senate", "europarl"], default="senate")
    parser.add_argument("--documents", type=int, help="fewer than there are")
    parser.add_argument("--dimensions", type=int, default=50)
    parser.add_argument("--labellings", type=int, default=20)
    parser.add_argument("--runs", type=int, default=2, help="of every swap")
    parser.add_argument("--words", type=int, default=60, help="of each band")
    parser.add_argument("--units", nargs="+", choices=UNITS, default=UNITS, help="that tests take as independent")
    parser.add_argument("--parts", nargs="+", choices=["level", "power"], default=["level", "power"])
    parser.add_argument("--record", action="store_true", help="write the tables into VALIDITY.md")
    arguments = parser.parse_args()
    source = SOURCES[arguments.corpus]
    source = replace(source, documents=arguments.documents or source.documents)
    with tempfile.TemporaryDirectory() as cache:
        os.environ["LAPLEX_CACHE"] = cache
        tokens = read(arguments.data, source)
        print(f"{tokens!r}, {len(tokens.values(source.cluster))} values of {source.cluster}")
        trial = begin(source, tokens, arguments.dimensions, "cbow", arguments.words)
        started, setting = time.monotonic(), f"{arguments.corpus}, {arguments.dimensions} dimensions"
        for part in arguments.parts:
            run, times = (level, arguments.labellings) if part == "level" else (power, arguments.runs)
            frame = run(trial, times, arguments.units)
            show(f"Embedding regression, {part}", frame, started)
            if arguments.record:
                record(f"Embedding regression: {part} ({setting})", TEXTS[part], [frame])


if __name__ == "__main__":
    main()
