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
from numpy.typing import NDArray
from scipy import linalg
from scipy.special import expit

from laplex.embeddings import Embeddings
from laplex.errors import InputError
from laplex.inference.conditional import (
    CURVATURE_CONTEXTS,
    BlockContexts,
    Maximum,
    find_maxima,
    make_blocks,
    weigh_background,
)
from laplex.inference.statistics import ContextReader, Contexts, starts_of
from laplex.inference.units import Floats, Ints, Options
from laplex.model.likelihoods import Likelihood
from laplex.runtime.display import bar
from laplex.text.tokens import Tokens

MAX_GROUPS = 200  # of clusters; if there are more clusters, they are put into this many groups by chance
MIN_GROUPS = 50  # however many words there are
CONTEXT_WORD_BYTES = 2**30  # for the contexts of SGNS, of which every group has its own
WORDS_PER_BATCH = 32  # whose contexts are in memory together
BLOCKS_PER_TILE = 8  # that are maximized side by side
BACKGROUND_CONTEXTS = 300_000  # their noise is in the influences
MAX_NUMBERS_PER_WORD = 6_000  # in all its vectors
MAX_NOISE_SHARE = 0.9  # of a vector's squared length, beyond which nothing is said about its direction


class JackknifeVectors(NamedTuple):
    """The vectors of a word by slice, and the influence of each cluster on them."""

    vectors: Floats  # (S, D)
    influence: Floats  # (S, C, D)


def jackknife_vectors(
    fitted: Embeddings, ids: Sequence[int], language: int, tokens: Tokens, options: Options
) -> dict[int, JackknifeVectors]:
    """The vectors of words at the maximum, with the influence of the values of a column, or of documents."""
    jackknife = _Jackknife(fitted, language, tokens, options)
    size = WORDS_PER_BATCH
    if not jackknife.reader.text.sums_window:
        per_word = 8 * len(jackknife.cluster) * len(tokens.vocabularies[language])
        size = min(size, max(1, CONTEXT_WORD_BYTES // per_word))
    result: dict[int, JackknifeVectors] = {}
    with bar("sampling", quiet=options.quiet) as progress:
        for first in range(0, len(ids), size):
            for word, vectors in jackknife.read(ids[first : first + size]):
                result[word] = vectors
                progress.update(len(result) / len(ids), f"{len(result):,} of {len(ids):,} words")
    return result


def clusters_of(fitted: Embeddings, tokens: Tokens, cluster: str | None) -> Ints:
    """(M) The cluster of each document: itself, or the value of a column."""
    if cluster in fitted.columns:
        raise InputError(f'cluster="{cluster}" is what vectors vary by: name the column that says who speaks')
    return np.arange(tokens.documents) if cluster is None else tokens.codes(cluster).astype(np.int64)


def cosine(one: Floats, influence_one: Floats, two: Floats, influence_two: Floats) -> tuple[float, float]:
    """The cosine of two vectors without its noise, and its standard error; NaN if a vector is mostly noise.

    Noise adds Σ‖influence‖² to the squared length of a vector, and so draws the plain cosine towards zero.
    """
    squares = []
    for vector, influence in ((one, influence_one), (two, influence_two)):
        total = float(vector @ vector)
        squares.append(total - float((influence**2).sum()))
        if not squares[-1] > (1 - MAX_NOISE_SHARE) * total:
            return float("nan"), float("nan")
    scale = float(np.sqrt(squares[0] * squares[1]))
    value = (float(one @ two) - float((influence_one * influence_two).sum())) / scale
    change = (influence_one @ two + influence_two @ one) / scale
    change = change - value * (influence_one @ one / squares[0] + influence_two @ two / squares[1])
    return value, float(np.sqrt((change**2).sum()))


@dataclass(frozen=True, eq=False)
class _SliceContexts(Contexts):
    """The contexts of a slice, sorted by unit, of which the first is number `first`."""

    start: Ints = field(kw_only=True)  # where those of each unit of the slice begin
    first: int = field(kw_only=True)


_ByCell = Mapping[tuple[int, int], _SliceContexts]  # by word and slice
_CurvatureRows = tuple[int, Floats]  # which vector, and rows whose products with themselves are part of its curvature


class _Jackknife:
    """Clusters in slices as units, of which those of slice s are numbers start[s] to start[s + 1], and their text."""

    def __init__(self, fitted: Embeddings, language: int, tokens: Tokens, options: Options) -> None:
        self.fitted, self.language = fitted, language
        names, group = np.unique(clusters_of(fitted, tokens, options.cluster), return_inverse=True)
        most = MAX_GROUPS
        if not Likelihood.of(fitted.settings["model"]["likelihood"]).context_is_window_sum:
            size = 4 * len(fitted.rows.vocabularies[language]) * fitted.dimensions
            most = min(max(CONTEXT_WORD_BYTES // size, MIN_GROUPS), MAX_GROUPS)
        if len(names) > most:
            group = np.random.default_rng([options.seed, 8]).permutation(len(names))[group] % most
        self.clusters = min(len(names), most)
        slices, is_read = fitted.rows.slices, tokens.languages == language
        cell = slices.of_document.astype(np.int64) * self.clusters + group
        cells = np.unique(cell[is_read])
        self.start = np.searchsorted(cells, np.arange(len(slices) + 1) * self.clusters)
        self.cluster = cells % self.clusters  # (U)
        # documents of other languages are not read: any number will do for them
        unit = np.where(is_read, np.searchsorted(cells, cell), 0)
        self.reader = ContextReader(tokens, unit, len(cells), fitted, language, options)

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
        background = self._join_units(_thin(self.reader.background))
        background = weigh_background(self.fitted, self.language, background)
        text = BlockContexts(occurrences, background, {word: float(self.reader.negatives[word]) for word in words})
        for first in range(0, len(blocks), BLOCKS_PER_TILE):
            for maximum in find_maxima(blocks[first : first + BLOCKS_PER_TILE], text):
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
            weights = [np.broadcast_to(np.asarray(part.weight, np.float32), len(part)) for part in inside]
            start = starts_of(np.array([len(part) for part in inside], np.int64))
            weight = np.concatenate([np.empty(0, np.float32), *weights])
            joined.append(_SliceContexts(vectors, weight, start=start, first=first))
        return joined

    def _influence(self, maximum: Maximum, occurrences: _ByCell, background: Sequence[_SliceContexts]) -> Floats:
        """(n, C, D) The influence of each cluster on each vector."""
        block, (count, size) = maximum.block, maximum.point.shape
        scores = np.zeros((self.clusters, count, size))
        curvature = np.zeros((count, size, size))
        curvature_rows: list[list[_CurvatureRows]] = [[] for _ in range(self.clusters)]
        for cell in block.cells:
            vector, negatives = maximum.point[cell.place], float(self.reader.negatives[cell.word])
            sides = (occurrences[cell.word, cell.slice], 1, 1.0), (background[cell.slice], -1, negatives)
            for part, sign, rate in sides:
                residual = expit(-sign * (part.vectors @ vector.astype(np.float32)))
                pull, bend = residual * part.weight, residual * (1 - residual) * part.weight
                rows, start = _curvature_rows(part, rate * bend)
                curvature[cell.place] += rows.T @ rows
                for i, c in enumerate(self.cluster[part.first : part.first + len(start) - 1].tolist()):
                    inside = slice(*part.start[i : i + 2])
                    scores[c, cell.place] += sign * rate * (pull[inside] @ part.vectors[inside])
                    curvature_rows[c].append((cell.place, rows[start[i] : start[i + 1]]))
        inverse = linalg.cho_solve(linalg.cho_factor(block.hessian(curvature)), np.eye(count * size))
        influence = np.zeros((self.clusters, count, size))
        for c in np.flatnonzero(scores.any((1, 2))):
            influence[c] = _step_without(inverse, curvature_rows[c], scores[c])
        return influence.transpose(1, 0, 2)


def _thin(parts: Sequence[Contexts]) -> list[Contexts]:
    """Every k-th of the contexts if there are many that count the same, each counting k times as much."""
    step = -(-sum(map(len, parts)) // BACKGROUND_CONTEXTS)
    return [
        Contexts(part.vectors[::step], part.weight * len(part) / len(part.vectors[::step]))
        if step > 1 and len(part) and isinstance(part.weight, float)
        else part
        for part in parts
    ]


def _curvature_rows(part: _SliceContexts, bend: NDArray[np.float32]) -> tuple[Floats, Ints]:
    """(m, D) Rows whose products with themselves are the curvature (some of many), and where each unit's begin."""
    chance = np.minimum(bend * np.float32(CURVATURE_CONTEXTS / max(float(bend.sum()), 1e-30)), np.float32(1.0))
    if len(bend) <= CURVATURE_CONTEXTS:
        chance = np.ones_like(bend)
    chosen = np.flatnonzero(np.random.default_rng([1, 8]).random(len(bend), np.float32) < chance)
    rows = part.vectors[chosen] * np.sqrt(bend[chosen] / chance[chosen])[:, None]
    return rows.astype(np.float64), np.searchsorted(chosen, part.start)


def _step_without(inverse: Floats, curvature_rows: Sequence[_CurvatureRows], score: Floats) -> Floats:
    """(n, D) (H − A_c)⁻¹ s_c = H⁻¹ (I − A_c H⁻¹)⁻¹ s_c, solved for the vectors that the cluster has text about."""
    size = score.shape[1]
    places = sorted({place for place, _ in curvature_rows})
    index = np.concatenate([np.arange(place * size, (place + 1) * size) for place in places])
    part = inverse[np.ix_(index, index)]
    left = np.eye(len(index))
    for place, rows in curvature_rows:
        inside = slice(at := places.index(place) * size, at + size)
        left[inside] -= rows.T @ (rows @ part[inside])
    solved = np.linalg.solve(left, score[places].reshape(-1))
    return np.asarray((inverse[:, index] @ solved).reshape(score.shape))
