"""Every question answers by findings: methods of models ask `inference`, and the command line shows the same."""

from __future__ import annotations

import pandas as pd
import pytest
import speakers
from typer.testing import CliRunner

import laplex as lx
from laplex.cli.app import app

pytestmark = pytest.mark.usefixtures("shared_cache", "few_draws")

FEW = {"min_units": 10, "min_count": 50, "quiet": True}


@pytest.fixture(scope="module")
def fitted(shared_cache):
    rows = speakers.speeches(1, swap=0.6)
    for number, row in enumerate(rows):
        row["year"] = str(2000 + number % 3)
    tokens = lx.Tokens.of(lx.read(rows, metadata=["party", "speaker", "year"], unit="speaker"), min_count=5, quiet=True)
    prior = lx.Ridge(1.0) + lx.Groups("party", 10.0) + lx.Chain("year", 10.0)
    model = lx.Model(["party", "year"], prior, dimensions=6, window=3, subsample=0.0)
    return lx.fit(model, tokens, holdout=0.0, epochs=5, threads=1, quiet=True)


def test_methods_ask_what_inference_answers(fitted):
    asked = lx.inference.Inference(fitted)
    for question, arguments in (
        ("contrast", ["party"]),
        ("drift", ["year"]),
        ("distance", [["w6", "w9"], "party", "year"]),
        ("similarity", ["w6", "w0"]),
        ("neighbors", ["w6", 3]),
    ):
        for test in (True, False):
            one, two = (getattr(who, question)(*arguments, test=test) for who in (fitted, asked))
            pd.testing.assert_frame_equal(one, two)
    one, two = (who.explain("w6", "party") for who in (fitted, asked))
    pd.testing.assert_frame_equal(one.context, two.context)
    pd.testing.assert_frame_equal(fitted.passages("w6", top=3), asked.passages("w6", top=3))


def test_a_contrast_is_tested_unless_that_is_refused(fitted):
    found = fitted.inference(interval=0.8, **FEW).contrast("party")
    assert set(speakers.PLANTED) == set(found["word"].head(2))
    assert found["holds"].head(2).all()
    assert (found["lower"] <= found["estimate"]).all()
    assert (found["estimate"] <= found["upper"]).all()
    assert "p" not in fitted.contrast("party", test=False)
    assert "lower" not in fitted.distance("w6", "party", "year", test=False)


def test_a_wider_interval_is_wider(fitted):
    narrow, wide = (fitted.inference(interval=share, **FEW).contrast("party", "w6") for share in (0.5, 0.95))
    assert (wide["upper"] - wide["lower"] > narrow["upper"] - narrow["lower"]).all()


@pytest.mark.parametrize(
    "ask",
    [
        lambda f: f.distance(["w6", "w9"], "party", "year"),
        lambda f: f.distance("w6", "party"),
        lambda f: f.drift("year"),
        lambda f: f.project("w6", axis=("w0", "w1")),
        lambda f: f.project("w6", axis=("w0", "w1"), across="party"),
        lambda f: f.similarity("w6", "w0", at={"party": "D", "year": 2000}),
        lambda f: f.neighbors("w6", 3, at={"party": "D", "year": 2000}),
    ],
)
def test_every_question_has_intervals(fitted, ask):
    found = ask(fitted.inference(min_units=5, min_count=20, quiet=True))
    assert found.columns[0] == "word"
    assert found["lower"].notna().any()
    known = found.dropna(subset="lower")
    assert (known["lower"] <= known["upper"]).all()


def test_the_belief_is_there_as_well(fitted):
    belief = fitted.posterior("w6", quiet=True)["w6"]
    found = belief.distance({"party": "D", "year": 2000}, {"party": "R", "year": 2000}, interval=0.9)
    assert (found["lower"] < found["estimate"]).all()


@pytest.mark.parametrize("interval", [1.5, 0.0])
def test_what_is_no_interval_is_refused(fitted, interval):
    with pytest.raises(lx.InputError, match=f"interval={interval}"):
        fitted.inference(interval=interval)


def test_the_command_line_shows_the_same_findings(fitted, tmp_path):
    fitted.save(tmp_path / "model")
    shared = ["--interval", "0.8", "--min-units", "10", "--min-count", "50"]
    result = CliRunner().invoke(
        app, ["contrast", str(tmp_path / "model"), "party", *shared, "--csv", str(tmp_path / "a.csv")]
    )
    assert result.exit_code == 0, result.output
    found = pd.read_csv(tmp_path / "a.csv").fillna({"context": "", "context_against": ""})
    same = fitted.inference(interval=0.8, **FEW).contrast("party")
    pd.testing.assert_frame_equal(found, same.head(len(found)), rtol=1e-3, check_dtype=False)
    assert set(speakers.PLANTED) == set(found["word"].head(2))
