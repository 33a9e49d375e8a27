"""Memory of a fit to a corpus larger than memory, which should be bounded by the vectors, not by the text.

    python benchmarks/large.py --data DATA [--copies 1 4 13] [--epochs 1]

`laplex fit` reads several copies of English Wikipedia, the articles of each in a random order (13 copies are 530M
tokens). Anonymous memory is what the process needs; pages of memory-mapped files, which the system can reclaim, are
listed separately.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import polars as pl


def peaks(command: list[str], environment: dict[str, str]) -> tuple[float, float, float]:
    """Run a command: the most anonymous and file-backed memory it had, in MB, and its seconds."""
    start = time.perf_counter()
    process = subprocess.Popen(command, env=environment)
    peak = {"RssAnon": 0.0, "RssFile": 0.0}
    while process.poll() is None:
        try:
            lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
        except OSError:
            break
        for line in lines:
            name, _, value = line.partition(":")
            if name in peak:
                peak[name] = max(peak[name], int(value.split()[0]) / 1e3)
        time.sleep(0.2)
    if process.wait() != 0:
        raise SystemExit(f"{' '.join(command)} failed")
    return peak["RssAnon"], peak["RssFile"], time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--copies", type=int, nargs="+", default=[1, 4, 13])
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--dimensions", type=int, default=100)
    arguments = parser.parse_args()
    frame = pl.read_parquet(arguments.data / "wikipedia-en.parquet", columns=["text"])
    print(
        "| copies | million tokens | GB of tokens | seconds | MB anonymous | MB of files |\n|---|---|---|---|---|---|"
    )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for copies in arguments.copies:
            text = folder / f"text{copies}"
            text.mkdir()
            for copy in range(copies):
                frame.sample(fraction=1.0, shuffle=True, seed=copy).write_parquet(text / f"{copy:02}.parquet")
            cache = folder / f"cache{copies}"
            fit = [sys.executable, "-m", "laplex", "fit", str(text), "--out", str(folder / "model"), "--quiet"]
            # the vocabulary of one copy, whatever the number of copies
            more = [
                "--min-count",
                str(5 * copies),
                "--epochs",
                str(arguments.epochs),
                "--dimensions",
                str(arguments.dimensions),
            ]
            anonymous, files, seconds = peaks([*fit, *more], os.environ | {"LAPLEX_CACHE": str(cache)})
            size = sum(path.stat().st_size for path in cache.rglob("*") if path.is_file())
            tokens = copies * int(frame["text"].str.count_matches(" ").sum() + len(frame)) / 1e6
            print(
                f"| {copies} | {tokens:.0f} | {size / 1e9:.2f} | {seconds:.0f} | {anonymous:.0f} | {files:.0f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
