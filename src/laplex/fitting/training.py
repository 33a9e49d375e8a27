"""Training: the computational choices of a fit, and options that `fit`, `tune`, `stability` and baselines share."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal

from laplex.errors import InputError, check_int
from laplex.model.likelihoods import Likelihood
from laplex.runtime.display import say
from laplex.text.tokens import Tokens

if TYPE_CHECKING:
    from laplex.text.corpus import Corpus

SMALLEST_INT = {"epochs": 1, "seed": 0, "threads": 1, "patience": 1, "block": 8, "drawn": 8, "merge_tokens": 1}
SMALLEST_INT |= {"pooled_epochs": 0}
TOKEN_OPTIONS = {"min_count", "max_words", "keep", "cache", "originals"}  # options of a fit that Tokens.of takes
DRAWN_BY_TEXT = ((3_000_000, 4), (10_000_000, 2))  # for at most these tokens, this number of times the block
GPU_DEVICE_FILES = ("/dev/nvidiactl", "/dev/kfd", "/dev/dxg")


@dataclass(frozen=True)
class Training:
    """How a model is computed. None of it changes what is estimated.

    Attributes:
        engine: "cpu" (Numba), "torch" (a GPU), "reference" (exact, for small problems) or "auto": a GPU, else the CPU.
        epochs: The number of passes over the text.
        threads: The number of threads, by default one for each processor that the process may use; with one, the same
            seed gives the same bytes.
        rate: The first step size, which falls linearly. By default 0.13 for CBOW, 0.37 for SGNS.
        seed: The seed of all random numbers.
        holdout: The share of documents that are not trained on, by which fits are judged.
        patience: Stop when the held-out likelihood has not risen for this number of epochs.
        checkpoint: A folder to save the state in after every epoch; a fit that finds its own state there resumes.
        checkpoint_minutes: Save the state also in intervals of this length, within an epoch.
        block: The number of tokens that are read together: by default 8 for CBOW (32 for the engine "torch"), and 16
            for SGNS, which on the CPU reads up to 6 more, to fill its windows to multiples of eight.
        drawn: The number of negatives that are drawn for a block, a multiple of 8. More make steps less noisy and the
            fit slower. By default as many as the block has tokens, but twice as many for texts of up to 10 million
            tokens, and four times as many for up to 3 million.
        rotate: Estimate languages separately in the first epoch, or in those without slices, then rotate them onto each
            other before the prior joins them. "auto": if it does and there are two epochs or more. Not for the
            reference engine.
        pooled_epochs: The number of first epochs that are run without slices: one vector a word, and a Ridge alone for
            a prior. Slices then begin from there. Their vectors, which know nothing of the metadata, are kept with the
            model for tests. By default one and another for every five epochs (2 of 5, 3 of 10; none of 1) if vectors
            vary, but none if they are drawn to fixed ones (Anchor) or the engine is "reference". 0 for none.
        inference: "map" for the vectors of highest posterior density; "variational" for the mean and the standard
            deviation of each number in each vector, found from there by as many passes again.
        device: For the engine "torch": "cuda", "mps" or "cpu", by default the best available.
        precision: For the engine "torch": "full", or "mixed" for products in half precision.
        merge_tokens: With several processes: the number of tokens that each reads before they are synchronized.

    Example:
        lx.fit(model, corpus, lx.Training(epochs=10, threads=4, checkpoint="run"))
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
    pooled_epochs: int | None = None
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
        for name, least in SMALLEST_INT.items():
            if (value := getattr(self, name)) is not None or name in ("epochs", "seed", "merge_tokens"):
                object.__setattr__(self, name, check_int(name, value, least))
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

        if self.pooled_epochs and (self.engine == "reference" or self.pooled_epochs >= self.epochs):
            raise InputError(
                f"pooled_epochs={self.pooled_epochs} must be fewer than epochs={self.epochs}, and is not for "
                'engine="reference"'
            )

    def with_defaults(self, likelihood: Likelihood) -> Training:
        """The same with the engine chosen, and with a likelihood's defaults for what was not given but `drawn`."""
        engine = self.engine
        if engine == "auto":
            on_gpu = self.device is not None or self.precision != "full" or (self.inference == "map" and has_gpu())
            engine = "torch" if on_gpu else "cpu"
        block = self.block or (likelihood.torch_block if engine == "torch" else likelihood.block)
        rate = self.rate or likelihood.rate
        return replace(self, engine=engine, rate=rate, block=block)

    def for_text(self, tokens: int) -> Training:
        """The same with `drawn` for a text of some tokens, if it was not given."""
        assert self.block is not None
        factor = next((factor for most, factor in DRAWN_BY_TEXT if tokens <= most), 1)
        return replace(self, drawn=self.drawn or factor * self.block)


def has_gpu() -> bool:
    """Whether there is a GPU that Torch can use; Torch is imported only if there may be one."""
    possible = sys.platform != "linux" or any(map(os.path.exists, GPU_DEVICE_FILES))
    if find_spec("torch") is None or not possible:
        return False
    import torch

    return bool(torch.cuda.is_available())


def suggest_unit(vary: Sequence[str], tokens: Tokens, quiet: bool) -> None:
    """Say in a line if no unit is known and a column seems to be one: it decides a column that vectors vary by."""
    if tokens.unit is not None or quiet:
        return
    for column in vary:
        for name in tokens.determining_columns(column)[:1]:
            say(
                f'every value of "{name}" has one value of "{column}" only: if that is who was sampled, read the text '
                f'with lx.read(..., unit="{name}") or --unit {shlex.quote(name)}, and tests will count each once'
            )
            return


def split_token_options(options: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The options of `Tokens.of`, and the others."""
    token_options = {name: value for name, value in options.items() if name in TOKEN_OPTIONS}
    return token_options, {name: value for name, value in options.items() if name not in TOKEN_OPTIONS}


def as_tokens(corpus: Corpus | Tokens, token_options: Mapping[str, Any], quiet: bool) -> Tokens:
    """The tokens of a corpus; those that were made before take no options any more."""
    if isinstance(corpus, Tokens):
        if token_options:
            raise InputError(f"{', '.join(sorted(token_options))} were chosen when the tokens were made")
        return corpus
    return Tokens.of(corpus, quiet=quiet, **token_options)


def tokens_for_fits(corpus: Corpus | Tokens, options: Mapping[str, Any], quiet: bool) -> tuple[Tokens, dict[str, Any]]:
    """The tokens, and the other options, of a function that fits several models; a checkpoint is of one alone."""
    training = options.get("training")
    if options.get("checkpoint") is not None or (training is not None and training.checkpoint is not None):
        raise InputError("a checkpoint is of one fit, and here there are several: leave it out")
    token_options, rest = split_token_options(options)
    return as_tokens(corpus, token_options, quiet), rest
