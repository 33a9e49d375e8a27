"""Everything an engine may see, as arrays: text, parameters, prior and likelihood.

An engine knows rows, edges and tokens; it has never heard of parties, years or languages. Rows that are tied are one
parameter; `slot` says which. With absent="filled", words in slices where they do not occur have none. Latent nodes of
the graph, such as the mean of a word over groups, are parameters that no row has: the last ones.
P parameters, R rows, M documents, V words of all languages.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from laplex.model.absent import SliceCovariance, eliminate
from laplex.model.graph import Graph
from laplex.model.likelihoods import Likelihood
from laplex.model.model import Model
from laplex.model.pretrained import principal_axes
from laplex.model.rows import Rows
from laplex.runtime.display import say
from laplex.text.tokens import Tokens


@dataclass(frozen=True, eq=False)
class Problem:
    """The log posterior to be maximized."""

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
    initial_row: NDArray[np.int64]  # (P) the row of the same word in the first slice, by whose number θ is initialized
    pooled_row: NDArray[np.int64]  # (P) the row of the same word if there were no slices
    # the prior
    graph: Graph  # over parameters
    parts: dict[str, Graph]  # the same, prior by prior
    # the likelihood
    likelihood: Likelihood
    dimensions: int
    window: int
    negatives: int
    # with absent="filled"
    present: NDArray[np.bool_] | None = None  # (word rows) those that negatives are drawn from, if not all
    slice_covariance: SliceCovariance | None = None  # from which vectors of the other rows are computed

    @property
    def parameters(self) -> int:
        """P."""
        return len(self.graph)

    def negatives_of(self, start: int, language: int) -> NDArray[np.float64]:
        """(V of the language) The negatives' distribution where word rows begin at `start`."""
        low, high = self.vocabulary_start[language : language + 2].tolist()
        noise = self.noise[low:high]
        if self.present is None:
            return noise
        shares = noise * self.present[start : start + high - low]
        distribution: NDArray[np.float64] = shares / max(shares.sum(), 1e-300)
        return distribution


def make_problem(model: Model, tokens: Tokens, rows: Rows, holdout: float, seed: int, *, quiet: bool = True) -> Problem:
    """Put the text and the prior into arrays; the seed decides which share `holdout` of documents is held out."""
    slices, vocabularies = rows.slices, tokens.vocabularies
    languages = tokens.languages.astype(np.int64)
    word_starts = np.array([[rows.word_start(i, s) for s in range(len(slices))] for i in range(len(vocabularies))])
    context_starts = np.array([rows.context_start(i) for i in range(len(vocabularies))])
    lay_out = _parameters_for_all if model.absent == "kept" else _parameters_for_present
    return Problem(
        ids=tokens.ids,
        offsets=tokens.offsets,
        word_start=word_starts[languages, slices.of_document],
        context_start=context_starts[languages],
        language=languages,
        held_out=order_of_holding_out(tokens, seed) < holdout,
        vocabulary_start=np.cumsum([0, *map(len, vocabularies)]),
        keep=np.concatenate([vocabulary.subsampling(model.subsample) for vocabulary in vocabularies]),
        noise=np.concatenate([vocabulary.noise(model.noise_power) for vocabulary in vocabularies]),
        **lay_out(model, tokens, rows, quiet),
        likelihood=Likelihood.of(model.likelihood),
        dimensions=model.dimensions,
        window=model.window,
        negatives=model.negatives,
    )


def order_of_holding_out(tokens: Tokens, seed: int) -> NDArray[np.float64]:
    """(M) Numbers at random from 0 to 1: the documents below a share are held out, so also by every larger share."""
    return np.random.default_rng([seed, 1]).random(tokens.documents)


def _parameters_for_all(model: Model, tokens: Tokens, rows: Rows, quiet: bool) -> dict[str, Any]:
    """The fields of a Problem in which every row has a parameter, which tied rows share."""
    graphs = [part.graph(rows) for part in model.prior.parts]
    for part, graph in zip(model.prior.parts, graphs, strict=True):
        if coverage := part.coverage(rows, graph):
            say(coverage, quiet=quiet)
    graphs = _with_targets_of(model.dimensions, graphs, quiet)
    total = Graph.union(graphs)
    total.check_positive_definite(rows.name)
    merged, slot = total.merge_ties()
    if tied := rows.tied_words(slot):
        say(f"{tied}: an infinite strength ties them; a finite one keeps them apart", quiet=quiet)
    parts: dict[str, Graph] = {}
    edges, latent = 0, len(rows)
    for number, (part, graph) in enumerate(zip(model.prior.parts, graphs, strict=True), 1):
        name = repr(part) if repr(part) not in parts else f"{part!r} ({number})"
        diagonal = np.zeros(len(total))
        diagonal[: len(rows)] = graph.diagonal[: len(rows)]
        diagonal[latent : latent + graph.latent] = graph.diagonal[len(rows) :]
        parts[name] = total.part(edges, edges + graph.edges, diagonal).contract(slot, len(merged))
        edges, latent = edges + graph.edges, latent + graph.latent
    origin = np.arange(len(rows))
    for language, vocabulary in enumerate(rows.vocabularies):
        start, end = rows.word_start(language, 0), rows.word_start(language, len(rows.slices))
        origin[start:end] = start + np.arange(end - start) % len(vocabulary)
    initial_row, pooled_row = np.full((2, len(merged)), len(rows), np.int64)
    np.minimum.at(initial_row, slot, total.spread_to_latent(origin))
    np.minimum.at(pooled_row, slot, total.spread_to_latent(rows.without_slices()))
    numbers = {"slot": slot[: len(rows)], "initial_row": initial_row, "pooled_row": pooled_row}
    return numbers | {"graph": merged, "parts": parts}


def _with_targets_of(dimensions: int, graphs: list[Graph], quiet: bool) -> list[Graph]:
    """The same graphs with fixed vectors of the model's dimensions: projected, all alike, or padded with zeros."""
    targets = [graph.targets for graph in graphs if len(graph.targets)]
    given = {array.shape[1] for array in targets}
    if given <= {dimensions} or len(given) > 1:  # those of several lengths do not go together: the union says so
        return graphs
    (width,) = given
    if width < dimensions:
        say(f"fixed vectors of {width} dimensions are padded with zeros to {dimensions}", quiet=quiet)
        axes = np.eye(width, dimensions)
    else:
        axes, kept = principal_axes(np.concatenate(targets), dimensions)
        say(f"fixed vectors of {width} dimensions are projected to {dimensions}, which keeps {kept:.0%}", quiet=quiet)
    return [replace(graph, targets=graph.targets @ axes) if len(graph.targets) else graph for graph in graphs]


def _parameters_for_present(model: Model, tokens: Tokens, rows: Rows, quiet: bool) -> dict[str, Any]:
    """The same with parameters of a word only in slices where it occurs, if only in text that is held out.

    The prior of the rows without one is kept in the edges between the others.
    """
    first, *others = [part.word_prior(rows) for part in model.prior.parts]
    prior = sum(others, start=first)
    prior.check_positive_definite(rows)
    covariance = SliceCovariance.of(prior)
    slot = np.full(len(rows), -1, np.int32)
    present, initial_rows = [], []
    parameters = words = 0
    for language, vocabulary in enumerate(tokens.vocabularies):
        occurs = tokens.counts(rows.slices, language) > 0
        places = np.flatnonzero(occurs)
        slot[rows.word_start(language, 0) + places] = parameters + np.arange(len(places))
        initial_rows.append(words + places % len(vocabulary))
        present.append(occurs.reshape(-1))
        parameters, words = parameters + len(places), words + len(vocabulary)
    slot[rows.context_start(0) :] = parameters + np.arange(words)
    graph = eliminate(prior, covariance, rows, slot, parameters + words, quiet=quiet)
    pooled_row = np.concatenate([*initial_rows, words + np.arange(words)])
    return {
        "slot": slot,
        "initial_row": pooled_row,
        "pooled_row": pooled_row,
        "graph": graph,
        "parts": {repr(model.prior): graph},  # its parts cannot be told apart once rows are eliminated
        "present": np.concatenate(present),
        "slice_covariance": covariance,
    }
