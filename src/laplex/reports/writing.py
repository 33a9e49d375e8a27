"""The report on a fitted model: findings first, then words, then the model and all settings, as one HTML page.

The page has no scripts and loads nothing. All text is escaped by the template; charts are SVG, of which only the
elements that draw are kept.
"""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Iterator, Sequence
from html import escape
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pandas as pd

from laplex import plots
from laplex.embeddings import Embeddings
from laplex.errors import InputError, explain_keywords
from laplex.reports import choosing, describing
from laplex.reports.findings import FindingSections
from laplex.reports.parts import LINE_BREAK, Drawings, section
from laplex.runtime import atomic
from laplex.runtime.display import bar, silence

WORDS_IN_DETAIL = 5
BARE_WORDS = 10
NEIGHBORS = 8
MAX_SLICES = 8  # whose neighbors stand side by side
PACKAGES = ("laplex", "numpy", "scipy", "pandas", "numba", "altair")
TEMPLATE = Path(__file__).with_name("template.html")

Sections = Iterator[dict[str, Any]]


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
        # in a frame, so that the styles of the page and of the notebook do not mix
        return f'<iframe srcdoc="{escape(self.html)}" sandbox style="width: 100%; height: 900px; border: 0"></iframe>'

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
    quiet: bool = False,
) -> Report:
    """Make a report on a fitted model: one HTML page of findings, with what they are made of, words, and settings.

    Findings about the columns that vectors vary by are kept with a model; where they are not, or if `unit` is another
    one, the text is read again, which may take minutes.

    Args:
        fitted: A fitted or loaded model.
        path: The file to write, which ends in .html. By default none is written.
        title: The heading of the page.
        words: Words whose neighbors are shown. By default the first of the findings.
        column: The column whose values are compared. By default each column that vectors vary by.
        unit: The column that says who was sampled, such as the speaker. By default that of the text.
        language: The language, if there are several. By default the first.
        quiet: Whether to show no progress.

    Returns:
        A Report, which notebooks display and which can be saved.

    Example:

        lx.report(fitted, "speeches.html", words=["health", "tax"], unit="speaker")
    """
    from jinja2 import Environment

    if path is not None:
        _check_path(path)
    if language is None:
        language = choosing.first_language(fitted)
    if column is not None:
        fitted.values(column)  # raises if there is no such column
    if words is not None:
        words = choosing.check_words(fitted, [words] if isinstance(words, str) else words, language)
    with bar("writing the report", quiet=quiet) as progress, silence():
        writer = _Sections(fitted, words, column, unit, language)
        sections: list[dict[str, Any]] = []
        steps = [writer.findings, writer.neighbors, writer.text, writer.model, writer.bare_distances]
        for number, step in enumerate(steps):
            sections += step()
            progress.update((number + 1) / len(steps))
    page = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string(TEMPLATE.read_text("utf-8"))
    result = Report(
        page.render(
            title=title,
            lead=describing.describe_size(fitted),
            sections=[made | {"number": number} for number, made in enumerate(sections, 1)],
            settings=describing.settings_table(fitted),
            versions={**{name: version(name) for name in PACKAGES}, "Python": platform.python_version()},
            written=time.strftime("%Y-%m-%d"),
        )
    )
    if path is not None:
        result.save(path)
    return result


def _check_path(path: str | os.PathLike[str]) -> None:
    name = Path(path).name
    if name.lower().endswith(".pdf"):
        raise InputError(
            f'a report is an HTML page, not a PDF: write "{name[:-4]}.html", open it and print it as a PDF'
        )
    if not name.lower().endswith((".html", ".htm")):
        raise InputError(f'a report is an HTML page: "{name}" has to end in .html')


class _Sections:
    """Makes the sections of a report, each from a question to the model."""

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
        self.columns = [column] if column else list(dict.fromkeys([*found, *choosing.compared_columns(fitted)]))
        self.drawings = Drawings()
        options = {} if unit is None else {"unit": unit}
        self.tests = FindingSections(choosing.inference(fitted, language, **options), self.drawings)
        first = self.columns[0] if column else None
        self.words = list(words or choosing.first_words(fitted, first, WORDS_IN_DETAIL, language))

    def findings(self) -> Sections:
        if not self.columns:
            yield section("Findings", "The vectors do not vary by anything, so there is nothing to compare.")
        for column in self.columns:
            yield from self.tests.of_column(column)

    def neighbors(self) -> Sections:
        fitted, index = self.fitted, self.fitted.language(self.language)
        asked, options = choosing.bare(fitted, "neighbors", self.language)
        slices = fitted.slices.nlargest(MAX_SLICES, "tokens", keep="first").index.sort_values().tolist()
        names = describing.slice_names(fitted)
        text = (
            "The words that are used most like it, the most similar first. This describes the vectors; it is no test."
        )
        text += f" The {MAX_SLICES} largest slices." if len(slices) < len(names) else ""
        for number, word in enumerate(self.words):
            columns = {}
            for slice in slices:
                where = dict(zip(fitted.columns, fitted.rows.slices.keys[slice]))
                uses = int(fitted.counts[index][slice, fitted.id(word, index)])
                frame = (
                    asked.neighbors(word, NEIGHBORS, at=where, **options) if uses else pd.DataFrame({"neighbor": []})
                )
                head = f"{names[slice]}{LINE_BREAK}{uses:,} uses"
                columns[head] = pd.Series(frame["neighbor"].tolist(), dtype=object)
            if number == 0:
                yield section("Words used alike", text)
            yield section(f"“{word}”", level=3, table=pd.DataFrame(columns).fillna(""))

    def text(self) -> Sections:
        if len(self.fitted.slices) > 1:
            chart = self.drawings.draw(describing.slices_chart(self.fitted), "Running words by slice")
            warning = describing.describe_small_slices(self.fitted) or ""
            yield section("The text", describing.SLICES_TEXT, warning=warning, chart=chart)

    def model(self) -> Sections:
        prior = "What the model assumes before it reads the text."
        yield section("The prior", prior, points=describing.describe_prior(self.fitted))
        history = self.fitted.history
        chart = self.drawings.draw(plots.history(history), "Log likelihood by epoch") if len(history) else None
        yield section("The fit", points=describing.describe_fit(self.fitted), chart=chart)

    def bare_distances(self) -> Sections:
        """The distances between vectors of columns about which there are no findings."""
        tests = choosing.inference(self.fitted, self.language)
        text = (
            "These columns could not be tested, so only the distances between the fitted vectors are shown. They grow "
            "with frequency and with noise, and say nothing about another sample of text."
        )
        tables = []
        for column in self.tests.untested:
            try:
                frame = getattr(tests, tests.question(column))(column, test=False)
            except InputError:
                continue
            frame = frame[choosing.is_content_word(self.fitted, frame["word"], self.language)].head(BARE_WORDS)
            rows = frame.assign(
                distance=frame["distance"].map("{:.3f}".format), cosine=frame["cosine"].map("{:.3f}".format)
            )
            tables.append(section(f"By {column}", level=3, table=rows))
        if tables:
            yield section("Bare distances between vectors", text)
            yield from tables
