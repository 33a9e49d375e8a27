"""Priors on one word in several slices: it is alike in all groups, or from one time to the next.

Where all slices of a cell are joined alike, the graph between them is complete: S(S − 1)/2 edges. With more than a few
slices it is written as a star around a latent node, S edges of S times the weight. That node has no text, so it is at
its optimum m, the mean of the vectors, and there

    ½ Sa Σ_s ‖ρ_s − m‖² = ½ a Σ_{s<t} ‖ρ_s − ρ_t‖²

so the maximum is the same one.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any, TypeAlias

import numpy as np

from laplex.errors import InputError, quote
from laplex.model.graph import Graph
from laplex.model.priors.prior import Prior, WordPrior, check_strength
from laplex.model.rows import Rows
from laplex.text.periods import positions
from laplex.text.slices import Slices

ByValues: TypeAlias = float | Mapping[tuple[str, str], float]  # one for two values of a column; 0 for the others
SliceEdges: TypeAlias = list[tuple[int, int, float]]  # two slices and the weight between them
MAX_COMPLETE = 3  # slices; a complete graph over them has no more edges than a star


class _AcrossSlices(Prior):
    """A prior on the slices that differ in one column alone, the same for every word."""

    column: str
    strength: ByValues | None
    joins_slices = True

    @property
    def tuning_names(self) -> list[str]:
        return [self.column, *super().tuning_names]

    @abstractmethod
    def _cell(self, cell: dict[str, int], mean: int) -> tuple[SliceEdges, float | list[float]]:
        """Edges between slices that differ in this column alone, and their diagonal.

        Args:
            cell: The slices by their value of the column.
            mean: The number of a latent node that they may be joined through.
        """

    def _slice_graph(self, slices: Slices) -> Graph:
        """The edges between slices and the diagonal that every word has."""
        edges: SliceEdges = []
        diagonal, latent = np.zeros(len(slices)), 0
        for cell in self._cells(slices):
            mean = len(slices) + latent
            joined, diagonal[list(cell.values())] = self._cell(cell, mean)
            edges += joined
            latent += any(second == mean for _, second, _ in joined)
        first, second, weight = np.array(edges, np.float64).reshape(-1, 3).T
        diagonal = np.append(diagonal, np.zeros(latent))
        return Graph.of(len(diagonal), first, second, weight, diagonal=diagonal, latent=latent)

    def graph(self, rows: Rows) -> Graph:
        slices = self._slice_graph(rows.slices)
        begin = len(rows)  # of a language's latent rows
        first, second, weight = [], [], []
        diagonal = np.zeros(len(rows) + slices.latent * sum(map(len, rows.vocabularies)))
        for language, vocabulary in enumerate(rows.vocabularies):
            words = np.arange(len(vocabulary))
            starts = np.array(rows.everywhere("word", language))
            starts = np.append(starts, begin + np.arange(slices.latent) * len(words))
            first.append((starts[slices.first, None] + words).reshape(-1))
            second.append((starts[slices.second, None] + words).reshape(-1))
            weight.append(np.repeat(slices.weight, len(words)))
            diagonal[(starts[:, None] + words).reshape(-1)] = np.repeat(slices.diagonal, len(words))
            begin += slices.latent * len(words)
        edges = (np.concatenate(arrays) for arrays in (first, second, weight))
        return Graph.of(len(diagonal), *edges, diagonal=diagonal, latent=len(diagonal) - len(rows))

    def word_prior(self, rows: Rows) -> WordPrior:
        graph = self._slice_graph(rows.slices)
        if np.isinf(graph.weight).any():
            raise InputError(
                'absent="filled" takes finite strengths: where a word is always the same, take the column out of vary='
            )
        nothing = np.zeros(sum(map(len, rows.vocabularies)))
        return WordPrior(graph.merge_ties()[0], nothing, nothing)

    def _cells(self, slices: Slices) -> list[dict[str, int]]:
        """For all values of the other columns, the slices by their value of this one."""
        self.check_chosen()
        if self.column not in slices.columns:
            raise InputError(
                f'the prior is about "{self.column}", by which vectors do not vary: '
                f"vary={list(slices.columns)}. Add it there, or take it out of the prior"
            )
        known = slices.values(self.column)
        for key in self.strength if isinstance(self.strength, Mapping) else ():
            if not isinstance(key, tuple) or len(key) != 2 or not set(key) <= set(known) or key[0] == key[1]:
                where = f'"{self.column}"; it has {quote(known, 12)}'
                raise InputError(f"a strength is given for {key!r}, which are not two values of {where}")
        return slices.cells(self.column)

    def _between(self, one: str, two: str) -> float:
        """The strength between two values of the column, named in either order."""
        if not isinstance(self.strength, Mapping):
            return float(self.strength or 0.0)
        return float(self.strength.get((one, two), self.strength.get((two, one), 0.0)))


def all_alike(slices: Sequence[int], weight: float, mean: int) -> SliceEdges:
    """Edges that join every two of some slices by the same weight, through the latent node `mean` if they are many."""
    if math.isinf(weight):
        return [(one, two, weight) for one, two in pairwise(slices)]
    if weight == 0 or len(slices) <= MAX_COMPLETE:
        return [(one, two, weight) for one, two in combinations(slices, 2) if weight]
    return [(slice, mean, len(slices) * weight) for slice in slices]


@dataclass(frozen=True)
class Groups(_AcrossSlices):
    """A word means nearly the same in all groups: −½ strength Σ_w Σ_{s<t} ‖ρ_w,s − ρ_w,t‖².

    s and t run over the slices that differ in `column` alone. This is the paper's grouped model. More than three groups
    are joined through their mean, which has the same maximum, so there are as many edges as groups.

    Args:
        column: The column whose values are the groups; one of those that the model varies by.
        strength: A number, or one for two groups as in `{("D", "R"): 10.0, ("D", "I"): 100.0}`, 0 between the others.
            Infinite strength makes the vectors the same. Without it, `lx.fit` chooses one by held-out text.

    Example:
        >>> import laplex as lx
        >>> model = lx.Model(vary=["party"], prior=lx.Ridge() + lx.Groups("party"))
    """

    column: str
    strength: ByValues | None = None

    in_words = "A word means nearly the same at every value of {column} ({strength})."

    def __post_init__(self) -> None:
        check_strength(self.strength)

    def _cell(self, cell: dict[str, int], mean: int) -> tuple[SliceEdges, float | list[float]]:
        if not isinstance(self.strength, Mapping):
            return all_alike([*cell.values()], float(self.strength or 0.0), mean), 0.0
        return [(one, two, self._between(a, b)) for (a, one), (b, two) in combinations(cell.items(), 2)], 0.0


@dataclass(frozen=True)
class GroupMean(_AcrossSlices):
    """Group vectors scatter around a mean: the hierarchical model of the paper's Proposition 3.

    ρ_w,s ~ N(ρ_w,0, γ₁⁻¹ I), ρ_w,0 ~ N(0, γ₀⁻¹ I), with γ₁ = strength and γ₀ = spread. With the mean at its maximum,
    that is a complete graph of weight γ₁²/(γ₀ + Sγ₁) and a diagonal of γ₀γ₁/(γ₀ + Sγ₁), S groups.

    Args:
        column: The column whose values are the groups; one of those that the model varies by.
        strength: γ₁, the precision of a group's vector around the mean. Without it, `lx.fit` chooses it by held-out
            text.
        spread: γ₀, the precision of the mean around zero.

    Example:
        >>> import laplex as lx
        >>> model = lx.Model(vary=["party"], prior=lx.Ridge(1.0, on="contexts") + lx.GroupMean("party", spread=1.0))
    """

    column: str
    strength: float | None = None
    spread: float = 1.0

    in_words = "The values of {column} scatter around a shared meaning ({strength})."

    def __post_init__(self) -> None:
        check_strength(self.strength, infinite=False)
        check_strength(self.spread, infinite=False, optional=False)

    def _cell(self, cell: dict[str, int], mean: int) -> tuple[SliceEdges, float | list[float]]:
        strength = self.strength or 0.0
        total = self.spread + len(cell) * strength
        if total == 0:
            return [], 0.0
        return all_alike([*cell.values()], strength**2 / total, mean), self.spread * strength / total

    @classmethod
    def group_mean(cls, described: Mapping[str, Any], column: str) -> tuple[float, float] | None:
        return (described["strength"], described["spread"]) if described["column"] == column else None


@dataclass(frozen=True)
class Chain(_AcrossSlices):
    """A word drifts slowly: −½ strength Σ_w Σ_t ‖ρ_w,t − ρ_w,t+1‖², t running over the values of `column` in order.

    A value that a group lacks is skipped. With `start`, this is the dynamic model of the paper's Proposition 2.

    Args:
        column: The column whose values have an order; one of those that the model varies by.
        strength: A number, or one for each step as in `{("2005", "2006"): 100.0, ("2006", "2007"): 10.0}`. Without it,
            `lx.fit` chooses one by held-out text.
        start: The γ₀ of the first value alone, −½ start ‖ρ_w,0‖².
        by_gap: Divide the weight between two neighbors by their distance; for numbers, their ranges, and periods.

    Example:
        >>> import laplex as lx
        >>> model = lx.Model(vary=["year"], prior=lx.Ridge() + lx.Chain("year"))
    """

    column: str
    strength: ByValues | None = None
    start: float | None = None
    by_gap: bool = False

    in_words = "A word changes slowly from one {column} to the next ({strength})."

    def __post_init__(self) -> None:
        check_strength(self.strength)
        if self.start is not None:
            check_strength(self.start, infinite=False)

    def _cell(self, cell: dict[str, int], mean: int) -> tuple[SliceEdges, float | list[float]]:
        steps = pairwise(cell.items())
        edges = [(one, two, self._between(a, b) / self._gap(a, b)) for (a, one), (b, two) in steps]
        return edges, [self.start or 0.0, *[0.0] * (len(cell) - 1)]

    def _gap(self, one: str, two: str) -> float:
        line = positions([one, two]) if self.by_gap else np.arange(2.0)
        if line is None:
            raise InputError(f'Chain(by_gap=True) needs numbers in "{self.column}", not "{one}" and "{two}"')
        return float(line[1] - line[0])

    @classmethod
    def chained_column(cls, described: Mapping[str, Any]) -> str:
        column: str = described["column"]
        return column
