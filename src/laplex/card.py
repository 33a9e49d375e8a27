"""What a notebook shows of an object: its facts in a small table, in the colors of the notebook.

Texts come in as they are, words and names among them; HTML goes out, in which all of them are escaped.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

ROWS = 12  # of a table; the rest is counted
LETTERS = 300  # of a text
_LINE = "border: 0; border-top: 1px solid rgba(128, 128, 128, 0.3)"
_CELL = f"{_LINE}; padding: 0.2em 1.2em 0.2em 0; text-align: left; vertical-align: top; background: none"
_TABLE = "border-collapse: collapse; border: 0; margin: 0.5em 0 0; font-size: 0.93em; color: inherit"


def card(
    title: str,
    facts: Iterable[tuple[str, str]],
    heads: Sequence[str] = (),
    rows: Sequence[Sequence[str]] = (),
) -> str:
    """A title, facts by name, and below them a table, of which the first rows are shown.

    >>> "&lt;script&gt;" in card("Model", [("vary", "<script>")])
    True
    """
    told = "".join(_row([name, text], "th" if name else "td") for name, text in facts)
    parts = [f"<b>{_text(title)}</b>", f'<table style="{_TABLE}">{told}</table>' if told else ""]
    if rows:
        body = "".join(_row(row) for row in rows[:ROWS])
        parts.append(f'<table style="{_TABLE}"><thead>{_row(heads, "th", "th")}</thead><tbody>{body}</tbody></table>')
    if len(rows) > ROWS:
        parts.append(f'<div style="opacity: 0.7">… and {len(rows) - ROWS:,} more</div>')
    return f'<div style="color: inherit">{"".join(parts)}</div>'


def _row(cells: Sequence[str], first: str = "td", others: str = "td") -> str:
    kinds = [first, *[others] * (len(cells) - 1)]
    style = {"td": _CELL, "th": f"{_CELL}; font-weight: 600; white-space: nowrap"}
    drawn = [f'<{kind} style="{style[kind]}">{_text(cell)}</{kind}>' for kind, cell in zip(kinds, cells)]
    return f'<tr style="background: none">{"".join(drawn)}</tr>'


def _text(text: str) -> str:
    return escape(text if len(text) <= LETTERS else f"{text[:LETTERS]} …")
