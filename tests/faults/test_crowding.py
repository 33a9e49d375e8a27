"""Several processes at one place do not disturb each other: whatever is there is whole, and nothing piles up."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked")


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    script = Path(__file__).with_name("crowding.py")
    done = subprocess.run(
        [sys.executable, script, tmp_path_factory.mktemp("crowding")], capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr
    return {report["trial"]: report["wrong"] for report in map(json.loads, done.stdout.splitlines())}


@pytest.mark.parametrize("trial", ["models", "fits", "cache"])
def test_processes_share_a_folder(trial, reports):
    assert reports[trial] == []
