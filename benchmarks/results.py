"""Writing what a benchmark has measured into RESULTS.md: a section is replaced by the tables of the present run."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

RESULTS = Path(__file__).with_name("RESULTS.md")


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
