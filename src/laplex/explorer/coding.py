"""The line of Python that gives what a page shows."""

from __future__ import annotations

import json
from typing import Any


class Name(str):
    """What is a name in the code, not a text."""


def call(method: str, *given: Any, **options: Any) -> str:
    """A call as one would write it; what is None is left out.

    >>> call("fitted.neighbors", "tax", k=5, language=None, **{"party": "D", "sub group": "x"})
    'fitted.neighbors("tax", k=5, party="D", **{"sub group": "x"})'
    """
    named = {name: value for name, value in options.items() if value is not None}
    plain = [f"{name}={literal(value)}" for name, value in named.items() if name.isidentifier()]
    odd = {name: value for name, value in named.items() if not name.isidentifier()}
    return f"{method}({', '.join([*map(literal, given), *plain, *([f'**{literal(odd)}'] if odd else [])])})"


def literal(value: Any) -> str:
    """A text, a number, or several, as Python reads them."""
    if isinstance(value, Name):
        return str(value)
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=not value.isprintable())
    if isinstance(value, dict):
        return "{" + ", ".join(f"{literal(name)}: {literal(item)}" for name, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(literal, value)) + "]"
    if isinstance(value, tuple):
        return "(" + ", ".join(map(literal, value)) + ("," if len(value) == 1 else "") + ")"
    return repr(value)
