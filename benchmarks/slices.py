"""Memory of a model with hundreds of slices that has vectors only for words where they occur (absent="filled").

    python benchmarks/slices.py [--slices 300] [--words 100000] [--share 0.1] [--dimensions 100] [--groups 1]

Text is drawn by Zipf's law, with enough tokens in every slice for the given share of all (word, slice) pairs to occur.
One process fits a model with Chain (or, with --groups, Groups crossed with Chain), saves it and asks questions; another
opens it and asks. Both print their peak resident memory, memory-mapped files included.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import laplex as lx
from laplex.runtime import storage
from laplex.text.tokens import Tokens

TOKENS_PER_DOCUMENT = 100


def tokens_needed(chance: np.ndarray, share: float) -> int:
    """The number of tokens of a slice in which `share` of the words occur, on average."""
    low, high = 1.0, 1e9
    while high / low > 1.001:
        middle = (low * high) ** 0.5
        low, high = (middle, high) if (-np.expm1(-chance * middle)).mean() < share else (low, middle)
    return int(low)


def write_tokens(folder: Path, slices: int, groups: int, words: int, share: float) -> None:
    """Write a text by Zipf's law, in slices of `groups` parties and `slices // groups` years."""
    random = np.random.default_rng(1)
    chance = 1.0 / np.arange(1, words + 1)
    chance /= chance.sum()
    documents = max(1, tokens_needed(chance, share) // TOKENS_PER_DOCUMENT)
    ids = np.searchsorted(np.cumsum(chance), random.random(slices * documents * TOKENS_PER_DOCUMENT)).clip(
        max=words - 1
    )
    slice_of = np.repeat(np.arange(slices), documents)
    years = [str(1700 + year) for year in range(slices // groups)]
    arrays: dict[str, Any] = {
        "ids": ids.astype(np.int32),
        "offsets": np.arange(0, len(ids) + 1, TOKENS_PER_DOCUMENT),
        "languages": np.zeros(len(slice_of), np.int32),
        "codes/year": (slice_of // groups).astype(np.int32),
        "codes/party": (slice_of % groups).astype(np.int32),
        "counts/0": np.bincount(ids, minlength=words),
    }
    texts = {"words/0": [f"w{word}" for word in range(words)], "values/year": years}
    for name, values in (texts | {"values/party": [f"p{party}" for party in range(groups)]}).items():
        arrays[f"{name}/text"], arrays[f"{name}/starts"] = storage.pack(values)
    storage.save(folder, "tokens", {"columns": ["year", "party"], "languages": [""], "sources": []}, arrays)


def peak() -> float:
    """The peak resident memory of this process in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def ask(fitted: lx.Embeddings) -> dict[str, float]:
    """Seconds of questions about words that most slices do not contain."""
    counts = fitted.counts[0]
    rare = fitted.words()[int(np.argmin(np.abs(counts.astype(bool).sum(0) - 10)))]
    uses = counts[:, fitted.id(rare, 0)]
    key, used = (
        dict(zip(fitted.columns, fitted.rows.slices.keys[int(place)], strict=True))
        for place in (np.argmin(uses), np.argmax(uses))
    )
    first, last = (fitted.values("year")[place] for place in (0, -1))
    rest = {name: value for name, value in key.items() if name != "year"}
    questions = {
        "vector": lambda: fitted.vector(rare, at=key),
        "neighbors": lambda: fitted.neighbors(rare, at=used, test=False),
        "similarity in all slices with the word": lambda: fitted.similarity(rare, fitted.words()[0], test=False),
        "contrast": lambda: fitted.contrast("year", values=[first, last], at=rest, test=False),
    }
    seconds = {}
    for name, question in questions.items():
        start = time.perf_counter()
        question()
        seconds[name] = round(time.perf_counter() - start, 2)
    return seconds


def fit(folder: Path, dimensions: int, groups: int, epochs: int) -> dict[str, Any]:
    tokens = Tokens(storage.load(folder / "tokens", "tokens"))
    prior, vary = lx.Ridge(1.0) + lx.Chain("year", 100.0), ["year"]
    if groups > 1:
        prior, vary = prior + lx.Groups("party", 100.0), ["party", "year"]
    model = lx.Model(vary, prior, dimensions=dimensions, absent="filled")
    start = time.perf_counter()
    fitted = lx.fit(model, tokens, epochs=epochs, tests=False, quiet=True)
    total = time.perf_counter() - start
    fitting = peak()
    fitted.save(folder / "model")
    speed = fitted.history["tokens_per_second"].median()
    ask(fitted)
    return {
        "rows": len(fitted.rows),
        "vectors": len(fitted.theta),
        "edges": fitted.graph.edges,
        "tokens": len(tokens),
        "seconds of an epoch": round(len(tokens) / speed, 1),
        "seconds in all": round(total, 1),
        "GB fitting": round(fitting, 2),
        "GB fitted, saved and asked": round(peak(), 2),
    }


def opened(folder: Path) -> dict[str, Any]:
    return {"seconds of questions": ask(lx.load(folder / "model")), "GB opened and asked": round(peak(), 2)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--slices", type=int, default=300)
    parser.add_argument("--words", type=int, default=100_000)
    parser.add_argument("--share", type=float, default=0.1)
    parser.add_argument("--dimensions", type=int, default=100)
    parser.add_argument("--groups", type=int, default=1)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--step", choices=["fit", "open"], help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.step is not None:
        options = (arguments.folder, arguments.dimensions, arguments.groups, arguments.epochs)
        print(json.dumps(opened(arguments.folder) if arguments.step == "open" else fit(*options)))
        return
    with tempfile.TemporaryDirectory() as name:
        write_tokens(Path(name) / "tokens", arguments.slices, arguments.groups, arguments.words, arguments.share)
        for step in ("fit", "open"):
            command = [sys.executable, __file__, *sys.argv[1:], "--step", step, "--folder", name]
            results = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
            for what, value in results.items():
                print(f"{what}: {value:,}" if isinstance(value, (int, float)) else f"{what}: {value}", flush=True)


if __name__ == "__main__":
    main()
