"""Real labels: p as `contrast` gives it, against permutations of whole units that are counted without any shortcut.

    python benchmarks/agreement.py --data DATA [--corpora sotu-eras senate] [--dimensions 50] [--words 80] [--record]

Permuted labels have the same background in every group; real groups write about other things, and not as much.
The reference gives every unit a row, permutes the labels of all rows, and computes the scores of both groups anew from
their own occurrences and their own background. Its background is weighted so that the word is equally frequent in both
groups, since groups that mix units with different frequencies have more noise than the real ones.

By band of frequency: the number of words, the shares under 5%, Spearman's correlation of log p, and the words that only
the reference has a p for.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
from numpy.typing import NDArray
from results import Aim, Section, record
from scipy import stats

import laplex as lx
from laplex.inference import scores
from laplex.inference.units import Options, gather

TEXT = """p as `contrast` gives it, against permutations of whole units that are counted without any shortcut
(999 of them, so that smaller p are compared as 0.001): the shares of words under 5%, Spearman's correlation of
log p, and the words that only the reference has a p for. Aims: shares within 3 points, a correlation of .95,
none missing."""
DRAWS = 999
LEAST_UNITS = 5  # of each label that use a word
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Question:
    """A corpus, its column of labels, the two that are compared, and who carries them (None: documents)."""

    corpus: Callable[[Path], lx.Corpus]
    column: str
    values: tuple[str, str]
    unit: str | None
    bands: tuple[int, int, int, int] = (100, 500, 3_000, 20_000)


def addresses(values: tuple[str, str], column: str) -> Callable[[Path], lx.Corpus]:
    return lambda folder: lx.demo().periods("year", "40y", start=1781).where(**{column: list(values)})


def releases(folder: Path) -> lx.Corpus:
    frame = pl.read_parquet(folder / "senate-press.parquet").sample(17_383, seed=1)
    return lx.read(frame, metadata=["party", "senator"])


def debates(column: str, values: tuple[str, str]) -> Callable[[Path], lx.Corpus]:
    def read(folder: Path) -> lx.Corpus:
        frame = pl.read_parquet(folder / "europarl-en.parquet").with_columns(year=pl.col("date").str.slice(0, 4))
        frame = frame.filter(pl.col(column).is_in(values))
        return lx.read(frame.sample(min(15_000, len(frame)), seed=1), metadata=[column, "speaker"])

    return read


SMALL = (50, 200, 1_000, 20_000)
ERAS, PARTIES, FAMILIES, YEARS = ("1821", "1941"), ("Democratic", "Republican"), ("EPP", "S&D"), ("2005", "2009")
QUESTIONS = {
    "sotu-eras": Question(addresses(ERAS, "period"), "period", ERAS, None, SMALL),
    "sotu-parties": Question(addresses(PARTIES, "party"), "party", PARTIES, "president", SMALL),
    "senate": Question(releases, "party", ("D", "R"), "senator"),
    "senate-releases": Question(releases, "party", ("D", "R"), None),
    "europarl": Question(debates("family", FAMILIES), "family", FAMILIES, "speaker"),
    "europarl-years": Question(debates("year", YEARS), "year", YEARS, None),
}


def reference(table: scores.ScoreTable, draws: NDArray[np.int8]) -> float:
    """p of a word by counting; `draws` (1 + P, units) are the labels as they are, and permuted."""
    label = draws[0]
    rates = np.array([table.tau[label == side].sum() / table.weight[label == side].sum() for side in (0, 1)])
    factor = (rates / rates.mean())[label]
    roots = np.linalg.cholesky(
        table.covariance + np.trace(table.covariance) / len(table.covariance) * np.eye(len(table.covariance))
    )
    whiten = np.linalg.inv(roots).T
    center = table.background.sum(0) / table.weight.sum()
    here = (table.score - table.tau[:, None] * center) @ whiten
    around = factor[:, None] * ((table.background - table.weight[:, None] * center) @ whiten)
    sums = np.concatenate([here, around, table.tau[:, None], (factor * table.weight)[:, None]], 1)
    size = here.shape[1]
    first = draws.astype(np.float64) @ sums
    groups = [first, sums.sum(0) - first]
    means = []
    for group in groups:
        tau, weight = np.maximum(group[:, -2:], 1e-300).T
        means.append(group[:, :size] / tau[:, None] - group[:, size:-2] / weight[:, None])
    tau = groups[0][:, -2] * groups[1][:, -2]
    found = np.where(tau > 0, tau * ((means[0] - means[1]) ** 2).sum(1), 0.0)
    return float((found >= (1 - 1e-9) * found[0]).mean())


def ask(question: Question, folder: Path, dimensions: int, each: int) -> pd.DataFrame:
    """p of words in three bands, by default and by the reference."""
    tokens = lx.Tokens.of(question.corpus(folder), min_count=20, quiet=True)
    free = lx.fit(lx.Model(dimensions=dimensions), tokens, holdout=0.0, quiet=True)
    counts, random = tokens.vocabularies[0].counts, np.random.default_rng(0)
    inside = [np.flatnonzero((counts >= a) & (counts < b)) for a, b in zip(question.bands, question.bands[1:])]
    ids = np.concatenate([random.permutation(band)[:each] for band in inside])
    names = [tokens.vocabularies[0].words[i] for i in ids]
    asked = free.inference(
        unit=question.unit or "documents", min_units=LEAST_UNITS, min_count=1, tokens=tokens, quiet=True
    )
    default = asked.contrast(question.column, names).set_index("word")["p"]
    scores.MAX_CLUSTERS_WITH_ROWS = 10**9  # every unit has a row
    units = gather(tokens, question.column, question.unit, 0, {})
    text = scores.ScorePass(tokens, units, free, ids.tolist(), 0, Options(quiet=True))
    scores.MAX_CLUSTERS_WITH_ROWS = 1_000
    labels = np.unique(units.label)
    enough = text.counts()[1][:, labels].min(1) >= LEAST_UNITS
    draws = np.tile(np.where(units.label == labels[0], 1, 0).astype(np.int8), (1 + DRAWS, 1))
    draws[1:] = np.random.default_rng(17).permuted(draws[1:], axis=1)
    chosen = np.flatnonzero(enough).tolist()
    counted = list(text.run(chosen, lambda table: reference(table, draws)))
    frame = pd.DataFrame({"word": [names[i] for i in chosen], "counted": counted})
    # the default permutes more often where p is small: it is compared at the precision of the reference
    frame["default"] = np.maximum(default.reindex(frame["word"]).to_numpy(), 1 / (1 + DRAWS))
    return frame.assign(band=np.searchsorted(question.bands[1:], counts[ids[chosen]], side="right"))


def summary(name: str, question: Question, frame: pd.DataFrame) -> pd.DataFrame:
    """A row for each band, and one for all."""
    rows = []
    for band in (0, 1, 2, None):
        mine = frame if band is None else frame[frame["band"] == band]
        known = mine.dropna()
        label = "all" if band is None else f"{question.bands[band]:,}–{question.bands[band + 1]:,}"
        shares = {f"{kind} under 5%": (known[kind] <= 0.05).mean() for kind in ("default", "counted")}
        rank = stats.spearmanr(np.log(known["default"]), np.log(known["counted"])).statistic if len(known) > 2 else 0.0
        row = {"labels": name, "unit": question.unit or "document", "occurrences": label, "words": len(mine)}
        rows.append(row | shares | {"Spearman": rank, "missing": int(mine["default"].isna().sum())})
    return pd.DataFrame(rows)


def compare(name: str, data: Path, dimensions: int, each: int) -> pd.DataFrame:
    """The summary of a question: `each` words in each band."""
    return summary(name, QUESTIONS[name], ask(QUESTIONS[name], data, dimensions, each))


def section(answers: list[pd.DataFrame]) -> Section:
    """Summaries against the aims."""
    aims = []
    for answer in answers:
        whole = answer.iloc[-1]
        apart = 100 * abs(whole["default under 5%"] - whole["counted under 5%"])
        aims.append(Aim(f"words under 5% by default and by counting, {whole['labels']}", apart, "points apart", 3))
        aims.append(Aim(f"rank correlation of p, {whole['labels']}", whole["Spearman"], "", at_least=0.95))
    return Section("Agreement on real labels", TEXT, [pd.concat(answers)], aims)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="the folder with the corpora")
    parser.add_argument("--corpora", nargs="+", choices=list(QUESTIONS), default=list(QUESTIONS))
    parser.add_argument("--dimensions", type=int, default=50)
    parser.add_argument("--words", type=int, default=80, help="of each band")
    parser.add_argument("--record", action="store_true", help="write the tables into VALIDITY.md")
    arguments = parser.parse_args()
    tables = []
    with tempfile.TemporaryDirectory() as cache:
        os.environ["LAPLEX_CACHE"] = cache
        for name in arguments.corpora:
            started = time.monotonic()
            tables.append(compare(name, arguments.data, arguments.dimensions, arguments.words))
            print(tables[-1].to_string(index=False, float_format="{:.3f}".format))
            print(f"({time.monotonic() - started:.0f} s)", flush=True)
    if arguments.record:
        record("Agreement on real labels", TEXT, [pd.concat(tables)])


if __name__ == "__main__":
    main()
