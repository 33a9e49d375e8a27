"""Fits whose vectors vary begin with epochs without slices, whose vectors know nothing of the metadata."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import small
from interruption import stopped_after

import laplex as lx
from laplex.engines import cpu
from laplex.engines.sampling import count_visits
from laplex.engines.state import INITIAL_ACCUMULATOR, State
from laplex.fitting.epochs import DivergedError
from laplex.fitting.estimation import Estimation
from laplex.inference import pooled
from laplex.model.likelihoods import Likelihood
from laplex.model.objective import log_prior_gradient
from laplex.runtime import storage

GROUPS = lx.Ridge(1.0) + lx.Groups("party", 30.0)
COLUMNS = ["epoch", "log_likelihood", "log_prior", "held_out", "priors"]


def model(prior=GROUPS, vary=("party",), **choices):
    return lx.Model(vary, prior, **({"dimensions": 8, "window": 3, "subsample": 0.0} | choices))


def fit(chosen=None, corpus=None, **options):
    corpus = small.corpus(small.documents(count=120)) if corpus is None else corpus
    options = {"min_count": 1, "epochs": 5, "threads": 1, "holdout": 0.1} | options
    return lx.fit(chosen or model(), corpus, quiet=True, **options)


def run_only(chosen, epochs, **options):
    """The first of five epochs, and the estimation they are of."""
    tokens = lx.Tokens.of(small.corpus(small.documents(count=120)), min_count=1, quiet=True)
    training = lx.Training(**({"epochs": 5, "threads": 1, "holdout": 0.1, "engine": "cpu"} | options))
    estimation = Estimation(chosen, tokens, training.with_defaults(Likelihood.of(chosen.likelihood)), quiet=True)
    return estimation.run(epochs), estimation


# What the vectors without slices are


@pytest.mark.parametrize("likelihood", ["cbow", "sgns"])
def test_they_are_those_of_the_model_without_slices_after_as_many_epochs(likelihood):
    fitted = fit(model(lx.Ridge(0.5) + lx.Groups("party", 30.0), likelihood=likelihood))
    plain, _ = run_only(model(lx.Ridge(0.5), (), likelihood=likelihood), 2)
    assert fitted.pooled.tobytes() == plain.theta.tobytes()
    free = pooled(fitted)
    np.testing.assert_array_equal(free.matrix(), plain.matrix())
    np.testing.assert_array_equal(free.contexts(), plain.contexts())
    assert (free.columns, free.count("3")) == ((), fitted.count("3"))
    assert free.settings["model"]["prior"] == plain.settings["model"]["prior"]


@pytest.mark.parametrize("absent", ["kept", "filled"])
def test_they_do_not_depend_on_the_labels(absent):
    rows = small.documents(count=120)
    labels = np.random.default_rng(0).permutation([row["party"] for row in rows]).tolist()
    permuted = [row | {"party": label} for row, label in zip(rows, labels)]
    few = [row | {"party": "D" if number else "R"} for number, row in enumerate(rows)]
    one, two, three = (fit(model(absent=absent), small.corpus(text)) for text in (rows, permuted, few))
    assert one.pooled.tobytes() == two.pooled.tobytes() == three.pooled.tobytes()
    assert one.theta.tobytes() != two.theta.tobytes()


def test_what_the_prior_says_of_slices_and_words_is_no_part_of_them():
    pairs = lx.Pairs([("0", "1"), ("4", "9")], 50.0)
    priors = [GROUPS, lx.Ridge(1.0), lx.Ridge(1.0) + lx.Groups("party", np.inf), GROUPS + pairs]
    assert len({fit(model(prior)).pooled.tobytes() for prior in priors}) == 1
    assert fit(model(lx.Ridge(2.0))).pooled.tobytes() != fit().pooled.tobytes()


def test_tests_take_them_instead_of_fitting_again(monkeypatch):
    fitted = fit(tests=False)
    monkeypatch.setattr("laplex.fitting.estimation.fit", None)
    one, two = (fitted.inference(min_units=2, min_count=1, quiet=True).contrast("party", ["3", "4"]) for _ in range(2))
    pd.testing.assert_frame_equal(one, two)
    fitted.settings["tokens"]["folder"] = "gone"
    assert pooled(fitted).contexts().shape == (18, 8)


# Slices begin from there


def test_every_slice_begins_at_the_vector_without_slices():
    early, _ = run_only(model(), 1)
    border, estimation = run_only(model(), 2)
    for fitted in (early, border):
        np.testing.assert_array_equal(fitted.matrix(at={"party": "D"}), fitted.matrix(at={"party": "R"}))
    assert len(early.history) == 1
    np.testing.assert_array_equal(border.matrix(at={"party": "D"}), border.pooled[:18])
    np.testing.assert_array_equal(border.contexts(), border.pooled[18:])
    assert border.history["held_out"][1] == estimation.held_out_likelihood(border.theta)
    later, _ = run_only(model(), 3)
    assert (later.matrix(at={"party": "D"}) != later.matrix(at={"party": "R"})).any(axis=1).all()


def test_accumulators_are_divided_among_slices_by_what_they_read():
    rows = small.documents(count=30)
    for row in rows:
        row["text"] = [word for word in row["text"] if row["party"] == "D" or word != "5"]
    problem, plain = small.problem(rows, GROUPS, ["party"]), small.problem(rows, lx.Ridge(1.0))
    start = State.initial(plain, 1)
    cpu.Cpu(plain, start, 8, 8).run(cpu.Epoch(0, 5, 0.1, 1, 1), lambda share: None)
    state = State.from_pooled(problem, start, count_visits(problem, 1, 1).reads)
    where = small.layout(rows, ["party"])
    growth = state.accumulator - np.float32(INITIAL_ACCUMULATOR)
    both = growth[where.words(0, 0)] + growth[where.words(0, 1)]
    np.testing.assert_allclose(both, start.accumulator[:18] - INITIAL_ACCUMULATOR, rtol=1e-4)
    np.testing.assert_array_equal(state.accumulator[where.contexts(0)], start.accumulator[18:])
    absent = where.words(0, 1)[where.vocabularies[0]["5"]]
    assert state.accumulator[absent] == np.float32(INITIAL_ACCUMULATOR)
    np.testing.assert_array_equal(state.theta[absent], start.theta[where.vocabularies[0]["5"]])


def test_words_that_a_slice_never_has_end_where_the_prior_has_its_maximum():
    """The party I has so little text that most words are not even drawn as negatives there."""
    rows = small.documents(count=200, words=150, length=40)
    rows.append({"text": ["0", "1"], "party": "I", "year": "2000", "lang": ""})
    fitted = fit(model(), small.corpus(rows), holdout=0.0, epochs=3)
    gradient = log_prior_gradient(fitted.graph, fitted.theta.astype(np.float64))
    untouched = np.abs(gradient[fitted.slots(0, 1)]).max(1) < 1e-3
    assert fitted.rows.slices.keys[1] == ("I",)
    assert 0.5 < untouched.mean() < 1.0
    assert np.abs(gradient[fitted.slots(0, 0)]).max() > 0.1
    mean = (fitted.matrix(at={"party": "D"}) + fitted.matrix(at={"party": "R"})) / (2 + 1 / 30)
    np.testing.assert_allclose(fitted.matrix(at={"party": "I"})[untouched], mean[untouched], atol=1e-4)


def test_a_tied_vector_begins_there_too():
    border, _ = run_only(model(lx.Ridge(1.0) + lx.Groups("party", np.inf)), 2)
    np.testing.assert_array_equal(border.matrix(at={"party": "R"}), border.pooled[:18])


@pytest.mark.parametrize("engine", ["cpu", "torch"])
def test_history_has_a_row_for_every_epoch(engine):
    if engine == "torch":
        pytest.importorskip("torch")
    options = {"device": "cpu"} if engine == "torch" else {}
    fitted = fit(engine=engine, epochs=6, **options)
    history = fitted.history
    assert history["epoch"].tolist() == [1, 2, 3, 4, 5, 6]
    assert [list(priors) for priors in history["priors"][:2]] == [["Ridge(strength=1.0, on='all')"]] * 2
    assert all(len(priors) == 2 for priors in history["priors"][2:])
    assert history["held_out"].notna().all()
    assert history["held_out"].iloc[-1] > history["held_out"].iloc[0]
    assert fitted.settings["training"]["pooled_epochs"] == 2
    assert np.isfinite(fitted.pooled).all()
    assert fitted.pooled.shape == (36, 8)


# Languages


def bilingual(strength=100.0):
    translations = lx.Translations([(f"x{k}", f"y{k}") for k in range(12)], strength)
    return lx.Ridge(1.0) + lx.Groups("party", 30.0) + translations


def text_of_two_languages(count=400):
    return small.corpus(small.documents(count=count, words=30, languages=("x", "y")))


@pytest.mark.parametrize("strength", [100.0, np.inf])
def test_languages_are_rotated_where_slices_begin(strength):
    fitted = fit(model(bilingual(strength)), text_of_two_languages(), epochs=15)
    assert np.flatnonzero(fitted.history["rotated"]).tolist() == [3]  # the fourth, the last without slices
    right = 0
    for k in range(12, 30):
        for party in "DR":
            nearest = fitted.neighbors(f"x{k}", 3, language="x", to_language="y", at={"party": party})["neighbor"]
            right += sum(int(name[1:]) % 3 == k % 3 for name in nearest)
    assert right > 0.8 * 3 * 18 * 2
    apart = fit(model(), text_of_two_languages(), epochs=15)
    assert "rotated" not in apart.history
    assert fitted.pooled.tobytes() == apart.pooled.tobytes()
    np.testing.assert_array_equal(pooled(fitted).matrix("y"), fitted.pooled[30:60])


# Going on


@pytest.mark.parametrize("prior", [GROUPS, bilingual(), bilingual(np.inf)], ids=["groups", "translations", "ties"])
@pytest.mark.parametrize("stop", range(1, 5))
def test_a_run_that_stops_on_either_side_of_the_border_goes_on_bit_for_bit(tmp_path, prior, stop):
    corpus = None if prior is GROUPS else text_of_two_languages(60)
    whole = fit(model(prior), corpus, epochs=5)
    with stopped_after(stop) as positions:  # after epochs 1 and 2, where slices begin, and after epoch 3
        fit(model(prior), corpus, epochs=5, checkpoint=tmp_path / "run")
    assert len(positions[-1]["history"]) == [1, 2, 2, 3][stop - 1]
    resumed = fit(model(prior), corpus, epochs=5, checkpoint=tmp_path / "run")
    again = fit(model(prior), corpus, epochs=5, checkpoint=tmp_path / "run")
    for fitted in (resumed, again):
        assert fitted.theta.tobytes() == whole.theta.tobytes()
        assert fitted.pooled.tobytes() == whole.pooled.tobytes()
        pd.testing.assert_frame_equal(fitted.history[COLUMNS], whole.history[COLUMNS])


@pytest.mark.parametrize("stop", [2, 6, 8, 11])
def test_a_run_interrupted_within_an_epoch_goes_on_bit_for_bit(tmp_path, monkeypatch, stop):
    monkeypatch.setattr(cpu, "PIECE", 600)
    whole = fit(epochs=3)
    run = {"epochs": 3, "checkpoint": tmp_path / "run", "checkpoint_minutes": 1e-9}
    with stopped_after(stop) as positions:
        fit(**run)
    place = len(positions[-1]["history"]), positions[-1]["piece"]
    assert place == {2: (0, 2), 6: (1, 1), 8: (1, 3), 11: (2, 2)}[stop]
    resumed = fit(**run)
    assert resumed.theta.tobytes() == whole.theta.tobytes()
    assert resumed.pooled.tobytes() == whole.pooled.tobytes()


@pytest.mark.parametrize("bad", [1, 2])
def test_a_run_that_diverges_leaves_the_last_good_vectors(monkeypatch, bad):
    run = cpu.Cpu.run

    def run_and_fail(self, epoch, *rest):
        done = run(self, epoch, *rest)
        if epoch.number == bad:
            self.state.theta[0], self.state.accumulator[0] = np.inf, np.nan
        return done

    monkeypatch.setattr(cpu.Cpu, "run", run_and_fail)
    with pytest.raises(DivergedError) as failed:
        fit()
    left = failed.value.last_good
    assert len(left.history) == bad
    np.testing.assert_array_equal(left.matrix(at={"party": "D"}), left.matrix(at={"party": "R"}))
    assert (left.pooled is None) == (bad == 1)


def test_patience_does_not_end_a_run_before_it_has_slices():
    history = fit(model(lx.Ridge(1e-6)), epochs=40, patience=1, rate=5.0).history
    assert 9 < len(history) < 40
    assert (history["held_out"].diff()[1:9] < 0).any()


# Saved and loaded


def test_they_are_saved_with_the_model(tmp_path):
    fitted = fit()
    fitted.save(tmp_path / "with")
    again = lx.load(tmp_path / "with")
    assert again.pooled.dtype == np.float32
    np.testing.assert_array_equal(again.pooled, fitted.pooled)
    np.testing.assert_array_equal(pooled(again).contexts(), pooled(fitted).contexts())
    turned = lx.normalize_rotation(again, quiet=True)
    np.testing.assert_array_equal(turned.pooled, fitted.pooled)


def test_a_model_without_them_is_opened_and_fitted_anew_for_tests(tmp_path):
    fitted = fit(pooled_epochs=0)
    fitted.save(tmp_path / "without")
    again = lx.load(tmp_path / "without")
    assert again.pooled is None
    free = pooled(again, quiet=True)
    assert (free.columns, len(free.history)) == ((), 5)


def test_a_model_with_too_few_of_them_is_damaged(tmp_path):
    fitted = fit()
    fitted.save(tmp_path / "model")
    saved = storage.load(tmp_path / "model")
    storage.save(tmp_path / "bad", saved.kind, saved.settings, saved.arrays | {"pooled": fitted.pooled[:-1]})
    with pytest.raises(lx.StorageError, match=r"damaged.*\(35, 8\)"):
        lx.load(tmp_path / "bad")


def test_a_variational_fit_has_them():
    fitted = fit(epochs=3, inference="variational")
    assert fitted.spread is not None
    assert fitted.pooled.tobytes() == fit(epochs=3).pooled.tobytes()


# How many epochs


@pytest.mark.parametrize(("epochs", "expected"), [(1, 0), (2, 1), (3, 1), (4, 1), (5, 2), (10, 3)])
def test_one_epoch_and_another_for_every_five_are_without_slices(epochs, expected):
    fitted = fit(epochs=epochs)
    assert fitted.settings["training"]["pooled_epochs"] == expected
    assert (fitted.pooled is None) == (expected == 0)
    assert len(fitted.history) == epochs


def test_the_number_may_be_given():
    fitted = fit(pooled_epochs=3)
    assert fitted.settings["training"]["pooled_epochs"] == 3
    np.testing.assert_array_equal(run_only(model(), 3, pooled_epochs=3)[0].pooled, fitted.pooled)


@pytest.mark.parametrize(
    ("chosen", "options"),
    [
        (model(lx.Ridge(1.0), ()), {}),
        (model(GROUPS + lx.Anchor({"0": np.ones(8)}, 1.0)), {}),
        (model(dimensions=2), {"engine": "reference"}),
    ],
    ids=["no slices", "anchored", "exact"],
)
def test_where_there_is_nothing_to_begin_with(chosen, options):
    few = small.corpus(small.documents(count=12, length=6, words=6))
    fitted = fit(chosen, few, epochs=2, **options)
    assert fitted.pooled is None
    assert fitted.settings["training"]["pooled_epochs"] == 0
    with pytest.raises(lx.InputError, match="pooled_epochs=1"):
        fit(chosen, few, epochs=2, pooled_epochs=1, **options)


@pytest.mark.parametrize("number", [5, -1, 1.5])
def test_impossible_numbers(number):
    with pytest.raises(lx.InputError, match=f"pooled_epochs={number}"):
        lx.Training(epochs=5, pooled_epochs=number)
