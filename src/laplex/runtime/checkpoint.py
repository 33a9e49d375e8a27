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
from laplex.runtime.distributed import Communicator, communicator

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
        saved = self._saved()
        if saved is None:
            return Position()
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
        saved = self._saved()
        return saved is not None and name in saved.arrays

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

    def _saved(self) -> storage.Saved | None:
        """What the run goes on from, if there is anything."""
        return None if self._folder is None else self._open(self._folder)

    def _open(self, folder: str | os.PathLike[str]) -> storage.Saved | None:
        """What is in a folder, if anything is; an error if it is of another run."""
        if not storage.exists(folder):
            return None
        saved = storage.load(folder, "checkpoint")
        if saved.settings.get("identity") != json.loads(json.dumps(self._identity)):
            raise _of_another_run(folder)
        return saved

    def last_good(self, parameters: int, dimensions: int) -> NDArray[np.float32] | None:
        """The parameters after the last epoch without padding, copied or saved, if there are any."""
        theta = self._copy
        if theta is None and self._folder is not None:
            with suppress(StorageError):
                saved = storage.load(self._folder, "checkpoint")
                theta = saved.arrays.get("theta") if saved.settings["position"]["history"] else None
        return None if theta is None else np.array(theta[:parameters, :dimensions])


class PartsCheckpoint(Checkpoint):
    """The state of a run of several processes, of which each saves its own part.

    Parts are saved to two folders in turn. No rank begins to save again before all have saved, so whenever the run is
    interrupted, one of the folders has parts of all ranks that were saved at the same place.
    """

    def __init__(
        self, folder: str | os.PathLike[str], identity: dict[str, Any], quiet: bool, ranks: Communicator
    ) -> None:
        self._parts = [Path(folder) / name for name in _part_names(ranks.rank)]
        super().__init__(self._parts[0], identity, quiet)
        found = [self._place(part) for part in self._parts]
        everywhere = [json.loads(data) for data in ranks.allgather(json.dumps(found).encode())]
        common = [place for place in found if place is not None and all(place in others for others in everywhere)]
        self._last = found.index(max(common)) if common else None  # the folder that the run goes on from
        self._folder = self._parts[self._last or 0]

    def _place(self, part: Path) -> list[int] | None:
        """How far the run was that is saved in a folder, as numbers to be compared."""
        saved = self._open(part)
        if saved is None:
            return None
        position = Position.from_json(saved.settings["position"])
        return [len(position.history), len(saved.arrays), position.piece]

    def _saved(self) -> storage.Saved | None:
        return None if self._last is None else super()._saved()

    def save(self, state: Mapping[str, NDArray[Any]], position: Position) -> None:
        self._last = 0 if self._last is None else 1 - self._last
        self._folder = self._parts[self._last]
        super().save(state, position)


def _part_names(rank: int) -> list[str]:
    """The folders of a rank's part of a checkpoint."""
    return [f"rank-{rank}-{turn}" for turn in "ab"]


def _of_another_run(folder: str | os.PathLike[str]) -> InputError:
    return InputError(f'"{Path(folder)}" is the checkpoint of another model, text or training: name another folder')


def checkpoint_of(folder: str | os.PathLike[str] | None, identity: dict[str, Any], quiet: bool) -> Checkpoint:
    """The checkpoint of this process, or of its part if there are several."""
    if folder is None:
        return Checkpoint(None, identity, quiet)
    several = communicator().size > 1
    if any(map(storage.exists, [folder] if several else [Path(folder) / name for name in _part_names(0)])):
        raise _of_another_run(folder)
    return PartsCheckpoint(folder, identity, quiet, communicator()) if several else Checkpoint(folder, identity, quiet)


def saved_identity(folder: str | os.PathLike[str]) -> dict[str, Any] | None:
    """The identity of the run whose checkpoint is in a folder, if there is one; of several processes, of the first."""
    for part in (Path(folder), *(Path(folder) / name for name in _part_names(0))):
        if storage.exists(part):
            identity: dict[str, Any] = storage.load(part, "checkpoint").settings.get("identity") or {}
            return identity
    return None
