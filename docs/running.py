"""Runs the code of a page of the documentation and keeps what each piece of it prints, returns or draws.

    python docs/running.py PAGE.md OUT.json    # runs one page, as `outputs` does in a process of its own

The `python` blocks of a page share a namespace and an empty folder, and the commands of its `console` blocks run in the
same folder; other blocks are only shown. A block is cut into cells, each of which ends where something is shown. A page
runs on one processor, so that the same code gives the same figures, and again only if its code or laplex has changed.
"""

from __future__ import annotations

import ast
import contextlib
import hashlib
import io
import json
import os
import queue
import re
import shlex
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from html import escape
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
CACHE = ROOT / ".cache" / "docs"
FENCE = re.compile(r"^( *)```(python|console)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
PROGRESS = re.compile(r"^[\w ]+: +\d+% |^compiled for this machine|^a fit of .* of memory and ")
SPEED = re.compile(r", read in [\d.]+ m?s\b|, [\d.]+[kM]? tokens/s$")  # of a run of the documentation, on one processor
TEXT_COLUMNS = 80
TABLE_ROWS = 10
TABLE_COLUMNS = 10  # of more columns, which a page scrolls, the number is given
PROCESSORS: queue.Queue[int] = queue.Queue()
for _processor in sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1):
    PROCESSORS.put(_processor)


@dataclass
class Block:
    """A block that is run: its place in the text of the page, its kind and its code, without indentation."""

    start: int
    end: int
    line: int
    kind: str
    code: str


@dataclass
class Cell:
    """Some lines of a block, and what they show: outputs are dicts from a media type, or the stream, to the text."""

    kind: str
    code: str
    outputs: list[dict[str, str]] = field(default_factory=list)


def blocks(text: str) -> Iterator[Block]:
    """The `python` and `console` blocks of a page, in order."""
    for match in FENCE.finditer(text):
        indent, kind, code = match.groups()
        code = "".join(row.removeprefix(indent) for row in code.splitlines(keepends=True))
        yield Block(match.start(), match.end(), text[: match.start(3)].count("\n"), kind, code)


def commands(code: str) -> list[str]:
    """The commands of a console block, each with its dollar sign and the lines on which it continues."""
    return re.findall(r"^\$ (?:.*\\\n)*.*\n?", code, re.MULTILINE)


def outputs(page: Path, processors: queue.Queue[int] = PROCESSORS) -> list[list[Cell]]:
    """The cells of each block of a page, run in a process of its own or taken from the cache."""
    text = page.read_text(encoding="utf-8")
    code = [(block.kind, block.code) for block in blocks(text)]
    if not code:
        return []
    source = hashlib.sha256(json.dumps(code).encode())
    for path in [Path(__file__), ROOT / "constraints.txt", *sorted((ROOT / "src").rglob("*.py"))]:
        source.update(path.read_bytes())
    kept = CACHE / f"{page.stem}-{source.hexdigest()[:20]}.json"
    if not kept.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        processor = processors.get()
        try:
            with tempfile.TemporaryDirectory() as folder:
                result = Path(folder) / "cells.json"
                command = [sys.executable, __file__, str(page), str(result), str(processor)]
                done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8")
                if done.returncode:
                    raise RuntimeError(f"the code of {page.relative_to(ROOT)} failed:\n{done.stderr[-4000:]}")
                for old in CACHE.glob(f"{page.stem}-{'?' * 20}.json"):
                    old.unlink()
                kept.write_bytes(result.read_bytes())
        finally:
            processors.put(processor)
    return [[Cell(**cell) for cell in cells] for cells in json.loads(kept.read_text(encoding="utf-8"))]


def run(page: Path) -> tuple[list[list[Cell]], dict[str, Any]]:
    """Runs a page in this process and in the present folder, and returns its cells and what its code defined."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    cells = []
    for block in blocks(page.read_text(encoding="utf-8")):
        if block.kind == "python":
            cells.append(_python(block, page, namespace))
        else:
            cells.append([Cell("console", command, _shown(*_command(command))) for command in commands(block.code)])
    return cells, namespace


def _python(block: Block, page: Path, namespace: dict[str, Any]) -> list[Cell]:
    """The cells of a block. A new one begins after every statement that shows something."""
    lines, cells, begin = block.code.splitlines(keepends=True), [], 0
    for statement in ast.parse(block.code).body:
        end = statement.end_lineno or 0
        ast.increment_lineno(statement, block.line)  # so that errors name the line of the page
        with _written() as written:
            if isinstance(statement, ast.Expr):
                value = eval(compile(ast.Expression(statement.value), page, "eval"), namespace)
            else:
                value = exec(compile(ast.Module([statement], []), page, "exec"), namespace)
        if shown := _shown(written, value):
            cells.append(Cell("python", "".join(lines[begin:end]).strip("\n") + "\n", shown))
            begin = end
    if rest := "".join(lines[begin:]).strip("\n"):
        cells.append(Cell("python", rest + "\n"))
    return cells


def _command(command: str) -> tuple[list[list[str]], None]:
    from laplex.cli.app import main

    sys.argv = shlex.split(command.removeprefix("$ ").replace("\\\n", " "))
    if sys.argv[0] != "laplex":
        raise ValueError(f"only laplex is run in console blocks, not {sys.argv[0]}")
    with _written() as written:
        try:
            main()
        except SystemExit as end:
            if end.code:
                raise RuntimeError(f"{command} ended with {end.code}:\n{written}") from end
    return written, None


class _Stream(io.TextIOBase):
    """A standard stream whose text is kept together with that of the other one, in order."""

    def __init__(self, name: str, written: list[list[str]]) -> None:
        self.stream, self.written = name, written

    def write(self, text: str) -> int:
        if not self.written or self.written[-1][0] != self.stream:
            self.written.append([self.stream, ""])
        self.written[-1][1] += text
        return len(text)


@contextlib.contextmanager
def _written() -> Iterator[list[list[str]]]:
    """What is written to the standard streams, as pairs of the stream and a text; warnings are one line."""
    texts: list[list[str]] = []
    out, error = _Stream("stdout", texts), _Stream("stderr", texts)
    with warnings.catch_warnings(), contextlib.redirect_stdout(out), contextlib.redirect_stderr(error):
        warnings.simplefilter("default")
        warnings.formatwarning = lambda message, category, *_: f"{category.__name__}: {message}\n"  # type: ignore
        yield texts


def _shown(written: list[list[str]], value: object) -> list[dict[str, str]]:
    shown = []
    for stream, text in written:
        lines = [SPEED.sub("", line) for line in text.splitlines() if not PROGRESS.match(line)]
        if kept := "\n".join(lines).strip("\n"):
            shown.append({stream: kept})
    return shown if value is None else [*shown, _media(value)]


def _media(value: Any) -> dict[str, str]:
    import pandas as pd

    plain = {"text/plain": repr(value)}
    if isinstance(value, pd.DataFrame):
        return {"text/html": table(value), **plain}
    if hasattr(value, "_repr_mimebundle_") and "image/svg+xml" in (bundle := value._repr_mimebundle_()):
        return {"image/svg+xml": bundle["image/svg+xml"], "text/plain": type(value).__name__}
    if hasattr(value, "_repr_html_") and "<script" not in (html := value._repr_html_()):
        return {"text/html": html, **plain}
    return plain


def table(frame: Any) -> str:
    """The first rows of a frame as HTML, and how many more there are."""
    head = "".join(f"<th>{escape(str(name))}</th>" for name in frame.columns)
    rows = (
        "".join(f"<td{_align(cell)}>{escape(_cell(cell))}</td>" for cell in row)
        for row in frame.head(TABLE_ROWS).itertuples(index=False, name=None)
    )
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    size = f"{len(frame):,} rows, {TABLE_ROWS} of them shown" if len(frame) > TABLE_ROWS else ""
    size += f"{', ' if size else ''}{len(frame.columns)} columns" if len(frame.columns) > TABLE_COLUMNS else ""
    more = f"<p>{size}</p>" if size else ""
    return f'<table class="frame"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}'


def _align(cell: object) -> str:
    if isinstance(cell, str):
        return ' class="long"' if len(cell) > 25 else ""
    return ' class="number"'


def _cell(cell: object) -> str:
    if isinstance(cell, float):
        return "" if cell != cell else f"{cell:.3f}" if 0.001 <= abs(cell) < 1000 or cell == 0 else f"{cell:.3g}"
    return "" if cell is None else str(cell)


def main() -> None:
    page, result = Path(sys.argv[1]).absolute(), Path(sys.argv[2]).absolute()
    if hasattr(os, "sched_setaffinity") and len(sys.argv) > 3:
        os.sched_setaffinity(0, {int(sys.argv[3])})
    os.environ["COLUMNS"] = str(TEXT_COLUMNS)
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        import pandas as pd

        pd.set_option("display.width", TEXT_COLUMNS)
        cells = [[asdict(cell) for cell in block] for block in run(page)[0]]
    result.write_text(json.dumps(cells, ensure_ascii=False), encoding="utf-8")


if __name__ == "__main__":
    main()
