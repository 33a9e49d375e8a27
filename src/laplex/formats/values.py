"""Python values, as a Polars column of text or of lists of words."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import numpy as np
import polars as pl

from laplex.errors import InputError


def series_of(name: str, values: list[Any], place: str = "", done: int = 0) -> pl.Series:
    """Python values as a column of strings, or of lists of strings if they are lists. Mixed scalars become text."""
    of = f" of {place}" if place else ""
    try:
        return _series_of(name, values, of, done)
    except TypeError as error:
        raise InputError(f'column "{name}"{of}: {error}') from None
    except UnicodeEncodeError as error:
        raise InputError(f"column {name!r}{of}: {error.object[:40]!r} holds half a character (a surrogate)") from None


def _series_of(name: str, values: list[Any], of: str, done: int) -> pl.Series:
    if all(value is None or isinstance(value, str) for value in values):
        return pl.Series(name, values, pl.String)
    lists = any(_is_list(value) for value in values)
    if lists:
        odd = next((i for i, value in enumerate(values) if value is not None and not _is_list(value)), None)
        if odd is not None:
            where = f"document {done + odd + 1:,}{of}"
            raise InputError(
                f'column "{name}" holds lists and, in {where}, {repr(values[odd])[:40]}: make them all lists'
            )
        words = [None if value is None else [_as_text(item) for item in value] for value in values]
        return pl.Series(name, words, pl.List(pl.String))
    return pl.Series(name, [_as_text(value) for value in values], pl.String)


def _is_list(value: Any) -> bool:
    return isinstance(value, (list, tuple)) or type(value).__name__ in ("ndarray", "Series")


def _as_text(value: Any) -> str | None:
    """A scalar as it would stand in a CSV file."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, (bool, np.bool_)):
        return str(value).lower()
    if isinstance(value, (float, np.floating)):
        if value != value:
            return None
        return str(int(value)) if value.is_integer() and abs(float(value)) < 2**63 else str(value)
    if isinstance(value, datetime):
        return value.replace(tzinfo=None).isoformat(" ", "seconds").removesuffix(" 00:00:00")
    if isinstance(value, (Mapping, set, bytes, list, tuple)):
        raise TypeError(f"{repr(value)[:60]} is neither text nor a number")
    return str(value)
