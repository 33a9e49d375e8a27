"""Which rotation lays one fit upon another, and by which can dimensions be read?

The likelihood knows vectors by their products alone, the prior by their distances: turned all together, they are the
same model, and two fits of it differ by a rotation even where they agree. Embeddings come in; they go out turned,
words, contexts and whatever the graph holds fixed, all by one orthogonal matrix:

    onto another fit   min ‖X W − Z‖²:  W = U Vᵀ, where U Σ Vᵀ is the singular value decomposition of Xᵀ Z
    canonical          W = the eigenvectors of Xᵀ X by falling eigenvalue, each with the sign for which Σ (X w)³ > 0

X (N, D) are the vectors of N words, in their slices; Z (N, D) those of the same words in the other fit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import orthogonal_procrustes

from laplex.embeddings import Embeddings
from laplex.errors import InputError, quote
from laplex.progress import bar, say

Floats = NDArray[np.float64]
BLOCK = 1 << 16  # vectors turned at once
ALIKE = 1e-6  # two axes whose spreads differ by less than this share cannot be told apart


def align(a: Embeddings, b: Embeddings, words: Sequence[str] | None = None, *, quiet: bool = False) -> Embeddings:
    """The first vectors, rotated (perhaps reflected) so that the words both have lie closest to the second.

    It is one rotation for all languages, slices and contexts of `a`, so that nothing changes among them. Slices are
    laid upon those of the same values, or upon the only one that `b` has; languages upon those of the same name.
    `words` are those that should lie together, by default all that both have; a word whose vector is all zeros, since
    it does not occur, is not looked at.

        moved = lx.align(second_seed, first_seed)
    """
    if a.dimensions != b.dimensions:
        raise InputError(f"{a.dimensions} dimensions cannot be rotated onto {b.dimensions}")
    if isinstance(words, str):
        raise InputError(f'words is a list of words: write words=["{words}"]')
    count, x, z = _shared(a, b, words)
    if len(x) < a.dimensions:
        raise InputError(
            f"{len(x):,} vectors of words that both have do not fix a rotation of {a.dimensions} dimensions: "
            "check the languages, slices and words"
        )
    turn = rotation(x, z)
    laid = x.astype(np.float64) @ turn
    cosine = float(np.mean(np.sum(laid * z, 1) / (np.linalg.norm(laid, axis=1) * np.linalg.norm(z, axis=1))))
    of = "" if words is None else f" of {len(set(words)):,}"
    say(f"rotated by {count:,}{of} words, {len(x):,} vectors; their mean cosine is {cosine:.3f}", quiet=quiet)
    _tell_anchored(a, quiet)
    return rotated(a, turn, {"name": "align", "words": count, "vectors": len(x), "cosine": cosine}, quiet=quiet)


def normalize_rotation(fitted: Embeddings, words: Sequence[str] | None = None, *, quiet: bool = False) -> Embeddings:
    """The same vectors on their principal axes: the first dimension is that along which the words spread most.

    No product, cosine, distance or likelihood changes. `words` are those whose spread counts, in all slices; by default
    all. Axes that spread nearly alike may change places from one fit to the next: to read two fits dimension by
    dimension, normalize the first and `align` the second to it.

        lx.normalize_rotation(fitted).to_frame()
    """
    x = np.concatenate(list(_chosen(fitted, words))).astype(np.float64)
    spread, axes = np.linalg.eigh(x.T @ x)
    spread, axes = spread[::-1], axes[:, ::-1]
    if len(x) < fitted.dimensions or spread[-1] <= len(x) * np.finfo(np.float32).eps ** 2 * spread[0]:
        raise InputError(
            f"{len(x):,} vectors do not span the {fitted.dimensions} dimensions, so they do not fix all axes: "
            "give more words"
        )
    alike = np.flatnonzero(spread[:-1] - spread[1:] < ALIKE * spread[:-1])
    if len(alike):
        one = int(alike[0])
        say(f"words spread alike on axes {one} and {one + 1}: these are not determined by them", quiet=quiet)
    signs = np.where(((x @ axes) ** 3).sum(0) < 0, -1.0, 1.0)
    _tell_anchored(fitted, quiet)
    said = {"name": "principal axes", "vectors": len(x), "spread": (spread / spread.sum()).tolist()}
    return rotated(fitted, axes * signs, said, quiet=quiet)


def rotation(source: NDArray[Any], target: NDArray[Any]) -> Floats:
    """(D, D) The orthogonal W for which ‖source W − target‖ is smallest; both are (N, D)."""
    turn: Floats = orthogonal_procrustes(np.asarray(source, np.float64), np.asarray(target, np.float64))[0]
    return turn


def rotated(embeddings: Embeddings, turn: Floats, said: dict[str, Any], *, quiet: bool = False) -> Embeddings:
    """All vectors times an orthogonal matrix (D, D); the graph, the counts and the settings stay."""
    theta = np.empty_like(embeddings.theta)
    with bar("rotating", quiet=quiet) as progress:
        for start in range(0, len(theta), BLOCK):
            theta[start : start + BLOCK] = embeddings.theta[start : start + BLOCK].astype(np.float64) @ turn
            progress.update((start + BLOCK) / len(theta))
    graph = embeddings.graph
    if len(graph.targets):
        graph = replace(graph, targets=graph.targets @ turn)
    return Embeddings(
        embeddings.rows,
        theta,
        embeddings.slot,
        embeddings.counts,
        graph,
        {**embeddings.settings, "rotation": said},
        list(embeddings.history.to_dict("records")),  # type: ignore[arg-type]
        filling=embeddings.filling,
    )


def _tell_anchored(embeddings: Embeddings, quiet: bool) -> None:
    if len(embeddings.graph.targets):
        say(
            "the axes of these vectors are those of the fixed ones that an Anchor drew them to: rotated, both stay "
            "together, but neither lies on the axes of the original file any more",
            quiet=quiet,
        )


def _chosen(fitted: Embeddings, words: Sequence[str] | None) -> Iterator[NDArray[np.float32]]:
    """For each language and slice: the vectors of the chosen words, without those that are zero."""
    if isinstance(words, str):
        raise InputError(f'words is a list of words: write words=["{words}"]')
    vocabularies = fitted.rows.vocabularies
    for word in words or ():
        if word not in fitted:
            vocabularies[0][word]  # which says what words are close
    for index, vocabulary in enumerate(vocabularies):
        ids = None if words is None else [vocabulary[word] for word in dict.fromkeys(words) if word in vocabulary]
        for slice in range(len(fitted.rows.slices)):
            block = fitted.block(index, slice) if ids is None else fitted.take(ids, index, slice)
            yield block[block.any(1)]


def _shared(
    a: Embeddings, b: Embeddings, words: Sequence[str] | None
) -> tuple[int, NDArray[np.float32], NDArray[np.float32]]:
    """How many words both have, and their vectors in both, by languages and slices that both have."""
    count = 0
    ours, theirs = [np.empty((0, a.dimensions), np.float32)], [np.empty((0, b.dimensions), np.float32)]
    for name in a.languages:
        if name not in b.languages:
            continue
        one, two = a.languages.index(name), b.languages.index(name)
        here, there = a.rows.vocabularies[one], b.rows.vocabularies[two]
        common = [word for word in (here if words is None else dict.fromkeys(words)) if word in here and word in there]
        count += len(common)
        left, right = [here[word] for word in common], [there[word] for word in common]
        for slice, other in _same_slices(a, b):
            x, z = a.take(left, one, slice), b.take(right, two, other)
            known = x.any(1) & z.any(1)
            ours.append(x[known])
            theirs.append(z[known])
    return count, np.concatenate(ours), np.concatenate(theirs)


def _same_slices(a: Embeddings, b: Embeddings) -> list[tuple[int, int]]:
    ours, theirs = a.rows.slices, b.rows.slices
    if len(theirs) == 1:
        return [(slice, 0) for slice in range(len(ours))]
    if ours.columns != theirs.columns:
        raise InputError(
            f"the slices are not the same: the first vectors vary by {quote(ours.columns) or 'nothing'}, the "
            f"second by {quote(theirs.columns)}. Take one slice of it: lx.baselines.only(target, {theirs.columns[0]}=…)"
        )
    return [(slice, theirs.keys.index(key)) for slice, key in enumerate(ours.keys) if key in theirs.keys]
