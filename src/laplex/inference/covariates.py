"""Covariates: the columns of documents as categories and as standardized numbers, and what a formula makes of them.

A column whose values are all numbers or periods of time is a number, any other a factor. Numbers are centered and
divided by their standard deviation over documents. Those with many values are put into bins of much the same size
first, of which each has its mean, since all that is tested is summed by combinations of values. M documents.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from laplex.errors import InputError, quote
from laplex.inference.formulas import formula_columns
from laplex.inference.units import Floats, Ints, check_given
from laplex.text.tokens import Tokens

MAX_LEVELS = 64  # of a factor; as many values of a number are kept apart
BINS = 24  # of numbers that have more values
MAX_STRATA = 12  # values of a number up to which documents are compared within each value, if it is only controlled for
SPLINE_COLUMNS = 3


class Covariates:
    """The columns of some documents: categories, and standardized numbers."""

    def __init__(self, tokens: Tokens, documents: Ints) -> None:
        self.tokens, self.documents = tokens, documents
        self.factors: list[str] = []
        self.scales: dict[str, tuple[float, float]] = {}

    def frame(self, names: Iterable[str]) -> pd.DataFrame:
        """(M) The columns."""
        return pd.DataFrame({name: self._column(name) for name in names})

    def _column(self, name: str) -> Any:
        present, codes = np.unique(self.tokens.codes(name)[self.documents], return_inverse=True)
        numbers = self.tokens.number_values(name)
        if numbers is None or len(present) < 2:
            self.factors.append(name)
            return self._categories(name)
        column = _in_bins(numbers[present], codes.reshape(-1).astype(np.int64))
        self.scales[name] = float(column.mean()), float(column.std())
        return (column - self.scales[name][0]) / self.scales[name][1]

    def _categories(self, name: str) -> pd.Categorical[Any]:
        known = self.tokens.values(name)
        present, codes = np.unique(self.tokens.codes(name)[self.documents], return_inverse=True)
        return pd.Categorical.from_codes(codes.reshape(-1), pd.Index([known[i] for i in present.tolist()]))

    def factor(self, x: Any, reference: Any = None) -> Any:
        """A column as a factor, with a level that others are compared with."""
        found = self._categories(x.name)
        if len(found.categories) > MAX_LEVELS:
            raise InputError(f"C({x.name}) has {len(found.categories):,} levels, more than {MAX_LEVELS}")
        if reference is not None:
            if str(reference) not in found.categories:
                raise InputError(f'"{x.name}" has no value {str(reference)!r}; it has {quote(found.categories, 12)}')
            first = [str(reference)]
            found = found.reorder_categories(first + [value for value in found.categories if value not in first])
        if x.name not in self.factors:
            self.factors.append(x.name)
        return pd.Series(found, index=x.index, name=x.name)

    def levels(self, name: str, most: int, bins: int) -> Ints:
        """(M) The level of each document; of a number with more than `most` values, its bin."""
        present, codes = np.unique(self.tokens.codes(name)[self.documents], return_inverse=True)
        numbers = self.tokens.number_values(name)
        if numbers is None or len(present) <= most:
            return codes.reshape(-1).astype(np.int64)
        return _bins_of(numbers[present], codes.reshape(-1).astype(np.int64), bins)[codes.reshape(-1)]

    def is_stratified(self, name: str) -> bool:
        """Whether a column that is controlled for is a factor, or a number with few values."""
        present = np.unique(self.tokens.codes(name)[self.documents])
        return self.tokens.number_values(name) is None or len(present) <= MAX_STRATA

    def formula(self, given: Sequence[str]) -> str:
        """A formula of columns that are controlled for, if they are not one already.

        Documents are compared within the levels of factors and within each value of numbers that have few, and along a
        spline of numbers that have many.
        """
        if len(given) == 1 and given[0].strip().startswith("~"):
            return given[0]
        parts = [f"C(`{name}`)" if self.is_stratified(name) else f"s(`{name}`)" for name in dict.fromkeys(given)]
        return "~ " + " + ".join(parts)

    def spline(self, x: Any, df: int = SPLINE_COLUMNS) -> Any:
        """A natural cubic spline with `df` columns, centered."""
        from formulaic.transforms.cubic_spline import natural_cubic_spline

        self._check_number("s", x)
        if isinstance(df, int) and x.nunique() <= df:
            raise InputError(
                f'"{x.name}" has {x.nunique()} values, too few for s({x.name}) with {df} columns: write {x.name} for a '
                f"line, or C({x.name})"
            )
        return natural_cubic_spline(x, df=df, constraints="center")

    def log(self, x: Any) -> Any:
        """The logarithm of a number, standardized."""
        self._check_number("log", x)
        mean, deviation = self.scales[x.name]
        raw = mean + deviation * np.asarray(x, np.float64)
        if not (raw > 0).all():
            raise InputError(f"log({x.name}) needs numbers above 0; the smallest is {raw.min():g}")
        found = np.log(raw)
        return pd.Series((found - found.mean()) / max(float(found.std()), 1e-300), index=x.index)

    def _check_number(self, function: str, x: Any) -> None:
        if x.name not in self.scales:
            values = quote(self.tokens.values(x.name), 6)
            raise InputError(f'{function}({x.name}) needs a number, but the values of "{x.name}" are {values}')


def formula_given(covariates: Covariates, given: Sequence[str], column: str, unit: str | None) -> str:
    """A formula of columns that are controlled for; InputError if what is compared, or the unit, is one of them."""
    formula = covariates.formula(given).strip()
    check_given(formula_columns(formula, covariates.tokens), column, unit)
    return formula


def _in_bins(numbers: Floats, codes: Ints) -> Floats:
    """(M) The number of each document; of many numbers, the mean of a bin of neighbors."""
    if len(numbers) <= MAX_LEVELS:
        return np.asarray(numbers[codes])
    size, bins = np.bincount(codes, minlength=len(numbers)), _bins_of(numbers, codes, BINS)
    return np.asarray((np.bincount(bins, size * numbers) / np.bincount(bins, size))[bins][codes])


def _bins_of(numbers: Floats, codes: Ints, bins: int) -> Ints:
    """The bin of each number, of neighbors that much the same number of documents have; `codes` (M) are theirs."""
    size = np.bincount(codes, minlength=len(numbers))
    order = np.argsort(numbers, kind="stable")
    middle = np.empty(len(numbers))
    middle[order] = (np.cumsum(size[order]) - size[order] / 2) / size.sum()
    return np.asarray(np.unique((middle * bins).astype(np.int64), return_inverse=True)[1])
