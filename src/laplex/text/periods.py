"""Dates and periods of time: what counts as one, which period a date falls into, and the order of values.

A period is named by its beginning: a year ("2010") for steps of years, a month ("2010-07") for steps of months, a day
for steps of weeks or days. Such names sort in the order of time. Numbers and ranges of numbers ("18 to 34") have an
order, too. G values.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from math import isfinite
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from laplex.errors import InputError
from laplex.runtime import lazy

if TYPE_CHECKING:
    import polars as pl
else:
    pl = lazy.module("polars")

# 2010, 2010-05, 2010-05-03, 20100503, the last two also with a time of day
_DATE = r"^(?P<year>[0-9]{4})(?:-?(?P<month>[0-9]{2})(?:-?(?P<day>[0-9]{2})(?:[T ][0-9].*)?)?)?$"
# 2010, 2010-05, 2010-05-31, 2010-Q1, 2010-W09, 1990s, 1990–1994; four digits are a year, or a month and a day
_PERIOD = re.compile(
    r"(?P<year>[0-9]{4})(?:(?P<decade>s)|[-–/]?(?:(?P<digits>[0-9]{4})|Q(?P<quarter>[1-4])|W(?P<week>[0-9]{2})"
    r"|(?P<month>[0-9]{2})(?:[-–/]?(?P<day>[0-9]{2}))?))?"
)
RANGE = " to "  # between the ends of a range of numbers, which names a bin: 18 to 34
_STEP = re.compile(r"[1-9]\d{0,3}[ymwd]")
_FIRST_MONDAY = 4  # days from 1970-01-01
_DAYS_PER_YEAR = 365.2425
_YEARS_WITH_MONTHS = range(1500, 2200)  # elsewhere 100112 is a number, not a month


def in_order(values: Iterable[str]) -> list[str]:
    """The values of a column as they are listed: by size if all are numbers or ranges, else by the alphabet.

    >>> in_order(["100 to 250", "5", "18 to 99"])
    ['5', '18 to 99', '100 to 250']
    """
    names = sorted(values)
    ranges = [_range(name) for name in names]
    return names if None in ranges else [name for _, name in sorted(zip(ranges, names))]


def are_periods(values: Iterable[str]) -> bool:
    """Whether values are all periods of time: years, months or days."""
    return all(map(_PERIOD.fullmatch, values))


def have_order(values: Iterable[str]) -> bool:
    """Whether values have an order of their own, being all numbers or ranges of them, or all periods of time."""
    values = list(values)
    return all(_range(value) is not None for value in values) or are_periods(values)


def positions(values: Sequence[str]) -> NDArray[np.float64] | None:
    """(G) The place of each value on a line, never decreasing: years if all are periods of time, or numbers.

    Two spellings of one number have the same place. None if the values are neither, not in order, or all the same.
    """
    for parse in (_year, _middle):
        line = _parsed(values, parse)
        if line is not None and (np.diff(line) >= 0).all() and (len(line) < 2 or line[0] < line[-1]):
            return line
    return None


def numbers_of(values: Sequence[str], *, periods: bool = True) -> NDArray[np.float64] | None:
    """(G) Each value as a number, in any order: years if all are periods of time, or numbers. None if neither.

    With `periods=False` 20100503 is a number and not a day.
    """
    years = _parsed(values, _year) if periods else None
    return _parsed(values, _middle) if years is None else years


def is_number(value: str) -> bool:
    """Whether a value is a finite number or a range of numbers, such as "18 to 34"."""
    return _range(value) is not None


def span_name(first: str, last: str) -> str:
    """The name of all values of an ordered column from one to another.

    >>> span_name("1781", "1861"), span_name("18 to 34", "35 to 49"), span_name("low", "low")
    ('1781 to 1861', '18 to 49', 'low')
    """
    if first == last:
        return first
    if is_number(first) and is_number(last):
        first, last = first.partition(RANGE)[0], last.rpartition(RANGE)[2]
    return first + RANGE + last


def period_name(first: str, last: str, every: str, until: str = "") -> str:
    """All periods of a length from one to another, by the first and the last year, month or day in them.

    None of these is after `until`, the last date of the text as year, month and day, or only the first of these.

    >>> period_name("1981", "2021", "40y", "2021-04-28"), period_name("2010-07", "2010-07", "6m", "2010-09-01")
    ('1981–2021', '2010-07–2010-09')
    >>> period_name("1861", "1861", "40y"), period_name("1861", "1901", "40y"), period_name("2010", "2010", "1y")
    ('1861–1900', '1861–1940', '2010')
    >>> period_name("2010-07", "2010-07", "6m"), period_name("2010-07-05", "2010-07-05", "1w")
    ('2010-07–2010-12', '2010-07-05–2010-07-11')
    """
    count, unit = int(every[:-1]), every[-1]
    if unit == "y":
        end = f"{int(last) + count - 1:04}"
    elif unit == "m":
        year, month = map(int, last.split("-"))
        year, month = divmod(12 * year + month - 1 + count - 1, 12)
        end = f"{year:04}-{month + 1:02}"
    else:
        end = str(date.fromisoformat(last) + timedelta(days=count * (7 if unit == "w" else 1) - 1))
    if len(until) >= len(end):
        end = max(min(end, until[: len(end)]), last)
    return first if end == first else f"{first}–{end}"


def _parsed(values: Sequence[str], parse: Callable[[str], float | None]) -> NDArray[np.float64] | None:
    """(G) The number of each value, None as soon as one has none."""
    numbers = np.empty(len(values))
    for place, value in enumerate(values):
        number = parse(value)
        if number is None:
            return None
        numbers[place] = number
    return numbers


def _number(value: str) -> float | None:
    try:
        number = float(value)
    except ValueError:
        return None
    return number if isfinite(number) else None


def _range(value: str) -> tuple[float, float] | None:
    """The ends of a range of numbers; those of a number are the number itself.

    >>> _range("18 to 34"), _range("18"), _range("34 to 18"), _range("here to there")
    ((18.0, 34.0), (18.0, 18.0), None, None)
    """
    low, separator, high = value.partition(RANGE)
    ends = _number(low), _number(high if separator else low)
    return None if ends[0] is None or ends[1] is None or ends[0] > ends[1] else (ends[0], ends[1])


def _middle(value: str) -> float | None:
    """A number, or the middle of a range of numbers."""
    ends = _range(value)
    if ends is None or ends[0] == ends[1]:
        return ends and ends[0]
    return ends[0] / 2 + ends[1] / 2  # rather than half of the sum, which may be infinite


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


def last_date(values: Iterable[str]) -> str:
    """The last of some dates, as year, month and day, or only the first of these; the day 20100503 is 2010-05-03.

    >>> last_date(["2010-05-03", "20110102"]), last_date(["1990", "2021"])
    ('2011-01-02', '2021')
    """
    found = (re.match(_DATE, value) for value in values)
    return max(("-".join(part for part in match.groups() if part) for match in found if match), default="")


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
