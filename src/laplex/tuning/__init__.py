"""How strong should beliefs be? As strong as predicts text best that was not read.

A Model, text and a grid of strengths come in; a Tuning goes out: a table of all that was tried, and the chosen model.
"""

from laplex.tuning.result import Tuning
from laplex.tuning.tune import tune

__all__ = ["Tuning", "tune"]
