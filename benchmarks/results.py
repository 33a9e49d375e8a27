"""What benchmarks measure: figures against their bars, and how these are written into RESULTS.md and VALIDITY.md."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

RESULTS = Path(__file__).with_name("RESULTS.md")  # speed and size, written whole by all.py
VALIDITY = Path(__file__).with_name("VALIDITY.md")  # level, power and coverage, a section by each script


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
        row = {"aim": aim.name, "bar": " and ".join(bars) + unit, "measured": f"{shown_number(aim.measured)}{unit}"}
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


def write_page(sections: Sequence[Section], machine: str, results: Path = RESULTS, *, anew: bool = False) -> None:
    """Write sections into RESULTS.md in place of those with the same titles, or alone, and first what was missed."""
    kept = [] if anew else re.split(r"^(?=## )", results.read_text(), flags=re.M)[1:]
    parts = {text.partition("\n")[0]: text for text in kept}
    for section in sections:
        tables = [*section.tables, *([aims_table(section.aims)] if section.aims else [])]
        title = f"## {section.title}"
        parts[title] = "\n\n".join([title, section.text, *map(_markdown, tables)])
    page = "\n\n".join(text.rstrip() for text in parts.values())
    aims = re.findall(r"^\| (.*) \| .* \| .* \| (yes|no) \|$", page, re.M)
    missed = [name for name, met in aims if met == "no"]
    text = f"Written by `python benchmarks/all.py --data DATA`, on {machine}. DATA is the folder that holds the texts. "
    text += f"{len(aims) - len(missed)} of the {len(aims)} figures that have a bar are on the right side of it."
    text += f" Missed: {'; '.join(missed)}." if missed else ""
    results.write_text(f"# Speed and size\n\n{text}\n\n{page.rstrip()}\n")


def record(title: str, text: str, tables: Sequence[pd.DataFrame], results: Path = VALIDITY) -> None:
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
        rows.append([shown_number(value) if isinstance(value, int | float) else str(value) for value in row])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def shown_number(value: float) -> str:
    """A number with three digits, or more if it is whole or above a thousand."""
    return f"{value:,.0f}" if value == round(value) or abs(value) >= 1_000 else f"{value:.3g}"
