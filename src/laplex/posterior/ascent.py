"""The maximum of the log posterior of some vectors, given the contexts, and the curvature there.

Blocks and the contexts of their words come in; the vectors at the maximum and the covariance go out. With h a context,

    log p(x | text) = Σ_where the word stands log σ(x·h) + K P(w) Σ_everywhere log σ(−x·h) + log p(x | rest),

which has one maximum. Newton's steps are halved until the log posterior rises. The curvature is that of some of the
contexts, chosen in proportion to what they add to it; the log posterior and its gradient are those of all of them.
n vectors of a block, k vectors that are judged at once, m contexts, D dimensions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from laplex.errors import InputError, LaplexError
from laplex.posterior.block import Block, Floats
from laplex.posterior.reading import Contexts

CURVATURE = 20_000  # contexts that make up the curvature of a side, or all if there are fewer
CHUNK = 65_536  # contexts whose scores are held at once
TRIALS = 100  # points at which the log posterior may be asked for
SETTLED = 1e-6  # squared distance to the maximum for each number, in standard deviations


@dataclass(frozen=True, eq=False)
class Text:
    """What the text says about the words of some blocks."""

    here: Mapping[tuple[int, int], Contexts]  # by word and slice
    around: Sequence[Contexts]  # by slice
    noise: Mapping[int, float]  # of each word, the negatives at a position: K P(w)


class NotSettledError(LaplexError):
    """The maximum of a posterior was not found."""


class Ascent:
    """The way of a block to its maximum: `trial` is the next point, `tell` takes what was found there."""

    def __init__(self, block: Block) -> None:
        self.block = block
        self.trial = self.point = block.vectors
        self.value = -np.inf
        self.covariance: Floats | None = None
        self._step = np.zeros_like(block.vectors)
        self._rise = 0.0  # that the step promises, at first order
        self._size = 1.0
        self._left = TRIALS

    def tell(self, value: float, gradient: Floats, curvature: Floats) -> None:
        """The log likelihood at the trial point, its gradient (n, D) and minus its second derivatives (n, D, D)."""
        value += self.block.log_prior(self.trial)
        self._left -= 1
        if not np.isfinite(value) and self.value == -np.inf:
            raise InputError("the vectors or the contexts of the model are not finite numbers")
        noise = 1e-6 * abs(value)  # contexts are in single precision
        if np.isfinite(value) and value >= self.value + 1e-4 * self._size * self._rise - noise:
            self.point, self.value, self._size = self.trial, value, 1.0
            self._turn(gradient + self.block.log_prior_gradient(self.trial), curvature)
        else:
            self._size /= 2
        if self.covariance is None:
            if not self._left:
                raise NotSettledError(
                    f"the maximum was not found at {TRIALS} points: the vectors of the model are too far from it "
                    f"(the longest is {np.linalg.norm(self.block.vectors, axis=1).max():.3g}); fit it with a lower rate"
                )
            self.trial = self.point + self._size * self._step

    def _turn(self, gradient: Floats, curvature: Floats) -> None:
        """The next step, or if it is a small one, the end."""
        count, size = self.point.shape
        whole = np.kron(self.block.precision, np.eye(size))
        for i in range(count):
            whole[i * size : (i + 1) * size, i * size : (i + 1) * size] += curvature[i]
        try:
            factor = linalg.cho_factor(whole, lower=True, overwrite_a=True, check_finite=False)
        except linalg.LinAlgError:
            raise InputError("the prior and the text leave a direction free: give the model a Ridge") from None
        self._step = linalg.cho_solve(factor, gradient.reshape(-1)).reshape(count, size)
        self._rise = float((gradient * self._step).sum())
        if self._rise <= SETTLED * gradient.size:
            self.point = self.point + self._step
            self.covariance = linalg.cho_solve(factor, np.eye(gradient.size), overwrite_b=True)


def climb(blocks: Sequence[Block], text: Text, report: Callable[[], None] = lambda: None) -> list[Ascent]:
    """Bring blocks to their maximum, side by side, so that the background is read for all of them at once."""
    ascents = [Ascent(block) for block in blocks]
    while moving := [ascent for ascent in ascents if ascent.covariance is None]:
        for ascent, found in zip(moving, judge([ascent.block for ascent in moving], [a.trial for a in moving], text)):
            ascent.tell(*found)
        report()
    return ascents


def judge(blocks: Sequence[Block], points: Sequence[Floats], text: Text) -> list[tuple[float, Floats, Floats]]:
    """For each block the log likelihood at a point, its gradient, and minus its second derivatives."""
    value = np.zeros(len(blocks))
    gradient = [np.zeros_like(point) for point in points]
    curvature = [np.zeros((*point.shape, point.shape[1])) for point in points]
    for slice, around in enumerate(text.around):
        cells = [(i, cell) for i, block in enumerate(blocks) for cell in block.cells if cell.slice == slice]
        if not cells:
            continue
        vectors = np.array([points[i][cell.place] for i, cell in cells])
        for (i, cell), vector, (height, slope, bend) in zip(cells, vectors, lean(around, vectors, -1)):
            noise, here = text.noise[cell.word], lean(text.here[cell.word, slice], vector[None], 1)[0]
            value[i] += here[0] + noise * height
            gradient[i][cell.place] += here[1] + noise * slope
            curvature[i][cell.place] += here[2] + noise * bend
    return list(zip(value.tolist(), gradient, curvature))


def lean(contexts: Contexts, vectors: Floats, sign: int) -> list[tuple[float, Floats, Floats]]:
    """For each vector x: Σ log σ(±x·h) over contexts h, its gradient (D), and minus its second derivatives (D, D)."""
    narrow, size = vectors.astype(np.float32), vectors.shape[1]
    value, gradient = np.zeros(len(vectors)), np.zeros(vectors.shape)
    bend = np.empty((len(vectors), len(contexts)), np.float32)
    for first in range(0, len(contexts), CHUNK):
        part = slice(first, first + CHUNK)
        h = contexts.vectors[part]
        scores = narrow @ h.T  # (k, chunk)
        weight = contexts.weight if isinstance(contexts.weight, float) else contexts.weight[part]
        small = np.exp(-np.abs(scores))
        height = np.minimum(sign * scores, np.float32(0.0)) - np.log1p(small)
        off = np.where(sign * scores > 0, small, np.float32(1.0)) / (1 + small)  # σ(∓x·h)
        value += (height * weight).sum(1, dtype=np.float64)
        gradient += sign * ((off * weight).astype(np.float32) @ h)
        bend[:, part] = off * (1 - off) * weight
    return [(float(value[i]), gradient[i], _curvature(contexts.vectors, bend[i], size)) for i in range(len(vectors))]


def _curvature(h: NDArray[np.float32], bend: NDArray[np.float32], size: int) -> Floats:
    """(D, D) Σ bend h hᵀ, from contexts chosen in proportion to `bend` if there are many."""
    if len(h) > CURVATURE:
        total = float(bend.sum(dtype=np.float64))
        chance = np.minimum(bend * np.float32(CURVATURE / max(total, 1e-30)), np.float32(1.0))
        chosen = np.flatnonzero(np.random.default_rng([1, 7]).random(len(h), np.float32) < chance)
        h, bend = h[chosen], bend[chosen] / chance[chosen]
    scaled = h * np.sqrt(bend)[:, None]
    curvature: Floats = (scaled.T @ scaled).astype(np.float64)
    return curvature
