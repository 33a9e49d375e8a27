"""Runs the code of the README, and writes what it prints and draws into the README and docs/img.

python docs/readme.py
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
import tempfile
import textwrap
from typing import Any

import running

README = running.ROOT / "README.md"
PICTURE = running.ROOT / "docs" / "img" / "finding.png"
PICTURE_COLORS = 64
ROWS = 10
INK, SIDES = "#444444", ("#0072B2", "#B34700")
SHOWN = re.compile(r"(?<=^```\n\n```text\n)(?:.*\n)*?(?=```$)", re.MULTILINE)  # right under a block that is run


def printed(cells: list[list[running.Cell]]) -> str:
    """What the code prints, without messages on the standard error stream. Sentences are wrapped, tables are not."""
    outputs = [output for block in cells for cell in block for output in cell.outputs]
    lines = "\n".join(output.get("stdout", "") for output in outputs).strip("\n").splitlines()
    return "\n".join(line if "  " in line else textwrap.fill(line, 110, subsequent_indent="  ") for line in lines)


def draw(found: Any) -> None:
    """The words that changed most: sizes with intervals, and the words around them on either side."""
    import altair as alt
    from PIL import Image

    import laplex as lx

    rows = found.head(ROWS)[["word", "estimate", "lower", "upper", "context", "context_against"]]
    base = alt.Chart(rows).encode(alt.Y("word:N", sort=None, axis=None))
    words = base.mark_text(align="right", x=100, fontSize=15, fontWeight="bold").encode(text="word:N")
    sizes = alt.X("estimate:Q", title="size of the change (log odds), 90% interval", scale=alt.Scale(zero=True))
    rules = base.mark_rule(strokeWidth=2, color=INK).encode(alt.X("lower:Q"), alt.X2("upper:Q"))
    points = base.mark_circle(size=110, opacity=1, color=INK).encode(sizes)
    columns = [words.properties(width=105, height=30 * ROWS), (rules + points).properties(width=230, height=30 * ROWS)]
    for name, title, color in zip(
        ["context", "context_against"], ["Around it before 1901", "Around it since 1901"], SIDES
    ):
        text = base.mark_text(align="left", x=0, fontSize=14, color=color).encode(text=f"{name}:N")
        head = alt.TitleParams(title, anchor="start", fontSize=15, color=color)
        columns.append(text.properties(width=250, height=30 * ROWS, title=head))
    axes = {
        "domain": False,
        "tickColor": "#CCCCCC",
        "labelFontSize": 13,
        "titleFontSize": 13,
        "titleFontWeight": "normal",
    }
    chart = alt.hconcat(*columns, spacing=14).configure_view(stroke=None).configure_axis(**axes)
    lx.plots.save(chart, PICTURE)
    with Image.open(PICTURE) as drawn:
        drawn.convert("RGB").quantize(PICTURE_COLORS).save(PICTURE, optimize=True)  # a tenth of the size


def main() -> None:
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {running.PROCESSORS.get()})  # on one processor, the same code gives the same figures
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        cells, defined = running.run(README)
        draw(defined["found"])
    text = printed(cells)
    README.write_text(SHOWN.sub(lambda _: f"{text}\n", README.read_text(encoding="utf-8")), encoding="utf-8")
    sys.stdout.write(f"{text}\n")


if __name__ == "__main__":
    main()
