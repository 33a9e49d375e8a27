"""Every question with an interval: methods ask `posterior/`, say what they cannot do, the command line shows it."""

from __future__ import annotations

import pandas as pd
import pytest
import speakers
from typer.testing import CliRunner

import laplex as lx
from laplex import inference as posterior
from laplex.cli.app import app

pytestmark = pytest.mark.usefixtures("shared_cache", "few_draws")

FEW = {"min_clusters": 10, "min_count": 50}


@pytest.fixture(scope="module")
def fitted(shared_cache):
    rows = speakers.speeches(1, swap=0.6)
    for number, row in enumerate(rows):
        row["year"] = str(2000 + number % 3)
    tokens = lx.Tokens.of(lx.read(rows, metadata=["party", "speaker", "year"]), min_count=5, quiet=True)
    prior = lx.Ridge(1.0) + lx.Groups("party", 10.0) + lx.Chain("year", 10.0)
    model = lx.Model(["party", "year"], prior, dimensions=6, window=3, subsample=0.0)
    return lx.fit(model, tokens, holdout=0.0, epochs=5, threads=1, quiet=True)


def test_a_contrast_with_an_interval_is_that_of_the_test(fitted):
    found = fitted.contrast("party", 5, cluster="speaker", interval=0.8, rank="evidence", **FEW)
    same = posterior.contrast(fitted, "party", top=5, cluster="speaker", interval=0.8, rank="evidence", **FEW)
    pd.testing.assert_frame_equal(found, same)
    assert set(speakers.PLANTED) == set(found["word"].head(2))
    assert (found["lower"] <= found["estimate"]).all()
    assert (found["estimate"] <= found["upper"]).all()


def test_a_wider_interval_is_wider(fitted):
    narrow, wide = (fitted.contrast("party", words="w6", interval=i, cluster="speaker", **FEW) for i in (0.5, 0.95))
    assert (wide["upper"] - wide["lower"] > narrow["upper"] - narrow["lower"]).all()


def test_without_any_of_it_the_answer_is_the_plain_one(fitted):
    assert "p" not in fitted.contrast("party")
    assert "lower" not in fitted.distance("w6", "party", "year")


@pytest.mark.parametrize(
    ("ask", "first"),
    [
        (lambda f, **o: f.distance(["w6", "w9"], "party", "year", **o), "word"),
        (lambda f, **o: f.distance("w6", "party", **o), "word"),
        (lambda f, **o: f.drift("year", 5, **o), "word"),
        (lambda f, **o: f.project("w6", axis=("w0", "w1"), **o), "word"),
        (lambda f, **o: f.project("w6", axis=("w0", "w1"), across="party", **o), "word"),
        (lambda f, **o: f.similarity("w6", "w0", at={"party": "D", "year": 2000}, **o), "word"),
        (lambda f, **o: f.neighbors("w6", 3, at={"party": "D", "year": 2000}, **o), "word"),
    ],
)
def test_every_question_has_intervals(fitted, ask, first):
    found = ask(fitted, interval=0.9, cluster="speaker", min_clusters=5, min_count=20)
    assert found.columns[0] == first
    assert found["lower"].notna().any()
    known = found.dropna(subset="lower")
    assert (known["lower"] <= known["upper"]).all()


def test_the_belief_is_there_as_well(fitted):
    belief = fitted.posterior("w6", quiet=True)["w6"]
    found = belief.distance({"party": "D", "year": 2000}, {"party": "R", "year": 2000}, interval=0.9)
    assert (found["lower"] < found["estimate"]).all()


def test_charts_draw_what_the_interval_is_around(fitted, tmp_path):
    gap = fitted.distance(["w6", "w9"], "party", "year", interval=0.9, cluster="speaker", min_clusters=5, min_count=20)
    lx.plots.lines(gap).save(tmp_path / "gap.svg")
    assert "Distance without noise between D and R" in (tmp_path / "gap.svg").read_text()
    near = fitted.neighbors("w6", 3, at={"party": "D", "year": 2000}, interval=0.9, min_clusters=5, min_count=20)
    lx.plots.bars(near).save(tmp_path / "near.svg")
    assert "Similarity without noise" in (tmp_path / "near.svg").read_text()


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda f: f.contrast("party", interval=0.9, measure="cosine"), 'leave out measure="cosine"'),
        (lambda f: f.contrast("party", interval=0.9, each=True), "leave out each="),
        (lambda f: f.contrast("party", interval=1.5), "interval=1.5"),
        (lambda f: f.contrast("party", interval=0.0), "interval=0.0"),
        (lambda f: f.drift("year", interval=0.9, steps=True), "steps="),
        (lambda f: f.neighbors("w6", by="both", interval=0.9), "by="),
        (lambda f: f.neighbors(["w6", "w7"], interval=0.9), "one word"),
        (lambda f: f.similarity("w6", "w7", to_language="it", interval=0.9), "to_language="),
    ],
)
def test_what_has_no_interval(fitted, ask, message):
    with pytest.raises(lx.InputError, match=message):
        ask(fitted)


def test_the_command_line_asks_for_evidence(fitted, tmp_path):
    fitted.save(tmp_path / "model")
    arguments = ["--cluster", "speaker", "--interval", "0.9", "--rank", "evidence", "--min-clusters", "10"]
    result = CliRunner().invoke(
        app,
        [
            "contrast",
            str(tmp_path / "model"),
            "party",
            *arguments,
            "--min-count",
            "50",
            "--csv",
            str(tmp_path / "a.csv"),
        ],
    )
    assert result.exit_code == 0, result.output
    found = pd.read_csv(tmp_path / "a.csv")
    assert set(speakers.PLANTED) == set(found["word"].head(2))
    assert {"estimate", "lower", "upper", "p", "p_adjusted", "n", "clusters"} < set(found.columns)
