"""The log likelihood of text that models were not trained on, by document, and its mean per token.

The class of a likelihood scores tokens (`model/likelihoods.py`). This module says which tokens count, by the ids of the
models' vocabulary, and where the rows of each document's language and slice are. All models see the same tokens and
the same negatives, so that they can be compared document by document. n tokens, M documents.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from laplex.errors import InputError, quote
from laplex.model.likelihoods import HeldOutBatch, Likelihood, held_out_batches
from laplex.model.model import Model
from laplex.model.vectors import Vectors
from laplex.runtime.display import bar, say
from laplex.text.corpus import Corpus
from laplex.text.tokens import Tokens
from laplex.text.vocabulary import Vocabulary

Models = Vectors | Mapping[str, Vectors]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def held_out(
    models: Models,
    text: Corpus | Tokens,
    *,
    under: Model | None = None,
    subsample: float = 0.0,
    seed: int = 1,
    quiet: bool = False,
) -> pd.DataFrame:
    """The mean log likelihood of a token of a text that the models have not read.

    A token counts if its word is in the vocabulary and its document has another such word; words outside the vocabulary
    are removed before windows are formed, as in training. All models see the same tokens and the same negatives, drawn
    by the counts of the first. Models that differ in likelihood, negatives or noise_power (or, for SGNS, in window)
    have likelihoods of different things; to compare these is an error.

    Args:
        models: A model, or several by name, of the same vocabulary.
        text: A Corpus, or Tokens; its metadata say which slice each document is of.
        under: The Model whose likelihood to use, for vectors that do not know theirs; by default each model's own.
        subsample: The threshold by which frequent words are thinned out, as in `lx.Model(subsample=)`. With 0 every
            token counts; that is fair between models that were trained with the same subsampling, but gives frequent
            words more weight than training did. Give the models' threshold to measure what training maximizes.
        seed: The seed of the negatives and of the subsampling.
        quiet: Print nothing.

    Returns:
        For each model the mean `log_likelihood` of a token, its standard error `se` over documents, and the numbers of
        tokens and documents. With several models, `difference` is that to the first, and `difference_se` its standard
        error, document by document.

    Example:
        lx.evaluation.held_out({"with groups": fitted, "without": plain}, later_speeches)
    """
    if not isinstance(text, (Corpus, Tokens)):
        raise InputError(f"the text is a Corpus, as lx.read gives, or Tokens, not {type(text).__name__}")
    named = named_models(models)
    _check_comparable(named, under)
    tokens = text if isinstance(text, Tokens) else Tokens.of(text, min_count=1, quiet=quiet)
    known = HeldOutText.of(tokens, next(iter(named.values())), subsample, seed, quiet)
    sums = log_likelihoods(named, tokens, known, under=under, seed=seed, quiet=quiet)
    base = next(iter(sums.values()))
    rows = []
    for name, values in sums.items():
        mean, error = mean_per_token(values, known.lengths)
        row = {"model": name, "log_likelihood": mean, "se": error}
        if len(sums) > 1:
            row["difference"], row["difference_se"] = mean_per_token(values - base, known.lengths)
        rows.append(row | {"tokens": len(known.ids), "documents": len(known.documents)})
    return pd.DataFrame(rows)


@dataclass(frozen=True, eq=False)
class HeldOutText:
    """The tokens that count, by the ids of the models' vocabulary."""

    ids: Ints  # (n)
    offsets: Ints  # (M + 1)
    documents: Ints  # (M) their numbers in the Tokens
    language: Ints  # (M)

    @classmethod
    def of(cls, tokens: Tokens, model: Vectors, subsample: float, seed: int, quiet: bool) -> HeldOutText:
        """The tokens of known words in documents that have two or more of them, after subsampling."""
        language_of = _languages(tokens, model)
        lengths = np.diff(tokens.offsets)
        ids, chance = np.full(len(tokens), -1, np.int64), np.ones(len(tokens), np.float32)
        for number, vocabulary in enumerate(tokens.vocabularies):
            known = model.rows.vocabularies[language_of[number]]
            inside = np.repeat(tokens.languages == number, lengths)
            ids[inside] = word_ids(known, vocabulary.words)[tokens.ids[inside]]
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

    @property
    def lengths(self) -> Ints:
        """(M) The number of tokens of each document."""
        return np.diff(self.offsets)

    def batches(self, model: Vectors, negatives: int, noise_power: float, seed: int) -> Iterator[HeldOutBatch]:
        """The text in batches, with the negatives of each token, which depend on the model's counts and the seed."""
        vocabularies = model.rows.vocabularies
        if not all(vocabulary.counts.any() for vocabulary in vocabularies):
            raise InputError("it is not known how often each word occurs, by which negatives are drawn")
        noise = [vocabulary.noise(noise_power) for vocabulary in vocabularies]
        return held_out_batches(self.ids, self.offsets, noise, self.language, negatives, seed)

    def row_starts(self, name: str, model: Vectors, tokens: Tokens) -> tuple[Ints, Ints]:
        """(M), (M) The first word row and the first context row of each document's language and slice in a model."""
        rows, slices = model.rows, tokens.slices(model.columns)
        number = {key: slice for slice, key in enumerate(rows.slices.keys)}
        slice_of = np.array([number.get(key, -1) for key in slices.keys])[slices.of_document[self.documents]]
        if (slice_of < 0).any():
            unknown = np.unique(slices.of_document[self.documents[slice_of < 0]])
            raise InputError(
                f"{name} knows no slice {quote(', '.join(slices.keys[s]) for s in unknown)} of {quote(model.columns)}, "
                f"which {(slice_of < 0).sum():,} documents are of (the first is {self.documents[slice_of < 0][0]}); "
                f"it knows {quote(', '.join(key) for key in rows.slices.keys)}"
            )
        if (model.slot[rows.context_start(0) :] < 0).any():
            raise InputError(f"{name} came without context vectors, and predicts nothing without them")
        languages = range(len(rows.vocabularies))
        words = np.array([[rows.word_start(i, s) for s in range(len(rows.slices))] for i in languages])
        contexts = np.array([rows.context_start(i) for i in languages])
        return words[self.language, slice_of], contexts[self.language]


def _languages(tokens: Tokens, model: Vectors) -> Ints:
    """The model's index of each language of a text; if both have one language, names do not matter."""
    names = [vocabulary.language for vocabulary in tokens.vocabularies]
    if len(names) == len(model.languages) == 1:
        return np.zeros(1, np.int64)
    if unknown := [name for name in names if name not in model.languages]:
        raise InputError(f"the text is of {quote(names)}, but the models know no {quote(unknown)}")
    return np.array([model.languages.index(name) for name in names], np.int64)


def log_likelihoods(
    models: Mapping[str, Vectors],
    tokens: Tokens,
    text: HeldOutText,
    *,
    under: Model | None = None,
    seed: int = 1,
    quiet: bool = False,
) -> dict[str, Floats]:
    """(M) The log likelihood of each document under each model, with the same negatives for all."""
    settings = {name: _LikelihoodSettings.of(name, model, under) for name, model in models.items()}
    starts = {name: text.row_starts(name, model, tokens) for name, model in models.items()}
    sums = {name: np.zeros(len(text.documents)) for name in models}
    model, first = next(iter(models.values())), next(iter(settings.values()))
    with bar("reading held-out text", quiet=quiet) as progress:
        for batch in text.batches(model, first.negatives, first.noise_power, seed):
            for name, model in models.items():
                likelihood = Likelihood.of(settings[name].likelihood)
                scores = likelihood.score_tokens(batch, settings[name].window, *starts[name], model.of_rows)
                sums[name][batch.first : batch.last] = np.bincount(batch.document, scores, batch.last - batch.first)
            progress.update(batch.last / len(text.documents), f"{batch.last:,} documents")
    return sums


@dataclass(frozen=True)
class _LikelihoodSettings:
    """What the likelihood of a token depends on, besides vectors."""

    likelihood: str
    window: int
    negatives: int
    noise_power: float

    @classmethod
    def of(cls, name: str, model: Vectors, under: Model | None) -> _LikelihoodSettings:
        known = under.settings() if under is not None else getattr(model, "settings", {}).get("model", {})
        names = list(cls.__dataclass_fields__)
        if not all(field in known for field in names):
            raise InputError(f"{name} does not say what likelihood it was estimated with: give under=lx.Model(…)")
        return cls(**{field: known[field] for field in names})


def _check_comparable(models: Mapping[str, Vectors], under: Model | None) -> None:
    """Raise if models differ in vocabulary, or in a setting that changes what their likelihood is of."""
    settings = {name: _LikelihoodSettings.of(name, model, under) for name, model in models.items()}
    (base, first), *others = models.items()
    for name, model in others:
        if model.languages != first.languages:
            raise InputError(f"{base} is of {quote(first.languages)}, {name} of {quote(model.languages)}")
        for one, two in zip(first.rows.vocabularies, model.rows.vocabularies, strict=True):
            if one.words != two.words:
                unlike = len(set(one.words) ^ set(two.words))
                how = f"{unlike:,} words are in one only" if unlike else "their words are in another order"
                raise InputError(f"{base} and {name} have different vocabularies: {how}. Fit them to the same tokens")
        for field in Likelihood.of(settings[base].likelihood).comparable:
            values = getattr(settings[base], field), getattr(settings[name], field)
            if values[0] != values[1]:
                raise InputError(
                    f"{base} has {field}={values[0]!r}, {name} {values[1]!r}: "
                    "their likelihoods are not of the same thing. Evaluate them apart"
                )


def mean_per_token(sums: Floats, lengths: Ints) -> tuple[float, float]:
    """The mean over tokens of sums by document, and its standard error over documents (that of a ratio)."""
    mean = sums.sum() / lengths.sum()
    if len(sums) < 2:
        return float(mean), float("nan")
    variance = ((sums - mean * lengths) ** 2).sum() * len(sums) / (len(sums) - 1)
    return float(mean), float(np.sqrt(variance) / lengths.sum())


def named_models(models: Models) -> dict[str, Vectors]:
    """Models by name; a single one is called "model"."""
    named = dict(models) if isinstance(models, Mapping) else {"model": models}
    if not named:
        raise InputError("there is no model to evaluate")
    for name, model in named.items():
        if not isinstance(model, Vectors):
            raise InputError(f'"{name}" is no model but {type(model).__name__}: give what lx.fit or lx.load returns')
    return named


def word_ids(vocabulary: Vocabulary, words: Sequence[str]) -> Ints:
    """(n) The ids of words in a vocabulary, −1 for those that are not in it."""
    ids = np.full(len(words), -1, np.int64)
    ids[[word in vocabulary for word in words]] = [vocabulary[word] for word in words if word in vocabulary]
    return ids
