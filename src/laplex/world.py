"""Who else works on this run? One process alone, or several that torchrun started, on one machine or on many.

Every process is a rank. What is said here is said by all ranks at the same point of the program: what one gives, all
get. Only bytes and numbers travel, never objects, and what has travelled is counted.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from laplex.errors import InputError, LaplexError

PATIENCE = 600  # seconds that ranks wait for each other at the start


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
        self._device = _own_device()
        if not distributed.is_initialized():
            from torch.distributed.distributed_c10d import PrefixStore
            from torch.distributed.rendezvous import rendezvous

            store, rank, size = next(rendezvous("env://"))
            # torchrun starts ranks again beside what is left in its store of those that died
            store = PrefixStore(_meet(store, rank, size), store)
            backend = "cpu:gloo,cuda:nccl" if self._device.type == "cuda" else "gloo"
            distributed.init_process_group(backend, store=store, rank=rank, world_size=size)
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
        sizes = torch.tensor([len(part) for part in flat], device=self._device)
        coming = torch.empty_like(sizes)
        torch.distributed.all_to_all_single(coming, sizes)
        given = torch.from_numpy(np.concatenate(flat)).to(self._device)
        taken = torch.empty(int(coming.sum()), dtype=torch.uint8, device=self._device)
        torch.distributed.all_to_all_single(taken, given, coming.tolist(), sizes.tolist())
        self.sent += len(given) - len(flat[self.rank])
        return np.split(taken.cpu().numpy(), np.cumsum(coming.cpu().numpy())[:-1])

    def spread(self, array: NDArray[Any]) -> None:
        import torch

        torch.distributed.broadcast(torch.from_numpy(array), 0)
        self.sent += array.nbytes * (self.size - 1) if self.rank == 0 else 0


def _own_device() -> Any:
    """Where rows lie while they travel: this rank's own GPU, if every rank of this machine has one."""
    import torch

    if int(os.environ.get("LOCAL_WORLD_SIZE", "1")) <= torch.cuda.device_count():
        return torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))
    return torch.device("cpu")


def _meet(store: Any, rank: int, size: int) -> str:
    """A name for this start of all ranks, which no earlier start has used.

    Rank 0 makes it and answers whatever the others ask; an answer to a question that only this start has asked
    cannot be an old one.
    """
    fresh = secrets.token_hex(8)
    until = time.monotonic() + PATIENCE
    if rank == 0:
        absent = set(range(1, size))
        while absent:
            for other in sorted(absent):
                if store.check([f"laplex/question/{other}"]):
                    store.set(f"laplex/answer/{store.get(f'laplex/question/{other}').decode()}", fresh)
            absent = {other for other in absent if not store.check([f"laplex/heard/{fresh}/{other}"])}
            _wait(until, f"of {size} ranks, {', '.join(map(str, sorted(absent)))} did not come")
        return fresh
    store.set(f"laplex/question/{rank}", fresh)
    while not store.check([f"laplex/answer/{fresh}"]):
        _wait(until, "rank 0 did not come")
    name: str = store.get(f"laplex/answer/{fresh}").decode()
    store.set(f"laplex/heard/{name}/{rank}", b"")
    return name


def _wait(until: float, complaint: str) -> None:
    if time.monotonic() > until:
        raise LaplexError(f"{complaint} within {PATIENCE // 60} minutes")
    time.sleep(0.02)


@cache
def world() -> World:
    """All ranks of this run, as torchrun says in the environment."""
    if int(os.environ.get("WORLD_SIZE", "1")) > 1 and "RANK" in os.environ:
        return _Ranks()
    return World()
