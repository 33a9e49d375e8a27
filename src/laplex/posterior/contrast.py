"""Which words differ between the values of a column in a way that would hold in another sample?

A fitted model and a column come in; a table of words goes out: the distance without its noise, an interval, p.
The test is that of `evidence.py` for two values and of `groups.py` for more, on contexts that do not know the labels
(`pooled.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from laplex.embeddings import Embeddings
from laplex.posterior.charge import charge
from laplex.posterior.comparison import Joint, Pair, answers, draw
from laplex.posterior.listing import listed, ranked
from laplex.posterior.pooled import ridge_of
from laplex.posterior.request import Options, Request, prepare
from laplex.posterior.tables import Floats, Pass
from laplex.posterior.units import warn_of_speakers
from laplex.progress import say
from laplex.questions.pairing import chosen_of
from laplex.tokens import Tokens

Rank = Literal["evidence", "estimate"]


def contrast(
    fitted: Embeddings,
    column: str,
    *,
    cluster: str | None = None,
    words: str | Sequence[str] | None = None,
    values: Sequence[Any] | None = None,
    top: int | None = None,
    joint: bool = False,
    rank: Rank = "evidence",
    min_clusters: int = 25,
    min_count: int = 100,
    interval: float = 0.9,
    permutations: int | None = None,
    pooled: Embeddings | None = None,
    tokens: Tokens | None = None,
    language: str | None = None,
    seed: int = 1,
    threads: int | None = None,
    quiet: bool = False,
    **where: Any,
) -> pd.DataFrame:
    """Words that differ between the values of a column, by the evidence for it.

    A row is a word and a pair of values, or with `joint` a word alone: does it differ between any of them? "estimate"
    is the distance of the word's vectors without its noise (of several values, the root of the mean square over all
    pairs), "lower" and "upper" hold it in a share `interval` of samples, and "p_adjusted" is p after Benjamini and
    Hochberg, over all words and pairs tested. `rank` puts first the smallest p, or with "estimate" the largest
    distance that is sure, "lower".

    `cluster` is the column that says who speaks, if the label is the speaker's. Words are tested that occur
    `min_count` times at the values compared and in `min_clusters` clusters (or documents) of each; "clusters" is the
    smallest number of them at a value. Words that are asked for by name are listed in any case. `joint` leaves out
    values that fewer than `min_clusters` clusters have. `values` are the only ones compared, if given.

    Where p comes from:

    - by default from 999 permutations of the labels of clusters, and not by counting them, but as the tail of a smooth
      curve through them, so that it can be smaller than 1/1000: of a hundred speakers one may have a third of a
      word's occurrences, and no formula is right for that;
    - where clusters are more than 2,000, as documents are, in the same way for a word that at most 1,000 of them have,
      among which labels are permuted, and from a formula for more frequent words;
    - from a formula where clusters have several labels; `permutations=0` asks for it;
    - with `permutations=999`, from so many labellings by counting: the share under which a word differs as much. This
      is exact if clusters could have had each other's labels; a word that is clearly more frequent at a value is first
      made equally frequent, since frequency is no difference.

    `pooled` is a model without labels, if there is one.

        contrast(fitted, "party", cluster="senator")
    """
    options = Options(cluster, words, top, min_clusters, min_count, interval, permutations, rank, seed, threads, quiet)
    request = prepare(fitted, column, options, tokens, language, where)
    if cluster is None:
        warn_of_speakers(request.tokens, column)
    known = np.unique(request.units.label).tolist()
    named = chosen_of([request.units.labels[i] for i in known], column, values)
    labels = [i for i in known if request.units.labels[i] in named]
    text = request.read(pooled)
    return ranked(request, _all_at_once(request, text, labels) if joint else _pair_by_pair(request, text, labels))


def _pair_by_pair(request: Request, text: Pass, labels: Sequence[int]) -> list[pd.DataFrame]:
    """A table for every pair of values."""
    counts, clusters = text.counts()
    pairs = []
    for one, two in combinations(labels, 2):
        enough = _enough(request, counts[:, [one, two]], clusters[:, [one, two]])
        inside = np.isin(request.units.label, [one, two])
        draws = draw(request, request.units.label[inside], _seed(request, one, two))
        pairs.append(Pair(one, two, enough, _charges(request, one, two), draws))
    request.say_untested(np.any([pair.tested for pair in pairs], axis=0), " at a value")
    frames = []
    for pair, found in zip(pairs, answers(text, pairs)):
        count, groups = counts[:, [pair.one, pair.two]], clusters[:, [pair.one, pair.two]]
        each = {"count_one": count[:, 0], "count_two": count[:, 1]}
        each |= {"clusters_one": groups[:, 0], "clusters_two": groups[:, 1]}
        name = f"{request.units.labels[pair.one]} – {request.units.labels[pair.two]}"
        frames.append(listed(request, name, found, count.sum(1), groups.min(1), **each))
    return frames


def _all_at_once(request: Request, text: Pass, labels: Sequence[int]) -> list[pd.DataFrame]:
    """One table, of all values that enough clusters have."""
    units, least = request.units, request.options.min_clusters
    sizes = np.bincount(units.label, minlength=len(units.labels))
    many = [label for label in labels if sizes[label] >= least]
    if len(many) < 2:
        many = list(labels)
    elif left := [units.labels[label] for label in labels if sizes[label] < least]:
        say(f"left out, with under {least} clusters: {', '.join(left)}", quiet=request.options.quiet)
    counts, clusters = (found[:, many] for found in text.counts())
    enough = _enough(request, counts, clusters)
    request.say_untested(enough, " at a value")
    priors = {(one, two): _charges(request, many[one], many[two]) for one, two in combinations(range(len(many)), 2)}
    places = np.searchsorted(many, units.label[np.isin(units.label, many)])
    draws = draw(request, places, _seed(request, *many))
    (found,) = answers(text, [Joint(many, enough, priors, draws)])
    return [listed(request, "all", found, counts.sum(1), clusters.min(1))]


def _enough(request: Request, counts: NDArray[np.int64], clusters: NDArray[np.int64]) -> NDArray[np.bool_]:
    """(n) Which words can be tested between some values."""
    options = request.options
    return np.asarray((clusters.min(1) >= options.min_clusters) & (counts.sum(1) >= options.min_count))


def _charges(request: Request, one: int, two: int) -> Floats:
    """(n) What the prior charges words for a difference.

    Vectors that do not vary by the column would have the ridge alone to hold them together.
    """
    at = {request.units.labels[one]: 0.5, request.units.labels[two]: -0.5}
    found = charge(request.fitted, request.column, at, request.index, request.where)[request.ids]
    return np.maximum(found, ridge_of(request.fitted.settings) / 2)


def _seed(request: Request, *labels: int) -> list[int]:
    return [request.options.seed, 5, *labels]
