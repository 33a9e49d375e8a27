"""What tests and intervals cost: all words of the Senate's press releases by party, and questions about a few words.

    python benchmarks/testing.py --data DATA [--threads 2]

The model has 100 dimensions and two epochs (one with a vector for each quarter): tests read the text, and take as long
after many epochs. The unit is the senator. Kernels are compiled before anything is timed.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
from results import Aim, Section

import laplex as lx
from laplex.inference.scores import BACKGROUND_POSITIONS, COVARIANCE_POSITIONS

ALL_WORDS_SECONDS, INTERVAL_SECONDS, STORED_SECONDS = 45.0, 2.0, 1.0  # the bars
TEXT = """Press releases of the Senate ({tokens:,} tokens), 100 dimensions, {threads} threads, senators as units.
{words:,} words are tested by party, {permutations:.1f}M times permuted. "again" is the same question about other words,
for which the background is not read anew; 24 slices are parties in quarters. Operations of a word are those of its
products, in single precision, of a processor that makes about 120 billion of them in a second."""


@dataclass(frozen=True)
class Cost:
    """Seconds of the clock, and of all processors."""

    clock: float
    processors: float

    @classmethod
    def of(cls, question: Callable[[], Any]) -> Cost:
        clock, processors = time.perf_counter(), time.process_time()
        question()
        return cls(time.perf_counter() - clock, time.process_time() - processors)


def read(data: Path, share: float) -> lx.Tokens:
    """The releases, or a share of them."""
    frame = pl.read_parquet(data / "senate-press.parquet").sample(fraction=share, seed=1)
    month = pl.col("date").str.slice(5, 2).cast(pl.Int32)
    frame = frame.with_columns(quarter=pl.format("{}-Q{}", pl.col("date").str.slice(0, 4), (month + 2) // 3))
    corpus = lx.read(frame, metadata=["party", "senator", "quarter"], unit="senator")
    return lx.Tokens.of(corpus, min_count=20, quiet=True)


def fit(tokens: lx.Tokens, *, quarters: bool = False) -> lx.Embeddings:
    """A model by party, or by party and quarter."""
    prior: Any = lx.Ridge(1.0) + lx.Groups("party", 100.0)
    model = lx.Model(["party"], prior)
    if quarters:
        model = lx.Model(["party", "quarter"], prior + lx.Chain("quarter", 100.0))
    return lx.fit(model, tokens, epochs=1 if quarters else 2, tests=False, quiet=True)


def ask(inference: Any) -> dict[str, Cost]:
    """What questions about a few words cost, one after the other."""
    questions: dict[str, Callable[[], Any]] = {
        "similarity of two words": lambda: inference.similarity("health", "insurance"),
        "similarity of two words, again": lambda: inference.similarity("energy", "oil"),
        "ten neighbors": lambda: inference.neighbors("health", 10),
        "contrast of a word": lambda: inference.contrast("party", ["health"]),
        "contrast of a word, again": lambda: inference.contrast("party", ["energy"]),
        "explain": lambda: inference.explain("health", "party"),
    }
    return {name: Cost.of(question) for name, question in questions.items()}


def operations(found: pd.DataFrame, dimensions: int, units: int, tokens: int) -> pd.DataFrame:
    """The operations of the large products, and the bytes that they read, of a word and of all."""
    words, draws = len(found), found["permutations"].mean() + 1
    parts = {
        "background": (4 * BACKGROUND_POSITIONS * dimensions, 4 * BACKGROUND_POSITIONS * dimensions / 128),
        "curvature": (2 * COVARIANCE_POSITIONS * dimensions**2, 4 * COVARIANCE_POSITIONS * dimensions),
        "permutations": (2 * draws * units * dimensions, 4 * draws * units),
        "text, read once for all": (0.0, 4 * tokens / words),
    }
    rows = [(name, of_word / 1e6, size / 1e6, words * of_word / 1e9) for name, (of_word, size) in parts.items()]
    return pd.DataFrame(rows, columns=["part", "million operations of a word", "MB read", "billion of all words"])


def measure(data: Path, threads: int = 2) -> Section:
    """The costs, against their bars."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["LAPLEX_CACHE"] = folder
        small = fit(few := read(data, 0.05))
        warm = small.inference(tokens=few, threads=threads, quiet=True)
        warm.contrast("party")
        ask(warm)
        tokens = read(data, 1.0)
        fitted = fit(tokens)
        inference = fitted.inference(tokens=tokens, threads=threads, exclude=(), quiet=True)
        costs = {"all words": Cost.of(lambda: inference.contrast("party"))}
        found = inference.contrast("party")
        fitted.save(path := Path(folder) / "senate.laplex")
        costs["all words, stored"] = Cost.of(lambda: lx.load(path).inference(quiet=True).contrast("party"))
        two = ask(fitted.inference(tokens=tokens, threads=threads, permutations=999, quiet=True))
        many = ask(fit(tokens, quarters=True).inference(tokens=tokens, threads=threads, quiet=True))
    costs |= {f"{name}, two slices": cost for name, cost in two.items()}
    costs |= {f"{name}, 24 slices": cost for name, cost in many.items()}
    similarity = costs["similarity of two words, two slices"].processors
    table = pd.DataFrame(
        [{"what": name, "clock": cost.clock, "processors": cost.processors} for name, cost in costs.items()]
    )
    text = TEXT.format(
        tokens=len(tokens), threads=threads, words=len(found), permutations=found["permutations"].sum() / 1e6
    )
    units = len(np.unique(tokens.codes("senator")))
    return Section(
        "What tests and intervals cost",
        text,
        [table, operations(found, fitted.dimensions, units, len(tokens))],
        [
            Aim("all words tested", costs["all words"].clock, "s", at_most=ALL_WORDS_SECONDS),
            Aim("intervals of two words in two slices, processors", similarity, "s", at_most=INTERVAL_SECONDS),
            Aim("findings that are kept with the model", costs["all words, stored"].clock, "s", at_most=STORED_SECONDS),
        ],
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    print(measure(arguments.data, arguments.threads).shown())


if __name__ == "__main__":
    main()
