"""What a graph prior is to be compared with: maps between languages, retrofitting, a model for each slice.

Each takes and gives Embeddings, or a Model and a Corpus, so that every question and evaluation works on the result.
"""

from laplex.baselines.alignment import only
from laplex.baselines.mapping import linear_mapping, orthogonal_mapping
from laplex.baselines.retrofitting import retrofit
from laplex.baselines.separation import compass, independent
from laplex.rotation import align

__all__ = ["align", "compass", "independent", "linear_mapping", "only", "orthogonal_mapping", "retrofit"]
