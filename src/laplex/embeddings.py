"""Embeddings: the vectors that a fit estimates, with their counts, prior graph, settings and history.

They are immutable, answer questions (`questions/`), and are saved as a folder. Vectors that were made
elsewhere (word2vec, GloVe, fastText, gensim) become Embeddings of one language and one slice, without contexts.
P parameters, S slices, V words of a language, N words of all languages, D dimensions.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from laplex.errors import InputError, StorageError, explain_keywords
from laplex.model.absent import AbsentVectors, Filling
from laplex.model.graph import Graph
from laplex.model.priors.prior import WordPrior
from laplex.model.rows import Rows
from laplex.model.stored import KIND, checked, stored_vectors, within
from laplex.questions.answers import StoredTest
from laplex.questions.change import Changes
from laplex.questions.contrast import Contrasts
from laplex.questions.export import Exports
from laplex.questions.similarity import Similarities
from laplex.runtime import storage
from laplex.runtime.display import card
from laplex.runtime.lazy import provided
from laplex.text import word2vec
from laplex.text.slices import Slices
from laplex.text.vocabulary import Vocabulary, pack_phrases

EDGE_ARRAYS = {"first": "i", "second": "i", "weight": "f", "sign": "i", "directed": "b"}  # with their kinds of dtype
TUNING_COLUMNS = ("log_likelihood", "difference", "se", "epochs", "seconds", "chosen")


class Embeddings(Similarities, Contrasts, Changes, Exports):
    """Vectors of words by slice, and of contexts, with methods that answer questions about them.

    Made by `lx.fit`, `lx.load`, `lx.load_word2vec`, `lx.from_gensim` or `Embeddings.of`.

    Attributes:
        settings: How they were made: model, training, text, versions.
        history: A table with a row for each epoch.
        tuning: A table of the strengths that were tried, if the fit chose those that its model left out, or None.
        graph: The prior's graph over parameters.
        spread: (P, D) The standard deviations of a variational fit, or None.
        pooled: (2N, D) The vectors of words, then of contexts, in the first epochs of the fit, which were run without
            slices (`lx.Training.pooled_epochs`), or None. Tests take them from here: they have not seen the metadata.
        precision: (P) How much the text said of each vector, by which `update` holds it, or None.
        tests: What tests of all words gave, by what was asked. The fit makes the first of them; others are added when
            they are asked for, and saved with the model.
    """

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
        pooled: NDArray[np.float32] | None = None,
        tests: dict[str, StoredTest] | None = None,
        precision: NDArray[np.float32] | None = None,
    ) -> None:
        absent = AbsentVectors(filling, graph, rows, slot) if filling else None
        super().__init__(rows, theta, slot, counts, absent)
        self.graph = graph
        self.settings = settings
        self.history = pd.DataFrame(history)
        self.spread = spread
        self.pooled = pooled
        self.tests = tests or {}
        self.precision = precision
        self.filling = filling  # gives the vectors of absent words, if they are not kept

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
        spread: NDArray[np.float32] | None = None,
    ) -> Embeddings:
        """Embeddings from vectors that were made elsewhere.

        Args:
            vocabularies: The vocabulary of each language.
            vectors: For each language (S, V, D), or (V, D) if there is one slice.
            slices: The columns and values that the vectors vary by; one slice by default.
            counts: For each language how often each word occurs in each slice, (S, V); with one slice, the counts of
                the vocabularies by default.
            contexts: For each language the context vectors (V, D), if there are any.
            settings: Facts to keep with the vectors.
            spread: (P, D) Standard deviations of all vectors, in the order of `vectors`, then of `contexts`.

        Returns:
            The Embeddings.

        Example:
            lx.Embeddings.of([lx.Vocabulary(["a", "b"], np.array([5, 3]))], [np.eye(2)])
        """
        slices = slices or Slices((), ((),), np.empty(0, np.int32))
        rows = Rows(vocabularies, slices)
        if counts is None and len(slices) == 1:
            counts = [vocabulary.counts[None, :] for vocabulary in vocabularies]
        if counts is None:
            raise InputError(f"there are {len(slices)} slices: give counts=, how often each word occurs in each")
        words = [np.asarray(matrix, np.float32) for matrix in vectors]
        words = [matrix[None] if matrix.ndim == 2 and len(slices) == 1 else matrix for matrix in words]
        context_stacks = [np.asarray(matrix, np.float32)[None] for matrix in contexts or []]
        sizes = [len(vocabulary) for vocabulary in vocabularies]
        dimensions = max((matrix.shape[-1] for matrix in words if matrix.ndim), default=0)
        _check_shapes("vectors", words, [(len(slices), size, dimensions) for size in sizes])
        _check_shapes("counts", counts, [(len(slices), size) for size in sizes])
        if context_stacks:
            _check_shapes("contexts", context_stacks, [(1, size, dimensions) for size in sizes])
        theta = np.concatenate([matrix.reshape(-1, dimensions) for matrix in [*words, *context_stacks]])
        slot = np.full(len(rows), -1, np.int32)
        slot[: len(theta)] = np.arange(len(theta))
        if spread is not None:
            _check_shapes("deviations", [spread], [theta.shape])
        return cls(rows, theta, slot, list(counts), Graph.of(len(theta)), settings or {}, [], spread)

    @property
    def tuning(self) -> pd.DataFrame | None:
        """The strengths that the fit tried by held-out text, as in the table of `lx.tune`; None if all were given.

        The choice is usually between two that were tried; its row has 0 epochs, and what a parabola says of it.
        `tuning.attrs["summary"]` says it in words, and `lx.plots.curve(fitted.tuning)` draws it.

        Example:
            fitted = lx.fit(lx.Model(["party"], lx.Ridge() + lx.Groups("party")), speeches)
            fitted.tuning
        """
        return _tuning(self.settings)

    @explain_keywords
    def deviation(
        self, word: str, language: str | None = None, *, at: Mapping[str, Any] | None = None
    ) -> NDArray[np.float32]:
        """The standard deviation of each number in a word's vector, from a variational fit or a fit to occurrences.

        This is what the model believes with all occurrences independent. Of a variational fit it is too narrow:
        mean-field inference takes each number as independent of all others. It is no test, and says nothing about
        another sample of text.

        Args:
            word: A word.
            language: The language, if there are several.
            at: The value of every column that the vectors vary by.

        Returns:
            The standard deviations (D).

        Example:
            fitted = lx.fit(model, corpus, inference="variational")
            fitted.deviation("health", at={"party": "D"})
        """
        if self.spread is None:
            raise InputError('these vectors have no deviations: fit them with inference="variational"')
        index = self.language(language)
        deviation: NDArray[np.float32] = self.spread[self.slots(index, self.slice(at))[self.id(word, index)]]
        return deviation

    def save(self, folder: str | os.PathLike[str], *, kind: str = KIND) -> None:
        """Write the model to a folder, atomically; `lx.load` reads it.

        Args:
            folder: The folder, which is replaced if it holds a model.
            kind: What the manifest calls it; a label-free fit in the cache has a kind of its own.

        Example:
            fitted.save("speeches.laplex")
        """
        slices = self.rows.slices
        arrays: dict[str, NDArray[Any]] = {
            "theta": np.ascontiguousarray(self.theta),
            "slot": self.slot,
            "slice_of_document": slices.of_document,
        }
        arrays |= {f"graph/{name}": getattr(self.graph, name) for name in (*EDGE_ARRAYS, "diagonal", "targets")}
        if self.spread is not None:
            arrays["spread"] = np.ascontiguousarray(self.spread)
        if self.pooled is not None:
            arrays["pooled"] = self.pooled
        if self.precision is not None:
            arrays["precision"] = self.precision
        if self.filling is not None:
            prior, latent_word = self.filling
            names = ("first", "second", "weight", "diagonal")
            arrays |= {f"filling/{name}": getattr(prior.slices, name) for name in names}
            arrays |= {"filling/words": prior.words, "filling/contexts": prior.contexts, "filling/latent": latent_word}
        for i, test in enumerate(self.tests.values()):
            arrays |= {f"tests/{i}/{name}": array for name, array in test.arrays.items()}
        for i, (vocabulary, counts) in enumerate(zip(self.rows.vocabularies, self.counts, strict=True)):
            arrays[f"words/{i}/text"], arrays[f"words/{i}/starts"] = storage.pack(vocabulary.words)
            arrays[f"counts/{i}"] = counts
            arrays |= pack_phrases([*vocabulary.phrases.values()], i) if vocabulary.phrases else {}
        settings = {
            "languages": self.languages,
            "columns": list(slices.columns),
            "latent": self.graph.latent,
            "slices": [list(key) for key in slices.keys],
            "fit": {"versions": storage.versions()} | self.settings,
            "tests": [{"asked": asked, "facts": test.facts} for asked, test in self.tests.items()],
            "history": self.history.astype(object).where(self.history.notna(), None).to_dict("records"),
        }
        storage.save(folder, kind, settings, arrays)

    def update(self, corpus: Any, **options: Any) -> Embeddings:
        """Go on from this model with new text: a new period or group, or more of the same.

        Only the new text is read, so this takes a fraction of the time of a fit to everything. Vectors of slices
        without new text stay as they are. Contexts, and vectors of slices with new text, are held by what the old text
        said of them. New slices are joined to the old ones by the model's own prior, and words that
        the new text has often enough get vectors.

        The likelihood is close to that of a fit to all text. Tests need contexts that were fitted to all of it, so the
        new model answers with `test=False` only: to test, fit old and new text together with `lx.fit`.

        Args:
            corpus: The new text alone, a Corpus with the columns that the vectors vary by.
            **options: `model`, if the prior has parts that a saved model does not keep (lists of pairs, given vectors);
                `training` or its fields (`epochs=5`), by default those of this model; `min_count`, by default that of
                this model; `quiet`.

        Returns:
            New Embeddings; these stay as they are.

        Example:
            fitted = lx.load("to-2024.laplex").update(lx.read("2025.csv", metadata=["year"]))
        """
        updated: Embeddings = provided("update")(self, corpus, **options)
        return updated

    def report(self, path: str | os.PathLike[str] | None = None, **options: Any) -> Any:
        """A report on these vectors, for a notebook or a file.

        Args:
            path: An HTML file to write; without it, the report is only returned.
            **options: Those of `lx.report`.

        Returns:
            The Report, which a notebook shows.

        Example:
            fitted.report("speeches.html", words=["health", "tax"], unit="speaker")
        """
        return provided("report")(self, path, **options)

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
        found = provided("findings_in_card")(self) if self.tests else []
        sizes = [*self.columns, "tokens"], rows if self.columns else ()
        if not found:
            return card(f"{type(self).__name__}{by}", facts, *sizes)
        return card(f"{type(self).__name__}{by}", facts, folded=[*found, ("Tokens by slice", card("", (), *sizes))])


def _check_shapes(name: str, arrays: Sequence[NDArray[Any]], shapes: Sequence[tuple[int, ...]]) -> None:
    actual = [np.shape(array) for array in arrays]
    if actual != list(shapes):
        raise InputError(f"the {name} have the shapes {actual}: they must be {shapes}, one for each language")


def load(folder: str | os.PathLike[str], *, kind: str = KIND) -> Embeddings:
    """Open a saved model; its vectors are memory-mapped.

    Args:
        folder: A folder that `Embeddings.save` wrote.
        kind: What its manifest must call it.

    Returns:
        The Embeddings.

    Example:
        fitted = lx.load("speeches.laplex")
    """
    saved = storage.load(folder, kind)
    arrays, settings = saved.arrays, saved.settings
    vectors = stored_vectors(saved)
    rows, theta = vectors.rows, vectors.theta
    try:
        spread = arrays.get("spread")
        if spread is not None:
            checked(spread, "f", theta.shape)
        pooled = arrays.get("pooled")  # models of version 0.1.0 have none
        if pooled is not None:
            checked(pooled, "f", (2 * len(vectors), theta.shape[1]))
        precision = arrays.get("precision")
        if precision is not None:
            checked(precision, "f", theta.shape[:1])
        graph = _graph(arrays, len(theta), settings.get("latent", 0))
        filling = _filling(arrays, rows, graph.latent)
        history = settings["history"]
        columns = {name for record in history for name in record}
        if len(columns) * len(history) > 100 + 20 * sum(map(len, history)):  # a table much larger than the file
            raise ValueError("its history")
        _tuning(dict(settings["fit"]))
        fit, tests = dict(settings["fit"]), _tests(settings.get("tests", []), arrays)
        others = graph, fit, history, spread, filling, pooled, tests, precision
        return Embeddings(rows, theta, vectors.slot, vectors.counts, *others)
    except (KeyError, ValueError, TypeError, IndexError, AttributeError) as error:
        raise StorageError(f'"{saved.folder}" is damaged: {error}') from None


def _tuning(settings: Mapping[str, Any]) -> pd.DataFrame | None:
    """The table of strengths that settings keep; ValueError if it is not what a fit writes."""
    if (tuning := settings.get("tuning")) is None:
        return None
    rows = tuning["table"]
    names = [str(name) for name in tuning["names"]]
    if not rows or any(set(row) != {*names, *TUNING_COLUMNS} for row in rows):
        raise ValueError("the table of its strengths")
    table = pd.DataFrame(rows)[[*names, *TUNING_COLUMNS]]
    for name in (*names, "log_likelihood", "difference", "se"):
        table[name] = table[name].astype(float)  # JSON has no infinity
    table["chosen"] = table["chosen"].astype(bool)
    table.attrs["summary"] = str(tuning["summary"])
    return table


def _tests(settings: Any, arrays: Mapping[str, NDArray[Any]]) -> dict[str, StoredTest]:
    """The tests that were kept, by what was asked; ValueError if they are not what `Embeddings.save` writes."""
    tests = {}
    for i, test in enumerate(settings):
        start = f"tests/{i}/"
        parts = {name.removeprefix(start): array for name, array in arrays.items() if name.startswith(start)}
        if not isinstance(test["asked"], str) or not parts:
            raise ValueError("its tests")
        tests[test["asked"]] = StoredTest(parts, dict(test["facts"]))
    return tests


def _graph(arrays: dict[str, NDArray[Any]], nodes: int, latent: Any) -> Graph:
    edges = arrays["graph/first"].shape[:1]
    parts = {name: checked(arrays[f"graph/{name}"], kind, edges) for name, kind in EDGE_ARRAYS.items()}
    targets = arrays["graph/targets"]
    if targets.ndim != 2:
        raise ValueError("its fixed vectors")
    diagonal = checked(arrays["graph/diagonal"], "f", (nodes,))
    if not isinstance(latent, int) or not 0 <= latent <= nodes:
        raise ValueError("the number of its latent vectors")
    return Graph(**parts, diagonal=diagonal, targets=targets, latent=latent)  # type: ignore[arg-type]


def _filling(arrays: dict[str, NDArray[Any]], rows: Rows, latent: int) -> Filling | None:
    if "filling/covariance" in arrays:
        raise ValueError('absent="filled" is kept in another way since: fit the model again')
    if "filling/words" not in arrays:
        return None
    words, slices = sum(map(len, rows.vocabularies)), len(rows.slices)
    edges = arrays["filling/first"].shape[:1]
    first, second = (checked(arrays[f"filling/{name}"], "i", edges) for name in ("first", "second"))
    weight, diagonal = checked(arrays["filling/weight"], "f", edges), arrays["filling/diagonal"]
    checked(diagonal, "f", (len(diagonal),))
    ridges = [checked(arrays[f"filling/{name}"], "f", (words,)) for name in ("words", "contexts")]
    latent_word = checked(arrays["filling/latent"], "i", (latent,))
    finite = all(np.isfinite(values).all() and (values >= 0).all() for values in (weight, diagonal, *ridges))
    if len(diagonal) < slices or not finite or not within(latent_word, 0, words):
        raise ValueError("what fills absent words")
    graph = Graph.of(len(diagonal), first, second, weight, diagonal=diagonal, latent=len(diagonal) - slices)
    return Filling(WordPrior(graph, *ridges), latent_word)


def load_word2vec(
    path: str | os.PathLike[str], *, language: str = "", binary: bool | None = None, quiet: bool = False
) -> Embeddings:
    """Read word vectors in word2vec's formats, text or binary, also GloVe's and fastText's .vec.

    The words keep the order of the file. How often they occur is not known: all counts are 0.

    Args:
        path: The file, also .gz.
        language: The name of the language, to combine them with vectors of another.
        binary: Whether the file is binary; by default that is found out.
        quiet: Print nothing.

    Returns:
        Embeddings of one language and one slice, without contexts.

    Example:
        lx.load_word2vec("glove.6B.100d.txt").neighbors("health")
    """
    words, vectors = word2vec.read(path, binary=binary, quiet=quiet)
    vocabulary = Vocabulary(words, np.zeros(len(words), np.int64), language)
    return Embeddings.of([vocabulary], [vectors], settings={"read": str(path)})


def from_gensim(keyed: Any, *, language: str = "") -> Embeddings:
    """Convert gensim's KeyedVectors.

    Args:
        keyed: KeyedVectors, such as `model.wv` of a gensim model; their counts are kept, if they have any.
        language: The name of the language, to combine them with vectors of another.

    Returns:
        Embeddings of one language and one slice, without contexts.

    Example:
        lx.from_gensim(model.wv).neighbors("health")
    """
    if not (hasattr(keyed, "index_to_key") and hasattr(keyed, "vectors")):
        raise InputError(f"{type(keyed).__name__} is not gensim's KeyedVectors: pass model.wv of a gensim model")
    words = [str(word) for word in keyed.index_to_key]
    vectors = np.array(keyed.vectors, np.float32)
    if not len(words) or vectors.shape[0] != len(words):
        raise InputError(f"these KeyedVectors hold {len(words):,} words and vectors of shape {vectors.shape}")
    counts = np.array(keyed.expandos.get("count", np.zeros(len(words))), np.int64)
    return Embeddings.of([Vocabulary(words, counts, language)], [vectors], settings={"read": "gensim"})
