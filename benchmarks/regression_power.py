"""Power of tests that control for other columns, and of tests of numbers, on words that are swapped.

    python benchmarks/regression_power.py --data DATA [--runs 2] [--record]

Press releases of the Senate by senator, as in `calibration.py`. Labels are given to senators by chance. In the text of
one label, a share of the occurrences of two words of a band is swapped; or the share rises with a number of the
senator, from zero to twice the share. Words are tested without controls, and given the quarter and the topic, which
have nothing to do with the labels.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from planted import by_band, changed
from results import record
from trial import BANDS, SOURCES, Trial, begin, fit, read, show

from laplex.text.topics import document_topics

TEXT = """Labels, or numbers, are given to senators by chance; a share of the occurrences of two words of a band is
swapped in the text of one label, or a share that rises with the number from zero to twice as much. Shares of words
under 5%, by band of frequency, without controls and given columns that have nothing to do with the labels. Aims: .60,
.86 and .99 for two groups without controls, and at most 3 points below with controls."""
TOPICS = 8


def swapped(trial: Trial, share: NDArray[np.float64], seed: int) -> NDArray[np.int32]:
    """Pairs of words of a band change places, at a share of their occurrences that each document has."""
    counts = trial.tokens.vocabularies[0].counts
    other = np.arange(len(counts), dtype=np.int32)
    for band in range(len(BANDS)):
        mine = sorted((w for w, b in zip(trial.words, trial.bands) if b == band), key=lambda w: counts[w])
        for one, two in zip(mine[::2], mine[1::2]):
            other[one], other[two] = two, one
    ids = np.array(trial.tokens.ids)
    moved = np.random.default_rng([seed, 1]).random(len(ids)) < np.repeat(share, np.diff(trial.tokens.offsets))
    ids[moved] = other[ids[moved]]
    return ids


def power(trial: Trial, share: float, runs: int) -> pd.DataFrame:
    """Rejections at 5% by band of frequency."""
    senators = trial.tokens.codes(trial.source.cluster)
    found: dict[str, list[NDArray[np.float64]]] = {}
    for seed in range(runs):
        order = np.random.default_rng([seed, 4]).permutation(len(trial.tokens.values(trial.source.cluster)))
        label, number = (order % 2)[senators], (order / order.max())[senators]
        for what, rising in (("two groups", False), ("number", True)):
            share_of_document = 2 * share * number if rising else share * label
            with tempfile.TemporaryDirectory() as folder:
                text = changed(trial.tokens, swapped(trial, share_of_document, seed), Path(folder) / "text")
                free = fit(text, trial.free.dimensions)
                topics = document_topics(text, TOPICS, quiet=True)
                text = text.with_column("label", label.astype(np.int32), ["a", "b"])
                text = text.with_column("number", order[senators].astype(np.int32), [str(i) for i in range(len(order))])
                text = text.with_column("topic", topics.code, topics.names)
                asked = free.inference(unit=trial.source.cluster, min_units=20, tokens=text, quiet=True)
                words = [text.vocabularies[0].words[i] for i in trial.words]
                column = "number" if rising else "label"
                tables = {
                    "plain": asked.regress(["number"], words) if rising else asked.contrast("label", words),
                    "given quarter": asked.regress([column, "quarter"], words, terms=column),
                    "given quarter and topic": asked.regress([column, "quarter", "topic"], words, terms=column),
                }
                for test, table in tables.items():
                    p = table.set_index("word")["p"].reindex(words).to_numpy(np.float64)
                    found.setdefault(f"{what}, {test}", []).append(p)
    rows = [{"swapped": f"{share:.0%}", "test": test} | by_band(np.array(p), trial.bands) for test, p in found.items()]
    return pd.DataFrame(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="the folder with the corpora")
    parser.add_argument("--dimensions", type=int, default=50)
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--words", type=int, default=60, help="of each band")
    parser.add_argument("--record", action="store_true", help="write the tables into VALIDITY.md")
    arguments = parser.parse_args()
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as cache:
        os.environ["LAPLEX_CACHE"] = cache
        tokens = read(arguments.data, SOURCES["senate"])
        trial = begin(SOURCES["senate"], tokens, arguments.dimensions, "cbow", arguments.words)
        tables = []
        for share in (0.1, 0.25, 0.5):
            tables.append(power(trial, share, arguments.runs))
            show(f"{share:.0%} swapped", tables[-1], started)
    if arguments.record:
        record("Power given other columns", TEXT, [pd.concat(tables)])


if __name__ == "__main__":
    main()
