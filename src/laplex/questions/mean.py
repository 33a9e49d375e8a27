"""Which vector do the groups share? (Proposition 3.)

The hierarchical model gives every word a vector ρ₀ around which those of its groups scatter. It is no parameter, since
it has its maximum in closed form (the proof of Proposition 3), with γ₁ the strength and γ₀ the spread of `GroupMean`:

    ρ₀ = γ₁ Σ_s ρ_s / (γ₀ + S γ₁).

S groups.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from laplex.errors import InputError
from laplex.questions.pairing import cells_of
from laplex.vectors import Vectors


def group_mean(
    vectors: Vectors,
    word: str,
    column: str,
    *,
    strength: float = 1.0,
    spread: float = 0.0,
    language: str | None = None,
    where: Mapping[str, Any] | None = None,
) -> NDArray[np.float32]:
    """The vector that the values of a column share; without a spread, the plain mean."""
    where = where or {}
    if column in where:
        raise InputError(f'the mean is over all of "{column}": leave out {column}=')
    index = vectors.language(language)
    own = vectors.id(word, index)
    cells = cells_of(vectors, column, where)
    if len(cells) > 1:
        missing = ", ".join(f"{name}=" for name in vectors.columns if name != column and name not in where)
        raise InputError(f"say which slice: {missing} is not given")
    groups = np.stack([vectors.take([own], index, slice)[0] for slice in cells[0].values()]).astype(np.float64)
    whole = spread + len(groups) * strength
    mean = groups.mean(0) if whole == 0 else strength * groups.sum(0) / whole
    return np.asarray(mean, np.float32)
