"""The reference engine: L-BFGS on the exact objective, all text at once, for small problems and for tests.

Directed edges have no potential. Their first ends are pulled to where the second ends are, the optimum is found with
those held fixed, and this is repeated until nothing moves, or ROUNDS times: strong directed edges may never converge.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from laplex.model.graph import Graph
from laplex.model.likelihoods import SliceText
from laplex.model.objective import log_posterior, slice_texts
from laplex.model.problem import Problem

Floats = NDArray[np.float64]
ROUNDS = 20


def maximize(problem: Problem, theta: Floats, *, steps: int = 5000, tolerance: float = 1e-9) -> Floats:
    """The nearest maximum of the log posterior to `theta`."""
    text = list(slice_texts(problem))
    if not problem.graph.directed.any():
        return _climb(problem, theta, text, steps, tolerance)
    for _ in range(ROUNDS):
        before = theta
        held = replace(problem, graph=_hold(problem.graph, theta))
        theta = _climb(held, theta, text, max(steps // ROUNDS, 1), tolerance)
        if np.abs(theta - before).max() < 1e-5 * max(1.0, np.abs(theta).max()):
            break
    return theta


def _climb(problem: Problem, theta: Floats, text: list[SliceText], steps: int, tolerance: float) -> Floats:
    def downhill(flat: Floats) -> tuple[float, Floats]:
        value, gradient = log_posterior(problem, flat.reshape(theta.shape), text)
        return -value, -gradient.reshape(-1)

    return minimize_lbfgs(downhill, theta.reshape(-1), steps, tolerance).reshape(theta.shape)


def minimize_lbfgs(
    function: Callable[[Floats], tuple[float, Floats]], start: Floats, steps: int, tolerance: float
) -> Floats:
    """Where a function, which returns its value and its gradient, has the minimum nearest to `start`."""
    options = {"maxiter": steps, "maxfun": 2 * steps, "ftol": tolerance * 1e-3, "gtol": tolerance, "maxcor": 20}
    return np.asarray(minimize(function, start, jac=True, method="L-BFGS-B", options=options).x)


def _hold(graph: Graph, theta: Floats) -> Graph:
    """The graph with the second ends of directed edges held where they are, as fixed targets."""
    moving = graph.directed & (graph.second < len(graph))
    second = graph.second.copy()
    second[moving] = len(graph) + len(graph.targets) + np.arange(int(moving.sum()))
    targets = graph.targets.reshape(-1, theta.shape[1])
    targets = np.concatenate([targets, theta[graph.second[moving]]])
    return replace(graph, second=second, directed=np.zeros_like(graph.directed), targets=targets)
