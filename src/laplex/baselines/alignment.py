"""The vectors of Embeddings taken apart, and put together again with others.

S slices, V words, D dimensions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from laplex.embeddings import Embeddings
from laplex.vocabulary import Vocabulary


def only(embeddings: Embeddings, language: str | None = None, **slice: Any) -> Embeddings:
    """The vectors of one language in one slice, and its contexts, as Embeddings of their own."""
    index, number = embeddings.language(language), embeddings.slice(slice)
    whole = embeddings.rows.vocabularies[index]
    vocabulary = Vocabulary(whole.words, embeddings.counts[index][number], whole.language)
    contexts = contexts_of(embeddings)[index : index + 1]
    return Embeddings.of(
        [vocabulary], [embeddings.block(index, number)], contexts=contexts, settings=embeddings.settings
    )


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
