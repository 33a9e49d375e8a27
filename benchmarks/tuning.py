"""The cost of choosing a strength, and whether shortcuts find the same as complete fits.

    python benchmarks/tuning.py --data DATA [--part cost|warm|left-out] [--share 1.0] [--epochs 5] [--threads 2]

cost  senate-press by party, 100 dimensions: one fit, then a tuning of six strengths, in one run on the same threads.
      Wall time, processor time, and epochs over the text. With --whole all six strengths are also fitted completely, to
      see whether any is better than the choice.
warm  the effect of warm starts: six strengths from the vectors of the strongest (after two of the epochs, with
      Adagrad's sums), and each for one epoch from the previous one, with and without those sums; compared with complete
      fits.
left-out  strengths that are left out, which `lx.fit` chooses, against a grid of complete fits, half a power of ten
      apart, on documents that neither the choice nor the fits have read (a tenth): how far the choice is from the best
      of the grid, what it loses a token, and what it costs in processor time, without tests of words.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl

import laplex as lx
from laplex.engines.cpu import Cpu
from laplex.engines.state import Epoch, State
from laplex.fitting.estimation import Estimation
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


def model(strength: float | None) -> lx.Model:
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


@dataclass(frozen=True)
class Text:
    """Tokens, the model with a strength or without, the powers of ten to try, and the truth if it is known."""

    tokens: lx.Tokens
    model: Callable[[float | None], lx.Model]
    powers: tuple[float, float] = (0.0, 5.0)
    truth: float | None = None
    epochs: int = 5


def senate(folder: Path) -> Text:
    frame = pl.read_parquet(folder / "senate-press.parquet").sample(6000, seed=2, shuffle=True)
    return Text(lx.Tokens.of(lx.read(frame, text="text", metadata=["party"]), min_count=5, quiet=True), model)


def europarl(folder: Path) -> Text:
    frame = pl.read_parquet(folder / "europarl-en.parquet")
    frame = frame.filter(pl.col("family").is_in(["EPP", "S&D", "ALDE", "GREENS", "GUE"]))
    corpus = lx.read(frame.sample(15_000, seed=2, shuffle=True), text="text", metadata=["family"])
    return Text(
        lx.Tokens.of(corpus, min_count=5, quiet=True),
        lambda strength: lx.Model(["family"], lx.Ridge(1.0) + lx.Groups("family", strength)),
    )


def union(folder: Path) -> Text:
    return Text(
        lx.Tokens.of(lx.demo().periods("year", every="20y", start=1781), min_count=5, quiet=True),
        lambda strength: lx.Model(["period"], lx.Ridge(1.0) + lx.Chain("period", strength)),
    )


def pairs(folder: Path) -> Text:
    """Wikipedia in pieces of 400 words."""
    articles = pl.read_parquet(folder / "wikipedia-en.parquet").sample(600, seed=1, shuffle=True)["text"]
    words = [article.split() for article in articles]
    pieces = [" ".join(text[start : start + 400]) for text in words for start in range(0, len(text), 400)]
    lexicon = lx.Pairs(folder / "lexicons" / "strong-pairs.txt", None, joins="word-context")
    return Text(
        lx.Tokens.of(lx.read([{"text": piece} for piece in pieces]), min_count=5, quiet=True),
        lambda strength: lx.Model([], lx.Ridge(1.0) + lexicon.with_strength(strength)),
        (-2.0, 3.0),
    )


def simulated(folder: Path, truth: float = 4.0, documents: int = 48_000) -> Text:
    """A word and a context a document, drawn from the model of four groups, as in tests/test_tuning.py."""
    random, groups, words, dimensions = np.random.default_rng(2), "ABCD", 200, 5
    covariance = np.linalg.inv(np.eye(4) + truth * (4 * np.eye(4) - 1))
    rho = np.einsum("st,tvd->svd", np.linalg.cholesky(covariance), random.standard_normal((4, words, dimensions)))
    alpha = random.standard_normal((words, dimensions))
    alpha *= np.sqrt(2 * np.log(2) / covariance[0, 0]) / np.linalg.norm(alpha, axis=1, keepdims=True)
    group, context = random.integers(4, size=documents), random.integers(words, size=documents)
    scores = np.einsum("nd,nvd->nv", alpha[context], rho[group])
    word = (scores + random.gumbel(size=scores.shape)).argmax(1)
    text = [{"text": [f"w{w}", f"c{c}"], "party": groups[g]} for w, c, g in zip(word, context, group, strict=True)]
    known = {f"c{k}": vector for k, vector in enumerate(alpha)} | {f"w{k}": np.zeros(5) for k in range(words)}
    fixed = lx.Ridge(1.0, on="words") + lx.Anchor(known, 1e6, on="contexts")
    settings = {"dimensions": dimensions, "window": 1, "negatives": 1, "subsample": 0.0, "noise_power": 0.0}
    return Text(
        lx.Tokens.of(lx.read(text, metadata=["party"]), min_count=1, quiet=True),
        lambda strength: lx.Model(["party"], fixed + lx.Groups("party", strength), **settings),
        (-1.5, 3.5),
        truth,
        10,
    )


TEXTS = {"senate": senate, "europarl": europarl, "union": union, "pairs": pairs, "simulated": simulated}


def left_out(text: Text, seeds: Iterable[int], threads: int) -> None:
    tokens, options = text.tokens, {"epochs": text.epochs, "threads": threads, "holdout": 0.1, "engine": "cpu"}
    grid = 10 ** np.arange(text.powers[0], text.powers[1] + 0.1, 0.5)
    rows = Rows(tokens.vocabularies, tokens.slices(text.model(1.0).vary))
    for seed in seeds:
        problem = make_problem(text.model(1.0), tokens, rows, 0.1, seed)
        judged = HeldOutText.of_problem(tokens, problem, seed)

        def worth(fitted: lx.Embeddings, judged: HeldOutText = judged) -> np.ndarray:
            return judged.log_likelihoods({"fit": fitted})["fit"]

        training = lx.Training(**options, seed=seed).with_defaults(CBOW())
        with tempfile.TemporaryDirectory() as starts:
            fits = [
                worth(Estimation(text.model(s), tokens, training, True, lambda *_: None, Path(starts)).run())
                for s in grid.tolist()
            ]
        best = int(np.argmax([sums.sum() for sums in fits]))
        print(f"seed {seed}: grid", [round(1e4 * judged.mean_per_token(sums - fits[best])[0]) for sums in fits])
        busy = time.process_time()
        lx.fit(text.model(100.0), tokens, tests=False, quiet=True, seed=seed, **options)
        one = time.process_time() - busy
        busy = time.process_time()
        chosen = lx.fit(text.model(None), tokens, tests=False, seed=seed, **options)
        two = time.process_time() - busy
        strength = chosen.settings["tuning"]["chosen"][0]
        loss, error = judged.mean_per_token(worth(chosen) - fits[best])
        mean = judged.mean_per_token(fits[best])[0]
        distance = f"{np.log10(strength / grid[best]):+.2f} from the best of the grid ({grid[best]:.3g})"
        truth = f", {np.log10(strength / text.truth):+.2f} from the truth" if text.truth else ""
        cost = f"{one:.1f} s with a strength, {two:.1f} s without: {two / one:.2f} times"
        print(
            f"seed {seed}: chosen {strength:g}, {distance}{truth} in powers of ten; {loss:+.4f} ± {error:.4f} a token "
            f"of {mean:.4f}; {len(chosen.tuning)} rows; {cost}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--part", choices=["cost", "warm", "left-out"], default="cost")
    parser.add_argument("--share", type=float, default=1.0)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--whole", action="store_true")
    parser.add_argument("--corpora", nargs="+", choices=[*TEXTS], default=[*TEXTS])
    parser.add_argument("--seeds", type=int, default=1)
    arguments = parser.parse_args()
    if arguments.part == "left-out":
        lx.fit(model(1.0), read(arguments.data, 0.002), tests=False, quiet=True, epochs=1, threads=1)  # compiles
        for name in arguments.corpora:
            text = TEXTS[name](arguments.data)
            print(f"{name}: {text.tokens}", flush=True)
            left_out(text, range(1, arguments.seeds + 1), arguments.threads)
        return
    tokens = read(arguments.data, arguments.share)
    lx.fit(model(1.0), read(arguments.data, 0.002), tests=False, quiet=True, epochs=1, threads=1)  # compiles
    if arguments.part == "cost":
        cost(tokens, arguments.epochs, arguments.threads, arguments.whole)
    else:
        warm(tokens, arguments.epochs, arguments.threads)


if __name__ == "__main__":
    main()
