"""Which words move along an ordered column, in one direction, in a way that would hold in another sample?

A fitted model and a column come in; a table of words goes out: how far a straight line leads from the first value to
the last, without noise, an interval, p. The test is that of `groups.py`. G values, n words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from laplex.embeddings import Embeddings
from laplex.posterior.charge import charge
from laplex.posterior.comparison import Trend, answers, draw
from laplex.posterior.contrast import Rank
from laplex.posterior.listing import listed, ranked
from laplex.posterior.pooled import ridge_of
from laplex.posterior.request import Options, Request, prepare
from laplex.posterior.scores import scores
from laplex.posterior.tables import Floats, Pass
from laplex.posterior.units import Units, warn_of_speakers
from laplex.tokens import Tokens

MOST = 24  # values that are kept apart; of more, neighbors are taken together


def drift(
    fitted: Embeddings,
    column: str,
    *,
    cluster: str | None = None,
    words: str | Sequence[str] | None = None,
    top: int | None = None,
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
    """Words that move along an ordered column, by the evidence for it.

    The line is straight in the numbers that the values are, in the middles of the periods that they name, or in their
    order (if there is a Chain along them). "estimate" is how far it leads from the first value to the last, without
    noise; p and the options are those of `contrast`. Words are tested that occur `min_count` times, in `min_clusters`
    clusters (or documents) altogether. A cluster may have text at several values: its text counts as one piece of
    evidence, and p comes from a formula. Of more than 24 values, neighbors are taken together.

    What happened once counts as documents do: that a word has another meaning in a year is no evidence about what
    years do to words.

        drift(fitted, "year", cluster="senator")
    """
    options = Options(cluster, words, top, min_clusters, min_count, interval, permutations, rank, seed, threads, quiet)
    request = prepare(fitted, column, options, tokens, language, where)
    values, sizes = _values(request)
    line = scores(fitted, column, values)
    x = (line - line[0]) / (line[-1] - line[0]) - 0.5
    if cluster is None:
        warn_of_speakers(request.tokens, column)
    prior = _charges(request, dict(zip(values, x.tolist())))
    request, x = _together(request, values, x, sizes)
    text = request.read(pooled)
    n, clusters = text.counts()[0].sum(1), _clusters(text)
    tested = (n >= min_count) & (clusters >= min_clusters)
    request.say_untested(tested)
    draws = draw(request, request.units.label, [seed, 7])
    trend = Trend(x, float(np.var(x[request.units.label])), tested, prior, draws)
    (found,) = answers(text, [trend])
    return ranked(request, [listed(request, f"{values[0]} – {values[-1]}", found, n, clusters)])


def _values(request: Request) -> tuple[list[str], NDArray[np.int64]]:
    """The values that occur, in order, and the tokens of each."""
    units, tokens = request.units, request.tokens
    label = np.repeat(units.label, np.diff(units.start))
    size = np.bincount(label, np.diff(tokens.offsets)[units.documents], len(units.labels)).astype(np.int64)
    used = np.unique(units.label)
    return [units.labels[i] for i in used], size[used]


def _together(request: Request, values: Sequence[str], x: Floats, sizes: NDArray[np.int64]) -> tuple[Request, Floats]:
    """Units labelled by the values that occur, or by stretches of them with much the same text; and where they lie."""
    bin_of = np.arange(len(values))
    if len(values) > MOST:
        middle = (np.cumsum(sizes) - sizes / 2) / sizes.sum()
        bin_of = np.unique((middle * MOST).astype(np.int64), return_inverse=True)[1]
    at = np.bincount(bin_of, sizes * x) / np.bincount(bin_of, sizes)
    place = np.full(len(request.units.labels), -1)
    place[np.unique(request.units.label)] = bin_of
    return replace(request, units=_relabelled(request.units, place[request.units.label], len(at))), at


def _relabelled(units: Units, label: NDArray[np.int64], labels: int) -> Units:
    """Units with other labels, those of a cluster that have the same one taken together."""
    cells, unit = np.unique(units.cluster * labels + label, return_inverse=True)
    of_document = np.repeat(unit, np.diff(units.start))
    order = np.argsort(of_document, kind="stable")
    start = np.concatenate([[0], np.cumsum(np.bincount(of_document, minlength=len(cells)))])
    names = [str(number) for number in range(labels)]
    return Units(units.documents[order], start, cells // labels, cells % labels, names)


def _clusters(text: Pass) -> NDArray[np.int64]:
    """(n) In how many clusters each word occurs."""
    size = int(text.units.cluster.max()) + 1
    word = np.repeat(np.arange(len(text.ids)), np.diff(text.start))
    cells = np.unique(word * size + text.units.cluster[text.unit])
    return np.bincount(cells // size, minlength=len(text.ids))


def _charges(request: Request, at: dict[str, float]) -> Floats:
    """(n) What the prior charges words for the line; the ridge alone, if vectors do not vary by the column."""
    found = charge(request.fitted, request.column, at, request.index, request.where)[request.ids]
    return np.maximum(found, ridge_of(request.fitted.settings) * sum(x * x for x in at.values()))
