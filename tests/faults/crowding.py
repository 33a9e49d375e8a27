"""Several processes at one place: python crowding.py HOME. One line of JSON for each trial says what was wrong.

models   two processes save two models in turns into one folder, while a third reads it
fits     two processes fit into one checkpoint and one model
cache    four processes read one text into one cache
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jobs
import killing

import laplex as lx

TURNS = 60


def crowd(home: Path, folder: Path, works: list[Callable[[Path, Path], Any]]) -> list[Any]:
    """What each of them says, all at work at once."""
    folder.mkdir(parents=True)
    children = []
    for number, work in enumerate(works):
        own = folder.with_name(f"{folder.name}-{number}")  # to answer by
        children.append(killing.Child(lambda home, _, work=work: work(home, folder), home, own, None))
    answers = [child.wait() or {"error": "it was killed"} for child in children]
    return [answer.get("error", answer.get("result")) for answer in answers]


def _save(first: int) -> Callable[[Path, Path], Any]:
    def work(home: Path, folder: Path) -> Any:
        models = [lx.load(home / name) for name in ("one", "two")]
        for turn in range(TURNS):
            models[(first + turn) % 2].save(folder / "model")

    return work


def _read(home: Path, folder: Path) -> Any:
    known = {jobs.content_hash(lx.load(home / name)) for name in ("one", "two")}
    end, read = time.monotonic() + 1.0, 0
    while not (folder / "model" / "laplex.json").exists():
        time.sleep(0.001)
    while time.monotonic() < end or read < TURNS:
        assert jobs.content_hash(lx.load(folder / "model")) in known
        read += 1
    return read


def wrong_models(home: Path, folder: Path) -> list[str]:
    *saved, read = crowd(home, folder, [_save(0), _save(1), _read])
    known = {jobs.content_hash(lx.load(home / name)) for name in ("one", "two")}
    complete = jobs.content_hash(lx.load(folder / "model")) in known
    return [str(answer) for answer in saved if answer] + ([] if isinstance(read, int) and complete else [str(read)])


def wrong_fits(home: Path, folder: Path) -> list[str]:
    answers = crowd(home, folder, [jobs.fit, jobs.fit])
    return [] if answers == [jobs.content_hash(lx.load(folder / "model"))] * 2 else list(map(str, answers))


def wrong_cache(home: Path, folder: Path) -> list[str]:
    answers = crowd(home, folder, [jobs.ingest] * 4)
    return [] if answers == [jobs.tokens_in(home).digest] * 4 else list(map(str, answers))


def main() -> None:
    home = Path(sys.argv[1])
    killing.get_ready(home)
    for trial in (wrong_models, wrong_fits, wrong_cache):
        folder = home / trial.__name__
        wrong = [*trial(home, folder), *killing.half_written(folder), *killing.left_over(folder)]
        print(json.dumps({"trial": trial.__name__.removeprefix("wrong_"), "wrong": wrong}), flush=True)


if __name__ == "__main__":
    main()
