"""The slow, obvious engine: L-BFGS on the exact objective, all text at once. For small problems and for tests.

Directed edges have no potential. Their first ends are pulled to where the second ends are, the optimum is found with
those held, and so on until nothing moves, or ROUNDS times: strong directed edges may never come to rest.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from laplex.graph import Graph
from laplex.objective import Group, groups, log_posterior
from laplex.problem import Problem

Floats = NDArray[np.float64]
ROUNDS = 20


def maximize(problem: Problem, theta: Floats, *, steps: int = 5000, tolerance: float = 1e-9) -> Floats:
    """The nearest maximum of the log posterior to `theta`."""
    text = list(groups(problem))
    if not problem.graph.directed.any():
        return _climb(problem, theta, text, steps, tolerance)
    for _ in range(ROUNDS):
        before = theta
        held = replace(problem, graph=_hold(problem.graph, theta))
        theta = _climb(held, theta, text, max(steps // ROUNDS, 1), tolerance)
        if np.abs(theta - before).max() < 1e-5 * max(1.0, np.abs(theta).max()):
            break
    return theta


def _climb(problem: Problem, theta: Floats, text: list[Group], steps: int, tolerance: float) -> Floats:
    def downhill(flat: Floats) -> tuple[float, Floats]:
        value, gradient = log_posterior(problem, flat.reshape(theta.shape), text)
        return -value, -gradient.reshape(-1)

    found = minimize(
        downhill,
        theta.reshape(-1),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": steps, "maxfun": 2 * steps, "ftol": tolerance * 1e-3, "gtol": tolerance, "maxcor": 20},
    )
    return np.asarray(found.x).reshape(theta.shape)


def _hold(graph: Graph, theta: Floats) -> Graph:
    """The graph with the second ends of directed edges held where they are, as fixed targets."""
    to_target = graph.second >= len(graph)
    loose = graph.directed & ~to_target
    held = Graph.of(
        len(graph),
        graph.first[loose],
        len(graph) + np.arange(int(loose.sum())),
        graph.weight[loose],
        sign=graph.sign[loose],
        targets=theta[graph.second[loose]],
    )
    rest = Graph.of(
        len(graph),
        graph.first[~loose],
        graph.second[~loose],
        graph.weight[~loose],
        sign=graph.sign[~loose],
        diagonal=graph.diagonal,
        targets=graph.targets,
    )
    return rest + held
