"""Rotations of fitted vectors: onto those of another fit, or onto their principal axes.

The likelihood depends on vectors by their products alone, and the prior by their distances: rotated all together, they
are the same model, and two fits of it differ by a rotation even where they agree. Words, contexts and the vectors that
the graph holds fixed are all multiplied by one orthogonal matrix W:

    onto another fit   min ‖X W − Z‖²:  W = U Vᵀ, where U Σ Vᵀ is the singular value decomposition of Xᵀ Z
    principal axes     W = the eigenvectors of Xᵀ X by falling eigenvalue, each with the sign for which Σ (X w)³ > 0

X (N, D) are the vectors of N words, in their slices; Z (N, D) those of the same words in the other fit. Variances v (D)
of a vector, whose numbers are taken as independent, become the diagonal of Wᵀ diag(v) W.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import orthogonal_procrustes

from laplex.embeddings import Embeddings
from laplex.errors import InputError, quote
from laplex.runtime.display import bar, say

Floats = NDArray[np.float64]
VECTORS_PER_BATCH = 1 << 16
EQUAL_SPREAD = 1e-6  # relative difference below which two eigenvalues do not determine their axes


def align(a: Embeddings, b: Embeddings, words: Sequence[str] | None = None, *, quiet: bool = False) -> Embeddings:
    """The first vectors, rotated (perhaps reflected) so that the words of both are closest to the second.

    It is one rotation for all languages, slices and contexts of `a`, so that nothing changes among them. Slices are
    matched by their values, or all with the only slice of `b`; languages by their names. Vectors of zeros are ignored.

    Args:
        a: The Embeddings to rotate.
        b: The Embeddings to rotate them onto.
        words: The words that should be close, by default all that both have.
        quiet: Print nothing.

    Returns:
        Embeddings like `a`, rotated, with the standard deviations of a variational fit.

    Example:
        moved = lx.align(second_seed, first_seed)
    """
    if a.dimensions != b.dimensions:
        raise InputError(f"{a.dimensions} dimensions cannot be rotated onto {b.dimensions}")
    _check_list(words)
    count, x, z = _shared(a, b, words)
    if len(x) < a.dimensions:
        raise InputError(
            f"{len(x):,} vectors of words that both have do not fix a rotation of {a.dimensions} dimensions: "
            "check the languages, slices and words"
        )
    matrix = rotation(x, z)
    aligned = x.astype(np.float64) @ matrix
    lengths = np.linalg.norm(aligned, axis=1) * np.linalg.norm(z, axis=1)
    cosine = float(np.mean(np.sum(aligned * z, 1) / lengths))
    of = "" if words is None else f" of {len(set(words)):,}"
    say(f"rotated by {count:,}{of} words, {len(x):,} vectors; their mean cosine is {cosine:.3f}", quiet=quiet)
    return rotated(a, matrix, {"name": "align", "words": count, "vectors": len(x), "cosine": cosine}, quiet=quiet)


def normalize_rotation(fitted: Embeddings, words: Sequence[str] | None = None, *, quiet: bool = False) -> Embeddings:
    """The same vectors on their principal axes: along the first dimension the words spread most.

    No product, cosine, distance or likelihood changes. Axes along which words spread nearly alike may change places
    from one fit to the next: to compare two fits dimension by dimension, normalize the first and `align` the second to
    it.

    Args:
        fitted: The Embeddings to rotate.
        words: The words whose spread counts, in all slices; by default all.
        quiet: Print nothing.

    Returns:
        Embeddings like `fitted`, rotated, with the standard deviations of a variational fit.

    Example:
        lx.normalize_rotation(fitted).to_frame()
    """
    x = _word_vectors(fitted, words).astype(np.float64)
    spread, axes = np.linalg.eigh(x.T @ x)
    spread, axes = spread[::-1], axes[:, ::-1]
    if len(x) < fitted.dimensions or spread[-1] <= len(x) * np.finfo(np.float32).eps ** 2 * spread[0]:
        raise InputError(
            f"{len(x):,} vectors do not span the {fitted.dimensions} dimensions, so they do not fix all axes: "
            "give more words"
        )
    equal = np.flatnonzero(spread[:-1] - spread[1:] < EQUAL_SPREAD * spread[:-1])
    if len(equal):
        axis = int(equal[0])
        say(f"words spread alike on axes {axis} and {axis + 1}: these are not determined by them", quiet=quiet)
    signs = np.where(((x @ axes) ** 3).sum(0) < 0, -1.0, 1.0)
    record = {"name": "principal axes", "vectors": len(x), "spread": (spread / spread.sum()).tolist()}
    return rotated(fitted, axes * signs, record, quiet=quiet)


def rotation(source: NDArray[Any], target: NDArray[Any]) -> Floats:
    """(D, D) The orthogonal W for which ‖source W − target‖ is smallest; both are (N, D)."""
    matrix: Floats = orthogonal_procrustes(np.asarray(source, np.float64), np.asarray(target, np.float64))[0]
    return matrix


def rotated(fitted: Embeddings, matrix: Floats, record: dict[str, Any], *, quiet: bool = False) -> Embeddings:
    """All vectors times an orthogonal matrix (D, D), with their deviations; `record` is kept in the settings."""
    theta, graph = np.empty_like(fitted.theta), fitted.graph
    spread = None if fitted.spread is None else np.empty_like(fitted.spread)
    with bar("rotating", quiet=quiet) as progress:
        for start in range(0, len(theta), VECTORS_PER_BATCH):
            rows = np.s_[start : start + VECTORS_PER_BATCH]
            theta[rows] = fitted.theta[rows].astype(np.float64) @ matrix
            if spread is not None and fitted.spread is not None:
                spread[rows] = np.sqrt(fitted.spread[rows].astype(np.float64) ** 2 @ matrix**2)
            progress.update((start + VECTORS_PER_BATCH) / len(theta))
    if len(graph.targets):
        graph = replace(graph, targets=graph.targets @ matrix)
        say(
            "the axes of these vectors are those of the fixed ones that an Anchor drew them to: rotated, both stay "
            "together, but neither lies on the axes of the original file any more",
            quiet=quiet,
        )
    settings = {**fitted.settings, "rotation": record}
    history: list[dict[str, Any]] = fitted.history.to_dict("records")  # type: ignore[assignment]
    # the vectors without slices have axes of their own, and stay as they are
    others = fitted.filling, fitted.pooled
    return Embeddings(fitted.rows, theta, fitted.slot, fitted.counts, graph, settings, history, spread, *others)


def _check_list(words: Sequence[str] | None) -> None:
    if isinstance(words, str):
        raise InputError(f'words is a list of words: write words=["{words}"]')


def _word_vectors(fitted: Embeddings, words: Sequence[str] | None) -> NDArray[np.float32]:
    """(N, D) The vectors of the chosen words in all languages and slices, without those that are zero."""
    _check_list(words)
    vocabularies = fitted.rows.vocabularies
    for word in words or ():
        if word not in fitted:
            vocabularies[0][word]  # raises, and names similar words
    blocks = []
    for index, vocabulary in enumerate(vocabularies):
        ids = vocabulary.ids(list(vocabulary if words is None else dict.fromkeys(words)))
        chosen = ids[ids >= 0].tolist()
        blocks += [fitted.take(chosen, index, slice) for slice in range(len(fitted.rows.slices))]
    return np.concatenate([block[block.any(1)] for block in blocks])


def _shared(
    a: Embeddings, b: Embeddings, words: Sequence[str] | None
) -> tuple[int, NDArray[np.float32], NDArray[np.float32]]:
    """The number of words that both have, and their vectors in both, in the languages and slices of both."""
    count = 0
    first, second = [np.empty((0, a.dimensions), np.float32)], [np.empty((0, b.dimensions), np.float32)]
    for name in [name for name in a.languages if name in b.languages]:
        one, two = a.languages.index(name), b.languages.index(name)
        here, there = a.rows.vocabularies[one], b.rows.vocabularies[two]
        common = [word for word in (here if words is None else dict.fromkeys(words)) if word in here and word in there]
        count += len(common)
        left, right = here.ids(common).tolist(), there.ids(common).tolist()
        for slice, other in _same_slices(a, b):
            x, z = a.take(left, one, slice), b.take(right, two, other)
            known = x.any(1) & z.any(1)
            first.append(x[known])
            second.append(z[known])
    return count, np.concatenate(first), np.concatenate(second)


def _same_slices(a: Embeddings, b: Embeddings) -> list[tuple[int, int]]:
    """Pairs of slices with the same values; all slices of `a` with that of `b`, if it has one only."""
    first, second = a.rows.slices, b.rows.slices
    if len(second) == 1:
        return [(slice, 0) for slice in range(len(first))]
    if first.columns != second.columns:
        raise InputError(
            f"the slices are not the same: the first vectors vary by {quote(first.columns) or 'nothing'}, the "
            f"second by {quote(second.columns)}. Take one slice of it: "
            f'lx.baselines.only(target, at={{"{second.columns[0]}": …}})'
        )
    return [(slice, second.keys.index(key)) for slice, key in enumerate(first.keys) if key in second.keys]
