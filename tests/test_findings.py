"""Tables of findings: kept with the model, answered without the text, and what each option does to them."""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import parties
import pytest
import small
from scipy import stats
from speakers import PLANTED

import laplex as lx
from laplex.inference.findings import COLUMNS, COUNTS, SIDES
from laplex.inference.inference import Inference
from laplex.questions.answers import StoredTest

pytestmark = pytest.mark.usefixtures("shared_cache", "few_draws")

YEARS = ("2001", "2002", "2003", "2004")
METADATA = ["party", "speaker", "year", "house", "state", "group"]


def speeches(seed: int = 1, swap: float = 0.6, each: int = 8) -> list[dict[str, str]]:
    """Speeches of sixty speakers: parties swap two words, and two function words and a rare word are among them."""
    random = np.random.default_rng(seed)
    rows = parties.speeches(seed, 60, each, swap=swap)
    for number, row in enumerate(rows):
        speaker = int(row["speaker"][1:])
        words = [word for word in row["text"] for word in ([word, "the"] if random.random() < 0.2 else [word])]
        row["text"] = words + ["rare"] * (number % 50 == 0) + ["of"] * (number % 2)
        row |= {"year": YEARS[number % 4], "house": "HS"[number % 2], "state": f"state{speaker % 15:02}"}
        row |= {"group": "ABC"[speaker % 3]}
    return rows


def fit(rows, vary=("party", "year"), unit="speaker", **options):
    corpus = lx.read(rows, metadata=METADATA, unit=unit)
    prior = lx.Ridge(1.0) + lx.Groups(vary[0], 10.0) if vary else lx.Ridge(1.0)
    model = lx.Model(vary=vary, prior=prior, dimensions=8, window=3, subsample=0.0)
    options = {"min_count": 5, "epochs": 12, "rate": parties.RATE, "threads": 1, "quiet": True} | options
    return lx.fit(model, corpus, **options)


@pytest.fixture(scope="module")
def fitted(shared_cache):
    """A fit as it is by default: with tests of both columns."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("laplex.inference.testing.MAX_DRAWS", 9_999)
        return fit(speeches())


@pytest.fixture(scope="module")
def free(shared_cache):
    """The same text without slices: every column of the text can be asked about."""
    return fit(speeches(), vary=())


def ask(fitted, column="party", words=None, question=None, **options):
    return fitted.inference(quiet=True, threads=1, **options).contrast(column, words, **question or {})


def copied(fitted, folder, tests=True):
    """The model as it is after saving and loading, with its tests or without."""
    fitted.save(folder)
    again = lx.load(folder)
    if not tests:
        again.tests.clear()
    return again


@contextmanager
def text_gone(fitted):
    """The folder of the tokens is elsewhere meanwhile."""
    folder = Path(fitted.settings["tokens"]["folder"])
    moved = folder.rename(folder.with_name("moved"))
    try:
        yield
    finally:
        moved.rename(folder)


def assert_same(one, two):
    pd.testing.assert_frame_equal(one, two)
    assert one.attrs["summary"] == two.attrs["summary"]


# Tests are kept


def test_a_fit_tests_every_column_and_questions_read_no_text(fitted, tmp_path):
    asked = [json.loads(key)[0] for key in fitted.tests]
    assert {(question["question"], question["column"]) for question in asked} == {
        ("contrast", "party"),
        ("drift", "year"),
    }
    anew = copied(fitted, tmp_path / "m", tests=False)
    assert anew.tests == {}
    computed = ask(anew), anew.inference(quiet=True, threads=1).drift("year")
    with text_gone(fitted):
        kept = fitted.contrast("party"), fitted.drift("year")
        with pytest.raises(lx.InputError, match="the text of this model is needed"):
            ask(copied(fitted, tmp_path / "n", tests=False))
    for one, two in zip(kept, computed):
        assert list(one.columns) == COLUMNS
        assert_same(one, two)
    assert set(PLANTED) == set(kept[0]["word"][:2])


def test_tests_are_saved_and_loaded_and_need_no_text(fitted, tmp_path):
    again = copied(fitted, tmp_path / "m")
    assert again.tests.keys() == fitted.tests.keys()
    with text_gone(fitted):
        for interval in (0.9, 0.5):
            assert_same(ask(again, interval=interval), ask(fitted, interval=interval))
        assert_same(ask(again, words=["w6", "w20"]), ask(fitted, words=["w6", "w20"]))
        assert_same(again.drift("year"), fitted.drift("year"))


def test_a_fit_may_test_nothing(fitted):
    without = fit(speeches(), tests=False)
    assert without.tests == {}
    np.testing.assert_array_equal(without.theta, fitted.theta)
    assert_same(ask(without), ask(fitted))


def test_a_question_about_all_words_is_kept_and_saved(fitted, tmp_path):
    mine = copied(fitted, tmp_path / "m")
    before = len(mine.tests)
    ask(mine, "house", words=["w6"], permutations=0)
    assert len(mine.tests) == before
    questions = [
        lambda model: ask(model, "house", permutations=0),
        lambda model: ask(model, question={"at": {"year": 2001}}, permutations=0, min_count=20),
        lambda model: ask(model, "group", question={"against": "joint"}, permutations=0),
    ]
    found = [question(mine) for question in questions]
    assert len(mine.tests) == before + len(questions)
    again = copied(mine, tmp_path / "again")
    with text_gone(fitted):
        for question, one in zip(questions, found):
            assert_same(question(again), one)
    counted = ask(mine, "house", permutations=99).set_index("word")
    assert found[0].set_index("word")[COUNTS].equals(counted.loc[found[0]["word"], COUNTS])


def test_what_decides_a_test_is_asked_anew(fitted, tmp_path):
    mine = copied(fitted, tmp_path / "m")
    for options in ({"seed": 2}, {"permutations": 19}, {"min_count": 300}, {"min_units": 20}, {"unit": "state"}):
        before = len(mine.tests)
        ask(mine, **options)
        assert len(mine.tests) == before + 1
    for options in ({"interval": 0.5}, {"level": 0.01}, {"min_effect": 1.0}, {"exclude": ()}, {"unit": "speaker"}):
        before = len(mine.tests)
        ask(mine, **options)
        assert len(mine.tests) == before
    everything = [
        {"values": ["D", "R"]},
        {"values": ["R", "D"]},
        {"against": None},
    ]
    for question in everything:
        assert_same(ask(mine, question=question), ask(mine))
    assert len(mine.tests) == before


def test_a_unit_that_is_compared_is_refused_also_by_what_is_kept(fitted):
    for model in (fitted, fit(speeches(), unit="party", tests=False)):
        with pytest.raises(lx.InputError, match='unit="party" is the column that is compared'):
            ask(model, unit="party")


DAMAGES = {
    "numbers gone": ("numbers", None),
    "numbers short": ("numbers", lambda a: a[:-1]),
    "numbers narrow": ("numbers", lambda a: a[:, :-1]),
    "numbers flat": ("numbers", lambda a: a.ravel()),
    "numbers of another type": ("numbers", lambda a: a.astype(np.int64)),
    "numbers unknown": ("numbers", lambda a: a * np.nan),
    "numbers too large": ("numbers", lambda a: a * 1e30),
    "words gone": ("word/text", None),
    "words short": ("word/text", lambda a: a[:-1]),
    "starts gone": ("value/starts", None),
    "starts short": ("value/starts", lambda a: a[:-1]),
    "starts backwards": ("against/starts", lambda a: a[::-1].copy()),
    "starts of another type": ("context/starts", lambda a: a.astype(np.float64)),
    "no text": ("context/text", lambda a: a[:0]),
    "no characters": ("word/text", lambda a: np.full_like(a, 255)),
    "half a character": ("word/text", lambda a: np.resize(np.array([0xED, 0xA0, 0x80], np.uint8), len(a))),
}


def damage(fitted, folder, name, change, facts=None):
    """A saved model whose first test is damaged."""
    fitted.save(folder)
    mine = lx.load(folder)
    key = next(iter(mine.tests))
    arrays = {k: np.array(array) for k, array in mine.tests[key].arrays.items()}
    if name is not None and change is None:
        del arrays[name]
    elif name is not None:
        arrays[name] = np.ascontiguousarray(change(arrays[name]))
    mine.tests[key] = StoredTest(arrays, mine.tests[key].facts | (facts or {}))
    mine.save(folder.with_name("damaged"))
    return folder.with_name("damaged")


@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("kind", DAMAGES)
def test_damaged_tests_are_refused(fitted, tmp_path, kind):
    damaged = lx.load(damage(fitted, tmp_path / "m", *DAMAGES[kind]))
    with pytest.raises(lx.StorageError, match="the stored tests are damaged"):
        damaged.contrast("party")
    assert len(damaged.contrast("party", test=False)) == len(fitted.contrast("party", test=False))


@pytest.mark.parametrize("facts", [{"units": "many"}, {"unit": ["a"]}, {"min_count": None}, {"decided_by": 5}], ids=str)
def test_facts_of_other_types_are_refused(fitted, tmp_path, facts):
    damaged = lx.load(damage(fitted, tmp_path / "m", None, None, facts))
    with pytest.raises(lx.StorageError, match="the stored tests are damaged"):
        damaged.contrast("party")


# Which rows there are


def test_named_words_without_enough_text_are_listed_and_named(fitted, tmp_path):
    found = fitted.contrast("party", ["rare", "w6"])
    assert found["word"].tolist() == ["w6", "rare"]
    assert found["holds"].tolist() == [True, False]
    row = found.set_index("word").loc["rare"]
    assert row[["p", "p_adjusted", "estimate", "lower", "upper"]].isna().all()
    assert row["uses"] + row["uses_against"] == fitted.count("rare", at={}) > 0
    assert row["permutations"] == 0
    assert found.attrs["summary"].endswith("without 100 uses by 15 of them on each side, and so not tested: rare)")
    assert "1 of 1 words differ by" in found.attrs["summary"]
    with text_gone(fitted):
        blind = copied(fitted, tmp_path / "m").contrast("party", ["rare", "w6"])
    assert blind[["word", "holds"]].equals(found[["word", "holds"]])
    assert blind.attrs["summary"] == found.attrs["summary"]
    pd.testing.assert_frame_equal(blind[["estimate", "p"]], found[["estimate", "p"]])
    assert blind.loc[1, COUNTS].isna().all()
    assert blind.loc[0, COUNTS].tolist() == found.loc[0, COUNTS].tolist()
    assert (blind.loc[1, "context"], blind.loc[1, "permutations"]) == ("", 0)
    assert fitted.contrast("party", "rare").attrs["summary"].startswith("nothing could be tested")


def test_words_with_enough_text_in_some_comparisons_are_listed_in_all(tmp_path):
    rows = speeches()
    for row in rows:
        row["text"] = ["some" if word == "w9" and row["group"] != "C" else word for word in row["text"]]
    mine = fit(rows, vary=("group",), tests=False)
    anew = ask(mine, "group", ["some", "w6"], {"against": "pairs"}, permutations=0)
    ask(mine, "group", question={"against": "pairs"}, permutations=0)
    kept = ask(mine, "group", ["some", "w6"], {"against": "pairs"}, permutations=0)
    with text_gone(mine):
        blind = ask(mine, "group", ["some", "w6"], {"against": "pairs"}, permutations=0)
    for found in (anew, kept, blind):
        assert len(found) == 6
        untested = found[found["p"].isna()]
        assert set(zip(untested["word"], untested["value"], untested["against"])) == {
            ("some", "A", "C"),
            ("some", "B", "C"),
        }
    columns = [name for name in COLUMNS if name not in ("context", "context_against")]
    pd.testing.assert_frame_equal(kept[columns], anew[columns], rtol=1e-3)


def test_a_drift_without_the_text_lists_words_without_enough_of_it(fitted):
    with text_gone(fitted):
        found = fitted.drift("year", ["rare", "w6"]).set_index("word")
    assert found.loc["rare", SIDES].tolist() == ["2001", "2004"]
    assert found["p"].isna().to_dict() == {"w6": False, "rare": True}


def test_function_words_are_left_out_unless_they_are_asked_for(fitted):
    found, whole = ask(fitted), ask(fitted, exclude=())
    assert set(whole["word"]) - set(found["word"]) == {"the", "of"}
    assert set(ask(fitted, words=["the", "w6"])["word"]) == {"the", "w6"}
    assert set(whole["word"]) - set(ask(fitted, exclude=["W6", "w7", "unheard"])["word"]) == {"w6", "w7"}
    others = whole[~whole["word"].isin(["the", "of"])].set_index("word")["p"]
    assert found.set_index("word")["p"].sort_index().equals(others.sort_index())
    contexts = ", ".join(found["context"] + ", " + found["context_against"]).split(", ")
    assert not {"the", "of"} & set(contexts)
    assert set(contexts) > {"w6", "w7"}


def test_p_is_adjusted_over_the_rows_that_are_shown(fitted):
    for found in (ask(fitted), ask(fitted, exclude=()), ask(fitted, words=["w6", "w20", "w30"])):
        np.testing.assert_allclose(found["p_adjusted"], stats.false_discovery_control(found["p"]))
    few, many = (ask(fitted, words=words).set_index("word") for words in (["w6"], None))
    assert few.loc["w6", "p_adjusted"] == few.loc["w6", "p"] == many.loc["w6", "p"]


def test_rows_that_hold_come_first_by_what_is_sure(fitted):
    found = ask(fitted)
    assert 2 <= found["holds"].sum() < len(found)
    order = found.sort_values(["holds", "lower", "estimate", "word"], ascending=[False, False, False, True])
    assert order.index.tolist() == found.index.tolist()
    distances = fitted.inference(quiet=True).distance(["w20", "w6"], "party")
    assert distances["word"].tolist() == ["w20", "w6"]


# What options do


def test_intervals_nest_and_what_holds_follows(fitted):
    tables = [ask(fitted, interval=share).set_index("word").sort_index() for share in (0.5, 0.8, 0.95, 0.999)]
    for narrow, wide in zip(tables, tables[1:]):
        assert (wide["lower"] <= narrow["lower"]).all()
        assert (wide["upper"] >= narrow["upper"]).all()
        assert (wide["upper"] - wide["lower"] > narrow["upper"] - narrow["lower"]).any()
        assert wide["p"].equals(narrow["p"])
        assert not (wide["holds"] & ~narrow["holds"]).any()


def test_what_holds_is_what_level_and_effect_say(fitted):
    for options in ({}, {"level": 0.5}, {"level": 1e-6}, {"min_effect": 0.0}, {"min_effect": 0.5}, {"min_effect": 1e6}):
        found, chosen = ask(fitted, **options), {"level": 0.1, "min_effect": 0.1} | options
        expected = (found["p_adjusted"] <= chosen["level"]) & (found["lower"] >= chosen["min_effect"])
        assert found["holds"].tolist() == expected.tolist()
    held = [
        ask(fitted, **options)["holds"].sum() for options in ({"level": 0.9, "min_effect": 0.0}, {}, {"level": 1e-6})
    ]
    assert held[0] > held[1] > held[2] == 0
    assert ask(fitted, min_effect=1e6)["holds"].sum() == 0
    assert "false discovery rate 50%" in ask(fitted, level=0.5).attrs["summary"]


def test_nothing_holds_if_labels_mean_nothing(capsys):
    rows = speeches(5, swap=0.0)
    random = np.random.default_rng(1).permutation(60)
    rows = [row | {"party": "DR"[random[int(row["speaker"][1:])] % 2]} for row in rows]
    found = fit(rows, vary=()).contrast("party")
    assert not found["holds"].any()
    summary = found.attrs["summary"]
    assert summary.startswith(f'none of {len(found)} words is shown to differ by "party" (60 values of "speaker"')
    assert summary.endswith("no row of the list holds")
    assert summary in capsys.readouterr().err


@pytest.mark.filterwarnings("ignore:every value of")
def test_units_and_how_many_of_them_must_use_a_word(fitted):
    found = ask(fitted, words="w6")
    assert found["units"].item() == found["units_against"].item() == 30
    by_document = ask(fitted, words="w6", unit="documents", permutations=0)
    assert by_document["units"].item() > 30
    many = ask(fitted, min_units=30)
    assert (many[["units", "units_against"]] >= 30).all(axis=None)
    assert 0 < len(many) < len(ask(fitted))
    frequent = ask(fitted, min_count=500)
    assert (frequent["uses"] + frequent["uses_against"] >= 500).all()
    assert 0 < len(frequent) < len(ask(fitted))


def test_p_of_a_word_does_not_depend_on_the_words_that_are_asked(free):
    every = ask(free, permutations=199).set_index("word")["p"]
    words = ["w20", "w6", "w41", "w33", "w2", "the"]
    alone = pd.Series({word: ask(free, words=word, permutations=199)["p"].item() for word in words[:3]})
    few = ask(free, words=words, permutations=199).set_index("word")["p"]
    turned = ask(free, words=words[::-1], permutations=199).set_index("word")["p"]
    assert every.nunique() > 20
    for found in (alone, few, turned):
        known = [word for word in found.index if word in every]
        assert (abs(found[known] - every[known]) <= 2.5 / 200).all()  # but for rounding


# What is compared


def sides(found):
    return set(zip(found["value"], found["against"]))


def compared(model, column, words="w6", **question):
    return sides(ask(model, column, words, question, permutations=0, min_units=2))


def test_by_default_two_values_are_a_pair_several_are_against_the_rest_and_many_are_joint(free):
    assert compared(free, "party") == {("D", "R")}
    assert compared(free, "group") == {("A", "rest"), ("B", "rest"), ("C", "rest")}
    assert compared(free, "state") == {("any", "others")}  # fifteen
    twelve = [f"state{number:02}" for number in range(12)]
    assert compared(free, "state", values=twelve) == {(state, "rest") for state in twelve}


def test_values_can_be_compared_with_others(free):
    assert compared(free, "group", against="pairs") == {("A", "B"), ("A", "C"), ("B", "C")}
    assert compared(free, "group", against="joint") == {("any", "others")}
    assert compared(free, "group", against="B") == {("A", "B"), ("C", "B")}
    assert compared(free, "group", values=["C"]) == compared(free, "group", values="C") == {("C", "rest")}
    assert compared(free, "group", values=["C", "A"]) == {("A", "C")}
    assert compared(free, "group", values=["A"], against="C") == {("A", "C")}
    assert compared(free, "party", against="rest") == {("D", "rest"), ("R", "rest")}
    assert compared(free, "year", against=2001) == {(year, "2001") for year in YEARS[1:]}
    one, rest = (ask(free, "group", "w6", {"values": values}, permutations=0) for values in (["C"], None))
    same = rest[rest["value"] == "C"].reset_index(drop=True)
    columns = [name for name in COLUMNS if name not in ("p_adjusted", "holds")]
    pd.testing.assert_frame_equal(one[columns], same[columns])
    assert one["uses"].item() + one["uses_against"].item() == free.count("w6")


@pytest.mark.parametrize(
    ("question", "message"),
    [
        ({"values": ["A", "X"]}, "\"group\" has no value 'X' to compare; it has A, B, C"),
        ({"values": []}, "names nothing to compare"),
        ({"against": "X"}, 'against="X" is neither rest, pairs, joint nor a value of "group": A, B, C'),
        ({"values": ["A"], "against": "A"}, '"A" cannot be compared with itself'),
        ({"values": ["A"], "against": "pairs"}, r"values=\['A'\] with against=\"pairs\": name two values or more"),
        ({"values": ["A"], "against": "joint"}, "name two values or more"),
        ({"at": {"group": "A"}}, 'column "group" has one value only in these documents'),
        ({"at": {"year": 1999}}, "\"year\" has no value '1999'"),
        ({"at": {"colour": "red"}}, 'no column "colour"'),
        ({"at": "D"}, 'write at={"party": "D"}'),
    ],
    ids=str,
)
def test_what_cannot_be_compared_is_named(free, question, message):
    with pytest.raises(lx.InputError, match=message):
        ask(free, "group", question=question)


def test_slices_restrict_the_text_as_if_nothing_else_had_been_read(free):
    found = ask(free, words=["w6", "w20", "the"], question={"at": {"house": "S", "year": "2002"}}, permutations=0)
    rows = [row for row in speeches() if (row["house"], row["year"]) == ("S", "2002")]
    assert len(rows) > 50
    counts = ask(fit(rows, vary=()), words=["w6", "w20", "the"], permutations=0).set_index("word")[COUNTS]
    assert found.set_index("word")[COUNTS].sort_index().equals(counts.sort_index())
    for row in found.itertuples():
        for party, uses, units in (("D", row.uses, row.units), ("R", row.uses_against, row.units_against)):
            mine = [part for part in rows if part["party"] == party]
            assert uses == sum(part["text"].count(row.word) for part in mine)
            assert units == len({part["speaker"] for part in mine if row.word in part["text"]})


def test_distances_along_a_column_are_contrasts_at_its_values(free):
    asked = free.inference(quiet=True, permutations=99, min_count=20, threads=1)
    found = asked.distance(["w6", "w20"], "party", "year")
    for year in YEARS:
        here = asked.contrast("party", ["w6", "w20"], at={"year": year}).set_index("word").sort_index()
        mine = found[found["year"] == year].set_index("word").sort_index()
        columns = [name for name in COLUMNS[1:] if name not in ("p_adjusted", "holds")]
        pd.testing.assert_frame_equal(mine[columns], here[columns])
    tested = found[found["p"].notna()]
    assert len(tested) >= 6
    np.testing.assert_allclose(tested["p_adjusted"], stats.false_discovery_control(tested["p"]))
    assert found["word"].tolist() == ["w6"] * 4 + ["w20"] * 4


# Warnings and languages


def test_a_column_that_decides_the_label_is_named_also_by_what_is_kept(tmp_path):
    mine = fit(speeches(), vary=("party",), unit=None)
    again = copied(mine, tmp_path / "m")
    warning = 'every value of "speaker" has one value of "party" only.*unit="speaker"'
    with text_gone(mine), pytest.warns(UserWarning, match=warning):
        kept = again.contrast("party")
    with pytest.warns(UserWarning, match=warning):
        assert_same(ask(mine, permutations=None), kept)
    assert "480 documents" in kept.attrs["summary"]


@pytest.mark.filterwarnings("error::UserWarning")
def test_with_a_unit_there_is_no_warning(fitted):
    fitted.contrast("party")
    assert 'values of "speaker"' in ask(fitted).attrs["summary"]


def test_each_language_is_tested_and_can_be_asked():
    corpus = small.corpus(small.documents(count=800, languages=("x", "y")))
    model = lx.Model(vary=["party"], prior=lx.Ridge(1.0) + lx.Groups("party", 10.0), dimensions=4, window=2)
    fitted = lx.fit(model, corpus, min_count=1, epochs=2, threads=1, quiet=True)
    assert len(fitted.tests) == 2
    with text_gone(fitted):
        found = {language: ask(fitted, language=language) for language in ("x", "y")}
        assert set(ask(fitted, words="y3", language="y")["word"]) == {"y3"}
    for language, table in found.items():
        assert len(table) > 5
        assert table["word"].str.startswith(language).all()
        uses = table.set_index("word")["uses"].to_dict()
        assert uses == {word: fitted.count(word, language=language, at={"party": "D"}) for word in uses}
    with pytest.raises(lx.InputError, match="language="):
        fitted.contrast("party")
    with pytest.raises(lx.InputError, match='"x3" is not a word of "y"'):
        ask(fitted, words="x3", language="y")


def test_options_are_those_of_the_object():
    made = Inference(lx.Embeddings.of([lx.Vocabulary(["a"], np.ones(1, np.int64))], [np.ones((1, 2))]), interval=0.5)
    assert replace(made, level=0.2).interval == 0.5
    with pytest.raises(lx.InputError, match="interval=2"):
        replace(made, interval=2)
