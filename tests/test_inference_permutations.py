"""p by counting, on tables whose truth is known: its level, where groups have other topics too, and what is counted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from clusters import COVARIANCE, SIZE, counted, formula, rejected, scores, seeds, table
from scipy import stats

from laplex.inference.counting import CHUNK
from laplex.inference.permutations import Difference, Permutations, Residuals, Trend
from laplex.inference.scores import ScoreTable

X = np.array([-0.5, -0.2, 0.5])


def under(design, labels, residuals):
    """The statistics under labels (rows, draws)."""
    return design.statistics(design.code(labels), residuals)


def test_groups_with_other_topics_do_not_differ_in_how_they_use_a_word():
    """Most clusters lack the word, whose contexts differ only as all contexts do."""
    p = [counted(made) for made in seeds(500, apart=3.0, absent=0.6)]
    assert 0.025 < rejected(p) < 0.08
    assert 0.4 < np.mean(p) < 0.6
    assert stats.kstest(np.array(p) - np.random.default_rng(0).random(500) / 200, "uniform").pvalue > 0.001
    # if it is twice as frequent in a group, permuted groups have more noise than the real ones
    assert 0.01 < rejected([counted(made) for made in seeds(500, apart=3.0, absent=0.6, more=(1.0, 2.0))]) < 0.06


def test_a_difference_is_found_though_groups_have_other_topics():
    together, apart = (
        np.array([counted(made) for made in seeds(100, tilt=(0.6, 0.0), apart=apart, absent=0.6)])
        for apart in (0.0, 3.0)
    )
    assert rejected(apart) > 0.9
    np.testing.assert_allclose(apart, together, atol=0.02)


def test_the_statistic_is_the_score_between_groups():
    """T = ‖(1 − f) U_0 − f U_1‖² / (f (1 − f)) in the metric of (Σ + κI)⁻¹."""
    made = table(np.random.default_rng(1), tilt=(0.2, 0.0), more=(1.0, 2.0))
    found = scores(made)
    rows, f = found.residuals(), found.share[0]
    metric = np.linalg.inv(COVARIANCE + np.trace(COVARIANCE) / SIZE * np.eye(SIZE))
    u = [made.score[side].sum(0) - made.tau[side].sum() * made.background[side].sum(0) / made.weight[side].sum()
         for side in (made.label == 0, made.label == 1)]  # fmt: skip
    step = (1 - f) * u[0] - f * u[1]
    expected = step @ metric @ step / (f * (1 - f))
    assert under(Difference(2), made.label[:, None], rows.values())[0] == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize("design", [Difference(3), Trend(X)])
def test_statistics_of_labellings_are_those_of_a_plain_loop(design):
    found = scores(table(np.random.default_rng(1), tilt=(0.2, 0.0, -0.2), more=(1.0, 3.0, 2.0)))
    rows = found.residuals()
    labellings = np.random.default_rng(2).permuted(np.tile(found.label[:, None], (1, 20)), axis=0)
    seen = under(design, labellings, rows.values())
    for labels, value in zip(labellings.T, seen):
        f = np.bincount(labels, rows.tau) / rows.tau.sum()
        sums = np.array([rows.residual[labels == group].sum(0) for group in range(3)])
        if isinstance(design, Trend):
            expected = ((X @ sums) ** 2).sum() / (f @ X**2 - (f @ X) ** 2)
        else:
            expected = ((sums**2).sum(1) / f).sum()
        assert value == pytest.approx(expected, rel=1e-4)
    # the contributions, whose signs are flipped, have the same statistic as sum
    y = rows.contributions(design)
    own = under(design, rows.label[:, None], rows.values())[0]
    assert (y.sum(0) ** 2).sum() == pytest.approx(own, rel=1e-4)


def test_a_group_that_lacks_the_word_under_some_labels_adds_nothing():
    made = table(np.random.default_rng(2), tilt=(0.3, 0.0), clusters=40)
    has = np.arange(40) < 4
    made = replace(made, score=np.where(has[:, None], made.score, 0.0), tau=np.where(has, made.tau, 0.0))
    rows = scores(made).residuals()
    labels = np.where(has, 0, made.label)
    mine = rows.residual[labels == 0].sum(0)
    seen = under(Difference(2), labels[:, None], rows.values())
    assert seen[0] == pytest.approx(mine @ mine, rel=1e-4)
    assert under(Trend(np.array([-0.5, 0.5])), labels[:, None], rows.values())[0] == 0.0
    assert 0 < counted(made, 999) <= 1


def speakers_with_all_labels(random, slope=0.0, own=0.9, speakers=50, labels=3):
    """Rows of speakers under every label, between which each has a direction of their own in which they differ."""
    label, speaker = np.tile(np.arange(labels), speakers), np.repeat(np.arange(speakers), labels)
    x = np.linspace(-0.5, 0.5, labels)[label][:, None]
    size = random.gamma(2.0, 40.0, len(label))
    n = random.poisson(size * 0.2) + 1.0
    lean = x * (random.normal(0, own, (speakers, SIZE))[speaker] + slope * np.eye(SIZE)[0])
    here = n[:, None] * lean + np.sqrt(n)[:, None] * random.normal(size=(len(n), SIZE))
    around = np.sqrt(size)[:, None] * random.normal(0, 0.3, (len(n), SIZE))
    return ScoreTable(0, 0, label, speaker, speaker, np.ones_like(speaker), here, n, around, size, COVARIANCE)


def flipped(made, design, draws=199):
    """p by flipping the signs of clusters."""
    rows = scores(made).residuals()
    permutations = Permutations(rows.label, False, True, [len(np.unique(rows.cluster))])
    return (permutations.of_word(rows, design, 0).exceedances(0, draws) + 1) / (draws + 1)


@pytest.mark.parametrize("design", [Difference(3), Trend(X)])
def test_speakers_who_differ_each_in_their_own_way_are_no_difference(design):
    p, apart, found = [], [], []
    for seed in range(250):
        made = speakers_with_all_labels(np.random.default_rng(seed))
        p.append(flipped(made, design))
        alone = np.arange(len(made.label))
        apart.append(flipped(replace(made, cluster=alone), design))
        if seed < 60:
            made = speakers_with_all_labels(np.random.default_rng(seed), slope=1.0)
            found.append(flipped(made, design))
    assert 0.015 < rejected(p) < 0.09
    assert rejected(apart) > 0.12
    assert rejected(found) > 0.9


def ways(rows):
    """The ways to draw: labels of all units, any labels of pieces, and signs."""
    return [
        Permutations(rows.label, True, True, [1, 2]),
        Permutations(rows.label, True, False, [1, 2]),
        Permutations(rows.label, False, True, [1, 2]),
    ]


def pieces_of(made, random):
    """A table in which blocks of rows always have the same label."""
    block = random.integers(0, 8, len(made.label))
    return replace(made, piece=np.where(made.tau > 0, np.arange(len(made.label)), 1_000 + block))


@pytest.mark.parametrize("way", [0, 1, 2])
def test_p_is_a_count_of_the_draws(way):
    """Also if it is made in parts, which do not begin where chunks of draws do."""
    made = pieces_of(table(np.random.default_rng(5), tilt=(0.1, 0.0), absent=0.5), np.random.default_rng(1))
    rows, design = scores(made).residuals(), Difference(2)
    permutations = ways(rows)[way]
    values = rows.by_piece() if way == 1 else rows.values()
    size = len(values)
    drawn = np.concatenate([permutations.draw(chunk, size, 7) for chunk in range(3)], axis=1)[:, :2_600]
    assert drawn.shape == (size, 2_600)
    if way == 2:
        statistics = ((drawn.T.astype(float) @ rows.contributions(design)) ** 2).sum(1)
    else:
        statistics = under(design, drawn, values)
    observed = under(design, rows.label[:, None], rows.values())[0]
    expected = int((statistics >= observed).sum())
    assert 5 < expected < 2_500
    assert permutations.of_word(rows, design, 7).exceedances(0, 2_600) == expected
    edges = [0, 999, 1_000, 1_400, 2_600]
    parts = [ways(rows)[way].of_word(rows, design, 7).exceedances(*part) for part in zip(edges, edges[1:])]
    assert sum(parts) == expected


def test_labels_are_exchanged_and_signs_are_even():
    rows = scores(table(np.random.default_rng(5), tilt=(0.0, 0.0, 0.0))).residuals()
    exact, pieces, signs = (one.draw(0, 90, 3) for one in ways(rows))
    for drawn in (exact, pieces):
        assert (np.sort(drawn, axis=0) == np.sort(rows.label)[:, None]).all()
        assert len(np.unique(drawn, axis=1).T) == CHUNK
        np.testing.assert_allclose([(drawn == label).mean(1) for label in range(3)], 1 / 3, atol=0.06)
    few = ways(rows)[1].draw(0, 31, 3)  # pieces are fewer than units, with the same shares of labels
    assert {tuple(column) for column in np.sort(few, axis=0).T} == {(0,) * 11 + (1,) * 10 + (2,) * 10}
    assert set(np.unique(signs)) == {-1, 1}
    assert abs(signs.mean()) < 0.02
    for one, drawn in zip(ways(rows), (exact, pieces, signs)):
        np.testing.assert_array_equal(one.draw(0, 90, 3), drawn)
        assert not np.array_equal(one.draw(1, 90, 3), drawn)


def test_pieces_of_rows_have_the_level_of_single_rows():
    """Rows without the word in blocks, each with any label."""
    both = []
    for seed in range(250):
        made = pieces_of(table(np.random.default_rng(seed), apart=2.0, absent=0.6), np.random.default_rng(seed))
        rows = scores(made).residuals()
        exceeding = Permutations(rows.label, True, False, [4]).of_word(rows, Difference(2), seed).exceedances(0, 199)
        both.append(((exceeding + 1) / 200, counted(made)))
    p, single = np.array(both).T
    assert 0.02 < rejected(p) < 0.085
    assert np.corrcoef(p, single)[0, 1] > 0.95
    assert abs((p - single).mean()) < 0.02


def test_no_p_is_below_one_over_the_number_of_permutations():
    made = table(np.random.default_rng(1), tilt=(2.0, 0.0))
    assert formula(made) < 1e-9
    for draws in (19, 99, 999, 2_500):
        assert counted(made, draws) == 1 / (draws + 1)


def test_labellings_equal_but_for_rounding_count():
    """Exchanging all labels of two groups of the same size gives the same statistic, in single precision."""
    residual = np.random.default_rng(0).normal(size=(6, SIZE))
    tau, rows = np.ones(6), np.arange(6)
    of = Residuals(residual - residual.mean(0), tau, np.array([0, 0, 0, 1, 1, 1]), rows, rows, np.ones_like(rows))
    labels = np.array([[(number >> bit) & 1 for bit in range(6)] for number in range(64)]).T
    balanced = labels[:, labels.sum(0) == 3]
    exact = [
        sum(((of.residual[side == group].sum(0)) ** 2).sum() / 0.5 for group in (0, 1)) for side in balanced.T
    ]  # fmt: skip
    own = under(Difference(2), of.label[:, None], of.values())[0]
    share = np.mean(np.array(exact) >= own * (1 - 1e-4))
    p = (Permutations(of.label, True, True, [1]).of_word(of, Difference(2), 0).exceedances(0, 50_000) + 1) / 50_001
    assert p == pytest.approx(share, abs=0.01)
    assert share >= 0.1
