"""Every aim of speed and size, measured in one run of less than 40 minutes, which writes RESULTS.md.

    python benchmarks/all.py --data DATA
    python benchmarks/all.py --data DATA --only starting testing    these sections alone, the others stay

Each benchmark runs in a process of its own, one after the other. Nothing else should run on the machine meanwhile.
"""

from __future__ import annotations

import argparse
import importlib
import os
import platform
import sys
import time
import traceback
from concurrent.futures import ProcessPoolExecutor
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path

from results import Aim, Section, write_page

BENCHMARKS = ("pipeline", "speed", "starting", "testing", "calibration", "slices", "ranks", "long_text")
MOST_MINUTES = 40
PEERS = ("laplex", "numba", "numpy", "polars", "gensim", "torch")


def measured(name: str, data: Path) -> list[Section]:
    """The sections of one benchmark."""
    found = importlib.import_module(name).measure(data)
    return [found] if isinstance(found, Section) else list(found)


def run(name: str, data: Path) -> list[Section]:
    """The same in a process of its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(measured, name, data).result()


def machine() -> str:
    """What it was measured on, in a sentence."""
    described = Path("/proc/cpuinfo").read_text()
    name = next(line for line in described.splitlines() if line.startswith("model name")).partition(":")[2].strip()
    name += ", AVX-512" if "avx512f" in described else ""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    versions = ", ".join(f"{name} {version(name)}" for name in PEERS)
    cores = f"{len(os.sched_getaffinity(0))} cores of a virtual machine ({name})"
    return f"{cores}, {memory:.0f} GB, Python {platform.python_version()}, {versions}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="the folder with the texts")
    parser.add_argument("--only", nargs="+", choices=BENCHMARKS, help="measure these, and leave the other sections")
    arguments = parser.parse_args()
    start, anew, failed = time.monotonic(), arguments.only is None, []
    for name in arguments.only or BENCHMARKS:
        begun = time.monotonic()
        try:
            sections = run(name, arguments.data)
        except Exception:  # the others are measured all the same
            traceback.print_exc()
            failed.append(name)
            continue
        for section in sections:
            print(section.shown(), end="\n\n", flush=True)
        print(f"{name}: {time.monotonic() - begun:.0f} s", file=sys.stderr, flush=True)
        write_page(sections, machine(), anew=anew)
        anew = False
    if failed:
        raise SystemExit(f"failed: {', '.join(failed)}")
    if arguments.only is None:
        minutes = Aim("all benchmarks", (time.monotonic() - start) / 60, "minutes", at_most=MOST_MINUTES)
        write_page([Section("This run", "All of the above, one after the other.", [], [minutes])], machine())


if __name__ == "__main__":
    main()
