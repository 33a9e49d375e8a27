"""Pairs of words from networkx graphs and from the files that networkx reads.

A DiGraph gives directed pairs. The weight of an edge is its attribute "weight", 1 if it has none.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any
from xml.parsers import expat

from laplex.errors import InputError
from laplex.lexicons import lists, markup
from laplex.lexicons.wordpairs import WordPairs

ENDINGS = (".graphml", ".gml", ".edgelist")


def of_graph(graph: Any, name: str) -> WordPairs:
    """The edges of a graph whose nodes are words. Nodes may be numbered, if each has its word as "label"."""
    labels = {node: label for node, label in graph.nodes(data="label") if isinstance(label, str)}
    named = labels if len(labels) == len(graph) else {}
    edges = ((named.get(a, a), named.get(b, b), weight) for a, b, weight in graph.edges(data="weight", default=1.0))
    return WordPairs.of(name, edges, directed=bool(graph.is_directed()))


def of_file(path: Path) -> WordPairs:
    """The edges of the graph in a file. A plain edge list, without attributes, takes no networkx."""
    ending = path.suffix.lower()
    if ending == ".edgelist" and not any("{" in line for _, line in lists.lines(path, "utf-8")):
        return lists.pairs_of(path, " ", None, "utf-8")
    try:
        networkx = import_module("networkx")
    except ImportError:
        raise InputError(f'reading "{path}" takes networkx: pip install networkx') from None
    if ending == ".graphml":
        markup.parse(path, expat.ParserCreate())  # networkx would let its entities grow
    readers = {".graphml": networkx.read_graphml, ".gml": networkx.read_gml, ".edgelist": networkx.read_edgelist}
    try:
        graph = readers[ending](path)
    except OSError as error:
        raise InputError(f'cannot read "{path}": {error.strerror or error}') from None
    except Exception as error:  # networkx lets through whatever goes wrong in its parsers
        raise InputError(f'"{path}" is not {ending[1:]} that networkx reads: {error or type(error).__name__}') from None
    return of_graph(graph, f'"{path}"')
