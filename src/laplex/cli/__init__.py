"""The command line.

    laplex info, cache                                         what is in a corpus or a model, and where tokens are
    laplex fit, tune, demo                                     from a corpus to a model
    laplex neighbors, similarity, contrast, distance, drift, trajectory, project      questions to a model
    laplex stability                                           what other seeds would give
    laplex explore, report                                     a model in the browser, or on paper
    laplex evaluate, export, pairs                             scores, files for others, pairs from a dictionary

Answers go to standard output, everything said along the way to standard error. Exit codes: 0; 1 for an error of the
user's, told in one line; 2 for wrong usage; 130 after Ctrl-C.
"""

from laplex.cli import corpora, exchanging, exploring, fitting, questions, stability, tuning
from laplex.cli.app import app, main

__all__ = ["app", "corpora", "exchanging", "exploring", "fitting", "main", "questions", "stability", "tuning"]
