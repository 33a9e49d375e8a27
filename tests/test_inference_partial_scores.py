"""Partial scores and their tests, against plain loops, and against the test of two groups."""

from __future__ import annotations

from dataclasses import astuple, replace

import numpy as np
import pytest
from designs import COVARIANCE, SIZE, Loops, design_matrix, poisson_rates, shuffled, table
from scipy import stats

from laplex.inference import partial_scores
from laplex.inference.counting import CHUNK
from laplex.inference.design import DesignUnits
from laplex.inference.partial_scores import PartialScores, SharedScores, fit_rates
from laplex.inference.partial_test import ColumnPermutations, PartialTest, WordColumnPermutations
from laplex.inference.permutations import Difference, Permutations
from laplex.inference.score_test import difference_effect, group_scores

MATRIX = design_matrix()
TESTED = [(1,), (2,), (2, 3, 4)]


def parts(made, tested, matrix=MATRIX):
    """The scores of a table, the other columns, and the residual of the tested ones."""
    scores = PartialScores.of(made, matrix)
    others = [k for k in range(matrix.shape[1]) if k not in tested]
    return scores, others, scores.residual_columns(tested, others)


def design_units(made, matrix=MATRIX, levels=()):
    return DesignUnits(matrix[made.label], made.cluster, made.weight, [], list(levels))


def draws_of(made, tested, *, nested=True, matrix=MATRIX, levels=()):
    scores, _, residual = parts(made, tested, matrix)
    question = ColumnPermutations.of(design_units(made, matrix, levels), tested, nested, [1, 2])
    return WordColumnPermutations.of(question, scores, tested, residual, made.id)


@pytest.mark.parametrize("most", [1, 4])
@pytest.mark.parametrize("tested", TESTED)
def test_scores_are_those_of_a_plain_loop(most, tested):
    made = shuffled(table(most, MATRIX, most=most, slope=0.1 * np.ones((5, SIZE))))
    loops, (scores, _, (weights, gram)) = Loops(made, MATRIX, tested), parts(made, tested)
    assert scores.single == (most == 1)
    np.testing.assert_allclose(scores.unit_rate, loops.rate, rtol=1e-5)
    np.testing.assert_allclose(scores.gram, loops.gram, rtol=1e-5)
    np.testing.assert_allclose(scores.total, loops.total, rtol=1e-4, atol=1e-3)
    moments = scores.contract(scores.contributions, np.eye(5))
    np.testing.assert_allclose(moments, loops.moments, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(gram, loops.G, rtol=1e-4)
    np.testing.assert_allclose(weights, loops.A, rtol=1e-4, atol=1e-5)
    assert draws_of(made, tested).observed == pytest.approx(loops.statistic(), rel=1e-4)
    assert scores.effect(tested, weights, gram).square == pytest.approx(loops.square(), rel=1e-3, abs=1e-6)
    assert loops.square() != pytest.approx(0.0, abs=1e-3)


@pytest.mark.parametrize("tested", TESTED)
def test_clusters_of_one_row_give_the_same_in_both_ways(tested, monkeypatch):
    made = table(5, MATRIX, slope=0.1 * np.ones((5, SIZE)))
    others = parts(made, tested)[1]

    def everything():
        scores, _, (weights, gram) = parts(made, tested)
        contributions, information = scores.partial_contributions(tested, weights)
        permuted = draws_of(made, tested, nested=False)
        return [
            *(scores.total, scores.contract(scores.contributions, np.eye(5)), contributions, information),
            *(scores.null_contributions(others, weights), scores.cluster_information(others)),
            *(scores.null_leverage(weights, others), astuple(scores.effect(tested, weights, gram))),
            *(permuted.observed, permuted.pieces, permuted.formula_p()),
        ]

    plain = everything()
    monkeypatch.setattr(PartialScores, "single", property(lambda scores: False))
    for number, (one, two) in enumerate(zip(plain, everything(), strict=True)):
        scale = float(np.abs(one).max())
        np.testing.assert_allclose(two, one, rtol=1e-4, atol=1e-5 * scale, err_msg=str(number))


def test_rows_of_one_cell_and_cluster_can_be_taken_together():
    made = table(6, MATRIX, slope=0.1 * np.ones((5, SIZE)))
    halves = {name: np.repeat(getattr(made, name) / 2, 2, axis=0) for name in ("score", "tau", "background", "weight")}
    names = {name: np.repeat(getattr(made, name), 2) for name in ("label", "cluster", "piece", "size")}
    split = replace(made, **halves, **names)
    for tested in TESTED:
        one, two = (
            astuple(found[0].effect(tested, *found[2])) for found in (parts(made, tested), parts(split, tested))
        )
        assert two == pytest.approx(one, rel=1e-4)
        assert draws_of(split, tested).observed == pytest.approx(draws_of(made, tested).observed, rel=1e-4)


@pytest.mark.parametrize("ratio", [0.0, 0.01, 0.3, 2.0, 3.0, 5.0, 8.0, 40.0])
def test_rates_are_those_of_poisson_regression_however_much_they_differ(ratio):
    weight = np.array([900.0, 0.0, 100.0])
    tau = np.array([300.0, 0.0, 100.0 * ratio / 3])
    found = fit_rates(np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 1.0]]), tau, weight)
    np.testing.assert_allclose(found, [1 / 3, 1 / 3, ratio / 3], rtol=1e-5, atol=1e-4)
    random = np.random.default_rng(1)
    weight = random.gamma(2.0, 40.0, 12)
    tau = random.poisson(weight * np.exp(MATRIX @ (np.log(ratio + 0.01) * np.array([0.0, 1, 0.3, 0, 0.5])))) + 1.0
    np.testing.assert_allclose(fit_rates(MATRIX, tau, weight), poisson_rates(MATRIX, tau, weight), rtol=1e-4)


def test_some_cells_alone_are_those_of_a_table_without_the_others():
    made = table(7, MATRIX, clusters=90, most=3)
    included = (np.arange(12) % 4 > 0).astype(float)
    inside = included[made.label] > 0
    names = ("label", "cluster", "piece", "size", "score", "tau", "background", "weight")
    alone = replace(made, **{name: getattr(made, name)[inside] for name in names})
    one, two = PartialScores.of(made, MATRIX, included), PartialScores.of(alone, MATRIX)
    np.testing.assert_array_equal(one.total, two.total)
    np.testing.assert_array_equal(one.contributions, two.contributions)
    assert PartialScores.of(made, MATRIX, np.zeros(12)) is None
    assert PartialScores.of(replace(made, tau=np.zeros_like(made.tau)), MATRIX) is None


def test_columns_that_the_text_of_a_word_cannot_tell_apart_are_not_tested():
    made = table(8, MATRIX)
    copy = np.concatenate([MATRIX, MATRIX[:, 1:2]], 1)
    assert parts(made, (5,), copy)[2] is None
    assert PartialTest(np.array([True]), (5,), SharedScores(copy), draws_of(made, (2,)).question).prepare(made) is None
    near = copy + np.where(np.arange(6) == 5, 0.05, 0.0) * np.random.default_rng(0).normal(size=(12, 1))
    assert parts(made, (5,), near)[2] is not None


# Two groups and nothing else

GROUPS = np.array([[1.0, 1.0], [1.0, 0.0]])


@pytest.mark.parametrize("proportional", [True, False])
def test_two_groups_are_those_of_the_plain_test(proportional):
    """The noise is the same if each cluster has as much of the word as of its background, and else nearly so."""
    made = table(1, GROUPS, clusters=50, slope=np.array([[0.0] * SIZE, [0.4] * SIZE]), absent=0.0)
    if proportional:
        share = np.where(made.label == 0, 0.3, 0.1) * made.weight / made.tau
        made = replace(made, tau=share * made.tau, score=share[:, None] * made.score)
    scores, _, (weights, gram) = parts(made, (1,), GROUPS)
    plain = group_scores(made, [[0], [1]])
    one, two = astuple(scores.effect((1,), weights, gram)), astuple(difference_effect(plain))
    assert one[0] == pytest.approx(two[0], rel=1e-4 if proportional else 0.01)
    assert one == pytest.approx(two, rel=1e-4 if proportional else 0.2)
    permutations = Permutations(made.label, True, True, [1])
    expected = permutations.of_word(plain.residuals(), Difference(2), 0)
    found = draws_of(made, (1,), matrix=GROUPS)
    assert found.question.residual is not None
    assert found.observed * made.tau.sum() == pytest.approx(expected.observed, rel=1e-4)


def test_p_of_two_groups_is_that_of_the_plain_test():
    p = []
    for seed in range(40):
        made = table(seed, GROUPS, clusters=50, slope=np.array([[0.0] * SIZE, [0.08] * SIZE]), absent=0.3)
        plain = Permutations(made.label, True, True, [1]).of_word(
            group_scores(made, [[0], [1]]).residuals(), Difference(2), 0
        )
        found = draws_of(made, (1,), matrix=GROUPS)
        p.append([(one.exceedances(0, 999) + 1) / 1000 for one in (plain, found)])
    one, two = np.array(p).T
    assert 0.1 < np.mean(one < 0.05) < 0.9
    assert abs(one - two).mean() < 0.02
    assert stats.spearmanr(one, two)[0] > 0.97


# Draws


@pytest.mark.parametrize("most", [1, 4])
@pytest.mark.parametrize("tested", [(1,), (1, 2)])
def test_values_in_their_own_place_give_the_statistic_that_is_observed(most, tested):
    fixed = ("group", "number")[: len(tested)]
    made = table(9, MATRIX, clusters=70, most=most, slope=0.05 * np.ones((5, SIZE)), fixed=fixed)
    permuted = draws_of(made, tested)
    assert permuted.question.residual is not None
    own = np.arange(70, dtype=np.int32)[:, None]
    assert permuted.statistics(permuted.code(own))[0] == pytest.approx(permuted.observed, rel=1e-4)
    drawn = permuted.question.draw(0, 70, made.id)[:, :200]
    assert (permuted.statistics(permuted.code(drawn)) >= permuted.observed).sum() == permuted.exceedances(0, 200)


@pytest.mark.parametrize("most", [1, 3])
def test_statistics_of_permuted_values_are_those_of_a_plain_loop(most):
    """Values without what the other columns explain of them are exchanged; scores stay where they are."""
    made = table(2, MATRIX, clusters=40, most=most, fixed=["group"])
    permuted, loops = draws_of(made, (1,)), Loops(made, MATRIX, (1,))
    drawn = permuted.question.draw(0, 40, made.id)[:, :5]
    others = [0, 2, 3, 4]
    text, means, value = np.zeros(40), np.zeros((40, 5)), np.zeros(40)
    for i, c in enumerate(made.cluster):
        text[c] += made.weight[i]
        means[c] += made.weight[i] * MATRIX[made.label[i]]
        value[c] = MATRIX[made.label[i], 1]
    means /= text[:, None]
    rows, total = MATRIX[made.label], made.weight.sum()
    center = (made.weight @ rows) / total
    within = [made.weight @ (rows - means[made.cluster])[:, k] ** 2 for k in others]
    spread = [made.weight @ (rows - center)[:, k] ** 2 for k in others]
    nested = [k for k, a, b in zip(others, within, spread) if a <= 0.1 * b]  # what varies within clusters is no part
    z, root = means[:, nested], np.sqrt(text)
    explained = z @ np.linalg.lstsq(root[:, None] * z, root * value, rcond=None)[0]
    slopes = np.linalg.solve(loops.gram[np.ix_(others, others)], sum(loops.moments)[others])
    metric = np.linalg.inv(COVARIANCE + np.trace(COVARIANCE) / SIZE * np.eye(SIZE))
    for column, seen in zip(drawn.T, permuted.statistics(permuted.code(drawn))):
        x = explained + (value - explained)[column]
        u, information, cross = np.zeros(SIZE), 0.0, np.zeros(4)
        for c in range(40):
            u += x[c] * (loops.moments[c] - loops.grams[c][:, others] @ slopes)[0]
            information += x[c] ** 2 * loops.grams[c][0, 0]
            cross += x[c] * loops.grams[c][0, others]
        left = information - cross @ np.linalg.solve(loops.gram[np.ix_(others, others)], cross)
        assert seen == pytest.approx(u @ metric @ u / left, rel=1e-3)


def test_values_stay_within_the_levels_of_other_factors():
    made = table(3, MATRIX, clusters=60, fixed=["group"])
    level = np.array([0, 1, 2])[np.arange(60) % 3]
    same, few = (level[made.cluster], (3, 4)), (np.arange(60)[made.cluster] // 5, (3, 4))
    within = ColumnPermutations.of(design_units(made, levels=[same]), (1,), True, [1])
    drawn = within.draw(0, 60, 0)
    np.testing.assert_array_equal(np.unique(within.stratum, return_inverse=True)[1], level)
    assert (level[drawn] == level[:, None]).all()
    assert (np.sort(drawn, axis=0) == np.arange(60)[:, None]).all()
    assert len(np.unique(drawn, axis=1).T) == CHUNK
    for levels, tested in ([few], (1,)), ([same], (1, 3, 4)), ([], (1,)):
        assert not design_units(made, levels=levels).strata(tested).any()  # too few, tested themselves, and none
    several = table(3, MATRIX, clusters=60, most=3, fixed=["group"])
    varying = (np.arange(len(several.cluster)) % 2, (3, 4))
    assert not design_units(several, levels=[varying]).strata((1,)).any()


def test_signs_are_flipped_where_values_vary_within_clusters():
    made = table(4, MATRIX, most=4)
    permuted = draws_of(made, (1,))
    assert permuted.question.residual is None
    drawn = permuted.question.draw(0, len(permuted.pieces), made.id)
    assert set(np.unique(drawn)) == {-1, 1}
    np.testing.assert_allclose(
        permuted.statistics(permuted.code(drawn)), ((drawn.T @ permuted.pieces.astype(float)) ** 2).sum(1), rtol=1e-4
    )
    nested = table(4, MATRIX, most=4, fixed=["group"])
    assert draws_of(nested, (1,), nested=False).question.residual is None
    question = draws_of(nested, (1,)).question
    assert question.draw(0, 60, 0).max() == 59  # clusters, which the signs of the same question are not
    assert set(np.unique(question.flips.draw(0, 60, 0))) == {-1, 1}


@pytest.mark.parametrize("most", [1, 4])
def test_p_by_the_formula_is_near_that_by_counting(most):
    both = []
    for seed in range(30):
        fixed = ["group"] * (seed % 2)
        slope = np.outer([0, 0.1 / most, 0, 0, 0], np.ones(SIZE))
        made = table(seed, MATRIX, clusters=100, most=most, slope=slope, fixed=fixed)
        scores = SharedScores(MATRIX)
        question = ColumnPermutations.of(design_units(made), (1,), True, [seed])
        prepared = PartialTest(np.array([True]), (1,), scores, question).prepare(made)
        both.append([prepared.formula(), (prepared.permuted().exceedances(0, 999) + 1) / 1000])
    one, two = np.array(both).T
    assert ((one > 0) & (one < 1)).all()
    assert abs(one - two).mean() < 0.05
    assert stats.spearmanr(one, two)[0] > 0.93


@pytest.mark.parametrize(("most", "tested"), [(1, (1,)), (4, (1,)), (1, (3, 4)), (4, (3, 4))])
def test_the_level_holds_where_rates_and_backgrounds_differ(most, tested):
    """Of words whose vectors do not differ with the columns, and of those whose vectors do."""
    slope = np.zeros((5, SIZE))
    slope[list(tested), 0] = 0.9
    p = {}
    for name, planted in (("null", None), ("planted", slope)):
        found = []
        for seed in range(150 if planted is None else 30):
            made = table(seed, MATRIX, clusters=80, most=most, slope=planted, fixed=["group"] * (seed % 2))
            permuted = draws_of(made, tested)
            found.append((permuted.exceedances(0, 199) + 1) / 200)
        p[name] = np.array(found)
    assert 0.01 < np.mean(p["null"] < 0.05) < 0.105
    assert 0.4 < p["null"].mean() < 0.6
    assert np.mean(p["planted"] < 0.05) > 0.8


def test_scores_of_a_table_are_made_once_for_all_coefficients(monkeypatch):
    made, other = table(1, MATRIX), table(2, MATRIX)
    shared = SharedScores(MATRIX)
    assert shared.of(made) is shared.of(made)
    assert shared.of(other) is not shared.of(made)
    monkeypatch.setattr(partial_scores, "LEAST_INFORMATION", 2.0)
    assert shared.of(made).residual_columns((1,), [0, 2, 3, 4]) is None
