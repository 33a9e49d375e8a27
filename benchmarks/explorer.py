"""Response times of the explorer with a large model: 120,000 words in 8 slices, 100 dimensions, memory-mapped.

    python benchmarks/explorer.py

Random vectors are saved to a temporary folder. Prints the seconds to open the saved model, to start the explorer as a
separate process, and to compute the page of another word (without the browser).
"""

from __future__ import annotations

import argparse
import cProfile
import os
import pstats
import resource
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

import laplex as lx
from laplex.explorer.launching import explore
from laplex.text.slices import Slices

FIGURES = ("what", "seconds", "of work")


def make(folder: Path, words: int, dimensions: int) -> None:
    random = np.random.default_rng(0)
    keys = tuple((party, year) for party in "DR" for year in ("2000", "2001", "2002", "2003"))
    counts = np.tile(np.arange(words, 0, -1), (len(keys), 1))
    vectors = random.standard_normal((len(keys), words, dimensions), dtype=np.float32)
    slices = Slices(("party", "year"), keys, np.empty(0, np.int32))
    vocabulary = lx.Vocabulary([f"w{i}" for i in range(words)], counts.sum(0))
    lx.Embeddings.of([vocabulary], [vectors], slices=slices, counts=[counts], contexts=[vectors[0]]).save(folder)


def page() -> None:
    from laplex.explorer.views import word

    word.show()


def clocks() -> np.ndarray:
    """Wall time and processor time; on a busy machine the second is more reliable."""
    return np.array([time.perf_counter(), time.process_time()])


def time_pages(folder: Path, times: int) -> list[np.ndarray]:
    """Seconds to compute the page of a word, each time for another word, without the first."""
    from streamlit.testing.v1 import AppTest

    os.environ["LAPLEX_EXPLORED"] = str(folder)
    app = AppTest.from_function(page, default_timeout=120).run()
    taken = []
    for number in range(times + 1):
        app.selectbox(key="word").set_value(f"w{7 * number + 3}")
        started = clocks()
        app.run()
        taken.append(clocks() - started)
        assert not app.exception
    return taken[1:]


def time_neighbors(folder: Path, times: int) -> list[np.ndarray]:
    fitted = lx.load(folder)
    fitted.neighbors("w1")
    taken = []
    for number in range(times):
        started = clocks()
        fitted.neighbors(f"w{7 * number + 3}")
        taken.append(clocks() - started)
    return taken


def profile_page(folder: Path) -> None:
    """Print the functions that take most of the time of a page."""
    profiler = cProfile.Profile()
    profiler.enable()
    time_pages(folder, 5)
    profiler.disable()
    pstats.Stats(profiler).sort_stats("cumulative").print_stats("laplex", 25)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--words", type=int, default=120_000)
    parser.add_argument("--dimensions", type=int, default=100)
    parser.add_argument("--times", type=int, default=15)
    parser.add_argument("--profile", action="store_true", help="profile the page of a word")
    options = parser.parse_args()
    rows: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home) / "large.laplex"
        make(folder, options.words, options.dimensions)
        before = clocks()
        lx.load(folder)
        rows.append(dict(zip(FIGURES, ("open the saved model", *(clocks() - before)))))
        started, worked = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
        with explore(folder, browser=False, wait=False, quiet=True):
            taken = time.perf_counter() - started
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        work = after.ru_utime + after.ru_stime - worked.ru_utime - worked.ru_stime
        rows.append(dict(zip(FIGURES, ("start the explorer", taken, work))))
        for what, taken in (
            ("neighbors in 8 slices", time_neighbors(folder, options.times)),
            ("the page of a word", time_pages(folder, options.times)),
        ):
            rows.append(dict(zip(FIGURES, (f"{what}, median", *np.median(taken, axis=0)))))
        if options.profile:
            profile_page(folder)
    print(pd.DataFrame(rows).round(3).to_string(index=False))
    print(f"load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")


if __name__ == "__main__":
    main()
