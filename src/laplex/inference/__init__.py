"""Inference: differences that would hold in another sample, intervals, and the posterior of a word's vectors.

Importing this package is cheap: the module of a function, and Numba with it, is imported when it is first used.
"""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from laplex.questions.answers import provide

if TYPE_CHECKING:
    from laplex.inference.conditional import joined_words as joined_words
    from laplex.inference.contexts import pooled as pooled
    from laplex.inference.cosines import neighbors as neighbors
    from laplex.inference.cosines import project as project
    from laplex.inference.cosines import similarity as similarity
    from laplex.inference.differences import contrast as contrast
    from laplex.inference.differences import distance as distance
    from laplex.inference.differences import drift as drift
    from laplex.inference.posteriors import Joint as Joint
    from laplex.inference.posteriors import Posterior as Posterior
    from laplex.inference.posteriors import posterior as posterior
    from laplex.inference.units import Options as Options

_MODULES = {
    "Joint": "posteriors",
    "Options": "units",
    "Posterior": "posteriors",
    "contrast": "differences",
    "distance": "differences",
    "drift": "differences",
    "joined_words": "conditional",
    "neighbors": "cosines",
    "pooled": "contexts",
    "posterior": "posteriors",
    "project": "cosines",
    "similarity": "cosines",
}
__all__ = list(_MODULES)


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)


provide({name: partial(__getattr__, name) for name in _MODULES})
