"""Priors on particular words: pairs of a thesaurus or dictionary, translations, given vectors, any graph of words."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from laplex.errors import InputError, quote
from laplex.model.graph import Graph
from laplex.model.pretrained import Pretrained, foreign, look_up
from laplex.model.priors.prior import ByEdge, ByWord, Prior, by_word, check_by_edge, check_strength, shown
from laplex.model.rows import Role, Rows

if TYPE_CHECKING:
    from laplex.lexicons.wordpairs import WordPairs

Joins = Literal["word-word", "word-context", "context-context"]
ROLES: dict[str, list[tuple[Role, Role]]] = {
    "word-word": [("word", "word")],
    "word-context": [("word", "context"), ("context", "word")],
    "context-context": [("context", "context")],
    "translations": [("word", "word"), ("context", "context")],
}
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
TIMES_AS_MANY = 2  # pairs that the languages of a list know, compared with any others


class _OnPairs(Prior):
    """A prior that joins the two words of each pair, in all roles and slices."""

    source: Any
    strength: ByEdge | None
    joins: str = "translations"
    directed: bool = False

    def __post_init__(self) -> None:
        from laplex.lexicons.pairs import read_pairs

        check_strength(self.strength)
        object.__setattr__(self, "source", read_pairs(self.source))
        check_by_edge(self.strength, len(self.source), self.source.name)

    @abstractmethod
    def _languages(self, rows: Rows) -> tuple[int, int]:
        """The languages of the first and of the second word of a pair."""

    def graph(self, rows: Rows) -> Graph:
        self.check_chosen()
        pairs: WordPairs = self.source
        one, two = self._languages(rows)
        left, right = pairs.ids(rows.vocabularies[one], rows.vocabularies[two])
        known = np.flatnonzero((left >= 0) & (right >= 0) & ((one != two) | (left != right)))
        if not len(known):
            half = int(((left >= 0) | (right >= 0)).sum())
            raise InputError(
                f"no pair of {pairs.name} has both words in the vocabulary ({len(rows.vocabularies[one]):,} words; "
                f"{half:,} of {len(pairs):,} pairs have one): check the language, or lower min_count"
            )
        strength = np.broadcast_to(np.asarray(self.strength, np.float64), len(pairs))[known]
        weight = pairs.weight[known]
        weight = np.where(np.isinf(strength), np.copysign(np.inf, weight), strength * weight)
        weight = self._tied_once(left[known], right[known], weight, pairs.weight[known])
        starts = self._starts(rows, one, two)
        return Graph.of(
            len(rows),
            starts[:, :1] + left[known],
            starts[:, 1:] + right[known],
            np.tile(np.abs(weight), len(starts)),
            sign=np.tile(np.where(weight < 0, -1, 1), len(starts)),
            directed=self.directed,
        )

    def _tied_once(self, left: Ints, right: Ints, strength: Floats, weight: Floats) -> Floats:
        """(P) The strengths of pairs, after a subclass has lowered those that would tie a word once more."""
        return strength

    def _starts(self, rows: Rows, one: int, two: int) -> NDArray[np.int64]:
        """(…, 2) The first rows of two languages that are joined: in every slice, or only once between contexts."""
        ends = [(rows.everywhere(first, one), rows.everywhere(second, two)) for first, second in ROLES[self.joins]]
        return np.concatenate([np.stack(np.broadcast_arrays(*both), axis=1) for both in ends])

    def coverage(self, rows: Rows, graph: Graph) -> str:
        pairs: WordPairs = self.source
        one, two = self._languages(rows)
        return pairs.coverage(rows.vocabularies[one], rows.vocabularies[two])


@dataclass(frozen=True)
class Pairs(_OnPairs):
    """Some words are alike, in every slice: −½ Σ_pairs strength · weight · ‖x_v − y_w‖².

    A negative weight makes them unlike: ‖x_v + y_w‖².

    Args:
        source: The pairs: a file, a list of (word, word) or (word, word, weight), a frame, a networkx graph, or what
            `lx.lexicons` returns.
        strength: A number, or a list with one for each pair. Infinite strength makes the vectors the same. With None,
            `lx.fit` chooses one by held-out text, which is weak: a lexicon says what the text does not.
        joins: Which vectors are alike. "word-word": ρ_v and ρ_w. "word-context": ρ_v and α_w as well as ρ_w and α_v,
            as for words in each other's definitions (the paper's dictionary model, Proposition 1).
            "context-context": α_v and α_w.
        directed: Pull the first word to the second only, as the edges of a networkx DiGraph do.
        language: The language of the words, if the corpus has several.

    Example:
        >>> import laplex as lx
        >>> lx.Pairs([("car", "automobile"), ("hot", "cold", -1.0)], 10.0)
        Pairs(the list of pairs, 10.0, joins="word-word")
    """

    source: Any
    strength: ByEdge | None = 10.0
    joins: Joins = "word-word"
    directed: bool = False
    language: str | None = None

    usual_strength = 10.0
    in_words = "Words that a lexicon pairs are alike in {vectors} ({strength})."

    def __post_init__(self) -> None:
        if self.joins not in get_args(Joins):
            raise InputError(f'joins="{self.joins}": write "word-word", "word-context" or "context-context"')
        super().__post_init__()
        object.__setattr__(self, "directed", self.directed or self.source.directed)

    def _languages(self, rows: Rows) -> tuple[int, int]:
        language = rows.language(self.language)
        return language, language

    def __repr__(self) -> str:
        directed = ", directed=True" if self.directed else ""
        return f'Pairs({self.source.name}, {shown(self.strength)}, joins="{self.joins}"{directed})'

    @classmethod
    def sentence(cls, described: Mapping[str, Any]) -> str | None:
        known = {"word-word": "their word vectors", "word-context": "word and context vectors"}
        return super().sentence({**described, "vectors": known.get(described.get("joins", ""), "their vectors")})


@dataclass(frozen=True)
class Translations(_OnPairs):
    """A word and its translation have nearly the same vector, as word and as context, in every slice:

    −½ strength Σ_pairs ‖ρ_A,v − ρ_B,w‖² + ‖α_A,v − α_B,w‖²     (paper, "Cross-lingual PELP").

    With infinite strength, the default, a word and a translation share one vector. If a word has several, it shares
    that of the first, or of weighted pairs that of the largest weight, which no other word of its language shares; the
    others have a finite strength. Otherwise words of one language would have the same vector, too.

    Args:
        source: The pairs, given as for `Pairs`.
        strength: A number, or a list with one for each pair.
        languages: The languages of the first and the second word of a pair. It can be left out: those languages, in
            that order, are taken whose vocabularies know most of the pairs.
        others: The strength of a pair with a word that an infinite strength has tied already; infinite to tie it too.

    Example:
        >>> import laplex as lx
        >>> lx.Translations([("dog", "cane"), ("cat", "gatto")], 100.0, languages=("en", "it"))
        Translations(the list of pairs, 100.0)
    """

    source: Any
    strength: ByEdge | None = math.inf
    languages: tuple[str, str] | None = None
    others: float = 1e4

    in_words = "Translations have nearly the same vector ({strength})."

    def __post_init__(self) -> None:
        super().__post_init__()
        check_strength(self.others)
        if self.source.directed:
            raise InputError(f"{self.source.name} is directed, but translations join both ways: pass an undirected one")

    def _languages(self, rows: Rows) -> tuple[int, int]:
        words = self.source.left, self.source.right
        left, right = (np.array([known.ids(side) >= 0 for known in rows.vocabularies], np.int64) for side in words)
        pairs = left @ right.T  # (L, L) that are known, by the languages of their words
        if self.languages is not None:
            one, two = (rows.language(name) for name in self.languages)
            if pairs[two, one] > TIMES_AS_MANY * pairs[one, two]:
                first, second = self.languages
                raise InputError(
                    f'languages=("{first}", "{second}"), but {pairs[one, two]:,} pairs of {self.source.name} are a '
                    f'word of "{first}" and one of "{second}", and {pairs[two, one]:,} are the other way round: write '
                    f'languages=("{second}", "{first}"), or --translations {second},{first}=FILE as an option'
                )
            return one, two
        if len(pairs) < 2:
            raise InputError("translations join two languages, the corpus has 1: read each text with its language")
        np.fill_diagonal(pairs, -1)
        one, two = divmod(int(pairs.argmax()), len(pairs))
        best, pairs[[one, two], [two, one]] = pairs[one, two], -1
        if TIMES_AS_MANY * pairs.max() > best:
            places = one, two, *divmod(int(pairs.argmax()), len(pairs))
            first, second, *others = (rows.vocabularies[place].language for place in places)
            raise InputError(
                f"{self.source.name} has {best:,} pairs of {first} and {second}, and {pairs.max():,} of "
                f'{others[0]} and {others[1]}: say which by languages=("{first}", "{second}"), or --translations '
                f"{first},{second}=FILE as an option"
            )
        return one, two

    def _tied_once(self, left: Ints, right: Ints, strength: Floats, weight: Floats) -> Floats:
        tying = np.flatnonzero(np.isposinf(strength) & np.isfinite(self.others))
        tying = tying[np.argsort(-weight[tying], kind="stable")]
        seen: tuple[set[int], set[int]] = set(), set()
        repeated = []
        for pair, one, two in zip(tying.tolist(), left[tying].tolist(), right[tying].tolist()):
            if one in seen[0] or two in seen[1]:
                repeated.append(pair)
            else:
                seen[0].add(one)
                seen[1].add(two)
        strength[repeated] = self.others * weight[repeated]
        return strength

    def __repr__(self) -> str:
        others = "" if self.others == type(self).others else f", others={self.others}"
        return f"Translations({self.source.name}, {shown(self.strength)}{others})"

    @classmethod
    def sentence(cls, described: Mapping[str, Any]) -> str | None:
        said = super().sentence(described)
        if described.get("strength") != "inf" or described.get("others", "inf") == "inf":
            return said
        return f"{said} Of several translations only one is; the others have strength {described['others']:g}."


@dataclass(frozen=True)
class Anchor(Prior):
    """Vectors are near given ones that stay fixed: −½ strength Σ_w ‖x_w − u_w‖², in every slice.

    Only words that both have are drawn. Vectors of more dimensions than the model are projected onto their principal
    axes, of fewer are padded with zeros. They keep their length: for long ones a small strength is enough.

    Args:
        vectors: A file of word2vec (text or binary), GloVe or fastText (.vec); the folder of a saved model; Embeddings;
            or a mapping from words to vectors, such as a dict or gensim's KeyedVectors. Of a model that has slices, the
            mean over slices is taken.
        strength: A number, or one for each word in a mapping, 0 for the others. Without it, `lx.fit` chooses one by
            held-out text.
        on: Whether "words" or "contexts" are near them. For contexts, the context vectors of a model are taken.
        language: The language of the words, if the corpus has several.

    Example:
        >>> import laplex as lx
        >>> lx.Anchor({"tax": [0.1, 0.2], "health": [0.3, -0.1]}, 10.0)
        Anchor(2 vectors, 10.0, on="words")
    """

    vectors: Any
    strength: ByWord | None = None
    on: Literal["words", "contexts"] = "words"
    language: str | None = None

    in_words = "Vectors stay near those that were given ({strength})."

    def __post_init__(self) -> None:
        check_strength(self.strength, infinite=False)
        if self.on not in ("words", "contexts"):
            raise InputError(f'Anchor(on="{self.on}"): write "words" or "contexts"')
        if not isinstance(self.vectors, Pretrained):
            object.__setattr__(self, "vectors", Pretrained.of(self.vectors, self.language))

    @property
    def _by_word(self) -> Mapping[str, Any]:
        """The given vectors: those of contexts, if the contexts are drawn and a model has them."""
        given: Pretrained = self.vectors
        return given.contexts if self.on == "contexts" and given.contexts is not None else given.words

    def graph(self, rows: Rows) -> Graph:
        self.check_chosen()
        language = rows.language(self.language)
        vocabulary = rows.vocabularies[language]
        strengths = by_word(self.strength or 0.0, vocabulary)
        known, targets = look_up(self._by_word, vocabulary.words, self.vectors.name)
        ids = np.flatnonzero(known)
        starts = rows.everywhere("word" if self.on == "words" else "context", language)
        first = np.add.outer(starts, ids)
        second = np.broadcast_to(len(rows) + np.arange(len(ids)), first.shape)
        return Graph.of(len(rows), first, second, np.tile(strengths[ids], len(starts)), targets=targets)

    def coverage(self, rows: Rows, graph: Graph) -> str:
        vocabulary = rows.vocabularies[rows.language(self.language)]
        known = f"{len(graph.targets):,} of {len(vocabulary):,} words have a vector to be anchored to"
        return known + foreign(len(graph.targets), len(vocabulary))

    def __repr__(self) -> str:
        return f'Anchor({len(self._by_word):,} vectors, {shown(self.strength)}, on="{self.on}")'


@dataclass(frozen=True)
class Edges(Prior):
    """Any graph of words.

    A node is named by a word, (word, role) or (word, role, slice). The role is "word" or "context"; the slice is a
    tuple of the values of the columns that vary. Without a slice a node stands for the word in every slice, and an
    edge joins the two words within each. With several languages, a fourth entry names one: ("cane", "word", (), "it").

    Args:
        source: A graph with named nodes, from `lx.Graph.from_networkx`, `from_frame` or `from_sparse`.
        strength: A number that multiplies all weights and the diagonal, or a list with one for each edge, which
            leaves the diagonal as it is. With None, `lx.fit` chooses a number by held-out text.

    Example:
        >>> import laplex as lx
        >>> import pandas as pd
        >>> lx.Edges(lx.Graph.from_frame(pd.DataFrame({"one": ["tax"], "two": ["taxes"]})), 10.0)
        Edges(1 edges, 10.0)
    """

    source: Graph
    strength: ByEdge | None = 1.0

    in_words = "Words that a given graph joins are alike ({strength})."

    def __post_init__(self) -> None:
        check_strength(self.strength)
        if not isinstance(self.source, Graph) or self.source.names is None:
            raise InputError("Edges takes a Graph with named nodes: lx.Graph.from_networkx, from_frame or from_sparse")
        check_by_edge(self.strength, self.source.edges, "the graph")

    def graph(self, rows: Rows) -> Graph:
        self.check_chosen()
        source, names = self.source, self.source.names or ()
        table = np.full((len(names), len(rows.slices)), -1, np.int64)  # the rows of each node, one again and again
        many = np.zeros(len(names), bool)  # nodes that stand for a row in each slice
        for node, name in enumerate(names):
            places = _rows_named(name, rows)
            if places is not None:
                table[node], many[node] = places, len(places) > 1
        known = table[:, 0] >= 0
        if not known.any():
            raise InputError(f"none of the {len(known):,} nodes of the graph, such as {names and names[0]}, is known")
        once = np.arange(len(rows.slices)) == 0
        in_all_slices = (many[source.first] | many[source.second])[:, None]
        used = (known[source.first] & known[source.second])[:, None] & (in_all_slices | once)
        used &= table[source.first] != table[source.second]  # such as "March" and "march", if the text is lower case
        edge = np.nonzero(used)[0]
        diagonal = np.zeros(len(rows))
        entered = known[:, None] & (many[:, None] | once)
        np.add.at(diagonal, table[entered], source.diagonal[np.nonzero(entered)[0]])
        strength = np.asarray(self.strength, np.float64)
        return Graph.of(
            len(rows),
            table[source.first][used],
            table[source.second][used],
            source.weight[edge],
            sign=source.sign[edge],
            directed=source.directed[edge],
            diagonal=diagonal,
        ).scaled(strength[edge] if strength.ndim else float(strength))

    def __repr__(self) -> str:
        return f"Edges({self.source.edges:,} edges, {shown(self.strength)})"


def _rows_named(name: Hashable, rows: Rows) -> list[int] | None:
    """The rows that a node's name stands for: one, or one for each slice; None if the word is not known."""
    word, *rest = name if isinstance(name, tuple) else (name,)
    role: Any = rest[0] if rest else "word"
    if role not in ("word", "context") or len(rest) > 3:
        raise InputError(f'a node is named (word, "word" or "context", slice), not {name!r}')
    language = rows.language(rest[2] if len(rest) > 2 else None)
    vocabulary = rows.vocabularies[language]
    index = vocabulary.find(word) if isinstance(word, str) else None
    if index is None:
        return None
    starts = rows.everywhere(role, language)
    if len(rest) > 1 and rest[1] not in (None, ()) and role == "word" and rows.slices.columns:
        key = tuple(map(str, rest[1] if isinstance(rest[1], tuple) else (rest[1],)))
        if key not in rows.slices.keys:
            raise InputError(f"there is no slice {key}; there are {quote(rows.slices.keys, 6)}")
        starts = [starts[rows.slices.keys.index(key)]]
    return [start + index for start in starts]
