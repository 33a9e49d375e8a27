"""One slice on its own, asked as one asks gensim's KeyedVectors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from laplex.errors import InputError, whole
from laplex.questions.cosine import cosines, directions, nearest
from laplex.questions.neighbors import mixture
from laplex.vectors import Vectors, listed


class View:
    """The words of one language in one slice: `view["health"]`, `view.most_similar("health")`, `"health" in view`."""

    def __init__(self, vectors: Vectors, language: int, slice: int) -> None:
        self._vectors = vectors
        self._language = language
        self._slice = slice
        self._vocabulary = vectors.rows.vocabularies[language]

    @property
    def words(self) -> list[str]:
        """The vocabulary, most frequent word of all slices first."""
        return list(self._vocabulary.words)

    def __contains__(self, word: object) -> bool:
        return word in self._vocabulary

    def __iter__(self) -> Iterator[str]:
        return iter(self._vocabulary)

    def __len__(self) -> int:
        return len(self._vocabulary)

    def __getitem__(self, words: str | Sequence[str]) -> NDArray[np.float32]:
        """The vector of a word, or those of several, one below the other."""
        taken = self._vectors.take(self._ids(words), self._language, self._slice)
        return taken[0] if isinstance(words, str) else taken

    def count(self, word: str) -> int:
        """How often a word occurs here."""
        return int(self._vectors.counts[self._language][self._slice, self._ids(word)[0]])

    def similarity(self, one: str, two: str) -> float:
        """The cosine of the vectors of two words."""
        first, second = directions(self._vectors, self._ids([one, two]), self._language, self._slice)
        return float(first @ second)

    def most_similar(
        self, positive: str | Sequence[str] | None = None, negative: str | Sequence[str] | None = None, topn: int = 10
    ) -> list[tuple[str, float]]:
        """The words most similar to the mean of `positive` less `negative`, all at length one; those left out."""
        topn = whole("topn", topn)
        signed = [(word, 1) for word in self._ids(positive)] + [(word, -1) for word in self._ids(negative)]
        if not signed:
            raise InputError('name a word, or words: most_similar("health")')
        query = mixture(self._vectors, signed, self._language, self._slice)
        similarity = cosines(self._vectors, query[None], self._language, self._slice)[0]
        found = nearest(similarity, topn, [word for word, _ in signed])
        return [(self._vocabulary.words[i], float(similarity[i])) for i in found]

    def __repr__(self) -> str:
        key = zip(self._vectors.columns, self._vectors.rows.slices.keys[self._slice])
        where = ", ".join(f"{column}={value}" for column, value in key)
        return f"View: {len(self):,} words, {self._vectors.dimensions} dimensions{where and f', {where}'}"

    def _ids(self, words: str | Sequence[str] | None) -> list[int]:
        return [self._vectors.id(word, self._language) for word in listed(words)]
