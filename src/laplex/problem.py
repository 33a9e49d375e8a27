"""All that an engine may see: arrays.

A Model, Tokens and Rows come in; a Problem goes out. An engine has never heard of parties, years or languages.
Rows that are tied are one parameter; `slot` says which. With absent="filled" rows of words in slices where they do not
occur have none. P parameters, R rows, M documents, V words of all languages.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from laplex.elimination import eliminate
from laplex.errors import InputError
from laplex.filling import Belief
from laplex.graph import Graph
from laplex.model import Model
from laplex.rows import Rows
from laplex.tokens import Tokens


@dataclass(frozen=True, eq=False)
class Problem:
    # the text
    ids: NDArray[np.int32]
    offsets: NDArray[np.int64]
    word_start: NDArray[np.int64]  # (M) first word row of the language and slice of each document
    context_start: NDArray[np.int64]  # (M) first context row of its language
    language: NDArray[np.int64]  # (M)
    held_out: NDArray[np.bool_]  # (M) not to be trained on
    vocabulary_start: NDArray[np.int64]  # where each language's words begin in the next two, and the end
    keep: NDArray[np.float32]  # (V) probability that an occurrence is kept
    noise: NDArray[np.float64]  # (V) the negatives' distribution, one for each language
    # the parameters
    slot: NDArray[np.int32]  # (R) row → parameter, −1 for none
    twin: NDArray[np.int64]  # (P) the row of the same word in the first slice: where a parameter starts from
    visits: NDArray[np.float64]  # (P) how often a parameter is read in an epoch, on average
    # the prior
    graph: Graph  # over parameters
    parts: dict[str, Graph]  # the same, prior by prior
    # the likelihood
    likelihood: str
    dimensions: int
    window: int
    negatives: int
    present: NDArray[np.bool_] | None = None  # (word rows) those that negatives are drawn from, if not all

    @property
    def parameters(self) -> int:
        return len(self.graph)

    def negatives_of(self, start: int, language: int) -> NDArray[np.float64]:
        """(V of the language) The negatives' distribution where word rows begin at `start`."""
        low, high = self.vocabulary_start[language : language + 2].tolist()
        noise = self.noise[low:high]
        if self.present is None:
            return noise
        own = noise * self.present[start : start + high - low]
        whole: NDArray[np.float64] = own / max(own.sum(), 1e-300)
        return whole


def make_problem(model: Model, tokens: Tokens, rows: Rows, holdout: float, seed: int, *, quiet: bool = True) -> Problem:
    """Put the text and the prior into arrays; a share `holdout` of the documents is held out."""
    slices = rows.slices
    held_out = np.random.default_rng([seed, 1]).random(tokens.documents) < holdout
    starts = np.concatenate([[0], np.cumsum([len(v) for v in tokens.vocabularies])])
    languages = tokens.languages.astype(np.int64)
    read = ~held_out & (np.diff(tokens.offsets) > 1)
    keep = [v.subsampling(model.subsample) for v in tokens.vocabularies]
    noise = [v.noise(model.noise_power) for v in tokens.vocabularies]
    word_starts = np.array([[rows.word_start(i, s) for s in range(len(slices))] for i in range(len(starts) - 1)])
    context_starts = np.array([rows.context_start(i) for i in range(len(starts) - 1)])
    if model.absent == "kept":
        layout = _lay_out(model, tokens, rows, read, keep)
    else:
        layout = _lay_out_present(model, tokens, rows, read, keep, quiet)
    return Problem(
        ids=tokens.ids,
        offsets=tokens.offsets,
        word_start=word_starts[languages, slices.of_document],
        context_start=context_starts[languages],
        language=languages,
        held_out=held_out,
        vocabulary_start=starts,
        keep=np.concatenate(keep),
        noise=np.concatenate(noise),
        **vars(layout),
        likelihood=model.likelihood,
        dimensions=model.dimensions,
        window=model.window,
        negatives=model.negatives,
    )


@dataclass(frozen=True, eq=False)
class _Layout:
    """The parameters and the prior of a Problem."""

    slot: NDArray[np.int32]
    twin: NDArray[np.int64]
    visits: NDArray[np.float64]
    graph: Graph
    parts: dict[str, Graph]
    present: NDArray[np.bool_] | None = None


def _lay_out(
    model: Model, tokens: Tokens, rows: Rows, read: NDArray[np.bool_], keep: list[NDArray[np.float32]]
) -> _Layout:
    """Every row has a parameter."""
    counts = [tokens.counts(rows.slices, i, read) for i in range(len(tokens.vocabularies))]
    visits = [(count * thin).reshape(-1) for count, thin in zip(counts, keep, strict=True)]
    visits += [count.sum(0) * thin for count, thin in zip(counts, keep, strict=True)]
    graph = model.prior.graph(rows)
    if len(graph.targets) and graph.targets.shape[1] != model.dimensions:
        raise InputError(
            f"the vectors to be anchored to have {graph.targets.shape[1]} dimensions, the model {model.dimensions}"
        )
    graph.check_positive_definite(rows.name)
    merged, slot = graph.merge_ties()
    parts: dict[str, Graph] = {}
    targets = 0
    for number, part in enumerate(model.prior.parts, 1):
        own = part.graph(rows)
        name = repr(part) if repr(part) not in parts else f"{part!r} ({number})"
        parts[name] = _moved(own, slot, merged, targets)
        targets += len(own.targets)
    whole = np.bincount(slot, np.concatenate(visits), len(merged)).astype(np.float64)
    return _Layout(slot, _twins(rows, slot, len(merged)), whole, merged, parts)


def _lay_out_present(
    model: Model, tokens: Tokens, rows: Rows, read: NDArray[np.bool_], keep: list[NDArray[np.float32]], quiet: bool
) -> _Layout:
    """A word has parameters only in slices where it occurs, be it in text that is held out. Of those that it lacks
    only what the prior makes of them is left, in the edges between the others."""
    belief = Belief.of(model.prior, rows)
    slot = np.full(len(rows), -1, np.int32)
    present, visits, twins = [], [], []
    around: list[NDArray[np.float64]] = []
    parameters = words = 0
    for language, thin in enumerate(keep):
        here = tokens.counts(rows.slices, language) > 0
        own = np.flatnonzero(here)
        slot[rows.word_start(language, 0) + own] = parameters + np.arange(len(own))
        counts = tokens.counts(rows.slices, language, read)
        visits.append(counts.reshape(-1)[own] * thin[own % len(thin)])
        around.append(counts.sum(0) * thin)
        twins.append(words + own % len(thin))
        present.append(here.reshape(-1))
        parameters, words = parameters + len(own), words + len(thin)
    contexts = rows.context_start(0)
    slot[contexts:] = parameters + np.arange(words)
    graph = eliminate(belief, rows, slot, parameters + words, quiet=quiet)
    return _Layout(
        slot,
        np.concatenate([*twins, words + np.arange(words)]),
        np.concatenate([*visits, *around]),
        graph,
        {repr(model.prior): graph},  # without the vectors that it is about, no part of it is left by itself
        np.concatenate(present),
    )


def _twins(rows: Rows, slot: NDArray[np.int32], parameters: int) -> NDArray[np.int64]:
    origin = np.arange(len(rows))
    for language in range(len(rows.vocabularies)):
        first = np.array(rows.words(language, 0))
        for slice in range(len(rows.slices)):
            origin[rows.word_start(language, slice) :][: len(first)] = first
    twin = np.full(parameters, len(rows), np.int64)
    np.minimum.at(twin, slot, origin)
    return twin


def _moved(graph: Graph, slot: NDArray[np.int32], merged: Graph, before: int) -> Graph:
    """A prior's own graph over parameters instead of rows; its ties cost nothing. `before` targets are of others."""
    nodes = len(merged)
    places = np.concatenate([slot, nodes + before + np.arange(len(graph.targets))])
    first, second = places[graph.first], places[graph.second]
    kept = np.isfinite(graph.weight) & (first != second)
    twice = np.isfinite(graph.weight) & (first == second) & (graph.sign < 0)
    diagonal = np.bincount(slot, graph.diagonal, nodes)
    diagonal += np.bincount(first[twice], 4.0 * graph.weight[twice], nodes)
    return Graph.of(
        nodes,
        first[kept],
        second[kept],
        graph.weight[kept],
        sign=graph.sign[kept],
        directed=graph.directed[kept],
        diagonal=diagonal,
        targets=merged.targets,
    )
