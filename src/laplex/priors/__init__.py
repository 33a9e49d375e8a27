"""Beliefs as rules that make graphs. They add with `+`.

Rows come in, a Graph over them goes out. A rule knows nothing of the text; it is applied when the vocabulary and the
slices are known. In the formulas ρ_w,s is the vector of word w in slice s, α_w its context vector.
"""

from laplex.priors.anchor import Anchor
from laplex.priors.edges import Edges
from laplex.priors.lexical import Pairs, Translations
from laplex.priors.prior import Prior, Sum
from laplex.priors.ridge import Ridge
from laplex.priors.slices import Chain, GroupMean, Groups

__all__ = [
    "Anchor",
    "Chain",
    "Edges",
    "GroupMean",
    "Groups",
    "Pairs",
    "Prior",
    "Ridge",
    "Sum",
    "Translations",
]
