"""Words in slices where they do not occur: vectors of their own (absent="kept"), or those that follow from the prior
("filled").

    python benchmarks/absent.py --data DATA [--corpora sotu sotu-decades senate europarl] [--likelihoods cbow sgns]
        [--dimensions 50] [--epochs 5] [--seeds 1 2 3] [--documents 15000] [--record]

A tenth of the documents is held out. Its tokens are judged with exact expectations over negatives, both those of the
whole vocabulary (which "kept" is trained on) and those of the slice (which "filled" is trained on), and by the
probability of the word among all words that the slice's text contains,

    P(w | h) = P(w) exp(ρ_w·h) / Σ_v P(v) exp(ρ_v·h),   P the distribution of negatives,

which means the same for both. For SGNS h is one word of the window, chosen at random.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
from numpy.typing import NDArray
from results import record
from scipy.special import log_expit, logsumexp
from scipy.stats import spearmanr

import laplex as lx
from laplex.evaluation.datasets import read_rated_pairs
from laplex.model.likelihoods import Likelihood

TEXT = """Words in slices that do not contain them: with vectors of their own, drawn as negatives there (kept), or
with the vectors that follow from the prior (filled). Means over seeds; ridge 1, other strengths 100, one thread.
Held-out log likelihood of a token, a tenth of the documents: with negatives from the whole vocabulary (on which kept
is trained), with negatives from the words of the slice (on which filled is), the log probability of the word among the
words of the slice, and this without what it says about the word's frequency (less the log of the mean probability of
the word at all positions). ± is the standard error of the difference. Absent words: their share, the mean cosine
between them, that between words used one to five times, their length relative to those, the cosine with the word
itself in the nearest slice that has it, their share among the 10 nearest neighbors of words of the slice, the share
of words that the first or the last slice lacks, and the share of these among the 50 words whose vectors in the two
slices are farthest apart. Words used 20 times or more in a slice: the overlap of the 10 nearest neighbors (used there)
between seeds, and Spearman's correlation with WordSim-353. Seconds are those of the processor.

"kept" predicts held-out text slightly better where many words are absent, by frequency alone: that a word is absent
from a slice says that it is rare there and around it. Without frequency the two are level, and so are the neighbors of
words that are used, and speed; "filled" takes less memory, and its vectors of absent words are those of the word
elsewhere. "kept" remains the default, since "filled" is not level in held-out likelihood and does not go with every
prior and engine. With "kept", bare distances single out words that a slice lacks; tests do not."""
ABSENT = ("kept", "filled")
POSITIONS_PER_SLICE = 500  # of held-out text
MIN_USES = 20  # in a slice, of words whose neighbors are compared
WORDS_PER_SLICE = 200  # whose neighbors are compared
NEIGHBORS = 10
MOVERS = 50
JUDGMENTS = ("negatives of all", "negatives of the slice", "log P(w)", "log P(w) / P̄(w)")
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Data:
    """A corpus as a frame with a column of text, and the model of it."""

    read: Callable[[Path, int], pd.DataFrame]
    vary: tuple[str, ...]
    prior: lx.Prior


def addresses(every: str) -> Callable[[Path, int], pd.DataFrame]:
    return lambda folder, documents: lx.demo().periods("year", every).head(documents)


def with_year(name: str) -> Callable[[Path, int], pd.DataFrame]:
    def read(folder: Path, documents: int) -> pd.DataFrame:
        frame = pl.read_parquet(folder / name).with_columns(year=pl.col("date").cast(pl.String).str.slice(0, 4))
        if "family" in frame.columns:
            frame = frame.filter(pl.col("family").is_in(["EPP", "S&D", "ALDE", "GREENS", "GUE"]))
        return frame.sample(min(documents, len(frame)), seed=1).to_pandas()

    return read


PERIODS = lx.Ridge(1.0) + lx.Chain("period", 100.0)
DATA = {
    "sotu": Data(addresses("20y"), ("period",), PERIODS),
    "sotu-decades": Data(addresses("10y"), ("period",), PERIODS),
    "senate": Data(
        with_year("senate-press.parquet"),
        ("party", "year"),
        lx.Ridge(1.0) + lx.Groups("party", 100.0) + lx.Chain("year", 100.0),
    ),
    "europarl": Data(
        with_year("europarl-en.parquet"),
        ("family", "year"),
        lx.Ridge(1.0) + lx.Groups("family", 100.0) + lx.Chain("year", 100.0),
    ),
}


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Positions of held-out text in a slice: the word, and the words around it with their weights."""

    slice: int
    words: NDArray[np.int64]  # (n)
    around: Any  # (n, m) sparse
    tokens: NDArray[np.int64]  # (m)


def held_out(tokens: lx.Tokens, fitted: lx.Embeddings, seed: int) -> Iterator[HeldOut]:
    """Some positions of each slice; words outside the vocabulary are taken out first, as in training."""
    settings, random = fitted.settings["model"], np.random.default_rng(seed)
    likelihood, window = Likelihood.of(settings["likelihood"]), settings["window"]
    ids = fitted.rows.vocabularies[0].ids(tokens.vocabularies[0].words)[tokens.ids]
    document = np.repeat(np.arange(tokens.documents), np.diff(tokens.offsets))
    slices = tokens.slices(fitted.columns)
    for slice, key in enumerate(fitted.rows.slices.keys):
        if key not in slices.keys:
            continue
        inside = (ids >= 0) & (slices.of_document == slices.keys.index(key))[document]
        if inside.sum() < 2:
            continue
        around = likelihood.windows(document[inside], window)
        places = np.flatnonzero(np.diff(around.indptr))
        places = np.sort(random.permutation(places)[:POSITIONS_PER_SLICE])
        around = around[places]
        if not likelihood.context_is_window_sum:
            one = around.indptr[:-1] + random.integers(np.diff(around.indptr))
            around = type(around)(
                (np.ones(len(places)), around.indices[one], np.arange(len(places) + 1)), shape=around.shape
            )
        yield HeldOut(slice, ids[inside][places], around, ids[inside])


def judge(fitted: lx.Embeddings, texts: Sequence[HeldOut]) -> Floats:
    """(n, 4) The log likelihood of held-out tokens by each of JUDGMENTS; NaN where a slice lacks the word."""
    noise = fitted.rows.vocabularies[0].noise(fitted.settings["model"]["noise_power"])
    negatives, found = fitted.settings["model"]["negatives"], []
    for text in texts:
        vectors, contexts = fitted.block(0, text.slice), fitted.block(0, None)
        scores = (text.around @ contexts[text.tokens]) @ vectors.T.astype(np.float64)
        here = fitted.counts[0][text.slice] > 0
        own = scores[np.arange(len(scores)), text.words]
        of_slice = noise * here / (noise * here).sum()
        columns = [log_expit(own) + negatives * (log_expit(-scores) @ share) for share in (noise, of_slice)]
        among = np.where(here, scores + np.log(noise), -np.inf)
        among -= logsumexp(among, axis=1, keepdims=True)
        mean = logsumexp(among, axis=0) - np.log(len(among))  # how frequent the model says that the word is
        own = np.where(here[text.words], among[np.arange(len(among)), text.words], np.nan)
        columns += [own, own - np.where(here, mean, 0.0)[text.words]]
        found.append(np.stack(columns, axis=1))
    return np.concatenate(found)


def mean_cosine(directions: Floats) -> float:
    """The mean cosine between two of some vectors of length one."""
    count = len(directions)
    return float(((directions.sum(0) ** 2).sum() - count) / (count * (count - 1))) if count > 1 else np.nan


def unit(vectors: NDArray[Any]) -> Floats:
    return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-30), np.float64)


def of_absent_words(fitted: lx.Embeddings) -> dict[str, float]:
    """What the vectors of words are like in slices that do not contain them."""
    counts = fitted.counts[0]
    vectors = np.stack([fitted.block(0, slice) for slice in range(len(counts))])
    directions, lengths = unit(vectors), np.linalg.norm(vectors, axis=2)
    rows = []
    for slice, count in enumerate(counts):
        gone, rare, here = (np.flatnonzero(which) for which in (count == 0, (count > 0) & (count <= 5), count > 0))
        if not len(gone):
            continue
        distance = np.where(counts[:, gone] > 0, np.abs(np.arange(len(counts)) - slice)[:, None], 10**6)
        nearest = distance.argmin(0)
        some = here[count[here] >= MIN_USES][:WORDS_PER_SLICE]
        near = np.argsort(-(directions[slice, some] @ directions[slice].T), axis=1)[:, 1 : NEIGHBORS + 1]
        rows.append(
            {
                "absent": len(gone) / len(count),
                "cosine between": mean_cosine(directions[slice, gone]),
                "between rare": mean_cosine(directions[slice, rare]),
                "relative length": lengths[slice, gone].mean() / lengths[slice, rare].mean(),
                "cosine with nearest": float(
                    (directions[slice, gone] * directions[nearest, gone]).sum(1).mean()  # itself elsewhere
                ),
                "of neighbors": float((count[near] == 0).mean()),
            }
        )
    moved = np.argsort(-np.linalg.norm(vectors[0] - vectors[-1], axis=1))[:MOVERS]
    lacking = (counts[0] == 0) | (counts[-1] == 0)
    return pd.DataFrame(rows).mean().to_dict() | {"at an end": lacking.mean(), "of movers": lacking[moved].mean()}


def neighbors(fitted: lx.Embeddings) -> list[NDArray[np.int64]]:
    """The nearest words of some words of each slice, among those that it contains."""
    found = []
    for slice, count in enumerate(fitted.counts[0]):
        here = np.flatnonzero(count > 0)
        frequent = np.flatnonzero(count[here] >= MIN_USES)
        some = np.random.default_rng(slice).permutation(frequent)[:WORDS_PER_SLICE]
        directions = unit(fitted.block(0, slice)[here])
        near = np.argsort(-(directions[some] @ directions.T), axis=1)[:, 1 : NEIGHBORS + 1]
        found.append(here[near])
    return found


def overlap(fits: Sequence[list[NDArray[np.int64]]]) -> float:
    """The mean share of neighbors that two seeds have in common."""
    shares = [
        len(np.intersect1d(a, b)) / NEIGHBORS
        for one, two in combinations(fits, 2)
        for first, second in zip(one, two, strict=True)
        for a, b in zip(first, second, strict=True)
    ]
    return float(np.mean(shares)) if shares else np.nan


def rated(fitted: lx.Embeddings) -> float:
    """Spearman's correlation with WordSim-353, in the mean over slices that know 30 of its pairs."""
    (pairs,) = read_rated_pairs()
    vocabulary, values = fitted.rows.vocabularies[0], []
    one, two = vocabulary.ids(pairs.left), vocabulary.ids(pairs.right)
    for slice, count in enumerate(fitted.counts[0]):
        known = (one >= 0) & (two >= 0) & (count[one] >= MIN_USES) & (count[two] >= MIN_USES)
        if known.sum() >= 30:
            directions = unit(fitted.block(0, slice))
            cosines = (directions[one[known]] * directions[two[known]]).sum(1)
            values.append(spearmanr(cosines, pairs.score[known]).statistic)
    return float(np.mean(values)) if values else np.nan


def megabytes(fitted: lx.Embeddings) -> float:
    with tempfile.TemporaryDirectory() as folder:
        fitted.save(Path(folder) / "model")
        return sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file()) / 1e6


def compile_kernels(arguments: argparse.Namespace) -> None:
    """Fit once what is not timed."""
    for likelihood in arguments.likelihoods:
        for absent in ABSENT:
            model = lx.Model(("period",), PERIODS, likelihood, dimensions=arguments.dimensions, absent=absent)
            lx.fit(
                model, lx.demo().periods("year", "40y"), epochs=2, min_count=1000, holdout=0.0, tests=False, quiet=True
            )


def measure(data: Data, frame: pd.DataFrame, likelihood: str, arguments: argparse.Namespace) -> pd.DataFrame:
    """A row for "kept" and one for "filled"."""
    chosen = np.random.default_rng(1).random(len(frame)) < 0.1
    train, test = (
        lx.Tokens.of(lx.read(part, metadata=list(data.vary)), min_count=least, quiet=True)
        for part, least in ((frame[~chosen], arguments.min_count), (frame[chosen], 1))
    )
    rows, found = [], {absent: list[list[NDArray[np.int64]]]() for absent in ABSENT}
    judged = {absent: list[Floats]() for absent in ABSENT}
    for seed in arguments.seeds:
        for absent in ABSENT:
            model = lx.Model(data.vary, data.prior, likelihood, dimensions=arguments.dimensions, absent=absent)
            started = time.process_time()
            fitted = lx.fit(
                model, train, epochs=arguments.epochs, seed=seed, threads=1, holdout=0.0, tests=False, quiet=True
            )
            seconds = time.process_time() - started
            found[absent].append(neighbors(fitted))
            judged[absent].append(judge(fitted, list(held_out(test, fitted, 1))))
            row = {"absent=": absent, "seconds": seconds, "MB": megabytes(fitted)}
            row |= dict(zip(JUDGMENTS, np.nanmean(judged[absent][-1], axis=0).tolist(), strict=True))
            rows.append(row | of_absent_words(fitted) | {"WordSim-353": rated(fitted)})
    table = pd.DataFrame(rows).groupby("absent=", sort=False).mean().reset_index()
    difference = np.mean(judged["filled"], axis=0) - np.mean(judged["kept"], axis=0)  # of each position
    errors = np.nanstd(difference, axis=0) / np.sqrt((~np.isnan(difference)).sum(0))
    for name, error in zip(JUDGMENTS, errors.tolist(), strict=True):
        table.insert(table.columns.get_loc(name) + 1, f"± {name}", ["", error])
    table.insert(len(table.columns) - 1, "overlap", [overlap(found[absent]) for absent in table["absent="]])
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="the folder with the corpora; the addresses need none")
    parser.add_argument("--corpora", nargs="+", choices=list(DATA), default=list(DATA))
    parser.add_argument("--likelihoods", nargs="+", default=["cbow", "sgns"])
    parser.add_argument("--dimensions", type=int, default=50)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--documents", type=int, default=15_000)
    parser.add_argument("--min-count", type=int, default=20)
    parser.add_argument("--record", action="store_true", help="write the tables into VALIDITY.md")
    arguments = parser.parse_args()
    tables = []
    with tempfile.TemporaryDirectory() as cache:
        os.environ["LAPLEX_CACHE"] = cache
        compile_kernels(arguments)
        for name in arguments.corpora:
            frame = DATA[name].read(arguments.data, arguments.documents)
            for likelihood in arguments.likelihoods:
                table = measure(DATA[name], frame, likelihood, arguments)
                table.insert(0, "likelihood", likelihood)
                table.insert(0, "corpus", name)
                tables.append(table)
                print(table.T.to_string(header=False, float_format="{:.3f}".format), flush=True)
    if arguments.record:
        whole = pd.concat(tables)
        first = ["corpus", "likelihood", "absent="]
        cut = list(whole.columns).index("absent")
        record("Absent words", TEXT, [whole[whole.columns[:cut]], whole[[*first, *whole.columns[cut:]]]])


if __name__ == "__main__":
    main()
