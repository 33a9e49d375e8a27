"""How is a word used in the text? The passages that are most like it.

A fitted model, its tokens and a word in a slice come in; passages go out, those first whose words are most similar to
the word's vector in that slice. Words outside the vocabulary are not in the tokens, and so not in a passage.
n occurrences, D dimensions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from laplex.embeddings import Embeddings
from laplex.questions.cosine import at_length_one, directions
from laplex.tokens import Tokens

LOOKED_AT = 2_000  # occurrences, spread over the text, of which the best are shown
AROUND = 14  # words shown on each side


@dataclass(frozen=True)
class Passage:
    left: str
    word: str
    right: str
    document: int


def typical_passages(
    fitted: Embeddings, tokens: Tokens, word: str, slice: int, language: int = 0, most: int = 4
) -> list[Passage]:
    """The passages of a slice that are most like the word there, one a document."""
    number = fitted.id(word, language)
    places = np.flatnonzero(tokens.ids == number)
    documents = np.searchsorted(tokens.offsets, places, "right") - 1
    inside = (fitted.rows.slices.of_document[documents] == slice) & (tokens.languages[documents] == language)
    places, documents = places[inside], documents[inside]
    if len(places) > LOOKED_AT:
        kept = np.linspace(0, len(places) - 1, LOOKED_AT).astype(np.int64)
        places, documents = places[kept], documents[kept]
    if not len(places):
        return []
    scores = _scores(fitted, tokens, places, documents, number, slice, language)
    words = fitted.rows.vocabularies[language].words
    found: dict[int, Passage] = {}
    for best in np.argsort(-scores, kind="stable").tolist():
        place, document = int(places[best]), int(documents[best])
        start, end = (int(edge) for edge in tokens.offsets[document : document + 2])
        left = " ".join(words[i] for i in tokens.ids[max(start, place - AROUND) : place])
        right = " ".join(words[i] for i in tokens.ids[place + 1 : min(end, place + 1 + AROUND)])
        found.setdefault(document, Passage(left, word, right, document))
        if len(found) == most:
            break
    return list(found.values())


def _scores(
    fitted: Embeddings,
    tokens: Tokens,
    places: NDArray[np.int64],
    documents: NDArray[np.int64],
    number: int,
    slice: int,
    language: int,
) -> NDArray[np.float64]:
    """(n) The cosine of the word's vector with the sum of the context vectors around each occurrence."""
    window = int(fitted.settings.get("model", {}).get("window", 5))
    own = directions(fitted, [number], language, slice)[0]
    contexts = fitted.block(language, None)
    total = np.zeros((len(places), fitted.dimensions))
    for step in [*range(-window, 0), *range(1, window + 1)]:
        at = places + step
        inside = (at >= tokens.offsets[documents]) & (at < tokens.offsets[documents + 1])
        total[inside] += contexts[tokens.ids[at[inside]]]
    scores: NDArray[np.float64] = at_length_one(total) @ own
    return np.nan_to_num(scores, nan=-1.0)
