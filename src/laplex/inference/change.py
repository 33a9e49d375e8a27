"""Change in little text: how far a word's contexts move between two values of a column, averaged over several fits.

With 100 uses of a word at each end, vectors of its own for each end are mostly noise. So one vector is fitted for each
word on the whole text, without labels, and a use of a word is described by the vectors of the words around it:

    h = u(Σ_c k_c w_c α_c),   w_c = a / (a + P(c)),   u(x) = x / ‖x‖
    x = u(h − the mean of h over all the text of its end)

where c runs over the words around it, with weights k_c that fall linearly with the distance. The mean x̄ of the uses
moves by d = x̄_1 − x̄_2. All words move along some directions, with what the text is about and how it is written: of
ordinary words, C is the mean of d dᵀ / noise. In the metric W = (C + s tr(C) / D · I)⁻¹ the change of a word is

    (dᵀ W d − tr W Σ) / (½ x̄_1ᵀ W x̄_1 + ½ x̄_2ᵀ W x̄_2 − ½ tr W Σ),   Σ the covariance of d over units

which is without noise, 0 where nothing changes, and 2 where the contexts have nothing in common. Words with contexts of
their own and words used everywhere are on one scale by it. It is averaged over fits from different seeds.

N positions, V words, D dimensions, n cells (a word at an end in a unit), U units.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from laplex.errors import InputError, check_int, check_interval, quote
from laplex.fitting.estimation import fit
from laplex.fitting.training import tokens_for_fits
from laplex.inference.prototypes import usual_measures
from laplex.model.model import Model
from laplex.model.priors.prior import Ridge
from laplex.model.vectors import as_list
from laplex.runtime.display import say
from laplex.text.corpus import Corpus
from laplex.text.occurrences import Occurrences
from laplex.text.periods import have_order, in_order
from laplex.text.slices import spans
from laplex.text.tokens import Tokens

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Stretch = tuple[Ints, Ints, NDArray[np.float32]]  # the cell and the end of every position, and h

LITTLE_TEXT = Model(prior=Ridge(30.0), likelihood="sgns", dimensions=50, window=10)  # experiments/RESULTS.md
TRAINING = {"epochs": 10, "holdout": 0.0, "drawn": 16}  # more negatives for each block were not tried
CONTEXT_WINDOW = 15  # words on each side, with weights that fall linearly
COMMON_SHARE = 1e-2  # a: words that are this share of the text have half the weight of rare ones
ORDINARY_USES = 20  # at each end, of words that show in which directions all words move
SHRINKAGE = 0.3  # s
LEAST_LENGTH = 0.5  # of a squared length without noise, as a share of that with noise
TINY = 1e-12
OCCURRENCES_TOGETHER = 50_000  # whose vectors are in memory


def change(
    corpus: Corpus | Tokens | Occurrences,
    column: str,
    words: str | Sequence[str] | None = None,
    *,
    values: Sequence[Any] | None = None,
    refits: int = 5,
    interval: float = 0.9,
    unit: str | None = None,
    min_uses: int = 10,
    model: Model | None = None,
    quiet: bool = False,
    **training: Any,
) -> pd.DataFrame:
    """How much words change between two values of a column: the recommended way for little text.

    For periods of some ten thousand to a few million words, in which a word is used tens to hundreds of times. The
    distances between fitted vectors (`drift(..., test=False)`) are mostly noise there, and differ from seed to seed.

    Args:
        corpus: A Corpus, or Tokens, of one language. Of Occurrences (`lx.encode`), the vectors that they have are
            compared, and nothing is fitted.
        column: The column, such as a period.
        words: A word, or several, instead of all that are used often enough.
        values: The two values to compare, by default the first and the last.
        refits: The number of fits, from different seeds, over which results are averaged.
        interval: The share of samples in which "lower" and "upper" hold the estimate.
        unit: The column that says who was sampled; by default that of the corpus, and else documents.
        min_uses: How often a word that is not named must be used at each of the two values.
        model: The model of the contexts, whose vectors vary by nothing; by default SGNS of 50 dimensions with a window
            of 10 and `lx.Ridge(30.0)`.
        quiet: Print nothing.
        **training: Options of `lx.fit`. Seeds count up from `seed`; by default ten epochs, 16 negatives drawn for a
            block, nothing held out, and words that occur three times.

    Returns:
        The words that changed most first: word, value, against, estimate, lower, upper, uses, uses_against, units and
        units_against. The estimate is the squared distance between the word's contexts at the two values, without what
        the noise of few uses adds to it, over their squared length: 0 for no change (and by chance a little below),
        2 for contexts that have nothing in common, more for opposite ones. "lower" and "upper" are its interval over
        units, given the vectors of the contexts. A word that fewer than two units use at one of the values has none.
        Of Occurrences, the usual measures follow, each with an interval: "prt" is the cosine distance of the mean
        vectors, "apd" the mean cosine distance of pairs. Both grow with the noise of few uses.

    Example:
        lx.change(speeches, "period", ["tax", "climate"], refits=10)
    """
    refits, min_uses = check_int("refits", refits), check_int("min_uses", min_uses, 2)
    check_interval(interval)
    model = LITTLE_TEXT if model is None else model
    if model.vary:
        raise InputError(f"the contexts must not know what is compared: leave out vary={list(model.vary)}")
    options = TRAINING | training
    if not isinstance(corpus, Tokens):
        options = {"min_count": 3, "keep": as_list(words) if words is not None else ()} | options
    if isinstance(corpus, Occurrences):
        if training or model is not LITTLE_TEXT:
            named = next(iter(training), "model")
            raise InputError(f"{named}= is of text: occurrences have vectors already, leave it out")
        of_vectors = _Uses.of(corpus, column, values, unit)
        return _change_of_occurrences(of_vectors, corpus, of_vectors.asked(words, min_uses), interval)
    tokens, options = tokens_for_fits(corpus, options, quiet)
    uses = _Uses.of(tokens, column, values, unit)
    asked = uses.asked(words, min_uses)
    first, found = check_int("seed", options.pop("seed", 1), 0), []
    for number in range(refits):
        say(f"fit {number + 1} of {refits}, from seed {first + number}", quiet=quiet)
        fitted = fit(replace(model, vary=()), tokens, seed=first + number, tests=False, quiet=quiet, **options)
        found.append(uses.moves(partial(uses.contexts, fitted.contexts()), asked))
    return uses.table(asked, found, interval)


def _change_of_occurrences(uses: _Uses, occurrences: Occurrences, asked: Ints, interval: float) -> pd.DataFrame:
    """The same for occurrences that have vectors, with the usual measures beside."""

    def vectors() -> Iterator[tuple[Ints, Ints, NDArray[np.float32]]]:
        position = np.flatnonzero(uses.end >= 0)  # a document is one occurrence
        cell = (np.asarray(occurrences.ids, np.int64) * 2 + uses.end) * uses.number + uses.unit
        for some in np.array_split(position, max(1, len(position) // OCCURRENCES_TOGETHER)):
            yield np.searchsorted(uses.cells, cell[some]), uses.end[some], _unit(occurrences.vectors[some])

    table = uses.table(asked, [uses.moves(vectors, asked)], interval)
    measures = usual_measures(occurrences, uses.end, uses.unit, asked, interval)
    return table.merge(measures, "left", "word")


@dataclass(frozen=True, eq=False)
class _Moves:
    """How words (n) move, in one fit."""

    change: Floats  # (n)
    chance: Floats  # (n) the variance of the change of a word that does not move
    excess: Floats  # (n) what noise adds to the sum of squared influences
    influence: Floats  # (cells of these words) of units on the change
    cells: Ints  # (n + 1) where those of each word begin


@dataclass(frozen=True, eq=False)
class _Uses:
    """Where words are used at two values of a column, sorted by word, then end, then unit."""

    tokens: Tokens
    values: tuple[str, str]
    end: Ints  # (M) 0 or 1, the value of each document, and −1 for others
    unit: Ints  # (M)
    cells: Ints  # (n) (word * 2 + end) * U + unit
    sizes: Ints  # (n) the uses

    @classmethod
    def of(cls, tokens: Tokens, column: str, values: Sequence[Any] | None, unit: str | None) -> _Uses:
        if len(tokens.vocabularies) > 1:
            raise InputError(f"the corpus has {len(tokens.vocabularies)} languages: change() takes one at a time")
        known = tokens.values(column)
        present = [known[code] for code in np.unique(tokens.codes(column)).tolist()]
        ends = [str(value) for value in values] if values is not None else in_order(present)
        if values is None and len(ends) > 2:
            if not have_order(ends):
                raise InputError(f'"{column}" has no order: name two of its values, {quote(ends, 12)}, by values=')
            ends = [ends[0], ends[-1]]
        if len(ends) != 2 or not set(ends) <= set(present) or ends[0] == ends[1]:
            raise InputError(f'change() compares two values of "{column}", not {quote(ends, 4)}: {quote(present, 12)}')
        unit = tokens.unit if unit is None and tokens.unit != column else unit
        codes = tokens.codes(column)
        end = np.where(codes == known.index(ends[0]), 0, np.where(codes == known.index(ends[1]), 1, -1))
        units = np.arange(tokens.documents) if unit is None else tokens.codes(unit).astype(np.int64)
        number = int(units.max()) + 1
        lengths = np.diff(tokens.offsets)
        inside = np.repeat(end >= 0, lengths)
        cell = (np.asarray(tokens.ids, np.int64) * 2 + np.repeat(end, lengths)) * number + np.repeat(units, lengths)
        cells, sizes = np.unique(cell[inside], return_counts=True)
        return cls(tokens, (ends[0], ends[1]), end, units, cells, sizes)

    def asked(self, words: str | Sequence[str] | None, min_uses: int) -> Ints:
        """The ids of the words that are asked for, or of all that are used often enough."""
        vocabulary = self.tokens.vocabularies[0]
        if words is None:
            chosen = np.flatnonzero(self.counts.min(0) >= min_uses)
            if not len(chosen):
                raise InputError(f"no word is used {min_uses} times at {self.values[0]} and at {self.values[1]}")
            return chosen
        return np.array([vocabulary[word] for word in dict.fromkeys(as_list(words))], np.int64)

    @property
    def number(self) -> int:
        """U"""
        return int(self.unit.max()) + 1

    @property
    def counts(self) -> Floats:
        """(2, V) The uses of words at either end."""
        return self._by_end(self.sizes)

    def _by_end(self, numbers: NDArray[Any]) -> Floats:
        """(2, V) The sums of numbers of cells."""
        size = len(self.tokens.vocabularies[0])
        row = self.cells // self.number
        return np.asarray(np.bincount(row, numbers, 2 * size).reshape(size, 2).T, np.float64)

    def moves(self, contexts: Callable[[], Iterator[Stretch]], asked: Ints) -> _Moves:
        """How words move, given what reads h."""
        sums = self._sums(contexts)
        size, dimensions = len(self.tokens.vocabularies[0]), sums.shape[1]
        row = self.cells // self.number  # word * 2 + end
        rows = np.arange(2 * size)
        start = np.searchsorted(row, np.arange(2 * size + 1))
        uses, units = np.maximum(self.counts.T.reshape(-1), 1.0), np.diff(start)
        mean = np.zeros((2 * size, dimensions))
        occur = units > 0
        mean[occur] = np.add.reduceat(sums, start[:-1][occur]) / uses[occur, None]
        spread = np.sqrt(units / np.maximum(units - 1, 1))  # of a sample of these units
        sums = (sums - self.sizes[:, None] * mean[row]) * (spread / uses)[row, None]  # the influence of each cell
        noise = np.bincount(row, (sums**2).sum(1), len(rows)).reshape(size, 2).sum(1)
        metric = self._metric(mean[0::2] - mean[1::2], noise)
        mean, sums = mean @ metric, sums @ metric
        found, influence = np.full((3, len(asked)), np.nan), []
        for place, word in enumerate(asked.tolist()):
            one, two = mean[2 * word], mean[2 * word + 1]
            first, last = (sums[start[i] : start[i + 1]] for i in (2 * word, 2 * word + 1))
            covariance = first.T @ first + last.T @ last
            trace, length = float(np.trace(covariance)), float(one @ one + two @ two) / 2
            length = max(length - trace / 2, LEAST_LENGTH * length, TINY)
            moved = (float((one - two) @ (one - two)) - trace) / length
            full = float((covariance**2).sum()) / length**2
            alone = float(sum(((side**2).sum(1) ** 2).sum() for side in (first, last))) / length**2
            found[:, place] = moved, 2 * max(full - alone, 0.0), 4 * full
            influence += [first @ (2 * (one - two) - moved * one), last @ (2 * (two - one) - moved * two)]
            influence[-2:] = [numbers / length for numbers in influence[-2:]]
        known = units.reshape(size, 2)[asked].min(1) > 1  # one unit has no noise that can be seen
        sizes = [len(one) + len(two) for one, two in zip(influence[::2], influence[1::2])]
        change, chance, excess = np.where(known, found, np.nan)
        return _Moves(change, chance, excess, np.concatenate(influence), np.cumsum([0, *sizes]))

    def _metric(self, d: Floats, noise: Floats) -> Floats:
        """(D, D) The symmetric root of W: directions in which ordinary words move have little weight."""
        ordinary = (self.counts.min(0) >= ORDINARY_USES) & (noise > 0)
        dimensions = d.shape[1]
        if np.count_nonzero(ordinary) < dimensions:  # too few to tell these directions from those of the words
            return np.eye(dimensions)
        moves = d[ordinary] / np.sqrt(noise[ordinary])[:, None]
        spread, axes = np.linalg.eigh(moves.T @ moves)
        weight = 1 / (np.maximum(spread, 0.0) + SHRINKAGE * max(spread.mean(), TINY))
        return np.asarray((axes * np.sqrt(weight / weight.mean())) @ axes.T)

    def _sums(self, contexts: Callable[[], Iterator[Stretch]]) -> Floats:
        """(n, D) The sums of x over the uses in each cell."""
        total, number = np.zeros((2, 1)), np.zeros(2)
        for _, end, h in contexts():
            total = total + np.zeros((2, h.shape[1]))
            for side in (0, 1):
                total[side] += h[end == side].sum(0, dtype=np.float64)
                number[side] += (end == side).sum()
        center = (total / np.maximum(number, 1)[:, None]).astype(np.float32)
        sums = np.zeros((len(self.cells), total.shape[1]))
        for cell, end, h in contexts():
            h -= center[end] * h.any(axis=1, keepdims=True)
            order = np.argsort(cell, kind="stable")
            places, first = np.unique(cell[order], return_index=True)
            sums[places] += np.add.reduceat(_unit(h)[order], first)
        return sums

    def contexts(self, vectors: NDArray[np.float32]) -> Iterator[Stretch]:
        """A `Stretch` of text at a time, from the vectors (V, D) of contexts; h is zero without a context."""
        counts = self.tokens.vocabularies[0].counts
        share = counts / max(int(counts.sum()), 1)
        yield from self._contexts(vectors * (COMMON_SHARE / (COMMON_SHARE + share)).astype(np.float32)[:, None])

    def _contexts(self, weighted: NDArray[np.float32]) -> Iterator[Stretch]:
        number, offsets = self.number, self.tokens.offsets
        for first, last in spans(offsets):
            ids = np.asarray(self.tokens.ids[offsets[first] : offsets[last]], np.int64)
            document = np.repeat(np.arange(first, last), np.diff(offsets[first : last + 1]))
            end = self.end[document]
            position = np.flatnonzero(end >= 0)
            x = weighted[ids]
            h = np.zeros_like(x)
            for distance in range(1, min(CONTEXT_WINDOW, len(ids) - 1) + 1):
                weight = 1 - (distance - 1) / CONTEXT_WINDOW
                together = (document[distance:] == document[:-distance])[:, None] * np.float32(weight)
                h[distance:] += together * x[:-distance]
                h[:-distance] += together * x[distance:]
            if len(position):
                cell = (ids * 2 + end) * number + self.unit[document]
                yield np.searchsorted(self.cells, cell[position]), end[position], _unit(h[position])

    def table(self, asked: Ints, fits: Sequence[_Moves], interval: float) -> pd.DataFrame:
        """The means over fits, the words with the largest first."""
        change, chance, excess, influence = (
            np.mean([getattr(moves, name) for moves in fits], axis=0)
            for name in ("change", "chance", "excess", "influence")
        )
        squares = np.concatenate([[0.0], np.cumsum(influence**2)])[fits[0].cells]
        error = np.sqrt(chance + np.maximum(np.diff(squares) - excess, 0.0))
        reach = scipy.special.ndtri(0.5 + interval / 2) * error
        units = self._by_end(np.ones(len(self.cells)))[:, asked]
        words, counts = self.tokens.vocabularies[0].words, self.counts[:, asked]
        frame = pd.DataFrame(
            {
                "word": [words[word] for word in asked.tolist()],
                "value": self.values[0],
                "against": self.values[1],
                "estimate": change,
                "lower": change - reach,
                "upper": change + reach,
                "uses": counts[0].astype(np.int64),
                "uses_against": counts[1].astype(np.int64),
                "units": units[0].astype(np.int64),
                "units_against": units[1].astype(np.int64),
            }
        )
        order = frame.sort_values(["estimate", "word"], ascending=[False, True], kind="stable", na_position="last")
        return order.reset_index(drop=True)


def _unit(x: NDArray[np.float32]) -> NDArray[np.float32]:
    """Vectors at length one; those of zero stay so."""
    return np.asarray(x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), np.float32(TINY)))
