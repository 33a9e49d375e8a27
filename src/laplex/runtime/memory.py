"""How much memory is free for this process: that of the machine, or of the container that it runs in."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

# version 2 of control groups, and version 1: the limit, what is used, and its statistics
CONTROL_GROUPS = (
    ("/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"),
    ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
)
MEMINFO = "/proc/meminfo"


def available_bytes() -> int | None:
    """The memory that is free, in bytes; None where the system does not say."""
    known = [value for value in (_of_machine(), *(_of_group(*group) for group in CONTROL_GROUPS)) if value is not None]
    return min(known, default=None)


def _of_machine() -> int | None:
    with suppress(OSError, ValueError, IndexError):
        for line in Path(MEMINFO).read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return 1024 * int(line.split()[1])
    return None


def _of_group(folder: str, limit: str, used: str, reclaimable: str) -> int | None:
    """What a control group has left; cached files that it may drop count as free."""
    with suppress(OSError, ValueError, IndexError):
        path = Path(folder)
        most = int((path / limit).read_text())  # "max" if there is none
        cached = 0
        for line in (path / "memory.stat").read_text().splitlines():
            if line.startswith(f"{reclaimable} "):
                cached = int(line.split()[1])
        return max(most - int((path / used).read_text()) + cached, 0)
    return None
