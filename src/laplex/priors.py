"""Beliefs as rules that make graphs. They add with `+`.

Rows come in, a Graph over them goes out. A rule knows nothing of the text; it is applied when the vocabulary and the
slices are known. In the formulas ρ_w,s is the vector of word w in slice s, α_w its context vector.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from numbers import Real
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from laplex.errors import InputError, quote
from laplex.graph import Graph
from laplex.lexicons.pairs import WordPairs, read_pairs
from laplex.rows import Role, Rows

Joins = Literal["word-word", "word-context", "context-context"]


class Prior(ABC):
    """A belief about the vectors. `graph(rows)` says it in edges."""

    @abstractmethod
    def graph(self, rows: Rows) -> Graph: ...

    def coverage(self, rows: Rows) -> str | None:
        """What of a lexicon is known to the vocabulary, in words; None where there is no lexicon."""
        return None

    @property
    def parts(self) -> tuple[Prior, ...]:
        return (self,)

    def __add__(self, other: Prior) -> Prior:
        if not isinstance(other, Prior):
            return NotImplemented
        return Sum((*self.parts, *other.parts))


@dataclass(frozen=True)
class Sum(Prior):
    """Several beliefs at once: the union of their edges."""

    terms: tuple[Prior, ...]

    @property
    def parts(self) -> tuple[Prior, ...]:
        return self.terms

    def graph(self, rows: Rows) -> Graph:
        whole = Graph.of(len(rows))
        for term in self.terms:
            whole = whole + term.graph(rows)
        return whole

    def __repr__(self) -> str:
        return " + ".join(map(repr, self.terms))


@dataclass(frozen=True)
class Ridge(Prior):
    """Vectors are not long: −½ strength Σ ‖θ_i‖² over all rows, or only over words or contexts."""

    strength: float = 1.0
    on: Literal["all", "words", "contexts"] = "all"

    def __post_init__(self) -> None:
        _check_strength(self.strength, infinite=False)
        if self.on not in ("all", "words", "contexts"):
            raise InputError(f'Ridge(on="{self.on}"): write "all", "words" or "contexts"')

    def graph(self, rows: Rows) -> Graph:
        words = rows.is_word()
        on = words if self.on == "words" else ~words if self.on == "contexts" else np.ones(len(rows), bool)
        return Graph.of(len(rows), diagonal=self.strength * on)


@dataclass(frozen=True)
class Groups(Prior):
    """A word means nearly the same in all groups: −½ strength Σ_w Σ_{s<t} ‖ρ_w,s − ρ_w,t‖².

    s and t run over the slices that differ in `column` alone. The paper's grouped model.
    """

    column: str
    strength: float = 1.0

    def __post_init__(self) -> None:
        _check_strength(self.strength)

    def graph(self, rows: Rows) -> Graph:
        joined = [pair for cell in _cells(rows, self.column) for pair in combinations(cell.values(), 2)]
        return _between_slices(rows, joined, [self.strength] * len(joined))


@dataclass(frozen=True)
class GroupMean(Prior):
    """Group vectors scatter around a mean, the hierarchical model in the paper's own terms (Proposition 3):

    ρ_w,s ~ N(ρ_w,0, γ₁⁻¹ I), ρ_w,0 ~ N(0, γ₀⁻¹ I), with γ₁ = strength and γ₀ = spread. The mean is integrated out by
    its maximum, which leaves a complete graph of weight γ₁²/(γ₀ + Sγ₁) and a diagonal of γ₀γ₁/(γ₀ + Sγ₁).
    """

    column: str
    strength: float = 1.0
    spread: float = 1.0

    def __post_init__(self) -> None:
        _check_strength(self.strength, infinite=False)
        _check_strength(self.spread, infinite=False)

    def graph(self, rows: Rows) -> Graph:
        joined, weights = [], []
        diagonal = np.zeros(len(rows))
        for cell in _cells(rows, self.column):
            whole = self.spread + len(cell) * self.strength
            if whole == 0:
                continue
            joined += list(combinations(cell.values(), 2))
            weights += [self.strength**2 / whole] * math.comb(len(cell), 2)
            for language in range(len(rows.vocabularies)):
                for slice in cell.values():
                    words = rows.words(language, slice)
                    diagonal[words.start : words.stop] = self.spread * self.strength / whole
        return _between_slices(rows, joined, weights) + Graph.of(len(rows), diagonal=diagonal)


@dataclass(frozen=True)
class Chain(Prior):
    """A word drifts slowly: −½ strength Σ_w Σ_t ‖ρ_w,t − ρ_w,t+1‖², t running over the values of `column` in order.

    `start` is the γ₀ of the first value alone, −½ start ‖ρ_w,0‖² (the dynamic model, Proposition 2). A value that
    a group lacks is skipped; with `by_gap=True` the weight is divided by the distance of two neighbors, for numbers.
    """

    column: str
    strength: float = 1.0
    start: float | None = None
    by_gap: bool = False

    def __post_init__(self) -> None:
        _check_strength(self.strength)
        if self.start is not None:
            _check_strength(self.start, infinite=False)

    def graph(self, rows: Rows) -> Graph:
        joined, weights = [], []
        diagonal = np.zeros(len(rows))
        for cell in _cells(rows, self.column):
            for (a, one), (b, two) in pairwise(cell.items()):
                joined.append((one, two))
                weights.append(self.strength / (self._gap(a, b) if self.by_gap else 1.0))
            if self.start is not None:
                for language in range(len(rows.vocabularies)):
                    words = rows.words(language, next(iter(cell.values())))
                    diagonal[words.start : words.stop] = self.start
        return _between_slices(rows, joined, weights) + Graph.of(len(rows), diagonal=diagonal)

    def _gap(self, one: str, two: str) -> float:
        try:
            return float(two) - float(one)
        except ValueError:
            raise InputError(f'Chain(by_gap=True) needs numbers in "{self.column}", not "{one}" and "{two}"') from None


@dataclass(frozen=True)
class Pairs(Prior):
    """Some words are alike, in every slice: −½ Σ_pairs strength · weight · ‖x_v − y_w‖².

    `joins` says which vectors: "word-word" ρ_v and ρ_w; "word-context" ρ_v and α_w as well as ρ_w and α_v, as words
    in each other's definitions (the paper's dictionary model, Proposition 1); "context-context" α_v and α_w.
    A negative weight makes them unlike: ‖x_v + y_w‖². `directed` pulls the first word to the second only.
    """

    source: Any
    strength: float = 1.0
    joins: Joins = "word-word"
    directed: bool = False
    language: str | None = None

    def __post_init__(self) -> None:
        _check_strength(self.strength)
        if self.joins not in ("word-word", "word-context", "context-context"):
            raise InputError(f'joins="{self.joins}": write "word-word", "word-context" or "context-context"')
        object.__setattr__(self, "source", read_pairs(self.source))

    def graph(self, rows: Rows) -> Graph:
        language = _language(rows, self.language)
        v, w, weight = _known(self.source, rows, language, language)
        roles: list[tuple[Role, Role]] = {
            "word-word": [("word", "word")],
            "word-context": [("word", "context"), ("context", "word")],
            "context-context": [("context", "context")],
        }[self.joins]  # type: ignore[assignment]
        whole = Graph.of(len(rows))
        for one, two in roles:
            for a, b in _together(rows, one, language, two, language):
                whole = whole + _edges(rows, a + v, b + w, weight, self.strength, self.directed)
        return whole

    def coverage(self, rows: Rows) -> str:
        language = _language(rows, self.language)
        return _coverage(self.source, rows, language, language)

    def __repr__(self) -> str:
        directed = ", directed=True" if self.directed else ""
        return f'Pairs({self.source.name}, {self.strength}, joins="{self.joins}"{directed})'


@dataclass(frozen=True)
class Translations(Prior):
    """A word and its translation are nearly the same vector, as word and as context, in every slice:

    −½ strength Σ_pairs ‖ρ_A,v − ρ_B,w‖² + ‖α_A,v − α_B,w‖²     (paper, "Cross-lingual PELP").

    `languages` names those of the first and the second word of a pair; with two languages in the corpus the order
    that knows more of the words is taken.
    """

    source: Any
    strength: float = 1.0
    languages: tuple[str, str] | None = None

    def __post_init__(self) -> None:
        _check_strength(self.strength)
        object.__setattr__(self, "source", read_pairs(self.source))

    def graph(self, rows: Rows) -> Graph:
        a, b = self._languages(rows)
        v, w, weight = _known(self.source, rows, a, b)
        whole = Graph.of(len(rows))
        roles: tuple[Role, ...] = ("word", "context")
        for role in roles:
            for one, two in _together(rows, role, a, role, b):
                whole = whole + _edges(rows, one + v, two + w, weight, self.strength, False)
        return whole

    def _languages(self, rows: Rows) -> tuple[int, int]:
        if self.languages is not None:
            one, two = (_language(rows, name) for name in self.languages)
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
        return f"Translations({self.source.name}, {self.strength})"


@dataclass(frozen=True)
class Anchor(Prior):
    """Vectors are near given ones that stay fixed: −½ strength Σ_w ‖x_w − u_w‖², in every slice.

    `vectors` maps words to vectors: a dict, or gensim's KeyedVectors. `on` says which vectors they hold.
    """

    vectors: Any
    strength: float = 1.0
    on: Literal["words", "contexts"] = "words"
    language: str | None = None

    def __post_init__(self) -> None:
        _check_strength(self.strength, infinite=False)

    def graph(self, rows: Rows) -> Graph:
        language = _language(rows, self.language)
        vocabulary = rows.vocabularies[language]
        words = [word for word in vocabulary if word in self.vectors]
        if not words:
            raise InputError(f"none of the {len(vocabulary):,} words of the vocabulary has a vector to be anchored to")
        targets = np.array([self.vectors[word] for word in words], np.float64)
        if targets.ndim != 2 or not np.isfinite(targets).all():
            raise InputError("the vectors to be anchored to are not all of one length, or not finite")
        ids = np.array([vocabulary[word] for word in words])
        role: Role = "word" if self.on == "words" else "context"
        starts = list(rows.everywhere(role, language))
        first = np.concatenate([start + ids for start in starts])
        second = np.tile(len(rows) + np.arange(len(words)), len(starts))
        return Graph.of(len(rows), first, second, self.strength, targets=targets)

    def __repr__(self) -> str:
        return f'Anchor({len(self.vectors):,} vectors, {self.strength}, on="{self.on}")'


@dataclass(frozen=True)
class Edges(Prior):
    """Any graph of one's own. Its nodes are named by a word, (word, role) or (word, role, slice).

    role is "word" or "context"; slice is a tuple of the values of the columns that vary. Without a slice a node
    stands for the word in every slice, and an edge joins the two words within each. Languages are told by a fourth
    entry: ("cane", "word", (), "it").
    """

    source: Graph
    strength: float = 1.0

    def __post_init__(self) -> None:
        _check_strength(self.strength)
        if not isinstance(self.source, Graph) or self.source.names is None:
            raise InputError("Edges takes a Graph with named nodes: lx.Graph.from_networkx, from_frame or from_sparse")

    def graph(self, rows: Rows) -> Graph:
        assert self.source.names is not None
        places = [_rows_named(name, rows) for name in self.source.names]
        if not any(place is not None for place in places):
            raise InputError(
                f"none of the {len(places):,} nodes of the graph, such as {places and self.source.names[0]}, is known"
            )
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
        ).scaled(self.strength)

    def __repr__(self) -> str:
        return f"Edges({self.source.edges:,} edges, {self.strength})"


def _check_strength(strength: float, infinite: bool = True) -> None:
    if not isinstance(strength, Real) or math.isnan(strength) or strength < 0:
        raise InputError(f"a strength is a number from 0, not {strength!r}")
    if math.isinf(strength) and not infinite:
        raise InputError("this strength cannot be infinite")


def _cells(rows: Rows, column: str) -> list[dict[str, int]]:
    if column not in rows.slices.columns:
        raise InputError(
            f'the prior is about "{column}", by which vectors do not vary: '
            f"vary={list(rows.slices.columns)}. Add it there, or take it out of the prior"
        )
    return rows.slices.cells(column)


def _between_slices(rows: Rows, joined: Sequence[tuple[int, int]], weights: Sequence[float]) -> Graph:
    """Every word with itself, in the given pairs of slices."""
    first, second, weight = [np.empty(0, np.int64)], [np.empty(0, np.int64)], [np.empty(0)]
    for language, vocabulary in enumerate(rows.vocabularies):
        for (one, two), a in zip(joined, weights):
            first.append(np.array(rows.words(language, one)))
            second.append(np.array(rows.words(language, two)))
            weight.append(np.full(len(vocabulary), a))
    return Graph.of(len(rows), np.concatenate(first), np.concatenate(second), np.concatenate(weight))


def _language(rows: Rows, name: str | None) -> int:
    names = [vocabulary.language for vocabulary in rows.vocabularies]
    if name is None and len(names) == 1:
        return 0
    if name not in names:
        raise InputError(f"the corpus has the languages {quote(names)}: say which one with language=, not {name!r}")
    return names.index(name)


def _known(
    pairs: WordPairs, rows: Rows, one: int, two: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Ids and weights of the pairs both of whose words are in the vocabulary."""
    left, right = rows.vocabularies[one], rows.vocabularies[two]
    found = [
        (left[v], right[w], weight)
        for v, w, weight in zip(pairs.left, pairs.right, pairs.weight)
        if v in left and w in right and not (one == two and v == w)
    ]
    if not found:
        known = sum(v in left or w in right for v, w in zip(pairs.left, pairs.right))
        raise InputError(
            f"no pair of {pairs.name} has both words in the vocabulary ({len(left):,} words; {known:,} of "
            f"{len(pairs):,} pairs have one): check the language, or lower min_count"
        )
    v, w, weights = zip(*found)
    return np.array(v, np.int64), np.array(w, np.int64), np.array(weights)


def _coverage(pairs: WordPairs, rows: Rows, one: int, two: int) -> str:
    known = len(_known(pairs, rows, one, two)[0])
    return f"{known:,} of {len(pairs):,} pairs of {pairs.name} have both words in the vocabulary"


def _edges(rows: Rows, first: Any, second: Any, weight: Any, strength: float, directed: bool) -> Graph:
    signs = np.where(weight < 0, -1, 1)
    graph = Graph.of(len(rows), first, second, np.abs(weight), sign=signs, directed=directed)
    return graph.scaled(strength)


def _together(rows: Rows, one: Role, first: int, two: Role, second: int) -> Iterator[tuple[int, int]]:
    """First rows of two roles: slice by slice for words, the same one again for contexts."""
    if one == two == "context":
        yield rows.context_start(first), rows.context_start(second)
        return
    for slice in range(len(rows.slices)):
        a = rows.word_start(first, slice) if one == "word" else rows.context_start(first)
        b = rows.word_start(second, slice) if two == "word" else rows.context_start(second)
        yield a, b


def _rows_named(name: Hashable, rows: Rows) -> tuple[int, ...] | None:
    """The rows that a node's name stands for: one, or one for each slice; None if the word is not known."""
    word, *rest = name if isinstance(name, tuple) else (name,)
    role: Any = rest[0] if rest else "word"
    if role not in ("word", "context") or len(rest) > 3:
        raise InputError(f'a node is named (word, "word" or "context", slice), not {name!r}')
    language = _language(rows, rest[2] if len(rest) > 2 else None)
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
