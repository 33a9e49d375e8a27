"""What the prior alone says of rows that no text has touched.

For each such row i, the others held: (d_i + Σ_j a_ij) θ_i − Σ_j ±a_ij θ_j = 0. n such rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import splu

from laplex.graph import Graph


def solve(graph: Graph, theta: NDArray[np.float32], unread: NDArray[Any]) -> None:
    """Put the exact optimum into these rows of θ, behind whose parameters stand the graph's targets."""
    place = np.full(len(theta), -1)
    place[unread] = np.arange(len(unread))
    one = np.concatenate([graph.first, graph.second[~graph.directed]])
    two = np.concatenate([graph.second, graph.first[~graph.directed]])
    weight = np.concatenate([graph.weight, graph.weight[~graph.directed]])
    sign = np.concatenate([graph.sign, graph.sign[~graph.directed]])
    own = (one < len(graph)) & (place[np.minimum(one, len(place) - 1)] >= 0)
    one, two, weight, sign = place[one[own]], two[own], weight[own], sign[own]
    diagonal = graph.diagonal[unread] + np.bincount(one, weight, len(unread))
    inner = place[two] >= 0
    matrix = sparse.csc_array(
        (-sign[inner] * weight[inner], (one[inner], place[two[inner]])), shape=(len(unread), len(unread))
    ) + sparse.diags_array(np.where(diagonal > 0, diagonal, 1.0), format="csc")
    known = sparse.csr_array(
        (sign[~inner] * weight[~inner], (one[~inner], two[~inner])), shape=(len(unread), len(theta))
    )
    used = np.unique(known.indices)
    theta[unread] = splu(matrix.tocsc()).solve(known[:, used] @ theta[used].astype(np.float64))
