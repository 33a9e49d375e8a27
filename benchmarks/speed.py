"""Training speed and time to quality: laplex and gensim, side by side in one run.

    python benchmarks/speed.py --data DATA [--part speed|quality|scale|memory|authors] [--repeats 3]

speed    tokens per second of one epoch: gensim in its fastest mode (`corpus_file`) without a prior, laplex without and
         with a prior of about three edges per row; with the same text, dimensions, window, negatives, subsampling and
         threads. Runs alternate, and medians are printed, because machines are noisy.
quality  seconds to reach the mean over the similarity sets that gensim has after five epochs.
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
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy.stats import spearmanr

import laplex as lx
from laplex.engines.cpu import Cpu
from laplex.engines.state import Epoch, State
from laplex.model.problem import Problem, make_problem
from laplex.model.rows import Rows

EDGES = 3  # per row
STRENGTH = 10.0


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


def run_laplex(problem: Problem, threads: int, epochs: int = 1) -> tuple[float, np.ndarray]:
    """Seconds of training, without compilation, and the word vectors."""
    state = State.initial(problem, 1)
    rate, block = problem.likelihood.rate, problem.likelihood.block
    engine = Cpu(problem, state, block, block)
    engine.compile()
    start = time.perf_counter()
    for epoch in range(epochs):
        engine.run(Epoch(epoch, epochs, rate, 1, threads), lambda share: None)
    return time.perf_counter() - start, state.theta[: problem.vocabulary_start[1]]


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


def speed(arguments: argparse.Namespace) -> None:
    print("| text | likelihood | dimensions | threads | gensim | laplex | with edges | ratio | cost of the edges |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name in arguments.texts:
        tokens = first_tokens(arguments.data / f"{name}.parquet", arguments.tokens)
        with tempfile.TemporaryDirectory() as folder:
            file = text_file(tokens, folder)
            for likelihood in arguments.likelihoods:
                for dimensions in arguments.dimensions:
                    plain, joined = (problem_of(tokens, likelihood, dimensions, edges) for edges in (False, True))
                    for threads in arguments.threads:
                        runs: list[list[float]] = [[], [], []]
                        for _ in range(arguments.repeats):
                            runs[0].append(run_gensim(file, likelihood, dimensions, threads)[0])
                            runs[1].append(run_laplex(plain, threads)[0])
                            runs[2].append(run_laplex(joined, threads)[0])
                        a, b, c = (len(tokens) / statistics.median(times) / 1e6 for times in runs)
                        print(
                            f"| {name} | {likelihood} | {dimensions} | {threads} | {a:.2f} | {b:.2f} | {c:.2f} "
                            f"| {c / a:.1f} | {1 - c / b:.0%} |",
                            flush=True,
                        )


def quality(arguments: argparse.Namespace) -> None:
    tokens = first_tokens(arguments.data / "wikipedia-en.parquet", arguments.tokens)
    sets = arguments.data / "similarity"
    print("| likelihood | gensim, 5 epochs | seconds | laplex epochs | similarity | seconds | share of gensim's time |")
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        file = text_file(tokens, folder)
        for likelihood in ("cbow", "sgns"):
            peer_time, peer = run_gensim(file, likelihood, 100, 2, 5)
            target = similarity(peer.key_to_index, peer.vectors, sets)
            problem = problem_of(tokens, likelihood, 100, False)
            for epochs in range(1, 9):
                seconds, vectors = run_laplex(problem, 2, epochs)
                reached = similarity(tokens.vocabularies[0], vectors, sets)
                if reached >= target or epochs == 8:
                    break
            print(
                f"| {likelihood} | {target:.4f} | {peer_time:.1f} | {epochs} | {reached:.4f} | {seconds:.1f} "
                f"| {seconds / peer_time:.2f} |",
                flush=True,
            )


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
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--part", choices=["speed", "quality", "scale", "memory", "authors"], default="speed")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--tokens", type=int, default=10_000_000)
    parser.add_argument("--texts", nargs="+", default=["wikipedia-en", "senate-press"])
    parser.add_argument("--dimensions", type=int, nargs="+", default=[100, 300])
    parser.add_argument("--likelihoods", nargs="+", default=["cbow", "sgns"])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--python", help="of an environment with the authors' package")
    arguments = parser.parse_args()
    parts = {"speed": speed, "quality": quality, "scale": scale, "memory": memory, "authors": authors}
    parts[arguments.part](arguments)


if __name__ == "__main__":
    main()
