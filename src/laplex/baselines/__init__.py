"""Baselines: mappings between languages, retrofitting, a model for each slice, and embedding regression.

Mappings, retrofitting and models by slice give Embeddings, so that every question and evaluation works on the result;
embedding regression gives a table.
"""

from typing import TYPE_CHECKING

from laplex.runtime import lazy

if TYPE_CHECKING:
    from laplex.baselines.postprocessing import linear_mapping, only, orthogonal_mapping, retrofit
    from laplex.baselines.regression import embedding_regression
    from laplex.baselines.separation import compass, independent
    from laplex.fitting.rotation import align

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

__getattr__, __dir__ = lazy.attributes(
    __name__,
    {
        "laplex.baselines.postprocessing": ["linear_mapping", "only", "orthogonal_mapping", "retrofit"],
        "laplex.baselines.regression": ["embedding_regression"],
        "laplex.baselines.separation": ["compass", "independent"],
        "laplex.fitting.rotation": ["align"],
    },
)
