"""What one pass over the text is to do, whatever engine does it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Epoch:
    number: int
    of: int
    rate: float  # of the first epoch's first step
    seed: int
    threads: int
    block: int
    drawn: int
