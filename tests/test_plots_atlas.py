"""Maps with colors: a point for each value of a column, or a place between two poles."""

from __future__ import annotations

import re

import numpy as np
import pytest
from charts import data, layers

import laplex as lx
from laplex import plots
from laplex.plots.atlas import layout
from laplex.tokens import Slices

WORDS = ["war", "peace", "tax", "money", "school", "child", "<b>x</b>"]
KEYS = (("D", "2000"), ("D", "2001"), ("R", "2000"), ("R", "2001"))


def vectors(keys=KEYS, columns=("party", "x")):
    random = np.random.default_rng(1)
    counts = random.integers(1, 500, (len(keys), len(WORDS)))
    order = np.argsort(-counts.sum(0))
    made = random.standard_normal((len(keys), len(WORDS), 5))
    vocabulary = lx.Vocabulary([WORDS[i] for i in order], counts.sum(0)[order])
    slices = Slices(columns, keys, np.empty(0, np.int32))
    return lx.Embeddings.of([vocabulary], [made], slices=slices, counts=[counts[:, order]])


def drawn(chart, place):
    layer = layers(chart)[place]
    return data(chart, layer), layer


def test_a_word_has_a_point_at_each_value_of_a_column():
    fitted = vectors(columns=("party", "year"))
    frame = layout(fitted, WORDS, color="party", year="2001")
    assert len(frame) == 2 * len(WORDS)
    assert frame.groupby("word")["party"].agg(list).map(tuple).unique().tolist() == [("D", "R")]
    for row in frame.itertuples():
        assert row.count == fitted.count(row.word, party=row.party, year="2001")
    matrix = np.stack([fitted.vector(row.word, party=row.party, year="2001") for row in frame.itertuples()])
    unit = matrix / np.linalg.norm(matrix, axis=1, keepdims=True)
    centered = unit - unit.mean(0)
    _, directions = np.linalg.eigh(centered.T @ centered)
    expected = np.abs(centered @ directions[:, [-1, -2]])
    np.testing.assert_allclose(np.abs(frame[["x", "y"]]), expected, atol=1e-5)


def test_the_colors_of_groups_and_of_time():
    fitted = vectors(columns=("party", "year"))
    _, points = drawn(plots.map(fitted, color="party", year="2001"), 1)
    scale = points["encoding"]["color"]["scale"]
    assert scale == {"domain": ["D", "R"], "range": ["#0072B2", "#D55E00"]}
    _, points = drawn(plots.map(fitted, color="year", party="D"), 1)
    assert points["encoding"]["color"]["scale"] == {"domain": ["2000", "2001"], "range": ["#e69f00", "#0072b2"]}
    assert [tip["title"] for tip in points["encoding"]["tooltip"]] == ["Word", "Year", "Occurrences"]


def test_the_points_of_a_word_are_joined_in_order():
    fitted = vectors(tuple((str(2000 + i),) for i in range(9)), ("year",))
    frame, lines = drawn(plots.map(fitted, color="year"), 0)
    assert lines["mark"]["type"] == "line"
    assert lines["encoding"]["detail"]["field"] == "_text"
    assert frame[frame["_text"] == "war"]["_order"].tolist() == list(range(9))
    assert frame[frame["_text"] == "war"]["_color"].tolist() == [str(2000 + i) for i in range(9)]
    _, points = drawn(plots.map(fitted, color="year"), 1)
    assert len(set(points["encoding"]["color"]["scale"]["range"])) == 9


def test_words_stand_between_two_poles():
    fitted = vectors(columns=("party", "year"))
    axis = (["war"], ["tax", "money"])
    frame = layout(fitted, WORDS, color=axis, party="D", year="2000")
    expected = fitted.project(frame["word"].tolist(), axis, party="D", year="2000")
    assert frame["position"].tolist() == pytest.approx(expected["position"].tolist())
    chart = plots.map(fitted, WORDS, color=axis, party="D", year="2000")
    points, layer = drawn(chart, 0)
    assert sorted(points["_color"]) == pytest.approx(sorted(expected["position"]))
    low, middle, high = layer["encoding"]["color"]["scale"]["domain"]
    assert (low, middle) == (-high, 0)
    assert layer["encoding"]["color"]["legend"]["title"] == ["↑ war", "↓ tax, money"]
    assert chart.to_dict()["title"]["text"] == "D, 2000"


def test_a_map_with_colors_becomes_a_picture_with_markup_as_text(tmp_path):
    fitted = vectors(columns=("party", "year"))
    for name, choices in (("a", {"color": "party"}), ("b", {"color": ("war", "tax"), "party": "D"})):
        path = tmp_path / f"{name}.svg"
        plots.map(fitted, year="2000", **choices).save(path)
        assert "&lt;b&gt;x&lt;/b&gt;" in path.read_text(encoding="utf-8")


def test_a_column_may_have_the_name_of_a_coordinate():
    chart = plots.map(vectors(columns=("party", "x")), color="x", party="D")
    assert drawn(chart, 1)[0]["_color"].unique().tolist() == ["2000", "2001"]


def test_a_slice_that_is_not_there_has_no_point():
    frame = layout(
        vectors((("D", "2000"), ("D", "2001"), ("R", "2001")), ("party", "year")), color="party", year="2000"
    )
    assert set(frame["party"]) == {"D"}


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"color": "sex", "party": "D", "year": "2000"}, 'color="sex" is no column that vectors vary by'),
        ({"color": "party"}, "say which slice: year= is not given"),
        ({"color": "party", "party": "D", "year": "2000"}, "leave out party='D'"),
        ({"color": ("war", "wra"), "party": "D", "year": "2000"}, '"wra" is not in the vocabulary'),
        ({"color": ("war", "war"), "party": "D", "year": "2000"}, "at both poles"),
        ({"color": ("war",), "party": "D", "year": "2000"}, "two poles"),
    ],
)
def test_what_cannot_be_a_color(choices, message):
    with pytest.raises(lx.InputError, match=re.escape(message)):
        plots.map(vectors(columns=("party", "year")), **choices)
