"""Tables of findings as notebooks show them: what they say in a sentence, and the first rows with bars."""

from __future__ import annotations

from typing import Any

import pandas as pd

from laplex.plots.frames import name_of_side
from laplex.runtime.display import CARD_ROWS, Cell, card

FOLDED_ROWS = 50  # that unfold below the first
ALL_COLUMNS_ROWS = 10  # that are shown with all columns


class FindingsTable(pd.DataFrame):
    """A pandas frame of findings that notebooks show as a card. What is made from it is a plain frame.

    Example:
        fitted.contrast("party")  # a card in a notebook
        fitted.contrast("party").head(20)  # a plain table
    """

    @classmethod
    def of(cls, frame: pd.DataFrame) -> FindingsTable:
        """A table with what its frame says about itself."""
        table = cls(frame)
        table.attrs = dict(frame.attrs)
        return table

    @property
    def _constructor(self) -> Any:
        return pd.DataFrame

    def _repr_html_(self) -> str:
        rows, heads = self._rows(CARD_ROWS + FOLDED_ROWS), self._heads()
        folded = []
        if len(rows) > CARD_ROWS:
            last = min(len(self), CARD_ROWS + FOLDED_ROWS)
            pages = range(CARD_ROWS, len(rows), CARD_ROWS)
            more = "".join(card("", heads=heads, rows=rows[page : page + CARD_ROWS]) for page in pages)
            folded.append((f"Rows {CARD_ROWS + 1} to {last:,} of {len(self):,}", more))
        whole = pd.DataFrame(self.head(ALL_COLUMNS_ROWS)).to_html(border=0, max_cols=None)
        folded.append((f"All {self.shape[1]} columns of the first rows", whole))
        summary = str(self.attrs.get("summary", ""))
        return card(summary[:1].upper() + summary[1:], heads=heads, rows=rows[:CARD_ROWS], folded=folded)

    @property
    def _sides(self) -> tuple[str, str] | None:
        """The names of both sides if all rows have the same."""
        if self.attrs.get("question") == "drift":
            return "earlier", "later"
        if "value" not in self or len(pairs := self[["value", "against"]].drop_duplicates()) != 1:
            return None
        return str(pairs["value"].iloc[0]), name_of_side(str(pairs["against"].iloc[0]))

    def _heads(self) -> list[str]:
        one, two = self._sides or ("one side", "the other")
        compared = [] if self._sides else ["compared"]
        return ["word", *compared, "difference", "adjusted p", "holds", f"found with: {one}", f"found with: {two}"]

    def _rows(self, most: int) -> list[list[Cell]]:
        names = ("value", "against") if "value" in self else ("term", "level")
        largest = float(self["estimate"].head(most).abs().max() or 1.0)
        rows: list[list[Cell]] = []
        for row in self.head(most).to_dict("records"):
            sides = " – ".join(filter(None, (str(row[names[0]]), name_of_side(str(row[names[1]] or "")))))
            tested = not pd.isna(row["p"])
            size = f"{row['estimate']:.2f} ({row['lower']:.2f} to {row['upper']:.2f})" if tested else "not tested"
            rows.append(
                [
                    str(row["word"]),
                    *([] if self._sides else [sides]),
                    (size, row["estimate"] / largest if tested else 0.0),
                    f"{row['p_adjusted']:.2g}" if tested else "",
                    "yes" if row["holds"] else "no",
                    str(row["context"]),
                    str(row["context_against"]),
                ]
            )
        return rows
