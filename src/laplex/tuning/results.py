"""What a tuning knows so far, in a folder, so that an interrupted one goes on where it was.

    FOLDER/
      laplex.json, arrays-….safetensors   for each candidate and number of epochs: the log likelihood of each document
      run-<key>/                          the checkpoint of a candidate's fit

A candidate's key is the hash of all that its fit depends on: model, graph, text and training.
M held-out documents.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from laplex import storage
from laplex.errors import StorageError

Floats = NDArray[np.float64]
KIND = "tuning"


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a candidate was worth after some epochs, and the seconds that took, from the last time on."""

    sums: Floats  # (M) log likelihoods of documents; −∞ where training diverged
    seconds: float


class Results:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._known: dict[tuple[str, int], Outcome] = {}
        if storage.exists(folder):
            saved = storage.load(folder, KIND)
            try:
                for number, record in enumerate(saved.settings["records"]):
                    outcome = Outcome(np.array(saved.arrays[str(number)]), float(record["seconds"]))
                    if outcome.sums.ndim != 1 or outcome.sums.dtype != np.float64:
                        raise ValueError("a result")
                    self._known[record["key"], record["epochs"]] = outcome
            except (KeyError, TypeError, ValueError) as error:
                raise StorageError(f'"{folder}" is damaged: {error} is missing or wrong; delete it') from None
            storage.clear_up(folder)  # a tuning that was at its end saves nothing more
        else:
            self._save()

    def get(self, key: str, epochs: int) -> Outcome | None:
        return self._known.get((key, epochs))

    def put(self, key: str, epochs: int, outcome: Outcome) -> None:
        self._known[key, epochs] = outcome
        self._save()

    def _save(self) -> None:
        records = [
            {"key": key, "epochs": epochs, "seconds": outcome.seconds} for (key, epochs), outcome in self._known.items()
        ]
        arrays = {str(number): outcome.sums for number, outcome in enumerate(self._known.values())}
        storage.save(self.folder, KIND, {"records": records}, arrays)

    def run(self, key: str) -> Path:
        """Where the fit of a candidate keeps its state."""
        return self.folder / f"run-{key}"

    def forget_runs(self, keep: Collection[str]) -> None:
        """Delete the vectors of all candidates but these."""
        for run in self.folder.glob("run-*"):
            if run.name.removeprefix("run-") not in keep:
                shutil.rmtree(run, ignore_errors=True)


def key_of(identity: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(identity, sort_keys=True, default=str).encode()).hexdigest()[:24]
