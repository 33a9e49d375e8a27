"""The shape of the package: who imports whom, what an import costs, and whether the README is true."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import laplex

ORDER = [
    "errors",
    "card",
    "progress",
    "world",
    "storage",
    "checkpoint",
    "word2vec",
    "pages",
    "formats",
    "sources",
    "periods",
    "tokenizer",
    "parts",
    "corpus",
    "vocabulary",
    "ingest",
    "tokens",
    "demo",
    "rows",
    "graph",
    "lexicons",
    "priors",
    "model",
    "filling",
    "elimination",
    "problem",
    "objective",
    "engines",
    "vectors",
    "questions",
    "answers",
    "plots",
    "exchange",
    "embeddings",
    "provenance",
    "pretrained",
    "evaluation",
    "training",
    "rotation",
    "baselines",
    "posterior",
    "tuning",
    "stability",
    "report",
    "explorer",
    "laplex",  # the package itself, which brings together all but the command line
    "cli",
]
# tests fit models, which are asked for tests; a report is asked of what it reports on
BACKWARD = {("answers", "posterior"), ("embeddings", "report")}
PACKAGE = Path(laplex.__file__).parent
README = PACKAGE.parent.parent / "README.md"


def module_of(path):
    """The module that a file belongs to; a folder of files is one module."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports(path):
    """The modules of laplex that a file imports, wherever in it."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name}, line {node.lineno}: a relative import"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        for name in names:
            package, _, rest = name.partition(".")
            if package == "laplex":
                inner = rest.split(".")[0]
                yield inner if inner in MODULES else "laplex"


FILES = sorted({*PACKAGE.rglob("*.py")} - {PACKAGE / "__init__.py", PACKAGE / "__main__.py"})
MODULES = {module_of(path) for path in FILES}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_to_the_left(path):
    module = module_of(path)
    assert module in ORDER, f"{module} has no place in the order of modules"
    wrong = [name for name in imports(path) if ORDER.index(name) > ORDER.index(module)]
    wrong = [name for name in wrong if (module, name) not in BACKWARD]
    assert wrong == []


def test_the_import_of_a_module_is_seen_wherever_it_stands(tmp_path):
    path = tmp_path / "a.py"
    path.write_text("import numpy\ndef f():\n  from laplex import cli, read\n  import laplex.tokens as t\n")
    assert list(imports(path)) == ["cli", "laplex", "tokens"]


def test_importing_laplex_does_not_import_what_is_slow():
    script = "import sys, laplex; print(*{name.partition('.')[0] for name in sys.modules})"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert "polars" in loaded
    assert not {"altair", "gensim", "numba", "torch", "streamlit", "vl_convert"} & set(loaded)


def blocks(path):
    """The Python examples in a Markdown file, each with its line number."""
    text = path.read_text() if path.exists() else ""
    for found in re.finditer(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        line = text[: found.start(1)].count("\n")
        yield pytest.param("\n" * line + found[1], id=f"line {line + 1}")


@pytest.fixture(scope="module")
def reader(tmp_path_factory):
    """Where someone who follows the README is: a folder, and what was defined so far."""
    return tmp_path_factory.mktemp("reader"), {"__name__": "__main__"}


@pytest.mark.parametrize("block", list(blocks(README)))
def test_the_examples_of_the_readme_run(block, reader, monkeypatch):
    folder, defined = reader
    monkeypatch.chdir(folder)
    exec(compile(block, README, "exec"), defined)
