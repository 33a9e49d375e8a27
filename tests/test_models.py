"""Models that earlier versions saved are read, and answer as they did. `models/make.py` made them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import laplex as lx

HERE = Path(__file__).parent / "models"
VERSIONS = sorted(path.name for path in HERE.iterdir() if (path / "plain").is_dir())
MONEY, TREES = {"tax", "rich", "poor"}, {"oak", "elm", "ash"}


@pytest.fixture(params=VERSIONS)
def version(request):
    return request.param


def test_there_are_models_of_this_version():
    assert lx.__version__ in VERSIONS


def test_saved_models_are_small():
    assert sum(path.stat().st_size for path in HERE.rglob("*") if path.is_file()) < 100_000 * len(VERSIONS)


def nearest(fitted, word, **options):
    return set(fitted.neighbors(word, k=2, **options)["neighbor"])


def test_a_plain_model_is_read(version):
    fitted = lx.load(HERE / version / "plain")
    assert (fitted.dimensions, sorted(fitted.words())) == (4, sorted(MONEY | TREES))
    assert nearest(fitted, "tax") == {"rich", "poor"}
    assert nearest(fitted, "oak") == {"elm", "ash"}
    assert fitted.similarity("tax", "rich")["similarity"].item() > fitted.similarity("tax", "oak")["similarity"].item()


def test_a_model_by_party_and_year_is_read(version):
    fitted = lx.load(HERE / version / "parties-years")
    assert fitted.columns == ("party", "year")
    assert len(fitted.slices) == 4
    for year in ("2000", "2010"):
        assert nearest(fitted, "tax", at={"party": "D", "year": year}) == {"rich", "poor"}
        assert nearest(fitted, "tax", at={"party": "R", "year": year}) == {"oak", "elm"}
    assert set(fitted.contrast("party", test=False)["word"].head(6)) == MONEY | TREES
    assert set(fitted.drift("year", test=False)["word"].head(2)) <= MONEY | TREES
    assert len(fitted.distance(["tax"], "party", "year", test=False)) == 2
    assert fitted.tests == {}  # which version 0.1.0 did not make
    with pytest.raises(lx.InputError, match="the text of this model is needed"):
        fitted.contrast("party")


def test_a_model_of_two_languages_is_read(version):
    fitted = lx.load(HERE / version / "languages")
    assert fitted.languages == ["en", "it"]
    assert nearest(fitted, "tax", language="en") == {"rich", "poor"}
    assert nearest(fitted, "tassa", language="it") == {"ricco", "povero"}
    tax = fitted.vector("tax", language="en")
    tassa, olmo = fitted.vector("tassa", language="it"), fitted.vector("olmo", language="it")
    assert np.linalg.norm(tax - tassa) < np.linalg.norm(tax - olmo)


def test_a_variational_model_is_read(version):
    fitted = lx.load(HERE / version / "variational")
    deviation = fitted.deviation("tax", at={"party": "D"})
    assert deviation.shape == (4,)
    assert ((deviation > 0) & (deviation < 1)).all()
    assert nearest(fitted, "tax", at={"party": "R"}) == {"oak", "elm"}


@pytest.mark.parametrize("name", ["plain", "parties-years", "languages", "variational"])
def test_a_model_tells_how_it_came_about(version, name):
    settings = lx.load(HERE / version / name).settings
    assert settings["versions"]["laplex"] == version
    assert settings["training"]["seed"] == 1
    assert len(settings["tokens"]["digest"]) == 32


@pytest.mark.parametrize("name", ["plain", "parties-years", "languages", "variational"])
def test_a_model_that_is_saved_again_is_the_same(version, name, tmp_path):
    fitted = lx.load(HERE / version / name)
    fitted.save(tmp_path / "again")
    again = lx.load(tmp_path / "again")
    np.testing.assert_array_equal(again.theta, fitted.theta)
    assert again.settings == fitted.settings
