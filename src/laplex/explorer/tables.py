"""Tables of words in which a click anywhere in a row, or the keyboard, chooses a word."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pandas as pd
import streamlit as st

from laplex.explorer import showing
from laplex.reports import describing
from laplex.reports.finding import JOINT, Finding


@dataclass(frozen=True)
class TableColumn:
    """A column of a table of words: its kind ("number", "words" or "interval"), its name, and a text for each row.

    Rows are sorted by `values`, from the largest at first unless the column is `ascending`. An interval is drawn from
    `ends`, its lower end, its middle and its upper end.
    """

    kind: str
    label: str
    texts: list[str]
    values: list[Any]
    help: str = ""
    ascending: bool = False
    ends: list[tuple[float, float, float]] = field(default_factory=list)

    def at(self, rows: Sequence[int]) -> TableColumn:
        """The column at some rows."""
        parts: dict[str, Any] = {
            name: [part[row] for row in rows] if part else []
            for name, part in (("texts", self.texts), ("values", self.values), ("ends", self.ends))
        }
        return replace(self, **parts)


def show_rows(
    words: Sequence[str],
    columns: Sequence[TableColumn],
    *,
    label: str,
    key: str,
    chosen: str | None,
    faint: Sequence[bool],
    pick: Callable[[str], None],
    height: int = 430,
) -> None:
    """A table with a row for each word, of which one is chosen by a click anywhere in it, or by the keyboard.

    `label` says to a screen reader what the table is. Rows that are `faint` do not hold. `pick` is called with the word
    of the row, before the page is drawn anew.
    """

    def on_click() -> None:
        if (word := st.session_state[key].picked) is not None:
            pick(str(word))

    whole = [TableColumn("word", "word", list(words), list(words), "Sort by the alphabet", ascending=True), *columns]
    most = max((ends[2] for column in columns for ends in column.ends), default=1.0)
    data = {
        "label": label,
        "words": list(words),
        "columns": [vars(column) | {"most": most} for column in whole],
        "faint": list(map(bool, faint)),
        "height": height,
        "chosen": words.index(chosen) if chosen in words else None,
    }
    showing.component("rows")(data=data, key=key, on_picked_change=on_click)


def columns_of_findings(frame: pd.DataFrame, first: Finding) -> list[TableColumn]:
    """The findings of one comparison as they are shown: the difference, p, and what is used with the word."""
    ends = list(zip(frame["lower"], frame["estimate"], frame["upper"]))
    p = [describing.describe_p(*row) for row in zip(frame["p"], frame["permutations"])]
    help = "By how much the log odds of the word in a context typically differ; the line is the interval"
    columns = [
        TableColumn(
            "interval", "difference", [f"{size:.2f}" for _, size, _ in ends], [low for low, *_ in ends], help, ends=ends
        ),
        TableColumn(
            "number",
            "adjusted p",
            [f"{p:.2g}" for p in frame["p_adjusted"]],
            frame["p_adjusted"].tolist(),
            "Adjusted for all words that were tested",
            ascending=True,
        ),
    ]
    unadjusted = TableColumn("number", "p", p, frame["p"].tolist(), "Unadjusted", ascending=True)
    if (first.value, first.against) == JOINT:
        return [*columns, unadjusted, _counts("uses", frame["uses"] + frame["uses_against"])]
    for side, end in zip(first.sides, ("", "_against")):
        texts = frame[f"context{end}"].tolist()
        columns.append(TableColumn("words", f"with, {side.name}", texts, texts, ascending=True))
    columns.append(unadjusted)
    for name, help in (("uses", "How often the word is used"), ("units", "How many units use it")):
        for side, end in zip(first.sides, ("", "_against")):
            columns.append(_counts(f"{name}, {side.name}", frame[f"{name}{end}"], help))
    return columns


def columns_of_distances(frame: pd.DataFrame, value: str, against: str) -> list[TableColumn]:
    """Bare distances as they are shown."""
    distances = frame["distance"].tolist()
    columns = [TableColumn("number", "distance", [f"{one:.3f}" for one in distances], distances)]
    return [*columns, _counts(f"uses, {value}", frame["uses"]), _counts(f"uses, {against}", frame["uses_against"])]


def _counts(label: str, counts: pd.Series, help: str = "") -> TableColumn:
    return TableColumn("number", label, [f"{count:,}" for count in counts], counts.tolist(), help)
