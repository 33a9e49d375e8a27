"""Printing: sentences, tables that fit the terminal, commands to go on with, and tables as files."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Callable, Collection, Iterable, Sequence
from importlib.util import find_spec
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.measure import Measurement
from rich.table import Table

from laplex.runtime import atomic
from laplex.runtime.display import width_of, wrap

if TYPE_CHECKING:
    import pandas as pd

SIGNIFICANT_DIGITS = 3  # of the largest number of a column
_CONTROL_CHARACTERS = re.compile("[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f]")


def visible(text: str) -> str:
    """Replace control characters, which words of an untrusted model may contain, by their escape sequences.

    >>> visible("tax \\x1b[2J")
    'tax \\\\x1b[2J'
    """
    return _CONTROL_CHARACTERS.sub(lambda match: f"\\x{ord(match[0]):02x}", text)


def show(text: str, indent: str = "", first: str | None = None) -> None:
    """Print a sentence to standard output, wrapped in a terminal; `first` stands before its first line."""
    console = Console(soft_wrap=True, markup=False, highlight=False)
    console.print(wrap(visible(text), width_of(console), indent, first))


def suggest(commands: Iterable[Sequence[Any]], *, quiet: bool = False) -> None:
    """Print what may be asked next on standard error, as commands that can be pasted into a shell."""
    console = Console(stderr=True, soft_wrap=True, markup=False, highlight=False)
    chosen = [_pasteable(command, console.width) for command in commands]
    if chosen and not quiet:
        console.print("\n".join(["", "Next:", *dict.fromkeys(chosen)]))


def _pasteable(arguments: Sequence[Any], width: int) -> str:
    """A command, continued on other lines by backslashes if it is longer than a line.

    >>> print(_pasteable(["contrast", "a.laplex", "party", "--given", "year"], 40))
      laplex contrast a.laplex party \\
          --given year
    """
    lines, following = ["  laplex"], list(map(visible, map(str, arguments)))
    while following:
        number = 2 if following[0].startswith("--") else 1  # an option stays with its value
        part, following = shlex.join(following[:number]), following[number:]
        if len(lines[-1]) + len(part) + 3 > width:
            lines[-1] += " \\"
            lines.append(f"      {part}")
        else:
            lines[-1] += f" {part}"
    return "\n".join(lines)


def explorer(model: str | Path) -> list[list[Any]]:
    """The command that opens the explorer, if what it needs is installed."""
    return [["explore", model]] if find_spec("streamlit") else []


def show_frame(frame: pd.DataFrame, *, wrapped: Collection[str] | None = None) -> None:
    """Print a data frame as a table, numbers aligned to the right.

    `wrapped` are the columns whose cells may have several lines, all by default.
    """
    console, unlimited = Console(highlight=False), Console(width=10_000)
    table = _table(frame, wrapped, gap=1)
    if Measurement.get(unlimited, unlimited.options, table).maximum > console.width:
        table = _table(frame, wrapped, gap=0)
    console.print(table)


def _table(frame: pd.DataFrame, wrapped: Collection[str] | None, gap: int) -> Table:
    import pandas as pd

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, gap, 0, 0))
    for name, column in frame.items():
        justify: Literal["left", "right"] = "right" if pd.api.types.is_numeric_dtype(column) else "left"
        whole = wrapped is not None and name not in wrapped
        title = escape(visible(str(name).replace("_", " ")))
        table.add_column(title, justify=justify, no_wrap=whole, overflow="fold")
    cells = [[_cell(value, decimals) for value in column] for column, decimals in _with_decimals(frame)]
    for row in zip(*cells):
        table.add_row(*row)
    return table


def _with_decimals(frame: pd.DataFrame) -> Iterable[tuple[pd.Series, int]]:
    """The columns, each with the decimals that its largest number needs."""
    import pandas as pd

    for _, column in frame.items():
        decimals = 3
        if pd.api.types.is_float_dtype(column) and (largest := column.abs().max()) > 0 and math.isfinite(largest):
            decimals = min(max(SIGNIFICANT_DIGITS - 1 - math.floor(math.log10(largest)), 0), 9)
        yield column, decimals


def _cell(value: Any, decimals: int) -> str:
    import pandas as pd

    if value is pd.NA or (isinstance(value, float) and pd.isna(value)):
        return ""
    if isinstance(value, float):
        return f"{value:,.{decimals}f}"
    return f"{value:,}" if isinstance(value, Integral) and not isinstance(value, bool) else escape(visible(str(value)))


def answer(frame: pd.DataFrame, csv: Path | None, plot: Path | None, draw: Callable[[pd.DataFrame], Any]) -> None:
    """Print a table, and write it and its chart to the files given by `--csv` and `--plot`."""
    shown = with_interval_beside(frame) if "lower" in frame else frame
    show_frame(without_repetition(shown))
    save(frame, csv, plot, draw)


def save(frame: pd.DataFrame, csv: Path | None, plot: Path | None, draw: Callable[[pd.DataFrame], Any]) -> None:
    """Write a table and its chart to the files given by `--csv` and `--plot`."""
    if csv is not None:
        write_csv(frame, csv)
    if plot is not None:
        draw(frame).save(plot)


def without_repetition(frame: pd.DataFrame) -> pd.DataFrame:
    """A table without the columns of names that are the same in all rows, which are printed before it."""
    import pandas as pd

    names = [name for name, column in frame.items() if not pd.api.types.is_numeric_dtype(column)]
    same = [name for name in names if len(frame) > 1 and frame[name].nunique(dropna=False) == 1]
    values = {name: str(frame[name].iloc[0]) for name in same}
    facts = [values.pop("word")] if "word" in values else []
    if {"value", "against"} <= values.keys():
        facts.append(f"{values.pop('value')} against {values.pop('against')}")
    facts += [f"{str(name).replace('_', ' ')} {value}" for name, value in values.items() if value]
    if facts:
        show(f"{', '.join(facts)}\n")
    return frame.drop(columns=same)


def with_interval_beside(frame: pd.DataFrame) -> pd.DataFrame:
    """A table with the interval in the column of the estimate and p as text, without columns that are empty."""
    import pandas as pd

    pairs = zip(frame["estimate"], frame["lower"], frame["upper"])
    sizes = ["" if pd.isna(size) else f"{size:.2f} ({one:.2f} to {two:.2f})" for size, one, two in pairs]
    shown = frame.assign(estimate=sizes).drop(columns=["lower", "upper"])
    if "holds" in frame:
        shown = shown.assign(p=p_values(frame), holds=frame["holds"].map({True: "yes", False: ""}))
        shown["p_adjusted"] = ["" if pd.isna(p) else f"{p:.2g}" for p in frame["p_adjusted"]]
        return shown.rename(columns={"p_adjusted": "p adjusted"})
    empty = [name for name in ("estimate", "units") if frame[name].isna().all()]
    return shown.drop(columns=empty)


def p_values(frame: pd.DataFrame) -> list[str]:
    """p-values as text; the smallest that the permutations allow as "< 0.001"."""
    import pandas as pd

    texts = []
    for p, draws in zip(frame["p"], frame["permutations"] if "permutations" in frame else [0] * len(frame)):
        floor = 1 / (draws + 1) if draws else 0.0
        texts.append("" if pd.isna(p) else f"< {floor:.1g}" if p <= floor else f"{p:.2g}")
    return texts


def write_csv(frame: pd.DataFrame, path: Path) -> None:
    """Write a table atomically, with an apostrophe before words that a spreadsheet would run as a formula."""
    from laplex.questions.export import escape_formulas

    with atomic.replacing(path) as file:
        file.write(escape_formulas(frame).to_csv(index=False).encode())
