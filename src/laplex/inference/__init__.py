"""Inference: differences that would hold in another sample, intervals, and the posterior of a word's vectors.

Importing this package is cheap: the module of a function, and Numba with it, is imported when it is first used.
"""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from laplex.questions.answers import provide

if TYPE_CHECKING:
    from laplex.inference.associations import association, project
    from laplex.inference.conditional import joined_words
    from laplex.inference.contexts import pooled
    from laplex.inference.cosines import neighbors, similarity, trajectory
    from laplex.inference.differences import contrast, distance, drift
    from laplex.inference.explanations import Explanation, explain, passages
    from laplex.inference.posteriors import Joint, Posterior, posterior
    from laplex.inference.units import Options

_MODULES = {
    "conditional": ["joined_words"],
    "contexts": ["pooled"],
    "associations": ["association", "project"],
    "cosines": ["neighbors", "similarity", "trajectory"],
    "differences": ["contrast", "distance", "drift"],
    "explanations": ["Explanation", "explain", "passages"],
    "posteriors": ["Joint", "Posterior", "posterior"],
    "units": ["Options"],
}
__all__ = [
    "Explanation",
    "Joint",
    "Options",
    "Posterior",
    "contrast",
    "distance",
    "drift",
    "joined_words",
    "neighbors",
    "pooled",
]
__all__ += ["association", "explain", "passages", "posterior", "project", "similarity", "trajectory"]


def __getattr__(name: str) -> Any:
    for module, names in _MODULES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


provide({name: partial(__getattr__, name) for name in __all__})
