"""Inference: differences that would hold in another sample, intervals, and the posterior of a word's vectors."""

from typing import TYPE_CHECKING

from laplex.runtime import lazy

if TYPE_CHECKING:
    from laplex.inference.conditional import joined_words
    from laplex.inference.contexts import pooled
    from laplex.inference.explanations import Explanation
    from laplex.inference.inference import Inference
    from laplex.inference.posteriors import Joint, Posterior, posterior

__all__ = ["Explanation", "Inference", "Joint", "Posterior", "joined_words", "pooled", "posterior"]

if not TYPE_CHECKING:  # answers that need no text need no kernels, and Numba takes long to import
    kernels, row_kernels = (lazy.module(f"{__name__}.{name}") for name in ("kernels", "row_kernels"))

__getattr__, __dir__ = lazy.attributes(
    __name__,
    {
        "laplex.inference.conditional": ["joined_words"],
        "laplex.inference.contexts": ["pooled"],
        "laplex.inference.explanations": ["Explanation"],
        "laplex.inference.inference": ["Inference"],
        "laplex.inference.posteriors": ["Joint", "Posterior", "posterior"],
    },
)
