"""Draws from a posterior itself, where no Gaussian is near enough.

A block and the Gaussian nearest to its posterior come in; draws go out. Many short chains of Hamiltonian Monte Carlo
run side by side, each from a draw of the Gaussian, in coordinates in which that is a standard one. A trajectory of a
quarter of a turn leaves no trace of where it began, so that a few are enough. Of many contexts a sample is taken; what
it gets wrong at first order is put right at the maximum, where the gradient is known.
C chains, n vectors, m contexts, D dimensions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy.special import expit, log_expit

from laplex.posterior.ascent import Text
from laplex.posterior.block import Block, Floats
from laplex.posterior.nearest import Side, sides_of

TRAJECTORIES = 6
TURN = np.pi / 2


def draw(
    block: Block,
    mode: Floats,
    mean: Floats,
    covariance: Floats,
    text: Text,
    count: int,
    *,
    report: Callable[[], None] = lambda: None,
) -> Floats:
    """(count, n, D) Draws of the vectors, each from a chain of its own."""
    random = np.random.default_rng([1, 10])
    sides = sides_of(block, mode, text)
    root = np.linalg.cholesky(covariance)
    steps = max(4, round(2.5 * mean.size**0.25))  # so many keep the error of the energy the same in all dimensions

    def look(z: Floats) -> tuple[Floats, Floats]:
        value, gradient = judge(block, mode, sides, (mean.reshape(-1) + z @ root.T).reshape(len(z), *mean.shape))
        report()
        return value, gradient.reshape(len(z), -1) @ root

    z = random.standard_normal((count, mean.size))
    value, gradient = look(z)
    for _ in range(TRAJECTORIES):
        size = TURN / steps * random.uniform(0.8, 1.2)
        start = random.standard_normal(z.shape)
        place, slope = z, gradient
        speed = start + 0.5 * size * slope
        for step in range(steps):
            place = place + size * speed
            there, slope = look(place)
            speed = speed + (size if step < steps - 1 else 0.5 * size) * slope
        energy = there - value - 0.5 * ((speed**2).sum(1) - (start**2).sum(1))
        taken = np.log(random.random(count)) < energy
        z, gradient = np.where(taken[:, None], place, z), np.where(taken[:, None], slope, gradient)
        value = np.where(taken, there, value)
    drawn: Floats = (mean.reshape(-1) + z @ root.T).reshape(count, *mean.shape)
    return drawn


def judge(block: Block, mode: Floats, sides: Sequence[Side], points: Floats) -> tuple[Floats, Floats]:
    """(C), (C, n, D) The log posterior at each point, up to a constant, and its gradient."""
    moved = points - mode
    pulled = np.einsum("ij,cjd->cid", block.precision, moved)
    value, gradient = -0.5 * (pulled * moved).sum((1, 2)), -pulled
    for side in sides:
        scores = side.sign * (points[:, side.place] @ side.h.T)  # (C, m)
        known = side.sign * (side.weight * side.off) @ side.h  # the gradient at the maximum, which others cancel
        value += log_expit(scores) @ side.weight - moved[:, side.place] @ known
        gradient[:, side.place] += side.sign * (expit(-scores) * side.weight) @ side.h - known
    return value, gradient
