"""Where an interrupted run goes on from, and what is left of one that went wrong.

The arrays of an engine's state and a Position come in, and come back in the next run of the same kind. P parameters,
D dimensions.
"""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from laplex import storage
from laplex.errors import InputError, StorageError
from laplex.progress import say


@dataclass
class Position:
    """How far a run has come: its finished epochs, and within the next one the piece to go on from."""

    history: list[dict[str, Any]] = field(default_factory=list)
    piece: int = 0
    totals: NDArray[np.float64] = field(default_factory=lambda: np.zeros(3))  # of the pieces before it
    seconds: float = 0.0  # that they took

    def told(self) -> dict[str, Any]:
        """In numbers, lists and text."""
        return vars(self) | {"totals": self.totals.tolist()}

    @classmethod
    def of(cls, told: dict[str, Any]) -> Position:
        position = cls(**told | {"totals": np.array(told["totals"], np.float64)})
        whole = isinstance(position.history, list) and all(isinstance(record, dict) for record in position.history)
        if not whole or type(position.piece) is not int or position.piece < 0 or position.totals.shape != (3,):
            raise ValueError("the position")
        if not isinstance(position.seconds, (int, float)) or not math.isfinite(position.seconds):
            raise ValueError("the time")
        return position


class Checkpoint:
    """A folder with the state of a run; without a folder nothing is kept."""

    def __init__(self, folder: str | os.PathLike[str] | None, identity: dict[str, Any], quiet: bool) -> None:
        self._folder = folder
        self._identity = identity
        self._quiet = quiet

    def resume(self, state: Mapping[str, NDArray[Any]]) -> Position:
        """Take the state of an interrupted run of the same kind, if there is one, into these arrays."""
        if self._folder is None or not storage.exists(self._folder):
            return Position()
        saved = storage.load(self._folder, "checkpoint")
        if saved.settings.get("identity") != storage.as_json(self._identity):
            raise InputError(
                f'"{Path(self._folder)}" is the checkpoint of another model, text or training: name another folder'
            )
        try:
            position = Position.of(saved.settings["position"])
            for name, array in state.items():
                if saved.arrays[name].dtype != array.dtype or saved.arrays[name].shape != array.shape:
                    raise ValueError(f'the size of "{name}"')
            for name, array in state.items():
                array[:] = saved.arrays[name]
        except (KeyError, TypeError, ValueError) as error:
            raise StorageError(f'"{saved.folder}" is damaged: {error} is missing or wrong; delete it') from None
        storage.clear_up(saved.folder)  # a run that was at its end saves nothing more
        within = f" and {position.piece:,} pieces of the next" if position.piece else ""
        say(f"going on after epoch {len(position.history)}{within}", quiet=self._quiet)
        return position

    def save(self, state: Mapping[str, NDArray[Any]], position: Position) -> None:
        if self._folder is not None:
            settings = {"identity": self._identity, "position": position.told()}
            storage.save(self._folder, "checkpoint", settings, dict(state))


class LastGood:
    """The vectors after the last epoch that went well, in a file without a name that is gone with the process."""

    def __init__(self) -> None:
        self._shape: tuple[int, ...] | None = None
        self._file: IO[bytes] | None = None
        with suppress(OSError):
            self._file = tempfile.TemporaryFile()  # noqa: SIM115, it lives as long as this object

    def keep(self, theta: NDArray[np.float32]) -> None:
        """Keep θ (rows, padded dimensions); nothing, if there is no room, since a run that goes well needs none."""
        self._shape = None
        with suppress(OSError):
            if self._file is not None:
                self._file.seek(0)
                theta.tofile(self._file)
                self._shape = theta.shape

    def take(self, shape: tuple[int, int]) -> NDArray[np.float32] | None:
        """(P, D) The first rows and dimensions of what was kept last, if anything was."""
        if self._shape is None or self._file is None:
            return None
        self._file.seek(0)
        return np.fromfile(self._file, np.float32).reshape(self._shape)[: shape[0], : shape[1]].copy()
