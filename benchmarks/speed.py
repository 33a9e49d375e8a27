"""Training speed and time to quality: laplex and gensim, side by side in one run.

    python benchmarks/speed.py --data DATA [--part all|speed|quality|engines|scale|memory|authors] [--repeats 3]

speed    tokens per second of one epoch: gensim in its fastest mode (`corpus_file`) without a prior, laplex without and
         with a prior of about three edges per row; with the same text, dimensions, window, negatives, subsampling and
         threads. Runs alternate, and medians are printed, because machines are noisy.
quality  seconds to reach the mean over the similarity sets that gensim has after five epochs.
engines  the Torch engine on the CPU beside the Numba engine, and that both learn equally well.
all      these three: what `measure` returns.
scale    seconds of an epoch from 1M to 40M tokens.
memory   the peak memory of a process that fits all of the text, and the size of its vectors.
authors  the package by the paper's authors on 200,000 tokens, in a separate environment: --python its/bin/python.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
from results import Aim, Section
from scipy.stats import spearmanr

import laplex as lx
from laplex.engines.cpu import Cpu
from laplex.engines.state import Epoch, State
from laplex.model.problem import Problem, make_problem
from laplex.model.rows import Rows

EDGES = 3  # per row
STRENGTH = 10.0
TOKENS = 6_000_000
PEER_EPOCHS = 5  # of gensim, whose quality is to be reached
EPOCHS_TRIED = (1, 2, 4, 8)  # of laplex
SEED_DIFFERENCE = 0.015  # of the mean similarity, between seeds of one program
BARS = {"cbow": 4.0, "sgns": 8.0}
TITLE = "Training speed and time to quality"
TEXT = """One epoch of the training loop, without reading, counting and compiling, and the seconds until the mean over
the similarity sets is that of gensim after five epochs. A ratio is of laplex with a prior to gensim, which has none."""


def first_tokens(path: Path, count: int) -> lx.Tokens:
    frame = pl.read_parquet(path, columns=["text"])
    words = frame["text"].str.count_matches(" ").cum_sum()
    return lx.Tokens.of(lx.read(frame.head(int((words < count).sum()) + 1)), min_count=5, quiet=True)


def problem_of(tokens: lx.Tokens, likelihood: Any, dimensions: int, edges: bool) -> Problem:
    rows = Rows(tokens.vocabularies, tokens.slices([]))
    model = lx.Model(likelihood=likelihood, dimensions=dimensions)
    problem = make_problem(model, tokens, rows, 0.0, 1)
    if not edges:
        return problem
    words = len(tokens.vocabularies[0])
    ends = np.random.default_rng(1).integers(0, words, (2, words * EDGES // 2))
    ends = ends[:, ends[0] != ends[1]]
    graph = lx.Graph.of(problem.parameters, ends[0], ends[1], STRENGTH)
    return replace(problem, graph=problem.graph + graph)


def run_laplex(problem: Problem, threads: int, epochs: int = 1, drawn: int | None = None) -> tuple[float, np.ndarray]:
    """Seconds of training, without compilation, and the word vectors; as many negatives as a block, or `drawn`."""
    state = State.initial(problem, 1)
    rate, block = problem.likelihood.rate, problem.likelihood.block
    engine = Cpu(problem, state, block, drawn or block)
    engine.compile()
    start = time.perf_counter()
    for epoch in range(epochs):
        engine.run(Epoch(epoch, epochs, rate, 1, threads), lambda share: None)
    return time.perf_counter() - start, state.theta[: problem.vocabulary_start[1]].copy()


def run_gensim(file: str, likelihood: str, dimensions: int, threads: int, epochs: int = 1) -> tuple[float, Any]:
    from gensim.models import Word2Vec

    model = Word2Vec(
        vector_size=dimensions, window=5, negative=5, sg=int(likelihood == "sgns"), sample=1e-3, workers=threads
    )
    model.build_vocab(corpus_file=file)
    start = time.perf_counter()
    model.train(
        corpus_file=file, total_examples=model.corpus_count, total_words=model.corpus_total_words, epochs=epochs
    )
    return time.perf_counter() - start, model.wv


def text_file(tokens: lx.Tokens, folder: str) -> str:
    """The same tokens as lines of text; gensim cuts lines of more than 10,000 words."""
    path = os.path.join(folder, "text.txt")
    words = np.array(tokens.vocabularies[0].words, object)
    with open(path, "w") as file:
        for document in range(tokens.documents):
            ids = tokens.document(document)
            for start in range(0, len(ids), 9000):
                file.write(" ".join(words[ids[start : start + 9000]]) + "\n")
    return path


def similarity(index: Any, vectors: np.ndarray, folder: Path) -> float:
    """The mean of Spearman's correlation over the sets of a folder."""
    unit = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    scores = []
    for path in sorted(folder.glob("*.tsv")):
        human, model = [], []
        for line in path.read_text().lower().splitlines():
            one, two, score = line.split("\t")[:3]
            if one in index and two in index:
                human.append(float(score))
                model.append(unit[index[one]] @ unit[index[two]])
        scores.append(spearmanr(human, model)[0])
    return float(np.mean(scores))


def speed_table(
    tokens: lx.Tokens, likelihoods: list[str], dimensions: list[int], threads: list[int], repeats: int
) -> pd.DataFrame:
    """Millions of tokens a second: gensim once, since it takes the most time, laplex with and without edges."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        file = text_file(tokens, folder)
        for likelihood in likelihoods:
            for size in dimensions:
                plain, joined = (problem_of(tokens, likelihood, size, edges) for edges in (False, True))
                for count in threads:
                    peer = len(tokens) / run_gensim(file, likelihood, size, count)[0] / 1e6
                    runs: list[list[float]] = [[], []]
                    for _ in range(repeats):
                        runs[0].append(run_laplex(plain, count)[0])
                        runs[1].append(run_laplex(joined, count)[0])
                    alone, whole = (len(tokens) / statistics.median(seconds) / 1e6 for seconds in runs)
                    row = {"likelihood": likelihood, "dimensions": size, "threads": count, "gensim": peer}
                    row |= {"laplex": alone, "with edges": whole, "ratio": whole / peer}
                    rows.append(row | {"cost of the edges": 1 - whole / alone})
    return pd.DataFrame(rows)


def quality_table(tokens: lx.Tokens, sets: Path) -> pd.DataFrame:
    """Seconds and epochs to gensim's quality, 100 dimensions and two threads."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        file = text_file(tokens, folder)
        for likelihood in BARS:
            peer_time, peer = run_gensim(file, likelihood, 100, 2, PEER_EPOCHS)
            target = similarity(peer.key_to_index, peer.vectors, sets)
            problem = problem_of(tokens, likelihood, 100, False)
            drawn = lx.Training().with_defaults(problem.likelihood).for_text(len(tokens)).drawn  # as a fit does
            for epochs in EPOCHS_TRIED:
                seconds, vectors = run_laplex(problem, 2, epochs, drawn)
                reached = similarity(tokens.vocabularies[0], vectors, sets)
                if reached >= target:
                    break
            row = {"likelihood": likelihood, "gensim's similarity": target, "gensim, s": peer_time, "epochs": epochs}
            row |= {"laplex's similarity": reached, "laplex, s": seconds, "reached": reached >= target}
            rows.append(row | {"ratio": peer_time / seconds})
    return pd.DataFrame(rows)


def engines_table(tokens: lx.Tokens) -> pd.DataFrame:
    """Millions of tokens a second and the mean log likelihood of an epoch, two threads and 100 dimensions."""
    from laplex.engines.torch import Torch

    rows = []
    for likelihood in BARS:
        problem = problem_of(tokens, likelihood, 100, True)
        settings = problem.likelihood
        for name, block in (("cpu", settings.block), ("torch", settings.torch_block)):
            state = State.initial(problem, 1)
            make = Cpu if name == "cpu" else partial(Torch, device="cpu")
            engine = make(problem, state, block, block)
            engine.compile()
            start = time.perf_counter()
            _, totals = engine.run(Epoch(0, 1, settings.rate, 1, 2), lambda share: None)
            speed = len(tokens) / (time.perf_counter() - start) / 1e6
            row = {"likelihood": likelihood, "engine": name, "million tokens a second": speed}
            rows.append(row | {"log likelihood": totals[1] / totals[2]})
    return pd.DataFrame(rows)


def measure(
    data: Path,
    parts: tuple[str, ...] = ("speed", "quality", "engines"),
    text: str = "wikipedia-en",
    count: int = TOKENS,
    likelihoods: tuple[str, ...] = ("cbow", "sgns"),
    dimensions: tuple[int, ...] = (100, 300),
    threads: tuple[int, ...] = (1, 2),
    repeats: int = 3,
) -> Section:
    """What the training loop takes beside gensim's, and how good its vectors are then."""
    tokens = first_tokens(data / f"{text}.parquet", count)
    tables, aims = [], []
    if "speed" in parts:
        # a third is enough for gensim, which is the slower one by far
        part = first_tokens(data / f"{text}.parquet", count // 3)
        table = speed_table(part, [*likelihoods], [*dimensions], [*threads], repeats)
        tables.append(table)
        for likelihood, least in table.groupby("likelihood")["ratio"].min().items():
            name = f"{likelihood.upper()}, training loop, the least ratio to gensim"
            aims.append(Aim(name, least, "times", at_least=BARS[likelihood]))
    if "quality" in parts:
        table = quality_table(tokens, data / "similarity")
        tables.append(table)
        for row in table.to_dict("records"):
            name = f"{row['likelihood'].upper()}, similarity beside gensim's after {PEER_EPOCHS} epochs"
            difference = row["laplex's similarity"] - row["gensim's similarity"]
            aims.append(Aim(name, difference, "", at_least=-SEED_DIFFERENCE))
    if "engines" in parts:
        tables.append(engines_table(tokens))
    return Section(TITLE, TEXT, tables, aims)


def scale(arguments: argparse.Namespace) -> None:
    print("| tokens | words | seconds of an epoch | million tokens a second |")
    print("|---|---|---|---|")
    for count in (1_000_000, 4_000_000, 10_000_000, 40_000_000):
        tokens = first_tokens(arguments.data / "wikipedia-en.parquet", count)
        problem = problem_of(tokens, "cbow", 100, True)
        seconds = statistics.median(run_laplex(problem, 2)[0] for _ in range(arguments.repeats))
        words = len(tokens.vocabularies[0])
        print(f"| {len(tokens):,} | {words:,} | {seconds:.2f} | {len(tokens) / seconds / 1e6:.2f} |", flush=True)


FIT = """
import sys, laplex as lx
model = lx.Model(prior=lx.Ridge(1.0), dimensions=int(sys.argv[2]))
fitted = lx.fit(model, lx.read(sys.argv[1]), epochs=1, quiet=True)
peak = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(fitted.theta.nbytes, peak * 1024)
"""


def memory(arguments: argparse.Namespace) -> None:
    path = str(arguments.data / "wikipedia-en.parquet")
    print("| dimensions | vectors, MB | peak of the process, MB | 1.3 × vectors + 600 |")
    print("|---|---|---|---|")
    for dimensions in arguments.dimensions:
        command = [sys.executable, "-c", FIT, path, str(dimensions)]
        subprocess.run(command, check=True, capture_output=True)  # the first run reads and caches the text
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        theta, peak = (int(part) / 1e6 for part in output.split())
        print(f"| {dimensions} | {theta:.0f} | {peak:.0f} | {1.3 * theta + 600:.0f} |", flush=True)


def authors(arguments: argparse.Namespace) -> None:
    tokens = first_tokens(arguments.data / "wikipedia-en.parquet", 200_000)
    problem = problem_of(tokens, "cbow", 100, True)
    problem = replace(problem, keep=np.ones_like(problem.keep))  # their package trains on all that it is given
    ours = statistics.median(run_laplex(problem, 2)[0] for _ in range(arguments.repeats))
    with tempfile.TemporaryDirectory() as folder:
        script = str(Path(__file__).with_name("authors.py"))
        command = [arguments.python, script, text_file(tokens, folder), "100", str(EDGES), str(STRENGTH)]
        theirs = float(subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()[-1])
    print(f"{len(tokens):,} tokens, CBOW, 100 dimensions, three edges a row, two cores, one epoch:")
    print(f"laplex {ours:.3f} s, the authors' package {theirs:.1f} s: {theirs / ours:.0f} times")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    measured = ("speed", "quality", "engines")
    others = {"scale": scale, "memory": memory, "authors": authors}
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--part", choices=["all", *measured, *others], default="all")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--tokens", type=int, default=TOKENS)
    parser.add_argument("--text", default="wikipedia-en")
    parser.add_argument("--dimensions", type=int, nargs="+", default=[100, 300])
    parser.add_argument("--likelihoods", nargs="+", default=["cbow", "sgns"])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--python", help="of an environment with the authors' package")
    arguments = parser.parse_args()
    if arguments.part in others:
        others[arguments.part](arguments)
        return
    parts = measured if arguments.part == "all" else (arguments.part,)
    sizes = arguments.likelihoods, arguments.dimensions, arguments.threads, arguments.repeats
    print(measure(arguments.data, parts, arguments.text, arguments.tokens, *sizes).shown())


if __name__ == "__main__":
    main()
