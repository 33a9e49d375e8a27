"""What is compared: one group of labels with another, any of several with each other, or a line along which they stand.

A label is a value of the column that a question is about. U units, G labels, n words.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from laplex.embeddings import Embeddings
from laplex.errors import InputError, quote
from laplex.fitting.provenance import value_name
from laplex.inference.decomposition import UnitWeights, group_weights
from laplex.inference.permutations import Design, Difference, Permutations, Trend
from laplex.inference.score_test import Effect, GroupScores, difference_effect, trend_effect
from laplex.inference.scores import ScorePass, ScoreTable
from laplex.inference.testing import GroupTest
from laplex.inference.units import Floats, Ints, Units
from laplex.questions.change import ordered_column
from laplex.text.periods import positions
from laplex.text.tokens import Tokens

REST, PAIRS, JOINT = "rest", "pairs", "joint"  # what values can be compared with, beside a value
MAX_VALUES_AGAINST_REST = 12  # of a column whose values are each compared with the rest, if nothing else is asked
MAX_VALUES_ON_LINE = 24  # values that a line keeps apart; of more, neighbors are taken together


@dataclass(frozen=True)
class Comparison:
    """Groups of labels that are tested against each other, and the two sides that a table shows."""

    value: str
    against: str
    groups: tuple[tuple[int, ...], ...]
    design: Design
    sides: tuple[tuple[int, ...], tuple[int, ...]]

    @classmethod
    def pair(cls, value: str, against: str, one: Sequence[int], two: Sequence[int]) -> Comparison:
        """One group of labels with another."""
        sides = tuple(one), tuple(two)
        return cls(value, against, sides, Difference(2), sides)

    @classmethod
    def joint(cls, labels: Sequence[int]) -> Comparison:
        """Any of some labels with the others."""
        groups = tuple((label,) for label in labels)
        return cls("any", "others", groups, Difference(len(labels)), (tuple(labels[:1]), tuple(labels[1:])))

    @classmethod
    def trend(cls, first: str, last: str, x: Floats) -> Comparison:
        """A line on which the labels stand at x; its halves are the sides."""
        labels = tuple((label,) for label in range(len(x)))
        middle = float(np.mean(x[[0, -1]]))
        early = tuple(np.flatnonzero(x < middle).tolist())
        return cls(first, last, labels, Trend(x), (early, tuple(np.flatnonzero(x >= middle).tolist())))

    def reversed(self) -> Comparison:
        """The same with its sides in the other order."""
        return replace(self, value=self.against, against=self.value, sides=(self.sides[1], self.sides[0]))

    @property
    def has_two_sides(self) -> bool:
        """Whether the two sides are all that is compared."""
        return len(self.groups) == 2 or isinstance(self.design, Trend)

    def test(self, text: ScorePass, tested: NDArray[np.bool_], seed: int) -> GroupTest:
        """The test of words (n)."""
        effect: Callable[[GroupScores], Effect] = difference_effect
        if isinstance(self.design, Trend):
            effect = partial(trend_effect, x=self.design.x.astype(np.float64))
        numbers = [label for group in self.groups for label in group]
        draws = Permutations.of(text.units, self.groups, not text.cells.shared, [seed, 5, *numbers])
        return GroupTest(tested, self.groups, self.design, effect, draws)

    def units_using(self, text: ScorePass) -> Ints:
        """(n, 2) How many units use each word on each side; of several labels, the fewest and the most at one."""
        found = np.stack([text.cluster_counts(side) for side in (self.sides if self.has_two_sides else self.groups)], 1)
        return found if self.has_two_sides else np.stack([found.min(1), found.max(1)], 1)

    def unit_weights(self, text: ScorePass, table: ScoreTable) -> UnitWeights:
        """The weights of units in the difference of a word between the two sides."""
        return group_weights(text, table, self.sides)


def default_against(values: int) -> str | None:
    """What is compared if nothing is said: two values with each other, each of several with the rest, many jointly."""
    return None if values == 2 else REST if values <= MAX_VALUES_AGAINST_REST else JOINT


def comparisons(
    units: Units, column: str, values: Sequence[str] | None, against: str | None, fewest: int
) -> list[Comparison]:
    """The comparisons that a contrast makes; labels that fewer than `fewest` units have are no part of a joint test."""
    place = {units.labels[label]: label for label in np.unique(units.label).tolist()}
    for value in values or ():
        if value not in place:
            raise InputError(f'"{column}" has no value {value!r} to compare; it has {quote(place, 12)}')
    listed = [value for value in place if not values or value in values]
    if against is not None and against in place:
        others = [value for value in listed if value != against]
        if not others:
            raise InputError(f'"{against}" cannot be compared with itself: name other values')
        return [Comparison.pair(value, against, [place[value]], [place[against]]) for value in others]
    if against not in (None, REST, PAIRS, JOINT):
        options = quote([REST, PAIRS, JOINT])
        raise InputError(f'against="{against}" is neither {options} nor a value of "{column}": {quote(place, 12)}')
    if len(listed) == 1:  # one value is compared with all others of the column
        if against not in (None, REST):
            raise InputError(f'values={[*listed]!r} with against="{against}": name two values or more')
        return [_against_rest(listed[0], place, list(place))]
    against = against or default_against(len(listed))
    if against == JOINT:
        return [Comparison.joint(_large_labels(units, [place[value] for value in listed], fewest))]
    if against == REST:
        return [_against_rest(value, place, listed) for value in listed]
    pairs = combinations(listed, 2)
    return [Comparison.pair(one, two, [place[one]], [place[two]]) for one, two in pairs]


def _against_rest(value: str, place: dict[str, int], listed: Sequence[str]) -> Comparison:
    others = [other for other in listed if other != value]
    return Comparison.pair(value, REST, [place[value]], [place[other] for other in others])


def _large_labels(units: Units, labels: list[int], fewest: int) -> list[int]:
    """The labels that enough units have, if these are two or more; else all."""
    sizes = np.bincount(units.label, minlength=len(units.labels))
    large = [label for label in labels if sizes[label] >= fewest]
    return large if len(large) > 1 else labels


def two_sides(
    fitted: Embeddings, column: str, units: Units, values: Sequence[Any] | None
) -> tuple[tuple[str, str], tuple[list[int], list[int]]]:
    """The names of two groups, and their labels: those named, or the halves of a column that has an order."""
    present = np.unique(units.label).tolist()
    known = [units.labels[label] for label in present]
    if values is None and len(known) > 2:
        names, halves = halves_of_line(fitted, column, known)
        early, late = ([present[i] for i in half] for half in halves)
        return names, (early, late)
    chosen = known if values is None else [str(value) for value in ([values] if isinstance(values, str) else values)]
    if unknown := [value for value in chosen if value not in known]:
        raise InputError(f'"{column}" has no value {unknown[0]!r}; it has {quote(known, 12)}')
    if not 1 <= len(set(chosen)) == len(chosen) <= 2:
        raise InputError(f"values={values!r}: name two values, or one to compare with all others")
    first = [units.labels.index(chosen[0])]
    if len(chosen) == 2:
        return (chosen[0], chosen[1]), (first, [units.labels.index(chosen[1])])
    return (chosen[0], REST), (first, [label for label in present if label not in first])


def halves_of_line(
    fitted: Embeddings, column: str, values: Sequence[str]
) -> tuple[tuple[str, str], tuple[list[int], list[int]]]:
    """The names of the earlier and the later half of the values of an ordered column, and which values they have."""
    line = positions(values)
    if line is None and column in fitted.columns and fitted.ordered(column):
        line = np.arange(len(values), dtype=np.float64)
    if line is None:
        raise InputError(f'"{column}" has {len(values)} values: name one or two of {quote(values, 12)} by values=')
    is_early = line < (line[0] + line[-1]) / 2
    early, late = np.flatnonzero(is_early).tolist(), np.flatnonzero(~is_early).tolist()
    names = [value_name(fitted, column, values[half[0]], values[half[-1]]) for half in (early, late)]
    return (names[0], names[1]), (early, late)


def units_on_line(
    fitted: Embeddings, units: Units, column: str, tokens: Tokens
) -> tuple[Units, Floats, tuple[str, str]]:
    """Units with labels that stand at numbers x from −½ to ½, these numbers, and the first and the last value.

    The line is straight in the numbers that the values are, in the middles of the periods that they name, or in their
    order (if there is a Chain along them).
    """
    present, label = np.unique(units.label, return_inverse=True)
    values = [units.labels[i] for i in present]
    line = positions_on_line(fitted, column, values)
    x = (line - line[0]) / (line[-1] - line[0]) - 0.5
    lengths = np.diff(tokens.offsets)[units.documents]
    sizes = np.bincount(np.repeat(label, np.diff(units.start)), lengths).astype(np.int64)
    bins = _bins(sizes)
    x = np.bincount(bins, sizes * x) / np.bincount(bins, sizes)
    return units.relabel(bins[label], [str(number) for number in range(len(x))]), x, (values[0], values[-1])


def positions_on_line(fitted: Embeddings, column: str, values: list[str]) -> Floats:
    """(G) Numbers for the values of an ordered column: what they are, the middles of periods, or their order.

    A column that is neither numbers nor time needs a Chain in the prior.
    """
    line = positions(values)
    if line is not None:
        return line
    if column not in fitted.columns:
        raise InputError(
            f'"{column}" has no order: its values {quote(values, 4)} are not all numbers or all periods of time'
        )
    ordered_column(fitted, column)
    return np.arange(len(values), dtype=np.float64)


def _bins(sizes: Ints) -> Ints:
    """(G) The bin of each value: its own, or if there are many, one of neighbors that have much the same text."""
    if len(sizes) <= MAX_VALUES_ON_LINE:
        return np.arange(len(sizes))
    middle = (np.cumsum(sizes) - sizes / 2) / sizes.sum()
    return np.unique((middle * MAX_VALUES_ON_LINE).astype(np.int64), return_inverse=True)[1]
