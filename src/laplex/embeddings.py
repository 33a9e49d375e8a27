"""What fitting gives: the vectors, what they are of, and how they came about. Immutable.

Vectors are kept as parameters (P, D); a row's vector is that of its slot, since tied rows share one.
"""

from __future__ import annotations

import os
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from laplex import storage
from laplex.corpus import in_order
from laplex.errors import InputError, StorageError, quote
from laplex.graph import Graph
from laplex.rows import Rows
from laplex.tokens import Slices
from laplex.vocabulary import Vocabulary


class Embeddings:
    """Vectors of words, by slice, and of contexts."""

    def __init__(
        self,
        rows: Rows,
        theta: NDArray[np.float32],
        slot: NDArray[np.int32],
        counts: list[NDArray[np.int64]],
        graph: Graph,
        settings: dict[str, Any],
        history: list[dict[str, Any]],
    ) -> None:
        self.rows = rows
        self.theta = theta
        self.slot = slot
        self.graph = graph  # over parameters
        self.settings = settings
        self.history = pd.DataFrame(history)
        self._counts = counts  # of each language, (S, V)

    @property
    def dimensions(self) -> int:
        return int(self.theta.shape[1])

    @property
    def languages(self) -> list[str]:
        return [vocabulary.language for vocabulary in self.rows.vocabularies]

    @property
    def slices(self) -> pd.DataFrame:
        """The slices, with their tokens."""
        frame = pd.DataFrame(list(self.rows.slices.keys), columns=list(self.rows.slices.columns))
        return frame.assign(tokens=sum(count.sum(1) for count in self._counts))

    def words(self, language: str | None = None) -> list[str]:
        """The vocabulary, most frequent first."""
        return list(self.rows.vocabularies[self._language(language)].words)

    def __contains__(self, word: object) -> bool:
        return any(word in vocabulary for vocabulary in self.rows.vocabularies)

    def __repr__(self) -> str:
        words = " + ".join(f"{len(v):,}" for v in self.rows.vocabularies)
        by = f" by {', '.join(self.rows.slices.columns)} ({len(self.rows.slices)} slices)" if self._varies else ""
        return f"Embeddings: {words} words{by}, {self.dimensions} dimensions"

    @property
    def _varies(self) -> bool:
        return bool(self.rows.slices.columns)

    def _language(self, name: str | None) -> int:
        if name is None and len(self.languages) == 1:
            return 0
        if name not in self.languages:
            raise InputError(f"say which language: language= one of {quote(self.languages)}, not {name!r}")
        return self.languages.index(name)

    def _slice(self, values: dict[str, Any]) -> int:
        """The slice with these values, all of them given."""
        columns = self.rows.slices.columns
        for column in values:
            if column not in columns:
                raise InputError(f'vectors do not vary by "{column}"; they vary by: {quote(columns) or "nothing"}')
        missing = [column for column in columns if column not in values]
        if missing:
            raise InputError(f"say which slice: {', '.join(f'{column}=' for column in missing)} is not given")
        key = tuple(str(values[column]) for column in columns)
        if key not in self.rows.slices.keys:
            raise InputError(f"there is no slice {key}; there are {quote(self.rows.slices.keys, 12)}")
        return self.rows.slices.keys.index(key)

    def matrix(self, language: str | None = None, **slice: Any) -> NDArray[np.float32]:
        """(V, D) The vectors of all words in a slice, in the order of `words()`."""
        return self._rows(self._language(language), self._slice(slice))

    def contexts(self, language: str | None = None) -> NDArray[np.float32]:
        """(V, D) The context vectors, in the order of `words()`."""
        rows = self.rows.contexts(self._language(language))
        return self.theta[self.slot[rows.start : rows.stop]]

    def vector(self, word: str, language: str | None = None, **slice: Any) -> NDArray[np.float32]:
        """The vector of a word in a slice."""
        index = self._language(language)
        row = self.rows.word_start(index, self._slice(slice)) + self.rows.vocabularies[index][word]
        vector: NDArray[np.float32] = self.theta[self.slot[row]]
        return vector

    def count(self, word: str, language: str | None = None, **slice: Any) -> int:
        """How often a word occurs, in a slice or in all of them."""
        index = self._language(language)
        counts = self._counts[index][:, self.rows.vocabularies[index][word]]
        return int(counts[self._slice(slice)] if slice else counts.sum())

    def contrast(self, column: str, top: int = 15, *, min_count: int = 0, language: str | None = None) -> pd.DataFrame:
        """The words whose vectors differ most between two values of a column, by Euclidean distance (Tables 2 to 4).

        The distance is the mean over all other slices; `min_count` is asked of the word for each value.
        """
        if column not in self.rows.slices.columns:
            raise InputError(f'vectors do not vary by "{column}"; they vary by: {quote(self.rows.slices.columns)}')
        index = self._language(language)
        vocabulary = self.rows.vocabularies[index]
        cells = self.rows.slices.cells(column)
        values = in_order({value for cell in cells for value in cell})
        if len(values) < 2:
            raise InputError(f'column "{column}" has one value only, {values[0]}: there is nothing to contrast')
        frames = []
        for one, two in combinations(values, 2):
            shared = [cell for cell in cells if one in cell and two in cell]
            if not shared:
                continue
            distance = np.mean(
                [np.linalg.norm(self._rows(index, c[one]) - self._rows(index, c[two]), axis=1) for c in shared], axis=0
            )
            counts = [sum(self._counts[index][cell[value]] for cell in shared) for value in (one, two)]
            frames.append(
                pd.DataFrame(
                    {
                        "word": vocabulary.words,
                        column: f"{one} – {two}",
                        "distance": distance,
                        "count_one": counts[0],
                        "count_two": counts[1],
                    }
                )
            )
        if not frames:
            others = quote(name for name in self.rows.slices.columns if name != column)
            raise InputError(f'no two values of "{column}" share a slice of {others}: there is nothing to contrast')
        whole = pd.concat(frames)
        whole = whole[(whole["count_one"] >= max(min_count, 1)) & (whole["count_two"] >= max(min_count, 1))]
        whole = whole.sort_values(["distance", "word"], ascending=[False, True])
        return whole.groupby(column, sort=False).head(top).reset_index(drop=True)

    def _rows(self, language: int, slice: int) -> NDArray[np.float32]:
        rows = self.rows.words(language, slice)
        return self.theta[self.slot[rows.start : rows.stop]]

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write to a folder, in one step; `load` reads it back."""
        slices = self.rows.slices
        arrays: dict[str, NDArray[Any]] = {
            "theta": np.ascontiguousarray(self.theta),
            "slot": self.slot,
            "slice_of_document": slices.of_document,
            "graph/first": self.graph.first,
            "graph/second": self.graph.second,
            "graph/weight": self.graph.weight,
            "graph/sign": self.graph.sign,
            "graph/directed": self.graph.directed,
            "graph/diagonal": self.graph.diagonal,
            "graph/targets": self.graph.targets,
        }
        for i, (vocabulary, counts) in enumerate(zip(self.rows.vocabularies, self._counts, strict=True)):
            arrays[f"words/{i}/text"], arrays[f"words/{i}/starts"] = storage.pack(vocabulary.words)
            arrays[f"counts/{i}"] = counts
        settings = {
            "languages": self.languages,
            "columns": list(slices.columns),
            "slices": [list(key) for key in slices.keys],
            "fit": self.settings,
            "history": self.history.to_dict("records"),
        }
        storage.save(folder, "embeddings", settings, arrays)


def load(folder: str | os.PathLike[str]) -> Embeddings:
    """Open a saved model, its vectors memory-mapped."""
    saved = storage.load(folder, "embeddings")
    arrays, settings = saved.arrays, saved.settings
    try:
        counts = [arrays[f"counts/{i}"] for i in range(len(settings["languages"]))]
        words = [
            storage.unpack(arrays[f"words/{i}/text"], arrays[f"words/{i}/starts"])
            for i in range(len(settings["languages"]))
        ]
        vocabularies = [
            Vocabulary(names, count.sum(0), language)
            for names, count, language in zip(words, counts, settings["languages"], strict=True)
        ]
        keys = tuple(tuple(str(value) for value in key) for key in settings["slices"])
        slices = Slices(tuple(settings["columns"]), keys, arrays["slice_of_document"])
        names = ("first", "second", "weight", "sign", "directed", "diagonal", "targets")
        graph = Graph(**{name: arrays[f"graph/{name}"] for name in names})  # type: ignore[arg-type]
        rows = Rows(vocabularies, slices)
        theta, slot = arrays["theta"], arrays["slot"]
        if slot.shape != (len(rows),) or theta.ndim != 2 or (len(slot) and slot.max() >= len(theta)):
            raise ValueError("sizes of its vectors")
        return Embeddings(rows, theta, slot, counts, graph, settings["fit"], settings["history"])
    except (KeyError, ValueError, TypeError, IndexError) as error:
        raise StorageError(f'"{saved.folder}" is damaged: {error}') from None
