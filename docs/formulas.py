"""Formulas in the documentation: a fenced block named "math" comes in as LaTeX, and goes out as MathML."""

from __future__ import annotations

import re
from typing import Any

from latex2mathml.converter import convert

BLOCK = re.compile(r"^```math\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Called by MkDocs for each page."""
    return BLOCK.sub(lambda found: f'<div class="formula">{convert(found[1].strip(), display="block")}</div>', markdown)
