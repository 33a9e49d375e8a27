"""The errors that laplex raises, and checks of arguments."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any


class LaplexError(Exception):
    """Any error that laplex raises on purpose. Its message names the thing, the value and what to do."""


class InputError(LaplexError, ValueError):
    """Text, metadata or an argument cannot be used as it is."""


class StorageError(LaplexError):
    """A file that laplex wrote, or is to write, cannot be read or written."""


def check_int(name: str, value: Any, least: int = 1) -> int:
    """The argument `name` as an integer of at least `least`. 5.0 is one, since R passes 5 as 5.0.

    >>> check_int("epochs", 5.0)
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


def check_interval(interval: float) -> None:
    """Raise unless an interval is the share of samples, or of the posterior, that it should cover."""
    if not 0 < interval < 1:
        raise InputError(f"interval={interval} must be between 0 and 1: write 0.9 for an interval of 90%")


def quote(values: Iterable[object], most: int = 8) -> str:
    """The first values of a list for an error message, and the number of the others."""
    items = [str(value) for value in values]
    shown = ", ".join(items[:most])
    return shown if len(items) <= most else f"{shown} and {len(items) - most:,} more"
