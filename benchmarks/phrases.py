"""Phrases: what they cost when a text is read, how fast gensim finds them, and how many of them a dictionary has.

    python benchmarks/phrases.py DATA/senate-press.parquet --dictionary DATA/definitions [--repeats 3] [--out FOLDER]

laplex reads the file with and without phrases, each in a process of its own. gensim's Phrases get the same words as
lists in memory, which takes it no time here, and are trained twice, so that phrases of up to four words are possible:
NPMI with the same threshold and least count, and gensim's own English connector words. A phrase counts as known if it
is an entry of the dictionary (a column "word") with a space in it.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import polars as pl

import laplex as lx
import laplex.text.joining  # with Numba, which a fit needs in any case

MIN_COUNT, THRESHOLD = 10, 0.5
SHOWN = 100  # phrases, drawn at random


def read(path: str, phrases: bool) -> tuple[dict[str, int], float, float]:
    """laplex's phrases with their counts, and the seconds of reading by the clock and of the processor."""
    with tempfile.TemporaryDirectory() as cache:
        wall, processor = time.perf_counter(), time.process_time()
        tokens = lx.Tokens.of(lx.read(path, phrases=phrases), cache=cache, quiet=True)
        wall, processor = time.perf_counter() - wall, time.process_time() - processor
        vocabulary = tokens.vocabularies[0]
        return {name: int(vocabulary.counts[vocabulary[name]]) for name in vocabulary.phrases}, wall, processor


def gensim(path: str) -> tuple[dict[str, int], float, float]:
    """gensim's phrases with their counts, and the seconds of finding and joining them."""
    from gensim.models.phrases import ENGLISH_CONNECTOR_WORDS, Phrases

    split = lx.read(path).parts[0].tokenizer.split
    documents = split(pl.read_parquet(path, columns=["text"])["text"]).to_list()
    wall, processor = time.perf_counter(), time.process_time()
    for _ in range(2):
        model = Phrases(
            documents,
            min_count=MIN_COUNT,
            threshold=THRESHOLD,
            scoring="npmi",
            connector_words=ENGLISH_CONNECTOR_WORDS,
            max_vocab_size=200_000_000,
        ).freeze()
        documents = [model[document] for document in documents]
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    counts = Counter(word for document in documents for word in document if "_" in word)
    return {word: count for word, count in counts.items() if count >= MIN_COUNT}, wall, processor


METHODS = {
    "laplex, without": lambda path: read(path, False),
    "laplex, with": lambda path: read(path, True),
    "gensim": gensim,
}


def measure(method: str, path: str) -> tuple[dict[str, int], float, float]:
    command = [sys.executable, __file__, path, "--one", method]
    return tuple(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))


def entries(folder: str) -> set[str]:
    """The entries of a dictionary with a space in them, as the tokenizer splits them."""
    words = pl.concat([pl.read_parquet(file, columns=["word"]) for file in sorted(Path(folder).glob("*.parquet"))])
    several = words["word"].unique().drop_nulls()
    several = several.filter(several.str.contains("[ -]"))
    split = lx.read([{"text": ""}]).parts[0].tokenizer.split(several)
    return set(split.list.join("_").to_list())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path")
    parser.add_argument("--dictionary")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--one", choices=METHODS)
    arguments = parser.parse_args()
    if arguments.one:
        return print(json.dumps(METHODS[arguments.one](arguments.path)))
    measure("laplex, with", arguments.path)  # compiles the loops
    found: dict[str, dict[str, int]] = {}
    print("| method | phrases | joined occurrences | seconds | of the processor |\n|---|---|---|---|---|")
    for method in METHODS:
        runs = [measure(method, arguments.path) for _ in range(1 if method == "gensim" else arguments.repeats)]
        found[method] = runs[0][0]
        wall, processor = (statistics.median(run[i] for run in runs) for i in (1, 2))
        sizes = f"{len(runs[0][0]):,} | {sum(runs[0][0].values()):,}"
        print(f"| {method} | {sizes} | {wall:.1f} | {processor:.1f} |", flush=True)
    ours, theirs = found["laplex, with"], found["gensim"]
    print(f"\n{len(ours.keys() & theirs.keys()):,} phrases are found by both")
    if arguments.out:
        arguments.out.mkdir(parents=True, exist_ok=True)
        (arguments.out / f"{Path(arguments.path).stem}.json").write_text(json.dumps(found))
    known = entries(arguments.dictionary) if arguments.dictionary else set()
    for method, phrases in (("laplex", ours), ("gensim", theirs)):
        frequent = sorted(phrases, key=lambda name: -phrases[name])
        drawn = random.Random(1).sample(sorted(phrases), min(SHOWN, len(phrases)))
        shares = ", ".join(
            f"{sum(name in known for name in some) / len(some):.1%} of {text}"
            for some, text in ((frequent, "all"), (frequent[:1000], "the 1,000 most frequent"))
        )
        print(f"\n{method}: in the dictionary are {shares}\nmost frequent: {', '.join(frequent[:40])}")
        print(f"at random: {', '.join(drawn)}")


if __name__ == "__main__":
    main()
