"""Which words are most similar to a word, to several, or to what an analogy asks for? And how similar are two words?

Vectors and words come in; a table with the slices side by side goes out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from laplex.errors import InputError, whole
from laplex.progress import say
from laplex.questions.cosine import By, at_length_one, context_products, cosines, directions, nearest
from laplex.vectors import Vectors, listed


def neighbors(
    vectors: Vectors,
    word: str | Sequence[str] | None = None,
    k: int = 10,
    *,
    by: By = "words",
    positive: str | Sequence[str] | None = None,
    negative: str | Sequence[str] | None = None,
    language: str | None = None,
    to_language: str | None = None,
    where: Mapping[str, Any] | None = None,
) -> pd.DataFrame:
    """The k words most similar to the mean of the words at length one, those of `negative` turned round."""
    k = whole("k", k)
    plus, minus = [*listed(word), *listed(positive)], listed(negative)
    if not plus and not minus:
        raise InputError('name a word, or words: neighbors("health"), neighbors(positive=["king"], negative=["man"])')
    source = vectors.language(language)
    target = source if to_language is None else vectors.language(to_language)
    vocabulary = vectors.rows.vocabularies[target]
    if not len(vocabulary):
        raise InputError(f'the language "{vocabulary.language}" has no words')
    signed = [(vectors.id(name, source), 1) for name in plus] + [(vectors.id(name, source), -1) for name in minus]
    text = " ".join([*(f"+ {name}" for name in plus), *(f"− {name}" for name in minus)]).removeprefix("+ ")
    slices = _slices(vectors, by, where or {})
    queries = {slice: mixture(vectors, signed, source, slice, by) for slice in slices}
    if lost := sum(bool(np.isnan(query).any()) for query in queries.values()):
        _tell_lost(text, lost, len(slices))
    answers: list[dict[str, Any]] = []
    around = context_products(vectors, np.stack(list(queries.values())), target) if by == "both" else None
    for number, (slice, query) in enumerate(queries.items()):
        known = None if around is None else around[number]
        similarity = cosines(vectors, query[None], target, slice, by, known)[0]
        found = nearest(similarity, k, [i for i, _ in signed] if source == target else ())
        counts = vectors.counts[target].sum(0) if slice is None else vectors.counts[target][slice]
        key = {} if slice is None else dict(zip(vectors.columns, vectors.rows.slices.keys[slice]))
        answers += [
            {"word": text, **key, "rank": rank, "neighbor": vocabulary.words[i], "similarity": s, "count": c}
            for rank, (i, s, c) in enumerate(zip(found.tolist(), similarity[found].tolist(), counts[found].tolist()), 1)
        ]
    columns = ["word", *(vectors.columns if by != "contexts" else ()), "rank", "neighbor", "similarity", "count"]
    return pd.DataFrame(answers, columns=columns).astype({"rank": int, "similarity": float, "count": int})


def mixture(
    vectors: Vectors, signed: Sequence[tuple[int, int]], language: int, slice: int | None, by: By = "words"
) -> NDArray[np.float32]:
    """(D) The direction of a sum of words at length one, each with its sign."""
    ids, signs = zip(*signed)
    whole: NDArray[np.float32] = np.array(signs, np.float32) @ directions(vectors, ids, language, slice, by)
    return at_length_one(whole)


def similarity(
    vectors: Vectors,
    one: str,
    two: str,
    *,
    language: str | None = None,
    to_language: str | None = None,
    where: Mapping[str, Any] | None = None,
) -> pd.DataFrame:
    """The cosine of the vectors of two words in each slice."""
    first = vectors.language(language)
    second = first if to_language is None else vectors.language(to_language)
    a, b = vectors.id(one, first), vectors.id(two, second)
    answers = []
    for slice in vectors.chosen(where or {}):
        cosine = float(directions(vectors, [a], first, slice)[0] @ directions(vectors, [b], second, slice)[0])
        answers.append(
            {
                "word": one,
                "other": two,
                **dict(zip(vectors.columns, vectors.rows.slices.keys[slice])),
                "similarity": float(np.clip(cosine, -1.0, 1.0)),
                "count": int(vectors.counts[first][slice, a]),
                "count_other": int(vectors.counts[second][slice, b]),
            }
        )
    return pd.DataFrame(answers)


def _slices(vectors: Vectors, by: By, where: Mapping[str, Any]) -> Sequence[int | None]:
    if by not in get_args(By):
        raise InputError(f'by="{by}": write "words", "contexts" or "both"')
    chosen = vectors.chosen(where)
    if by == "contexts" and where:
        raise InputError(
            f"context vectors are shared by all slices: leave out {', '.join(f'{name}=' for name in where)}"
        )
    return [None] if by == "contexts" else chosen


def _tell_lost(text: str, lost: int, slices: int) -> None:
    where = f"in {lost} of {slices} slices" if slices > 1 else "here"
    message = f'the vector of "{text}" is zero {where}, so nothing is similar to it'
    if lost == slices:
        raise InputError(
            f"{message}; a word has such a vector where it does not occur and the prior says nothing of it"
        )
    say(f"{message}: they are left out")
