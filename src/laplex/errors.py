"""What laplex raises when something is wrong that the user can put right."""

from __future__ import annotations

import operator
from typing import Any


class LaplexError(Exception):
    """Any error that laplex raises on purpose. Its message names the thing, the value and what to do."""


class InputError(LaplexError, ValueError):
    """Text, metadata or an argument cannot be used as it is."""


class StorageError(LaplexError):
    """A file that laplex wrote, or is to write, cannot be read or written."""


def whole(name: str, value: Any, least: int = 1) -> int:
    """The argument `name` as a whole number from `least` on; 5.0 is one, since R has no other way to write 5.

    >>> whole("epochs", 5.0)
    5
    """
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    try:
        number = operator.index(value)
    except TypeError:
        number = least - 1
    if number < least or isinstance(value, bool):
        raise InputError(f"{name}={value!r} must be a whole number from {least}")
    return number


def quote(values: object, most: int = 8) -> str:
    """A list of values for an error message: at most `most` of them, then how many more."""
    items = [str(value) for value in values]  # type: ignore[attr-defined]
    shown = ", ".join(items[:most])
    return shown if len(items) <= most else f"{shown} and {len(items) - most:,} more"
