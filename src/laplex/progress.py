"""How long work tells how far it is.

A bar on a terminal or in a notebook, a plain line now and then elsewhere, nothing for work that takes
less than two seconds, and nothing at all when quiet. All of it goes to standard error.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn

PATIENCE = 2.0  # seconds of silence before the first sign
INTERVAL = 10.0  # seconds between plain lines
_hushed: ContextVar[bool] = ContextVar("hushed", default=False)


def say(text: str, *, quiet: bool = False) -> None:
    """One line to the user, on standard error."""
    if not quiet and not _hushed.get():
        Console(stderr=True).print(text, markup=False, highlight=False, soft_wrap=True)


class Bar:
    """A bar that appears once the work has lasted `PATIENCE` seconds. `update` may be called as often as one likes."""

    def __init__(self, label: str, quiet: bool) -> None:
        self._label = label
        self._quiet = quiet or _hushed.get()
        self._next_line = time.monotonic() + PATIENCE
        self._console = Console(stderr=True)
        self._drawn: Progress | None = None

    def update(self, share: float | None, note: str = "") -> None:
        """`share` of the work is done (0 to 1, None if the whole is not known); `note` says it in words."""
        if self._drawn is not None:
            self._drawn.update(self._drawn.task_ids[0], completed=share or 0.0, note=note)
        elif not self._quiet and time.monotonic() >= self._next_line:
            if self._console.is_terminal or self._console.is_jupyter:
                self._draw(share, note)
            else:
                percent = "" if share is None else f" {share:.0%}"
                line = f"{self._label}:{percent} {note}".rstrip()
                self._console.print(line, markup=False, highlight=False, soft_wrap=True)
                self._next_line = time.monotonic() + INTERVAL

    def _draw(self, share: float | None, note: str) -> None:
        moving = BarColumn() if share is not None else SpinnerColumn()
        self._drawn = Progress(
            TextColumn("{task.description}", markup=False),
            moving,
            TextColumn("{task.fields[note]}", markup=False),
            TimeRemainingColumn(),
            console=self._console,
            transient=True,
        )
        self._drawn.add_task(self._label, total=None if share is None else 1.0, note=note)
        self._drawn.start()

    def close(self) -> None:
        if self._drawn is not None:
            self._drawn.stop()


@contextmanager
def bar(label: str, *, quiet: bool = False) -> Iterator[Bar]:
    """with bar("reading") as progress: progress.update(0.3, "12,000 documents")"""
    drawn = Bar(label, quiet)
    try:
        yield drawn
    finally:
        drawn.close()


@contextmanager
def hushed() -> Iterator[None]:
    """Nothing is said by what is called within: work that asks many questions speaks for them."""
    token = _hushed.set(True)
    try:
        yield
    finally:
        _hushed.reset(token)
