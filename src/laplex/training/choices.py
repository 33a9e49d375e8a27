"""The computational choices: how a model is estimated, none of which changes what is estimated."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Literal

from laplex.errors import InputError, whole


@dataclass(frozen=True)
class Training:
    """How a model is computed. None of it changes what is estimated.

    engine      "cpu" (Numba, all cores), "torch" (a GPU), "reference" (exact L-BFGS, for small problems), or "auto":
                a GPU if there is one, else the CPU
    device      of the engine "torch": "cuda", "mps" or "cpu". By default the best there is
    precision   of the engine "torch": "full", or "mixed" for products in half precision
    epochs      passes over the text
    threads     all cores by default; with one, the same seed gives the same bytes
    rate        the first step size; it falls linearly. By default 0.12 for CBOW, 0.35 for SGNS
    holdout     the share of documents to judge by, not trained on
    patience    stop when the held-out likelihood has not risen for so many epochs
    checkpoint  a folder to save the state in after every epoch; a run that finds its own state there goes on from it
    checkpoint_minutes  save it also every so many minutes
    block       tokens read at once;  drawn: negatives drawn for a block. By default 8 for CBOW (32 of the engine
                "torch") and 16 for SGNS, which on the CPU reads up to 6 more, so that its windows fill whole eights
    inference   "map": the vectors at which the log posterior is highest. "variational": from there, by as many passes
                again, the mean and the standard deviation of each number in each vector (engines/variational.py)
    rotate      estimate languages apart for the first epoch, then rotate them onto each other once, before the prior
                joins them. "auto": where it joins any and there are two epochs or more. The reference engine cannot
    merge_tokens  of several processes: each reads so many tokens before they tell each other what they have learnt
    """

    engine: Literal["auto", "cpu", "torch", "reference"] = "auto"
    epochs: int = 5
    threads: int | None = None
    rate: float | None = None
    seed: int = 1
    holdout: float = 0.01
    patience: int | None = None
    checkpoint: str | os.PathLike[str] | None = None
    checkpoint_minutes: float | None = None
    block: int | None = None
    drawn: int | None = None
    rotate: Literal["auto"] | bool = "auto"
    inference: Literal["map", "variational"] = "map"
    device: str | None = None
    precision: Literal["full", "mixed"] = "full"
    merge_tokens: int = 1_000_000

    def __post_init__(self) -> None:
        if self.engine not in ("auto", "cpu", "torch", "reference"):
            raise InputError(f'engine="{self.engine}": write "auto", "cpu", "torch" or "reference"')
        if self.precision not in ("full", "mixed"):
            raise InputError(f'precision="{self.precision}": write "full" or "mixed"')
        if self.engine in ("cpu", "reference") and (self.device is not None or self.precision != "full"):
            raise InputError(f'device= and precision= are for engine="torch", not "{self.engine}"')
        if self.engine == "torch" and self.inference == "variational":
            raise InputError('inference="variational" is for engine="cpu" and engine="reference"')
        if self.inference not in ("map", "variational"):
            raise InputError(f'inference="{self.inference}": write "map" or "variational"')
        for name, least in WHOLE.items():
            if (value := getattr(self, name)) is not None or name in ("epochs", "seed", "merge_tokens"):
                object.__setattr__(self, name, whole(name, value, least))
        if self.threads is not None and self.threads > 1024:
            raise InputError(f"threads={self.threads} is more than 1,024")
        if (self.rate is not None and not 0 < self.rate < 1e6) or not 0 <= self.holdout < 1:
            raise InputError(f"rate={self.rate} must be above 0, holdout={self.holdout} from 0 and below 1")
        if self.checkpoint_minutes is not None and (self.checkpoint is None or not self.checkpoint_minutes > 0):
            raise InputError(f"checkpoint_minutes={self.checkpoint_minutes} must be above 0, and needs checkpoint=")
        if any(size is not None and size % 8 for size in (self.block, self.drawn)):
            raise InputError(f"block={self.block} and drawn={self.drawn} must be multiples of 8")
        if not (self.rotate == "auto" or isinstance(self.rotate, bool)):
            raise InputError(f'rotate={self.rotate!r}: write "auto", True or False')
        if self.rotate is True and (self.engine == "reference" or self.epochs < 2):
            raise InputError(
                f'rotate=True is for engine="cpu" and two epochs or more, not {self.engine} and epochs={self.epochs}'
            )

    def completed(self, likelihood: str) -> Training:
        """With the defaults of a likelihood where nothing was chosen."""
        engine = self.engine
        if engine == "auto":
            on_gpu = self.device is not None or self.precision != "full" or (self.inference == "map" and has_gpu())
            engine = "torch" if on_gpu else "cpu"
        block = self.block or (GROUPS if engine == "torch" else BLOCKS)[likelihood]
        return replace(self, engine=engine, rate=self.rate or RATES[likelihood], block=block, drawn=self.drawn or block)


# whole numbers, and the least of each
WHOLE = {"epochs": 1, "seed": 0, "threads": 1, "patience": 1, "block": 8, "drawn": 8, "merge_tokens": 1}
RATES = {"cbow": 0.12, "sgns": 0.35}  # benchmarks/RESULTS.md has the trials
BLOCKS = {"cbow": 8, "sgns": 16}
GROUPS = {"cbow": 32, "sgns": 16}  # of the engine "torch", where more negatives for more tokens cost the same
TOKEN_OPTIONS = {"min_count", "max_words", "keep", "cache"}


def has_gpu() -> bool:
    """Is there a GPU that Torch can use? Torch is loaded only where there may be one."""
    doors = ("/dev/nvidiactl", "/dev/kfd", "/dev/dxg")
    if find_spec("torch") is None or (sys.platform == "linux" and not any(map(os.path.exists, doors))):
        return False
    import torch

    return bool(torch.cuda.is_available())
