"""Which column is time, or any other order? Questions of change ask."""

from __future__ import annotations

from laplex.errors import InputError, quote
from laplex.vectors import Vectors


def ordered_column(vectors: Vectors, column: str | None = None) -> str:
    """The column asked for, if it has an order; without one, the only column that has."""
    known = [name for name in vectors.columns if vectors.ordered(name)]
    if column is None:
        if not known:
            varying = quote(vectors.columns) or "nothing"
            raise InputError(f"there is no time here: vectors vary by {varying}, and none of that has an order")
        if len(known) > 1:
            raise InputError(f"say along which column: along= one of {quote(known)}")
        return known[0]
    values = vectors.values(column)
    if column not in known:
        instead = f"; columns with an order: {quote(known)}" if known else ""
        raise InputError(
            f'"{column}" has no order: its values {quote(values, 4)} are not all numbers or all periods of time, '
            f"and the prior has no Chain on it{instead}"
        )
    return column
