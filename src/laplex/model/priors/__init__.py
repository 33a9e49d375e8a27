"""Priors: rules that make a graph over the rows of a model. They add with `+`.

A prior knows nothing of the text; it is applied when the vocabulary and the slices are known. In the formulas ρ_w,s is
the vector of word w in slice s and α_w its context vector.
"""

from laplex.model.priors.lexical import Anchor, Edges, Pairs, Translations
from laplex.model.priors.prior import Prior, Ridge, Sum
from laplex.model.priors.slices import Chain, GroupMean, Groups, Nested

__all__ = [
    "Anchor",
    "Chain",
    "Edges",
    "GroupMean",
    "Groups",
    "Nested",
    "Pairs",
    "Prior",
    "Ridge",
    "Sum",
    "Translations",
]
