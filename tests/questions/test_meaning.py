"""Positions on a dimension of meaning, and the vector that groups share."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import planted
import pytest
import small
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

import laplex as lx
from laplex.model.priors.prior import saved_priors
from laplex.questions.contrast import group_mean_strengths

# Projection


def test_positions_are_cosines_with_the_difference_of_the_poles_on_the_scale_of_the_slice(model):
    found = model.embeddings.project(["w10", "w04"], axis=(["w01", "w02"], ["w03"]), test=False)
    assert list(found.columns) == ["word", "party", "year", "position", "uses"]
    assert found["word"].tolist() == ["w10"] * 6 + ["w04"] * 6
    for row in found.itertuples():
        x = planted.unit(model.x[model.keys.index((row.party, row.year))])
        axis = (x[1] + x[2]) / 2 - x[3]
        along = x @ planted.unit(axis)
        used = [model.count(word, row.party, row.year) >= 5 for word in model.words]
        expected = (along[model.words.index(row.word)] - along[used].mean()) / along[used].std()
        assert row.position == pytest.approx(expected, abs=1e-5)
        assert row.uses == model.count(row.word, row.party, row.year)


def test_a_slice_whose_whole_vocabulary_is_shifted_leaves_positions_where_they_were():
    random = np.random.default_rng(1)
    names = [f"w{i}" for i in range(200)]
    vocabulary = lx.Vocabulary(names, np.full(200, 40))
    unit = random.standard_normal((200, 6))
    unit[:, 0] = np.clip(0.2 * random.standard_normal(200), -0.5, 0.5)  # along the axis of the poles
    unit[:, 1:] *= np.sqrt(1 - unit[:, :1] ** 2) / np.linalg.norm(unit[:, 1:], axis=1, keepdims=True)
    unit[:2] = np.eye(6)[0] * [[1.0], [-1.0]]
    shifted = unit.copy()
    shifted[2:, 0] += 0.3
    shifted[2:, 1:] *= np.sqrt(1 - shifted[2:, :1] ** 2) / np.linalg.norm(shifted[2:, 1:], axis=1, keepdims=True)
    one, two = (lx.Embeddings.of([vocabulary], [vectors]) for vectors in (unit, shifted))
    before, after = (made.project(names[2:], axis=("w0", "w1"))["position"] for made in (one, two))
    assert abs(before.mean() - after.mean()) < 0.05
    assert np.corrcoef(before, after)[0, 1] > 0.999


def test_rare_words_of_a_pole_are_left_out_where_they_are_rare_and_said(capsys):
    made = planted.plant({"party": ["D", "R"]}).embeddings
    made.counts[0][:] = 9
    whole = made.project("w10", axis=(["w01", "w02"], ["w03"]))
    said = capsys.readouterr().err
    assert "w01 9, w02 9, w03 9" in said
    made.counts[0][0, 2] = 4
    with pytest.warns(UserWarning, match=r'left out of the poles there: "w02" \(D\)'):
        found = made.project("w10", axis=(["w01", "w02"], ["w03"]))
    assert found["position"][0] != whole["position"][0]
    assert found["position"][1] == whole["position"][1]
    poles = pd.DataFrame(found.attrs["poles"])
    assert list(poles.columns) == ["word", "pole", "party", "uses"]
    assert poles.set_index(["word", "party"]).loc[("w02", "D"), "uses"] == 4
    made.counts[0][0, 3] = 4
    with pytest.warns(UserWarning, match='"w03"'):
        left = made.project("w10", axis=(["w01", "w02"], ["w03"]))
    assert left["party"].tolist() == ["R"]
    assert "a pole has no word that is used 5 times in D: left out" in capsys.readouterr().err
    with pytest.warns(UserWarning, match='"w03"'), pytest.raises(lx.InputError, match="name more frequent words"):
        made.project("w10", axis=(["w01", "w02"], ["w03"]), at={"party": "D"})


def test_a_pole_may_be_one_word_and_slices_can_be_chosen(model):
    short = model.embeddings.project("w10", axis=("w01", "w03"), at={"party": "R", "year": 2003})
    long = model.embeddings.project(["w10"], axis=(["w01"], ["w03"]))
    pd.testing.assert_frame_equal(short, long.tail(1).reset_index(drop=True))


@given(seed=st.integers(0, 999))
def test_exchanging_the_poles_turns_the_axis_round(seed):
    made = planted.plant({}, seed=seed).embeddings
    there = made.project(["w05", "w06"], axis=(["w01", "w02"], ["w03"]))["position"]
    back = made.project(["w05", "w06"], axis=(["w03"], ["w01", "w02"]))["position"]
    np.testing.assert_allclose(there, -back, atol=1e-5)


def test_the_poles_of_an_axis_between_opposites_are_its_ends():
    vocabulary = lx.Vocabulary(["rich", "poor", "middling", "aside"], np.array([4, 3, 2, 1]))
    made = lx.Embeddings.of([vocabulary], [[[2.0, 0], [-3.0, 0], [1.0, 1.0], [0, 5.0]]])
    found = made.project(["rich", "poor", "middling", "aside"], axis=("rich", "poor"))
    cosine = np.array([1, -1, np.sqrt(0.5), 0])
    assert found["position"].tolist() == pytest.approx(((cosine - cosine.mean()) / cosine.std()).tolist())


def test_poles_in_the_same_place_leave_no_axis(recwarn):
    vocabulary = lx.Vocabulary(["a", "b", "c"], np.array([3, 2, 1]))
    made = lx.Embeddings.of([vocabulary], [[[1.0, 0], [1.0, 0], [0, 1.0]]])
    assert np.isnan(made.project("c", axis=("a", "b"))["position"]).all()
    assert len(recwarn) == 0


@pytest.mark.parametrize(
    ("axis", "message"),
    [
        (([], ["w03"]), "a pole of the axis is empty"),
        (("w01", ""), "a pole of the axis is empty"),
        ((["w01", "w03"], ["w03"]), "w03 is at both poles"),
        (("w01", "w01"), "w01 is at both poles"),
        (("w01",), "an axis has two poles"),
        ("w1", "an axis has two poles"),
        (("w01", "w02", "w03"), "an axis has two poles"),
        (("w01", "w0"), '"w0" is not in the vocabulary'),
    ],
)
def test_bad_axes_are_refused(model, axis, message):
    with pytest.raises(lx.InputError, match=message):
        model.embeddings.project("w10", axis)


def test_bad_questions_of_project_are_refused(model):
    with pytest.raises(lx.InputError, match="no words are given"):
        model.embeddings.project([], ("w01", "w02"))
    with pytest.raises(lx.InputError, match="no value 'X'"):
        model.embeddings.project("w10", ("w01", "w02"), at={"party": "X"})


# Group mean


def test_without_a_prior_the_groups_share_their_mean(model):
    found = model.embeddings.group_mean("w07", "party", at={"year": "2001"})
    np.testing.assert_allclose(
        found, (model.vector("w07", "D", "2001") + model.vector("w07", "R", "2001")) / 2, rtol=1e-6
    )


def test_a_group_that_a_year_lacks_is_not_in_its_mean():
    model = planted.plant({"party": ("D", "I", "R"), "year": ("1", "2")}, without=(("I", "2"),))
    found = model.embeddings.group_mean("w07", "party", at={"year": "2"})
    np.testing.assert_allclose(found, (model.vector("w07", "D", "2") + model.vector("w07", "R", "2")) / 2, rtol=1e-6)


@given(strength=st.floats(0, 100), spread=st.floats(0.01, 100), groups=st.integers(2, 5))
def test_the_shared_vector_is_the_most_probable_mean(strength, spread, groups):
    """The maximum of −½ γ₀ ‖m‖² − ½ γ₁ Σ ‖ρ_s − m‖², in the words of Proposition 3, found by a general optimiser."""
    prior = lx.Ridge(1.0) + lx.GroupMean("party", strength, spread)
    model = planted.plant({"party": tuple("ABCDE"[:groups])}, settings=planted.prior(prior))
    x = model.x[:, 4]

    def minus_log_prior(mean):
        gaps = x - mean
        return (spread * mean @ mean + strength * (gaps**2).sum()) / 2, spread * mean - strength * gaps.sum(0)

    best = minimize(minus_log_prior, np.zeros(x.shape[1]), jac=True, options={"gtol": 1e-9}).x
    np.testing.assert_allclose(model.embeddings.group_mean("w04", "party"), best, atol=1e-5)


def test_strengths_come_from_the_fitted_model_also_after_loading(tmp_path):
    corpus = small.corpus(small.documents())
    prior = lx.Ridge(1.0, on="contexts") + lx.GroupMean("party", 6.0, spread=2.0)
    model = lx.Model(vary=["party"], prior=prior, dimensions=4, subsample=0.0)
    fitted = lx.fit(model, corpus, min_count=1, epochs=2, holdout=0, quiet=True)
    fitted.save(tmp_path / "saved")
    whole = fitted.vector("3", at={"party": "D"}).astype(float) + fitted.vector("3", at={"party": "R"})
    for made in (fitted, lx.load(tmp_path / "saved")):
        np.testing.assert_allclose(made.group_mean("3", "party"), 6 * whole / (2 + 2 * 6), rtol=1e-6)


def test_groups_without_a_spread_share_their_mean():
    settings = planted.prior(lx.Ridge(1.0) + lx.Groups("party", 100.0) + lx.GroupMean("year", 1.0, 5.0))
    model = planted.plant(settings=settings)
    np.testing.assert_allclose(
        model.embeddings.group_mean("w07", "party", at={"year": "2001"}),
        (model.vector("w07", "D", "2001") + model.vector("w07", "R", "2001")) / 2,
        rtol=1e-6,
    )
    over_years = sum(model.vector("w07", "D", year) for year in planted.YEARS)
    np.testing.assert_allclose(
        model.embeddings.group_mean("w07", "year", at={"party": "D"}), over_years / (5 + 3), rtol=1e-6
    )


def test_no_strength_and_no_spread_leave_the_plain_mean():
    model = planted.plant({"party": ("D", "R")}, settings=planted.prior(lx.GroupMean("party", 0.0, 0.0)))
    np.testing.assert_allclose(model.embeddings.group_mean("w07", "party"), model.x[:, 7].mean(0), rtol=1e-6)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, 'say which slice: no value of "year" is given'),
        ({"at": {"party": "D", "year": "2000"}}, 'over all of "party": leave it out of at='),
        ({"column": "color"}, 'do not vary by "color"'),
        ({"word": "w0", "at": {"year": "2000"}}, '"w0" is not in the vocabulary'),
        ({"at": {"year": "1999"}}, "no value '1999'"),
    ],
)
def test_bad_questions_of_group_mean_are_refused(model, options, message):
    with pytest.raises(lx.InputError, match=message):
        model.embeddings.group_mean(**({"word": "w07", "column": "party"} | options))


def test_two_means_of_one_column_are_refused():
    prior = lx.GroupMean("party", 1.0, 2.0) + lx.GroupMean("party", 3.0, 4.0)
    made = planted.plant({"party": ("D", "R")}, settings=planted.prior(prior)).embeddings
    with pytest.raises(lx.InputError, match='the prior has 2 GroupMeans on "party"'):
        made.group_mean("w07", "party")


def test_one_group_has_no_mean_to_share():
    with pytest.raises(lx.InputError, match="one value only"):
        planted.plant({"party": ("D",)}).embeddings.group_mean("w07", "party")


# What the prior said


@given(column=st.text(), strength=st.floats(0, 1e300), spread=st.floats(0, 1e300))
def test_priors_are_read_back_from_the_settings(column, strength, spread):
    prior = (
        lx.Ridge(1.0)
        + lx.Pairs([("a", "b")], [4.0])
        + lx.GroupMean(column, strength, spread)
        + lx.Chain(column, np.float64(strength), start=spread)
        + lx.Chain("year", np.inf)
    )
    settings = json.loads(json.dumps({"model": lx.Model(prior=prior).settings()}, allow_nan=False))
    parts = settings["model"]["beliefs"]
    assert parts[2] == {"kind": "GroupMean", "column": column, "strength": strength, "spread": spread}
    assert [part["strength"] for part in parts[3:]] == [strength, "inf"]
    assert group_mean_strengths(settings, column) == (strength, spread)
    chained = [prior.chained_column(described) for prior, described in saved_priors(settings)]
    assert chained == [None, None, None, column, "year"]


@pytest.mark.parametrize("settings", [{}, {"model": {}}, planted.prior(lx.Ridge(1.0))])
def test_models_without_such_priors_have_none(settings):
    assert group_mean_strengths(settings, "party") == (1.0, 0.0)
