"""How is a word said in another language? By cosine, and by CSLS, which takes off how near a word is to everything:

    csls(x, y) = 2 cos(x, y) − r(x) − r(y),   r: the mean cosine with the ten nearest words of the other language.

A fitted model and a word come in; the best words of the whole other vocabulary go out, exactly. Since r(y) of every y
would take minutes, each has a bound first: its mean over the ten nearest of a few words around x is never more than
r(y). Words are then looked at from the highest bound down, until none that is left can be among the best.
V words of the other language, W of this one, Z words around x, n candidates.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from laplex.embeddings import Embeddings
from laplex.questions.cosine import cosines, directions, nearest

HUBNESS = 10  # words that r is the mean over
AROUND = 32
PART = 32
AT_ONCE = 32  # candidates whose r is computed together
Floats = NDArray[np.float32]


def translate(
    fitted: Embeddings, word: str, language: str | None, target: str, k: int = 20, **slice: Any
) -> pd.DataFrame:
    """The k best words of another language by CSLS: neighbor, similarity, csls, and the rank by similarity alone.

    translate(fitted, "health", "en", "it", party="S&D")
    """
    here, there, at = fitted.language(language), fitted.language(target), fitted.slice(slice)
    own = directions(fitted, [fitted.id(word, here)], here, at)
    near = _known(cosines(fitted, own, there, at))[0]
    best, scores = _best(fitted, near, here, there, at, own, k)
    words = fitted.rows.vocabularies[there].words
    return pd.DataFrame(
        {
            "word": word,
            **_named(fitted, at),
            "neighbor": [words[i] for i in best],
            "csls": scores,
            "similarity": near[best],
            "rank": [1 + int((near > near[i]).sum()) for i in best],
            "count": fitted.counts[there][at, best],
        }
    )


def _best(
    fitted: Embeddings, near: Floats, here: int, there: int, at: int, own: Floats, k: int
) -> tuple[NDArray[np.int64], Floats]:
    """The k best candidates by CSLS, best first, and their CSLS."""
    own_mean = _mean_of_best(near[None])[0]
    bounds = 2 * near - own_mean - _bounds(fitted, here, there, at, own)
    bounds[near <= -1.0] = -np.inf  # a word without a direction is no translation
    scores = np.full(len(near), -np.inf, np.float32)
    some = nearest(bounds, max(k, AT_ONCE))
    while len(some):
        back = _known(cosines(fitted, directions(fitted, some.tolist(), there, at), here, at))
        scores[some] = 2 * near[some] - own_mean - _mean_of_best(back)
        least = np.partition(scores, -k)[-k] if k <= len(scores) else -np.inf
        left = np.where(np.isneginf(scores) & (bounds > least), bounds, -np.inf)
        some = nearest(left, AT_ONCE)
    found = nearest(scores, k)
    return found, scores[found]


def _bounds(fitted: Embeddings, here: int, there: int, at: int, own: Floats) -> Floats:
    """(V) What r of a candidate is at least: its mean over the nearest of some words, those around the asked one."""
    around = nearest(_known(cosines(fitted, own, here, at))[0], AROUND)
    if len(around) < min(HUBNESS, len(fitted.rows.vocabularies[here])):
        return np.full(len(fitted.rows.vocabularies[there]), -1.0, np.float32)
    similar = _known(cosines(fitted, directions(fitted, around.tolist(), here, at), there, at))
    return _mean_of_best(np.ascontiguousarray(similar.T))


def _mean_of_best(similar: Floats) -> Floats:
    """(n) The mean of the largest of each row. They are in the parts of the row whose largest are the largest."""
    most, whole = min(HUBNESS, similar.shape[1]), similar
    parts = similar.shape[1] // PART
    if parts > 2 * most:
        dealt = similar[:, : PART * parts].reshape(-1, PART, parts)
        chosen = np.argpartition(dealt.max(1), parts - most, axis=1)[:, parts - most :]
        picked = np.take_along_axis(dealt, chosen[:, None, :], 2).reshape(len(similar), -1)
        whole = np.concatenate([picked, similar[:, PART * parts :]], axis=1)
    best: Floats = np.partition(whole, whole.shape[1] - most, axis=1)[:, -most:].mean(1)
    return best


def _known(similar: Floats) -> Floats:
    return np.fmax(similar, np.float32(-1.0), out=similar)


def _named(fitted: Embeddings, at: int) -> Mapping[str, str]:
    return dict(zip(fitted.columns, fitted.rows.slices.keys[at]))
