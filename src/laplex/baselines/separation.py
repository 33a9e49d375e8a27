"""A model for each slice on its own, put into one space afterwards or beforehand: what is done without a group prior.

independent   word and context vectors of each slice by itself, then rotated onto those of one slice
compass       context vectors from the whole text, held while the word vectors of each slice are estimated

A Model and a Corpus come in; Embeddings with the slices go out. All slices have the vocabulary of the whole, so that
every question can be asked; a word that a slice does not have keeps a count of 0 there and the vector that the prior
alone gives it, which under a Ridge is zero. S slices, V words, D dimensions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray

from laplex import storage
from laplex.baselines.alignment import contexts_of, stacks_of
from laplex.corpus import Corpus
from laplex.embeddings import Embeddings
from laplex.errors import InputError, quote
from laplex.model import Model
from laplex.priors import Anchor, Chain, GroupMean, Groups, Prior
from laplex.progress import say
from laplex.rotation import rotation
from laplex.tokens import Slices, Tokens
from laplex.training import TOKEN_OPTIONS, fit

HOLD = 1e6  # the strength that holds the compass: beside it the text weighs nothing


def independent(
    model: Model,
    corpus: Corpus | Tokens,
    *,
    column: str | None = None,
    align_to: Any = None,
    quiet: bool = False,
    **options: Any,
) -> Embeddings:
    """Fit the model to the text of each slice alone, then rotate each onto one of them by the words both have.

    Slices are those of `column`, or of the model's `vary`. What the prior says about columns (Groups, Chain) is left
    out, the rest of it holds in each slice. `align_to` is the value of the slice to rotate onto ("D", or
    {"party": "D", "period": "2010"}), by default the one with most text. Options are those of `fit`. Context vectors
    are each slice's own, and not part of the result.
    """
    tokens, slices, options = _prepare(model, corpus, column, quiet, options)
    if len(tokens.vocabularies) > 1:
        raise InputError(f"the corpus has {len(tokens.vocabularies)} languages: independent() takes one at a time")
    counts = tokens.counts(slices)
    target = _slice(slices, align_to) if align_to is not None else int(counts.sum(1).argmax())
    _check_overlap(counts, target, model.dimensions, slices)
    alone = replace(model, vary=(), prior=_within(model.prior))
    fitted = []
    for number, key in enumerate(slices.keys):
        name = ", ".join(f"{column}={value}" for column, value in zip(slices.columns, key, strict=True))
        say(f"{name} ({number + 1} of {len(slices)})", quiet=quiet)
        try:
            fitted.append(fit(alone, _part(tokens, slices, number, counts[number]), quiet=quiet, **options))
        except InputError as error:
            raise InputError(f"{name}: {error}") from None
    blocks = _rotated([one.block(0, 0) for one in fitted], counts, target)
    said = {"name": "independent", "aligned to": list(slices.keys[target])}
    settings = {**fitted[target].settings, "baseline": said}
    return Embeddings.of(tokens.vocabularies, [np.stack(blocks)], slices=slices, counts=[counts], settings=settings)


def compass(
    model: Model, corpus: Corpus | Tokens, *, column: str | None = None, quiet: bool = False, **options: Any
) -> Embeddings:
    """Fit context vectors to the whole text, then, with these held, the word vectors of each slice.

    The slices are comparable because their contexts are the same. They are held by an Anchor of strength 1e6, and
    those of the whole text are in the result. Slices, the prior and options are as in `independent`.
    """
    tokens, slices, options = _prepare(model, corpus, column, quiet, options)
    prior = _within(model.prior)
    say("contexts, from the whole text", quiet=quiet)
    whole = fit(replace(model, vary=(), prior=prior), tokens, quiet=quiet, **options)
    contexts = contexts_of(whole)
    for vocabulary, block in zip(tokens.vocabularies, contexts, strict=True):
        held = dict(zip(vocabulary.words, block, strict=True))
        prior = prior + Anchor(held, HOLD, on="contexts", language=vocabulary.language)
    say(f"words, by {quote(slices.columns)}", quiet=quiet)
    sliced = fit(replace(model, vary=slices.columns, prior=prior), tokens, quiet=quiet, **options)
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
    """The text as numbers, its slices, and the options that remain for `fit`."""
    columns = model.vary if column is None else (column,)
    if not columns:
        raise InputError('say which slices: column="party", or a model with vary=["party"]')
    training = options.get("training")
    if options.get("checkpoint") is not None or (training is not None and training.checkpoint is not None):
        raise InputError("a checkpoint is of one fit, and here there are several: leave it out")
    settings = {name: value for name, value in options.items() if name in TOKEN_OPTIONS}
    rest = {name: value for name, value in options.items() if name not in TOKEN_OPTIONS}
    if isinstance(corpus, Tokens) and settings:
        raise InputError(f"{', '.join(sorted(settings))} were chosen when the tokens were made")
    tokens = corpus if isinstance(corpus, Tokens) else Tokens.of(corpus, quiet=quiet, **settings)
    slices = tokens.slices(columns)
    if len(slices) < 2:
        raise InputError(
            f"by {quote(columns)} there is one slice only, {quote(slices.keys)}: there is nothing to compare"
        )
    return tokens, slices, rest


def _within(prior: Prior) -> Prior:
    """What a prior says within a slice."""
    parts = [part for part in prior.parts if not isinstance(part, (Groups, GroupMean, Chain))]
    if not parts:
        raise InputError(f"without what joins slices nothing is left of the prior {prior!r}: add lx.Ridge(1.0)")
    return reduce(add, parts)


def _slice(slices: Slices, wanted: Any) -> int:
    values = wanted if isinstance(wanted, Mapping) else {slices.columns[0]: wanted}
    key = tuple(str(values.get(column)) for column in slices.columns)
    if key not in slices.keys or len(values) != len(slices.columns):
        raise InputError(
            f"align_to={wanted!r} is not a slice of {quote(slices.columns)}; there are {quote(slices.keys, 12)}"
        )
    return slices.keys.index(key)


def _check_overlap(counts: NDArray[np.int64], target: int, dimensions: int, slices: Slices) -> None:
    for number, key in enumerate(slices.keys):
        shared = int(((counts[number] > 0) & (counts[target] > 0)).sum())
        if shared < dimensions:
            raise InputError(
                f"the slices {key} and {slices.keys[target]} share {shared:,} words, which do not fix a rotation of "
                f"{dimensions} dimensions: take larger slices, or another align_to"
            )


def _rotated(blocks: list[NDArray[np.float32]], counts: NDArray[np.int64], target: int) -> list[NDArray[np.float32]]:
    """The vectors of each slice, rotated onto those of the target by the words that occur in both."""
    rotated = []
    for number, block in enumerate(blocks):
        shared = (counts[number] > 0) & (counts[target] > 0)
        turned = block if number == target else block @ rotation(block[shared], blocks[target][shared])
        rotated.append(turned.astype(np.float32))
    return rotated


def _part(tokens: Tokens, slices: Slices, number: int, counts: NDArray[np.int64]) -> Tokens:
    """The documents of a slice, with the vocabulary of the whole and its counts in the slice."""
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
