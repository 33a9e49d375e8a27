"""MkDocs hook: shows what every block of code prints, returns and draws, and makes notebooks of the tutorials."""

from __future__ import annotations

import base64
import json
import logging
import re
from concurrent.futures import ThreadPoolExecutor
from html import escape
from pathlib import Path
from typing import Any

import running
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

LOG = logging.getLogger("mkdocs.plugins.executed")
NOTEBOOKS = re.compile(r"start\.md|tutorials/.*\.md")
LINK = re.compile(r"(?<!!)\[([^]]+)\]\((?!https?:)[^)]*\)")  # to another page, which a notebook does not have
GALLERY = "<!-- pictures of the gallery -->"
GALLERY_PICTURES = {
    "volcano": "every word by the size of its difference and the evidence for it",
    "matrix": "the words of several groups",
    "effect": "where a word stands in each year",
    "neighbor_ratio": "the neighbors of a word in one group, in the other and in both",
}
SIZE = re.compile(r'width="([\d.]+)" height="([\d.]+)" viewBox="0 0 [\d.]+ [\d.]+"')
MARGIN = 16  # pixels
PICTURE = re.compile(r"\s*!\[")  # right after a block: a picture of what it draws, which is not shown twice
OUTPUT = re.compile(r"<p>executed-output-(\d+)</p>")
CELLS: dict[str, list[list[running.Cell]]] = {}
SHOWN: dict[str, list[str]] = {}


def on_files(files: Files, config: MkDocsConfig, **_: Any) -> Files:
    """Runs all pages, as many at a time as there are processors, and adds the notebooks to the files of the site."""
    pages = [file.src_uri for file in files.documentation_pages()]
    with ThreadPoolExecutor(running.PROCESSORS.qsize()) as pool:
        for name, cells in zip(pages, pool.map(lambda name: running.outputs(Path(config.docs_dir, name)), pages)):
            CELLS[name] = cells
            LOG.debug("%s: %d blocks of code", name, len(cells))
    for name in filter(NOTEBOOKS.fullmatch, pages):
        content = notebook(Path(config.docs_dir, name).read_text(encoding="utf-8"), CELLS[name])
        files.append(File.generated(config, f"{name.removesuffix('.md')}.ipynb", content=json.dumps(content, indent=1)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, **_: Any) -> str:
    """Cuts blocks into cells and marks where their outputs belong, which are inserted once the page is HTML."""
    name, parts, end = page.file.src_uri, [], 0
    shown = SHOWN[name] = []
    for block, cells in zip(running.blocks(markdown), CELLS[name]):
        parts.append(markdown[end : block.start])
        for cell in cells:
            parts.append(f"```{cell.kind}\n{cell.code}```\n\n")
            if cell.outputs and not PICTURE.match(markdown, block.end):
                parts.append(f"executed-output-{len(shown)}\n\n")
                shown.append(f'<div class="output {cell.kind}">{"".join(map(_html, cell.outputs))}</div>')
        end = block.end
    text = "".join([*parts, markdown[end:]])
    if NOTEBOOKS.fullmatch(name):
        link = f"[Download this page as a notebook]({Path(name).stem}.ipynb){{ .notebook }}"
        text = re.sub(r"^# .*$", lambda title: f"{title[0]}\n\n{link}", text, count=1, flags=re.MULTILINE)
    return text.replace(GALLERY, _pictures(Path(config.docs_dir)))


def _pictures(docs: Path) -> str:
    """Some pictures of the gallery, each a link to it; nothing if it has not been drawn (docs/gallery.py)."""
    if not (docs / "gallery.md").exists():
        return ""
    links = (f"[![{alt}](img/gallery/{name}.png)](gallery.md)" for name, alt in GALLERY_PICTURES.items())
    return "\n".join(["## Charts", "", *links, "{ .gallery }", "", "[All charts with their code](gallery.md)"])


def on_page_content(html: str, page: Page, **_: Any) -> str:
    """Called by MkDocs for the HTML of each page."""
    shown = SHOWN[page.file.src_uri]
    return OUTPUT.sub(lambda mark: shown[int(mark[1])], html)


def _html(output: dict[str, str]) -> str:
    if svg := output.get("image/svg+xml"):
        svg = SIZE.sub(_widened, svg, count=1)
        data = base64.b64encode(svg.encode()).decode()  # an image of its own, because charts share names of parts
        return f'<img class="chart" alt="the chart that this code draws" src="data:image/svg+xml;base64,{data}">'
    if html := output.get("text/html"):
        return f'<div class="scrolled">{html}</div>'
    return "".join(f'<pre class="{kind.removeprefix("text/")}">{escape(text)}</pre>' for kind, text in output.items())


def _widened(size: re.Match[str]) -> str:
    """The size of a chart with a margin, since in some fonts labels are longer than in the one it was laid out for."""
    width, height = float(size[1]), size[2]
    return f'width="{width + 2 * MARGIN:g}" height="{height}" viewBox="{-MARGIN} 0 {width + 2 * MARGIN:g} {height}"'


def notebook(markdown: str, cells: list[list[running.Cell]]) -> dict[str, Any]:
    """A page as a notebook of format 4, with outputs. Commands of a terminal begin with an exclamation mark."""
    made: list[dict[str, Any]] = []
    end = 0
    for block, parts in zip(running.blocks(markdown), cells):
        _add_text(made, markdown[end : block.start])
        for cell in parts:
            made.append(_code(cell))
        end = block.end
    _add_text(made, markdown[end:])
    about = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    return {"cells": made, "metadata": about, "nbformat": 4, "nbformat_minor": 4}


def _add_text(made: list[dict[str, Any]], text: str) -> None:
    if text := LINK.sub(r"\1", text).strip():
        made.append({"cell_type": "markdown", "metadata": {}, "source": text.splitlines(keepends=True)})


def _code(cell: running.Cell) -> dict[str, Any]:
    code = re.sub(r"^\$ ", "!", cell.code, flags=re.MULTILINE).rstrip("\n")
    outputs = [
        {"output_type": "stream", "name": stream, "text": text}
        if (stream := next(iter(output))).startswith("std") and (text := output[stream])
        else {"output_type": "display_data", "metadata": {}, "data": output}
        for output in cell.outputs
    ]
    source = code.splitlines(keepends=True)
    return {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": outputs, "source": source}
