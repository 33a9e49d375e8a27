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


@pytest.mark.parametrize("measure", ["euclidean", "cosine"])
def test_distance_across_parties_along_time(model, measure):
    found = model.embeddings.distance(["w09", "w02"], across="party", along="year", measure=measure)
    assert list(found.columns) == ["word", "year", "party", "distance", "count_one", "count_two"]
    assert list(zip(found["word"], found["year"])) == [(word, year) for word in ("w09", "w02") for year in YEARS]
    for row in found.itertuples():
        right = planted.gap(measure, model.vector(row.word, "D", row.year), model.vector(row.word, "R", row.year))
        assert row.distance == pytest.approx(right, abs=1e-5)
        assert (row.count_one, row.count_two) == tuple(model.count(row.word, party, row.year) for party in "DR")
        assert row.party == "D – R"


def test_without_along_the_distance_is_the_mean_over_the_rest_as_in_contrast(model):
    found = model.embeddings.distance("w09", "party")
    assert list(found.columns) == ["word", "party", "distance", "count_one", "count_two"]
    assert found.to_dict("list") == model.embeddings.contrast("party", words="w09").to_dict("list")


def test_every_pair_of_values_is_compared(model):
    found = model.embeddings.distance("w09", across="year", along="party")
    assert found["party"].tolist() == ["D", "R"] * 3
    assert list(dict.fromkeys(found["year"])) == [f"{one} – {two}" for one, two in combinations(YEARS, 2)]


def test_columns_that_are_not_named_are_averaged_over_or_fixed():
    model = planted.plant({"party": ("D", "R"), "year": ("1", "2"), "house": ("H", "S")})
    found = model.embeddings.distance("w01", across="party", along="year")
    for row in found.itertuples():
        gaps = [model.vector("w01", "D", row.year, h) - model.vector("w01", "R", row.year, h) for h in "HS"]
        assert row.distance == pytest.approx(np.mean(np.linalg.norm(gaps, axis=1)), abs=1e-5)
    fixed = model.embeddings.distance("w01", across="party", along="year", at={"house": "S"})
    gaps = [model.vector("w01", "D", y, "S") - model.vector("w01", "R", y, "S") for y in ("1", "2")]
    np.testing.assert_allclose(fixed["distance"], np.linalg.norm(gaps, axis=1), atol=1e-5)


def test_years_are_in_the_order_of_numbers():
    model = planted.plant({"party": ("D", "R"), "year": ("10", "9", "100")})
    assert model.embeddings.distance("w01", "party", "year")["year"].tolist() == ["9", "10", "100"]


def test_a_year_in_which_one_party_is_missing_is_left_out():
    model = planted.plant(without=(("R", "2001"),))
    assert model.embeddings.distance("w01", "party", "year")["year"].tolist() == ["2000", "2003"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"along": "party"}, 'across="party" and along="party" are the same column'),
        ({"along": "color"}, 'do not vary by "color"'),
        ({"across": "color"}, 'do not vary by "color"'),
        ({"words": []}, "no words are given"),
        ({"words": "w0"}, '"w0" is not in the vocabulary'),
        ({"at": {"party": "R"}}, 'column "party" has one value only in these slices, R'),
        ({"measure": "cos"}, 'measure="cos"'),
    ],
)
def test_bad_questions_of_distance_are_refused(model, options, message):
    with pytest.raises(lx.InputError, match=message):
        model.embeddings.distance(**({"words": "w01", "across": "party", "along": "year"} | options))


def test_parties_that_never_meet_have_no_distance():
    model = planted.plant(without=tuple(("R", y) for y in YEARS[:2]) + (("D", "2003"),))
    with pytest.raises(lx.InputError, match='no two values of "party" share a slice of year'):
        model.embeddings.distance("w01", "party", "year")


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
    assert set(made.drift("age")["from"]) == {"a child"}
    assert set(made.drift("age")["to"]) == {"c old"}


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


@pytest.mark.parametrize("measure", ["euclidean", "cosine"])
def test_drift_is_the_distance_from_the_first_to_the_last_year(model, measure):
    found = model.embeddings.drift("year", top=99, measure=measure)
    assert list(found.columns) == ["word", "from", "to", "distance", "path", "count", "before", "after"]
    assert len(found) == 30
    assert found["distance"].is_monotonic_decreasing
    for row in found.to_dict("records"):
        word = row["word"]
        assert (row["from"], row["to"]) == ("2000", "2003")
        assert row["distance"] == pytest.approx(over_parties(model, measure, word, "2000", "2003"), abs=1e-5)
        path = sum(over_parties(model, measure, word, one, two) for one, two in pairwise(YEARS))
        assert row["path"] == pytest.approx(path, abs=1e-5)
        assert row["count"] == model.counts[:, model.words.index(word)].sum()


def test_drift_tells_the_neighbors_before_and_after(model):
    row = model.embeddings.drift("year", words="w08", k=3).iloc[0]
    for year, text in (("2000", row["before"]), ("2003", row["after"])):
        slices = [model.keys.index((party, year)) for party in planted.PARTIES]
        mean = np.mean([planted.unit(model.x[s]) @ planted.unit(model.x[s, 8]) for s in slices], axis=0)
        nearest = [model.words[i] for i in np.argsort(-mean) if i != 8][:3]
        assert text == ", ".join(nearest)


def test_drift_within_one_party(model):
    row = model.embeddings.drift("year", words="w08", at={"party": "R"}, k=2).iloc[0]
    a, b, c = (model.vector("w08", "R", year) for year in YEARS)
    assert row["distance"] == pytest.approx(np.linalg.norm(a - c), abs=1e-5)
    assert row["path"] == pytest.approx(np.linalg.norm(a - b) + np.linalg.norm(b - c), abs=1e-5)
    assert row["count"] == sum(model.count("w08", "R", year) for year in YEARS)
    near = model.embeddings.neighbors("w08", 2, at={"party": "R", "year": "2000"})["neighbor"]
    assert row["before"] == ", ".join(near)


def test_many_words_are_asked_in_batches(monkeypatch):
    model = planted.plant(words=10)
    whole = model.embeddings.drift("year", top=10)
    monkeypatch.setattr("laplex.questions.change.WORDS_PER_BATCH", 3)
    assert model.embeddings.drift("year", top=10).to_dict("list")["after"] == whole["after"].tolist()


def test_drift_step_by_step(model):
    found = model.embeddings.drift("year", top=2, steps=True)
    assert list(found.columns) == ["word", "from", "to", "distance", "count"]
    leading = model.embeddings.drift("year", top=2)["word"].tolist()
    steps = list(pairwise(YEARS))
    assert list(zip(found["word"], found["from"], found["to"])) == [(w, *step) for w in leading for step in steps]
    for row in found.to_dict("records"):
        right = over_parties(model, "euclidean", row["word"], row["from"], row["to"])
        assert row["distance"] == pytest.approx(right, abs=1e-5)
        assert row["count"] == sum(model.count(row["word"], p, row[end]) for p in "DR" for end in ("from", "to"))
    whole = model.embeddings.drift("year", top=2)
    np.testing.assert_allclose(found.groupby("word", sort=False)["distance"].sum(), whole["path"])


def test_a_year_that_a_party_lacks_is_stepped_over():
    model = planted.plant(without=(("R", "2001"),))
    v = {(p, y): model.vector("w08", p, y) for p, y in model.keys}
    long = np.linalg.norm(v["D", "2000"] - v["D", "2001"]) + np.linalg.norm(v["D", "2001"] - v["D", "2003"])
    short = np.linalg.norm(v["R", "2000"] - v["R", "2003"])
    assert model.embeddings.drift("year", words="w08")["path"].tolist() == pytest.approx([(long + short) / 2], abs=1e-5)
    steps = model.embeddings.drift("year", words="w08", steps=True)
    assert list(zip(steps["from"], steps["to"])) == [("2000", "2001"), ("2000", "2003"), ("2001", "2003")]
    assert steps["distance"].iloc[1] == pytest.approx(short, abs=1e-5)


def test_a_party_that_lacks_the_last_year_does_not_count_and_that_is_said(capsys):
    model = planted.plant(without=(("R", "2003"),))
    a, b = model.vector("w08", "D", "2000"), model.vector("w08", "D", "2003")
    assert model.embeddings.drift("year", words="w08")["distance"].tolist() == pytest.approx([np.linalg.norm(a - b)])
    assert capsys.readouterr().err.count("1 of 2 paths lack 2000 or 2003 and are left out") == 1
    alone = model.embeddings.drift("year", words="w08", at={"party": "R"})
    assert alone[["from", "to"]].to_numpy().tolist() == [["2000", "2001"]]


def test_parties_of_different_times_have_no_common_drift():
    model = planted.plant(without=(("R", "2000"), ("D", "2003")))
    with pytest.raises(lx.InputError, match=r'both the first and the last value of "year", 2000 and 2003: .*"party"'):
        model.embeddings.drift("year")
    assert len(model.embeddings.drift("year", at={"party": "D"}, top=3)) == 3


def test_drift_ranks_words_that_occur_at_both_ends():
    model = planted.plant({"year": YEARS}, words=4)
    model.counts[:] = [[0, 9, 9, 50], [0, 0, 0, 0], [9, 9, 3, 60]]
    assert set(model.embeddings.drift("year")["word"]) == {"w01", "w02", "w03"}
    assert set(model.embeddings.drift("year", min_count=5)["word"]) == {"w01", "w03"}
    assert len(model.embeddings.drift("year", min_count=99)) == 0
    assert len(model.embeddings.drift("year", min_count=99, steps=True)) == 0
    assert set(model.embeddings.drift("year", words=["w00", "w01"])["word"]) == {"w00", "w01"}
    assert model.embeddings.drift("year", words=["w00", "w01"], min_count=1)["word"].tolist() == ["w01"]


def test_a_word_that_moves_is_found_with_what_it_left_and_what_it_reached():
    topics = np.eye(2, 4)
    x = np.repeat(topics, 5, axis=0) + 0.05 * np.random.default_rng(0).standard_normal((10, 4))
    moving = np.stack([x] * 4)
    for step in range(4):
        moving[step, 0] = (1 - step / 3) * topics[0] + step / 3 * topics[1]
    slices = planted.Slices(("year",), tuple((str(y),) for y in range(4)), np.empty(0, np.int32))
    vocabulary = lx.Vocabulary(planted.names(10), np.full(10, 40))
    made = lx.Embeddings.of([vocabulary], [moving], slices=slices, counts=[np.full((4, 10), 10)])
    found = made.drift("year", top=1, k=4).iloc[0]
    assert found["word"] == "w00"
    assert found["distance"] == pytest.approx(np.sqrt(2))
    assert found["path"] == pytest.approx(np.sqrt(2))
    assert set(found["before"].split(", ")) == {"w01", "w02", "w03", "w04"}
    assert set(found["after"].split(", ")) <= {"w05", "w06", "w07", "w08", "w09"}
    path = made.trajectory("w00", to=["w00", "w05"])
    assert path[path["to"] == "w00"]["similarity"].is_monotonic_decreasing
    assert path[path["to"] == "w05"]["similarity"].is_monotonic_increasing


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"column": "party"}, r'"party" has no order: its values D, R are not .*; columns with an order: year'),
        ({"column": "color"}, 'do not vary by "color"'),
        ({"top": 0}, "top=0"),
        ({"min_count": -1}, "min_count=-1"),
        ({"k": 0}, "k=0"),
        ({"words": []}, "no words are given"),
        ({"words": ["w0"]}, '"w0" is not in the vocabulary'),
        ({"measure": "cos"}, 'measure="cos"'),
        ({"at": {"year": "2000"}}, 'column "year" has one value only in these slices, 2000'),
    ],
)
def test_bad_questions_of_drift_are_refused(model, options, message):
    with pytest.raises(lx.InputError, match=message):
        model.embeddings.drift(**({"column": "year"} | options))


# Trajectory


@pytest.mark.parametrize(("reference", "year"), [("first", "2000"), ("last", "2003")])
def test_a_trajectory_compares_a_word_with_itself(model, reference, year):
    found = model.embeddings.trajectory("w05", reference=reference, k=3)
    assert list(found.columns) == ["word", "party", "year", "to", "similarity", "count", "neighbors"]
    assert list(zip(found["party"], found["year"])) == model.keys
    assert set(found["to"]) == {"w05"}
    for row in found.itertuples():
        right = planted.cosine(model.vector("w05", row.party, row.year), model.vector("w05", row.party, year))
        assert row.similarity == pytest.approx(right, abs=1e-6)
        assert row.count == model.count("w05", row.party, row.year)
        near = model.embeddings.neighbors("w05", 3, at={"party": row.party, "year": row.year})["neighbor"]
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
        ({"reference": "middle"}, 'reference="middle": write "first" or "last"'),
        ({"k": 0}, "k=0"),
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
