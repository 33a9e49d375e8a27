"""Export of vectors to NumPy, pandas, gensim, and to files that other programs read.

The slices to export are chosen by values of their columns, such as at={"party": "D"}. V words, S slices, D dimensions.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from laplex.errors import InputError, explain_keywords, quote
from laplex.model.vectors import Vectors
from laplex.questions.answers import Answers, slice_values
from laplex.runtime import atomic, lazy
from laplex.runtime.display import bar
from laplex.text import word2vec

if TYPE_CHECKING:
    import polars as pl
else:
    pl = lazy.module("polars")

ENDINGS = ".txt and .vec (word2vec text), .bin (word2vec binary), .csv, each also .gz, .npz (NumPy) and .parquet"
# how text begins that a spreadsheet would run (the wide signs in East Asia), perhaps escaped already
FORMULA = re.compile("'*[=+\\-@\t\r\n＝＋－＠]")


class Exports(Answers):
    """Ways to pass vectors on to other programs."""

    @explain_keywords
    def to_gensim(
        self, language: str | None = None, *, contexts: bool = False, at: Mapping[str, Any] | None = None
    ) -> Any:
        """The vectors of one slice as gensim's KeyedVectors.

        Args:
            language: The language, if there are several.
            contexts: Take the context vectors, which do not vary by slice.
            at: The value of every column that the vectors vary by.

        Returns:
            KeyedVectors, with the attribute "count" where counts are known.

        Example:
            fitted.to_gensim(at={"party": "D"}).most_similar("health")
        """
        try:
            from gensim.models import KeyedVectors  # type: ignore[import-untyped,unused-ignore]
        except ImportError:
            raise InputError('gensim is not installed: pip install "laplex[gensim]"') from None
        if contexts and at:
            raise InputError(f"context vectors are the same in all slices: leave out {quote(at)}")
        matrix = self.contexts(language) if contexts else self.matrix(language, at=at)
        keyed = KeyedVectors(self.dimensions)
        keyed.add_vectors(self.words(language), matrix.copy())
        counts = self.counts[self.language(language)][self.chosen(at)].sum(0)
        if counts.any():
            keyed.allocate_vecattrs(["count"], [np.int64])
            keyed.expandos["count"][:] = counts
        return keyed

    @explain_keywords
    def to_frame(self, language: str | None = None, *, at: Mapping[str, Any] | None = None) -> pd.DataFrame:
        """All vectors as a table, or those of the slices with given values.

        Args:
            language: One language; without it, all.
            at: Values of columns that the vectors vary by.

        Returns:
            A table with language (if there are several), slice, word, count, d0, d1, …

        Example:
            fitted.to_frame(at={"party": "D"})
        """
        frames = []
        for labels, words, counts, matrix in _parts(self, language, at):
            numbers = pd.DataFrame(matrix, columns=_dimensions(self))
            texts = {name: [value] * len(words) for name, value in labels.items()}
            frames.append(pd.concat([pd.DataFrame({**texts, "word": words, "count": counts}), numbers], axis=1))
        return pd.concat(frames, ignore_index=True)

    @explain_keywords
    def export(
        self, path: str | os.PathLike[str], language: str | None = None, *, at: Mapping[str, Any] | None = None
    ) -> None:
        """Write vectors for other programs, in the format that the ending of the file says.

        .txt .vec   word2vec text, .bin binary: one slice, which must be chosen
        .npz        NumPy, without pickle: words, vectors (V, D) and counts (V), or of several slices (S, V, D) and
                    (S, V), which "columns" and "slices" name; contexts (V, D) if there are any
        .parquet    a table of all slices, or of those with the given values, as `to_frame` returns it
        .csv        the same; an apostrophe is put before words that a spreadsheet would take for a formula

        Args:
            path: The file to write; text formats may end in .gz.
            language: The language, if there are several.
            at: Values of columns that the vectors vary by.

        Example:
            fitted.export("democrats.vec", at={"party": "D"})
        """
        path = Path(path)
        zipped = path.suffix.lower() == ".gz"
        ending = (path.with_suffix("") if zipped else path).suffix.lower()
        if ending in (".txt", ".vec", ".bin"):
            word2vec.write(path, self.words(language), self.matrix(language, at=at), ending == ".bin")
        elif ending == ".npz" and not zipped:
            arrays = _arrays(self, language, at)
            with atomic.replacing(path) as file:
                np.savez(file, **arrays)  # type: ignore[arg-type]
        elif ending == ".parquet" and not zipped:
            table = pl.concat([_table(self, *part) for part in _parts(self, language, at)])
            with atomic.replacing(path) as file:
                try:
                    table.write_parquet(file)
                except pl.exceptions.PolarsError as error:  # raised for a full disk
                    raise OSError(str(error)) from None
        elif ending == ".csv":
            _write_csv(self, path, language, at)
        else:
            raise InputError(f'"{path}" has no ending that vectors can be written to: {ENDINGS}')


def escape_formulas(frame: pd.DataFrame) -> pd.DataFrame:
    """The table with an apostrophe before each text that a spreadsheet would take for a formula (= + - @).

    Every CSV file of laplex is written through it. Spreadsheets show such a cell as text; a program that reads the file
    removes the apostrophe with `unescape_formulas(pd.read_csv("words.csv"))`.

    >>> escape_formulas(pd.DataFrame({"word": ["=1+1", "tax"], "change": [-1, 2]}))["word"].to_list()
    ["'=1+1", 'tax']
    """
    return _map_text(frame, _escape)


def unescape_formulas(frame: pd.DataFrame) -> pd.DataFrame:
    """A table from a CSV file of laplex with its words as they were: the inverse of `escape_formulas`.

    >>> unescape_formulas(escape_formulas(pd.DataFrame({"word": ["=1+1", "'=", "'tis"]})))["word"].to_list()
    ['=1+1', "'=", "'tis"]
    """
    return _map_text(frame, lambda text: text[1:] if text.startswith("'") and FORMULA.match(text) else text)


def _escape(text: str) -> str:
    return f"'{text}" if FORMULA.match(text) else text


def _map_text(frame: pd.DataFrame, change: Callable[[str], str]) -> pd.DataFrame:
    """The table with a function applied to its column names and all its text."""

    def changed(value: Any) -> Any:
        return change(value) if isinstance(value, str) else value

    result = frame.rename(columns=changed)
    for place, (_, column) in enumerate(frame.items()):
        if not pd.api.types.is_numeric_dtype(column):
            result.isetitem(place, [changed(value) for value in column])
    return result


def _parts(
    vectors: Vectors, language: str | None, at: Mapping[str, Any] | None
) -> Iterator[tuple[dict[str, str], list[str], NDArray[np.int64], NDArray[np.float32]]]:
    """For each chosen language and slice: its labels, its words, their counts and their vectors."""
    clashes = {"language", "word", "count", *_dimensions(vectors)} & set(vectors.columns)
    if clashes:
        raise InputError(f"vectors vary by {quote(sorted(clashes))}, which is the name of another column of the table")
    chosen = vectors.chosen(at)
    languages = range(len(vectors.languages)) if language is None else [vectors.language(language)]
    for index in languages:
        vocabulary = vectors.rows.vocabularies[index]
        for number in chosen:
            named = {"language": vocabulary.language} if len(vectors.languages) > 1 else {}
            yield (
                named | slice_values(vectors, number),
                list(vocabulary.words),
                vectors.counts[index][number],
                vectors.block(index, number),
            )


def _dimensions(vectors: Vectors) -> list[str]:
    return [f"d{i}" for i in range(vectors.dimensions)]


def _table(
    vectors: Vectors, labels: dict[str, str], words: list[str], counts: NDArray[np.int64], matrix: NDArray[np.float32]
) -> pl.DataFrame:
    frame = pl.DataFrame(matrix, schema=_dimensions(vectors), orient="row")
    texts = [pl.lit(value).alias(name) for name, value in labels.items()]
    return frame.select(*texts, pl.Series("word", words), pl.Series("count", counts), pl.all())


def _write_csv(vectors: Vectors, path: Path, language: str | None, at: Mapping[str, Any] | None) -> None:
    parts = _parts(vectors, language, at)
    total = len(vectors.chosen(at)) * len(vectors.languages)
    with atomic.replacing(path) as file, bar(f"writing {path.name}") as progress:
        for done, (labels, words, counts, matrix) in enumerate(parts):
            labels = {name: _escape(value) for name, value in labels.items()}
            for start in range(0, len(words), word2vec.ROWS_PER_WRITE):
                rows = np.s_[start : start + word2vec.ROWS_PER_WRITE]
                table = _table(vectors, labels, [_escape(word) for word in words[rows]], counts[rows], matrix[rows])
                table = table.rename(_escape)
                file.write(table.write_csv(include_header=not done and not start).encode())
                progress.update((done + start / len(words)) / total)


def _arrays(vectors: Vectors, language: str | None, at: Mapping[str, Any] | None) -> dict[str, NDArray[Any]]:
    index, chosen = vectors.language(language), vectors.chosen(at)
    words = vectors.rows.vocabularies[index].words
    matrices = np.stack([vectors.block(index, number) for number in chosen])
    counts = vectors.counts[index][chosen]
    single = len(chosen) == 1
    arrays: dict[str, NDArray[Any]] = {
        "words": np.array(words, str),
        "vectors": matrices[0] if single else matrices,
        "counts": counts[0] if single else counts,
        "columns": np.array(vectors.columns, str),
        "slices": np.array([vectors.rows.slices.keys[number] for number in chosen], str),
    }
    with_contexts = vectors.slot[vectors.rows.context_start(index) :][: len(words)].min(initial=0) >= 0
    return arrays | ({"contexts": vectors.contexts(language)} if with_contexts else {})
