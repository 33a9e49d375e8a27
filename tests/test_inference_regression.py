"""Regressions: planted effects of several columns at once, curves along a number, and what is kept with the model."""

from __future__ import annotations

import shutil
import warnings
from pathlib import Path

import confounded
import numpy as np
import pandas as pd
import pytest
from confounded import OPTIONS, SAME, THEME, TIME, WORDS, inference
from scipy import stats

import laplex as lx
from laplex.inference import inference as asking
from laplex.inference.findings import COLUMNS
from laplex.inference.regression import REGRESSION_COLUMNS

pytestmark = pytest.mark.usefixtures("shared_cache", "few_draws")

FULL = "~ camp * year + s(age) + chamber"
OTHERS = [*SAME, *THEME]  # which no column of the text decides, as it has no topics


def regress(formula, words=None, **choices):
    options = {name: choices.pop(name) for name in list(choices) if name in OPTIONS or name == "seed"}
    return inference(**options).regress(formula, words, **choices)


def row(table, word, term, level=""):
    (found,) = table[(table["word"] == word) & (table["term"] == term) & (table["level"] == level)].itertuples()
    return found


def test_planted_effects_are_found_where_they_are():
    found = regress(FULL, WORDS)
    planted = {("camp", "camp", "R"), ("both", "camp:year", "R"), ("strong", "s(age)", ""), ("chamber", "chamber", "z")}
    planted |= {("chamber", "chamber", ""), ("chamber", "chamber", "y")} | {(word, "year", "") for word in TIME}
    for word, term, level in planted:
        one = row(found, word, term, level)
        assert one.p < 0.01, (word, term)
        assert one.holds, (word, term)
        assert one.lower > 0.1
    rest = found[found["word"].isin(OTHERS)]
    assert len(rest) == len(OTHERS) * 7
    assert 0.005 < (rest["p"] < 0.05).mean() < 0.11
    assert stats.kstest(rest["p"], "uniform").pvalue > 0.001
    assert rest["holds"].mean() < 0.05
    for _, term in found.groupby("term"):
        np.testing.assert_allclose(term["p_adjusted"], stats.false_discovery_control(term["p"]))
    assert found["holds"].is_monotonic_decreasing


def test_the_table_says_what_its_rows_are():
    found = regress(FULL, ["camp", "both"])
    names = {"value": "term", "against": "level"}
    assert list(found.columns) == [names.get(name, name) for name in REGRESSION_COLUMNS]
    assert "standard_error" in found
    assert set(COLUMNS) - {"value", "against"} <= set(found.columns)
    terms = {("camp", "R"), ("year", ""), ("camp:year", "R"), ("s(age)", ""), ("chamber", "y"), ("chamber", "z")}
    assert set(zip(found["term"], found["level"])) == terms | {("chamber", "")}
    rows, (one, number) = confounded.rows(), (row(found, "camp", "camp", "R"), row(found, "camp", "year"))
    texts = {party: [r for r in rows if r["camp"] == party] for party in "LR"}
    assert one.uses == sum(r["text"].split().count("camp") for r in texts["R"])
    assert one.uses_against == sum(r["text"].split().count("camp") for r in texts["L"])
    assert one.units == len({r["speaker"] for r in texts["R"] if "camp" in r["text"].split()})
    late = [r for r in rows if r["year"] > 1915]
    assert number.uses == sum(r["text"].split().count("camp") for r in late)
    assert one.estimate == pytest.approx((one.lower + one.upper) / 2, rel=0.2)
    half = one.upper - one.lower
    assert one.standard_error == pytest.approx(half / 3.3, rel=0.2)
    scene = WORDS.index("camp") % 8
    assert len(set(one.context.split(", ")) & {f"scene{scene}{letter}" for letter in "abc"}) >= 2
    assert f'differ by a term of "{FULL}"' in found.attrs["summary"]
    assert found.attrs["question"] == "regress"


def test_a_factor_of_two_levels_alone_is_a_contrast():
    one = regress("~ camp", WORDS).set_index("word").sort_index()
    two = inference().contrast("camp", WORDS).set_index("word").sort_index()
    np.testing.assert_allclose(one["estimate"], two["estimate"], atol=0.1)
    assert np.mean(abs(one["p"] - two["p"])) < 0.03
    assert (one["uses"] == two["uses_against"]).all()  # the level R against L, and the other way round
    given = regress("~ C(year) + camp", WORDS, terms="camp").set_index("word").sort_index()
    same = inference().contrast("camp", WORDS, given="year").set_index("word").sort_index()
    np.testing.assert_allclose(given["estimate"], same["estimate"], rtol=1e-4, atol=1e-6)
    assert np.mean(abs(given["p"] - same["p"])) < 0.03


def test_a_list_of_columns_is_a_formula_and_terms_can_be_chosen():
    words = ["camp", "both"]
    one, two = regress(["camp", "year"], words), regress("~ `camp` + `year`", words)
    pd.testing.assert_frame_equal(one, two)
    camp = regress(["camp", "year"], words, terms="camp")
    assert set(camp["term"]) == {"camp"}
    np.testing.assert_allclose(camp["p_adjusted"], stats.false_discovery_control(camp["p"]))
    both = regress(["camp", "year"], words, terms=["year", "camp"])
    pd.testing.assert_frame_equal(one, both)


def test_a_doubled_slope_is_twice_as_large():
    found = regress("~ age", ["slight", "strong", *OTHERS])
    slight, strong = (row(found, word, "age") for word in ("slight", "strong"))
    assert slight.p < 0.02
    assert strong.p < 0.02
    assert 1.4 < strong.estimate / slight.estimate < 2.8
    curve = regress("~ s(age)", ["slight", "strong", *OTHERS])
    assert row(curve, "strong", "s(age)").p < 0.02
    # between two units, which are √2 standard deviations apart
    assert row(curve, "strong", "s(age)").estimate == pytest.approx(np.sqrt(2) * strong.estimate, rel=0.25)
    for table in (found, curve):
        assert (table[table["word"].isin(OTHERS)]["p"] < 0.05).mean() < 0.2


def test_the_reference_of_a_factor_can_be_chosen():
    words = ["chamber"]
    first, last = regress("~ chamber", words), regress('~ C(chamber, "z")', words)
    assert row(last, "chamber", "C(chamber, 'z')", "x").estimate == pytest.approx(
        row(first, "chamber", "chamber", "z").estimate, rel=1e-4
    )
    joint = [row(first, "chamber", "chamber"), row(last, "chamber", "C(chamber, 'z')")]
    assert joint[0].estimate == pytest.approx(joint[1].estimate, rel=1e-4)


def test_p_by_a_formula_is_near_that_by_counting():
    words = [*SAME, *TIME[:3], "camp", "both", "strong"]
    one, two = (regress(FULL, words, permutations=count) for count in (0, 999))
    both = one.merge(two, on=["word", "term", "level"])
    assert ((both["p_x"] > 0) & (both["p_x"] <= 1)).all()
    assert (both["permutations_x"] == 0).all()
    assert abs(both["p_x"] - both["p_y"]).mean() < 0.05
    assert stats.spearmanr(both["p_x"], both["p_y"])[0] > 0.95


def test_text_can_be_restricted_to_several_values():
    found = regress("~ camp + year", ["camp", "time0"], at={"year": [1910, "1920"], "chamber": "x"}, min_units=3)
    rows = [r for r in confounded.rows() if r["year"] in (1910, 1920) and r["chamber"] == "x"]
    one = row(found, "time0", "year")
    assert one.uses + one.uses_against == sum(r["text"].split().count("time0") for r in rows)
    assert row(found, "camp", "camp", "R").estimate > 0.5
    with pytest.raises(lx.InputError, match="\"year\" has no value '1911'; it has 1900"):
        regress("~ camp", "camp", at={"year": [1910, 1911]})


# Curves


@pytest.mark.parametrize("given", [None, ["camp", "year"], "~ camp * year"])
def test_a_planted_curve_rises_and_its_band_excludes_zero_at_the_ends(given):
    found = inference().effect("strong", "age", given=given)
    assert list(found.columns) == ["word", "age", "estimate", "lower", "upper", "uses", "units"]
    rows = [r for r in confounded.rows() if "strong" in r["text"].split()]
    assert found["age"].tolist() == sorted({r["age"] for r in confounded.rows()})
    by_age = pd.Series([r["text"].split().count("strong") for r in rows]).groupby([r["age"] for r in rows]).sum()
    assert found.set_index("age")["uses"].to_dict() == by_age.reindex(found["age"], fill_value=0).to_dict()
    speakers = pd.Series([r["speaker"] for r in rows]).groupby([r["age"] for r in rows]).nunique()
    assert found.set_index("age")["units"].to_dict() == speakers.reindex(found["age"], fill_value=0).to_dict()
    assert stats.spearmanr(found["age"], found["estimate"])[0] > 0.8
    assert (found["upper"][:8] < 0).all()
    assert (found["lower"][-8:] > 0).all()
    assert abs(np.average(found["estimate"], weights=found["uses"])) < 0.15


def test_a_word_that_does_not_move_has_a_band_around_zero():
    covered = [
        ((found["lower"] <= 0) & (found["upper"] >= 0)).mean()
        for found in (inference().effect(word, "age") for word in OTHERS)
    ]
    assert np.mean(covered) > 0.75
    assert np.median(covered) > 0.9


def test_bands_are_wider_for_a_larger_share_and_straight_with_few_values():
    one, two = (inference(interval=share).effect("strong", "age") for share in (0.5, 0.95))
    np.testing.assert_allclose(one["estimate"], two["estimate"])
    assert (two["lower"] < one["lower"]).all()
    assert (two["upper"] > one["upper"]).all()
    line = inference().effect("time0", "year", given="camp")
    assert line["year"].tolist() == [1900, 1910, 1920, 1930]
    np.testing.assert_allclose(np.diff(line["estimate"]), np.diff(line["estimate"])[0], rtol=1e-6)
    assert line["upper"][0] < 0 < line["lower"][3]


def test_curves_that_cannot_be_drawn_are_named():
    with pytest.raises(lx.InputError, match='"camp" is no number: its values are L, R; ask contrast'):
        inference().effect("strong", "camp")
    with pytest.raises(lx.InputError, match='no column "income"'):
        inference().effect("strong", "income")
    with pytest.raises(lx.InputError, match='"strong" is used by 79 units, fewer than the 100 that a curve needs'):
        inference(min_units=50).effect("strong", "age")
    with pytest.raises(lx.InputError, match='given="speaker" is the unit'):
        inference().effect("strong", "age", given="~ speaker")
    with pytest.raises(lx.InputError, match='given="age" is what is compared'):
        inference().effect("strong", "age", given="~ age + camp")


# What is said, and kept


@pytest.mark.parametrize(
    ("formula", "choices", "message"),
    [
        ("camp ~ year", {}, 'does not begin with "~"'),
        ("~ camp + speaker", {}, 'unit="speaker" is the column that is compared'),
        ("~ camp", {"terms": "year"}, 'has no term "year"; it has camp'),
        ("~ camp + speaker", {"unit": "documents"}, '"speaker" has 80 values, more than the 64'),
        ("~ camp", {"words": "nosuchword"}, '"nosuchword" is not in the vocabulary'),
    ],
)
def test_bad_regressions_are_named(formula, choices, message):
    with pytest.raises(lx.InputError, match=message):
        regress(formula, choices.pop("words", "camp"), **choices)


def test_one_speaker_with_most_of_the_information_is_named():
    """Only s00 has text of both kinds."""
    rows = confounded.speeches(speakers=24)
    for number, one in enumerate(rows):
        one["kind"] = "ab"[number % 2] if one["speaker"] == "s00" else one["camp"]
    names = [*confounded.METADATA, "kind"]
    tokens = lx.Tokens.of(lx.read(rows, metadata=names, numbers=["year", "age"]), min_count=5, quiet=True)
    model = lx.Model(dimensions=4, window=3)
    fitted = lx.fit(model, tokens, epochs=2, threads=1, quiet=True, tests=False)
    asked = fitted.inference(**OPTIONS | {"min_units": 2, "min_count": 5})
    with pytest.warns(UserWarning, match='one speaker, s00, has 100% of the information about "kind", given the other'):
        asked.contrast("kind", "camp", values=["a", "b"], given="age")
    with pytest.warns(UserWarning, match='one speaker, s00, has .* of the information about "kind"'):
        asked.regress("~ kind + year", "camp")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        asked.regress("~ camp + year", "camp")


@pytest.fixture
def copied(tmp_path, monkeypatch):
    """A model of its own, whose text may be deleted."""
    monkeypatch.setenv("LAPLEX_CACHE", str(tmp_path / "own"))
    rows = confounded.speeches(speakers=32, each=6)
    corpus = lx.read(rows, metadata=confounded.METADATA, numbers=["year", "age"], unit="speaker")
    model = lx.Model(dimensions=6, window=3)
    return lx.fit(model, corpus, min_count=5, epochs=3, threads=1, quiet=True, tests=False)


def test_regressions_of_all_words_are_kept_with_the_model(copied, tmp_path, monkeypatch):
    options = OPTIONS | {"unit": None, "permutations": 99}
    asked = copied.inference(**options)
    first = asked.regress("~ camp + year")
    plain, given = asked.contrast("camp"), asked.contrast("camp", given="year")
    formula = asked.contrast("camp", given="~ year")
    assert len(copied.tests) == 4
    assert not np.allclose(plain.set_index("word")["p"].sort_index(), given.set_index("word")["p"].sort_index())
    assert not np.allclose(given.set_index("word")["p"].sort_index(), formula.set_index("word")["p"].sort_index())
    copied.save(tmp_path / "model")
    shutil.rmtree(Path(copied.settings["tokens"]["folder"]))

    def never(*arguments, **options):
        raise AssertionError("the text is read")

    monkeypatch.setattr(asking, "score_pass", never)
    again = lx.load(tmp_path / "model").inference(**options)
    pd.testing.assert_frame_equal(again.regress("~ camp + year"), first)
    pd.testing.assert_frame_equal(again.contrast("camp"), plain)
    pd.testing.assert_frame_equal(again.contrast("camp", given="year"), given)
    pd.testing.assert_frame_equal(again.contrast("camp", given=["year"]), given)
    pd.testing.assert_frame_equal(again.contrast("camp", given="~ year"), formula)
    words = again.regress("~ camp + year", ["camp", "time0"], terms="camp")
    expected = first[first["word"].isin(["camp", "time0"]) & (first["term"] == "camp")]
    np.testing.assert_array_equal(words["p"], expected["p"])
    for other in ("~ camp + age", "~ year + camp + chamber"):
        with pytest.raises(lx.InputError, match="the text of this model is needed"):
            again.regress(other)
