"""Vectors that were made elsewhere, as Embeddings that answer every question.

A file as word2vec, GloVe and fastText write it, or gensim's KeyedVectors, comes in; Embeddings go out: one language,
one slice, no context vectors.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from laplex import word2vec
from laplex.embeddings import Embeddings
from laplex.errors import InputError
from laplex.vocabulary import Vocabulary


def load_word2vec(
    path: str | os.PathLike[str], *, language: str = "", binary: bool | None = None, quiet: bool = False
) -> Embeddings:
    """Read word vectors in word2vec's formats, text or binary, also GloVe's and fastText's .vec, also .gz.

    The words keep the order of the file. How often they occur is not known: all counts are 0.
    """
    words, vectors = word2vec.read(path, binary=binary, quiet=quiet)
    vocabulary = Vocabulary(words, np.zeros(len(words), np.int64), language)
    return Embeddings.of([vocabulary], [vectors], settings={"read": str(path)})


def from_gensim(keyed: Any, *, language: str = "") -> Embeddings:
    """Take over gensim's KeyedVectors, with their counts if they have any."""
    if not (hasattr(keyed, "index_to_key") and hasattr(keyed, "vectors")):
        raise InputError(f"{type(keyed).__name__} is not gensim's KeyedVectors: pass model.wv of a gensim model")
    words = [str(word) for word in keyed.index_to_key]
    vectors = np.array(keyed.vectors, np.float32)
    if not len(words) or vectors.shape[0] != len(words):
        raise InputError(f"these KeyedVectors hold {len(words):,} words and vectors of shape {vectors.shape}")
    counts = np.array(keyed.expandos.get("count", np.zeros(len(words))), np.int64)
    return Embeddings.of([Vocabulary(words, counts, language)], [vectors], settings={"read": "gensim"})
