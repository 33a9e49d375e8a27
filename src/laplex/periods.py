"""From dates to periods: "2010-05-03" in steps of two years is "2010".

A period is named by its beginning: a year ("2010") for steps of years, a month ("2010-07") for steps of months,
a day for steps of weeks or days. Such names sort in the order of time.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import polars as pl

from laplex.errors import InputError

# 2010, 2010-05, 2010-05-03, 20100503, a day perhaps with a time behind it
_DATE = r"^(?P<year>[0-9]{4})(?:-?(?P<month>[0-9]{2})(?:-?(?P<day>[0-9]{2})(?:[T ][0-9].*)?)?)?$"
_EVERY = re.compile(r"(?P<count>[1-9]\d{0,3})(?P<unit>[ymwd])")
_MONDAY = 4  # days from 1970-01-01 to the first Monday after it


@dataclass(frozen=True)
class Periods:
    """Adds a column `name` to a frame: the period of `every` that the date in `column` falls into."""

    column: str
    every: str
    name: str
    start: int
    format: str | None

    def __post_init__(self) -> None:
        if not _EVERY.fullmatch(self.every):
            raise InputError(f'every="{self.every}" is not a step of time: write "1y", "10y", "6m", "2w" or "30d"')
        if self.start and self.every[-1] in "wd":
            raise InputError(f'start={self.start} is a year: it has no meaning with every="{self.every}"')

    @property
    def _count(self) -> int:
        return int(self.every[:-1])

    def apply(self, frame: pl.DataFrame, where: str) -> pl.DataFrame:
        """`where` says which documents these are, for the error about a value that is not a date."""
        values = frame[self.column]
        unit = self.every[-1]
        if self.format is not None:
            day = values.str.to_date(self.format, strict=False)
            parts = pl.DataFrame({"year": day.dt.year(), "month": day.dt.month(), "day": day.dt.day()})
        else:
            parts = values.str.extract_groups(_DATE).struct.unnest().cast(pl.Int32)
        if unit == "y":
            parts = parts.with_columns(pl.col("month", "day").fill_null(1))
        elif unit == "m":
            parts = parts.with_columns(pl.col("day").fill_null(1))
        iso = pl.format("{}-{}-{}", *(pl.col(p).cast(pl.String).str.zfill(n) for p, n in zip(parts.columns, (4, 2, 2))))
        dates = parts.select(iso.str.to_date("%Y-%m-%d", strict=False)).to_series()
        odd = (values.is_not_null() & dates.is_null()).arg_true()
        if len(odd):
            year, month, day = parts.row(odd[0])
            self._complain(values[odd[0]], year is not None and (month is None or day is None), where)
        return frame.with_columns(self._label(dates).alias(self.name))

    def _label(self, dates: pl.Series) -> pl.Series:
        unit = self.every[-1]
        if unit == "y":
            year = dates.dt.year()
            return (year - (year - self.start) % self._count).cast(pl.String).str.zfill(4)
        if unit == "m":
            month = dates.dt.year().cast(pl.Int32) * 12 + dates.dt.month().cast(pl.Int32) - 1
            month = month - (month - self.start * 12) % self._count
            return (month // 12).cast(pl.String).str.zfill(4) + "-" + (month % 12 + 1).cast(pl.String).str.zfill(2)
        days = dates.to_physical()
        step = self._count * (7 if unit == "w" else 1)
        return (days - (days - _MONDAY) % step).cast(pl.Date).cast(pl.String)

    def _complain(self, value: str, coarse: bool, where: str) -> None:
        if coarse:
            raise InputError(
                f'column "{self.column}" has no day or month in "{value}" ({where}): '
                f'every="{self.every}" is too fine for it, write "1y" or so'
            )
        raise InputError(
            f'column "{self.column}": "{value}" is neither a date such as 2010-05-31 nor a year ({where}); '
            'for another way to write dates give format="%d/%m/%Y"'
        )
