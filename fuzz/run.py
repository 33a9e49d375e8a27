"""Give every reader very many bad files and count what comes of it.

    python fuzz/run.py                             all targets, 100,000 inputs each, one after the other
    python fuzz/run.py --target csv --runs 1000
    python fuzz/run.py --engine own                without atheris (pip install atheris)
    python fuzz/run.py --list

With atheris inputs are bred by what code they reach, by changes of libFuzzer's and those of mutation.py; half of them
are a few changes away from a good file.
Each input must give a result that its oracle agrees with, or a LaplexError with a message, within `SLOW` seconds and
without `LARGE` bytes more of memory. What fails is kept in the folder of --out, with its traceback, once for each place
in the code; the counts are in counts.jsonl there. An input that ends the process counts as a death.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

SLOW = 2.0  # seconds of processor time that an input may take
LARGE = 1 << 28  # bytes by which it may raise the most memory that the process has had
MOST = 1 << 33  # bytes of addresses that a process may take, before it harms the machine
KEPT = 20  # failures of a target
DEATHS = 200  # of its processes, before it is given up


os.environ.setdefault("POLARS_MAX_THREADS", "1")  # for tiny files, more threads only wait for each other


class Session:
    """One target on its way through its inputs, in a process of its own, which some input may end.

    So what is being tried is always in the file "last", and what has come of the others in "counts".
    """

    def __init__(self, name: str, runs: int, out: Path, folder: Path, seed: int) -> None:
        from targets import TARGETS

        self.target, self.runs, self.out, self.folder, self.seed = TARGETS[name], runs, out, folder, seed
        self.counts: Counter[str] = Counter()
        self.failures: list[str] = []
        self.slowest = 0.0
        self.files = folder / "files"
        self.files.mkdir()
        self.target.prepare(self.files)
        resource.setrlimit(resource.RLIMIT_AS, (MOST, MOST))

    def try_one(self, data: bytes) -> None:
        from laplex.errors import LaplexError

        if self.counts["tried"] == self.runs:
            return  # libFuzzer tries a few more
        (self.folder / "last").write_bytes(data)
        before, started = _peak(), time.process_time()
        kind = "result"
        try:
            self.target.read(self.files, data)
        except LaplexError as error:
            kind = "error" if str(error).strip() else self._fail(data, "a LaplexError without a message")
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # a panic of a library is no Exception
            place = traceback.extract_tb(error.__traceback__)[-1]
            kind = self._fail(data, f"{type(error).__name__} in {Path(place.filename).name}:{place.lineno}")
        took = time.process_time() - started
        self.slowest = max(self.slowest, took)
        if took > SLOW:
            kind = self._fail(data, f"slow: {took:.0f} s")
        if self.counts["tried"] > 100 and _peak() - before > LARGE:
            kind = self._fail(data, f"large: {(_peak() - before) >> 20} MB")
        self.counts.update(["tried", kind])
        if self.counts["tried"] % 1000 == 0:
            shutil.rmtree(self.files / "cache", ignore_errors=True)
            gc.collect()
        if self.counts["tried"] % 50 == 0 or self.counts["tried"] == self.runs:
            self._tell()

    def _fail(self, data: bytes, what: str) -> str:
        if what not in self.failures and len(self.failures) < KEPT:
            self.failures.append(what)
            keep(self.out, self.target.name, data, f"{what}\n\n{traceback.format_exc()}")
        return "failure"

    def _tell(self) -> None:
        counts_of_run = {
            **self.counts,
            "failures": self.failures,
            "slowest": round(self.slowest, 3),
            "peak_mb": _peak() >> 20,
            "cpu": round(time.process_time()),
        }
        (self.folder / "counts").write_text(json.dumps(counts_of_run))

    def run(self) -> None:
        from mutation import mutate

        random = Random(self.seed)
        pool = list(self.target.seeds)
        for number in range(self.runs):
            data = pool[number] if number < len(pool) else mutate(random.choice(pool), random, self.target.seeds)
            self.try_one(data)
            if random.random() < 0.01:
                pool.append(data)  # changes pile up
                del pool[len(self.target.seeds) + 200 :: 2]


def keep(out: Path, name: str, data: bytes, what: str) -> None:
    """An input that went wrong, and how."""
    stem = f"{name.replace(' ', '_')}-{len(list(out.glob('*.txt')))}"
    (out / stem).write_bytes(data)
    (out / f"{stem}.txt").write_text(what, errors="backslashreplace")


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def fuzz(name: str, runs: int, out: Path, folder: Path, engine: str, seed: int) -> None:
    """One target, in this process."""
    if engine == "own":
        Session(name, runs, out, folder, seed).run()
        return
    import atheris

    with atheris.instrument_imports(include=["laplex"]):
        from mutation import mutate

        session = Session(name, runs, out, folder, seed)

    def change(data: bytes, most: int, number: int) -> bytes:
        random = Random(number)
        way = random.random()
        if way < 0.25:
            return atheris.Mutate(data, most)
        # what was bred for long is rarely a good file any more
        return mutate(data if way < 0.5 else random.choice(session.target.seeds), random, session.target.seeds)[:most]

    seeds = folder / "seeds"
    seeds.mkdir()
    for number, data in enumerate(session.target.seeds):
        (seeds / str(number)).write_bytes(data)
    options = [f"-runs={runs + 10}", f"-seed={seed}", "-max_len=8192", "-timeout=60", "-rss_limit_mb=4096"]
    options += ["-len_control=0", "-print_final_stats=1", f"-artifact_prefix={folder}/", str(seeds)]
    atheris.Setup([sys.argv[0], *options], session.try_one, custom_mutator=change)
    atheris.Fuzz()


def fuzz_apart(name: str, runs: int, out: Path, engine: str, seed: int) -> dict[str, Any]:
    """One target, in as many processes as it takes, one after the other."""
    total: dict[str, Any] = {"target": name, "engine": engine, "seed": seed, "failures": [], "deaths": 0}
    total |= dict.fromkeys(("tried", "result", "error", "failure", "slowest", "peak_mb", "cpu"), 0)
    started = time.monotonic()
    while total["tried"] < runs and total["deaths"] < DEATHS:
        # where there is memory that looks like a disk, files are fastest in it
        with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as folder:
            options = [f"--target={name}", f"--runs={runs - total['tried']}", f"--engine={engine}", f"--out={out}"]
            options += [f"--seed={seed + total['deaths']}", f"--inside={folder}"]
            with open(out / f"{name.replace(' ', '_')}.log", "w") as log:
                ended = subprocess.run([sys.executable, __file__, *options], stdout=log, stderr=log)
            counts = Path(folder, "counts")
            counts_of_run = json.loads(counts.read_text()) if counts.exists() else {}
            for key in ("tried", "result", "error", "failure", "cpu"):
                total[key] += counts_of_run.get(key, 0)
            for key in ("slowest", "peak_mb"):
                total[key] = max(total[key], counts_of_run.get(key, 0))
            total["failures"] += counts_of_run.get("failures", [])
            if counts_of_run.get("tried", 0) < int(options[1].partition("=")[2]):
                total["deaths"] += 1
                last = Path(folder, "last")
                end = Path(log.name).read_text(errors="replace")[-3000:]
                keep(out, name, last.read_bytes() if last.exists() else b"", f"died by {ended.returncode}\n\n{end}")
    return total | {"seconds": round(time.monotonic() - started)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", action="append", help="one of --list, perhaps several times; all by default")
    parser.add_argument("--runs", type=int, default=100_000)
    parser.add_argument("--engine", choices=["atheris", "own"], default="atheris")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("fuzz-found"))
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--inside", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    sys.path.insert(0, str(Path(__file__).parent))
    chosen.out.mkdir(parents=True, exist_ok=True)
    if chosen.inside:
        fuzz(chosen.target[0], chosen.runs, chosen.out, chosen.inside, chosen.engine, chosen.seed)
        return
    from targets import TARGETS

    if chosen.list:
        print("\n".join(TARGETS))
        return
    for name in chosen.target or TARGETS:
        total = fuzz_apart(name, chosen.runs, chosen.out, chosen.engine, chosen.seed)
        with open(chosen.out / "counts.jsonl", "a") as file:
            file.write(json.dumps(total) + "\n")
        print(json.dumps(total), flush=True)


if __name__ == "__main__":
    main()
