"""Writing what a benchmark has measured into RESULTS.md: a section is replaced by the tables of the present run."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

RESULTS = Path(__file__).with_name("RESULTS.md")


@dataclass(frozen=True)
class Aim:
    """A figure that is to be reached: what is measured, in which unit, and the bar that it is held against."""

    name: str
    measured: float
    unit: str
    at_most: float | None = None
    at_least: float | None = None

    @property
    def met(self) -> bool:
        """Whether the measured figure is on the right side of the bar."""
        below = self.at_most is None or self.measured <= self.at_most
        return below and (self.at_least is None or self.measured >= self.at_least)


def aims_table(aims: Sequence[Aim]) -> pd.DataFrame:
    """Each aim beside its bar: a row an aim."""
    rows = []
    for aim in aims:
        bars = [f"at most {aim.at_most:g}"] if aim.at_most is not None else []
        bars += [f"at least {aim.at_least:g}"] if aim.at_least is not None else []
        unit = f" {aim.unit}".rstrip()
        row = {"aim": aim.name, "bar": " and ".join(bars) + unit, "measured": f"{aim.measured:.3g}{unit}"}
        rows.append(row | {"met": "yes" if aim.met else "no"})
    return pd.DataFrame(rows)


@dataclass(frozen=True)
class Section:
    """What one benchmark has measured: a title, two sentences about it, tables, and the aims it is held against."""

    title: str
    text: str
    tables: Sequence[pd.DataFrame]
    aims: Sequence[Aim] = ()

    def shown(self) -> str:
        """The section for a terminal."""
        tables = [*self.tables, *([aims_table(self.aims)] if self.aims else [])]
        return "\n\n".join([self.title, self.text, *(table.to_string(index=False) for table in tables)])


def record(title: str, text: str, tables: Sequence[pd.DataFrame], results: Path = RESULTS) -> None:
    """Replace the section `## title`, or add it at the end: what was run, a text about it, and tables."""
    script, *arguments = sys.argv
    shown = ["DATA" if before == "--data" else argument for before, argument in zip(["", *arguments], arguments)]
    command = f"python benchmarks/{Path(script).name} {shlex.join(shown)}".strip().replace(" --record", "")
    body = "\n\n".join(_markdown(table) for table in tables)
    section = f"## {title}: `{command}`\n\n{text}\n\n{body}\n"
    page = results.read_text()
    found = re.search(rf"^## {re.escape(title)}:.*?(?=^## |\Z)", page, re.S | re.M)
    page = page[: found.start()] + section + "\n" + page[found.end() :] if found else f"{page.rstrip()}\n\n{section}"
    results.write_text(page.rstrip() + "\n")


def _markdown(table: pd.DataFrame) -> str:
    """A table in Markdown, numbers with three places."""
    rows = [list(map(str, table.columns)), ["---"] * len(table.columns)]
    for row in table.itertuples(index=False):
        rows.append([f"{value:.3f}" if isinstance(value, float) else str(value) for value in row])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)
