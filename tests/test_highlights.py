"""The findings that a reader sees first: the surest, of all comparisons, or plainly that nothing holds."""

from __future__ import annotations

import pickle

import pandas as pd
import pytest
from reported import FAMILY, MONEY, fit_speeches, model

from laplex.errors import InputError
from laplex.inference.findings import COLUMNS
from laplex.reports.finding import panel, passages_by_side
from laplex.reports.highlights import highlights


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    return fit_speeches(tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="module")
def chosen(fitted):
    return highlights(fitted.inference(quiet=True))


def table(*rows, question="contrast"):
    """Findings by word, value, against, and the contexts of both sides; each smaller than the one before."""
    made = []
    for number, (word, value, against, context, other) in enumerate(rows):
        numbers = {"estimate": 3 - number / 10, "lower": 2 - number / 10, "upper": 4.0, "p": 1e-4, "p_adjusted": 1e-3}
        counts = {"uses": 50, "uses_against": 40, "units": 12, "units_against": 11, "permutations": 9999}
        texts = {"word": word, "value": value, "against": against, "context": context, "context_against": other}
        made.append({**texts, **numbers, **counts, "holds": True})
    frame = pd.DataFrame(made)[COLUMNS]
    frame.attrs |= {"question": question, "facts": {"unit": "speaker", "units": 24}}
    return frame


def test_a_finding_says_what_the_table_says(fitted, chosen):
    row = fitted.inference(quiet=True).contrast("party").iloc[0]
    (found,) = (one for one in chosen.findings if one.word == "health")
    assert (found.estimate, found.lower, found.p_adjusted) == (row["estimate"], row["lower"], row["p_adjusted"])
    assert found.sentence.startswith("“health” differs by party: with “")
    assert f"{row['estimate']:.2f} (90% interval {row['lower']:.2f} to {row['upper']:.2f})" in found.evidence
    one, two = found.sides
    assert (one.name, two.name) == ("D", "R")
    assert (one.uses, two.uses, one.units, two.units) == tuple(row[["uses", "uses_against", "units", "units_against"]])
    assert {*one.context} <= {*FAMILY}
    assert {*two.context} <= {*MONEY}
    assert f"D: {one.uses:,} uses by {one.units} values of speaker" in found.sizes


def test_a_panel_has_words_and_passages_of_both_sides(fitted, chosen):
    found = chosen.findings[0]
    explained = found.explain(fitted.inference(quiet=True))
    one, two = panel(explained, tuple(side.name for side in found.sides), exclude=["child"])
    assert (one["name"], two["name"]) == ("D", "R")
    assert {*MONEY} & {row["word"] for row in two["context"]}
    assert "child" not in [row["word"] for row in [*one["context"], *one["neighbors"]]]
    assert one["context"][0]["lower"] >= one["context"][1]["lower"]
    assert [side["passages"][0]["word"] for side in (one, two)] == ["health", "health"]
    quote = one["passages"][0]
    assert any(word in quote["before"] + quote["after"] for word in FAMILY)
    assert quote["source"].startswith("D, 2")


def test_the_source_of_a_passage_has_no_period_beside_its_year(fitted, monkeypatch):
    explained = fitted.inference(quiet=True).explain("health", "party", passages=1)
    assert passages_by_side(explained, fitted)["D"][0]["source"].count(", ") == 2  # party, year, speaker
    tokens = fitted.settings["tokens"] | {"period_lengths": {"year": "2y"}}
    monkeypatch.setitem(fitted.settings, "tokens", tokens)
    year = int(explained.passages["year"].iloc[0])
    assert f"{year}–{year + 1}" in passages_by_side(explained, fitted)["D"][0]["source"]
    monkeypatch.setitem(fitted.settings, "tokens", tokens | {"periods": {"year": "speaker"}})
    assert str(year) not in passages_by_side(explained, fitted)["D"][0]["source"]


def test_halves_of_a_line_are_named_like_those_of_its_explanation(fitted):
    tests = fitted.inference(quiet=True)
    frame = tests.drift("year").assign(holds=True)
    found = highlights(tests, {"year": frame}).findings[0]
    assert tuple(side.name for side in found.sides) == found.explain(tests).values
    assert found.sentence.startswith(f"“{found.word}” changes along year")


def test_where_nothing_holds_it_says_why_and_what_would_help(fitted, chosen):
    frame = fitted.inference(quiet=True).drift("year")
    (nothing,) = chosen.nothing
    text = " ".join(nothing.sentences)
    assert nothing.column == "year"
    assert f"None of {len(frame)} words is shown to change along year" in text
    assert f"smallest adjusted p is {frame['p_adjusted'].min():.2g}" in text
    assert "24 values of speaker" in text
    assert "more values of speaker" in text
    assert nothing.nearest
    assert not any(one.holds for one in nothing.nearest)
    assert nothing.nearest[0].sentence == f"“{nothing.nearest[0].word}” is not shown to change along year."


def test_every_comparison_is_seen_before_the_second_finding_of_any():
    tests = model().inference(quiet=True)
    of_d = [(f"word{letter}", "D", "rest", f"{letter}a, {letter}b", f"{letter}c") for letter in "abcdef"]
    of_r = [("war", "R", "rest", "ra, rb", "rc"), ("worda", "R", "rest", "xa", "xb")]
    found = highlights(tests, {"party": table(*of_d, *of_r)}).findings
    assert [one.word for one in found] == ["worda", "war", "wordb", "wordc", "wordd"]


def test_words_of_one_context_are_seen_once_if_there_are_others():
    tests = model().inference(quiet=True)
    rows = [
        ("ending", "D", "R", "year, fiscal, june", "war, terror"),
        ("ended", "D", "R", "fiscal, year, july", "conflict, peace"),
        ("fiscal", "D", "R", "ending, tax", "policy, cliff"),
        ("the", "D", "R", "of, and", "in, at"),
        ("uniform", "D", "R", "system, method", "men, women"),
        ("alone", "D", "R", "", ""),
    ]
    found = highlights(tests, {"party": table(*rows)}, most=4).findings
    assert [one.word for one in found] == ["ending", "uniform", "alone", "ended"]
    assert found[2].sentence == "“alone” differs by party."


def test_a_joint_test_has_no_sides_to_quote():
    tests = model().inference(quiet=True)
    (found,) = highlights(tests, {"party": table(("war", "any", "others", "", ""))}).findings
    assert found.sentence == "“war” differs by party."
    assert found.sizes == ""
    with pytest.raises(InputError, match="compare its values in pairs"):
        found.explain(tests)


def test_what_was_not_tested_is_said():
    said = highlights(model().inference(quiet=True))
    assert said.findings == ()
    assert [one.column for one in said.nothing] == ["party", "year"]
    assert 'fitted.contrast("party")' in said.nothing[0].sentences[0]
    (alone,) = highlights(model(((),), ()).inference(quiet=True)).nothing
    assert "nothing to compare" in alone.sentences[0]


def test_highlights_can_be_kept(chosen):
    assert pickle.loads(pickle.dumps(chosen)) == chosen
