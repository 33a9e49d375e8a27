"""Evaluation of vectors: by people's judgments, analogies, bilingual dictionaries, and held-out text."""

from laplex.evaluation.retrieval import analogies, translation
from laplex.evaluation.word_similarity import similarity
from laplex.fitting.held_out import held_out

__all__ = ["analogies", "held_out", "similarity", "translation"]
