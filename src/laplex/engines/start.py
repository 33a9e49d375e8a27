"""Where vectors start from: small random values, the same for all slices of a word. P parameters, T fixed targets."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from laplex.problem import Problem

START = 1e-3  # of Adagrad's accumulators; a row that no gradient has touched still has it at the end
FLOOR = 1e-4  # the last step size, as a share of the first
ROWS = 10_000  # drawn at once, since a copy of all would take too much memory


def start(problem: Problem, seed: int, theta: NDArray[np.float32]) -> None:
    """Write start values into (P + T, D or more), which is zero."""
    random = np.random.default_rng([seed, 0])
    order = np.argsort(problem.twin, kind="stable")
    sorted_twins = problem.twin[order]
    for row in range(0, int(problem.twin.max(initial=-1)) + 1, ROWS):
        drawn = random.random((min(ROWS, len(problem.slot) - row), problem.dimensions), np.float32)
        own = order[slice(*np.searchsorted(sorted_twins, [row, row + ROWS]))]
        for some in (own[first : first + ROWS] for first in range(0, len(own), ROWS)):  # words of many slices
            theta[some, : problem.dimensions] = (drawn[problem.twin[some] - row] - 0.5) / problem.dimensions
    if len(problem.graph.targets):
        theta[problem.parameters :, : problem.dimensions] = problem.graph.targets
