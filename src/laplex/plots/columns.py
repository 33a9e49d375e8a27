"""Which column of a frame is what.

A frame that answers a question comes in: what it measures (a distance, perhaps with an interval), how often the words
occur, and the keys, which are the columns that say what a row is about (the word, the period, the parties compared).
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
import polars as pl
from numpy.typing import NDArray

from laplex.corpus import in_order
from laplex.errors import InputError, quote

WORD = "word"
LOWER, UPPER = "lower", "upper"
BETWEEN = " – "  # what stands between two values that are compared
NOTES = ("rank", "neighbors", "before", "after")  # what is said about a row, not what it is about
COUNTED = re.compile("(count|clusters)(_.*)?|n")  # columns that say how much text there is
MEASURES = ("distance", "similarity", "position", "drift", "difference", "estimate")

Kind = Literal["number", "date", "name"]


def table(frame: Any) -> pd.DataFrame:
    """Any frame as a pandas frame with text as names of columns; there is something in it."""
    if not isinstance(frame, pd.DataFrame):
        if not hasattr(frame, "__arrow_c_stream__"):
            raise InputError(f"a chart is drawn of a frame, not of {type(frame).__name__}")
        frame = pd.DataFrame(pl.DataFrame(frame).to_dict(as_series=False))
    whole: pd.DataFrame = frame.set_axis([str(name) for name in frame.columns], axis=1).reset_index(drop=True)
    twice = whole.columns[whole.columns.duplicated()]
    if len(twice):
        raise InputError(f'two columns of the frame are called "{twice[0]}": rename one')
    if whole.empty:
        raise InputError("the frame is empty: there is nothing to draw")
    return whole


def check(frame: pd.DataFrame, column: str, what: str) -> str:
    if column not in frame.columns:
        raise InputError(f'{what}="{column}" is no column of the frame; it has {quote(frame.columns, 12)}')
    return column


def measure(frame: pd.DataFrame, asked: str | None, what: str) -> str:
    """The column that is drawn; `what` is the argument that names it."""
    if asked is not None:
        column = check(frame, asked, what)
    else:
        known = [name for name in MEASURES if name in frame.columns]
        if has_interval(frame) and "estimate" in known:  # what the interval is around
            known = ["estimate"]
        floats = [name for name in frame.columns if _is_float(frame[name]) and name not in (LOWER, UPPER)]
        found = known[:1] or floats
        if len(found) != 1:
            raise InputError(f"say which column is drawn: {what}= one of {quote(found or frame.columns, 12)}")
        column = found[0]
    for name in (column, *((LOWER, UPPER) if has_interval(frame) else ())):
        if not pd.api.types.is_numeric_dtype(frame[name]):
            raise InputError(f'column "{name}" does not hold numbers: it cannot be drawn')
    if not np.isfinite(frame[column].to_numpy(np.float64, na_value=np.nan)).any():
        raise InputError(f'column "{column}" has no value: there is nothing to draw')
    return column


def has_interval(frame: pd.DataFrame) -> bool:
    return LOWER in frame.columns and UPPER in frame.columns


def drawn_values(frame: pd.DataFrame, measured: str) -> NDArray[np.float64]:
    """All numbers that have to be in the chart: what is measured, and the ends of its intervals."""
    names = [measured, *([LOWER, UPPER] if has_interval(frame) else [])]
    values = np.concatenate([frame[name].to_numpy(np.float64, na_value=np.nan) for name in names])
    finite: NDArray[np.float64] = values[np.isfinite(values)]
    return finite


def keys(frame: pd.DataFrame, measured: str) -> list[str]:
    """The columns that say what a row is about."""
    return [
        name
        for name in frame.columns
        if name not in (measured, LOWER, UPPER, *NOTES)
        and not _is_float(frame[name])
        and isinstance(frame[name].iloc[0], Hashable)
        and not (COUNTED.fullmatch(name) and pd.api.types.is_numeric_dtype(frame[name]))
    ]


def along(frame: pd.DataFrame, names: Sequence[str], asked: str | None) -> str:
    """The key that runs along the x axis: the only one with numbers or dates, or else the only one."""
    if asked is not None:
        check(frame, asked, "x")
        if frame[asked].isna().any():
            raise InputError(f'x="{asked}" has no value in {frame[asked].isna().sum():,} rows: leave them out')
        return asked
    names = [name for name in names if not frame[name].isna().any()]
    found = [name for name in names if name != WORD and not _is_compared(frame[name])]
    ordered = [name for name in found if kind(frame[name]) != "name"]
    candidates = ordered or found
    if len(candidates) > 1 and all(decides(frame, candidates[-1], name) for name in candidates[:-1]):
        candidates = candidates[-1:]  # as the end of a step decides where it began
    if len(candidates) != 1:
        raise InputError(f"say which column runs along the chart: x= one of {quote(candidates or frame.columns, 12)}")
    return candidates[0]


def decides(frame: pd.DataFrame, one: str, two: str) -> bool:
    """Is there one value of column `two` for each value of column `one`?"""
    return bool(frame.groupby(one, dropna=False, observed=True)[two].nunique(dropna=False).max() == 1)


def kind(values: pd.Series) -> Kind:
    """What the values of a column are, also where they are written as text."""
    if pd.api.types.is_datetime64_any_dtype(values):
        return "date"
    if np.isfinite(pd.to_numeric(values.astype(object), errors="coerce").to_numpy(np.float64, na_value=np.nan)).all():
        return "number"
    looks = values.astype(str).str.fullmatch(r"\d{4}-\d{2}(-\d{2})?").all()
    return "date" if looks and moments(values).notna().all() else "name"


def moments(values: pd.Series) -> pd.Series:
    """Dates, also where they are written as text, in UTC."""
    return pd.to_datetime(values.astype(str), format="ISO8601", errors="coerce", utc=True)


def ordered(values: pd.Series) -> list[str]:
    """The values of a column, each once: categories in their order, numbers by size, the rest by the alphabet."""
    if isinstance(values.dtype, pd.CategoricalDtype):
        present = set(values)
        return [str(value) for value in values.cat.categories if value in present]
    return in_order({str(value) for value in values})


def label(frame: pd.DataFrame, columns: Sequence[str]) -> pd.Series:
    """What a row is, in words: the values of some columns, with commas between."""
    if not columns:
        return pd.Series("", frame.index)
    return pd.Series([", ".join(map(str, row)) for row in frame[list(columns)].itertuples(index=False)], frame.index)


def axis_title(frame: pd.DataFrame, measured: str, title: str) -> str:
    """ "Distance" is "Distance between D and R" if that is the only pair in the frame, and so on."""
    same = {name: str(frame[name].iloc[0]) for name in keys(frame, measured) if frame[name].nunique(dropna=False) == 1}
    pairs = [same[name].split(BETWEEN) for name in same if BETWEEN in same[name] and name != WORD]
    if measured == "estimate":
        plain = [name for name in MEASURES[:-1] if name in frame.columns]
        is_distance = not plain and "p_adjusted" in frame.columns and "z" not in frame.columns
        measured = plain[0] if plain else "distance" if is_distance else measured
        title = f"{measured.capitalize()} without noise" if measured != "estimate" else "Difference"
    if measured == "distance" and len(pairs) == 1 and len(pairs[0]) == 2:
        return f"{title} between {pairs[0][0]} and {pairs[0][1]}"
    if measured == "distance" and {"from", "to"} <= same.keys():
        return f"{title} from {same['from']} to {same['to']}"
    other = [same[name] for name in ("to", "other", WORD) if name in same and (name != WORD or "neighbor" in frame)]
    return f"{title} to {other[0]}" if measured == "similarity" and other else title


def _is_float(values: pd.Series) -> bool:
    return bool(pd.api.types.is_float_dtype(values))


def _is_compared(values: pd.Series) -> bool:
    return bool(values.astype(str).str.contains(BETWEEN, regex=False).all())
