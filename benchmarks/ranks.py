"""Quality and communication of a fit in several processes, compared with one process.

    python benchmarks/ranks.py --data DATA [--ranks 1 2 4] [--epochs 5] [--seed 1]

wikipedia   the first 10M tokens, in one slice: held-out log likelihood of a token of later articles, and the mean over
            the similarity sets
senate      by party, where each of two ranks owns a slice: the same for held-out press releases, and how many of the 50
            most different words are those of one process. Single processes with another seed are listed for comparison

Every run is started by torchrun as on a cluster, each rank with one thread. Seconds are those of the whole command.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pandas as pd
import polars as pl

import laplex as lx

TOKENS, HELD_OUT_TOKENS = 10_000_000, 500_000
TOP = 50


def split(frame: pl.DataFrame, tokens: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The first documents, up to the given number of tokens, and the held-out documents after them."""
    ends = frame["text"].str.count_matches(" ").cum_sum()
    first, last = int((ends < tokens).sum()) + 1, int((ends < tokens + HELD_OUT_TOKENS).sum()) + 1
    return frame.head(first), frame.slice(first, last - first)


def fit(text: Path, out: Path, ranks: int, *more: str) -> float:
    """Fit by the command line, and return the seconds it took."""
    torchrun = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={ranks}"]
    command = [sys.executable, *(torchrun if ranks > 1 else []), "-m", "laplex", "fit", str(text), "--out", str(out)]
    start = time.perf_counter()
    subprocess.run([*command, "--threads", "1", "--quiet", *more], check=True)
    return time.perf_counter() - start


def compare(
    name: str, folder: Path, frame: pl.DataFrame, data: Path, ranks: list[int], seed: int, *more: str
) -> pd.DataFrame:
    training, held_out = split(frame, TOKENS)
    training.write_parquet(folder / f"{name}.parquet")
    runs = {f"{count} ranks": (count, seed) for count in ranks} | {"another seed": (1, seed + 1)}
    models, seconds = {}, {}
    for run, (count, chosen) in runs.items():
        out = folder / f"{name} {run}"
        seconds[run] = fit(folder / f"{name}.parquet", out, count, "--seed", str(chosen), *more)
        models[run] = lx.load(out)
    columns = [column for column in frame.columns if column != "text"]
    scores = lx.evaluation.held_out(models, lx.read(held_out, metadata=columns), subsample=1e-3, quiet=True)
    table = scores.set_index("model")[["log_likelihood"]]
    first = table["log_likelihood"].iloc[0]
    table["difference %"] = 100 * (table["log_likelihood"] / first - 1)
    slice = {"party": "D"} if columns else {}
    rated = lx.evaluation.similarity(models, data / "similarity", bootstrap=0, quiet=True, at=slice)
    for mean in ("mean", "weighted mean"):
        table[f"similarity, {mean}"] = rated[rated["set"] == mean].set_index("model")["spearman"]
    if columns:
        top = {run: most_different(fitted) for run, fitted in models.items()}
        table[f"of the top {TOP}"] = {run: len(words & top[next(iter(top))]) for run, words in top.items()}
    table["MB sent by rank 0"] = {
        run: float(fitted.history["sent"].iloc[-1]) / 1e6 if "sent" in fitted.history else 0.0
        for run, fitted in models.items()
    }
    table["seconds"] = seconds
    return table


def most_different(fitted: lx.Embeddings) -> set[str]:
    """The words that are used 100 times by each party and whose vectors are farthest apart."""
    frame = fitted.contrast("party", test=False)
    return set(frame[frame[["uses", "uses_against"]].min(axis=1) >= 100]["word"].head(TOP))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--part", choices=["wikipedia", "senate"], nargs="+", default=["wikipedia", "senate"])
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    files = {"wikipedia": ("wikipedia-en.parquet", ["text"]), "senate": ("senate-press.parquet", ["party", "text"])}
    options = {"wikipedia": [], "senate": ["--group", "party", "--group-strength", "100", "--min-count", "20"]}
    with tempfile.TemporaryDirectory() as folder:
        for name in arguments.part:
            file, columns = files[name]
            frame = pl.read_parquet(arguments.data / file, columns=columns)
            if name == "senate":
                frame = frame.sample(fraction=1.0, shuffle=True, seed=1)
            more = [*options[name], "--epochs", str(arguments.epochs)]
            table = compare(name, Path(folder), frame, arguments.data, arguments.ranks, arguments.seed, *more)
            print(f"\n{name}\n\n{table.round(4).to_string()}", flush=True)


if __name__ == "__main__":
    main()
