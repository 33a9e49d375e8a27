"""How did a model come about? Which text it was fitted on, by what versions, on what machine, by what command.

The text is kept by reference: the folder of its tokens, and their hash. Settings of a model come in; what they say
goes out as text. What a stranger's model says is shown and never run.
"""

from __future__ import annotations

import os
import platform
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from laplex import storage
from laplex.embeddings import Embeddings
from laplex.errors import InputError, StorageError
from laplex.tokens import Tokens

_COMMAND: ContextVar[tuple[str, ...]] = ContextVar("command", default=())
_MODEL = ("vary", "likelihood", "dimensions", "window", "negatives", "subsample", "noise_power")


@contextmanager
def commanded(arguments: Sequence[str]) -> Iterator[None]:
    """What is fitted meanwhile was asked for by `laplex` with these arguments."""
    before = _COMMAND.set(tuple(arguments))
    try:
        yield
    finally:
        _COMMAND.reset(before)


def circumstances(engine: str) -> dict[str, Any]:
    """What a model keeps of how it was fitted, besides its settings and its text."""
    machine = {"system": platform.system(), "processor": platform.machine(), "cores": os.cpu_count()}
    versions = storage.versions("torch") if engine == "torch" else storage.versions()
    return {"versions": versions, "machine": machine, "command": list(_COMMAND.get())}


def command_of(settings: Mapping[str, Any]) -> str:
    """The command line that fitted a model, to be typed again; nothing if there was none."""
    arguments = settings.get("command")
    return shlex.join(["laplex", *map(str, arguments)]) if arguments and isinstance(arguments, list) else ""


def call_of(settings: Mapping[str, Any]) -> str:
    """The Python that fits such a model, for the settings of one that was fitted; nothing for one that was not."""
    model, training, tokens = (part_of(settings, name) for name in ("model", "training", "tokens"))
    if not (model and training and tokens):
        return ""
    chosen = {name: model[name] for name in _MODEL if name in model}
    words = {name: tokens[name] for name in ("min_count", "max_words", "keep") if tokens.get(name)}
    how = {name: value for name, value in training.items() if value is not None}
    prior = re.sub(r"(^| \+ )(\w+\()", r"\1lx.\2", str(model.get("prior")))
    return (
        f"lx.fit(lx.Model({_arguments(chosen)}, prior={prior}), "
        f"corpus, lx.Training({_arguments(how)}), {_arguments(words)})"
    )


def part_of(settings: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """What settings say of the model, its training or its text: nothing for vectors that were not fitted."""
    part = settings.get(name)
    return part if isinstance(part, Mapping) else {}


def _arguments(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in values.items())


def tokens_of(fitted: Embeddings, tokens: Tokens | None = None) -> Tokens:
    """The tokens a model was fitted on: those given, if they are the same, or those it remembers."""
    known = fitted.settings.get("tokens")
    if not known:
        raise InputError("these vectors were not fitted here, so there is no text to test them with")
    if "ranks" in known:
        return _whole(fitted, tokens, known["ranks"])
    if tokens is None:
        try:
            tokens = Tokens(storage.load(known["folder"], "tokens"))
        except StorageError as error:
            raise InputError(f"the text of this model is needed, but {error}: give it as tokens=") from None
    if tokens.digest != known["digest"]:
        raise InputError(
            f'the tokens in "{tokens.folder}" are not those that the model was fitted on: give those as tokens='
        )
    return tokens


def _whole(fitted: Embeddings, tokens: Tokens | None, ranks: int) -> Tokens:
    """All the text of a model that several processes fitted, each with a part of it."""
    if tokens is None:
        raise InputError(
            f"{ranks} processes fitted this model, each with a part of the text: give all of it as "
            "tokens=lx.Tokens.of(corpus, ...), read with the same settings"
        )
    for mine, theirs in zip(fitted.rows.vocabularies, tokens.vocabularies, strict=False):
        if mine.words != theirs.words or (mine.counts != theirs.counts).any():
            raise InputError(f'the tokens in "{tokens.folder}" are not all that the model was fitted on')
    return tokens
