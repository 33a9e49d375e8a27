"""The statistics of the score test, on tables whose truth is known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from clusters import pair_effect, pair_p, pair_statistics
from hypothesis import assume, given
from hypothesis import strategies as st

from laplex.inference.score_test import (
    Effect,
    Permutations,
    RotatedTable,
    among_owners,
    counted_p,
    difference_statistic,
    equalize_frequency,
    jackknife_influence,
    newton_scale,
    permuted_statistics,
    quadratic_form_p,
    rotate,
    smoothed_p,
    sum_by_cluster,
    trend_statistic,
)
from laplex.inference.statistics import ScoreTable

CLUSTERS, SIZE = 80, 6


def table(random, tilt=0.0, more=1.0, one=None, clusters=CLUSTERS):
    """Clusters of unequal size with topics of their own. In group one the word is `more` frequent, and leans to a
    direction by `tilt`."""
    one = np.arange(clusters) % 2 == 0 if one is None else one
    size = random.gamma(2.0, 40.0, clusters)
    topic = random.normal(0, 0.3, (clusters, SIZE))
    occurrences = random.poisson(size * np.where(one, more, 1.0) * 0.2) + 1.0
    lean = np.where(one, tilt, 0.0)[:, None] * np.eye(SIZE)[0]
    here = occurrences[:, None] * (topic + lean) + np.sqrt(occurrences)[:, None] * random.normal(size=(clusters, SIZE))
    around = size[:, None] * topic + np.sqrt(size)[:, None] * random.normal(0, 0.3, (clusters, SIZE))
    curvature = np.diag(occurrences.sum() * np.linspace(0.5, 1.5, SIZE))
    made = ScoreTable(0, np.where(one, 0, 1), np.arange(clusters), here, occurrences, around, size, curvature)
    return rotate(made), one


def shares(values):
    return (np.array(values) < 0.05).mean(), (np.array(values) < 0.01).mean()


def difference(made, one, prior, share=None):
    """d, or with share=0.5 the vector whose length is tested."""
    (first, second), f = scores(made, one), made.tau[one].sum() / made.tau.sum()
    share = share or f
    return ((1 - f) * first - f * second) * newton_scale(made.spectrum, prior, share * (1 - share))


def scores(made, one):
    """(2, D) U of both groups."""
    return jackknife_influence(made, np.where(one, 0, 1), 2)[1]


def test_p_values_of_noise_are_even():
    at_5, at_1 = shares([pair_p(*table(np.random.default_rng(seed)), 1.0) for seed in range(2000)])
    assert 0.035 < at_5 < 0.068
    assert 0.004 < at_1 < 0.02


def test_a_word_that_is_only_more_frequent_does_not_differ():
    at_5, _ = shares([pair_p(*table(np.random.default_rng(seed), more=3.0), 1.0) for seed in range(1000)])
    assert 0.03 < at_5 < 0.075


def test_a_tilt_is_found():
    p = [pair_p(*table(np.random.default_rng(seed), tilt=0.4), 1.0) for seed in range(100)]
    assert np.mean(np.array(p) < 0.05) > 0.9


def labellings_of(count, seed=9):
    return np.random.default_rng(seed).permuted(np.tile(np.arange(CLUSTERS) % 2 == 0, (count, 1)), axis=1)


def test_all_ways_to_p_agree():
    labellings, found = labellings_of(999), []
    for seed in range(60):
        made, one = table(np.random.default_rng(seed), tilt=0.1)
        statistics = pair_statistics(made, one, 1.0, labellings)
        found.append((pair_p(made, one, 1.0), counted_p(statistics), smoothed_p(statistics)))
    analytic, counted, smoothed = np.array(found).T
    assert np.corrcoef(analytic, counted)[0, 1] > 0.97
    assert abs(analytic - counted).mean() < 0.05
    assert abs(smoothed - counted)[counted < 0.2].max() < 0.03


def test_smoothed_p_is_right_in_the_tail():
    made, one = table(np.random.default_rng(5))
    many = pair_statistics(made, one, 1.0, labellings_of(40_000, 2))
    several = [pair_statistics(made, one, 1.0, labellings_of(999, seed)) for seed in range(8)]
    for share in (0.1, 0.01, 0.001):
        found = []
        for few in several:
            few[0] = np.quantile(many, 1 - share)
            found.append(smoothed_p(few))
        assert np.mean(found) == pytest.approx(share, rel=0.5)


def test_permuted_statistics_are_those_of_the_labels():
    made, one = table(np.random.default_rng(1), tilt=0.2)
    labellings = labellings_of(50)
    found = pair_statistics(made, one, 1.0, labellings)
    made = equalize_frequency(made, np.where(one, 0, 1), np.where(labellings, 0, 1), 2)
    expected = []
    for side in [one, *labellings]:
        f = made.tau[side].sum() / made.tau.sum()
        expected.append((difference(made, side, 1.0, 0.5) ** 2).sum() / (f * (1 - f)))
    np.testing.assert_allclose(found, expected)
    assert counted_p(found) == pytest.approx(np.mean(np.array(expected) >= expected[0] * (1 - 1e-9)))


def without_the_word(made, share):
    """The table of a word that only some clusters have."""
    absent = np.random.default_rng(0).random(len(made.tau)) < share
    return replace(made, score=np.where(absent[:, None], 0.0, made.score), tau=np.where(absent, 0.0, made.tau)), absent


def test_labels_exchanged_among_those_who_have_the_word_are_permutations():
    made, one = table(np.random.default_rng(3), tilt=0.2)
    made, absent = without_the_word(made, 0.6)
    label = np.where(one, 4, 9)
    small, labels, labellings = among_owners(made, label, 50, [1])
    assert len(small.tau) == (~absent).sum() + 2
    whole = np.tile(label, (50, 1))
    whole[:, ~absent] = labellings[:, :-2]
    assert (np.sort(whole, axis=1) == np.sort(label)).all()
    assert (labellings[:, -2:] == [4, 9]).all()
    assert len(np.unique(labellings, axis=0)) > 45
    by_label = [
        (labelled == 4).astype(float) @ np.column_stack([t.score, t.tau, t.background, t.weight])
        for t, labelled in ((made, whole), (small, labellings))
    ]
    np.testing.assert_allclose(*by_label)
    assert pair_statistics(small, labels == 4, 1.0, labellings == 4)[0] == pytest.approx(
        pair_statistics(made, one, 1.0, whole == 4)[0]
    )


def test_a_word_of_few_among_many_is_called_different_as_often_as_it_says():
    permutations = Permutations(np.zeros((0, 0), np.int16), False, 199, [1])
    found = []
    for seed in range(300):
        made, one = table(np.random.default_rng(seed))
        made, _ = without_the_word(made, 0.5)
        label = np.where(one, 0, 1)
        found.append(permutations.p(made, label, lambda t, x, y: pair_statistics(t, x == 0, 1.0, y == 0), lambda: 0.0))
    at_5, at_1 = shares(found)
    assert 0.02 < at_5 < 0.085
    assert at_1 < 0.03


def test_a_word_of_many_has_its_p_by_the_formula():
    made, one = table(np.random.default_rng(1), clusters=1200)
    for own, few in ((0, False), (199, False), (199, True)):
        permutations = Permutations(np.zeros((0, 0), np.int16), False, own, [1])
        asked = without_the_word(made, 0.5)[0] if few else made
        p = permutations.p(
            asked, np.where(one, 0, 1), lambda t, x, y: pair_statistics(t, x == 0, 1.0, y == 0), lambda: 2.0
        )
        assert (p == 2.0) != few


def test_labels_of_a_word_that_is_more_frequent_in_a_group_can_be_permuted():
    labellings, p, raw = labellings_of(299), [], []
    for seed in range(300):
        made, one = table(np.random.default_rng(seed), more=3.0)
        p.append(smoothed_p(pair_statistics(made, one, 1.0, labellings)))
        sums = [(difference(made, side, 1.0, 0.5) ** 2).sum() for side in [one, *labellings[:60]]] if seed < 100 else []
        raw += [smoothed_p(np.array(sums))] if sums else []
    assert 0.025 < shares(p)[0] < 0.08
    assert shares(raw)[0] < 0.02  # without evening it all but never rejects


def test_evening_leaves_the_statistic_and_chance_alone():
    made, one = table(np.random.default_rng(3), more=3.0)
    even = equalize_frequency(made, np.where(one, 0, 1), np.where(labellings_of(299), 0, 1), 2)
    np.testing.assert_allclose(scores(even, one), scores(made, one))
    ratio = [(t.tau[side].sum() / t.weight[side].sum()) for t in (made, even) for side in (one, ~one)]
    assert abs(np.log(ratio[2] / ratio[3])) < 0.5 * abs(np.log(ratio[0] / ratio[1]))
    same = 0
    for seed in range(50):
        made, one = table(np.random.default_rng(seed))
        even = equalize_frequency(made, np.where(one, 0, 1), np.where(labellings_of(99), 0, 1), 2)
        same += np.array_equal(even.weight, made.weight)
    assert same > 40


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
    for seed in range(600):
        made, one = table(np.random.default_rng(seed), tilt=tilt)
        seen = pair_effect(made, one, 1e-9)
        d = difference(made, one, 1e-9)
        # a tilt of the mean of h by t moves the score by τ f(1−f) t, and so d by t τ / A
        expected = (tilt * made.tau.sum() / made.spectrum[0]) ** 2
        found.append(seen.square / expected)
        plain.append(d @ d / expected)
        lower, upper = seen.bounds(1.645)
        right.append(lower < expected < upper)
    assert np.mean(found) == pytest.approx(1.0, abs=0.1)
    assert np.mean(plain) > 1.3
    assert 0.82 < np.mean(right) < 0.96


def test_effects_without_a_difference_scatter_around_zero():
    found = [pair_effect(*table(np.random.default_rng(seed)), 1.0) for seed in range(500)]
    ratio = np.array([one.square / np.sqrt(one.variance) for one in found])
    assert abs(ratio.mean()) < 0.2
    assert 0.7 < ratio.std() < 1.4
    assert (np.array([one.square for one in found]) < 0).any()


def test_influence_is_what_the_total_loses_without_a_cluster():
    made, one = table(np.random.default_rng(4), tilt=0.3)
    influence, totals = jackknife_influence(made, np.where(one, 0, 1), 2)

    def score(part):
        return part.score.sum(0) - part.tau.sum() * part.background.sum(0) / part.weight.sum()

    np.testing.assert_allclose(totals, [score(made.select(one)), score(made.select(~one))])
    for c in range(12):
        rest = made.select((one == one[c]) & (np.arange(CLUSTERS) != c))
        np.testing.assert_allclose(influence[c], totals[c % 2] - score(rest), atol=1e-9)


@given(st.floats(-1, 10), st.floats(0.01, 5), st.floats(0, 5), st.floats(0.1, 3))
def test_bounds_are_z_standard_deviations_away(square, variance, along, z):
    seen = Effect(square, variance, along)
    middle = square + 2 * z * z * along
    assume(middle * middle - square * square + z * z * variance > 1e-6)  # far below 0, no δ² is that near
    for end in seen.bounds(z):
        assert abs(end - square) == pytest.approx(z * np.sqrt(max(variance + 4 * along * end, 0)), rel=1e-6, abs=1e-6)


def test_rows_of_one_cluster_count_as_one():
    y = np.arange(12.0).reshape(4, 3)
    np.testing.assert_array_equal(sum_by_cluster(y, np.array([5, 2, 5, 7])), [y[1], y[0] + y[2], y[3]])
    assert sum_by_cluster(y, np.array([3, 1, 2, 0])) is y


def rare(owners):
    """A word that two clusters of each group have and, labels permuted, sometimes one group alone; who is in which."""
    made, one = table(np.random.default_rng(2), tilt=0.3, clusters=40)
    has = np.zeros(40, bool)
    has[:owners] = True
    return replace(made, score=np.where(has[:, None], made.score, 0.0), tau=np.where(has, made.tau, 0.0)), one, has


@pytest.mark.parametrize("owners", [4, 6])
def test_labellings_that_leave_a_group_without_the_word_count_as_no_difference(owners):
    made, one, has = rare(owners)
    labellings = np.random.default_rng(1).permuted(np.tile(one, (999, 1)), axis=1)
    alone = np.concatenate([[False], (labellings[:, has].sum(1) == 0) | (labellings[:, has].sum(1) == owners)])
    assert 20 < alone.sum() < 500
    statistics = pair_statistics(made, one, 1.0, labellings)
    assert (statistics[alone] == 0).all()
    assert (statistics[~alone] > 0).all()
    assert counted_p(statistics) == (statistics[~alone] >= statistics[0]).sum() / 1000
    assert 0 < smoothed_p(statistics) < 1
    permutations = Permutations(np.where(labellings, 0, 1).astype(np.int16), True, 0, [1])
    asked = permutations.p(made, np.where(one, 0, 1), lambda t, x, y: pair_statistics(t, x == 0, 1.0, y == 0), float)
    assert asked == counted_p(statistics)


def test_a_share_that_goes_to_nothing_takes_the_statistic_with_it():
    """So 0, where a group lacks the word, is the limit."""
    made, one, has = rare(4)
    label = np.where(has, np.where(np.arange(40) == 0, 0, 1), np.where(one, 0, 1))  # group 0 has one cluster with it
    found = []
    for share in (1.0, 1e-2, 1e-4, 1e-6, 0.0):
        first = np.where(np.arange(40) == 0, share, 1.0)
        less = replace(made, score=first[:, None] * made.score, tau=first * made.tau)
        for statistic in (difference_statistic, trend_statistic(np.array([-0.5, 0.5]))):
            found.append(permuted_statistics(less, label, np.zeros((0, 40), int), np.ones(SIZE), 2, statistic)[0])
    limit = np.array(found).reshape(5, 2)
    assert (np.diff(limit, axis=0) < 0).all()
    assert (limit[-1] == 0).all()
    assert (limit[-2] < 1e-4 * limit[0]).all()


def test_a_group_without_sampled_background_is_compared_with_that_of_all():
    made, one = table(np.random.default_rng(4), clusters=12)
    some = replace(made, background=made.background * one[:, None], weight=made.weight * one)
    labels = np.where(one, 0, 1)
    found = permuted_statistics(some, labels, labels[None], np.ones(SIZE), 2, difference_statistic)
    assert np.isfinite(found).all()
    mean = some.background.sum(0) / some.weight.sum()
    u = [made.score[side].sum(0) - made.tau[side].sum() * mean for side in (one, ~one)]
    f = made.tau[one].sum() / made.tau.sum()
    np.testing.assert_allclose(found, (((1 - f) * u[0] - f * u[1]) ** 2).sum() / (f * (1 - f)))


def test_a_word_that_few_have_can_be_made_equally_frequent():
    made, one, _ = rare(6)
    label, labellings = np.where(one, 0, 1), np.random.default_rng(1).permuted(np.tile(one, (999, 1)), axis=1)
    many = replace(made, tau=made.tau * np.where(one, 1e3, 1.0))
    even = equalize_frequency(many, label, np.where(labellings, 0, 1), 2)
    ratio = [np.log((t.tau[one].sum() / t.weight[one].sum()) / (t.tau[~one].sum() / t.weight[~one].sum()))
             for t in (many, even)]  # fmt: skip
    assert abs(ratio[1]) < 0.9 * abs(ratio[0])


def test_a_table_of_nothing_has_no_p():
    nothing = np.zeros((10, 3))
    made = RotatedTable(nothing, np.ones(10), nothing, np.ones(10), np.arange(10), np.ones(3))
    assert np.isnan(pair_p(made, np.arange(10) < 5, 1.0))
