"""The jackknife: how the vectors of a word, and its cosines, would come out in another sample of clusters.

Given the contexts, the vectors x of a word maximize its log posterior (`conditional.py`); H is the curvature there,
that of the prior which couples the slices included. The influence of cluster c (a speaker, or a document) on x is
Newton's step without it:

    influence_c = (H − A_c)⁻¹ s_c,   s_c = Σ_where the word stands (1−σ) h − K P(w) Σ_everywhere σ h
    A_c = Σ_c σ(1−σ) h hᵀ

and Σ_c influence_c influence_cᵀ is the covariance. A_c matters: with H alone, s_c is too small where the cluster had a
hand in x, and the variance of a word of 100 to 300 occurrences comes out at 60%. The contexts are held, and so are the
vectors of other words. S slices, C clusters, U units (clusters in slices), n vectors (tied slices share one),
D dimensions, M documents.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from laplex.embeddings import Embeddings
from laplex.errors import InputError
from laplex.inference import kernels
from laplex.inference.conditional import BlockContexts, Maximum, find_maxima, make_blocks, weigh_background
from laplex.inference.coupled import CoupledSystem
from laplex.inference.occurrence_jackknife import occurrence_influences, units_of
from laplex.inference.standardization import Strata
from laplex.inference.statistics import ContextReader, Contexts, Singles, starts_of
from laplex.inference.units import Floats, Ints, Options
from laplex.model.likelihoods import Likelihood
from laplex.runtime.display import bar
from laplex.text.occurrences import Occurrences
from laplex.text.tokens import Tokens

MAX_GROUPS = 200  # of clusters; if there are more clusters, they are put into this many groups by chance
MIN_GROUPS = 50  # however many words there are
CONTEXT_WORD_BYTES = 2**30  # for the contexts of SGNS, of which every group has its own
WORDS_PER_BATCH = 32  # whose contexts are in memory together
BLOCKS_PER_TILE = 8  # that are maximized side by side
BACKGROUND_CONTEXTS = 600_000  # their noise is in the influences
CURVATURE_CONTEXTS_PER_WORD = 40_000  # of a side of all its cells, and at least:
MIN_CURVATURE_CONTEXTS = 4_000  # of a cell
MAX_NUMBERS_PER_WORD = 6_000  # in all its vectors
MAX_NOISE_SHARE = 0.9  # of a vector's squared length, beyond which nothing is said about its direction


class JackknifeVectors(NamedTuple):
    """The vectors of a word by slice, and the influence of each cluster on them."""

    vectors: Floats  # (S, D)
    influence: Floats  # (S, C, D)


def jackknife_vectors(
    fitted: Embeddings,
    ids: Sequence[int],
    language: int,
    tokens: Tokens,
    options: Options,
    strata: Strata | None = None,
) -> dict[int, JackknifeVectors]:
    """The vectors of words at the maximum, with the influence of the values of a column, or of documents.

    With `strata`, documents of a slice have the weights of theirs.
    """
    if isinstance(tokens, Occurrences):
        if strata is not None:
            raise InputError("given= in similarity, position and association is of text, not of occurrences")
        unit, units = units_of(tokens, clusters_of(fitted, tokens, options.unit))
        exact = occurrence_influences(fitted, ids, tokens, unit, units)
        return {word: JackknifeVectors(*each) for word, each in exact.items()}
    jackknife = _Jackknife(fitted, language, tokens, options, strata)
    size = WORDS_PER_BATCH
    if not jackknife.reader.text.sums_window:
        per_word = 8 * len(jackknife.cluster) * len(tokens.vocabularies[language])
        size = min(size, max(1, CONTEXT_WORD_BYTES // per_word))
    result: dict[int, JackknifeVectors] = {}
    # matrices are small: threads of the linear algebra would take more processor time, and save none
    with bar("sampling", quiet=options.quiet) as progress, threadpool_limits(1, user_api="blas"):
        for first in range(0, len(ids), size):
            for word, vectors in jackknife.read(ids[first : first + size]):
                result[word] = vectors
                progress.update(len(result) / len(ids), f"{len(result):,} of {len(ids):,} words")
    return result


def clusters_of(fitted: Embeddings, tokens: Tokens, cluster: str | None) -> Ints:
    """(M) The cluster of each document: itself, or the value of a column."""
    if cluster in fitted.columns:
        raise InputError(f'unit="{cluster}" is what vectors vary by: name the column that says who speaks')
    return np.arange(tokens.documents) if cluster is None else tokens.codes(cluster).astype(np.int64)


class Direction(NamedTuple):
    """A vector divided by its length without noise, and the influence of clusters divided by the same."""

    vector: Floats  # (D)
    influence: Floats  # (C, D)


class Estimate(NamedTuple):
    """A number, and the influence of each cluster (C) on it."""

    value: float
    influence: Floats

    def minus(self, other: Estimate) -> Estimate:
        """The difference of two numbers."""
        return Estimate(self.value - other.value, self.influence - other.influence)

    @property
    def standard_error(self) -> float:
        """The root of the sum of the squared influences."""
        return float(np.sqrt((self.influence**2).sum()))

    @property
    def freedom(self) -> float:
        """The degrees of freedom: the number of clusters, if they are much alike (Satterthwaite)."""
        squares = self.influence**2
        return 3 * float(squares.sum()) ** 2 / max(float((squares**2).sum()), 1e-300)


def direction(vector: Floats, influence: Floats) -> Direction | None:
    """The direction of a vector; None if it is mostly noise, which adds Σ‖influence‖² to the squared length."""
    total = float(vector @ vector)
    square = total - float((influence**2).sum())
    if not square > (1 - MAX_NOISE_SHARE) * total:
        return None
    return Direction(vector / np.sqrt(square), influence / np.sqrt(square))


def cosine_of(one: Direction, two: Direction) -> Estimate:
    """The cosine of two directions without its noise, which clusters that have a say in both share."""
    value = float(one.vector @ two.vector) - float((one.influence * two.influence).sum())
    change = one.influence @ two.vector + two.influence @ one.vector
    return Estimate(value, change - value * (one.influence @ one.vector + two.influence @ two.vector))


def cosine(one: Floats, influence_one: Floats, two: Floats, influence_two: Floats) -> tuple[float, float]:
    """The cosine of two vectors without its noise, and its standard error; NaN if a vector is mostly noise."""
    first, second = direction(one, influence_one), direction(two, influence_two)
    if first is None or second is None:
        return float("nan"), float("nan")
    found = cosine_of(first, second)
    return found.value, found.standard_error


@dataclass(frozen=True, eq=False)
class _SliceContexts(Contexts):
    """The contexts of a slice, sorted by unit, of which the first is number `first`."""

    start: Ints = field(kw_only=True)  # where those of each unit of the slice begin
    first: int = field(kw_only=True)


_ByCell = Mapping[tuple[int, int], _SliceContexts]  # by word and slice
# rows whose products with themselves are a curvature, where those of each unit begin, its vector and its cluster
_UnitRows = tuple[Singles, Ints, Ints, Ints]


class _Jackknife:
    """Clusters in slices as units, of which those of slice s are numbers start[s] to start[s + 1], and their text.

    If there are strata, the units of a cluster are its documents in each of them.
    """

    def __init__(
        self, fitted: Embeddings, language: int, tokens: Tokens, options: Options, strata: Strata | None
    ) -> None:
        self.fitted, self.language = fitted, language
        names, group = np.unique(clusters_of(fitted, tokens, options.unit), return_inverse=True)
        most = MAX_GROUPS
        if not Likelihood.of(fitted.settings["model"]["likelihood"]).context_is_window_sum:
            size = 4 * len(fitted.rows.vocabularies[language]) * fitted.dimensions
            most = min(max(CONTEXT_WORD_BYTES // size, MIN_GROUPS), MAX_GROUPS)
        if len(names) > most:
            group = np.random.default_rng([options.seed, 8]).permutation(len(names))[group] % most
        self.clusters = min(len(names), most)
        slices, is_read = fitted.rows.slices, tokens.languages == language
        stratum, weight = (np.zeros_like(group), np.ones((len(slices), 1))) if strata is None else strata
        if len(slices) > len(weight):  # documents that are not compared have a slice of their own
            weight = np.concatenate([weight, np.ones((len(slices) - len(weight), weight.shape[1]))])
        number = weight.shape[1]
        cell = (slices.of_document.astype(np.int64) * self.clusters + group) * number + np.maximum(stratum, 0)
        cells = np.unique(cell[is_read])
        self.start = np.searchsorted(cells, np.arange(len(slices) + 1) * self.clusters * number)
        self.cluster = cells // number % self.clusters  # (U)
        self.weight = weight[cells // (number * self.clusters), cells % number]  # (U)
        # documents of other languages are not read: any number will do for them
        unit = np.where(is_read, np.searchsorted(cells, cell), 0)
        self.reader = ContextReader(
            tokens, unit, len(cells), fitted, language, options, background_positions=BACKGROUND_CONTEXTS
        )

    def read(self, ids: Sequence[int]) -> Iterator[tuple[int, JackknifeVectors]]:
        """The vectors of words whose contexts are in memory together."""
        blocks = make_blocks(self.fitted, self.language, [[i] for i in ids])
        largest = max(block.vectors.size for block in blocks)
        if largest > MAX_NUMBERS_PER_WORD:
            raise InputError(
                f"a word has {largest:,} numbers in all its slices together, more than the {MAX_NUMBERS_PER_WORD:,} "
                "that intervals can be computed for: fit a model with fewer slices or dimensions"
            )
        words = sorted({cell.word for block in blocks for cell in block.cells})
        by_word = zip(words, map(self._join_units, self.reader.contexts(words)))
        occurrences = {(word, slice): part for word, parts in by_word for slice, part in enumerate(parts)}
        background = weigh_background(self.fitted, self.language, self._join_units(self.reader.background))
        text = BlockContexts(occurrences, background, {word: float(self.reader.negatives[word]) for word in words})
        for first in range(0, len(blocks), BLOCKS_PER_TILE):
            maxima = [_CoupledMaximum(block) for block in blocks[first : first + BLOCKS_PER_TILE]]
            find_maxima(maxima, text)
            for maximum in maxima:
                influence = self._influence(maximum, occurrences, background)
                block, place = maximum.block, maximum.block.place[0]
                found = block.with_absent(maximum.point)[place], block.with_absent(influence)[place]
                yield block.words[0], JackknifeVectors(*found)

    def _join_units(self, parts: Sequence[Contexts]) -> list[_SliceContexts]:
        """The contexts of each slice, from those of each unit."""
        joined = []
        for first, last in zip(self.start.tolist(), self.start[1:].tolist()):
            inside = parts[first:last]
            vectors = np.concatenate([parts[0].vectors[:0], *(part.vectors for part in inside)])
            of_unit = self.weight[first:last].astype(np.float32)
            weights = [
                np.broadcast_to(np.asarray(part.weight * weight, np.float32), len(part))
                for part, weight in zip(inside, of_unit)
            ]
            start = starts_of(np.array([len(part) for part in inside], np.int64))
            weight = np.concatenate([np.empty(0, np.float32), *weights])
            joined.append(_SliceContexts(vectors, weight, start=start, first=first))
        return joined

    def _influence(self, maximum: Maximum, occurrences: _ByCell, background: Sequence[_SliceContexts]) -> Floats:
        """(n, C, D) The influence of each cluster on each vector."""
        block, (count, size) = maximum.block, maximum.point.shape
        scores, curvature = np.zeros((count, self.clusters, size)), np.zeros((count, size, size))
        parts: list[_UnitRows] = []
        most = max(CURVATURE_CONTEXTS_PER_WORD // len(block.cells), MIN_CURVATURE_CONTEXTS)
        for cell in block.cells:
            vector, negatives = maximum.point[cell.place], float(self.reader.negatives[cell.word])
            sides = (occurrences[cell.word, cell.slice], 1, 1.0), (background[cell.slice], -1, negatives)
            for part, sign, rate in sides:
                residual = scipy.special.expit(-sign * (part.vectors @ vector.astype(np.float32)))
                pull, bend = residual * part.weight, residual * (1 - residual) * part.weight
                rows, start = _curvature_rows(part, rate * bend, most)
                curvature[cell.place] += rows.T @ rows
                cluster = self.cluster[part.first : part.first + len(start) - 1]
                for i, c in enumerate(cluster.tolist()):
                    inside = slice(*part.start[i : i + 2])
                    scores[cell.place, c] += sign * rate * (pull[inside] @ part.vectors[inside])
                parts.append((rows, start, np.full(len(cluster), cell.place), cluster))

        def of_clusters(vectors: Floats) -> Floats:
            products = np.zeros_like(vectors)
            for part in parts:
                kernels.add_unit_products(*part, vectors, products)
            return products

        return CoupledSystem(block.precision, curvature).solve(scores, of_clusters)


class _CoupledMaximum(Maximum):
    """The maximum of a word in many slices, by conjugate gradients; its covariance is not computed."""

    tolerance = 1e-4  # of the standard deviations of a jackknife

    def newton_step(self, gradient: Floats, curvature: Floats) -> Floats:
        return CoupledSystem(self.block.precision, curvature).solve(gradient[:, None])[:, 0]

    def finish(self) -> None:
        pass


def _curvature_rows(part: _SliceContexts, bend: NDArray[np.float32], most: int) -> tuple[Singles, Ints]:
    """(m, D) Rows whose products with themselves are the curvature (some of many), and where each unit's begin."""
    if len(bend) <= most:
        return part.vectors * np.sqrt(bend)[:, None], part.start
    chance = np.minimum(bend * np.float32(most / max(float(bend.sum()), 1e-30)), np.float32(1.0))
    chosen = np.flatnonzero(np.random.default_rng([1, 8]).random(len(bend), np.float32) < chance)
    rows = part.vectors[chosen] * np.sqrt(bend[chosen] / chance[chosen])[:, None]
    return rows.astype(np.float32), np.searchsorted(chosen, part.start)
