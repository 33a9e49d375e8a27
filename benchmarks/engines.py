"""Tokens per second of the Torch engine on the CPU and of the Numba engine, in one run.

    python benchmarks/engines.py --data DATA [--tokens 10000000] [--threads 2] [--repeats 3]

The text is English Wikipedia, with 100 dimensions and three edges per row, as in `speed.py`. Prints medians and the
mean log likelihood, which shows that both engines learn equally well.
"""

from __future__ import annotations

import argparse
import statistics
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import speed

from laplex.engines.cpu import Cpu
from laplex.engines.state import Epoch, State
from laplex.engines.torch import Torch
from laplex.model.problem import Problem


def first_documents(problem: Problem, tokens: int) -> Problem:
    """The problem with the first documents only."""
    stop = int(np.searchsorted(problem.offsets, tokens))
    return replace(
        problem,
        offsets=problem.offsets[: stop + 1],
        word_start=problem.word_start[:stop],
        context_start=problem.context_start[:stop],
        language=problem.language[:stop],
        held_out=problem.held_out[:stop],
    )


def measure(problem: Problem, name: str, threads: int) -> tuple[float, float]:
    """Tokens per second, and the mean log likelihood."""
    state = State.initial(problem, 1)
    block = problem.likelihood.block if name == "cpu" else problem.likelihood.torch_block
    sizes = block, block
    engine = Cpu(problem, state, *sizes) if name == "cpu" else Torch(problem, state, *sizes, device="cpu")
    engine.compile()
    start = time.perf_counter()
    _, totals = engine.run(Epoch(0, 1, problem.likelihood.rate, 1, threads), lambda share: None)
    return int(problem.offsets[-1]) / (time.perf_counter() - start), totals[1] / totals[2]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--tokens", type=int, default=10_000_000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    tokens = speed.first_tokens(arguments.data / "wikipedia-en.parquet", 10_000_000)
    print("| likelihood | engine | million tokens a second | ratio | log likelihood |\n|---|---|---|---|---|")
    for likelihood in ("cbow", "sgns"):
        problem = first_documents(speed.problem_of(tokens, likelihood, 100, True), arguments.tokens)
        runs: dict[str, list[tuple[float, float]]] = {"cpu": [], "torch": []}
        for _ in range(arguments.repeats):
            for name, results in runs.items():
                results.append(measure(problem, name, arguments.threads))
        fast = statistics.median(rate for rate, _ in runs["cpu"])
        for name, results in runs.items():
            rate = statistics.median(rate for rate, _ in results)
            print(
                f"| {likelihood} | {name} | {rate / 1e6:.2f} | {rate / fast:.2f} | {results[-1][1]:.3f} |", flush=True
            )


if __name__ == "__main__":
    main()
