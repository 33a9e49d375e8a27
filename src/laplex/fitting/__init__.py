"""Estimation: from a Model and a Corpus to Embeddings, tuning of strengths, stability over seeds, updates."""

from collections.abc import Callable
from typing import Any

from laplex.questions.answers import provide


def _update() -> Callable[..., Any]:
    from laplex.fitting.update import update

    return update


provide({"update": _update})
