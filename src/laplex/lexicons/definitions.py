"""Strong and weak pairs of words from dictionary definitions, as in dict2vec.

(word, definition) comes in, one row for each sense; Definitions go out. Two words are a strong pair if each is in a
definition of the other, a weak pair if only one is. The definitions of a word in all sources are taken together.

Let n(w, x) be the number of different definitions of w that have x. The weight of a strong pair is the smaller of
n(w, x) and n(x, w), that of a weak pair is n(w, x): how many definitions agree. V words, P pairs.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from laplex.errors import InputError
from laplex.lexicons import glossaries, promotion, stopwords
from laplex.lexicons.wordpairs import WordPairs
from laplex.progress import bar
from laplex.tokenizer import Rule, Tokenizer

ROWS = 8192  # definitions at a time

Ids = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Definitions:
    """The pairs, and what they were made from.

    A strong pair stands in the order of the alphabet, a weak one with the defined word left. `rows` were read;
    of these `several` define no single word and `repeated` repeat another. `words` are defined by the others.
    `promoted` of the strong pairs were weak ones.
    """

    strong: WordPairs
    weak: WordPairs
    rows: int
    words: int
    several: int
    repeated: int
    promoted: int

    @property
    def skipped(self) -> int:
        return self.several + self.repeated

    def summary(self) -> str:
        """All counts, in a few lines."""
        promoted = f", {self.promoted:,} of them promoted" if self.promoted else ""
        return (
            f"{self.rows:,} definitions, of {self.words:,} words\n"
            f"{self.skipped:,} skipped ({self.several:,} of more than one word, {self.repeated:,} repeated)\n"
            f"{len(self.strong):,} strong pairs{promoted}\n"
            f"{len(self.weak):,} weak pairs"
        )

    def __repr__(self) -> str:
        return f"Definitions: {len(self.strong):,} strong and {len(self.weak):,} weak pairs"


def definitions(
    source: Any,
    *,
    language: str = "en",
    stop_words: str | Iterable[str] | None = None,
    min_length: int = 2,
    promote: int = 0,
    vectors: Any = None,
    tokenizer: Rule = None,
    lowercase: bool = True,
    encoding: str = "utf-8",
    quiet: bool = False,
) -> Definitions:
    """Strong and weak pairs of words from their definitions.

    source      a file of the columns word and definition (CSV, TSV, JSON lines, each also .gz and .zst, or Parquet), or
                of two columns without names; a frame; a dict; (word, definition) tuples; or a list of several of these
    stop_words  words that never count: a list of them, or a file with a word a line. By default those of `language`
    min_length  shorter words never count either
    promote     make a weak pair strong if each word is among this many nearest words of the other, by the cosine of
                `vectors`: a dict from words to vectors, gensim's KeyedVectors, or (words, matrix)
    tokenizer   and `lowercase` are those of `read`: the words should be the same as those of the corpus

    >>> pairs = definitions({"car": "a vehicle", "vehicle": "a car or a ship", "ship": "it sails"})
    >>> pairs.strong.to_frame()
      left    right  weight
    0  car  vehicle     1.0
    >>> pairs.weak.to_frame()
          left  right  weight
    0     ship  sails     1.0
    1  vehicle   ship     1.0
    """
    if not isinstance(promote, int) or promote < 0:
        raise InputError(f"promote={promote!r}: give a number of nearest words, 0 for none")
    if (promote > 0) != (vectors is not None):
        raise InputError("promote= and vectors= go together: how many nearest words, and in which vectors")
    ignored = stopwords.chosen(language, stop_words)
    name, rows = glossaries.read(source, encoding)
    read = len(rows)
    rows = rows.fill_null("").unique(maintain_order=True)
    witnesses, single = _witnesses(rows, Tokenizer(tokenizer, lowercase), quiet)
    words, one, two, count = _counted(witnesses, ignored, min_length)
    back = _reverse(one, two, count, len(words))
    strong = (back > 0) & (one < two)
    weak = back == 0
    promoted = np.zeros(len(one), np.bool_)
    if promote:
        promoted[weak] = promotion.near(words, one[weak], two[weak], vectors, promote, quiet=quiet)
    weight = np.where(strong, np.minimum(count, back), count)
    return Definitions(
        strong=_pairs(f"strong pairs of {name}", words, one, two, weight, strong | promoted),
        weak=_pairs(f"weak pairs of {name}", words, one, two, weight, weak & ~promoted),
        rows=read,
        words=witnesses["word"].n_unique(),
        several=len(rows) - single,
        repeated=read - len(rows),
        promoted=int(promoted.sum()),
    )


def _witnesses(rows: pl.DataFrame, tokenizer: Tokenizer, quiet: bool) -> tuple[pl.DataFrame, int]:
    """word, other: one row for each different word of each definition; and how many rows define a single word."""
    kind = pl.Categorical(pl.Categories.random())  # words become numbers at once; the names go with the frame
    pieces = [pl.DataFrame(schema={"word": kind, "other": kind})]
    single = 0
    with bar("reading definitions", quiet=quiet) as progress:
        for start in range(0, len(rows), ROWS):
            piece = rows.slice(start, ROWS)
            heads, others = tokenizer.split(piece["word"]), tokenizer.split(piece["definition"])
            frame = pl.DataFrame({"word": heads, "other": others.list.unique()}).filter(pl.col("word").list.len() == 1)
            single += len(frame)
            frame = frame.with_columns(pl.col("word").list.first()).explode("other").drop_nulls()
            pieces.append(frame.with_columns(pl.all().cast(kind)))
            progress.update((start + len(piece)) / len(rows), f"{start + len(piece):,} definitions")
    return pl.concat(pieces), single


def _counted(witnesses: pl.DataFrame, ignored: frozenset[str], min_length: int) -> tuple[list[str], Ids, Ids, Ids]:
    """The words in the order of the alphabet, and for each pair (P), in order, its two words and how often it is."""
    named = pl.concat([witnesses["word"].unique(), witnesses["other"].unique().alias("word")]).unique()
    named = named.gather(named.cast(pl.String).arg_sort())
    names, size = named.cast(pl.String), len(named)
    numbers = named.to_physical().to_numpy()
    rank = np.zeros(int(numbers.max(initial=0)) + 1, np.int64)
    rank[numbers] = np.arange(size)
    counts = ~names.is_in(sorted(ignored)).to_numpy() & (names.str.len_chars() >= min_length).to_numpy()
    one, two = (rank[witnesses[column].to_physical().to_numpy()] for column in ("word", "other"))
    chosen = counts[one] & counts[two] & (one != two)
    pairs, count = np.unique(one[chosen] * size + two[chosen], return_counts=True)
    return names.to_list(), pairs // max(size, 1), pairs % max(size, 1), count


def _reverse(one: Ids, two: Ids, count: Ids, size: int) -> Ids:
    """(P) The count of the pair the other way round, 0 if there is none."""
    keys, turned = one * size + two, two * size + one
    order = np.argsort(turned)  # looked up in order, since a search that jumps about is several times slower
    place = np.searchsorted(keys, turned[order])
    back = np.zeros(len(keys), np.int64)
    found = place < len(keys)
    found[found] = keys[place[found]] == turned[order][found]
    back[order[found]] = count[place[found]]
    return back


def _pairs(name: str, words: list[str], one: Ids, two: Ids, weight: Ids, chosen: NDArray[np.bool_]) -> WordPairs:
    left = [words[i] for i in one[chosen].tolist()]
    right = [words[i] for i in two[chosen].tolist()]
    return WordPairs(name, left, right, weight[chosen].astype(np.float64))
