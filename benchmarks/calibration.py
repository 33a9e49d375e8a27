"""Are the tests of `laplex.posterior` right? False positives, thinning, power and split halves on real text.

    python benchmarks/calibration.py --data ../shared/data [--documents 17383] [--dimensions 50 100] [--labellings 30]

Senate press releases, 300 words in five bands of frequency, used by at least 25 senators of each party.

null      party is permuted, by senator or by document, and every word is tested: the share of p under 5% and 1%, and
          of words that are still called different after adjustment at 10%
thinned   half of the occurrences of some words are taken out in one group of permuted labels
power     in one group of permuted labels, a share of the occurrences of two words of a band are swapped
halves    senators in two halves: the corrected squared distance in each against the product of both differences
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

import laplex as lx
from laplex import storage
from laplex.posterior.evidence import (
    Rotated,
    analytic_p,
    counted_p,
    effect,
    losses,
    rotate,
    scale_of,
    share_of,
    smoothed_p,
)
from laplex.posterior.evidence import permuted as under_labellings
from laplex.posterior.tables import Pass, Table
from laplex.posterior.units import Units, gather

BANDS = [(100, 300), (300, 1_000), (1_000, 3_000), (3_000, 8_000), (8_000, 20_000)]
PRIOR = 100.5  # what Groups("party", 100.0) + Ridge(1.0) charge for a difference
LEAST = 20  # clusters of each group


def read(folder: Path, documents: int | None) -> lx.Tokens:
    import polars as pl

    frame = pl.read_parquet(folder / "senate-press.parquet")
    if documents is not None and documents < len(frame):
        frame = frame.sample(documents, seed=1)
    return lx.Tokens.of(lx.read(frame, metadata=["party", "senator"]), min_count=20, quiet=True)


def fit(tokens: lx.Tokens, dimensions: int) -> lx.Embeddings:
    """Contexts without labels."""
    return lx.fit(lx.Model(dimensions=dimensions), tokens, holdout=0.0, quiet=True)


def choose(tokens: lx.Tokens, free: lx.Embeddings, each: int) -> tuple[list[int], NDArray[np.int64]]:
    """Words of every band that enough senators of both parties use, and their bands."""
    units = gather(tokens, "party", "senator", 0, {})
    counts = tokens.vocabularies[0].counts
    random = np.random.default_rng(0)
    known = np.flatnonzero((counts >= BANDS[0][0]) & (counts < BANDS[-1][1]))
    _, clusters = Pass(tokens, units, free, known.tolist(), 0, seed=1, threads=None, quiet=True).counts()
    used = known[clusters[:, np.unique(units.label)].min(1) >= 25]
    words: list[int] = []
    bands: list[int] = []
    for band, (low, high) in enumerate(BANDS):
        inside = used[(counts[used] >= low) & (counts[used] < high)]
        taken = random.permutation(inside)[:each]
        words += taken.tolist()
        bands += [band] * len(taken)
    return words, np.array(bands)


def permuted(units: Units, times: int, seed: int) -> Iterator[Units]:
    random = np.random.default_rng(seed)
    for _ in range(times):
        yield replace(units, label=random.permutation(units.label))


def enough(table: Table, one: NDArray[np.bool_]) -> bool:
    used = table.tau > 0
    return min((used & one).sum(), (used & ~one).sum()) >= LEAST


def table_of(name: str, p: NDArray[np.float64], bands: NDArray[np.int64]) -> pd.DataFrame:
    """Rejections by band; p is (labellings, words)."""
    adjusted = np.full_like(p, np.nan)
    for row, target in zip(p, adjusted):
        known = np.isfinite(row)
        target[known] = stats.false_discovery_control(row[known])
    rows = []
    for band, (low, high) in [*enumerate(BANDS), (-1, (0, 0))]:
        mine = p[:, bands == band] if band >= 0 else p
        values = mine[np.isfinite(mine)]
        label = f"{low:,}–{high:,}" if band >= 0 else "all"
        found = {"test": name, "occurrences": label, "tests": len(values)}
        found |= {"at 5%": (values < 0.05).mean(), "at 1%": (values < 0.01).mean()}
        chosen = adjusted[:, bands == band] if band >= 0 else adjusted
        rows.append(found | {"adjusted 10%": (chosen[np.isfinite(chosen)] < 0.1).mean()})
    return pd.DataFrame(rows)


def null_by_senator(
    tokens: lx.Tokens, free: lx.Embeddings, words: list[int], bands: NDArray[np.int64], times: int
) -> pd.DataFrame:
    units = gather(tokens, "party", "senator", 0, {})
    text = Pass(tokens, units, free, words, 0, seed=1, threads=None, quiet=True, whole=True)
    first = int(units.label[0])
    sides = [some.label == first for some in permuted(units, times, 2)]
    draws = np.array([some.label == first for some in permuted(units, 999, 3)])

    def ask(table: Table) -> NDArray[np.float64]:
        rotated = rotate(table)
        answers = np.full((3, times), np.nan)
        for number, one in enumerate(sides):
            if enough(table, one):
                statistics = under_labellings(rotated, one, PRIOR, draws)
                answers[:, number] = smoothed_p(statistics), counted_p(statistics), analytic_p(rotated, one, PRIOR)
        return answers

    p = np.array(list(text.run(list(range(len(words))), ask)))
    names = ("by senator", "by senator, counted", "by senator, formula")
    return pd.concat([table_of(name, p[:, i].T, bands) for i, name in enumerate(names)])


def null_by_document(
    tokens: lx.Tokens, free: lx.Embeddings, words: list[int], bands: NDArray[np.int64], times: int
) -> pd.DataFrame:
    units = gather(tokens, "party", None, 0, {})
    first = int(units.label[0])

    def ask(table: Table) -> float:
        return analytic_p(rotate(table), table.label == first, PRIOR)

    p = [
        list(Pass(tokens, some, free, words, 0, seed=1, threads=None, quiet=True).run(list(range(len(words))), ask))
        for some in permuted(units, times, 4)
    ]
    return table_of("by document", np.array(p), bands)


def changed(tokens: lx.Tokens, ids: NDArray[np.int32], folder: Path) -> lx.Tokens:
    """The same tokens with other words (−1: taken out), and counted anew."""
    saved = storage.load(tokens.folder, "tokens")
    kept = ids >= 0
    before = np.concatenate([[0], np.cumsum(kept)])
    counts = np.bincount(ids[kept], minlength=len(tokens.vocabularies[0])).astype(np.int64)
    arrays = saved.arrays | {"ids": ids[kept], "offsets": before[tokens.offsets], "counts/0": counts}
    storage.save(folder, "tokens", saved.settings, arrays)
    return lx.Tokens(storage.load(folder, "tokens"))


def some_labelling(tokens: lx.Tokens, cluster: str | None, seed: int) -> tuple[Units, NDArray[np.bool_], int]:
    """Units with permuted labels; which tokens are of the first group, and its label."""
    units = next(permuted(gather(tokens, "party", cluster, 0, {}), 1, seed))
    first = int(units.label[0])
    inside = np.zeros(tokens.documents, bool)
    inside[units.documents] = np.repeat(units.label == first, np.diff(units.start))
    return units, np.repeat(inside, np.diff(tokens.offsets)), first


def tested(tokens: lx.Tokens, free: lx.Embeddings, units: Units, first: int, words: list[int]) -> NDArray[np.float64]:
    """(2, words) p-values: as `contrast` gives them, and by the formula."""
    few = len(units) < 1000
    text = Pass(tokens, units, free, words, 0, seed=1, threads=None, quiet=True, whole=few)
    draws = np.array([some.label == first for some in permuted(units, 999, 5)]) if few else None

    def ask(table: Table) -> tuple[float, float]:
        one, rotated = table.label == first, rotate(table)
        if not enough(table, one):
            return np.nan, np.nan
        formula = analytic_p(rotated, one, PRIOR)
        return (
            (formula, formula) if draws is None else (smoothed_p(under_labellings(rotated, one, PRIOR, draws)), formula)
        )

    return np.array(list(text.run(list(range(len(words))), ask))).T


def swapped(
    tokens: lx.Tokens, cluster: str | None, words: list[int], bands: NDArray[np.int64], share: float, seed: int
) -> tuple[Units, NDArray[np.int32], int]:
    """Pairs of words of a band change places in one group, at a share of their occurrences."""
    units, inside, first = some_labelling(tokens, cluster, seed)
    counts = tokens.vocabularies[0].counts
    other = np.arange(len(counts), dtype=np.int32)
    for band in range(len(BANDS)):
        mine = sorted((w for w, b in zip(words, bands) if b == band), key=lambda w: counts[w])
        for one, two in zip(mine[::2], mine[1::2]):
            other[one], other[two] = two, one
    ids = np.array(tokens.ids)
    moved = inside & (np.random.default_rng([seed, 1]).random(len(ids)) < share)
    ids[moved] = other[ids[moved]]
    return units, ids, first


def thinned(
    tokens: lx.Tokens, cluster: str | None, words: list[int], seed: int
) -> tuple[Units, NDArray[np.int32], int]:
    """Half the occurrences of words are taken out in one group."""
    units, inside, first = some_labelling(tokens, cluster, seed)
    chosen = np.zeros(len(tokens.vocabularies[0]), bool)
    chosen[words] = True
    ids = np.array(tokens.ids)
    ids[inside & chosen[ids] & (np.random.default_rng([seed, 2]).random(len(ids)) < 0.5)] = -1
    return units, ids, first


def planted(
    tokens: lx.Tokens, free: lx.Embeddings, words: list[int], bands: NDArray[np.int64], share: float | None, runs: int
) -> pd.DataFrame:
    """Rejections at 5% by band, where a share was swapped, or with None half of some words was taken out.

    A few words are thinned at a time, or the contexts of the others would really differ.
    """
    rows = []
    for cluster in ("senator", None):
        p = np.full((runs, 2, len(words)), np.nan)
        for seed in range(runs):
            mine = np.arange(len(words)) if share is not None else np.arange(seed % 10, len(words), 10)
            some = [words[i] for i in mine]
            if share is None:
                units, ids, first = thinned(tokens, cluster, some, seed)
            else:
                units, ids, first = swapped(tokens, cluster, some, bands, share, seed)
            with tempfile.TemporaryDirectory() as folder:
                text = changed(tokens, ids, Path(folder) / "text")
                model = free if share is None else fit(text, free.dimensions)
                p[seed][:, mine] = tested(text, model, units, first, some)
        for way, label in enumerate(("", ", formula") if cluster else ("",)):
            row: dict[str, object] = {"planted": "thinned" if share is None else f"{share:.0%} swapped"}
            row["test"] = f"by {cluster or 'document'}{label}"
            for band, (low, high) in enumerate(BANDS):
                row[f"{low:,}–{high:,}"] = rejected(p[:, way][:, bands == band])
            rows.append(row | {"all": rejected(p[:, way])})
    return pd.DataFrame(rows)


def rejected(p: NDArray[np.float64]) -> float:
    return float((p[np.isfinite(p)] < 0.05).mean())


def halves(tokens: lx.Tokens, free: lx.Embeddings, words: list[int], bands: NDArray[np.int64]) -> pd.DataFrame:
    """Corrected squared distances in halves of the senators, and the products of the two differences."""
    units = gather(tokens, "party", "senator", 0, {})
    text = Pass(tokens, units, free, words, 0, seed=1, threads=None, quiet=True, whole=True)
    first = int(units.label[0])
    random = np.random.default_rng(6)
    splits = [random.permutation(len(units)) % 2 == 0 for _ in range(10)]

    def difference(part: Rotated, one: NDArray[np.bool_]) -> NDArray[np.float64]:
        (first, second), f = losses(part, one)[1], share_of(part, one)
        return ((1 - f) * first - f * second) * scale_of(part.spectrum, PRIOR / 2, f)

    def ask(table: Table) -> NDArray[np.float64]:
        rotated, found = rotate(table), []
        rotated = replace(rotated, spectrum=rotated.spectrum / 2)
        for split in splits:
            parts = [(rotated.of(half), table.label[half] == first) for half in (split, ~split)]
            if min(((p.tau > 0) & side).sum() for p, one in parts for side in (one, ~one)) < 10:
                continue
            d = [difference(part, one) for part, one in parts]
            corrected = np.mean([effect(part, one, PRIOR / 2).square for part, one in parts])
            found.append([d[0] @ d[1], corrected, np.mean([v @ v for v in d])])
        return np.sum(found, axis=0) if found else np.zeros(3)

    sums = np.array(list(text.run(list(range(len(words))), ask)))
    rows = []
    for band, (low, high) in enumerate(BANDS):
        cross, corrected, plain = sums[bands == band].sum(0)
        rows.append({"occurrences": f"{low:,}–{high:,}", "corrected": corrected / cross, "plain": plain / cross})
    return pd.DataFrame(rows)


def show(title: str, frame: pd.DataFrame, started: float) -> None:
    print(f"\n{title} ({time.monotonic() - started:.0f} s)\n", flush=True)
    print(frame.to_string(index=False, float_format=lambda x: f"{x:.3f}"), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="the folder with senate-press.parquet")
    parser.add_argument("--documents", type=int, default=17_383)
    parser.add_argument("--dimensions", type=int, nargs="+", default=[50, 100])
    parser.add_argument("--labellings", type=int, default=30)
    parser.add_argument("--words", type=int, default=60, help="of each band")
    parser.add_argument("--parts", nargs="+", default=["senator", "document", "halves", "thinned", "power"])
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as cache:
        os.environ["LAPLEX_CACHE"] = cache
        tokens = read(asked.data, asked.documents)
        print(f"{tokens!r}, {len(tokens.values('senator'))} senators")
        for dimensions in asked.dimensions:
            run(tokens, dimensions, asked)


def run(tokens: lx.Tokens, dimensions: int, asked: argparse.Namespace) -> None:
    free = fit(tokens, dimensions)
    words, bands = choose(tokens, free, asked.words)
    started = time.monotonic()
    print(f"\n{dimensions} dimensions, words by band: {np.bincount(bands).tolist()}")
    if "senator" in asked.parts:
        show("Null by senator", null_by_senator(tokens, free, words, bands, asked.labellings), started)
    if "halves" in asked.parts:
        show("Split halves: ratio to the cross-product", halves(tokens, free, words, bands), started)
    if "document" in asked.parts:
        show("Null by document", null_by_document(tokens, free, words, bands, asked.labellings), started)
    if "thinned" in asked.parts:
        show("Thinned", planted(tokens, free, words, bands, None, 20), started)
    if "power" in asked.parts:
        frames = [planted(tokens, free, words, bands, share, 2) for share in (0.1, 0.25, 0.5)]
        show("Power at 5%", pd.concat(frames), started)


if __name__ == "__main__":
    main()
