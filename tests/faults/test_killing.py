"""A process that is killed loses nothing, and leaves nothing.

LAPLEX_MOMENTS=30 kills each job at so many moments.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked")

MOMENTS = os.environ.get("LAPLEX_MOMENTS", "3")
JOBS = ("ingest", "fit", "checkpoint", "save", "tune", "scratch")


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    script = Path(__file__).with_name("killing.py")
    command = [sys.executable, script, tmp_path_factory.mktemp("killing"), "--moments", MOMENTS]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return {report["job"]: report for report in map(json.loads, done.stdout.splitlines())}


@pytest.mark.parametrize("job", JOBS)
def test_after_a_kill_the_next_run_ends_in_the_same_bytes_and_nothing_is_left_over(job, reports):
    report = reports[job]
    assert report["trials"] == int(MOMENTS)
    assert report["kills"] > 0
    assert report["wrong"] == []
