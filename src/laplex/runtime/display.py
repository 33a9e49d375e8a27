"""What users see of running work and of objects: progress, lines on standard error, and cards in notebooks.

Progress is a bar on a terminal or in a notebook and a plain line now and then elsewhere.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from html import escape

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn

SECONDS_BEFORE_PROGRESS = 2.0
SECONDS_BETWEEN_LINES = 10.0
CARD_ROWS = 12  # of a table; of the rest only the number is shown
CARD_CHARACTERS = 300  # of one cell

_BORDER = "border: 0; border-top: 1px solid rgba(128, 128, 128, 0.3)"
_CELL = f"{_BORDER}; padding: 0.2em 1.2em 0.2em 0; text-align: left; vertical-align: top; background: none"
_CELL_STYLES = {"td": _CELL, "th": f"{_CELL}; font-weight: 600; white-space: nowrap"}
_TABLE = "border-collapse: collapse; border: 0; margin: 0.5em 0 0; font-size: 0.93em; color: inherit"
_BAR = "height: 4px; background-color: #56b4e9"
_FOLDED = "margin: 0.3em 0"
Cell = str | tuple[str, float]  # a text, or a text above a bar
_silent: ContextVar[bool] = ContextVar("silent", default=False)


def say(text: str, *, quiet: bool = False) -> None:
    """Print one line on standard error."""
    if not quiet and not _silent.get():
        Console(stderr=True).print(text, markup=False, highlight=False, soft_wrap=True)


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
                self._console.print(line, markup=False, highlight=False, soft_wrap=True)
                self._next_line = time.monotonic() + SECONDS_BETWEEN_LINES

    def _start(self, share: float | None, detail: str) -> None:
        self._progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn() if share is not None else SpinnerColumn(),
            TextColumn("{task.fields[detail]}", markup=False),
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
    title: str,
    facts: Iterable[tuple[str, str]] = (),
    heads: Sequence[str] = (),
    rows: Sequence[Sequence[Cell]] = (),
    folded: Iterable[tuple[str, str]] = (),
) -> str:
    """HTML of a title, facts by name and the first rows of a table, in the notebook's colors, all text escaped.

    A cell of the table is a text, or a text and a share from 0 to 1, which is drawn as a bar. `folded` are texts to
    click and the HTML that unfolds below each, made by this function. There are no scripts, which notebooks do not run
    before they are trusted.
    """
    fact_rows = "".join(_row([name, text], "th" if name else "td") for name, text in facts)
    parts = [f"<b>{_text(title)}</b>"] if title else []
    parts.append(f'<table style="{_TABLE}">{fact_rows}</table>' if fact_rows else "")
    if rows:
        body = "".join(_row(row) for row in rows[:CARD_ROWS])
        head = f"<thead>{_row(heads, 'th', 'th')}</thead>" if heads else ""
        parts.append(f'<table style="{_TABLE}">{head}<tbody>{body}</tbody></table>')
    if len(rows) > CARD_ROWS:
        parts.append(f'<div style="opacity: 0.7">… and {len(rows) - CARD_ROWS:,} more</div>')
    parts += [f'<details style="{_FOLDED}"><summary>{_text(text)}</summary>{html}</details>' for text, html in folded]
    return f'<div style="color: inherit">{"".join(parts)}</div>'


def _row(cells: Sequence[Cell], first_tag: str = "td", other_tag: str = "td") -> str:
    tags = [first_tag, *[other_tag] * (len(cells) - 1)]
    return f'<tr style="background: none">{"".join(map(_cell, tags, cells))}</tr>'


def _cell(tag: str, cell: Cell) -> str:
    text, share = (cell, 0.0) if isinstance(cell, str) else cell
    bar = f'<div style="{_BAR}; width: {100 * min(max(share, 0.0), 1.0):.0f}%"></div>' if share > 0 else ""
    return f'<{tag} style="{_CELL_STYLES[tag]}">{_text(text)}{bar}</{tag}>'


def _text(text: str) -> str:
    return escape(text if len(text) <= CARD_CHARACTERS else f"{text[:CARD_CHARACTERS]} …")
