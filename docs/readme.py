"""Runs the code of the README, and writes what it prints and draws into the README and docs/img.

python docs/readme.py
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import sys
import tempfile
import textwrap

import running

README = running.ROOT / "README.md"
PICTURES = {"changes.png": running.ROOT / "docs" / "img" / "finding.png"}
SHOWN = re.compile(r"(?<=^```\n\n```text\n)(?:.*\n)*?(?=```$)", re.MULTILINE)  # right under a block that is run


def printed(cells: list[list[running.Cell]]) -> str:
    """What the code prints, without messages on the standard error stream. Sentences are wrapped, tables are not."""
    outputs = [output for block in cells for cell in block for output in cell.outputs]
    lines = "\n".join(output.get("stdout", "") for output in outputs).strip("\n").splitlines()
    return "\n".join(line if "  " in line else textwrap.fill(line, 110, subsequent_indent="  ") for line in lines)


def main() -> None:
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {running.PROCESSORS.get()})  # on one processor, the same code gives the same figures
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        text = printed(running.run(README))
        for name, path in PICTURES.items():
            shutil.copyfile(name, path)
    README.write_text(SHOWN.sub(lambda _: f"{text}\n", README.read_text(encoding="utf-8")), encoding="utf-8")
    sys.stdout.write(f"{text}\n")


if __name__ == "__main__":
    main()
