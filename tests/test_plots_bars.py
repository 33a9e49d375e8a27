"""Bars: what is drawn of a frame, and what cannot be drawn."""

from __future__ import annotations

import re

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
