"""New text for an old model: what is there is held, what is new joins it by the model's own prior.

The old text is not read again. What it said of a vector is kept as a quadratic, as in Laplace's approximation: with the
old vector θ°, its precision h and the old prior's gradient g there, which the likelihood of the old text balanced,

    log p(old text | θ) ≈ −½ Σ_i h_i ‖θ_i − t_i‖² + C,    t_i = θ°_i − g_i / h_i

so that without new text nothing moves. It is an edge to a fixed vector, as those of `Anchor`. The precision is the mean
growth of Adagrad's accumulator in an epoch: squared gradients, whose sum is Fisher's information. Vectors of slices
without new text stay as they are, and only pull. Those of known words in new slices begin where the prior has its
maximum given the others.

P parameters, V words of all languages, S slices, D dimensions.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from laplex.embeddings import Embeddings
from laplex.engines.state import INITIAL_ACCUMULATOR, State, edge_ends, solve
from laplex.model.graph import Graph
from laplex.model.pretrained import mean_over_slices
from laplex.model.problem import Problem
from laplex.model.rows import Rows
from laplex.text.periods import in_order
from laplex.text.slices import Slices
from laplex.text.tokens import Tokens

if TYPE_CHECKING:
    from laplex.engines.sampling import Visits

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
HOLD = 0.5  # of the information, which squared gradients of whole blocks and of early epochs overstate
LEAST_PRECISION = 1e-6  # of a vector that is to be held at all
SHARE_OF_EPOCHS = 0.3  # those without slices, of which the vectors of new slices have the accumulators


def slices_with(fitted: Embeddings, tokens: Tokens) -> Slices:
    """The slices of the model and those that are new, with that of each new document."""
    old, new = fitted.rows.slices, tokens.slices(fitted.columns)
    known = dict.fromkeys([*old.keys, *new.keys])
    place = [
        {value: number for number, value in enumerate(in_order({key[column] for key in known}))}
        for column in range(len(fitted.columns))
    ]
    keys = sorted(known, key=lambda key: tuple(order[value] for order, value in zip(place, key, strict=True)))
    number = {key: slice for slice, key in enumerate(keys)}
    of_document = np.array([number[key] for key in new.keys], np.int32)[new.of_document]
    return Slices(fitted.columns, tuple(keys), of_document)


@dataclass(frozen=True, eq=False)
class EarlierModel:
    """The vectors of a model among the parameters of the problem that goes on from it."""

    fitted: Embeddings
    rows: Rows
    problem: Problem  # of the new text, with the prior over all slices
    epochs: int

    @property
    def settings(self) -> dict[str, Any]:
        """What the settings of the new model keep of the old one."""
        before = self.fitted.settings
        texts = before.get("updated", {}).get("texts", [])
        known = {name: before["tokens"].get(name) for name in ("digest", "sources")}
        return {"updated": {"model": self.digest, "texts": [*texts, known]}}

    @cached_property
    def digest(self) -> str:
        """A hash of the model's vectors and their precision."""
        hashed = hashlib.blake2b(np.ascontiguousarray(self.fitted.theta).tobytes(), digest_size=16)
        hashed.update(np.ascontiguousarray(self.fitted.precision).tobytes())
        return hashed.hexdigest()

    @cached_property
    def _old_parameter(self) -> Ints:
        """(P) The parameter of the model that each parameter is, −1 for those that are new."""
        old, new = self.fitted.rows, self.rows
        parameter = np.full(self.problem.parameters, -1, np.int64)
        for language, vocabulary in enumerate(old.vocabularies):
            ids = new.vocabularies[language].ids(vocabulary.words)
            parameter[self.problem.slot[new.context_start(language) + ids]] = self._slots(old.contexts(language))
            for slice, key in enumerate(old.slices.keys):
                start = new.word_start(language, new.slices.keys.index(key))
                parameter[self.problem.slot[start + ids]] = self._slots(old.words(language, slice))
        return parameter

    def _slots(self, rows: range) -> NDArray[np.int32]:
        return self.fitted.slot[rows.start : rows.stop]

    @cached_property
    def _known(self) -> Ints:
        """The parameters that the model has."""
        return np.flatnonzero(self._old_parameter >= 0)

    @cached_property
    def _visits(self) -> Visits:
        from laplex.engines.sampling import count_visits

        return count_visits(self.problem, 1, 1)

    @cached_property
    def _is_fixed(self) -> NDArray[np.bool_]:
        """(P) Whether a parameter stays as it is: it is known, and no new text or negative visits it."""
        fixed: NDArray[np.bool_] = (self._old_parameter >= 0) & (self._visits.count == 0)
        return fixed

    @cached_property
    def _precision(self) -> Floats:
        """(P) What the old text said of each parameter."""
        assert self.fitted.precision is not None
        precision = np.zeros(self.problem.parameters)
        precision[self._known] = HOLD * self.fitted.precision[self._old_parameter[self._known]]
        return precision

    def held(self) -> Problem:
        """The problem with edges that hold what is known, and what stays as it is as fixed ends of other edges."""
        graph, fixed = self.problem.graph, np.append(self._is_fixed, np.zeros(len(self.problem.graph.targets), bool))
        from_fixed, to_fixed = fixed[graph.first], fixed[graph.second]
        swapped = from_fixed & ~graph.directed & (graph.second < len(graph))
        kept = ~(from_fixed & (to_fixed | ~swapped))
        first = np.where(swapped, graph.second, graph.first)[kept]
        second = np.where(swapped, graph.first, graph.second)[kept]
        free = replace(
            graph,
            first=first,
            second=second,
            weight=graph.weight[kept],
            sign=graph.sign[kept],
            directed=(graph.directed | from_fixed | to_fixed)[kept],
        )
        return replace(self.problem, graph=Graph.union([free, self._hold()]))

    def _hold(self) -> Graph:
        """An edge from each vector that is known and may move to where the old text holds it."""
        chosen = self._known[(self._precision[self._known] > LEAST_PRECISION) & ~self._is_fixed[self._known]]
        place, precision = self._old_parameter[chosen], self._precision[chosen]
        targets = self.fitted.theta[place] - self._prior_gradient(place) / precision[:, None]
        size = self.problem.graph.own  # the model's means are new ones here
        return Graph.of(size, chosen, size + np.arange(len(chosen)), precision, targets=targets)

    def _prior_gradient(self, parameters: Ints) -> Floats:
        """(n, D) The gradient of the old log prior with respect to some parameters of the model."""
        graph, theta = self.fitted.graph, self.fitted.theta
        vectors = np.concatenate([theta, graph.targets.reshape(-1, theta.shape[1])])
        one, two, pull, _ = edge_ends(graph)
        row = np.full(len(graph), -1)
        row[parameters] = np.arange(len(parameters))
        near = row[one] >= 0
        one, two, pull = row[one[near]], two[near], pull[near]
        others = sparse.csr_array((pull, (one, two)), shape=(len(parameters), len(vectors))) @ vectors
        total = graph.diagonal[parameters] + np.bincount(one, np.abs(pull), len(parameters))
        gradient: Floats = others - total[:, None] * theta[parameters]
        return gradient

    def begin(self, state: State, problem: Problem, rate: float) -> None:
        """Set the vectors of a state, and accumulators as if the old text had been read in each epoch."""
        theta, known = state.theta, self._known
        theta[known] = self.fitted.theta[self._old_parameter[known]]
        means = self._by_word([mean_over_slices(self.fitted, i) for i in range(len(self.fitted.languages))])
        joined = np.flatnonzero((self._old_parameter < 0) & self._is_of_known_word)
        theta[joined] = means[problem.pooled_row[joined]]
        if len(joined):
            solve(problem.graph, theta, joined)
        lost = joined[~theta[joined].any(1)]  # the prior does not join their slice to any other
        theta[lost] = means[problem.pooled_row[lost]]
        growth = np.maximum(self._precision, SHARE_OF_EPOCHS * self._precision_by_reads()) * self.epochs
        growth[known] = np.maximum(growth[known], INITIAL_ACCUMULATOR)  # so that `fill` leaves them as they are
        state.accumulator[: problem.parameters] += growth.astype(np.float32)

    def precision_with(self, precision: NDArray[np.float32]) -> NDArray[np.float32]:
        """(P) What old and new text said of each parameter: only a share of the former is in the accumulators."""
        return (precision + (1.0 - HOLD) / HOLD * self._precision).astype(np.float32)

    def _precision_by_reads(self) -> Floats:
        """(P) What the new text will have said of a known word's vectors, each read saying as much as an old one."""
        precision = self.fitted.precision
        assert precision is not None
        rows = self.fitted.rows
        of_slices = [
            sum(precision[self._slots(rows.words(language, slice))] for slice in range(len(rows.slices)))
            for language in range(len(rows.vocabularies))
        ]
        sums = self._by_word([np.asarray(values) for values in of_slices])
        counts = self._by_word([count.sum(0) for count in self.fitted.counts])
        place = self.problem.pooled_row
        is_word = place < len(counts)
        place = np.where(is_word, place, 0)
        said = sums[place] / np.maximum(counts[place] * self.problem.keep[place], 1.0)
        result: Floats = np.where(is_word, said * self._visits.reads, 0.0)
        return result

    @cached_property
    def _is_of_known_word(self) -> NDArray[np.bool_]:
        """(P) Whether a parameter is the vector of a word, not a context, that the model has."""
        known = self._by_word([np.ones(len(vocabulary)) for vocabulary in self.fitted.rows.vocabularies])
        return np.append(known, np.zeros(len(known)))[self.problem.pooled_row] > 0

    def _by_word(self, parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
        """(V, …) Values of the old words of each language at the places of all words; zero for new words."""
        sizes = [len(vocabulary) for vocabulary in self.rows.vocabularies]
        values = np.zeros((sum(sizes), *parts[0].shape[1:]))
        for language, part in enumerate(parts):
            ids = self.rows.vocabularies[language].ids(self.fitted.rows.vocabularies[language].words)
            values[sum(sizes[:language]) + ids] = part
        return values

    def counts_with(self, counts: Sequence[NDArray[np.int64]]) -> list[NDArray[np.int64]]:
        """(S, V) for each language: those of the new text and of the old."""
        both = [count.copy() for count in counts]
        for language, vocabulary in enumerate(self.fitted.rows.vocabularies):
            ids = self.rows.vocabularies[language].ids(vocabulary.words)
            for slice, key in enumerate(self.fitted.rows.slices.keys):
                both[language][self.rows.slices.keys.index(key), ids] += self.fitted.counts[language][slice]
        return both
