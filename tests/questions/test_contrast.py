"""The contrast of groups is the distance of their vectors, averaged over what else there is."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import planted
import pytest
from hypothesis import given
from hypothesis import strategies as st

import laplex as lx


@pytest.mark.parametrize("measure", ["euclidean", "cosine"])
def test_contrast_is_the_mean_distance_over_the_other_slices(model, measure):
    found = model.embeddings.contrast("party", top=99, measure=measure)
    assert list(found.columns) == ["word", "party", "distance", "count_one", "count_two"]
    assert len(found) == 30
    assert set(found["party"]) == {"D – R"}
    for row in found.itertuples():
        ends = [(model.vector(row.word, "D", y), model.vector(row.word, "R", y)) for y in planted.YEARS]
        assert row.distance == pytest.approx(np.mean([planted.gap(measure, a, b) for a, b in ends]), abs=1e-6)
        assert row.count_one == sum(model.count(row.word, "D", year) for year in planted.YEARS)
        assert row.count_two == sum(model.count(row.word, "R", year) for year in planted.YEARS)
    assert found["distance"].is_monotonic_decreasing


def test_every_pair_of_values_has_its_own_top(model):
    found = model.embeddings.contrast("year", top=4)
    pairs = [f"{one} – {two}" for one, two in combinations(planted.YEARS, 2)]
    assert found["year"].value_counts().to_dict() == dict.fromkeys(pairs, 4)
    whole = model.embeddings.contrast("year", top=99)
    for pair in pairs:
        best = whole[whole["year"] == pair].head(4)
        pd.testing.assert_frame_equal(found[found["year"] == pair].reset_index(drop=True), best.reset_index(drop=True))


def test_each_of_the_other_slices_can_be_told_apart(model):
    found = model.embeddings.contrast("party", top=3, each=True)
    assert list(found.columns) == ["word", "party", "year", "distance", "count_one", "count_two"]
    assert found["year"].value_counts().to_dict() == dict.fromkeys(planted.YEARS, 3)
    for row in found.itertuples():
        a, b = model.vector(row.word, "D", row.year), model.vector(row.word, "R", row.year)
        assert row.distance == pytest.approx(np.linalg.norm(a - b), abs=1e-5)
        assert (row.count_one, row.count_two) == (
            model.count(row.word, "D", row.year),
            model.count(row.word, "R", row.year),
        )
    one = model.embeddings.contrast("party", top=3, at={"year": "2001"})
    assert one["distance"].tolist() == found[found["year"] == "2001"]["distance"].tolist()


def test_given_words_are_all_told_whatever_top_says(model):
    words = ["w05", "w01", "w17"]
    found = model.embeddings.contrast("party", top=1, words=words)
    assert set(found["word"]) == set(words)
    whole = model.embeddings.contrast("party", top=99)
    assert found["word"].tolist() == [word for word in whole["word"] if word in words]
    assert model.embeddings.contrast("party", words="w05")["word"].tolist() == ["w05"]


@given(words=st.integers(1, 50), top=st.integers(1, 60), seed=st.integers(0, 99))
def test_the_top_are_the_first_of_the_whole(words, top, seed):
    model = planted.plant({"party": ("D", "R", "I")}, words=words, dimensions=2, seed=seed)
    model.embeddings.theta[:] = np.round(model.embeddings.theta)  # many words are equally far apart
    whole = model.embeddings.contrast("party", top=words)
    found = model.embeddings.contrast("party", top=top)
    first = whole.groupby("party", sort=False).head(top).reset_index(drop=True)
    pd.testing.assert_frame_equal(found, first)


def rare():
    model = planted.plant({"party": ("D", "R")}, words=4)
    model.counts[:] = [[0, 9, 9, 50], [9, 9, 3, 60]]
    return model


def test_words_must_occur_as_often_as_asked_for_at_both_values():
    made = rare().embeddings
    assert set(made.contrast("party")["word"]) == {"w01", "w02", "w03"}  # w00 does not occur in D
    assert set(made.contrast("party", min_count=5)["word"]) == {"w01", "w03"}
    assert set(made.contrast("party", min_count=50)["word"]) == {"w03"}
    assert len(made.contrast("party", min_count=99)) == 0
    assert list(made.contrast("party", min_count=99).columns) == ["word", "party", "distance", "count_one", "count_two"]


def test_words_asked_for_by_name_are_told_even_if_they_do_not_occur():
    made = rare().embeddings
    found = made.contrast("party", words=["w00", "w02"])
    assert set(found["word"]) == {"w00", "w02"}
    assert made.contrast("party", words=["w00", "w02"], min_count=2)["word"].tolist() == ["w02"]


def test_values_are_compared_only_where_both_exist():
    model = planted.plant(without=(("R", "2000"), ("D", "2003")))
    found = model.embeddings.contrast("party", words="w04")
    right = np.linalg.norm(model.vector("w04", "D", "2001") - model.vector("w04", "R", "2001"))
    assert found["distance"].tolist() == pytest.approx([right], abs=1e-5)
    assert found["count_one"].tolist() == [model.count("w04", "D", "2001")]


def test_a_planted_difference_leads():
    model = planted.plant({"party": ("D", "R")}, words=20)
    theta = model.embeddings.theta
    theta[20:40] = theta[:20]
    theta[20 + 7] += 1.0
    theta[20 + 11] += 0.5
    assert model.embeddings.contrast("party", top=2)["word"].tolist() == ["w07", "w11"]
    assert model.embeddings.contrast("party", top=99)["distance"].iloc[2:].abs().max() == 0


def test_a_vector_of_zero_has_no_angle_and_is_not_ranked(recwarn):
    model = planted.plant({"party": ("D", "R")}, words=5)
    model.embeddings.theta[2] = 0
    assert "w02" not in set(model.embeddings.contrast("party", measure="cosine")["word"])
    assert "w02" in set(model.embeddings.contrast("party")["word"])
    assert np.isnan(model.embeddings.contrast("party", measure="cosine", words="w02")["distance"]).all()
    assert len(recwarn) == 0


@pytest.mark.parametrize(
    ("column", "options", "message"),
    [
        ("color", {}, 'do not vary by "color"; they vary by: party, year'),
        ("party", {"top": 0}, "top=0 must be a whole number from 1"),
        ("party", {"min_count": -1}, "min_count=-1 must be a whole number from 0"),
        ("party", {"measure": "manhattan"}, 'measure="manhattan": write "euclidean" or "cosine"'),
        ("party", {"words": ["w01", "w0"]}, '"w0" is not in the vocabulary'),
        ("party", {"words": []}, "no words are given"),
        ("party", {"at": {"party": "D"}}, 'column "party" has one value only in these slices, D'),
        ("party", {"at": {"year": "1999"}}, "no value '1999'"),
        ("party", {"language": "en"}, "no name"),
    ],
)
def test_bad_questions_are_refused(model, column, options, message):
    with pytest.raises(lx.InputError, match=message):
        model.embeddings.contrast(column, **options)


def test_a_column_with_one_value_has_nothing_to_compare():
    with pytest.raises(lx.InputError, match='column "party" has one value only, D'):
        planted.plant({"party": ("D",)}).embeddings.contrast("party")


def test_vectors_that_do_not_vary_say_so():
    with pytest.raises(lx.InputError, match='do not vary by "party"; they vary by: nothing'):
        planted.plant({}).embeddings.contrast("party")


@pytest.fixture
def three():
    return planted.plant({"party": ("D", "I", "R")}).embeddings


def test_only_the_values_named_are_compared(three):
    whole = three.contrast("party", top=3)
    some = three.contrast("party", top=3, values=["R", "D"])
    assert set(whole["party"]) == {"D – I", "D – R", "I – R"}
    assert set(some["party"]) == {"D – R"}
    pd.testing.assert_frame_equal(some, whole[whole["party"] == "D – R"].reset_index(drop=True))


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
        three.contrast("party", values=values)
