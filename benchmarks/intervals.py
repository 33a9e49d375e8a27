"""Calibration of the intervals of `laplex.inference.project` and `laplex.inference.similarity` on real text.

    python benchmarks/intervals.py --data DATA [--corpus senate] [--dimensions 50] [--splits 4]

halves   clusters (senators) are split into random halves, with the contexts of the whole text: the difference of the
         estimates, divided by the root of the sum of their squared standard errors, should have variance 1 and exceed
         the 90% bound 10% of the time; and the cosine corrected for noise should equal that between one word in one
         half and the other word in the other half
apart    the same for similarity, with separate contexts in each half, which the intervals do not cover
null     labels are permuted by cluster: how often positions and similarities differ between them at 5% and 1%
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats
from trial import BANDS, SOURCES, Source, Trial, begin, fit, permuted, read, show, table_of

import laplex as lx
from laplex.inference.cosine_intervals import CosineIntervals, Interval, sliced
from laplex.inference.jackknife import Estimate
from laplex.inference.units import Options
from laplex.model.rows import Rows
from laplex.questions.cosine import normalize
from laplex.text.slices import Slices

AXES = [("good", "bad"), ("public", "private"), ("increase", "cut"), ("support", "oppose"), ("federal", "local")]
AXES += [("new", "old"), ("war", "peace"), ("national", "state"), ("families", "business"), ("men", "women")]
FEWEST = 10  # clusters in a half
Z90 = float(stats.norm.ppf(0.95))
Floats = NDArray[np.float64]


def axes_of(free: lx.Embeddings) -> Floats:
    known = [pair for pair in AXES if all(word in free for word in pair)]
    ends = [[normalize(free.vector(word).astype(np.float64)) for word in pair] for pair in known]
    return np.array([normalize(one - two) for one, two in ends])


def in_halves(trial: Trial, half: NDArray[np.int32]) -> lx.Embeddings:
    """The contexts of the whole text, and vectors of words in each half; `half` is that of each document."""
    free = trial.free
    rows = Rows(free.rows.vocabularies, Slices(("half",), (("a",), ("b",)), half))
    theta = np.concatenate([free.matrix(), free.matrix(), free.contexts()])
    graph = lx.Graph.of(len(theta), diagonal=np.full(len(theta), 1.0))
    counts = [trial.tokens.counts(rows.slices)]
    return lx.Embeddings(rows, theta, np.arange(len(theta), dtype=np.int32), counts, graph, free.settings, [])


def splits(trial: Trial, times: int, seed: int) -> Iterator[NDArray[np.int32]]:
    codes = trial.tokens.codes(trial.source.cluster)
    for number in range(times):
        yield (np.random.default_rng([number, seed, 9]).permutation(int(codes.max()) + 1) % 2)[codes].astype(np.int32)


def intervals_of(fitted: lx.Embeddings, words: list[int], cluster: str, tokens: lx.Tokens) -> CosineIntervals:
    text = CosineIntervals(fitted, Options(unit=cluster, min_units=FEWEST, min_count=20, tokens=tokens, quiet=True))
    text.read(words)
    return text


def partners(trial: Trial) -> list[int]:
    """For each word the place of the most similar other one among those chosen."""
    vectors = normalize(trial.free.matrix()[trial.words])
    return [int(i) for i in (vectors @ vectors.T - 2 * np.eye(len(vectors))).argmax(1)]


def by_band(question: str, bands: NDArray[np.int64], z: dict[int, list[float]], more: pd.DataFrame) -> pd.DataFrame:
    rows = []
    for band, (low, high) in enumerate(BANDS):
        values = np.array([value for i in np.flatnonzero(bands == band) for value in z[int(i)]])
        values = values[np.isfinite(values)]
        row = {"question": question, "occurrences": f"{low:,}–{high:,}", "pairs": len(values)}
        row |= {"variance": (values**2).mean(), "beyond 90%": (abs(values) > Z90).mean()}
        mine = more[more["band"] == band]
        rows.append(row | mine.drop(columns="band").mean().to_dict())
    return pd.DataFrame(rows)


def halves(trial: Trial, times: int, seed: int) -> pd.DataFrame:
    axes, other = axes_of(trial.free), partners(trial)
    along: dict[int, list[float]] = {i: [] for i in trial.numbers}
    between: dict[int, list[float]] = {i: [] for i in trial.numbers}
    lengths = []
    for half in splits(trial, times, seed):
        text = intervals_of(in_halves(trial, half), trial.words, trial.source.cluster, trial.tokens)
        for i in trial.numbers:
            word, near = trial.words[i], trial.words[other[i]]
            for axis in axes:
                (a, se_a), (b, se_b) = (_value(text.with_axis(word, axis, slice)) for slice in (0, 1))
                along[i].append((a - b) / np.hypot(se_a, se_b))
            (a, se_a), (b, se_b) = (_value(text.cosine(word, near, slice)) for slice in (0, 1))
            between[i].append((a - b) / np.hypot(se_a, se_b))
            if np.isfinite(between[i][-1]):
                lengths.append({"band": trial.bands[i], **_cosines(text, word, near), "without noise": (a + b) / 2})
    more = pd.DataFrame(lengths)
    frames = [by_band("position", trial.bands, along, pd.DataFrame({"band": trial.bands}))]
    return pd.concat([*frames, by_band("similarity", trial.bands, between, more)])


def _cosines(text: CosineIntervals, one: int, two: int) -> dict[str, float]:
    (a, b), (c, d) = (text.vectors[word].vectors for word in (one, two))
    plain = np.mean([normalize(x) @ normalize(y) for x, y in ((a, c), (b, d))])
    return {"plain": float(plain), "across halves": float((a @ d + b @ c) / 2 / np.sqrt(max((a @ b) * (c @ d), 1e-9)))}


def apart(trial: Trial, data: Path, times: int, seed: int) -> pd.DataFrame:
    """Similarities in halves that were each fitted on its own."""
    import polars as pl

    other, names = partners(trial), trial.tokens.vocabularies[0].words
    z: dict[int, list[float]] = {i: [] for i in trial.numbers}
    source, values = trial.source, np.array(trial.tokens.values(trial.source.cluster))
    frame = pl.read_parquet(data / source.file).filter(pl.col(source.column).is_in(source.values))
    if source.documents is not None and source.documents < len(frame):
        frame = frame.sample(source.documents, seed=1)
    for number in range(times):
        side = np.random.default_rng([number, seed, 9]).permutation(len(values)) % 2
        texts = []
        for half in (0, 1):
            mine = frame.filter(pl.col(source.cluster).is_in(values[side == half].tolist()))
            tokens = lx.Tokens.of(lx.read(mine, metadata=[source.cluster]), min_count=20, quiet=True)
            fitted = fit(tokens, trial.free.dimensions)
            known = {names[word]: fitted.id(names[word], 0) for word in trial.words if names[word] in fitted}
            texts.append((intervals_of(fitted, list(known.values()), source.cluster, tokens), known))
        for i in trial.numbers:
            pair = [names[trial.words[i]], names[trial.words[other[i]]]]
            if all(word in known for _, known in texts for word in pair):
                (a, se_a), (b, se_b) = (_value(text.cosine(known[pair[0]], known[pair[1]], 0)) for text, known in texts)
                z[i].append((a - b) / np.hypot(se_a, se_b))
    return by_band("similarity, own contexts", trial.bands, z, pd.DataFrame({"band": trial.bands}))


def null(trial: Trial, times: int, seed: int) -> pd.DataFrame:
    """How often differences between groups that were made by chance are found."""
    units, axes, other = trial.units(trial.source.cluster), axes_of(trial.free), partners(trial)
    found: dict[str, list[list[float]]] = {"position": [], "similarity": []}
    for some in permuted(units, times, seed):
        label = np.zeros(trial.tokens.documents, np.int32)
        label[some.documents] = np.repeat(some.label, np.diff(some.start))
        slices = Slices(("label",), tuple((name,) for name in some.labels), label)
        text = intervals_of(sliced(trial.free, trial.tokens, slices), trial.words, trial.source.cluster, trial.tokens)
        for axis in axes:
            found["position"].append([_p([text.with_axis(word, axis, s) for s in (0, 1)]) for word in trial.words])
        pairs = [(trial.words[i], trial.words[other[i]]) for i in trial.numbers]
        found["similarity"].append([_p([text.cosine(*pair, s) for s in (0, 1)]) for pair in pairs])
    return pd.concat([table_of(name, np.array(p), trial.bands) for name, p in found.items()])


def _p(found: list[Estimate | None]) -> float:
    one, two = found
    return float("nan") if one is None or two is None else Interval.of(one.minus(two), 0.9).p


def _value(found: Estimate | None) -> tuple[float, float]:
    return (float("nan"), float("nan")) if found is None else (found.value, found.standard_error)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="the folder with senate-press.parquet")
    parser.add_argument("--corpus", choices=list(SOURCES), default="senate")
    parser.add_argument("--dimensions", type=int, default=50)
    parser.add_argument("--likelihood", choices=["cbow", "sgns"], default="cbow")
    parser.add_argument("--words", type=int, default=60, help="of each band")
    parser.add_argument("--splits", type=int, default=4)
    parser.add_argument("--labellings", type=int, default=20)
    parser.add_argument("--seed", type=int, default=2, help="of labellings and halves")
    parser.add_argument("--parts", nargs="+", default=["null", "halves", "apart"])
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as cache:
        os.environ.setdefault("LAPLEX_CACHE", cache)
        run(SOURCES[arguments.corpus], arguments)


def run(source: Source, arguments: argparse.Namespace) -> None:
    started = time.monotonic()
    trial = begin(source, read(arguments.data, source), arguments.dimensions, arguments.likelihood, arguments.words)
    print(f"{trial.tokens!r}, {arguments.dimensions} dimensions, words by band: {np.bincount(trial.bands).tolist()}")
    if "null" in arguments.parts:
        show("Labels permuted", null(trial, arguments.labellings, arguments.seed), started)
    if "halves" in arguments.parts:
        show("Halves, the same contexts", halves(trial, arguments.splits, arguments.seed), started)
    if "apart" in arguments.parts:
        show(
            "Halves, contexts of their own",
            apart(trial, arguments.data, min(arguments.splits, 2), arguments.seed),
            started,
        )


if __name__ == "__main__":
    main()
