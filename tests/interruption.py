"""Runs that are stopped, as by Ctrl-C, right after they have saved their state."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from laplex.runtime import storage


@contextmanager
def stopped_after(checkpoints: int) -> Iterator[list[dict[str, Any]]]:
    """What is run within is stopped once it has saved so many checkpoints; the list has where each of them was."""
    save, positions = storage.save, []

    def save_and_stop(folder: Any, kind: str, settings: dict[str, Any], *rest: Any) -> None:
        save(folder, kind, settings, *rest)
        if kind == "checkpoint":
            positions.append(settings["position"])
            if len(positions) == checkpoints:
                raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(storage, "save", save_and_stop)
        with pytest.raises(KeyboardInterrupt):
            yield positions
