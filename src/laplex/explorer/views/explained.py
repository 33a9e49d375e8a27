"""The panel of a finding: its sentences, and what the difference is made of: context words, neighbors and passages.

The sentences come from the table of findings, at once. What the difference is made of is read from the text, which
takes part of a second, so that pages draw it after everything else.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

import streamlit as st

from laplex import plots
from laplex.embeddings import Embeddings
from laplex.errors import InputError
from laplex.explorer import address, loading, showing
from laplex.explorer.loading import code_of_call
from laplex.reports import choosing
from laplex.reports.finding import Finding, panel

PASSAGES = 3  # of each side
CHART_WORDS = 7  # of each side
CHART_WIDTH = 165  # pixels of each side
NEIGHBORS = 8  # of each side

_drawings: WeakKeyDictionary[Any, dict[tuple[int, int, bool], dict[str, Any]]] = WeakKeyDictionary()  # of Explanations


@dataclass(frozen=True)
class Taken:
    """How differences are taken apart: by the options that all tests share, and those of the comparison."""

    fitted: Embeddings
    shared: dict[str, Any] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def known(self) -> dict[str, Any]:
        """The shared options that matter to an explanation."""
        return {name: value for name, value in self.shared.items() if value is not None and name != "exclude"}

    @property
    def ignored(self) -> frozenset[str]:
        """Context words that are not shown."""
        if "exclude" in self.shared:
            return frozenset()
        return choosing.function_words(self.fitted, self.shared.get("language"))

    def apart(self, found: Finding, passages: int = PASSAGES) -> Any:
        """The Explanation of a finding; InputError if the text is not at hand."""
        options = {"values": found.values, **self.options, "passages": passages}
        return loading.explain(self.fitted, found.word, found.column, self.known, options)

    def code(self, found: Finding) -> str:
        """The Python that gives its context words."""
        name = code_of_call("fitted.inference", **self.known) if self.known else "fitted"
        options = {"values": found.values, **self.options, "passages": PASSAGES}
        return f"found = {code_of_call(f'{name}.explain', found.word, found.column, **options)}\nframe = found.context"

    def drawing(self, explanation: Any, top: int, width: int) -> dict[str, Any]:
        """The chart of its context words, which is kept with the Explanation; InputError if there are none."""
        kept = _drawings.setdefault(explanation, {})
        key = top, width, "exclude" in self.shared
        if key not in kept:
            drawn = plots.explanation(explanation, top=top, exclude=self.ignored, width=width)
            kept[key] = showing.specification(drawn)
        return kept[key]

    def sides(self, found: Finding, explanation: Any) -> list[dict[str, Any]]:
        """Words and passages of each side, in the order of the finding."""
        names = tuple(side.name for side in found.sides)
        if found.question != "drift":
            return panel(explanation, names, self.ignored, self.fitted)
        sides = panel(
            explanation, explanation.values, self.ignored, self.fitted
        )  # the halves of the line, in either order
        return sorted(sides, key=lambda side: names.index(side["name"]) if side["name"] in names else 0)


def show_sentences(found: Finding) -> None:
    """The finding in words: what differs, how surely, and on how much text."""
    showing.claim(found.word, found.claim)
    showing.explain(found.evidence)
    showing.explain(found.sizes)


def show_details(taken: Taken, found: Finding) -> None:
    """What the difference is made of; that it cannot be shown if the text is not at hand."""
    if not found.sides:
        showing.explain("A joint test has no two sides: compare in pairs to see what the difference is made of.")
        return
    try:
        explanation = taken.apart(found)
        chart = taken.drawing(explanation, CHART_WORDS, CHART_WIDTH)
    except InputError as error:
        st.caption(showing.escape_markdown(f"What it is made of cannot be shown: {error}."))
        return
    sides = taken.sides(found, explanation)
    showing.label("Context words by their share of the difference, with intervals")
    showing.chart(chart, f"Context words of {found.word} on both sides")
    showing.label("Passages that are most typical of each side")
    for place, side in zip(st.columns(2, gap="medium"), sides):
        with place:
            showing.side(side["name"])
            showing.passages(side["passages"])
    language = taken.shared.get("language")
    showing.label("Neighbors: words towards which each side moves it")
    lists = [
        showing.word_list(side["name"], [_neighbor(one) for one in side["neighbors"][:NEIGHBORS]], language)
        for side in sides
    ]
    clicked = showing.grid({"": lists}, key="panel_neighbors")
    if clicked is not None:
        address.go_to_word(clicked, language)
    showing.download(explanation.context, f"explanation {found.word}", taken.code(found), key="explanation")


def _neighbor(row: dict[str, Any]) -> dict[str, Any]:
    return showing.item(str(row["word"]), max(0.0, float(row["similarity"])), f"{row['similarity']:.2f}")
