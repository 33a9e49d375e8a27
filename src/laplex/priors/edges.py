"""Any graph of one's own."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from laplex.errors import InputError, quote
from laplex.graph import Graph
from laplex.priors.prior import ByEdge, Prior, by_edge, check_strength, shown
from laplex.rows import Rows


@dataclass(frozen=True)
class Edges(Prior):
    """Any graph of one's own. Its nodes are named by a word, (word, role) or (word, role, slice).

    role is "word" or "context"; slice is a tuple of the values of the columns that vary. Without a slice a node
    stands for the word in every slice, and an edge joins the two words within each. Languages are told by a fourth
    entry: ("cane", "word", (), "it"). The strength may be a list with one for each edge; the diagonal stays then.
    """

    source: Graph
    strength: ByEdge = 1.0

    def __post_init__(self) -> None:
        check_strength(self.strength)
        if not isinstance(self.source, Graph) or self.source.names is None:
            raise InputError("Edges takes a Graph with named nodes: lx.Graph.from_networkx, from_frame or from_sparse")
        by_edge(self.strength, self.source.edges, "the graph")

    def graph(self, rows: Rows) -> Graph:
        assert self.source.names is not None
        places = [_rows_named(name, rows) for name in self.source.names]
        if not any(place is not None for place in places):
            raise InputError(
                f"none of the {len(places):,} nodes of the graph, such as {places and self.source.names[0]}, is known"
            )
        strength = by_edge(self.strength, self.source.edges, "the graph")
        chosen, first, second = [], [], []
        for edge, (i, j) in enumerate(zip(self.source.first.tolist(), self.source.second.tolist())):
            one, two = places[i], places[j]
            if one is None or two is None:
                continue
            for a, b in _paired(one, two):
                chosen.append(edge)
                first.append(a)
                second.append(b)
        diagonal = np.zeros(len(rows))
        for place, entry in zip(places, self.source.diagonal.tolist()):
            if place is not None:
                diagonal[list(place)] += entry
        return Graph.of(
            len(rows),
            first,
            second,
            self.source.weight[chosen],
            sign=self.source.sign[chosen],
            directed=self.source.directed[chosen],
            diagonal=diagonal,
        ).scaled(strength if np.ndim(strength) == 0 else np.asarray(strength)[chosen])

    def __repr__(self) -> str:
        return f"Edges({self.source.edges:,} edges, {shown(self.strength)})"


def _rows_named(name: Hashable, rows: Rows) -> tuple[int, ...] | None:
    """The rows that a node's name stands for: one, or one for each slice; None if the word is not known."""
    word, *rest = name if isinstance(name, tuple) else (name,)
    role: Any = rest[0] if rest else "word"
    if role not in ("word", "context") or len(rest) > 3:
        raise InputError(f'a node is named (word, "word" or "context", slice), not {name!r}')
    language = rows.language(rest[2] if len(rest) > 2 else None)
    vocabulary = rows.vocabularies[language]
    if word not in vocabulary:
        return None
    starts = list(rows.everywhere(role, language))
    if len(rest) > 1 and rest[1] not in (None, ()) and role == "word" and rows.slices.columns:
        key = rest[1] if isinstance(rest[1], tuple) else (rest[1],)
        key = tuple(str(value) for value in key)
        if key not in rows.slices.keys:
            raise InputError(f"there is no slice {key}; there are {quote(rows.slices.keys, 6)}")
        starts = [starts[rows.slices.keys.index(key)]]
    return tuple(start + vocabulary[word] for start in starts)


def _paired(one: tuple[int, ...], two: tuple[int, ...]) -> Iterator[tuple[int, int]]:
    if len(one) == len(two):
        yield from zip(one, two)
    else:
        yield from ((a, b) for a in one for b in two)
