"""The shape of the package: which room imports which, what it offers, and whether the README is true."""

from __future__ import annotations

import ast
import contextlib
import importlib
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

import laplex

# A room imports only from itself and from those before it. "laplex" is the package itself, `import laplex`.
ROOMS = [
    "errors",
    "runtime",
    "text",
    "lexicons",
    "model",
    "engines",
    "questions",
    "plots",
    "embeddings",
    "fitting",
    "inference",
    "evaluation",
    "baselines",
    "reports",
    "explorer",
    "laplex",
    "cli",
    "r",
]
PACKAGE = Path(laplex.__file__).parent
FILES = sorted({*PACKAGE.rglob("*.py")} - {PACKAGE / "__init__.py", PACKAGE / "__main__.py"})
LAZY = [path for path in sorted(PACKAGE.rglob("__init__.py")) if "lazy.attributes" in path.read_text()]
ROOT = PACKAGE.parent.parent
README = ROOT / "README.md"


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported_rooms(path: Path) -> Iterator[tuple[int, str]]:
    """The line and the room of every import from laplex in a file, also of those within functions."""
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
                room = rest.partition(".")[0]
                yield node.lineno, room if room in ROOMS else "laplex"


def test_rooms_import_only_from_rooms_before_them():
    assert {room_of(path) for path in FILES} == {*ROOMS} - {"laplex"}
    wrong = [
        f"{path.relative_to(PACKAGE)}, line {line}: {room}"
        for path in FILES
        for line, room in imported_rooms(path)
        if ROOMS.index(room) > ROOMS.index(room_of(path))
    ]
    assert wrong == []


def test_no_import_is_hidden_from_the_check_of_rooms():
    """`import_module` or `lazy.module` with a name of laplex would be; a package may load modules of its own so."""
    hidden = [
        f"{path.relative_to(PACKAGE)}, line {node.lineno}"
        for path in FILES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
        and ast.unparse(node.func).endswith(("import_module", "__import__", "lazy.module"))
        and "laplex" in ast.unparse(node).replace(f"laplex.{room_of(path)}", "")
    ]
    assert hidden == []


def test_an_import_is_seen_wherever_it_stands(tmp_path):
    path = tmp_path / "a.py"
    path.write_text("import numpy\ndef f():\n  from laplex import cli, read\n  import laplex.text.tokens as t\n")
    assert list(imported_rooms(path)) == [(3, "cli"), (3, "laplex"), (4, "text")]


def test_the_top_level_holds_rooms_and_few_files():
    assert len(list(PACKAGE.glob("*.py"))) <= 5


def test_the_tree_of_the_readme_names_every_room():
    tree = README.read_text().partition("src/laplex/")[2]
    missing = [room for room in ROOMS if room != "laplex" and not re.search(rf"\b{room}(/|\.py)", tree)]
    assert missing == []


def test_no_module_is_hidden_by_a_function_of_its_name():
    """`laplex.X.Y` is the module Y, whatever `laplex.X` exports, also where it exports by `__getattr__`."""
    hidden = []
    for path in FILES:
        name = ".".join(("laplex", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__")
        module = importlib.import_module(name)
        parent, _, last = name.rpartition(".")
        package = sys.modules[parent]
        values = [getattr(package, last, module)]
        with contextlib.suppress(AttributeError):
            values.append(package.__getattr__(last))
        hidden += [name for value in values if value is not module]
    assert hidden == []


def test_no_two_classes_share_a_name():
    places: dict[str, list[str]] = defaultdict(list)
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(str(path.relative_to(PACKAGE)))
    assert {name: files for name, files in places.items() if len(files) > 1} == {}


def test_prose_is_ordinary_english():
    """Phrases that puzzled readers: what "comes in" and "goes out", and numbers that are "so many"."""
    puzzling = re.compile(r"\bcomes? in[,;:]|\bgoes? (in|out)[,;:]|\bgo(es)? out\b|\bso many\b", re.IGNORECASE)
    pages = [*PACKAGE.rglob("*.py"), *PACKAGE.rglob("*.html"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("*.md")]
    found = [
        f"{page.relative_to(ROOT)}, line {number}: {line.strip()}"
        for page in pages
        for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1)
        if puzzling.search(line)
    ]
    assert found == []


@pytest.mark.parametrize("path", LAZY, ids=lambda path: path.parent.name)
def test_names_that_are_imported_when_they_are_used_are_those_that_readers_see(path):
    """The table that finds them, the imports that type checkers and editors read, and `__all__` name the same."""
    tree = ast.parse(path.read_text())
    (table,) = (
        {module: set(names) for module, names in ast.literal_eval(node.args[1]).items()}
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "lazy.attributes"
    )
    (checked,) = (node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
    seen = {node.module: {alias.name for alias in node.names} for node in checked.body}
    assert table == seen
    package = importlib.import_module(".".join(("laplex", *path.parent.relative_to(PACKAGE).parts)))
    assert {*package.__all__, "__version__"} >= set().union(*table.values())
    for name in package.__all__:
        assert name in dir(package)
        assert getattr(package, name) is getattr(package, name)
    with pytest.raises(AttributeError, match=f"module '{package.__name__}' has no attribute 'nothing'"):
        _ = package.nothing
