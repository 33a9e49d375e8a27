"""Pairs of words from files, frames, graphs, dicts and tuples, and lists of a known kind such as synonyms."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from laplex.errors import InputError
from laplex.lexicons import lists
from laplex.lexicons.wordpairs import WordPairs
from laplex.text.formats import format_name
from laplex.text.sources import Files, Frame

_NOT_READ = {
    ".tei": "pass its words as tuples, or as a table with the columns word1 and word2",
    ".xml": "pass its words as tuples, or as a table with the columns word1 and word2",
    ".graphml": "pass the graph that networkx.read_graphml reads from it",
    ".gml": "pass the graph that networkx.read_gml reads from it",
    ".edgelist": "pass the graph that networkx.read_edgelist reads from it",
}


def read_pairs(
    source: Any,
    *,
    separator: str | None = None,
    weights: bool | None = None,
    lowercase: bool = False,
    encoding: str = "utf-8",
) -> WordPairs:
    """Read pairs of words.

    Args:
        source: A file, a frame, a networkx graph, a dict, or an iterable of (word, word) or (word, word, weight).
            A line of a file is two words, or a word and several others, perhaps with a weight at the end, separated by
            tabs, commas or spaces; a first line may name the columns word1, word2 and weight in any order. PPDB's
            format, .parquet and .jsonl are read too.
        separator: The separator of a file, if its first line does not tell.
        weights: Whether the last value of the lines of a file is a weight. By default it is if most lines of three
            values or more end with a number.
        lowercase: Make all words lower case, as `read` makes those of a corpus.
        encoding: The encoding of a file.

    Returns:
        The pairs with their weights, 1 where none is given.

    Example:
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
        return _of_networkx(source)
    if lists.is_frame(source):
        return lists.of_source(Frame(source), "the frame")
    if isinstance(source, Mapping):
        return WordPairs.of("the dict", _of_mapping(source))
    if isinstance(source, Iterable):
        return WordPairs.of("the list of pairs", source)
    raise InputError(f"cannot read pairs of words from {type(source).__name__}: pass a path, a frame or tuples")


def _of_file(path: Path, separator: str | None, weights: bool | None, encoding: str) -> WordPairs:
    ending = path.suffix.lower()
    if ending in _NOT_READ:
        raise InputError(f'laplex reads no {ending} files such as "{path}": {_NOT_READ[ending]}')
    if format_name(path) in ("parquet", "jsonl"):
        return lists.of_source(Files([path], encoding), f'"{path}"')
    return lists.of_text_file(path, separator, weights, encoding)


def _of_networkx(graph: Any) -> WordPairs:
    """The edges of a graph whose nodes are words, or have their words as the attribute "label"."""
    labels = {node: label for node, label in graph.nodes(data="label") if isinstance(label, str)}
    names = labels if len(labels) == len(graph) else {}
    edges = ((names.get(a, a), names.get(b, b), weight) for a, b, weight in graph.edges(data="weight", default=1.0))
    return WordPairs.of("the graph", edges, directed=bool(graph.is_directed()))


def _of_mapping(source: Mapping[Any, Any]) -> Iterator[tuple[Any, ...]]:
    """A word and its partner, its partners, or its partners with their weights."""
    for word, partners in source.items():
        if isinstance(partners, Mapping):
            yield from ((word, partner, weight) for partner, weight in partners.items())
        elif isinstance(partners, Iterable) and not isinstance(partners, (str, bytes)):
            yield from ((word, partner) for partner in partners)
        else:
            yield word, partners


def synonyms(source: Any, *, lowercase: bool = True, **options: Any) -> WordPairs:
    """Read words that mean the same.

    Args:
        source: Any source of `read_pairs`.
        lowercase: Make all words lower case.
        **options: Further options of `read_pairs`.

    Returns:
        The pairs with weight 1 or the weight of the list, none of them negative.

    Example:
        >>> synonyms([("dog", "hound")])
        WordPairs of the list of pairs: 1 pairs
    """
    pairs = read_pairs(source, lowercase=lowercase, **options)
    if (pairs.weight < 0).any():
        row = int((pairs.weight < 0).argmax())
        raise InputError(
            f"{pairs.name}: {pairs.left[row]} and {pairs.right[row]} have the weight {pairs.weight[row]:g}, so "
            "they are no synonyms: read the list by read_pairs, or as antonyms"
        )
    return pairs


def antonyms(source: Any, *, lowercase: bool = True, **options: Any) -> WordPairs:
    """Read words that mean the contrary, which the prior `Pairs` keeps unlike.

    Args:
        source: Any source of `read_pairs`.
        lowercase: Make all words lower case.
        **options: Further options of `read_pairs`.

    Returns:
        The pairs with weight −1 or minus the weight of the list.

    Example:
        >>> antonyms([("hot", "cold")]).to_frame()
          left right  weight
        0  hot  cold    -1.0
    """
    pairs = read_pairs(source, lowercase=lowercase, **options)
    return replace(pairs, weight=-np.abs(pairs.weight))


def paraphrases(source: Any, score: str | None = None, *, lowercase: bool = True, encoding: str = "utf-8") -> WordPairs:
    """Read paraphrases: a word and its paraphrases per line, or PPDB's format with ||| between its fields.

    Args:
        source: Any source of `read_pairs`. In plain lists no number is a weight.
        score: The feature of PPDB that is the weight, such as "PPDB2.0Score" or "AGigaSim"; lines where it is NA are
            skipped.
        lowercase: Make all words lower case.
        encoding: The encoding of a file.

    Returns:
        The pairs of single words; phrases are skipped and counted.

    Example:
        >>> paraphrases({"dog": ["hound", "puppy"]})
        WordPairs of the dict: 2 pairs
    """
    if score is None:
        return read_pairs(source, separator=" ", weights=False, lowercase=lowercase, encoding=encoding)
    if not isinstance(source, (str, os.PathLike)):
        raise InputError(f'score="{score}" is a feature in a file of PPDB\'s: pass its path')
    return read_pairs(lists.of_ppdb(Path(source), score, encoding), lowercase=lowercase)


def translations(source: Any, *, lowercase: bool = True, **options: Any) -> WordPairs:
    """Read words and their translations, such as MUSE's lists.

    Args:
        source: Any source of `read_pairs`.
        lowercase: Make all words lower case.
        **options: Further options of `read_pairs`.

    Returns:
        The pairs, words of the first language left.

    Example:
        >>> translations({"dog": ["Hund", "Rüde"]}).right
        ['hund', 'rüde']
    """
    return read_pairs(source, lowercase=lowercase, **options)
