"""Many fits in one process take no more memory and no more files than a few. LAPLEX_FITS=2000 makes it 2,000."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

pytestmark = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is read from /proc")

FITS = int(os.environ.get("LAPLEX_FITS", "100"))


def test_memory_and_files_do_not_grow_with_fits():
    script = Path(__file__).with_name("many_fits.py")
    done = subprocess.run([sys.executable, script, "--fits", str(FITS)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    # what one fit leaves behind by mistake is its tokens or its vectors, some 30 kilobytes each
    assert report["kilobytes_a_fit"] < (10 if FITS >= 1000 else 100), report
    assert report["open_files_last"] <= report["open_files_first"], report
    assert report["threads_last"] <= report["threads_first"], report
