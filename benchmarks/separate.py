"""The usual method without a test: a fit for each group, alignment by rotation, and the distance of each word.

Distances are compared with those of refits under 19 other labelings of the clusters: a word differs at the 5% level if
its distance is larger than under all of them. The refits use the text before words were swapped, so that they are
computed once for all shares; the two words of a pair have nearly the same frequency.
"""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from planted import Found, by_band, changed, some_labelling, swapped
from trial import Trial

import laplex as lx
from laplex.baselines.separation import independent
from laplex.questions.contrast import slice_distances
from laplex.runtime import storage

REFITS = 19


def labelled(tokens: lx.Tokens, column: str, inside: NDArray[np.bool_]) -> lx.Tokens:
    """The tokens with other labels, of which there are two."""
    saved = storage.load(tokens.folder, "tokens")
    arrays = saved.arrays | {f"codes/{column}": np.where(inside, 0, 1).astype(np.int32)}
    return lx.Tokens(replace(saved, arrays=arrays))


def distances(trial: Trial, tokens: lx.Tokens, inside: NDArray[np.bool_], seed: int) -> Found:
    """(2, words) Euclidean and by cosine."""
    column, model = trial.source.column, lx.Model(dimensions=trial.free.dimensions)
    text = labelled(tokens, column, inside)
    fitted = independent(model, text, column=column, quiet=True, holdout=0.0, seed=seed)
    return np.array([slice_distances(fitted, 0, trial.words, 0, 1, measure) for measure in ("euclidean", "cosine")])


def separate(trial: Trial) -> pd.DataFrame:
    cluster, rows = trial.source.cluster, []
    null = [
        distances(trial, trial.tokens, some_labelling(trial, cluster, 100 + number)[1], number)
        for number in range(REFITS)
    ]
    most = np.max(null, axis=0)
    for share in (0.0, 0.1, 0.25, 0.5):
        _, inside, _ = some_labelling(trial, cluster, 0)
        with tempfile.TemporaryDirectory() as folder:
            ids = swapped(trial, inside, trial.words, trial.bands, share, 0)
            text = changed(trial.tokens, ids, Path(folder) / "text")
            seen = distances(trial, text, inside, 50)
        for way, name in enumerate(("euclidean", "cosine")):
            p = np.where(seen[way] > most[way], 0.0, 1.0)[None]
            rows.append({"swapped": f"{share:.0%}", "distance": name} | by_band(p, trial.bands))
    return pd.DataFrame(rows)
