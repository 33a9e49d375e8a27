"""Evaluation by nearest neighbors: analogies of one language, and translations from one language into another.

The answer to the analogy a : b = c : ? is the word whose vector has the largest cosine with b − a + c, all vectors
having length one, a, b and c excluded ("3CosAdd"). A translation (paper, "Cross-lingual PELP": lexicon induction) is
right if it is among the k nearest words of the other language, by the cosine or by CSLS (`questions/cosine.py`).
n questions or words to translate, V words of a language.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from laplex.errors import InputError, check_int, explain_keywords, quote
from laplex.evaluation.datasets import WordVectors, evaluated_models, read_questions, say_lowered
from laplex.fitting.held_out import Models
from laplex.lexicons.pairs import read_pairs
from laplex.lexicons.wordpairs import WordPairs
from laplex.model.vectors import Vectors
from laplex.questions.cosine import By, csls_penalty, search
from laplex.runtime.display import bar, say

Method = Literal["nearest", "csls", "both"]
Bools = NDArray[np.bool_]
Ids = NDArray[np.int64]
Penalty = NDArray[np.float32] | None  # of CSLS


@explain_keywords
def analogies(
    models: Models,
    questions: Any = None,
    *,
    most: int | None = 30_000,
    by: By = "words",
    language: str | None = None,
    quiet: bool = False,
    at: Mapping[str, Any] | None = None,
) -> pd.DataFrame:
    """The share of analogies that vectors complete, by section.

    A question with a word that the model does not know, or not among the `most` frequent ones, is missing, not wrong.
    Words are looked up in lower case if the vocabulary is in lower case. Sections whose names begin with "gram" are
    syntactic, as in Google's file, the others semantic; without both kinds there is only the total.

    Args:
        models: A model, or several by name.
        questions: A file in Google's format, or a dict from sections to tuples of four words; by default Google's own.
        most: Only this number of most frequent words may ask and answer; None for all.
        by: Vectors of "words", of "contexts", or "both", their sum.
        language: The language of the questions, if the models have several.
        quiet: Print nothing.
        at: The slice to use, where vectors vary: `{"party": "D"}`. Models that do not vary by a column ignore it.

    Returns:
        For each section, then for semantic, syntactic and all questions, and for each model: the accuracy, the numbers
        of correct, answered and missing questions.

    Example:
        lx.evaluation.analogies({"plain": plain, "with a dictionary": joined})
    """
    sections = read_questions(questions)
    named = evaluated_models(models, at)
    words = [word for asked in sections.values() for question in asked for word in question]
    section = np.repeat(list(sections), [len(asked) for asked in sections.values()])
    known: dict[str, Bools] = {}
    right: dict[str, Bools] = {}
    with bar("completing analogies", quiet=quiet) as progress:
        for number, (name, model) in enumerate(named.items()):
            table = WordVectors.of(model, by, language, at, most, name)
            say_lowered([table], words, quiet or number > 0)
            ids = table.find(words).reshape(-1, 4)
            known[name] = np.all(ids >= 0, axis=1)
            if not known[name].any():
                raise InputError(
                    f"{name} knows all four words of none of the {len(ids):,} questions ({len(table):,} words, such as "
                    f"{quote(table.vocabulary.words[:5])}): check the language, or raise most={most}"
                )

            def report(share: float, before: int = number, name: str = name) -> None:
                progress.update((before + share) / len(named), name)

            a, b, c, gold = ids[known[name]].T
            query = table.unit[b] - table.unit[a] + table.unit[c]
            best, score = search(query, table.unit, 1, exclude=np.stack([a, b, c], axis=1), report=report)
            right[name] = np.zeros(len(ids), np.bool_)
            right[name][known[name]] = (best[:, 0] == gold) & np.isfinite(score[:, 0])
    return _accuracies(section, known, right)


def _accuracies(section: NDArray[np.str_], known: dict[str, Bools], right: dict[str, Bools]) -> pd.DataFrame:
    """The table, by the section of each question, and whether each model knows its words and answers it right."""
    members = {name: section == name for name in dict.fromkeys(section.tolist())}
    syntactic = np.char.startswith(section, "gram")
    if syntactic.any() and not syntactic.all():
        members |= {"semantic": ~syntactic, "syntactic": syntactic}
    members["total"] = np.ones(len(section), np.bool_)
    rows = []
    for label, inside in members.items():
        for name in known:
            answered, correct = int(known[name][inside].sum()), int(right[name][inside].sum())
            accuracy = correct / answered if answered else float("nan")
            counts = {"correct": correct, "questions": answered, "missing": int(inside.sum()) - answered}
            rows.append({"section": label, "model": name, "accuracy": accuracy} | counts)
    return pd.DataFrame(rows)


@explain_keywords
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
    at: Mapping[str, Any] | None = None,
) -> pd.DataFrame:
    """How often a right translation is among the k nearest words of the other language, in both directions.

    Any of several translations counts. Words are looked up in lower case in a vocabulary that is in lower case.

    Args:
        models: A model of two or more languages, or several by name.
        pairs: Translations that the prior was not given: a file (a word and its translations on a line), a frame or
            tuples.
        source: The language of the first word of a pair; if there are two, by default that which knows more words.
        target: The language of the other words.
        k: The numbers of neighbors to look at, for P@1, P@5 and P@15.
        method: By cosine ("nearest"), by "csls", or "both".
        neighborhood: The number of words over which CSLS takes the mean cosine.
        most: Only this number of most frequent words of each language count; None for all.
        by: Vectors of "words", of "contexts", or "both", their sum.
        quiet: Print nothing.
        at: The slice to use, where vectors vary. Models that do not vary by a column ignore it.

    Returns:
        For each direction, model and method: P@k over `words`, those with a vector of which a translation has one too;
        `missing` words have no vector; `missing_gold` have one, but none of their translations has.

    Example:
        lx.evaluation.translation(fitted, "en-it.txt", source="en", target="it", k=[1, 5])
    """
    if method not in ("nearest", "csls", "both"):
        raise InputError(f'method="{method}": write "nearest", "csls" or "both"')
    gold = read_pairs(pairs)
    named = evaluated_models(models, at)
    languages = _languages(next(iter(named.values())), source, target, gold)
    cutoffs = [check_int("k", cutoff) for cutoff in (k if isinstance(k, (Sequence, np.ndarray)) else [k])]
    if not cutoffs:
        raise InputError("k=() must be whole numbers from 1, such as (1, 5, 15)")
    neighborhood = check_int("neighborhood", neighborhood)
    methods: list[Method] = ["nearest", "csls"] if method == "both" else [method]
    rows = []
    with bar("translating", quiet=quiet) as progress:
        for number, (name, model) in enumerate(named.items()):
            tables = [WordVectors.of(model, by, language, at, most, name) for language in languages]
            say_lowered(tables, gold.left + gold.right, quiet or number > 0)
            for table in tables:
                _check_size("k", max(cutoffs), table)
                _check_size("neighborhood", neighborhood if "csls" in methods else 1, table)
            ids = _look_up(name, tables, gold)
            one, two = tables
            if 2 * np.count_nonzero((ids >= 0).all(1)) < len(gold):
                say(f"{name}: {gold.coverage(one.vocabulary, two.vocabulary)}", quiet=quiet)
            directions = (one, two, gold.left, ids), (two, one, gold.right, ids[:, ::-1])
            for direction, (here, there, words, places) in enumerate(directions):

                def report(share: float, done: int = 2 * number + direction, name: str = name) -> None:
                    progress.update((done + share) / (2 * len(named)), name)

                labels = {"from": here.vocabulary.language, "to": there.vocabulary.language, "model": name}
                for method in methods:
                    penalty = None
                    if method == "csls":
                        penalty = csls_penalty(there.unit, here.unit, neighborhood, report=report)
                    precision = _precision(here, there, words, places, cutoffs, penalty)
                    rows.append(labels | {"method": method} | precision)
    return pd.DataFrame(rows)


def _languages(model: Vectors, source: str | None, target: str | None, gold: WordPairs) -> tuple[str, str]:
    """The languages of the first and the second word of a pair."""
    if source is not None and target is not None:
        if source == target:
            raise InputError(f'source and target are both "{source}": name two languages')
        return source, target
    if len(model.languages) != 2:
        raise InputError(
            f"say which languages: source= and target= of {quote(model.languages)}, or --language and --to-language as "
            "options"
        )
    one, two = model.languages
    for known in (source, target):
        model.language(one if known is None else known)
    if source is None and target is None:
        first, second = model.rows.vocabularies
        ahead = sum((a in first and b in second) - (a in second and b in first) for a, b in zip(gold.left, gold.right))
        return (one, two) if ahead >= 0 else (two, one)
    return (one, two) if one == source or two == target else (two, one)


def _check_size(name: str, value: int, table: WordVectors) -> None:
    if value > len(table):
        raise InputError(f'{name}={value}, but "{table.vocabulary.language}" has only {len(table):,} words')


def _look_up(name: str, tables: list[WordVectors], gold: WordPairs) -> Ids:
    """(pairs, 2) The ids of the words of each pair, −1 for those without a vector."""
    ids = np.stack([tables[0].find(gold.left), tables[1].find(gold.right)], axis=1)
    if not (ids >= 0).all(1).any():
        one, two = (table.vocabulary.language for table in tables)
        swapped = ((tables[1].find(gold.left) >= 0) & (tables[0].find(gold.right) >= 0)).any()
        hint = (
            "; they are the other way round: swap source and target (--language and --to-language)" if swapped else ""
        )
        pairs = f"none of the {len(gold):,} pairs of {gold.name}"
        raise InputError(f"{name} knows both words of {pairs} in {one} and {two}{hint}")
    return ids


def _precision(
    here: WordVectors, there: WordVectors, words: list[str], ids: Ids, cutoffs: list[int], penalty: Penalty
) -> dict[str, float | int]:
    """P@k of the translations of words, by the ids (pairs, 2) of each word and a right answer; and their numbers."""
    both = (ids >= 0).all(1)
    known = np.unique(ids[both, 0])
    gold = ids[both, 0] * len(there) + ids[both, 1]  # one number for a pair of words
    nearest, _ = search(here.unit[known], there.unit, max(cutoffs), penalty=penalty)
    right = np.isin(known[:, None] * len(there) + nearest, gold)
    shares: dict[str, float | int] = {f"P@{k}": float(right[:, :k].any(1).mean()) for k in cutoffs}
    missing = len({here.spelling(word) for word, number in zip(words, ids[:, 0], strict=True) if number < 0})
    missing_gold = len(np.unique(ids[ids[:, 0] >= 0, 0])) - len(known)
    return shares | {"words": len(known), "missing": missing, "missing_gold": missing_gold}
