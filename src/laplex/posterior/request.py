"""What is needed before anything can be tested: the text, who speaks in it, which words, contexts without labels.

What the user asked for comes in and is checked; a Request goes out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from laplex.embeddings import Embeddings
from laplex.errors import InputError, whole
from laplex.posterior.pooled import check_pooled
from laplex.posterior.pooled import pooled as fit_pooled
from laplex.posterior.tables import Pass
from laplex.posterior.units import Units, gather
from laplex.progress import say
from laplex.provenance import tokens_of
from laplex.tokens import Tokens

DRAWS = 999  # permutations, if nothing is said
FEW = 2_000  # clusters, up to which labels are permuted
RANKS = ("evidence", "estimate")


@dataclass(frozen=True)
class Options:
    """What all tests have in common, as the user gave it."""

    cluster: str | None
    words: str | Sequence[str] | None
    top: int | None
    min_clusters: int
    min_count: int
    interval: float
    permutations: int | None
    rank: str
    seed: int
    threads: int | None
    quiet: bool

    def checked(self) -> Options:
        """The same, if they make sense, with whole numbers as such."""
        if not 0 < self.interval < 1:
            raise InputError(
                f"interval={self.interval} must be between 0 and 1: 0.9 is that which holds in 90% of samples"
            )
        if self.rank not in RANKS:
            raise InputError(f'rank="{self.rank}" is unknown: write "evidence" or "estimate"')
        return replace(
            self,
            min_clusters=whole("min_clusters", self.min_clusters, 2),
            min_count=whole("min_count", self.min_count),
            permutations=None if self.permutations is None else whole("permutations", self.permutations, 0),
            top=None if self.top is None else whole("top", self.top),
        )

    @property
    def counted(self) -> bool:
        """Are labellings counted, or is p the tail of a smooth curve through them?"""
        return self.permutations is not None


@dataclass(frozen=True, eq=False)
class Request:
    fitted: Embeddings
    column: str
    options: Options
    tokens: Tokens
    index: int  # of the language
    where: Mapping[str, Any]
    units: Units
    ids: list[int]

    @property
    def draws(self) -> int:
        """How often labels are permuted."""
        if self.options.permutations is not None:
            return self.options.permutations
        return DRAWS if self.units.nested and len(self.units) <= FEW else 0

    @property
    def own_draws(self) -> int:
        """How often labels are permuted among the units that have a word."""
        return DRAWS if self.options.permutations is None and self.units.nested and not self.draws else 0

    def read(self, pooled: Embeddings | None) -> Pass:
        """The text, made ready; contexts without labels are fitted if none are given."""
        options = self.options
        if pooled is None:
            pooled = fit_pooled(self.fitted, self.tokens, threads=options.threads, quiet=options.quiet)
        how: dict[str, Any] = {"seed": options.seed, "threads": options.threads, "quiet": options.quiet}
        free = check_pooled(pooled, self.fitted)
        return Pass(self.tokens, self.units, free, self.ids, self.index, whole=self.draws > 0, **how)

    def say_untested(self, tested: NDArray[np.bool_], where: str = "") -> None:
        """How many words have too little text, if none are asked for by name."""
        left = len(self.ids) - int(tested.sum())
        if self.options.words is None and left:
            who = f'values of "{self.options.cluster}"' if self.options.cluster else "documents"
            say(
                f"{left:,} of {len(self.ids):,} words are not tested: under {self.options.min_count} occurrences or "
                f"{self.options.min_clusters} {who}{where}",
                quiet=self.options.quiet,
            )


def prepare(
    fitted: Embeddings,
    column: str,
    options: Options,
    tokens: Tokens | None,
    language: str | None,
    where: Mapping[str, Any],
) -> Request:
    options = options.checked()
    tokens = tokens_of(fitted, tokens)
    index = fitted.language(language)
    units = gather(tokens, column, options.cluster, index, where)
    if options.permutations and not units.nested:
        raise InputError(
            f'a value of "{options.cluster}" has several values of "{column}", so labels cannot be exchanged between '
            "them: leave out permutations="
        )
    if options.words is not None:
        ids = fitted.ids(options.words, index)
    else:
        ids = np.flatnonzero(fitted.counts[index].sum(0) >= options.min_count).tolist()
    if not ids:
        raise InputError(f"no word occurs {options.min_count} times: lower min_count")
    return Request(fitted, column, options, tokens, index, where, units, ids)
