"""Trends along an ordered column: the statistics on tables whose truth is known, and the table of `drift`."""

from __future__ import annotations

from dataclasses import astuple, replace

import numpy as np
import pandas as pd
import pytest
from clusters import COVARIANCE, SIZE, counted, effect, formula, rejected, scores, seeds, table
from parties import RATE, speeches

import laplex as lx
from laplex.inference import comparisons
from laplex.inference.comparisons import positions_on_line
from laplex.inference.findings import COLUMNS
from laplex.inference.permutations import Trend
from laplex.inference.score_test import trend_effect
from laplex.inference.scores import ScoreTable
from laplex.inference.units import gather
from laplex.runtime import storage

pytestmark = pytest.mark.usefixtures("shared_cache", "few_draws")

X = np.array([-0.5, -0.2, 0.1, 0.5])
MORE = (1.0, 2.0, 1.5, 0.7)


def line(random, slope=0.0):
    return table(random, tilt=slope * X, more=MORE)


def speakers_over_time(random, slope=0.0, own=0.5, speakers=50, times=4):
    """Rows of speakers at every time, who each have a direction of their own in which they drift."""
    label, speaker = np.tile(np.arange(times), speakers), np.repeat(np.arange(speakers), times)
    size = random.gamma(2.0, 40.0, len(label))
    n = random.poisson(size * 0.2) + 1.0
    way = random.normal(0, own, (speakers, SIZE))[speaker] * X[label][:, None]
    lean = slope * X[label][:, None] * np.eye(SIZE)[0]
    here = n[:, None] * (way + lean) + np.sqrt(n)[:, None] * random.normal(size=(len(n), SIZE))
    around = np.sqrt(size)[:, None] * random.normal(0, 0.3, (len(n), SIZE))
    return ScoreTable(0, 0, label, speaker, speaker, np.ones_like(speaker), here, n, around, size, COVARIANCE)


def test_p_values_of_noise_are_even():
    for p, count in ((formula, 600), (counted, 400)):
        found = [p(made, design=Trend(X)) for made in seeds(count, tilt=0 * X, more=MORE)]
        assert 0.02 < rejected(found) < 0.085
        assert rejected(found, 0.01) < 0.025


def test_a_word_that_is_lacking_at_one_time_is_tested():
    p, found = [], []
    for seed in range(300):
        for slope, values in ((0.0, p), (0.8, found)):
            made = line(np.random.default_rng(seed), slope)
            used = made.label != 1
            made = replace(made, score=made.score * used[:, None], tau=made.tau * used)
            values.append(counted(made, design=Trend(X)))
            assert np.isfinite([*astuple(trend_effect(scores(made), X)), formula(made, Trend(X))]).all()
    assert 0.02 < rejected(p) < 0.085
    assert rejected(found) > 0.8


def test_speakers_who_drift_each_in_their_own_way_are_no_trend():
    p, apart = [], []
    for seed in range(300):
        made = speakers_over_time(np.random.default_rng(seed))
        p.append(formula(made, Trend(X)))
        apart.append(formula(replace(made, cluster=np.arange(len(made.label))), Trend(X)))
    assert 0.02 < rejected(p) < 0.09
    assert rejected(apart) > 0.12


def test_a_trend_is_found_and_a_bend_is_not_one():
    even = np.array([-0.5, -0.2, 0.2, 0.5])
    for p in (formula, counted):
        assert rejected(p(made, design=Trend(X)) for made in seeds(60, tilt=0.8 * X, more=MORE)) > 0.9
        bent = seeds(60, tilt=0.4 * np.array([1.0, -1.0, -1.0, 1.0]))
        assert rejected(p(made, design=Trend(even)) for made in bent) < 0.2


def test_two_values_are_the_same_as_a_pair():
    made = table(np.random.default_rng(2), tilt=(0.3, 0.0), more=(1.0, 2.0))
    x = np.array([-0.5, 0.5])
    assert formula(made, Trend(x)) == pytest.approx(formula(made), rel=1e-3)
    assert counted(made, 999, Trend(x)) == counted(made, 999)
    pair, trend = astuple(effect(made)), astuple(trend_effect(scores(made), x))
    assert trend == pytest.approx(pair, rel=1e-6)


@pytest.mark.parametrize("make", [line, speakers_over_time])
def test_the_effect_has_no_bias_and_its_interval_holds(make):
    found, right = [], []
    expected = 0.4**2 / COVARIANCE[0, 0]
    for seed in range(300):
        seen = trend_effect(scores(make(np.random.default_rng(seed), 0.4)), X)
        found.append(seen.square / expected)
        lower, upper = seen.interval(0.9)
        right.append(lower < expected < upper)
        assert seen.variance > 0
    assert np.mean(found) == pytest.approx(1.0, abs=0.12)
    assert 0.82 < np.mean(right) < 0.96


YEARS = ("2001", "2002", "2004", "2005")


def over_years(seed, change=0.0):
    """Speeches of all years by the same speakers; two words change places, more and more."""
    random = np.random.default_rng(seed)
    other = {"w6": "w7", "w7": "w6"}
    rows = []
    for number, row in enumerate(speeches(seed, 40, each=16)):
        now = number % len(YEARS)
        words = [other.get(word, word) if random.random() < change * now / 3 else word for word in row["text"]]
        rows.append(row | {"text": words, "year": YEARS[now], "id": str(number)})
    return rows


def fitted_over_years(rows, vary=("year",), **options):
    corpus = lx.read(rows, metadata=["year", "speaker"])
    prior = lx.Ridge(1.0) + lx.Chain("year", 10.0) if vary else lx.Ridge(1.0)
    model = lx.Model(vary=vary, prior=prior, dimensions=8, window=3, subsample=0.0)
    return lx.fit(model, corpus, min_count=5, epochs=20, rate=RATE, threads=1, tests=False, quiet=True)


def ask(fitted, words=None, at=None, **options):
    options = {"min_units": 10, "min_count": 50, "quiet": True, "threads": 2} | options
    return fitted.inference(**options).drift("year", words, at=at)


@pytest.fixture(scope="module")
def moving(shared_cache):
    return fitted_over_years(over_years(1, change=0.9))


@pytest.mark.parametrize("unit", [None, "speaker"])
def test_words_that_change_come_first(moving, unit):
    found = ask(moving, unit=unit)
    assert list(found.columns) == COLUMNS
    assert set(found["word"][:2]) == {"w6", "w7"}
    assert (found["p"][:2] < 1e-3).all()
    assert (found["lower"][:2] > found["estimate"][6:].median()).all()
    assert set(found["value"]) == {"2001"}
    assert set(found["against"]) == {"2005"}
    rows = over_years(1, change=0.9)
    mine = found.set_index("word").loc["w6"]
    who = "speaker" if unit else "id"
    for years, end in ((YEARS[:2], ""), (YEARS[2:], "_against")):  # the halves of the line
        half = [row for row in rows if row["year"] in years]
        assert mine[f"uses{end}"] == sum(row["text"].count("w6") for row in half)
        assert mine[f"units{end}"] == len({row[who] for row in half if "w6" in row["text"]})


def test_nothing_moves_if_years_mean_nothing():
    p = []
    for seed in (2, 3, 4):
        fitted = fitted_over_years(over_years(seed), vary=())
        for unit in (None, "speaker"):
            p.append(ask(fitted, unit=unit)["p"])
    whole = pd.concat(p)
    assert len(whole) > 300
    assert 0.01 < (whole < 0.05).mean() < 0.1


def test_permutations_and_words(moving):
    counts = ask(moving, permutations=99)
    assert counts["p"].min() == 1 / 100
    assert set(counts["permutations"]) == {99}
    by_formula = ask(moving, permutations=0)
    for _, part in by_formula.groupby("holds"):
        assert part["lower"].is_monotonic_decreasing
    named = ask(moving, words=["w59", "w6"], min_units=10_000)
    assert named["p"].isna().all()
    assert set(named["word"]) == {"w59", "w6"}


def test_many_values_are_taken_together(monkeypatch, moving):
    monkeypatch.setattr(comparisons, "MAX_VALUES_ON_LINE", 2)
    found = ask(moving, permutations=0).set_index("word")
    assert (found.loc[["w6", "w7"], "p"] < 0.02).all()
    assert set(zip(found["value"], found["against"])) == {("2001", "2005")}
    tokens = lx.Tokens(storage.load(moving.settings["tokens"]["folder"], "tokens"))
    units = gather(tokens, "year", "speaker", 0, {})
    fewer = units.relabel(units.label // 2, ["early", "late"])
    assert sorted(fewer.documents) == sorted(units.documents)
    for unit in range(len(fewer)):
        mine = fewer.documents[fewer.start[unit] : fewer.start[unit + 1]]
        assert set(tokens.codes("year")[mine] // 2) == {fewer.label[unit]}
        assert set(tokens.codes("speaker")[mine]) == {fewer.cluster[unit]}


def test_speakers_at_several_years_have_their_signs_flipped(moving):
    found = ask(moving, unit="speaker", permutations=99)
    assert (found["permutations"] == 99).all()
    assert found["p"].min() == 1 / 100


def test_who_carries_the_value_is_named():
    rows = [row | {"year": YEARS[int(row["speaker"][1:]) % 4]} for row in over_years(6)]
    with pytest.warns(UserWarning, match='every value of "speaker" has one value of "year" only'):
        ask(fitted_over_years(rows, vary=()))


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["1", "2.5", "10"], [1, 2.5, 10]),
        (["2001", "2002", "2010"], [2001, 2002, 2010]),
        (["1990s", "2000s"], [1995, 2005]),
        (["2010-01", "2010-07"], [2010 + 0.5 / 12, 2010 + 6.5 / 12]),
        (["2010-Q2", "2010-Q3"], [2010.375, 2010.625]),
        (["1990–1994", "1995–2004"], [1992.5, 2000]),
        (["20101231", "20110101"], [2010 + 364.5 / 365.2425, 2011 + 0.5 / 365.2425]),
        (["2010-W01", "2010-W02"], [2010 + 3.5 / 365.2425, 2010 + 10.5 / 365.2425]),
    ],
)
def test_values_have_their_place_on_a_line(moving, values, expected):
    np.testing.assert_allclose(positions_on_line(moving, "year", values), expected)


def test_names_have_a_place_if_there_is_a_chain(moving):
    assert positions_on_line(moving, "year", ["early", "late", "last"]).tolist() == [0, 1, 2]


def test_columns_without_order_are_named(moving):
    with pytest.raises(lx.InputError, match=r'"speaker" has no order: its values .* are not all numbers'):
        moving.inference(quiet=True).drift("speaker")
    with pytest.raises(lx.InputError, match='no column "month"'):
        moving.inference(quiet=True).drift("month")
    with pytest.raises(lx.InputError, match='"year" has one value only'):
        ask(moving, at={"year": "2001"})
