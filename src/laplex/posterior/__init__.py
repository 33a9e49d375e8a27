"""How sure? What the model believes (`posterior`), and what would hold in another sample (the others)."""

from laplex.posterior.belief import Posterior, posterior
from laplex.posterior.contrast import contrast
from laplex.posterior.distance import distance
from laplex.posterior.drift import drift
from laplex.posterior.pooled import pooled
from laplex.posterior.projection import project
from laplex.posterior.similarity import neighbors, similarity

__all__ = ["Posterior", "contrast", "distance", "drift", "neighbors", "pooled", "posterior", "project", "similarity"]
