"""The report on a fitted model: findings first, then words, then the model and all settings, as one HTML page.

The page loads nothing: its policy allows the style and the script that are written here and nothing else. The template
escapes all text, and the script, which sorts, searches and unfolds, puts words into the page as text only. Without
scripts the page is complete but for the table of all words.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import platform
import time
from collections.abc import Iterator, Sequence
from html import escape
from importlib.metadata import version
from pathlib import Path
from typing import Any

from laplex.embeddings import Embeddings
from laplex.errors import InputError, check_int, explain_keywords
from laplex.reports import choosing, describing
from laplex.reports.finding import Finding, finding
from laplex.reports.findings import (
    ColumnFindings,
    ComparisonTable,
    ask,
    data_of,
    limit_rows,
    shown_comparison,
    word_panel,
    words_with_panels,
)
from laplex.reports.highlights import highlights
from laplex.reports.methods import methods
from laplex.runtime import atomic
from laplex.runtime.display import Bar, bar, silence

PANELS = 40
WORDS_IN_DETAIL = 5
BARE_WORDS = 10
NEIGHBORS = 8
MAX_SLICES = 8  # whose neighbors stand side by side
PACKAGES = ("laplex", "numpy", "scipy", "pandas", "numba")
FOLDER = Path(__file__).parent


class Report:
    """A report, as `lx.report` returns it. Notebooks display it; `html` is the page as text."""

    def __init__(self, html: str) -> None:
        self.html = html

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file.

        Args:
            path: The file, which ends in .html. An existing file is replaced only when the new one is complete.

        Example:

            fitted.report().save("speeches.html")
        """
        _check_path(path)
        with atomic.replacing(path) as file:
            file.write(self.html.encode())

    def _repr_html_(self) -> str:
        # in a frame of an origin of its own, so that the page can neither see nor change the notebook
        allowed = 'sandbox="allow-scripts allow-downloads" allow="clipboard-write"'
        style = "width: 100%; height: 900px; border: 0"
        return f'<iframe srcdoc="{escape(self.html)}" {allowed} style="{style}"></iframe>'

    def __repr__(self) -> str:
        return f"Report: {len(self.html) / 1e6:.1f} MB of HTML"


@explain_keywords
def report(
    fitted: Embeddings,
    path: str | os.PathLike[str] | None = None,
    *,
    title: str = "Words in use",
    words: str | Sequence[str] | None = None,
    column: str | None = None,
    unit: str | None = None,
    language: str | None = None,
    text: bool = True,
    panels: int = PANELS,
    quiet: bool = False,
) -> Report:
    """Make a report on a fitted model: one HTML page of findings, with what they are made of, words, and settings.

    The page needs no network. It has all tested words, with search, and as a CSV file; a click on a word shows what its
    difference is made of. Findings about the columns that vectors vary by are kept with a model; where they are not,
    or if `unit` is another one, the text is read again, which may take minutes.

    Args:
        fitted: A fitted or loaded model.
        path: The file to write, which ends in .html. By default none is written.
        title: The heading of the page.
        words: Words whose neighbors are shown, and what their differences are made of. By default the first findings.
        column: The column whose values are compared. By default each column that vectors vary by.
        unit: The column that says who was sampled, such as the speaker. By default that of the text.
        language: The language, if there are several. By default the first.
        text: Whether passages of the text are shown. False for a text that may not be passed on.
        panels: Of how many words that hold, in all comparisons together, the page has context words with intervals and
            passages; each takes about half a second. Of all other words it has the numbers.
        quiet: Whether to show no progress.

    Returns:
        A Report, which notebooks display and which can be saved.

    Example:

        lx.report(fitted, "speeches.html", words=["health", "tax"], unit="speaker")
    """
    if path is not None:
        _check_path(path)
    panels = check_int("panels", panels, 0)
    if language is None:
        language = choosing.first_language(fitted)
    if column is not None:
        fitted.values(column)  # raises if there is no such column
    if words is not None:
        words = choosing.check_words(fitted, [words] if isinstance(words, str) else words, language)
    with bar("writing the report", quiet=quiet) as progress, silence():
        writer = _Writer(fitted, words, column, unit, language)
        found = writer.findings(panels, text, progress)
        shown = {
            **found,
            "title": title,
            "lead": describing.describe_size(fitted),
            "neighbors": list(writer.neighbors()),
            "slices": describing.slices_tables(fitted),
            "small": describing.describe_small_slices(fitted) or "",
            "prior": describing.describe_prior(fitted),
            "fit": describing.describe_fit(fitted),
            "bare": list(writer.bare_distances()),
            "settings": describing.settings_table(fitted),
            "versions": {**{name: version(name) for name in PACKAGES}, "Python": platform.python_version()},
            "written": time.strftime("%Y-%m-%d"),
        }
    result = Report(_page(shown))
    if path is not None:
        result.save(path)
    return result


def _page(shown: dict[str, Any]) -> str:
    """The page with its style, its script and its data, and a policy that allows these alone."""
    from jinja2 import Environment, FileSystemLoader

    parts = {name: (FOLDER / f"report.{name}").read_text("utf-8") for name in ("css", "js")}
    hashes = {name: base64.b64encode(hashlib.sha256(part.encode()).digest()).decode() for name, part in parts.items()}
    # "<" could end the element of the data, or begin a comment in it
    data = json.dumps(shown["data"], ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    pages = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True, loader=FileSystemLoader(FOLDER))
    return pages.get_template("template.html").render(**{**shown, **parts, "data": data, "hashes": hashes})


def _check_path(path: str | os.PathLike[str]) -> None:
    name = Path(path).name
    if name.lower().endswith(".pdf"):
        raise InputError(
            f'a report is an HTML page, not a PDF: write "{name[:-4]}.html", open it and print it as a PDF'
        )
    if not name.lower().endswith((".html", ".htm")):
        raise InputError(f'a report is an HTML page: "{name}" has to end in .html')


class _Writer:
    """Asks a model for what a report shows."""

    def __init__(
        self,
        fitted: Embeddings,
        words: Sequence[str] | None,
        column: str | None,
        unit: str | None,
        language: str | None,
    ) -> None:
        self.fitted, self.language = fitted, language
        found = choosing.stored_findings(fitted, language)  # columns where something holds come first
        self.names = [column] if column else list(dict.fromkeys([*found, *choosing.compared_columns(fitted)]))
        options = {} if unit is None else {"unit": unit}
        self.tests = choosing.inference(fitted, language, **options)
        self.wanted = list(words or ())
        self.words = self.wanted or choosing.first_words(fitted, column, WORDS_IN_DETAIL, language)
        self.columns: list[ColumnFindings] = []

    def findings(self, panels: int, text: bool, progress: Bar) -> dict[str, Any]:
        """What the template takes of findings: the highlights, the columns, the methods and the data of all words."""
        self.columns = [ask(self.tests, name) for name in self.names]
        progress.update(0.1)
        tables = {one.name: one.frame for one in self.columns if one.frame is not None}
        chosen = highlights(self.tests, tables)
        comparisons = [one for column in self.columns for one in column.comparisons]
        limit_rows(comparisons)
        number = {one.key: place for place, one in enumerate(comparisons)}
        missing = self._panels(comparisons, chosen.findings, panels, text, progress)
        first = []
        for found in chosen.findings:
            place = number[found.column, found.value, found.against]
            panel = comparisons[place].panels.get(found.word, {"finding": found, "sides": []})
            first.append({**panel, "number": place})
        columns = [
            {
                **vars(column),
                "comparisons": [
                    shown_comparison(self.tests, one, number[one.key], place)
                    for place, one in enumerate(column.comparisons)
                ],
            }
            for column in self.columns
        ]
        return {
            "highlights": first,
            "nothing": [one for one in chosen.nothing if one.column in {*tables, ""}],
            "columns": columns,
            "missing": missing,
            "text": text,
            "methods": methods(self.fitted, self.tests, tables),
            "total": sum(len(one.rows) for one in comparisons),
            "data": list(map(data_of, comparisons)),
        }

    def _panels(
        self, comparisons: list[ComparisonTable], first: Sequence[Finding], most: int, text: bool, progress: Bar
    ) -> str:
        """Make the panels of words, those of the highlights and those asked for before others; why there are none."""
        number = {one.key: place for place, one in enumerate(comparisons)}
        places = [(number[found.column, found.value, found.against], found.word) for found in first if found.sides]
        of_highlights = [(place, int((comparisons[place].rows["word"] == word).argmax())) for place, word in places]
        others = words_with_panels(comparisons, most, self.wanted)
        rows = list(dict.fromkeys([*of_highlights, *others]))[: max(most, len(of_highlights) if most else 0)]
        for done, (place, row) in enumerate(rows):
            one = comparisons[place]
            question, facts = one.rows.attrs.get("question"), one.rows.attrs.get("facts", {})
            found = finding(self.tests, one.column, one.rows.loc[row].to_dict(), question, facts.get("unit"))
            try:
                one.panels[found.word] = word_panel(self.tests, found, text=text)
            except InputError as error:
                if not done:  # the text is not at hand
                    return f"Not shown: {error}."
            progress.update(0.1 + 0.8 * (done + 1) / len(rows))
        return ""

    def neighbors(self) -> Iterator[dict[str, Any]]:
        """For each word its neighbors at some slices, as many of each value that is compared."""
        fitted, index = self.fitted, self.fitted.language(self.language)
        asked, options = choosing.bare(fitted, "neighbors", self.language)
        slices = choosing.slices_to_show(fitted, self.names[0] if self.names else None, MAX_SLICES)
        names = describing.slice_names(fitted)
        for word in self.words:
            columns = []
            for slice in slices:
                where = dict(zip(fitted.columns, fitted.rows.slices.keys[slice]))
                uses = int(fitted.counts[index][slice, fitted.id(word, index)])
                near = asked.neighbors(word, NEIGHBORS, at=where, **options)["neighbor"].tolist() if uses else []
                name = names[slice] if fitted.columns or self.language is None else f"in {self.language}"
                columns.append({"name": name, "uses": uses, "words": near})
            for other in fitted.languages:
                if other != self.language and self.language is not None and len(slices) == 1:
                    near = fitted.neighbors(word, NEIGHBORS, language=self.language, to_language=other, test=False)
                    columns.append({"name": f"in {other}", "uses": None, "words": near["neighbor"].tolist()})
            yield {"word": word, "columns": columns, "all": len(slices) == len(names)}

    def bare_distances(self) -> Iterator[dict[str, Any]]:
        """The distances between vectors of columns about which there are no findings."""
        for column in self.columns:
            if column.frame is not None:
                continue
            try:
                frame = getattr(self.tests, self.tests.question(column.name))(column.name, test=False)
            except InputError:
                continue
            frame = frame[choosing.is_content_word(self.fitted, frame["word"], self.language)].head(BARE_WORDS)
            yield {"column": column.name, "rows": frame.to_dict("records")}
