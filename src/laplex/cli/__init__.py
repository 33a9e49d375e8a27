"""The `laplex` command.

    laplex info, change, cache, pairs    describe a corpus or a model, change in little text, the cache, dictionaries
    laplex fit, update, tune, demo       estimate models
    laplex encode                        contextual vectors of occurrences, to be fitted
    laplex contrast, distance, drift, regress, explain, passages    test how words differ
    laplex neighbors, similarity, association, trajectory, project, stability    ask saved models
    laplex evaluate, export, explore, report    score a model, or pass it on

Results are printed to standard output; progress and messages to standard error. Exit codes: 0 for success, 1 for an
error in the input (one line says which), 2 for wrong usage, 130 after Ctrl-C.
"""

from laplex.cli import app, corpora, encoding, fitting, inference, models
from laplex.cli.app import main

__all__ = ["app", "corpora", "encoding", "fitting", "inference", "main", "models"]
