"""Level of tests that control for other columns, on labels without an effect of their own.

    python benchmarks/regression.py --data DATA [--corpora senate europarl sotu] [--labellings 20] [--record]

Documents are in cells by sampling unit, time, topic and length, each of which is divided by chance into two parts.
Labels are made by chance, by unit or by part of a cell, so that they mean nothing, but some follow the time, the topic,
the length of documents or who writes most, which do. Words are tested without controls (plain) and given what the label
follows.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
from numpy.typing import NDArray
from results import record

import laplex as lx
from laplex.inference.design import DesignUnits
from laplex.inference.partial_scores import SharedScores
from laplex.inference.partial_test import ColumnPermutations, PartialTest
from laplex.inference.scores import ScorePass
from laplex.inference.testing import run_tests
from laplex.inference.units import Options, Units
from laplex.text.topics import document_topics

TEXT = """Labels that mean nothing, some of which follow something that does: shares of p-values under 5% and 1%, which
should be 5% and 1% (aims: 3–7% and 0.5–1.6%), without controls and given what the label follows. "flipped" are
tests by sign flips, the others by permutations of whole units. Words are of five bands of frequency, and share
labellings. senate: parties' press releases by senator; europarl: speeches of the EPP and the S&D by speaker; sotu:
passages of the addresses of all presidents; sotu-passages: the same with passages as units, which share rows."""
BANDS = [(100, 300), (300, 1_000), (1_000, 3_000), (3_000, 8_000), (8_000, 20_000)]
LEAST_UNITS = 20  # that use a word
TOPICS, LENGTHS = 6, 3
PASSAGES = "sotu-passages"
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def senate(folder: Path) -> tuple[pl.DataFrame, str]:
    frame = pl.read_parquet(folder / "senate-press.parquet").sample(17_383, seed=1)
    quarter = (
        4 * pl.col("date").str.slice(0, 4).cast(pl.Int32) + (pl.col("date").str.slice(5, 2).cast(pl.Int32) - 1) // 3
    )
    return frame.with_columns(time=quarter), "senator"


def europarl(folder: Path) -> tuple[pl.DataFrame, str]:
    frame = pl.read_parquet(folder / "europarl-en.parquet").filter(pl.col("family").is_in(["EPP", "S&D"]))
    frame = frame.sample(20_000, seed=1)
    return frame.with_columns(time=pl.col("date").str.slice(0, 4).cast(pl.Int32)), "speaker"


def sotu(folder: Path) -> tuple[pl.DataFrame, str]:
    frame = pl.from_pandas(lx.demo().head(100_000))
    return frame.with_columns(time=pl.col("year").cast(pl.Int32) // 20), "president"


CORPORA: dict[str, Callable[[Path], tuple[pl.DataFrame, str]]] = {"senate": senate, "europarl": europarl, "sotu": sotu}


@dataclass(frozen=True, eq=False)
class Cells:
    """Units with what is known of each: a number from 0 for its time, topic and length."""

    text: ScorePass
    tokens: lx.Tokens
    unit: str
    time: Ints
    topic: Ints
    length: Ints
    size: Floats  # tokens

    @property
    def units(self) -> Units:
        return self.text.units


def read(name: str, folder: Path, dimensions: int, each: int) -> Cells:
    frame, unit = CORPORA[name](folder)
    tokens = lx.Tokens.of(lx.read(frame, metadata=["time", unit]), min_count=20, quiet=True)
    free = lx.fit(lx.Model(dimensions=dimensions), tokens, holdout=0.0, quiet=True)
    random, lengths = np.random.default_rng(0), np.diff(tokens.offsets)
    length = np.searchsorted(np.quantile(lengths, np.arange(1, LENGTHS) / LENGTHS), lengths)
    parts = [
        tokens.codes("time"),
        document_topics(tokens, TOPICS, quiet=True).code,
        length,
        random.integers(2, size=len(lengths)),
    ]
    cell = np.zeros(len(lengths), np.int64)
    for part in parts:
        cell = cell * (int(part.max()) + 1) + part
    documents = np.flatnonzero(lengths > 0)
    cells, cell = np.unique(cell[documents], return_inverse=True)
    units = Units.group(documents, tokens.codes(unit)[documents].astype(np.int64), cell, [str(c) for c in cells])
    first = units.documents[units.start[:-1]]
    units = Units(
        units.documents, units.start, units.cluster, np.arange(len(units)), [str(i) for i in range(len(units))]
    )
    counts = tokens.vocabularies[0].counts
    words = np.concatenate([random.permutation(np.flatnonzero((counts >= a) & (counts < b)))[:each] for a, b in BANDS])
    text = ScorePass(tokens, units, free, words.tolist(), 0, Options(quiet=True))
    assert not text.cells.shared
    size = np.add.reduceat(lengths[units.documents], units.start[:-1]).astype(np.float64)
    known = [np.unique(part[first], return_inverse=True)[1] for part in parts[:3]]
    return Cells(text, tokens, unit, known[0], known[1], known[2], size)


def dummies(level: Ints) -> Floats:
    """A column for each level but the first."""
    return (level[:, None] == np.unique(level)[1:]).astype(np.float64)


def standard(values: Floats) -> Floats:
    return np.asarray((values - values.mean()) / values.std())[:, None]


Question = tuple[str, Floats, dict[str, tuple[Floats, list[Ints]]]]  # a name, tested columns, and what is given


def questions(cells: Cells, seed: int) -> Iterator[Question]:
    """Labellings: what is tested, and what is given in turn; factors among it by level."""
    random, units = np.random.default_rng([seed, 1]), cells.units
    clusters = int(units.cluster.max()) + 1
    none: tuple[Floats, list[Ints]] = (np.empty((len(units), 0)), [])
    time, topic = (dummies(cells.time), [cells.time]), (dummies(cells.topic), [cells.topic])
    both = np.concatenate([time[0], topic[0]], 1), [cells.time, cells.topic]
    by_unit = random.permutation(clusters)[units.cluster]
    yield "two groups of units", dummies(by_unit % 2), {"plain": none, "given time and topic": both}
    yield "three groups of units", dummies(by_unit % 3), {"plain": none, "given time and topic": both}
    number = standard(random.normal(size=clusters)[units.cluster])
    yield "number of units", number, {"plain": none, "given time": time}
    party, years = dummies(by_unit % 2), standard(cells.time.astype(np.float64))
    main = np.concatenate([party, years], 1), [by_unit % 2]
    yield "interaction of groups and time", party * years, {"given both": main}
    backward = np.where(random.random(clusters) < 0.5, -1.0, 1.0)[units.cluster][:, None] * years
    yield "trend, reversed in half of the units", backward, {"plain": none, "given topic": topic}
    part = random.random(len(units))
    rising = dummies((part < 0.05 + 0.9 * cells.time / cells.time.max()).astype(np.int64))
    yield "groups that follow time", rising, {"plain": none, "given time": time}
    about = dummies((part < random.permutation(np.linspace(0.05, 0.95, TOPICS))[cells.topic]).astype(np.int64))
    yield "groups that follow topics", about, {"plain": none, "given topic": topic}
    long = dummies((part < 0.1 + 0.8 * cells.length / cells.length.max()).astype(np.int64))
    yield "groups that follow length", long, {"plain": none, "given length": (dummies(cells.length), [cells.length])}
    most = np.argsort(-np.bincount(units.cluster, cells.size))[: max(clusters // 20, 3)]
    dominant = np.isin(units.cluster, most)
    group = dummies(np.where(dominant, 1, by_unit % 2))
    yield (
        "the largest units in one group",
        group,
        {"plain": none, "given them": (dummies(dominant.astype(np.int64)), [dominant.astype(np.int64)])},
    )


def rejections(cells: Cells, labellings: int) -> pd.DataFrame:
    """Shares of small p-values, by kind of labels and by what is given."""
    text = cells.text
    found: dict[tuple[str, str, str], list[list[float]]] = {}
    enough = text.cluster_counts() >= LEAST_UNITS
    tests: list[tuple[str, str, PartialTest]] = []
    for seed in range(labellings):
        for name, tested, given in questions(cells, seed):
            for what, (others, factors) in given.items():
                matrix = np.concatenate([np.ones((len(tested), 1)), others, tested], 1)
                columns = tuple(range(matrix.shape[1] - tested.shape[1], matrix.shape[1]))
                levels = [(level, ()) for level in factors]
                rows = DesignUnits.of(cells.units, matrix, levels, cells.tokens, cells.unit)
                draws = ColumnPermutations.of(rows, columns, True, [seed, 3, len(tests)])
                tests.append((name, what, PartialTest(enough, columns, SharedScores(matrix), draws)))
    for (name, what, test), p in zip(tests, run_tests(text, [test for *_, test in tests], 999)):
        kind = "flipped" if test.permutations.residual is None else "permuted"
        found.setdefault((name, what, kind), []).append([finding.p for finding in p.values()])
    return pd.DataFrame([_row(*key, parts) for key, parts in found.items()])


def rejections_by_document(labellings: int, dimensions: int, each: int) -> pd.DataFrame:
    """The same with passages of the addresses as units, as `contrast` and `regress` give it: labels follow the year."""
    tokens = lx.Tokens.of(lx.read(lx.demo().head(100_000), metadata=["year", "president"]), min_count=20, quiet=True)
    free = lx.fit(lx.Model(dimensions=dimensions), tokens, holdout=0.0, quiet=True)
    counts, random = tokens.vocabularies[0].counts, np.random.default_rng(0)
    inside = [random.permutation(np.flatnonzero((counts >= a) & (counts < b)))[:each] for a, b in BANDS]
    words = [tokens.vocabularies[0].words[i] for i in np.concatenate(inside)]
    year = tokens.numbers("year")
    found: dict[tuple[str, str], list[list[float]]] = {}
    for seed in range(labellings):
        random = np.random.default_rng([seed, 2])
        rising = random.random(len(year)) < 0.02 + 0.96 * (year - year.min()) / np.ptp(year)
        label = np.where(rising, 1 + (random.random(len(year)) < 0.5), 0)
        text = tokens.with_column("label", np.minimum(label, 1).astype(np.int32), ["a", "b"])
        text = text.with_column("three", label.astype(np.int32), ["a", "b", "c"])
        number = (year - year.mean()) / year.std() + random.normal(size=len(year))
        order = np.argsort(number, kind="stable")
        values = [f"{number[i]:.9f}" for i in order]
        text = text.with_column("number", np.argsort(order).astype(np.int32), values)
        asked = free.inference(unit="documents", tokens=text, permutations=999, quiet=True)
        tables = {
            ("two groups that follow the year", "plain"): asked.contrast("label", words),
            ("two groups that follow the year", "given year"): asked.contrast("label", words, given="year"),
            ("three groups that follow the year", "plain"): asked.contrast("three", words, against="joint"),
            ("three groups that follow the year", "given year"): asked.contrast(
                "three", words, against="joint", given="year"
            ),
            ("number that follows the year", "plain"): asked.regress("~ number", words),
            ("number that follows the year", "given year"): asked.regress("~ number + s(year)", words, terms="number"),
        }
        for key, table in tables.items():
            found.setdefault(key, []).append(table["p"].dropna().tolist())
    return pd.DataFrame([_row(name, what, "flipped", parts) for (name, what), parts in found.items()])


def _row(name: str, what: str, kind: str, parts: list[list[float]]) -> dict[str, object]:
    p = np.concatenate(parts)
    error = np.std([np.mean(np.array(part) < 0.05) for part in parts]) / np.sqrt(len(parts))
    row = {"labels": name, "test": what, "by": kind, "tests": len(p)}
    return row | {"at 5%": (p < 0.05).mean(), "±": error, "at 1%": (p < 0.01).mean()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="the folder with the corpora")
    known = [*CORPORA, PASSAGES]
    parser.add_argument("--corpora", nargs="+", choices=known, default=known)
    parser.add_argument("--dimensions", type=int, default=50)
    parser.add_argument("--labellings", type=int, default=20)
    parser.add_argument("--words", type=int, default=50, help="of each band")
    parser.add_argument("--record", action="store_true", help="write the tables into VALIDITY.md")
    arguments = parser.parse_args()
    tables = []
    with tempfile.TemporaryDirectory() as cache:
        os.environ["LAPLEX_CACHE"] = cache
        for name in arguments.corpora:
            started = time.monotonic()
            if name == PASSAGES:
                found = rejections_by_document(arguments.labellings // 2, arguments.dimensions, arguments.words // 2)
            else:
                cells = read(name, arguments.data, arguments.dimensions, arguments.words)
                print(f"{name}: {len(cells.units):,} cells of {cells.units.cluster.max() + 1} units", flush=True)
                found = rejections(cells, arguments.labellings)
            tables.append(found.assign(corpus=name))
            print(tables[-1].to_string(index=False, float_format="{:.3f}".format))
            print(f"({time.monotonic() - started:.0f} s)", flush=True)
    if arguments.record:
        frame = pd.concat(tables)
        frame = frame[["corpus", *frame.columns[:-1]]]
        passages = frame["corpus"] == PASSAGES
        for title, mine in (("Level given other columns", ~passages), ("Level by passage given the year", passages)):
            if mine.any():
                record(title, TEXT, [frame[mine]])


if __name__ == "__main__":
    main()
