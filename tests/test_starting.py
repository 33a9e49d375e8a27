"""What starts quickly imports little: which modules are there after an import, a command or an answer.

Seconds are for benchmarks/starting.py. Each case runs in a process of its own, which has imported nothing yet.
"""

from __future__ import annotations

import json
import subprocess
import sys
from inspect import signature
from pathlib import Path

import pytest
import small

import laplex as lx
from laplex.cli.fitting import model_and_tokens
from laplex.model.likelihoods import Likelihood

HEAVY = {
    *("altair", "formulaic", "gensim", "jinja2", "networkx", "numba", "numpy", "pandas", "polars", "pyarrow"),
    *("rich", "scipy", "streamlit", "torch", "typer", "vl_convert"),
}
SCRIPT = """
import json, sys
{run}
print("modules", json.dumps(sorted(sys.modules)))
"""
COMMAND = """
from laplex.cli import main
sys.argv = ["laplex", *{arguments!r}]
try:
    main()
except SystemExit as ended:
    assert not ended.code, ended.code
"""


def modules_after(run: str) -> set[str]:
    """All modules that are imported when some Python has run."""
    script = SCRIPT.format(run=run)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    (line,) = (line for line in done.stdout.splitlines() if line.startswith("modules "))
    return set(json.loads(line.removeprefix("modules ")))


def heavy_after(run: str) -> set[str]:
    """The heavy packages that are imported, by their first name."""
    return {name.partition(".")[0] for name in modules_after(run)} & HEAVY


def command(*arguments: str) -> str:
    return COMMAND.format(arguments=arguments)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A fitted model with a stored test, as a folder."""
    corpus = small.corpus(small.documents(count=120))
    model = lx.Model(["party"], lx.Ridge(1.0) + lx.Groups("party", 30.0), dimensions=8, window=3)
    fitted = lx.fit(model, corpus, min_count=1, epochs=2, threads=1, quiet=True)
    assert fitted.tests
    folder = tmp_path_factory.mktemp("saved") / "fitted.laplex"
    fitted.save(folder)
    return str(folder)


def test_importing_laplex_imports_nothing_heavy():
    assert heavy_after("import laplex") == set()


def test_what_is_used_is_imported():
    assert heavy_after("import laplex; laplex.read") >= {"polars"}
    assert heavy_after("import laplex; laplex.plots.bars") >= {"pandas"}
    assert "numba" in heavy_after("import laplex.engines.cpu")


@pytest.mark.parametrize("arguments", [("--version",), ("--help",), ("fit", "--help"), ("neighbors", "--help")])
def test_the_version_and_the_help_need_nothing_but_the_command_line(arguments):
    assert heavy_after(command(*arguments)) <= {"rich", "typer"}


def test_the_help_names_every_likelihood():
    """It does not ask for their names, which would import the models."""
    module = "laplex.model.likelihoods"
    names = {known.name for known in Likelihood.__subclasses__() if known.__module__ == module}
    (option,) = signature(model_and_tokens, eval_str=True).parameters["likelihood"].annotation.__metadata__
    assert names == {"cbow", "sgns", "gaussian"}  # the last is that of occurrences, which are known by their folder
    assert all(name in option.help for name in names - {"gaussian"})


def test_loading_and_describing_a_model_needs_neither_kernels_nor_readers_of_text(saved):
    imported = heavy_after(f"import laplex; print(repr(laplex.load({saved!r})))")
    assert imported & HEAVY <= {"numpy", "pandas", "pyarrow", "rich", "scipy"}


@pytest.mark.parametrize("question", ["neighbors", "similarity"])
def test_a_question_to_the_vectors_needs_neither_kernels_nor_readers_of_text(saved, question):
    words = lx.load(saved).words()[: 1 if question == "neighbors" else 2]
    imported = modules_after(command(question, saved, *words, "--no-test"))
    assert {name.partition(".")[0] for name in imported} & {"altair", "formulaic", "numba", "polars"} == set()
    assert {"scipy.stats", "scipy.linalg", "laplex.fitting.estimation", "laplex.text.ingest"} & imported == set()


def test_a_test_that_is_kept_with_the_model_is_shown_without_what_made_it(saved):
    imported = modules_after(command("contrast", saved, "party"))
    assert {"altair", "formulaic", "numba", "polars", "scipy.stats", "laplex.engines.cpu"} & imported == set()


def test_tests_do_not_import_all_of_scipy_stats(saved):
    words = lx.load(saved).words()[:1]
    imported = modules_after(command("neighbors", saved, *words, "--min-count", "1", "--min-units", "2"))
    assert "numba" in imported
    assert "scipy.stats" not in imported


@pytest.mark.parametrize("likelihood", ["cbow", "sgns"])
def test_only_the_kernel_of_the_likelihood_in_use_is_compiled(likelihood):
    compiled = (
        "import laplex as lx, small\n"
        f"model = lx.Model(likelihood={likelihood!r}, dimensions=8)\n"
        "corpus = small.corpus(small.documents(count=30))\n"
        "lx.fit(model, corpus, min_count=1, epochs=1, threads=1, holdout=0.2, quiet=True)\n"
        "from laplex.engines import kernels\n"
        "from laplex.model import scoring\n"
        "for kernel in (kernels.cbow, kernels.sgns, scoring.score_by_sum, scoring.score_by_each):\n"
        "    if kernel.signatures: print(kernel.__name__)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", compiled],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(small.__file__).parent,
    )
    scores = {"cbow": "score_by_sum", "sgns": "score_by_each"}
    assert done.stdout.split() == [likelihood, scores[likelihood]]
