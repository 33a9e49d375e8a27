"""Pairs of words with weights, from wherever a user has them.

A file (two words a line, or a word and several others; separated by tabs, commas or spaces; perhaps a weight last), a
frame of two or three columns, a networkx graph, or tuples come in; a WordPairs goes out.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from laplex.errors import InputError


@dataclass(frozen=True)
class WordPairs:
    """`left[i]` and `right[i]` belong together by `weight[i]`, negative if they are to be unlike."""

    name: str
    left: list[str]
    right: list[str]
    weight: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.left)


def read_pairs(source: Any) -> WordPairs:
    """The pairs in a file, a frame, a networkx graph, or an iterable of (word, word) or (word, word, weight)."""
    if isinstance(source, WordPairs):
        return source
    triples: Iterable[Any]
    if isinstance(source, (str, os.PathLike)):
        name, triples = f'"{source}"', _of_file(Path(source))
    elif hasattr(source, "edges") and hasattr(source, "nodes"):
        name, triples = "the graph", source.edges(data="weight", default=1.0)
    elif hasattr(source, "columns"):
        name, triples = "the frame", zip(*(list(source[column]) for column in source.columns))
    elif isinstance(source, Iterable):
        name, triples = "the list of pairs", source
    else:
        raise InputError(f"cannot read pairs of words from {type(source).__name__}: pass a path, a frame or tuples")
    left: list[str] = []
    right: list[str] = []
    weight: list[float] = []
    for number, triple in enumerate(triples, 1):
        try:
            one, two, *rest = triple
            left.append(str(one))
            right.append(str(two))
            weight.append(float(rest[0]) if rest else 1.0)
        except (TypeError, ValueError, IndexError):
            raise InputError(f"{name}, pair {number:,}: {triple!r} is not two words and perhaps a weight") from None
        if not math.isfinite(weight[-1]):
            raise InputError(f"{name}, pair {number:,}: the weight of {one} and {two} is {weight[-1]}")
    if not left:
        raise InputError(f"{name} has no pairs of words")
    return WordPairs(name, left, right, np.array(weight))


def _of_file(path: Path) -> Iterator[tuple[str, str, float]]:
    try:
        with open(path, encoding="utf-8-sig") as file:
            for number, line in enumerate(file, 1):
                words = _split(line)
                if not words or line.startswith("#"):
                    continue
                weight = 1.0
                if len(words) > 2 and (value := _number(words[-1])) is not None:
                    weight = value
                    words.pop()
                if len(words) < 2:
                    raise InputError(f'"{path}", line {number:,}: {line.strip()[:60]!r} is not two words')
                for other in words[1:]:
                    yield words[0], other, weight
    except OSError as error:
        raise InputError(f'cannot read "{path}": {error.strerror or error}') from None
    except UnicodeDecodeError as error:
        raise InputError(f'"{path}" is not utf-8: {error}') from None


def _split(line: str) -> list[str]:
    mark = "\t" if "\t" in line else "," if "," in line else None
    words = [word.strip() for word in line.split(mark)]
    if mark == "\t":  # MUSE-like lists: a word, a tab, its translations
        words = [part for word in words for part in word.split()]
    return [word for word in words if word]


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
