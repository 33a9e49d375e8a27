"""The sections of a report about findings: what holds, with what words, and why, or plainly that nothing does."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import pandas as pd

from laplex import plots
from laplex.errors import InputError
from laplex.reports import choosing, describing
from laplex.reports.finding import JOINT, passages_by_side
from laplex.reports.parts import LINE_BREAK, Drawings, section

ROWS, ROWS_THAT_DO_NOT_HOLD = 15, 8  # of a comparison with findings, and of one without
MAX_COMPARISONS = 6  # of a column
EXPLAINED = 3  # findings of a column
CONTEXT_WORDS = 8  # of each side in the chart of an explanation

Sections = Iterator[dict[str, Any]]


class FindingSections:
    """Asks for findings by column. Columns that could not be tested are then in `untested`."""

    def __init__(self, tests: Any, drawings: Drawings) -> None:
        self.tests, self.drawings = tests, drawings
        self.untested: list[str] = []

    def of_column(self, column: str) -> Sections:
        """The findings about a column: a table and a chart for each comparison, and explanations of the first."""
        question = self.tests.question(column)
        title = f"What changes along {column}" if question == "drift" else f"What differs by {column}"
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always", UserWarning)
                frame = getattr(self.tests, question)(column)
        except InputError as error:
            self.untested.append(column)
            yield section(title, f"Not tested: {error}.")
            return
        warning = " ".join(sentence(str(one.message)) for one in caught if one.category is UserWarning)
        pairs = choosing.comparisons(frame)
        how = self._how_to_read(question, len(pairs))
        yield section(title, sentence(frame.attrs["summary"]), note=how, warning=warning)
        for value, against in pairs[:MAX_COMPARISONS]:
            rows = frame[(frame["value"] == value) & (frame["against"] == against) & frame["p"].notna()]
            if len(rows):
                yield self._comparison(question, rows, value, against)
        yield from self._explanations(question, column, frame[frame["holds"]].head(EXPLAINED))

    def _how_to_read(self, question: str, pairs: int) -> str:
        """What the numbers mean, in sentences."""
        sides = "from the first value to the last" if question == "drift" else "between the two sides"
        text = (
            f"The difference is by how much the log odds of the word in a context typically differ {sides}, without "
            f"noise; 0 is none. A row holds if p, adjusted for the number of words, is at most {self.tests.level:g}, "
            f"and the interval begins at {self.tests.min_effect:g} or more. Function words are left out."
        )
        if question == "drift":
            text += " Earlier and later are the two halves of the line."
        if pairs > MAX_COMPARISONS:
            text += f" Of {pairs} comparisons, the {MAX_COMPARISONS} with most findings are shown."
        return text

    def _comparison(self, question: str, rows: pd.DataFrame, value: str, against: str) -> dict[str, Any]:
        held = int(rows["holds"].sum())
        name = describing.describe_comparison(question, value, against)
        if held:
            text = f"{held:,} of {len(rows):,} words hold."
            text += f" The first {ROWS} rows:" if len(rows) > ROWS else ""
        else:
            text = f"None of {len(rows):,} words holds. What comes nearest, none of which is a finding:"
        first = rows.head(ROWS if held else ROWS_THAT_DO_NOT_HOLD)
        chart = self.drawings.draw(plots.bars(first, panels=[], width=300), f"Differences, {name}")
        table, faint = self.table(question, first), (~first["holds"]).tolist()
        return section(name[:1].upper() + name[1:], text, level=3, chart=chart, table=table, faint=faint)

    def table(self, question: str, rows: pd.DataFrame) -> pd.DataFrame:
        """The rows of one comparison as texts."""
        value, against = (str(rows[name].iloc[0]) for name in ("value", "against"))
        one, two = describing.describe_sides(question, value, against)
        ends, blank = zip(rows["lower"], rows["upper"]), describing.NO_BREAK
        shown: dict[str, Any] = {
            "word": rows["word"],
            "difference": rows["estimate"].map("{:.2f}".format),
            f"{self.tests.interval:.0%} interval": [f"{low:.2f}{blank}to{blank}{high:.2f}" for low, high in ends],
            "p": [describing.describe_p(p, n) for p, n in zip(rows["p"], rows["permutations"])],
            "adjusted": rows["p_adjusted"].map("{:.2g}".format),
            "holds": rows["holds"].map({True: "yes", False: "no"}),
        }
        if (value, against) == JOINT:
            shown["uses"] = (rows["uses"] + rows["uses_against"]).map("{:,}".format)
            return pd.DataFrame(shown)
        for name in ("uses", "units"):
            both = zip(rows[name], rows[f"{name}_against"])
            shown[f"{name}{LINE_BREAK}{one} / {two}"] = [f"{here:,}{blank}/{blank}{there:,}" for here, there in both]
        shown[f"used with{LINE_BREAK}{one}"] = rows["context"]
        shown[f"used with{LINE_BREAK}{two}"] = rows["context_against"]
        return pd.DataFrame(shown)

    def _explanations(self, question: str, column: str, findings: pd.DataFrame) -> Sections:
        for row in findings.to_dict("records"):
            value, against = str(row["value"]), str(row["against"])
            if (value, against) == JOINT:
                continue
            values = None if question == "drift" else [value] if against == "rest" else [value, against]
            title = f"“{row['word']}”: what the difference is made of"
            try:
                found = self.tests.explain(row["word"], column, values=values, passages=1)
            except InputError as error:
                yield section("What the differences are made of", f"Not shown: {error}.", level=3)
                return
            chart = found.plot(CONTEXT_WORDS, self.tests.excluded())
            text = "Context words by their share of the difference, and the most typical passage of either side."
            drawing = self.drawings.draw(chart, f"Context words of {row['word']}")
            yield section(title, text, level=3, chart=drawing, passages=passages_by_side(found))


def sentence(text: str) -> str:
    """A text that begins with a capital letter and ends with a full stop."""
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."
