"""What does the prior charge for a difference between the values of a column?

A fitted model comes in; for each word the curvature of the prior goes out, along the direction in which its vectors
at one value move by ½ and those at the other by −½ (or at several values by so much each): xᵀ(L + D)x, with L and D of
the graph. Two groups of strength λ1 under a ridge λ0 give λ1 + λ0/2. V words, S slices, R rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from laplex.embeddings import Embeddings


def charge(
    fitted: Embeddings, column: str, at: Mapping[str, float], language: int, where: Mapping[str, Any] | None = None
) -> NDArray[np.float64]:
    """(V) The prior's curvature, if slices with the values of `where` move, by what `at` says; zeros if none do."""
    size = len(fitted.rows.vocabularies[language])
    if column not in fitted.columns:
        return np.zeros(size)
    graph, slices = fitted.graph, fitted.rows.slices
    place = slices.columns.index(column)
    moves = set(fitted.chosen({name: value for name, value in (where or {}).items() if name in fitted.columns}))
    parameters = len(graph) + len(graph.targets)
    x = np.zeros(parameters)
    owner = np.full(parameters, -1)
    for slice, key in enumerate(slices.keys):
        slots = fitted.slots(language, slice)
        owner[slots] = np.arange(size)
        if slice in moves:
            np.add.at(x, slots, at.get(key[place], 0.0))
    first, second = owner[graph.first], owner[graph.second]
    ends, others = x[graph.first], x[graph.second]
    same = first == second
    within = graph.weight * (ends - graph.sign * others) ** 2
    total = np.zeros(size + 1)  # the last place is for what is no word of this language
    np.add.at(total, np.where(same, first, -1), within)
    np.add.at(total, np.where(same, -1, first), graph.weight * ends**2)
    np.add.at(total, np.where(same, -1, second), graph.weight * others**2)
    np.add.at(total, owner[: len(graph)], graph.diagonal * x[: len(graph)] ** 2)
    return total[:size]
