"""Updates: new text for an old model, whose own text is not read again."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np

from laplex.embeddings import Embeddings
from laplex.errors import InputError, quote
from laplex.fitting.estimation import Estimation
from laplex.fitting.training import Training, split_token_options
from laplex.model.likelihoods import Likelihood
from laplex.model.model import Model
from laplex.model.priors.prior import saved_prior
from laplex.runtime.distributed import communicator
from laplex.text.corpus import Corpus
from laplex.text.tokens import Tokens
from laplex.text.vocabulary import Vocabulary

# of the training, that an update takes over from the model
SAVED_OPTIONS = ("engine", "epochs", "threads", "rate", "seed", "holdout", "block", "drawn", "device", "precision")


def update(
    fitted: Embeddings,
    corpus: Corpus | Tokens,
    *,
    model: Model | None = None,
    training: Training | None = None,
    quiet: bool = False,
    **options: Any,
) -> Embeddings:
    """Go on from a model with new text; see `Embeddings.update`."""
    chosen = model or saved_model(fitted)
    check_model(fitted, chosen)
    token_options, rest = split_token_options(options)
    known = {field.name for field in fields(Training)}
    for name in rest:
        if name not in known:
            raise InputError(f"update has no {name}=; its options are those of lx.Training and of the vocabulary")
    if training is None:
        saved = fitted.settings["training"]
        own = {name: saved[name] for name in SAVED_OPTIONS if name in saved}
        training = Training(**own)
    training = replace(training, **rest, pooled_epochs=0, rotate=False)
    training = training.with_defaults(Likelihood.of(chosen.likelihood))
    check_training(training)
    if not isinstance(corpus, Tokens):
        words = [word for vocabulary in fitted.rows.vocabularies for word in vocabulary]
        usual = fitted.settings["tokens"].get("min_count", 5)
        keep = [*words, *token_options.pop("keep", ())]
        corpus = Tokens.of(corpus, **{"min_count": usual} | token_options, keep=keep, quiet=quiet)
    elif token_options:
        raise InputError(f"{', '.join(sorted(token_options))} were chosen when the tokens were made")
    tokens = tokens_with(fitted, corpus)
    estimation = Estimation(chosen, tokens, training, quiet, earlier=fitted)
    return estimation.run()


def saved_model(fitted: Embeddings) -> Model:
    """The model of Embeddings from their settings, if its prior consists of numbers and names alone."""
    settings = fitted.settings.get("model")
    if not settings:
        raise InputError(
            "these vectors were not fitted by laplex, so there is no model to update: use start= of lx.fit"
        )
    prior = saved_prior(fitted.settings)
    if prior is None:
        raise InputError(
            f"the prior of this model, {settings['prior']}, has parts that are not saved with it (lists of pairs, "
            "given vectors, or strengths of their own): give the model it was fitted with as model="
        )
    known = {field.name: settings[field.name] for field in fields(Model) if field.name in settings}
    return Model(**known | {"prior": prior})


def check_model(fitted: Embeddings, model: Model) -> None:
    """Raise unless a model can go on from these vectors."""
    if fitted.precision is None:
        raise InputError(
            "it is not known how much text is behind each vector of this model: update takes models that lx.fit made "
            'with engine="cpu" or "torch", not those of earlier versions or that were changed afterwards'
        )
    if model.vary != fitted.columns:
        raise InputError(
            f"the vectors of this model vary by {quote(fitted.columns) or 'nothing'}, and those of model= by "
            f"{quote(model.vary) or 'nothing'}: an update goes on with the same columns"
        )
    if model.dimensions != fitted.dimensions:
        raise InputError(f"the vectors have {fitted.dimensions} dimensions, model= has {model.dimensions}")
    if model.absent != "kept" or communicator().size > 1:
        raise InputError('update is for absent="kept" and one process: fit old and new text together')


def check_training(training: Training) -> None:
    """Raise unless vectors can be held by a training."""
    if training.engine == "reference" or training.inference != "map":
        raise InputError('update takes engine="cpu" or "torch" and inference="map"')


def tokens_with(fitted: Embeddings, tokens: Tokens) -> Tokens:
    """The new text by the words of the model and those that are new, with the counts of old and new text."""
    for column in fitted.columns:
        if column not in tokens.columns:
            raise InputError(
                f'the vectors of this model vary by {quote(fitted.columns)}, but the new text has no column "{column}" '
                f"(it has {quote(tokens.columns) or 'none'}): read it with the same metadata=, periods() and bins() as "
                "the old text"
            )
    old = {vocabulary.language: vocabulary for vocabulary in fitted.rows.vocabularies}
    single = len(old) == len(tokens.vocabularies) == 1
    merged = dict(old)
    for vocabulary in tokens.vocabularies:
        language = next(iter(old)) if single else vocabulary.language
        if language not in old:
            raise InputError(f'the new text is of "{language}", the model of {quote(old)}: an update adds no language')
        merged[language] = _merged(old[language], vocabulary)
    return tokens.in_vocabularies(list(merged.values()))


def _merged(old: Vocabulary, new: Vocabulary) -> Vocabulary:
    """The words of both, most frequent first, with the sums of their counts."""
    counts = dict(zip(old.words, old.counts.tolist(), strict=True))
    for word, count in zip(new.words, new.counts.tolist(), strict=True):
        counts[word] = counts.get(word, 0) + count
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    words, totals = [word for word, _ in ranked], np.array([count for _, count in ranked], np.int64)
    return Vocabulary(words, totals, old.language, {**old.phrases, **new.phrases}.values())
