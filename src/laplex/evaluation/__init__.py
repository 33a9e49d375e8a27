"""How good are vectors? Against people's judgments, analogies, dictionaries of two languages, and text not yet read."""

from laplex.evaluation.analogies import analogies
from laplex.evaluation.likelihood import held_out
from laplex.evaluation.similarity import similarity
from laplex.evaluation.translation import translation

__all__ = ["analogies", "held_out", "similarity", "translation"]
