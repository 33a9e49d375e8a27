"""All that an engine may see: arrays.

A Model, Tokens and Rows come in; a Problem goes out. An engine has never heard of parties, years or languages.
Rows that are tied are one parameter; `slot` says which. P parameters, R rows, M documents, V words of all languages.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from laplex.errors import InputError
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
    slot: NDArray[np.int32]  # (R) row → parameter
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

    @property
    def parameters(self) -> int:
        return len(self.graph)


def make_problem(model: Model, tokens: Tokens, rows: Rows, holdout: float, seed: int) -> Problem:
    """Put the text and the prior into arrays; a share `holdout` of the documents is held out."""
    slices = rows.slices
    held_out = np.random.default_rng([seed, 1]).random(tokens.documents) < holdout
    starts = np.concatenate([[0], np.cumsum([len(v) for v in tokens.vocabularies])])
    languages = tokens.languages.astype(np.int64)
    read = ~held_out & (np.diff(tokens.offsets) > 1)
    counts = [tokens.counts(slices, i, read) for i in range(len(tokens.vocabularies))]
    keep = [v.subsampling(model.subsample) for v in tokens.vocabularies]
    noise = [v.noise(model.noise_power) for v in tokens.vocabularies]
    visits = [(count * thin).reshape(-1) for count, thin in zip(counts, keep, strict=True)]
    visits += [count.sum(0) * thin for count, thin in zip(counts, keep, strict=True)]
    word_starts = np.array([[rows.word_start(i, s) for s in range(len(slices))] for i in range(len(starts) - 1)])
    context_starts = np.array([rows.context_start(i) for i in range(len(starts) - 1)])

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
        slot=slot,
        twin=_twins(rows, slot, len(merged)),
        visits=np.bincount(slot, np.concatenate(visits), len(merged)).astype(np.float64),
        graph=merged,
        parts=parts,
        likelihood=model.likelihood,
        dimensions=model.dimensions,
        window=model.window,
        negatives=model.negatives,
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
