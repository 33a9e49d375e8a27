"""Text that a model is to predict: its tokens by the numbers of the model's vocabulary, and their negatives.

Tokens, perhaps of another vocabulary, and a model come in. A Text goes out, which gives its documents part by part, and
Starts, which say where in the model's rows the words and contexts of each document are.
n tokens, M documents, K negatives, V words.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from laplex.errors import InputError, quote
from laplex.evaluation.lookup import numbers
from laplex.progress import say
from laplex.tokens import Tokens
from laplex.vectors import Vectors

AT_ONCE = 1 << 13  # tokens of a part, or one document if that is longer


@dataclass(frozen=True, eq=False)
class Part:
    """Some documents of a text, `low` up to `high`."""

    low: int
    high: int
    ids: NDArray[np.int64]  # (n)
    document: NDArray[np.int64]  # (n) counted from `low`


@dataclass(frozen=True, eq=False)
class Text:
    """The tokens that count, by the numbers of the models' vocabulary."""

    ids: NDArray[np.int64]  # (n)
    offsets: NDArray[np.int64]  # (M + 1)
    documents: NDArray[np.int64]  # (M) their numbers in the Tokens
    language: NDArray[np.int64]  # (M)

    @classmethod
    def of(cls, tokens: Tokens, model: Vectors, subsample: float, seed: int, quiet: bool) -> Text:
        language_of = _languages(tokens, model)
        lengths = np.diff(tokens.offsets)
        ids, chance = np.full(len(tokens), -1, np.int64), np.ones(len(tokens), np.float32)
        for number, vocabulary in enumerate(tokens.vocabularies):
            known = model.rows.vocabularies[language_of[number]]
            inside = np.repeat(tokens.languages == number, lengths)
            ids[inside] = numbers(known, vocabulary.words)[tokens.ids[inside]]
            chance[inside] = known.subsampling(subsample)[ids[inside]]
        keep = ids >= 0
        if not keep.all():
            say(f"{(~keep).sum():,} of {len(ids):,} tokens are outside the vocabulary", quiet=quiet)
        keep &= np.random.default_rng([seed, 3]).random(len(ids)) < chance
        document = np.repeat(np.arange(tokens.documents), lengths)
        counts = np.bincount(document[keep], minlength=tokens.documents)
        keep &= (counts > 1)[document]
        documents = np.flatnonzero(counts > 1)
        if not len(documents):
            raise InputError(f"no document of the {tokens.documents:,} has two words that the models know")
        offsets = np.concatenate([[0], np.cumsum(counts[documents])])
        return cls(ids[keep], offsets, documents, language_of[tokens.languages[documents]])

    def parts(
        self, model: Vectors, negatives: int, noise_power: float, seed: int
    ) -> Iterator[tuple[Part, NDArray[np.int64]]]:
        """The text in parts, with the negatives of each token, which depend on nothing but the seed."""
        if not all(vocabulary.counts.any() for vocabulary in model.rows.vocabularies):
            raise InputError("it is not known how often each word occurs, by which negatives are drawn")
        random = np.random.default_rng([seed, 2])
        cumulative = [np.cumsum(vocabulary.noise(noise_power)) for vocabulary in model.rows.vocabularies]
        low = 0
        while low < len(self.documents):
            high = int(np.searchsorted(self.offsets, self.offsets[low] + AT_ONCE, "right")) - 1
            high = min(max(high, low + 1), len(self.documents))
            ids = self.ids[self.offsets[low] : self.offsets[high]]
            document = np.repeat(np.arange(high - low), np.diff(self.offsets[low : high + 1]))
            uniform = random.random((len(ids), negatives))
            drawn = np.empty(uniform.shape, np.int64)
            for language, sums in enumerate(cumulative):
                mine = (self.language[low:high] == language)[document]
                drawn[mine] = np.searchsorted(sums, uniform[mine] * sums[-1], "right").clip(max=len(sums) - 1)
            yield Part(low, high, ids, document), drawn
            low = high


def _languages(tokens: Tokens, model: Vectors) -> NDArray[np.int64]:
    """The number that the model has for each language of a text; if both have one, names do not matter."""
    names = [vocabulary.language for vocabulary in tokens.vocabularies]
    if len(names) == len(model.languages) == 1:
        return np.zeros(1, np.int64)
    if unknown := [name for name in names if name not in model.languages]:
        raise InputError(f"the text is of {quote(names)}, but the models know no {quote(unknown)}")
    return np.array([model.languages.index(name) for name in names], np.int64)


@dataclass(frozen=True, eq=False)
class Starts:
    """Where in θ's rows the words and the contexts of each document begin."""

    word: NDArray[np.int64]  # (M)
    context: NDArray[np.int64]  # (M)

    @classmethod
    def of(cls, name: str, model: Vectors, tokens: Tokens, text: Text) -> Starts:
        rows, slices = model.rows, tokens.slices(model.columns)
        number = {key: slice for slice, key in enumerate(rows.slices.keys)}
        slice_of = np.array([number.get(key, -1) for key in slices.keys])[slices.of_document[text.documents]]
        if (slice_of < 0).any():
            strange = np.unique(slices.of_document[text.documents[slice_of < 0]])
            raise InputError(
                f"{name} knows no slice {quote(', '.join(slices.keys[s]) for s in strange)} of {quote(model.columns)}, "
                f"which {(slice_of < 0).sum():,} documents are of (the first is {text.documents[slice_of < 0][0]}); "
                f"it knows {quote(', '.join(key) for key in rows.slices.keys)}"
            )
        languages = range(len(rows.vocabularies))
        words = np.array([[rows.word_start(i, s) for s in range(len(rows.slices))] for i in languages])
        contexts = np.array([rows.context_start(i) for i in languages])
        if (model.slot[rows.context_start(0) :] < 0).any():
            raise InputError(f"{name} came without context vectors, and predicts nothing without them")
        return cls(words[text.language, slice_of], contexts[text.language])
