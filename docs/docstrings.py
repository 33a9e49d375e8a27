"""Docstrings as Markdown: names with what they are, two or more spaces apart, become a list, and sessions code."""

from __future__ import annotations

import re
from typing import Any

import griffe

ENTRY = re.compile(r"^([\w.]+(?:,? [\w.]+)?)\s{2,}(\S.*)$")


def marked(text: str) -> str:
    """The text as Markdown; lines that are indented below an entry of a list go on with it."""
    return "\n\n".join(_marked(paragraph) for paragraph in text.split("\n\n"))


def _marked(paragraph: str) -> str:
    lines = paragraph.split("\n")
    if lines[0].startswith(">>> "):
        return f"```pycon\n{paragraph}\n```"
    if not ENTRY.match(lines[0]):
        return paragraph
    items: list[str] = []
    for line in lines:
        if found := ENTRY.match(line):
            items.append(f"- `{found[1]}`: {found[2]}")
        else:
            items[-1] += f" {line.strip()}"
    return "\n".join(items)


class Marks(griffe.Extension):
    """Called by griffe for everything that has a docstring."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring:
            obj.docstring.value = marked(obj.docstring.value)
