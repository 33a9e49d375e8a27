"""A word is alike in the slices of a corpus: in groups, and from one time to the next."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np

from laplex.errors import InputError
from laplex.graph import Graph
from laplex.priors.prior import ByValues, Prior, by_values, check_strength, check_values
from laplex.rows import Rows


@dataclass(frozen=True)
class Groups(Prior):
    """A word means nearly the same in all groups: −½ strength Σ_w Σ_{s<t} ‖ρ_w,s − ρ_w,t‖².

    s and t run over the slices that differ in `column` alone. The paper's grouped model. The strength may differ by
    groups: Groups("party", {("D", "R"): 10.0, ("D", "I"): 100.0}), 0 between the others.
    """

    column: str
    strength: ByValues = 1.0

    def __post_init__(self) -> None:
        check_strength(self.strength)

    def graph(self, rows: Rows) -> Graph:
        cells = _cells(rows, self.column)
        check_values(self.strength, self.column, rows.slices.values(self.column))
        joined = [pair for cell in cells for pair in combinations(cell.values(), 2)]
        weights = [by_values(self.strength, one, two) for cell in cells for one, two in combinations(cell, 2)]
        return _between_slices(rows, joined, weights)


@dataclass(frozen=True)
class GroupMean(Prior):
    """Group vectors scatter around a mean, the hierarchical model in the paper's own terms (Proposition 3):

    ρ_w,s ~ N(ρ_w,0, γ₁⁻¹ I), ρ_w,0 ~ N(0, γ₀⁻¹ I), with γ₁ = strength and γ₀ = spread. The mean is integrated out by
    its maximum, which leaves a complete graph of weight γ₁²/(γ₀ + Sγ₁) and a diagonal of γ₀γ₁/(γ₀ + Sγ₁).
    """

    column: str
    strength: float = 1.0
    spread: float = 1.0

    def __post_init__(self) -> None:
        check_strength(self.strength, infinite=False)
        check_strength(self.spread, infinite=False)

    def graph(self, rows: Rows) -> Graph:
        joined, weights = [], []
        diagonal = np.zeros(len(rows))
        for cell in _cells(rows, self.column):
            whole = self.spread + len(cell) * self.strength
            if whole == 0:
                continue
            joined += list(combinations(cell.values(), 2))
            weights += [self.strength**2 / whole] * math.comb(len(cell), 2)
            for language in range(len(rows.vocabularies)):
                for slice in cell.values():
                    words = rows.words(language, slice)
                    diagonal[words.start : words.stop] = self.spread * self.strength / whole
        return _between_slices(rows, joined, weights) + Graph.of(len(rows), diagonal=diagonal)


@dataclass(frozen=True)
class Chain(Prior):
    """A word drifts slowly: −½ strength Σ_w Σ_t ‖ρ_w,t − ρ_w,t+1‖², t running over the values of `column` in order.

    `start` is the γ₀ of the first value alone, −½ start ‖ρ_w,0‖² (the dynamic model, Proposition 2). A value that
    a group lacks is skipped; with `by_gap=True` the weight is divided by the distance of two neighbors, for numbers.
    The strength may differ by step: Chain("year", {("2005", "2006"): 100.0, ("2006", "2007"): 10.0}).
    """

    column: str
    strength: ByValues = 1.0
    start: float | None = None
    by_gap: bool = False

    def __post_init__(self) -> None:
        check_strength(self.strength)
        if self.start is not None:
            check_strength(self.start, infinite=False)

    def graph(self, rows: Rows) -> Graph:
        joined, weights = [], []
        diagonal = np.zeros(len(rows))
        cells = _cells(rows, self.column)
        check_values(self.strength, self.column, rows.slices.values(self.column))
        for cell in cells:
            for (a, one), (b, two) in pairwise(cell.items()):
                joined.append((one, two))
                weights.append(by_values(self.strength, a, b) / (self._gap(a, b) if self.by_gap else 1.0))
            if self.start is not None:
                for language in range(len(rows.vocabularies)):
                    words = rows.words(language, next(iter(cell.values())))
                    diagonal[words.start : words.stop] = self.start
        return _between_slices(rows, joined, weights) + Graph.of(len(rows), diagonal=diagonal)

    def _gap(self, one: str, two: str) -> float:
        try:
            return float(two) - float(one)
        except ValueError:
            raise InputError(f'Chain(by_gap=True) needs numbers in "{self.column}", not "{one}" and "{two}"') from None


def _cells(rows: Rows, column: str) -> list[dict[str, int]]:
    if column not in rows.slices.columns:
        raise InputError(
            f'the prior is about "{column}", by which vectors do not vary: '
            f"vary={list(rows.slices.columns)}. Add it there, or take it out of the prior"
        )
    return rows.slices.cells(column)


def _between_slices(rows: Rows, joined: Sequence[tuple[int, int]], weights: Sequence[float]) -> Graph:
    """Every word with itself, in the given pairs of slices."""
    first, second, weight = [np.empty(0, np.int64)], [np.empty(0, np.int64)], [np.empty(0)]
    for language, vocabulary in enumerate(rows.vocabularies):
        for (one, two), a in zip(joined, weights, strict=True):
            first.append(np.array(rows.words(language, one)))
            second.append(np.array(rows.words(language, two)))
            weight.append(np.full(len(vocabulary), a))
    return Graph.of(len(rows), np.concatenate(first), np.concatenate(second), np.concatenate(weight))
