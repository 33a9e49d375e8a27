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
from laplex.errors import InputError, explain_keywords, quote
from laplex.inference.cosine_intervals import ComparedValues, CosineIntervals, Interval, finish, mean_of
from laplex.inference.cosines import interval_columns
from laplex.inference.jackknife import Estimate
from laplex.inference.units import Options
from laplex.model.vectors import as_list
from laplex.questions.answers import slice_values
from laplex.questions.positions import MIN_USES, Axis, Pole, SliceAxis
from laplex.runtime.display import say

Groups = tuple[Sequence[int], Sequence[int]]


@explain_keywords
def project(
    fitted: Embeddings,
    words: str | Sequence[str],
    axis: tuple[Pole, Pole],
    options: Options,
    *,
    across: str | None = None,
    at: Mapping[str, Any] | None = None,
    min_uses: int = MIN_USES,
) -> pd.DataFrame:
    """Compute positions of words on an axis with intervals, or their differences between the values of a column.

    Args:
        fitted: The model.
        words: The words.
        axis: Its two poles, each a word or several.
        options: What all tests share.
        across: The column whose values are compared, if any; vectors need not vary by it.
        at: Values of columns, to which slices (or with `across` the text) are restricted.
        min_uses: How often a word of a pole must be used in a slice to count there.

    Returns:
        A row for each word and slice: word, the slice, estimate, lower, upper, uses and units. The axis and its scale
        are held. With `across` a row for each word and comparison, as `similarity` has them; the axis is then that of
        the model without labels. `frame.attrs["poles"]` says how often the words of the poles are used.

    Example:
        project(fitted, ["tax", "war"], ("good", "bad"), Options(), across="party")
    """
    index = fitted.language(options.language)
    ids = fitted.ids(words, index)
    names = [fitted.rows.vocabularies[index].words[i] for i in ids]
    if across is not None:
        return _differences(fitted, dict(zip(ids, names)), axis, options, across, at or {}, min_uses)
    found = Axis(fitted, axis, index, fitted.chosen(at), min_uses, options.quiet)
    text = CosineIntervals(fitted, options)
    text.read(ids)
    records = []
    for word, name in zip(ids, names):
        for part in found.slices:
            interval = Interval.of(_position(text, word, part.slice, part), options.interval)
            columns = interval_columns(interval, *text.text_size([word], part.slice))
            records.append({"word": name, **slice_values(fitted, part.slice), **columns})
    table = pd.DataFrame(records)
    table.attrs["poles"] = found.table
    return table


def _position(text: CosineIntervals, word: int, slice: int, axis: SliceAxis) -> Estimate | None:
    """The position of a word, from its cosine with an axis that is held."""
    found = text.with_axis(word, axis.direction.astype(np.float64), slice)
    return (
        None
        if found is None
        else Estimate((found.value - axis.mean) / axis.deviation, found.influence / axis.deviation)
    )


def _differences(
    fitted: Embeddings,
    words: Mapping[int, str],
    poles: tuple[Pole, Pole],
    options: Options,
    across: str,
    at: Mapping[str, Any],
    min_uses: int,
) -> pd.DataFrame:
    """A row for each word and comparison. The axis is the pooled one, the scale that of each value."""
    index = fitted.language(options.language)
    compared = ComparedValues(fitted, across, at, options)
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
    text.read(list(words))
    rows = []
    for word, name in words.items():
        found = [_position(text, word, slice, scale) for slice, scale in enumerate(scales)]
        rows += [{"word": name, **compared.row(found, pair, [word])} for pair in compared.comparisons()]
    table = finish(rows, options.level)
    table.attrs["poles"] = free.table
    return table


@explain_keywords
def association(
    fitted: Embeddings,
    targets: tuple[Pole, Pole],
    attributes: tuple[Pole, Pole],
    options: Options,
    *,
    across: str | None = None,
    at: Mapping[str, Any] | None = None,
) -> pd.DataFrame:
    """Test how much more one set of words is associated with an attribute than another set is (WEAT).

    Args:
        fitted: The model.
        targets: Two sets of words, such as occupations.
        attributes: Two sets of words, such as words for women and for men.
        options: What all tests share.
        across: A column, between whose values the association is compared; vectors need not vary by it.
        at: Values of columns, to which slices (or with `across` the text) are restricted.

    Returns:
        A row for each slice, or with `across` for each comparison: "estimate" is the effect size (or the difference of
        two), with lower, upper, p, p_adjusted and holds, and the uses and units of the rarest word. Units are the
        sample, not words.

    Example:
        association(fitted, (["career"], ["home"]), (["he", "man"], ["she", "woman"]), Options(), across="party")
    """
    index = fitted.language(options.language)
    x, y = _sets(fitted, targets, index, "targets")
    a, b = _sets(fitted, attributes, index, "attributes")
    words = [*x, *y, *a, *b]
    if across is not None:
        compared = ComparedValues(fitted, across, at or {}, options)
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
