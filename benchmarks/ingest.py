"""Time from a Parquet file to numbered words: laplex and gensim, side by side.

    python benchmarks/ingest.py DATA/senate-press.parquet [--repeats 3] [--copies 8]

Each run is a separate process. gensim tokenizes with a compiled `re` and calls `build_vocab`, both from a list in
memory and as a stream; unlike laplex, it does not number or store the words. Finally the file is repeated `--copies`
times to see whether memory grows with it.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import polars as pl


def laplex(path: str) -> int:
    import laplex as lx

    with tempfile.TemporaryDirectory() as cache:
        tokens = lx.Tokens.of(lx.read(path), min_count=5, cache=cache, quiet=True)
        return int(tokens.settings["tokens_read"])


def gensim_list(path: str) -> int:
    from gensim.models import Word2Vec

    words = re.compile(r"\w+")
    documents = [words.findall(text.lower()) for text in pl.read_parquet(path, columns=["text"])["text"]]
    model = Word2Vec(min_count=5, workers=2)
    model.build_vocab(documents)
    return int(model.corpus_total_words)


def gensim_stream(path: str) -> int:
    from gensim.models import Word2Vec

    words = re.compile(r"\w+")
    texts = pl.read_parquet(path, columns=["text"])["text"]
    model = Word2Vec(min_count=5, workers=2)
    model.build_vocab(words.findall(text.lower()) for text in texts)
    return int(model.corpus_total_words)


METHODS = {"laplex": laplex, "gensim, list": gensim_list, "gensim, stream": gensim_stream}


def measure(method: str, path: str) -> dict[str, float]:
    """One run in a separate process, without the time of imports."""
    command = [sys.executable, __file__, path, "--one", method]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def run_one(method: str, path: str) -> None:
    import gensim.models

    import laplex

    assert gensim.models
    assert laplex
    start = time.perf_counter()
    tokens = METHODS[method](path)
    seconds = time.perf_counter() - start
    status = Path("/proc/self/status").read_text()  # getrusage would count the parent's memory before exec
    memory = int(re.search(r"VmHWM:\s+(\d+)", status)[1]) / 1e6
    print(json.dumps({"tokens": tokens, "seconds": seconds, "gigabytes": memory}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--copies", type=int, default=8)
    parser.add_argument("--one", choices=METHODS)
    arguments = parser.parse_args()
    if arguments.one:
        return run_one(arguments.one, arguments.path)
    runs: dict[str, list[dict[str, float]]] = {method: [] for method in METHODS}
    for _ in range(arguments.repeats):
        for method in METHODS:
            runs[method].append(measure(method, arguments.path))
    print("| method | tokens | seconds (median) | million tokens a second | peak memory, GB |")
    print("|---|---|---|---|---|")
    for method, results in runs.items():
        show(method, results)
    with tempfile.TemporaryDirectory() as folder:
        long = str(Path(folder) / "long.parquet")
        frame = pl.read_parquet(arguments.path, columns=["text"])
        pl.concat([frame] * arguments.copies).write_parquet(long, row_group_size=len(frame) * arguments.copies)
        show(f"laplex, {arguments.copies} copies in one row group", [measure("laplex", long)])


def show(method: str, results: list[dict[str, float]]) -> None:
    seconds = statistics.median(run["seconds"] for run in results)
    tokens = results[0]["tokens"]
    memory = max(run["gigabytes"] for run in results)
    print(f"| {method} | {tokens:,} | {seconds:.1f} | {tokens / seconds / 1e6:.1f} | {memory:.2f} |", flush=True)


if __name__ == "__main__":
    main()
