"""Choosing strengths: what is tried, how it is compared, what is chosen, and that a stopped tuning goes on."""

from __future__ import annotations

from dataclasses import replace
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pytest
import small
from interruption import stopped_after
from scipy.special import log_expit
from typer.testing import CliRunner

import laplex as lx
from laplex.fitting.epochs import EpochLoop
from laplex.fitting.estimation import Estimation
from laplex.fitting.grid import Grid
from laplex.fitting.held_out import HeldOutText
from laplex.fitting.race import Outcome, Race, Results, planned_epochs, rungs, survivors
from laplex.fitting.tune import choose, tune
from laplex.model.likelihoods import CBOW
from laplex.model.problem import make_problem
from laplex.model.rows import Rows
from laplex.runtime import storage
from laplex.runtime.display import bar

OPTIONS = {"min_count": 1, "threads": 1, "holdout": 0.25, "quiet": True}


@pytest.fixture
def speeches():
    return small.corpus(small.documents(count=240))


def model(party=100.0, year=100.0, **choices):
    prior = lx.Ridge(1.0) + lx.Groups("party", party) + lx.Chain("year", year)
    usual = {"vary": ["party", "year"], "prior": prior, "dimensions": 4, "window": 2, "subsample": 0.0}
    return lx.Model(**(usual | choices))


# What is tried


def strengths(grid):
    return [candidate.strengths for candidate in grid.candidates]


def test_a_part_of_the_prior_is_named_by_its_column_or_its_kind():
    for name in ("party", "groups", "Groups", "groups 1"):
        grid = Grid.of(model(), {name: [10, 1]})
        assert grid.names == (name,)
        assert [candidate.model for candidate in grid.candidates] == [model(1.0), model(10.0)]


def test_several_strengths_are_tried_in_all_combinations():
    grid = Grid.of(model(), {"party": [1, 10], "year": [2, 20, 200]})
    assert strengths(grid) == [(a, b) for a in (1, 10) for b in (2, 20, 200)]
    assert grid.candidates[-1].model == model(10.0, 200.0)


def test_a_list_is_for_the_one_part_that_is_no_ridge():
    one = lx.Model(["party"], lx.Ridge(1.0) + lx.Groups("party", 1.0))
    assert [candidate.model.prior for candidate in Grid.of(one, [5, 50]).candidates] == [
        lx.Ridge(1.0) + lx.Groups("party", 5.0),
        lx.Ridge(1.0) + lx.Groups("party", 50.0),
    ]
    assert Grid.of(lx.Model(prior=lx.Ridge(1.0)), [1, 2]).names == ("ridge",)


def test_auto_is_around_the_models_own_strength():
    assert strengths(Grid.of(model(), {"party": "auto"})) == [(10.0**k,) for k in range(6)]
    assert strengths(Grid.of(model(), {"ridge": "auto"})) == [(10.0**k,) for k in range(-2, 4)]
    assert len(Grid.of(model(), "auto").candidates) == 36


def test_two_parts_of_a_kind_have_numbers():
    two = lx.Model(prior=lx.Pairs([("a", "b")], 1.0) + lx.Pairs([("c", "d")], 2.0))
    grid = Grid.of(two, {"pairs 2": [3, 4]})
    assert [part.strength for part in grid.candidates[0].model.prior.parts] == [1.0, 3.0]
    with pytest.raises(lx.InputError, match='"pairs" is the name of 2 parts of the prior; write one of "pairs 1"'):
        Grid.of(two, {"pairs": [3, 4]})


def test_infinite_strengths_and_none_at_all_are_tried(speeches):
    tuning = tune(model(), speeches, {"party": [0, 10, np.inf]}, epochs=2, **OPTIONS)
    assert tuning.table["party"].tolist() == [0, 10, np.inf]
    assert tuning.plot().to_dict()


@pytest.mark.parametrize(
    ("grid", "message"),
    [
        (
            {"senator": [1, 2]},
            'no part of the prior is called "senator"; there are "ridge" (Ridge), "party" (Groups)',
        ),
        ({"party": [1, 2], "groups": [1, 2]}, "are the same part of the prior"),
        ({"party": [1]}, "give two or more"),
        ({"party": []}, "write"),
        ({"party": "all"}, '"auto"'),
        ({"party": [1, -2]}, "a strength is a number from 0, not -2"),
        ({"party": [1, "x"]}, "not 'x'"),
        ({"ridge": [1, np.inf]}, "cannot be infinite"),
        ({}, "names no part of the prior"),
        ([1, 2], "say whose strengths these are"),
        ("all", 'grid="all"'),
        (7, "grid=7"),
    ],
)
def test_a_grid_that_makes_no_sense(grid, message):
    with pytest.raises(lx.InputError) as error:
        Grid.of(model(), grid)
    assert message in str(error.value)


def test_many_strengths_cannot_be_tuned():
    with pytest.raises(lx.InputError, match="many strengths"):
        Grid.of(model(party={("D", "R"): 1.0}), {"party": [1, 2]})


def test_models_must_be_of_one_likelihood():
    with pytest.raises(lx.InputError, match="models with negatives="):
        Grid.of([model(), model(negatives=7)], "auto")
    with pytest.raises(lx.InputError, match="leave out grid="):
        Grid.of([model(), model()], [1, 2])
    with pytest.raises(lx.InputError, match="two or more"):
        Grid.of([model()], "auto")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rule": "both"}, "rule='both'"),
        ({"holdout": 0.0}, "holdout=0.0"),
        ({"holdout": 0.001}, "larger holdout="),
        ({"patience": 2}, "patience=2"),
        ({"colour": 1}, "tune has no colour="),
    ],
)
def test_options_that_make_no_sense(speeches, options, message):
    with pytest.raises(lx.InputError, match=message):
        tune(model(), speeches, {"party": [1, 2]}, **(OPTIONS | options))


# How it is compared


@pytest.mark.parametrize("likelihood", ["cbow", "sgns"])
def test_documents_are_judged_by_their_log_likelihood(speeches, likelihood):
    """The same by a loop over tokens, with the same negatives."""
    chosen = model(likelihood=likelihood)
    tokens = lx.Tokens.of(speeches, min_count=1, quiet=True)
    rows = Rows(tokens.vocabularies, tokens.slices(chosen.vary))
    problem = make_problem(chosen, tokens, rows, 0.25, 1)
    judged = HeldOutText.of_problem(tokens, problem, 1)
    fitted = lx.fit(chosen, tokens, epochs=2, threads=1, holdout=0.25, quiet=True)
    sums = judged.log_likelihoods({"fit": fitted})["fit"]
    held = np.flatnonzero(problem.held_out)
    assert judged.documents.tolist() == held.tolist()
    drawn = np.concatenate([batch.negatives for batch in judged.batches(fitted, 5, 0.75)])
    alpha, done = fitted.contexts(), 0
    for place, document in enumerate(held):
        party, year = rows.slices.keys[rows.slices.of_document[document]]
        rho = fitted.matrix(at={"party": party, "year": year})
        ids, expected = tokens.document(document), 0.0
        for i, word in enumerate(ids):
            around = [alpha[ids[j]] for j in range(max(0, i - 2), min(len(ids), i + 3)) if j != i]
            for x in around if likelihood == "sgns" else [np.sum(around, axis=0)]:
                expected += log_expit(rho[word] @ x) + log_expit(-rho[drawn[done]] @ x).sum()
            done += 1
        assert sums[place] == pytest.approx(expected, rel=1e-4)


def test_the_fit_is_the_one_that_fit_gives(speeches):
    tuning = tune(model(), speeches, {"party": [1, 10, 100, 1000, 10000]}, epochs=5, **OPTIONS)
    alone = lx.fit(tuning.model, speeches, epochs=5, **OPTIONS)
    assert tuning.fitted.theta.tobytes() == alone.theta.tobytes()
    assert tuning.fitted.history["epoch"].tolist() == [1, 2, 3, 4, 5]


def test_the_table_tells_what_was_tried_and_compares_after_equal_epochs(speeches):
    values = [1.0, 30.0, 1e3, 1e5, 1e7]
    tuning = tune(model(), speeches, {"party": values}, epochs=5, **OPTIONS)
    table = tuning.table
    assert list(table.columns) == ["party", "log_likelihood", "difference", "se", "epochs", "seconds", "chosen"]
    assert table["party"].tolist() == values
    best = table[table["chosen"]].iloc[0]
    assert best["epochs"] == 5
    assert best["difference"] == best["se"] == 0
    assert set(table["epochs"]) <= {3, 4, 5}  # two without slices, and one to three with them
    assert (table["epochs"] == 5).sum() >= 2
    tokens = lx.Tokens.of(speeches, min_count=1, quiet=True)
    for _, row in table.iterrows():
        at = lx.Training(epochs=5, threads=1, holdout=0.25).with_defaults(CBOW())
        assert row["difference"] == pytest.approx(_difference(tokens, row, best, at), abs=1e-9)
    assert repr(tuning).startswith(f"Tuning: party {best['party']:g} of 5 tried")


def _difference(tokens, row, best, training):
    """How much worse a strength is than the best after the same epochs, with all fits done anew."""
    problem = make_problem(model(), tokens, Rows(tokens.vocabularies, tokens.slices(["party", "year"])), 0.25, 1)
    judged = HeldOutText.of_problem(tokens, problem, 1)
    means = []
    for party in (row["party"], best["party"]):
        with TemporaryDirectory() as folder:
            run = replace(training, checkpoint=folder)
            fitted = Estimation(model(party), tokens, run, quiet=True).run(int(row["epochs"]))
        means.append(judged.log_likelihoods({"fit": fitted})["fit"].sum() / judged.lengths.sum())
    return means[0] - means[1]


def test_a_race_grows_cheaper_by_halving():
    assert (rungs(5, 6), rungs(10, 2), rungs(1, 6)) == ([1, 3, 5], [10], [1])
    assert [survivors(6, place, 3) for place in range(3)] == [6, 3, 2]
    assert [survivors(36, place, 5) for place in range(5)] == [36, 17, 8, 4, 2]
    assert planned_epochs([1, 3, 5], 6) == 16
    assert (rungs(5, 6, 2), rungs(10, 6, 3), rungs(2, 6, 1)) == ([3, 4, 5], [4, 7, 10], [2])
    assert planned_epochs([3, 4, 5], 6, 2) == 2 + 6 + 3 + 2  # the first two are run once
    for epochs in (1, 2, 3, 5, 10, 40):
        for count in (2, 3, 6, 12, 36):
            found = rungs(epochs, count)
            assert found == sorted(set(found))
            assert found[-1] == epochs
            assert planned_epochs(found, count) <= epochs * count
    assert planned_epochs(rungs(10, 6), 6) <= 4 * 10


def test_the_standard_error_is_of_differences_document_by_document(speeches):
    tokens = lx.Tokens.of(speeches, min_count=1, quiet=True)
    problem = make_problem(model(), tokens, Rows(tokens.vocabularies, tokens.slices(["party", "year"])), 0.25, 1)
    judged = HeldOutText.of_problem(tokens, problem, 1)
    random = np.random.default_rng(0)
    common, own = random.normal(0, 50, len(judged.lengths)), random.normal(0, 1, (2, len(judged.lengths)))
    difference, error = judged.mean_per_token((common + own[0]) - (common + own[1]))
    apart = (own[0] - own[1]) / judged.lengths[0]  # all documents are of one length
    assert difference == pytest.approx(apart.mean())
    assert error == pytest.approx(apart.std(ddof=1) / np.sqrt(len(apart)))


# What is chosen


def raced(speeches, folder, curves, rule="best"):
    """The choice of a race in which strengths 1, 10, … are known to be worth `curves`, (strengths, rungs), a token.

    It is all in the folder before, so nothing is fitted. Differences have a standard error of about 0.1.
    """
    tokens = lx.Tokens.of(speeches, min_count=1, quiet=True)
    grid = Grid.of(model(), {"party": [10.0**k for k in range(len(curves))]})
    training = lx.Training(epochs=5, holdout=0.25, threads=1).with_defaults(CBOW())
    with bar("tuning", quiet=True) as progress:
        race = Race(grid, tokens, training, Results(folder), progress, quiet=True)
        documents = len(race.text.lengths)
        noise = np.random.default_rng(0).normal(0, 0.1 * np.sqrt(documents / 2), (len(curves), documents))
        noise -= noise.mean(1, keepdims=True)
        for candidate, curve, own in zip(grid.candidates, curves, noise, strict=True):
            for epochs, value in zip(race.rungs, curve, strict=True):
                race._results.put(race.key(candidate), epochs, Outcome((value + own) * race.text.lengths, 1.0))
        best = race.run()
        chosen = choose(race, best, rule)
    return race, best.strengths[0], chosen.strengths[0]


STEADY = [[-4.0] * 3, [-2.0] * 3, [0.0] * 3, [-0.05] * 3, [-2.0] * 3, [-4.0] * 3]  # 100 is best, 1,000 nearly so


def test_the_better_half_goes_on(speeches, tmp_path):
    race, best, chosen = raced(speeches, tmp_path / "run", STEADY)
    assert (best, chosen) == (100, 100)
    assert [max(outcomes) for outcomes in race.outcomes.values()] == [3, 4, 5, 5, 3, 3]


def test_one_standard_error_takes_the_strongest_that_is_as_good(speeches, tmp_path):
    assert raced(speeches, tmp_path / "run", STEADY, "one-se")[1:] == (100, 1000)


def test_one_standard_error_never_takes_what_is_weaker(speeches, tmp_path):
    weaker = [[-4.0] * 3, [-0.02] * 3, [0.0] * 3, [-1.0] * 3, [-2.0] * 3, [-4.0] * 3]
    assert raced(speeches, tmp_path / "run", weaker, "one-se")[1:] == (100, 100)


def test_a_neighbor_that_was_dropped_too_early_is_run_to_the_end(speeches, tmp_path):
    """10 is a little behind at the first rung, and the best in the end. It takes the place of another finalist."""
    late = [[-4.0] * 3, [-0.15, 0.4, 0.5], [-0.1, 0.0, 0.0], [0.0, -0.1, -0.2], [-0.05, -0.2, -0.3], [-4.0] * 3]
    race, best, _ = raced(speeches, tmp_path / "run", late)
    assert best == 10
    assert [max(outcomes) for outcomes in race.outcomes.values()] == [3, 5, 5, 4, 4, 3]


def test_strengths_that_diverge_are_out(speeches, tmp_path):
    curves = [[-np.inf] * 3, [-2.0] * 3, [-1.0] * 3, [0.0, 0.0, -np.inf], [-3.0] * 3, [-np.inf] * 3]
    assert raced(speeches, tmp_path / "run", curves)[1] == 100
    with pytest.raises(lx.InputError, match="training diverged with every strength: lower rate="):
        raced(speeches, tmp_path / "other", [[-np.inf] * 3] * 6)


def simulated(strength, seed, words=200, groups="ABCD", dimensions=5, documents=48_000):
    """Documents of a word and a context, drawn from the model, and the vectors of the contexts, which are known.

    The words' vectors are drawn from Ridge(1, on="words") + Groups(strength), and a word given its context c by
    exp(ρ·α_c). There are as many contexts as words, and negatives are even, so that with all α_c of one length
    log p(w | c) / p_noise(w) is ρ·α_c: what the likelihood says.
    """
    random, count = np.random.default_rng(seed), len(groups)
    precision = np.eye(count) + strength * (count * np.eye(count) - 1)
    covariance = np.linalg.inv(precision)
    drawn = random.standard_normal((count, words, dimensions))
    rho = np.einsum("st,tvd->svd", np.linalg.cholesky(covariance), drawn)
    alpha = random.standard_normal((words, dimensions))
    alpha *= np.sqrt(2 * np.log(2) / covariance[0, 0]) / np.linalg.norm(alpha, axis=1, keepdims=True)
    group, context = random.integers(count, size=documents), random.integers(words, size=documents)
    word = np.empty(documents, np.int64)
    for s in range(count):
        scores = alpha[context[group == s]] @ rho[s].T
        word[group == s] = (scores + random.gumbel(size=scores.shape)).argmax(1)
    text = [{"text": [f"w{w}", f"c{c}"], "party": groups[g]} for w, c, g in zip(word, context, group, strict=True)]
    return text, {f"c{k}": vector for k, vector in enumerate(alpha)} | {f"w{k}": np.zeros(5) for k in range(words)}


@pytest.mark.slow
@pytest.mark.parametrize(("truth", "seed"), [(2.0, 0), (12.0, 1)])
def test_the_choice_is_within_a_factor_of_four_of_the_truth(truth, seed):
    """It is below the truth rather than above: negatives are drawn anew in every epoch, so that a fit knows more than
    the curvature of its likelihood says, by about two."""
    text, known = simulated(truth, seed)
    prior = lx.Ridge(1.0, on="words") + lx.Groups("party", 1.0) + lx.Anchor(known, 1e6, on="contexts")
    drawn = lx.Model(["party"], prior, dimensions=5, window=1, negatives=1, subsample=0.0, noise_power=0.0)
    grid = {"party": [truth * factor for factor in (1 / 64, 1 / 16, 1 / 4, 1, 4, 16, 64)]}
    options = {"epochs": 10, "drawn": 8, "holdout": 0.3, "min_count": 1, "threads": 1, "quiet": True}
    tuning = tune(drawn, lx.read(text, metadata=["party"]), grid, **options)
    chosen = tuning.table["party"][tuning.table["chosen"]].item()
    assert truth / 4 <= chosen <= truth * 4
    far = tuning.table[(tuning.table["party"] < truth / 4) | (tuning.table["party"] > truth * 4)]
    assert (far["difference"] < -2 * far["se"]).all()


def test_the_choice_of_either_rule_has_run_to_the_end(speeches):
    grid = {"party": [1, 10, 100, 1e3, 1e4, 1e5]}
    best, simple = (tune(model(), speeches, grid, epochs=5, rule=rule, **OPTIONS) for rule in ("best", "one-se"))
    assert simple.table["party"][simple.table["chosen"]].item() >= best.table["party"][best.table["chosen"]].item()
    for tuning in (best, simple):
        row = tuning.table[tuning.table["chosen"]].iloc[0]
        assert row["epochs"] == 5
        assert row["difference"] >= -row["se"]
    assert "one-se" in repr(simple)


def test_a_grid_of_our_own_grows_where_the_best_is_at_its_end(capsys):
    """Words 0 to 2 change sides, so 1,000 times too strong is too strong."""
    strong, speeches = model(party=1e7), small.corpus(small.documents(count=300))
    tuning = tune(strong, speeches, {"party": "auto"}, epochs=10, **OPTIONS)
    assert tuning.table["party"].min() < 1e5
    named = tune(strong, speeches, {"party": [1e5, 1e6, 1e7]}, epochs=10, **(OPTIONS | {"quiet": False}))
    assert named.table["party"].min() == 1e5
    assert "the best party, 100000, is at the end of what was tried" in capsys.readouterr().err


def test_models_of_different_slices_are_compared(speeches):
    pooled = lx.Model(dimensions=4, window=2, subsample=0.0)
    tuning = tune([pooled, model(1.0, 1.0)], speeches, epochs=3, **OPTIONS)
    assert tuning.table["model"].tolist() == [repr(pooled.prior), repr(model(1.0, 1.0).prior)]
    assert tuning.model in (pooled, model(1.0, 1.0))
    assert tuning.plot().to_dict()


# Going on


def test_a_stopped_tuning_goes_on_and_repeats_nothing(speeches, tmp_path, monkeypatch):
    grid, options = {"party": [1, 10, 100, 1000]}, OPTIONS | {"epochs": 4, "pooled_epochs": 2}
    whole = tune(model(), speeches, grid, **options)
    with stopped_after(4) as positions:
        tune(model(), speeches, grid, checkpoint=tmp_path / "run", **options)
    save, saved = storage.save, []
    monkeypatch.setattr(storage, "save", lambda *all: (saved.append(all[1]), save(*all)))
    resumed = tune(model(), speeches, grid, checkpoint=tmp_path / "run", **options)
    # two epochs without slices for all, then each candidate saves where it begins and after every epoch
    assert len(positions) + saved.count("checkpoint") == 2 + (whole.table["epochs"] - 2 + 1).sum()
    pd.testing.assert_frame_equal(resumed.table.drop(columns="seconds"), whole.table.drop(columns="seconds"))
    assert resumed.fitted.theta.tobytes() == whole.fitted.theta.tobytes()
    saved.clear()
    again = tune(model(), speeches, grid, checkpoint=tmp_path / "run", **options)
    assert saved == []
    assert again.fitted.theta.tobytes() == whole.fitted.theta.tobytes()
    assert len(list((tmp_path / "run").glob("run-*"))) == 1
    assert not list((tmp_path / "run").glob("start-*"))


def test_candidates_begin_from_one_start_as_if_each_had_its_own(speeches, monkeypatch):
    grid, options = {"party": [1, 100]}, OPTIONS | {"epochs": 3}
    read, epochs = EpochLoop._finish_epoch, []
    monkeypatch.setattr(
        EpochLoop, "_finish_epoch", lambda loop: (epochs.append(len(loop.position.history)), read(loop))
    )
    tuning = tune(model(), speeches, grid, **options)
    assert sorted(epochs) == [0, 1, 1, 2, 2]  # the first epoch, which is without slices, once
    alone = lx.fit(tuning.model, speeches, **options)
    assert alone.theta.tobytes() == tuning.fitted.theta.tobytes()
    assert alone.pooled.tobytes() == tuning.fitted.pooled.tobytes()


@pytest.mark.slow
def test_the_reference_engine_is_tuned_too():
    one = lx.Model(["party"], lx.Ridge(1.0) + lx.Groups("party", 1.0), dimensions=2, window=1, subsample=0.0)
    text = small.corpus(small.documents(count=40, length=5, words=9))
    tuning = tune(one, text, [1, 1e4], engine="reference", **OPTIONS)
    assert tuning.table["epochs"].tolist() == [1, 1]
    assert tuning.fitted.settings["training"]["engine"] == "reference"


# The command line


def test_tune_on_the_command_line(write, tmp_path):
    from laplex.cli.app import app

    rows = [f"{'red blue green sun' if i % 3 else 'oak elm ash sun'},{'DR'[i % 2]},{2010 + i % 4}" for i in range(80)]
    path = write("speeches.csv", "\n".join(["speech,party,date", *rows]))
    options = ["--text", "speech", "--group", "party", "--time", "date", "--every", "2y", "--min-count", "1"]
    options += [
        "--dimensions",
        "4",
        "--epochs",
        "2",
        "--threads",
        "1",
        "--holdout",
        "0.3",
        "--subsample",
        "0",
        "--quiet",
    ]
    files = ["--csv", tmp_path / "a.csv", "--plot", tmp_path / "a.svg", "--out", tmp_path / "model"]
    chosen = ["--strength", "party=1,100", "--strength", "period=10,1000"]
    result = CliRunner().invoke(app, ["tune", *map(str, [path, *options, *chosen, *files])], catch_exceptions=False)
    assert result.exit_code == 0
    assert "Tuning: party" in result.output
    table = pd.read_csv(tmp_path / "a.csv")
    assert len(table) == 4
    assert (tmp_path / "a.svg").read_text().startswith("<svg")
    fitted = lx.load(tmp_path / "model")
    strengths = {part.get("column"): part.get("strength") for part in fitted.settings["model"]["beliefs"]}
    row = table[table["chosen"]].iloc[0]
    assert (strengths["party"], strengths["period"]) == (row["party"], row["period"])
    for wrong in (["--strength", "party=1,x"], ["--strength", "1,2", "--strength", "3"], ["--strength", "senator=1,2"]):
        failed = CliRunner().invoke(app, ["tune", *map(str, [path, *options, *wrong])])
        assert isinstance(failed.exception, lx.InputError)
