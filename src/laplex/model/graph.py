"""The graph prior as arrays, which every engine reads.

    log p(θ) = −½ Σ_edges a_ij ‖θ_i − θ_j‖² − ½ Σ_nodes d_i ‖θ_i‖² + C     (paper, "Monolingual PELP")

Signed: an edge of sign −1 costs ½ a ‖θ_i + θ_j‖², so that the precision stays positive semi-definite. Directed: i is
pulled towards j, j is not pulled to i; that is a penalty, not a prior, since no density has such a gradient. An edge
of infinite weight ties its ends: they are one vector. Latent nodes, the last of the R, are vectors that no text is
about, such as the mean of a word's vectors in many groups: what they join is joined through them. R nodes, E edges, T
fixed targets, which are the nodes R, R+1, …
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from laplex.errors import InputError, quote

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_EDGE_ARRAYS = ("first", "second", "weight", "sign", "directed")


@dataclass(frozen=True, eq=False)
class Graph:
    """Edges with weights, and a diagonal; usually made by `Graph.of` or one of the `from_` methods.

    Args:
        first: (E) The first node of each edge.
        second: (E) The second node of each edge.
        weight: (E) How strongly an edge joins its ends, from 0 to infinity.
        sign: (E) 1 for ends that are alike, −1 for ends that are unlike.
        directed: (E) Whether only the first end is pulled.
        diagonal: (R) How strongly each node is pulled to zero.
        targets: (T, D) Vectors that stay fixed, as further nodes behind the others.
        names: What the nodes are called, for graphs that are handed to `Edges`.
        latent: How many of the nodes, the last ones, are no vectors of words or contexts. An edge that joins one to
            others has it as its second end.

    Example:
        >>> import laplex as lx
        >>> lx.Graph.of(3, [0, 1], [1, 2], 2.0, diagonal=1.0).laplacian().toarray()
        array([[ 3., -2.,  0.],
               [-2.,  5., -2.],
               [ 0., -2.,  3.]])
    """

    first: Ints
    second: Ints
    weight: Floats
    sign: NDArray[np.int8]
    directed: NDArray[np.bool_]
    diagonal: Floats
    targets: Floats = field(default_factory=lambda: np.empty((0, 0)))
    names: tuple[Hashable, ...] | None = None
    latent: int = 0

    def __post_init__(self) -> None:
        if len(self.first) != len(self.second):
            raise InputError(f"{len(self.first):,} first and {len(self.second):,} second ends of edges")
        ends = np.concatenate([self.first, self.second])
        unknown = ends[(ends < 0) | (ends >= len(self) + len(self.targets))]
        if len(unknown):
            raise InputError(f"an edge leads to node {unknown[0]}, but there are only {len(self):,} nodes")
        loops = self.first[self.first == self.second]
        if len(loops):
            raise InputError(f"{len(loops):,} edges lead from a node to itself, such as {self._name(loops[0])}")
        for what, values in (("weights", self.weight), ("diagonal entries", self.diagonal)):
            wrong = np.flatnonzero(np.isnan(values) | (values < 0))
            if len(wrong):
                where = self._edge(wrong[0]) if what == "weights" else self._name(wrong[0])
                raise InputError(
                    f"{len(wrong):,} {what} are negative or not numbers, such as {values[wrong[0]]} of {where}; "
                    "for words that should be unlike, give a sign of −1"
                )
        if np.isinf(self.diagonal).any():
            raise InputError(f"the diagonal entry of {self._name(np.isinf(self.diagonal).argmax())} is infinite")
        untieable = (self.sign < 0) | self.directed | self._is_to_target()
        for edge in np.flatnonzero(np.isinf(self.weight) & untieable):
            raise InputError(
                f"{self._edge(edge)} is signed, directed or leads to a fixed vector: it cannot be infinite"
            )

    def __len__(self) -> int:
        return len(self.diagonal)

    @property
    def own(self) -> int:
        """The number of nodes that are not latent."""
        return len(self) - self.latent

    def to_latent(self) -> NDArray[np.bool_]:
        """(E) The edges whose second end is latent."""
        return (self.second >= self.own) & (self.second < len(self))

    def levels_of_latent(self) -> Iterator[tuple[Ints, Ints]]:
        """The ends of edges to latent nodes: first to those that join own nodes alone, then to others."""
        edges = np.flatnonzero(self.to_latent() & ~self.directed)
        while len(edges):
            waiting = np.zeros(len(self), np.bool_)
            waiting[self.second[edges]] = True
            later = np.zeros(len(self), np.bool_)
            later[self.second[edges[waiting[self.first[edges]]]]] = True
            now = ~later[self.second[edges]]
            if not now.any():
                raise InputError("latent nodes join each other in a circle")
            yield self.first[edges[now]], self.second[edges[now]]
            edges = edges[~now]

    def spread_to_latent(self, values: NDArray[Any]) -> NDArray[Any]:
        """(R) Values of the nodes that are not latent, and of each latent one the smallest among those it joins."""
        largest = np.iinfo(np.int64).max
        spread = np.concatenate([values, np.full(self.latent, largest, np.int64)])
        edges = np.flatnonzero(self.to_latent())
        for _ in range(self.latent):  # one that joins latent nodes comes to know theirs a turn later
            if (spread < largest).all():
                break
            np.minimum.at(spread, self.second[edges], spread[self.first[edges]])
        return spread

    @property
    def edges(self) -> int:
        """The number of edges E."""
        return len(self.first)

    def _name(self, node: Any) -> Any:
        return self.names[node] if self.names is not None and node < len(self.names) else f"node {node}"

    def _edge(self, edge: Any) -> str:
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
        latent: int = 0,
    ) -> Graph:
        """A graph from arrays, or from numbers that hold for all edges or nodes.

        Args:
            nodes: The number of nodes R.
            first: The first node of each edge.
            second: The second node of each edge.
            weight: One weight, or one for each edge.
            sign: 1 or −1, or one for each edge.
            directed: True or False, or one for each edge.
            diagonal: One entry, or one for each node.
            targets: (T, D) Vectors that stay fixed, as the nodes R, R + 1, …
            names: What the nodes are called.
            latent: How many of the nodes, the last ones, are no vectors of words or contexts.

        Returns:
            The graph.

        Example:
            >>> import laplex as lx
            >>> lx.Graph.of(2, [0], [1], 10.0, names=["tax", "taxes"]).edges
            1
        """
        first = np.asarray(first, np.int64).reshape(-1)
        edges = len(first)
        return cls(
            first,
            np.asarray(second, np.int64).reshape(-1),
            _broadcast(weight, edges, np.float64),
            _broadcast(sign, edges, np.int8),
            _broadcast(directed, edges, np.bool_),
            _broadcast(diagonal, nodes, np.float64),
            np.empty((0, 0)) if targets is None else targets,
            None if names is None else tuple(names),
            latent,
        )

    @classmethod
    def from_sparse(cls, matrix: Any, names: Sequence[Hashable], *, laplacian: bool = False) -> Graph:
        """A graph from a matrix: an adjacency matrix, or a Laplacian plus a diagonal.

        Args:
            matrix: A NumPy or SciPy matrix; unless symmetric, edges are directed; a negative entry is a sign of −1.
            names: What the nodes are called, in the order of the rows.
            laplacian: Whether the matrix is a Laplacian plus a diagonal, not an adjacency matrix.

        Returns:
            The graph, whose nodes have names.

        Example:
            >>> import laplex as lx
            >>> lx.Graph.from_sparse([[0, 1], [1, 0]], ["tax", "taxes"]).edges
            1
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
        return cls._signed(names, row[kept], column[kept], value[kept], not symmetric, diagonal)

    @classmethod
    def from_networkx(cls, graph: Any, weight: str = "weight") -> Graph:
        """A graph from networkx; the edges of a DiGraph are directed.

        Args:
            graph: The networkx graph, its nodes named as `Edges` says.
            weight: The attribute that has the weights, 1 where it is missing; a negative one is a sign of −1.

        Returns:
            The graph, whose nodes have names.

        Example:
            >>> import laplex as lx, networkx as nx
            >>> lx.Graph.from_networkx(nx.Graph([("tax", "taxes")])).names
            ('tax', 'taxes')
        """
        one, two, weights = zip(*graph.edges(data=weight, default=1.0), strict=True) if graph.edges else ((), (), ())
        place = {name: index for index, name in enumerate(graph.nodes)}
        first, second = ([place[name] for name in ends] for ends in (one, two))
        return cls._signed(list(place), first, second, weights, graph.is_directed())

    @classmethod
    def from_frame(cls, frame: Any, *, directed: bool = False) -> Graph:
        """A graph from a frame of edges.

        Args:
            frame: A pandas or Polars frame with two columns of node names, and perhaps a third of weights; a negative
                weight is a sign of −1.
            directed: Whether the edges pull their first end only.

        Returns:
            The graph, whose nodes have names.

        Example:
            >>> import laplex as lx, pandas as pd
            >>> lx.Graph.from_frame(pd.DataFrame({"one": ["tax"], "two": ["taxes"], "weight": [2.0]})).weight
            array([2.])
        """
        columns = [list(frame[name]) for name in frame.columns]
        if len(columns) not in (2, 3):
            raise InputError(f"a frame of edges has two or three columns, this one has {len(columns)}")
        one, two, *weights = columns
        place = {name: index for index, name in enumerate(dict.fromkeys([*one, *two]))}
        first, second = ([place[name] for name in ends] for ends in (one, two))
        return cls._signed(list(place), first, second, weights[0] if weights else 1.0, directed)

    @classmethod
    def _signed(
        cls, names: Sequence[Hashable], first: Any, second: Any, weight: Any, directed: bool, diagonal: Any = 0.0
    ) -> Graph:
        """A graph of named nodes, a negative weight being a sign."""
        weight = np.array(weight, np.float64)
        sign = np.where(weight < 0, -1, 1)
        return cls.of(
            len(names), first, second, np.abs(weight), sign=sign, directed=directed, diagonal=diagonal, names=names
        )

    @classmethod
    def union(cls, graphs: Sequence[Graph]) -> Graph:
        """All edges of several graphs over the same nodes, and the sum of their diagonals.

        Each graph has latent nodes of its own, which come one after the other.
        """
        sizes = {graph.own for graph in graphs}
        if len(sizes) > 1:
            raise InputError(f"graphs over {' and '.join(f'{size:,}' for size in sorted(sizes))} nodes do not add")
        widths = {graph.targets.shape[1] for graph in graphs if len(graph.targets)}
        if len(widths) > 1:
            raise InputError(f"fixed vectors of {quote(sorted(widths))} dimensions do not go together")
        own, width = sizes.pop(), widths.pop() if widths else 0
        latent = sum(graph.latent for graph in graphs)
        targets = [graph.targets.reshape(len(graph.targets), width) for graph in graphs]
        edges = {name: np.concatenate([getattr(graph, name) for graph in graphs]) for name in _EDGE_ARRAYS}
        latent_before = targets_before = 0
        ends: list[list[Ints]] = [[], []]
        for graph in graphs:  # latent nodes and fixed vectors of earlier graphs are first
            nodes = np.arange(len(graph) + len(graph.targets))
            nodes[own:] += latent_before
            nodes[len(graph) :] += latent - latent_before - graph.latent + targets_before
            for one, numbers in zip(ends, (graph.first, graph.second), strict=True):
                one.append(nodes[numbers])
            latent_before, targets_before = latent_before + graph.latent, targets_before + len(graph.targets)
        edges |= {"first": np.concatenate(ends[0]), "second": np.concatenate(ends[1])}
        of_latent = [graph.diagonal[own:] for graph in graphs]
        diagonal = np.concatenate([np.sum([graph.diagonal[:own] for graph in graphs], axis=0), *of_latent])
        fixed = np.concatenate(targets)
        return cls(**edges, diagonal=diagonal, targets=fixed, names=graphs[0].names, latent=latent)

    def part(self, begin: int, end: int, diagonal: Floats) -> Graph:
        """The same nodes with the edges from `begin` up to `end` alone, and another diagonal."""
        return replace(self, **{name: getattr(self, name)[begin:end] for name in _EDGE_ARRAYS}, diagonal=diagonal)

    def __add__(self, other: Graph) -> Graph:
        """The union of the edges of two graphs over the same nodes."""
        return Graph.union([self, other])

    def scaled(self, strength: float | Floats) -> Graph:
        """The same graph with every weight and diagonal entry times `strength`, or each weight times its own.

        An infinite strength makes all weights infinite and leaves the diagonal as it is, as one for each edge does.
        """
        times = np.broadcast_to(np.asarray(strength, np.float64), self.edges)
        infinite = np.isinf(times)
        weight = np.where(infinite, np.inf, self.weight * np.where(infinite, 1.0, times))
        one = np.ndim(strength) == 0 and np.isfinite(strength)
        return replace(self, weight=weight, diagonal=self.diagonal * strength if one else self.diagonal)

    def laplacian(self) -> sparse.csr_array:
        """The precision matrix λ₁L + λ₀D (R, R) of the prior.

        Returns:
            A sparse matrix. A graph with directed edges or ties has none, which is an error.

        Example:
            >>> import laplex as lx
            >>> lx.Graph.of(2, [0], [1], 3.0).laplacian().toarray()
            array([[ 3., -3.],
                   [-3.,  3.]])
        """
        if self.directed.any():
            raise InputError("directed edges are a penalty, not a prior: they have no Laplacian")
        if np.isinf(self.weight).any():
            raise InputError("a graph with ties has no Laplacian: merge them first")
        inner = ~self._is_to_target()
        i, j, a = self.first[inner], self.second[inner], self.weight[inner]
        degree = self.diagonal + np.bincount(self.first, self.weight, len(self)) + np.bincount(j, a, len(self))
        off, nodes = -self.sign[inner] * a, np.arange(len(self))
        rows, columns = np.concatenate([nodes, i, j]), np.concatenate([nodes, j, i])
        return sparse.csr_array((np.concatenate([degree, off, off]), (rows, columns)), shape=(len(self), len(self)))

    def unanchored(self) -> Ints:
        """The nodes about which the prior says nothing; the precision is positive definite if there are none.

        They are the connected components without a positive diagonal entry, a fixed target or a cycle of negative sign.
        """
        between = (self.weight > 0) & ~self._is_to_target()
        i, j = self.first[between], self.second[between]
        has_anchor = self.diagonal > 0
        has_anchor[self.first[(self.weight > 0) & self._is_to_target()]] = True
        count, component = _components(i, j, len(self))
        anchored = np.zeros(count, bool)
        anchored[component[has_anchor]] = True
        if (self.sign[between] < 0).any():
            # in the graph of nodes and their opposites, a node that meets its opposite is in a negative cycle
            n = len(self)
            plus = self.sign[between] > 0
            one, two = np.concatenate([i, i + n]), np.where(np.tile(plus, 2), np.r_[j, j + n], np.r_[j + n, j])
            _, double = _components(one, two, 2 * n)
            anchored[component[double[:n] == double[n:]]] = True
        return np.flatnonzero(~anchored[component])

    def check_positive_definite(self, name: Callable[[int], Any]) -> None:
        """Raise an error that names some nodes if the prior says nothing about them."""
        nodes = self.unanchored()
        if len(nodes):
            shown = quote((name(int(node)) for node in nodes), 3)
            raise InputError(
                f"the prior says nothing about {len(nodes):,} of {len(self):,} rows, such as {shown}: its precision "
                "matrix is singular. Add a ridge, such as lx.Ridge()"
            )

    def contract(self, slot: NDArray[np.int32], nodes: int) -> Graph:
        """The same graph with node i called slot[i], several of which may be one; edges that tie them are gone."""
        places = np.concatenate([slot, nodes + np.arange(len(self.targets))])
        first, second = places[self.first], places[self.second]
        loops = first == second  # ½ a‖θ − θ‖² is nothing, ½ a‖θ + θ‖² is 2a‖θ‖²
        signed = loops & (self.sign < 0)
        diagonal = np.bincount(slot, self.diagonal, nodes).astype(np.float64)
        diagonal += np.bincount(first[signed], 4.0 * self.weight[signed], nodes)
        kept = ~loops
        weight, sign, directed = self.weight[kept], self.sign[kept], self.directed[kept]
        return Graph(first[kept], second[kept], weight, sign, directed, diagonal, self.targets, latent=self.latent)

    def merge_ties(self) -> tuple[Graph, NDArray[np.int32]]:
        """The graph with tied nodes as one and repeated edges added up, and the new node of each old one."""
        tied = np.isinf(self.weight)
        count, slot = _components(self.first[tied], self.second[tied], len(self))
        graph = self.contract(slot, count)
        swap = (graph.first > graph.second) & ~graph.directed
        i, j = np.where(swap, graph.second, graph.first), np.where(swap, graph.first, graph.second)
        kept = np.flatnonzero(graph.weight > 0)
        ends = i * (count + len(self.targets)) + j
        key = (2 * ends + (graph.sign > 0)) * 2 + graph.directed  # one number is faster to sort than four
        _, example, where = np.unique(key[kept], return_index=True, return_inverse=True)
        edge = kept[example]
        weight = np.bincount(where, graph.weight[kept], len(edge)).astype(np.float64)
        sign, directed = graph.sign[edge], graph.directed[edge]
        merged = replace(graph, first=i[edge], second=j[edge], weight=weight, sign=sign, directed=directed)
        return merged, slot.astype(np.int32)


def _broadcast(values: Any, count: int, dtype: Any) -> NDArray[Any]:
    return np.broadcast_to(np.asarray(values, dtype), (count,)).copy()


def _components(first: Any, second: Any, nodes: int) -> tuple[int, NDArray[np.int32]]:
    from scipy.sparse import csgraph

    links = sparse.coo_array((np.ones(len(first), bool), (first, second)), shape=(nodes, nodes))
    count, component = csgraph.connected_components(links, directed=False)
    return int(count), component
