"""How text depends on word and context vectors: one class for each likelihood.

A likelihood says which context vectors a token is predicted from; everything else that differs between likelihoods (the
objective and its gradient, the judgment of held-out text, default step sizes) is a method or attribute of its class.
With K negatives w of distribution P, the log likelihood of token i is

    CBOW   log σ(ρ_i·h_i) + K Σ_w P(w) log σ(−ρ_w·h_i),   h_i = Σ_{c in window} a_ic α_c
    SGNS   Σ_{c in window} a_ic [ log σ(ρ_i·α_c) + K Σ_w P(w) log σ(−ρ_w·α_c) ]

where ρ are word vectors, α context vectors, and the weights a_ic are 1 unless a subclass says otherwise. Engines look
their kernels up by a likelihood's name; the reference engine needs nothing but the class.
n tokens, V words, D dimensions, K negatives, C = 2 · window places around a token.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, TypeVar

import numpy as np
import scipy
from numpy.typing import NDArray
from scipy import sparse

from laplex.errors import InputError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Kernel = TypeVar("Kernel")
ValueAndGradients = tuple[float, Floats, Floats]
TOKENS_PER_BATCH = 8192  # held-out tokens judged together


@dataclass(frozen=True, eq=False)
class SliceText:
    """The text of one language and slice, as the exact objective reads it."""

    words: NDArray[np.int32]  # (V) parameters of the word rows; −1 for words that are neither tokens nor negatives
    contexts: NDArray[np.int32]  # (V) parameters of the context rows
    noise: Floats  # (V) the negatives' distribution
    tokens: NDArray[np.int32]  # (n) word ids
    around: sparse.csr_array  # (n, V) the weight of each context word of a token

    @cached_property
    def cooccurrences(self) -> sparse.csr_array:
        """(V, V) The summed weight of context c of word v."""
        shape = (len(self.words), len(self.tokens))
        is_token = sparse.csr_array((np.ones(shape[1]), (self.tokens, np.arange(shape[1]))), shape=shape)
        return is_token @ self.around


@dataclass(frozen=True, eq=False)
class HeldOutBatch:
    """Tokens of some held-out documents, with their negatives."""

    first: int  # the first document, and the one after the last
    last: int
    ids: Ints  # (n)
    document: Ints  # (n) counted from `first`
    negatives: Ints  # (n, K) word ids


@dataclass(frozen=True, eq=False)
class HeldOutTokens:
    """Held-out tokens as they are scored: which vectors they need, and where."""

    rows: Ints  # (u) the rows whose vectors are needed
    words: NDArray[np.int32]  # (n, 1 + K) the places among them of each token and its negatives
    contexts: NDArray[np.int32]  # (n) the place of each token as a context
    windows: sparse.csr_array  # (n, n) the weight of each token as a context of another


class Likelihood(ABC):
    """How a token depends on the vectors of the words around it.

    Subclasses are registered under their `name`, which is what `Model(likelihood=...)` takes and what a saved model
    keeps. They have no settings of their own, since the name must be enough to make one.
    """

    name: ClassVar[str]  # what the model calls it
    description: ClassVar[str]  # what is predicted from what, as the middle of a sentence
    rate: ClassVar[float] = 0.13  # the default first step size of the stochastic engines
    block: ClassVar[int] = 8  # the default number of tokens that the CPU engine reads together
    torch_block: ClassVar[int] = 32  # the same for Torch, where more negatives for more tokens cost the same
    # settings in which two models must agree for their likelihoods to be of the same thing
    comparable: ClassVar[tuple[str, ...]] = ("likelihood", "negatives", "noise_power")

    _sums_window: ClassVar[bool]
    _registered: ClassVar[dict[str, type[Likelihood]]] = {}

    def __init_subclass__(cls) -> None:
        if not {"name", "description"} <= set(vars(cls)):
            raise TypeError(f"the likelihood {cls.__name__} needs a name and a description of its own")
        known = Likelihood._registered.get(cls.name)
        if known is not None and known.__qualname__ != cls.__qualname__:
            raise TypeError(f'the name "{cls.name}" is that of {known.__qualname__}: give {cls.__name__} another one')
        Likelihood._registered[cls.name] = cls

    @staticmethod
    def of(likelihood: str | Likelihood) -> Likelihood:
        """The likelihood with a name; one that is a likelihood already stays as it is."""
        if isinstance(likelihood, Likelihood):
            return likelihood
        if not isinstance(likelihood, str) or likelihood not in Likelihood._registered:
            *others, last = (f'"{name}"' for name in Likelihood._registered)
            raise InputError(
                f'likelihood="{likelihood}" is not known: write {", ".join(others)} or {last}, or import the module '
                "that defines it"
            )
        return Likelihood._registered[likelihood]()

    @staticmethod
    def names() -> list[str]:
        """The names of all registered likelihoods."""
        return list(Likelihood._registered)

    def kernel(self, kernels: Mapping[str, Kernel], setting: str) -> Kernel:
        """The entry of a table of kernels for this likelihood; `setting` says what the table is for."""
        if self.name not in kernels:
            raise InputError(
                f'{setting} has no kernel for likelihood="{self.name}", only for {", ".join(kernels)}: fit with '
                'engine="reference" and inference="map"'
            )
        return kernels[self.name]

    @property
    def context_is_window_sum(self) -> bool:
        """Whether tests and intervals sum the vectors in a window (CBOW), or take each of them alone (SGNS)."""
        if type(self).window_weights is not Likelihood.window_weights:
            raise InputError(
                f'likelihood="{self.name}" weighs the words of a window by a rule of its own, for which there are no '
                'tests and intervals: fit with likelihood="cbow" or "sgns"'
            )
        return self._sums_window

    def window_weights(self, inside: NDArray[np.bool_], distance: Ints) -> Floats:
        """(n, C) The weight of the word at each place of a token's window.

        `inside` (n, C) says whether a place is in the document, `distance` (C) runs from −window to window without 0.
        """
        return inside.astype(np.float64)

    def windows(self, document: Ints, window: int) -> sparse.csr_array:
        """(n, n) The weight of every other token as a context of a token of the same document, which ascend."""
        reach = min(window, int(np.bincount(document - document[0]).max()) - 1) if len(document) else 0
        distance = np.concatenate([np.arange(-reach, 0), np.arange(1, reach + 1)])
        place = np.arange(len(document))[:, None] + distance
        near = place.clip(0, max(len(document) - 1, 0))
        inside = (near == place) & (document[near] == document[:, None])
        starts = np.concatenate([[0], np.cumsum(inside.sum(1))])
        weights = self.window_weights(inside, distance)
        return sparse.csr_array((weights[inside], place[inside], starts), shape=(len(document), len(document)))

    @abstractmethod
    def log_likelihood(self, text: SliceText, rho: Floats, alpha: Floats, negatives: int) -> ValueAndGradients:
        """The log likelihood of a text with the exact expectation over negatives, and its gradient in ρ, α (V, D)."""

    def prepare(self, batch: HeldOutBatch, window: int, word_start: Ints, context_start: Ints) -> HeldOutTokens:
        """The rows and windows of held-out tokens.

        `word_start` and `context_start` (M) are the first rows in the language and slice of each document.
        """
        document = batch.first + batch.document
        words = word_start[document, None] + np.concatenate([batch.ids[:, None], batch.negatives], axis=1)
        contexts = context_start[document] + batch.ids
        rows, inverse = np.unique(np.concatenate([words.reshape(-1), contexts]), return_inverse=True)
        places: NDArray[np.int32] = inverse.reshape(-1).astype(np.int32)
        windows = self.windows(batch.document, window)
        return HeldOutTokens(rows, places[: words.size].reshape(words.shape), places[words.size :], windows)

    def score(self, tokens: HeldOutTokens, vectors: NDArray[Any]) -> Floats:
        """(n) The log likelihood of held-out tokens with the negatives that were drawn for them.

        `vectors` (u, D) are those of the tokens' rows.
        """
        from laplex.model import scoring  # compiled when it is needed

        score = scoring.score_by_sum if self._sums_window else scoring.score_by_each
        windows, scores = tokens.windows, np.empty(len(tokens.words))
        weights = windows.data.astype(vectors.dtype)
        score(vectors, tokens.words, tokens.contexts, windows.indptr, windows.indices, weights, scores)
        return scores


class CBOW(Likelihood):
    """A word given the sum of the context vectors around it."""

    name = "cbow"
    description = "a word is predicted from the sum of the words around it (CBOW)"
    _sums_window = True

    def log_likelihood(self, text: SliceText, rho: Floats, alpha: Floats, negatives: int) -> ValueAndGradients:
        log_expit, expit = scipy.special.log_expit, scipy.special.expit
        h = text.around @ alpha
        own = rho[text.tokens]
        positive = (own * h).sum(1)
        others = h @ rho.T
        value = log_expit(positive).sum() + negatives * (log_expit(-others) @ text.noise).sum()
        e = expit(-positive)[:, None]
        wrong = negatives * expit(others) * text.noise
        d_rho = -wrong.T @ h
        np.add.at(d_rho, text.tokens, e * h)
        return float(value), d_rho, text.around.T @ (e * own - wrong @ rho)


class SGNS(Likelihood):
    """A word given each of the context vectors around it: skip-gram with negative sampling."""

    name = "sgns"
    description = "each of the words around a word is predicted from it (skip-gram)"
    rate = 0.37
    block = 16
    torch_block = 16
    comparable = (*Likelihood.comparable, "window")  # each place of a window has a likelihood of its own
    _sums_window = False

    def log_likelihood(self, text: SliceText, rho: Floats, alpha: Floats, negatives: int) -> ValueAndGradients:
        log_expit, expit = scipy.special.log_expit, scipy.special.expit
        together = text.cooccurrences.toarray()
        scores = rho @ alpha.T
        expected = negatives * np.outer(text.noise, together.sum(0))
        value = (together * log_expit(scores)).sum() + (expected * log_expit(-scores)).sum()
        slope = together * expit(-scores) - expected * expit(scores)
        return float(value), slope @ alpha, slope.T @ rho


class Gaussian(Likelihood):
    """A vector that an encoder has given each occurrence, around the word's vector in the slice.

    It is of `laplex.text.occurrences.Occurrences`, and its posterior is exact (`engines/gaussian.py`): there are no
    context vectors, no negatives and no epochs.
    """

    name = "gaussian"
    description = "the vectors of a word's occurrences vary around the vector of the word (Gaussian)"
    comparable = ("likelihood", "dimensions")
    _sums_window = False

    def log_likelihood(self, text: SliceText, rho: Floats, alpha: Floats, negatives: int) -> ValueAndGradients:
        raise InputError(
            'likelihood="gaussian" is of occurrences that have vectors: make them with lx.encode(corpus, words, '
            "encoder), and fit these"
        )


def held_out_batches(
    ids: NDArray[Any], offsets: Ints, noise: Sequence[Floats], noise_of_document: Ints, negatives: int, seed: int
) -> Iterator[HeldOutBatch]:
    """Cut documents (M) into batches and draw negatives, which depend on the seed and the order of documents alone.

    `offsets` (M + 1) says where a document begins in `ids` (n), `noise_of_document` (M) by which `noise` to draw.
    """
    random = np.random.default_rng([seed, 2])
    cumulative = [np.cumsum(shares) for shares in noise]
    first, documents = 0, len(offsets) - 1
    while first < documents:
        last = int(np.searchsorted(offsets, offsets[first] + TOKENS_PER_BATCH, "right")) - 1
        last = min(max(last, first + 1), documents)
        document = np.repeat(np.arange(last - first), np.diff(offsets[first : last + 1]))
        uniform = random.random((len(document), negatives))
        drawn = np.empty(uniform.shape, np.int64)
        distribution = noise_of_document[first:last][document]
        for number in np.unique(distribution):
            chosen, sums = distribution == number, cumulative[number]
            drawn[chosen] = np.searchsorted(sums, uniform[chosen] * sums[-1], "right").clip(max=len(sums) - 1)
        yield HeldOutBatch(first, last, ids[offsets[first] : offsets[last]].astype(np.int64), document, drawn)
        first = last
