"""p-values and effects as a table: distances with intervals, p adjusted for the number of tests, in order.

n words, R rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from laplex.posterior.comparison import Answer
from laplex.posterior.request import Request


def listed(
    request: Request,
    name: str,
    answers: Mapping[int, Answer],
    n: NDArray[np.int64],
    clusters: NDArray[np.int64],
    **more: Any,
) -> pd.DataFrame:
    """A row for each word: what was found between the values that `name` says. p is not adjusted yet."""
    size = len(request.ids)
    p, square, least, most, lower, upper = np.full((6, size), np.nan)
    z = float(stats.norm.ppf(0.5 + request.options.interval / 2))
    for word, (value, found) in answers.items():
        p[word], square[word] = value, found.square
        least[word], most[word] = found.bounds(1.0)
        lower[word], upper[word] = found.bounds(z)
    names = request.fitted.rows.vocabularies[request.index].words
    columns = {
        "word": [names[i] for i in request.ids],
        request.column: name,
        "estimate": _root(square),
        "se": (_root(most) - _root(least)) / 2,
        "lower": _root(lower),
        "upper": _root(upper),
        "p": p,
        "p_adjusted": np.nan,
        "n": n,
        "clusters": clusters,
    }
    return pd.DataFrame(columns | more)


def ranked(request: Request, frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """All rows with p adjusted over them, in the order asked for. Words that are not named need a p."""
    if request.options.words is None:
        frames = [frame[frame["p"].notna()] for frame in frames]
    whole = adjusted(pd.concat([frame for frame in frames if len(frame)] or frames[:1]))
    first = {"evidence": "p", "estimate": "lower"}[request.options.rank]
    then = {"evidence": "lower", "estimate": "estimate"}[request.options.rank]
    order = [first, then, "estimate", "word"] if then != "estimate" else [first, then, "word"]
    whole = whole.sort_values(order, ascending=[name in ("p", "word") for name in order], kind="stable")
    return whole.head(len(whole) if request.options.top is None else request.options.top).reset_index(drop=True)


def adjusted(frame: pd.DataFrame) -> pd.DataFrame:
    """p after Benjamini and Hochberg, over all rows that have one."""
    p = frame["p"].to_numpy()
    known = np.isfinite(p)
    values = np.full(len(p), np.nan)
    if known.any():
        values[known] = stats.false_discovery_control(p[known])
    return frame.assign(p_adjusted=values)


def _root(square: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.sqrt(np.maximum(square, 0.0)))
