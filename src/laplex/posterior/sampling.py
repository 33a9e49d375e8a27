"""How would a word's vectors come out in another sample? What they would lose without each cluster.

A fitted model and words come in; for each word its vectors in all slices and their losses go out. Given the contexts,
the vectors x of a word maximise its log posterior (`ascent.py`); H is the curvature there, that of the prior which
couples the slices included. Without cluster c (a speaker, or a document) Newton's step is

    loss_c = (H − A_c)⁻¹ s_c,   s_c = Σ_where the word stands (1−σ) h − K P(w) Σ_everywhere σ h,   A_c = Σ_c σ(1−σ) h hᵀ

and Σ_c loss_c loss_cᵀ is the covariance (the jackknife). A_c matters: with H alone, s_c is too small where the cluster
had a hand in x, and the variance of a word of 100 to 300 occurrences comes out at 60%. The contexts are held, and so
are the vectors of other words. S slices, C clusters, n vectors (tied slices share one), D dimensions, M documents.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.special import expit

from laplex.embeddings import Embeddings
from laplex.errors import InputError
from laplex.posterior.ascent import CURVATURE, Ascent, Text, climb
from laplex.posterior.block import Floats, Ints, blocks
from laplex.posterior.reading import Contexts, Reading
from laplex.progress import bar
from laplex.rows import Rows
from laplex.tokens import Slices, Tokens

GROUPS = 200  # clusters; if there are more, that many groups of them, chosen by chance
FEWEST = 50  # groups, however many words there are
MEMORY = 2**30  # bytes for the contexts of SGNS, of which every group has its own
BATCH = 32  # words whose contexts are in memory together
TILE = 8  # words that climb side by side
AROUND = 300_000  # positions of the background; their noise is in the losses
LARGEST = 6_000  # numbers in all vectors of a word
NOISE = 0.9  # of a vector's squared length, beyond which nothing is said about its direction


@dataclass(frozen=True, eq=False)
class Sampled:
    """The vectors of a word by slice, and what each would lose without each cluster."""

    vectors: Floats  # (S, D)
    losses: Floats  # (S, C, D)


def sample(
    fitted: Embeddings,
    ids: Sequence[int],
    language: int,
    tokens: Tokens,
    cluster: str | None,
    *,
    seed: int = 1,
    threads: int | None = None,
    quiet: bool = False,
) -> dict[int, Sampled]:
    """The vectors of words, with their losses by values of a column, or by documents."""
    units = _divide(fitted, tokens, language, owners(fitted, tokens, cluster), seed)
    reading = Reading(tokens, _by_unit(fitted, language, units), language, seed=seed, threads=threads)
    found: dict[int, Sampled] = {}
    size = min(BATCH, max(1, MEMORY // (8 * len(units.cluster) * len(tokens.vocabularies[language]))))
    size = size if reading.single else BATCH
    with bar("sampling", quiet=quiet) as progress:
        for first in range(0, len(ids), size):
            for word, sampled in _batch(fitted, ids[first : first + size], language, units, reading):
                found[word] = sampled
                progress.update(len(found) / len(ids), f"{len(found):,} of {len(ids):,} words")
    return found


def owners(fitted: Embeddings, tokens: Tokens, cluster: str | None) -> Ints:
    """(M) Whose each document is: its own, or that of a value of a column."""
    if cluster in fitted.columns:
        raise InputError(f'cluster="{cluster}" is what vectors vary by: name the column that says who speaks')
    return np.arange(tokens.documents) if cluster is None else tokens.codes(cluster).astype(np.int64)


def cosine(one: Floats, losses_one: Floats, two: Floats, losses_two: Floats) -> tuple[float, float]:
    """The cosine of two vectors as it were without noise, and its standard error; NaN if a vector is mostly noise.

    Noise adds Σ‖loss‖² to the squared length of a vector, and so draws the plain cosine towards zero.
    """
    squares = []
    for vector, losses in ((one, losses_one), (two, losses_two)):
        whole = float(vector @ vector)
        squares.append(whole - float((losses**2).sum()))
        if not squares[-1] > (1 - NOISE) * whole:
            return float("nan"), float("nan")
    scale = float(np.sqrt(squares[0] * squares[1]))
    found = (float(one @ two) - float((losses_one * losses_two).sum())) / scale
    change = (losses_one @ two + losses_two @ one) / scale
    change = change - found * (losses_one @ one / squares[0] + losses_two @ two / squares[1])
    return found, float(np.sqrt((change**2).sum()))


@dataclass(frozen=True, eq=False)
class _Units:
    """Clusters in slices: those of slice s are numbers start[s] to start[s + 1]."""

    of_document: Ints  # (M)
    start: Ints  # (S + 1)
    cluster: Ints  # of each unit
    clusters: int


def _divide(fitted: Embeddings, tokens: Tokens, language: int, owner: Ints, seed: int) -> _Units:
    names, group = np.unique(owner, return_inverse=True)
    most = GROUPS
    if fitted.settings["model"]["likelihood"] == "sgns":
        size = 4 * len(fitted.rows.vocabularies[language]) * fitted.dimensions
        most = min(max(MEMORY // size, FEWEST), GROUPS)
    clusters = min(len(names), most)
    if len(names) > most:
        group = np.random.default_rng([seed, 8]).permutation(len(names))[group] % most
    slices = fitted.rows.slices
    mine = tokens.languages == language
    cell = slices.of_document.astype(np.int64) * clusters + group
    cells = np.unique(cell[mine])
    # documents of other languages are not read: any number will do for them
    unit = np.where(mine, np.searchsorted(cells, cell), 0)
    start = np.searchsorted(cells, np.arange(len(slices) + 1) * clusters)
    return _Units(unit, start, cells % clusters, clusters)


def _by_unit(fitted: Embeddings, language: int, units: _Units) -> Embeddings:
    """The same contexts, with units for slices."""
    keys = tuple((str(unit),) for unit in range(len(units.cluster)))
    rows = Rows(fitted.rows.vocabularies, Slices(("unit",), keys, units.of_document.astype(np.int32)))
    slot, around = np.full(len(rows), -1, np.int32), rows.contexts(language)
    slot[around.start : around.stop] = fitted.slots(language, None)
    return Embeddings(rows, fitted.theta, slot, [], fitted.graph, fitted.settings, [])


def _batch(
    fitted: Embeddings, ids: Sequence[int], language: int, units: _Units, reading: Reading
) -> Iterator[tuple[int, Sampled]]:
    asked = blocks(fitted, language, [[i] for i in ids])
    largest = max(block.vectors.size for block in asked)
    if largest > LARGEST:
        raise InputError(
            f"a word has {largest:,} numbers in all its slices together, more than the {LARGEST:,} that intervals can "
            "be computed for: fit a model with fewer slices or dimensions"
        )
    words = sorted({cell.word for block in asked for cell in block.cells})
    found = reading.around(words)
    here = {(w, s): part for w, parts in zip(words, found) for s, part in enumerate(_by_slice(parts, units))}
    around = _by_slice(_thinned(reading.background()), units)
    noise = {word: float(reading.noise[word]) for word in words}
    text = Text({key: part.contexts for key, part in here.items()}, [part.contexts for part in around], noise)
    for first in range(0, len(asked), TILE):
        for ascent in climb(asked[first : first + TILE], text):
            losses = _losses(ascent, here, around, noise, units)
            place = ascent.block.place[0]
            yield ascent.block.words[0], Sampled(ascent.point[place], losses[place])


_Bend = tuple[int, Floats]  # which vector, and rows whose products with themselves are a part of its curvature


@dataclass(frozen=True, eq=False)
class _Part:
    """Contexts in a slice, sorted by unit."""

    contexts: Contexts
    weight: NDArray[np.float32]  # (m)
    start: Ints  # where those of each unit of the slice begin
    first: int  # unit of the slice


def _thinned(parts: Sequence[Contexts]) -> list[Contexts]:
    """Every so many contexts, if there are many that count the same."""
    step = -(-sum(map(len, parts)) // AROUND)
    return [
        Contexts(part.vectors[::step], part.weight * len(part) / len(part.vectors[::step]))
        if step > 1 and len(part) and isinstance(part.weight, float)
        else part
        for part in parts
    ]


def _by_slice(parts: Sequence[Contexts], units: _Units) -> list[_Part]:
    joined = []
    for first, last in zip(units.start.tolist(), units.start[1:].tolist()):
        mine = parts[first:last]
        sizes = [len(part) for part in mine]
        vectors = np.concatenate([part.vectors for part in mine] or [parts[0].vectors[:0]])
        weights = [np.broadcast_to(np.asarray(part.weight, np.float32), len(part)) for part in mine]
        weight = np.concatenate(weights or [np.empty(0, np.float32)])
        joined.append(_Part(Contexts(vectors, weight), weight, np.concatenate([[0], np.cumsum(sizes)]), first))
    return joined


def _losses(
    ascent: Ascent, here: dict[tuple[int, int], _Part], around: Sequence[_Part], noise: dict[int, float], units: _Units
) -> Floats:
    """(n, C, D) What each vector would lose without each cluster."""
    block, (count, size) = ascent.block, ascent.point.shape
    scores = np.zeros((units.clusters, count, size))
    curvature = np.zeros((count, size, size))
    bends: list[list[_Bend]] = [[] for _ in range(units.clusters)]
    for cell in block.cells:
        vector = ascent.point[cell.place]
        for part, sign, rate in ((here[cell.word, cell.slice], 1, 1.0), (around[cell.slice], -1, noise[cell.word])):
            off, bend = _pulls(part, vector, sign)
            rows, start = _rows(part, rate * bend)
            curvature[cell.place] += rows.T @ rows
            for i, c in enumerate(units.cluster[part.first : part.first + len(start) - 1].tolist()):
                mine = slice(*part.start[i : i + 2])
                scores[c, cell.place] += sign * rate * (off[mine] @ part.contexts.vectors[mine])
                bends[c].append((cell.place, rows[start[i] : start[i + 1]]))
    whole = np.kron(block.precision, np.eye(size))
    for i in range(count):
        whole[i * size : (i + 1) * size, i * size : (i + 1) * size] += curvature[i]
    inverse = linalg.cho_solve(linalg.cho_factor(whole), np.eye(len(whole)))
    found = np.zeros((units.clusters, count, size))
    for c in np.flatnonzero(scores.any((1, 2))):
        found[c] = _without(inverse, bends[c], scores[c])
    return found.transpose(1, 0, 2)


def _rows(part: _Part, bend: NDArray[np.float32]) -> tuple[Floats, Ints]:
    """(m, D) Rows whose products with themselves are the curvature, and where those of each unit begin.

    Of many contexts, some are chosen in proportion to what they add to it.
    """
    chance = np.minimum(bend * np.float32(CURVATURE / max(float(bend.sum()), 1e-30)), np.float32(1.0))
    if len(bend) <= CURVATURE:
        chance = np.ones_like(bend)
    chosen = np.flatnonzero(np.random.default_rng([1, 8]).random(len(bend), np.float32) < chance)
    rows = part.contexts.vectors[chosen] * np.sqrt(bend[chosen] / chance[chosen])[:, None]
    return rows.astype(np.float64), np.searchsorted(chosen, part.start)


def _pulls(part: _Part, vector: Floats, sign: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """(m), (m) σ(∓x·h) and σ(1−σ) for each context, weighted."""
    scores = part.contexts.vectors @ vector.astype(np.float32)
    off: NDArray[np.float32] = expit(-sign * scores)
    return off * part.weight, off * (1 - off) * part.weight


def _without(inverse: Floats, own: Sequence[_Bend], score: Floats) -> Floats:
    """(n, D) (H − A_c)⁻¹ s_c = H⁻¹ (I − A_c H⁻¹)⁻¹ s_c, solved for the vectors that the cluster speaks about."""
    size = score.shape[1]
    places = sorted({place for place, _ in own})
    index = np.concatenate([np.arange(place * size, (place + 1) * size) for place in places])
    part = inverse[np.ix_(index, index)]
    left = np.eye(len(index))
    for place, rows in own:
        mine = slice(at := places.index(place) * size, at + size)
        left[mine] -= rows.T @ (rows @ part[mine])
    solved = np.linalg.solve(left, score[places].reshape(-1))
    return np.asarray((inverse[:, index] @ solved).reshape(score.shape))
