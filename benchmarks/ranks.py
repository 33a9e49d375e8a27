"""Several processes against one: the quality of the model, and what they send.

    python benchmarks/ranks.py --data DATA [--ranks 1 2 4] [--epochs 5] [--seed 1] [--tokens 3000000]

quality   the first press releases of a shuffled senate-press.parquet, by party and year: the log likelihood of a token
          of others, and the mean over the similarity sets. One process with another seed is there for comparison
sent      the same releases in the order of their dates, cut into 8 and into 32 parts that are a chain: the megabytes
          that a rank sends in an epoch, and what the formula of docs/scale.md says

Every run is started by torchrun as on a cluster, each rank with one thread. Seconds are those of the whole command; all
ranks share the processors of one machine.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
from results import Aim, Section

import laplex as lx
from laplex.engines.cpu import PRIOR_VISITS
from laplex.engines.sampling import cut

TOKENS, HELD_OUT_TOKENS, SENT_TOKENS = 3_000_000, 300_000, 1_500_000
MERGES = 64  # in an epoch of little text
MOST_WORSE = {2: 0.5, 4: 1.5}  # % of the log likelihood of one process
MOST_LESS_SIMILAR = 0.03  # of the mean over sets, between whose values for two seeds there is as much
FEW, MANY = 8, 32  # slices
WINDOW, SUBSAMPLE = 5, 1e-3

TEXT = """The same text and epochs in one process and in several, each with one thread, by party and year. The log
likelihood is that of a token of other press releases; similarity is the mean over the sets."""
SENT_TEXT = f"""The same text cut into {FEW} and into {MANY} slices that are a chain: megabytes that rank 0 sends in an
epoch with {MERGES} merges, and what the formula of docs/scale.md gives. Rows are those that this rank has in common
with others."""


def first_documents(frame: pl.DataFrame, tokens: int) -> int:
    """The number of documents that have about so many tokens together."""
    return int((frame["text"].str.count_matches(" ").cum_sum() < tokens).sum()) + 1


def run(step: str, path: Path, out: Path, ranks: int, *more: str) -> float:
    """Run a step of this file in several processes, and return the seconds it took."""
    torchrun = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={ranks}"] if ranks > 1 else []
    command = [sys.executable, *torchrun, str(Path(__file__).resolve()), "--step", step, "--file", str(path)]
    start = time.perf_counter()
    done = subprocess.run([*command, "--out", str(out), *more], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    return time.perf_counter() - start


def fit(step: str, path: Path, out: Path, epochs: int, seed: int) -> None:
    """What one process does: read, fit and, if it is the first, save."""
    from laplex.runtime.distributed import communicator

    columns = ["party", "year"] if step == "quality" else ["part"]
    slices = lx.Groups("party", 100.0) + lx.Chain("year", 100.0) if step == "quality" else lx.Chain("part", 100.0)
    tokens = lx.Tokens.of(
        lx.read(path, metadata=columns), min_count=20, originals=False, cache=out.parent / "tokens", quiet=True
    )
    model = lx.Model(columns, lx.Ridge() + slices, window=WINDOW, subsample=SUBSAMPLE)
    fitted = lx.fit(model, tokens, epochs=epochs, seed=seed, threads=1, tests=False, quiet=True)
    if communicator().rank == 0:
        fitted.save(out)


def quality(data: Path, folder: Path, ranks: Sequence[int], epochs: int, seed: int, tokens: int) -> Section:
    """Several processes and one, by text that none has read and by the similarity sets."""
    frame = pl.read_parquet(data / "senate-press.parquet", columns=["party", "date", "text"])
    frame = frame.with_columns(pl.col("date").cast(pl.String).str.slice(0, 4).alias("year")).drop("date")
    frame = frame.sample(fraction=1.0, shuffle=True, seed=1)
    first, last = first_documents(frame, tokens), first_documents(frame, tokens + HELD_OUT_TOKENS)
    frame.head(first).write_parquet(folder / "quality.parquet")
    counts = {f"{count} ranks": (count, seed) for count in ranks} | {"one, another seed": (1, seed + 1)}
    models, seconds = {}, {}
    for name, (count, chosen) in counts.items():
        more = ("--epochs", str(epochs), "--seed", str(chosen))
        seconds[name] = run("quality", folder / "quality.parquet", folder / name, count, *more)
        models[name] = lx.load(folder / name)
        print(f"{name}: {seconds[name]:.0f} s", file=sys.stderr, flush=True)
    text = lx.read(frame[first:last], metadata=["party", "year"])
    table = lx.evaluation.held_out(models, text, subsample=SUBSAMPLE, quiet=True)[["model", "log_likelihood"]]
    table["worse, %"] = 100 * (table["log_likelihood"] / table["log_likelihood"].iloc[0] - 1)
    at = {"party": "D", "year": "2006"}
    rated = lx.evaluation.similarity(models, data / "similarity", bootstrap=0, quiet=True, at=at)
    mean = rated[rated["set"] == "mean"].set_index("model")["spearman"]
    table["similarity"] = table["model"].map(mean)
    table["seconds"] = table["model"].map(seconds)
    aims = []
    for name, (count, _) in counts.items():
        row = table[table["model"] == name].iloc[0]
        if count in MOST_WORSE:
            lost = float(table["similarity"].iloc[0] - row["similarity"])
            aims.append(Aim(f"{name}, held-out likelihood lost", row["worse, %"], "%", at_most=MOST_WORSE[count]))
            aims.append(Aim(f"{name}, similarity lost", lost, "", at_most=MOST_LESS_SIMILAR))
    return Section(f"Several processes, {tokens:,} tokens of press releases", TEXT, [table], aims)


def sent(data: Path, folder: Path) -> Section:
    """What ranks send in an epoch, with few and with many slices."""
    frame = pl.read_parquet(data / "senate-press.parquet", columns=["date", "text"]).sort("date", maintain_order=True)
    every = max(1, int(frame["text"].str.count_matches(" ").sum() / SENT_TOKENS))
    frame = frame.gather_every(every)
    rows, measured = [], {}
    for slices in (FEW, MANY):
        number = pl.Series("part", np.arange(len(frame)) * slices // len(frame) + 100).cast(pl.String)
        path = folder / f"sent-{slices}.parquet"
        frame.select(number, "text").write_parquet(path)
        for count in (2, 4):
            out = folder / f"sent-{slices}-{count}"
            run("sent", path, out, count, "--epochs", "3")
            history = lx.load(out).history["sent"]
            measured[slices, count] = float(history.iloc[-1] - history.iloc[-2]) / 1e6
            expected = expected_bytes(path, folder, slices, count) / 1e6
            row = {"slices": slices, "ranks": count, "MB sent": measured[slices, count], "by the formula": expected}
            rows.append(row)
            print(row, file=sys.stderr, flush=True)
    aims = [
        Aim(
            f"{count} ranks, sent with {MANY} slices over {FEW}",
            measured[MANY, count] / measured[FEW, count],
            "times",
            at_most=1.05,
        )
        for count in (2, 4)
    ]
    worst = max(abs(row["MB sent"] / row["by the formula"] - 1) for row in rows)
    aims.append(Aim("The formula against what was sent, the largest difference", 100 * worst, "%", at_most=15))
    return Section("What several processes send", SENT_TEXT, [pd.DataFrame(rows)], aims)


def expected_bytes(path: Path, folder: Path, slices: int, ranks: int) -> float:
    """What the first rank sends in an epoch: docs/scale.md has the formula.

    Its runs of slices are taken to be even, so that it has a border on one side.
    """
    tokens = lx.Tokens.of(
        lx.read(path, metadata=["part"]), min_count=20, originals=False, cache=folder / "tokens", quiet=True
    )
    vocabulary = tokens.vocabularies[0]
    keep, noise = vocabulary.subsampling(SUBSAMPLE).astype(np.float64), vocabulary.noise(0.75)
    between = len(tokens) / ranks / MERGES  # tokens of a rank
    drawn = 4 if len(tokens) <= 3_000_000 else 2  # negatives for each token that is kept

    def read(count: float) -> np.ndarray:
        """(V) The chance that a word is among those of this number of tokens."""
        pieces = cut(tokens.offsets, int(count))
        chosen = pieces[np.linspace(0, len(pieces) - 1, 20).astype(int)]
        chances = []
        for first, last in chosen.tolist():
            ids = tokens.ids[tokens.offsets[first] : tokens.offsets[last]]
            occurs = np.bincount(ids, minlength=len(vocabulary)) * count / max(len(ids), 1)
            chances.append(1 - np.exp(occurs * np.log1p(-np.minimum(keep, 1 - 1e-12))))
        return np.mean(chances, axis=0)

    contexts = (1 - 1 / ranks) * (read(between).sum() + read(ranks * between).sum())
    of_slice = between / (slices / ranks)  # tokens of the slice at the border
    draws = drawn * of_slice * (vocabulary.counts @ keep) / vocabulary.counts.sum()
    visits = vocabulary.counts * keep / slices  # in an epoch
    visits = np.where(visits < 1, MERGES * draws * noise, visits)
    unmoved = np.exp(-np.minimum(visits, PRIOR_VISITS) / MERGES)  # by the prior, from the other side of the border
    changed = 1 - (1 - read(of_slice)) * np.exp(-draws * noise) * unmoved
    return float(MERGES * 4 * (100 + 2) * (contexts + (changed + 1 - unmoved).sum()))


def measure(data: Path, ranks: Sequence[int] = (1, 2, 4), epochs: int = 5, seed: int = 1) -> list[Section]:
    """Quality, and what is sent."""
    with tempfile.TemporaryDirectory() as folder:
        return [quality(data, Path(folder), ranks, epochs, seed, TOKENS), sent(data, Path(folder))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tokens", type=int, default=TOKENS)
    parser.add_argument("--step", choices=["quality", "sent"], help=argparse.SUPPRESS)
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.file is not None:
        fit(arguments.step, arguments.file, arguments.out, arguments.epochs, arguments.seed)
        return
    with tempfile.TemporaryDirectory() as folder:
        if arguments.step != "sent":
            chosen = arguments.ranks, arguments.epochs, arguments.seed, arguments.tokens
            print(quality(arguments.data, Path(folder), *chosen).shown(), "\n", flush=True)
        if arguments.step != "quality":
            print(sent(arguments.data, Path(folder)).shown())


if __name__ == "__main__":
    main()
