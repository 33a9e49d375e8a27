"""Bins of numbers, for vectors that vary by a number: each document falls into one, named by its range ("18 to 34").

Bins of much the same number of documents begin and end with a number that occurs. Equal numbers are never split, and
as many bins as asked for are made while there are as many different numbers. K bins, U different numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import isinf, isnan

import numpy as np
import polars as pl
from numpy.typing import NDArray

from laplex.errors import InputError, check_int, quote
from laplex.runtime.display import say
from laplex.text.periods import RANGE
from laplex.text.values import as_numbers

MAX_WHOLE = 1e15  # larger whole numbers are written with an exponent
MIN_DIGITS, MAX_DIGITS = 3, 17  # of a number in the name of a bin

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Bins:
    """Adds a column `name` to a frame: the bin of the number in `column`. A bin begins at each number in `cuts`."""

    column: str
    name: str
    cuts: tuple[float, ...]  # K − 1
    bins: tuple[str, ...]  # K names

    def apply(self, frame: pl.DataFrame, place: str) -> pl.DataFrame:
        """The frame with the column of bins, null where there is no number."""
        numbers = frame[self.column].cast(pl.Float64, strict=False)
        codes = np.searchsorted(np.array(self.cuts), numbers.fill_null(0.0).to_numpy(), "right")
        bins = pl.Series(self.name, self.bins, pl.String).gather(codes)
        return frame.with_columns(bins.set(numbers.is_null(), None))


def bins_of(
    column: str, name: str, values: Iterable[pl.Series], bins: int | Sequence[float], quiet: bool = False
) -> Bins:
    """Bins of the numbers in a column, whose `values` are read once the arguments are known to be right."""
    if isinstance(bins, str) or not isinstance(bins, Iterable):
        count = check_int("bins", bins, 2)
        numbers, documents = _count(column, values)
        if len(numbers) < count:
            say(f'"{column}" has {len(numbers)} different numbers only, so there are {len(numbers)} bins', quiet=quiet)
        return _equal_bins(column, name, numbers, documents, count)
    edges = _check_edges(bins)
    return _bins_between(column, name, *_count(column, values), edges)


def _check_edges(edges: Sequence[float]) -> list[float]:
    """The edges of two bins or more as numbers, or an InputError."""
    try:
        numbers = [float(edge) for edge in edges]
    except (TypeError, ValueError):
        raise InputError(f"bins={edges!r}: give the number of bins, or their edges as a list of numbers") from None
    if len(numbers) < 3:
        raise InputError(f"bins={numbers}: give at least three edges, the first and the last included")
    rising = all(one < two for one, two in zip(numbers, numbers[1:]))
    if not rising or any(map(isnan, numbers)):
        raise InputError(f"bins={numbers}: give edges that rise, such as [18, 35, 50, 65]")
    return numbers


def _count(column: str, values: Iterable[pl.Series]) -> tuple[Floats, NDArray[np.int64]]:
    """(U) The different numbers in a column, rising, two at least, and how many documents have each."""
    counts = (
        pl.concat([pl.Series([], dtype=pl.String), *values]).drop_nulls().alias("value").value_counts(name="documents")
    )
    counts = counts.with_columns(as_numbers(counts["value"]).cast(pl.Float64).alias("number")).sort("number", "value")
    wrong = counts.filter(pl.col("number").is_null())
    if len(wrong):
        documents, example = wrong["documents"].sum(), wrong["value"][0]
        raise InputError(
            f'{documents:,} documents have no number in "{column}" (one has "{example}"): read it with '
            f'numbers=["{column}"], and what is no number is missing; for dates see periods'
        )
    each = counts.group_by("number", maintain_order=True).agg(pl.col("documents").sum())
    if len(each) < 2:
        known = f"only the number {counts['value'][0]}" if len(each) else "no number"
        raise InputError(f'there is {known} in "{column}": bins need at least two different numbers')
    return each["number"].to_numpy(), each["documents"].to_numpy().astype(np.int64)


def _equal_bins(column: str, name: str, numbers: Floats, counts: NDArray[np.int64], count: int) -> Bins:
    """At most `count` bins of much the same number of documents. (U) Different numbers, rising, and documents each."""
    done = np.concatenate([[0], np.cumsum(counts)])
    borders = [0]
    for left in range(min(count, len(numbers)), 1, -1):  # a large bin leaves less to share for those after it
        first, last = borders[-1] + 1, len(numbers) - left + 1
        aim = done[borders[-1]] + (done[-1] - done[borders[-1]]) / left
        borders.append(first + int(np.abs(done[first : last + 1] - aim).argmin()))
    ends = numbers[[*(border - 1 for border in borders[1:]), len(numbers) - 1]]
    starts = numbers[borders]
    return Bins(column, name, tuple(starts[1:].tolist()), _names(starts, ends))


def _bins_between(column: str, name: str, numbers: Floats, counts: NDArray[np.int64], edges: list[float]) -> Bins:
    """The bins between edges; each begins with an edge and ends before the next, the last one with it."""
    outside = (numbers < edges[0]) | (numbers > edges[-1])
    if outside.any():
        known, example = quote(_written(edge, MAX_DIGITS) for edge in edges), _written(numbers[outside][0], MAX_DIGITS)
        raise InputError(
            f'{counts[outside].sum():,} documents have a number in "{column}" outside of the edges {known} (one is '
            f"{example}): add edges; the first may be -inf and the last inf"
        )
    if len(np.unique(np.searchsorted(edges[1:-1], numbers, "right"))) < 2:
        raise InputError(f'all documents have a number in "{column}" that falls into the same bin: give other edges')
    if isinf(edges[0]):  # a bin without an end is as wide as its numbers, and left out if it has none
        edges = [numbers[0], *edges[1:]] if numbers[0] < edges[1] else edges[1:]
    if isinf(edges[-1]):
        edges = [*edges[:-1], numbers[-1]] if numbers[-1] >= edges[-2] else edges[:-1]
    starts, ends = np.array(edges[:-1]), np.array(edges[1:])
    if _are_whole(numbers) and _are_whole(starts) and _are_whole(ends):
        ends[:-1] -= 1  # 18 to 34, 35 to 49
    return Bins(column, name, tuple(starts[1:].tolist()), _names(starts, ends))


def _are_whole(numbers: Floats) -> bool:
    return bool((np.isfinite(numbers) & (numbers == np.round(numbers)) & (np.abs(numbers) < MAX_WHOLE)).all())


def _names(starts: Floats, ends: Floats) -> tuple[str, ...]:
    """(K) The ranges of bins, with as few digits as tell them apart; all digits of whole numbers.

    >>> _names(np.array([0.12345, 1000.26]), np.array([999.26, 87654.3]))
    ('0.123 to 999', '1000 to 87700')
    """
    if _are_whole(starts) and _are_whole(ends):
        return _ranges(starts, ends, lambda number: str(int(number)))
    digits = MIN_DIGITS
    while digits < MAX_DIGITS and not _differ(starts, ends, digits):
        digits += 1
    return _ranges(starts, ends, lambda number: _written(number, digits))


def _ranges(starts: Floats, ends: Floats, write: Callable[[float], str]) -> tuple[str, ...]:
    pairs = zip(starts.tolist(), ends.tolist())
    return tuple(write(start) if start == end else write(start) + RANGE + write(end) for start, end in pairs)


def _differ(starts: Floats, ends: Floats, digits: int) -> bool:
    """Whether the first and the last numbers of all bins still rise if they are written with so few digits."""
    lows, highs = ([float(f"{number:.{digits}g}") for number in line.tolist()] for line in (starts, ends))
    same = [low == high and start < end for low, high, start, end in zip(lows, highs, starts, ends)]
    return all(one < two for line in (lows, highs) for one, two in zip(line, line[1:])) and not any(same)


def _written(number: float, digits: int) -> str:
    """A number with at most `digits` digits, without an exponent unless it is very large or small.

    >>> _written(123456.7, 3), _written(0.25, 3), _written(1e20, 3)
    ('123000', '0.25', '1e+20')
    """
    rounded = float(f"{number:.{digits}g}")
    return str(int(rounded)) if rounded.is_integer() and abs(rounded) < MAX_WHOLE else repr(rounded)
