"""The three to five findings of a model that a reader should see first; where nothing holds, that and why.

Reports, the explorer and notebooks begin with them. Choosing them reads only tables of findings, which are kept with a
model, and takes milliseconds. Passages take part of a second for each word, as the text is read for them: callers ask
for an explanation (`Finding.explain`) when they show one, and may keep it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from laplex.reports import choosing
from laplex.reports.finding import Finding, finding
from laplex.runtime.display import card

MOST = 5  # findings that are shown first
NEAREST = 3  # words that come nearest where nothing holds
CONSIDERED = 100  # of the rows of a comparison, the surest
SHARED_CONTEXT = 0.5  # of the context words of a side, with which two findings say much the same


@dataclass(frozen=True)
class Nothing:
    """A column about which nothing holds: sentences on what was tested, why nothing holds and what would help."""

    column: str
    sentences: tuple[str, ...]
    nearest: tuple[Finding, ...] = ()


@dataclass(frozen=True)
class Highlights:
    """What a reader should see first: `findings`, which all hold, and the columns about which `nothing` holds."""

    findings: tuple[Finding, ...]
    nothing: tuple[Nothing, ...]


def highlights(tests: Any, tables: Mapping[str, pd.DataFrame] | None = None, *, most: int = MOST) -> Highlights:
    """Choose the findings that a reader should see first.

    The surest finding of each comparison comes before the second of any, and of words that stand in the same contexts
    one is enough. Function words and numbers are left out.

    Args:
        tests: The `laplex.inference.Inference` that is asked, such as `choosing.inference(fitted)`.
        tables: Tables of findings by column. By default those that are kept with the model.
        most: How many findings at most.

    Returns:
        The Highlights.

    Example:
        for found in highlights(fitted.inference(quiet=True)).findings:
            print(found.sentence, found.evidence)
    """
    fitted = tests.fitted
    if tables is None:
        tables = choosing.stored_findings(fitted, tests.language)
    columns = list(dict.fromkeys([*tables, *choosing.compared_columns(fitted)]))
    nothing = [_nothing(tests, name, tables.get(name)) for name in columns]
    if not columns:
        nothing.append(Nothing("", ("The vectors do not vary by any column, so there is nothing to compare.",)))
    return Highlights(tuple(_chosen(tests, tables, most)), tuple(one for one in nothing if one is not None))


def findings_in_card(fitted: Any) -> list[tuple[str, str]]:
    """The highlights of a model for its card in a notebook: each as a sentence, and what unfolds below it."""
    found = highlights(choosing.inference(fitted, choosing.first_language(fitted)))
    parts = [
        (one.sentence, card("", [("", text) for text in (one.evidence, one.sizes) if text])) for one in found.findings
    ]
    return parts + [(one.sentences[0], card("", [("", text) for text in one.sentences[1:]])) for one in found.nothing]


def _chosen(tests: Any, tables: Mapping[str, pd.DataFrame], most: int) -> list[Finding]:
    """The first findings of all comparisons in turn, with other words and other contexts than those before."""
    queues = [
        _rows(tests, column, frame[(frame["value"] == value) & (frame["against"] == against) & frame["holds"]])
        for column, frame in tables.items()
        for value, against in choosing.comparisons(frame)
    ]
    chosen: list[Finding] = []
    alike: list[Finding] = []  # which fill places that would stay empty
    for turn in range(max(map(len, queues), default=0)):
        for queue in queues:
            if len(chosen) < most and turn < len(queue):
                found = queue[turn]
                if found.word not in [one.word for one in chosen]:
                    (alike if any(_are_alike(found, one) for one in chosen) else chosen).append(found)
    for found in alike:
        if len(chosen) < most and found.word not in [one.word for one in chosen]:
            chosen.append(found)
    return chosen


def _rows(tests: Any, column: str, rows: pd.DataFrame) -> list[Finding]:
    """The rows of a comparison that a reader understands: content words, those with contexts of both sides first."""
    rows = rows[choosing.is_content_word(tests.fitted, rows["word"], tests.language)]
    is_clear = (rows["context"] != "") & (rows["context_against"] != "")
    question, facts = rows.attrs.get("question", tests.question(column)), rows.attrs.get("facts", {})
    ordered = pd.concat([rows[is_clear], rows[~is_clear]]).head(CONSIDERED).to_dict("records")
    return [finding(tests, column, row, question, facts.get("unit")) for row in ordered]


def _are_alike(one: Finding, two: Finding) -> bool:
    """Whether two words stand in much the same contexts, such as “ending” and “year” of a fiscal year."""
    if (one.column, one.value, one.against) != (two.column, two.value, two.against):
        return False
    shared = [
        len({*a.context} & {*b.context, two.word}) / max(min(len(a.context), len(b.context)), 1)
        for a, b in zip(one.sides, two.sides)
    ]
    return max(shared, default=0.0) >= SHARED_CONTEXT


def _nothing(tests: Any, column: str, frame: pd.DataFrame | None) -> Nothing | None:
    """Why nothing holds about a column; None if something does."""
    if frame is None:
        call = f'fitted.{tests.question(column)}("{column}")'
        return Nothing(column, (f"{column} has not been tested: {call} tests it, if the text is at hand.",))
    if frame["holds"].any():
        return None
    tested = frame[frame["p"].notna()]
    facts = frame.attrs.get("facts", {})
    unit = facts.get("unit")
    units = f"{facts.get('units', 0):,} {f'values of {unit}' if unit else 'documents'}"
    need = f"{facts.get('min_count')} uses by {facts.get('min_units')} of them on each side"
    if tested.empty:
        said = (f"Nothing could be tested by {column}: no word has {need}.", f"The text is by {units}.")
        return Nothing(column, (*said, "More text would help, or lower min_count and min_units."))
    verb = "change along" if tests.question(column) == "drift" else "differ by"
    number = tested["word"].nunique()
    best = tested.sort_values(["p_adjusted", "p"], kind="stable").to_dict("records")[0]
    sentences = [
        f"None of {number:,} words is shown to {verb} {column}.",
        f"The smallest adjusted p is {best['p_adjusted']:.2g} (“{best['word']}”); a word holds at "
        f"{tests.level:g} or less, if its interval begins at {tests.min_effect:g} or more.",
    ]
    if small := int((tested["p_adjusted"] <= tests.level).sum()):
        sentences.append(f"{small:,} words reach that p, but the interval of each begins below {tests.min_effect:g}.")
    sentences.append(f"The evidence is what {units} have in common, however much text each of them has.")
    sentences.append(_help(tests, column, unit))
    return Nothing(column, tuple(sentences), tuple(_rows(tests, column, tested.head(10 * NEAREST))[:NEAREST]))


def _help(tests: Any, column: str, unit: str | None) -> str:
    """What could give findings about a column, in one sentence."""
    call = f'fitted.{tests.question(column)}("{column}", ["…", "…"])'
    return (
        f"What would help: {f'text by more values of {unit}' if unit else 'more documents'}, or a question about a few "
        f"words that were chosen before looking, since p is then adjusted for these words only: {call}."
    )
