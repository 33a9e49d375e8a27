"""What it takes to answer with a test or with the posterior, against an epoch of training in the same run.

    python benchmarks/answering.py --data ../shared/data [--words 1000] [--repeats 3] [--variational]

All press releases of the senate by party, 100 dimensions, two threads. Contexts without labels are fitted beforehand.

frequent     `contrast("party", cluster="senator", interval=0.9)` of the most frequent words
spread       the same for as many words spread over all frequencies
posterior    `posterior(words)` of one in twenty of the spread words, with their covariances
variational  an epoch of `inference="variational"`, and its held-out likelihood in the end (--variational)
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import laplex as lx


def seconds_of(ask: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    answer = ask()
    return time.perf_counter() - start, answer


def epoch_of(fitted: lx.Embeddings, tokens: lx.Tokens) -> float:
    return len(tokens) / statistics.median(fitted.history["tokens_per_second"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--words", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--variational", action="store_true")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as cache:
        os.environ["LAPLEX_CACHE"] = cache
        run(asked)


def run(asked: argparse.Namespace) -> None:
    corpus = lx.read(asked.data / "senate-press.parquet", metadata=["party", "senator"])
    tokens = lx.Tokens.of(corpus, min_count=20)
    model = lx.Model(["party"], lx.Ridge(1.0) + lx.Groups("party", 100.0), dimensions=100)
    fitted = lx.fit(model, tokens, threads=2)
    epoch = epoch_of(fitted, tokens)
    print(f"{tokens!r}\nan epoch: {epoch:.1f} s", flush=True)
    words = tokens.vocabularies[0].words
    spread = [words[i] for i in np.linspace(0, len(words) - 1, asked.words).astype(int)]

    def contrast(words: list[str]) -> Any:
        return fitted.contrast("party", words=words, cluster="senator", interval=0.9, tokens=tokens)

    contrast(list(words[:10]))  # fits the contexts and compiles
    ways: dict[str, Callable[[], Any]] = {
        "frequent": lambda: contrast(list(words[: asked.words])),
        "spread": lambda: contrast(spread),
        "posterior": lambda: fitted.posterior(spread[::20], tokens=tokens),
    }
    for name, way in ways.items():
        times, answers = zip(*(seconds_of(way) for _ in range(asked.repeats)))
        tested = f", {int(answers[0]['p'].notna().sum()):,} of them tested" if name != "posterior" else ""
        seconds = statistics.median(times)
        print(f"{name}: {len(answers[0]):,} words{tested}, {seconds:.1f} s, {seconds / epoch:.1f} epochs", flush=True)
    if asked.variational:
        believed = lx.fit(model, tokens, threads=2, inference="variational")
        slow = epoch_of(believed, tokens)
        print(f"variational: an epoch of {slow:.1f} s, {slow / epoch:.1f} epochs")
        for name, one in (("map", fitted), ("variational", believed)):
            print(f"{name}: held-out log likelihood {one.history['held_out'].iloc[-1]:.4f}", flush=True)


if __name__ == "__main__":
    main()
