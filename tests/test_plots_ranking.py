"""Bars, dots, and difference against evidence: what is drawn of a frame, and what cannot be drawn."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from charts import data, differing, layers, svg, texts

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


def contrasted(n=50, seed=0):
    random = np.random.default_rng(seed)
    p = random.random(n) ** 4
    return pd.DataFrame(
        {
            "word": [f"w{i}" for i in range(n)],
            "party": "D – R",
            "estimate": random.random(n),
            "p": p,
            "p_adjusted": np.minimum(1, 3 * p),
            "count_one": random.integers(1, 900, n),
            "count_two": random.integers(1, 900, n),
        }
    )


def points(chart, layer=0):
    return data(chart, layers(chart)[layer])


def test_height_is_evidence_where_there_is_some():
    frame = contrasted()
    drawn = points(plots.volcano(frame))
    np.testing.assert_allclose(drawn["_y"], -np.log10(frame["p"]))
    np.testing.assert_allclose(drawn["_x"], frame["estimate"])
    assert drawn["_found"].tolist() == (frame["p_adjusted"] <= 0.05).tolist()


def test_without_tests_height_is_how_often_the_word_occurs_where_it_is_rarer():
    frame = contrasted().drop(columns=["p", "p_adjusted"]).rename(columns={"estimate": "distance"})
    drawn = points(plots.volcano(frame))
    assert drawn["_y"].tolist() == frame[["count_one", "count_two"]].min(axis=1).tolist()


def test_of_many_words_those_that_differ_most_are_drawn():
    frame = contrasted(200)
    drawn = points(plots.volcano(frame, most=20))
    assert set(drawn["word"]) == set(frame.nlargest(20, "estimate")["word"])


def test_words_that_are_written_are_found_and_few():
    frame = contrasted(200)
    written = points(plots.volcano(frame, labels=5), 1)
    assert 0 < len(written) <= 5
    found = set(frame["word"][frame["p_adjusted"] <= 0.05])
    assert set(written["_text"]) <= found


def test_evidence_above_ten_is_written_without_an_exponent(tmp_path):
    picture = svg(plots.volcano(contrasted().assign(p=np.geomspace(1e-11, 1, 50))), tmp_path)
    assert {"8", "10"} <= set(texts(picture))


def test_a_p_of_zero_is_drawn_at_the_top():
    frame = contrasted().assign(p=0.0)
    assert np.isfinite(points(plots.volcano(frame))["_y"]).all()


def test_a_frame_without_evidence_is_refused():
    with pytest.raises(lx.InputError, match="neither p nor counts"):
        plots.volcano(contrasted()[["word", "estimate"]])
    with pytest.raises(lx.InputError, match="nothing to draw"):
        plots.volcano(contrasted().assign(p=np.nan))


def test_dots_stand_where_the_words_do():
    frame = pd.DataFrame({"word": ["a", "a", "b", "b"], "party": list("DRDR"), "position": [0.1, 0.4, -0.2, 0.0]})
    chart = plots.dots(frame, ends=("poor", "rich"))
    assert points(chart, 1)["_value"].tolist() == frame["position"].tolist()
    assert chart.to_dict()["layer"][1]["encoding"]["x"]["title"] == "← poor · rich →"


def test_two_rows_for_one_dot_are_refused():
    frame = pd.DataFrame({"word": ["a", "a"], "party": ["D", "D"], "position": [0.1, 0.4]})
    with pytest.raises(lx.InputError, match="more than one row"):
        plots.dots(frame)


def test_which_column_the_dots_are_has_to_be_clear():
    frame = pd.DataFrame({"word": ["a"] * 4, "party": list("DDRR"), "sex": list("mfmf"), "position": [0.1, 0.4, 0, 1]})
    with pytest.raises(lx.InputError, match="color="):
        plots.dots(frame)
