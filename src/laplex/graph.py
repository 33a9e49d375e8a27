"""The graph prior as arrays.

Priors and Rows come in; a Graph goes out, which every engine reads.

    log p(θ) = −½ Σ_edges a_ij ‖θ_i − θ_j‖² − ½ Σ_nodes d_i ‖θ_i‖² + C     (paper, "Monolingual PELP")

Signed: an edge of sign −1 costs ½ a ‖θ_i + θ_j‖², so that the precision stays positive semi-definite. Directed: i is
pulled towards j, j is not pulled to i; that is a penalty, not a prior, since no density has such a gradient. An edge
of infinite weight ties its ends: they are one vector. R nodes, E edges, T fixed targets, which are the nodes R, R+1, …
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from laplex.errors import InputError, quote

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Graph:
    """Edges (first, second, weight, sign, directed) and a diagonal. `names` are what a graph of one's own calls its
    nodes; `targets` are vectors that stay fixed, as further nodes behind the others."""

    first: Ints
    second: Ints
    weight: Floats
    sign: NDArray[np.int8]
    directed: NDArray[np.bool_]
    diagonal: Floats
    targets: Floats = field(default_factory=lambda: np.empty((0, 0)))
    names: tuple[Hashable, ...] | None = None

    def __post_init__(self) -> None:
        if len(self.first) != len(self.second):
            raise InputError(f"{len(self.first):,} first and {len(self.second):,} second ends of edges")
        ends = np.concatenate([self.first, self.second])
        odd = ends[(ends < 0) | (ends >= len(self) + len(self.targets))]
        if len(odd):
            raise InputError(f"an edge leads to node {odd[0]}, but there are only {len(self):,} nodes")
        loops = np.flatnonzero(self.first == self.second)
        if len(loops):
            raise InputError(
                f"{len(loops):,} edges lead from a node to itself, such as {self._name(self.first[loops[0]])}"
            )
        for what, values in (("weights", self.weight), ("diagonal entries", self.diagonal)):
            odd = np.flatnonzero(np.isnan(values) | (values < 0))
            if len(odd):
                where = self._edge(odd[0]) if what == "weights" else self._name(odd[0])
                raise InputError(
                    f"{len(odd):,} {what} are negative or not numbers, such as {values[odd[0]]} of {where}; "
                    "for words that should be unlike, give a sign of −1"
                )
        if np.isinf(self.diagonal).any():
            raise InputError(f"the diagonal entry of {self._name(np.isinf(self.diagonal).argmax())} is infinite")
        odd = np.flatnonzero(np.isinf(self.weight) & ((self.sign < 0) | self.directed | self._is_to_target()))
        if len(odd):
            raise InputError(
                f"{self._edge(odd[0])} is signed, directed or leads to a fixed vector: it cannot be infinite"
            )

    def __len__(self) -> int:
        return len(self.diagonal)

    @property
    def edges(self) -> int:
        return len(self.first)

    def _name(self, node: Any) -> Any:
        return self.names[node] if self.names is not None and node < len(self.names) else f"node {node}"

    def _edge(self, edge: int) -> str:
        return f"the edge {self._name(self.first[edge])} – {self._name(self.second[edge])}"

    def _is_to_target(self) -> NDArray[np.bool_]:
        return self.second >= len(self)

    @classmethod
    def of(
        cls,
        nodes: int,
        first: Any = (),
        second: Any = (),
        weight: Any = 1.0,
        *,
        sign: Any = 1,
        directed: Any = False,
        diagonal: Any = 0.0,
        targets: Floats | None = None,
        names: Sequence[Hashable] | None = None,
    ) -> Graph:
        """A graph from whatever arrays or numbers describe it."""
        first = np.asarray(first, np.int64).reshape(-1)
        edges = len(first)
        return cls(
            first,
            np.asarray(second, np.int64).reshape(-1),
            _spread(weight, edges, np.float64),
            _spread(sign, edges, np.int8),
            _spread(directed, edges, np.bool_),
            _spread(diagonal, nodes, np.float64),
            np.empty((0, 0)) if targets is None else targets,
            None if names is None else tuple(names),
        )

    @classmethod
    def from_sparse(cls, matrix: Any, names: Sequence[Hashable], *, laplacian: bool = False) -> Graph:
        """From an adjacency matrix (negative entries are edges of sign −1), or from a Laplacian plus a diagonal.

        A symmetric adjacency matrix gives undirected edges, any other gives directed ones.
        """
        matrix = sparse.coo_array(matrix)
        if matrix.shape != (len(names), len(names)):
            raise InputError(f"a matrix of shape {matrix.shape} for {len(names):,} names")
        if not np.isfinite(matrix.data).all():
            raise InputError("the matrix has entries that are not finite numbers")
        off = matrix.row != matrix.col
        row, column, value = matrix.row[off], matrix.col[off], matrix.data[off].astype(np.float64)
        symmetric = abs(matrix - matrix.T).max() <= 1e-9 * abs(matrix).max() if matrix.nnz else True
        diagonal = np.zeros(len(names))
        if laplacian:
            if not symmetric:
                raise InputError("a Laplacian is symmetric, this matrix is not")
            if (value > 0).any():
                i = int((value > 0).argmax())
                raise InputError(
                    f"this is not a Laplacian: the entry of {names[row[i]]} and {names[column[i]]} is positive. "
                    "A signed graph comes in as its adjacency matrix, with laplacian=False"
                )
            value = -value
            diagonal = np.asarray(matrix.sum(axis=1)).reshape(-1)
            diagonal[np.abs(diagonal) < 1e-9 * abs(matrix).max()] = 0.0
        elif not off.all():
            raise InputError(f"the matrix joins {names[matrix.row[~off][0]]} to itself")
        kept = (row < column) | (not symmetric)
        return cls.of(
            len(names),
            row[kept],
            column[kept],
            np.abs(value[kept]),
            sign=np.sign(value[kept]),
            directed=not symmetric,
            diagonal=diagonal,
            names=names,
        )

    @classmethod
    def from_networkx(cls, graph: Any, weight: str = "weight") -> Graph:
        """From a networkx Graph, or a DiGraph for directed edges. A negative weight is a sign of −1."""
        nodes = list(graph.nodes)
        place = {node: index for index, node in enumerate(nodes)}
        edges = list(graph.edges(data=weight, default=1.0))
        values = np.array([value for _, _, value in edges], np.float64)
        return cls.of(
            len(nodes),
            [place[a] for a, _, _ in edges],
            [place[b] for _, b, _ in edges],
            np.abs(values),
            sign=np.where(values < 0, -1, 1),
            directed=graph.is_directed(),
            names=nodes,
        )

    @classmethod
    def from_frame(cls, frame: Any, *, directed: bool = False) -> Graph:
        """From a frame of edges: two columns of node names, and perhaps a third of weights (negative: sign −1)."""
        columns = [list(frame[name]) for name in frame.columns]
        if len(columns) not in (2, 3):
            raise InputError(f"a frame of edges has two or three columns, this one has {len(columns)}")
        names = list(dict.fromkeys([*columns[0], *columns[1]]))
        place = {name: index for index, name in enumerate(names)}
        values = np.array(columns[2] if len(columns) == 3 else np.ones(len(columns[0])), np.float64)
        return cls.of(
            len(names),
            [place[name] for name in columns[0]],
            [place[name] for name in columns[1]],
            np.abs(values),
            sign=np.where(values < 0, -1, 1),
            directed=directed,
            names=names,
        )

    def __add__(self, other: Graph) -> Graph:
        """The union of the edges of two graphs over the same nodes."""
        if len(self) != len(other):
            raise InputError(f"graphs over {len(self):,} and {len(other):,} nodes do not add")
        moved = np.where(other.second >= len(self), other.second + len(self.targets), other.second)
        widths = {graph.targets.shape[1] for graph in (self, other) if len(graph.targets)}
        if len(widths) > 1:
            raise InputError(f"fixed vectors of {quote(sorted(widths))} dimensions do not go together")
        width = widths.pop() if widths else 0
        targets = [graph.targets.reshape(len(graph.targets), width) for graph in (self, other)]
        return Graph(
            np.concatenate([self.first, other.first]),
            np.concatenate([self.second, moved]),
            np.concatenate([self.weight, other.weight]),
            np.concatenate([self.sign, other.sign]),
            np.concatenate([self.directed, other.directed]),
            self.diagonal + other.diagonal,
            np.concatenate(targets),
            self.names,
        )

    def scaled(self, strength: float | Floats) -> Graph:
        """The same graph with every weight and diagonal entry times `strength`, or each weight times its own."""
        times = np.broadcast_to(np.asarray(strength, np.float64), self.edges)
        infinite = np.isinf(times)
        weight = np.where(infinite, np.inf, self.weight * np.where(infinite, 1.0, times))
        one = np.ndim(strength) == 0 and np.isfinite(strength)
        return replace(self, weight=weight, diagonal=self.diagonal * strength if one else self.diagonal)

    def laplacian(self) -> sparse.csr_array:
        """The precision matrix λ₁L + λ₀D (R, R). Only a graph without directed edges and ties has one."""
        if self.directed.any():
            raise InputError("directed edges are a penalty, not a prior: they have no Laplacian")
        if np.isinf(self.weight).any():
            raise InputError("a graph with ties has no Laplacian: merge them first")
        inner = ~self._is_to_target()
        i, j, a = self.first[inner], self.second[inner], self.weight[inner]
        degree = self.diagonal + np.bincount(self.first, self.weight, len(self)) + np.bincount(j, a, len(self))
        off = -self.sign[inner] * a
        nodes = np.arange(len(self))
        rows, columns = np.concatenate([nodes, i, j]), np.concatenate([nodes, j, i])
        return sparse.csr_array((np.concatenate([degree, off, off]), (rows, columns)), shape=(len(self), len(self)))

    def unanchored(self) -> Ints:
        """The nodes about which the prior says nothing: a graph has a positive definite precision if there are none.

        Those are the connected parts without a positive diagonal entry, a fixed target or a cycle of negative sign.
        """
        real = (self.weight > 0) & ~self._is_to_target()
        i, j = self.first[real], self.second[real]
        held = self.diagonal > 0
        held[self.first[(self.weight > 0) & self._is_to_target()]] = True
        count, part = _components(i, j, len(self))
        anchored = np.zeros(count, bool)
        anchored[part[held]] = True
        if (self.sign[real] < 0).any():
            # in the graph of nodes and their opposites, a node that meets its opposite is in a negative cycle
            n = len(self)
            plus = self.sign[real] > 0
            one, two = np.concatenate([i, i + n]), np.where(np.tile(plus, 2), np.r_[j, j + n], np.r_[j + n, j])
            _, double = _components(one, two, 2 * n)
            anchored[part[double[:n] == double[n:]]] = True
        return np.flatnonzero(~anchored[part])

    def check_positive_definite(self, name: Callable[[int], Any]) -> None:
        loose = self.unanchored()
        if len(loose):
            shown = quote((name(int(node)) for node in loose), 3)
            raise InputError(
                f"the prior says nothing about {len(loose):,} of {len(self):,} rows, such as {shown}: its precision "
                "matrix is singular. Add a ridge, such as lx.Ridge(1.0)"
            )

    def merge_ties(self) -> tuple[Graph, NDArray[np.int32]]:
        """Nodes joined by infinite weights become one: the smaller graph, and the new node of each old one.

        Duplicate edges are added up.
        """
        tied = np.isinf(self.weight)
        count, slot = _components(self.first[tied], self.second[tied], len(self))
        places = np.concatenate([slot, count + np.arange(len(self.targets))])
        i, j, a, sign = places[self.first[~tied]], places[self.second[~tied]], self.weight[~tied], self.sign[~tied]
        directed = self.directed[~tied]
        diagonal = np.bincount(slot, self.diagonal, count)
        inside = i == j  # ½ a‖θ − θ‖² is nothing, ½ a‖θ + θ‖² is 2a‖θ‖²
        diagonal += np.bincount(i[inside & (sign < 0)], 4.0 * a[inside & (sign < 0)], count)
        swap = (i > j) & ~directed
        i, j = np.where(swap, j, i), np.where(swap, i, j)
        keys = np.stack([i, j, sign.astype(np.int64), directed.astype(np.int64)])[:, ~inside & (a > 0)]
        found, where = np.unique(keys, axis=1, return_inverse=True)
        weight = np.bincount(where.reshape(-1), a[~inside & (a > 0)], found.shape[1])
        merged = Graph.of(
            count, found[0], found[1], weight, sign=found[2], directed=found[3], diagonal=diagonal, targets=self.targets
        )
        return merged, slot.astype(np.int32)


def _spread(values: Any, count: int, dtype: Any) -> NDArray[Any]:
    return np.broadcast_to(np.asarray(values, dtype), (count,)).copy()


def _components(first: Any, second: Any, nodes: int) -> tuple[int, NDArray[np.int32]]:
    links = sparse.coo_array((np.ones(len(first), bool), (first, second)), shape=(nodes, nodes))
    count, part = csgraph.connected_components(links, directed=False)
    return int(count), part
