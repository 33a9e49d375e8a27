"""Text of up to 500 million tokens from files to tests: memory beside mapped files, and seconds for a million tokens.

    python benchmarks/long_text.py --data DATA [--millions 1 5 29 116 521]

Press releases of the US Senate, as often as needed, the releases of each copy in another order. Each length is read,
fitted for one epoch and tested (1,000 words between the parties, senators as units) in a process of its own. Memory
is the anonymous memory of the process, which it must have; the system takes pages of mapped files back when it needs
them.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
from results import Aim, Section

MILLIONS = (1, 5, 29, 116, 521)  # one copy has 29
TESTED = 1_000
TEXT = f"""Press releases of the Senate, copied for the longer texts: each is read from Parquet, fitted for one epoch by
party (CBOW, 100 dimensions), and the {TESTED:,} most frequent words are tested between the parties with senators as
units, in one process with two threads. Memory is what the process needs beside mapped files, at most."""


def work(folder: Path, cache: Path, min_count: int) -> dict[str, Any]:
    """Read, fit and test a folder of files: the seconds of each."""
    import laplex as lx

    times = [time.perf_counter()]
    corpus = lx.read(folder, metadata=["party", "senator"], unit="senator")
    tokens = lx.Tokens.of(corpus, min_count=min_count, cache=cache, quiet=True)
    times.append(time.perf_counter())
    model = lx.Model(vary=["party"], prior=lx.Ridge() + lx.Groups("party", 100.0))
    fitted = lx.fit(model, tokens, epochs=1, tests=False, threads=2, quiet=True)
    times.append(time.perf_counter())
    words = tokens.vocabularies[0].words[:TESTED]
    tested = fitted.inference(tokens=tokens, unit="senator", quiet=True).contrast("party", words)
    times.append(time.perf_counter())
    reading, fitting, testing = (after - before for before, after in zip(times, times[1:]))
    found = {"tokens": len(tokens), "tested": int(tested["p"].notna().sum())}
    return found | {"reading": reading, "fitting": fitting, "testing": testing}


def measured(folder: Path, cache: Path, min_count: int) -> dict[str, Any]:
    """The same in a process of its own, with the most memory that it had."""
    command = [sys.executable, str(Path(__file__).resolve()), "--work", str(folder), str(cache), str(min_count)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    peak = {"RssAnon": 0.0, "RssFile": 0.0}
    while process.poll() is None:
        try:
            lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
        except OSError:  # it has ended
            break
        for line in lines:
            name, _, value = line.partition(":")
            if name in peak:
                peak[name] = max(peak[name], int(value.split()[0]) / 1e6)
        time.sleep(0.05)
    printed, _ = process.communicate()
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} failed")
    found: dict[str, Any] = json.loads(printed.splitlines()[-1])
    return found | {"memory": peak["RssAnon"], "mapped": peak["RssFile"]}


def write_copies(frame: pl.DataFrame, million: int, folder: Path) -> int:
    """Write so many million tokens, the releases of each copy in a random order; the number of copies."""
    one = frame["text"].str.count_matches(" ").sum() + len(frame)
    copies = max(1, round(million * 1e6 / one))
    share = min(1.0, million * 1e6 / one)
    folder.mkdir()
    for copy in range(copies):
        frame.sample(fraction=share, shuffle=True, seed=copy).write_parquet(folder / f"{copy:02}.parquet")
    return copies


def measure(data: Path, millions: tuple[int, ...] = MILLIONS) -> Section:
    """All lengths; the shortest twice, since its first run also compiles what is not compiled yet."""
    frame = pl.read_parquet(data / "senate-press.parquet", columns=["party", "senator", "text"])
    rows = []
    for million in (millions[0], *millions):
        with tempfile.TemporaryDirectory() as folder:
            copies = write_copies(frame, million, Path(folder) / "text")
            # the vocabulary of one copy, whatever the number of copies
            found = measured(Path(folder) / "text", Path(folder) / "cache", 5 * copies)
        rows.append(found | {"copies": copies})
        print(rows[-1], file=sys.stderr, flush=True)
    table = pd.DataFrame(rows[1:])
    steps = ["reading", "fitting", "testing"]
    table["each"] = table[steps].sum(axis=1) / (table["tokens"] / 1e6)
    shown = pd.DataFrame({"million tokens": (table["tokens"] / 1e6).round(1)})
    shown["words with enough text"] = table["tested"]
    shown[[f"{step}, s" for step in steps]] = table[steps]
    shown[["s for a million", "memory, GB", "mapped files, GB"]] = table[["each", "memory", "mapped"]]
    one, longest = table[table["copies"] == 1].iloc[-1], table.iloc[-1]
    size = f"{longest['tokens'] / 1e6:.0f}M"
    aims = [
        Aim(f"memory beside mapped files, {size} tokens", longest["memory"], "GB", at_most=1.5),
        Aim(
            f"seconds for a million tokens, {size} against {one['tokens'] / 1e6:.0f}M",
            longest["each"] / one["each"],
            "times",
            at_most=1.25,
        ),
    ]
    return Section("Long text", TEXT, [shown], aims)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--millions", type=int, nargs="+", default=MILLIONS)
    parser.add_argument("--work", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.work:
        text, cache, min_count = arguments.work
        print(json.dumps(work(Path(text), Path(cache), int(min_count))))
        return
    if arguments.data is None:
        parser.error("--data is needed: the folder of the texts")
    print(measure(arguments.data, tuple(arguments.millions)).shown())


if __name__ == "__main__":
    main()
