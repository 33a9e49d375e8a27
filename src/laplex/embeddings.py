"""What fitting gives: the vectors, what they are of, how they came about, and the questions they answer. Immutable."""

from __future__ import annotations

import os
from collections.abc import Sequence
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
from laplex.vectors import Vectors
from laplex.vocabulary import Vocabulary


class Embeddings(Vectors):
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
        super().__init__(rows, theta, slot, counts)
        self.graph = graph  # over parameters
        self.settings = settings
        self.history = pd.DataFrame(history)

    @classmethod
    def of(
        cls,
        vocabularies: Sequence[Vocabulary],
        vectors: Sequence[NDArray[Any]],
        *,
        slices: Slices | None = None,
        counts: Sequence[NDArray[np.int64]] | None = None,
        contexts: Sequence[NDArray[Any]] | None = None,
        settings: dict[str, Any] | None = None,
    ) -> Embeddings:
        """Embeddings from vectors made elsewhere: for each language (S, V, D), or (V, D) if there is one slice.

        `counts` are those of each slice, (S, V) for each language; with one slice, those of the vocabularies.
        """
        slices = slices or Slices((), ((),), np.empty(0, np.int32))
        rows = Rows(vocabularies, slices)
        words = [np.asarray(matrix, np.float32).reshape(-1, np.shape(matrix)[-1]) for matrix in vectors]
        parts = [*words, *(np.asarray(matrix, np.float32) for matrix in contexts or [])]
        theta = np.concatenate(parts)
        slot = np.full(len(rows), -1, np.int32)
        slot[: len(theta)] = np.arange(len(theta))
        counts = [vocabulary.counts[None, :] for vocabulary in vocabularies] if counts is None else list(counts)
        return cls(rows, theta, slot, counts, Graph.of(len(theta)), settings or {}, [])

    def contrast(self, column: str, top: int = 15, *, min_count: int = 0, language: str | None = None) -> pd.DataFrame:
        """The words whose vectors differ most between two values of a column, by Euclidean distance (Tables 2 to 4).

        The distance is the mean over all other slices; `min_count` is asked of the word for each value.
        """
        if column not in self.rows.slices.columns:
            raise InputError(f'vectors do not vary by "{column}"; they vary by: {quote(self.rows.slices.columns)}')
        index = self.language(language)
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
                [np.linalg.norm(self.block(index, c[one]) - self.block(index, c[two]), axis=1) for c in shared], axis=0
            )
            counts = [sum(self.counts[index][cell[value]] for cell in shared) for value in (one, two)]
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
        for i, (vocabulary, counts) in enumerate(zip(self.rows.vocabularies, self.counts, strict=True)):
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
