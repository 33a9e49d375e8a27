"""Threads by default are those that the process may use: by its affinity and by the quotas of its control groups."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import small

import laplex as lx
from laplex.runtime import processors
from laplex.runtime.processors import available_processors, available_threads

MINE = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


@pytest.fixture
def many(monkeypatch):
    """A process that is bound to no processors of a machine with 64."""
    monkeypatch.setattr(processors.os, "sched_getaffinity", lambda process: range(64), raising=False)


def groups(folder: Path, lines: str, files: dict[str, str]) -> tuple[Path, Path]:
    """What Linux shows of control groups: which of them a process is in, and their files."""
    membership, mount = folder / "cgroup", folder / "mounted"
    membership.write_text(lines)
    for name, text in files.items():
        (mount / name).parent.mkdir(parents=True, exist_ok=True)
        (mount / name).write_text(text)
    return membership, mount


@pytest.mark.parametrize(
    ("quota", "expected"),
    [("400000 100000", 4), ("150000 100000", 2), ("5000 100000", 1), ("max 100000", 64), ("", 64)],
)
def test_the_quota_of_a_group_of_version_2(tmp_path, many, quota, expected):
    files = {"kubepods/pod1/cpu.max": f"{quota}\n"}
    assert available_processors(*groups(tmp_path, "0::/kubepods/pod1\n", files)) == expected


def test_the_smallest_quota_of_a_group_and_those_above_it_counts(tmp_path, many):
    files = {"a/b/c/cpu.max": "800000 100000", "a/b/cpu.max": "max 100000", "a/cpu.max": "300000 100000"}
    assert available_processors(*groups(tmp_path, "0::/a/b/c\n", files)) == 3


def test_a_group_that_is_named_as_outside_of_the_container(tmp_path, many):
    assert available_processors(*groups(tmp_path, "0::/docker/0123\n", {"cpu.max": "200000 100000"})) == 2


@pytest.mark.parametrize("controllers", ["cpu", "cpu,cpuacct", "cpuacct,cpu"])
def test_the_quota_of_a_group_of_version_1(tmp_path, many, controllers):
    lines = f"9:name=systemd:/x\n4:memory:/x\n3:cpuset:/x\n1:{controllers}:/slurm/job_7\n0::/\n"
    files = {f"{controllers}/slurm/job_7/cpu.cfs_quota_us": "600000\n"}
    files |= {f"{controllers}/slurm/job_7/cpu.cfs_period_us": "100000\n", f"{controllers}/cpu.cfs_quota_us": "-1\n"}
    files |= {f"{controllers}/cpu.cfs_period_us": "100000\n", "cpuset/x/cpu.cfs_quota_us": "100000\n"}
    assert available_processors(*groups(tmp_path, lines, files)) == 6


def test_no_more_than_the_affinity(tmp_path, monkeypatch):
    monkeypatch.setattr(processors.os, "sched_getaffinity", lambda process: {3, 5}, raising=False)
    assert available_processors(*groups(tmp_path, "0::/a\n", {"a/cpu.max": "800000 100000"})) == 2


def test_where_there_are_no_control_groups(tmp_path, monkeypatch):
    assert available_processors(tmp_path / "none", tmp_path) == MINE
    monkeypatch.delattr(processors.os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(processors.os, "cpu_count", lambda: 12)
    assert available_processors(tmp_path / "none", tmp_path) == 12
    monkeypatch.setattr(processors.os, "cpu_count", lambda: None)
    assert available_processors(tmp_path / "none", tmp_path) == 1


def test_files_that_make_no_sense_are_ignored(tmp_path, many):
    files = {"a/cpu.max": "many 100000", "b/cpu.max": "100000", "c/cpu.max": "100000 0", "cpu.max": "0 100000"}
    for name in "abc":
        assert available_processors(*groups(tmp_path, f"nonsense\n\n0::/{name}\n", files)) == 64


@pytest.mark.parametrize(("ranks", "expected"), [("1", 8), ("2", 4), ("3", 2), ("16", 1)])
def test_ranks_on_a_machine_share_its_processors(monkeypatch, ranks, expected):
    monkeypatch.setattr(processors, "available_processors", lambda: 8)
    monkeypatch.setenv("LOCAL_WORLD_SIZE", ranks)
    assert available_threads() == expected


USES = """
import sys
from concurrent import futures
import small, laplex as lx
from laplex.runtime.processors import available_processors
import polars

used = []
original = futures.ThreadPoolExecutor.__init__

def counted(pool, workers=None, *arguments, **options):
    used.append(workers)
    original(pool, workers, *arguments, **options)

futures.ThreadPoolExecutor.__init__ = counted
model = lx.Model(["party"], lx.Ridge(1.0) + lx.Groups("party", 30.0), dimensions=8)
fitted = lx.fit(model, small.corpus(small.documents(count=60)), min_count=1, epochs=1, quiet=True)
fitted.inference(quiet=True, min_count=1).contrast("party", fitted.words()[:2])
print(available_processors(), polars.thread_pool_size(), max(used), fitted.settings["machine"]["cores"])
"""


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="needs processors that a process can be bound to")
def test_a_process_that_is_bound_to_a_processor_runs_one_thread(tmp_path):
    """Reading, fitting, testing and Polars."""
    one = {min(os.sched_getaffinity(0))}
    done = subprocess.run(
        [sys.executable, "-c", USES],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        cwd=Path(small.__file__).parent,
        env=os.environ | {"LAPLEX_CACHE": str(tmp_path)},
        preexec_fn=lambda: os.sched_setaffinity(0, one),
    )
    assert done.stdout.split() == ["1", "1", "1", "1"]


COMMAND = """
import os, sys
from laplex.cli import main
sys.argv = ["laplex", "--version"]
try:
    main()
finally:
    print(os.environ["OMP_NUM_THREADS"])
"""


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="needs processors that a process can be bound to")
@pytest.mark.parametrize(("given", "expected"), [({}, "1"), ({"OMP_NUM_THREADS": "3"}, "3")])
def test_commands_tell_the_linear_algebra_how_many_threads_there_are(given, expected):
    """Unless the user has."""
    one = {min(os.sched_getaffinity(0))}
    others = {name: value for name, value in os.environ.items() if name not in ("OMP_NUM_THREADS", "LOCAL_WORLD_SIZE")}
    done = subprocess.run(
        [sys.executable, "-c", COMMAND],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        env=others | given,
        preexec_fn=lambda: os.sched_setaffinity(0, one),
    )
    assert done.stdout.split() == ["laplex", lx.__version__, expected]


def test_every_default_is_the_same_function():
    """Nothing else in the package asks for the processors of the machine."""
    package = Path(lx.__file__).parent
    asking = [path.relative_to(package).as_posix() for path in package.rglob("*.py") if "cpu_count" in path.read_text()]
    assert asking == ["runtime/processors.py"]
