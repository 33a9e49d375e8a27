"""Communication between the processes of one run: a single process, or the ranks that torchrun started.

All methods of a `Communicator` are collective: every rank calls them at the same point of the program. Only bytes and
numbers are sent, never Python objects, and the bytes sent are counted.
"""

from __future__ import annotations

import atexit
import os
import secrets
import time
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from laplex.errors import InputError, LaplexError

START_TIMEOUT_SECONDS = 600  # how long ranks wait for each other at the start
POLL_SECONDS = 0.02


class Communicator:
    """The communicator of a single process."""

    rank = 0
    size = 1
    bytes_sent = 0  # by this rank

    def allgather(self, data: bytes) -> list[bytes]:
        """The bytes that each rank passed, in the order of ranks."""
        return [data]

    def allreduce(self, array: NDArray[Any]) -> NDArray[Any]:
        """The sum of the array over ranks."""
        return array

    def all_to_all(self, parts: Sequence[NDArray[Any]]) -> list[NDArray[np.uint8]]:
        """Send part i to rank i and return the parts that each rank sent to this one, as bytes."""
        return [_as_bytes(part) for part in parts]

    def broadcast(self, array: NDArray[Any]) -> None:
        """Overwrite the array with that of rank 0."""

    def check_equal(self, name: str, value: str) -> None:
        """Raise an InputError on every rank unless all passed the same value."""
        values = [data.decode() for data in self.allgather(value.encode())]
        if len(set(values)) > 1:
            rank = next(rank for rank, other in enumerate(values) if other != values[0])
            raise InputError(f"{name} differs between rank 0 and rank {rank}: {values[0]!r} and {values[rank]!r}")


class TorchCommunicator(Communicator):
    """The communicator of several processes, by torch.distributed."""

    def __init__(self) -> None:
        try:
            import torch
            from torch import distributed
        except ImportError:
            raise InputError('several processes need PyTorch: pip install "laplex[torch]"') from None
        # arrays are sent from the rank's GPU if every rank of this machine has one, else from the CPU
        gpus = torch.cuda.device_count() >= int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
        self._device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0"))) if gpus else torch.device("cpu")
        if not distributed.is_initialized():
            from torch.distributed.distributed_c10d import PrefixStore
            from torch.distributed.rendezvous import rendezvous

            store, rank, size = next(rendezvous("env://"))
            # torchrun keeps its store when it restarts ranks: the keys of ranks that died are still in it
            store = PrefixStore(_agree_on_run_name(store, rank, size), store)
            backend = "cpu:gloo,cuda:nccl" if self._device.type == "cuda" else "gloo"
            distributed.init_process_group(backend, store=store, rank=rank, world_size=size)
            atexit.register(_leave_process_group)
        self.rank, self.size = distributed.get_rank(), distributed.get_world_size()
        self.bytes_sent = 0

    def allgather(self, data: bytes) -> list[bytes]:
        return [part.tobytes() for part in self.all_to_all([np.frombuffer(data, np.uint8)] * self.size)]

    def allreduce(self, array: NDArray[Any]) -> NDArray[Any]:
        import torch

        total = torch.from_numpy(np.array(array))
        torch.distributed.all_reduce(total)
        self.bytes_sent += array.nbytes
        return total.numpy()

    def all_to_all(self, parts: Sequence[NDArray[Any]]) -> list[NDArray[np.uint8]]:
        import torch

        flat = [_as_bytes(part) for part in parts]
        sizes = torch.tensor([len(part) for part in flat], device=self._device)
        received_sizes = torch.empty_like(sizes)
        torch.distributed.all_to_all_single(received_sizes, sizes)
        sent = torch.from_numpy(np.concatenate(flat)).to(self._device)
        received = torch.empty(int(received_sizes.sum()), dtype=torch.uint8, device=self._device)
        torch.distributed.all_to_all_single(received, sent, received_sizes.tolist(), sizes.tolist())
        self.bytes_sent += len(sent) - len(flat[self.rank])
        return np.split(received.cpu().numpy(), np.cumsum(received_sizes.cpu().numpy())[:-1])

    def broadcast(self, array: NDArray[Any]) -> None:
        import torch

        torch.distributed.broadcast(torch.from_numpy(array), 0)
        self.bytes_sent += array.nbytes * (self.size - 1) if self.rank == 0 else 0


@cache
def communicator() -> Communicator:
    """The communicator of this run, as torchrun's environment variables describe it."""
    if int(os.environ.get("WORLD_SIZE", "1")) > 1 and "RANK" in os.environ:
        return TorchCommunicator()
    return Communicator()


def _leave_process_group() -> None:
    """Join the threads of the process group, because one that needs Python after its end aborts the process."""
    from torch import distributed

    if distributed.is_initialized():
        distributed.destroy_process_group()


def _as_bytes(array: NDArray[Any]) -> NDArray[np.uint8]:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def _agree_on_run_name(store: Any, rank: int, size: int) -> str:
    """A name for this start of all ranks that no earlier start has used.

    Rank 0 makes the name and answers requests for it. Each request carries a random key, so an answer to it cannot be
    one that an earlier start left in the store.
    """
    token = secrets.token_hex(8)
    deadline = time.monotonic() + START_TIMEOUT_SECONDS
    if rank == 0:
        absent = set(range(1, size))
        while absent:
            for other in sorted(absent):
                if store.check([f"laplex/question/{other}"]):
                    store.set(f"laplex/answer/{store.get(f'laplex/question/{other}').decode()}", token)
            absent = {other for other in absent if not store.check([f"laplex/heard/{token}/{other}"])}
            _pause(deadline, f"of {size} ranks, {', '.join(map(str, sorted(absent)))} did not start")
        return token
    store.set(f"laplex/question/{rank}", token)
    while not store.check([f"laplex/answer/{token}"]):
        _pause(deadline, "rank 0 did not start")
    name: str = store.get(f"laplex/answer/{token}").decode()
    store.set(f"laplex/heard/{name}/{rank}", b"")
    return name


def _pause(deadline: float, failure: str) -> None:
    if time.monotonic() > deadline:
        raise LaplexError(f"{failure} within {START_TIMEOUT_SECONDS // 60} minutes")
    time.sleep(POLL_SECONDS)
