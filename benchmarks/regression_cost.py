"""What a regression of all words costs: ten thousand words and five terms on 29M tokens.

    python benchmarks/regression_cost.py --data DATA [--record]

All press releases of the Senate by senator, 100 dimensions, CBOW: party, quarter and topic (six), and how the party
interacts with both. Seconds of the clock and of all processors, and the largest memory of the process.
"""

from __future__ import annotations

import argparse
import os
import resource
import tempfile
import time
from pathlib import Path

import pandas as pd
import polars as pl
from results import record

import laplex as lx

TEXT = """All press releases of the Senate (28.9M tokens) by senator, 100 dimensions, CBOW, two cores. "regression" is
`fitted.regress("~ party * quarter + party * topic")` of the words that occur 100 times and that 8 senators use on
each side; "party given all" tests one of its terms. Aim: ten thousand words and five terms within 300 seconds."""
FORMULA = "~ party * quarter + party * topic"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="the folder with the corpora")
    parser.add_argument("--record", action="store_true", help="write the tables into VALIDITY.md")
    arguments = parser.parse_args()
    frame = pl.read_parquet(arguments.data / "senate-press.parquet")
    year, month = pl.col("date").str.slice(0, 4), pl.col("date").str.slice(5, 2).cast(pl.Int32)
    frame = frame.with_columns(quarter=pl.format("{}-Q{}", year, (month + 2) // 3))
    rows = []
    with tempfile.TemporaryDirectory() as cache:
        os.environ["LAPLEX_CACHE"] = cache
        corpus = lx.read(frame, metadata=["party", "quarter"], unit="senator").topics(6, quiet=True)
        tokens = lx.Tokens.of(corpus, min_count=20, quiet=True)
        model = lx.Model(["party"], lx.Ridge(1.0) + lx.Groups("party", 100.0), dimensions=100)
        fitted = lx.fit(model, tokens, tests=False, quiet=True)
        asked = fitted.inference(min_count=100, min_units=8)
        asked.contrast("party", "health", given="quarter")  # compiles
        for name, terms in (("regression", None), ("party given all", ["party"])):
            started, spent = time.monotonic(), time.process_time()
            table = asked.regress(FORMULA, terms=terms)
            seconds = time.monotonic() - started
            tested = table.dropna(subset="p")
            row = {"question": name, "words": tested["word"].nunique(), "terms": tested["term"].nunique()}
            row |= {"coefficients": len(tested[["term", "level"]].drop_duplicates()), "clock": seconds}
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
            rows.append(row | {"processors": time.process_time() - spent, "GB at most": peak})
            fitted.tests.clear()
            print(pd.DataFrame(rows).to_string(index=False), flush=True)
    if arguments.record:
        record("What a regression costs", TEXT, [pd.DataFrame(rows)])


if __name__ == "__main__":
    main()
