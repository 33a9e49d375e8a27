"""Where do the values of an ordered column lie on a line?

A fitted model, a column and its values come in; a number for each goes out: the number that it is, the middle of the
period that it names, or its place in the order. G values.
"""

from __future__ import annotations

import re
from datetime import date

import numpy as np

from laplex.embeddings import Embeddings
from laplex.errors import InputError, quote
from laplex.posterior.tables import Floats
from laplex.questions.order import ordered_column

DAYS = 365.2425  # in a year
_RANGE = re.compile(r"([0-9]{4})[-–/]?([0-9]{4})")
_DECADE = re.compile(r"([0-9]{4})s")
_QUARTER = re.compile(r"([0-9]{4})[-–/]?Q([1-4])")
_WEEK = re.compile(r"([0-9]{4})[-–/]?W([0-9]{2})")
_DATE = re.compile(r"((?:1[5-9]|2[01])[0-9]{2})[-–/]?(0[1-9]|1[0-2])(?:[-–/]?(0[1-9]|[12][0-9]|3[01]))?")


def scores(fitted: Embeddings, column: str, values: list[str]) -> Floats:
    """(G) Where values lie, in order; a column that is neither numbers nor time needs a Chain in the prior."""
    for read in (_moment, _number):
        found = [read(value) for value in values]
        if None not in found:
            line = np.array(found, np.float64)
            if (np.diff(line) > 0).all():
                return line
    if column not in fitted.columns:
        raise InputError(
            f'"{column}" has no order: its values {quote(values, 4)} are not all numbers or all periods of time'
        )
    ordered_column(fitted, column)
    return np.arange(len(values), dtype=np.float64)


def _number(value: str) -> float | None:
    try:
        number = float(value)
    except ValueError:
        return None
    return number if np.isfinite(number) else None


def _moment(value: str) -> float | None:
    """The middle of a period in years, of which the name is more than a number.

    >>> _moment("1990s"), _moment("2010-Q1"), _moment("1990–1994"), _moment("2010-07")
    (1995.0, 2010.125, 1992.5, 2010.5416666666667)
    """
    if found := _DATE.fullmatch(value):
        year, month, day = (int(part) if part else None for part in found.groups())
        if day is None:
            return year + (month - 0.5) / 12  # type: ignore[operator]
        try:
            passed = date(year, month, day).toordinal() - date(year, 1, 1).toordinal()  # type: ignore[arg-type]
        except ValueError:
            return None
        return year + (passed + 0.5) / DAYS  # type: ignore[operator]
    if found := _RANGE.fullmatch(value):
        return (int(found[1]) + int(found[2]) + 1) / 2
    if found := _DECADE.fullmatch(value):
        return int(found[1]) + 5.0
    if found := _QUARTER.fullmatch(value):
        return int(found[1]) + (int(found[2]) - 0.5) / 4
    if found := _WEEK.fullmatch(value):
        return int(found[1]) + (7 * int(found[2]) - 3.5) / DAYS
    return None
