"""From a Model and a Corpus to Embeddings: the computational choices, the loop over epochs, history, checkpoints."""

from laplex.training.choices import BLOCKS, GROUPS, RATES, TOKEN_OPTIONS, Training
from laplex.training.estimation import DivergedError
from laplex.training.fitting import fit, fit_until, identify

__all__ = ["BLOCKS", "GROUPS", "RATES", "TOKEN_OPTIONS", "DivergedError", "Training", "fit", "fit_until", "identify"]
