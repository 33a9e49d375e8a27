"""The edges of a graph in portions that do not touch each other.

An edge moves both its ends to an exact minimum, which only holds if no other edge moves them at the same time. So the
edges are cut into matchings: sets in which every vector is the end of one edge at most. The edges of a matching can be
worked off all at once, in any order, on any number of processors, with the same result. E edges, P vectors.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def matchings(first: NDArray[np.int64], second: NDArray[np.int64], size: int) -> list[NDArray[np.int64]]:
    """The numbers of the edges in each matching, the largest matchings first.

    Edges get random numbers; one that has the smallest at both its ends is in the matching. What is left gives the
    next one. Vectors with d edges need about d matchings.
    """
    left = np.random.default_rng(7).permutation(len(first))
    found = []
    while len(left):
        found.append(_maximal(first, second, left, size))
        taken = np.zeros(len(first), np.bool_)
        taken[found[-1]] = True
        left = left[~taken[left]]
    return found


def _maximal(
    first: NDArray[np.int64], second: NDArray[np.int64], edges: NDArray[np.int64], size: int
) -> NDArray[np.int64]:
    """A matching among these edges to which none of them can be added; earlier ones come first."""
    used = np.zeros(size, np.bool_)
    chosen = []
    while len(edges):
        rank = np.arange(len(edges))
        earliest = np.full(size, len(edges))
        # written backwards, so that the earliest edge of an end is what stays there
        earliest[first[edges[::-1]]] = rank[::-1]
        other = np.full(size, len(edges))
        other[second[edges[::-1]]] = rank[::-1]
        earliest = np.minimum(earliest, other)
        free = (earliest[first[edges]] == rank) & (earliest[second[edges]] == rank)
        taken = edges[free]
        chosen.append(taken)
        used[first[taken]] = used[second[taken]] = True
        edges = edges[~(used[first[edges]] | used[second[edges]])]
    return np.concatenate(chosen) if chosen else np.empty(0, np.int64)
