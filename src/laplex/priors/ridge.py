"""Vectors are not long."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from laplex.errors import InputError
from laplex.graph import Graph
from laplex.priors.prior import ByWord, Prior, by_word, check_strength
from laplex.rows import Role, Rows


@dataclass(frozen=True)
class Ridge(Prior):
    """Vectors are not long: −½ strength Σ ‖θ_i‖² over all rows, or only over words or contexts.

    The strength may differ by word: Ridge({"tax": 10.0, "health": 5.0}), 0 for the others.
    """

    strength: ByWord = 1.0
    on: Literal["all", "words", "contexts"] = "all"

    def __post_init__(self) -> None:
        check_strength(self.strength, infinite=False)
        if self.on not in ("all", "words", "contexts"):
            raise InputError(f'Ridge(on="{self.on}"): write "all", "words" or "contexts"')

    def graph(self, rows: Rows) -> Graph:
        diagonal = np.zeros(len(rows))
        roles: dict[str, tuple[Role, ...]] = {"all": ("word", "context"), "words": ("word",), "contexts": ("context",)}
        for language, vocabulary in enumerate(rows.vocabularies):
            entries = by_word(self.strength, vocabulary)
            for role in roles[self.on]:
                for start in rows.everywhere(role, language):
                    diagonal[start : start + len(vocabulary)] = entries
        return Graph.of(len(rows), diagonal=diagonal)
