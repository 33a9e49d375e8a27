"""How well do models predict text that they have not read?

Models of one vocabulary and a corpus come in; a frame with the mean log likelihood of a token goes out, and how much it
varies from document to document. With K negatives w drawn for each token i, the same for all models,

    CBOW   log σ(ρ_i·h_i) + Σ_w log σ(−ρ_w·h_i),   h_i = Σ_{c in window} α_c
    SGNS   Σ_{c in window} [ log σ(ρ_i·α_c) + Σ_w log σ(−ρ_w·α_c) ]

is the log likelihood of a token (`objective.py`), ρ the word vectors of the document's own language and slice.
n tokens, M documents, D dimensions, V words.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import log_expit

from laplex.corpus import Corpus
from laplex.errors import InputError, quote
from laplex.evaluation.lookup import Models, named
from laplex.evaluation.text import AT_ONCE, Part, Starts, Text
from laplex.model import Model
from laplex.progress import bar
from laplex.tokens import Tokens
from laplex.vectors import Vectors

Floats = NDArray[np.float64]


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

    models     a model, or several by name, of the same words
    text       a Corpus, or Tokens; its metadata say which slice each document is of
    under      the Model whose likelihood to use, for vectors that do not know theirs; by default each model's own
    subsample  thin out frequent words as lx.Model(subsample=) does; every token counts by default
    seed       of the negatives, and of the thinning

    A token counts if its word is in the vocabulary and its document has another such word; words outside the vocabulary
    are dropped before windows are laid, as in training. With `subsample=0`, frequent words have the weight that they
    have in the text, more than in training with subsampling, and windows reach as far as they are long: fair between
    models that were trained with the same subsampling. Give their threshold to judge by what training maximizes.

    All models see the same tokens and the same negatives, drawn by the counts of the first. Models that differ in
    likelihood, negatives or noise_power (or, for SGNS, in window) have likelihoods of different things; to compare
    these is an error. `se` is the standard error of the mean over documents; with several models, `difference` is that
    to the first, and `difference_se` its standard error, document by document.
    """
    if not isinstance(text, (Corpus, Tokens)):
        raise InputError(f"the text is a Corpus, as lx.read gives, or Tokens, not {type(text).__name__}")
    chosen = named(models)
    _check_comparable(chosen, _rules(chosen, under))
    tokens = text if isinstance(text, Tokens) else Tokens.of(text, min_count=1, quiet=quiet)
    read = Text.of(tokens, next(iter(chosen.values())), subsample, seed, quiet)
    sums = sums_by_document(chosen, tokens, read, under=under, seed=seed, quiet=quiet)
    return _frame(sums, np.diff(read.offsets))


def sums_by_document(
    models: Mapping[str, Vectors],
    tokens: Tokens,
    read: Text,
    *,
    under: Model | None = None,
    seed: int = 1,
    quiet: bool = False,
) -> dict[str, Floats]:
    """(M) The log likelihood of each document of a text under each model, with the same negatives for all."""
    rules = _rules(models, under)
    starts = {name: Starts.of(name, model, tokens, read) for name, model in models.items()}
    sums = {name: np.zeros(len(read.documents)) for name in models}
    first, rule = next(iter(models.values())), next(iter(rules.values()))
    with bar("reading held-out text", quiet=quiet) as progress:
        for part, drawn in read.parts(first, rule.negatives, rule.noise_power, seed):
            for name, model in models.items():
                scores = _score(part, drawn, model, rules[name], starts[name])
                sums[name][part.low : part.high] = np.bincount(part.document, scores, part.high - part.low)
            progress.update(part.high / len(read.documents), f"{part.high:,} documents")
    return sums


@dataclass(frozen=True)
class _Rule:
    likelihood: str
    window: int
    negatives: int
    noise_power: float

    @classmethod
    def of(cls, name: str, model: Vectors, under: Model | None) -> _Rule:
        known = under.settings() if under is not None else getattr(model, "settings", {}).get("model", {})
        names = list(cls.__dataclass_fields__)
        if not all(field in known for field in names):
            raise InputError(f"{name} does not say what likelihood it was estimated with: give under=lx.Model(…)")
        return cls(**{field: known[field] for field in names})


def _rules(models: Mapping[str, Vectors], under: Model | None) -> dict[str, _Rule]:
    return {name: _Rule.of(name, model, under) for name, model in models.items()}


def _check_comparable(models: dict[str, Vectors], rules: dict[str, _Rule]) -> None:
    (base, first), *others = models.items()
    for name, model in others:
        if model.languages != first.languages:
            raise InputError(f"{base} is of {quote(first.languages)}, {name} of {quote(model.languages)}")
        for one, two in zip(first.rows.vocabularies, model.rows.vocabularies, strict=True):
            if one.words != two.words:
                unlike = len(set(one.words) ^ set(two.words))
                how = f"{unlike:,} words are in one only" if unlike else "their words are in another order"
                raise InputError(f"{base} and {name} have different vocabularies: {how}. Fit them to the same tokens")
        fields = ["likelihood", "negatives", "noise_power"] + ["window"] * (rules[base].likelihood == "sgns")
        for field in fields:
            values = getattr(rules[base], field), getattr(rules[name], field)
            if values[0] != values[1]:
                raise InputError(
                    f"{base} has {field}={values[0]!r}, {name} {values[1]!r}: "
                    "their likelihoods are not of the same thing. Evaluate them apart"
                )


def _score(part: Part, drawn: NDArray[np.int64], model: Vectors, rule: _Rule, starts: Starts) -> Floats:
    """(n) The log likelihood of each token."""
    word = starts.word[part.low : part.high][part.document]
    context = starts.context[part.low : part.high][part.document]
    alpha = model.of_rows(context + part.ids).astype(np.float64)
    scores = np.zeros(len(alpha))
    for token, given in _inputs(alpha, part.document, rule):
        for low in range(0, len(token), AT_ONCE):
            some, x = token[low : low + AT_ONCE], given[low : low + AT_ONCE].astype(np.float32)
            own, others = model.of_rows(word[some] + part.ids[some]), model.of_rows(word[some, None] + drawn[some])
            scores[some] += log_expit(np.einsum("nd,nd->n", own, x))
            scores[some] += log_expit(-np.einsum("nkd,nd->nk", others, x)).sum(1)
    return scores


def _inputs(alpha: Floats, document: NDArray[np.int64], rule: _Rule) -> Iterator[tuple[NDArray[np.int64], Floats]]:
    """Tokens, and the vectors that they are to be predicted from: one for CBOW, one for each context for SGNS."""
    if rule.likelihood == "cbow":
        sums = np.concatenate([np.zeros((1, alpha.shape[1])), np.cumsum(alpha, axis=0)])
        place = np.arange(len(alpha))
        low = np.maximum(place - rule.window, np.searchsorted(document, document, "left"))
        high = np.minimum(place + rule.window + 1, np.searchsorted(document, document, "right"))
        yield place, sums[high] - sums[low] - alpha
        return
    for shift in range(1, min(rule.window, len(alpha) - 1) + 1):
        before = np.flatnonzero(document[shift:] == document[:-shift])
        yield before + shift, alpha[before]
        yield before, alpha[before + shift]


def _frame(sums: dict[str, Floats], lengths: NDArray[np.int64]) -> pd.DataFrame:
    rows = []
    base = next(iter(sums.values()))
    for name, found in sums.items():
        mean, error = mean_by_token(found, lengths)
        row = {"model": name, "log_likelihood": mean, "se": error}
        if len(sums) > 1:
            row["difference"], row["difference_se"] = mean_by_token(found - base, lengths)
        rows.append(row | {"tokens": int(lengths.sum()), "documents": len(lengths)})
    return pd.DataFrame(rows)


def mean_by_token(sums: Floats, lengths: NDArray[np.int64]) -> tuple[float, float]:
    """The mean of a token and its standard error, documents being what varies (that of a ratio)."""
    mean = sums.sum() / lengths.sum()
    if len(sums) < 2:
        return float(mean), float("nan")
    spread = ((sums - mean * lengths) ** 2).sum() * len(sums) / (len(sums) - 1)
    return float(mean), float(np.sqrt(spread) / lengths.sum())
