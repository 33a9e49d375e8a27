"""Tokens a second of the engines, on one device: the Torch engine on the CPU against the Numba engine, in one run.

    python benchmarks/engines.py --data ../shared/data [--tokens 10000000] [--threads 2] [--repeats 3]

English Wikipedia, 100 dimensions, three edges a row, as in `speed.py`. Medians, and the mean log likelihood, since a
fast engine that learns nothing is of no use.
"""

from __future__ import annotations

import argparse
import statistics
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import speed

from laplex.engines.cpu import Cpu, initial
from laplex.engines.epoch import Epoch
from laplex.engines.torch import Torch
from laplex.problem import Problem
from laplex.training import BLOCKS, GROUPS, RATES


def part(problem: Problem, tokens: int) -> Problem:
    """The first documents."""
    stop = int(np.searchsorted(problem.offsets, tokens))
    return replace(
        problem,
        offsets=problem.offsets[: stop + 1],
        word_start=problem.word_start[:stop],
        context_start=problem.context_start[:stop],
        language=problem.language[:stop],
        held_out=problem.held_out[:stop],
    )


def once(problem: Problem, name: str, threads: int) -> tuple[float, float]:
    """Tokens a second, and the mean log likelihood."""
    state = initial(problem, 1)
    engine = Cpu(problem, state) if name == "cpu" else Torch(problem, state, device="cpu")
    engine.compile()
    block = (BLOCKS if name == "cpu" else GROUPS)[problem.likelihood]
    start = time.perf_counter()
    _, totals = engine.run(Epoch(0, 1, RATES[problem.likelihood], 1, threads, block, block), lambda share: None)
    return int(problem.offsets[-1]) / (time.perf_counter() - start), totals[1] / totals[2]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--tokens", type=int, default=10_000_000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    asked = parser.parse_args()
    tokens = speed.first_tokens(asked.data / "wikipedia-en.parquet", 10_000_000)
    print("| likelihood | engine | million tokens a second | ratio | log likelihood |\n|---|---|---|---|---|")
    for likelihood in ("cbow", "sgns"):
        problem = part(speed.problem_of(tokens, likelihood, 100, True), asked.tokens)
        runs: dict[str, list[tuple[float, float]]] = {"cpu": [], "torch": []}
        for _ in range(asked.repeats):
            for name, found in runs.items():
                found.append(once(problem, name, asked.threads))
        fast = statistics.median(rate for rate, _ in runs["cpu"])
        for name, found in runs.items():
            rate = statistics.median(rate for rate, _ in found)
            print(f"| {likelihood} | {name} | {rate / 1e6:.2f} | {rate / fast:.2f} | {found[-1][1]:.3f} |", flush=True)


if __name__ == "__main__":
    main()
