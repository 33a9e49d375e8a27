"""The state of a run: saved so that an interrupted run can resume, and kept for a run that diverges."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from laplex.errors import InputError, StorageError
from laplex.runtime import storage
from laplex.runtime.display import say

MAX_COPY_BYTES = 1 << 28  # of parameters that are copied in memory after every epoch


@dataclass
class Position:
    """How far a run has come: the records of its complete epochs, and the state of the one under way."""

    history: list[dict[str, Any]] = field(default_factory=list)
    piece: int = 0  # of the text, to continue with
    totals: NDArray[np.float64] = field(default_factory=lambda: np.zeros(3))  # over the pieces before it
    seconds: float = 0.0  # spent on them

    def to_json(self) -> dict[str, Any]:
        return vars(self) | {"totals": self.totals.tolist()}

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Position:
        """The inverse of `to_json`. Raises ValueError or TypeError if the values are not a position."""
        position = cls(**values | {"totals": np.array(values["totals"], np.float64)})
        records = isinstance(position.history, list) and all(isinstance(record, dict) for record in position.history)
        if not records or type(position.piece) is not int or position.piece < 0 or position.totals.shape != (3,):
            raise ValueError("the position")
        if not isinstance(position.seconds, (int, float)) or not math.isfinite(position.seconds):
            raise ValueError("the time")
        return position


class Checkpoint:
    """A folder with the state of a run; without a folder nothing is saved. Small parameters are copied as well."""

    def __init__(self, folder: str | os.PathLike[str] | None, identity: dict[str, Any], quiet: bool) -> None:
        self._folder = folder
        self._identity = identity
        self._quiet = quiet
        self._copy: NDArray[np.float32] | None = None

    def resume(self, state: Mapping[str, NDArray[Any]]) -> Position:
        """Copy the state of an interrupted run of the same identity, if there is one, into these arrays."""
        if self._folder is None or not storage.exists(self._folder):
            return Position()
        saved = storage.load(self._folder, "checkpoint")
        if saved.settings.get("identity") != json.loads(json.dumps(self._identity)):
            raise InputError(
                f'"{Path(self._folder)}" is the checkpoint of another model, text or training: name another folder'
            )
        try:
            position = Position.from_json(saved.settings["position"])
            for name, array in state.items():
                if saved.arrays[name].dtype != array.dtype or saved.arrays[name].shape != array.shape:
                    raise ValueError(f'the size of "{name}"')
            for name, array in state.items():
                array[:] = saved.arrays[name]
        except (KeyError, TypeError, ValueError) as error:
            raise StorageError(f'"{saved.folder}" is damaged: {error} is missing or wrong; delete it') from None
        storage.clear_up(saved.folder)  # a run that was complete saves nothing more
        pieces = f" and {position.piece:,} pieces of the next" if position.piece else ""
        say(f"going on after epoch {len(position.history)}{pieces}", quiet=self._quiet)
        return position

    def holds(self, name: str) -> bool:
        """Whether the state that is saved, if there is one, has an array of this name."""
        return (
            self._folder is not None
            and storage.exists(self._folder)
            and name in storage.load(self._folder, "checkpoint").arrays
        )

    def save(self, state: Mapping[str, NDArray[Any]], position: Position) -> None:
        if self._folder is not None:
            settings = {"identity": self._identity, "position": position.to_json()}
            storage.save(self._folder, "checkpoint", settings, dict(state))

    def keep_copy(self, theta: NDArray[np.float32]) -> None:
        """Copy the parameters (rows, padded dimensions) after an epoch, unless that takes more than milliseconds."""
        if theta.nbytes <= MAX_COPY_BYTES:
            if self._copy is None or self._copy.shape != theta.shape:
                self._copy = np.empty_like(theta)
            np.copyto(self._copy, theta)

    def last_good(self, parameters: int, dimensions: int) -> NDArray[np.float32] | None:
        """The parameters after the last epoch without padding, copied or saved, if there are any."""
        theta = self._copy
        if theta is None and self._folder is not None:
            with suppress(StorageError):
                saved = storage.load(self._folder, "checkpoint")
                theta = saved.arrays.get("theta") if saved.settings["position"]["history"] else None
        return None if theta is None else np.array(theta[:parameters, :dimensions])
