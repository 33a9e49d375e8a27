"""How similar are words, and how similar would they be in another sample?

A fitted model and words come in; the tables of `questions.similarity` and `questions.neighbors` go out, with intervals.
Rows of words with too little text have none. The spread comes from clusters (`sampling.py`): one that uses both words
counts for both at once.
"""

from __future__ import annotations

from typing import Any

import pandas as pd

from laplex.embeddings import Embeddings
from laplex.posterior.spread import Spread, columns_of
from laplex.posterior.units import warn_of_speakers
from laplex.questions import neighbors as plain
from laplex.tokens import Tokens


def similarity(
    fitted: Embeddings,
    one: str,
    two: str,
    *,
    cluster: str | None = None,
    interval: float = 0.9,
    min_clusters: int = 25,
    min_count: int = 100,
    tokens: Tokens | None = None,
    language: str | None = None,
    seed: int = 1,
    threads: int | None = None,
    quiet: bool = False,
    **where: Any,
) -> pd.DataFrame:
    """The cosine of two words in each slice, and an interval for it.

    "similarity" is that of the fitted vectors. Noise draws it towards zero: "estimate" is what it would be without,
    at the maximum of the log posterior, and what "se", "lower" and "upper" are about. They say how it would come out
    with other clusters of the same kind, given the contexts: that these would be others as well is not in them.
    "n" and "clusters" are those of the word that has fewer.

        similarity(fitted, "health", "insurance", cluster="senator", party="D")
    """
    text = Spread(fitted, cluster, interval, min_clusters, min_count, tokens, language, seed, threads, quiet)
    if cluster is None:
        for column in fitted.columns:
            warn_of_speakers(text.tokens, column)
    found = plain.similarity(fitted, one, two, language=language, where=where)
    ids = fitted.ids([one, two], text.language)
    text.read(ids)
    rows = [text.pair(ids[0], ids[-1], slice) for slice in fitted.chosen(where)]
    return found.assign(**columns_of(rows))


def neighbors(
    fitted: Embeddings,
    word: str,
    k: int = 10,
    *,
    cluster: str | None = None,
    interval: float = 0.9,
    min_clusters: int = 25,
    min_count: int = 100,
    tokens: Tokens | None = None,
    language: str | None = None,
    seed: int = 1,
    threads: int | None = None,
    quiet: bool = False,
    **where: Any,
) -> pd.DataFrame:
    """The k words most similar to a word, as the fitted vectors have it, and an interval for each similarity.

    The columns are explained in `similarity`. The words were chosen because they looked similar, so those at the end
    of a long list will on average be a little less similar in another sample than here.

        neighbors(fitted, "health", cluster="senator", party="D")
    """
    text = Spread(fitted, cluster, interval, min_clusters, min_count, tokens, language, seed, threads, quiet)
    if cluster is None:
        for column in fitted.columns:
            warn_of_speakers(text.tokens, column)
    found = plain.neighbors(fitted, word, k, language=language, where=where)
    mine = fitted.id(word, text.language)
    others = [fitted.id(other, text.language) for other in found["neighbor"]]
    text.read(list(dict.fromkeys([mine, *others])))
    keys = {key: number for number, key in enumerate(fitted.rows.slices.keys)}
    slices = [keys[key] for key in found[list(fitted.columns)].itertuples(index=False, name=None)]
    return found.assign(**columns_of([text.pair(mine, other, slice) for other, slice in zip(others, slices)]))
