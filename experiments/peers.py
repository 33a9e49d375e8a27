"""gensim with the tokens and the settings of a laplex model, in its fastest mode, for comparison.

Word vectors are returned in the order of the vocabulary. V words, D dimensions.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import laplex as lx

MAX_WORDS_PER_LINE = 10_000  # gensim truncates longer lines


def write(tokens: lx.Tokens, path: Path, documents: Sequence[int] | None = None, language: int = 0) -> int:
    """Write the tokens as lines of text, one document per line, and return their number."""
    words = np.array(tokens.vocabularies[language].words, dtype=object)
    count = 0
    with path.open("w", encoding="utf-8") as file:
        for document in range(tokens.documents) if documents is None else documents:
            ids = tokens.document(document)
            count += len(ids)
            for begin in range(0, len(ids), MAX_WORDS_PER_LINE):
                file.write(" ".join(words[ids[begin : begin + MAX_WORDS_PER_LINE]]) + "\n")
    return count


class Gensim:
    """word2vec with the vocabulary and the settings of a laplex model."""

    def __init__(self, tokens: lx.Tokens, model: lx.Model, *, epochs: int, threads: int, seed: int = 1) -> None:
        self.tokens = tokens
        self.epochs = epochs
        self.options: dict[str, Any] = {
            "vector_size": model.dimensions,
            "window": model.window,
            "negative": model.negatives,
            "sample": model.subsample,
            "sg": int(model.likelihood == "sgns"),
            "workers": threads,
            "epochs": epochs,
            "seed": seed,
            "min_count": 1,
        }

    def train(self, documents: Sequence[int] | None = None, *, compass: Any = None) -> Any:
        """A Word2Vec of some documents; it starts from `compass`, another Word2Vec, and keeps its input vectors."""
        from gensim.models import Word2Vec

        vocabulary = self.tokens.vocabularies[0]
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "text"
            count = write(self.tokens, path, documents)
            model = Word2Vec(**self.options)
            model.build_vocab_from_freq(dict(zip(vocabulary.words, vocabulary.counts.tolist())))
            if compass is not None:
                model.wv.vectors[:] = _ordered(compass.wv.vectors, compass, model.wv.index_to_key)
                model.syn1neg[:] = _ordered(compass.syn1neg, compass, model.wv.index_to_key)
                model.wv.vectors_lockf = np.zeros(1, np.float32)
            model.train(
                corpus_file=str(path),
                total_words=count,
                total_examples=path.read_bytes().count(b"\n"),
                epochs=self.epochs,
            )
        return model

    def vectors(self, model: Any, *, outputs: bool = False) -> NDArray[np.float32]:
        """(V, D) The input vectors, or the output vectors."""
        return _ordered(model.syn1neg if outputs else model.wv.vectors, model, self.tokens.vocabularies[0].words)


def _ordered(rows: NDArray[np.float32], model: Any, words: Sequence[str]) -> NDArray[np.float32]:
    ordered: NDArray[np.float32] = rows[[model.wv.key_to_index[word] for word in words]]
    return ordered
