"""What every prior shares: its graph, how it is described, tuned and added, and how strengths are given."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence, ValuesView
from dataclasses import dataclass, fields, is_dataclass, replace
from numbers import Real
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from laplex.errors import InputError
from laplex.model.graph import Graph
from laplex.model.rows import Rows
from laplex.text.vocabulary import Vocabulary

Floats = NDArray[np.float64]
CHOSEN = "chosen"  # in the description of a prior whose strength was left out, and chosen during the fit
ByWord: TypeAlias = float | Mapping[str, float]  # a number, or one for each word named; 0 for the others
ByEdge: TypeAlias = float | Sequence[float] | NDArray[Any]  # or one for each edge, in the order of the source


@dataclass(frozen=True, eq=False)
class WordPrior:
    """A prior that joins a word with itself alone, by the same edges between slices for every word.

    Such priors say what the vector of a word is in a slice where it does not occur. V words of all languages.
    """

    slices: Graph  # over slices and, behind them, latent nodes; the diagonal that all words share
    words: Floats  # (V) what the diagonal of a word has besides, in every slice
    contexts: Floats  # (V) the diagonal of context rows

    def __add__(self, other: WordPrior) -> WordPrior:
        slices = Graph.union([self.slices, other.slices]).merge_ties()[0]
        return WordPrior(slices, self.words + other.words, self.contexts + other.contexts)

    def precision(self, word: int) -> Floats:
        """(S + L, S + L) The precision of a word's vectors and of what is latent among them."""
        ridge = np.zeros(len(self.slices))
        ridge[: self.slices.own] = self.words[word]
        precision: Floats = self.slices.laplacian().toarray() + np.diag(ridge)
        return precision

    def check_positive_definite(self, rows: Rows) -> None:
        """Raise an error if the prior says nothing about some vector."""
        contexts = Graph.of(len(self.contexts), diagonal=self.contexts)
        contexts.check_positive_definite(lambda word: rows.name(rows.context_start(0) + word))
        weakest = int(self.words.argmin())
        starts = np.cumsum([0, *map(len, rows.vocabularies)])
        language = int(np.searchsorted(starts, weakest, "right")) - 1
        word = weakest - int(starts[language])
        diagonal = self.slices.diagonal + self.words[weakest] * (np.arange(len(self.slices)) < self.slices.own)
        slices = replace(self.slices, diagonal=diagonal)
        slices.check_positive_definite(lambda slice: rows.name(rows.word_start(language, slice) + word))


class Prior(ABC):
    """What is assumed about the vectors before any text is read. Priors add with `+`.

    A subclass is a frozen dataclass with a method `graph`; the other methods have defaults. A fitted model keeps the
    description of its prior, a dictionary for each part, so what a saved model needs to know of a prior are class
    methods that take such a description.

    Attributes:
        joins_slices: Whether it is about the vectors of one word in several slices, and about nothing else.
        tuned_by_default: Whether `lx.tune` chooses its strength if it is not told whose strength to choose.
        usual_strength: Where a search for its strength begins, if it has none of its own, or 0 or infinity.
        in_words: What it says, as a sentence for reports; names in braces stand for entries of the description.

    Example:
        >>> import laplex as lx
        >>> lx.Ridge(1.0) + lx.Groups("party", 100.0)
        Ridge(strength=1.0, on='all') + Groups(column='party', strength=100.0)
    """

    joins_slices: ClassVar[bool] = False
    tuned_by_default: ClassVar[bool] = True
    usual_strength: ClassVar[float] = 100.0
    in_words: ClassVar[str | None] = None
    _kinds: ClassVar[dict[str, type[Prior]]] = {}

    def __init_subclass__(cls) -> None:
        Prior._kinds[cls.__name__] = cls

    @abstractmethod
    def graph(self, rows: Rows) -> Graph:
        """The prior as edges between rows and a diagonal.

        Args:
            rows: Which row is which word in which slice.

        Returns:
            A graph over all rows.

        Example:
            lx.Groups("party", 100.0).graph(fitted.rows)
        """

    def coverage(self, rows: Rows, graph: Graph) -> str | None:
        """How much of a lexicon is known, as a sentence, given `graph(rows)`; None for a prior without a lexicon."""
        return None

    def word_prior(self, rows: Rows) -> WordPrior:
        """The same prior, word by word; an error for priors that join different words."""
        raise InputError(
            'absent="filled" goes with priors that join a word to itself alone (Ridge, Groups, GroupMean, Nested and '
            f'Chain), not with {self!r}: leave it out, or write absent="kept"'
        )

    @property
    def parts(self) -> tuple[Prior, ...]:
        """The priors that this one is the sum of."""
        return (self,)

    def __add__(self, other: Prior) -> Prior:
        if not isinstance(other, Prior):
            return NotImplemented
        return Sum((*self.parts, *other.parts))

    # Descriptions, which saved models keep

    def describe(self, rows: Rows | None = None) -> dict[str, Any]:
        """The prior as JSON: its kind, those of its settings that are text or a number, and what depends on `rows`."""
        assert is_dataclass(self)
        described: dict[str, Any] = {"kind": type(self).__name__}
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, (str, bool)):
                described[field.name] = value
            elif isinstance(value, Real):
                described[field.name] = float(value) if math.isfinite(value) else "inf"  # JSON has no infinity
        return described

    @classmethod
    def sentence(cls, described: Mapping[str, Any]) -> str | None:
        """What a description says, in a sentence; None if the class does not say."""
        if cls.in_words is None:
            return None
        named = {None: "with strengths of their own", "inf": "with infinite strength: exactly the same"}
        strength = described.get("strength")
        told = named.get(strength) or f"strength {strength:g}"
        chosen = ", chosen by held-out text" if described.get(CHOSEN) else ""
        return cls.in_words.format_map({**described, "strength": told + chosen})

    @classmethod
    def ridge(cls, described: Mapping[str, Any]) -> float | None:
        """The strength by which it pulls all vectors to zero, if that is all it does; NaN if it differs by word."""
        return None

    @classmethod
    def chained_column(cls, described: Mapping[str, Any]) -> str | None:
        """The column whose values it joins in their order, if it does."""
        return None

    @classmethod
    def group_mean(cls, described: Mapping[str, Any], column: str) -> tuple[float, float] | None:
        """The strength and the spread of the vectors at the values of a column around their mean, if there is one."""
        return None

    # Tuning

    @property
    def is_unchosen(self) -> bool:
        """Whether its strength was left out, to be chosen by held-out text."""
        return getattr(self, "strength", 1.0) is None

    @property
    def is_tunable(self) -> bool:
        """Whether it has one strength, which can be chosen."""
        return hasattr(self, "strength") and (self.strength is None or isinstance(self.strength, Real))

    def check_chosen(self) -> None:
        """Raise an error if the strength was left out and nothing has chosen it."""
        if self.is_unchosen:
            raise InputError(
                f"{self!r} has no strength: give a number, or fit the model with lx.fit or lx.tune, which choose one "
                "by held-out text"
            )

    @property
    def tuning_names(self) -> list[str]:
        """What a grid may call it, the most telling name first and its kind last."""
        return [type(self).__name__.lower()]

    def tuning_grid(self) -> list[float]:
        """Strengths to try, a factor of ten apart, around its own."""
        own = float(getattr(self, "strength", None) or 0.0)
        middle = own if own > 0 and math.isfinite(own) else self.usual_strength
        return [10.0**power * middle for power in range(-2, 4)]

    def with_strength(self, strength: float) -> Prior:
        """The same prior with another strength."""
        assert is_dataclass(self)
        return replace(self, strength=strength)


@dataclass(frozen=True, repr=False)
class Sum(Prior):
    """Several priors at once: the union of their edges."""

    terms: tuple[Prior, ...]

    @property
    def parts(self) -> tuple[Prior, ...]:
        return self.terms

    def graph(self, rows: Rows) -> Graph:
        return Graph.union([term.graph(rows) for term in self.terms])

    def __repr__(self) -> str:
        return " + ".join(map(repr, self.terms))


def saved_priors(settings: Mapping[str, Any]) -> Iterator[tuple[type[Prior], Mapping[str, Any]]]:
    """The class and the description of each part of a fitted model's prior; `Prior` itself for classes not defined."""
    model = settings.get("model")
    for described in (model.get("beliefs") if isinstance(model, Mapping) else None) or ():
        yield Prior._kinds.get(described["kind"], Prior), described  # type: ignore[type-abstract]


def saved_prior(settings: Mapping[str, Any]) -> Prior | None:
    """The prior of a fitted model, made again from its description; None if that does not say everything."""
    parts: list[Prior] = []
    for prior, described in saved_priors(settings):
        if not is_dataclass(prior):
            return None
        given = {field.name: described.get(field.name) for field in fields(prior)}
        by_text = {"strength"} if described.get("by_text") else set()
        optional = {
            field.name for field in fields(prior) if field.default is None and field.name != "strength"
        } | by_text
        if any(value is None and name not in optional for name, value in given.items()):
            return None
        parts.append(prior(**{name: math.inf if value == "inf" else value for name, value in given.items()}))
    return parts[0] if len(parts) == 1 else Sum(tuple(parts)) if parts else None


def saved_ridge(settings: Mapping[str, Any]) -> Ridge:
    """The Ridge of a fitted model for the same model without slices: one number, or what depends on the text."""
    ridges = [prior.ridge(described) for prior, described in saved_priors(settings)]
    strengths = [ridge for ridge in ridges if ridge is not None and not math.isnan(ridge)]
    return Ridge(sum(strengths)) if strengths else Ridge()


def check_strength(strength: Any, infinite: bool = True, *, optional: bool = True) -> None:
    """Raise an error unless this is a number from 0, or several of them, or None for one that is to be chosen."""
    if strength is None and optional:
        return
    values = strength.values() if isinstance(strength, Mapping) else strength
    if not isinstance(values, (ValuesView, Sequence, np.ndarray)) or isinstance(values, (str, bytes)):
        values = (values,)
    for value in values:
        if not isinstance(value, Real) or math.isnan(value) or value < 0:
            raise InputError(f"a strength is a number from 0, not {value!r}")
        if math.isinf(value) and not infinite:
            raise InputError("this strength cannot be infinite")


def by_word(strength: ByWord, vocabulary: Vocabulary) -> Floats:
    """(V) The strength of each word."""
    if not isinstance(strength, Mapping):
        return np.full(len(vocabulary), float(strength))
    ids = vocabulary.ids(list(strength))
    known = ids >= 0
    if not known.any():
        raise InputError(f"none of the {len(strength):,} words that strengths are given for is in the vocabulary")
    values = np.zeros(len(vocabulary))
    values[ids[known]] = np.fromiter(strength.values(), np.float64)[known]
    return values


def check_by_edge(strength: ByEdge | None, edges: int, name: str) -> None:
    """Raise an error unless this is a strength for all edges of a source, or one for each."""
    values = np.asarray(0.0 if strength is None else strength, np.float64)
    if values.shape not in ((), (edges,)):
        raise InputError(f"{name} has {edges:,} edges, and there are {values.size:,} strengths: give one for each")


def shown(strength: Any) -> str:
    """A strength as one would write it; of many, their number."""
    return str(strength) if strength is None or isinstance(strength, Real) else f"{len(strength):,} strengths"


def ridge_of_text(tokens: int) -> float:
    """The strength of a Ridge without a number for a text of some tokens: 10 for 300,000 and fewer, 30 from 7 million.

    It grows with the power 0.35 of the size in between. A weaker ridge predicts held-out text a little better, but the
    vectors of words with tens of occurrences then fit noise: similarities, analogies and translations are worse.
    experiments/little_text.py has the trials.
    """
    return float(min(max(10.0 * (tokens / 300_000) ** 0.35, 10.0), 30.0))


@dataclass(frozen=True)
class Ridge(Prior):
    """Vectors are short: −½ strength Σ ‖θ_i‖² over all rows, or only over words or contexts.

    Args:
        strength: A number, or one for each word as in `{"tax": 10.0, "health": 5.0}`, 0 for the others. By default it
            depends on the size of the text in a language: 10 for 300,000 words of text and fewer, 30 for 7 million and
            more. The vectors of a word in several slices share it: each has an equal part.
        on: Whether it holds for "all" vectors, for "words" or for "contexts" only.

    Example:
        >>> import laplex as lx
        >>> model = lx.Model(prior=lx.Ridge(1.0, on="words") + lx.Ridge(0.1, on="contexts"))
    """

    strength: ByWord | None = None
    on: Literal["all", "words", "contexts"] = "all"

    tuned_by_default = False
    usual_strength = 10.0
    in_words = "{vectors} are short unless the text says otherwise ({strength})."

    def __post_init__(self) -> None:
        check_strength(self.strength, infinite=False)
        if self.on not in ("all", "words", "contexts"):
            raise InputError(f'Ridge(on="{self.on}"): write "all", "words" or "contexts"')

    @property
    def is_unchosen(self) -> bool:
        return False  # without a number, it is by the size of the text

    def describe(self, rows: Rows | None = None) -> dict[str, Any]:
        described = super().describe(rows)
        if self.strength is None:
            sizes = [int(vocabulary.counts.sum()) for vocabulary in rows.vocabularies] if rows else []
            described |= {"by_text": True, "strengths": [round(ridge_of_text(size), 2) for size in sizes]}
            described["slices"] = len(rows.slices) if rows else 1
        return described

    def _diagonals(self, rows: Rows) -> tuple[list[Floats], list[Floats]]:
        """For each language, (V) the diagonal of its words in every slice, and (V) that of its contexts."""
        if self.strength is None:
            strengths = [np.full(len(one), ridge_of_text(int(one.counts.sum()))) for one in rows.vocabularies]
            parts = len(rows.slices)
        else:
            strengths, parts = [by_word(self.strength, one) for one in rows.vocabularies], 1
        words, contexts = float(self.on != "contexts") / parts, float(self.on != "words")
        return [words * strength for strength in strengths], [contexts * strength for strength in strengths]

    def graph(self, rows: Rows) -> Graph:
        words, contexts = self._diagonals(rows)
        everywhere = [np.tile(diagonal, len(rows.slices)) for diagonal in words]
        return Graph.of(len(rows), diagonal=np.concatenate([*everywhere, *contexts]))

    def word_prior(self, rows: Rows) -> WordPrior:
        words, contexts = map(np.concatenate, self._diagonals(rows))
        return WordPrior(Graph.of(len(rows.slices)), words, contexts)

    @classmethod
    def sentence(cls, described: Mapping[str, Any]) -> str | None:
        vectors = {"words": "Word vectors", "contexts": "Context vectors"}.get(described.get("on", "all"), "Vectors")
        if described.get("by_text"):
            strengths = " and ".join(f"{strength:g}" for strength in described.get("strengths") or ()) or "one"
            shared = ", divided among the slices of a word" if described.get("slices", 1) > 1 else ""
            chosen = f"strength {strengths}, by the size of the text{shared}"
            return cls.in_words.format_map({"vectors": vectors, "strength": chosen})
        return super().sentence({**described, "vectors": vectors})

    @classmethod
    def ridge(cls, described: Mapping[str, Any]) -> float:
        return float(described.get("strength", math.nan))
