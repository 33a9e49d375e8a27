"""How sure? What the model believes (`posterior`), and what would hold in another sample (`contrast`, `distance`)."""

from laplex.posterior.belief import Posterior, posterior
from laplex.posterior.contrast import contrast
from laplex.posterior.distance import distance
from laplex.posterior.pooled import pooled

__all__ = ["Posterior", "contrast", "distance", "pooled", "posterior"]
