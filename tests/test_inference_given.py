"""Comparisons given other columns: labels that follow time or topic, what is explained, and bad questions."""

from __future__ import annotations

from dataclasses import replace

import confounded
import numpy as np
import pytest
from confounded import SAME, THEME, TIME, WORDS, inference
from designs import Loops

import laplex as lx
from laplex.fitting.provenance import tokens_of
from laplex.inference import scores
from laplex.inference.decomposition import decompose, read_occurrences
from laplex.inference.explanations import _term, _two_groups
from laplex.inference.regression import regression
from laplex.inference.scores import ScorePass
from laplex.inference.units import Options

pytestmark = pytest.mark.usefixtures("shared_cache")

SOME_SPEAKERS = {"speaker": [f"s{number:02}" for number in range(40)]}


def rejected(table, words):
    return float((table.set_index("word").loc[list(words), "p"] < 0.05).mean())


# Labels that follow something


@pytest.mark.parametrize("label", ["camp", "side"])
def test_a_label_that_follows_time_differs_only_without_it(label):
    """Of speakers, whose labels are permuted within years, and of documents, where signs of speakers are flipped."""
    plain, given = (inference().contrast(label, WORDS, given=given) for given in (None, "year"))
    assert rejected(plain, TIME) > 0.9
    assert rejected(given, TIME) <= 0.25
    assert rejected(given, set(WORDS) - {"camp", "both"}) <= 0.15
    if label == "camp":
        found = given.set_index("word").loc["camp"]
        assert found["p"] == 1 / 500
        assert found["lower"] > 0.5
        assert found["holds"]
    assert plain.set_index("word").loc["time0", "uses"] == given.set_index("word").loc["time0", "uses"]
    assert plain.set_index("word").loc["time0", "units"] == given.set_index("word").loc["time0", "units"]


def test_a_label_that_follows_topics_differs_only_without_them():
    """The text has no column of topics: they are found by clustering."""
    assert "topic" not in tokens_of(confounded.fit()).columns
    plain, given = (inference().contrast("wing", WORDS, given=given) for given in (None, "topic"))
    assert rejected(plain, THEME) > 0.8
    assert rejected(given, THEME) <= 0.2
    assert rejected(given, WORDS) <= 0.15
    as_formula = inference().contrast("wing", WORDS, given="~ topic")
    np.testing.assert_allclose(as_formula["p"], given["p"])


def test_a_trend_is_found_given_other_columns():
    found = inference().drift("year", [*TIME, *SAME], given=["camp", "chamber"]).set_index("word")
    assert (found.loc[list(TIME), "p"] < 0.01).all()
    assert (found.loc[list(SAME), "p"] < 0.05).mean() <= 0.25
    assert (found["value"] == "1900").all()
    plain = inference().drift("year", list(TIME)).set_index("word")
    np.testing.assert_allclose(found.loc[list(TIME), "estimate"], plain.loc[list(TIME), "estimate"], rtol=0.35)


def test_several_values_are_compared_jointly_given_others():
    found = inference().contrast("chamber", ["chamber", *SAME], against="joint", given=["year", "age"])
    found = found.set_index("word")
    assert found.loc["chamber", "p"] == 1 / 500
    assert (found.loc[list(SAME), "p"] < 0.05).mean() <= 0.25
    rest = inference().contrast("chamber", "chamber", given="year").set_index("value")
    assert set(rest.index) == {"x", "y", "z"}
    assert (rest.loc[["x", "z"], "p"] == 1 / 500).all()
    assert rest.loc["y", "estimate"] < rest.loc["z", "estimate"]


def test_similarities_differ_only_without_what_the_label_follows():
    pairs = [(word, f"scene{(WORDS.index(word) + 3) % 8}{letter}") for word in TIME for letter in "ab"]
    rows = {
        given: [inference().similarity(*pair, across="side", given=given).iloc[0] for pair in pairs]
        for given in (None, "year")
    }
    plain, given = ([row["estimate"] for row in rows[key]] for key in (None, "year"))
    assert np.mean(plain) > 0.1
    assert np.mean([row["lower"] > 0 for row in rows[None]]) > 0.4
    assert abs(np.mean(given)) < 0.35 * np.mean(plain)
    assert np.mean([row["lower"] < 0 < row["upper"] for row in rows["year"]]) > 0.7


# What is explained

EXPLAINED = {
    "factor": ("camp", {"given": ["year", "chamber"]}),
    "formula": ("camp", {"given": "~ C(year) * chamber + s(age)"}),
    "two of three": ("chamber", {"values": ["z", "x"], "given": ["side", "year"]}),
    "one of three": ("chamber", {"values": "z", "given": ["year"]}),
    "trend": ("year", {"given": ["camp", "chamber"]}),
    "interaction": ("camp:year", {"given": "~ camp + year"}),
    "interaction of factors": ("camp:chamber", {"given": "~ camp + chamber", "values": "R:z"}),
}


@pytest.mark.parametrize("name", list(EXPLAINED))
@pytest.mark.parametrize(("likelihood", "unit", "shared"), [("cbow", "speaker", False), ("sgns", "speaker", True),
                                                             ("cbow", "documents", True)])  # fmt: skip
def test_contributions_add_up_to_the_coefficient(name, likelihood, unit, shared, monkeypatch):
    """In plain loops over the rows of the word's table."""
    monkeypatch.setattr(scores, "MAX_CLUSTERS_WITH_ROWS", 40 if shared else 1_000)
    column, choices = EXPLAINED[name]
    fitted = confounded.fit(likelihood)
    asked = fitted.inference(**confounded.OPTIONS | {"unit": unit})
    found = asked.explain("both", column, passages=0, **choices)
    tokens = tokens_of(fitted)
    options = Options(unit=None if unit == "documents" else unit, threads=1, quiet=True)
    given = [choices["given"]] if isinstance(choices["given"], str) else choices["given"]
    where = choices.get("values"), given, {}
    if ":" in column:
        *_, units, question = _term(tokens, column, options, 0, *where)
    else:
        *_, units, question = _two_groups(fitted, column, tokens, options, 0, *where)
    text = ScorePass(tokens, units, fitted, [fitted.id("both", 0)], 0, options)
    assert text.cells.shared == shared
    (table,) = text.run([0], lambda table: table, with_sigma=True)
    inside = slice(None) if question.scores.included is None else question.scores.included[table.label] > 0
    names = ("label", "cluster", "piece", "size", "score", "tau", "background", "weight")
    table = replace(table, **{name: getattr(table, name)[inside] for name in names})
    loops = Loops(table, question.scores.matrix, question.columns)
    assert found.total == pytest.approx(loops.length(), rel=2e-3)
    assert found.total > 0


def test_units_on_neither_side_of_a_level_count_in_its_coefficient():
    """Those of chamber y, in what distinguishes z from x: ages differ between speakers of y as well."""
    fitted, tokens = confounded.fit(), tokens_of(confounded.fit())
    options, units, questions = regression(tokens, "~ chamber + age", None, Options(unit="speaker", quiet=True), 0, {})
    text = ScorePass(tokens, units, fitted, [fitted.id("strong", 0)], 0, options)
    (table,) = text.run([0], lambda table: table, with_sigma=True)
    (question,) = [some for some in questions if some.against == "z"]
    weights = question.unit_weights(text, table)
    assert abs(weights.here[weights.side < 0]).max() > 0
    parts = decompose(text, table, read_occurrences(text, [0]), weights)
    length = Loops(table, question.scores.matrix, question.columns).length()
    assert parts.contribution.sum() == pytest.approx(length, rel=2e-3)
    assert set(np.unique(parts.side)) == {-1, 0, 1}
    assert np.isfinite(parts.error).all()


def test_what_is_explained_is_where_it_was_planted():
    """The word is about scene 6 where few of the camp R and the late years are, and about scene 1 where many are."""
    scene = WORDS.index("camp") % 8
    here, there = ({f"scene{(scene + step) % 8}{letter}" for letter in "abc"} for step in (0, 3))
    found = inference().explain("camp", "camp", given="year", passages=2)
    assert found.values == ("L", "R")
    top = found.context.head(6).set_index("word")["value"]
    assert set(top.index[top == "L"]) <= there
    assert set(top.index[top == "R"]) <= here
    assert {"L", "R"} == set(top)
    assert (found.passages["camp"] == found.passages["value"]).all()
    row = inference().contrast("camp", "camp", given="year").iloc[0]
    assert there >= set(row["context"].split(", ")[:3]) & {w for some in confounded.SCENES for w in some} > set()
    assert here >= set(row["context_against"].split(", ")[:3]) & {w for some in confounded.SCENES for w in some} > set()


def test_the_direction_of_a_trend_is_that_of_its_increase():
    scene = WORDS.index("time0") % 8
    late = {f"scene{(scene + 3) % 8}{letter}" for letter in "abc"}
    found = inference().explain("time0", "year", given="camp", passages=0)
    assert found.values == ("1920 to 1930", "1900 to 1910")
    top = found.context.head(6).set_index("word")["value"]
    assert set(top.index[top == "1920 to 1930"]) & late
    assert set(top.index[top == "1900 to 1910"]).isdisjoint(late)


# Bad questions


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"given": "camp"}, 'given="camp" is what is compared: name columns that may explain the difference'),
        ({"given": ["year", "speaker"]}, 'given="speaker" is the unit: name columns'),
        ({"given": "~ year + speaker"}, 'given="speaker" is the unit: name columns'),
        ({"given": "~ year * camp"}, 'given="camp" is what is compared'),
        ({"given": "year", "test": False}, "given= controls for columns in a test of differences.*test=False"),
        ({"given": "income"}, 'no column "income"; the columns read are|names "income", which is no column'),
        ({"given": ["~ year", "age"]}, "write either one formula or a list of columns"),
        ({"given": "~ log(ag)"}, 'names "ag", which is no column; there are speaker, year, age'),
        ({"given": "year", "at": {"year": 1910}}, '"year" has one value only in these documents: leave it out'),
    ],
)
def test_bad_controls_are_named(choices, message):
    with pytest.raises(lx.InputError, match=message):
        inference().contrast("camp", "time0", **choices)


def test_a_column_that_decides_what_is_compared_is_named():
    with pytest.raises(lx.InputError, match=r'"chamber" is decided by speaker: .*there is nothing to compare; leave'):
        inference(unit="documents").contrast("chamber", "time0", given="~ C(speaker)", at=SOME_SPEAKERS)
    with pytest.raises(lx.InputError, match='given="year" is what is compared'):
        inference().effect("time0", "year", given="year")
    with pytest.raises(lx.InputError, match=r"no documents that are alike in .*speaker.* have all of the values"):
        inference(unit="documents").similarity("time0", "time1", across="chamber", given="speaker")
    with pytest.raises(lx.InputError, match="here columns are named, not a formula"):
        inference().similarity("time0", "time1", across="camp", given="~ year")
    with pytest.raises(lx.InputError, match=r"name what is compared \(across=\)"):
        inference().similarity("time0", "time1", given="year")
    with pytest.raises(lx.InputError, match='A term such as "party:year" is explained given the rest of its formula'):
        inference().explain("time0", "camp:year")
    with pytest.raises(lx.InputError, match='"camp:chamber" has several levels: name one of R:y, R:z by values='):
        inference().explain("time0", "camp:chamber", given="~ camp + chamber")
