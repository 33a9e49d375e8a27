"""The size of a corpus and the values of its metadata, in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from laplex.text.periods import in_order, span_name

MAX_VALUES_SHOWN = 12  # of a column


@dataclass(frozen=True)
class Summary:
    """The size of a corpus, and how many documents have each value of each column."""

    name: str
    documents: int
    empty: int
    tokens: int
    languages: Mapping[str | None, int]
    values: Mapping[str, Mapping[str | None, int]]
    unit: str | None = None

    @property
    def facts(self) -> list[tuple[str, str]]:
        """The languages, if any, the metadata columns with their values in words, and the unit, if any."""
        columns = [("languages", self.languages)] if set(self.languages) != {""} else []
        facts = [(name, _value_counts(counts)) for name, counts in [*columns, *self.values.items()]]
        return facts if self.unit is None else [*facts, ("unit", f"{self.unit} ({self.units:,} of them)")]

    @property
    def units(self) -> int:
        """The number of sampled units: the values of the unit's column, or documents if no unit was named."""
        return self.documents if self.unit is None else len(self.values[self.unit].keys() - {None})

    def __str__(self) -> str:
        lines = [f"Corpus of {self.name}", f"  {self.documents:,} documents, {self.tokens:,} tokens"]
        if self.empty:
            lines[-1] += f" ({self.empty:,} documents without a word)"
        return "\n".join([*lines, *(f"  {name}: {counts}" for name, counts in self.facts)])


def _value_counts(counts: Mapping[str | None, int]) -> str:
    known = in_order(value for value in counts if value is not None)
    if len(known) > MAX_VALUES_SHOWN:
        shown = [f"{len(known):,} values, {span_name(known[0], known[-1])}"]
    else:
        shown = [f"{value} ({counts[value]:,})" for value in known]
    return ", ".join(shown + ([f"missing ({counts[None]:,})"] if counts.get(None) else []))
