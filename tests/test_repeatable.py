"""The same seed and one thread give the same bytes, and every model says how it came about."""

from __future__ import annotations

import json
import os
import platform
import shlex
import subprocess
import sys
from functools import partial
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest
import small

import laplex as lx
from laplex.fitting import provenance
from laplex.runtime import storage
from laplex.runtime.processors import available_processors

FIT = """
import sys
import laplex as lx
from small import corpus, documents
rows = documents(30, 30, languages=sys.argv[2].split(","))
prior = lx.Ridge(1.0) + lx.Groups("party", 10.0) + lx.Chain("year", 10.0)
model = lx.Model(["party", "year"], prior, sys.argv[3], dimensions=8)
fitted = lx.fit(model, corpus(rows), epochs=2, seed=int(sys.argv[4]), threads=1, min_count=1, quiet=True)
fitted.save(sys.argv[1])
"""


def fit_elsewhere(folder: Path, languages="", likelihood="cbow", seed=1, **environment: str) -> str:
    """Fit in a process of its own; the hash of the arrays that it saved, which is that of their bytes."""
    paths = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-c", FIT, str(folder), languages, likelihood, str(seed)]
    subprocess.run(command, check=True, env=os.environ | {"PYTHONPATH": paths} | environment)
    return storage.load(folder).digest


@pytest.mark.slow
@pytest.mark.parametrize(("languages", "likelihood"), [("", "cbow"), ("", "sgns"), ("en,it", "cbow")])
def test_one_seed_gives_the_same_bytes_in_two_processes(languages, likelihood, tmp_path):
    one = fit_elsewhere(tmp_path / "a", languages, likelihood, PYTHONHASHSEED="1", LAPLEX_CACHE=str(tmp_path / "one"))
    two = fit_elsewhere(tmp_path / "b", languages, likelihood, PYTHONHASHSEED="2", LAPLEX_CACHE=str(tmp_path / "two"))
    assert one == two
    names = [next((tmp_path / name).glob("arrays-*")) for name in "ab"]
    assert names[0].read_bytes() == names[1].read_bytes()


@pytest.mark.slow
def test_another_seed_gives_other_bytes(tmp_path):
    assert fit_elsewhere(tmp_path / "a") != fit_elsewhere(tmp_path / "b", seed=2)


@pytest.mark.slow
def test_kernels_that_are_compiled_again_give_the_same_bytes(tmp_path):
    fresh = str(tmp_path / "numba")
    assert fit_elsewhere(tmp_path / "a") == fit_elsewhere(tmp_path / "b", NUMBA_CACHE_DIR=fresh)
    assert any(Path(fresh).rglob("*.nbc"))  # it did compile


def test_tokens_do_not_depend_on_how_many_threads_read_them(tmp_path):
    documents = small.corpus(small.documents(200))
    digests = {
        lx.Tokens.of(documents, min_count=1, threads=threads, cache=tmp_path / str(threads), quiet=True).digest
        for threads in (1, 2, 5)
    }
    assert len(digests) == 1


# What a model says of itself


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """A model by party, saved."""
    folder = tmp_path_factory.mktemp("fitted")
    corpus = small.corpus(small.documents(20))
    model = lx.Model(["party"], lx.Ridge(1.0) + lx.Groups("party", 10.0), dimensions=8)
    found = lx.fit(model, corpus, epochs=1, seed=7, threads=1, min_count=2, cache=folder / "cache", quiet=True)
    found.save(folder / "model")
    return folder / "model"


def test_a_model_keeps_its_versions_settings_text_and_seed(fitted):
    settings = lx.load(fitted).settings
    packages = ("laplex", "numpy", "numba", "scipy", "polars")
    assert settings["versions"] == {name: version(name) for name in packages} | {"python": platform.python_version()}
    assert (settings["training"]["seed"], settings["training"]["threads"]) == (7, 1)
    assert settings["model"]["dimensions"] == 8
    assert settings["tokens"]["digest"] == storage.load(settings["tokens"]["folder"]).digest
    assert settings["tokens"]["sources"] == ["a list of documents"]
    assert settings["tokens"]["min_count"] == 2
    assert settings["machine"]["cores"] == available_processors()
    assert settings["command"] == []


def test_vectors_from_elsewhere_keep_the_versions_that_saved_them(tmp_path):
    lx.word2vec.write(tmp_path / "a.vec", ["oak", "elm"], np.ones((2, 3)))
    lx.load_word2vec(tmp_path / "a.vec").save(tmp_path / "model")
    settings = lx.load(tmp_path / "model").settings
    assert settings["versions"]["laplex"] == lx.__version__
    assert settings["read"] == str(tmp_path / "a.vec")


def test_saving_again_keeps_the_versions_of_the_fit(fitted, tmp_path):
    model = lx.load(fitted)
    model.settings["versions"] = {"laplex": "0.0.1"}
    model.save(tmp_path / "again")
    assert lx.load(tmp_path / "again").settings["versions"] == {"laplex": "0.0.1"}


def test_the_call_that_made_a_model_makes_it_again(fitted, tmp_path):
    call = provenance.call_of(lx.load(fitted).settings)
    again = eval(call, {"lx": lx, "corpus": small.corpus(small.documents(20))})
    again.save(tmp_path / "again")
    assert storage.load(tmp_path / "again").digest == storage.load(fitted).digest


def test_vectors_that_were_not_fitted_have_no_call():
    assert provenance.call_of({"read": "a.vec"}) == provenance.command_of({"read": "a.vec"}) == ""


# laplex info


def run(*arguments, **options):
    command = [sys.executable, "-m", "laplex", *map(str, arguments)]
    environment = dict(os.environ)  # without COLUMNS, which readline sets for other processes
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", env=environment, **options)


def told(text: str) -> dict[str, str]:
    """What `laplex info` says, by name."""
    return {line.partition("  ")[0].strip(): line.partition("  ")[2].strip() for line in text.splitlines()[1:]}


def test_info_tells_how_a_model_was_made_in_python(fitted):
    settings = lx.load(fitted).settings
    result = run("info", fitted)
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith(f"{fitted}: {lx.load(fitted)!r}")
    said = told(result.stdout)
    assert said["in Python"] == provenance.call_of(settings)
    assert said["versions"] == ", ".join(f"{name} {number}" for name, number in settings["versions"].items())
    assert said["text hash"] == settings["tokens"]["digest"]
    assert said["tokens"] == settings["tokens"]["folder"]
    assert said["seed"] == "7; a refit gives the same bytes"
    assert said["vectors"] == f"hash {storage.load(fitted).digest}"
    assert not {"command", "model", "training"} & set(said)  # which the call says


@pytest.mark.slow
def test_the_command_that_info_tells_gives_the_same_bytes(tmp_path, write):
    rows = [f"{' '.join(row['text'])},{row['party']}" for row in small.documents(20)]
    write("my speeches.csv", "text,party\n" + "\n".join(rows) + "\n")
    options = ["--group", "party", "--min-count", "1", "--dimensions", "8", "--epochs", "2", "--threads", "1"]
    first = run("fit", "my speeches.csv", *options, "--out", "model; ls", "--quiet", cwd=tmp_path)
    assert first.returncode == 0, first.stderr
    command = shlex.split(told(run("info", "model; ls", cwd=tmp_path).stdout)["command"])
    assert command == ["laplex", "fit", "my speeches.csv", *options, "--out", "model; ls", "--quiet"]
    before = storage.load(tmp_path / "model; ls").digest
    assert run(*command[1:-2], "other", "--quiet", cwd=tmp_path).returncode == 0
    assert storage.load(tmp_path / "other").digest == before


def test_info_of_vectors_from_elsewhere_tells_where_they_are_from(tmp_path):
    lx.word2vec.write(tmp_path / "a.vec", ["oak", "elm"], np.ones((2, 3)))
    lx.load_word2vec(tmp_path / "a.vec").save(tmp_path / "model")
    said = told(run("info", tmp_path / "model").stdout)
    assert said["read from"] == str(tmp_path / "a.vec")
    assert "in Python" not in said


def test_info_of_a_stranger_s_model_shows_and_runs_nothing(fitted, tmp_path):
    model = lx.load(fitted)
    model.settings["command"] = ["fit", "a.csv; touch owned", "\x1b[2J"]
    model.save(tmp_path / "model")
    result = run("info", tmp_path / "model", cwd=tmp_path)
    assert "laplex fit 'a.csv; touch owned' '\\x1b[2J'" in result.stdout
    assert not (tmp_path / "owned").exists()


@pytest.mark.parametrize("settings", [{"model": 3}, {"tokens": []}, {"training": "x", "model": {}}, {"versions": 5}])
def test_info_of_a_model_with_odd_settings_is_no_traceback(fitted, tmp_path, settings):
    model = lx.load(fitted)
    model.settings.update(settings)
    model.save(tmp_path / "model")
    result = run("info", tmp_path / "model")
    assert "Traceback" not in result.stderr


def test_info_of_a_damaged_model_says_so(fitted, tmp_path):
    lx.load(fitted).save(tmp_path / "model")
    manifest = tmp_path / "model" / storage.MANIFEST
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"kind": "tokens"}))
    result = run("info", tmp_path / "model")
    assert (result.returncode, result.stdout) == (1, "")
    assert "holds tokens, not embeddings" in result.stderr


# Numbers from R, where 5 is 5.0


@pytest.mark.parametrize("name", ["epochs", "seed", "threads", "patience"])
def test_whole_numbers_of_training_may_be_written_as_floats(name):
    for value in (5.0, np.float64(5), np.int32(5), 5):
        chosen = getattr(lx.Training(**{name: value}), name)
        assert (chosen, type(chosen)) == (5, int)


@pytest.mark.parametrize("name", ["block", "drawn"])
def test_sizes_may_be_written_as_floats(name):
    assert type(getattr(lx.Training(**{name: 16.0}), name)) is int
    with pytest.raises(lx.InputError, match="multiples of 8"):
        lx.Training(**{name: 12})


@pytest.mark.parametrize("name", ["dimensions", "window", "negatives"])
def test_whole_numbers_of_a_model_may_be_written_as_floats(name):
    for value in (5.0, np.float64(5), np.int32(5), 5):
        chosen = getattr(lx.Model(**{name: value}), name)
        assert (chosen, type(chosen)) == (5, int)


@pytest.mark.parametrize("value", [1.5, float("nan"), float("inf"), "5", True, -1, [5], None])
@pytest.mark.parametrize("name", ["epochs", "seed", "dimensions", "window", "negatives", "min_count"])
def test_what_is_no_whole_number_is_refused(name, value, documents):
    makers = {"epochs": lx.Training, "seed": lx.Training, "min_count": partial(lx.Tokens.of, lx.read(documents))}
    with pytest.raises(lx.InputError, match=f"{name}=.* must be a whole number from [01]"):
        makers.get(name, lx.Model)(**{name: value})


def test_floats_fit_the_same_model_from_the_same_cache(tmp_path):
    corpus = small.corpus(small.documents(20))
    one = lx.fit(lx.Model(dimensions=8), corpus, epochs=1, seed=3, threads=1, min_count=2, quiet=True)
    model = lx.Model(dimensions=8.0, window=5.0, negatives=5.0)
    two = lx.fit(model, corpus, epochs=1.0, seed=3.0, threads=1.0, min_count=2.0, quiet=True)
    one.save(tmp_path / "one")
    two.save(tmp_path / "two")
    assert storage.load(tmp_path / "one").digest == storage.load(tmp_path / "two").digest
    assert one.settings == two.settings
