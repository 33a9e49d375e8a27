"""Design matrices: what a formula, or a list of columns, says about documents.

A column whose values are all numbers or periods of time is a number, any other a factor; C(column) makes a factor of
any, and C(column, "value") takes that value as the reference. Numbers are centered and divided by their standard
deviation over documents, so that the coefficient of a number is for one standard deviation, and that of a main effect
beside an interaction for the mean. Factors have treatment contrasts: each level against the reference, which is the
first. s(column) is a natural cubic spline, log(column) a logarithm.

Documents with the same values make up a cell, and all that is tested is summed by cell and sampling unit. So numbers
with many values are put into bins of much the same size first, of which each has its mean.
M documents, G cells, K columns, U units.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from formulaic import Formula, ModelMatrix, model_matrix
from formulaic.errors import FormulaicError
from formulaic.parser.types import Factor
from formulaic.transforms.cubic_spline import natural_cubic_spline

from laplex.errors import InputError, quote
from laplex.inference.units import Floats, Ints, Units, check_given
from laplex.text.tokens import Tokens

MAX_LEVELS = 64  # of a factor; as many values of a number are kept apart
BINS = 24  # of numbers that have more values
MAX_CELLS = 4_000
MAX_STRATA = 12  # values of a number up to which documents are compared within each value, if it is only controlled for
SPLINE_COLUMNS = 3
SMALLEST_EIGENVALUE = 1e-8  # of the correlations of columns, below which they are collinear
FUNCTIONS = ("C", "s", "log")  # that a formula may have
_NAME = re.compile("`([^`]*)`")


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
                coefficients += _coefficients(str(term).replace("`", ""), columns, names, labels, len(term.factors))
                for name in factors:
                    if any(name == label or name in (_names_in(label) or []) for label in labels):
                        factors[name] += tuple(columns)
        cells = frame.iloc[first].reset_index(drop=True)
        scales = {name: scale for name, scale in covariates.scales.items() if name in frame}
        for name, (mean, deviation) in scales.items():
            cells[name] = mean + deviation * cells[name]
        return cls(values, names, coefficients, cells, cell, factors, scales)

    def levels(self, name: str) -> Ints:
        """(G) The level of a factor in each cell, as a number."""
        return np.asarray(pd.factorize(self.cells[name], sort=True)[0], np.int64)


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


def formula_of(columns: str | Sequence[str]) -> str:
    """A formula, or a list of columns as one."""
    if isinstance(columns, str):
        if not columns.strip().startswith("~"):
            raise InputError(f'the formula "{columns}" does not begin with "~": write "~ party + year", or a list')
        return columns
    return "~ " + " + ".join(f"`{name}`" for name in columns)


def formula_columns(text: str, tokens: Tokens) -> list[str]:
    """The columns that a formula names, in the order of the text's columns.

    A formula is evaluated as Python, so it may have nothing but columns, numbers, and a few functions.
    """
    try:
        formula = Formula(text)
        terms = list(formula)
    except (FormulaicError, SyntaxError) as error:
        raise InputError(f'the formula "{text}" cannot be read: {str(error).splitlines()[0]}') from None
    if not all(hasattr(term, "factors") for term in terms):
        raise InputError(f'the formula "{text}" has a left side: what is explained is always the word')
    names: set[str] = set()
    for factor in {factor for term in terms for factor in term.factors}:
        expression, is_name = str(factor.expr), factor.eval_method is Factor.EvalMethod.LOOKUP
        found = [expression] if is_name else _names_in(expression)
        if found is None or (not is_name and expression in found):  # "{party}" is Python as well
            raise InputError(
                f'"{expression}" is not allowed in a formula: it may have columns, +, *, :, and {quote(FUNCTIONS)}'
            )
        names.update(found)
    if unknown := sorted(names - set(tokens.columns)):
        known = quote(tokens.columns, 12)
        raise InputError(f'the formula "{text}" names "{unknown[0]}", which is no column; there are {known}')
    if not names:
        raise InputError(f'the formula "{text}" names no column; there are {quote(tokens.columns, 12)}')
    return [name for name in tokens.columns if name in names]


def formula_given(covariates: Covariates, given: Sequence[str], column: str, unit: str | None) -> str:
    """A formula of columns that are controlled for; InputError if what is compared, or the unit, is one of them."""
    formula = covariates.formula(given).strip()
    check_given(formula_columns(formula, covariates.tokens), column, unit)
    return formula


def _names_in(expression: str) -> list[str] | None:
    """The columns of an expression in a formula; None if it has anything else but numbers and known functions."""
    quoted = _NAME.findall(expression)
    plain = _NAME.sub(lambda match: f"column_{quoted.index(match[1])}_", expression)
    try:
        tree = ast.parse(plain, mode="eval").body
    except SyntaxError:
        return None
    if isinstance(tree, ast.Constant):
        return []
    inner: list[ast.expr] = [tree]
    if isinstance(tree, ast.Call):
        allowed = isinstance(tree.func, ast.Name) and tree.func.id in FUNCTIONS and len(tree.args) in (1, 2)
        if not allowed or not all(isinstance(k.value, ast.Constant) for k in tree.keywords):
            return None
        if not all(isinstance(argument, ast.Constant) for argument in tree.args[1:]):
            return None
        inner = tree.args[:1]
    if not isinstance(inner[0], ast.Name):
        return None
    name = inner[0].id
    return [quoted[int(name.split("_")[1])] if plain != expression and name.startswith("column_") else name]


def _is_factor(expression: str, covariates: Covariates) -> bool:
    """Whether a part of a term has levels."""
    names = [expression] if expression in covariates.tokens.columns else _names_in(expression) or []
    return expression.startswith("C(") or (expression in names and names[0] in covariates.factors)


def _coefficients(
    term: str, columns: Sequence[int], names: Sequence[str], factors: Sequence[str], parts: int
) -> list[Coefficient]:
    """The coefficients of a term: those of single levels and, if there are several columns, all of them together."""
    found = []
    if len(columns) == 1 or (factors and len(factors) == parts) or factors:
        levels = [_level(names[k], factors) for k in columns]
        if len(columns) == 1 or len(set(levels)) == len(columns):
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
