"""The scores of a word, its effect and p by the formula, on tables whose truth is known."""

from __future__ import annotations

from dataclasses import astuple, replace

import numpy as np
import pytest
from clusters import BIAS, CLUSTERS, COVARIANCE, SIZE, counted, effect, formula, rejected, scores, seeds, table
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from laplex.inference.permutations import sum_by
from laplex.inference.score_test import Effect, difference_effect, group_scores, quadratic_form_p
from laplex.inference.scores import ScoreTable


def test_p_values_of_noise_are_even():
    p = [formula(made) for made in seeds(1500)]
    assert 0.035 < rejected(p) < 0.068
    assert 0.004 < rejected(p, 0.01) < 0.02


def test_a_word_that_is_only_more_frequent_does_not_differ():
    for p in (formula, counted):
        assert 0.03 < rejected(p(made) for made in seeds(600, more=(3.0, 1.0))) < 0.075


def test_a_tilt_is_found():
    for p in (formula, counted):
        assert rejected(p(made) for made in seeds(100, tilt=(0.25, 0.0))) > 0.8


def test_the_formula_agrees_with_counting():
    both = np.array([(formula(made), counted(made, 999)) for made in seeds(60, tilt=(0.1, 0.0))])
    assert np.corrcoef(both.T)[0, 1] > 0.98
    assert abs(both[:, 0] - both[:, 1]).mean() < 0.03


@given(st.integers(0, 2**32 - 1), st.floats(0.1, 10.0))
def test_p_does_not_depend_on_scale_or_direction(seed, factor):
    random = np.random.default_rng(seed)
    y = random.normal(size=(40, 5)) * random.gamma(1.0, size=(40, 1))
    rotation = np.linalg.qr(random.normal(size=(5, 5)))[0]
    total = (y.sum(0) ** 2).sum()
    assert quadratic_form_p(factor * y @ rotation, factor**2 * total) == pytest.approx(
        quadratic_form_p(y, total), abs=1e-9
    )
    assert 0 <= quadratic_form_p(y, total) <= 1


def test_moments_of_p_are_those_of_flipped_signs():
    """The chi-square stands for the distribution of ‖Σ ± y‖² over all signs."""
    random = np.random.default_rng(3)
    y = random.normal(size=(60, 4)) * random.gamma(2.0, size=(60, 1))
    signs = random.choice([-1.0, 1.0], (40_000, 60))
    totals = ((signs @ y) ** 2).sum(1)
    for quantile in (0.5, 0.9, 0.95, 0.99):
        assert quadratic_form_p(y, np.quantile(totals, quantile)) == pytest.approx(1 - quantile, rel=0.15)


def test_the_corrected_distance_has_no_bias_and_the_plain_one_does():
    tilt, found, plain, right = 0.15, [], [], []
    expected = tilt**2 / COVARIANCE[0, 0]
    for made in seeds(600, tilt=(tilt, 0.0)):
        seen, between = effect(made), scores(made)
        step = (between.score[0] / between.tau[made.label == 0].sum()
                - between.score[1] / between.tau[made.label == 1].sum())  # fmt: skip
        found.append(seen.square / expected)
        plain.append(step @ np.linalg.solve(COVARIANCE, step) / expected)
        lower, upper = seen.interval(0.9)
        right.append(lower < expected < upper)
    assert np.mean(found) == pytest.approx(1.0, abs=0.1)
    assert np.mean(plain) > 1.3
    assert 0.82 < np.mean(right) < 0.96


def test_effects_without_a_difference_scatter_around_zero():
    found = [effect(made) for made in seeds(500)]
    ratio = np.array([one.square / np.sqrt(one.variance) for one in found])
    assert abs(ratio.mean()) < 0.2
    assert 0.7 < ratio.std() < 1.4
    assert (np.array([one.square for one in found]) < 0).any()


def test_the_estimate_is_the_standard_deviation_of_the_log_odds():
    """Contexts are normal; the odds of the word in a context h are exp(d·h) times as large in one group, so that its
    mean context is Σ d away."""
    random = np.random.default_rng(1)
    root, d = random.normal(size=(SIZE, SIZE)), random.normal(size=SIZE)
    covariance, mean = root @ root.T + np.eye(SIZE), random.normal(size=SIZE)
    tau, weight, label = random.gamma(2.0, 1.0, 20), random.gamma(2.0, 9.0, 20), np.arange(20) % 2
    here = tau[:, None] * (mean + np.outer(label, covariance @ d))
    rows = np.arange(20)
    made = ScoreTable(
        0, 0, label, rows, rows, np.ones_like(rows), here, tau, weight[:, None] * mean, weight, covariance
    )
    odds = random.multivariate_normal(mean, covariance, 200_000) @ d
    assert np.sqrt(effect(made).square / BIAS) == pytest.approx(odds.std(), rel=0.01)
    assert effect(made).square == pytest.approx(BIAS * d @ covariance @ d, rel=0.01)
    assert effect(made).variance == pytest.approx(0.0, abs=1e-9)


def test_a_word_that_is_thinned_is_as_different_as_before():
    whole, rest = ([effect(made) for made in seeds(800, tilt=(0.3, 0.0), thin=share)] for share in (1.0, 0.25))
    sizes = [np.mean([one.square for one in found]) for found in (whole, rest)]
    assert sizes[1] == pytest.approx(sizes[0], rel=0.05)
    assert np.mean([one.variance for one in rest]) > 2 * np.mean([one.variance for one in whole])


def test_influence_is_what_the_total_loses_without_a_cluster():
    made = table(np.random.default_rng(4), tilt=(0.3, 0.0))
    found, rows = scores(made), np.arange(CLUSTERS)

    def score(of):
        tau, weight = made.tau[of].sum(), made.weight[of].sum()
        return made.score[of].sum(0) - tau * made.background[of].sum(0) / weight

    np.testing.assert_allclose(found.score, [score(made.label == 0), score(made.label == 1)])
    for c in range(12):
        rest = (made.label == made.label[c]) & (rows != c)
        np.testing.assert_allclose(found.influence[c], found.score[made.label[c]] - score(rest), atol=1e-9)


def test_residuals_sum_to_zero_and_have_the_metric_of_the_test():
    found = scores(table(np.random.default_rng(4), tilt=(0.3, 0.0), more=(1.0, 3.0)))
    residual = found.residuals().residual
    np.testing.assert_allclose(residual.sum(0), 0, atol=1e-9)
    metric = np.linalg.inv(COVARIANCE + np.trace(COVARIANCE) / SIZE * np.eye(SIZE))
    step = found.score[0] - found.share[0] * found.score.sum(0)
    mine = residual[found.label == 0].sum(0)
    assert mine @ mine == pytest.approx(step @ metric @ step, rel=0.05)


def test_groups_may_hold_several_labels_and_leave_others_out():
    made = table(np.random.default_rng(4), tilt=(0.3, 0.0, 0.1, -0.2))
    found = group_scores(made, [[2, 0], [3]])
    inside = made.label != 1
    alone = replace(made, **{name: getattr(made, name)[inside] for name in
                             ("cluster", "piece", "size", "score", "tau", "background", "weight")},
                    label=np.where(made.label[inside] == 3, 1, 0))  # fmt: skip
    np.testing.assert_array_equal(found.influence, scores(alone).influence)
    np.testing.assert_array_equal(found.label, alone.label)
    np.testing.assert_array_equal(found.cluster, np.flatnonzero(inside))


@given(st.floats(-1, 10), st.floats(0.01, 5), st.floats(0, 5), st.floats(0.1, 3))
def test_bounds_are_z_standard_deviations_away(square, variance, along, z):
    seen = Effect(square, variance, along, 10.0)
    middle = square + 2 * z * z * along
    assume(middle * middle - square * square + z * z * variance > 1e-6)  # far below 0, no δ² is that near
    for end in seen.bounds(z):
        assert abs(end - square) == pytest.approx(z * np.sqrt(max(variance + 4 * along * end, 0)), rel=1e-6, abs=1e-6)


def test_intervals_are_wider_where_few_clusters_make_the_noise():
    few, many = (Effect(1.0, 0.1, 0.2, freedom) for freedom in (3.0, 1e6))
    assert few.interval(0.9) == few.bounds(stats.t.ppf(0.95, 3))
    assert many.interval(0.9) == pytest.approx(many.bounds(stats.norm.ppf(0.95)), rel=1e-5)
    assert few.interval(0.9)[0] < many.interval(0.9)[0] < 1.0 < many.interval(0.9)[1] < few.interval(0.9)[1]
    made = table(np.random.default_rng(1), tilt=(0.2, 0.0))
    assert 20 < effect(made).freedom <= CLUSTERS
    large = np.where(np.arange(CLUSTERS) < 4, 100.0, 1.0)
    of_few = replace(made, score=made.score * large[:, None], tau=made.tau * large)
    assert effect(of_few).freedom < 6


def test_rows_of_one_cluster_count_as_one():
    y = np.arange(12.0).reshape(4, 3)
    np.testing.assert_array_equal(sum_by(y, np.array([5, 2, 5, 7])), [y[1], y[0] + y[2], y[3]])
    assert sum_by(y, np.array([3, 1, 2, 0])) is y
    made = table(np.random.default_rng(1), tilt=(0.2, 0.0))
    halves = {name: np.repeat(getattr(made, name) / 2, 2, axis=0) for name in ("score", "tau", "background", "weight")}
    names = {name: np.repeat(getattr(made, name), 2) for name in ("label", "cluster", "piece", "size")}
    twice = difference_effect(scores(replace(made, **halves, **names)))
    assert twice.square == pytest.approx(effect(made).square, rel=0.02)
    assert twice.variance == pytest.approx(effect(made).variance, rel=0.05)
    apart = replace(made, **halves, **names | {"cluster": np.arange(2 * CLUSTERS)})
    assert effect(apart).variance < 0.6 * effect(made).variance


def test_two_groups_must_have_the_word_and_a_background():
    made = table(np.random.default_rng(4), clusters=12)
    inside = made.label == 0
    for name in ("tau", "weight"):
        assert group_scores(replace(made, **{name: getattr(made, name) * inside}), [[0], [1]]) is None
    two, three = group_scores(made, [[0], [1]]), group_scores(made, [[0], [7], [1]])
    np.testing.assert_array_equal(three.score, np.insert(two.score, 1, 0.0, axis=0))
    assert astuple(difference_effect(three)) == pytest.approx(astuple(difference_effect(two)))


def test_a_table_of_nothing_has_no_p():
    nothing, rows = np.zeros((10, 3)), np.arange(10)
    made = ScoreTable(
        0, 0, rows % 2, rows, rows, np.ones_like(rows), nothing, np.ones(10), nothing, np.ones(10), np.zeros((3, 3))
    )
    assert np.isnan(formula(made))
    assert counted(made) == 1.0
    assert effect(made).square == 0.0
