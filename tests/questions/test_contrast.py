"""The contrast of groups is the distance of their vectors, averaged over what else there is."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import planted
import pytest

import laplex as lx

COLUMNS = ["word", "value", "against", "distance", "cosine", "uses", "uses_against"]


def bare(model, column="party", words=None, **options):
    return model.embeddings.contrast(column, words, test=False, **options)


def test_contrast_is_the_mean_distance_over_the_other_slices(model):
    found = bare(model)
    assert list(found.columns) == COLUMNS
    assert len(found) == 30
    assert set(zip(found["value"], found["against"])) == {("D", "R")}
    for row in found.itertuples():
        ends = [(model.vector(row.word, "D", y), model.vector(row.word, "R", y)) for y in planted.YEARS]
        for measure, name in (("euclidean", "distance"), ("cosine", "cosine")):
            right = np.mean([planted.gap(measure, a, b) for a, b in ends])
            assert getattr(row, name) == pytest.approx(right, abs=1e-6)
        assert row.uses == sum(model.count(row.word, "D", year) for year in planted.YEARS)
        assert row.uses_against == sum(model.count(row.word, "R", year) for year in planted.YEARS)
    assert found["distance"].is_monotonic_decreasing


def test_every_pair_of_values_is_compared_and_the_largest_distance_comes_first(model):
    found = bare(model, "year")
    assert found["distance"].is_monotonic_decreasing
    for one, two in combinations(planted.YEARS, 2):
        pair = found[(found["value"] == one) & (found["against"] == two)]
        alone = bare(model, "year", values=[two, one])
        pd.testing.assert_frame_equal(pair.reset_index(drop=True), alone)
    assert len(found) == sum(len(bare(model, "year", values=pair)) for pair in combinations(planted.YEARS, 2))


def test_slices_can_be_chosen(model):
    found = bare(model, at={"year": "2001"})
    for row in found.itertuples():
        a, b = model.vector(row.word, "D", "2001"), model.vector(row.word, "R", "2001")
        assert row.distance == pytest.approx(np.linalg.norm(a - b), abs=1e-5)
        assert (row.uses, row.uses_against) == (model.count(row.word, "D", "2001"), model.count(row.word, "R", "2001"))


def test_named_words_are_ranked_as_among_all(model):
    words = ["w05", "w01", "w17"]
    found, whole = bare(model, words=words), bare(model)
    pd.testing.assert_frame_equal(found, whole[whole["word"].isin(words)].reset_index(drop=True))
    assert bare(model, words="w05")["word"].tolist() == ["w05"]


def test_words_that_are_equally_far_apart_are_in_the_order_of_the_alphabet():
    model = planted.plant({"party": ("D", "R")}, words=50, dimensions=2)
    model.embeddings.theta[:] = np.round(model.embeddings.theta)
    found = bare(model)
    assert found["distance"].duplicated().sum() > 10
    for _, part in found.groupby("distance"):
        assert part["word"].is_monotonic_increasing


def rare():
    model = planted.plant({"party": ("D", "R")}, words=4)
    model.counts[:] = [[0, 9, 9, 50], [9, 9, 3, 60]]
    return model


def test_words_must_be_used_at_both_values():
    made = rare()
    assert set(bare(made)["word"]) == {"w01", "w03"}  # w00 is not used by D, and w02 three times by R
    made.counts[:] = [[0, 9, 9, 4], [9, 3, 3, 4]]
    assert list(bare(made).columns) == COLUMNS
    assert len(bare(made)) == 0


def test_words_asked_for_by_name_are_shown_even_if_they_are_not_used():
    found = bare(rare(), words=["w00", "w02"]).set_index("word")
    assert set(found.index) == {"w00", "w02"}
    assert found.loc["w00", "uses"] == 0


def test_values_are_compared_only_where_both_exist():
    model = planted.plant(without=(("R", "2000"), ("D", "2003")))
    found = bare(model, words="w04")
    right = np.linalg.norm(model.vector("w04", "D", "2001") - model.vector("w04", "R", "2001"))
    assert found["distance"].tolist() == pytest.approx([right], abs=1e-5)
    assert found["uses"].tolist() == [model.count("w04", "D", "2001")]


def test_a_planted_difference_leads():
    model = planted.plant({"party": ("D", "R")}, words=20)
    theta = model.embeddings.theta
    theta[20:40] = theta[:20]
    theta[20 + 7] += 1.0
    theta[20 + 11] += 0.5
    found = bare(model)
    assert found["word"].tolist()[:2] == ["w07", "w11"]
    assert found["distance"].iloc[2:].abs().max() == 0


def test_a_vector_of_zero_has_no_angle(recwarn):
    model = planted.plant({"party": ("D", "R")}, words=5)
    model.embeddings.theta[2] = 0
    found = bare(model).set_index("word")
    assert found.index[found["cosine"].isna()].tolist() == ["w02"]
    assert found["distance"].notna().all()
    assert len(recwarn) == 0


@pytest.mark.parametrize(
    ("column", "options", "message"),
    [
        ("color", {}, 'do not vary by "color"; they vary by: party, year'),
        ("party", {"against": "X"}, 'against="X" with test=False: bare distances are between two values'),
        ("party", {"against": "rest"}, 'so write "pairs" or one of D, R'),
        ("party", {"against": "R", "values": ["R", "D"], "at": {"year": "1"}}, "no value '1'"),
        ("party", {"words": ["w01", "w0"]}, '"w0" is not in the vocabulary'),
        ("party", {"words": []}, "no words are given"),
        ("party", {"at": {"party": "D"}}, 'column "party" has one value only in these slices, D'),
        ("party", {"at": {"year": "1999"}}, "no value '1999'"),
    ],
)
def test_bad_questions_are_refused(model, column, options, message):
    with pytest.raises(lx.InputError, match=message):
        bare(model, column, **options)


def test_a_column_with_one_value_has_nothing_to_compare():
    with pytest.raises(lx.InputError, match='column "party" has one value only, D'):
        bare(planted.plant({"party": ("D",)}))


def test_vectors_that_do_not_vary_say_so():
    with pytest.raises(lx.InputError, match='do not vary by "party"; they vary by: nothing'):
        bare(planted.plant({}))


@pytest.fixture
def three():
    return planted.plant({"party": ("D", "I", "R")})


def pairs_of(found):
    return set(zip(found["value"], found["against"]))


def test_only_the_values_named_are_compared(three):
    whole, some = bare(three), bare(three, values=["R", "D"])
    assert pairs_of(whole) == {("D", "I"), ("D", "R"), ("I", "R")}
    assert pairs_of(some) == {("D", "R")}
    own = whole[(whole["value"] == "D") & (whole["against"] == "R")]
    pd.testing.assert_frame_equal(some, own.reset_index(drop=True))
    pd.testing.assert_frame_equal(bare(three, against="pairs"), whole)


def test_a_value_can_be_what_the_others_are_compared_with(three):
    found = bare(three, against="D")
    assert pairs_of(found) == {("I", "D"), ("R", "D")}
    turned, straight = found[found["value"] == "R"].set_index("word"), bare(three, values=["D", "R"]).set_index("word")
    turned = turned.loc[straight.index]
    np.testing.assert_allclose(turned["distance"], straight["distance"])
    assert turned["uses"].tolist() == straight["uses_against"].tolist()
    with pytest.raises(lx.InputError, match='"I" cannot be compared with itself: name other values'):
        bare(three, values=["D", "R"], against="I")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (["D", "X"], "\"party\" has no value 'X' to compare; it has"),
        (["D"], "name two values or more to compare"),
        ("D", "name two values or more to compare"),
        ([], "name two values or more to compare"),
    ],
)
def test_values_that_cannot_be_compared(three, values, message):
    with pytest.raises(lx.InputError, match=message):
        bare(three, values=values)
