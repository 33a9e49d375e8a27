"""Baselines without a group prior: a model for each slice, brought into one space before or after.

independent   word and context vectors of each slice by itself, then rotated onto those of one slice
compass       context vectors from the whole text, held fixed while the word vectors of each slice are estimated

All slices have the vocabulary of the whole text, so that every question can be asked; a word that is absent from a
slice has a count of 0 there and the vector that the prior alone gives it, which under a Ridge is zero. Standard
deviations of variational fits are dropped. S slices, V words, D dimensions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray

from laplex.baselines.postprocessing import contexts_of, stacks_of
from laplex.embeddings import Embeddings
from laplex.errors import InputError, quote
from laplex.fitting.estimation import fit
from laplex.fitting.rotation import rotation
from laplex.fitting.training import tokens_for_fits
from laplex.model.model import Model
from laplex.model.priors.lexical import Anchor
from laplex.model.priors.prior import Prior
from laplex.runtime import storage
from laplex.runtime.display import say
from laplex.text.corpus import Corpus
from laplex.text.slices import Slices
from laplex.text.tokens import Tokens

COMPASS_STRENGTH = 1e6  # of the Anchor that holds the contexts: the text has no weight beside it


def independent(
    model: Model,
    corpus: Corpus | Tokens,
    *,
    column: str | None = None,
    align_to: Any = None,
    quiet: bool = False,
    **options: Any,
) -> Embeddings:
    """Fit the model to the text of each slice alone, then rotate each onto one of them by the words of both.

    What the prior says about columns (Groups, Chain) is left out, the rest of it holds in each slice.

    Args:
        model: The model.
        corpus: A Corpus, or Tokens, of one language.
        column: The column whose values are the slices; by default those of the model's `vary`.
        align_to: The slice to rotate onto, "D" or {"party": "D", "period": "2010"}; by default that with most text.
        quiet: Print nothing.
        **options: Those of `lx.fit`.

    Returns:
        Embeddings with all slices, without contexts, since each slice has its own.

    Example:
        lx.baselines.independent(model, speeches, column="party", min_count=20)
    """
    tokens, slices, options = _prepare(model, corpus, column, quiet, options)
    if len(tokens.vocabularies) > 1:
        raise InputError(f"the corpus has {len(tokens.vocabularies)} languages: independent() takes one at a time")
    counts = tokens.counts(slices)
    target = _slice(slices, align_to) if align_to is not None else int(counts.sum(1).argmax())
    shared = (counts > 0) & (counts[target] > 0)  # (S, V)
    for key, words in zip(slices.keys, shared.sum(1).tolist(), strict=True):
        if words < model.dimensions:
            raise InputError(
                f"the slices {key} and {slices.keys[target]} share {words:,} words, which do not fix a rotation of "
                f"{model.dimensions} dimensions: take larger slices, or another align_to"
            )
    single = replace(model, vary=(), prior=_prior_within_slices(model.prior))
    fitted = []
    for number, key in enumerate(slices.keys):
        name = ", ".join(f"{column}={value}" for column, value in zip(slices.columns, key, strict=True))
        say(f"{name} ({number + 1} of {len(slices)})", quiet=quiet)
        try:
            fitted.append(
                fit(single, _slice_tokens(tokens, slices, number, counts[number]), tests=False, quiet=quiet, **options)
            )
        except InputError as error:
            raise InputError(f"{name}: {error}") from None
    blocks = [one.block(0, 0) for one in fitted]
    for number in set(range(len(slices))) - {target}:
        words = shared[number]
        matrix = rotation(blocks[number][words], blocks[target][words])
        blocks[number] = (blocks[number] @ matrix).astype(np.float32)
    record = {"name": "independent", "aligned to": list(slices.keys[target])}
    settings = {**fitted[target].settings, "baseline": record}
    return Embeddings.of(tokens.vocabularies, [np.stack(blocks)], slices=slices, counts=[counts], settings=settings)


def compass(
    model: Model, corpus: Corpus | Tokens, *, column: str | None = None, quiet: bool = False, **options: Any
) -> Embeddings:
    """Fit context vectors to the whole text, then, with these held fixed, the word vectors of each slice.

    Slices are comparable because their contexts are the same. What the prior says about columns is left out, as in
    `independent`.

    Args:
        model: The model.
        corpus: A Corpus, or Tokens.
        column: The column whose values are the slices; by default those of the model's `vary`.
        quiet: Print nothing.
        **options: Those of `lx.fit`.

    Returns:
        Embeddings with all slices, and the contexts of the whole text.

    Example:
        lx.baselines.compass(model, speeches, column="party", min_count=20)
    """
    tokens, slices, options = _prepare(model, corpus, column, quiet, options)
    prior = _prior_within_slices(model.prior)
    say("contexts, from the whole text", quiet=quiet)
    contexts = contexts_of(fit(replace(model, vary=(), prior=prior), tokens, tests=False, quiet=quiet, **options))
    for vocabulary, block in zip(tokens.vocabularies, contexts, strict=True):
        fixed = dict(zip(vocabulary.words, block, strict=True))
        prior = prior + Anchor(fixed, COMPASS_STRENGTH, on="contexts", language=vocabulary.language)
    say(f"words, by {quote(slices.columns)}", quiet=quiet)
    sliced = fit(replace(model, vary=slices.columns, prior=prior), tokens, tests=False, quiet=quiet, **options)
    return Embeddings.of(
        tokens.vocabularies,
        stacks_of(sliced),
        slices=slices,
        counts=sliced.counts,
        contexts=contexts,
        settings={**sliced.settings, "baseline": {"name": "compass"}},
    )


def _prepare(
    model: Model, corpus: Corpus | Tokens, column: str | None, quiet: bool, options: dict[str, Any]
) -> tuple[Tokens, Slices, dict[str, Any]]:
    """The tokens, their slices, and the options that remain for `fit`."""
    columns = model.vary if column is None else (column,)
    if not columns:
        raise InputError('say which slices: column="party", or a model with vary=["party"]')
    tokens, rest = tokens_for_fits(corpus, options, quiet)
    slices = tokens.slices(columns)
    if len(slices) < 2:
        raise InputError(
            f"by {quote(columns)} there is one slice only, {quote(slices.keys)}: there is nothing to compare"
        )
    return tokens, slices, rest


def _prior_within_slices(prior: Prior) -> Prior:
    """The parts of a prior that do not join slices."""
    parts = [part for part in prior.parts if not part.joins_slices]
    if not parts:
        raise InputError(f"without what joins slices nothing is left of the prior {prior!r}: add lx.Ridge()")
    return reduce(add, parts)


def _slice(slices: Slices, align_to: Any) -> int:
    values = align_to if isinstance(align_to, Mapping) else {slices.columns[0]: align_to}
    key = tuple(str(values.get(column)) for column in slices.columns)
    if key not in slices.keys or len(values) != len(slices.columns):
        raise InputError(
            f"align_to={align_to!r} is not a slice of {quote(slices.columns)}; there are {quote(slices.keys, 12)}"
        )
    return slices.keys.index(key)


def _slice_tokens(tokens: Tokens, slices: Slices, number: int, counts: NDArray[np.int64]) -> Tokens:
    """The documents of a slice, with the vocabulary of the whole text and its counts in the slice."""
    inside = slices.of_document == number
    lengths = np.diff(tokens.offsets)
    text, starts = storage.pack(tokens.vocabularies[0].words)
    arrays: dict[str, NDArray[Any]] = {
        "ids": tokens.ids[np.repeat(inside, lengths)],
        "offsets": np.concatenate([[0], np.cumsum(lengths[inside])]),
        "languages": tokens.languages[inside],
        "words/0/text": text,
        "words/0/starts": starts,
        "counts/0": counts,
    }
    digest = f"{tokens.digest}/{'/'.join(slices.keys[number])}"
    return Tokens(storage.Saved(tokens.folder, "tokens", {**tokens.settings, "columns": []}, arrays, digest))
