"""Positions of words on an axis, and the association of two sets of words with two others, with intervals and tests.

Positions are scaled as in `laplex.questions.positions`. The association of target words X and Y with attributes A and B
is the effect size of Caliskan, Bryson and Narayanan (2017),

    s(w) = mean cos(w, a) over A − mean cos(w, b) over B
    d = (mean s over X − mean s over Y) / deviation of s over X and Y

Both are functions of cosines, whose influences by cluster they inherit: what was sampled are speakers, not words.
C clusters, m target words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from laplex.embeddings import Embeddings
from laplex.errors import InputError, quote
from laplex.inference.cosine_intervals import (
    INTERVAL_COLUMNS,
    ComparedValues,
    CosineIntervals,
    Interval,
    finish,
    mean_of,
    with_intervals,
)
from laplex.inference.jackknife import Estimate
from laplex.inference.units import Options
from laplex.model.vectors import as_list
from laplex.questions.answers import slice_values
from laplex.questions.positions import Axis, Pole, SliceAxis
from laplex.runtime.display import say

Groups = tuple[Sequence[int], Sequence[int]]


def positions_with_intervals(
    fitted: Embeddings, axis: Axis, ids: Sequence[int], table: pd.DataFrame, options: Options
) -> pd.DataFrame:
    """A table of positions with intervals; the axis and its scale are held."""
    text = CosineIntervals(fitted, options)
    text.read(ids)
    found = []
    for word in ids:
        for part in axis.slices:
            interval = Interval.of(_position(text, word, part.slice, part), options.interval)
            found.append(dict(zip(INTERVAL_COLUMNS, (*interval[:3], *text.text_size([word], part.slice)))))
    return with_intervals(table, found, "position")


def _position(text: CosineIntervals, word: int, slice: int, axis: SliceAxis) -> Estimate | None:
    """The position of a word, from its cosine with an axis that is held."""
    found = text.with_axis(word, axis.direction.astype(np.float64), slice)
    return (
        None
        if found is None
        else Estimate((found.value - axis.mean) / axis.deviation, found.influence / axis.deviation)
    )


def differences_of_position(
    fitted: Embeddings,
    words: str | Sequence[str],
    poles: tuple[Pole, Pole],
    options: Options,
    across: str,
    given: Sequence[str],
    at: Mapping[str, Any],
) -> pd.DataFrame:
    """The differences of positions between the values of a column: a row for each word and comparison.

    The axis is that of the model without labels, the scale that of each value.
    """
    index, min_uses = fitted.language(options.language), options.min_uses
    ids = fitted.ids(words, index)
    compared = ComparedValues(fitted, across, at, options, given)
    text, free = compared.text, Axis(compared.free, poles, index, [0], min_uses, options.quiet)
    here = {name: value for name, value in at.items() if name in fitted.columns}
    scales = [free.slices[0]] * len(compared.values)
    if across in fitted.columns:
        for i, value in enumerate(compared.values):
            parts = Axis(fitted, poles, index, fitted.chosen({**here, across: value}), min_uses, quiet=True).slices
            mean, deviation = (
                float(np.mean([getattr(part, name) for part in parts])) for name in SliceAxis._fields[2:]
            )
            scales[i] = SliceAxis(i, free.slices[0].direction, mean, deviation)
    text.read(ids)
    rows = []
    for word in ids:
        name = fitted.rows.vocabularies[index].words[word]
        found = [_position(text, word, slice, scale) for slice, scale in enumerate(scales)]
        rows += [{"word": name, **compared.row(found, pair, [word])} for pair in compared.comparisons()]
    table = finish(rows, options.level)
    table.attrs["poles"] = free.table.to_dict("records")
    return table


def association(
    fitted: Embeddings,
    targets: tuple[Pole, Pole],
    attributes: tuple[Pole, Pole],
    options: Options,
    across: str | None,
    given: Sequence[str],
    at: Mapping[str, Any] | None,
) -> pd.DataFrame:
    """The association of two sets of words with two attributes in each slice, or its differences across a column."""
    index = fitted.language(options.language)
    x, y = _sets(fitted, targets, index, "targets")
    a, b = _sets(fitted, attributes, index, "attributes")
    words = [*x, *y, *a, *b]
    if across is not None:
        compared = ComparedValues(fitted, across, at or {}, options, given)
        compared.text.read(words)
        found = [effect_size(compared.text, (x, y), (a, b), slice) for slice in range(len(compared.values))]
        return finish([compared.row(found, pair, words) for pair in compared.comparisons()], options.level)
    text = CosineIntervals(fitted, options)
    text.read(words)
    rows = []
    for slice in fitted.chosen(at):
        interval = Interval.of(effect_size(text, (x, y), (a, b), slice), options.interval)
        uses, units = text.text_size(words, slice)
        tested = {**interval._asdict(), "p_adjusted": np.nan, "holds": False, "uses": uses, "units": units}
        rows.append({**slice_values(fitted, slice), **tested})
    return finish(rows, options.level)


def _sets(fitted: Embeddings, sets: tuple[Pole, Pole], language: int, name: str) -> Groups:
    if isinstance(sets, str) or len(sets) != 2 or not all(len(as_list(some)) for some in sets):
        raise InputError(f'{name} are two sets of words: write {name}=(["career", "office"], ["home", "family"])')
    first, second = (fitted.ids(some, language) for some in sets)
    if both := [fitted.rows.vocabularies[language].words[i] for i in first if i in second]:
        raise InputError(f"{quote(both)} is in both sets of {name}: it can be in one only")
    return first, second


def effect_size(text: CosineIntervals, targets: Groups, attributes: Groups, slice: int) -> Estimate | None:
    """The effect size in a slice, from the words that have enough text there; None if a set has none."""
    kept = [[i for i in some if text.direction(i, slice) is not None] for some in (*targets, *attributes)]
    names, quiet = text.fitted.rows.vocabularies[text.language].words, text.options.quiet
    left = [names[i] for some, known in zip((*targets, *attributes), kept) for i in some if i not in known]
    if left:
        where = ", ".join(text.fitted.rows.slices.keys[slice])
        say(f"too little text{where and f' in {where}'}, and left out: {quote(left, 12)}", quiet=quiet)
    if not all(kept) or len(kept[0]) + len(kept[1]) < 3:
        return None
    x, y, a, b = kept
    scores = []
    for word in (*x, *y):
        near, far = (mean_of([text.cosine(word, other, slice) for other in some]) for some in (a, b))
        if near is not None and far is not None:  # which all words with a direction have
            scores.append(near.minus(far))
    value, changes = np.array([score.value for score in scores]), np.array([score.influence for score in scores])
    center, deviation = value - value.mean(), float(value.std(ddof=1))
    if not deviation > 0:
        return None
    sign = np.repeat([1 / len(x), -1 / len(y)], [len(x), len(y)])
    effect = float(sign @ value) / deviation
    spread = center @ changes / ((len(value) - 1) * deviation)
    return Estimate(effect, (sign @ changes - effect * spread) / deviation)
