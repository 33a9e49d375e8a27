"""The documentation: the code and the commands of every page run, and the site is built without the network."""

from __future__ import annotations

import inspect
import re
import shlex
import subprocess
import sys
from html.parser import HTMLParser
from operator import attrgetter
from pathlib import Path
from types import ModuleType
from urllib.parse import urlparse

import pytest

import laplex
from laplex.cli.app import app, main

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
FENCE = re.compile(r"^( *)```(python|console)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)


def blocks(path):
    """The Python and console blocks of a page, in order: (kind, line, code)."""
    text = path.read_text(encoding="utf-8")
    for match in FENCE.finditer(text):
        indent, kind, code = match.groups()
        line = text[: match.start(3)].count("\n")
        yield kind, line, "".join(row.removeprefix(indent) for row in code.splitlines(keepends=True))


def commands(code):
    """The commands of a console block: the text after each dollar sign, which may continue over several lines."""
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


@pytest.mark.slow
@pytest.mark.parametrize(
    "page", [page for page in PAGES if any(blocks(page))], ids=lambda page: str(page.relative_to(DOCS))
)
def test_the_code_of_a_page_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    namespace = {"__name__": "__main__"}
    for kind, line, code in blocks(page):
        if kind == "python":
            exec(compile("\n" * line + code, page, "exec"), namespace)
            continue
        for arguments in commands(code):
            assert arguments[0] == "laplex", f"{page.name}, line {line}: {arguments[0]} is not run by the tests"
            run(arguments, monkeypatch)


def test_every_kind_of_block_is_found(tmp_path):
    console = "$ laplex fit \\\n    x\nout\n$ laplex info\n"
    page = tmp_path / "page.md"
    page.write_text(f"```python\na = 1\n```\n\n    ```python\n    b = 2\n    ```\n\n```console\n{console}```\n")
    assert list(blocks(page)) == [("python", 1, "a = 1\n"), ("python", 5, "b = 2\n"), ("console", 9, console)]
    assert commands(console) == [["laplex", "fit", "x"], ["laplex", "info"]]


def test_the_gallery_shows_the_code_that_draws_it(monkeypatch):
    monkeypatch.syspath_prepend(DOCS)
    gallery = pytest.importorskip("gallery")
    shown = [code for _, _, code in blocks(gallery.PAGE)]
    assert shown == [gallery.DEMO, *(gallery.dedent(entry.code) for entry in gallery.ENTRIES)]
    pictures = {f"{entry.name}.png" for entry in gallery.ENTRIES}
    assert {path.name for path in gallery.PICTURES.iterdir()} == pictures
    drawn = set(re.findall(r"lx\.plots\.(\w+)\(", "".join(shown)))
    assert drawn == set(laplex.plots.__all__) - {"Chart", "save"}


class Fetched(HTMLParser):
    """Collects the addresses that a browser fetches by itself when it shows a page."""

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


@pytest.mark.slow
def test_the_site_is_built_and_every_page_is_in_it(site):
    for page in PAGES:
        place = page.relative_to(DOCS).with_suffix("")
        built = site / (place.parent if place.name == "index" else place) / "index.html"
        assert "<h1" in built.read_text(encoding="utf-8")
    assert not list(site.rglob("*.py"))


def test_pages_fetch_nothing_from_other_hosts(site):
    for page in site.rglob("*.html"):
        fetched = Fetched()
        fetched.feed(page.read_text(encoding="utf-8"))
        assert fetched.addresses
        assert [address for address in fetched.addresses if urlparse(address).netloc] == []
    for style in site.rglob("*.css"):
        assert not re.search(r"(@import|url\()\s*[\"']?(https?:)?//", style.read_text(encoding="utf-8"))


def test_formulas_become_mathml(site):
    page = (site / "mathematics" / "index.html").read_text(encoding="utf-8")
    assert page.count("<math") >= 5
    assert "\\sum" not in page


def api():
    """The Markdown of all pages of the API."""
    return "\n".join(page.read_text(encoding="utf-8") for page in sorted((DOCS / "api").glob("*.md")))


def test_the_api_pages_document_every_public_name(site):
    page = "".join(page.read_text(encoding="utf-8") for page in (site / "api").rglob("index.html"))
    public = []
    for name in laplex.__all__:
        value = getattr(laplex, name)
        members = getattr(value, "__all__", ["read", "write"])
        public += [f"{name}.{member}" for member in members] if isinstance(value, ModuleType) else [name]
    assert [name for name in public if f'id="laplex.{name}"' not in page] == []
    assert "<blockquote>" not in page  # which is how Markdown shows a doctest that is not marked as code


def test_the_api_pages_name_only_what_can_be_reached():
    named = re.findall(r"^::: laplex\.(\S+)", api(), re.MULTILINE)
    assert len(named) == len(set(named)) > 50
    for name in named:
        attrgetter(name)(laplex)


def public_functions():
    """The functions and methods of the pages of the API, by name."""
    for name, options in re.findall(r"^::: laplex\.(\S+)\n((?: {4}.*\n)*)", api(), re.MULTILINE):
        members = re.search(r"members: \[(.*)\]", options)
        for path in [name, *(f"{name}.{member}" for member in (members[1].split(", ") if members else []))]:
            if inspect.isroutine(value := attrgetter(path)(laplex)):
                yield path, value


def test_public_functions_describe_their_parameters_and_result():
    undescribed = {}
    for name, function in public_functions():
        text, signature = inspect.getdoc(function) or "", inspect.signature(function)
        section = re.search(r"^Args:\n((?: {4}.*\n?|\n)+)", text, re.MULTILINE)
        entries = re.findall(r"^ {4}([\w*, ]+?)(?: \(.*?\))?:", section[1] if section else "", re.MULTILINE)
        missing = set(signature.parameters) - {"self", "cls", *re.findall(r"\w+", " ".join(entries))}
        if str(signature.return_annotation) != "None" and not re.search(r"^(Returns|Yields):", text, re.MULTILINE):
            missing.add("the result")
        if not re.search(r"^Examples?:", text, re.MULTILINE):
            missing.add("an example")
        if missing:
            undescribed[name] = sorted(missing)
    assert undescribed == {}


def test_every_command_is_listed():
    page = (DOCS / "commands.md").read_text(encoding="utf-8")
    names = [command.name or command.callback.__name__ for command in app.registered_commands]
    assert [name for name in names if f"| `laplex {name}" not in page] == []
    assert len(re.findall(r"^\| `laplex ", page, re.MULTILINE)) == len(names)
