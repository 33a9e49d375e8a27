"""Baselines: mappings between languages, retrofitting, a model for each slice, and embedding regression.

Mappings, retrofitting and models by slice give Embeddings, so that every question and evaluation works on the result;
embedding regression gives a table. Its module, and Numba with it, is imported when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from laplex.baselines.postprocessing import linear_mapping, only, orthogonal_mapping, retrofit
from laplex.baselines.separation import compass, independent
from laplex.fitting.rotation import align

if TYPE_CHECKING:
    from laplex.baselines.regression import embedding_regression

__all__ = [
    "align",
    "compass",
    "embedding_regression",
    "independent",
    "linear_mapping",
    "only",
    "orthogonal_mapping",
    "retrofit",
]


def __getattr__(name: str) -> Any:
    if name == "embedding_regression":
        return import_module(f"{__name__}.regression").embedding_regression
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
