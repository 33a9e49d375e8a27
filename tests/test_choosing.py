"""Strengths that are left out: chosen by held-out text before the fit, kept with the model, and used everywhere."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import small
from interruption import stopped_after
from typer.testing import CliRunner

import laplex as lx
from laplex.fitting import estimation
from laplex.fitting.choosing import Choice
from laplex.fitting.estimation import Estimation
from laplex.fitting.grid import Grid, names_of, with_strengths
from laplex.fitting.provenance import call_of
from laplex.fitting.search import MAX_COST, Plan, Search, _vertex
from laplex.model.likelihoods import CBOW
from laplex.model.problem import make_problem, order_of_holding_out
from laplex.model.rows import Rows
from laplex.reports.describing import describe_prior
from laplex.runtime import storage

OPTIONS = {"min_count": 1, "threads": 1, "holdout": 0.1, "tests": False, "quiet": True}
SIZES = {"dimensions": 4, "window": 2, "subsample": 0.0}


@pytest.fixture(scope="module")
def speeches():
    return small.corpus(small.documents(count=400))


def model(prior=None, vary=("party",), **choices):
    prior = prior or lx.Ridge(1.0) + lx.Groups("party")
    return lx.Model(vary, prior, **(SIZES | choices))


@pytest.fixture(scope="module")
def fitted(speeches):
    return lx.fit(model(), speeches, **OPTIONS)


# What comes of it


def test_the_fit_is_that_with_the_number(speeches, fitted):
    (strength,) = fitted.settings["tuning"]["chosen"]
    given = lx.fit(model(lx.Ridge(1.0) + lx.Groups("party", strength)), speeches, **OPTIONS)
    assert fitted.theta.tobytes() == given.theta.tobytes()
    assert fitted.settings["model"]["prior"] == given.settings["model"]["prior"]
    assert f"strength={strength}" in call_of(fitted.settings)
    assert given.tuning is None


def test_it_is_said_in_one_line_and_in_reports(speeches, fitted, capsys):
    lx.fit(model(), speeches, **(OPTIONS | {"quiet": False}))
    (line,) = [line for line in capsys.readouterr().err.splitlines() if line.startswith("chosen by held-out text")]
    assert line == fitted.tuning.attrs["summary"]
    (strength,) = fitted.settings["tuning"]["chosen"]
    assert f"party {strength:g} (90% interval" in line
    assert f"(strength {strength:g}, chosen by held-out text)" in " ".join(describe_prior(fitted))


def test_the_curve_is_kept_with_the_model(fitted, tmp_path):
    fitted.save(tmp_path / "model")
    pd.testing.assert_frame_equal(lx.load(tmp_path / "model").tuning, fitted.tuning)
    table = fitted.tuning
    assert list(table.columns) == ["party", "log_likelihood", "difference", "se", "epochs", "seconds", "chosen"]
    chosen = table[table["chosen"]]
    assert chosen["party"].tolist() == fitted.settings["tuning"]["chosen"]
    assert (table["difference"] <= 1e-4).all()
    assert lx.plots.curve(table).to_dict()


def test_a_curve_that_is_damaged_is_refused(fitted, tmp_path):
    fitted.save(tmp_path / "model")
    saved = storage.load(tmp_path / "model", "embeddings")
    for damage in ({"table": []}, {"table": [{"party": 1.0}]}, {"names": 7}, {"table": None}):
        fit = saved.settings["fit"] | {"tuning": saved.settings["fit"]["tuning"] | damage}
        storage.save(tmp_path / "other", "embeddings", saved.settings | {"fit": fit}, dict(saved.arrays))
        with pytest.raises(lx.errors.StorageError, match="damaged"):
            lx.load(tmp_path / "other")


def test_candidates_are_fits_to_a_share_judged_by_others(speeches, fitted):
    """Each number of the table anew: a fit to the share at the strength over it, and its documents."""
    tuning = fitted.settings["tuning"]
    share = tuning["share"]
    training = lx.Training(holdout=1 - share * 0.9, threads=1, pooled_epochs=2).with_defaults(CBOW())
    tokens = lx.Tokens.of(speeches, min_count=1, quiet=True)
    plan = Plan.of(model(lx.Groups("party", 1.0) + lx.Ridge(1.0)), 1, tokens, _training())
    order = order_of_holding_out(tokens, 1)
    assert (order[plan.text.documents] >= 0.1).all()
    assert (order[plan.text.documents] < 1 - share * 0.9).all()
    for row in tuning["table"]:
        if row["epochs"]:
            prior = lx.Ridge(1.0) + lx.Groups("party", row["party"] / share)
            alone = Estimation(model(prior), tokens, training, True).run()
            sums = plan.text.log_likelihoods({"alone": alone})["alone"]
            assert plan.text.mean_per_token(sums)[0] == pytest.approx(row["log_likelihood"], abs=1e-6)


def _training(**options):
    return lx.Training(**({"holdout": 0.1, "threads": 1, "engine": "cpu"} | options)).with_defaults(CBOW())


def test_where_nothing_differs_the_prior_is_stronger(fitted):
    rows = small.documents(count=400)
    parties = np.random.default_rng(0).permutation([row["party"] for row in rows]).tolist()
    mixed = small.corpus([row | {"party": party} for row, party in zip(rows, parties, strict=True)])
    other = lx.fit(model(), mixed, **OPTIONS)
    assert other.settings["tuning"]["chosen"][0] > 3 * fitted.settings["tuning"]["chosen"][0]


@pytest.mark.parametrize(
    ("choices", "options"),
    [
        ({"likelihood": "sgns"}, {"epochs": 2}),
        ({"absent": "filled"}, {"epochs": 2}),
        ({}, {"epochs": 2, "inference": "variational"}),
        ({}, {"epochs": 1}),
        ({"prior": lx.Ridge() + lx.GroupMean("party")}, {"epochs": 2}),
        ({"prior": lx.Ridge(1.0) + lx.Groups("party", 10.0) + lx.Pairs([("3", "6")], None)}, {"epochs": 2}),
        ({"prior": lx.Ridge(1.0) + lx.Anchor({"3": np.ones(4)}), "vary": ()}, {"epochs": 2}),
    ],
    ids=["sgns", "filled", "variational", "one epoch", "mean", "pairs", "anchor"],
)
def test_every_kind_of_fit_chooses(speeches, choices, options):
    found = lx.fit(model(**choices), speeches, **(OPTIONS | options))
    (strength,) = found.settings["tuning"]["chosen"]
    assert 0 < strength < np.inf
    (belief,) = [part for part in found.settings["model"]["beliefs"] if part.get("chosen")]
    assert belief["strength"] == strength
    assert len(found.contrast("party", test=False) if found.columns else found.neighbors("3"))


def test_the_reference_engine_chooses(speeches):
    text = small.corpus(small.documents(count=120, length=5, words=9))
    found = lx.fit(model(dimensions=2, window=1), text, engine="reference", **OPTIONS)
    assert found.tuning["chosen"].sum() == 1


def test_a_text_that_is_too_small_takes_the_usual_strength(capsys):
    few = small.corpus(small.documents(count=30))
    found = lx.fit(model(), few, **(OPTIONS | {"quiet": False, "epochs": 2}))
    assert found.tuning is None
    assert "too few documents to choose a strength by, so the usual one is taken: party 100" in capsys.readouterr().err
    assert "Groups(column='party', strength=100.0)" in found.settings["model"]["prior"]


# How it is found


class Surface(Search):
    """A search on a surface that is known, in whose candidates nothing is fitted."""

    peak = (3.2,)

    def _evaluate(self, point):
        if point[0] > 5:
            self.sums[point], self.seconds[point] = np.full(12, -np.inf), 0.0
            return
        fall = sum((power - best) ** 2 for power, best in zip(point, self.peak, strict=True))
        self.sums[point], self.seconds[point] = np.full(12, -fall), 0.0


def searched(speeches, prior, peak):
    tokens = lx.Tokens.of(speeches, min_count=1, quiet=True)
    given = model(prior, ["party", "year"])
    places = [place for place, part in enumerate(given.prior.parts) if part.is_unchosen]
    usual = with_strengths(given, dict.fromkeys(places, 100.0))
    plan = Plan.of(usual, len(places), tokens, _training())
    plan = replace(plan, lengths=np.ones(12))
    names = [names_of(given.prior)[place] for place in places]
    search = Surface(usual, places, names, plan, None, Path(), lambda *_: None, (2.0,) * len(places))
    search.peak = peak
    search.run()
    assert plan.cost_of_start + len(search.sums) * plan.cost <= MAX_COST
    return search


PARTY, BOTH = (
    lx.Ridge(1.0) + lx.Groups("party") + lx.Chain("year", 5.0),
    lx.Ridge(1.0) + lx.Groups("party") + lx.Chain("year"),
)


@pytest.mark.parametrize("peak", [0.6, 1.7, 2.0, 2.4, 3.3])
def test_the_vertex_is_found(speeches, peak):
    result = searched(speeches, PARTY, (peak,)).result()
    assert result["chosen"] == [float(f"{10**peak:.2g}")]
    assert sum(row["chosen"] for row in result["table"]) == 1
    assert "end of what was tried" not in result["summary"]


def test_several_strengths_are_chosen_in_turn(speeches):
    result = searched(speeches, BOTH, (1.7, 2.3)).result()
    assert result["names"] == ["party", "year"]
    assert result["chosen"] == [50.0, 200.0]
    chosen = [row for row in result["table"] if row["chosen"]]
    assert [(row["party"], row["year"], row["log_likelihood"]) for row in chosen] == [
        (50.0, 200.0, pytest.approx(0, abs=1e-4))
    ]


def test_a_best_that_is_too_far_is_said_to_be_at_the_end(speeches):
    assert "the end of what was tried" in searched(speeches, PARTY, (-9.0,)).result()["summary"]


def test_a_strength_with_which_training_diverges_is_worse(speeches):
    result = searched(speeches, PARTY, (4.9,)).result()
    assert result["chosen"] == [1e5]
    assert result["intervals"] == [[1e5, 1e5]]
    assert [row["log_likelihood"] is None for row in result["table"]] == [False] * 4 + [True]


def test_the_vertex_of_a_curve_with_an_end_or_a_hole():
    assert _vertex([1.0, 2.0, 3.0], np.array([0.0, -1.0, -2.0])) == 1.0
    assert _vertex([1.0, 2.0, 3.0], np.array([-np.inf, 0.0, -2.0])) == 2.0
    assert _vertex([1.0, 2.0, 3.0], np.array([-1.0, 0.0, -1.0])) == 2.0


# Where it cannot be chosen


def test_a_strength_that_nobody_chose_is_an_error(speeches):
    tokens = lx.Tokens.of(speeches, min_count=1, quiet=True)
    rows = Rows(tokens.vocabularies, tokens.slices(["party"]))
    for part in (lx.Groups("party"), lx.GroupMean("party"), lx.Chain("party"), lx.Pairs([("1", "2")], None)):
        for absent in ("kept", "filled"):
            with pytest.raises(lx.InputError, match=r"has no strength: give a number|not with Pairs"):
                make_problem(model(lx.Ridge(1.0) + part, absent=absent), tokens, rows, 0.1, 1)


def test_the_full_grid_is_around_the_usual_strength():
    assert [candidate.strengths for candidate in Grid.of(model(), "auto").candidates] == [(10.0**k,) for k in range(6)]


def test_a_grid_that_leaves_one_out_is_refused(speeches):
    both = model(lx.Ridge(1.0) + lx.Groups("party") + lx.Pairs([("1", "2")], None))
    with pytest.raises(lx.InputError, match=r'no strength: give it a number, or try some, grid=\{"pairs": "auto"\}'):
        lx.tune(both, speeches, {"party": [1, 10]}, min_count=1, quiet=True)


# Interrupted and resumed


def test_a_fit_that_goes_on_does_not_choose_again(speeches, fitted, tmp_path, monkeypatch):
    run = tmp_path / "run"
    with stopped_after(2 + 4):  # the epochs without slices of the candidates, then those of the fit, and one more
        lx.fit(model(), speeches, checkpoint=run, **OPTIONS)
    monkeypatch.setattr(Search, "run", lambda search: pytest.fail("chosen again"))
    resumed = lx.fit(model(), speeches, checkpoint=run, **OPTIONS)
    assert resumed.theta.tobytes() == fitted.theta.tobytes()
    with pytest.raises(lx.InputError, match="checkpoint of another model, text or training"):
        lx.fit(model(), speeches, checkpoint=run, **(OPTIONS | {"seed": 2}))


def test_settings_of_a_model_that_was_given_whole_stay_as_they_are():
    given, settings = model(lx.Ridge(1.0)), {"model": {"beliefs": []}}
    assert Choice(given, given).added_to(settings) is settings
    assert estimation.choose_strengths(given, None, None, None, True).model is given


# The command line


def test_the_command_line_chooses_without_a_number(write, tmp_path):
    from laplex.cli.app import app

    rows = [f"{'red blue green sun' if i % 3 else 'oak elm ash sun'},{'DR'[i % 2]}" for i in range(120)]
    path = write("speeches.csv", "\n".join(["text,party", *rows]))
    options = ["fit", path, "--group", "party", "--min-count", "1", "--dimensions", "4", "--epochs", "2", "--no-tests"]
    options += ["--subsample", "0", "--threads", "1", "--quiet", "--out"]
    for name, more in (("chosen", []), ("given", ["--group-strength", "7"])):
        result = CliRunner().invoke(app, [*map(str, [*options, tmp_path / name]), *more], catch_exceptions=False)
        assert result.exit_code == 0
    assert lx.load(tmp_path / "chosen").tuning["chosen"].sum() == 1
    given = lx.load(tmp_path / "given")
    assert given.tuning is None
    assert given.settings["model"]["beliefs"][1]["strength"] == 7.0
    shown = CliRunner().invoke(app, ["info", str(tmp_path / "chosen")], catch_exceptions=False).output
    assert "chosen by held-out text: strength of party" in shown
