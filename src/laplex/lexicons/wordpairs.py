"""Pairs of words with weights, and what can be done with them: put together, taken away, kept in a file.

    a + b            every pair of both; the weights of the same pair are added
    a.without(b)     the pairs of a that are not in b, in either order

P pairs.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
from numpy.typing import NDArray

from laplex import storage
from laplex.errors import InputError


@dataclass(frozen=True, eq=False, repr=False)
class WordPairs:
    """`left[i]` and `right[i]` belong together by `weight[i]`, negative if they are to be unlike.

    `directed` pairs say something of the left word only, as the edges of a networkx DiGraph do. `skipped` counts what
    the source held besides, such as phrases of several words.
    """

    name: str
    left: list[str]
    right: list[str]
    weight: NDArray[np.float64]
    directed: bool = False
    skipped: int = 0

    def __post_init__(self) -> None:
        sizes = len(self.left), len(self.right), len(self.weight)
        if len(set(sizes)) > 1:
            raise InputError("{}: {:,} left words, {:,} right words, {:,} weights".format(self.name, *sizes))

    @classmethod
    def of(cls, name: str, triples: Iterable[Any], *, directed: bool = False, skipped: int = 0) -> WordPairs:
        """From (word, word) or (word, word, weight), each checked."""
        left: list[str] = []
        right: list[str] = []
        weight: list[float] = []
        for number, triple in enumerate(triples, 1):
            try:
                one, two, value = _checked(triple)
            except (TypeError, ValueError, OverflowError):
                raise InputError(f"{name}, pair {number:,}: {triple!r} is not two words and perhaps a weight") from None
            if not math.isfinite(value):
                raise InputError(f"{name}, pair {number:,}: the weight of {one} and {two} is {value}")
            left.append(one)
            right.append(two)
            weight.append(value)
        if not left:
            only = f", only {skipped:,} phrases" if skipped else ""
            raise InputError(f"{name} has no pairs of words{only}")
        return cls(name, left, right, np.array(weight), directed, skipped)

    def __len__(self) -> int:
        return len(self.left)

    def __repr__(self) -> str:
        kind = "directed pairs" if self.directed else "pairs"
        skipped = f", {self.skipped:,} skipped" if self.skipped else ""
        return f"WordPairs of {self.name}: {len(self):,} {kind}{skipped}"

    def __add__(self, other: WordPairs) -> WordPairs:
        """Every pair of both, once. A pair that is in both has the sum of its weights.

        Only weights of the same sign are added: a pair that is alike here and unlike there stays two, since
        ‖x − y‖² and ‖x + y‖² do not cancel. So the prior of a sum is the sum of the priors.

        >>> one = WordPairs.of("one", [("dog", "hound"), ("hot", "cold", -1)])
        >>> (one + WordPairs.of("two", [("hound", "dog", 2), ("cat", "kitten")])).to_frame()
          left   right  weight
        0  dog   hound     3.0
        1  hot    cold    -1.0
        2  cat  kitten     1.0
        """
        if not isinstance(other, WordPairs):
            return NotImplemented
        if self.directed != other.directed:
            one, two = (self, other) if self.directed else (other, self)
            raise InputError(f"{one.name} is directed and {two.name} is not: they cannot be one list")
        both = pl.concat([self._keyed(self.directed), other._keyed(self.directed)])
        same = ["one", "two", pl.col("weight") < 0]
        whole = both.group_by(same, maintain_order=True).agg(
            pl.col("left").first(), pl.col("right").first(), pl.col("weight").sum().alias("sum")
        )
        return WordPairs(
            f"{self.name} + {other.name}",
            whole["left"].to_list(),
            whole["right"].to_list(),
            whole["sum"].to_numpy(),
            self.directed,
            self.skipped + other.skipped,
        )

    def without(self, other: WordPairs) -> WordPairs:
        """The pairs that are not in `other`, in whichever order they stand there; say, without those of a test set."""
        gone = other._keyed(False).select("one", "two").unique()
        rest = (
            self._keyed(False).with_row_index("place").join(gone, on=["one", "two"], how="anti", maintain_order="left")
        )
        places = rest["place"].to_numpy()
        return replace(
            self,
            name=f"{self.name} without {other.name}",
            left=[self.left[i] for i in places],
            right=[self.right[i] for i in places],
            weight=self.weight[places],
        )

    def unweighted(self) -> WordPairs:
        """The same pairs, each with weight 1, or −1 for words that are to be unlike."""
        return replace(self, weight=np.where(self.weight < 0, -1.0, 1.0))

    def normalized(self) -> WordPairs:
        """Each weight divided by the geometric mean of its two words' sums of weights, as in a normalised Laplacian.

        Some words stand in hundreds of definitions, and pull all of these together. So every word has a like pull,
        however many pairs it has; strengths are to be larger for it.

        >>> star = WordPairs.of("star", [("thing", "cup"), ("thing", "car"), ("thing", "key"), ("thing", "pen")])
        >>> star.normalized().weight.tolist()
        [0.5, 0.5, 0.5, 0.5]
        """
        ends = pl.Series(self.left + self.right, dtype=pl.String).rank("dense").to_numpy()
        sums = np.bincount(ends, np.tile(np.abs(self.weight), 2))
        left, right = sums[ends].reshape(2, len(self))
        scale = np.sqrt(left * right)
        return replace(self, name=f"{self.name}, normalized", weight=self.weight / np.where(scale > 0, scale, 1.0))

    def to_frame(self) -> pd.DataFrame:
        """Columns left, right and weight; of directed pairs from, to and weight."""
        one, two = self._columns
        return pd.DataFrame({one: self.left, two: self.right, "weight": self.weight})

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a table with tabs, in one step; `read_pairs` reads it back."""
        one, two = self._columns
        table = self._table().rename({"left": one, "right": two})
        odd = table.filter(pl.any_horizontal(pl.col(one, two).str.contains("[\t\r\n]")))
        if len(odd):
            raise InputError(
                f"{self.name}: a word of {odd.row(0)[:2]} has a tab or a new line in it, which no list can hold"
            )
        with storage.replacing(path) as file:
            table.write_csv(file, separator="\t")

    @property
    def _columns(self) -> tuple[str, str]:
        return ("from", "to") if self.directed else ("left", "right")

    def _table(self) -> pl.DataFrame:
        types = {"left": pl.String, "right": pl.String, "weight": pl.Float64}
        return pl.DataFrame({"left": self.left, "right": self.right, "weight": self.weight}, schema=types)

    def _keyed(self, ordered: bool) -> pl.DataFrame:
        """(P) With the columns one and two, which are the same for both orders of a pair unless `ordered`."""
        left, right = pl.col("left"), pl.col("right")
        turned = (left > right) & (not ordered)
        return self._table().with_columns(
            pl.when(turned).then(right).otherwise(left).alias("one"),
            pl.when(turned).then(left).otherwise(right).alias("two"),
        )


def _checked(triple: Any) -> tuple[str, str, float]:
    if isinstance(triple, (str, bytes)):
        raise TypeError("a string is not a pair")
    one, two, *rest = triple
    if len(rest) > 1:
        raise ValueError("more than a weight")
    return _word(one), _word(two), float(rest[0]) if rest else 1.0


def _word(value: Any) -> str:
    """A word as it is; a number without decimals may be one, such as a year."""
    if isinstance(value, str) and value.strip(" \t\r\n"):
        value.encode()  # half a character (a surrogate) cannot be written anywhere
        return str(value)
    if isinstance(value, Integral) and not isinstance(value, (bool, np.bool_)):
        return str(int(value))
    raise TypeError("not a word")
