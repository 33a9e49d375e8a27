"""How the command line answers: a line or a table on the screen, a CSV file, a chart.

A pandas frame comes in; it is drawn, and written where `--csv` and `--plot` say.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from laplex import storage
from laplex.exchange import neutral

_COMMANDING = re.compile("[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f]")
Csv = Annotated[Path | None, typer.Option("--csv", help="Write the table to this file, too.")]
Plot = Annotated[Path | None, typer.Option("--plot", help="Draw it: a file that ends in .pdf, .svg, .png or .html.")]


def show(answer: str | Table) -> None:
    whole_lines = isinstance(answer, str)
    told = visible(answer) if isinstance(answer, str) else answer
    Console(soft_wrap=whole_lines, markup=not whole_lines, highlight=False).print(told)


def visible(text: str) -> str:
    """Text without characters that would command the terminal, which a stranger's model may have in its words.

    >>> visible("tax \\x1b[2J")
    'tax \\\\x1b[2J'
    """
    return _COMMANDING.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


def show_frame(frame: pd.DataFrame) -> None:
    table = Table()
    for name, column in frame.items():
        table.add_column(
            escape(visible(str(name))), justify="right" if pd.api.types.is_numeric_dtype(column) else "left"
        )
    for row in frame.itertuples(index=False):
        table.add_row(*map(_cell, row))
    show(table)


def answer(
    frame: pd.DataFrame, csv: Path | None, plot: Path | None, draw: Callable[[pd.DataFrame], Any] | None = None
) -> None:
    """Draw a table on the screen, and write it and its chart to files."""
    show_frame(frame)
    if csv is not None:
        write_csv(frame, csv)
    if plot is not None and draw is not None:
        draw(frame).save(plot)


def write_csv(frame: pd.DataFrame, path: Path) -> None:
    """Words that a spreadsheet would take for a formula get an apostrophe."""
    with storage.replacing(path) as file:
        file.write(neutral(frame).to_csv(index=False).encode())


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return "" if pd.isna(value) else f"{value:.3f}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else escape(visible(str(value)))
