"""laplex.R and its page of the documentation, run by a real R with reticulate: `make r`.

Without them these tests are skipped, unless LAPLEX_R=required, which `make r` sets.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import laplex.r

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "r.md"
FENCE = re.compile(r"^```r\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def what_is_missing():
    """What R needs to run laplex and is not installed, as a sentence; empty if nothing is missing."""
    if shutil.which("Rscript") is None:
        return "there is no Rscript: install R (Debian: apt install r-base-core r-cran-reticulate r-cran-knitr)"
    has_reticulate = ["Rscript", "-e", 'quit(status = !requireNamespace("reticulate", quietly = TRUE))']
    if subprocess.run(has_reticulate, capture_output=True).returncode:
        return "R has no reticulate: install.packages('reticulate'), or in Debian apt install r-cran-reticulate"
    return ""


@pytest.fixture(scope="module")
def r(tmp_path_factory):
    """Run a file of R in an empty folder, with this Python."""
    if missing := what_is_missing():
        assert os.environ.get("LAPLEX_R") != "required", missing
        pytest.skip(missing)

    def run(path):
        programs = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        package = str(Path(laplex.__file__).parents[1])
        environment = os.environ | {"RETICULATE_PYTHON": sys.executable, "PATH": programs, "PYTHONPATH": package}
        folder = tmp_path_factory.mktemp("r")
        command = ["Rscript", "--vanilla", str(path)]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stdout + done.stderr
        return folder, done.stdout

    return run


@pytest.mark.slow
def test_what_passes_between_r_and_python(r):
    _, printed = r(ROOT / "tests" / "r" / "laplex_test.R")
    assert printed.endswith("all checks passed\n")


@pytest.mark.slow
def test_the_code_of_the_page_runs(r, tmp_path):
    script = tmp_path / "page.R"
    script.write_text("\n".join(FENCE.findall(PAGE.read_text(encoding="utf-8"))), encoding="utf-8")
    folder, printed = r(script)
    assert {"report.html", "union.laplex", "parties.laplex", "contrast.csv"} <= {path.name for path in folder.iterdir()}
    assert 'words change along "period" (43 values of "president"' in printed
    assert printed.count("chart: ") == 2


def test_every_function_of_r_is_described_with_an_example():
    code = Path(laplex.r.file).read_text(encoding="utf-8")
    functions = re.findall(r"((?:^#'[^\n]*\n)+)^(lx\w*) <- function", code, re.MULTILINE)
    assert len(functions) == len(re.findall(r"^lx\w* <-", code, re.MULTILINE)) > 25
    for comment, name in functions:
        example = comment.partition("@examples")[2]
        assert "@rdname" in comment or ("@return" in comment and f"{name}(" in example), name
