"""Provenance of a model: its text, versions, machine and command.

The text is kept by reference: the folder of its tokens, and their hash. What the settings of someone else's model say
is shown, and never run.
"""

from __future__ import annotations

import hashlib
import platform
import re
import shlex
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from laplex.embeddings import Embeddings
from laplex.errors import InputError, StorageError
from laplex.model.rows import Rows
from laplex.runtime import storage
from laplex.runtime.distributed import communicator
from laplex.runtime.processors import available_processors
from laplex.runtime.program import recorded_command
from laplex.text.periods import period_name, span_name
from laplex.text.tokens import Tokens

if TYPE_CHECKING:
    from laplex.fitting.training import Training
    from laplex.model.model import Model

_MODEL_ARGUMENTS = ("vary", "likelihood", "dimensions", "window", "negatives", "subsample", "noise_power")


def fit_settings(model: Model, tokens: Tokens, rows: Rows, training: Training) -> dict[str, Any]:
    """What a model keeps of how it was fitted."""
    from laplex.text.remote import public_address  # which imports Polars

    text = {"folder": str(tokens.folder), "digest": tokens.digest, **tokens.settings}
    if communicator().size > 1:  # each rank has a part of the text
        digests = b" ".join(communicator().allgather(tokens.digest.encode()))
        digest = hashlib.blake2b(digests, digest_size=16).hexdigest()
        text |= {"folder": "", "digest": digest, "ranks": communicator().size}
    return {
        "model": model.settings(rows),
        "training": asdict(training) | {"checkpoint": None},
        "tokens": text,
        "versions": storage.versions("torch") if training.engine == "torch" else storage.versions(),
        "machine": {"system": platform.system(), "processor": platform.machine(), "cores": available_processors()},
        "command": [public_address(argument) for argument in recorded_command()],
    }


def command_of(settings: Mapping[str, Any]) -> str:
    """The command line that fitted a model; empty if there was none."""
    arguments = settings.get("command")
    return shlex.join(["laplex", *map(str, arguments)]) if arguments and isinstance(arguments, list) else ""


def call_of(settings: Mapping[str, Any]) -> str:
    """The Python call that fits such a model, from its settings; empty for vectors that were not fitted."""
    model, training, tokens = (part_of(settings, name) for name in ("model", "training", "tokens"))
    if not (model and training and tokens):
        return ""
    arguments = _arguments({name: model[name] for name in _MODEL_ARGUMENTS if name in model})
    vocabulary = _arguments({name: tokens[name] for name in ("min_count", "max_words", "keep") if tokens.get(name)})
    choices = _arguments({name: value for name, value in training.items() if value is not None})
    prior = re.sub(r"(^| \+ )(\w+\()", r"\1lx.\2", str(model.get("prior")))
    return f"lx.fit(lx.Model({arguments}, prior={prior}), corpus, lx.Training({choices}), {vocabulary})"


def part_of(settings: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """The settings of the model, its training or its text; empty for vectors that were not fitted."""
    part = settings.get(name)
    return part if isinstance(part, Mapping) else {}


def value_name(fitted: Embeddings, column: str, first: str, last: str | None = None) -> str:
    """How a value of a column is shown, or all from one to another; a period with the years or days that it has.

    It is for reading: questions take the value itself, which is the beginning of a period.
    """
    tokens = part_of(fitted.settings, "tokens")
    every, until = (part_of(tokens, name).get(column) for name in ("period_lengths", "last_dates"))
    last = first if last is None else last
    try:
        return period_name(first, last, str(every), str(until or "")) if every else span_name(first, last)
    except (ValueError, OverflowError):  # of settings that were written by hand
        return span_name(first, last)


def _arguments(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in values.items())


def tokens_of(fitted: Embeddings, tokens: Tokens | None = None) -> Tokens:
    """The tokens that a model was fitted on: those given, if they are the same, or those in the folder it names."""
    known = fitted.settings.get("tokens")
    if not known:
        raise InputError("these vectors were not fitted here, so there is no text to test them with")
    if "updated" in fitted.settings:
        raise InputError(
            "this model was updated with text that came later, and tests need contexts that were fitted to all of the "
            "text: lx.fit old and new text together for them, or ask this model with test=False"
        )
    if "ranks" in known:  # each process had a part of the text
        if tokens is None:
            raise InputError(
                f"{known['ranks']} processes fitted this model, each with a part of the text: give all of it as "
                "tokens=lx.Tokens.of(corpus, ...), read with the same settings"
            )
        for one, two in zip(fitted.rows.vocabularies, tokens.vocabularies, strict=False):
            if one.words != two.words or (one.counts != two.counts).any():
                raise InputError(f'the tokens in "{tokens.folder}" are not all that the model was fitted on')
        return tokens
    if tokens is None:
        try:
            from laplex.text.occurrences import open_tokens  # which imports what reads files

            tokens = open_tokens(known["folder"])
        except StorageError as error:
            raise InputError(f"the text of this model is needed, but {error}: give it as tokens=") from None
    if tokens.digest != known["digest"]:
        raise InputError(
            f'the tokens in "{tokens.folder}" are not those that the model was fitted on: give those as tokens='
        )
    return tokens
