"""Shared by the calibration benchmarks: a corpus with labels, label-free contexts, and words in bands of frequency."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
from numpy.typing import NDArray

import laplex as lx
from laplex.inference.counting import ENOUGH_EXCEEDANCES, FIRST_DRAWS
from laplex.inference.permutations import Design, Difference, Permutations
from laplex.inference.score_test import formula_p, group_scores
from laplex.inference.scores import ScorePass, ScoreTable
from laplex.inference.testing import CHEAP_OPERATIONS, adjust_p
from laplex.inference.units import Options, Units, gather

BANDS = [(100, 300), (300, 1_000), (1_000, 3_000), (3_000, 8_000), (8_000, 20_000)]
MOST_DRAWS = 99_999  # permutations of a word
LEAST = 20  # clusters of each group


@dataclass(frozen=True)
class Source:
    """A file, its column of labels, who carries them, which are compared, and how many documents are read."""

    file: str
    column: str
    cluster: str
    values: tuple[str, ...]
    documents: int | None = None


SOURCES = {
    "senate": Source("senate-press.parquet", "party", "senator", ("D", "R"), 17_383),
    "europarl": Source("europarl-en.parquet", "family", "speaker", ("EPP", "S&D")),
    "three": Source("europarl-en.parquet", "family", "speaker", ("ALDE", "EPP", "S&D")),
}


@dataclass(frozen=True, eq=False)
class Trial:
    source: Source
    tokens: lx.Tokens
    free: lx.Embeddings  # contexts without labels
    words: list[int]
    bands: NDArray[np.int64]

    @property
    def numbers(self) -> list[int]:
        return list(range(len(self.words)))

    def units(self, cluster: str | None) -> Units:
        return gather(self.tokens, self.source.column, cluster, 0, {})

    def read(self, units: Units) -> ScorePass:
        return ScorePass(self.tokens, units, self.free, self.words, 0, Options(quiet=True))


def read(folder: Path, source: Source) -> lx.Tokens:
    frame = pl.read_parquet(folder / source.file).filter(pl.col(source.column).is_in(source.values))
    if source.documents is not None and source.documents < len(frame):
        frame = frame.sample(source.documents, seed=1)
    year, month = pl.col("date").str.slice(0, 4), pl.col("date").str.slice(5, 2).cast(pl.Int32)
    frame = frame.with_columns(quarter=pl.format("{}-Q{}", year, (month + 2) // 3))
    columns = [source.column, source.cluster, "quarter"]
    return lx.Tokens.of(lx.read(frame, metadata=columns), min_count=20, quiet=True)


def fit(tokens: lx.Tokens, dimensions: int, likelihood: str = "cbow") -> lx.Embeddings:
    """Contexts without labels."""
    model = lx.Model(dimensions=dimensions, likelihood=likelihood)  # type: ignore[arg-type]
    return lx.fit(model, tokens, holdout=0.0, quiet=True)


def begin(source: Source, tokens: lx.Tokens, dimensions: int, likelihood: str, each: int) -> Trial:
    """Contexts, and words of every band that enough clusters of every label use."""
    free = fit(tokens, dimensions, likelihood)
    units = gather(tokens, source.column, source.cluster, 0, {})
    counts = tokens.vocabularies[0].counts
    random = np.random.default_rng(0)
    known = np.flatnonzero((counts >= BANDS[0][0]) & (counts < BANDS[-1][1]))
    _, clusters = ScorePass(tokens, units, free, known.tolist(), 0, Options(quiet=True)).counts()
    used = known[clusters[:, np.unique(units.label)].min(1) >= 25]
    words: list[int] = []
    bands: list[int] = []
    for band, (low, high) in enumerate(BANDS):
        inside = used[(counts[used] >= low) & (counts[used] < high)]
        taken = random.permutation(inside)[:each]
        words += taken.tolist()
        bands += [band] * len(taken)
    return Trial(source, tokens, free, words, np.array(bands))


def permuted(units: Units, times: int, seed: int) -> Iterator[Units]:
    """The same units under labels in another order."""
    random = np.random.default_rng(seed)
    for _ in range(times):
        yield replace(units, label=random.permutation(units.label))


def enough(table: ScoreTable, label: NDArray[np.int64]) -> bool:
    """Do enough clusters of every label use the word?"""
    used = table.tau > 0
    return bool(min((used & (label == value)).sum() for value in np.unique(label)) >= LEAST)


def both_p(table: ScoreTable, permutations: Permutations, design: Design) -> tuple[float, float]:
    """p of a word by sequential permutations, as for a word that is tested alone, and by the formula."""
    scores = group_scores(table, [[label] for label in np.unique(table.label).tolist()])
    assert scores is not None
    residuals, draws, exceeding = scores.residuals(), 0, 0
    permuted = permutations.of_word(residuals, design, table.id)
    for last in (FIRST_DRAWS, 9_999, MOST_DRAWS):
        exceeding += permuted.exceedances(draws, last)
        draws = last
        too_many = 20.0 * draws * residuals.residual.size > CHEAP_OPERATIONS
        if exceeding >= ENOUGH_EXCEEDANCES or too_many:
            break
    return (exceeding + 1) / (draws + 1), formula_p(residuals, design)


def difference_of(units: Units, text: ScorePass, seed: int = 3) -> tuple[Permutations, Design]:
    """What is needed to test whether any labels of the units differ."""
    labels = [[label] for label in np.unique(units.label).tolist()]
    return Permutations.of(text.units, labels, not text.cells.shared, [seed]), Difference(len(labels))


def table_of(name: str, p: NDArray[np.float64], bands: NDArray[np.int64]) -> pd.DataFrame:
    """Rejections by band; p is (labellings, words).

    "adjusted 10%" is the share of words called different after adjustment, "runs" that of labellings with any.
    """
    adjusted = np.array([adjust_p(row) for row in p])
    rows = []
    for band, (low, high) in [*enumerate(BANDS), (-1, (0, 0))]:
        mine = p[:, bands == band] if band >= 0 else p
        values = mine[np.isfinite(mine)]
        label = f"{low:,}–{high:,}" if band >= 0 else "all"
        found = {"test": name, "occurrences": label, "tests": len(values)}
        found |= {"at 5%": (values < 0.05).mean(), "at 1%": (values < 0.01).mean()}
        chosen = adjusted[:, bands == band] if band >= 0 else adjusted
        found["adjusted 10%"] = (chosen[np.isfinite(chosen)] < 0.1).mean()
        rows.append(found | {"runs": (np.nan_to_num(chosen, nan=1.0) < 0.1).any(1).mean()})
    return pd.DataFrame(rows)


def show(title: str, frame: pd.DataFrame, started: float) -> None:
    print(f"\n{title} ({time.monotonic() - started:.0f} s)\n", flush=True)
    print(frame.to_string(index=False, float_format=lambda x: f"{x:.3f}"), flush=True)
