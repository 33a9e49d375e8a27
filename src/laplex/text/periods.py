"""Dates and periods of time: what counts as one, which period a date falls into, and the order of values.

A period is named by its beginning: a year ("2010") for steps of years, a month ("2010-07") for steps of months, a day
for steps of weeks or days. Such names sort in the order of time. G values.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from math import isfinite

import numpy as np
import polars as pl
from numpy.typing import NDArray

from laplex.errors import InputError

# 2010, 2010-05, 2010-05-03, 20100503, the last two also with a time of day
_DATE = r"^(?P<year>[0-9]{4})(?:-?(?P<month>[0-9]{2})(?:-?(?P<day>[0-9]{2})(?:[T ][0-9].*)?)?)?$"
# 2010, 2010-05, 2010-05-31, 2010-Q1, 2010-W09, 1990s, 1990–1994; four digits are a year, or a month and a day
_PERIOD = re.compile(
    r"(?P<year>[0-9]{4})(?:(?P<decade>s)|[-–/]?(?:(?P<digits>[0-9]{4})|Q(?P<quarter>[1-4])|W(?P<week>[0-9]{2})"
    r"|(?P<month>[0-9]{2})(?:[-–/]?(?P<day>[0-9]{2}))?))?"
)
_STEP = re.compile(r"[1-9]\d{0,3}[ymwd]")
_FIRST_MONDAY = 4  # days from 1970-01-01
_DAYS_PER_YEAR = 365.2425
_YEARS_WITH_MONTHS = range(1500, 2200)  # elsewhere 100112 is a number, not a month


def in_order(values: Iterable[str]) -> list[str]:
    """The values of a column as they are listed: by size if all are numbers, else by the alphabet."""
    names = sorted(values)
    numbers = [_number(name) for name in names]
    return names if None in numbers else [name for _, name in sorted(zip(numbers, names))]


def are_periods(values: Iterable[str]) -> bool:
    """Whether values are all periods of time: years, months or days."""
    return all(map(_PERIOD.fullmatch, values))


def have_order(values: Iterable[str]) -> bool:
    """Whether values have an order of their own, being all numbers or all periods of time."""
    values = list(values)
    return all(_number(value) is not None for value in values) or are_periods(values)


def positions(values: Sequence[str]) -> NDArray[np.float64] | None:
    """(G) The place of each value on a line, strictly increasing: years if all are periods of time, or numbers.

    None if the values are neither, or not in order.
    """
    for parse in (_year, _number):
        places = [parse(value) for value in values]
        if None not in places and (np.diff(line := np.array(places, np.float64)) > 0).all():
            return line
    return None


def _number(value: str) -> float | None:
    try:
        number = float(value)
    except ValueError:
        return None
    return number if isfinite(number) else None


def _year(value: str) -> float | None:
    """The middle of a period, in years. None for a year alone, which is a number, and for an unclear period (1990–94).

    >>> _year("1990s"), _year("2010-Q1"), _year("1990–1994"), _year("2010-07")
    (1995.0, 2010.125, 1992.5, 2010.5416666666667)
    """
    match = _PERIOD.fullmatch(value)
    if match is None:
        return None
    year, digits, month, day = int(match["year"]), match["digits"], match["month"], match["day"]
    if match["decade"]:
        return year + 5.0
    if match["quarter"]:
        return year + (int(match["quarter"]) - 0.5) / 4
    if match["week"]:
        return year + (7 * int(match["week"]) - 3.5) / _DAYS_PER_YEAR
    if digits:
        if int(digits) >= year:
            return (year + int(digits) + 1) / 2
        month, day = digits[:2], digits[2:]
    if month is None or year not in _YEARS_WITH_MONTHS:
        return None
    try:
        days = date(year, int(month), int(day or 1)).toordinal() - date(year, 1, 1).toordinal()
    except ValueError:
        return None
    return year + (days + 0.5) / _DAYS_PER_YEAR if day else year + (int(month) - 0.5) / 12


@dataclass(frozen=True)
class Periods:
    """Adds a column `name` to a frame: the period of `every` that the date in `column` falls into."""

    column: str
    every: str
    name: str
    start: int
    format: str | None

    def __post_init__(self) -> None:
        if not _STEP.fullmatch(self.every):
            raise InputError(f'every="{self.every}" is not a step of time: write "1y", "10y", "6m", "2w" or "30d"')
        if self.start and self.every[-1] in "wd":
            raise InputError(f'start={self.start} is a year: it has no meaning with every="{self.every}"')

    def apply(self, frame: pl.DataFrame, place: str) -> pl.DataFrame:
        """The frame with the column of periods; `place` says which documents these are, for an error message."""
        values = frame[self.column]
        if self.format is not None:
            dates = values.str.to_date(self.format, strict=False)
            parts = pl.DataFrame({"year": dates.dt.year(), "month": dates.dt.month(), "day": dates.dt.day()})
        else:
            parts = values.str.extract_groups(_DATE).struct.unnest().cast(pl.Int32)
        optional = {"y": ["month", "day"], "m": ["day"]}.get(self.every[-1], [])
        parts = parts.with_columns(pl.col(optional).fill_null(1))
        iso = pl.format("{}-{}-{}", *(pl.col(p).cast(pl.String).str.zfill(n) for p, n in zip(parts.columns, (4, 2, 2))))
        dates = parts.select(iso.str.to_date("%Y-%m-%d", strict=False)).to_series()
        bad = (values.is_not_null() & dates.is_null()).arg_true()
        if len(bad):
            value, (year, month, day) = values[bad[0]], parts.row(bad[0])
            if year is not None and None in (month, day):
                raise InputError(
                    f'column "{self.column}" has no day or month in "{value}" ({place}): '
                    f'every="{self.every}" is too fine for it, write "1y" or so'
                )
            raise InputError(
                f'column "{self.column}": "{value}" is neither a date such as 2010-05-31 nor a year ({place}); '
                'for another way to write dates give format="%d/%m/%Y"'
            )
        return frame.with_columns(self._period(dates).alias(self.name))

    def _period(self, dates: pl.Series) -> pl.Series:
        """The name of the period of each date, which is its first year, month or day."""
        count, unit = int(self.every[:-1]), self.every[-1]
        if unit == "y":
            year = dates.dt.year()
            return (year - (year - self.start) % count).cast(pl.String).str.zfill(4)
        if unit == "m":
            month = dates.dt.year().cast(pl.Int32) * 12 + dates.dt.month().cast(pl.Int32) - 1
            month = month - (month - self.start * 12) % count
            return (month // 12).cast(pl.String).str.zfill(4) + "-" + (month % 12 + 1).cast(pl.String).str.zfill(2)
        days = dates.to_physical()
        return (days - (days - _FIRST_MONDAY) % (count * (7 if unit == "w" else 1))).cast(pl.Date).cast(pl.String)
