"""The report on a fitted model: its sections, its drawings, and the HTML page that they become.

The page has no scripts and loads nothing. All text is escaped by the template; charts are SVG, of which only the
elements that draw are kept.
"""

from __future__ import annotations

import os
import platform
import re
import time
from collections.abc import Iterator, Sequence
from html import escape
from importlib.metadata import version
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pandas as pd
from markupsafe import Markup

from laplex import plots
from laplex.embeddings import Embeddings
from laplex.errors import InputError
from laplex.fitting.provenance import tokens_of
from laplex.plots.frames import BETWEEN
from laplex.reports import choosing, describing
from laplex.runtime import atomic
from laplex.runtime.display import bar, silence

WORDS_IN_LIST = 20
WORDS_IN_DETAIL = 5
NEIGHBORS = 8
MAX_PAIRS = 6  # of values that are compared
MAX_SLICES = 8  # whose neighbors stand side by side
INTERVAL = 0.9
PACKAGES = ("laplex", "numpy", "scipy", "pandas", "numba", "altair")
TEMPLATE = Path(__file__).with_name("template.html")

_SVG = "http://www.w3.org/2000/svg"
_XLINK = "http://www.w3.org/1999/xlink"
_SVG_TAGS = {"svg", "g", "defs", "path", "text", "tspan", "rect", "line", "circle"}
_SVG_TAGS |= {"clipPath", "linearGradient", "stop", "title"}
_LINE_BREAK = "\n"  # between the head of a column and the remark below it

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
    """Make a report on a fitted model: one HTML page with charts, tables, the prior, all settings and versions.

    Args:
        fitted: A fitted or loaded model.
        path: The file to write, which ends in .html. By default none is written.
        title: The heading of the page.
        words: Words whose neighbors are shown. By default frequent words that differ much.
        column: The column whose values are compared. By default each column that vectors vary by.
        cluster: The column that says who speaks. With it differences are tested, for which the text is read again.
        language: The language, if there are several. By default the first.
        quiet: Whether to show no progress.

    Returns:
        A Report, which notebooks display and which can be saved.

    Example:

        lx.report(fitted, "speeches.html", words=["health", "tax"], cluster="speaker")
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
    if cluster is not None:
        tokens_of(fitted)  # raises if the text is gone
    with bar("writing the report", quiet=quiet) as progress, silence():
        writer = _Sections(fitted, words, column, cluster, language)
        sections: list[dict[str, Any]] = []
        steps = [writer.text, writer.contrasts, writer.distances, writer.changes, writer.neighbors, writer.model]
        for number, step in enumerate(steps):
            sections += step()
            progress.update((number + 1) / len(steps))
    page = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string(TEMPLATE.read_text("utf-8"))
    result = Report(
        page.render(
            title=title,
            lead=describing.describe_size(fitted),
            warning=describing.describe_small_slices(fitted),
            sections=sections,
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
        cluster: str | None,
        language: str | None,
    ) -> None:
        self.fitted, self.language, self.cluster = fitted, language, cluster
        self.columns = [column] if column else choosing.compared_columns(fitted)
        self.ordered = choosing.ordered_columns(fitted)
        first = self.columns[0] if self.columns else None
        self.words = list(words or choosing.first_words(fitted, first, WORDS_IN_DETAIL, language))
        self._drawings = 0

    def draw(self, chart: plots.Chart, description: str) -> Markup:
        """A chart as SVG whose ids differ from those of the other charts of the page."""
        self._drawings += 1
        return inline_svg(chart, f"chart{self._drawings}", description)

    def content(self, frame: pd.DataFrame) -> pd.DataFrame:
        """The first rows whose words are content words."""
        rows = frame[choosing.is_content_word(self.fitted, frame["word"], self.language)]
        return rows.head(WORDS_IN_LIST).reset_index(drop=True)

    def text(self) -> Sections:
        if len(self.fitted.slices) > 1:
            chart = self.draw(describing.slices_chart(self.fitted), "Running words by slice")
            yield _section("The text", describing.SLICES_TEXT, chart=chart)

    def contrasts(self) -> Sections:
        for column in self.columns:
            if column in self.ordered and len(self.columns) > 1:
                continue  # changes have a section of their own
            try:
                frame = self._contrast(column)
            except InputError as error:
                yield _section(f"Most different by {column}", f"Not answered: {error}.")
                continue
            for pair in list(dict.fromkeys(frame[column]))[:MAX_PAIRS]:
                rows = self.content(frame[frame[column] == pair])
                if len(rows):
                    yield self._contrast_section(column, str(pair), rows)

    def _contrast(self, column: str) -> pd.DataFrame:
        options: dict[str, Any] = {"top": 20 * WORDS_IN_LIST}  # of which function words are left out
        if self.cluster is None or column == self.cluster:
            options["min_count"] = choosing.min_count(self.fitted, column, self.language)
        else:
            clusters = choosing.min_clusters(tokens_of(self.fitted), self.cluster)
            options |= {"cluster": self.cluster, "min_clusters": clusters, "interval": INTERVAL, "rank": "evidence"}
        return self.fitted.contrast(column, language=self.language, **options)

    def _contrast_section(self, column: str, pair: str, frame: pd.DataFrame) -> dict[str, Any]:
        one, two = pair.split(BETWEEN)
        text = f"Words whose vectors differ most between {one} and {two}: they are used with other words."
        distance = frame["distance" if "distance" in frame else "estimate"]
        rows: dict[str, Any] = {"word": frame["word"], "distance": distance.map("{:.3f}".format)}
        if "lower" in frame:
            text += f" Tested by {self.cluster}: the distance is without noise, p is adjusted for the number of words."
            ends = zip(frame["lower"], frame["upper"])
            rows[f"{INTERVAL:.0%} interval"] = [f"{low:.3f} to {high:.3f}" for low, high in ends]
            rows["p, adjusted"] = frame["p_adjusted"].map("{:.2g}".format)
        rows |= {f"uses, {one}": frame["count_one"].map("{:,}".format)}
        rows |= {f"uses, {two}": frame["count_two"].map("{:,}".format)}
        chart = self.draw(plots.bars(frame, panels=[], width=300), f"Words that differ most between {one} and {two}")
        return _section(f"Most different by {column}: {one} and {two}", text, chart=chart, table=pd.DataFrame(rows))

    def distances(self) -> Sections:
        groups = [name for name in self.columns if name not in self.ordered]
        if not groups or not self.ordered:
            return
        across, along = groups[0], self.ordered[0]
        frame = self.fitted.distance(self.words, across, along, language=self.language)
        if frame[across].nunique() <= MAX_PAIRS:
            color = None if frame[across].nunique() > 1 else "word"
            chart = self.draw(plots.lines(frame, x=along, color=color, width=560, height=280), f"Distances by {along}")
            text = f"The distance between the vectors of a word at two values of {across}."
            yield _section(f"How far apart, by {along}", f"{text} Higher: used more differently.", chart=chart)

    def changes(self) -> Sections:
        for column in self.ordered:
            title = f"Most changed by {column}"
            least = max(choosing.min_count(self.fitted, column, self.language), choosing.MIN_COUNT_OF_CHANGE)
            try:
                frame = self.fitted.drift(column, 5 * WORDS_IN_LIST, min_count=least, language=self.language)
            except InputError as error:
                yield _section(title, f"Not answered: {error}.")
                continue
            frame = self.content(frame)
            if len(frame):
                first, last = str(frame["from"].iloc[0]), str(frame["to"].iloc[0])
                rows = pd.DataFrame({"word": frame["word"], "distance": frame["distance"].map("{:.3f}".format)})
                rows = rows.assign(**{f"nearest in {first}": frame["before"], f"nearest in {last}": frame["after"]})
                text = f"Words whose vectors moved farthest from {first} to {last}, and their nearest words then."
                yield _section(title, text, table=rows)

    def neighbors(self) -> Sections:
        fitted, index = self.fitted, self.fitted.language(self.language)
        slices = fitted.slices.nlargest(MAX_SLICES, "tokens", keep="first").index.sort_values().tolist()
        names = describing.slice_names(fitted)
        text = "The words that are used most like it, the most similar first."
        text += f" The {MAX_SLICES} largest slices." if len(slices) < len(names) else ""
        for word in self.words:
            columns = {}
            for slice in slices:
                where = dict(zip(fitted.columns, fitted.rows.slices.keys[slice]))
                frame = fitted.neighbors(word, NEIGHBORS, language=self.language, at=where)
                uses = int(fitted.counts[index][slice, fitted.id(word, index)])
                head = f"{names[slice]}{_LINE_BREAK}{uses:,} uses"
                columns[head] = pd.Series(frame["neighbor"].tolist(), dtype=object)
            yield _section(f"“{word}”", text, table=pd.DataFrame(columns).fillna(""))

    def model(self) -> Sections:
        prior = "What the model assumes before it reads the text."
        yield _section("The prior", prior, points=describing.describe_prior(self.fitted))
        history = self.fitted.history
        chart = self.draw(plots.history(history), "Log likelihood by epoch") if len(history) else None
        yield _section("The fit", points=describing.describe_fit(self.fitted), chart=chart)


def inline_svg(chart: plots.Chart, name: str, description: str) -> Markup:
    """A chart as SVG within a page: `name` makes its ids unique, `description` says in words what is on it."""
    ElementTree.register_namespace("", _SVG)
    root = ElementTree.fromstring(chart._repr_mimebundle_()["image/svg+xml"])
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag.removeprefix(f"{{{_SVG}}}") not in _SVG_TAGS:
                parent.remove(child)
    for element in root.iter():
        for key, value in list(element.attrib.items()):
            if key.startswith(("on", f"{{{_XLINK}}}")) or key == "href":
                del element.attrib[key]
            elif key == "id":
                element.set(key, f"{name}-{value}")
            elif "url(" in value:
                element.set(key, re.sub(r"url\(#([^)]+)\)", rf"url(#{name}-\1)", value))
    root.set("role", "img")
    root.set("aria-label", description)
    return Markup(ElementTree.tostring(root, encoding="unicode"))


def _section(
    title: str,
    text: str = "",
    *,
    chart: Markup | None = None,
    table: pd.DataFrame | None = None,
    points: Sequence[str] = (),
) -> dict[str, Any]:
    """A section as the template takes it."""
    texts = pd.DataFrame() if table is None else table.astype(str)
    heads = []
    for name, values in texts.items():
        first, _, remark = str(name).partition(_LINE_BREAK)
        is_number = bool(values.str.fullmatch(r"-?[\d.,]+(e-?\d+)?").all())  # numbers are aligned to the right
        heads.append({"name": first, "note": remark, "number": is_number})
    rows = texts.values.tolist()
    return {"title": title, "text": text, "chart": chart, "heads": heads, "rows": rows, "points": points}
