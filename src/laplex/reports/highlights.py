"""The three to five findings of a model that a reader should see first; where nothing holds, that and why.

Reports, the explorer and notebooks begin with them. Choosing them reads only tables of findings, which are kept with a
model, and takes milliseconds. Passages take part of a second for each word, as the text is read for them: callers ask
for an explanation (`Highlight.explain`) when they show one, and may keep it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from laplex.errors import InputError
from laplex.inference.comparisons import halves_of_line
from laplex.plots.frames import name_of_side
from laplex.reports import choosing, describing
from laplex.reports.findings import passages_by_side

MOST = 5  # findings that are shown first
NEAREST = 3  # words that come nearest where nothing holds
CONTEXT_WORDS = 3  # of each side that the sentence names
SHARED_CONTEXT = 0.5  # of the context words of a side, with which two findings say much the same
JOINT = ("any", "others")  # the sides of a joint test


@dataclass(frozen=True)
class Side:
    """One side of a comparison: its name, the words that a word is used with more there, its uses and units."""

    name: str
    context: tuple[str, ...]
    uses: int
    units: int


@dataclass(frozen=True)
class Highlight:
    """A row of a table of findings in plain words. All texts are data, which have to be escaped where they are shown.

    Attributes:
        word: The word.
        column: The column whose values are compared.
        question: "contrast" or "drift".
        value: What is compared, as the table of findings names it.
        against: The other side there.
        estimate: The size of the difference, with its interval from `lower` to `upper`.
        p: Counted over this number of `permutations`.
        p_adjusted: p, adjusted for all words that were tested.
        holds: Whether it is a finding. What comes nearest to one, where there is none, does not hold.
        interval: The share of samples in which the interval holds the estimate.
        unit: The column that says who was sampled; None for documents.
        sides: Both sides; none of a joint test of many values.
    """

    word: str
    column: str
    question: str
    value: str
    against: str
    estimate: float
    lower: float
    upper: float
    p: float
    p_adjusted: float
    permutations: int
    holds: bool
    interval: float
    unit: str | None
    sides: tuple[Side, ...]

    @property
    def claim(self) -> str:
        """What is said of the word, which comes before it: "changes along period: from … to …"."""
        moves = self.question == "drift"
        if not self.holds:
            return f"is not shown to {'change along' if moves else 'differ by'} {self.column}."
        verb = f"changes along {self.column}" if moves else f"differs by {self.column}"
        links = ("from", "to") if moves else ("with", "with")
        parts = [
            f"{link} “{', '.join(side.context[:CONTEXT_WORDS])}” ({side.name})"
            for link, side in zip(links, self.sides)
            if side.context
        ]
        if len(parts) < 2:  # of one side, only what it is found with can be said
            parts = [f"with {part.partition(' ')[2]}" for part in parts]
        return f"{verb}: {(' ' if moves else ', ').join(parts)}." if parts else f"{verb}."

    @property
    def sentence(self) -> str:
        """The finding as a sentence that begins with the word."""
        return f"“{self.word}” {self.claim}"

    @property
    def evidence(self) -> str:
        """The size of the difference and the evidence for it."""
        p = describing.describe_p(self.p, self.permutations)
        return (
            f"Difference {self.estimate:.2f} ({self.interval:.0%} interval {self.lower:.2f} to {self.upper:.2f}), "
            f"p{describing.NO_BREAK}{p if p.startswith('<') else f'={describing.NO_BREAK}{p}'}, "
            f"adjusted for all words {self.p_adjusted:.2g}; {'it holds' if self.holds else 'it is not shown to hold'}."
        )

    @property
    def sizes(self) -> str:
        """How often either side uses the word, and by how many units."""
        parts = [f"{side.name}: {side.uses:,} uses by {self._units(side.units)}" for side in self.sides]
        return f"{'; '.join(parts)}." if parts else ""

    def _units(self, number: int) -> str:
        return f"{number:,} documents" if self.unit is None else f"{number:,} values of {self.unit}"

    @property
    def values(self) -> list[str] | None:
        """The argument `values` with which `explain` is asked about it."""
        if self.question == "drift":
            return None
        return [self.value] if self.against == "rest" else [self.value, self.against]

    def explain(self, tests: Any, passages: int = 1) -> Any:
        """What the difference is made of, and passages of both sides.

        Args:
            tests: The `laplex.inference.Inference` that found it.
            passages: How many passages are shown of each side.

        Returns:
            An Explanation, in 0.2 to 0.5 seconds for words of middling frequency. InputError if the text is not at
            hand, or the test has no two sides.
        """
        if not self.sides:
            raise InputError(f'a joint test of "{self.column}" has no two sides: compare its values in pairs')
        return tests.explain(self.word, self.column, values=self.values, passages=passages)


@dataclass(frozen=True)
class Nothing:
    """A column about which nothing holds: sentences on what was tested, why nothing holds and what would help."""

    column: str
    sentences: tuple[str, ...]
    nearest: tuple[Highlight, ...] = ()


@dataclass(frozen=True)
class Highlights:
    """What a reader should see first: `findings`, which all hold, and the columns about which `nothing` holds."""

    findings: tuple[Highlight, ...]
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


def quotes(explanation: Any) -> dict[str, dict[str, str]]:
    """The most typical passage of each side of an explanation, by the name of the side.

    A passage has "before", "word", "after" and "source", as `passages_by_side` makes them.
    """
    return {side: passages[0] for side, passages in passages_by_side(explanation).items()}


def _chosen(tests: Any, tables: Mapping[str, pd.DataFrame], most: int) -> list[Highlight]:
    """The first findings of all comparisons in turn, with other words and other contexts than those before."""
    queues = [
        _rows(tests, column, frame[(frame["value"] == value) & (frame["against"] == against) & frame["holds"]])
        for column, frame in tables.items()
        for value, against in choosing.comparisons(frame)
    ]
    chosen: list[Highlight] = []
    alike: list[Highlight] = []  # which fill places that would stay empty
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


def _rows(tests: Any, column: str, rows: pd.DataFrame) -> list[Highlight]:
    """The rows of a comparison that a reader understands: content words, those with contexts of both sides first."""
    rows = rows[choosing.is_content_word(tests.fitted, rows["word"], tests.language)]
    is_clear = (rows["context"] != "") & (rows["context_against"] != "")
    question, facts = rows.attrs.get("question", tests.question(column)), rows.attrs.get("facts", {})
    ordered = pd.concat([rows[is_clear], rows[~is_clear]]).to_dict("records")
    return [_highlight(tests, column, question, row, facts.get("unit")) for row in ordered]


def _highlight(tests: Any, column: str, question: str, row: Mapping[Any, Any], unit: str | None) -> Highlight:
    value, against = str(row["value"]), str(row["against"])
    names = (value, name_of_side(against))
    if question == "drift":
        names, _ = halves_of_line(tests.fitted, column, tests.fitted.values(column))
    sides = [
        Side(
            name, tuple(filter(None, row[f"context{end}"].split(", "))), int(row[f"uses{end}"]), int(row[f"units{end}"])
        )
        for name, end in zip(names, ("", "_against"))
    ]
    numbers = {name: float(row[name]) for name in ("estimate", "lower", "upper", "p", "p_adjusted")}
    return Highlight(
        word=str(row["word"]),
        column=column,
        question=question,
        value=value,
        against=against,
        **numbers,
        permutations=int(row["permutations"]),
        holds=bool(row["holds"]),
        interval=tests.interval,
        unit=unit,
        sides=() if (value, against) == JOINT else tuple(sides),
    )


def _are_alike(one: Highlight, two: Highlight) -> bool:
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
