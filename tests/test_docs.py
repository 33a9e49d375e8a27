"""The documentation: the code and the commands of every page run, and the site is built without the network."""

from __future__ import annotations

import inspect
import json
import re
import subprocess
import sys
from difflib import SequenceMatcher
from html.parser import HTMLParser
from operator import attrgetter
from pathlib import Path
from types import ModuleType
from urllib.parse import urlparse

import pytest

import laplex
from laplex.cli.app import app

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
README = ROOT / "README.md"
PAGES = sorted(DOCS.rglob("*.md"))
MOVED_FIGURES = 0.75  # the share of the printed words and numbers that is the same with other versions of dependencies

sys.path.insert(0, str(DOCS))
import readme  # noqa: E402
import running  # noqa: E402


def blocks(path):
    return list(running.blocks(path.read_text(encoding="utf-8")))


def name(page):
    return str(page.relative_to(ROOT))


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in [README, *PAGES] if blocks(page)], ids=name)
def test_the_code_of_a_page_runs(page):
    cells = running.outputs(page)
    assert ["".join(cell.code for cell in parts).split() for parts in cells] == [
        block.code.split() if block.kind == "python" else "".join(running.commands(block.code)).split()
        for block in blocks(page)
    ]


@pytest.mark.slow
def test_the_readme_shows_what_its_code_prints():
    (shown,) = readme.SHOWN.findall(README.read_text(encoding="utf-8"))
    printed = readme.printed(running.outputs(README))
    assert SequenceMatcher(None, shown.split(), printed.split()).ratio() >= MOVED_FIGURES, "run docs/readme.py"


def test_every_kind_of_block_is_found():
    console = "$ laplex fit \\\n    x\nout\n$ laplex info\n"
    page = f"```python\na = 1\n```\n\n    ```python\n    b = 2\n    ```\n\n```console\n{console}```\n"
    found = [(block.kind, block.line, block.code) for block in running.blocks(page)]
    assert found == [("python", 1, "a = 1\n"), ("python", 5, "b = 2\n"), ("console", 9, console)]
    assert running.commands(console) == ["$ laplex fit \\\n    x\n", "$ laplex info\n"]


def test_a_block_is_cut_where_something_is_shown(tmp_path, monkeypatch):
    loop, frame = "for n in (1, 2):\n    print(n)  # twice\n", "# a frame\npd.DataFrame({'a': ['<b>']})\n"
    code = f"import pandas as pd\n\n{loop}\n{frame}c = 3\n"
    page = tmp_path / "page.md"
    page.write_text(f"```python\n{code}```\n\n```python\nimport sys\nprint('so', file=sys.stderr)\nc\n```\n")
    monkeypatch.chdir(tmp_path)
    (one, two), _ = running.run(page)
    assert [cell.code for cell in one] == [
        f"import pandas as pd\n\n{loop}",
        frame,
        "c = 3\n",
    ]
    assert one[0].outputs == [{"stdout": "1\n2"}]
    assert "<td>&lt;b&gt;</td>" in one[1].outputs[0]["text/html"]
    assert [cell.outputs for cell in two] == [[{"stderr": "so"}], [{"text/plain": "3"}]]


def test_the_gallery_shows_the_code_that_draws_it(monkeypatch):
    monkeypatch.syspath_prepend(DOCS)
    gallery = pytest.importorskip("gallery")
    shown = [block.code for block in blocks(gallery.PAGE)]
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


@pytest.fixture(scope="module")  # takes minutes if code of the pages or laplex has changed, so that its tests are slow
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


@pytest.mark.slow
def test_code_is_followed_by_what_it_shows(site):
    page = (site / "start" / "index.html").read_text(encoding="utf-8")
    assert page.count('<div class="output python">') >= 5
    assert '<div class="output console">' in page
    assert "data:image/svg+xml;base64," in page
    assert "<th>context_against</th>" in page
    assert "executed-output" not in page


@pytest.mark.slow
@pytest.mark.parametrize("page", sorted([DOCS / "start.md", *DOCS.glob("tutorials/*.md")]), ids=name)
def test_tutorials_are_notebooks_with_the_code_of_the_page(page, site):
    place = page.relative_to(DOCS).with_suffix("")
    notebook = json.loads((site / place.parent / f"{place.name}.ipynb").read_text(encoding="utf-8"))
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 4)
    for cell in notebook["cells"]:
        fields = {"code": {"execution_count", "outputs"}, "markdown": set()}[cell["cell_type"]]
        assert set(cell) == {"cell_type", "metadata", "source"} | fields
        for output in cell.get("outputs", []):
            assert set(output) in ({"output_type", "name", "text"}, {"output_type", "metadata", "data"})
    code = "".join("".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code")
    run = "".join(block.code.replace("$ laplex", "!laplex") for block in blocks(page))
    assert "".join(code.split()) == "".join(run.split())
    assert f'href="../{place.name}.ipynb"' in (site / place / "index.html").read_text()


@pytest.mark.slow
def test_pages_fetch_nothing_from_other_hosts(site):
    for page in site.rglob("*.html"):
        fetched = Fetched()
        fetched.feed(page.read_text(encoding="utf-8"))
        assert fetched.addresses
        assert [address[:99] for address in fetched.addresses if urlparse(address).netloc] == []
    for style in site.rglob("*.css"):
        assert not re.search(r"(@import|url\()\s*[\"']?(https?:)?//", style.read_text(encoding="utf-8"))


@pytest.mark.slow
def test_formulas_become_mathml(site):
    page = (site / "mathematics" / "index.html").read_text(encoding="utf-8")
    assert page.count("<math") >= 5
    assert "\\sum" not in page


def api():
    """The Markdown of all pages of the API."""
    return "\n".join(page.read_text(encoding="utf-8") for page in sorted((DOCS / "api").glob("*.md")))


@pytest.mark.slow
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
