"""Vectors moved afterwards so that words of a pair come closer (Faruqui et al. 2015), solved exactly.

    unweighted   q_i = (q̂_i + strength · mean of q_j over the neighbors j of i) / (1 + strength)
    weighted     q_i = (q̂_i + strength Σ_j w_ij q_j) / (1 + strength Σ_j w_ij),
                 the minimum of Σ_i ‖q_i − q̂_i‖² + strength Σ_pairs w_ij ‖q_i − q_j‖²

Both are fixed points that others iterate towards. With n_i neighbors the first is the second in which word i stays
where it was by a weight of n_i, so that both are one linear system, (diag(a) + strength · L) q = a q̂, with L the
graph's Laplacian, symmetric and positive definite. Conjugate gradients solve it for all dimensions at once.
A pair of negative weight is to be unlike, ‖q_i + q_j‖². n words in pairs, S slices, V words, D dimensions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, cg

from laplex.baselines.alignment import contexts_of, rebuilt, stacks_of
from laplex.embeddings import Embeddings
from laplex.errors import InputError
from laplex.lexicons.pairs import WordPairs, read_pairs
from laplex.progress import Bar, bar
from laplex.vocabulary import Vocabulary

PRECISION = 1e-9  # of the solution, relative to the vectors; they are float32

Floats = NDArray[np.float64]


def retrofit(
    embeddings: Embeddings,
    pairs: Any,
    *,
    strength: float = 1.0,
    weighted: bool = False,
    language: str | None = None,
    quiet: bool = False,
) -> Embeddings:
    """Retrofit the word vectors of each slice to pairs of words; words without a pair and contexts stay as they are.

    A pair counts once, whatever its weight, and a word is pulled to the mean of its neighbors, as in Faruqui et al.,
    who take strength=1; with `weighted` pairs count by their weights, and a word with many pairs is pulled more.
    """
    if not np.isfinite(strength) or strength < 0:
        raise InputError(f"strength={strength!r} must be a number from 0")
    index = embeddings.language(language)
    chosen, joined = _adjacency(read_pairs(pairs), embeddings.rows.vocabularies[index], weighted)
    degree = np.asarray(abs(joined).sum(axis=1)).reshape(-1)
    stay = np.ones(len(degree)) if weighted else np.maximum(degree, 1.0)  # 0 where pairs cancel out
    system = sparse.csr_array(sparse.diags_array(stay + strength * degree) - strength * joined)
    stacks = stacks_of(embeddings)
    with bar("retrofitting", quiet=quiet) as progress:
        for slice in stacks[index]:
            slice[chosen] = _solve(system, stay, slice[chosen].astype(np.float64), progress)
    said = {"name": "retrofit", "pairs": joined.nnz // 2, "strength": float(strength), "weighted": weighted}
    return rebuilt(embeddings, stacks, contexts_of(embeddings), baseline=said)


def _adjacency(pairs: WordPairs, vocabulary: Vocabulary, weighted: bool) -> tuple[NDArray[np.int64], sparse.csr_array]:
    """The ids of the words in pairs, and the matrix of weights among them (n, n)."""
    found = [
        (vocabulary[v], vocabulary[w], weight)
        for v, w, weight in zip(pairs.left, pairs.right, pairs.weight.tolist(), strict=True)
        if v in vocabulary and w in vocabulary and v != w and weight != 0
    ]
    if not found:
        one = sum(v in vocabulary or w in vocabulary for v, w in zip(pairs.left, pairs.right, strict=True))
        raise InputError(
            f"no pair of {pairs.name} has both words in the vocabulary ({len(vocabulary):,} words; {one:,} of "
            f"{len(pairs):,} pairs have one): check the language"
        )
    first, second, weight = zip(*found, strict=True)
    chosen, place = np.unique(np.array([first, second], np.int64), return_inverse=True)
    left, right = place.reshape(2, -1)
    size = (len(chosen), len(chosen))
    # pairs that are listed twice, or both ways around, add up
    half = sparse.coo_array((np.array(weight), (left, right)), shape=size).tocsr()
    joined = sparse.csr_array(half + half.T)
    if not weighted:
        joined.data = np.sign(joined.data)
    joined.eliminate_zeros()
    return chosen, joined


def _solve(system: sparse.csr_array, stay: Floats, start: Floats, progress: Bar) -> Floats:
    """The q of system · q = stay · start, (n, D)."""
    shape = start.shape
    diagonal = system.diagonal()[:, None]
    steps = 0

    def count(_: Floats) -> None:
        nonlocal steps
        steps += 1
        progress.update(None, f"step {steps:,}")

    whole = LinearOperator((start.size, start.size), lambda q: (system @ q.reshape(shape)).reshape(-1), dtype=float)
    scaled = LinearOperator((start.size, start.size), lambda q: (q.reshape(shape) / diagonal).reshape(-1), dtype=float)
    right = (stay[:, None] * start).reshape(-1)
    solution, failed = cg(whole, right, x0=start.reshape(-1), rtol=PRECISION, maxiter=100_000, M=scaled, callback=count)
    if failed:
        raise InputError(f"retrofitting does not settle in {failed:,} steps: lower its strength or the pairs' weights")
    return np.asarray(solution, np.float64).reshape(shape)
