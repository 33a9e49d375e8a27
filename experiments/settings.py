"""The settings that the similarity experiment tries: which dictionaries, joined how and how strongly.

A Setting is a graph of several lists of words, each with its strength and the vectors that it joins.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache, reduce
from operator import add
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

import laplex as lx

Joins = Literal["word-word", "word-context", "context-context"]
Likelihood = Literal["cbow", "sgns"]
Edge = tuple[str, Joins, float]  # list, what it joins, strength
GRAPHS = ("strong", "weak", "synonyms", "paraphrases", "antonyms")


@cache
def pairs_of(name: str, folder: Path) -> lx.lexicons.WordPairs:
    """The pairs of a list, by its name."""
    lists = folder / "lexicons"
    if name == "strong":
        return lx.lexicons.read_pairs(lists / "strong-pairs.txt", lowercase=True)
    if name == "weak":
        definitions = lx.lexicons.definitions(sorted((folder / "definitions").glob("*.parquet")), quiet=True)
        return definitions.weak.without(pairs_of("strong", folder))
    if name == "synonyms":
        return lx.lexicons.synonyms(lists / "ppdb-synonyms.txt")
    if name == "paraphrases":
        return lx.lexicons.paraphrases(lists / "ppdb-xl.txt")
    if name == "antonyms":
        return lx.lexicons.antonyms(lists / "wordnet-antonyms.txt")
    raise ValueError(name)


@dataclass(frozen=True)
class Setting:
    graph: tuple[Edge, ...]
    ridge: float = 0.03
    subsample: float = 1e-5
    likelihood: Likelihood = "cbow"
    even: bool = False  # weights of a normalized Laplacian, times the fourth root of the frequency of the rarer word

    @property
    def name(self) -> str:
        edges = " + ".join(f"{name} {joins} {strength:g}" for name, joins, strength in self.graph)
        even = ", even" if self.even else ""
        return f"{self.likelihood}, {edges or 'no graph'}{even}, ridge {self.ridge:g}, subsample {self.subsample:g}"

    def pairs(self, folder: Path) -> lx.lexicons.WordPairs:
        """All pairs in the prior of the model."""
        return reduce(add, [pairs_of(name, folder) for name, _, _ in self.graph])

    def model(self, folder: Path, words: lx.Vocabulary, dimensions: int) -> lx.Model:
        prior: lx.Prior = lx.Ridge(self.ridge)
        for name, joins, strength in self.graph:
            pairs = pairs_of(name, folder)
            if self.even:
                by_pair = strength * rarer_counts(pairs, words, self.subsample) ** 0.25
                prior = prior + lx.Pairs(pairs.normalized(), by_pair, joins=joins)
            else:
                prior = prior + lx.Pairs(pairs, strength, joins=joins)
        return lx.Model(
            prior=prior, likelihood=self.likelihood, dimensions=dimensions, window=5, subsample=self.subsample
        )


def rarer_counts(pairs: lx.lexicons.WordPairs, words: lx.Vocabulary, subsample: float) -> NDArray[np.float64]:
    """The number of occurrences of the rarer word of each pair after subsampling; 1 for unknown words."""
    read = words.counts * np.minimum(1.0, np.sqrt(subsample * words.counts.sum() / words.counts))
    occurrences = dict(zip(words.words, read.tolist()))
    return np.array(
        [min(occurrences.get(one, 1.0), occurrences.get(two, 1.0)) for one, two in zip(pairs.left, pairs.right)]
    )


paper = Setting((("strong", "word-context", 10.0),))
skipgram = Setting((("strong", "word-context", 40.0),), subsample=1e-4, likelihood="sgns", even=True)


def candidates(quick: bool = False) -> Iterator[Setting]:
    yield paper
    if quick:
        return
    strong: Edge = ("strong", "word-context", 10.0)
    more: tuple[Edge, ...] = (strong, ("synonyms", "word-context", 5.0), ("paraphrases", "word-context", 5.0))
    graphs: list[tuple[Edge, ...]] = [
        (("strong", "word-word", 10.0),),
        (("strong", "context-context", 10.0),),
        (strong, ("strong", "word-word", 10.0)),
        (strong, ("weak", "word-context", 0.1)),
        (strong, ("synonyms", "word-context", 5.0)),
        (strong, ("paraphrases", "word-context", 5.0)),
        more,
        (strong, ("synonyms", "word-context", 10.0), ("paraphrases", "word-context", 10.0)),
        (*more, ("antonyms", "word-word", 1.0)),
    ]
    for graph in graphs:
        yield replace(paper, graph=graph)
    yield replace(paper, graph=more, ridge=0.3)
    alike: tuple[Edge, ...] = tuple((name, joins, 4 * strength) for name, joins, strength in more)
    for subsample, unlike in ((1e-5, 6.0), (3e-5, 6.0), (3e-5, 20.0)):
        graph = (*alike, ("antonyms", "word-word", unlike))
        yield replace(paper, graph=graph, subsample=subsample, even=True)
    yield replace(paper, graph=more, likelihood="sgns")
