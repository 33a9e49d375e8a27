"""What a fit found, in a few sentences, and the commands with which to go on from a model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from laplex.cli.printing import explorer, show, suggest
from laplex.embeddings import Embeddings
from laplex.reports import choosing
from laplex.reports.finding import Finding, panel
from laplex.reports.findings import sentence
from laplex.reports.highlights import highlights

NOTHING_HOLDS = ": no row of the list holds"  # which is said of a table
WORDS_LOOKED_AT = 200  # the most frequent, among which a word to ask about is found


def show_findings(fitted: Embeddings, most: int, *, passages: bool = False) -> list[Finding]:
    """Print what the tests of a fit say, and the first findings, with a passage of either side if that is asked."""
    tests = choosing.inference(fitted, choosing.first_language(fitted))
    for column in fitted.columns:
        if (stored := tests.stored(column)) is not None:
            show(f"\n{sentence(stored.attrs['summary'].removesuffix(NOTHING_HOLDS))}")
    found = list(highlights(tests, most=most).findings)
    for number, finding in enumerate(found, 1):
        if passages or number == 1:
            show("")
        show(finding.sentence, "   ", f"{number}. ")
        if passages:
            _show_evidence(finding, tests)
    return found


def _show_evidence(finding: Finding, tests: Any) -> None:
    users = " and ".join(f"{side.units:,}" for side in finding.sides)
    users = f"; used by {users} {'documents' if finding.unit is None else f'values of {finding.unit}'}" if users else ""
    interval = f"{finding.interval:.0%} interval {finding.lower:.2f} to {finding.upper:.2f}"
    show(f"Difference {finding.estimate:.2f} ({interval}), adjusted p {finding.p_adjusted:.2g}{users}.", "   ", "   ")
    sides = tuple(side.name for side in finding.sides)
    for side in panel(finding.explain(tests), sides, fitted=tests.fitted) if sides else ():
        for quote in side["passages"]:
            text = f"{side['name']}: … {quote['before']}{quote['word']}{quote['after']} … ({quote['source']})"
            show(text, "      ", "   ")


def suggest_questions(
    model: Path | str, fitted: Embeddings, found: Sequence[Finding] = (), *, quiet: bool = False
) -> None:
    """Print the commands that ask a model first: its columns, a word, and all of it at once."""
    language = choosing.first_language(fitted) if len(fitted.languages) > 1 else None
    named = ["--language", language] if language else []
    tests = choosing.inference(fitted, choosing.first_language(fitted))
    commands: list[list[Any]] = [
        [tests.question(name), model, name, *named] for name in choosing.compared_columns(fitted)[:2]
    ]
    for finding in found[:1]:
        values = [part for value in finding.values or [] for part in ("--value", value)]
        commands.append(["explain", model, finding.word, finding.column, *values, *named])
    words = [finding.word for finding in found[:1]] or _content_words(fitted, language)
    commands += [["neighbors", model, word, *named] for word in words]
    page = Path(model).with_suffix(".html").name
    suggest([*commands, *explorer(model), ["report", model, "--out", page]], quiet=quiet)


def _content_words(fitted: Embeddings, language: str | None) -> list[str]:
    """The most frequent word that is no function word, if there is one."""
    import pandas as pd

    words = pd.Series(fitted.words(language)[:WORDS_LOOKED_AT], dtype=str)
    return list(words[choosing.is_content_word(fitted, words, language)].head(1))
