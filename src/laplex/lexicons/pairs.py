"""Pairs of words with weights, from wherever a user has them.

A file, a frame, a networkx graph, a dict or tuples come in; WordPairs go out. What a file holds is told by its ending
and its first line: lists (`lists.py`), tables (`tables.py`), FreeDict's dictionaries (`tei.py`), graphs (`graphs.py`).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from laplex import formats
from laplex.errors import InputError
from laplex.lexicons import graphs, lists, tables, tei
from laplex.lexicons.wordpairs import WordPairs
from laplex.sources import Files, Frame

__all__ = ["WordPairs", "read_pairs"]


def read_pairs(
    source: Any,
    *,
    separator: str | None = None,
    weights: bool | None = None,
    lowercase: bool = False,
    encoding: str = "utf-8",
) -> WordPairs:
    """The pairs in a file, a frame, a networkx graph, a dict, or an iterable of (word, word) or (word, word, weight).

    source     a list: two words a line, or a word and several others, perhaps a weight last, separated by tabs, commas
               or spaces; or with a first line that names the columns word1, word2 and weight in any order.
               PPDB's own format; .parquet, .jsonl; .graphml, .gml, .edgelist; .tei and .xml of FreeDict
    separator  of a list, if its first line does not tell
    weights    whether the last value of the lines of a list is a weight. By default it is if most lines of three
               values or more end with a number
    lowercase  make all words lower case, as `read` makes those of a corpus

    >>> read_pairs([("dog", "hound"), ("hot", "cold", -1.0)])
    WordPairs of the list of pairs: 2 pairs
    """
    pairs = _pairs(source, separator, weights, encoding)
    if not lowercase:
        return pairs
    return replace(pairs, left=[word.lower() for word in pairs.left], right=[word.lower() for word in pairs.right])


def _pairs(source: Any, separator: str | None, weights: bool | None, encoding: str) -> WordPairs:
    if isinstance(source, WordPairs):
        return source
    if isinstance(source, (str, os.PathLike)):
        return _of_file(Path(source), separator, weights, encoding)
    if hasattr(source, "edges") and hasattr(source, "nodes"):
        return graphs.of_graph(source, "the graph")
    if tables.is_frame(source):
        return tables.pairs_of(Frame(source), "the frame")
    if isinstance(source, Mapping):
        return WordPairs.of("the dict", _of_mapping(source))
    if isinstance(source, Iterable):
        return WordPairs.of("the list of pairs", source)
    raise InputError(f"cannot read pairs of words from {type(source).__name__}: pass a path, a frame or tuples")


def _of_file(path: Path, separator: str | None, weights: bool | None, encoding: str) -> WordPairs:
    ending = path.suffix.lower()
    if ending in (".tei", ".xml"):
        return tei.pairs_of(path)
    if ending in graphs.ENDINGS:
        return graphs.of_file(path)
    if formats.name_of(path) in ("parquet", "jsonl"):
        return tables.pairs_of(Files([path], encoding, "lines"), f'"{path}"')
    return lists.pairs_of(path, separator, weights, encoding)


def _of_mapping(source: Mapping[Any, Any]) -> Iterator[tuple[Any, ...]]:
    """A word and its partner, its partners, or its partners with their weights."""
    for word, others in source.items():
        if isinstance(others, Mapping):
            yield from ((word, other, weight) for other, weight in others.items())
        elif isinstance(others, Iterable) and not isinstance(others, (str, bytes)):
            yield from ((word, other) for other in others)
        else:
            yield word, others
