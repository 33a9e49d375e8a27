"""Very many small fits in one process: do memory and open files grow?   python many_fits.py --fits 2000

Each reads a text of its own, fits, saves, loads and asks. One line of JSON says how much memory a fit adds, by a line
through the second half of them, and how many files were open at their ends.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import shutil
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

import laplex as lx

PAGE = os.sysconf("SC_PAGE_SIZE")


def resident() -> int:
    """Bytes of memory in use."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


def fit_once(number: int, folder: Path) -> None:
    random = np.random.default_rng(number)
    texts = [" ".join(f"w{word}" for word in random.integers(0, 60, 30)) for _ in range(60)]
    rows = [{"text": f"{text} only{number}", "party": "DR"[place % 2]} for place, text in enumerate(texts)]
    corpus = lx.read(rows, metadata=["party"])
    prior = lx.Ridge(1.0) + lx.Groups("party", 10.0)
    model = lx.Model(["party"], prior, dimensions=8, likelihood=("cbow", "sgns")[number % 2])
    fitted = lx.fit(model, corpus, min_count=2, epochs=2, threads=2, quiet=True, cache=folder / "cache")
    fitted.save(folder / "model")
    lx.load(folder / "model").neighbors("w1", at={"party": "D"}, k=3)
    shutil.rmtree(folder / "cache")


def measure(fits: int) -> dict[str, float]:
    memory, files, threads = [], [], []
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        for number in range(fits):
            fit_once(number, Path(folder))
            gc.collect()
            memory.append(resident())
            files.append(open_files())
            threads.append(threading.active_count())
    half = fits // 2
    slope = np.polyfit(np.arange(half, fits), np.array(memory[half:]) / 1024, 1)[0]
    return {
        "fits": fits,
        "kilobytes_a_fit": round(float(slope), 2),
        "memory_mb_at_tenths": [memory[fits * tenth // 10 - (tenth > 0)] >> 20 for tenth in range(11)],  # type: ignore[dict-item]
        "open_files_first": files[min(5, half)],
        "open_files_last": files[-1],
        "threads_first": threads[min(5, half)],
        "threads_last": threads[-1],
        "seconds": round(time.monotonic() - started),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fits", type=int, default=2000)
    print(json.dumps(measure(parser.parse_args().fits)))
