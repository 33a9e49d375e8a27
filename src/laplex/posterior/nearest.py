"""The Gaussian that is nearest to a posterior, where the one at its maximum is not near enough.

A block at its maximum comes in; the mean and the covariance of the Gaussian q go out for which KL(q ‖ posterior) is
least. There the posterior's gradient is zero on average, and the precision is the average of its curvature:

    E_q ∇ log p(x | text) = 0,    Σ⁻¹ = E_q [−∇² log p(x | text)]

With few occurrences the maximum is nearer to zero than the mean is, in each of many dimensions: a little in each, but
much in the length. A score x·h is Gaussian under q, and the logistic function is a mixture of normal distribution
functions (their scales twice those of Kolmogorov's distribution), so that expectations are sums. Of many contexts a
sample says how the expectations differ from what is known at the maximum. m contexts, D dimensions.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, stats
from scipy.special import expit, ndtr

from laplex.posterior.ascent import NotSettledError, Text
from laplex.posterior.block import Block, Floats
from laplex.posterior.reading import Contexts

SAMPLE = 5_000  # contexts of a side of a cell
ROUNDS = 200
SETTLED = 1e-6  # squared distance to the mean for each number, in standard deviations
PARTS = 8  # of the mixture


@dataclass(frozen=True, eq=False)
class Side:
    """Contexts of a cell on one side, and what they said at the maximum."""

    place: int
    sign: int
    h: Floats  # (m, D)
    weight: Floats  # (m)
    off: Floats  # (m) σ(∓x·h) at the maximum
    bend: Floats  # (m) σ(1−σ)


def approach(block: Block, mode: Floats, covariance: Floats, text: Text) -> tuple[Floats, Floats]:
    """Mean and covariance of the nearest Gaussian, from the maximum and the covariance there."""
    sides = sides_of(block, mode, text)
    count, size = mode.shape
    before = at_mode = linalg.inv(covariance)
    mean = mode
    for _ in range(ROUNDS):
        gradient, precision = -block.precision @ (mean - mode), at_mode.copy()
        for side in sides:
            own = slice(side.place * size, (side.place + 1) * size)
            scores, spread = side.h @ mean[side.place], ((side.h @ covariance[own, own]) * side.h).sum(1)
            off, bend = expected(-side.sign * scores, spread)
            gradient[side.place] += side.sign * (side.weight * (off - side.off)) @ side.h
            precision[own, own] += (side.h * (side.weight * (bend - side.bend))[:, None]).T @ side.h
        before = precision = 0.5 * (before + precision)  # half way, or it may swing to and fro
        try:
            factor = linalg.cho_factor(precision, lower=True)
        except linalg.LinAlgError:
            break
        step = linalg.cho_solve(factor, gradient.reshape(-1)).reshape(count, size)
        spreads, covariance = np.diag(covariance), linalg.cho_solve(factor, np.eye(mode.size))
        mean = mean + step
        if (gradient * step).sum() <= SETTLED * mode.size and abs(np.diag(covariance) / spreads - 1).max() < 1e-3:
            return mean, covariance
    raise NotSettledError('the Gaussian nearest to it was not found: write center="mode"')


def sides_of(block: Block, mode: Floats, text: Text) -> list[Side]:
    """The contexts of a block's words, or a sample of them."""
    sides = []
    for cell in block.cells:
        here, around = text.here[cell.word, cell.slice], text.around[cell.slice]
        for contexts, sign, times in ((here, 1, 1.0), (around, -1, text.noise[cell.word])):
            if len(contexts):
                sides.append(_side(contexts, cell.place, mode[cell.place], sign, times))
    return sides


def _side(contexts: Contexts, place: int, vector: Floats, sign: int, times: float) -> Side:
    h = contexts.vectors
    weight: Floats = np.broadcast_to(np.asarray(contexts.weight, np.float64), len(h)) * times
    if len(h) > SAMPLE:
        sigma = expit(h @ vector.astype(np.float32))
        bend = sigma * (1 - sigma) * weight
        chance = np.minimum(1.0, SAMPLE * (0.5 * bend / max(bend.sum(), 1e-30) + 0.5 * weight / weight.sum()))
        chosen = np.flatnonzero(np.random.default_rng([1, 9]).random(len(h)) < chance)
        h, weight = h[chosen], weight[chosen] / chance[chosen]
    wide = h.astype(np.float64)
    return Side(place, sign, wide, weight, *expected(-sign * (wide @ vector), np.zeros(len(wide))))


@cache
def _mixture() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Weights and scales of normal distribution functions that add up to the logistic one (within 2e-4)."""
    nodes, weights = np.polynomial.legendre.leggauss(PARTS)
    return weights / 2, 2 * stats.kstwobign.ppf((nodes + 1) / 2)


def expected(mean: Floats, variance: Floats) -> tuple[Floats, Floats]:
    """(m), (m) E σ(s) and E σ(s)(1 − σ(s)) of Gaussian scores s.

    >>> off, bend = expected(np.array([0.0, 1.0]), np.array([4.0, 0.0]))
    >>> off.round(3).tolist(), bend.round(3).tolist()
    ([0.5, 0.731], [0.151, 0.197])
    """
    off, bend = np.zeros_like(mean), np.zeros_like(mean)
    for weight, scale in zip(*_mixture()):
        wide = np.sqrt(scale * scale + variance)
        z = mean / wide
        off += weight * ndtr(z)
        bend += weight / np.sqrt(2 * np.pi) * np.exp(-0.5 * z * z) / wide
    return off, bend
