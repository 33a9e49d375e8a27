"""The values of columns as a corpus gives them: text, metadata as strings, and numbers in one spelling.

The same values come from every format: 2010, 2010.0 and " 2010 " are "2010", and what is empty is null.
"""

from __future__ import annotations

import polars as pl

from laplex.errors import InputError
from laplex.text.spelling import composed


def as_text(column: pl.Series, place: str) -> pl.Series:
    """Text as strings or as lists of strings, never null."""
    if isinstance(column.dtype, pl.List) and not column.dtype.inner.is_nested():
        return column.cast(pl.List(pl.String)).fill_null(pl.Series([[]], dtype=pl.List(pl.String)))
    if column.dtype in (pl.String, pl.Categorical, pl.Enum, pl.Null):
        return column.cast(pl.String).fill_null("")
    raise InputError(f'column "{column.name}" holds {column.dtype}, not text ({place}): choose another with text=')


def as_metadata(column: pl.Series, place: str) -> pl.Series:
    """Metadata as trimmed strings, the same from every format; null where empty."""
    kind = column.dtype
    if kind.is_nested() or kind in (pl.Binary, pl.Object, pl.Duration):
        raise InputError(f'column "{column.name}" holds {kind}, which cannot be metadata ({place})')
    if kind.is_float():
        integer = column.is_finite() & (column == column.round()) & (column.abs() < 2**63)
        text = pl.select(
            pl.when(integer.fill_null(False))
            .then(column.cast(pl.Int64, strict=False).cast(pl.String))
            .otherwise(column.fill_nan(None).cast(pl.String).str.replace(r"e(\d)", "e+$1"))  # as Python writes 1e+20
        ).to_series()
    elif isinstance(kind, pl.Datetime):
        text = column.dt.to_string("%Y-%m-%d %H:%M:%S").str.strip_suffix(" 00:00:00")
    else:
        text = column.cast(pl.String)
    text = composed(text.str.strip_chars()).alias(column.name)
    return text.set(text == "", None)


def as_numbers(values: pl.Series) -> pl.Series:
    """Metadata as numbers, each in one spelling ("1" for "1.0" and "1e0"); null where it is no finite number."""
    numbers = values.cast(pl.Float64, strict=False)
    return as_metadata(numbers.set(~numbers.is_finite(), None), "")
