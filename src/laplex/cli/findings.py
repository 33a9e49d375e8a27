"""Printing of findings: two lines for each, one for either side of what is compared."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

from laplex.cli.printing import p_values, save, show, show_frame, write_csv
from laplex.plots.frames import LEVEL, TERM, are_levels_together

SIDE, CONTEXT = "side", "used with"
ESTIMATE, P = "estimate\n(interval)", "p\n(adj.)"
_SHOWN = ["word", "value", "against", TERM, LEVEL, "estimate", "standard_error", "lower", "upper", "p", "p_adjusted"]
_SHOWN += ["holds", "uses", "uses_against", "units", "units_against", "context", "context_against", "permutations"]


def answer_findings(
    frame: pd.DataFrame, top: int, csv: Path | None, plot: Path | None, draw: Callable[[pd.DataFrame], Any]
) -> None:
    """Print and draw the first `top` rows of a table of findings, or of bare distances, and write all of them."""
    first = frame.head(top)
    if "context" in frame:
        shown = readable(frame).head(2 * top)
        alike = ["holds"] if first["holds"].nunique() == 1 else []  # then it is said in a sentence
        show_frame(shown.drop(columns=alike), wrapped=[TERM, SIDE, CONTEXT])
    else:
        show_frame(first)
    show_rest(frame, top, csv)
    if csv is not None:
        write_csv(frame, csv)
    save(first, None, plot, draw)


def show_rest(frame: pd.DataFrame, top: int, csv: Path | None) -> None:
    """Print whether the rows that were shown hold, and how many are not shown."""
    holding = int(frame["holds"].sum()) if "holds" in frame else 0
    held = " All of these hold." if holding >= min(top, len(frame)) > 0 else ""
    if len(frame) > top and csv is None:
        show(f"\n{top:,} of {len(frame):,} rows; --top shows more, and --csv writes all.{held}")
    elif held:
        show(f"\n{held.strip()}")


def explain_first(model: Path, column: str, frame: pd.DataFrame, options: list[Any]) -> list[list[Any]]:
    """The command that takes the first finding of a table apart, if there is one."""
    if "holds" not in frame or not frame["holds"].any():
        return []
    row = frame.iloc[0]
    sides = [str(row["value"]), str(row["against"])]
    whole = frame.attrs.get("question") == "drift" or sides == ["any", "others"]  # which explain compares by itself
    values = [part for side in sides if side != "rest" and not whole for part in ("--value", side)]
    return [["explain", model, row["word"], column, *values, *options]]


def readable(frame: pd.DataFrame) -> pd.DataFrame:
    """Findings as text that fits a terminal, with two rows for each: its sides, and the interval below the estimate.

    The term of a regression is left out if there is only one.
    """
    intervals = ["" if pd.isna(low) else f"({low:.2f}–{high:.2f})" for low, high in zip(frame["lower"], frame["upper"])]
    estimates = ["" if pd.isna(size) else f"{size:.2f}" for size in frame["estimate"]]
    adjusted = ["" if pd.isna(p) else f"({p:.2g})" for p in frame["p_adjusted"]]
    named = [name for name in frame if name not in _SHOWN]  # such as the period, of distances through time
    named += [TERM] if TERM in frame and frame[TERM].nunique() > 1 else []
    keys = frame[["word", *named]].astype(str)
    first, second = keys.copy(), pd.DataFrame("", keys.index, keys.columns)
    first[ESTIMATE], second[ESTIMATE] = estimates, intervals
    first[P], second[P] = p_values(frame), adjusted
    first["holds"], second["holds"] = frame["holds"].map({True: "yes", False: ""}), ""
    first[SIDE], second[SIDE] = sides(frame)
    for name in ("uses", "units"):
        first[name], second[name] = (frame[column].astype("Int64") for column in (name, f"{name}_against"))
        second.loc[second[SIDE] == "", name] = pd.NA
    first.loc[second[SIDE] == "", "units"] = pd.NA  # which are those of the two largest levels
    first[CONTEXT], second[CONTEXT] = frame["context"], frame["context_against"]
    return pd.concat([first, second]).sort_index(kind="stable").reset_index(drop=True)


def sides(frame: pd.DataFrame) -> tuple[list[str], list[str]]:
    """The names of both sides of each row; the second is empty where several levels are tested together."""
    if frame.attrs.get("question") == "drift":  # whose ends are named, but whose halves are compared
        return ["earlier"] * len(frame), ["later"] * len(frame)
    if TERM not in frame:
        return frame["value"].astype(str).tolist(), frame["against"].astype(str).tolist()
    pairs = [
        _sides_of_term(str(term), str(level), together)
        for term, level, together in zip(frame[TERM], frame[LEVEL], are_levels_together(frame))
    ]
    return [one for one, _ in pairs], [two for _, two in pairs]


def _sides_of_term(term: str, level: str, together: bool) -> tuple[str, str]:
    """The sides of a coefficient: a level and its reference, the halves of a number, or all of a term together.

    >>> _sides_of_term("party", "R", False), _sides_of_term("party:year", "R", False)
    (('R', 'reference'), ('R, upper half', 'R, lower half'))
    """
    if together or "s(" in term:
        return "all levels" if together else "the curve", ""
    if level and level.count(":") >= term.count(":"):
        return level, "reference"
    where = f"{level}, " if level else ""
    return f"{where}upper half", f"{where}lower half"
