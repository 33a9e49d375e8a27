"""Which words differ between the values of a column in a way that would hold in another sample?

A fitted model and a column come in; a table of words goes out: the distance without its noise, an interval, p.
The test is that of `evidence.py`, on contexts that do not know the labels (`pooled.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from laplex.embeddings import Embeddings
from laplex.errors import InputError
from laplex.posterior.charge import charge
from laplex.posterior.evidence import Effect, Rotated, analytic_p, counted_p, effect, permuted, rotate, smoothed_p
from laplex.posterior.pooled import check_pooled, ridge_of, tokens_of
from laplex.posterior.pooled import pooled as fit_pooled
from laplex.posterior.tables import Pass, Table
from laplex.posterior.units import gather, warn_of_speakers
from laplex.progress import say
from laplex.questions.cosine import check_whole
from laplex.tokens import Tokens

DRAWS = 999  # permutations, if nothing is said
FEW = 2_000  # clusters, up to which labels are permuted


@dataclass(frozen=True, eq=False)
class Pair:
    """Two labels, which words can be tested between them, and what the prior charges for a difference."""

    one: int
    two: int
    tested: NDArray[np.bool_]  # (n)
    prior: NDArray[np.float64]  # (n)
    labellings: NDArray[np.bool_]  # (P, units of the two labels)
    counted: bool  # are labellings counted, or is p the tail of a smooth curve through them?

    def ask(self, table: Rotated, one: NDArray[np.bool_], word: int) -> tuple[float, Effect]:
        """p and effect of a word."""
        prior = float(self.prior[word])
        if not min(values[side].sum() for values in (table.tau, table.weight) for side in (one, ~one)) > 0:
            return float("nan"), Effect(float("nan"), float("nan"), float("nan"))
        if len(self.labellings):
            statistics = permuted(table, one, prior, self.labellings)
            p = counted_p(statistics) if self.counted else smoothed_p(statistics)
        else:
            p = analytic_p(table, one, prior)
        return p, effect(table, one, prior)


def contrast(
    fitted: Embeddings,
    column: str,
    *,
    cluster: str | None = None,
    words: str | Sequence[str] | None = None,
    top: int | None = None,
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

    `cluster` is the column that says who speaks, if the label is the speaker's. Words are tested that occur
    `min_count` times at the two values and in `min_clusters` clusters (or documents) of each; words that are asked
    for by name are listed in any case. "estimate" is the distance of the word's vectors without its noise, and
    "p_adjusted" is p after Benjamini and Hochberg, over the words tested. p comes from 999 permutations of the labels
    of clusters, with a smooth tail; where clusters are more than 2,000, or have several labels, from a formula. With
    `permutations`, it is the share of so many labellings under which a word differs as much; 0 asks for the formula.
    `pooled` is a model without labels, if there is one.

        contrast(fitted, "party", cluster="senator")
    """
    _check(min_clusters, min_count, top, interval, permutations)
    tokens = tokens_of(fitted, tokens)
    index = fitted.language(language)
    units = gather(tokens, column, cluster, index, where)
    if cluster is None:
        warn_of_speakers(tokens, column)
    if permutations and not units.nested:
        raise InputError(
            f'a value of "{cluster}" has several values of "{column}", so labels cannot be exchanged between them: '
            "leave out permutations="
        )
    ids = list(range(len(fitted.rows.vocabularies[index]))) if words is None else fitted.ids(words, index)
    ids = ids if words is not None else [i for i in ids if fitted.counts[index][:, i].sum() >= min_count]
    if not ids:
        raise InputError(f"no word occurs {min_count} times: lower min_count")
    if pooled is None:
        pooled = fit_pooled(fitted, tokens, threads=threads, quiet=quiet)
    free = check_pooled(pooled, fitted)
    draws = permutations
    if draws is None:
        draws = DRAWS if units.nested and len(units) <= FEW else 0
    text = Pass(tokens, units, free, ids, index, seed=seed, threads=threads, quiet=quiet, whole=draws > 0)
    pairs = _pairs(fitted, column, text, index, where, min_clusters, min_count, draws, permutations is not None, seed)
    if words is None:
        left = len(ids) - int(np.any([pair.tested for pair in pairs], axis=0).sum())
        note = f"{left:,} of {len(ids):,} words are not tested: under {min_count} occurrences or {min_clusters} "
        say(note + (f'values of "{cluster}"' if cluster else "documents") + " at a value", quiet=quiet or not left)
    found = _answers(text, pairs)
    frames = [_frame(fitted, column, text, pair, answers, index, interval) for pair, answers in zip(pairs, found)]
    if words is None:
        frames = [frame[frame["p"].notna()] for frame in frames]
    whole = pd.concat([frame for frame in frames if len(frame)] or frames[:1])
    whole = whole.sort_values(["p", "estimate", "word"], ascending=[True, False, True], kind="stable")
    return whole.head(len(whole) if top is None else top).reset_index(drop=True)


def _check(min_clusters: int, min_count: int, top: int | None, interval: float, permutations: int | None) -> None:
    check_whole("min_clusters", min_clusters, 2)
    check_whole("min_count", min_count)
    if permutations is not None:
        check_whole("permutations", permutations, 0)
    if top is not None:
        check_whole("top", top)
    if not 0 < interval < 1:
        raise InputError(f"interval={interval} must be between 0 and 1: 0.9 is that which holds in 90% of samples")


def _pairs(
    fitted: Embeddings,
    column: str,
    text: Pass,
    index: int,
    where: Mapping[str, Any],
    min_clusters: int,
    min_count: int,
    draws: int,
    counted: bool,
    seed: int,
) -> list[Pair]:
    """Every pair of labels that occur."""
    units, labels = text.units, text.units.labels
    counts, clusters = text.counts()
    # vectors that do not vary by the column would have the ridge alone to hold them together
    ridge = ridge_of(fitted.settings) / 2
    found = []
    for one, two in combinations(np.unique(units.label).tolist(), 2):
        enough = (clusters[:, one] >= min_clusters) & (clusters[:, two] >= min_clusters)
        enough &= counts[:, one] + counts[:, two] >= min_count
        prior = charge(fitted, column, labels[one], labels[two], index, where)[text.ids]
        inside = np.isin(units.label, [one, two])
        labelled = np.tile(units.label[inside] == one, (draws, 1))
        np.random.default_rng([seed, 5, one, two]).permuted(labelled, axis=1, out=labelled)
        found.append(Pair(one, two, enough, np.maximum(prior, ridge), labelled, counted))
    return found


def _answers(text: Pass, pairs: Sequence[Pair]) -> list[dict[int, tuple[float, Effect]]]:
    """For each pair, p and effect of the words that can be tested."""

    def ask(table: Table) -> list[tuple[float, Effect] | None]:
        rotated = rotate(table)
        answers: list[tuple[float, Effect] | None] = []
        for pair in pairs:
            if not pair.tested[table.word]:
                answers.append(None)
                continue
            inside = np.isin(table.label, [pair.one, pair.two])
            part, one = rotated.of(inside), table.label[inside] == pair.one
            answers.append(pair.ask(part, one, table.word))
        return answers

    chosen = np.flatnonzero(np.any([pair.tested for pair in pairs], axis=0)).tolist()
    found: list[dict[int, tuple[float, Effect]]] = [{} for _ in pairs]
    for word, answers in zip(chosen, text.run(chosen, ask)):
        for place, answer in zip(found, answers):
            if answer is not None:
                place[word] = answer
    return found


def _frame(
    fitted: Embeddings,
    column: str,
    text: Pass,
    pair: Pair,
    answers: Mapping[int, tuple[float, Effect]],
    index: int,
    interval: float,
) -> pd.DataFrame:
    size = len(text.ids)
    p, square, least, most, lower, upper = np.full((6, size), np.nan)
    z = stats.norm.ppf(0.5 + interval / 2)
    for word, (value, found) in answers.items():
        p[word], square[word] = value, found.square
        least[word], most[word] = found.bounds(1.0)
        lower[word], upper[word] = found.bounds(z)
    counts, clusters = text.counts()
    names = fitted.rows.vocabularies[index].words
    adjusted = np.full(size, np.nan)
    known = np.isfinite(p)
    if known.any():
        adjusted[known] = stats.false_discovery_control(p[known])
    return pd.DataFrame(
        {
            "word": [names[i] for i in text.ids],
            column: f"{text.units.labels[pair.one]} – {text.units.labels[pair.two]}",
            "estimate": _root(square),
            "se": (_root(most) - _root(least)) / 2,
            "lower": _root(lower),
            "upper": _root(upper),
            "p": p,
            "p_adjusted": adjusted,
            "n": counts[:, pair.one] + counts[:, pair.two],
            "count_one": counts[:, pair.one],
            "count_two": counts[:, pair.two],
            "clusters_one": clusters[:, pair.one],
            "clusters_two": clusters[:, pair.two],
        }
    )


def _root(square: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.sqrt(np.maximum(square, 0.0)))
