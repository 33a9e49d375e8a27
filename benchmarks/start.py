"""The start of a fit: epochs without slices first, compared with slices from the first epoch on, at equal epochs.

    python benchmarks/start.py --data DATA
    python benchmarks/start.py --data DATA --texts senate --likelihoods cbow --epochs 10 --pooled 0 2 4 6

fit     held-out log likelihood a token, word similarity (mean Spearman correlation over the sets, weighted by known
        pairs, over slices) and seconds of one core, for press releases by party, addresses by period and speeches by
        family; for press releases also the average precision of planted differences (experiments/planting.py),
        Euclidean and by cosine
tests   p of `contrast("party")` by senator with the contexts that a fit has kept, compared with those of complete
        label-free fits: rank correlation of log p, share rejected at 5%, and planted words found

Each row is a mean over seeds; "±" is the standard error of the difference to the first number of epochs without slices,
paired by seed.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
from numpy.typing import NDArray
from scipy.stats import spearmanr

import laplex as lx

sys.path.insert(0, str(Path(__file__).parents[1] / "experiments"))
from planting import Planted, average_precision, plant

Floats = NDArray[np.float64]
SHARE, WORDS = 0.25, 200  # planted: the share of occurrences that are exchanged, and the number of words
MIN_COUNT = 100  # of the words that are tested
SLICES = 4  # in which word similarity is judged


@dataclass(frozen=True)
class Text:
    """A corpus, the column that vectors vary by, and the prior over it."""

    tokens: lx.Tokens
    column: str
    prior: lx.Prior


def senate(folder: Path, documents: int) -> Text:
    frame = pl.read_parquet(folder / "senate-press.parquet", columns=["party", "senator", "text"])
    frame = frame.filter(pl.col("party").is_in(["D", "R"])).sample(documents, seed=1)
    tokens = lx.Tokens.of(lx.read(frame, metadata=["party", "senator"]), min_count=20, quiet=True)
    return Text(tokens, "party", lx.Groups("party", 100.0))


def union(folder: Path, documents: int) -> Text:
    tokens = lx.Tokens.of(lx.demo().periods("year", every="20y", start=1781), min_count=10, quiet=True)
    return Text(tokens, "period", lx.Chain("period", 100.0))


def europarl(folder: Path, documents: int) -> Text:
    frame = pl.read_parquet(folder / "europarl-en.parquet", columns=["family", "text"])
    frame = frame.filter(pl.col("family").is_in(["EPP", "S&D", "ALDE", "GREENS"])).sample(documents, seed=1)
    tokens = lx.Tokens.of(lx.read(frame, metadata=["family"]), min_count=20, quiet=True)
    return Text(tokens, "family", lx.Groups("family", 100.0))


TEXTS = {"senate": senate, "union": union, "europarl": europarl}


def similarity(fitted: lx.Embeddings, sets: Path) -> float:
    """The weighted mean correlation over sets, in the slices with most text."""
    slices = fitted.slices.nlargest(SLICES, "tokens").drop(columns="tokens").to_dict("records")
    tables = [lx.evaluation.similarity(fitted, sets, bootstrap=0, quiet=True, at=one) for one in slices]
    return float(np.mean([table.set_index("set").loc["weighted mean", "spearman"] for table in tables]))


def precisions(fitted: lx.Embeddings, planted: Planted) -> list[float]:
    """The average precision of planted words, by Euclidean distance and by cosine."""
    words = [fitted.words()[i] for i in planted.candidates]
    frame = fitted.contrast("party", words, test=False).set_index("word").reindex(words)
    return [average_precision(frame[name].to_numpy(np.float64), planted.changed) for name in ("distance", "cosine")]


def compare_fits(name: str, text: Text, likelihood: str, arguments: argparse.Namespace) -> pd.DataFrame:
    """A row for each number of epochs without slices."""
    model = lx.Model([text.column], lx.Ridge(1.0) + text.prior, likelihood, dimensions=arguments.dimensions)
    values: dict[int, list[list[float]]] = {number: [] for number in arguments.pooled}
    for seed in arguments.seeds:
        planted = plant(text.tokens, "party", "senator", SHARE, WORDS, seed) if name == "senate" else None
        for number in arguments.pooled:
            options = {"epochs": arguments.epochs, "seed": seed, "threads": 1, "engine": "cpu", "tests": False}
            options |= {"pooled_epochs": number, "quiet": True}
            started = time.process_time()
            fitted = lx.fit(model, text.tokens, holdout=0.03, tests=False, **options)
            seconds = time.process_time() - started
            row = [fitted.history["held_out"].iloc[-1], similarity(fitted, arguments.data / "similarity")]
            row += (
                precisions(lx.fit(model, planted.tokens, tests=False, **options), planted) if planted else [np.nan] * 2
            )
            values[number].append([*row, seconds])
    columns = ["held out", "similarity", "planted, Euclidean", "planted, cosine", "seconds"]
    rows = []
    for number, found in values.items():
        array, base = np.array(found), np.array(values[arguments.pooled[0]])
        error = (array - base).std(0, ddof=1) / np.sqrt(len(array))
        row = {"text": name, "likelihood": likelihood, "without slices": f"{number} of {arguments.epochs}"}
        for column, mean, one in zip(columns, array.mean(0), error, strict=True):
            row[column] = f"{mean:.1f}" if column == "seconds" else f"{mean:.4f} ± {one:.4f}"
        rows.append(row)
    return pd.DataFrame(rows)


def log_p(free: lx.Embeddings, tokens: lx.Tokens, words: list[str]) -> Floats:
    frame = free.inference(unit="senator", tokens=tokens, quiet=True).contrast("party", words).set_index("word")
    return np.log(np.maximum(frame["p"].reindex(words).to_numpy(np.float64), 1e-300))


def compare_tests(text: Text, likelihood: str, arguments: argparse.Namespace) -> pd.DataFrame:
    """Complete label-free fits, and contexts of the first epochs: how well each agrees with the complete ones."""
    plain = lx.Model(likelihood=likelihood, dimensions=arguments.dimensions)  # type: ignore[arg-type]
    varied = lx.Model(["party"], lx.Ridge(1.0) + text.prior, likelihood, dimensions=arguments.dimensions)
    options = {"epochs": arguments.epochs, "threads": 1, "engine": "cpu", "tests": False, "quiet": True}
    counts = text.tokens.vocabularies[0].counts
    chosen = np.random.default_rng(0).permutation(np.flatnonzero(counts >= MIN_COUNT))[: arguments.words]
    words = [text.tokens.vocabularies[0].words[i] for i in chosen]
    found: dict[str, list[tuple[Floats, float, float]]] = {}
    for seed in arguments.seeds:
        planted = plant(text.tokens, "party", "senator", SHARE, WORDS, seed)
        names = [text.tokens.vocabularies[0].words[i] for i in planted.candidates]
        for number in ["complete", *arguments.pooled]:
            if number == 0:
                continue
            free = []
            for tokens in (text.tokens, planted.tokens):
                if number == "complete":
                    free.append(lx.fit(plain, tokens, seed=seed, holdout=0.0, **options))
                else:
                    free.append(
                        lx.inference.pooled(
                            lx.fit(varied, tokens, seed=seed, pooled_epochs=number, tests=False, **options)
                        )
                    )
            p = np.nan_to_num(log_p(free[1], planted.tokens, names))
            power = float((p[planted.changed] < np.log(0.05)).mean())
            real = log_p(free[0], text.tokens, words)
            found.setdefault(str(number), []).append((real, power, average_precision(-p, planted.changed)))
    rows = []
    for name, results in found.items():
        agreement = [
            spearmanr(one, other, nan_policy="omit")[0]
            for seed, (one, _, _) in enumerate(results)
            for rival, (other, _, _) in enumerate(found["complete"])
            if seed != rival
        ]
        rejected = np.mean([(p[np.isfinite(p)] < np.log(0.05)).mean() for p, _, _ in results])
        rows.append(
            {
                "likelihood": likelihood,
                "contexts after": "a complete fit" if name == "complete" else f"{name} of {arguments.epochs} epochs",
                "correlation of log p": np.mean(agreement),
                "rejected at 5%": rejected,
                "planted rejected": np.mean([power for _, power, _ in results]),
                "planted, average precision": np.mean([precision for _, _, precision in results]),
            }
        )
    return pd.DataFrame(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--parts", nargs="+", choices=["fit", "tests"], default=["fit", "tests"])
    parser.add_argument("--texts", nargs="+", choices=list(TEXTS), default=list(TEXTS))
    parser.add_argument("--likelihoods", nargs="+", default=["cbow", "sgns"])
    parser.add_argument("--documents", type=int, default=15_000)
    parser.add_argument("--dimensions", type=int, default=50)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--pooled", type=int, nargs="+", default=[0, 2], help="numbers of epochs without slices")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--words", type=int, default=800, help="the number of words that are tested")
    arguments = parser.parse_args()
    for name in arguments.texts:
        text = TEXTS[name](arguments.data, arguments.documents)
        size = len(text.tokens.vocabularies[0])
        print(f"\n{name}: {len(text.tokens):,} tokens, {size:,} words, {arguments.dimensions} dimensions", flush=True)
        for likelihood in arguments.likelihoods:
            if "fit" in arguments.parts:
                print(compare_fits(name, text, likelihood, arguments).to_string(index=False), flush=True)
            if "tests" in arguments.parts and name == "senate":
                print(compare_tests(text, likelihood, arguments).round(3).to_string(index=False), flush=True)


if __name__ == "__main__":
    main()
