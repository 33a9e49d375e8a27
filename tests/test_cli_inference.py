"""Commands that test differences: controls, regressions, and how findings are printed."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from terminal import next_commands, repeated_sentences, too_long

import laplex as lx
from laplex.cli.findings import readable

OPTIONS = ("--min-count", 30, "--min-units", 5, "--permutations", 199)
SHARED = {"min_count": 30, "min_units": 5, "permutations": 199, "quiet": True}


@pytest.fixture(scope="module")
def model(shared_cache, tmp_path_factory):
    """Speakers of three parties and different ages: "bank" differs by party, and "call" by age."""
    random = np.random.default_rng(1)
    common = [f"w{number}" for number in range(30)]
    near = {"D": ["river", "shore"], "R": ["money", "loan"], "I": ["river", "money"]}
    rows = []
    for speaker in range(90):
        party, age = "DRI"[speaker % 3], int(random.integers(20, 80))
        for _ in range(4):
            call = ["screen", "text"] if random.integers(20, 80) > age else ["wire", "dial"]
            parts = [["bank", *near[party]], ["call", *call]]
            parts += [list(random.choice(common, 3)) for _ in range(6)]
            text = " ".join(word for i in random.permutation(len(parts)) for word in parts[i])
            rows.append({"text": text, "party": party, "age": age, "speaker": f"s{speaker}", "chamber": "AB"[age % 2]})
    corpus = lx.read(rows, metadata=["party", "age", "chamber"], unit="speaker")
    prior = lx.Ridge() + lx.Groups("party", 10.0)
    choices = {"dimensions": 6, "window": 2, "subsample": 0.0}
    model = lx.Model(vary=["party"], prior=prior, **choices)
    fitted = lx.fit(model, corpus, epochs=30, rate=0.17, tests=False, quiet=True)
    folder = tmp_path_factory.mktemp("models") / "model"
    fitted.save(folder)
    return folder


def read_csv(path):
    return pd.read_csv(path, dtype={"level": str}).fillna({"level": ""})


GIVEN = {
    "contrast party --word bank --given age --given chamber": lambda ask: ask.contrast(
        "party", "bank", given=["age", "chamber"]
    ),
    "contrast party --word bank --given ~age*chamber": lambda ask: ask.contrast("party", "bank", given="~age*chamber"),
    "contrast party --word bank --given age --party D --party R": lambda ask: ask.contrast(
        "party", "bank", given="age", at={"party": ["D", "R"]}
    ),
    "drift age --word call --given party": lambda ask: ask.drift("age", "call", given="party"),
    "distance bank --across party --given age": lambda ask: ask.distance("bank", "party", given="age"),
    "similarity bank w1 --across party --given chamber": lambda ask: ask.similarity(
        "bank", "w1", across="party", given="chamber"
    ),
    "project bank --plus w1 --minus w2 --across party --given chamber": lambda ask: ask.project(
        ["bank"], (["w1"], ["w2"]), across="party", given="chamber"
    ),
    "association --targets w7,w3 --targets w8,w4 --attributes w1,w5 --attributes w2,w6 --across party --given age": (
        lambda ask: ask.association(
            (["w7", "w3"], ["w8", "w4"]), (["w1", "w5"], ["w2", "w6"]), across="party", given="age"
        )
    ),
    "explain bank party --value D --value R --given age --passages 0": lambda ask: (
        ask.explain("bank", "party", values=["D", "R"], given="age", passages=0).context
    ),
}


@pytest.mark.parametrize("question", GIVEN)
def test_other_columns_are_controlled_for(laplex, model, tmp_path, question):
    command, *rest = question.split()
    result = laplex(command, model, *rest, *OPTIONS, "--csv", tmp_path / "a.csv")
    assert result.returncode == 0, result.stderr
    expected = GIVEN[question](lx.load(model).inference(**SHARED))
    found = read_csv(tmp_path / "a.csv")
    assert found.columns.tolist() == expected.columns.tolist()
    measure = "contribution" if command == "explain" else "estimate"
    assert expected[measure].notna().any()
    np.testing.assert_allclose(found[measure], expected[measure])


def test_a_regression_is_printed_and_written(laplex, model, tmp_path):
    table, chart = tmp_path / "a.csv", tmp_path / "a.svg"
    result = laplex("regress", model, "~ party * age", *OPTIONS, "--csv", table, "--plot", chart, "--top", 3)
    assert result.returncode == 0, result.stderr
    expected = lx.load(model).inference(**SHARED).regress("~ party * age")
    found = read_csv(table)
    assert found[["word", "term", "level"]].values.tolist() == expected[["word", "term", "level"]].values.tolist()
    np.testing.assert_allclose(found["estimate"], expected["estimate"])
    assert expected.attrs["summary"] in result.stderr
    table = result.stdout.partition("\n\n")[0].splitlines()
    assert table[1].split()[:2] == ["word", "term"]
    assert len(table) <= 3 + 4 * 3
    picture = chart.read_text()
    assert "party × age: R" in picture
    assert "party: all levels" in picture


def test_the_coefficients_of_a_word_are_drawn_and_terms_chosen(laplex, model, tmp_path):
    words = ("--word", "bank", "--word", "call")
    result = laplex("regress", model, "~ party + age", *words, *OPTIONS, "--plot", tmp_path / "a.svg")
    assert result.returncode == 0, result.stderr
    picture = (tmp_path / "a.svg").read_text()
    assert all(text in picture for text in ("bank", "call", "party: R", "age"))
    terms = ("--term", "age", "--csv", tmp_path / "a.csv")
    result = laplex("regress", model, "~ party + age", *words, *terms, *OPTIONS)
    assert set(read_csv(tmp_path / "a.csv")["term"]) == {"age"}
    assert " term " not in result.stdout  # of which there is one
    assert "upper half" in result.stdout
    assert "lower half" in result.stdout


def test_a_regression_is_restricted_to_several_values(laplex, model, tmp_path):
    parties = ("--party", "D", "--party", "R", "--csv", tmp_path / "a.csv")
    result = laplex("regress", model, "~ party + age", "--word", "bank", *parties, *OPTIONS)
    assert result.returncode == 0, result.stderr
    found = read_csv(tmp_path / "a.csv")
    assert set(found["level"]) == {"R", ""}
    assert found.loc[found["level"] == "R", "holds"].tolist() == [True]


@pytest.mark.parametrize("width", [80, 100])
def test_findings_fit_the_terminal(laplex, model, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    result = laplex("regress", model, "~ party * age", "--word", "bank", "--word", "call", *OPTIONS, "--top", 99)
    lines = result.stdout.splitlines()
    assert max(map(len, lines)) <= width
    assert {"bank", "call"} <= {line.split()[0] for line in lines if line[:1].strip()}
    assert "…" not in result.stdout


FOLLOWED = [
    "info model",
    "contrast party --top 2",
    "drift age --top 2",
    "explain bank party --value D --value R",
    "neighbors bank",
    "neighbors bank --party D -k 3",
    "regress ~party+age --top 2",
    "distance bank --across party",
]


@pytest.mark.parametrize("question", FOLLOWED)
def test_an_answer_fits_80_columns_says_nothing_twice_and_ends_with_what_to_ask_next(
    laplex, model, monkeypatch, question
):
    monkeypatch.chdir(model.parent)
    monkeypatch.setenv("COLUMNS", "80")
    command, *rest = question.split()
    arguments = rest if command == "info" else ["model", *rest, *(OPTIONS if command != "neighbors" else ())]
    result = laplex(command, *arguments)
    assert result.returncode == 0, result.stderr
    assert too_long(result) == []
    assert repeated_sentences(result) == []
    for following in next_commands(result.stderr):
        assert following[0] == "laplex"
        if following[1] not in ("explore", "report"):  # which show all of a model
            done = laplex(*following[1:], "--quiet" if following[1] != "passages" else "--top=1")
            assert done.returncode == 0, done.stderr
    assert laplex(command, *arguments, *([] if "--quiet" in arguments else ["--quiet"])).stderr == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["regress", "~ party + agee"], 'names "agee", which is no column'),
        (["regress", "party + age"], 'does not begin with "~"'),
        (["regress", "~ party +* age"], "cannot be read"),
        (["regress", "~ C(age) + age"], "C(age)"),
        (["regress", "~ chamber + C(chamber)"], "collinear"),
        (["regress", "~ party", "--party", "X"], "\"party\" has no value 'X'"),
        (["regress", "~ party", "--color", "red"], '"color"'),
        (["regress", "~ party", "age"], '"age" is one argument too many'),
        (["regress", "~ party", "--term", "age", "--word", "bank"], 'has no term "age"'),
        (["regress", "~ party", "--word", "bunk"], '"bunk" is not in the vocabulary'),
        (["contrast", "party", "--given", "agee"], '"agee"'),
        (["contrast", "party", "--given", "party"], "is what is compared"),
        (["contrast", "party", "--given", "age", "--no-test"], "given="),
        (["similarity", "bank", "money", "--given", "age"], "across="),
        (["contrast", "party", "--given", "age", "--given", "~ chamber"], "one formula or a list"),
        (["neighbors", "bank", "--party", "D", "--party", "R"], "\"party\" has no value ['D', 'R']"),
    ],
)
def test_a_test_that_cannot_be_made(laplex, model, arguments, message):
    command, *rest = arguments
    result = laplex(command, model, *rest)
    assert result.returncode == 1
    assert message in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_a_warning_is_one_line(laplex, model):
    result = laplex("contrast", model, "chamber", "--word", "bank", "--unit", "documents", *OPTIONS)
    assert result.returncode == 0
    (line,) = [line for line in result.stderr.splitlines() if "warning" in line.lower()]
    assert line.startswith("laplex: warning: every value of")


def finding(**columns):
    row = {"word": "war", "estimate": 1.0, "lower": 0.5, "upper": 1.5, "p": 0.001, "p_adjusted": 0.02, "holds": True}
    row |= {"uses": 1300, "uses_against": 200, "units": 30, "units_against": 20, "context": "a", "context_against": "b"}
    return {**row, "permutations": 999, **columns}


def test_the_sides_of_a_finding_are_named():
    compared = readable(pd.DataFrame([finding(value="D", against="rest")]))
    assert compared["side"].tolist() == ["D", "rest"]
    assert compared["uses"].tolist() == [1300, 200]
    assert compared["used with"].tolist() == ["a", "b"]
    assert compared["word"].tolist() == ["war", ""]
    assert compared.iloc[:, 1].tolist() == ["1.00", "(0.50–1.50)"]
    assert compared.iloc[:, 2].tolist() == ["< 0.001", "(0.02)"]
    drifted = pd.DataFrame([finding(value="1900", against="2000")])
    drifted.attrs["question"] = "drift"
    assert readable(drifted)["side"].tolist() == ["earlier", "later"]


def test_the_sides_of_a_coefficient_are_named():
    terms = [
        ("party", "R"),
        ("party", ""),
        ("year", ""),
        ("party:year", "R"),
        ("party:region", "R:north"),
        ("s(age)", ""),
    ]
    shown = readable(pd.DataFrame([finding(term=term, level=level) for term, level in terms]))
    assert shown["side"].tolist() == [
        *("R", "reference", "all levels", "", "upper half", "lower half"),
        *("R, upper half", "R, lower half", "R:north", "reference", "the curve", ""),
    ]
    assert shown["term"].tolist()[::2] == [term for term, _ in terms]
    assert shown.loc[3, ["uses", "units"]].isna().all()


def test_words_without_a_test_have_their_counts():
    missing = dict.fromkeys(("estimate", "lower", "upper", "p", "p_adjusted"), np.nan)
    shown = readable(pd.DataFrame([finding(value="D", against="R", holds=False, **missing)]))
    assert shown.iloc[:, 1:4].to_numpy().tolist() == [["", "", ""], ["", "", ""]]
    assert shown["units"].tolist() == [30, 20]
