"""MkDocs hook: turns fenced blocks named "math", which hold LaTeX, into MathML, so that no script draws them."""

from __future__ import annotations

import re
from typing import Any

from latex2mathml.converter import convert

BLOCK = re.compile(r"^```math\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Called by MkDocs for each page."""
    return BLOCK.sub(lambda match: f'<div class="formula">{convert(match[1].strip(), display="block")}</div>', markdown)
