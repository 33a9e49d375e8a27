"""A finding in plain words: one row of a table of findings, and the panel of what its difference is made of.

The overview, reports, the explorer and notebooks show findings by these sentences. All texts are data, which have to be
escaped where they are shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from laplex.embeddings import Embeddings
from laplex.errors import InputError
from laplex.fitting.provenance import part_of, value_name
from laplex.inference.comparisons import halves_of_line
from laplex.plots.frames import name_of_side
from laplex.reports import describing

CONTEXT_WORDS = 3  # of each side that the sentence names
PANEL_WORDS = 10  # context words and neighbors of each side in a panel
MAX_METADATA = 4  # columns that say where a passage is from
JOINT = ("any", "others")  # the sides of a joint test


@dataclass(frozen=True)
class Side:
    """One side of a comparison: its name, the words that a word is used with more there, its uses and units."""

    name: str
    context: tuple[str, ...]
    uses: int
    units: int


@dataclass(frozen=True)
class Finding:
    """A row of a table of findings in plain words.

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
    def comparison(self) -> str:
        """What is compared, as a heading: "D against R", or "from 1821–1940 to 1941–2060"."""
        if not self.sides:
            return f"any value of {self.column} against the others"
        one, two = (side.name for side in self.sides)
        return f"from {one} to {two}" if self.question == "drift" else f"{one} against {two}"

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


def finding(
    tests: Any, column: str, row: Mapping[Any, Any], question: str | None = None, unit: str | None = None
) -> Finding:
    """A row of a table of findings in plain words.

    Args:
        tests: The `laplex.inference.Inference` that found it.
        column: The column whose values are compared.
        row: The row, by column of the table.
        question: "contrast" or "drift"; by default that which the column is asked with.
        unit: The column that says who was sampled; None for documents.

    Returns:
        The Finding.
    """
    question = question or tests.question(column)
    value, against = str(row["value"]), str(row["against"])
    names = (value_name(tests.fitted, column, value), _against_name(tests.fitted, column, against))
    if question == "drift":
        names, _ = halves_of_line(tests.fitted, column, tests.fitted.values(column))
    sides = [
        Side(
            name, tuple(filter(None, row[f"context{end}"].split(", "))), int(row[f"uses{end}"]), int(row[f"units{end}"])
        )
        for name, end in zip(names, ("", "_against"))
    ]
    numbers = {name: float(row[name]) for name in ("estimate", "lower", "upper", "p", "p_adjusted")}
    return Finding(
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


def _against_name(fitted: Any, column: str, against: str) -> str:
    return name_of_side(value_name(fitted, column, against))


def panel(
    explanation: Any, sides: tuple[str, ...], exclude: Any = (), fitted: Embeddings | None = None
) -> list[dict[str, Any]]:
    """What a difference is made of, for a page: for each side its words and passages.

    Args:
        explanation: The Explanation of the word, as `Finding.explain` gives it.
        sides: The names of the sides, in its order.
        exclude: Context words that are left out, such as function words.
        fitted: The model, which knows how the values of passages are shown.

    Returns:
        For each side a dict of "name"; "context", the words found around the word more than on the other side, the
        surest first, each with "word", "contribution", "lower", "upper", "uses" and "uses_other"; "neighbors", the
        words towards which the word moves, each with "word" and "similarity"; and "passages", each with "before",
        "word", "after" and "source".
    """
    table = explanation.context
    shown = table[~table["word"].isin([*exclude, explanation.word]) & (table["uses"] > 0)]
    passages = passages_by_side(explanation, fitted)
    made = []
    for value, name in zip(explanation.values, sides):
        context = shown[shown["value"] == value].sort_values(["lower", "contribution"], ascending=False)
        neighbors = explanation.neighbors[explanation.neighbors["value"] == value]
        neighbors = neighbors[~neighbors["neighbor"].isin(list(exclude))].rename(columns={"neighbor": "word"})
        made.append(
            {
                "name": name,
                "context": context.drop(columns="value").head(PANEL_WORDS).to_dict("records"),
                "neighbors": neighbors.drop(columns="value").head(PANEL_WORDS).to_dict("records"),
                "passages": passages.get(name_of_side(value), []),
            }
        )
    return made


def passages_by_side(explanation: Any, fitted: Embeddings | None = None) -> dict[str, list[dict[str, str]]]:
    """The passages of an explanation, by the name of the side, each with its source.

    With the model, a period is shown with the years in it, or left out where the date is there as well.
    """
    known = ("value", "before", "word", "after", "document")
    columns = [name for name in explanation.passages.columns if name not in known]
    columns = source_columns(columns, fitted)
    sides: dict[str, list[dict[str, str]]] = {}
    for row in explanation.passages.to_dict("records"):
        shown = row if fitted is None else row | {name: value_name(fitted, name, str(row[name])) for name in columns}
        sides.setdefault(name_of_side(str(row["value"])), []).append(passage(shown, columns))
    return sides


def source_columns(columns: Sequence[str], fitted: Embeddings | None) -> list[str]:
    """The columns that say where a passage is from: no period where its date is there as well."""
    periods = part_of(part_of(fitted.settings, "tokens"), "periods") if fitted is not None else {}
    return [name for name in columns if periods.get(name) not in columns][:MAX_METADATA]


def passage(row: Mapping[Any, Any], columns: list[str]) -> dict[str, str]:
    """A passage as a page shows it."""
    parts = {name: " ".join(str(row[name]).split()) for name in ("before", "word", "after")}
    # a space within the text is kept, also where the text is split
    before = parts["before"] + (" " if str(row["before"])[-1:].isspace() else "")
    after = (" " if str(row["after"])[:1].isspace() else "") + parts["after"]
    source = ", ".join(dict.fromkeys(str(row[name]) for name in columns))
    return {"before": before, "word": parts["word"], "after": after, "source": source}
