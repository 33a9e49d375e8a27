"""Pairs of words with weights.

    a + b            every pair of both; the weights of a pair in both are added
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

from laplex.errors import InputError, quote
from laplex.runtime import atomic
from laplex.text.vocabulary import Vocabulary

Ints = NDArray[np.int64]
UNKNOWN_WORDS_SHOWN = 6


@dataclass(frozen=True, eq=False, repr=False)
class WordPairs:
    """Pairs of words that belong together, made by `read_pairs` and the other functions of `lx.lexicons`.

    Attributes:
        name: Where the pairs are from, for messages.
        left: The first word of each pair.
        right: The second word of each pair.
        weight: (P) How strongly the words belong together; negative if they are to be unlike.
        directed: Whether the pairs say something of the left word only, as the edges of a networkx DiGraph do.
        skipped: The number of entries of the source that are not pairs of single words.

    Example:
        >>> WordPairs.of("my list", [("dog", "hound"), ("hot", "cold", -1.0)])
        WordPairs of my list: 2 pairs
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
        """Make pairs from tuples.

        Args:
            name: Where the pairs are from, for messages.
            triples: (word, word) or (word, word, weight).
            directed: Whether the pairs say something of the left word only.
            skipped: The number of entries that were left out.

        Returns:
            The pairs. An InputError names the first tuple that is not one.

        Example:
            pairs = lx.lexicons.WordPairs.of("by hand", [("tax", "taxes"), ("cheap", "dear", -1.0)])
        """
        checked: list[tuple[str, str, float]] = []
        for number, triple in enumerate(triples, 1):
            try:
                one, two, weight = _check_triple(triple)
            except (TypeError, ValueError, OverflowError):
                raise InputError(f"{name}, pair {number:,}: {triple!r} is not two words and perhaps a weight") from None
            if not math.isfinite(weight):
                raise InputError(f"{name}, pair {number:,}: the weight of {one} and {two} is {weight}")
            checked.append((one, two, weight))
        left, right, weights = map(list, zip(*checked)) if checked else ([], [], [])
        return not_empty(cls(name, left, right, np.array(weights, np.float64), directed, skipped))

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

        Example:
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
        both = pl.concat([self._with_keys(self.directed), other._with_keys(self.directed)])
        same = both.group_by("one", "two", (pl.col("weight") < 0).alias("unlike"), maintain_order=True)
        table = same.agg(pl.col("left", "right").first(), pl.col("weight").sum())
        return replace(self._replaced(f"{self.name} + {other.name}", table), skipped=self.skipped + other.skipped)

    def without(self, other: WordPairs) -> WordPairs:
        """Leave out pairs, such as those of a test set.

        Args:
            other: The pairs to leave out, in either order.

        Returns:
            The pairs that are not in `other`.

        Example:
            >>> pairs = WordPairs.of("all", [("dog", "hound"), ("cat", "kitten")])
            >>> pairs.without(WordPairs.of("test", [("hound", "dog")])).left
            ['cat']
        """
        keys = other._with_keys(False).select("one", "two").unique()
        rest = self._with_keys(False).join(keys, on=["one", "two"], how="anti", maintain_order="left")
        return self._replaced(f"{self.name} without {other.name}", rest)

    def unweighted(self) -> WordPairs:
        """The same pairs, each with weight 1, or −1 for words that are to be unlike."""
        return replace(self, weight=np.where(self.weight < 0, -1.0, 1.0))

    def normalized(self) -> WordPairs:
        """Divide each weight by the geometric mean of its two words' sums of weights, as in a normalized Laplacian.

        A word in hundreds of definitions would pull all of these together. Normalized, every word is pulled about
        equally strongly, however many pairs it has; the strength of the prior is to be larger for it.

        Returns:
            The same pairs with other weights.

        Example:
            >>> star = WordPairs.of("star", [("thing", "cup"), ("thing", "car"), ("thing", "key"), ("thing", "pen")])
            >>> star.normalized().weight.tolist()
            [0.5, 0.5, 0.5, 0.5]
        """
        words = pl.Series(self.left + self.right, dtype=pl.String).rank("dense").to_numpy()
        sums = np.bincount(words, np.tile(np.abs(self.weight), 2))
        left, right = sums[words].reshape(2, len(self))
        scale = np.sqrt(left * right)
        return replace(self, name=f"{self.name}, normalized", weight=self.weight / np.where(scale > 0, scale, 1.0))

    def ids(self, first: Vocabulary, second: Vocabulary) -> tuple[Ints, Ints]:
        """(P) The ids of the left words in one vocabulary and of the right words in another, −1 if not known."""
        return first.ids(self.left), second.ids(self.right)

    def coverage(self, first: Vocabulary, second: Vocabulary) -> str:
        """A sentence on how many pairs are known; if fewer than half are, with words that are not.

        Args:
            first: The vocabulary of the left words.
            second: The vocabulary of the right words.

        Returns:
            The sentence, for a message.

        Example:
            >>> words = Vocabulary(["dog", "hound", "cat"], np.array([3, 2, 1]))
            >>> WordPairs.of("my list", [("dog", "hound"), ("cat", "tomcat"), ("ox", "bull")]).coverage(words, words)
            '1 of 3 pairs of my list have both words in the vocabulary; not in it are tomcat, ox, bull'
        """
        ids = self.ids(first, second)
        known = np.logical_and(*(side >= 0 for side in ids))
        between = "" if first is second else f" ({first.language} – {second.language})"
        said = f"{known.sum():,} of {len(self):,} pairs of {self.name} have both words in the vocabulary{between}"
        if 2 * known.sum() >= len(self):
            return said
        unknown = [word for pair in zip(self.left, self.right, *ids) for word, id in zip(pair, pair[2:]) if id < 0]
        return f"{said}; not in it are {quote(dict.fromkeys(unknown), UNKNOWN_WORDS_SHOWN)}"

    def to_frame(self) -> pd.DataFrame:
        """A frame with the columns left, right and weight, or from, to and weight of directed pairs."""
        one, two = self._columns
        return pd.DataFrame({one: self.left, two: self.right, "weight": self.weight})

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a table that `read_pairs` reads back.

        Args:
            path: The file, whose columns are separated by tabs.

        Example:
            lx.lexicons.definitions("definitions.tsv").strong.save("strong_pairs.tsv")
        """
        one, two = self._columns
        table = self._table().rename({"left": one, "right": two})
        unwritable = table.filter(pl.any_horizontal(pl.col(one, two).str.contains("[\t\r\n]")))
        if len(unwritable):
            raise InputError(
                f"{self.name}: a word of {unwritable.row(0)[:2]} has a tab or a new line in it, which no list can hold"
            )
        with atomic.replacing(path) as file:
            table.write_csv(file, separator="\t")

    @property
    def _columns(self) -> tuple[str, str]:
        return ("from", "to") if self.directed else ("left", "right")

    def _replaced(self, name: str, table: pl.DataFrame) -> WordPairs:
        left, right = table["left"].to_list(), table["right"].to_list()
        return replace(self, name=name, left=left, right=right, weight=table["weight"].to_numpy(writable=True))

    def _table(self) -> pl.DataFrame:
        types = {"left": pl.String, "right": pl.String, "weight": pl.Float64}
        return pl.DataFrame({"left": self.left, "right": self.right, "weight": self.weight}, schema=types)

    def _with_keys(self, ordered: bool) -> pl.DataFrame:
        """(P) With the columns one and two, which are equal for both orders of a pair unless `ordered`."""
        left, right = pl.col("left"), pl.col("right")
        swapped = (left > right) & (not ordered)
        return self._table().with_columns(
            pl.when(swapped).then(right).otherwise(left).alias("one"),
            pl.when(swapped).then(left).otherwise(right).alias("two"),
        )


def not_empty(pairs: WordPairs) -> WordPairs:
    """The pairs, or an InputError if there are none."""
    if not len(pairs):
        only = f", only {pairs.skipped:,} phrases" if pairs.skipped else ""
        raise InputError(f"{pairs.name} has no pairs of words{only}")
    return pairs


def _check_triple(triple: Any) -> tuple[str, str, float]:
    if isinstance(triple, (str, bytes)):
        raise TypeError("a string is not a pair")
    one, two, *rest = triple
    if len(rest) > 1:
        raise ValueError("more than a weight")
    return _word(one), _word(two), float(rest[0]) if rest else 1.0


def _word(value: Any) -> str:
    """A word, or an integer such as a year as one."""
    if isinstance(value, str) and value.strip(" \t\r\n"):
        value.encode()  # fails for half a character (a surrogate), which cannot be written anywhere
        return str(value)
    if isinstance(value, Integral) and not isinstance(value, (bool, np.bool_)):
        return str(int(value))
    raise TypeError("not a word")
