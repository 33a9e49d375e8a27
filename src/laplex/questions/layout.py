"""Words on a plane, such that those with the same nearest neighbors lie together: t-SNE (van der Maaten, Hinton 2008).

Each word is attracted by its nearest neighbors by cosine and repelled by all words. For points y and the graph of
neighbors with weights p that sum to one, the layout minimizes

    Σ p_ij log(p_ij / q_ij),   q_ij = w_ij / Z,   w_ij = 1 / (1 + ‖y_i − y_j‖²),   Z = Σ_{i≠j} w_ij

All neighbors of a word have the same weight, which gives nearly the same layout as Gaussian weights. The repulsion
is half the gradient of the potential Σ_j w(y − y_j), a convolution that is computed on a grid by the fast Fourier
transform, as in FIt-SNE (Linderman and others, 2019). Nothing is random: it begins from principal components.

N words, D dimensions, k neighbors.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy import fft, sparse

from laplex.questions.cosine import normalize, search

Points = NDArray[np.float64]

NEIGHBORS = 15
EXAGGERATION, EXAGGERATED_STEPS, STEPS = 12.0, 200, 500  # attraction is stronger in the first steps, of all
START_DEVIATION = 1e-4  # of the first coordinate
CELL, LEAST_CELLS, MOST_CELLS = 0.4, 50, 2_000  # the width of a cell of the grid, and how many a side has
MARGIN = 3  # cells beyond the outermost points
SHARE_OF_SEARCH = 0.4  # of the time

compiled: Callable[[Any], Any] = njit(nogil=True, cache=True, boundscheck=False, error_model="numpy")


def neighbor_layout(vectors: NDArray[Any], report: Callable[[float], None] = lambda share: None) -> Points:
    """Points on a plane, where words are near those that are their nearest neighbors by cosine.

    Args:
        vectors: (N, D) The vectors.
        report: Called with the share of the work that is done, 0 to 1. It may raise to stop.

    Returns:
        (N, 2) The points, around zero; the wider side is across.

    Example:
        neighbor_layout(fitted.matrix(at={"party": "D"})[:1000])
    """
    directions = np.nan_to_num(normalize(np.asarray(vectors, np.float32)))
    points = _start(directions)
    if len(points) < 3:
        return points
    graph = neighbor_graph(directions, min(NEIGHBORS, len(points) - 1), lambda share: report(SHARE_OF_SEARCH * share))
    _descend(points, graph, lambda share: report(SHARE_OF_SEARCH + (1 - SHARE_OF_SEARCH) * share))
    points -= (points.max(0) + points.min(0)) / 2
    return points if np.ptp(points[:, 0]) >= np.ptp(points[:, 1]) else np.ascontiguousarray(points[:, ::-1])


def _start(directions: NDArray[np.float32]) -> Points:
    """(N, 2) The first two principal components, very small."""
    centered = (directions - directions.mean(0)).astype(np.float64)
    axes = np.linalg.eigh(centered.T @ centered)[1][:, ::-1][:, :2]
    axes = axes * np.where(np.take_along_axis(axes, np.abs(axes).argmax(0)[None], 0) < 0, -1.0, 1.0)
    points = np.zeros((len(directions), 2))
    points[:, : axes.shape[1]] = centered @ axes
    points *= START_DEVIATION / max(float(points[:, 0].std()), 1e-300)
    return points


def neighbor_graph(directions: NDArray[np.float32], k: int, report: Callable[[float], None]) -> sparse.csr_array:
    """(N, N) The edges from words to their k nearest neighbors and back; their weights sum to one."""
    size = len(directions)
    own = np.arange(size)[:, None]
    ids, _ = search(directions, directions, k, exclude=own, report=report)
    ones = np.ones(ids.size)
    graph = sparse.csr_array((ones, (np.repeat(own.ravel(), k), ids.ravel())), shape=(size, size))
    return sparse.csr_array(graph + graph.T) / (2 * ids.size)


def _descend(points: Points, graph: sparse.csr_array, report: Callable[[float], None]) -> None:
    """Gradient descent with momentum and a step size for each coordinate (Jacobs, 1988)."""
    edges = graph.indptr.astype(np.int64), graph.indices.astype(np.int64), graph.data
    velocity, gains = np.zeros_like(points), np.ones_like(points)
    for step in range(STEPS):
        early = step < EXAGGERATED_STEPS
        rate = len(points) / EXAGGERATION
        gradient = _attraction(points, *edges)
        gradient *= EXAGGERATION if early else 1.0
        gradient -= repulsion(points)
        gradient *= 4.0
        gains = np.where((gradient > 0) == (velocity > 0), np.maximum(0.8 * gains, 0.01), gains + 0.2)
        velocity *= 0.5 if early else 0.8
        velocity -= rate * gains * gradient
        points += velocity
        points -= points.mean(0)
        report((step + 1) / STEPS)


def repulsion(points: Points) -> Points:
    """(N, 2) Σ_j w_ij² (y_i − y_j) / Z for each i."""
    low, extent = points.min(0), float(np.ptp(points, axis=0).max())
    cell = max(min(CELL, max(extent, 1e-12) / LEAST_CELLS), extent / MOST_CELLS)
    size = fft.next_fast_len(int(extent / cell) + 2 * MARGIN + 1, real=True)
    origin = low - MARGIN * cell
    density = np.zeros((size, size))
    _spread(points, origin, cell, density)
    # with as many empty cells again, the ends do not act on each other
    product = fft.rfft2(density, (2 * size, 2 * size), workers=-1) * _kernel(size, cell)
    potential = fft.irfft2(product, (2 * size, 2 * size), workers=-1)
    gradient, total = _gather(points, origin, cell, np.ascontiguousarray(potential[:size, :size]))
    normalizer = max(total - len(points), 1e-300)  # without the words' potential on themselves
    return np.asarray(gradient / (-2.0 * normalizer))


@lru_cache(maxsize=1)
def _kernel(size: int, cell: float) -> NDArray[np.complex128]:
    """The transform of w on the grid, divided by that of the splines which put words there and read them off."""
    distance = cell * np.minimum(np.arange(2 * size), 2 * size - np.arange(2 * size))
    kernel = fft.rfft2(1.0 / (1.0 + distance[:, None] ** 2 + distance**2))
    waves = [2 * np.pi * frequencies for frequencies in (fft.fftfreq(2 * size), fft.rfftfreq(2 * size))]
    down, across = (((2.0 + np.cos(wave)) / 3.0) ** 2 for wave in waves)  # of a cubic B-spline at whole numbers
    return np.asarray(kernel / (down[:, None] * across))


@compiled
def _attraction(points, starts, ids, weights):  # type: ignore[no-untyped-def]
    """(N, 2) Σ_j p_ij w_ij (y_i − y_j) for each i."""
    force = np.zeros_like(points)
    for i in range(len(points)):
        for edge in range(starts[i], starts[i + 1]):
            across = points[i, 0] - points[ids[edge], 0]
            up = points[i, 1] - points[ids[edge], 1]
            weight = weights[edge] / (1.0 + across * across + up * up)
            force[i, 0] += weight * across
            force[i, 1] += weight * up
    return force


@compiled
def _spline(place, values, slopes):  # type: ignore[no-untyped-def]
    """The first of the four cells around a place; cubic B-splines on them, and their derivatives."""
    first = int(place)
    t = place - first
    values[0], slopes[0] = (1 - t) ** 3 / 6, -((1 - t) ** 2) / 2
    values[1], slopes[1] = (3 * t**3 - 6 * t**2 + 4) / 6, (3 * t**2 - 4 * t) / 2
    values[2], slopes[2] = (-3 * t**3 + 3 * t**2 + 3 * t + 1) / 6, (-3 * t**2 + 2 * t + 1) / 2
    values[3], slopes[3] = t**3 / 6, t**2 / 2
    return first - 1


@compiled
def _spread(points, origin, cell, density):  # type: ignore[no-untyped-def]
    """Add every point to the cells around it."""
    x, y, slopes = np.empty(4), np.empty(4), np.empty(4)
    for i in range(len(points)):
        left = _spline((points[i, 0] - origin[0]) / cell, x, slopes)
        low = _spline((points[i, 1] - origin[1]) / cell, y, slopes)
        for a in range(4):
            for b in range(4):
                density[left + a, low + b] += x[a] * y[b]


@compiled
def _gather(points, origin, cell, potential):  # type: ignore[no-untyped-def]
    """(N, 2) The gradient of the potential at every point, and the sum of the potential over the points."""
    gradient, total = np.zeros_like(points), 0.0
    x, y, x_slope, y_slope = np.empty(4), np.empty(4), np.empty(4), np.empty(4)
    for i in range(len(points)):
        left = _spline((points[i, 0] - origin[0]) / cell, x, x_slope)
        low = _spline((points[i, 1] - origin[1]) / cell, y, y_slope)
        for a in range(4):
            for b in range(4):
                value = potential[left + a, low + b]
                total += value * x[a] * y[b]
                gradient[i, 0] += value * x_slope[a] * y[b] / cell
                gradient[i, 1] += value * x[a] * y_slope[b] / cell
    return gradient, total
