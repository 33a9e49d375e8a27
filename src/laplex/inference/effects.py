"""Effects along a number: where a word stands at each value, on the line along which it moves most, with a band.

The word's vectors follow a natural cubic spline b(x) of the number, given other columns (`partial_scores.py`), with
coefficients B (t, D) in the metric of sizes. The line w is the direction in which b(x) B varies most; the position is

    f(x) = (b(x) − b̄) B w        b̄ the mean of b over the word's text

A line found in the same text would make noise look like movement. So clusters are divided into two halves by chance,
and the positions of each half are taken on the line of the other half; f is their mean. Its variance comes from the
influence of clusters, given the lines. C clusters, t columns of the spline, D dimensions, X values of the number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import scipy

from laplex.embeddings import Embeddings
from laplex.errors import InputError, quote
from laplex.inference.covariates import Covariates, formula_given
from laplex.inference.design import Design
from laplex.inference.occurrence_pass import score_pass
from laplex.inference.partial_scores import PartialScores, pseudo_inverse
from laplex.inference.units import (
    Floats,
    Ints,
    Options,
    check_unit,
    design_units,
    documents_at,
    tokens_for,
)

MIN_VALUES_OF_CURVE = 5  # of a number; with fewer, the line is straight


def effect_along(
    fitted: Embeddings, word: str, along: str, options: Options, given: Sequence[str], at: Mapping[str, Any]
) -> pd.DataFrame:
    """Where a word stands at each value of a number, given other columns."""
    tokens, language = tokens_for(fitted, options, [along, *given]), fitted.language(options.language)
    if tokens.number_values(along) is None:
        raise InputError(
            f'"{along}" is no number: its values are {quote(tokens.values(along), 6)}; ask contrast("{along}")'
        )
    options = options.with_unit(tokens, [along, *given])
    check_unit(options.unit, along)
    documents = documents_at(tokens, language, at)
    covariates = Covariates(tokens, documents)
    straight = len(np.unique(tokens.codes(along)[documents])) < MIN_VALUES_OF_CURVE
    term = f"`{along}`" if straight else f"s(`{along}`)"
    others = f"{formula_given(covariates, given, along, options.unit)} +" if given else "~"
    design = Design.of(covariates, f"{others} {term}")
    units = design_units(tokens, documents, design.cell, len(design.matrix), options.unit)
    number = fitted.id(word, language)
    text = score_pass(fitted, tokens, units, [number], language, options)
    clusters = int(text.cluster_counts()[0])
    if clusters < 2 * options.fewest:
        raise InputError(
            f'"{word}" is used by {clusters} units, fewer than the {2 * options.fewest} that a curve needs'
        )
    scores = PartialScores.of(next(text.run([0], lambda table: table)), design.matrix)
    columns = next(c.columns for c in reversed(design.coefficients) if c.term == term.replace("`", "") and not c.level)
    values, place = np.unique(design.cells[along].to_numpy(np.float64), return_inverse=True)
    first = np.unique(place, return_index=True)[1]
    found = None if scores is None else _curve(scores, columns, design.matrix[first][:, columns], options)
    if found is None:
        raise InputError(f'the text of "{word}" cannot tell "{along}" from {quote(given, 6)}: leave out a column')
    counts = [part[0] for part in text.counts()]
    uses, units_at = (np.bincount(place, part, len(values)).astype(np.int64) for part in counts)
    columns_of = {"word": tokens.vocabularies[language].words[number], along: values}
    columns_of |= dict(zip(("estimate", "lower", "upper"), found))
    return pd.DataFrame({**columns_of, "uses": uses, "units": units_at})


def _curve(
    scores: PartialScores, tested: Sequence[int], basis: Floats, options: Options
) -> tuple[Floats, Floats, Floats] | None:
    """(X) Positions and the ends of their intervals, at values with a row each of the spline's columns (X, t)."""
    others = [k for k in range(scores.matrix.shape[1]) if k not in tested]
    residual = scores.residual_columns(tested, others)
    if residual is None:
        return None
    y, gram = scores.partial_contributions(tested, residual[0])
    y = y @ scores.size_metric
    columns = list(tested)
    mean = scores.gram[0, columns] / scores.gram[0, 0]
    spread = scores.gram[np.ix_(columns, columns)] / scores.gram[0, 0] - np.outer(mean, mean)
    half: Ints = np.random.default_rng([options.seed, 7]).permutation(scores.clusters) % 2
    inverse = [pseudo_inverse(gram[half == h].sum(0)) for h in (0, 1)]
    slopes = [inverse[h] @ y[half == h].sum(0) for h in (0, 1)]
    root = np.linalg.cholesky(spread + 1e-12 * np.trace(spread) * np.eye(len(spread)))
    lines = [np.linalg.svd(root.T @ slope, full_matrices=False)[2][0] for slope in slopes]
    if lines[0] @ lines[1] < 0:
        lines[1] = -lines[1]
    centered = basis - mean
    position, variance, squares = np.zeros(len(basis)), np.zeros(len(basis)), np.zeros(len(basis))
    for h in (0, 1):
        line, inside = lines[1 - h], half == h
        position += centered @ slopes[h] @ line / 2
        left = (y[inside] - gram[inside] @ slopes[h]) @ line  # (clusters, t)
        influence = left @ inverse[h] @ centered.T / 2
        variance += (influence**2).sum(0)
        squares += (influence**4).sum(0)
    if position[-1] < position[0]:
        position = -position
    freedom = np.maximum(variance**2 / np.maximum(squares, 1e-300), 1.0)
    width = scipy.special.stdtrit(freedom, 0.5 + options.interval / 2) * np.sqrt(variance)
    return position, position - width, position + width
