"""What fitting gives: the vectors, what they are of, how they came about, and the questions they answer. Immutable."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from laplex import exchange, storage
from laplex.errors import InputError, StorageError
from laplex.graph import Graph
from laplex.questions.belief import chained, mean_of
from laplex.questions.contrast import contrast
from laplex.questions.cosine import By
from laplex.questions.distance import distance
from laplex.questions.drift import drift
from laplex.questions.mean import group_mean
from laplex.questions.neighbors import neighbors, similarity
from laplex.questions.pairing import Measure
from laplex.questions.projection import Pole, project
from laplex.questions.trajectory import trajectory
from laplex.questions.view import View
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
        if counts is None and len(slices) == 1:
            counts = [vocabulary.counts[None, :] for vocabulary in vocabularies]
        if counts is None:
            raise InputError(f"there are {len(slices)} slices: give counts=, how often each word occurs in each")
        words = [np.asarray(matrix, np.float32) for matrix in vectors]
        words = [matrix[None] if matrix.ndim == 2 and len(slices) == 1 else matrix for matrix in words]
        around = [np.asarray(matrix, np.float32)[None] for matrix in contexts or []]
        sizes = [len(vocabulary) for vocabulary in vocabularies]
        dimensions = max((matrix.shape[-1] for matrix in words if matrix.ndim), default=0)
        _check_shapes("vectors", words, [(len(slices), size, dimensions) for size in sizes])
        _check_shapes("counts", counts, [(len(slices), size) for size in sizes])
        if around:
            _check_shapes("contexts", around, [(1, size, dimensions) for size in sizes])
        theta = np.concatenate([matrix.reshape(-1, dimensions) for matrix in [*words, *around]])
        slot = np.full(len(rows), -1, np.int32)
        slot[: len(theta)] = np.arange(len(theta))
        return cls(rows, theta, slot, list(counts), Graph.of(len(theta)), settings or {}, [])

    def ordered(self, column: str) -> bool:
        """Does a column have an order: are its values numbers or periods of time, or is there a Chain along it?"""
        return super().ordered(column) or column in chained(self.settings)

    def at(self, language: str | None = None, **slice: Any) -> View:
        """One slice on its own, to be asked like gensim's KeyedVectors: fitted.at(party="D").most_similar("health")"""
        return View(self, self.language(language), self.slice(slice))

    def neighbors(
        self,
        word: str | Sequence[str] | None = None,
        k: int = 10,
        *,
        by: By = "words",
        positive: str | Sequence[str] | None = None,
        negative: str | Sequence[str] | None = None,
        language: str | None = None,
        to_language: str | None = None,
        **slice: Any,
    ) -> pd.DataFrame:
        """The k words most similar to a word, in one slice or in several side by side, by the cosine.

        Of several words the mean direction is taken; those in `negative` count against it. `by` compares vectors of
        words, of contexts (which do not vary by slice), or the sum of both. `to_language` looks for translations.

            fitted.neighbors("health", party="D")
            fitted.neighbors(positive=["king", "woman"], negative="man")
        """
        return neighbors(
            self,
            word,
            k,
            by=by,
            positive=positive,
            negative=negative,
            language=language,
            to_language=to_language,
            where=slice,
        )

    def similarity(
        self, one: str, two: str, *, language: str | None = None, to_language: str | None = None, **slice: Any
    ) -> pd.DataFrame:
        """The cosine of two words in each slice; `to_language` is that of the second word, if it is another.

        fitted.similarity("health", "insurance", party="D")
        """
        return similarity(self, one, two, language=language, to_language=to_language, where=slice)

    def contrast(
        self,
        column: str,
        top: int = 15,
        *,
        words: str | Sequence[str] | None = None,
        measure: Measure = "euclidean",
        min_count: int = 0,
        each: bool = False,
        language: str | None = None,
        **slice: Any,
    ) -> pd.DataFrame:
        """The words whose vectors differ most between two values of a column (the paper's Tables 2 to 4).

        The distance is the mean over all other slices, or with `each` that in each of them. `min_count` is asked of
        a word at each of the two values. `words` are looked at instead of the `top` ones.

            fitted.contrast("party", top=15, min_count=50)
        """
        return contrast(
            self,
            column,
            top,
            words=words,
            measure=measure,
            min_count=min_count,
            each=each,
            language=language,
            where=slice,
        )

    def distance(
        self,
        words: str | Sequence[str],
        across: str,
        along: str | None = None,
        *,
        measure: Measure = "euclidean",
        language: str | None = None,
        **slice: Any,
    ) -> pd.DataFrame:
        """How far apart words are between the values of one column, for each value of another (the paper's Figure 1).

        Over columns that are neither named nor given a value, the distance is the mean.

            fitted.distance(["health", "relief"], across="party", along="period")
        """
        return distance(self, words, across, along, measure=measure, language=language, where=slice)

    def drift(
        self,
        column: str,
        top: int = 15,
        *,
        words: str | Sequence[str] | None = None,
        measure: Measure = "euclidean",
        min_count: int = 0,
        steps: bool = False,
        k: int = 5,
        language: str | None = None,
        **slice: Any,
    ) -> pd.DataFrame:
        """The words that moved most from the first value of an ordered column to the last, and k neighbors at both.

        "path" is the length of all steps on the way; `steps` gives them one by one. All are means over the other
        slices that have both the first and the last value; `min_count` is asked of a word at these two. "count" is
        that of all slices a row is about.

            fitted.drift("period", top=15, min_count=50, party="D")
        """
        return drift(
            self,
            column,
            top,
            words=words,
            measure=measure,
            min_count=min_count,
            steps=steps,
            k=k,
            language=language,
            where=slice,
        )

    def trajectory(
        self,
        word: str,
        *,
        along: str | None = None,
        to: str | Sequence[str] | None = None,
        reference: Literal["first", "last"] = "first",
        k: int = 5,
        language: str | None = None,
        **slice: Any,
    ) -> pd.DataFrame:
        """How similar a word is to what it was at the first (or last) value of an ordered column, and its neighbors.

        Words in `to` are what it is compared with instead, in the same slice. `along` may be left out if only one
        column has an order.

            fitted.trajectory("health", to=["insurance", "security"], party="D")
        """
        return trajectory(self, word, along=along, to=to, reference=reference, k=k, language=language, where=slice)

    def project(
        self, words: str | Sequence[str], axis: tuple[Pole, Pole], *, language: str | None = None, **slice: Any
    ) -> pd.DataFrame:
        """Where words stand, from −1 to 1, on the axis from the words of the second pole to those of the first.

        fitted.project(["opera", "boxing"], axis=(["rich", "wealthy"], ["poor"]))
        """
        return project(self, words, axis, language=language, where=slice)

    def group_mean(self, word: str, column: str, *, language: str | None = None, **slice: Any) -> NDArray[np.float32]:
        """The vector that the values of a column share: that of the prior's GroupMean (Proposition 3), or the mean.

        fitted.group_mean("health", "party", period="2010")
        """
        strength, spread = mean_of(self.settings, column)
        return group_mean(self, word, column, strength=strength, spread=spread, language=language, where=slice)

    def to_gensim(self, language: str | None = None, *, contexts: bool = False, **slice: Any) -> Any:
        """gensim's KeyedVectors of a slice: fitted.to_gensim(party="D").most_similar("health")"""
        return exchange.to_gensim(self, language, contexts=contexts, **slice)

    def to_frame(self, language: str | None = None, **slice: Any) -> pd.DataFrame:
        """A table of all vectors, or of the slices with these values: slice, word, count, d0, d1, …"""
        return exchange.to_frame(self, language, **slice)

    def export(self, path: str | os.PathLike[str], language: str | None = None, **slice: Any) -> None:
        """Write vectors for other programs, in the format that the ending of the file tells.

        .txt .vec   word2vec text, .bin binary: one slice, which is to be chosen
        .npz        NumPy: words, vectors, counts and contexts
        .parquet    a table of all slices, or of those with the given values; .csv the same

            fitted.export("democrats.vec", party="D")
        """
        exchange.export(self, path, language, **slice)

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
            "history": self.history.astype(object).where(self.history.notna(), None).to_dict("records"),
        }
        storage.save(folder, "embeddings", settings, arrays)


def _check_shapes(name: str, arrays: Sequence[NDArray[Any]], shapes: Sequence[tuple[int, ...]]) -> None:
    found = [np.shape(array) for array in arrays]
    if found != shapes:
        raise InputError(f"the {name} have the shapes {found}: they must be {shapes}, one for each language")


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
