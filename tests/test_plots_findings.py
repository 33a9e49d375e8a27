"""Difference against evidence, and what a difference is made of."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from charts import ODD_WORDS, coefficients, data, layers, svg, texts

import laplex as lx
from laplex import plots


def contrasted(n=50, seed=0):
    random = np.random.default_rng(seed)
    p = random.random(n) ** 4
    return pd.DataFrame(
        {
            "word": [f"w{i}" for i in range(n)],
            "value": "D",
            "against": "R",
            "estimate": random.random(n),
            "p": p,
            "p_adjusted": np.minimum(1, 3 * p),
            "uses": random.integers(1, 900, n),
            "uses_against": random.integers(1, 900, n),
        }
    )


def points(chart, layer=0):
    return data(chart, layers(chart)[layer])


def test_height_is_evidence_where_there_is_some():
    frame = contrasted()
    drawn = points(plots.volcano(frame))
    np.testing.assert_allclose(drawn["_y"], -np.log10(frame["p"]))
    np.testing.assert_allclose(drawn["_x"], frame["estimate"])
    assert drawn["_found"].tolist() == (frame["p_adjusted"] <= 0.1).tolist()


def test_what_holds_is_colored_and_the_legend_says_so(tmp_path):
    frame = contrasted().assign(holds=[True, False] * 25)
    chart = plots.volcano(frame)
    assert points(chart)["_found"].tolist() == frame["holds"].tolist()
    assert {"holds", "not shown to hold"} <= set(texts(svg(chart, tmp_path)))
    bare = frame.drop(columns=["p", "p_adjusted", "holds"]).rename(columns={"estimate": "distance"})
    assert "holds" not in texts(svg(plots.volcano(bare), tmp_path))


def test_comparisons_have_panels_with_the_same_axes():
    frame = pd.concat([contrasted(), contrasted(80, seed=1).assign(value="I")], ignore_index=True)
    spec = plots.volcano(frame).to_dict()
    assert [part["title"] for part in spec["concat"]] == ["D – R", "I – R"]
    sizes = [len(spec["datasets"][part["layer"][0]["data"]["name"]]) for part in spec["concat"]]
    assert sizes == [50, 80]
    one, two = ([part["layer"][0]["encoding"][axis]["scale"]["domain"] for axis in "xy"] for part in spec["concat"])
    assert one == two


def test_terms_of_a_regression_have_panels_main_effects_first():
    frame = coefficients(terms=[("party:year", "R"), ("year", ""), ("party", "R"), ("party", "I"), ("party", "")])
    spec = plots.volcano(frame).to_dict()
    titles = ["party: all levels", "party: I", "party: R", "year", "party × year: R"]
    assert [part["title"] for part in spec["concat"]] == titles
    for part, (term, level) in zip(spec["concat"], [("party", ""), ("party", "I"), ("party", "R")]):
        drawn = pd.DataFrame(spec["datasets"][part["layer"][0]["data"]["name"]])
        mine = frame[(frame["term"] == term) & (frame["level"] == level)]
        np.testing.assert_allclose(drawn["_x"], mine["estimate"])
        assert drawn["_found"].tolist() == mine["holds"].tolist()
    with pytest.raises(lx.InputError, match="13 comparisons are too many"):
        plots.volcano(coefficients(terms=[("state", str(number)) for number in range(13)]))


def test_one_term_is_the_title(tmp_path):
    frame = coefficients(terms=[("party", "R")])
    assert "party: R" in texts(svg(plots.volcano(frame), tmp_path))
    tips = layers(plots.volcano(frame))[0]["encoding"]["tooltip"]
    assert {"Coefficient", "Standard error", "Adjusted p", "Uses, R", "Units, reference"} <= {t["title"] for t in tips}


def test_a_regression_that_was_written_to_a_file_is_drawn(tmp_path):
    coefficients().to_csv(tmp_path / "a.csv", index=False)  # in which no level is an empty cell
    spec = plots.volcano(pd.read_csv(tmp_path / "a.csv")).to_dict()
    assert [part["title"] for part in spec["concat"]] == ["party: R", "year", "party × year: R"]


def test_without_tests_height_is_how_often_the_word_occurs_where_it_is_rarer():
    frame = contrasted().drop(columns=["p", "p_adjusted"]).rename(columns={"estimate": "distance"})
    drawn = points(plots.volcano(frame))
    assert drawn["_y"].tolist() == frame[["uses", "uses_against"]].min(axis=1).tolist()


def test_where_nothing_holds_words_are_named_in_gray():
    chart = plots.volcano(contrasted().assign(p_adjusted=1.0))
    text = layers(chart, "text")[0]
    assert len(data(chart, text))
    assert text["mark"]["color"] == "#767676"
    assert layers(chart, "rule") == []
    assert chart.to_dict()["title"]["text"] == "No word is shown to hold"


def test_the_threshold_is_the_largest_p_that_holds():
    frame = contrasted()
    (rule,) = layers(plots.volcano(frame), "rule")
    largest = frame["p"][frame["p_adjusted"] <= 0.1].max()
    assert data(plots.volcano(frame), rule)["_y"].tolist() == pytest.approx([-np.log10(largest)])


def test_of_many_words_those_that_differ_most_are_drawn():
    frame = contrasted(200)
    drawn = points(plots.volcano(frame, most=20))
    assert set(drawn["word"]) == set(frame.nlargest(20, "estimate")["word"])


def test_words_that_are_written_are_found_and_few():
    frame = contrasted(200)
    written = points(plots.volcano(frame, labels=5), 1)
    assert 0 < len(written) <= 5
    found = set(frame["word"][frame["p_adjusted"] <= 0.1])
    assert set(written["_text"]) <= found


def test_evidence_above_ten_is_written_without_an_exponent(tmp_path):
    picture = svg(plots.volcano(contrasted().assign(p=np.geomspace(1e-11, 1, 50))), tmp_path)
    assert {"8", "10"} <= set(texts(picture))


def test_a_p_of_zero_is_drawn_at_the_top():
    frame = contrasted().assign(p=0.0)
    assert np.isfinite(points(plots.volcano(frame))["_y"]).all()


def test_a_frame_without_evidence_is_refused():
    with pytest.raises(lx.InputError, match="neither p nor counts of uses"):
        plots.volcano(contrasted()[["word", "estimate"]])
    with pytest.raises(lx.InputError, match="nothing to draw"):
        plots.volcano(contrasted().assign(p=np.nan))


def explained(words=("men", "women", "the", "tax", "gold", "coin"), total=2.0):
    """What `explain` gives, of which half of the context words are found more often with R."""
    half = len(words) // 2
    contribution = np.linspace(0.5, 0.1, len(words))
    context = pd.DataFrame({"word": words, "value": ["D"] * half + ["R"] * half, "contribution": contribution})
    context = context.assign(lower=contribution - 0.2, upper=contribution + 0.2, uses=20, uses_other=3)
    return SimpleNamespace(word="war", values=("D", "R"), total=total, context=context)


def sides(chart):
    """The panels of both groups, with what they draw."""
    spec = chart.to_dict()
    return [(part, spec["datasets"][part["data"]["name"]]) for part in spec["hconcat"]]


def test_an_explanation_has_one_group_left_and_one_right():
    (left, first), (right, second) = sides(plots.explanation(explained()))
    assert left["layer"][0]["encoding"]["x"]["scale"]["reverse"]
    assert not right["layer"][0]["encoding"]["x"]["scale"]["reverse"]
    assert [row["word"] for row in first] == ["men", "women", "the"]
    assert [row["word"] for row in second] == ["tax", "gold", "coin"]
    assert [row["contribution"] for row in first + second] == pytest.approx([25, 21, 17, 13, 9, 5])
    for part, rows in ((left, first), (right, second)):
        rule = part["layer"][1]["encoding"]
        assert (rule["x"]["field"], rule["x2"]["field"]) == ("lower", "upper")
        assert [row["_sure"] for row in rows] == [row["lower"] > 0 for row in rows]


def test_the_surest_context_words_are_drawn_and_function_words_may_be_left_out():
    found = explained()
    found.context.loc[1, "lower"] = 0.4  # of "women"
    (_, first), _ = sides(plots.explanation(found, top=1, exclude=["the"]))
    assert [row["word"] for row in first] == ["women"]
    (_, first), _ = sides(plots.explanation(found, exclude=["the"]))
    assert [row["word"] for row in first] == ["men", "women"]


def test_any_word_can_be_explained(tmp_path):
    found = texts(svg(plots.explanation(explained(ODD_WORDS)), tmp_path))
    assert set(ODD_WORDS) <= {text.replace("&quot;", '"') for text in found}
    assert {"D", "R", "Share of the difference, %"} <= set(found)


def test_a_difference_of_nothing_is_not_drawn():
    found = explained()
    found.context["contribution"] = -1.0
    with pytest.raises(lx.InputError, match='no context word makes a difference of "war"'):
        plots.explanation(found)
    one_sided = explained()
    one_sided.context["value"] = "R"
    assert len(plots.explanation(one_sided).to_dict()["hconcat"]) == 1


@pytest.mark.parametrize(
    ("values", "drawn"),
    [
        (("1906 to 2021", "1790 to 1905"), ["1790 to 1905", "1906 to 2021"]),
        (("more of party:year", "less of party:year"), ["more of party:year", "less of party:year"]),
        (("R", "D"), ["R", "D"]),
    ],
)
def test_of_two_periods_the_earlier_is_left(values, drawn, tmp_path):
    found = explained()
    found.context["value"] = [values[0]] * 3 + [values[1]] * 3
    found.values = values
    chart = plots.explanation(found)
    assert [part["title"]["text"] for part, _ in sides(chart)] == drawn
    assert [{row["value"] for row in rows} for _, rows in sides(chart)] == [{value} for value in drawn]
    assert set(drawn) <= set(texts(svg(chart, tmp_path)))
