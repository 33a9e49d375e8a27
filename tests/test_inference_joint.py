"""Several groups at once: the statistics on tables whose truth is known, and the table of `contrast(joint=True)`."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from clusters import CLUSTERS, pair_effect, table
from parties import ask, fit, speeches
from speakers import PLANTED

import laplex as lx
from laplex.inference.contexts import pooled
from laplex.inference.score_test import (
    counted_p,
    difference_effect,
    difference_p,
    difference_statistic,
    equalize_frequency,
    jackknife_influence,
    newton_scale,
    permuted_statistics,
    smoothed_p,
)

pytestmark = pytest.mark.usefixtures("shared_cache")

GROUPS = 3
PRIORS = dict.fromkeys(combinations(range(GROUPS), 2), 1.0)


def scale(made):
    return newton_scale(made.spectrum, 1.0, 1 / (2 * GROUPS))


def draws(count, seed=9):
    return np.random.default_rng(seed).permuted(np.tile(np.arange(CLUSTERS) % GROUPS, (count, 1)), axis=1)


def test_p_values_of_noise_are_even():
    p, q, labellings = [], [], draws(299)
    for seed in range(600):
        made, label = table(np.random.default_rng(seed), more=(1.0, 3.0, 1.5))
        p.append(difference_p(made, label, GROUPS, scale(made)))
        if seed < 300:
            q.append(
                smoothed_p(permuted_statistics(made, label, labellings, scale(made), GROUPS, difference_statistic))
            )
    for values in (np.array(p), np.array(q)):
        assert 0.02 < (values < 0.05).mean() < 0.085
        assert (values < 0.01).mean() < 0.025


def test_a_difference_of_one_group_is_found():
    p = [
        difference_p(made, label, GROUPS, scale(made))
        for made, label in (table(np.random.default_rng(seed), tilt=(0.0, 0.5, 0.0)) for seed in range(60))
    ]
    assert np.mean(np.array(p) < 0.05) > 0.9


def test_all_ways_to_p_agree():
    labellings, found = draws(999), []
    for seed in range(40):
        made, label = table(np.random.default_rng(seed), tilt=(0.0, 0.15, 0.0))
        statistics = permuted_statistics(made, label, labellings, scale(made), GROUPS, difference_statistic)
        found.append((difference_p(made, label, GROUPS, scale(made)), counted_p(statistics)))
    formula, counted = np.array(found).T
    assert np.corrcoef(formula, counted)[0, 1] > 0.97
    assert abs(formula - counted).mean() < 0.05


def test_permuted_statistics_are_those_of_the_labels():
    made, label = table(np.random.default_rng(1), tilt=(0.2, 0.0, 0.0))
    labellings = draws(20)
    found = permuted_statistics(made, label, labellings, scale(made), GROUPS, difference_statistic)
    made = equalize_frequency(made, label, labellings, GROUPS)
    for side, value in zip([label, *labellings], found):
        f = np.array([made.tau[side == group].sum() for group in range(GROUPS)]) / made.tau.sum()
        totals = jackknife_influence(made, side, GROUPS)[1]
        own = (totals - np.outer(f, totals.sum(0))) * scale(made)
        assert value == pytest.approx(((own**2).sum(1) / f).sum())


def test_the_effect_is_the_mean_over_pairs():
    made, label = table(np.random.default_rng(4), tilt=(0.3, 0.0, -0.2))
    pairs = []
    for one, two in PRIORS:
        inside = np.isin(label, [one, two])
        pairs.append(pair_effect(made.select(inside), label[inside] == one, 1.0).square)
    assert difference_effect(made, label, GROUPS, PRIORS).square == pytest.approx(np.mean(pairs))


def test_the_effect_has_no_bias_and_its_interval_holds():
    tilt, found, right = (0.2, 0.0, 0.0), [], []
    for seed in range(400):
        made, label = table(np.random.default_rng(seed), tilt=tilt)
        seen = difference_effect(made, label, GROUPS, dict.fromkeys(PRIORS, 1e-9))
        # a tilt t of the mean of h moves a vector by t τ / A, and two of three pairs differ by it
        expected = 2 / 3 * (tilt[0] * made.tau.sum() / made.spectrum[0]) ** 2
        found.append(seen.square / expected)
        lower, upper = seen.bounds(1.645)
        right.append(lower < expected < upper)
    assert np.mean(found) == pytest.approx(1.0, abs=0.1)
    assert 0.82 < np.mean(right) < 0.96


@pytest.fixture(scope="module")
def three(shared_cache):
    """Three parties: two words change places in one of them, and with half of the speakers of another."""
    rows = [row | {"party": row["party"] if int(row["speaker"][1:]) % 3 else "I"} for row in speeches(1, 100, swap=0.8)]
    fitted = fit(rows)
    pooled(fitted, threads=1, quiet=True)  # the same each time, and in the cache from now on
    return fitted


def test_one_row_a_word(three):
    found = ask(three, joint=True, min_clusters=5)
    assert list(found.columns) == [
        *("word", "party", "estimate", "se", "lower", "upper", "p", "p_adjusted", "n", "clusters")
    ]
    assert found["word"].is_unique
    assert set(found["party"]) == {"all"}
    assert set(PLANTED) <= set(found["word"][:4])
    pairs = ask(three, min_clusters=5)
    for word in ("w6", "w20"):
        mine, row = pairs[pairs["word"] == word], found[found["word"] == word].iloc[0]
        counts = {part: value for pair, one, two in zip(mine["party"], mine["count_one"], mine["count_two"])
                  for part, value in zip(pair.split(" – "), (one, two))}  # fmt: skip
        assert row["n"] == sum(counts.values())
        assert row["clusters"] == mine["clusters"].min()
        if (mine["estimate"] > 0).all():
            assert row["estimate"] ** 2 == pytest.approx((mine["estimate"] ** 2).mean(), rel=1e-6)


def test_only_the_values_named_are_tested(three):
    pairs, some = ask(three, min_clusters=5), ask(three, min_clusters=5, values=["R", "D"])
    own = pairs[pairs["party"] == "D – R"]
    pd.testing.assert_frame_equal(
        some.drop(columns="p_adjusted").set_index("word").sort_index(),
        own.drop(columns="p_adjusted").set_index("word").sort_index(),
    )
    two = ask(three, joint=True, min_clusters=5, values=["R", "D"]).set_index("word")
    assert (two["n"] == some.set_index("word").loc[two.index, "n"]).all()
    with pytest.raises(lx.InputError, match="has no value 'X' to compare"):
        ask(three, values=["D", "X"])


def test_p_by_formula_and_by_counting(three):
    smooth, formula, counted = (
        ask(three, joint=True, min_clusters=5, permutations=count).set_index("word")["p"] for count in (None, 0, 499)
    )
    assert counted.min() == 1 / 500
    assert np.corrcoef(smooth, counted.loc[smooth.index])[0, 1] > 0.98
    assert np.corrcoef(smooth, formula.loc[smooth.index])[0, 1] > 0.9


def test_values_with_few_clusters_are_left_out(three, capsys):
    rows = [row | {"party": "X" if row["speaker"] in ("s000", "s003") else row["party"]} for row in speeches(2)]
    found = ask(fit(rows, vary=()), joint=True, quiet=False)
    assert "left out, with under 10 clusters: X" in capsys.readouterr().err
    assert found["p"].notna().all()
    named = ask(three, joint=True, words="w6", min_clusters=60)
    assert named["p"].isna().all()
    assert named["n"].item() > 0


def test_joint_null_on_text():
    p = []
    for seed in range(50, 56):
        rows = [row | {"party": "DIR"[int(row["speaker"][1:]) % 3]} for row in speeches(seed)]
        model = lx.Model(dimensions=8, window=3, subsample=0.0)
        corpus = lx.read(rows, metadata=["party", "speaker"])
        fitted = lx.fit(model, corpus, min_count=5, epochs=10, threads=1, quiet=True)
        p += ask(fitted, joint=True)["p"].tolist()
    assert len(p) > 200
    assert 0.01 < (np.array(p) < 0.05).mean() < 0.1
