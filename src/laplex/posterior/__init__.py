"""How sure? What the model believes (`posterior`), and what would hold in another sample (the others)."""

from laplex.posterior.belief import posterior
from laplex.posterior.block import joined_words
from laplex.posterior.contrast import contrast
from laplex.posterior.distance import distance
from laplex.posterior.drift import drift
from laplex.posterior.gaussian import Joint, Posterior
from laplex.posterior.pooled import pooled
from laplex.posterior.projection import project
from laplex.posterior.similarity import neighbors, similarity

__all__ = [
    "Joint",
    "Posterior",
    "contrast",
    "distance",
    "drift",
    "joined_words",
    "neighbors",
    "pooled",
    "posterior",
    "project",
    "similarity",
]
