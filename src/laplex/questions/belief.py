"""What did the prior of a fitted model say about a column?

The settings of a fitted model come in, in which the parts of the prior are listed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from laplex.errors import InputError


def beliefs(settings: Mapping[str, Any], kind: str) -> Iterator[Mapping[str, Any]]:
    """The parts of the prior of one kind.

    >>> parts = [{"kind": "Ridge", "strength": 1.0}, {"kind": "Chain", "column": "year", "strength": 100.0}]
    >>> list(beliefs({"model": {"beliefs": parts}}, "Chain"))
    [{'kind': 'Chain', 'column': 'year', 'strength': 100.0}]
    """
    for part in settings.get("model", {}).get("beliefs", ()):
        if part["kind"] == kind:
            yield part


def chained(settings: Mapping[str, Any]) -> set[str]:
    """The columns along which the prior has a Chain."""
    return {part["column"] for part in beliefs(settings, "Chain")}


def mean_of(settings: Mapping[str, Any], column: str) -> tuple[float, float]:
    """Strength and spread of the prior's GroupMean on a column; without one, those that make it the plain mean."""
    means = [part for part in beliefs(settings, "GroupMean") if part["column"] == column]
    if len(means) > 1:
        raise InputError(f'the prior has {len(means)} GroupMeans on "{column}", so there is no one mean')
    return (means[0]["strength"], means[0]["spread"]) if means else (1.0, 0.0)
