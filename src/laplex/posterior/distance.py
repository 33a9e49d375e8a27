"""How far apart are words between two values of a column, for each value of another, and how sure is that?

A fitted model comes in; a table goes out with a row for each word and value. Each value is tested on its own text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from laplex.embeddings import Embeddings
from laplex.errors import InputError
from laplex.posterior.contrast import contrast
from laplex.posterior.listing import adjusted
from laplex.posterior.pooled import check_pooled
from laplex.posterior.pooled import pooled as fit_pooled
from laplex.progress import say
from laplex.provenance import tokens_of
from laplex.tokens import Tokens


def distance(
    fitted: Embeddings,
    words: str | Sequence[str],
    across: str,
    along: str,
    *,
    pooled: Embeddings | None = None,
    tokens: Tokens | None = None,
    threads: int | None = None,
    quiet: bool = False,
    **options: Any,
) -> pd.DataFrame:
    """The distance of words across one column, along another, without its noise and with an interval.

    Options are those of `contrast`. Contexts are those of the whole text; p is adjusted over all rows.

        distance(fitted, ["health", "relief"], across="party", along="period", cluster="senator")
    """
    tokens = tokens_of(fitted, tokens)
    if along == across:
        raise InputError(f'across and along are both "{along}": name two columns')
    pooled = fit_pooled(fitted, tokens, threads=threads, quiet=quiet) if pooled is None else pooled
    shared: dict[str, Any] = {
        "pooled": check_pooled(pooled, fitted),
        "tokens": tokens,
        "threads": threads,
        "quiet": quiet,
    }
    frames = []
    for number, value in enumerate(tokens.values(along)):
        if len(np.unique(tokens.codes(across)[tokens.codes(along) == number])) < 2:
            say(f'"{across}" has one value only where "{along}" is {value}: left out', quiet=quiet)
            continue
        frame = contrast(fitted, across, words=words, **shared, **options, **{along: value})  # type: ignore[arg-type]
        frame.insert(2, along, value)
        frames.append(frame)
    if not frames:
        raise InputError(f'"{across}" has one value only at every value of "{along}": there is nothing to compare')
    whole = adjusted(pd.concat(frames, ignore_index=True))
    order = {word: number for number, word in enumerate(dict.fromkeys([words] if isinstance(words, str) else words))}
    return whole.sort_values(
        ["word", across], key=lambda column: column.map(order) if column.name == "word" else column, kind="stable"
    ).reset_index(drop=True)
