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

from laplex.model.absent import Filling, WordPlaces, eliminate
from laplex.model.graph import Graph
from laplex.model.likelihoods import Likelihood
from laplex.model.model import Model
from laplex.model.pretrained import principal_axes
from laplex.model.rows import Rows
from laplex.runtime.display import say
from laplex.runtime.distributed import communicator
from laplex.text.slices import spans
from laplex.text.tokens import Tokens


@dataclass(frozen=True, eq=False)
class Problem:
    """The log posterior to be maximized."""

    # the text
    ids: NDArray[np.int32]
    offsets: NDArray[np.int64]
    word_start: NDArray[np.int64]  # (M) first word row of the language and slice of each document
    context_start: NDArray[np.int64]  # (M) first context row of its language
    language: NDArray[np.int64]  # (M) the vocabulary of each document
    held_out: NDArray[np.bool_]  # (M) not to be trained on
    vocabulary_start: NDArray[np.int64]  # where each vocabulary's words begin in the next two, and the end
    keep: NDArray[np.float32]  # (V) probability that an occurrence is kept
    noise: NDArray[np.float64]  # (V) the negatives' distribution, one for each vocabulary
    # the parameters
    slot: NDArray[np.int32]  # (R) row → parameter
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
    # with absent="filled", where the rows above are those of words that occur in a slice, and their contexts
    model_slot: NDArray[np.int32] | None = None  # row of the model → parameter, −1 for none
    filling: Filling | None = None  # by which vectors of the other rows are computed

    @property
    def parameters(self) -> int:
        """P."""
        return len(self.graph)

    @property
    def row_slot(self) -> NDArray[np.int32]:
        """The parameter of each row of the model, −1 for words in slices where they have none."""
        return self.slot if self.model_slot is None else self.model_slot

    def without_slices(self, rows: Rows) -> Problem:
        """The same text for the parameters of the same model without slices."""
        slot = rows.without_slices() if self.model_slot is None else self.pooled_row[self.slot]
        return replace(self, slot=slot.astype(np.int32))

    def negatives_of(self, language: int) -> NDArray[np.float64]:
        """The negatives' distribution over the words of a vocabulary."""
        low, high = self.vocabulary_start[language : language + 2].tolist()
        return self.noise[low:high]


def make_problem(model: Model, tokens: Tokens, rows: Rows, holdout: float, seed: int, *, quiet: bool = True) -> Problem:
    """Put the text and the prior into arrays; the seed decides which share `holdout` of documents is held out."""
    lay_out = _problem_of_all if model.absent == "kept" else _problem_of_present
    return Problem(
        offsets=tokens.offsets,
        held_out=order_of_holding_out(tokens, seed) < holdout,
        **lay_out(model, tokens, rows, quiet),
        likelihood=Likelihood.of(model.likelihood),
        dimensions=model.dimensions,
        window=model.window,
        negatives=model.negatives,
    )


def order_of_holding_out(tokens: Tokens, seed: int) -> NDArray[np.float64]:
    """(M) Numbers at random from 0 to 1: the documents below a share are held out, so also by every larger share."""
    return np.random.default_rng([seed, 1]).random(tokens.documents)


def _problem_of_all(model: Model, tokens: Tokens, rows: Rows, quiet: bool) -> dict[str, Any]:
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
    languages = tokens.languages.astype(np.int64)
    word_starts = np.array([rows.everywhere("word", i) for i in range(len(rows.vocabularies))])
    return {
        "ids": tokens.ids,
        "word_start": word_starts[languages, rows.slices.of_document],
        "context_start": np.array([rows.context_start(i) for i in range(len(rows.vocabularies))])[languages],
        "language": languages,
        "vocabulary_start": np.cumsum([0, *map(len, tokens.vocabularies)]),
        "keep": np.concatenate([vocabulary.subsampling(model.subsample) for vocabulary in tokens.vocabularies]),
        "noise": np.concatenate([vocabulary.noise(model.noise_power) for vocabulary in tokens.vocabularies]),
        "slot": slot[: len(rows)],
        "initial_row": initial_row,
        "pooled_row": pooled_row,
        "graph": merged,
        "parts": parts,
    }


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


def _problem_of_present(model: Model, tokens: Tokens, rows: Rows, quiet: bool) -> dict[str, Any]:
    """The fields of a Problem with parameters of a word only in slices where it occurs, if only in held-out text.

    The prior of the rows without one is kept in the edges between the others. Every slice of a language has a
    vocabulary of its own, the words that occur in it, and ids are places there: nothing grows with slices times words
    but the number of each vector's parameter.
    """
    slices, vocabularies = rows.slices, tokens.vocabularies
    first, *others = [part.word_prior(rows) for part in model.prior.parts]
    prior = sum(others, start=first)
    prior.check_positive_definite(rows)
    slot = np.full(len(rows), -1, np.int32)
    words, of_slice, sizes = [], [], []
    parameters = before = 0
    for language, vocabulary in enumerate(vocabularies):
        occurs = communicator().allreduce(tokens.occurs(slices, language).astype(np.int32))  # on any rank
        places = np.flatnonzero(occurs)
        slot[rows.word_start(language, 0) + places] = parameters + np.arange(len(places))
        slice, word = np.divmod(places, len(vocabulary))
        words.append(before + word)
        of_slice.append(slice)
        sizes.append(np.bincount(slice, minlength=len(slices)))
        parameters, before = parameters + len(places), before + len(vocabulary)
    contexts = np.arange(parameters, parameters + before, dtype=np.int32)
    slot[rows.context_start(0) :] = contexts
    word = np.concatenate(words)
    occurrences = WordPlaces.of(word, np.concatenate(of_slice), np.arange(parameters), before)
    graph, latent_word = eliminate(prior, occurrences, contexts, parameters + before, quiet=quiet)
    vocabulary_start = np.cumsum(np.concatenate([[0], *sizes]))
    block = tokens.languages.astype(np.int64) * len(slices) + slices.of_document
    keep = np.concatenate([vocabulary.subsampling(model.subsample) for vocabulary in vocabularies])
    noise = np.concatenate([vocabulary.noise(model.noise_power) for vocabulary in vocabularies])[word]
    of_block = np.repeat(np.arange(len(vocabulary_start) - 1), np.diff(vocabulary_start))
    pooled_row = np.concatenate([word, before + np.arange(before), latent_word])
    return {
        "ids": _ids_by_slice(tokens, rows, slot, vocabulary_start[block]),
        "word_start": vocabulary_start[block],
        "context_start": parameters + vocabulary_start[block],
        "language": block,
        "vocabulary_start": vocabulary_start,
        "keep": keep[word],
        "noise": noise / np.bincount(of_block, noise, len(vocabulary_start) - 1)[of_block],
        "slot": np.concatenate([np.arange(parameters, dtype=np.int32), contexts[word]]),
        "initial_row": pooled_row,
        "pooled_row": pooled_row,
        "graph": graph,
        "parts": {repr(model.prior): graph},  # its parts cannot be told apart once rows are eliminated
        "model_slot": slot,
        "filling": Filling(prior, latent_word),
    }


def _ids_by_slice(tokens: Tokens, rows: Rows, slot: NDArray[np.int32], start: NDArray[np.int64]) -> NDArray[np.int32]:
    """The place of each token among the words of its language that occur in its slice, which begin at `start` (M)."""
    ids = np.empty(len(tokens.ids), np.int32)
    firsts = [[rows.word_start(i, s) for s in range(len(rows.slices))] for i in range(len(tokens.vocabularies))]
    first_row = np.array(firsts)[tokens.languages, rows.slices.of_document]
    for first, last in spans(tokens.offsets):
        lengths = np.diff(tokens.offsets[first : last + 1])
        part = slice(int(tokens.offsets[first]), int(tokens.offsets[last]))
        row = np.repeat(first_row[first:last], lengths) + tokens.ids[part]
        ids[part] = slot[row] - np.repeat(start[first:last], lengths)
    return ids
