"""Questions about coefficients: how words differ with some columns of a design matrix, given the others.

A regression asks one for every coefficient of its formula. A comparison of groups, or a drift, that controls for other
columns is one as well: its column is tested given those.
G cells, K columns, U units, n words.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from laplex.errors import quote
from laplex.inference.comparisons import Comparison
from laplex.inference.covariates import Covariates, formula_given
from laplex.inference.decomposition import UnitWeights, sides_of_units
from laplex.inference.design import Coefficient, Design, DesignUnits, check_estimable
from laplex.inference.partial_scores import SharedScores
from laplex.inference.partial_test import ColumnPermutations, PartialTest
from laplex.inference.permutations import Trend
from laplex.inference.scores import ScorePass, ScoreTable
from laplex.inference.units import Floats, Ints, Units
from laplex.text.tokens import Tokens

LARGEST_SHARE = 0.5  # of the information about a coefficient that one cluster may have, without a warning


@dataclass(frozen=True, eq=False)
class CoefficientQuestion:
    """How words differ with some columns of a design matrix, given the others."""

    value: str
    against: str
    sides: tuple[tuple[int, ...], tuple[int, ...]]  # cells that a table shows the counts of
    levels: tuple[tuple[int, ...], ...]  # of several columns that are tested together: the cells of each level
    columns: tuple[int, ...]
    scores: SharedScores
    units: DesignUnits

    @property
    def has_two_sides(self) -> bool:
        """Whether the two sides are all that is compared."""
        return not self.levels

    def test(self, text: ScorePass, tested: NDArray[np.bool_], seed: int) -> PartialTest:
        """The test of words (n)."""
        draws = ColumnPermutations.of(self.units, self.columns, not text.cells.shared, [seed, 6, *self.columns])
        return PartialTest(tested, self.columns, self.scores, draws)

    def units_using(self, text: ScorePass) -> Ints:
        """(n, 2) How many units use each word on each side; of several levels, at the two that have most."""
        found = np.stack([text.cluster_counts(cells) for cells in self.levels or self.sides], 1)
        return found if self.has_two_sides else np.sort(found, 1)[:, -2:]

    def unit_weights(self, text: ScorePass, table: ScoreTable) -> UnitWeights | None:
        """The weights of units in the coefficient of a word; None if its text cannot tell it from the others.

        u = Σ q (s − r B) − Σ q (τ − v) h̃, and h̃ is a weighted sum of all B (`partial_scores.py`).
        """
        scores = self.scores.of(table)
        others = [k for k in range(self.scores.matrix.shape[1]) if k not in self.columns]
        found = None if scores is None else scores.residual_columns(self.columns, others)
        if scores is None or found is None:
            return None
        weights, gram = found[0][:, 0], float(found[1][0, 0])
        metric = scores.test_metric
        direction = (weights @ scores.total / gram) @ metric @ metric.T
        q, excess = (
            scores.matrix @ weights,
            np.bincount(scores.cell, scores.tau - scores.information, len(scores.matrix)),
        )
        center = scores.matrix @ (scores.inverse @ (scores.matrix.T @ (q * excess)))
        scale = text.background_scale(table.id)
        here, around = q / gram, (q + center) * scores.unit_rate * scale / gram
        if self.scores.included is not None:
            here, around = here * self.scores.included, around * self.scores.included
        label = text.units.label
        return UnitWeights(direction, here[label], around[label], sides_of_units(text, self.sides))


def formula_questions(
    design: Design, units: Units, tokens: Tokens, unit: str | None, terms: Collection[str]
) -> list[CoefficientQuestion]:
    """A question for every coefficient of some terms of a design; `units` have its cells for labels."""
    levels = [(design.levels(name), columns) for name, columns in design.factors.items()]
    rows = DesignUnits.of(units, design.matrix, levels, tokens, unit)
    scores = SharedScores(design.matrix)
    found = []
    for coefficient in design.coefficients:
        if coefficient.term not in terms:
            continue
        _warn_of_dominance(coefficient.term, rows, coefficient.columns, unit)
        sides, several = _sides(design, coefficient)
        found.append(
            CoefficientQuestion(coefficient.term, coefficient.level, sides, several, coefficient.columns, scores, rows)
        )
    return found


def _sides(
    design: Design, coefficient: Coefficient
) -> tuple[tuple[tuple[int, ...], tuple[int, ...]], tuple[tuple[int, ...], ...]]:
    """The cells on the two sides of a coefficient, and those of the levels of several columns."""
    values = design.matrix[:, list(coefficient.columns)]
    if len(coefficient.columns) == 1:
        size = np.bincount(design.cell, minlength=len(values))
        middle = 0.0 if coefficient.level else float(size @ values[:, 0]) / size.sum()
        high, low = values[:, 0] > middle, values[:, 0] <= middle
        if coefficient.level:  # against the first level, not against all others
            term = [k for c in design.coefficients if c.term == coefficient.term for k in c.columns]
            if set(np.unique(values[:, 0])) <= {0.0, 1.0}:
                low = np.asarray(~design.matrix[:, sorted(set(term))].any(1))
            else:
                high, low = values[:, 0] > 0, values[:, 0] < 0
        return (_cells(high), _cells(low)), ()
    every = tuple(range(len(values)))
    binary = set(np.unique(values)) <= {0.0, 1.0}
    levels = [_cells(column > 0) for column in values.T] if binary else [every, every]
    if binary:
        levels.append(_cells(np.asarray(~values.any(1))))
    return (every, every), tuple(level for level in levels if level)


def _cells(inside: NDArray[np.bool_]) -> tuple[int, ...]:
    return tuple(np.flatnonzero(inside).tolist())


def control(
    compared: Sequence[Comparison],
    units: Units,
    column: str,
    tokens: Tokens,
    given: Sequence[str],
    unit: str | None,
) -> tuple[Units, list[CoefficientQuestion]]:
    """Comparisons with other columns controlled for, and the units by value and cell of these columns."""
    covariates = Covariates(tokens, units.documents)
    design = Design.of(covariates, formula_given(covariates, given, column, unit))
    label, cluster = (np.repeat(values, np.diff(units.start)) for values in (units.label, units.cluster))
    cells, combined = np.unique(label * len(design.matrix) + design.cell, return_inverse=True)
    joined = Units.group(units.documents, cluster, combined.reshape(-1), [str(cell) for cell in cells])
    value, place = cells // len(design.matrix), cells % len(design.matrix)
    levels = [(design.levels(name)[place], columns) for name, columns in design.factors.items()]
    found = []
    for comparison in compared:
        x, included = _tested_columns(comparison, value)
        matrix = np.concatenate([design.matrix[place], x], 1)
        columns = tuple(range(design.matrix.shape[1], matrix.shape[1]))
        sizes = np.bincount(joined.label, np.diff(joined.start), len(cells)) * included
        check_estimable(matrix, columns, sizes, column, list(map(str, design.cells)))
        rows = DesignUnits.of(joined, matrix, levels, tokens, unit).among(included, joined.label)
        _warn_of_dominance(column, rows, columns, unit)
        sides = tuple(_cells(np.isin(value, side)) for side in comparison.sides)
        several = () if comparison.has_two_sides else tuple(_cells(np.isin(value, g)) for g in comparison.groups)
        found.append(
            CoefficientQuestion(
                *(comparison.value, comparison.against, (sides[0], sides[1]), several, columns),
                *(SharedScores(matrix, included), rows),
            )
        )
    return joined, found


def _tested_columns(comparison: Comparison, value: Ints) -> tuple[Floats, Floats]:
    """(G, t) The columns that a comparison tests, by the value of each cell, and (G) which cells take part."""
    group = np.full(len(value), -1)
    for number, labels in enumerate(comparison.groups):
        group[np.isin(value, labels)] = number
    if isinstance(comparison.design, Trend):
        x = comparison.design.x.astype(np.float64)[np.maximum(group, 0)][:, None]
    elif len(comparison.groups) == 2:
        x = (group == 0).astype(np.float64)[:, None]
    else:
        x = (group[:, None] == np.arange(1, len(comparison.groups))).astype(np.float64)
    return x, (group >= 0).astype(np.float64)


def _warn_of_dominance(term: str, rows: DesignUnits, columns: Sequence[int], unit: str | None) -> None:
    """Warn if one cluster decides what is said about some columns."""
    cluster, share = rows.largest_share(columns)
    if unit is not None and share > LARGEST_SHARE:
        warnings.warn(
            f'one {unit}, {quote([rows.names[cluster]])}, has {share:.0%} of the information about "{term}", given the '
            f"other columns: what is found may be about this {unit} alone",
            UserWarning,
            stacklevel=4,
        )
