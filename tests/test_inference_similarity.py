"""Similarities, neighbors and trajectories with intervals, and differences of similarities between groups."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import speakers

import laplex as lx
from laplex.inference.cosine_intervals import CosineIntervals, Interval, sliced
from laplex.inference.jackknife import Estimate
from laplex.inference.units import Options
from laplex.text.slices import Slices

pytestmark = pytest.mark.usefixtures("shared_cache")

FOUND = ["similarity", "estimate", "lower", "upper", "uses", "units"]
DIFFERENCE = ["value", "against", "estimate", "lower", "upper", "p", "p_adjusted", "holds", "uses", "uses_against"]
DIFFERENCE += ["units", "units_against"]
OPTIONS = Options(unit="speaker", min_units=10, min_count=50, quiet=True, threads=2)


def similarity(model, one, two, options, **choices):
    return lx.inference.Inference(model, **vars(options)).similarity(one, two, **choices)


def neighbors(model, word, k=10, *, options, **choices):
    return lx.inference.Inference(model, **vars(options)).neighbors(word, k, **choices)


def trajectory(model, word, options, **choices):
    return lx.inference.Inference(model, **vars(options)).trajectory(word, **choices)


@pytest.fixture(scope="module")
def fitted(shared_cache):
    return speakers.fit(speakers.read(speakers.speeches(1, swap=0.6)))


def test_each_slice_has_a_cosine_with_an_interval(fitted):
    found = similarity(fitted, "w6", "w12", OPTIONS)
    plain = fitted.similarity("w6", "w12", test=False)
    assert list(found.columns) == ["word", "other", "party", *FOUND]
    assert found["party"].tolist() == plain["party"].tolist()
    assert (found["lower"] < found["estimate"]).all()
    assert (found["estimate"] <= found["upper"]).all()
    assert found["uses"].tolist() == plain[["uses", "uses_other"]].min(axis=1).tolist()
    np.testing.assert_allclose(found["estimate"], plain["similarity"], atol=0.25)


def test_units_are_the_speakers_of_the_word_that_fewer_use(fitted):
    found = similarity(fitted, "w6", "w40", OPTIONS, at={"party": "D"})
    texts = [row for row in speakers.speeches(1, swap=0.6) if row["party"] == "D"]
    users = [len({row["speaker"] for row in texts if word in row["text"]}) for word in ("w6", "w40")]
    assert found["units"].tolist() == [min(users)]
    with pytest.warns(UserWarning, match='unit="speaker"'):
        documents = similarity(fitted, "w6", "w40", replace(OPTIONS, unit="documents"), at={"party": "D"})
    assert documents["units"].tolist() == [min(sum(word in row["text"] for row in texts) for word in ("w6", "w40"))]


def test_intervals_tell_the_parties_of_a_word_that_changes_sides_apart(fitted):
    found = similarity(fitted, "w6", "w12", OPTIONS).set_index("party")
    assert found.loc["D", "lower"] > found.loc["R", "upper"]
    same = similarity(fitted, "w2", "w8", OPTIONS).set_index("party")
    assert same.loc["D", "lower"] < same.loc["R", "upper"]
    assert same.loc["R", "lower"] < same.loc["D", "upper"]


def test_a_difference_between_groups_is_found_and_signed(fitted):
    found = similarity(fitted, "w6", "w12", OPTIONS, across="party")
    assert list(found.columns) == ["word", "other", *DIFFERENCE]
    assert found[["value", "against"]].to_numpy().tolist() == [["D", "R"]]
    assert found["lower"].item() > 0
    assert found["p"].item() < 0.05
    assert found["holds"].all()
    same = similarity(fitted, "w2", "w8", OPTIONS, across="party")
    assert same["lower"].item() < 0 < same["upper"].item()
    assert not same["holds"].any()


def test_a_column_that_vectors_do_not_vary_by_can_be_compared(fitted):
    free = lx.inference.pooled(fitted, quiet=True)
    one, two = (similarity(made, "w6", "w12", OPTIONS, across="party") for made in (fitted, free))
    pd.testing.assert_frame_equal(one, two)  # that the prior holds the parties together changes nothing


def test_neighbors_of_one_group_are_told_from_those_of_both(fitted):
    asked = lx.inference.Inference(fitted, **vars(OPTIONS))
    found = asked.neighbor_ratio("w6", "party", 5)
    assert list(found.columns[:5]) == ["word", "neighbor", "value", "against", "nearest_in"]
    assert found["estimate"].is_monotonic_decreasing
    for side in ("D", "R"):
        assert found["nearest_in"].isin([side, "both"]).sum() == 5
    # w6 is a word of the topic 0 in D, and mostly of 1 in R
    topic = found["neighbor"].str[1:].astype(int) % 6
    assert set(topic[found["nearest_in"] == "D"]) == {0}
    assert set(topic[found["nearest_in"] == "R"]) == {1}
    first = found.iloc[0]
    one = similarity(fitted, "w6", first["neighbor"], OPTIONS, across="party").iloc[0]
    assert first["similarity"] - first["similarity_against"] == pytest.approx(one["estimate"], abs=1e-4)
    assert first["estimate"] == pytest.approx(first["similarity"] / first["similarity_against"])
    assert first["lower"] > 1
    reversed_ = asked.neighbor_ratio("w6", "party", 5, values=["R", "D"]).set_index("neighbor")
    assert reversed_.loc[first["neighbor"], "upper"] == pytest.approx(1 / first["lower"])
    with pytest.raises(lx.InputError, match="no value 'I'"):
        asked.neighbor_ratio("w6", "party", values=["D", "I"])


def test_several_values_are_compared_with_the_mean_of_the_rest():
    rows = [
        row | {"party": row["party"] if int(row["speaker"][1:]) % 3 else "I"} for row in speakers.speeches(1, swap=0.8)
    ]
    fitted = speakers.fit(speakers.read(rows))
    options = replace(OPTIONS, min_units=5)
    found = similarity(fitted, "w6", "w12", options, across="party")
    assert found["value"].tolist() == ["D", "I", "R"]
    assert set(found["against"]) == {"rest"}
    assert found["estimate"].sum() == pytest.approx(0.0, abs=1e-6)
    assert found.set_index("value").loc["D", "lower"] > 0 > found.set_index("value").loc["R", "upper"]


def test_similarities_in_groups_made_by_chance_differ_as_often_as_it_says():
    tokens = speakers.read(speakers.speeches(7, speakers=80))
    free = speakers.fit(tokens, vary=())
    codes, random = tokens.codes("speaker"), np.random.default_rng(3)
    options = replace(OPTIONS, tokens=tokens, min_count=30)
    p = []
    for _ in range(8):
        half = (random.permutation(80) % 2)[codes].astype(np.int32)
        text = CosineIntervals(sliced(free, tokens, Slices(("half",), (("a",), ("b",)), half)), options)
        text.read(range(40))
        for i in range(40):
            one, two = (text.cosine(i, (i + 6) % 40, slice) for slice in (0, 1))
            p.append(Interval.of(one.minus(two), 0.9).p)
    assert 0.02 < np.mean(np.array(p) < 0.05) < 0.08
    assert 0.4 < np.mean(p) < 0.6


def test_intervals_are_those_of_students_t():
    influence = np.array([3.0, -3.0, 3.0, -3.0]) / 6
    found = Interval.of(Estimate(2.0, influence), 0.9)
    assert found.upper - 2.0 == pytest.approx(1.0 * 1.7823, rel=1e-3)  # 12 degrees of freedom: no fourth moment
    assert Interval.of(Estimate(0.99, influence), 0.9, -1.0, 1.0).upper == 1.0
    assert np.isnan(Interval.of(None, 0.9)).all()


def test_a_wider_interval_holds_the_narrower_one(fitted):
    narrow, wide = (similarity(fitted, "w2", "w8", replace(OPTIONS, interval=share)) for share in (0.5, 0.95))
    assert (wide["lower"] <= narrow["lower"]).all()
    assert (wide["upper"] >= narrow["upper"]).all()
    pd.testing.assert_series_equal(wide["estimate"], narrow["estimate"])


def test_a_word_is_like_itself(fitted):
    found = similarity(fitted, "w2", "w2", OPTIONS)
    np.testing.assert_allclose(found[["estimate", "lower", "upper"]], 1.0)


def test_neighbors_are_the_plain_ones_with_the_similarities_of_pairs(fitted):
    found = neighbors(fitted, "w6", 3, options=OPTIONS)
    plain = fitted.neighbors("w6", 3, test=False)
    assert list(found.columns) == ["word", "party", "rank", "neighbor", *FOUND]
    pd.testing.assert_frame_equal(found[["word", "party", "rank", "neighbor"]], plain[found.columns[:4]])
    for row in (found.iloc[0], found.iloc[-1]):
        pair = similarity(fitted, "w6", row["neighbor"], OPTIONS, at={"party": row["party"]}).iloc[0]
        np.testing.assert_allclose(row[FOUND].astype(float), pair[FOUND].astype(float), rtol=1e-2)
    here = neighbors(fitted, "w6", 3, options=OPTIONS, at={"party": "R"})
    pd.testing.assert_frame_equal(here, found[found["party"] == "R"].reset_index(drop=True), rtol=1e-2)
    free = lx.inference.pooled(fitted, quiet=True)
    assert neighbors(free, "w6", 3, options=OPTIONS)["lower"].notna().all()


def test_words_with_too_little_text_have_their_counts_alone(fitted):
    found = similarity(fitted, "w6", "w40", replace(OPTIONS, min_count=200))
    assert found[["estimate", "lower", "upper"]].isna().all(axis=None)
    assert (found["uses"] > 0).all()
    assert similarity(fitted, "w6", "w0", replace(OPTIONS, min_units=31))["lower"].isna().all()


def test_a_trajectory_begins_where_there_is_enough_text_and_shows_a_change(capsys):
    rows = [row | {"year": 2000 + i % 4} for i, row in enumerate(speakers.speeches(1, speakers=90, each=8))]
    swap = {"w6": "w7", "w7": "w6"}
    for row in rows:
        if row["year"] == 2003:
            row["text"] = [swap.get(word, word) for word in row["text"]]
        if row["year"] == 2000:
            row["text"] = [word for word in row["text"] if word != "w6"]
    tokens = lx.Tokens.of(lx.read(rows, metadata=["speaker", "year"]), min_count=5, quiet=True)
    model = lx.Model(vary=["year"], prior=lx.Ridge(1.0) + lx.Chain("year", 1.0), dimensions=6, window=3, subsample=0.0)
    fitted = lx.fit(model, tokens, holdout=0.0, epochs=10, threads=1, quiet=True)
    found = trajectory(fitted, "w6", replace(OPTIONS, min_count=30))
    assert list(found.columns) == ["word", "year", "to", *FOUND, "neighbors"]
    assert "has no use in 2000: left out" in capsys.readouterr().err
    assert found["year"].tolist() == ["2001", "2002", "2003"]
    assert found["estimate"][0] == pytest.approx(1.0)
    assert found["lower"][1] > found["upper"][2]
    other = trajectory(fitted, "w6", replace(OPTIONS, min_count=30), to=["w12", "w13"]).set_index(["to", "year"])
    assert other.loc[("w12", "2001"), "lower"] > other.loc[("w12", "2003"), "upper"]
    plain = fitted.trajectory("w6", test=False)
    assert plain["year"].tolist() == ["2001", "2002", "2003"]
    assert plain["similarity"][0] == pytest.approx(1.0)


def test_intervals_of_one_half_hold_in_the_other():
    tokens = speakers.read(speakers.speeches(5, speakers=120, each=4))
    free = speakers.fit(tokens, vary=())
    options = Options(unit="speaker", min_units=10, min_count=30, tokens=tokens, threads=2, quiet=True)
    z, cosines = [], []
    for seed in range(2):
        text = CosineIntervals(speakers.in_halves(free, tokens, seed), options)
        text.read(range(40))
        for i in range(40):
            j = (i + 6) % 40
            one, two = (text.cosine(i, j, slice) for slice in (0, 1))
            a, b = one.value, two.value
            z.append((a - b) / np.hypot(one.standard_error, two.standard_error))
            (x, y), (v, w) = text.vectors[i].vectors, text.vectors[j].vectors
            cross = (x @ w + y @ v) / 2 / np.sqrt((x @ y) * (v @ w))
            cosines.append([x @ v / np.linalg.norm(x) / np.linalg.norm(v), (a + b) / 2, cross])
    assert np.isfinite(z).all()
    assert 0.7 < np.mean(np.square(z)) < 1.35
    assert 0.04 < np.mean(np.abs(z) > 1.645) < 0.17
    plain, estimate, cross = np.abs(np.array(cosines)).sum(0)
    assert abs(estimate / cross - 1) < 0.04
    assert plain < estimate


def test_documents_are_taken_for_independent_with_a_warning(fitted):
    with pytest.warns(UserWarning, match='unit="speaker"'):
        alone = similarity(fitted, "w2", "w8", replace(OPTIONS, unit="documents"))
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        clustered = similarity(fitted, "w2", "w8", OPTIONS)
    np.testing.assert_allclose(alone["estimate"], clustered["estimate"], atol=0.05)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"unit": "senator"}, 'no column "senator"'),
        ({"unit": "party"}, 'unit="party" is'),
        ({"language": "xx"}, "language"),
    ],
)
@pytest.mark.parametrize("across", ["party", None])
def test_bad_questions_are_named(fitted, options, message, across):
    with pytest.raises(lx.InputError, match=message):
        similarity(fitted, "w6", "w12", replace(OPTIONS, **options), across=across)


def test_bad_words_and_values_are_named(fitted):
    with pytest.raises(lx.InputError, match='"nosuchword" is not in the vocabulary'):
        similarity(fitted, "w6", "nosuchword", OPTIONS)
    with pytest.raises(lx.InputError, match="\"party\" has no value 'X'"):
        neighbors(fitted, "w6", options=OPTIONS, at={"party": "X"})
    with pytest.raises(lx.InputError, match='no column "state"'):
        similarity(fitted, "w6", "w12", OPTIONS, across="state")
    with pytest.raises(lx.InputError, match="party= names a slice"):
        similarity(fitted, "w6", "w12", OPTIONS, party="D")
