"""Work that takes longer than an answer may: in a thread of its own, with its progress, shared by all who ask for it.

Work that no page waits for any more ends at its next report of progress.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import Any

from laplex.errors import LaplexError
from laplex.runtime.display import reported

KEPT = 60  # results
SECONDS_WITHOUT_WAITING = 5.0  # after which work is given up


class StoppedError(Exception):
    """Work was given up."""


class Work:
    """A function that runs in a thread: the share of it that is done, and its result or error."""

    def __init__(self, function: Callable[[], Any]) -> None:
        self.share: float | None = None
        self.detail = ""
        self._result: Any = None
        self._error: BaseException | None = None
        self._done, self._lock = threading.Event(), threading.Lock()
        self._waiting, self._give_up_at = 0, time.monotonic() + SECONDS_WITHOUT_WAITING
        threading.Thread(target=self._run, args=(function,), daemon=True).start()

    def _run(self, function: Callable[[], Any]) -> None:
        try:
            with reported(self._report):
                self._result = function()
        except BaseException as error:  # which those who wait get
            self._error = error
        self._done.set()

    def _report(self, label: str, share: float | None, detail: str) -> None:
        with self._lock:
            if not self._waiting and time.monotonic() > self._give_up_at:
                raise StoppedError
        self.share, self.detail = share, detail or label

    def stop(self) -> None:
        """End it at its next report of progress, unless another page waits for it."""
        self._give_up_at = 0.0

    def wait(self, seconds: float) -> bool:
        """Wait for it; whether it is done."""
        return self._done.wait(seconds)

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """While a page waits for it, it goes on."""
        with self._lock:
            self._waiting += 1
        try:
            yield
        finally:
            with self._lock:
                self._waiting -= 1
                self._give_up_at = time.monotonic() + SECONDS_WITHOUT_WAITING

    @property
    def failed(self) -> bool:
        """Whether it was given up, or ended by an error that asking again may not give."""
        return self._done.is_set() and self._error is not None and not isinstance(self._error, LaplexError)

    def result(self) -> Any:
        """What the function returned; its error if it failed."""
        if self._error is not None:
            raise self._error
        return self._result


class Works:
    """The work of a process by what was asked; the latest results are kept."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._works: OrderedDict[Hashable, Work] = OrderedDict()

    def get(self, asked: Hashable, function: Callable[[], Any]) -> Work:
        """The work that was asked before, or new work."""
        with self._lock:
            work = self._works.get(asked)
            if work is None or work.failed:
                self._works[asked] = work = Work(function)
            self._works.move_to_end(asked)
            done = [key for key, other in self._works.items() if other.wait(0) and other is not work]
            for key in done[: max(len(self._works) - KEPT, 0)]:
                del self._works[key]
            return work
