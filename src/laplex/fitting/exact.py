"""The fit of occurrence vectors: the exact posterior, and the strengths that make the occurrences most likely.

A strength that the model leaves out is found by the marginal likelihood, which needs no held-out text.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from laplex.embeddings import Embeddings
from laplex.engines.gaussian import GaussianPosterior, OccurrenceSums, sums_by
from laplex.errors import InputError
from laplex.fitting.provenance import fit_settings
from laplex.fitting.training import Training
from laplex.model.graph import Graph
from laplex.model.likelihoods import Gaussian
from laplex.model.model import Model
from laplex.model.priors.prior import CHOSEN, Prior, Ridge, Sum
from laplex.model.rows import Rows
from laplex.runtime.display import bar, say
from laplex.text.occurrences import Occurrences

OF_TEXT = ("window", "negatives", "subsample", "noise_power")  # arguments of Model that occurrences have no use for
SEARCHED = (1e-3, 1e5)  # strengths, in occurrences
FIRST_STRENGTH = 10.0
TOLERANCE = 0.02  # in powers of e


def fit_occurrences(
    model: Model, occurrences: Occurrences, *, threads: int | None = None, tests: bool = True, quiet: bool = False
) -> Embeddings:
    """Find the posterior of word vectors given occurrence vectors.

    Args:
        model: The model; its likelihood becomes "gaussian". Vectors longer than its `dimensions` are projected to their
            principal axes. Strengths count in occurrences.
        occurrences: The occurrences.
        threads: How many threads the tests have.
        tests: Test all words for each column that the vectors vary by.
        quiet: Print nothing.

    Returns:
        Embeddings without context vectors. `spread` has the posterior standard deviations.
    """
    started = time.monotonic()
    model = gaussian_model(model, occurrences.vectors.shape[1])
    vectors = occurrences.projected(model.dimensions)
    rows = Rows(occurrences.vocabularies, occurrences.slices(model.vary))
    word = np.asarray(occurrences.ids, np.int64)
    row = rows.slices.of_document.astype(np.int64) * len(occurrences.vocabularies[0]) + word
    parts = _chosen(model.prior.parts, rows, vectors, row, word, quiet)
    chosen = replace_prior(model, parts)
    graph, slot = word_graph(parts, rows)
    sums = OccurrenceSums.of(vectors, slot[row].astype(np.int64), word, graph.own, len(occurrences.vocabularies[0]))
    posterior = GaussianPosterior(graph, sums)
    theta = (posterior.mean @ sums.root).astype(np.float32)
    deviation = np.sqrt(posterior.variance())[:, None] * np.sqrt((sums.root**2).sum(0))
    everywhere = np.concatenate([slot, np.full(len(occurrences.vocabularies[0]), -1, np.int32)])
    settings = fit_settings(chosen, occurrences, rows, Training())
    beliefs = [
        described | ({CHOSEN: True} if given.strength is None else {}) if hasattr(given, "strength") else described
        for given, described in zip(model.prior.parts, settings["model"]["beliefs"], strict=True)
    ]
    settings["model"]["beliefs"] = beliefs
    counts = [occurrences.counts(rows.slices)]
    pooled = np.zeros((2 * len(counts[0][0]), model.dimensions), np.float32)
    of_word = np.maximum(np.bincount(word, minlength=len(counts[0][0])), 1)
    pooled[: len(of_word)] = (
        sums_by(np.asarray(vectors, np.float64), word, len(of_word)) / of_word[:, None] - sums.center
    )
    record = {"epoch": 1, "log_likelihood": posterior.log_evidence() / len(word), "seconds": time.monotonic() - started}
    fitted = Embeddings(
        *(rows, theta, everywhere, counts, graph, settings, [record]),
        spread=deviation.astype(np.float32),
        pooled=pooled,
    )
    say(f"fitted {len(word):,} occurrences exactly, in {time.monotonic() - started:.1f} s", quiet=quiet)
    if tests:
        fitted.inference(tokens=occurrences, threads=threads, quiet=quiet).test_columns()
    return fitted


def gaussian_model(model: Model, dimensions: int) -> Model:
    """The model with the Gaussian likelihood; InputError for choices that are of text alone."""
    if model.likelihood not in ("cbow", Gaussian.name):  # the default stands for what fits
        raise InputError(f'likelihood="{model.likelihood}" is of text: occurrences have likelihood="gaussian"')
    usual = Model()
    for name in OF_TEXT:
        if getattr(model, name) != getattr(usual, name):
            raise InputError(
                f"{name}={getattr(model, name)!r} is of text: occurrences have vectors already, leave it out"
            )
    if model.absent == "filled":
        raise InputError(
            'absent="filled" is of text: a word without occurrences in a slice follows from the prior anyway'
        )
    return replace_prior(model, model.prior.parts, min(model.dimensions, dimensions))


def replace_prior(model: Model, parts: Sequence[Prior], dimensions: int | None = None) -> Model:
    """A Gaussian model with another prior."""
    prior = parts[0] if len(parts) == 1 else Sum(tuple(parts))
    return Model(model.vary, prior, Gaussian.name, dimensions or model.dimensions)


def word_graph(parts: Sequence[Prior], rows: Rows) -> tuple[Graph, NDArray[np.int32]]:
    """The prior over word rows and what is latent among them, ties merged, and the node of each word row."""
    total = Graph.union([part.graph(rows) for part in parts])
    words, size = rows.context_start(0), len(rows)
    place = np.full(len(total), -1, np.int64)
    kept = np.concatenate([np.arange(words), np.arange(size, len(total))])
    place[kept] = np.arange(len(kept))
    if len(total.targets):
        raise InputError("a prior with fixed vectors (Anchor) cannot be used with occurrences")
    first, second = place[total.first], place[total.second]
    if ((first < 0) | (second < 0)).any():
        raise InputError('a prior on context vectors cannot be used with occurrences: write joins="words"')
    graph = replace(total, first=first, second=second, diagonal=total.diagonal[kept], names=None)
    graph.check_positive_definite(lambda node: rows.name(int(kept[node])) if kept[node] < size else "a mean")
    merged, slot = graph.merge_ties()
    return merged, slot[:words]


def _chosen(
    parts: Sequence[Prior],
    rows: Rows,
    vectors: NDArray[Any],
    row: NDArray[np.int64],
    word: NDArray[np.int64],
    quiet: bool,
) -> list[Prior]:
    """The parts of a prior with the strengths that make the occurrences most likely, where they were left out."""
    given = list(parts)
    open_places = [i for i, part in enumerate(given) if getattr(part, "strength", 1.0) is None]
    start = [part.with_strength(FIRST_STRENGTH) if i in open_places else part for i, part in enumerate(given)]
    graph, slot = word_graph(start, rows)
    if not open_places:
        return given
    sums = OccurrenceSums.of(vectors, slot[row].astype(np.int64), word, graph.own, len(rows.vocabularies[0]))
    tried: list[float] = []

    def parts_at(logs: Sequence[float]) -> list[Prior]:
        strengths = dict(zip(open_places, np.exp(np.clip(logs, *np.log(SEARCHED))).tolist()))
        return [part.with_strength(strengths[i]) if i in strengths else part for i, part in enumerate(given)]

    with bar("choosing strengths", quiet=quiet) as progress:

        def cost(logs: Any) -> float:
            logs = np.atleast_1d(logs)
            evidence = GaussianPosterior(word_graph(parts_at(logs), rows)[0], sums).log_evidence()
            tried.append(evidence)
            progress.update(None, f"{len(tried)} tried")
            return -evidence

        at = np.log(np.array([1.0 if isinstance(given[i], Ridge) else FIRST_STRENGTH for i in open_places]))
        options = {"xatol": TOLERANCE, "fatol": 0.1, "initial_simplex": np.vstack([at, at + 1.5 * np.eye(len(at))])}
        found = scipy.optimize.minimize(cost, at, method="Nelder-Mead", options=options)
    if not np.isfinite(tried).all():
        raise InputError("the marginal likelihood is not finite: give strengths by number")
    shown = {i: float(f"{math.exp(value):.3g}") for i, value in zip(open_places, found.x.tolist())}
    names = [f"{type(given[i]).__name__} {strength:g}" for i, strength in shown.items()]
    say(f"strengths by the marginal likelihood: {', '.join(names)} occurrences", quiet=quiet)
    chosen = [part.with_strength(shown[i]) if i in shown else part for i, part in enumerate(given)]
    return chosen
