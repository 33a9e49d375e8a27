"""The documentation is true: its code runs, page by page, its commands run, and the site is built without the net."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType
from urllib.parse import urlparse

import pytest

import laplex
from laplex.cli import app, main

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
FENCE = re.compile(r"^( *)```(python|console)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)


def blocks(path):
    """The Python and console blocks of a page, in order: (kind, line, code)."""
    text = path.read_text(encoding="utf-8")
    for found in FENCE.finditer(text):
        indent, kind, code = found.groups()
        line = text[: found.start(3)].count("\n")
        yield kind, line, "".join(row.removeprefix(indent) for row in code.splitlines(keepends=True))


def commands(code):
    """The commands of a console block: what follows a dollar, also over several lines."""
    joined = code.replace("\\\n", " ")
    return [shlex.split(row[2:]) for row in joined.splitlines() if row.startswith("$ ")]


def run(arguments, monkeypatch):
    monkeypatch.setattr(sys, "argv", arguments)
    code = 0
    try:
        main()
    except SystemExit as end:
        code = end.code or 0
    assert code == 0, f"{shlex.join(arguments)} ended with {code}"


@pytest.mark.parametrize(
    "page", [page for page in PAGES if any(blocks(page))], ids=lambda page: str(page.relative_to(DOCS))
)
def test_the_code_of_a_page_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    defined = {"__name__": "__main__"}
    for kind, line, code in blocks(page):
        if kind == "python":
            exec(compile("\n" * line + code, page, "exec"), defined)
            continue
        for arguments in commands(code):
            assert arguments[0] == "laplex", f"{page.name}, line {line}: {arguments[0]} is not run by the tests"
            run(arguments, monkeypatch)


def test_every_kind_of_block_is_found(tmp_path):
    asked = "$ laplex fit \\\n    x\nout\n$ laplex info\n"
    page = tmp_path / "page.md"
    page.write_text(f"```python\na = 1\n```\n\n    ```python\n    b = 2\n    ```\n\n```console\n{asked}```\n")
    assert list(blocks(page)) == [("python", 1, "a = 1\n"), ("python", 5, "b = 2\n"), ("console", 9, asked)]
    assert commands(asked) == [["laplex", "fit", "x"], ["laplex", "info"]]


class Fetched(HTMLParser):
    """What a browser fetches by itself when it shows a page."""

    def __init__(self):
        super().__init__()
        self.addresses = []

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name in ("src", "srcset", "data", "poster") or (tag == "link" and name == "href"):
                self.addresses.append(value or "")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    pytest.importorskip("mkdocs")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder


def test_the_site_is_built_and_every_page_is_in_it(site):
    for page in PAGES:
        place = page.relative_to(DOCS).with_suffix("")
        built = site / (place.parent if place.name == "index" else place) / "index.html"
        assert "<h1" in built.read_text(encoding="utf-8")
    assert not list(site.rglob("*.py"))


def test_a_reader_is_sent_to_no_other_host(site):
    for page in site.rglob("*.html"):
        fetched = Fetched()
        fetched.feed(page.read_text(encoding="utf-8"))
        assert fetched.addresses
        assert [address for address in fetched.addresses if urlparse(address).netloc] == []
    for style in site.rglob("*.css"):
        assert not re.search(r"(@import|url\()\s*[\"']?(https?:)?//", style.read_text(encoding="utf-8"))


def test_formulas_are_drawn(site):
    page = (site / "mathematics" / "index.html").read_text(encoding="utf-8")
    assert page.count("<math") >= 5
    assert "\\sum" not in page


def test_the_api_lists_all_that_is_public(site):
    page = (site / "api" / "index.html").read_text(encoding="utf-8")
    named = {name: getattr(laplex, name) for name in laplex.__all__}
    for name, value in named.items():
        members = [f"{name}.{member}" for member in getattr(value, "__all__", ())]
        for listed in members if isinstance(value, ModuleType) else [name]:
            own = f"{listed}.{listed}"  # of a function that is called as its module
            assert f'id="laplex.{listed}"' in page or f'id="laplex.{own}"' in page, listed


def test_every_command_is_listed():
    page = (DOCS / "commands.md").read_text(encoding="utf-8")
    known = [command.name or command.callback.__name__ for command in app.registered_commands]
    assert [name for name in known if f"| `laplex {name}" not in page] == []
    assert len(re.findall(r"^\| `laplex ", page, re.MULTILINE)) == len(known)
