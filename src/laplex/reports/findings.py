"""The findings of a report: a table and an evidence plot for each comparison, and panels of the words that hold."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from laplex.errors import InputError
from laplex.fitting.provenance import value_name
from laplex.plots.frames import name_of_side
from laplex.reports import choosing, describing
from laplex.reports.evidence import evidence, is_joint
from laplex.reports.finding import JOINT, Finding, finding, panel

ROWS, ROWS_THAT_DO_NOT_HOLD = 15, 8  # that are shown at first, of a comparison with findings, and of one without
MAX_ROWS = 60_000  # in the page, of all comparisons together, which is about 5 MB
OPEN_COMPARISONS = 4  # of a column that are unfolded at first
FEWEST_CONTEXT_WORDS = 3  # of each side in a panel
PASSAGES = 2  # of each side
COUNTS = ("uses", "uses_against", "units", "units_against", "permutations")
NUMBERS = ("estimate", "lower", "upper", "p", "p_adjusted")


@dataclass
class ComparisonTable:
    """One comparison of a column: the tested rows of its table."""

    column: str
    value: str
    against: str
    name: str  # as a heading
    sides: tuple[str, ...]  # as they are shown
    rows: pd.DataFrame
    tested: int  # rows, of which the page may have the first only
    panels: dict[str, dict[str, Any]] = field(default_factory=dict)  # by word

    @property
    def key(self) -> tuple[str, str, str]:
        """What is compared."""
        return self.column, self.value, self.against

    @property
    def held(self) -> int:
        """How many words hold, which are the first rows."""
        return int(self.rows["holds"].sum())


@dataclass
class ColumnFindings:
    """What was found about a column, or why it could not be tested."""

    name: str
    title: str
    summary: str
    warning: str = ""
    how: str = ""
    frame: pd.DataFrame | None = None
    comparisons: list[ComparisonTable] = field(default_factory=list)


def ask(tests: Any, name: str) -> ColumnFindings:
    """Ask for the findings about a column, which are mostly kept with the model."""
    question = tests.question(name)
    title = f"What changes along {name}" if question == "drift" else f"What differs by {name}"
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            frame = getattr(tests, question)(name)
    except InputError as error:
        return ColumnFindings(name, title, f"Not tested: {error}.")
    warning = " ".join(sentence(str(one.message)) for one in caught if one.category is UserWarning)
    comparisons = [_comparison(tests, name, question, frame, *pair) for pair in choosing.comparisons(frame)]
    shown = [one for one in comparisons if len(one.rows)]
    how = how_to_read(tests, question, any(is_joint(one.rows) for one in shown))
    return ColumnFindings(name, title, sentence(frame.attrs["summary"]), warning, how, frame, shown)


def how_to_read(tests: Any, question: str, joint: bool) -> str:
    """What the numbers mean, in sentences."""
    sides = "from the first value to the last" if question == "drift" else "between the two sides"
    sides = "between the values" if joint else sides
    return (
        f"The difference is by how much the log odds of the word in a context typically differ {sides}, without noise; "
        f"0 is none. A word holds if p, adjusted for the number of words, is at most {tests.level:g}, and the interval "
        f"begins at {tests.min_effect:g} or more. Function words are left out."
    )


def _comparison(
    tests: Any, column: str, question: str, frame: pd.DataFrame, value: str, against: str
) -> ComparisonTable:
    rows = frame[(frame["value"] == value) & (frame["against"] == against) & frame["p"].notna()]
    one, two = (value_name(tests.fitted, column, side) for side in (value, against))
    sides: tuple[str, ...] = (one, name_of_side(two))
    if len(rows) and question == "drift":
        sides = tuple(side.name for side in finding(tests, column, rows.iloc[0].to_dict(), question).sides)
    if (value, against) == JOINT:
        sides = ()
    name = describing.describe_comparison(question, one, two)
    title, rows = name[:1].upper() + name[1:], rows.reset_index(drop=True)
    return ComparisonTable(column, value, against, title, sides, rows, len(rows))


def words_with_panels(
    comparisons: Sequence[ComparisonTable], most: int, wanted: Collection[str]
) -> list[tuple[int, int]]:
    """The comparison and the row of words that have a panel: first those wanted, then the first of each in turn."""
    named = [
        (number, row)
        for number, one in enumerate(comparisons)
        if one.sides
        for row in one.rows.index[one.rows["word"].isin(list(wanted))].tolist()
    ]
    longest = max((one.held for one in comparisons if one.sides), default=0)
    rest = [
        (number, row)
        for row in range(min(longest, most))
        for number, one in enumerate(comparisons)
        if one.sides and row < one.held
    ]
    return list(dict.fromkeys([*named, *rest]))[:most]


def word_panel(tests: Any, found: Finding, *, text: bool) -> dict[str, Any]:
    """What the difference of a word is made of, as the template takes it; InputError if the text is not at hand."""
    explanation = found.explain(tests, passages=PASSAGES if text else 0)
    sides = panel(explanation, tuple(side.name for side in found.sides), tests.excluded(), tests.fitted)
    for side in sides:  # the surest; others only where there are few of these
        side["context"] = [row for n, row in enumerate(side["context"]) if row["lower"] > 0 or n < FEWEST_CONTEXT_WORDS]
    scale = max((row["upper"] for side in sides for row in side["context"]), default=1.0) or 1.0
    for side in sides:
        for row in side["context"]:
            row["bar"] = [
                round(min(max(100 * row[name] / scale, 0), 100), 1) for name in ("contribution", "lower", "upper")
            ]
    return {"finding": found, "sides": sides}


def limit_rows(comparisons: Sequence[ComparisonTable], most: int = MAX_ROWS) -> None:
    """Keep the first rows of each comparison, so that the page does not grow without bounds."""
    room = most // max(len(comparisons), 1)
    for one in comparisons:
        one.rows = one.rows.head(max(room, ROWS))


def data_of(one: ComparisonTable) -> dict[str, Any]:
    """The words of a comparison as the page's script takes them: a list for each column of the table."""
    rows = one.rows
    made: dict[str, Any] = {name: [float(f"{number:.4g}") for number in rows[name].tolist()] for name in NUMBERS}
    made |= {name: rows[name].astype(int).tolist() for name in COUNTS}
    has_context = rows.index[(rows["context"] != "") | (rows["context_against"] != "")].tolist()
    context = {row: [str(rows["context"][row]), str(rows["context_against"][row])] for row in has_context}
    labels = {"column": one.column, "value": one.value, "against": one.against, "name": one.name, "sides": one.sides}
    return labels | {"held": one.held, "word": rows["word"].astype(str).tolist(), "context": context} | made


def shown_comparison(tests: Any, one: ComparisonTable, number: int, place: int) -> dict[str, Any]:
    """A comparison as the template takes it; `number` counts those of the page, `place` those of its column."""
    total, limit = one.tested, ROWS if one.held else ROWS_THAT_DO_NOT_HOLD
    if one.held:
        text = f"{one.held:,} of {total:,} words hold."
    else:
        text = f"None of {total:,} words holds. What comes nearest, none of which is a finding, comes first."
    if len(one.rows) < total:
        text += f" This page has the first {len(one.rows):,} of them."
    return {
        "number": number,
        "name": one.name,
        "sides": one.sides,
        "text": text,
        "open": place < OPEN_COMPARISONS,
        "plot": evidence(one.rows, tests.min_effect, one.panels),
        "rows": [_shown_row(row, bool(one.sides)) for row in one.rows.head(limit).to_dict("records")],
        "panels": list(one.panels.values()),
    }


def _shown_row(row: dict[Any, Any], two_sides: bool) -> dict[str, Any]:
    uses = [row["uses"], row["uses_against"]] if two_sides else [row["uses"] + row["uses_against"]]
    cells = [
        {"kind": "number", "text": f"{row['estimate']:.2f}"},
        {"kind": "number", "text": f"{row['lower']:.2f}–{row['upper']:.2f}"},
        {"kind": "number", "text": f"{row['p_adjusted']:.2g}"},
        {"kind": "", "text": "yes" if row["holds"] else "no"},
        *({"kind": "number", "text": f"{count:,}"} for count in uses),
        *({"kind": "with", "text": row[name]} for name in ("context", "context_against") if two_sides),
    ]
    return {"word": row["word"], "holds": row["holds"], "cells": cells}


def sentence(text: str) -> str:
    """A text that begins with a capital letter and ends with a full stop."""
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."
