"""Stability over seeds: which neighbors of a word are found again when the same model is fitted from another seed.

The overlap of two fits is the share of a word's k nearest words that both find. Rotations do not matter, since
neighbors are found by cosines. It says how much of an answer is due to the random start of one run, and nothing about
what another sample of text would show. S slices, n words asked for, V words, k neighbors.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from laplex.embeddings import Embeddings
from laplex.errors import InputError, check_int, quote
from laplex.fitting.estimation import fit
from laplex.fitting.provenance import tokens_of
from laplex.fitting.training import Training, tokens_for_fits
from laplex.model.absent import Filling
from laplex.model.graph import Graph
from laplex.model.model import Model
from laplex.model.priors.prior import Prior, Ridge, WordPrior, saved_ridge
from laplex.model.rows import Rows
from laplex.model.vectors import as_list
from laplex.questions.answers import MIN_USES
from laplex.questions.cosine import search, used
from laplex.runtime.display import bar, say
from laplex.text.corpus import Corpus
from laplex.text.tokens import Tokens

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
COUNT_BANDS = [digit * 10**power for power in range(12) for digit in (1, 3)]  # their lower ends: 1, 3, 10, 30, …
TINY = np.finfo(np.float32).tiny
NO_NEIGHBOR = -1  # where there are fewer than k


def stability(
    model: Model,
    corpus: Corpus | Tokens,
    refits: int = 5,
    words: str | Sequence[str] | None = None,
    k: int = 10,
    *,
    top: int | None = None,
    language: str | None = None,
    quiet: bool = False,
    **training: Any,
) -> pd.DataFrame:
    """Fit a model several times from different seeds, and compare the neighbors of words.

    Args:
        model: The model.
        corpus: A Corpus, or Tokens.
        refits: The number of fits, 2 or more.
        words: A word, or several; by default all.
        k: The number of neighbors to compare.
        top: Return only this number of least stable words.
        language: The language, if there are several.
        quiet: Print nothing.
        **training: Options of `lx.fit`. Seeds count up from `seed`; nothing is held out unless `holdout` says so.

    Returns:
        The least stable words first: word, slice, count, the mean "overlap" of two fits, and that of the pairs of fits
        that agree least ("lower") and most ("upper"). `lx.by_frequency` summarizes it.

    Example:
        lx.stability(model, corpus, refits=5, words=["health", "freedom"], min_count=20)
    """
    refits = check_int("refits", refits, 2)
    tokens, rest = tokens_for_fits(corpus, training, quiet)
    options = {"holdout": 0.0} | rest
    first = options.pop("seed", 1)
    for number in range(refits):
        say(f"fit {number + 1} of {refits}, from seed {first + number}", quiet=quiet)
        fitted = fit(model, tokens, seed=first + number, tests=False, quiet=quiet, **options)
        if number == 0:
            comparison = _Comparison([fitted], words, k, language)
        comparison.add(fitted, quiet)
    return comparison.table(top, 0)


def agreement(
    fits: Sequence[Embeddings],
    words: str | Sequence[str] | None = None,
    k: int = 10,
    *,
    top: int | None = None,
    min_count: int = 0,
    language: str | None = None,
    quiet: bool = False,
) -> pd.DataFrame:
    """Compare the neighbors of words in several fits: of one model from several seeds, or of several models.

    Args:
        fits: Two fits or more. Words and slices are those that all have, counts those of the first.
        words: A word, or several; by default all.
        k: The number of neighbors to compare.
        top: Return only this number of least stable words.
        min_count: How often a word that is not named must occur in a slice, at least once.
        language: The language, if there are several.
        quiet: Print nothing.

    Returns:
        A table as that of `lx.stability`.

    Example:
        lx.agreement([lx.load("seed-1.laplex"), lx.load("seed-2.laplex")], words=["health"])
    """
    if len(fits) < 2:
        raise InputError(f"{len(fits)} fits cannot be compared: give two or more")
    comparison = _Comparison(fits, words, k, language)
    for fitted in fits:
        comparison.add(fitted, quiet)
    return comparison.table(top, min_count)


def refitted(
    fitted: Embeddings, seeds: Iterable[int], *, threads: int | None = None, quiet: bool = False
) -> Iterator[Embeddings]:
    """Fit the model of Embeddings to its text again, from other seeds."""
    tokens = tokens_of(fitted)
    saved = fitted.settings["model"]  # that of an older version has fewer fields
    known = {field.name: saved[field.name] for field in fields(Model) if field.name in saved}
    prior = _SavedPrior(fitted.graph, fitted.slot, fitted.filling, saved_ridge(fitted.settings))
    model = Model(**known | {"prior": prior})
    names = {field.name for field in fields(Training)} - {"checkpoint", "checkpoint_minutes"}
    training = {name: value for name, value in fitted.settings["training"].items() if name in names}
    for seed in seeds:
        say(f"from seed {seed}", quiet=quiet)
        choices = training | {"seed": seed, "threads": threads or training["threads"]}
        yield fit(model, tokens, Training(**choices), tests=False, quiet=quiet)


def by_frequency(table: pd.DataFrame) -> pd.DataFrame:
    """Summarize a table of `stability` or `agreement` by how often words occur.

    Args:
        table: A table with the columns count and overlap.

    Returns:
        For each band of counts ("from", "to") the number of words, their mean "overlap", and the tenth ("low") and
        ninetieth ("high") percentile.

    Example:
        lx.by_frequency(lx.stability(model, corpus))
    """
    if not {"count", "overlap"} <= set(table.columns):
        raise InputError(f"this table has the columns {quote(table.columns)}, and needs count and overlap")
    known = table[table["overlap"].notna()]
    rows = []
    band = np.searchsorted(COUNT_BANDS, known["count"], "right")
    for number in np.unique(band).tolist():
        overlap = known["overlap"][band == number]
        limits = (COUNT_BANDS[number - 1], COUNT_BANDS[number] - 1) if number else (0, 0)
        rows.append((*limits, len(overlap), overlap.mean(), overlap.quantile(0.1), overlap.quantile(0.9)))
    return pd.DataFrame(rows, columns=["from", "to", "words", "overlap", "low", "high"])


@dataclass(frozen=True, eq=False)
class _SavedPrior(Prior):
    """The prior of a fitted model as edges between rows; rows that share a parameter are tied."""

    full: Graph
    slot: NDArray[np.int32]
    filling: Filling | None = None  # with absent="filled"
    pooled: Ridge = field(default_factory=Ridge)  # before slices begin

    def describe(self, rows: Rows | None = None) -> dict[str, Any]:
        return self.pooled.describe(rows) | super().describe(rows)

    @classmethod
    def ridge(cls, described: Mapping[str, Any]) -> float:
        return Ridge.ridge(described)

    def graph(self, rows: Rows) -> Graph:
        full, size = self.full, len(rows)
        first = np.unique(self.slot, return_index=True)[1]
        tied = np.setdiff1d(np.arange(size), first)
        ends = np.concatenate([first, size + np.arange(full.latent + len(full.targets))])
        diagonal = np.zeros(size + full.latent)
        diagonal[ends[: len(full)]] = full.diagonal
        joined = replace(full, first=ends[full.first], second=ends[full.second], diagonal=diagonal, names=None)
        return joined + Graph.of(size, tied, first[self.slot[tied]], np.inf)

    def word_prior(self, rows: Rows) -> WordPrior:
        assert self.filling is not None
        return self.filling.prior


class _Comparison:
    """The k neighbors of words in each of several fits, in the slices that all have.

    Only the neighbors are kept, so that one fit at a time is in memory.
    """

    def __init__(
        self, fits: Sequence[Embeddings], words: str | Sequence[str] | None, k: int, language: str | None
    ) -> None:
        k = check_int("k", k)
        first, *others = fits
        self.language, self.columns, self.named = language, first.columns, words is not None
        for other in others:
            if other.columns != first.columns:
                one, two = quote(first.columns) or "nothing", quote(other.columns) or "nothing"
                raise InputError(f"one fit varies by {one}, another by {two}: they have no slices in common")
        slices = first.rows.slices
        vocabularies = [fitted.rows.vocabularies[fitted.language(language)] for fitted in fits]
        common = set(vocabularies[0]).intersection(*vocabularies[1:])
        for fitted in fits if self.named else ():
            fitted.ids(as_list(words), fitted.language(language))  # raises if a word is missing
        self.keys = [key for key in slices.keys if all(key in other.rows.slices.keys for other in others)]
        requested = dict.fromkeys(vocabularies[0] if words is None else as_list(words))
        self.words = [word for word in requested if word in common]
        self.k = min(k, *(len(vocabulary) - 1 for vocabulary in vocabularies))
        if not self.keys or not self.words or self.k < 1:
            raise InputError(f"the fits share {len(self.keys)} slices and {len(self.words)} words: nothing to compare")
        places = [slices.keys.index(key) for key in self.keys]
        ids = [vocabularies[0][word] for word in self.words]
        self.counts = first.counts[first.language(language)][np.ix_(places, ids)]  # (S, n)
        self.numbers: dict[str, int] = {}  # of all words that may be neighbors
        self.neighbors: list[Ints] = []  # of each fit, (S, n, k)

    def add(self, fitted: Embeddings, quiet: bool) -> None:
        """Find the nearest words of each word in each slice of a fit."""
        language = fitted.language(self.language)
        vocabulary = fitted.rows.vocabularies[language]
        number = np.array([self.numbers.setdefault(word, len(self.numbers)) for word in vocabulary])
        ids = vocabulary.ids(self.words)
        neighbors = np.empty((len(self.keys), len(ids), self.k), np.int64)
        with bar("neighbors", quiet=quiet) as progress:
            for place, key in enumerate(self.keys):
                slice = fitted.rows.slices.keys.index(key)
                lengths = fitted.lengths(language, slice)[:, None]
                unit = np.asarray(fitted.block(language, slice) / np.maximum(lengths, TINY), np.float32)
                known = used(fitted, language, slice, MIN_USES)
                found = (lengths[:, 0] > 0) & (True if known is None else known)
                penalty = np.where(found, np.float32(0.0), np.float32(np.inf))
                nearest, score = search(unit[ids], unit, self.k, penalty=penalty, exclude=ids[:, None])
                neighbors[place] = np.where(np.isfinite(score) & (lengths[ids] > 0), number[nearest], NO_NEIGHBOR)
                progress.update((place + 1) / len(self.keys))
        self.neighbors.append(neighbors)

    def table(self, top: int | None, min_count: int) -> pd.DataFrame:
        """The overlap of all pairs of fits, the smallest first."""
        min_count, top = check_int("min_count", min_count, 0), None if top is None else check_int("top", top)
        least = 0 if self.named or not self.counts.any() else max(min_count, 1)  # counts of imported vectors are 0
        frames = []
        for place, key in enumerate(self.keys):
            shares = np.array([_overlap(one[place], two[place]) for one, two in combinations(self.neighbors, 2)])
            frame = pd.DataFrame(
                {
                    "word": self.words,
                    **dict(zip(self.columns, key, strict=True)),
                    "count": self.counts[place],
                    "overlap": shares.mean(0),
                    "lower": shares.min(0),
                    "upper": shares.max(0),
                }
            )
            frames.append(frame[frame["count"] >= least])
        order = {"overlap": True, "count": False, "word": True} | dict.fromkeys(self.columns, True)
        table = pd.concat(frames).sort_values(list(order), ascending=list(order.values()), kind="stable")
        return table.head(len(table) if top is None else top).reset_index(drop=True)


def _overlap(one: Ints, two: Ints) -> Floats:
    """(n) The share of the neighbors (n, k) that are in both; NaN for a word that has none."""
    both = (one[:, :, None] == two[:, None, :]).any(2) & (one != NO_NEIGHBOR)
    missing = (one == NO_NEIGHBOR).all(1) | (two == NO_NEIGHBOR).all(1)
    return np.where(missing, np.nan, both.sum(1) / one.shape[1])
