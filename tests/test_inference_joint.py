"""Several groups at once: the statistics on tables whose truth is known, and what `contrast(against="joint")` gives."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from clusters import COVARIANCE, counted, effect, formula, rejected, seeds, table
from parties import ask, fit, speeches
from speakers import PLANTED

import laplex as lx
from laplex.inference.findings import COLUMNS
from laplex.inference.score_test import difference_effect, group_scores

pytestmark = pytest.mark.usefixtures("shared_cache", "few_draws")

GROUPS = 3


def test_p_values_of_noise_are_even():
    for p, count in ((formula, 600), (counted, 400)):
        found = [p(made) for made in seeds(count, tilt=(0.0,) * GROUPS, more=(1.0, 3.0, 1.5))]
        assert 0.02 < rejected(found) < 0.085
        assert rejected(found, 0.01) < 0.025


def test_a_difference_of_one_group_is_found():
    for p in (formula, counted):
        assert rejected(p(made) for made in seeds(60, tilt=(0.0, 0.5, 0.0))) > 0.9


def test_both_ways_to_p_agree():
    both = np.array([(formula(made), counted(made, 999)) for made in seeds(40, tilt=(0.0, 0.15, 0.0))])
    assert np.corrcoef(both.T)[0, 1] > 0.97
    assert abs(both[:, 0] - both[:, 1]).mean() < 0.05


def test_the_effect_is_the_mean_over_pairs():
    made = table(np.random.default_rng(4), tilt=(0.3, 0.0, -0.2), more=(1.0, 2.0, 1.0))
    pairs = [difference_effect(group_scores(made, [[one], [two]])) for one, two in combinations(range(GROUPS), 2)]
    assert effect(made).square == pytest.approx(np.mean([pair.square for pair in pairs]))
    turned = replace(made, label=(made.label + 1) % GROUPS)
    assert effect(turned).square == pytest.approx(effect(made).square)


def test_the_effect_has_no_bias_and_its_interval_holds():
    tilt, found, right = (0.2, 0.0, 0.0), [], []
    expected = 2 / 3 * tilt[0] ** 2 / COVARIANCE[0, 0]  # two of three pairs differ
    for made in seeds(400, tilt=tilt):
        seen = effect(made)
        found.append(seen.square / expected)
        lower, upper = seen.interval(0.9)
        right.append(lower < expected < upper)
    assert np.mean(found) == pytest.approx(1.0, abs=0.1)
    assert 0.82 < np.mean(right) < 0.96


@pytest.fixture(scope="module")
def three(shared_cache):
    """Three parties: two words change places in one of them, and with half of the speakers of another."""
    rows = [row | {"party": row["party"] if int(row["speaker"][1:]) % 3 else "I"} for row in speeches(1, 100, swap=0.8)]
    return fit(rows)


def test_one_row_a_word(three):
    found = ask(three, against="joint", min_units=5)
    assert list(found.columns) == COLUMNS
    assert found["word"].is_unique
    assert set(zip(found["value"], found["against"])) == {("any", "others")}
    assert set(PLANTED) <= set(found["word"][:4])
    pairs = ask(three, min_units=5, against="pairs")
    for word in ("w6", "w20"):
        mine, row = pairs[pairs["word"] == word], found[found["word"] == word].iloc[0]
        uses = dict(zip(mine["value"], mine["uses"])) | dict(zip(mine["against"], mine["uses_against"]))
        units = dict(zip(mine["value"], mine["units"])) | dict(zip(mine["against"], mine["units_against"]))
        assert row["uses"] + row["uses_against"] == sum(uses.values())
        assert (row["units"], row["units_against"]) == (min(units.values()), max(units.values()))
        if (mine["estimate"] > 0).all():
            assert row["estimate"] ** 2 == pytest.approx((mine["estimate"] ** 2).mean(), rel=1e-6)


def test_only_the_values_named_are_tested(three):
    pairs, some = ask(three, min_units=5, against="pairs"), ask(three, min_units=5, values=["R", "D"])
    own = pairs[(pairs["value"] == "D") & (pairs["against"] == "R")]
    columns = [name for name in COLUMNS[1:] if name not in ("p_adjusted", "holds")]
    pd.testing.assert_frame_equal(*(frame.set_index("word").sort_index()[columns] for frame in (some, own)))
    two = ask(three, against="joint", min_units=5, values=["R", "D"]).set_index("word")
    assert (two["uses"] == some.set_index("word").loc[two.index, "uses"]).all()
    np.testing.assert_allclose(two["estimate"], some.set_index("word").loc[two.index, "estimate"])
    with pytest.raises(lx.InputError, match="has no value 'X' to compare"):
        ask(three, values=["D", "X"])


def test_p_by_formula_and_by_counting(three):
    default, by_formula, few = (
        ask(three, against="joint", min_units=5, permutations=count).set_index("word") for count in (None, 0, 499)
    )
    assert few["p"].min() == 1 / 500
    assert set(few["permutations"]) == {499}
    assert set(by_formula["permutations"]) == {0}
    assert set(default["permutations"]) == {999, 9_999}
    assert np.corrcoef(default["p"], few.loc[default.index, "p"])[0, 1] > 0.98
    assert np.corrcoef(default["p"], by_formula.loc[default.index, "p"])[0, 1] > 0.9


def test_values_with_few_units_are_left_out(three):
    rows = [row | {"party": "X" if row["speaker"] in ("s000", "s003") else row["party"]} for row in speeches(2)]
    fitted = fit(rows, vary=())
    found = ask(fitted, against="joint")
    assert found["p"].notna().all()
    columns = ["estimate", "units", "units_against", "uses", "uses_against"]
    without = ask(fitted, against="joint", values=["D", "R"])
    pd.testing.assert_frame_equal(*(frame.set_index("word").sort_index()[columns] for frame in (found, without)))
    named = ask(three, against="joint", words="w6", min_units=60)
    assert named["p"].isna().all()
    assert named["uses"].item() > 0


def test_joint_null_on_text():
    p = []
    for seed in range(50, 56):
        rows = [row | {"party": "DIR"[int(row["speaker"][1:]) % 3]} for row in speeches(seed)]
        model = lx.Model(dimensions=8, window=3, subsample=0.0)
        corpus = lx.read(rows, metadata=["party", "speaker"])
        fitted = lx.fit(model, corpus, min_count=5, epochs=10, threads=1, quiet=True)
        p += ask(fitted, against="joint")["p"].tolist()
    assert len(p) > 200
    assert 0.01 < (np.array(p) < 0.05).mean() < 0.1
