"""Time to answer a question with a test or with the posterior, relative to an epoch of training in the same run.

    python benchmarks/answering.py --data DATA [--words 1000] [--repeats 3] [--variational]

The text is all press releases of the Senate by party, with 100 dimensions and two threads.

frequent     `contrast("party", words)` of the most frequent words, by senator
spread       the same for an equal number of words over all frequencies
posterior    `posterior(words)` of one in twenty of the spread words, with their covariances
variational  an epoch of `inference="variational"`, and its held-out likelihood at the end (--variational)
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


def seconds_of(question: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    answer = question()
    return time.perf_counter() - start, answer


def epoch_of(fitted: lx.Embeddings, tokens: lx.Tokens) -> float:
    return len(tokens) / statistics.median(fitted.history["tokens_per_second"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--words", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--variational", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as cache:
        os.environ["LAPLEX_CACHE"] = cache
        run(arguments)


def run(arguments: argparse.Namespace) -> None:
    corpus = lx.read(arguments.data / "senate-press.parquet", metadata=["party", "senator"])
    tokens = lx.Tokens.of(corpus, min_count=20)
    model = lx.Model(["party"], lx.Ridge(1.0) + lx.Groups("party", 100.0), dimensions=100)
    fitted = lx.fit(model, tokens, threads=2, tests=False)
    epoch = epoch_of(fitted, tokens)
    print(f"{tokens!r}\nan epoch: {epoch:.1f} s", flush=True)
    words = tokens.vocabularies[0].words
    spread = [words[i] for i in np.linspace(0, len(words) - 1, arguments.words).astype(int)]

    asked = fitted.inference(unit="senator", tokens=tokens)

    def contrast(words: list[str]) -> Any:
        return asked.contrast("party", words)

    contrast(list(words[:10]))  # compiles the kernels
    questions: dict[str, Callable[[], Any]] = {
        "frequent": lambda: contrast(list(words[: arguments.words])),
        "spread": lambda: contrast(spread),
        "posterior": lambda: fitted.posterior(spread[::20], tokens=tokens),
    }
    for name, question in questions.items():
        times, answers = zip(*(seconds_of(question) for _ in range(arguments.repeats)))
        tested = f", {int(answers[0]['p'].notna().sum()):,} of them tested" if name != "posterior" else ""
        seconds = statistics.median(times)
        print(f"{name}: {len(answers[0]):,} words{tested}, {seconds:.1f} s, {seconds / epoch:.1f} epochs", flush=True)
    if arguments.variational:
        variational = lx.fit(model, tokens, threads=2, inference="variational", tests=False)
        slow = epoch_of(variational, tokens)
        print(f"variational: an epoch of {slow:.1f} s, {slow / epoch:.1f} epochs")
        for name, model_fitted in (("map", fitted), ("variational", variational)):
            print(f"{name}: held-out log likelihood {model_fitted.history['held_out'].iloc[-1]:.4f}", flush=True)


if __name__ == "__main__":
    main()
