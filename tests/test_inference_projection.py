"""Positions with intervals, and differences along an axis: columns, level, and whether they hold in the other half."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import speakers
from scipy import stats

import laplex as lx
from laplex.inference.contexts import pooled
from laplex.inference.cosines import CosineIntervals, project, student_p
from laplex.inference.score_test import axis_difference, group_scores
from laplex.inference.scores import COVARIANCE_POSITIONS, ScorePass
from laplex.inference.units import Options, gather

pytestmark = pytest.mark.usefixtures("shared_cache")

OPTIONS = {"cluster": "speaker", "min_clusters": 10, "min_count": 50, "quiet": True, "threads": 2}
AXIS = (["w0", "w12"], "w1")
ACROSS = ["word", "party", "estimate", "se", "lower", "upper", "z", "p", "p_adjusted", "n", "clusters"]


@pytest.fixture(scope="module")
def fitted(shared_cache):
    return speakers.fit(speakers.read(speakers.speeches(1, swap=0.6)))


def test_positions_are_the_plain_ones_with_more_columns(fitted):
    found = project(fitted, ["w7", "w6"], AXIS, **OPTIONS)
    plain = fitted.project(["w7", "w6"], AXIS)
    pd.testing.assert_frame_equal(found[plain.columns], plain)
    assert list(found.columns) == [*plain.columns, "estimate", "se", "lower", "upper", "n", "clusters"]
    assert (found["lower"] < found["estimate"]).all()
    assert (found["estimate"] < found["upper"]).all()
    assert found["n"].tolist() == found["count"].tolist()
    assert project(fitted, "w6", AXIS, **OPTIONS, at={"party": "R"})["word"].tolist() == ["w6"]


def test_a_word_that_changes_sides_stands_elsewhere_in_each_party(fitted):
    found = project(fitted, ["w6", "w8"], AXIS, **OPTIONS).set_index(["word", "party"])
    assert found.loc[("w6", "D"), "lower"] > found.loc[("w6", "R"), "upper"]
    assert found.loc[("w8", "D"), "lower"] < found.loc[("w8", "R"), "upper"]


def test_differences_across_parties_are_found_and_signed(fitted):
    found = project(fitted, ["w8", "w6", "w7"], AXIS, across="party", **OPTIONS)
    assert list(found.columns) == ACROSS
    assert found["word"].tolist() == ["w8", "w6", "w7"]
    assert set(found["party"]) == {"D – R"}
    rows = found.set_index("word")
    assert rows.loc["w6", "lower"] > 0 > rows.loc["w7", "upper"]
    assert (rows.loc[["w6", "w7"], "p_adjusted"] < 1e-3).all()
    assert rows.loc["w8", "p"] > 0.01
    np.testing.assert_allclose(found["z"], found["estimate"] / found["se"])
    assert (found["p"] > 2 * stats.norm.sf(abs(found["z"]))).all()  # Student's t has wider tails
    np.testing.assert_allclose(found["p"], 2 * stats.norm.sf(abs(found["z"])), rtol=0.5, atol=1e-3)
    np.testing.assert_allclose(found["p_adjusted"], stats.false_discovery_control(found["p"]))
    np.testing.assert_allclose(found["upper"] - found["estimate"], stats.norm.ppf(0.95) * found["se"], rtol=0.1)
    np.testing.assert_allclose(found["upper"] - found["estimate"], found["estimate"] - found["lower"])
    turned = project(fitted, ["w8", "w6", "w7"], AXIS[::-1], across="party", **OPTIONS)
    np.testing.assert_allclose(turned["estimate"], -found["estimate"])


def test_a_difference_is_a_step_along_the_axis_without_each_speaker_in_turn(fitted):
    """Against the formula in plain NumPy, and losses against sums that leave a speaker out."""
    free, tokens = pooled(fitted, quiet=True), speakers.read(speakers.speeches(1, swap=0.6))
    units = gather(tokens, "party", "speaker", 0, {})
    word = fitted.id("w6", 0)
    text = ScorePass(tokens, units, free, [word], 0, Options(threads=1, quiet=True))
    table = next(text.run([0], lambda t: t))
    axis = np.linalg.qr(np.random.default_rng(0).standard_normal((6, 1)))[0][:, 0]

    solved = np.linalg.solve(table.covariance, axis) * (1 - 7 / COVARIANCE_POSITIONS)
    taus = [table.tau[table.label == label].sum() for label in (0, 1)]

    def step(rows):
        scores = []
        for label in (0, 1):
            mine = rows & (table.label == label)
            tau, weight = table.tau[mine].sum(), table.weight[mine].sum()
            scores.append(table.score[mine].sum(0) - tau * table.background[mine].sum(0) / weight)
        return float(solved @ (scores[0] / taus[0] - scores[1] / taus[1]))

    everyone = np.full(len(units), True)
    estimate, error, freedom = axis_difference(group_scores(table, [[0], [1]]), axis)
    assert estimate == pytest.approx(step(everyone), rel=0.01)
    # deleted values of a total that grows with the number of speakers: centred within each party
    left = np.array([estimate - step(everyone & (np.arange(len(units)) != c)) for c in range(len(units))])
    for label in (0, 1):
        mine = table.label == label
        left[mine] -= table.tau[mine] / table.tau[mine].sum() * left[mine].sum()
    assert error == pytest.approx(np.sqrt((left**2).sum()), rel=0.1)
    assert freedom == pytest.approx(3 * (left**2).sum() ** 2 / (left**4).sum(), rel=0.3)


def test_words_that_do_not_differ_are_called_different_as_often_as_it_says():
    tokens = speakers.read(speakers.speeches(7, speakers=80))
    free = speakers.fit(tokens, vary=())
    units = gather(tokens, "party", "speaker", 0, {})
    text = ScorePass(tokens, units, free, range(40), 0, Options(threads=2, quiet=True))
    random = np.random.default_rng(3)
    labels = [random.permutation(units.label) for _ in range(12)]
    axes = np.linalg.qr(random.standard_normal((6, 6)))[0]

    def ask(table):
        scores = [group_scores(replace(table, label=label), [[0], [1]]) for label in labels]
        return [axis_difference(some, axis) for some in scores for axis in axes]

    p = student_p(np.array(list(text.run(range(40), ask))))
    assert 0.03 < (p < 0.05).mean() < 0.07
    assert 0.003 < (p < 0.01).mean() < 0.02


def test_intervals_of_one_half_hold_in_the_other():
    tokens = speakers.read(speakers.speeches(8, speakers=120, each=4))
    free = speakers.fit(tokens, vary=())
    axes = np.linalg.qr(np.random.default_rng(1).standard_normal((6, 6)))[0]
    options = Options("speaker", min_clusters=10, min_count=30, tokens=tokens, threads=2, quiet=True)
    z = []
    for seed in range(2):
        text = CosineIntervals(speakers.in_halves(free, tokens, seed), options)
        text.read(range(40))
        for i in range(40):
            for axis in axes:
                (a, se_a, *_), (b, se_b, *_) = (text.with_axis(i, axis, slice) for slice in (0, 1))
                z.append((a - b) / np.hypot(se_a, se_b))
    assert np.isfinite(z).all()
    assert 0.75 < np.mean(np.square(z)) < 1.3
    assert 0.06 < np.mean(np.abs(z) > 1.645) < 0.15


def test_three_groups_are_compared_pair_by_pair():
    rows = [
        row | {"party": row["party"] if int(row["speaker"][1:]) % 3 else "I"} for row in speakers.speeches(1, swap=0.8)
    ]
    fitted = speakers.fit(speakers.read(rows))
    found = project(fitted, ["w6", "w8"], AXIS, across="party", **OPTIONS | {"min_clusters": 5})
    assert found["party"].tolist() == ["D – I", "D – R", "I – R"] * 2
    assert found.set_index(["word", "party"]).loc[("w6", "D – R"), "lower"] > 0
    np.testing.assert_allclose(found["p_adjusted"], stats.false_discovery_control(found["p"]))  # over all pairs
    assert not np.allclose(found["p_adjusted"][:3], stats.false_discovery_control(found["p"][:3]))


def test_a_column_that_vectors_do_not_vary_by_can_be_compared(fitted):
    free = pooled(fitted, quiet=True)
    found = project(free, "w6", AXIS, across="party", **OPTIONS)
    assert found["p"].item() < 1e-3
    given = project(fitted, "w6", AXIS, across="party", pooled=free, **OPTIONS)
    pd.testing.assert_frame_equal(given, found)  # that the prior holds the parties together changes nothing


def test_words_with_too_little_text_have_their_counts_alone(fitted):
    options = OPTIONS | {"min_count": 250}
    found = project(fitted, ["w6", "w47"], AXIS, across="party", **options).set_index("word")
    assert np.isfinite(found.loc["w6", "p"])
    assert found.loc["w47", ["estimate", "se", "lower", "upper", "z", "p", "p_adjusted"]].isna().all()
    assert 0 < found.loc["w47", "n"] < 250
    assert found.loc["w47", "clusters"] > 0
    alone = project(fitted, "w47", AXIS, **options)
    assert alone[["estimate", "se", "lower", "upper"]].isna().all(axis=None)
    assert alone["position"].notna().all()


def test_speeches_taken_for_independent_are_warned_of(fitted):
    for across in ("party", None):
        with pytest.warns(UserWarning, match='write cluster="speaker"'):
            project(fitted, "w6", AXIS, across=across, **OPTIONS | {"cluster": None})


@pytest.mark.parametrize("across", ["party", None])
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"interval": 0.0}, r"interval=0.0 must be between 0 and 1"),
        ({"min_clusters": 1}, "min_clusters"),
        ({"axis": "w1"}, "an axis has two poles"),
        ({"axis": (["w1"], [])}, "a pole of the axis is empty"),
        ({"axis": ("w1", "w1")}, "at both poles"),
        ({"words": "nosuchword"}, '"nosuchword" is not in the vocabulary'),
        ({"words": []}, "no words are given"),
        ({"cluster": "senator"}, 'no column "senator"'),
        ({"cluster": "party"}, 'cluster="party" is'),
        ({"at": {"state": "NY"}}, "state"),
        ({"state": "NY"}, r'there is no option state=.NY.; .* written at={"state": …}'),
    ],
)
def test_bad_questions_are_named(fitted, across, options, message):
    with pytest.raises(lx.InputError, match=message):
        project(fitted, **{"words": "w6", "axis": AXIS, "across": across} | OPTIONS | options)


def test_bad_columns_and_models_are_named(fitted):
    with pytest.raises(lx.InputError, match='no column "state"'):
        project(fitted, "w6", AXIS, across="state", **OPTIONS)
    with pytest.raises(lx.InputError, match="vary by party: fit it with vary="):
        project(fitted, "w6", AXIS, across="party", pooled=fitted, **OPTIONS)
