"""Do vectors know that a man is to a king as a woman is to a queen?

Models and questions of four words come in; a frame with the share of right answers goes out, section by section. The
answer to a : b = c : ? is the word whose vector has the largest cosine with b − a + c, all vectors being of length one
and a, b and c excluded ("3CosAdd").
n questions, V words, D dimensions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from laplex.errors import InputError, quote
from laplex.evaluation.datasets import Section, read_questions
from laplex.evaluation.lookup import Models, Table, named, say_lowered, slices_of, table
from laplex.evaluation.nearest import nearest
from laplex.progress import bar
from laplex.questions.cosine import By


def analogies(
    models: Models,
    questions: Any = None,
    *,
    most: int | None = 30_000,
    by: By = "words",
    language: str | None = None,
    quiet: bool = False,
    **slice: Any,
) -> pd.DataFrame:
    """The share of analogies that vectors complete, section by section, then semantic, syntactic and in total.

    models     a model, or several by name
    questions  a file in Google's format, or four-word tuples in a dict by section; Google's 19,544 by default
    most       only the so many most frequent words count, as questions and as answers; None for all
    by         vectors of "words", of "contexts", or "both", their sum
    slice      which slice, where vectors vary: party="D". Models that do not vary by a column pass over it

    A question with a word that the model does not know, or not among the `most` frequent ones, is missing, not wrong.
    Words are looked up in lower case if the vocabulary is in lower case. The kinds are Google's: sections whose names
    begin with "gram" are syntactic; without both kinds there is only the total.
    """
    sections = read_questions(questions)
    chosen = named(models)
    values = slices_of(chosen, slice)
    words = [word for section in sections for question in section.questions for word in question]
    section_of = np.repeat(np.arange(len(sections)), [len(section.questions) for section in sections])
    known: dict[str, NDArray[np.bool_]] = {}
    right: dict[str, NDArray[np.bool_]] = {}
    with bar("completing analogies", quiet=quiet) as progress:
        for number, (name, model) in enumerate(chosen.items()):
            found = table(model, by, language, values[name], most, name)
            say_lowered([found], words, quiet or number > 0)
            ids = found.find(words).reshape(-1, 4)
            known[name] = np.all(ids >= 0, axis=1)
            if not known[name].any():
                raise InputError(
                    f"{name} knows all four words of none of the {len(ids):,} questions ({len(found):,} words, such as "
                    f"{quote(found.vocabulary.words[:5])}): check the language, or raise most={most}"
                )

            def report(share: float, before: int = number, name: str = name) -> None:
                progress.update((before + share) / len(chosen), name)

            right[name] = np.zeros(len(ids), np.bool_)
            right[name][known[name]] = _answer(found, ids[known[name]], report) == ids[known[name], 3]
    return _frame(sections, section_of, known, right)


def _answer(words: Table, ids: NDArray[np.int64], report: Callable[[float], None]) -> NDArray[np.int64]:
    """(n) The word nearest to b − a + c that is none of them; −1 if the vocabulary has no other."""
    asked = ids[:, :3]
    query = words.unit[asked[:, 1]] - words.unit[asked[:, 0]] + words.unit[asked[:, 2]]
    best, _ = nearest(query, words.unit, min(4, len(words)), report=report)
    new = (best[:, :, None] != asked[:, None, :]).all(2)
    first = best[np.arange(len(best)), new.argmax(1)]
    return np.where(new.any(1), first, -1)


def _frame(
    sections: list[Section],
    section_of: NDArray[np.int64],
    known: dict[str, NDArray[np.bool_]],
    right: dict[str, NDArray[np.bool_]],
) -> pd.DataFrame:
    members = {section.name: section_of == i for i, section in enumerate(sections)}
    kinds = np.array([section.kind for section in sections])[section_of]
    if len(set(kinds)) > 1:
        members |= {kind: kinds == kind for kind in ("semantic", "syntactic")}
    members["total"] = np.ones(len(section_of), np.bool_)
    rows = []
    for label, inside in members.items():
        for name in known:
            covered, correct = int(known[name][inside].sum()), int(right[name][inside].sum())
            accuracy = correct / covered if covered else float("nan")
            counts = {"correct": correct, "questions": covered, "missing": int(inside.sum()) - covered}
            rows.append({"section": label, "model": name, "accuracy": accuracy} | counts)
    return pd.DataFrame(rows)
