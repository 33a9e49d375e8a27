"""Kill jobs at random moments and see what is left: python killing.py HOME --moments 30 --seed 1 [--job fit]

A job runs once to its end, which counts its moments: the calls of its main thread. Then it is killed by SIGKILL, in
turns at any of them, at one that touches a file, and after a random time, which also comes in the middle of a call; a
seed draws which. After each kill everything on disk is looked at; then the job is run again, perhaps killed again, and
once more to its end. One line of JSON a job says how often it was killed, and all that was wrong.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import jobs

from laplex.errors import LaplexError
from laplex.runtime import storage

TOUCHING = {
    "open",
    "write",
    "tofile",
    "flush",
    "fsync",
    "close",
    "replace",
    "rename",
    "unlink",
    "mkdir",
    "rmdir",
    "flock",
}
AGAIN = 0.3  # the share of trials in which the next run is killed too


class Child:
    """A job in a forked process, which may kill itself at a moment, and writes its result to a file."""

    def __init__(self, job: Callable[[Path, Path], Any], home: Path, folder: Path, moment: int | None) -> None:
        self.answer = folder.with_suffix(".json")
        self.answer.unlink(missing_ok=True)
        sys.stdout.flush()
        self.pid = os.fork()
        if self.pid == 0:
            self._work(job, home, folder, moment)

    def _work(self, job: Callable[[Path, Path], Any], home: Path, folder: Path, moment: int | None) -> None:
        moments = 0
        touching: list[int] = []

        def count(_: Any, event: str, called: Any) -> None:
            nonlocal moments
            if moments == moment:
                os.kill(os.getpid(), signal.SIGKILL)
            if event == "c_call" and called.__name__ in TOUCHING:
                touching.append(moments)
            moments += 1

        code = 1
        try:
            sys.setprofile(count)
            result = job(home, folder)
            sys.setprofile(None)
            self.answer.write_text(json.dumps({"result": result, "moments": moments, "touching": touching}))
            code = 0
        except BaseException as error:
            sys.setprofile(None)
            self.answer.write_text(json.dumps({"error": f"{type(error).__name__}: {error}"}))
        finally:
            os._exit(code)

    def wait(self) -> dict[str, Any] | None:
        """What it says, or None if it was killed."""
        _, status = os.waitpid(self.pid, 0)
        if os.WIFSIGNALED(status):
            return None
        answer: dict[str, Any] = json.loads(self.answer.read_text())
        return answer


def half_written(folder: Path) -> Iterator[str]:
    """Saved objects that are not whole."""
    for manifest in folder.rglob(storage.MANIFEST):
        try:
            saved = storage.load(manifest.parent)
            complete = (manifest.parent / f"arrays-{saved.digest}.safetensors").read_bytes()
            if hashlib.blake2b(complete, digest_size=16).hexdigest() != saved.digest:
                yield f"{manifest.parent.name}: its bytes are not those of its name"
        except LaplexError as error:
            yield f"{manifest.parent.name}: {error}"
    for file in folder.glob("vectors.*"):  # appear whole, so they are one of the two that are written
        if file.stat().st_size == 0:
            yield f"{file.name} is empty"


def left_over(folder: Path) -> Iterator[str]:
    """Files that belong to nothing, once a run has come to its end."""
    for path in folder.rglob("*"):
        if path.name.startswith(".") or (path.parent.name == "tmp" and path.parent.parent == folder):
            yield str(path.relative_to(folder))
    for manifest in folder.rglob(storage.MANIFEST):
        arrays = list(manifest.parent.glob("arrays-*"))
        if len(arrays) != 1:
            yield f"{manifest.parent.name} has {len(arrays)} files of arrays"


class Trial:
    """One job, killed many times."""

    def __init__(self, name: str, home: Path, seed: int) -> None:
        self.job, self.name, self.home, self.random = jobs.JOBS[name], name, home, Random(f"{name} {seed}")
        self.kills = self.done = 0
        self.wrong: list[str] = []
        started = time.monotonic()
        complete = self._run(self._fresh())
        self.seconds = time.monotonic() - started
        if complete is None or "error" in complete:
            raise SystemExit(f"{name} does not run at all: {complete}")
        self.expected, self.moments, self.touching = complete["result"], complete["moments"], complete["touching"]

    def _fresh(self) -> Path:
        folder = self.home / f"trial-{self.name}"
        shutil.rmtree(folder, ignore_errors=True)
        (folder / "tmp").mkdir(parents=True)
        tempfile.tempdir = str(folder / "tmp")
        return folder

    def _run(self, folder: Path, moment: int | None = None, seconds: float | None = None) -> dict[str, Any] | None:
        child = Child(self.job, self.home, folder, moment)
        if seconds is not None:
            time.sleep(seconds)
            os.kill(child.pid, signal.SIGKILL)
        return child.wait()

    def kill_at(self, number: int) -> None:
        folder = self._fresh()
        moments = []
        for round in range(3):
            if round and self.random.random() > AGAIN:
                break
            by_time = (number + round) % 3 == 2
            moment = self.random.randrange(self.moments)
            if (number + round) % 3 == 1:
                moment = self.random.choice(self.touching) + self.random.choice((0, 1, 2))
            seconds = self.random.random() * self.seconds if by_time else None
            answer = self._run(folder, None if by_time else moment, seconds)
            moments.append(f"{seconds:.2f} s" if seconds is not None else f"call {moment}")
            self.kills += answer is None
            if answer is not None and "error" in answer:
                self.wrong.append(f"killed at {moments[:-1]}, then {answer['error']}")
            self.wrong += [f"killed at {moments}: {what}" for what in half_written(folder)]
        answer = self._run(folder)
        outcome = answer and answer.get("error", answer.get("result"))
        if outcome != self.expected:
            self.wrong.append(f"killed at {moments}, the next run gives {outcome}, not {self.expected}")
        self.wrong += [f"killed at {moments}, left over: {what}" for what in left_over(folder)]
        self.done += 1


def get_ready(home: Path) -> None:
    """Prepare and compile all that jobs need, so that what is forked from here starts at once."""
    home.mkdir(parents=True, exist_ok=True)
    if (prepared := os.fork()) == 0:
        try:
            jobs.prepare(home)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    if os.waitpid(prepared, 0)[1]:
        raise SystemExit("the jobs could not be prepared")
    jobs.compile_kernels(home)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("home", type=Path)
    parser.add_argument("--job", action="append", choices=list(jobs.JOBS))
    parser.add_argument("--moments", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    get_ready(chosen.home)
    for name in chosen.job or jobs.JOBS:
        started = time.monotonic()
        trial = Trial(name, chosen.home, chosen.seed)
        for number in range(chosen.moments):
            trial.kill_at(number)
        outcome = {
            "job": name,
            "trials": trial.done,
            "kills": trial.kills,
            "moments": trial.moments,
            "wrong": trial.wrong,
        }
        print(json.dumps(outcome | {"seconds": round(time.monotonic() - started, 1)}), flush=True)


if __name__ == "__main__":
    main()
