"""Memory and time of a fit with thousands of slices, a vector for each word that a slice contains (absent="filled").

    python benchmarks/slices.py --data DATA [--share 1.0] [--dimensions 50]

Press releases of senators and speeches of the European Parliament are cut into a million short documents, and their
speakers into 5,000, each with consecutive documents of one person. A process of its own reads the file, fits
`Ridge() + Groups("speaker", 100)` for one epoch, saves the model and asks two questions. Its memory is the most that
was resident at once, memory-mapped files included.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
from results import Aim, Section

import laplex as lx

DOCUMENTS = 1_000_000
SPEAKERS = (50, 500, 5_000)
SHARE_OF_CURVE = 0.2  # of the documents, by which numbers of slices are compared
MIN_COUNT = 100
MOST_GB = 8.0
TEXT = """Senate press releases and speeches of the European Parliament, cut into short documents by as many speakers as
are named: reading, one epoch of CBOW with `Ridge() + Groups("speaker", 100)` and `absent="filled"`, saving and asking,
in one process with two threads. "GB" is its peak of resident memory, "GB of vectors" what the vectors take alone."""


def texts(data: Path) -> pl.DataFrame:
    """Who wrote what, in the order of time."""
    senate = pl.read_parquet(data / "senate-press.parquet", columns=["date", "senator", "text"])
    europarl = pl.read_parquet(data / "europarl-en.parquet", columns=["date", "speaker", "text"])
    parts = [senate.rename({"senator": "speaker"}), europarl]
    columns = [pl.col("date").cast(pl.String), pl.col("speaker").cast(pl.String), pl.col("text")]
    return pl.concat([part.select(columns) for part in parts]).drop_nulls().sort("speaker", "date")


def pieces(text: str, words: int) -> Iterator[str]:
    """Documents of at most so many words."""
    found = text.split()
    for start in range(0, len(found), words):
        yield " ".join(found[start : start + words])


def write_documents(data: Path, file: Path, share: float) -> None:
    """Write the documents, and a column for each number of speakers; each speaker has words of one person alone."""
    frame = texts(data)
    total = int(frame["text"].str.count_matches(" ").sum()) + len(frame)
    size = max(total // DOCUMENTS, 1)
    documents, person = [], []
    for number, (_, rows) in enumerate(frame.group_by("speaker", maintain_order=True)):
        own = [piece for text in rows["text"] for piece in pieces(text, size)]
        own = own[: max(int(len(own) * share), 1)]
        documents += own
        person += [number] * len(own)
    persons = np.array(person)
    columns = {f"of{count}": speakers_of(persons, count) for count in SPEAKERS}
    pl.DataFrame({"text": documents, **columns}).write_parquet(file, row_group_size=50_000)


def speakers_of(persons: np.ndarray, count: int) -> list[str]:
    """Cut the documents of persons into `count` speakers of about as many; small persons are put together if needed."""
    place = np.arange(len(persons)) * count // len(persons)
    if count > len(np.unique(persons)):
        # a part of each person for so many documents, and one of those who have fewer
        sizes = np.bincount(persons)
        low, high = 1.0, float(len(persons))
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (low, middle) if np.ceil(sizes / middle).sum() <= count else (middle, high)
        parts = np.ceil(sizes / high).astype(int)
        parts[np.argsort(-sizes / parts)[: count - parts.sum()]] += 1
        first = np.cumsum(sizes) - sizes
        within = np.arange(len(persons)) - first[persons]
        place = (np.cumsum(parts) - parts)[persons] + within * parts[persons] // sizes[persons]
    return [f"s{number:04}" for number in place.tolist()]


def peak() -> float:
    """The peak resident memory of this process in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def fit(file: Path, speakers: int, dimensions: int, threads: int) -> dict[str, Any]:
    """Read, fit, save and ask, and return what it took."""
    start = time.perf_counter()
    column = f"of{speakers}"
    corpus = lx.read(file, text="text", metadata=[column])
    tokens = lx.Tokens.of(corpus, min_count=MIN_COUNT, originals=False, quiet=True)
    read = time.perf_counter() - start
    model = lx.Model([column], lx.Ridge() + lx.Groups(column, 100.0), dimensions=dimensions, absent="filled")
    fitted = lx.fit(model, tokens, epochs=1, threads=threads, tests=False, quiet=True)
    total = time.perf_counter() - start
    fitted.save(file.parent / f"model{speakers}")
    where = {column: fitted.values(column)[0]}
    word = fitted.words()[int(fitted.counts[0][fitted.slice(where)].argmax())]
    asked = time.perf_counter()
    fitted.neighbors(word, at=where, test=False)
    fitted.vector(fitted.words()[-1], at=where)
    asked = time.perf_counter() - asked
    return {
        "documents": tokens.documents,
        "tokens": len(tokens),
        "words": len(fitted),
        "slices": len(fitted.slices),
        "vectors": len(fitted.theta),
        "of all": len(fitted.theta) / len(fitted.rows),
        "GB": peak(),
        "GB of vectors": fitted.theta.nbytes / 1e9,
        "seconds": total,
        "reading": read,
        "epoch": len(tokens) / float(fitted.history["tokens_per_second"].iloc[0]),
        "asking": asked,
    }


def run(file: Path, speakers: int, dimensions: int, threads: int) -> dict[str, Any]:
    """The same in a process of its own."""
    options = ["--speakers", str(speakers), "--dimensions", str(dimensions), "--threads", str(threads)]
    command = [sys.executable, __file__, "--data", str(file.parent), "--step", str(file), *options]
    found: dict[str, Any] = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
    return found


def measure(data: Path, share: float = 1.0, dimensions: int = 50, threads: int = 2) -> Section:
    """A million documents by 5,000 speakers, and a part of them by 50, 500 and 5,000."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        whole, part = Path(folder) / "whole.parquet", Path(folder) / "part.parquet"
        write_documents(data, whole, share)
        write_documents(data, part, share * SHARE_OF_CURVE)
        for speakers in SPEAKERS:
            rows.append(run(part, speakers, dimensions, threads))
        rows.append(run(whole, SPEAKERS[-1], dimensions, threads))
    table = pd.DataFrame(rows)
    few, *_, many, largest = rows
    aims = [
        Aim("peak memory with 5,000 slices", largest["GB"], "GB", at_most=MOST_GB),
        Aim("slices in the largest fit", largest["slices"], "", at_least=SPEAKERS[-1]),
        Aim(
            "growth of memory from 50 to 5,000 slices, by growth of vectors",
            (many["GB"] - few["GB"]) / max(many["GB of vectors"] - few["GB of vectors"], 1e-9),
            "",
            at_most=4.0,
        ),
    ]
    return Section("Thousands of slices", TEXT, [table], aims)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--share", type=float, default=1.0, help="of all documents")
    parser.add_argument("--dimensions", type=int, default=50)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--speakers", type=int, default=SPEAKERS[-1], help=argparse.SUPPRESS)
    parser.add_argument("--step", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.step:
        print(json.dumps(fit(chosen.step, chosen.speakers, chosen.dimensions, chosen.threads)))
        return
    print(measure(chosen.data, chosen.share, chosen.dimensions, chosen.threads).shown())


if __name__ == "__main__":
    main()
