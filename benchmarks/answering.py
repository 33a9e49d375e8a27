"""What findings cost: the time of a fit with and without its tests, and of questions about a fitted model.

    python benchmarks/answering.py --data DATA [--repeats 3] [--record]

The text is all press releases of the Senate, with 100 dimensions, the default number of threads, and senators as units.
Fits with and without tests alternate; medians are given.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
from results import record

import laplex as lx

TEXT = """All press releases of the Senate (28.8M tokens, 24,549 words), 100 dimensions, CBOW, two cores. "plain fit" is
`lx.fit(..., tests=False)` by party, "fit with tests" the same with the tests of all words by senator; they alternate.
"stored findings" is `lx.load(...).contrast("party")`. The other questions read the text: intervals of the similarity of
two words in each slice, the ten nearest neighbors of a word with theirs, and what a difference is made of, with
passages. Medians in seconds of the clock and of all processors, and what they should not exceed."""


def measure(question: Callable[[], Any], repeats: int) -> tuple[float, float]:
    """Medians of the seconds of the clock, and of the processors."""
    times = []
    for _ in range(repeats):
        clock, processor = time.perf_counter(), time.process_time()
        question()
        times.append((time.perf_counter() - clock, time.process_time() - processor))
    clocks, processors = zip(*times)
    return statistics.median(clocks), statistics.median(processors)


def read(data: Path) -> lx.Tokens:
    frame = pl.read_parquet(data / "senate-press.parquet")
    month = pl.col("date").str.slice(5, 2).cast(pl.Int32)
    frame = frame.with_columns(quarter=pl.format("{}-Q{}", pl.col("date").str.slice(0, 4), (month + 2) // 3))
    corpus = lx.read(frame, metadata=["party", "senator", "quarter"], unit="senator")
    return lx.Tokens.of(corpus, min_count=20, quiet=True)


def fits(tokens: lx.Tokens, repeats: int) -> tuple[lx.Embeddings, list[dict[str, Any]]]:
    """Fits without and with tests in turn."""
    model = lx.Model(["party"], lx.Ridge(1.0) + lx.Groups("party", 100.0))
    found: dict[bool, list[tuple[float, float]]] = {False: [], True: []}
    fitted = lx.fit(model, tokens, epochs=2, quiet=True)  # compiles the kernels
    for _ in range(repeats):
        for tests in (False, True):

            def fit(tests: bool = tests) -> None:
                nonlocal fitted
                fitted = lx.fit(model, tokens, tests=tests, quiet=True)

            found[tests].append(measure(fit, 1))
    rows = []
    for tests, name in ((False, "plain fit"), (True, "fit with tests")):
        clock, processor = (statistics.median(values) for values in zip(*found[tests]))
        rows.append({"what": name, "clock": clock, "processors": processor, "aim": ""})
    rows[1]["aim"] = f"{2.5 * rows[0]['clock']:.1f} (2.5 times; it is {rows[1]['clock'] / rows[0]['clock']:.2f} times)"
    return fitted, rows


def questions(fitted: lx.Embeddings, tokens: lx.Tokens, name: str, repeats: int) -> list[dict[str, Any]]:
    asked = fitted.inference(tokens=tokens, quiet=True)
    asked.similarity("war", "people")  # compiles the kernels
    asked.explain("war", "party")
    rows = []
    for label, question, aim in (
        ("similarity of two words", lambda: asked.similarity("health", "insurance"), "2 of processors"),
        ("ten neighbors", lambda: asked.neighbors("health", 10), ""),
        ("explain", lambda: asked.explain("health", "party"), ""),
    ):
        clock, processor = measure(question, repeats)
        rows.append({"what": f"{label}, {name}", "clock": clock, "processors": processor, "aim": aim})
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--record", action="store_true", help="write the table into VALIDITY.md")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["LAPLEX_CACHE"] = folder
        tokens = read(arguments.data)
        fitted, rows = fits(tokens, arguments.repeats)
        fitted.save(path := Path(folder) / "senate.laplex")
        stored = measure(lambda: lx.load(path).inference(quiet=True).contrast("party"), arguments.repeats)
        rows.append({"what": "stored findings", "clock": stored[0], "processors": stored[1], "aim": "1"})
        rows += questions(fitted, tokens, "two slices", arguments.repeats)
        prior = lx.Ridge(1.0) + lx.Groups("party", 100.0) + lx.Chain("quarter", 100.0)
        many = lx.fit(lx.Model(["party", "quarter"], prior), tokens, tests=False, quiet=True)
        rows += questions(many, tokens, f"{len(many.rows.slices)} slices", arguments.repeats)
    table = pd.DataFrame(rows)
    print(table.to_string(index=False, float_format="{:.2f}".format))
    if arguments.record:
        record("What findings cost", TEXT, [table])


if __name__ == "__main__":
    main()
