"""What users see of running work and of objects: progress, lines on standard error, and cards in notebooks.

Progress is a bar on a terminal or in a notebook and a plain line now and then elsewhere.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from html import escape
from textwrap import TextWrapper

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn
from rich.table import Column

SECONDS_BEFORE_PROGRESS = 2.0
SECONDS_BETWEEN_LINES = 10.0
CARD_ROWS = 12  # of a table; of the rest only the number is shown
CARD_CHARACTERS = 300  # of one cell

_BORDER = "border: 0; border-top: 1px solid rgba(128, 128, 128, 0.3)"
_CELL = f"{_BORDER}; padding: 0.2em 1.2em 0.2em 0; text-align: left; vertical-align: top; background: none"
_CELL_STYLES = {"td": _CELL, "th": f"{_CELL}; font-weight: 600; white-space: nowrap"}
_TABLE = "border-collapse: collapse; border: 0; margin: 0.5em 0 0; font-size: 0.93em; color: inherit"
_silent: ContextVar[bool] = ContextVar("silent", default=False)


def say(text: str, *, quiet: bool = False) -> None:
    """Print a sentence on standard error."""
    if not quiet and not _silent.get():
        console = Console(stderr=True)
        console.print(wrap(text, width_of(console)), markup=False, highlight=False, soft_wrap=True)


def width_of(console: Console) -> int | None:
    """The columns in which sentences are wrapped: those of a terminal or of COLUMNS; None in a file, of whole lines."""
    return console.width if console.is_terminal or console.is_jupyter or os.environ.get("COLUMNS") else None


def wrap(text: str, width: int | None, indent: str = "", first: str | None = None) -> str:
    """Break the lines of a text between words, which stay whole, and indent them: `first` stands before the first.

    >>> print(wrap("the words men use", 12, indent="   ", first="1. "))
    1. the words
       men use
    """
    start = indent if first is None else first
    if width is None:
        return start + text.replace("\n", f"\n{indent}")
    wrapper = TextWrapper(width, break_long_words=False, break_on_hyphens=False, subsequent_indent=indent)
    lines: list[str] = []
    for line in text.split("\n"):
        wrapper.initial_indent = indent if lines else start
        lines += wrapper.wrap(line) or [""]
    return "\n".join(lines)


class Bar:
    """A progress bar that appears once the work has lasted `SECONDS_BEFORE_PROGRESS`."""

    def __init__(self, label: str, quiet: bool) -> None:
        self._label = label
        self._quiet = quiet or _silent.get()
        self._next_line = time.monotonic() + SECONDS_BEFORE_PROGRESS
        self._console = Console(stderr=True)
        self._progress: Progress | None = None

    def update(self, share: float | None, detail: str = "") -> None:
        """Show the share of the work that is done (0 to 1, None if unknown) and a detail in words."""
        if self._progress is not None:
            self._progress.update(self._progress.task_ids[0], completed=share or 0.0, detail=detail)
        elif not self._quiet and time.monotonic() >= self._next_line:
            if self._console.is_terminal or self._console.is_jupyter:
                self._start(share, detail)
            else:
                percent = "" if share is None else f" {share:.0%}"
                line = f"{self._label}:{percent} {detail}".rstrip()
                line = wrap(line, width_of(self._console))
                self._console.print(line, markup=False, highlight=False, soft_wrap=True)
                self._next_line = time.monotonic() + SECONDS_BETWEEN_LINES

    def _start(self, share: float | None, detail: str) -> None:
        self._progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(20) if share is not None else SpinnerColumn(),
            TextColumn("{task.fields[detail]}", markup=False, table_column=Column(no_wrap=True, overflow="ellipsis")),
            TimeRemainingColumn(),
            console=self._console,
            transient=True,
        )
        self._progress.add_task(self._label, total=None if share is None else 1.0, detail=detail)
        self._progress.start()

    def close(self) -> None:
        if self._progress is not None:
            self._progress.stop()


@contextmanager
def bar(label: str, *, quiet: bool = False) -> Iterator[Bar]:
    """with bar("reading") as progress: progress.update(0.3, "12,000 documents")"""
    progress = Bar(label, quiet)
    try:
        yield progress
    finally:
        progress.close()


@contextmanager
def silence() -> Iterator[None]:
    """Suppress the progress and the lines of everything called within."""
    token = _silent.set(True)
    try:
        yield
    finally:
        _silent.reset(token)


def card(
    title: str, facts: Iterable[tuple[str, str]], heads: Sequence[str] = (), rows: Sequence[Sequence[str]] = ()
) -> str:
    """HTML of a title, facts by name and the first rows of a table, in the notebook's colors, all text escaped."""
    fact_rows = "".join(_row([name, text], "th" if name else "td") for name, text in facts)
    parts = [f"<b>{_text(title)}</b>", f'<table style="{_TABLE}">{fact_rows}</table>' if fact_rows else ""]
    if rows:
        body = "".join(_row(row) for row in rows[:CARD_ROWS])
        parts.append(f'<table style="{_TABLE}"><thead>{_row(heads, "th", "th")}</thead><tbody>{body}</tbody></table>')
    if len(rows) > CARD_ROWS:
        parts.append(f'<div style="opacity: 0.7">… and {len(rows) - CARD_ROWS:,} more</div>')
    return f'<div style="color: inherit">{"".join(parts)}</div>'


def _row(cells: Sequence[str], first_tag: str = "td", other_tag: str = "td") -> str:
    tags = [first_tag, *[other_tag] * (len(cells) - 1)]
    html = [f'<{tag} style="{_CELL_STYLES[tag]}">{_text(cell)}</{tag}>' for tag, cell in zip(tags, cells)]
    return f'<tr style="background: none">{"".join(html)}</tr>'


def _text(text: str) -> str:
    return escape(text if len(text) <= CARD_CHARACTERS else f"{text[:CARD_CHARACTERS]} …")
