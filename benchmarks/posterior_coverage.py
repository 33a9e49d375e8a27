"""Coverage of the posterior intervals of `laplex.inference.posterior` where the model is true.

    python benchmarks/posterior_coverage.py [--data DATA] [--simulations 400] [--frequencies 50 500 5000 50000]
        [--strengths 0 1 100 10000] [--slices 2 5] [--ridge 1] [--center mean] [--negatives drawn]

Contexts are estimated from real text (Senate press releases, or the State of the Union without --data) and then fixed.
In each simulation the vectors of a word in all slices are drawn from the prior, Ridge(ridge) and a Chain of the given
strength. Then contexts are drawn from the text, and each has the word or a negative:

drawn      the word with probability σ(x·h), until it has occurred as often as required, or there are five negatives for
           each occurrence: this is exactly the logistic regression of the likelihood
expected   at each position of a text, a Poisson number of occurrences with mean c exp(x·h), and negatives by their
           expectation, c at each position: this is how the package treats a text

"projection" is the product with a random direction, in every slice; "distance" is from the first to the last slice.
90% intervals should contain the truth in 85% to 95% of simulations. "ratio" is the true distance over its estimate.
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
from scipy.special import expit

import laplex as lx
from laplex.inference.conditional import BlockCell, BlockContexts, VectorBlock
from laplex.inference.posteriors import Posterior, solve
from laplex.inference.statistics import ContextReader, Contexts
from laplex.inference.units import Options
from laplex.runtime.display import bar
from laplex.text.slices import Slices

SHARES = {2: (0.7, 0.3), 5: (0.35, 0.25, 0.2, 0.15, 0.05)}  # of the text, slice by slice
NEGATIVES = 5
POSITIONS = 100_000  # of a text of which negatives are expected

Floats = NDArray[np.float64]


def read_contexts(folder: Path | None, dimensions: int, documents: int = 6_000) -> NDArray[np.float32]:
    """What stands around the positions of a text, in the contexts of a fitted model."""
    if folder is None:
        corpus = lx.demo()
    else:
        import polars as pl

        frame = pl.read_parquet(folder / "senate-press.parquet")
        corpus = lx.read(frame.sample(min(documents, len(frame)), seed=1), metadata=["party"])
    tokens = lx.Tokens.of(corpus, min_count=20)
    fitted = lx.fit(lx.Model(dimensions=dimensions), tokens, holdout=0.0)
    reader = ContextReader(tokens, fitted.rows.slices.of_document, 1, fitted, 0, Options())
    reader.contexts([0])
    return reader.background[0].vectors


class World:
    """Words whose vectors come from the prior, in a text that comes from the likelihood."""

    def __init__(self, contexts: NDArray[np.float32], slices: int, ridge: float, strength: float) -> None:
        self.contexts, self.slices = contexts, slices
        steps = np.diff(np.eye(slices), axis=0)
        self.precision: Floats = ridge * np.eye(slices) + strength * steps.T @ steps
        self._root = np.linalg.cholesky(np.linalg.inv(self.precision))

    def draw_vectors(self, random: np.random.Generator) -> Floats:
        """(S, D)"""
        return np.asarray(self._root @ random.standard_normal((self.slices, self.contexts.shape[1])))

    def draw_text(self, vectors: Floats, frequency: int, random: np.random.Generator) -> BlockContexts:
        """Occurrences and negatives, one by one."""
        here, around = {}, []
        for slice, vector in enumerate(vectors):
            wanted = max(round(SHARES[self.slices][slice] * frequency), 1)
            h = self.contexts[random.integers(len(self.contexts), size=(1 + NEGATIVES) * wanted)]
            stands = random.random(len(h)) < expit(h @ vector)
            end = int(np.searchsorted(np.cumsum(stands), wanted)) + 1
            here[0, slice] = Contexts(h[:end][stands[:end]])
            around.append(Contexts(h[:end][~stands[:end]]))
        return BlockContexts(here, around, {0: 1.0})

    def expect_text(self, vectors: Floats, frequency: int, random: np.random.Generator) -> BlockContexts:
        """Occurrences by chance at positions of a text, negatives by their expectation."""
        shares = SHARES[self.slices]
        texts = [self.contexts[random.integers(len(self.contexts), size=round(s * POSITIONS))] for s in shares]
        scores = [h @ vector for h, vector in zip(texts, vectors)]
        noise = frequency / sum(np.exp(score).sum() for score in scores)
        here = {}
        for slice, (h, score) in enumerate(zip(texts, scores)):
            here[0, slice] = Contexts(np.repeat(h, random.poisson(noise * np.exp(score)), axis=0))
        return BlockContexts(here, [Contexts(h) for h in texts], {0: float(noise)})

    def block(self) -> VectorBlock:
        """The word before anything was read."""
        zero = np.zeros((self.slices, self.contexts.shape[1]))
        cells = [BlockCell(0, slice, slice) for slice in range(self.slices)]
        return VectorBlock([0], np.arange(self.slices)[None], cells, zero, self.precision, zero)


def ask(world: World, frequency: int, seed: int, center: str, negatives: str) -> dict[str, float]:
    """One simulation: which intervals hold the truth."""
    random = np.random.default_rng([seed, frequency])
    truth = world.draw_vectors(random)
    make = world.draw_text if negatives == "drawn" else world.expect_text
    text = make(truth, frequency, random)
    solved = solve([world.block()], text, center)[0]  # type: ignore[arg-type]
    slices = Slices(("slice",), tuple((str(slice),) for slice in range(world.slices)), np.empty(0, np.int32))
    belief = Posterior("word", slices, np.arange(world.slices), solved.mean, solved.covariance)
    direction = random.standard_normal(truth.shape[1])
    direction /= np.linalg.norm(direction)
    projected = belief.project(direction)
    gap, true_gap = belief.distance({"slice": 0}, {"slice": world.slices - 1}), np.linalg.norm(truth[0] - truth[-1])
    return {
        "occurrences": float(sum(len(contexts) for contexts in text.occurrences.values())),
        "projection": float(
            np.mean((projected["lower"] <= truth @ direction) & (truth @ direction <= projected["upper"]))
        ),
        "distance": float(gap["lower"].iloc[0] <= true_gap <= gap["upper"].iloc[0]),
        "ratio": float(true_gap / gap["estimate"].iloc[0]),
    }


def cover(
    contexts: NDArray[np.float32], choices: argparse.Namespace, simulations: int
) -> Iterator[dict[str, float | int]]:
    """A row for each number of slices, frequency and strength."""
    for slices in choices.slices:
        for frequency in choices.frequencies:
            for strength in choices.strengths:
                world = World(contexts, slices, choices.ridge, strength)
                started = time.monotonic()
                found = []
                with bar(f"{slices} slices, {frequency:,} times, strength {strength:g}") as progress:
                    for seed in range(simulations):
                        found.append(ask(world, frequency, seed, choices.center, choices.negatives))
                        progress.update((seed + 1) / simulations, f"{seed + 1:,} of {simulations:,} simulations")
                seconds = (time.monotonic() - started) / simulations
                means = pd.DataFrame(found).mean().to_dict()
                setting = {"slices": slices, "frequency": frequency, "strength": strength}
                yield setting | means | {"simulations": simulations, "seconds": seconds}


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="How often intervals of the posterior hold the truth.")
    parser.add_argument("--data", type=Path, help="folder with senate-press.parquet")
    parser.add_argument("--simulations", type=int, default=400)
    parser.add_argument("--frequencies", type=int, nargs="+", default=[50, 500, 5_000, 50_000])
    parser.add_argument("--strengths", type=float, nargs="+", default=[0.0, 1.0, 100.0, 10_000.0])
    parser.add_argument("--slices", type=int, nargs="+", default=[2, 5], choices=list(SHARES))
    parser.add_argument("--dimensions", type=int, default=50)
    parser.add_argument("--ridge", type=float, default=1.0)
    parser.add_argument("--center", choices=["mean", "mode"], default="mean")
    parser.add_argument("--negatives", choices=["drawn", "expected"], default="drawn")
    return parser.parse_args()


def main() -> None:
    choices = parse()
    with tempfile.TemporaryDirectory() as cache:
        os.environ.setdefault("LAPLEX_CACHE", cache)
        contexts = read_contexts(choices.data, choices.dimensions)
    columns = ["slices", "frequency", "occurrences", "strength", "projection", "distance", "ratio"]
    columns += ["simulations", "seconds"]
    print("|", " | ".join(columns), "|\n" + "|---" * len(columns) + "|", flush=True)
    for row in cover(contexts, choices, choices.simulations):
        cells = [row["slices"], f"{row['frequency']:,}", f"{row['occurrences']:,.0f}", f"{row['strength']:g}"]
        cells += [f"{row[name]:.3f}" for name in columns[4:7]]
        print("|", " | ".join(map(str, [*cells, row["simulations"], f"{row['seconds']:.2f}"])), "|", flush=True)


if __name__ == "__main__":
    main()
