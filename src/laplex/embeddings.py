"""What fitting gives: the vectors, what they are of, how they came about. Immutable, and saved as a folder."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from laplex import exchange, storage
from laplex.answers import Answers
from laplex.card import card
from laplex.errors import InputError, StorageError
from laplex.filling import Absent, Filling
from laplex.graph import Graph
from laplex.rows import Rows
from laplex.tokens import Slices
from laplex.vocabulary import Vocabulary

if TYPE_CHECKING:
    from laplex.report import Report


class Embeddings(Answers):
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
        spread: NDArray[np.float32] | None = None,
        filling: Filling | None = None,
    ) -> None:
        super().__init__(rows, theta, slot, counts, Absent(filling, graph, rows, slot) if filling else None)
        self.graph = graph  # over parameters
        self.settings = settings
        self.history = pd.DataFrame(history)
        self.spread = spread  # (P, D) standard deviations, where the fit was variational
        self.filling = filling  # what fills vectors of absent words, where they are not kept

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

    def deviation(self, word: str, language: str | None = None, **slice: Any) -> NDArray[np.float32]:
        """How unsure the model is of each number in a word's vector: its standard deviation in a variational fit.

        This is what the model believes, all occurrences independent, and it is too narrow: mean-field inference takes
        each number as independent of all others. It is not a test, and says nothing about another sample of text.

            fitted = lx.fit(model, corpus, inference="variational")
            fitted.deviation("health", party="D")
        """
        if self.spread is None:
            raise InputError('these vectors have no deviations: fit them with inference="variational"')
        index = self.language(language)
        own = self.slots(index, self.slice(slice))[self.id(word, index)]
        deviation: NDArray[np.float32] = self.spread[own]
        return deviation

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
        if self.spread is not None:
            arrays["spread"] = np.ascontiguousarray(self.spread)
        if self.filling is not None:
            arrays |= {"filling/covariance": self.filling.covariance, "filling/kind": self.filling.kind}
        for i, (vocabulary, counts) in enumerate(zip(self.rows.vocabularies, self.counts, strict=True)):
            arrays[f"words/{i}/text"], arrays[f"words/{i}/starts"] = storage.pack(vocabulary.words)
            arrays[f"counts/{i}"] = counts
        settings = {
            "languages": self.languages,
            "columns": list(slices.columns),
            "slices": [list(key) for key in slices.keys],
            "fit": {"versions": storage.versions()} | self.settings,
            "history": self.history.astype(object).where(self.history.notna(), None).to_dict("records"),
        }
        storage.save(folder, "embeddings", settings, arrays)

    def report(self, path: str | os.PathLike[str] | None = None, **options: Any) -> Report:
        """A report on these vectors, for a notebook or a file; options are those of `lx.report`.

        fitted.report("speeches.html", words=["health", "tax"], cluster="speaker")
        """
        from laplex.report import report

        return report(self, path, **options)

    def _repr_html_(self) -> str:
        words = [f"{len(known):,} of {known.language}".removesuffix(" of ") for known in self.rows.vocabularies]
        facts = [("words", ", ".join(words)), ("dimensions", str(self.dimensions))]
        model = self.settings.get("model", {})
        facts += [(name, str(model[name])) for name in ("prior", "likelihood") if model.get(name)]
        if len(self.history):
            held_out = self.history.get("held_out", pd.Series(dtype=float)).dropna()
            judged = f", held-out log likelihood {held_out.iloc[-1]:.3f} a token" if len(held_out) else ""
            facts.append(("training", f"{len(self.history)} epochs{judged}"))
        rows = [[*map(str, row[:-1]), f"{row[-1]:,}"] for row in self.slices.itertuples(index=False)]
        by = f" by {', '.join(self.columns)}" if self.columns else ""
        return card(f"{type(self).__name__}{by}", facts, [*self.columns, "tokens"], rows if self.columns else ())


def _check_shapes(name: str, arrays: Sequence[NDArray[Any]], shapes: Sequence[tuple[int, ...]]) -> None:
    found = [np.shape(array) for array in arrays]
    if found != shapes:
        raise InputError(f"the {name} have the shapes {found}: they must be {shapes}, one for each language")


def load(folder: str | os.PathLike[str]) -> Embeddings:
    """Open a saved model, its vectors memory-mapped."""
    saved = storage.load(folder, "embeddings")
    arrays, settings = saved.arrays, saved.settings
    try:
        keys = tuple(_whole(key) for key in settings["slices"])
        slices = Slices(_names(settings, "columns"), keys, arrays["slice_of_document"])
        if any(len(key) != len(slices.columns) for key in keys) or not _within(slices.of_document, 0, len(slices)):
            raise ValueError("its slices")
        vocabularies, counts = [], []
        for i, language in enumerate(_names(settings, "languages")):
            words = storage.unpack(arrays[f"words/{i}/text"], arrays[f"words/{i}/starts"])
            counts.append(_of_kind(arrays[f"counts/{i}"], "iu", (len(slices), len(words))))
            vocabularies.append(Vocabulary(words, counts[i].sum(0), language))
        rows = Rows(vocabularies, slices)
        theta, slot = arrays["theta"], _of_kind(arrays["slot"], "i", (len(rows),))
        if theta.ndim != 2 or theta.dtype != np.float32 or not _within(slot, -1, len(theta)):
            raise ValueError("its vectors")
        spread = arrays.get("spread")
        if spread is not None:
            _of_kind(spread, "f", theta.shape)
        graph, filling = _graph(arrays, len(theta)), _filling(arrays, rows)
        history = _records(settings["history"])
        return Embeddings(rows, theta, slot, counts, graph, dict(settings["fit"]), history, spread, filling)
    except (KeyError, ValueError, TypeError, IndexError, AttributeError) as error:
        raise StorageError(f'"{saved.folder}" is damaged: {error}') from None


def _names(settings: dict[str, Any], what: str) -> tuple[str, ...]:
    """The names of columns or languages, if they are a list of texts, each once."""
    names = settings[what]
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        raise ValueError(f"its {what} are {names!r}")
    return _whole(names)


def _whole(texts: Iterable[Any]) -> tuple[str, ...]:
    """The texts; ValueError if there is half a character in one, which no table can hold."""
    found = tuple(str(text) for text in texts)
    "".join(found).encode()
    return found


def _of_kind(array: NDArray[Any], kinds: str, shape: tuple[int, ...]) -> NDArray[Any]:
    """The array, if it is as it must be: of one of these kinds of numbers, as NumPy calls them, and of this shape."""
    if array.dtype.kind not in kinds or array.shape != shape:
        raise ValueError(f"an array of {array.dtype} with the shape {array.shape} where it must be {shape}")
    return array


def _within(numbers: NDArray[Any], least: int, end: int) -> bool:
    return numbers.ndim == 1 and numbers.dtype.kind == "i" and bool(((numbers >= least) & (numbers < end)).all())


def _graph(arrays: dict[str, NDArray[Any]], nodes: int) -> Graph:
    kinds = {"first": "i", "second": "i", "weight": "f", "sign": "i", "directed": "b"}
    edges = arrays["graph/first"].shape[:1]
    parts = {name: _of_kind(arrays[f"graph/{name}"], kind, edges) for name, kind in kinds.items()}
    targets = arrays["graph/targets"]
    if targets.ndim != 2:
        raise ValueError("its fixed vectors")
    diagonal = _of_kind(arrays["graph/diagonal"], "f", (nodes,))
    return Graph(**parts, diagonal=diagonal, targets=targets)  # type: ignore[arg-type]


def _filling(arrays: dict[str, NDArray[Any]], rows: Rows) -> Filling | None:
    if "filling/covariance" not in arrays:
        return None
    kinds, slices = len(arrays["filling/covariance"]), len(rows.slices)
    covariance = _of_kind(arrays["filling/covariance"], "f", (kinds, slices, slices))
    kind = _of_kind(arrays["filling/kind"], "i", (sum(map(len, rows.vocabularies)),))
    if not np.isfinite(covariance).all() or not _within(kind, 0, kinds):
        raise ValueError("what fills absent words")
    return Filling(covariance, kind)


def _records(history: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The history, if it makes a table that is not much larger than itself."""
    columns = {name for record in history for name in record}
    if len(columns) * len(history) > 100 + 20 * sum(map(len, history)):
        raise ValueError("its history")
    return history
