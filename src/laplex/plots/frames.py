"""The role of each column of a frame: what is measured, its interval, and the keys that say what a row is about.

The tables of laplex (`contrast`, `distance`, `drift`, ...) need no more said; in other frames the caller names columns.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
from pandas.api.types import is_datetime64_any_dtype, is_float_dtype, is_numeric_dtype

from laplex.errors import InputError, quote
from laplex.plots.chart import Floats
from laplex.text.periods import in_order

WORD = "word"
LOWER, UPPER = "lower", "upper"
BETWEEN = " – "  # stands between two values that are compared
VALUE, AGAINST = "value", "against"  # the two sides of a comparison
TERM, LEVEL = "term", "level"  # of a coefficient of a regression
_ALL_LEVELS = "all levels"
COMPARISON = "comparison"  # both in one column
REST = "rest"  # the other side of a value that is compared with all others
HOLDS = "holds"
HOLDS_TEXT, DOUBTFUL_TEXT = "holds", "not shown to hold"  # in legends
MEASURES = ("distance", "similarity", "position", "drift", "difference", "estimate")

# columns that describe a row but do not identify it
_REMARKS = ("rank", "neighbors", "before", "after", HOLDS, "context", "context_against", "permutations")
_TEST_NUMBERS = ("p", "p_adjusted", "standard_error", "cosine")
_COUNTS = re.compile("(count|clusters|uses|units)(_.*)?|n|permutations")  # columns that say how much a row is made from


def as_frame(frame: Any) -> pd.DataFrame:
    """Any frame as a pandas frame that is not empty and whose columns have distinct names."""
    if not isinstance(frame, pd.DataFrame):
        if not hasattr(frame, "__arrow_c_stream__"):
            raise InputError(f"a chart is drawn of a frame, not of {type(frame).__name__}")
        import polars as pl

        frame = pd.DataFrame(pl.DataFrame(frame).to_dict(as_series=False))
    result: pd.DataFrame = frame.set_axis([str(name) for name in frame.columns], axis=1).reset_index(drop=True)
    if len(duplicates := result.columns[result.columns.duplicated()]):
        raise InputError(f'two columns of the frame are called "{duplicates[0]}": rename one')
    if result.empty:
        raise InputError("the frame is empty: there is nothing to draw")
    return result


def with_comparisons(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with what each row compares in one column, if it has the two columns of that and no such column yet.

    The two are the sides of a comparison, "D – R", or the term and the level of a coefficient, "party: R". The column
    takes the place of both among the keys, so that each comparison is a panel or a line of its own.
    """
    if COMPARISON in frame.columns:
        return frame
    if {VALUE, AGAINST} <= {*frame.columns}:
        pairs, last = frame[VALUE].astype(str) + BETWEEN + frame[AGAINST].astype(str), AGAINST
    elif is_regression(frame):
        pairs, last = _coefficients(frame), LEVEL
    else:
        return frame
    result: pd.DataFrame = frame.copy()
    result.insert(list(frame.columns).index(last) + 1, COMPARISON, pairs)
    return result


def is_regression(frame: pd.DataFrame) -> bool:
    """Whether the rows are coefficients of a regression."""
    return {TERM, LEVEL} <= {*frame.columns} and VALUE not in frame.columns


def are_levels_together(frame: pd.DataFrame) -> pd.Series:
    """Which rows of a regression test all levels of a factor together: those without a level whose term has some."""
    levels = frame[LEVEL].fillna("").astype(str)
    return (levels == "") & frame[TERM].isin(set(frame.loc[levels != "", TERM]))


def _coefficients(frame: pd.DataFrame) -> pd.Series:
    """The names of coefficients, such as "party: R", "year" and "party × year: R": main effects before interactions."""
    levels = frame[LEVEL].fillna("").astype(str).mask(are_levels_together(frame), _ALL_LEVELS)
    keys = list(zip(frame[TERM].astype(str), levels))
    place = {level: number for number, level in enumerate([_ALL_LEVELS, *in_order({*levels} - {_ALL_LEVELS})])}
    order = sorted(set(keys), key=lambda key: (key[0].count(":"), key[0], place[key[1]]))
    names = pd.Categorical([_coefficient(*key) for key in keys], [_coefficient(*key) for key in order])
    return pd.Series(names, frame.index)


def _coefficient(term: str, level: str) -> str:
    """The name of a coefficient.

    >>> _coefficient("party", "R"), _coefficient("party:region", "R:north"), _coefficient("year", "")
    ('party: R', 'party × region: R × north', 'year')
    """
    if ":" in term:
        term, level = (" × ".join(text.split(":")) for text in (term, level))
    return f"{term}: {level}" if level else term


def name_of_side(value: str) -> str:
    """A side of a comparison in words.

    >>> name_of_side("rest"), name_of_side("D")
    ('the rest', 'D')
    """
    return "the rest" if value == REST else value


def untested(frame: pd.DataFrame, measured: str) -> bool:
    """Whether some rows of a table with intervals have no value, since there is too little text."""
    return bool(interval_columns(frame)) and bool(frame[measured].isna().any())


def holding(frame: pd.DataFrame) -> pd.Series | None:
    """In words, which rows hold; None if the frame does not say, or all do."""
    if HOLDS not in frame.columns or frame[HOLDS].astype(bool).all():
        return None
    return frame[HOLDS].astype(bool).map({True: HOLDS_TEXT, False: DOUBTFUL_TEXT})


def check_column(frame: pd.DataFrame, column: str, argument: str) -> str:
    """A column that the caller named by this argument."""
    if column not in frame.columns:
        raise InputError(f'{argument}="{column}" is no column of the frame; it has {quote(frame.columns, 12)}')
    return column


def measured_column(frame: pd.DataFrame, column: str | None, argument: str) -> str:
    """The column whose values are drawn: the one named by this argument, a known measure, or the only one of floats."""
    if column is not None:
        check_column(frame, column, argument)
    else:
        known = [
            name for name in MEASURES if name in frame.columns and (name != "estimate" or frame[name].notna().any())
        ]
        if interval_columns(frame) and "estimate" in known:  # which the interval is around
            known = ["estimate"]
        floats = [name for name in frame.columns if is_float_dtype(frame[name]) and name not in (LOWER, UPPER)]
        candidates = known[:1] or floats
        if len(candidates) != 1:
            raise InputError(f"say which column is drawn: {argument}= one of {quote(candidates or frame.columns, 12)}")
        column = candidates[0]
    for name in (column, *interval_columns(frame)):
        if not is_numeric_dtype(frame[name]):
            raise InputError(f'column "{name}" does not hold numbers: it cannot be drawn')
    if not np.isfinite(frame[column].to_numpy(np.float64, na_value=np.nan)).any():
        raise InputError(f'column "{column}" has no value: there is nothing to draw')
    return column


def interval_columns(frame: pd.DataFrame) -> list[str]:
    """The columns with the ends of an interval, if the frame has both, and any interval at all."""
    has_both = LOWER in frame.columns and UPPER in frame.columns
    return [LOWER, UPPER] if has_both and frame[LOWER].notna().any() else []


def finite_values(frame: pd.DataFrame, measured: str) -> Floats:
    """All numbers that the axis has to cover: those measured, and the ends of their intervals."""
    values = frame[[measured, *interval_columns(frame)]].to_numpy(np.float64, na_value=np.nan)
    return np.asarray(values[np.isfinite(values)])


def key_columns(frame: pd.DataFrame, measured: str) -> list[str]:
    """The columns that say what a row is about, such as the word, the period and the parties compared."""
    sides = (VALUE, AGAINST, TERM, LEVEL) if COMPARISON in frame.columns else ()
    return [
        name
        for name in frame.columns
        if name not in (measured, LOWER, UPPER, *_REMARKS, *sides)
        and not is_float_dtype(frame[name])
        and isinstance(frame[name].iloc[0], Hashable)
        and not (_COUNTS.fullmatch(name) and is_numeric_dtype(frame[name]))
    ]


def varying_columns(frame: pd.DataFrame, measured: str, without: str) -> list[str]:
    """The keys that have more than one value."""
    keys = key_columns(frame, measured)
    return [name for name in keys if name != without and frame[name].nunique(dropna=False) > 1]


def axis_column(frame: pd.DataFrame, measured: str, column: str | None) -> str:
    """The column along the x axis: the one named, the only key with numbers or dates, or the only key."""
    if column is not None:
        check_column(frame, column, "x")
        if frame[column].isna().any():
            raise InputError(f'x="{column}" has no value in {frame[column].isna().sum():,} rows: leave them out')
        return column
    keys = [name for name in key_columns(frame, measured) if name != WORD and not frame[name].isna().any()]
    keys = [name for name in keys if not frame[name].astype(str).str.contains(BETWEEN, regex=False).all()]
    candidates = [name for name in keys if kind_of(frame[name]) != "name"] or keys or number_columns(frame, measured)
    if len(candidates) > 1 and all(determines(frame, candidates[-1], name) for name in candidates[:-1]):
        candidates = candidates[-1:]  # such as the end of a step, which determines its beginning
    if len(candidates) != 1:
        raise InputError(f"say which column runs along the chart: x= one of {quote(candidates or frame.columns, 12)}")
    return candidates[0]


def number_columns(frame: pd.DataFrame, measured: str) -> list[str]:
    """Columns of numbers that are neither measured nor a part of its interval or test, such as that of an effect."""
    others = (measured, LOWER, UPPER, *MEASURES, *_TEST_NUMBERS)
    return [name for name in frame.columns if is_float_dtype(frame[name]) and name not in others]


def determines(frame: pd.DataFrame, one: str, two: str) -> bool:
    """Whether each value of column `one` goes with a single value of column `two`."""
    return bool(frame.groupby(one, dropna=False, observed=True)[two].nunique(dropna=False).max() == 1)


def kind_of(values: pd.Series) -> Literal["number", "date", "name"]:
    """Whether a column holds numbers, dates or names; numbers and dates may be written as text."""
    if is_datetime64_any_dtype(values):
        return "date"
    if np.isfinite(pd.to_numeric(values.astype(object), errors="coerce").to_numpy(np.float64, na_value=np.nan)).all():
        return "number"
    is_written_as_date = values.astype(str).str.fullmatch(r"\d{4}-\d{2}(-\d{2})?").all()
    return "date" if is_written_as_date and as_dates(values).notna().all() else "name"


def as_dates(values: pd.Series) -> pd.Series:
    """Dates in UTC, also of text; NaT for what is no date."""
    return pd.to_datetime(values.astype(str), format="ISO8601", errors="coerce", utc=True)


def distinct_values(values: pd.Series) -> list[str]:
    """The distinct values of a column: categories in their order, numbers by size, others by the alphabet."""
    if isinstance(values.dtype, pd.CategoricalDtype):
        return [str(value) for value in values.cat.remove_unused_categories().cat.categories]
    return in_order({str(value) for value in values})


def row_labels(frame: pd.DataFrame, columns: Sequence[str]) -> pd.Series:
    """The values of these columns in each row, with commas between."""
    if not columns:
        return pd.Series("", frame.index)
    return pd.Series([", ".join(map(str, row)) for row in frame[list(columns)].itertuples(index=False)], frame.index)
