"""The cost of choosing a strength, and whether the shortcut of `lx.tune` finds the same as complete fits.

    python benchmarks/tuning.py --data DATA [--part cost|warm] [--share 1.0] [--epochs 5] [--threads 2]

cost  senate-press by party, 100 dimensions: one fit, then a tuning of six strengths, in one run on the same threads.
      Wall time, processor time, and epochs over the text. With --whole all six strengths are also fitted completely, to
      see whether any is better than the choice.
warm  the effect of warm starts: six strengths from the vectors of the strongest (after two of the epochs, with
      Adagrad's sums), and each for one epoch from the previous one, with and without those sums; compared with complete
      fits.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import pandas as pd
import polars as pl

import laplex as lx
from laplex.engines.cpu import Cpu
from laplex.engines.state import Epoch, State
from laplex.fitting.held_out import HeldOutText
from laplex.fitting.tune import tune
from laplex.model.likelihoods import CBOW
from laplex.model.problem import make_problem
from laplex.model.rows import Rows

GRID = [1.0, 10.0, 100.0, 1e3, 1e4, 1e5]


def read(folder: Path, share: float) -> lx.Tokens:
    frame = pl.read_parquet(folder / "senate-press.parquet")
    frame = frame.sample(fraction=share, seed=1) if share < 1 else frame
    return lx.Tokens.of(lx.read(frame, text="text", metadata=["party"]), min_count=20)


def holdout_of(tokens: lx.Tokens) -> float:
    return max(0.01, min(0.2, 300_000 / len(tokens)))


def model(strength: float) -> lx.Model:
    return lx.Model(["party"], lx.Ridge(1.0) + lx.Groups("party", strength), dimensions=100)


def cost(tokens: lx.Tokens, epochs: int, threads: int, whole: bool) -> None:
    options = {"epochs": epochs, "threads": threads, "holdout": holdout_of(tokens)}
    wall, busy = time.perf_counter(), time.process_time()
    lx.fit(model(100.0), tokens, tests=False, quiet=True, **options)
    one = time.perf_counter() - wall, time.process_time() - busy
    print(f"one fit: {one[0]:.1f} s, {one[1]:.1f} s of processors, {epochs} epochs", flush=True)
    wall, busy = time.perf_counter(), time.process_time()
    tuning = tune(model(100.0), tokens, GRID, **options)
    six = time.perf_counter() - wall, time.process_time() - busy
    print(tuning.table.to_string(), tuning, sep="\n")
    epochs_read = int(tuning.table["epochs"].sum())
    print(f"tuning: {six[0]:.1f} s, {six[1]:.1f} s of processors, {epochs_read} epochs")
    ratios = six[0] / one[0], six[1] / one[1], epochs_read / epochs
    print("times one fit: {:.2f} by the clock, {:.2f} by processors, {:.2f} by epochs".format(*ratios), flush=True)
    for strength in GRID if whole else []:
        fitted = lx.fit(model(strength), tokens, tests=False, quiet=True, **options)
        print(f"{strength:g}: {fitted.history['held_out'].round(4).tolist()}", flush=True)


def warm(tokens: lx.Tokens, epochs: int, threads: int) -> None:
    rows = Rows(tokens.vocabularies, tokens.slices(["party"]))
    holdout = holdout_of(tokens)
    held_out = HeldOutText.of_problem(tokens, make_problem(model(1.0), tokens, rows, holdout, 1), 1)
    counts = [tokens.counts(rows.slices)]

    def run(label: str, strength: float, first: int, last: int, of: int, start: State | None, sums: bool) -> State:
        problem = make_problem(model(strength), tokens, rows, holdout, 1)
        state = State.initial(problem, 1)
        if start is not None:
            state.theta[:] = start.theta
        if start is not None and sums:
            state.accumulator[:] = start.accumulator
        engine = Cpu(problem, state, CBOW.block, CBOW.block)
        rate = CBOW.rate * (1.0 if of == epochs else 0.5)
        for number in range(first, last):
            epoch = Epoch(number, of, rate, 1, threads)
            engine.run(epoch, lambda share: None)
        theta = state.theta[: problem.parameters]
        settings = {"model": model(strength).settings()}
        fitted = lx.Embeddings(rows, theta, problem.slot, counts, problem.graph, settings, [])
        mean = held_out.mean_per_token(held_out.log_likelihoods({"fit": fitted})["fit"])[0]
        results.append({"strength": strength, "start": label, "log_likelihood": mean})
        print(results[-1], flush=True)
        return state

    results: list[dict[str, object]] = []
    finished = [run("its own", strength, 0, epochs, epochs, None, False) for strength in GRID]
    strong = run("base", GRID[-1], 0, 2, epochs, None, False)
    for strength in GRID:
        run("strongest after two epochs", strength, 2, epochs, epochs, strong, True)
    for label, sums in (("neighbor", True), ("neighbor, without sums", False)):
        state = finished[-1]
        for strength in reversed(GRID):
            state = run(label, strength, 0, 1, 1, state, sums)
    table = pd.DataFrame(results).query("start != 'base'").pivot(index="strength", columns="start")
    print(table.round(4).to_string())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--part", choices=["cost", "warm"], default="cost")
    parser.add_argument("--share", type=float, default=1.0)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--whole", action="store_true")
    arguments = parser.parse_args()
    tokens = read(arguments.data, arguments.share)
    lx.fit(model(1.0), read(arguments.data, 0.002), tests=False, quiet=True, epochs=1, threads=1)  # compiles
    if arguments.part == "cost":
        cost(tokens, arguments.epochs, arguments.threads, arguments.whole)
    else:
        warm(tokens, arguments.epochs, arguments.threads)


if __name__ == "__main__":
    main()
