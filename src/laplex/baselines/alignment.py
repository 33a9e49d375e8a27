"""Which rotation lays one set of vectors best upon another?

    min ‖X W − Z‖² over orthogonal W:  W = U Vᵀ,  where U Σ Vᵀ is the singular value decomposition of Xᵀ Z

Two Embeddings that share words come in; the first goes out rotated. N shared words, S slices, V words, D dimensions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import orthogonal_procrustes

from laplex.embeddings import Embeddings
from laplex.errors import InputError, quote
from laplex.vocabulary import Vocabulary

Floats = NDArray[np.float64]


def align(source: Embeddings, target: Embeddings, words: Sequence[str] | None = None) -> Embeddings:
    """The first vectors, rotated (perhaps reflected) so that the words both have lie closest to the second.

    It is one rotation for all slices and contexts of `source`, so nothing changes among them. Slices are laid upon
    those of the same values, or upon the only one that `target` has. `words` are those that should lie together, by
    default all that both have; a word whose vector is all zeros, since it does not occur, is not looked at.
    """
    if source.dimensions != target.dimensions:
        raise InputError(f"{source.dimensions} dimensions cannot be rotated onto {target.dimensions}")
    shared = list(_shared(source, target, words))
    count = sum(len(one) for one, _ in shared)
    if count < source.dimensions:
        raise InputError(
            f"{count:,} vectors of words that both have do not fix a rotation of {source.dimensions} dimensions: "
            "check the languages, slices and words"
        )
    turn = rotation(np.concatenate([one for one, _ in shared]), np.concatenate([two for _, two in shared]))
    contexts = [block @ turn for block in contexts_of(source)]
    return rebuilt(source, [stack @ turn for stack in stacks_of(source)], contexts, baseline={"name": "align"})


def only(embeddings: Embeddings, language: str | None = None, **slice: Any) -> Embeddings:
    """The vectors of one language in one slice, and its contexts, as Embeddings of their own."""
    index, number = embeddings.language(language), embeddings.slice(slice)
    whole = embeddings.rows.vocabularies[index]
    vocabulary = Vocabulary(whole.words, embeddings.counts[index][number], whole.language)
    contexts = contexts_of(embeddings)[index : index + 1]
    return Embeddings.of(
        [vocabulary], [embeddings.block(index, number)], contexts=contexts, settings=embeddings.settings
    )


def rotation(source: NDArray[Any], target: NDArray[Any]) -> Floats:
    """(D, D) The orthogonal W for which ‖source W − target‖ is smallest; both are (N, D)."""
    turn: Floats = orthogonal_procrustes(np.asarray(source, np.float64), np.asarray(target, np.float64))[0]
    return turn


def stacks_of(embeddings: Embeddings) -> list[NDArray[np.float32]]:
    """(S, V, D) The word vectors of each language."""
    slices = range(len(embeddings.rows.slices))
    return [
        np.stack([embeddings.block(index, slice) for slice in slices]) for index in range(len(embeddings.languages))
    ]


def contexts_of(embeddings: Embeddings) -> list[NDArray[np.float32]]:
    """(V, D) The context vectors of each language; an empty list if there are none."""
    start = embeddings.rows.context_start(0)
    if (embeddings.slot[start:] < 0).any():
        return []
    return [embeddings.block(index, None) for index in range(len(embeddings.languages))]


def rebuilt(
    embeddings: Embeddings, stacks: Sequence[NDArray[Any]], contexts: Sequence[NDArray[Any]], **said: Any
) -> Embeddings:
    """The same words and slices with other vectors."""
    return Embeddings.of(
        embeddings.rows.vocabularies,
        stacks,
        slices=embeddings.rows.slices,
        counts=embeddings.counts,
        contexts=contexts,
        settings={**embeddings.settings, **said},
    )


def _shared(
    source: Embeddings, target: Embeddings, words: Sequence[str] | None
) -> Iterator[tuple[NDArray[np.float32], NDArray[np.float32]]]:
    """For each language and slice that both have: the vectors of the words that both have."""
    if isinstance(words, str):
        raise InputError(f'words is a list of words: write words=["{words}"]')
    for name in source.languages:
        if name not in target.languages:
            continue
        one, two = source.languages.index(name), target.languages.index(name)
        here, there = source.rows.vocabularies[one], target.rows.vocabularies[two]
        common = [word for word in (here if words is None else dict.fromkeys(words)) if word in here and word in there]
        left, right = [here[word] for word in common], [there[word] for word in common]
        for slice, other in _same_slices(source, target):
            x, z = source.block(one, slice)[left], target.block(two, other)[right]
            known = x.any(1) & z.any(1)
            yield x[known], z[known]


def _same_slices(source: Embeddings, target: Embeddings) -> list[tuple[int, int]]:
    ours, theirs = source.rows.slices, target.rows.slices
    if len(theirs) == 1:
        return [(slice, 0) for slice in range(len(ours))]
    if ours.columns != theirs.columns:
        raise InputError(
            f"the slices are not the same: the first vectors vary by {quote(ours.columns) or 'nothing'}, the second "
            f"by {quote(theirs.columns)}. Take one slice of the second: only(target, {theirs.columns[0]}=…)"
        )
    return [(slice, theirs.keys.index(key)) for slice, key in enumerate(ours.keys) if key in theirs.keys]
