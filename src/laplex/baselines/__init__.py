"""Baselines for a graph prior: mappings between languages, retrofitting, and a model for each slice.

Each takes and returns Embeddings, or takes a Model and a Corpus, so that every question and evaluation works on the
result.
"""

from laplex.baselines.postprocessing import linear_mapping, only, orthogonal_mapping, retrofit
from laplex.baselines.separation import compass, independent
from laplex.fitting.rotation import align

__all__ = ["align", "compass", "independent", "linear_mapping", "only", "orthogonal_mapping", "retrofit"]
