"""What stands in a report, and how it becomes a file.

Embeddings come in, with words and a column if something special is asked for; a Report goes out, which is one HTML
page: no script, nothing loaded from elsewhere, all text escaped.
"""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Sequence
from html import escape
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pandas as pd

from laplex import plots, storage
from laplex.embeddings import Embeddings
from laplex.errors import InputError
from laplex.plots.columns import BETWEEN
from laplex.progress import bar, hushed
from laplex.provenance import tokens_of
from laplex.report import choosing, describing
from laplex.report.drawing import inline
from laplex.report.printing import print_page

TOP = 20  # words of a list
WORDS = 5  # that are looked at one by one
PAIRS = 6  # of values that are compared
LISTS = 8  # slices whose neighbors stand side by side
PACKAGES = ("laplex", "numpy", "scipy", "pandas", "numba", "altair")
NOTED = "\n"  # between the head of a column and what is noted below it
TEMPLATE = Path(__file__).with_name("template.html")


class Report:
    """A report. Notebooks show it, `save` writes it, `html` is the page."""

    def __init__(self, html: str) -> None:
        self.html = html

    def save(self, path: str | os.PathLike[str], *, quiet: bool = False) -> None:
        """Write the page to a file, whole or not at all: .html, or .pdf, which a browser of this machine prints."""
        ending = Path(path).suffix.lower()
        if ending not in (".html", ".htm", ".pdf"):
            raise InputError(f'a report is a page or a PDF: "{Path(path).name}" has to end in .html or .pdf')
        content = print_page(self.html, quiet=quiet) if ending == ".pdf" else self.html.encode()
        with storage.replacing(path) as file:
            file.write(content)

    def _repr_html_(self) -> str:
        # in a frame, so that its style is not that of the notebook
        return f'<iframe srcdoc="{escape(self.html)}" sandbox style="width: 100%; height: 900px; border: 0"></iframe>'

    def __repr__(self) -> str:
        return f"Report: {len(self.html) / 1e6:.1f} MB of HTML"


def report(
    fitted: Embeddings,
    path: str | os.PathLike[str] | None = None,
    *,
    title: str = "Words in use",
    words: str | Sequence[str] | None = None,
    column: str | None = None,
    cluster: str | None = None,
    language: str | None = None,
    quiet: bool = False,
) -> Report:
    """A report on a fitted model, written to `path` if one is given: an HTML page, or a PDF if it ends in .pdf.

    words    those that are looked at one by one; by default frequent ones that differ much
    column   whose values are compared; by default each column that vectors vary by
    cluster  the column that says who speaks. With it, differences are tested, for which the text has to be at hand

        lx.report(fitted, "speeches.html", words=["health", "tax"], cluster="speaker")
    """
    from jinja2 import Environment

    if language is None:
        language = choosing.first_language(fitted)
    if column is not None:
        fitted.values(column)  # complains if there is no such column
    if words is not None:
        words = choosing.known_words(fitted, [words] if isinstance(words, str) else words, language)
    if cluster is not None:
        tokens_of(fitted)  # complains if the text is gone
    with bar("writing the report", quiet=quiet) as progress, hushed():
        parts = _Parts(fitted, words, column, cluster, language)
        sections: list[dict[str, Any]] = []
        steps = [parts.slices, parts.contrasts, parts.distances, parts.changes, parts.neighbors, parts.beliefs]
        for number, step in enumerate(steps):
            sections += step()
            progress.update((number + 1) / len(steps))
    page = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string(TEMPLATE.read_text("utf-8"))
    html = page.render(
        title=title,
        lead=describing.describe_size(fitted),
        warning=describing.describe_small(fitted),
        sections=sections,
        settings=describing.settings_table(fitted).to_dict("records"),
        versions={**{name: version(name) for name in PACKAGES}, "Python": platform.python_version()},
        written=time.strftime("%Y-%m-%d"),
    )
    made = Report(html)
    if path is not None:
        made.save(path, quiet=quiet)
    return made


class _Parts:
    """The sections of a report, each a list of what stands below its heading."""

    def __init__(
        self,
        fitted: Embeddings,
        words: Sequence[str] | None,
        column: str | None,
        cluster: str | None,
        language: str | None,
    ) -> None:
        self.fitted = fitted
        self.language = language
        self.cluster = cluster
        self.columns = [column] if column else choosing.compared_columns(fitted)
        self.ordered = choosing.ordered_columns(fitted)
        first = self.columns[0] if self.columns else None
        self.words = list(words or choosing.telling_words(fitted, first, WORDS, language))
        self.without = choosing.function_words(fitted, language)
        self._drawings = 0

    def draw(self, chart: plots.Chart, alt: str) -> Any:
        self._drawings += 1
        return inline(chart, f"chart{self._drawings}", alt)

    def slices(self) -> list[dict[str, Any]]:
        frame = self.fitted.slices
        if len(frame) < 2:
            return []
        names = [", ".join(map(str, row[:-1])) for row in frame.itertuples(index=False)]
        chart = plots.bars(frame.assign(slice=names)[["slice", "tokens"]], x="tokens", y="slice", panels=[], width=400)
        text = "Running words in each slice. A vector is as sure as there is text behind it."
        return [_section("The text", text, chart=self.draw(chart, "Running words by slice"))]

    def contrasts(self) -> list[dict[str, Any]]:
        found = []
        for column in self.columns:
            if self.fitted.ordered(column) and len(self.columns) > 1:
                continue  # what changes in time has a section of its own
            try:
                whole = self._contrast(column)
            except InputError as error:
                found.append(_section(f"Most different by {column}", f"Not answered: {error}."))
                continue
            for pair in list(dict.fromkeys(whole[column]))[:PAIRS]:
                frame = whole[whole[column] == pair]
                frame = frame[choosing.has_content(frame["word"], self.without)].head(TOP).reset_index(drop=True)
                if len(frame):
                    found.append(self._contrasted(column, str(pair), frame))
        return found

    def _contrast(self, column: str) -> pd.DataFrame:
        if self.cluster is None or column == self.cluster:
            least = choosing.min_count(self.fitted, column, self.language)
            return self.fitted.contrast(column, 20 * TOP, min_count=least, language=self.language)
        return self.fitted.contrast(
            column,
            20 * TOP,
            cluster=self.cluster,
            min_clusters=choosing.min_clusters(tokens_of(self.fitted), self.cluster),
            interval=0.9,
            rank="evidence",
            language=self.language,
        )

    def _contrasted(self, column: str, pair: str, frame: pd.DataFrame) -> dict[str, Any]:
        one, two = pair.split(BETWEEN)
        text = f"Words whose vectors are farthest apart between {one} and {two}: used in other company."
        rows: dict[str, Any] = {
            "word": frame["word"],
            "distance": frame["distance" if "distance" in frame else "estimate"].map("{:.3f}".format),
        }
        if "lower" in frame:
            text += f" Tested by {self.cluster}: the estimate is without noise, p is adjusted for the number of words."
            ends = zip(frame["lower"], frame["upper"])
            rows |= {"90% interval": [f"{low:.3f} to {high:.3f}" for low, high in ends]}
            rows |= {"p, adjusted": frame["p_adjusted"].map("{:.2g}".format)}
        rows |= {f"uses, {one}": frame["count_one"].map("{:,}".format)}
        rows |= {f"uses, {two}": frame["count_two"].map("{:,}".format)}
        chart = self.draw(plots.bars(frame, panels=[], width=300), f"Words that differ most between {one} and {two}")
        return _section(f"Most different by {column}: {one} and {two}", text, chart=chart, table=pd.DataFrame(rows))

    def distances(self) -> list[dict[str, Any]]:
        groups = [name for name in self.columns if name not in self.ordered]
        if not groups or not self.ordered:
            return []
        across, along = groups[0], self.ordered[0]
        frame = self.fitted.distance(self.words, across, along, language=self.language)
        if frame[across].nunique() > PAIRS:
            return []
        color = None if frame[across].nunique() > 1 else "word"
        chart = plots.lines(frame, x=along, color=color, width=560, height=280)
        text = f"The distance of a word between two values of {across}. Higher: used more differently then."
        return [_section(f"How far apart, by {along}", text, chart=self.draw(chart, f"Distances by {along}"))]

    def changes(self) -> list[dict[str, Any]]:
        found = []
        for column in self.ordered:
            least = max(choosing.min_count(self.fitted, column, self.language), choosing.STEPS[3])
            try:
                frame = self.fitted.drift(column, 5 * TOP, min_count=least, language=self.language)
            except InputError as error:
                found.append(_section(f"Most changed by {column}", f"Not answered: {error}."))
                continue
            frame = frame[choosing.has_content(frame["word"], self.without)].head(TOP)
            if len(frame):
                first, last = str(frame["from"].iloc[0]), str(frame["to"].iloc[0])
                rows = pd.DataFrame({"word": frame["word"], "distance": frame["distance"].map("{:.3f}".format)})
                rows = rows.assign(**{f"nearest in {first}": frame["before"], f"nearest in {last}": frame["after"]})
                text = f"Words that moved farthest from {first} to {last}, and the words used like them then."
                found.append(_section(f"Most changed by {column}", text, table=rows))
        return found

    def neighbors(self) -> list[dict[str, Any]]:
        found = []
        chosen = self.fitted.slices.nlargest(LISTS, "tokens", keep="first").index.sort_values().tolist()
        keys = [self.fitted.rows.slices.keys[slice] for slice in chosen]
        index = self.fitted.language(self.language)
        for word in self.words:
            frame = self.fitted.neighbors(word, 8, language=self.language)
            columns = {}
            for slice, key in zip(chosen, keys):
                own = frame
                for name, value in zip(self.fitted.columns, key):
                    own = own[own[name] == value]
                uses = int(self.fitted.counts[index][slice, self.fitted.id(word, index)])
                columns[f"{', '.join(key) or 'all'}{NOTED}{uses:,} uses"] = own["neighbor"].tolist()
            rows = pd.DataFrame({name: pd.Series(values, dtype=object) for name, values in columns.items()}).fillna("")
            few = f" The {LISTS} largest slices." if len(chosen) < len(self.fitted.slices) else ""
            found.append(_section(f"“{word}”", f"The words used like it, the most similar first.{few}", table=rows))
        return found

    def beliefs(self) -> list[dict[str, Any]]:
        found = [_section("What was believed before reading", points=describing.describe_prior(self.fitted))]
        chart = None
        if len(self.fitted.history):
            chart = self.draw(plots.history(self.fitted.history), "Log likelihood by epoch")
        return [*found, _section("How it was fitted", points=describing.describe_fit(self.fitted), chart=chart)]


def _section(
    title: str,
    text: str = "",
    *,
    chart: Any = None,
    table: pd.DataFrame | None = None,
    points: Sequence[str] = (),
) -> dict[str, Any]:
    rows = None if table is None else table.astype(str).values.tolist()
    heads = [] if table is None else [_head(str(name), table[name].astype(str)) for name in table.columns]
    return {"title": title, "text": text, "chart": chart, "heads": heads, "rows": rows, "points": points}


def _head(name: str, values: pd.Series) -> dict[str, Any]:
    """The head of a column, and whether numbers stand below it, which are lined up at their right."""
    first, _, note = name.partition(NOTED)
    return {"name": first, "note": note, "number": bool(values.str.fullmatch(r"-?[\d.,]+(e-?\d+)?").all())}
