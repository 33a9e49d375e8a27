"""Griffe extension: shows the examples of docstrings as code, and aligned lists of names as Markdown lists."""

from __future__ import annotations

import re
from textwrap import dedent
from typing import Any

import griffe

ENTRY = re.compile(r"^([\w.]+(?:,? [\w.]+)?)\s{2,}(\S.*)$")
EXAMPLE = re.compile(r"^Examples?:+\n+((?:    .*(?:\n|$)|\n)+)", re.MULTILINE)


def as_markdown(text: str) -> str:
    """A docstring as Markdown; its sections of arguments and results are left to griffe."""
    text = EXAMPLE.sub(lambda match: f"**Example:**\n\n{_as_code(dedent(match[1]).strip())}\n\n", text)
    return "\n\n".join(_convert(paragraph) for paragraph in text.split("\n\n"))


def _as_code(code: str) -> str:
    return f"```{'pycon' if code.startswith('>>> ') else 'python'}\n{code}\n```"


def _convert(paragraph: str) -> str:
    lines = paragraph.split("\n")
    if lines[0].startswith(">>> "):
        return _as_code(paragraph)
    if not ENTRY.match(lines[0]):
        return paragraph
    items: list[str] = []
    for line in lines:
        if entry := ENTRY.match(line):
            items.append(f"- `{entry[1]}`: {entry[2]}")
        else:
            items[-1] += f" {line.strip()}"  # a line that is indented below an entry continues it
    return "\n".join(items)


class Markdown(griffe.Extension):
    """Converts every docstring that griffe reads."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring:
            obj.docstring.value = as_markdown(obj.docstring.value)
