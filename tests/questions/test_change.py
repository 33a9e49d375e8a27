"""Distances along time, drift and trajectories, checked number by number."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import planted
import pytest

import laplex as lx
from laplex.questions.change import ordered_column

YEARS = planted.YEARS


# Distance


DISTANCES = ["distance", "cosine", "uses", "uses_against"]


def distance(model, words, across="party", along=None, **options):
    return model.embeddings.distance(words, across, along, test=False, **options)


def drift(model, words=None, column="year", **options):
    return model.embeddings.drift(column, words, test=False, **options)


def test_distance_across_parties_along_time(model):
    found = distance(model, ["w09", "w02"], "party", "year")
    assert list(found.columns) == ["word", "year", "value", "against", *DISTANCES]
    assert list(zip(found["word"], found["year"])) == [(word, year) for word in ("w09", "w02") for year in YEARS]
    for row in found.itertuples():
        ends = model.vector(row.word, "D", row.year), model.vector(row.word, "R", row.year)
        assert row.distance == pytest.approx(planted.gap("euclidean", *ends), abs=1e-5)
        assert row.cosine == pytest.approx(planted.gap("cosine", *ends), abs=1e-5)
        assert (row.uses, row.uses_against) == tuple(model.count(row.word, party, row.year) for party in "DR")
        assert (row.value, row.against) == ("D", "R")


def test_without_along_the_distance_is_the_mean_over_the_rest_as_in_contrast(model):
    found = distance(model, "w09")
    assert list(found.columns) == ["word", "value", "against", *DISTANCES]
    assert found.to_dict("list") == model.embeddings.contrast("party", "w09", test=False).to_dict("list")


def test_every_pair_of_values_is_compared(model):
    found = distance(model, "w09", "year", "party")
    assert found["party"].tolist() == ["D", "R"] * 3
    assert list(dict.fromkeys(zip(found["value"], found["against"]))) == list(combinations(YEARS, 2))


def test_columns_that_are_not_named_are_averaged_over_or_fixed():
    model = planted.plant({"party": ("D", "R"), "year": ("1", "2"), "house": ("H", "S")})
    found = distance(model, "w01", "party", "year")
    for row in found.itertuples():
        gaps = [model.vector("w01", "D", row.year, h) - model.vector("w01", "R", row.year, h) for h in "HS"]
        assert row.distance == pytest.approx(np.mean(np.linalg.norm(gaps, axis=1)), abs=1e-5)
    fixed = distance(model, "w01", "party", "year", at={"house": "S"})
    gaps = [model.vector("w01", "D", y, "S") - model.vector("w01", "R", y, "S") for y in ("1", "2")]
    np.testing.assert_allclose(fixed["distance"], np.linalg.norm(gaps, axis=1), atol=1e-5)


def test_years_are_in_the_order_of_numbers():
    model = planted.plant({"party": ("D", "R"), "year": ("10", "9", "100")})
    assert distance(model, "w01", "party", "year")["year"].tolist() == ["9", "10", "100"]


def test_a_year_in_which_one_party_is_missing_is_left_out():
    model = planted.plant(without=(("R", "2001"),))
    assert distance(model, "w01", "party", "year")["year"].tolist() == ["2000", "2003"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"along": "party"}, 'across="party" and along="party" are the same column'),
        ({"along": "color"}, 'do not vary by "color"'),
        ({"across": "color"}, 'do not vary by "color"'),
        ({"words": []}, "no words are given"),
        ({"words": "w0"}, '"w0" is not in the vocabulary'),
        ({"at": {"party": "R"}}, 'column "party" has one value only in these slices, R'),
    ],
)
def test_bad_questions_of_distance_are_refused(model, options, message):
    with pytest.raises(lx.InputError, match=message):
        distance(model, **({"words": "w01", "across": "party", "along": "year"} | options))


def test_parties_that_never_meet_have_no_distance():
    model = planted.plant(without=tuple(("R", y) for y in YEARS[:2]) + (("D", "2003"),))
    with pytest.raises(lx.InputError, match='no two values of "party" share a slice of year'):
        distance(model, "w01", "party", "year")


# Order


@pytest.mark.parametrize(
    ("values", "answer"),
    [
        (("2000", "2001"), True),
        (("1.5", "-2", "10"), True),
        (("2010-07", "2011-01"), True),
        (("2010-07-01", "2010-07-15"), True),
        (("2010-Q1", "2010-Q3"), True),
        (("2010-W09", "2010-W31"), True),
        (("1990s", "2000s"), True),
        (("1990–1994", "1995–1999"), True),
        (("D", "R"), False),
        (("2000", "later"), False),
        (("nan", "1"), False),
        (("1990s", "old"), False),
    ],
)
def test_numbers_and_periods_have_an_order(values, answer):
    assert planted.plant({"when": values}).embeddings.ordered("when") is answer


def test_a_chain_makes_an_order():
    chain = lx.Ridge(1.0) + lx.Chain("age", 3.0)
    values = {"age": ("a child", "b adult", "c old")}
    assert not planted.plant(values).embeddings.ordered("age")
    made = planted.plant(values, settings=planted.prior(chain)).embeddings
    assert made.ordered("age")
    found = made.drift("age", test=False)
    assert set(zip(found["value"], found["against"])) == {("a child", "c old")}


@pytest.mark.slow
def test_a_fitted_chain_makes_an_order(tmp_path):
    texts = [{"text": "red blue green sun", "age": age} for age in ("a young", "b old")] * 4
    model = lx.Model(vary=["age"], prior=lx.Ridge(1.0) + lx.Chain("age", 3.0), dimensions=3)
    fitted = lx.fit(model, lx.read(texts, metadata=["age"]), min_count=1, epochs=1, holdout=0, quiet=True)
    fitted.save(tmp_path / "saved")
    assert lx.load(tmp_path / "saved").ordered("age")
    other = lx.Model(vary=["age"], prior=lx.Ridge(1.0) + lx.Groups("age", 3.0), dimensions=3)
    fitted = lx.fit(other, lx.read(texts, metadata=["age"]), min_count=1, epochs=1, holdout=0, quiet=True)
    assert not fitted.ordered("age")


def test_the_only_ordered_column_need_not_be_named(model):
    assert ordered_column(model.embeddings) == "year"
    two = planted.plant({"year": YEARS, "age": ("1", "2")}).embeddings
    with pytest.raises(lx.InputError, match="say along which column: along= one of year, age"):
        two.trajectory("w01")
    assert set(two.trajectory("w01", along="age", at={"year": 2000})["age"]) == {"1", "2"}


# Drift


def over_parties(model, measure, word, one, two):
    ends = [(model.vector(word, party, one), model.vector(word, party, two)) for party in planted.PARTIES]
    return np.mean([planted.gap(measure, *pair) for pair in ends])


def test_drift_is_the_distance_from_the_first_to_the_last_year(model):
    found = drift(model)
    assert list(found.columns) == ["word", "value", "against", "distance", "cosine", "path", "uses", "uses_against"]
    counts = {y: sum(model.counts[model.keys.index((p, y))] for p in "DR") for y in ("2000", "2003")}
    assert set(found["word"]) == {w for i, w in enumerate(model.words) if min(c[i] for c in counts.values()) >= 5}
    assert len(found) > 20
    assert found["distance"].is_monotonic_decreasing
    for row in found.itertuples():
        assert (row.value, row.against) == ("2000", "2003")
        assert row.distance == pytest.approx(over_parties(model, "euclidean", row.word, "2000", "2003"), abs=1e-5)
        assert row.cosine == pytest.approx(over_parties(model, "cosine", row.word, "2000", "2003"), abs=1e-5)
        path = sum(over_parties(model, "euclidean", row.word, one, two) for one, two in pairwise(YEARS))
        assert row.path == pytest.approx(path, abs=1e-5)
        for year, uses in (("2000", row.uses), ("2003", row.uses_against)):
            assert uses == sum(model.count(row.word, party, year) for party in planted.PARTIES)


def test_drift_within_one_party(model):
    row = drift(model, "w08", at={"party": "R"}).iloc[0]
    a, b, c = (model.vector("w08", "R", year) for year in YEARS)
    assert row["distance"] == pytest.approx(np.linalg.norm(a - c), abs=1e-5)
    assert row["path"] == pytest.approx(np.linalg.norm(a - b) + np.linalg.norm(b - c), abs=1e-5)
    assert (row["uses"], row["uses_against"]) == (model.count("w08", "R", "2000"), model.count("w08", "R", "2003"))


def test_a_year_that_a_party_lacks_is_stepped_over():
    model = planted.plant(without=(("R", "2001"),))
    v = {(p, y): model.vector("w08", p, y) for p, y in model.keys}
    long = np.linalg.norm(v["D", "2000"] - v["D", "2001"]) + np.linalg.norm(v["D", "2001"] - v["D", "2003"])
    short = np.linalg.norm(v["R", "2000"] - v["R", "2003"])
    assert drift(model, "w08")["path"].tolist() == pytest.approx([(long + short) / 2], abs=1e-5)


def test_a_party_that_lacks_the_last_year_does_not_count_and_that_is_said(capsys):
    model = planted.plant(without=(("R", "2003"),))
    a, b = model.vector("w08", "D", "2000"), model.vector("w08", "D", "2003")
    assert drift(model, "w08")["distance"].tolist() == pytest.approx([np.linalg.norm(a - b)])
    assert capsys.readouterr().err.count("1 of 2 paths lack 2000 or 2003 and are left out") == 1
    alone = drift(model, "w08", at={"party": "R"})
    assert alone[["value", "against"]].to_numpy().tolist() == [["2000", "2001"]]


def test_parties_of_different_times_have_no_common_drift():
    model = planted.plant(without=(("R", "2000"), ("D", "2003")))
    with pytest.raises(lx.InputError, match=r'both the first and the last value of "year", 2000 and 2003: .*"party"'):
        drift(model)
    assert len(drift(model, ["w01", "w02"], at={"party": "D"})) == 2


def test_drift_ranks_words_that_occur_at_both_ends():
    model = planted.plant({"year": YEARS}, words=4)
    model.counts[:] = [[0, 9, 9, 50], [0, 0, 0, 0], [9, 9, 3, 60]]
    assert set(drift(model)["word"]) == {"w01", "w03"}
    assert set(drift(model, ["w00", "w01"])["word"]) == {"w00", "w01"}
    model.counts[:] = 4
    assert len(drift(model)) == 0


def test_a_word_that_moves_is_found_with_how_far_it_went():
    topics = np.eye(2, 4)
    x = np.repeat(topics, 5, axis=0) + 0.05 * np.random.default_rng(0).standard_normal((10, 4))
    moving = np.stack([x] * 4)
    for step in range(4):
        moving[step, 0] = (1 - step / 3) * topics[0] + step / 3 * topics[1]
    slices = planted.Slices(("year",), tuple((str(y),) for y in range(4)), np.empty(0, np.int32))
    vocabulary = lx.Vocabulary(planted.names(10), np.full(10, 40))
    made = lx.Embeddings.of([vocabulary], [moving], slices=slices, counts=[np.full((4, 10), 10)])
    found = made.drift("year", test=False).iloc[0]
    assert found["word"] == "w00"
    assert found["distance"] == pytest.approx(np.sqrt(2))
    assert found["path"] == pytest.approx(np.sqrt(2))
    path = made.trajectory("w00", to=["w00", "w05"], test=False)
    assert path[path["to"] == "w00"]["similarity"].is_monotonic_decreasing
    assert path[path["to"] == "w05"]["similarity"].is_monotonic_increasing


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"column": "party"}, r'"party" has no order: its values D, R are not .*; columns with an order: year'),
        ({"column": "color"}, 'do not vary by "color"'),
        ({"words": []}, "no words are given"),
        ({"words": ["w0"]}, '"w0" is not in the vocabulary'),
        ({"at": {"year": "2000"}}, 'column "year" has one value only in these slices, 2000'),
    ],
)
def test_bad_questions_of_drift_are_refused(model, options, message):
    with pytest.raises(lx.InputError, match=message):
        drift(model, **options)


# Trajectory


def test_a_trajectory_compares_a_word_with_itself(model):
    year = "2000"
    found = model.embeddings.trajectory("w05", test=False)
    assert list(found.columns) == ["word", "party", "year", "to", "similarity", "uses", "neighbors"]
    assert list(zip(found["party"], found["year"])) == model.keys
    assert set(found["to"]) == {"w05"}
    for row in found.itertuples():
        right = planted.cosine(model.vector("w05", row.party, row.year), model.vector("w05", row.party, year))
        assert row.similarity == pytest.approx(right, abs=1e-6)
        assert row.uses == model.count("w05", row.party, row.year)
        near = model.embeddings.neighbors("w05", 5, at={"party": row.party, "year": row.year})["neighbor"]
        assert row.neighbors == ", ".join(near)


def test_a_trajectory_compares_a_word_with_others_in_the_same_slice(model):
    found = model.embeddings.trajectory("w05", to=["w06", "w07"], at={"party": "R"})
    assert list(zip(found["to"], found["year"])) == [(to, year) for to in ("w06", "w07") for year in YEARS]
    for row in found.itertuples():
        right = planted.cosine(model.vector("w05", "R", row.year), model.vector(row.to, "R", row.year))
        assert row.similarity == pytest.approx(right, abs=1e-6)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"along": "party"}, '"party" has no order'),
        ({"along": "color"}, 'do not vary by "color"'),
        ({"to": "w0"}, '"w0" is not in the vocabulary'),
        ({"to": []}, "no words are given"),
        ({"word": "w0"}, '"w0" is not in the vocabulary'),
        ({"at": {"year": "2000"}}, "one value only in these slices"),
    ],
)
def test_bad_questions_of_trajectory_are_refused(model, options, message):
    with pytest.raises(lx.InputError, match=message):
        model.embeddings.trajectory(**({"word": "w05"} | options))


@pytest.mark.parametrize(("values", "varying"), [({"party": ("D", "R")}, "party"), ({}, "nothing")])
def test_a_model_without_time_has_no_trajectory(values, varying):
    with pytest.raises(lx.InputError, match=f"there is no time here: vectors vary by {varying}"):
        planted.plant(values).embeddings.trajectory("w01")
