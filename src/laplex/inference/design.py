"""Design matrices: what a formula says about documents.

C(column) makes a factor of any column, and C(column, "value") takes that value as the reference. Numbers are
standardized, so that the coefficient of a number is for one standard deviation, and that of a main effect beside an
interaction for the mean. Factors have treatment contrasts: each level against the reference, which is the first.
s(column) is a natural cubic spline, log(column) a logarithm.

Documents with the same values make up a cell, and all that is tested is summed by cell and sampling unit.
M documents, G cells, K columns, U units.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd

from laplex.errors import InputError, quote
from laplex.inference.covariates import MAX_LEVELS, Covariates
from laplex.inference.formulas import formula_columns, names_in
from laplex.inference.units import Floats, Ints, Units
from laplex.text.tokens import Tokens

if TYPE_CHECKING:
    from formulaic import ModelMatrix

MAX_CELLS = 4_000
SMALLEST_EIGENVALUE = 1e-8  # of the correlations of columns, below which they are collinear


class Coefficient(NamedTuple):
    """Columns of a design matrix that are tested together."""

    term: str
    level: str  # of a factor, against the first one; empty for numbers and for all columns of a term together
    columns: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Design:
    """A design matrix with a row for each cell, and the cell of each document."""

    matrix: Floats  # (G, K) the first column is the intercept
    names: list[str]  # (K)
    coefficients: list[Coefficient]
    cells: pd.DataFrame  # (G) the values of the columns that it is made from: texts of factors, numbers in their units
    cell: Ints  # (M)
    factors: dict[
        str, tuple[int, ...]
    ]  # the columns of `cells` that are factors, and the columns of the matrix of each
    scales: dict[str, tuple[float, float]]  # of numbers: mean and standard deviation

    @classmethod
    def of(cls, covariates: Covariates, formula: str) -> Design:
        """The design that a formula makes of documents."""
        from formulaic import model_matrix
        from formulaic.errors import FormulaicError

        text = formula.strip()
        names = formula_columns(text, covariates.tokens)
        frame = covariates.frame(names)
        transforms = {"C": covariates.factor, "s": covariates.spline, "log": covariates.log}
        try:
            matrix = model_matrix(text, frame, context=transforms, na_action="raise")
        except (FormulaicError, ValueError, TypeError, KeyError) as error:
            cause = error.__cause__ or error  # of a part of the formula
            if isinstance(cause, InputError):
                raise cause from None
            raise InputError(f'the formula "{text}" cannot be evaluated: {str(cause).splitlines()[0]}') from None
        return cls._of_matrix(matrix, frame, covariates)

    @classmethod
    def _of_matrix(cls, matrix: ModelMatrix, frame: pd.DataFrame, covariates: Covariates) -> Design:
        """The design of cells, from that of documents."""
        _check_levels(frame, covariates.factors)
        codes = np.stack([pd.factorize(frame[name], sort=True)[0] for name in frame], 1)
        first, cell = np.unique(codes, axis=0, return_index=True, return_inverse=True)[1:]
        if len(first) > MAX_CELLS:
            raise InputError(
                f"{quote(list(frame), 12)} have {len(first):,} combinations of values, more than {MAX_CELLS:,}: leave "
                'out a column, or put numbers into bins first, as corpus.bins("income", 5) does'
            )
        names, terms = [str(name) for name in matrix.columns], matrix.model_spec.term_indices
        if "Intercept" not in names:
            raise InputError("a formula without an intercept compares nothing: leave out the 0 or the -1")
        values, cell = np.asarray(matrix, np.float64)[first], cell.reshape(-1).astype(np.int64)
        check_rank(values, names, np.bincount(cell).astype(np.float64))
        coefficients: list[Coefficient] = []
        factors: dict[str, tuple[int, ...]] = {name: () for name in covariates.factors}
        for term, columns in terms.items():
            if str(term) != "1":
                labels = [str(factor.expr) for factor in term.factors if _is_factor(str(factor.expr), covariates)]
                coefficients += _coefficients(str(term).replace("`", ""), columns, names, labels)
                for name in factors:
                    if any(name == label or name in (names_in(label) or []) for label in labels):
                        factors[name] += tuple(columns)
        cells = frame.iloc[first].reset_index(drop=True)
        scales = {name: scale for name, scale in covariates.scales.items() if name in frame}
        for name, (mean, deviation) in scales.items():
            cells[name] = mean + deviation * cells[name]
        return cls(values, names, coefficients, cells, cell, factors, scales)

    def levels(self, name: str) -> Ints:
        """(G) The level of a factor in each cell, as a number."""
        return np.asarray(pd.factorize(self.cells[name], sort=True)[0], np.int64)


def _is_factor(expression: str, covariates: Covariates) -> bool:
    """Whether a part of a term has levels."""
    names = [expression] if expression in covariates.tokens.columns else names_in(expression) or []
    return expression.startswith("C(") or (expression in names and names[0] in covariates.factors)


def _coefficients(term: str, columns: Sequence[int], names: Sequence[str], factors: Sequence[str]) -> list[Coefficient]:
    """The coefficients of a term: each column that is a number or a level, and all of them if there are several."""
    found = []
    levels = [_level(names[k], factors) for k in columns]
    if len(set(levels)) == len(columns):  # the columns of a spline have no level, or share one
        found += [Coefficient(term, level, (k,)) for k, level in zip(columns, levels)]
    if len(columns) > 1:
        found.append(Coefficient(term, "", tuple(columns)))
    return found


def _level(name: str, factors: Sequence[str]) -> str:
    """The levels in the name of a column: "R" of "party[T.R]", "R:north" of an interaction; empty if there are none.

    >>> _level("party[T.R]:year", ["party"]), _level("year", [])
    ('R', '')
    """
    plain = [factor.strip("`") for factor in factors]
    pattern = "|".join(re.escape(factor) for factor in {*factors, *plain})
    return ":".join(re.findall(rf"(?:{pattern})\[(?:T\.)?(.*?)\](?=:|$)", name)) if factors else ""


def _check_levels(frame: pd.DataFrame, factors: Sequence[str]) -> None:
    for name in frame:
        size = frame[name].nunique()
        if size < 2:
            raise InputError(f'"{name}" has one value only in these documents: leave it out')
        if name in factors and size > MAX_LEVELS:
            raise InputError(
                f'"{name}" has {size:,} values, more than the {MAX_LEVELS} that a factor may have: take a coarser '
                "column, or make it the unit"
            )


def check_rank(matrix: Floats, names: Sequence[str], size: Floats) -> None:
    """Raise if columns are collinear, and name them."""
    weighted = matrix * np.sqrt(size)[:, None]
    length = np.sqrt((weighted**2).sum(0))
    if not length.all():
        missing = [names[k] for k in np.flatnonzero(length == 0).tolist()]
        raise InputError(f"no document has {quote(missing, 6)}: leave it out of the formula")
    weighted /= length
    values, vectors = np.linalg.eigh(weighted.T @ weighted)
    if values[0] < SMALLEST_EIGENVALUE:
        together = [names[k] for k in np.flatnonzero(abs(vectors[:, 0]) > 1e-4).tolist() if k]
        raise InputError(
            f"{quote(together, 8)} are collinear: each is decided by the others, and their effects cannot be told "
            "apart; leave one of them out"
        )


def check_estimable(matrix: Floats, tested: Sequence[int], size: Floats, column: str, names: Sequence[str]) -> None:
    """Raise if columns that are controlled for decide those that are tested."""
    others = [k for k in range(matrix.shape[1]) if k not in tested]
    weighted, z = matrix * size[:, None], matrix[:, others]
    slopes = np.linalg.pinv(weighted[:, others].T @ z, 1e-10, hermitian=True) @ (weighted[:, others].T @ matrix)
    left = matrix[:, tested] - z @ slopes[:, tested]
    mean = (size @ matrix[:, tested]) / size.sum()
    spread = size @ (matrix[:, tested] - mean) ** 2
    if not (size @ left**2 > SMALLEST_EIGENVALUE * spread).all():
        raise InputError(
            f'"{column}" is decided by {quote(names, 6)}: documents that are alike in these do not differ in it, so '
            "there is nothing to compare; leave one of them out"
        )


@dataclass(frozen=True, eq=False)
class DesignUnits:
    """Units with their rows of a design matrix: what decides how its columns are permuted."""

    SMALLEST_STRATUM = 8  # clusters in the median combination of levels, for values to be permuted within them

    x: Floats  # (U, K)
    cluster: Ints  # (U) from 0
    size: Floats  # (U) tokens
    names: list[str]  # of clusters, or none if these are documents
    levels: list[tuple[Ints, tuple[int, ...]]]  # of each factor: (U) its level, and its columns of the matrix

    @classmethod
    def of(
        cls,
        units: Units,
        matrix: Floats,
        levels: Sequence[tuple[Ints, tuple[int, ...]]],
        tokens: Tokens,
        unit: str | None,
    ) -> DesignUnits:
        """Units whose labels are cells; `levels` are by cell (G)."""
        lengths = np.diff(tokens.offsets)[units.documents]
        size = np.add.reduceat(lengths, units.start[:-1]).astype(np.float64)
        names: list[str] = []
        if unit is not None:
            first = units.documents[units.start[np.unique(units.cluster, return_index=True)[1]]]
            names = [tokens.values(unit)[i] for i in tokens.codes(unit)[first].tolist()]
        found = [(level[units.label], columns) for level, columns in levels]
        return cls(matrix[units.label], units.cluster, np.maximum(size, 1.0), names, found)

    def among(self, included: Floats, label: Ints) -> DesignUnits:
        """The units whose labels are cells that are included (G)."""
        inside = included[label] > 0
        present, cluster = np.unique(self.cluster[inside], return_inverse=True)
        levels = [(level[inside], columns) for level, columns in self.levels]
        names = [self.names[i] for i in present.tolist()] if self.names else []
        return DesignUnits(self.x[inside], cluster, self.size[inside], names, levels)

    def strata(self, tested: Sequence[int]) -> Ints:
        """(C) A number for each combination of levels of the other factors that do not vary within clusters."""
        first = np.unique(self.cluster, return_index=True)[1]
        stratum = np.zeros(len(first), np.int64)
        for level, columns in self.levels:
            if not set(columns) & set(tested) and np.array_equal(level, level[first][self.cluster]):
                stratum = stratum * (int(level.max()) + 1) + level[first]
        sizes = np.unique(stratum, return_counts=True)[1]
        return stratum if np.median(sizes) >= self.SMALLEST_STRATUM else np.zeros_like(stratum)

    def largest_share(self, tested: Sequence[int]) -> tuple[int, float]:
        """The cluster that has most to say about some columns, given the others, and its share of the information."""
        others = [k for k in range(self.x.shape[1]) if k not in tested]
        weighted = self.x * self.size[:, None]
        z = self.x[:, others]
        slopes = np.linalg.pinv(weighted[:, others].T @ z, 1e-10, hermitian=True) @ (
            weighted[:, others].T @ self.x[:, tested]
        )
        residual = self.x[:, list(tested)] - z @ slopes
        square = np.bincount(self.cluster, self.size * (residual**2).sum(1))
        largest = int(np.argmax(square))
        return largest, float(square[largest] / max(square.sum(), 1e-300))
