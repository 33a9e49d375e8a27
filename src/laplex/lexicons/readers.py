"""Lists that say what they are: synonyms, antonyms, paraphrases, translations.

Any source of `read_pairs` comes in; WordPairs go out, in lower case as the words of a corpus are by default.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from laplex.errors import InputError
from laplex.lexicons import lists
from laplex.lexicons.pairs import WordPairs, read_pairs


def synonyms(source: Any, *, lowercase: bool = True, **options: Any) -> WordPairs:
    """Words that mean the same, with weight 1 or the weight of the list. Options are those of `read_pairs`."""
    pairs = read_pairs(source, lowercase=lowercase, **options)
    if (pairs.weight < 0).any():
        place = int((pairs.weight < 0).argmax())
        raise InputError(
            f"{pairs.name}: {pairs.left[place]} and {pairs.right[place]} have the weight {pairs.weight[place]:g}, so "
            "they are no synonyms: read the list by read_pairs, or as antonyms"
        )
    return pairs


def antonyms(source: Any, *, lowercase: bool = True, **options: Any) -> WordPairs:
    """Words that mean the contrary, with weight −1 or minus the weight of the list: Pairs keeps them unlike.

    >>> antonyms([("hot", "cold")]).to_frame()
      left right  weight
    0  hot  cold    -1.0
    """
    pairs = read_pairs(source, lowercase=lowercase, **options)
    return replace(pairs, weight=-np.abs(pairs.weight))


def paraphrases(source: Any, score: str | None = None, *, lowercase: bool = True, encoding: str = "utf-8") -> WordPairs:
    """PPDB-style lists: a word and its paraphrases a line, or PPDB's own format with ||| between its fields.

    `score` names the feature of PPDB's that is the weight, such as "PPDB2.0Score" or "AGigaSim"; lines where it is
    NA are skipped. In the plain lists no number is a weight.
    """
    if score is None:
        return read_pairs(source, separator=" ", weights=False, lowercase=lowercase, encoding=encoding)
    if not isinstance(source, (str, os.PathLike)):
        raise InputError(f'score="{score}" is a feature in a file of PPDB\'s: pass its path')
    return read_pairs(lists.paraphrases_of(Path(source), score, encoding), lowercase=lowercase)


def translations(source: Any, *, lowercase: bool = True, **options: Any) -> WordPairs:
    """Words and their translations: MUSE's lists (a pair a line, or a word, a tab and its translations), FreeDict's
    .tei files, or any other source of `read_pairs`."""
    return read_pairs(source, lowercase=lowercase, **options)
