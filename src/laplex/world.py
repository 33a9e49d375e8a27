"""Who else works on this run? One process alone, or several that torchrun started, on one machine or on many.

Every process is a rank. What is said here is said by all ranks at the same point of the program: what one gives, all
get. Only bytes and numbers travel, never objects, and what has travelled is counted.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from laplex.errors import InputError


class World:
    """One process alone."""

    rank = 0
    size = 1
    sent = 0  # bytes that left this rank

    def texts(self, mine: bytes) -> list[bytes]:
        """What every rank gave, in the order of ranks."""
        return [mine]

    def total(self, mine: NDArray[Any]) -> NDArray[Any]:
        """The sum over ranks."""
        return mine

    def swap(self, parts: Sequence[NDArray[Any]]) -> list[NDArray[np.uint8]]:
        """Give each rank its part; get the parts that the others had for this one, as bytes."""
        return [np.ascontiguousarray(part).reshape(-1).view(np.uint8) for part in parts]

    def spread(self, array: NDArray[Any]) -> None:
        """Overwrite the array by that of rank 0."""

    def agree(self, what: str, mine: str) -> None:
        """Complain, on every rank, if not all say the same."""
        said = [text.decode() for text in self.texts(mine.encode())]
        if len(set(said)) > 1:
            other = next(rank for rank, text in enumerate(said) if text != said[0])
            raise InputError(f"{what} differs between rank 0 and rank {other}: {said[0]!r} there, {said[other]!r} here")


class _Ranks(World):
    """Several processes, by torch.distributed."""

    def __init__(self) -> None:
        try:
            from torch import distributed
        except ImportError:
            raise InputError('several processes work together by PyTorch: pip install "laplex[torch]"') from None
        if not distributed.is_initialized():
            distributed.init_process_group("gloo")
        self.rank, self.size = distributed.get_rank(), distributed.get_world_size()
        self.sent = 0

    def texts(self, mine: bytes) -> list[bytes]:
        return [part.tobytes() for part in self.swap([np.frombuffer(mine, np.uint8)] * self.size)]

    def total(self, mine: NDArray[Any]) -> NDArray[Any]:
        import torch

        whole = torch.from_numpy(np.array(mine))
        torch.distributed.all_reduce(whole)
        self.sent += mine.nbytes
        return whole.numpy()

    def swap(self, parts: Sequence[NDArray[Any]]) -> list[NDArray[np.uint8]]:
        import torch

        flat = [np.ascontiguousarray(part).reshape(-1).view(np.uint8) for part in parts]
        sizes = torch.tensor([len(part) for part in flat])
        coming = torch.empty_like(sizes)
        torch.distributed.all_to_all_single(coming, sizes)
        given = torch.from_numpy(np.concatenate(flat))
        taken = torch.empty(int(coming.sum()), dtype=torch.uint8)
        torch.distributed.all_to_all_single(taken, given, coming.tolist(), sizes.tolist())
        self.sent += len(given) - len(flat[self.rank])
        return np.split(taken.numpy(), np.cumsum(coming.numpy())[:-1])

    def spread(self, array: NDArray[Any]) -> None:
        import torch

        torch.distributed.broadcast(torch.from_numpy(array), 0)
        self.sent += array.nbytes * (self.size - 1) if self.rank == 0 else 0


@cache
def world() -> World:
    """All ranks of this run, as torchrun says in the environment."""
    if int(os.environ.get("WORLD_SIZE", "1")) > 1 and "RANK" in os.environ:
        return _Ranks()
    return World()
