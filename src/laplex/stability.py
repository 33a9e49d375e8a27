"""Do the neighbors of a word stay, when the same model is fitted again from another seed?

A Model and a Corpus come in, or several fits; a table goes out with the share of a word's k nearest words that two fits
have in common, over all pairs of fits. Rotations do not matter, since neighbors are found by cosines. It says how much
of an answer is the luck of one run; it says nothing of what another sample of text would show.
F fits, S slices, n words asked for, V words, k neighbors.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from laplex.corpus import Corpus
from laplex.embeddings import Embeddings
from laplex.errors import InputError, quote, whole
from laplex.evaluation.nearest import nearest
from laplex.graph import Graph
from laplex.model import Model
from laplex.priors import Prior
from laplex.progress import bar, say
from laplex.provenance import tokens_of
from laplex.rows import Rows
from laplex.tokens import Tokens
from laplex.training import TOKEN_OPTIONS, Training, fit
from laplex.vectors import listed

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
EDGES = [digit * 10**power for power in range(12) for digit in (1, 3)]  # of bands of counts: 1, 3, 10, 30, …
TINY = np.finfo(np.float32).tiny
NONE = -1  # in place of a neighbor where there are fewer than k


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
    """Fit a model so many times, from different seeds, and see which neighbors come back; the least stable words first.

    "overlap" is the mean share of the k nearest words that two fits have in common, "lower" and "upper" are those of
    the pairs of fits that agree least and most. Seeds count up from `seed`; other options are those of `fit`. Unless
    `holdout` says otherwise, nothing is held out, so that fits differ by the seed alone. `by_frequency` sums it up.

        lx.stability(model, corpus, refits=5, words=["health", "freedom"], min_count=20)
    """
    refits = whole("refits", refits, 2)
    chosen = {name: value for name, value in training.items() if name in TOKEN_OPTIONS}
    rest = {"holdout": 0.0} | {name: value for name, value in training.items() if name not in TOKEN_OPTIONS}
    first = rest.pop("seed", 1)
    given = rest.get("training")
    if rest.get("checkpoint") is not None or (given is not None and given.checkpoint is not None):
        raise InputError("a checkpoint is of one fit, and here there are several: leave it out")
    if isinstance(corpus, Tokens) and chosen:
        raise InputError(f"{', '.join(sorted(chosen))} were chosen when the tokens were made")
    tokens = corpus if isinstance(corpus, Tokens) else Tokens.of(corpus, quiet=quiet, **chosen)
    comparison: _Comparison | None = None
    for number in range(refits):
        say(f"fit {number + 1} of {refits}, from seed {first + number}", quiet=quiet)
        fitted = fit(model, tokens, seed=first + number, quiet=quiet, **rest)
        comparison = comparison or _Comparison([fitted], words, k, language)
        comparison.add(fitted, quiet)
    assert comparison is not None
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
    """The same for fits that are there already: of one model from several seeds, or of several models.

    Words and slices are those that all fits have, counts those of the first. Words that are not asked for by name must
    occur `min_count` times in a slice, at least once.

        lx.agreement([lx.load("seed-1.laplex"), lx.load("seed-2.laplex")], words=["health"])
    """
    if len(fits) < 2:
        raise InputError(f"{len(fits)} fits cannot be compared: give two or more")
    comparison = _Comparison(fits, words, k, language)
    for fitted in fits:
        comparison.add(fitted, quiet)
    return comparison.table(top, min_count)


def refitted(
    fitted: Embeddings,
    seeds: Iterable[int],
    *,
    tokens: Tokens | None = None,
    threads: int | None = None,
    quiet: bool = False,
) -> Iterator[Embeddings]:
    """The same model on the same text, from other seeds; the text is that which the model remembers, or `tokens`."""
    tokens = tokens_of(fitted, tokens)
    if fitted.filling is not None:
        raise InputError('stability fits a model again, which it cannot if absent="filled": fit it with absent="kept"')
    chosen = fitted.settings["model"]  # an older model knows fewer choices
    known = {field.name: chosen[field.name] for field in fields(Model) if field.name in chosen}
    model = Model(**known | {"prior": _Same(fitted.graph, fitted.slot)})
    names = {field.name for field in fields(Training)} - {"checkpoint", "checkpoint_minutes"}
    training = {name: value for name, value in fitted.settings["training"].items() if name in names}
    for seed in seeds:
        say(f"from seed {seed}", quiet=quiet)
        own = training | {"seed": seed, "threads": threads or training["threads"]}
        yield fit(model, tokens, Training(**own), quiet=quiet)


def by_frequency(table: pd.DataFrame) -> pd.DataFrame:
    """A table of `stability` or `agreement`, summed up by how often words occur.

    "overlap" is the mean over a band, "low" and "high" are what a tenth of it stays below and a tenth above.
    """
    if not {"count", "overlap"} <= set(table.columns):
        raise InputError(f"this table has the columns {quote(table.columns)}, and needs count and overlap")
    known = table[table["overlap"].notna()]
    band = np.searchsorted(EDGES, known["count"], "right")
    found = []
    for number in np.unique(band).tolist():
        overlap = known["overlap"][band == number]
        limits = (EDGES[number - 1], EDGES[number] - 1) if number else (0, 0)
        found.append((*limits, len(overlap), overlap.mean(), overlap.quantile(0.1), overlap.quantile(0.9)))
    return pd.DataFrame(found, columns=["from", "to", "words", "overlap", "low", "high"])


@dataclass(frozen=True, eq=False)
class _Same(Prior):
    """The prior of a fitted model as edges between rows again; the rows of one parameter are tied."""

    whole: Graph
    slot: NDArray[np.int32]

    def graph(self, rows: Rows) -> Graph:
        first = np.unique(self.slot, return_index=True)[1]
        tied = np.setdiff1d(np.arange(len(rows)), first)
        ends = np.concatenate([first, len(rows) + np.arange(len(self.whole.targets))])
        diagonal = np.zeros(len(rows))
        diagonal[first] = self.whole.diagonal
        joined = Graph.of(
            len(rows),
            ends[self.whole.first],
            ends[self.whole.second],
            self.whole.weight,
            sign=self.whole.sign,
            directed=self.whole.directed,
            diagonal=diagonal,
            targets=self.whole.targets,
        )
        return joined + Graph.of(len(rows), tied, first[self.slot[tied]], np.inf)


class _Comparison:
    """What is asked of every fit, k neighbors of some words in the slices that all have, and what they answered.

    Only the neighbors are kept, so that one fit at a time is in memory."""

    def __init__(
        self, fits: Sequence[Embeddings], words: str | Sequence[str] | None, k: int, language: str | None
    ) -> None:
        k = whole("k", k)
        first, *others = fits
        for other in others:
            if other.columns != first.columns:
                mine, theirs = quote(first.columns) or "nothing", quote(other.columns) or "nothing"
                raise InputError(f"one fit varies by {mine}, another by {theirs}: they have no slices in common")
        slices = first.rows.slices
        vocabularies = [one.rows.vocabularies[one.language(language)] for one in fits]
        everywhere = set(vocabularies[0]).intersection(*vocabularies[1:])
        for one in fits if words is not None else ():
            one.ids(listed(words), one.language(language))  # complains about a word that is not there
        self.language = language
        self.columns = first.columns
        self.keys = [key for key in slices.keys if all(key in other.rows.slices.keys for other in others)]
        self.named = words is not None
        self.words = list(dict.fromkeys(vocabularies[0] if words is None else listed(words)))
        self.words = [word for word in self.words if word in everywhere]
        self.k = min(k, *(len(vocabulary) - 1 for vocabulary in vocabularies))
        if not self.keys or not self.words or self.k < 1:
            raise InputError(f"the fits share {len(self.keys)} slices and {len(self.words)} words: nothing to compare")
        places = [slices.keys.index(key) for key in self.keys]
        ids = [vocabularies[0][word] for word in self.words]
        self.counts = first.counts[first.language(language)][np.ix_(places, ids)]  # (S, n)
        self.numbers: dict[str, int] = {}  # of all words that may be neighbors
        self.found: list[Ints] = []  # of each fit, (S, n, k)

    def add(self, fitted: Embeddings, quiet: bool) -> None:
        """Note the nearest words of each word in each slice."""
        language = fitted.language(self.language)
        vocabulary = fitted.rows.vocabularies[language]
        number = np.array([self.numbers.setdefault(word, len(self.numbers)) for word in vocabulary])
        ids = np.array([vocabulary[word] for word in self.words])
        found = np.empty((len(self.keys), len(ids), self.k), np.int64)
        with bar("neighbors", quiet=quiet) as progress:
            for place, key in enumerate(self.keys):
                slice = fitted.rows.slices.keys.index(key)
                lengths = fitted.lengths(language, slice)
                unit = (fitted.block(language, slice) / np.maximum(lengths, TINY)[:, None]).astype(
                    np.float32, copy=False
                )
                without = np.where(lengths > 0, 0.0, np.inf).astype(np.float32)
                near, score = nearest(unit[ids], unit, self.k + 1, penalty=without)
                near = np.minimum(near, len(vocabulary) - 1)  # where there are too few, `nearest` gives any number
                near = np.where(np.isfinite(score) & (lengths[ids, None] > 0), number[near], NONE)
                own_last = np.argsort(near == number[ids, None], axis=1, kind="stable")
                found[place] = np.take_along_axis(near, own_last, 1)[:, : self.k]
                progress.update((place + 1) / len(self.keys))
        self.found.append(found)

    def table(self, top: int | None, min_count: int) -> pd.DataFrame:
        """The overlap of all pairs of fits, the smallest first."""
        min_count, top = whole("min_count", min_count, 0), None if top is None else whole("top", top)
        frames = []
        for place, key in enumerate(self.keys):
            shares = np.array([_common(one[place], two[place]) for one, two in combinations(self.found, 2)])
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
            least = 0 if self.named or not self.counts.any() else max(min_count, 1)  # vectors of others lack counts
            frames.append(frame[frame["count"] >= least])
        found = pd.concat(frames)
        order = ["overlap", "count", "word", *self.columns]
        found = found.sort_values(order, ascending=[True, False, True, *(True for _ in self.columns)], kind="stable")
        return found.head(len(found) if top is None else top).reset_index(drop=True)


def _common(one: Ints, two: Ints) -> Floats:
    """(n) The share of the neighbors (n, k) that are in both; NaN for a word that has none."""
    both = (one[:, :, None] == two[:, None, :]).any(2) & (one != NONE)
    missing = (one == NONE).all(1) | (two == NONE).all(1)
    return np.where(missing, np.nan, both.sum(1) / one.shape[1])
