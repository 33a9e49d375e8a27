"""How many threads to run by default: as many as there are processors that this process may use.

A machine often has more than a process may use of it: a batch system binds jobs to processors (their affinity), and a
container has a quota of processor time (of its control groups). Threads beyond that only get in each other's way.
Polars counts in the same way by itself.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

MEMBERSHIP = Path("/proc/self/cgroup")  # the control groups of this process
MOUNT = Path("/sys/fs/cgroup")


def available_threads() -> int:
    """The default number of threads: the processors of this process, shared by the ranks of torchrun on a machine."""
    return max(1, available_processors() // int(os.environ.get("LOCAL_WORLD_SIZE", "1")))


def available_processors(membership: Path = MEMBERSHIP, mount: Path = MOUNT) -> int:
    """How many processors this process may use: those of its affinity, and no more than its quota.

    Args:
        membership: The file that names the control groups of the process, on Linux.
        mount: The folder in which control groups are mounted.

    Returns:
        The number, at least 1. A part of a processor counts as one, since it would be idle otherwise.
    """
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min([count, *(math.ceil(quota) for quota in _quotas(membership, mount))]))


def _quotas(membership: Path, mount: Path) -> Iterator[float]:
    """The processors that each control group of the process and each group above it may use, where that is limited."""
    try:
        lines = membership.read_text().splitlines()
    except OSError:  # elsewhere than on Linux
        return
    for line in lines:
        _, _, rest = line.partition(":")
        controllers, _, group = rest.partition(":")
        # within a container the group may be named as outside of it, where only the mount itself is seen
        above = [PurePosixPath(group), *PurePosixPath(group).parents]
        if not controllers:  # version 2
            for place in above:
                quota, _, period = _read(mount / str(place).lstrip("/") / "cpu.max").partition(" ")
                yield from _share(quota, period)
        elif "cpu" in controllers.split(","):  # version 1
            for place in above:
                for name in (controllers, "cpu"):
                    folder = mount / name / str(place).lstrip("/")
                    yield from _share(_read(folder / "cpu.cfs_quota_us"), _read(folder / "cpu.cfs_period_us"))


def _read(path: Path) -> str:
    """The text of a file; empty if it cannot be read."""
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def _share(quota: str, period: str) -> Iterator[float]:
    """Processor time in a period of time, unless it is not limited ("max" or −1)."""
    if quota.isdigit() and period.isdigit() and int(quota) and int(period):
        yield int(quota) / int(period)
