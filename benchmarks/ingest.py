"""From a Parquet file to numbered words: laplex against gensim, side by side.

    python benchmarks/ingest.py ../shared/data/senate-press.parquet [--repeats 3] [--copies 8]

Each run is a process of its own. gensim tokenises with a compiled `re` and calls `build_vocab`, both from a list in
memory and as a stream; it does not number or store the words, which laplex does. Last, the file is repeated
`--copies` times to see whether memory grows with it.
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


WAYS = {"laplex": laplex, "gensim, list": gensim_list, "gensim, stream": gensim_stream}


def measure(way: str, path: str) -> dict[str, float]:
    """One run in a process of its own; imports are not counted."""
    command = [sys.executable, __file__, path, "--one", way]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def run_one(way: str, path: str) -> None:
    import gensim.models

    import laplex

    assert gensim.models
    assert laplex
    start = time.perf_counter()
    tokens = WAYS[way](path)
    seconds = time.perf_counter() - start
    status = Path("/proc/self/status").read_text()  # getrusage would count the parent's memory before exec
    memory = int(re.search(r"VmHWM:\s+(\d+)", status)[1]) / 1e6
    print(json.dumps({"tokens": tokens, "seconds": seconds, "gigabytes": memory}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--copies", type=int, default=8)
    parser.add_argument("--one", choices=WAYS)
    arguments = parser.parse_args()
    if arguments.one:
        return run_one(arguments.one, arguments.path)
    runs: dict[str, list[dict[str, float]]] = {way: [] for way in WAYS}
    for _ in range(arguments.repeats):
        for way in WAYS:
            runs[way].append(measure(way, arguments.path))
    print("| way | tokens | seconds (median) | million tokens a second | peak memory, GB |")
    print("|---|---|---|---|---|")
    for way, results in runs.items():
        show(way, results)
    with tempfile.TemporaryDirectory() as folder:
        long = str(Path(folder) / "long.parquet")
        frame = pl.read_parquet(arguments.path, columns=["text"])
        pl.concat([frame] * arguments.copies).write_parquet(long, row_group_size=len(frame) * arguments.copies)
        show(f"laplex, {arguments.copies} copies in one row group", [measure("laplex", long)])


def show(way: str, results: list[dict[str, float]]) -> None:
    seconds = statistics.median(run["seconds"] for run in results)
    tokens = results[0]["tokens"]
    memory = max(run["gigabytes"] for run in results)
    print(f"| {way} | {tokens:,} | {seconds:.1f} | {tokens / seconds / 1e6:.1f} | {memory:.2f} |", flush=True)


if __name__ == "__main__":
    main()
