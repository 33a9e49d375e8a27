"""Some words belong together: pairs of a thesaurus or a dictionary, and translations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from laplex.errors import InputError
from laplex.graph import Graph
from laplex.lexicons.pairs import WordPairs, read_pairs
from laplex.priors.prior import ByEdge, Prior, by_edge, check_strength, shown
from laplex.rows import Role, Rows

Joins = Literal["word-word", "word-context", "context-context"]


@dataclass(frozen=True)
class Pairs(Prior):
    """Some words are alike, in every slice: −½ Σ_pairs strength · weight · ‖x_v − y_w‖².

    `joins` says which vectors: "word-word" ρ_v and ρ_w; "word-context" ρ_v and α_w as well as ρ_w and α_v, as words
    in each other's definitions (the paper's dictionary model, Proposition 1); "context-context" α_v and α_w.
    A negative weight makes them unlike: ‖x_v + y_w‖². `directed` pulls the first word to the second only, as the edges
    of a networkx DiGraph do. The strength may be a list with one for each pair.
    """

    source: Any
    strength: ByEdge = 1.0
    joins: Joins = "word-word"
    directed: bool = False
    language: str | None = None

    def __post_init__(self) -> None:
        check_strength(self.strength)
        if self.joins not in ("word-word", "word-context", "context-context"):
            raise InputError(f'joins="{self.joins}": write "word-word", "word-context" or "context-context"')
        object.__setattr__(self, "source", read_pairs(self.source))
        object.__setattr__(self, "directed", self.directed or self.source.directed)
        by_edge(self.strength, len(self.source), self.source.name)

    def graph(self, rows: Rows) -> Graph:
        language = rows.language(self.language)
        v, w, weight = _known(self.source, rows, language, language, self.strength)
        roles: list[tuple[Role, Role]] = {
            "word-word": [("word", "word")],
            "word-context": [("word", "context"), ("context", "word")],
            "context-context": [("context", "context")],
        }[self.joins]  # type: ignore[assignment]
        whole = Graph.of(len(rows))
        for one, two in roles:
            for a, b in _together(rows, one, language, two, language):
                whole = whole + _edges(rows, a + v, b + w, weight, self.directed)
        return whole

    def coverage(self, rows: Rows) -> str:
        language = rows.language(self.language)
        return _coverage(self.source, rows, language, language)

    def __repr__(self) -> str:
        directed = ", directed=True" if self.directed else ""
        return f'Pairs({self.source.name}, {shown(self.strength)}, joins="{self.joins}"{directed})'


@dataclass(frozen=True)
class Translations(Prior):
    """A word and its translation are nearly the same vector, as word and as context, in every slice:

    −½ strength Σ_pairs ‖ρ_A,v − ρ_B,w‖² + ‖α_A,v − α_B,w‖²     (paper, "Cross-lingual PELP").

    `languages` names those of the first and the second word of a pair; with two languages in the corpus the order
    that knows more of the words is taken.
    """

    source: Any
    strength: ByEdge = 1.0
    languages: tuple[str, str] | None = None

    def __post_init__(self) -> None:
        check_strength(self.strength)
        object.__setattr__(self, "source", read_pairs(self.source))
        by_edge(self.strength, len(self.source), self.source.name)
        if self.source.directed:
            raise InputError(f"{self.source.name} is directed, but translations join both ways: pass an undirected one")

    def graph(self, rows: Rows) -> Graph:
        a, b = self._languages(rows)
        v, w, weight = _known(self.source, rows, a, b, self.strength)
        whole = Graph.of(len(rows))
        roles: tuple[Role, ...] = ("word", "context")
        for role in roles:
            for one, two in _together(rows, role, a, role, b):
                whole = whole + _edges(rows, one + v, two + w, weight, False)
        return whole

    def _languages(self, rows: Rows) -> tuple[int, int]:
        if self.languages is not None:
            one, two = (rows.language(name) for name in self.languages)
            return one, two
        if len(rows.vocabularies) != 2:
            raise InputError(
                f"translations join two languages, the corpus has {len(rows.vocabularies)}: "
                'give languages=("en", "it"), and read each text with its language'
            )
        first, second = rows.vocabularies
        straight = sum(v in first and w in second for v, w in zip(self.source.left, self.source.right))
        turned = sum(v in second and w in first for v, w in zip(self.source.left, self.source.right))
        return (0, 1) if straight >= turned else (1, 0)

    def coverage(self, rows: Rows) -> str:
        return _coverage(self.source, rows, *self._languages(rows))

    def __repr__(self) -> str:
        return f"Translations({self.source.name}, {shown(self.strength)})"


def _known(
    pairs: WordPairs, rows: Rows, one: int, two: int, strength: ByEdge = 1.0
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Ids and weights, times the strength, of the pairs both of whose words are in the vocabulary."""
    left, right = rows.vocabularies[one], rows.vocabularies[two]
    found = [
        (left[v], right[w], place)
        for place, (v, w) in enumerate(zip(pairs.left, pairs.right, strict=True))
        if v in left and w in right and not (one == two and v == w)
    ]
    if not found:
        known = sum(v in left or w in right for v, w in zip(pairs.left, pairs.right, strict=True))
        raise InputError(
            f"no pair of {pairs.name} has both words in the vocabulary ({len(left):,} words; {known:,} of "
            f"{len(pairs):,} pairs have one): check the language, or lower min_count"
        )
    v, w, places = np.array(found, np.int64).T
    strengths = np.broadcast_to(by_edge(strength, len(pairs), pairs.name), len(pairs))[places]
    weight = pairs.weight[places]
    return v, w, np.where(np.isinf(strengths), np.copysign(np.inf, weight), strengths * weight)


def _coverage(pairs: WordPairs, rows: Rows, one: int, two: int) -> str:
    known = len(_known(pairs, rows, one, two)[0])
    return f"{known:,} of {len(pairs):,} pairs of {pairs.name} have both words in the vocabulary"


def _together(rows: Rows, one: Role, first: int, two: Role, second: int) -> Iterator[tuple[int, int]]:
    """First rows of two roles: slice by slice for words, the same one again for contexts."""
    if one == two == "context":
        yield rows.context_start(first), rows.context_start(second)
        return
    for slice in range(len(rows.slices)):
        a = rows.word_start(first, slice) if one == "word" else rows.context_start(first)
        b = rows.word_start(second, slice) if two == "word" else rows.context_start(second)
        yield a, b


def _edges(rows: Rows, first: Any, second: Any, weight: Any, directed: bool) -> Graph:
    signs = np.where(weight < 0, -1, 1)
    return Graph.of(len(rows), first, second, np.abs(weight), sign=signs, directed=directed)
