"""The output of an experiment: tables as CSV and Markdown, charts, its settings and the time it took.

    with Report(out, settings) as report:
        report.table("scores", frame, "Spearman's correlation by set")
        report.chart("scores", lx.plots.bars(frame))

Everything is written to one folder; its `report.md` contains all tables and charts.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from types import TracebackType
from typing import Any

import pandas as pd


class Report:
    def __init__(self, out: Path, settings: dict[str, Any]) -> None:
        self.out = out
        self.settings = settings
        self._parts: list[str] = []
        self._start = time.perf_counter()
        out.mkdir(parents=True, exist_ok=True)

    def __enter__(self) -> Report:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Write the results, also after a failure."""
        self.settings["minutes"] = round((time.perf_counter() - self._start) / 60, 1)
        (self.out / "settings.json").write_text(json.dumps(self.settings, indent=2, default=str) + "\n")
        self._write()

    def table(self, name: str, frame: pd.DataFrame, title: str, digits: int = 3) -> None:
        """Write a table, and print it."""
        frame.to_csv(self.out / f"{name}.csv", index=False)
        text = markdown(frame, digits)
        print(f"\n{title}\n\n{text}", flush=True)
        self._parts.append(f"## {title}\n\n{text}\n")
        self._write()

    def chart(self, name: str, chart: Any) -> None:
        chart.save(self.out / f"{name}.svg")
        chart.save(self.out / f"{name}.png")
        self._parts.append(f"![{name}]({name}.svg)\n")
        self._write()

    def _write(self) -> None:
        settings = "\n".join(f"- {name}: {value}" for name, value in self.settings.items())
        (self.out / "report.md").write_text("\n".join([*self._parts, "## Settings\n", settings, ""]))


def markdown(frame: pd.DataFrame, digits: int = 3) -> str:
    """A frame as a Markdown table."""

    def cell(value: Any) -> str:
        if isinstance(value, float):
            return "" if pd.isna(value) else f"{value:.{digits}f}"
        return str(value).replace("|", "\\|")

    rows = [[str(name) for name in frame.columns], ["---"] * len(frame.columns)]
    rows += [[cell(value) for value in row] for row in frame.itertuples(index=False)]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)
