"""The log likelihood of text that models were not trained on, by document, and its mean per token.

The class of a likelihood scores tokens (`model/likelihoods.py`). This module says which tokens count, by the ids of the
models' vocabulary, and where the rows of each document's language and slice are. All models see the same tokens and
the same negatives, so that they can be compared document by document. n tokens, M documents.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from laplex.errors import InputError, quote
from laplex.model.likelihoods import HeldOutBatch, Likelihood, held_out_batches
from laplex.model.model import Model
from laplex.model.problem import Problem
from laplex.model.vectors import Vectors
from laplex.runtime.display import bar, say
from laplex.text.corpus import Corpus
from laplex.text.tokens import Tokens

Models = Vectors | Mapping[str, Vectors]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
MAX_TUNING_TOKENS = 300_000
MIN_TUNING_DOCUMENTS = 10
LIKELIHOOD_SETTINGS = ("likelihood", "window", "negatives", "noise_power")  # that the likelihood of a token depends on


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
        subsample: The threshold by which frequent words are thinned out, as in `lx.Model(subsample=)`; with 0 every
            token counts. Give the models' threshold to measure what training maximizes.
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
    known = HeldOutText.of_known_words(tokens, next(iter(named.values())), subsample, seed, quiet)
    sums = known.log_likelihoods(named, under, quiet=quiet)
    base = next(iter(sums.values()))
    rows = []
    for name, values in sums.items():
        mean, error = known.mean_per_token(values)
        row = {"model": name, "log_likelihood": mean, "se": error}
        if len(sums) > 1:
            row["difference"], row["difference_se"] = known.mean_per_token(values - base)
        rows.append(row | {"tokens": len(known.ids), "documents": len(known.documents)})
    return pd.DataFrame(rows)


@dataclass(frozen=True, eq=False)
class HeldOutText:
    """The tokens that count, by the ids of the models' vocabulary."""

    tokens: Tokens  # of which these are some
    ids: Ints  # (n)
    lengths: Ints  # (M) the number of tokens of each document
    documents: Ints  # (M) their numbers in `tokens`
    language: Ints  # (M)
    seed: int  # of the negatives

    @classmethod
    def of_known_words(cls, tokens: Tokens, model: Vectors, subsample: float, seed: int, quiet: bool) -> HeldOutText:
        """The tokens whose words a model knows, in documents that have two or more of them, after subsampling."""
        language_of = _languages(tokens, model)
        ids, chance = np.full(len(tokens), -1, np.int64), np.ones(len(tokens), np.float32)
        for number, vocabulary in enumerate(tokens.vocabularies):
            known = model.rows.vocabularies[language_of[number]]
            inside = np.repeat(tokens.languages == number, np.diff(tokens.offsets))
            ids[inside] = known.ids(vocabulary.words)[tokens.ids[inside]]
            chance[inside] = known.subsampling(subsample)[ids[inside]]
        keep = ids >= 0
        if not keep.all():
            say(f"{(~keep).sum():,} of {len(ids):,} tokens are outside the vocabulary", quiet=quiet)
        keep &= np.random.default_rng([seed, 3]).random(len(ids)) < chance
        text = cls._of_kept(tokens, np.arange(tokens.documents), ids, keep, language_of[tokens.languages], seed)
        if not len(text.documents):
            raise InputError(f"no document of the {tokens.documents:,} has two words that the models know")
        return text

    @classmethod
    def of_problem(cls, tokens: Tokens, problem: Problem, seed: int) -> HeldOutText:
        """The documents that a problem holds out, up to a maximum of tokens, subsampled as in training."""
        lengths = np.diff(tokens.offsets)
        documents = np.flatnonzero(problem.held_out & (lengths > 1))
        documents = documents[np.cumsum(lengths[documents]) - lengths[documents] < MAX_TUNING_TOKENS]
        text = cls.of_documents(tokens, problem, documents, seed)
        if len(text.documents) < MIN_TUNING_DOCUMENTS:
            raise InputError(
                f"{len(text.documents)} documents are held out to judge by, of {tokens.documents:,}: give a larger "
                f"holdout= or more documents; {MIN_TUNING_DOCUMENTS} are the fewest"
            )
        return text

    @classmethod
    def of_documents(cls, tokens: Tokens, problem: Problem, documents: Ints, seed: int) -> HeldOutText:
        """The text of some documents, subsampled as in training."""
        lengths = np.diff(tokens.offsets)
        texts = [tokens.document(document) for document in documents.tolist()]
        ids = np.concatenate([np.empty(0, np.int64), *texts])
        own = [problem.ids[begin : begin + lengths[m]] for m, begin in zip(documents, tokens.offsets[documents])]
        start = np.repeat(problem.vocabulary_start[problem.language[documents]], lengths[documents])
        chance = problem.keep[start + np.concatenate([np.empty(0, np.int64), *own])]
        keep = np.random.default_rng([seed, 4]).random(len(ids)) < chance
        return cls._of_kept(tokens, documents, ids, keep, tokens.languages[documents].astype(np.int64), seed)

    @classmethod
    def _of_kept(
        cls, tokens: Tokens, documents: Ints, ids: Ints, keep: NDArray[np.bool_], language: Ints, seed: int
    ) -> HeldOutText:
        """Those tokens `ids` of some documents that are kept, in documents where two or more are."""
        document = np.repeat(np.arange(len(documents)), np.diff(tokens.offsets)[documents])
        counts = np.bincount(document[keep], minlength=len(documents))
        enough = counts > 1
        kept = ids[keep & enough[document]]
        return cls(tokens, kept, counts[enough], documents[enough], language[enough], seed)

    def log_likelihoods(
        self, models: Mapping[str, Vectors], under: Model | None = None, *, quiet: bool = True
    ) -> dict[str, Floats]:
        """(M) The log likelihood of each document under each model, with the same negatives for all."""
        settings = {name: _likelihood_settings(name, model, under) for name, model in models.items()}
        starts = {name: self._row_starts(name, model) for name, model in models.items()}
        sums = {name: np.zeros(len(self.documents)) for name in models}
        first = next(iter(models))
        with bar("reading held-out text", quiet=quiet) as progress:
            for batch in self.batches(models[first], settings[first]["negatives"], settings[first]["noise_power"]):
                for name, model in models.items():
                    likelihood = Likelihood.of(settings[name]["likelihood"])
                    tokens = likelihood.prepare(batch, settings[name]["window"], *starts[name])
                    scores = likelihood.score(tokens, model.of_rows(tokens.rows))
                    sums[name][batch.first : batch.last] = np.bincount(batch.document, scores, batch.last - batch.first)
                progress.update(batch.last / len(self.documents), f"{batch.last:,} documents")
        return sums

    def batches(self, model: Vectors, negatives: int, noise_power: float) -> Iterator[HeldOutBatch]:
        """The text in batches, with the negatives of each token, which depend on the model's counts and the seed."""
        vocabularies = model.rows.vocabularies
        if not all(vocabulary.counts.any() for vocabulary in vocabularies):
            raise InputError("it is not known how often each word occurs, by which negatives are drawn")
        noise = [vocabulary.noise(noise_power) for vocabulary in vocabularies]
        offsets = np.concatenate([[0], np.cumsum(self.lengths)])
        return held_out_batches(self.ids, offsets, noise, self.language, negatives, self.seed)

    def _row_starts(self, name: str, model: Vectors) -> tuple[Ints, Ints]:
        """(M), (M) The first word row and the first context row of each document's language and slice in a model."""
        rows, slices = model.rows, self.tokens.slices(model.columns)
        number = {key: slice for slice, key in enumerate(rows.slices.keys)}
        slice_of = np.array([number.get(key, -1) for key in slices.keys])[slices.of_document[self.documents]]
        unknown = self.documents[slice_of < 0]
        if len(unknown):
            keys = [slices.keys[slice] for slice in np.unique(slices.of_document[unknown])]
            raise InputError(
                f"{name} knows no slice {quote(map(', '.join, keys))} of {quote(model.columns)}, "
                f"which {len(unknown):,} documents are of (the first is {unknown[0]}); "
                f"it knows {quote(map(', '.join, rows.slices.keys))}"
            )
        if (model.slot[rows.context_start(0) :] < 0).any():
            raise InputError(f"{name} came without context vectors, and predicts nothing without them")
        languages = range(len(rows.vocabularies))
        words = np.array([[rows.word_start(i, s) for s in range(len(rows.slices))] for i in languages])
        contexts = np.array([rows.context_start(i) for i in languages])
        return words[self.language, slice_of], contexts[self.language]

    def mean_per_token(self, sums: Floats) -> tuple[float, float]:
        """The mean over tokens of sums by document, and its standard error over documents (that of a ratio)."""
        mean = sums.sum() / self.lengths.sum()
        if len(sums) < 2:
            return float(mean), float("nan")
        variance = ((sums - mean * self.lengths) ** 2).sum() * len(sums) / (len(sums) - 1)
        return float(mean), float(np.sqrt(variance) / self.lengths.sum())


def _languages(tokens: Tokens, model: Vectors) -> Ints:
    """The model's index of each language of a text; if both have one language, names do not matter."""
    names = [vocabulary.language for vocabulary in tokens.vocabularies]
    if len(names) == len(model.languages) == 1:
        return np.zeros(1, np.int64)
    if unknown := [name for name in names if name not in model.languages]:
        raise InputError(f"the text is of {quote(names)}, but the models know no {quote(unknown)}")
    return np.array([model.languages.index(name) for name in names], np.int64)


def _likelihood_settings(name: str, model: Vectors, under: Model | None) -> Mapping[str, Any]:
    """What the likelihood of a token depends on, besides vectors."""
    known = under.settings() if under is not None else getattr(model, "settings", {}).get("model", {})
    if not all(setting in known for setting in LIKELIHOOD_SETTINGS):
        raise InputError(f"{name} does not say what likelihood it was estimated with: give under=lx.Model(…)")
    return {setting: known[setting] for setting in LIKELIHOOD_SETTINGS}


def _check_comparable(models: Mapping[str, Vectors], under: Model | None) -> None:
    """Raise if models differ in vocabulary, or in a setting that changes what their likelihood is of."""
    settings = {name: _likelihood_settings(name, model, under) for name, model in models.items()}
    (base, first), *others = models.items()
    for name, model in others:
        if model.languages != first.languages:
            raise InputError(f"{base} is of {quote(first.languages)}, {name} of {quote(model.languages)}")
        for one, two in zip(first.rows.vocabularies, model.rows.vocabularies, strict=True):
            if one.words != two.words:
                unlike = len(set(one.words) ^ set(two.words))
                how = f"{unlike:,} words are in one only" if unlike else "their words are in another order"
                raise InputError(f"{base} and {name} have different vocabularies: {how}. Fit them to the same tokens")
        for setting in Likelihood.of(settings[base]["likelihood"]).comparable:
            if settings[base][setting] != settings[name][setting]:
                raise InputError(
                    f"{base} has {setting}={settings[base][setting]!r}, {name} {settings[name][setting]!r}: "
                    "their likelihoods are not of the same thing. Evaluate them apart"
                )


def named_models(models: Models) -> dict[str, Vectors]:
    """Models by name; a single one is called "model"."""
    named = dict(models) if isinstance(models, Mapping) else {"model": models}
    if not named:
        raise InputError("there is no model to evaluate")
    for name, model in named.items():
        if not isinstance(model, Vectors):
            raise InputError(f'"{name}" is no model but {type(model).__name__}: give what lx.fit or lx.load returns')
    return named
