"""Bars and dots: what is drawn of a frame, and what cannot be drawn."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from charts import ODD_WORDS, coefficients, data, differing, findings, layers, svg, texts

import laplex as lx
from laplex import plots


def test_bars_are_in_the_order_of_the_frame(tmp_path):
    frame = differing(["c", "a", "b"])
    chart = plots.bars(frame)
    (bar,) = layers(chart, "bar")
    assert bar["encoding"]["y"]["scale"]["domain"] == ["c", "a", "b"]
    assert bar["encoding"]["x"]["title"] == "Distance between D and R"
    assert bar["encoding"]["x"]["scale"]["domain"][0] == 0
    assert layers(chart, "rule") == []
    found = texts(svg(chart, tmp_path))
    assert found.index("c") < found.index("a") < found.index("b")


def test_bars_have_intervals():
    chart = plots.bars(differing(interval=True))
    (rule,) = layers(chart, "rule")
    assert (rule["encoding"]["x"]["field"], rule["encoding"]["x2"]["field"]) == ("lower", "upper")
    assert layers(chart, "bar")[0]["encoding"]["x"]["scale"]["domain"][1] >= data(chart)["upper"].max()


def test_pairs_have_bars_of_their_own():
    frame = pd.concat([differing().assign(party=pair) for pair in ("D – R", "D – I")])
    spec = plots.bars(frame).to_dict()
    assert [part["title"] for part in spec["concat"]] == ["D – I", "D – R"]
    domains = [part["layer"][0]["encoding"]["x"]["scale"]["domain"] for part in spec["concat"]]
    assert domains[0] == domains[1]
    with pytest.raises(lx.InputError, match='"war" has more than one row: say panels='):
        plots.bars(frame, panels=[])


def test_findings_that_do_not_hold_are_lighter_and_the_legend_says_so(tmp_path):
    chart = plots.bars(findings(held=2))
    (bar,) = layers(chart, "bar")
    assert bar["encoding"]["x"]["title"] == "Difference between D and R, log odds"
    assert data(chart, bar)["_holds"].tolist() == ["holds", "holds", "not shown to hold"]
    colors = bar["encoding"]["color"]["scale"]
    lightness = {name: int(color[1:3], 16) for name, color in zip(colors["domain"], colors["range"])}
    assert lightness["not shown to hold"] > lightness["holds"]
    assert {"holds", "not shown to hold"} <= set(texts(svg(chart, tmp_path)))
    assert "not shown to hold" not in texts(svg(plots.bars(findings(held=3)), tmp_path))


def test_each_comparison_has_a_panel_of_its_own(tmp_path):
    pairs = (("D", "R"), ("D", "I"), ("R", "I"))
    frame = findings([f"w{i}" for i in range(30)], pairs)
    chart = plots.bars(frame)
    spec = chart.to_dict()
    assert [part["title"] for part in spec["concat"]] == ["D – I", "D – R", "R – I"]
    rows = [spec["datasets"][part["data"]["name"]] for part in spec["concat"]]
    assert [{(row["value"], row["against"]) for row in part} for part in rows] == [
        {("D", "I")},
        {("D", "R")},
        {("R", "I")},
    ]
    assert {len(part) for part in rows} == {15}
    assert texts(svg(chart, tmp_path)).count("not shown to hold") == 1
    pd.testing.assert_frame_equal(chart.frame, frame)


def test_the_rest_is_named_in_the_title():
    (bar,) = layers(plots.bars(findings(pairs=(("D", "rest"),))), "bar")
    assert bar["encoding"]["x"]["title"] == "Difference between D and the rest, log odds"


def test_a_word_that_was_not_tested_has_no_bar(tmp_path):
    frame = findings()
    frame.loc[2, ["estimate", "lower", "upper", "p", "p_adjusted"]] = None
    picture = svg(plots.bars(frame), tmp_path)
    assert "canal" in texts(picture)
    assert picture.count('aria-roledescription="bar"') == 2


@pytest.mark.parametrize(
    ("columns", "title"),
    [
        ({"neighbor": ["a", "b"]}, "Similarity to war"),
        ({"word": ["war", "tax"], "other": "peace"}, "Similarity to peace"),
        ({"word": ["war", "tax"]}, "Position"),
    ],
    ids=["neighbors", "similarity", "project"],
)
def test_the_axis_says_what_is_estimated(columns, title):
    frame = pd.DataFrame({"word": "war", **columns, "estimate": [0.5, 0.4], "lower": 0.3, "upper": 0.6, "uses": 9})
    assert layers(plots.bars(frame), "bar")[0]["encoding"]["x"]["title"] == title


def test_bars_of_neighbors_drift_and_negative_positions(tmp_path):
    near = pd.DataFrame({"word": "war", "rank": [1, 2], "neighbor": ["wars", "army"], "similarity": [0.9, 0.8]})
    (bar,) = layers(plots.bars(near), "bar")
    assert bar["encoding"]["y"]["scale"]["domain"] == ["wars", "army"]
    assert bar["encoding"]["x"]["title"] == "Similarity to war"
    moved = differing().drop(columns="party").assign(**{"from": "1861", "to": "1941"}, before=list("abc"), path=9.0)
    assert layers(plots.bars(moved), "bar")[0]["encoding"]["x"]["title"] == "Distance from 1861 to 1941"
    below = pd.DataFrame({"word": ["a", "b"], "position": [-0.5, 0.25]})
    low, high = layers(plots.bars(below), "bar")[0]["encoding"]["x"]["scale"]["domain"]
    assert low < -0.5 < 0.25 < high


def test_of_many_words_the_first_have_bars():
    chart = plots.bars(differing([f"w{i}" for i in range(7000)]), top=25)
    assert data(chart)["word"].tolist() == [f"w{i}" for i in range(25)]
    assert chart.to_dict()["title"]["text"] == "The first 25 of 7,000 words"


@pytest.mark.parametrize(
    ("frame", "choices", "message"),
    [
        (differing()[:0], {}, "empty"),
        (differing().rename(columns={"word": "w"}), {}, 'y="word" is no column'),
        (differing(), {"x": "a"}, 'x="a" is no column'),
        (differing(), {"panels": ["a"]}, 'panels="a" is no column'),
        (differing(), {"top": 0}, "top=0"),
        (differing(["a", "a"]), {}, '"a" has more than one row'),
        (pd.concat([differing().assign(side=i) for i in range(13)]), {}, "13 panels, by side"),
    ],
)
def test_what_bars_cannot_draw(frame, choices, message):
    with pytest.raises(lx.InputError, match=re.escape(message)):
        plots.bars(frame, **choices)


def points(chart, layer=0):
    return data(chart, layers(chart)[layer])


def test_dots_stand_where_the_words_do():
    frame = pd.DataFrame({"word": ["a", "a", "b", "b"], "party": list("DRDR"), "position": [0.1, 0.4, -0.2, 0.0]})
    chart = plots.dots(frame, ends=("poor", "rich"))
    assert points(chart, 1)["_value"].tolist() == frame["position"].tolist()
    assert chart.to_dict()["layer"][1]["encoding"]["x"]["title"] == "← poor · rich →"


def test_dots_with_intervals_have_a_line_each():
    frame = pd.DataFrame({"word": list("aabb"), "party": list("DRDR"), "estimate": [0.1, 0.4, -0.2, 0.0], "uses": 9})
    line, dot = layers(plots.dots(frame.assign(lower=-0.3, upper=0.5)))
    assert (line["encoding"]["x"]["field"], line["encoding"]["x2"]["field"]) == ("lower", "upper")
    assert line["encoding"]["yOffset"]["field"] == dot["encoding"]["yOffset"]["field"] == "_series"


def test_two_rows_for_one_dot_are_refused():
    frame = pd.DataFrame({"word": ["a", "a"], "party": ["D", "D"], "position": [0.1, 0.4]})
    with pytest.raises(lx.InputError, match="more than one row"):
        plots.dots(frame)


def test_which_column_the_dots_are_has_to_be_clear():
    frame = pd.DataFrame({"word": ["a"] * 4, "party": list("DDRR"), "sex": list("mfmf"), "position": [0.1, 0.4, 0, 1]})
    with pytest.raises(lx.InputError, match="color="):
        plots.dots(frame)


def test_dots_that_do_not_hold_are_hollow(tmp_path):
    frame = findings(held=1)
    line, dot, hollow = layers(plots.dots(frame))
    assert hollow["transform"] == [{"filter": "!datum._holds"}]
    assert data(plots.dots(frame), dot)["_holds"].tolist() == frame["holds"].tolist()
    assert line["encoding"]["opacity"]["condition"]["test"] == "datum._holds"
    assert "Hollow: not shown to hold" in texts(svg(plots.dots(frame), tmp_path))
    assert len(layers(plots.dots(findings(held=3)))) == 2


def test_the_coefficients_of_a_word_have_a_row_each(tmp_path):
    frame = coefficients(["war"], [("party:year", "R"), ("year", ""), ("party", "R"), ("party", "I"), ("party", "")])
    chart = plots.coefficients(frame)
    line, dot, _ = layers(chart)
    rows = ["party: all levels", "party: I", "party: R", "year", "party × year: R"]
    assert dot["encoding"]["y"]["scale"]["domain"] == rows
    assert (line["encoding"]["x"]["field"], line["encoding"]["x2"]["field"]) == ("lower", "upper")
    low, high = dot["encoding"]["x"]["scale"]["domain"]
    assert low == 0
    assert high > frame["upper"].max()
    drawn = data(chart).set_index("_y").loc[rows]
    expected = frame.set_index(["term", "level"]).loc[
        [("party", ""), ("party", "I"), ("party", "R"), ("year", ""), ("party:year", "R")]
    ]
    np.testing.assert_allclose(drawn["_value"], expected["estimate"])
    assert drawn["_holds"].tolist() == expected["holds"].tolist()
    assert {"war", "Difference, log odds", "Hollow: not shown to hold", *rows} <= set(texts(svg(chart, tmp_path)))


def test_several_words_have_a_panel_each(tmp_path):
    chart = plots.coefficients(coefficients(["war", "peace", "canal"], held=3))
    spec = chart.to_dict()
    assert spec["facet"]["sort"] == ["war", "peace", "canal"]
    assert {"war", "peace", "canal", "party × year: R"} <= set(texts(svg(chart, tmp_path)))
    assert "Hollow: not shown to hold" not in texts(svg(chart, tmp_path))
    chart.save(tmp_path / "a.png")
    assert len((tmp_path / "a.png").read_bytes()) > 5_000


def test_coefficients_without_enough_text_have_no_dot(tmp_path):
    frame = coefficients(["war"])
    frame.loc[1, ["estimate", "lower", "upper"]] = np.nan
    chart = plots.coefficients(frame)
    assert "Hollow: not shown to hold; no dot: too little text" in texts(svg(chart, tmp_path))
    assert data(chart)["_value"].isna().tolist() == [False, True, False]
    assert svg(chart, tmp_path).count('aria-roledescription="circle"') == 3  # two dots, of which one is hollow


def test_any_word_and_level_has_coefficients(tmp_path):
    frame = coefficients(ODD_WORDS, [("a.b[c]", word) for word in ODD_WORDS])
    chart = plots.coefficients(frame)
    assert set(data(chart)["_y"]) == {f"a.b[c]: {word}" for word in ODD_WORDS}
    found = {text.replace("&quot;", '"') for text in texts(svg(chart, tmp_path))}
    assert set(ODD_WORDS) <= found


def test_what_is_no_regression_has_no_coefficients():
    with pytest.raises(lx.InputError, match="no table of a regression: it has no term and level"):
        plots.coefficients(findings())
    with pytest.raises(lx.InputError, match="13 words are too many: choose up to 12"):
        plots.coefficients(coefficients([f"w{number}" for number in range(13)]))
    with pytest.raises(lx.InputError, match='"war" has more than one row for year'):
        plots.coefficients(coefficients(["war"], [("year", ""), ("year", "")]))


def test_bars_of_a_regression_have_a_panel_for_each_term():
    spec = plots.bars(coefficients()).to_dict()
    assert sorted(part["title"] for part in spec["concat"]) == ["party × year: R", "party: R", "year"]


def tips(chart):
    with_tooltip = next(layer for layer in layers(chart) if "tooltip" in layer["encoding"])
    return [tip["title"] for tip in with_tooltip["encoding"]["tooltip"]]


def test_groups_and_units_have_names_in_tooltips():
    frame = findings(pairs=(("Democratic", "rest"),))
    frame.attrs = {"question": "contrast", "facts": {"unit": "senator"}}
    shown = tips(plots.bars(frame))
    named = ["Uses, Democratic", "Uses, the rest", "Senators, Democratic", "Senators, the rest"]
    assert {*named, "Used with, Democratic", "Compared", "Adjusted p", "Difference"} <= set(shown)
    assert not [title for title in shown if "against" in title.lower() or "_" in title or "one" in title.split()]
    assert {"Uses, earlier half", "Uses, later half"} <= set(tips(plots.bars(as_drift(frame))))
    years = findings(pairs=(("1861", "1901"),))  # of a file, which does not say whether these are groups or ends
    assert {"Uses, first", "Uses, second"} <= set(tips(plots.bars(years)))
    joint = plots.bars(findings(pairs=(("any", "others"),)))
    assert {"Uses, first value", "Units, fewest at a value", "Units, most at a value"} <= set(tips(joint))
    assert layers(joint, "bar")[0]["encoding"]["x"]["title"] == "Difference between the values, log odds"
    two = findings(pairs=(("D", "R"), ("D", "I")))
    assert {"Uses, first", "Compared"} <= set(tips(plots.dots(two)))


def as_drift(frame):
    drift = frame.assign(value="1861", against="1941")
    drift.attrs = {"question": "drift"}
    assert layers(plots.bars(drift), "bar")[0]["encoding"]["x"]["title"] == "Change from 1861 to 1941, log odds"
    return drift


def test_a_bar_without_enough_text_is_that_of_the_fitted_vectors(tmp_path):
    near = pd.DataFrame({"word": "war", "neighbor": ["wars", "army"], "similarity": [0.7, 0.6], "uses": 9})
    near = near.assign(estimate=[0.9, np.nan], lower=[0.8, np.nan], upper=[1.0, np.nan])
    chart = plots.bars(near)
    assert data(chart, layers(chart, "bar")[0])["_value"].tolist() == [0.9, 0.6]
    assert "fitted vectors alone: too little text for an interval" in texts(svg(chart, tmp_path))


def test_more_groups_than_colors_have_a_panel_each():
    rows = [(word, f"g{i}", 0.1 * i) for word in ("war", "tax") for i in range(8)]
    frame = pd.DataFrame(rows, columns=["word", "region", "position"])
    assert len(plots.dots(frame).to_dict()["facet"]["sort"]) == 8
    assert "layer" in plots.dots(frame[frame["region"] != "g7"]).to_dict()
    spec = plots.dots(frame.assign(lower=-0.1, upper=1.0)).to_dict()
    assert [layer["mark"]["type"] for layer in spec["spec"]["layer"]] == ["rule", "circle"]
