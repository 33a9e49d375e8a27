"""The errors that laplex raises, and checks of arguments."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
_SHARED = "what tests share is said once, as in fitted.inference({}).contrast(...)"
OLD_KEYWORDS = {  # keywords of earlier versions, and what to write instead
    "cluster": _SHARED.format('unit="speaker"') + ', or lx.read(..., unit="speaker")',
    "min_clusters": _SHARED.format("min_units=10"),
    **{name: _SHARED.format(f"{name}=...") for name in ("interval", "min_count", "permutations", "tokens", "language")},
    **{name: _SHARED.format(f"{name}=...") for name in ("seed", "threads", "quiet")},
    "top": "the table has all words, so write .head(20)",
    "rank": "what holds comes first; write .sort_values(...) for another order",
    "joint": 'write against="joint"',
    "each": "write at= for each slice, or distance(words, across, along)",
    "steps": "write trajectory(word)",
    "measure": "with test=False the table has both distances",
    "k": "write neighbors(word, k, at=...) for the neighbors in a slice",
    "reference": "a trajectory begins where the word has enough text",
    "positive": 'name the words first, as in neighbors(["king", "woman"], negative="man")',
    "pooled": "tests take the contexts that the fit began with",
}


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


def explain_keywords(function: Callable[P, R]) -> Callable[P, R]:
    """Decorate a function of vectors, its first argument, so that keywords of earlier versions say what to write.

    Keywords that are unknown altogether are left to Python, and so are those of functions that take any.
    """
    parameters = inspect.signature(function).parameters.values()
    takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)
    names = {parameter.name for parameter in parameters}

    @wraps(function)
    def checked(*arguments: P.args, **keywords: P.kwargs) -> R:
        if not takes_any and not names.issuperset(keywords):
            if "cluster" in keywords and "unit" in names:
                raise InputError(f'cluster= is called unit= now: write unit="{keywords["cluster"]}"')
            unknown = {name: value for name, value in keywords.items() if name not in names}
            check_keywords(unknown, _columns(*arguments[:1]))
        return function(*arguments, **keywords)

    return checked


def check_keywords(unknown: Mapping[str, Any], columns: Iterable[str]) -> None:
    """Raise if one of the keywords that a function does not have was one in earlier versions, such as party="D".

    >>> check_keywords({"party": "D"}, ["party"])
    Traceback (most recent call last):
    laplex.errors.InputError: party= names a slice, which is written at={"party": "D"} now
    """
    known = set(columns)
    if values := {name: value for name, value in unknown.items() if name in known}:
        named, verb = " and ".join(f"{name}=" for name in values), "names" if len(values) == 1 else "name"
        pairs = (
            f'"{name}": ' + (f'"{value}"' if isinstance(value, str) else repr(value)) for name, value in values.items()
        )
        raise InputError(f"{named} {verb} a slice, which is written at={{{', '.join(pairs)}}} now")
    for name in unknown:
        if name in OLD_KEYWORDS:
            raise InputError(f"{name}= is no longer a keyword: {OLD_KEYWORDS[name]}")


def _columns(models: Any = None) -> set[str]:
    """The columns that a model varies by, or several models by name."""
    several = models.values() if isinstance(models, Mapping) else [models]
    return {name for model in several for name in getattr(model, "columns", ())}


def quote(values: Iterable[object], most: int = 8) -> str:
    """The first values of a list for an error message, and the number of the others."""
    items = [str(value) for value in values]
    shown = ", ".join(items[:most])
    return shown if len(items) <= most else f"{shown} and {len(items) - most:,} more"
