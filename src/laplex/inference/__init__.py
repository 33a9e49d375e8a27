"""Inference: differences that would hold in another sample, intervals, and the posterior of a word's vectors.

Importing this package is cheap: the module of a function, and Numba with it, is imported when it is first used.
"""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from laplex.questions.answers import provide

if TYPE_CHECKING:
    from laplex.inference.conditional import joined_words
    from laplex.inference.contexts import pooled
    from laplex.inference.explanations import Explanation
    from laplex.inference.inference import Inference
    from laplex.inference.posteriors import Joint, Posterior, posterior

_MODULES = {
    "conditional": ["joined_words"],
    "contexts": ["pooled"],
    "explanations": ["Explanation"],
    "inference": ["Inference"],
    "posteriors": ["Joint", "Posterior", "posterior"],
}
__all__ = ["Explanation", "Inference", "Joint", "Posterior", "joined_words", "pooled", "posterior"]


def __getattr__(name: str) -> Any:
    for module, names in _MODULES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


provide({name: partial(__getattr__, name) for name in __all__})
