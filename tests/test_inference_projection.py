"""Positions and associations with intervals, and their differences between groups."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import speakers
from scipy import stats

import laplex as lx
from laplex.inference.associations import effect_size
from laplex.inference.contexts import pooled
from laplex.inference.cosine_intervals import CosineIntervals, Interval, sliced
from laplex.inference.units import Options
from laplex.text.slices import Slices

pytestmark = pytest.mark.usefixtures("shared_cache")

OPTIONS = Options(unit="speaker", min_units=10, min_count=50, quiet=True, threads=2)
AXIS = (["w0", "w12"], "w1")
FOUND = ["position", "estimate", "lower", "upper", "uses", "units"]
DIFFERENCE = ["value", "against", "estimate", "lower", "upper", "p", "p_adjusted", "holds", "uses", "uses_against"]
DIFFERENCE += ["units", "units_against"]
SETS = {"targets": (["w6", "w18"], ["w8", "w20"]), "attributes": (["w0", "w12"], ["w1", "w13"])}


def project(model, words, axis, options, **choices):
    return lx.inference.Inference(model, **vars(options)).project(words, axis, **choices)


def association(model, targets, attributes, options, **choices):
    return lx.inference.Inference(model, **vars(options)).association(targets, attributes, **choices)


@pytest.fixture(scope="module")
def fitted(shared_cache):
    return speakers.fit(speakers.read(speakers.speeches(1, swap=0.6)))


def test_positions_have_intervals_on_the_scale_of_their_slice(fitted):
    found = project(fitted, ["w7", "w6"], AXIS, OPTIONS)
    plain = fitted.project(["w7", "w6"], AXIS, test=False)
    assert list(found.columns) == ["word", "party", *FOUND]
    assert found["uses"].tolist() == plain["uses"].tolist()
    assert (found["lower"] < found["estimate"]).all()
    assert (found["estimate"] < found["upper"]).all()
    np.testing.assert_allclose(found["estimate"], plain["position"], atol=0.6)
    assert list(dict.fromkeys(row["word"] for row in found.attrs["poles"])) == ["w0", "w12", "w1"]
    assert project(fitted, "w6", AXIS, OPTIONS, at={"party": "R"})["word"].tolist() == ["w6"]


def test_a_word_that_changes_sides_stands_elsewhere_in_each_party(fitted):
    found = project(fitted, ["w6", "w8"], AXIS, OPTIONS).set_index(["word", "party"])
    assert found.loc[("w6", "D"), "lower"] > found.loc[("w6", "R"), "upper"]
    assert found.loc[("w8", "D"), "lower"] < found.loc[("w8", "R"), "upper"]


def test_differences_across_parties_are_found_and_signed(fitted):
    found = project(fitted, ["w8", "w6", "w7"], AXIS, OPTIONS, across="party")
    assert list(found.columns) == ["word", *DIFFERENCE]
    assert found["word"].tolist() == ["w8", "w6", "w7"]
    rows = found.set_index("word")
    assert rows.loc["w6", "lower"] > 0 > rows.loc["w7", "upper"]
    assert rows["holds"].tolist() == [False, True, True]
    assert rows.loc["w8", "p"] > 0.01
    np.testing.assert_allclose(found["p_adjusted"], stats.false_discovery_control(found["p"]))
    turned = project(fitted, ["w8", "w6", "w7"], AXIS[::-1], OPTIONS, across="party")
    np.testing.assert_allclose(turned["estimate"], -found["estimate"], rtol=1e-3)


def test_a_column_that_vectors_do_not_vary_by_can_be_compared(fitted):
    found = project(pooled(fitted, quiet=True), ["w6", "w8"], AXIS, OPTIONS, across="party").set_index("word")
    assert found["p"]["w6"] < 0.01 < found["p"]["w8"]


def test_an_association_is_the_effect_size_of_its_cosines(fitted):
    text = CosineIntervals(fitted, OPTIONS)
    (x, y), (a, b) = ([fitted.ids(some, 0) for some in sets] for sets in SETS.values())
    text.read([*x, *y, *a, *b])

    def mean(word, others):
        return np.mean([text.cosine(word, other, 0).value for other in others])

    scores = np.array([mean(word, a) - mean(word, b) for word in (*x, *y)])
    found = effect_size(text, (x, y), (a, b), 0)
    assert found.value == pytest.approx((scores[:2].mean() - scores[2:].mean()) / scores.std(ddof=1))
    table = association(fitted, **SETS, options=OPTIONS)
    assert list(table.columns) == ["party", *DIFFERENCE[2:8], "uses", "units"]
    assert table["estimate"][0] == pytest.approx(found.value, rel=1e-3)
    assert table["uses"].min() > 0


def test_the_influence_on_an_association_is_its_derivative(fitted):
    text = CosineIntervals(fitted, OPTIONS)
    (x, y), (a, b) = ([fitted.ids(some, 0) for some in sets] for sets in SETS.values())
    text.read([*x, *y, *a, *b])
    # influences so small that there is no noise to take out
    still = {word: made._replace(influence=1e-4 * made.influence) for word, made in text.vectors.items()}
    text.vectors = still
    found = effect_size(text, (x, y), (a, b), 0)
    unit = int(np.argmax(abs(found.influence)))
    text.vectors = {word: made._replace(vectors=made.vectors + made.influence[:, unit]) for word, made in still.items()}
    change = effect_size(text, (x, y), (a, b), 0).value - found.value
    assert change == pytest.approx(found.influence[unit], rel=0.01)


def test_an_association_that_one_party_has_is_found_between_parties(fitted):
    sets = {"targets": (["w6"], ["w7", "w8"]), "attributes": (["w0", "w12"], ["w1", "w13"])}
    found = association(fitted, **sets, options=OPTIONS).set_index("party")
    assert found.loc["D", "estimate"] > found.loc["R", "estimate"]
    between = association(fitted, **sets, options=OPTIONS, across="party")
    assert list(between.columns) == DIFFERENCE
    assert between["lower"].item() > 0
    same = {"targets": (["w8", "w14"], ["w9", "w15"]), "attributes": (["w2", "w20"], ["w3", "w21"])}
    assert association(fitted, **same, options=OPTIONS, across="party")["p"].item() > 0.01


def test_positions_in_groups_made_by_chance_differ_as_often_as_it_says():
    tokens = speakers.read(speakers.speeches(7, speakers=80))
    free = speakers.fit(tokens, vary=())
    random, codes = np.random.default_rng(3), tokens.codes("speaker")
    axes = np.linalg.qr(random.standard_normal((6, 6)))[0]
    options, p = replace(OPTIONS, tokens=tokens, min_count=30), []
    for _ in range(6):
        half = (random.permutation(80) % 2)[codes].astype(np.int32)
        text = CosineIntervals(sliced(free, tokens, Slices(("half",), (("a",), ("b",)), half)), options)
        text.read(range(30))
        for word in range(30):
            for axis in axes:
                one, two = (text.with_axis(word, axis, slice) for slice in (0, 1))
                p.append(Interval.of(one.minus(two), 0.9).p)
    assert 0.03 < np.mean(np.array(p) < 0.05) < 0.07


def test_intervals_of_one_half_hold_in_the_other():
    tokens = speakers.read(speakers.speeches(8, speakers=120, each=4))
    free = speakers.fit(tokens, vary=())
    axes = np.linalg.qr(np.random.default_rng(1).standard_normal((6, 6)))[0]
    options = Options(unit="speaker", min_units=10, min_count=30, tokens=tokens, threads=2, quiet=True)
    z = []
    for seed in range(2):
        text = CosineIntervals(speakers.in_halves(free, tokens, seed), options)
        text.read(range(40))
        for i in range(40):
            for axis in axes:
                one, two = (text.with_axis(i, axis, slice) for slice in (0, 1))
                z.append((one.value - two.value) / np.hypot(one.standard_error, two.standard_error))
    assert np.isfinite(z).all()
    assert 0.75 < np.mean(np.square(z)) < 1.3
    assert 0.06 < np.mean(np.abs(z) > 1.645) < 0.15


def test_words_with_too_little_text_have_their_counts_alone(fitted):
    found = project(fitted, ["w6", "w47"], AXIS, replace(OPTIONS, min_count=120), across="party").set_index("word")
    assert np.isfinite(found.loc["w6", "p"])
    assert found.loc["w47", ["estimate", "lower", "upper", "p", "p_adjusted"]].isna().all()
    assert not found.loc["w47", "holds"]
    assert 0 < found.loc["w47", "uses"] < 120
    alone = project(fitted, "w47", AXIS, replace(OPTIONS, min_count=250))
    assert alone[["estimate", "lower", "upper"]].isna().all(axis=None)


def test_speeches_taken_for_independent_are_warned_of(fitted):
    for across in ("party", None):
        with pytest.warns(UserWarning, match='unit="speaker"'):
            project(fitted, "w6", AXIS, replace(OPTIONS, unit="documents"), across=across)


@pytest.mark.parametrize("across", ["party", None])
@pytest.mark.parametrize(
    ("asked", "options", "message"),
    [
        ({"axis": "w1"}, {}, "an axis has two poles"),
        ({"axis": (["w1"], [])}, {}, "a pole of the axis is empty"),
        ({"axis": ("w1", "w1")}, {}, "at both poles"),
        ({"words": "nosuchword"}, {}, '"nosuchword" is not in the vocabulary'),
        ({"words": []}, {}, "no words are given"),
        ({"at": {"state": "NY"}}, {}, "state"),
        ({}, {"unit": "senator"}, 'no column "senator"'),
        ({}, {"unit": "party"}, 'unit="party" is'),
    ],
)
def test_bad_questions_are_named(fitted, across, asked, options, message):
    with pytest.raises(lx.InputError, match=message):
        project(fitted, **{"words": "w6", "axis": AXIS} | asked, options=replace(OPTIONS, **options), across=across)


def test_bad_sets_are_named(fitted):
    with pytest.raises(lx.InputError, match="targets are two sets of words"):
        association(fitted, ["w1"], SETS["attributes"], OPTIONS)
    with pytest.raises(lx.InputError, match="w1 is in both sets of attributes"):
        association(fitted, SETS["targets"], (["w1", "w2"], ["w1"]), OPTIONS)
    with pytest.raises(lx.InputError, match='no column "state"'):
        project(fitted, "w6", AXIS, OPTIONS, across="state")
