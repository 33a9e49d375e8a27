"""The wheel that users install: it holds the package, its data and its licenses, and nothing else."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from email import message_from_bytes
from pathlib import Path

import pytest

import laplex as lx

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "laplex"
KINDS = {".py", ".R", ".typed", ".parquet", ".tsv", ".txt", ".LICENSE", ".css", ".js", ".svg", ".html", ".json", ".csv"}
MAX_BYTES = 4_500_000  # of which the demo corpus takes 2.8 million


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return next(folder.glob("*.whl"))


def test_a_wheel_holds_the_package_and_its_licenses_only(wheel):
    files = [path for path in PACKAGE.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    package = {path.relative_to(PACKAGE.parent).as_posix() for path in files}
    about = f"laplex-{lx.__version__}.dist-info/"
    metadata = {"METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE", "licenses/NOTICE"}
    assert set(zipfile.ZipFile(wheel).namelist()) == package | {about + name for name in metadata}


def test_a_wheel_has_no_stray_files(wheel):
    inside = [name for name in zipfile.ZipFile(wheel).namelist() if name.startswith("laplex/")]
    strays = [name for name in inside if Path(name).suffix not in KINDS or Path(name).name.startswith(".")]
    assert strays == []


@pytest.mark.parametrize(
    "name",
    [
        "py.typed",
        "text/data/state-of-the-union.parquet",
        "evaluation/data/similarity/WordSim-353.tsv",
        "evaluation/data/google-analogies.txt",
        "explorer/page.js",
        "explorer/settings.json",
        "explorer/style.css",
        "plots/page.html",
        "r/laplex.R",
        "reports/template.html",
    ],
)
def test_a_wheel_holds_data_files(wheel, name):
    assert zipfile.ZipFile(wheel).read(f"laplex/{name}") == (PACKAGE / name).read_bytes()


def test_a_wheel_is_small_and_pure_python(wheel):
    assert wheel.name == f"laplex-{lx.__version__}-py3-none-any.whl"
    assert wheel.stat().st_size < MAX_BYTES


def test_the_metadata_of_a_wheel(wheel):
    archive = zipfile.ZipFile(wheel)
    about = f"laplex-{lx.__version__}.dist-info/"
    metadata = message_from_bytes(archive.read(about + "METADATA"))
    assert (metadata["Name"], metadata["Version"], metadata["License-Expression"]) == ("laplex", lx.__version__, "MIT")
    assert metadata["Requires-Python"] == ">=3.11"
    assert archive.read(about + "entry_points.txt").decode().split() == [
        "[console_scripts]",
        "laplex",
        "=",
        "laplex.cli:main",
    ]


def test_no_source_names_a_folder_of_the_machine_it_was_written_on(wheel):
    archive = zipfile.ZipFile(wheel)
    texts = [name for name in archive.namelist() if name.endswith((".py", ".html", ".js", ".css", "METADATA"))]
    assert [name for name in texts if b"/work/" in archive.read(name) or b"/home/" in archive.read(name)] == []
