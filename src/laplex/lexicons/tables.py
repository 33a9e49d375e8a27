"""Pairs of words in tables: which columns hold the words and the weight, and the pairs in them.

A Source (a frame, a Parquet file, JSON lines) comes in, or only the names of columns; WordPairs go out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from laplex.errors import InputError, quote
from laplex.lexicons.wordpairs import WordPairs
from laplex.sources import Source

SIDES = (("word1", "word2"), ("left", "right"), ("source", "target"), ("from", "to"))
WEIGHTS = ("weight", "score")


class Columns(NamedTuple):
    """Where the words and the weight of a pair stand in a row."""

    one: int
    two: int
    weight: int | None
    directed: bool


def is_frame(source: Any) -> bool:
    """Whether a source is a pandas, polars or Arrow frame."""
    if isinstance(source, pl.LazyFrame):
        return True  # to ask for its columns would be slow
    return hasattr(source, "columns") or hasattr(source, "__arrow_c_stream__")


def columns_of(names: Sequence[str]) -> Columns | None:
    """The columns that these names tell, if they do.

    "left right" alone may as well be a pair of words: names other than word1 and word2 count only beside a weight.
    """
    known = [name.strip().lower() for name in names]
    if len(set(known)) < len(known):
        return None
    weight = next((known.index(name) for name in WEIGHTS if name in known), None)
    for one, two in SIDES:
        if one in known and two in known and (one == "word1" or weight is not None):
            return Columns(known.index(one), known.index(two), weight, one == "from")
    return None


def pairs_of(source: Source, name: str) -> WordPairs:
    """The pairs in the rows of a source, by the names of its columns or, if these do not tell, in their order."""
    columns = columns_of(source.columns)
    if columns is None:
        if len(source.columns) not in (2, 3):
            raise InputError(
                f"{name} has {len(source.columns)} columns ({quote(source.columns)}): a row is not two words and "
                "perhaps a weight. Name the columns word1, word2 and weight"
            )
        columns = Columns(0, 1, 2 if len(source.columns) == 3 else None, False)
    chosen = [source.columns[place] for place in columns[:3] if place is not None]
    left: list[str] = []
    right: list[str] = []
    weight = [np.empty(0)]
    for batch in source.batches(chosen):
        one, two, *rest = batch.frame.get_columns()
        left += _words(one, name, batch.first)
        right += _words(two, name, batch.first)
        weight.append(_weights(rest[0], name, batch.first) if rest else np.ones(len(one)))
    if not left:
        raise InputError(f"{name} has no pairs of words")
    return WordPairs(name, left, right, np.concatenate(weight), columns.directed)


def _words(values: pl.Series, name: str, first: int) -> list[str]:
    if values.dtype.is_integer() or isinstance(values.dtype, (pl.Categorical, pl.Enum)):
        values = values.cast(pl.String)
    if values.dtype not in (pl.String, pl.Null):
        raise InputError(f'{name}: column "{values.name}" holds {values.dtype}, not words')
    bad = (values.cast(pl.String).fill_null("").str.strip_chars() == "").arg_true()
    if len(bad):
        raise InputError(f'{name}, row {first + bad[0]:,}: there is no word in column "{values.name}"')
    return values.to_list()


def _weights(values: pl.Series, name: str, first: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    if not (values.dtype.is_numeric() or values.dtype in (pl.String, pl.Null)):
        raise InputError(f'{name}: column "{values.name}" holds {values.dtype}, not weights')
    given = values.str.strip_chars() if values.dtype == pl.String else values
    numbers = given.cast(pl.Float64, strict=False)
    bad = (~numbers.is_finite().fill_null(False)).arg_true()
    if len(bad):
        raise InputError(f'{name}, row {first + bad[0]:,}: the weight in column "{values.name}" is {values[bad[0]]!r}')
    return numbers.to_numpy()
