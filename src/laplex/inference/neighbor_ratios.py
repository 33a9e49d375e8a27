"""The neighbors of a word in two groups, and the ratio of its similarities to each: which belong to one group only.

The ratio is that of cosines without noise, of vectors that are estimated in each group by itself (`ComparedValues`).
Its interval is made for the logarithm, whose influences are those of the cosines divided by them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from laplex.embeddings import Embeddings
from laplex.errors import InputError, check_int, quote
from laplex.inference.cosine_intervals import ComparedValues, ValuePair, finish, mean_of
from laplex.inference.jackknife import Estimate
from laplex.inference.units import Options

CANDIDATES = 2  # times k words of each group are read, to find the k nearest
BOTH = "both"  # groups have a neighbor
COLUMNS = ["word", "neighbor", "value", "against", "nearest_in", "similarity", "similarity_against", "estimate"]
COLUMNS += ["lower", "upper", "p", "p_adjusted", "holds", "uses", "uses_against", "units", "units_against"]


def neighbor_ratio(
    fitted: Embeddings,
    word: str,
    across: str,
    options: Options,
    k: int,
    values: Sequence[Any] | None,
    at: Mapping[str, Any],
) -> pd.DataFrame:
    """The k nearest words of a word in each of two groups, with the ratio of their similarities in both."""
    k, number = check_int("k", k), fitted.id(word, fitted.language(options.language))
    compared = ComparedValues(fitted, across, at, options)
    pair, text = _pair(compared, across, values), compared.text
    sides = [[pair.value], pair.others]
    text.read([number])
    near = [i for side in sides for i in _candidates(compared, number, side, CANDIDATES * k)]
    text.read([number, *near])
    found = {
        other: [text.cosine(number, other, slice) for slice in range(len(compared.values))]
        for other in dict.fromkeys(near)
    }
    cosine = {other: [mean_of([some[i] for i in side]) for side in sides] for other, some in found.items()}
    nearest = [
        sorted((i for i, both in cosine.items() if both[side]), key=lambda i: -_value(cosine[i][side]))[:k]
        for side in (0, 1)
    ]
    if not all(nearest):
        names = (pair.name, pair.against)
        raise InputError(f'"{word}" has too little text in {quote([n for n, some in zip(names, nearest) if not some])}')
    rows, words = [], fitted.rows.vocabularies[text.language].words
    for other in dict.fromkeys([*nearest[0], *nearest[1]]):
        one, two = cosine[other]
        row = compared.row([_logarithm(some) for some in found[other]], pair, [number, other])
        inside = [other in some for some in nearest]
        where = BOTH if all(inside) else pair.name if inside[0] else pair.against
        row |= {name: float(np.exp(row[name])) for name in ("estimate", "lower", "upper")}
        row |= {"similarity": _value(one), "similarity_against": _value(two), "nearest_in": where}
        rows.append({"word": words[number], "neighbor": words[other], **row})
    table = finish(rows, options.level)[COLUMNS].sort_values("estimate", ascending=False, kind="stable")
    table = table.reset_index(drop=True)
    table.attrs["facts"] = {"unit": text.options.unit}
    return table


def _pair(compared: ComparedValues, across: str, values: Sequence[Any] | None) -> ValuePair:
    """The two groups: both values of a column, two that are named, or one and the others."""
    known = compared.values
    chosen = known if values is None else [str(value) for value in ([values] if isinstance(values, str) else values)]
    if unknown := [value for value in chosen if value not in known]:
        raise InputError(f'"{across}" has no value {unknown[0]!r}; it has {quote(known, 12)}')
    if not 1 <= len(set(chosen)) == len(chosen) <= 2 or len(known) < 2:
        raise InputError(f'"{across}" has {len(known)} values: name two, or one, by values=; it has {quote(known, 12)}')
    first = known.index(chosen[0])
    if len(chosen) == 2:
        return ValuePair(first, [known.index(chosen[1])], *chosen)
    return ValuePair(first, [i for i in range(len(known)) if i != first], chosen[0], "rest")


def _candidates(compared: ComparedValues, word: int, side: Sequence[int], count: int) -> list[int]:
    """The words with enough text in a group whose vectors without groups are nearest to that of the word there."""
    text, free = compared.text, compared.free
    directions = [found.vector for slice in side if (found := text.direction(word, slice)) is not None]
    if not directions:
        return []
    vectors = free.block(text.language, 0).astype(np.float64)
    cosine = vectors @ np.mean(directions, axis=0) / np.maximum(np.linalg.norm(vectors, axis=1), 1e-300)
    uses = text.fitted.counts[text.language][list(side)].sum(0)
    cosine[uses < text.options.min_count] = -np.inf
    cosine[word] = -np.inf
    order = np.argsort(-cosine, kind="stable")[:count]
    return [int(i) for i in order if np.isfinite(cosine[i])]


def _value(found: Estimate | None) -> float:
    return float("nan") if found is None else found.value


def _logarithm(found: Estimate | None) -> Estimate | None:
    """The logarithm of a cosine; None where it is not above zero."""
    if found is None or found.value <= 0:
        return None
    return Estimate(float(np.log(found.value)), found.influence / found.value)
