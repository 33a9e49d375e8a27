"""Is a word's nearest neighbor in the other language its translation? (paper, "Cross-lingual PELP": lexicon induction)

Models of two languages and a list of translations come in; a frame with precision at k goes out, in both directions.
The neighbors are those by cosine, or by CSLS, which takes off how near a candidate is to everything:

    csls(x, y) = 2 cos(x, y) − r(x) − r(y),   r: the mean cosine with the nearest words of the other language

n words to translate, V words of a language.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from laplex.errors import InputError, quote, whole
from laplex.evaluation.lookup import Models, Table, named, say_lowered, slices_of, table
from laplex.evaluation.nearest import nearest
from laplex.lexicons.pairs import WordPairs, read_pairs
from laplex.progress import bar
from laplex.questions.cosine import By
from laplex.vectors import Vectors

Method = Literal["nearest", "csls", "both"]


def translation(
    models: Models,
    pairs: Any,
    *,
    source: str | None = None,
    target: str | None = None,
    k: int | Sequence[int] = (1, 5, 15),
    method: Method = "both",
    neighborhood: int = 10,
    most: int | None = None,
    by: By = "words",
    quiet: bool = False,
    **slice: Any,
) -> pd.DataFrame:
    """How often a right translation is among the k nearest words of the other language, in both directions.

    models        a model of two or more languages, or several by name
    pairs         translations: a file (a word and its translations on a line), a frame or tuples. They should be none
                  that the prior was told
    source        the language of the first word of a pair;  target: that of the others. With two languages they need
                  not be named: the order that knows more of the words is taken
    k             P@1, P@5 and P@15 are for these
    method        by cosine ("nearest"), by "csls", or "both"
    neighborhood  how many words CSLS takes its means over
    most          only the so many most frequent words of each language count; None for all
    by            vectors of "words", of "contexts", or "both", their sum
    slice         which slice, where vectors vary. Models that do not vary by a column pass over it

    Any of several translations counts. P@k is over `words`: those with a vector, one of whose translations has one too.
    `missing` words have no vector; `missing_gold` have one, but none of their translations has. Words are looked up in
    lower case in a vocabulary that is in lower case.
    """
    if method not in ("nearest", "csls", "both"):
        raise InputError(f'method="{method}": write "nearest", "csls" or "both"')
    gold = read_pairs(pairs)
    chosen = named(models)
    languages = _languages(next(iter(chosen.values())), source, target, gold)
    values = slices_of(chosen, slice)
    cutoffs, neighborhood = _cutoffs(k), whole("neighborhood", neighborhood)
    methods = ["nearest", "csls"] if method == "both" else [method]
    rows = []
    with bar("translating", quiet=quiet) as progress:
        for number, (name, model) in enumerate(chosen.items()):
            tables = [table(model, by, language, values[name], most, name) for language in languages]
            say_lowered(tables, gold.left + gold.right, quiet or number > 0)
            _check_sizes(tables, max(cutoffs), neighborhood if "csls" in methods else 1)
            ids = _look_up(name, tables, gold)
            for turn, (here, there) in enumerate(((0, 1), (1, 0))):

                def report(share: float, done: int = 2 * number + turn, name: str = name) -> None:
                    progress.update((done + share) / (2 * len(chosen)), name)

                task = _Task(tables[here], tables[there], ids[:, [here, there]], _words(gold, tables[here], here))
                labels = {"from": languages[here], "to": languages[there], "model": name}
                for one in methods:
                    rows.append(labels | {"method": one} | task.precision(one, cutoffs, neighborhood, report))
    return pd.DataFrame(rows)


def _languages(model: Vectors, source: str | None, target: str | None, gold: WordPairs) -> tuple[str, str]:
    """The languages of the first and the second word of a pair."""
    if source is not None and target is not None:
        if source == target:
            raise InputError(f'source and target are both "{source}": name two languages')
        return source, target
    if len(model.languages) != 2:
        raise InputError(f"say which languages: source= and target= of {quote(model.languages)}")
    one, two = model.languages
    for known in (source, target):
        model.language(one if known is None else known)
    if source is None and target is None:
        first, second = model.rows.vocabularies
        ahead = sum((a in first and b in second) - (a in second and b in first) for a, b in zip(gold.left, gold.right))
        return (one, two) if ahead >= 0 else (two, one)
    return (one, two) if one == source or two == target else (two, one)


def _cutoffs(k: int | Sequence[int]) -> list[int]:
    cutoffs = list(k) if isinstance(k, (Sequence, np.ndarray)) else [k]
    if not cutoffs:
        raise InputError("k=() must be whole numbers from 1, such as (1, 5, 15)")
    return [whole("k", one) for one in cutoffs]


def _check_sizes(tables: list[Table], largest: int, neighborhood: int) -> None:
    for words in tables:
        for label, value in (("k", largest), ("neighborhood", neighborhood)):
            if value > len(words):
                raise InputError(f'{label}={value}, but "{words.vocabulary.language}" has only {len(words):,} words')


def _look_up(name: str, tables: list[Table], gold: WordPairs) -> NDArray[np.int64]:
    """(pairs, 2) The numbers of the words of each pair, −1 for those without a vector."""
    ids = np.stack([tables[0].find(gold.left), tables[1].find(gold.right)], axis=1)
    if not (ids >= 0).all(1).any():
        one, two = (words.vocabulary.language for words in tables)
        turned = ((tables[1].find(gold.left) >= 0) & (tables[0].find(gold.right) >= 0)).any()
        hint = "; they are the other way round: swap source and target" if turned else ""
        pairs = f"none of the {len(gold):,} pairs of {gold.name}"
        raise InputError(f"{name} knows both words of {pairs} in {one} and {two}{hint}")
    return ids


def _words(gold: WordPairs, words: Table, side: int) -> list[str]:
    return [words.spelling(word) for word in (gold.left, gold.right)[side]]


class _Task:
    """Translate from one language into another."""

    def __init__(self, here: Table, there: Table, ids: NDArray[np.int64], words: list[str]) -> None:
        self.here, self.there = here, there
        both = (ids >= 0).all(1)
        self.asked = np.unique(ids[both, 0])
        self.gold = ids[both, 0] * len(there) + ids[both, 1]  # one number for a pair of words
        self.missing = len({word for word, number in zip(words, ids[:, 0], strict=True) if number < 0})
        self.missing_gold = len(np.unique(ids[ids[:, 0] >= 0, 0])) - len(self.asked)

    def precision(
        self, method: str, cutoffs: list[int], neighborhood: int, report: Callable[[float], None]
    ) -> dict[str, float | int]:
        penalty = None
        if method == "csls":  # r(x) is the same for all candidates of a word and changes no order
            cosines = nearest(self.there.unit, self.here.unit, neighborhood, report=report)[1]
            penalty = cosines.mean(1) / 2
        found, _ = nearest(self.here.unit[self.asked], self.there.unit, max(cutoffs), penalty=penalty)
        right = np.isin(self.asked[:, None] * len(self.there) + found, self.gold)
        shares: dict[str, float | int] = {f"P@{k}": float(right[:, :k].any(1).mean()) for k in cutoffs}
        return shares | {"words": len(self.asked), "missing": self.missing, "missing_gold": self.missing_gold}
