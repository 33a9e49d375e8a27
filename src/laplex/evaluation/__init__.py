"""Evaluation of vectors: by people's judgments, analogies, bilingual dictionaries, and held-out text."""

from typing import TYPE_CHECKING

from laplex.runtime import lazy

if TYPE_CHECKING:
    from laplex.evaluation.retrieval import analogies, translation
    from laplex.evaluation.word_similarity import similarity
    from laplex.fitting.held_out import held_out

__all__ = ["analogies", "held_out", "similarity", "translation"]

__getattr__, __dir__ = lazy.attributes(
    __name__,
    {
        "laplex.evaluation.retrieval": ["analogies", "translation"],
        "laplex.evaluation.word_similarity": ["similarity"],
        "laplex.fitting.held_out": ["held_out"],
    },
)
