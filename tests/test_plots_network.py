"""The graph of the prior around a word: what is drawn, and where it lies."""

from __future__ import annotations

import re
from itertools import combinations

import numpy as np
import pytest
from charts import WORDS, data, gaps, layers, some_vectors, svg, texts

import laplex as lx
from laplex import plots
from laplex.model.vectors import Vectors
from laplex.plots.network import _layout


def joined(first, second, weight=1.0, **choices):
    """One-slice embeddings whose graph has these edges; nodes are the numbers of words, contexts behind them."""
    graph = lx.Graph.of(2 * len(WORDS), first, second, weight, diagonal=1.0, **choices)
    return some_vectors((), [()], graph=graph)


def drawn_graph(chart):
    """The nodes by name, and the edges as pairs of names."""
    edges, _, dots, *_ = layers(chart)
    nodes = data(chart, dots)
    names = nodes["_text"].to_numpy()
    lines = data(chart, edges)
    return nodes.set_index("_text"), {frozenset(names[[a, b]]) for a, b in zip(lines["_one"], lines["_two"])}, lines


def test_a_graph_shows_what_the_prior_joins_to_a_word():
    fitted = joined([0, 0, 1, 3], [1, 10, 2, 4], [1.0, 4.0, 9.0, 9.0])  # 10 is "army" as context
    chart = plots.graph(fitted, "war")
    nodes, edges, lines = drawn_graph(chart)
    assert nodes["_kind"].to_dict() == {"war": "word", "peace": "word", "army": "context"}
    assert nodes["_asked"].to_dict() == {"war": True, "peace": False, "army": False}
    assert edges == {frozenset(["war", "peace"]), frozenset(["war", "army"])}
    assert sorted(lines["_weight"]) == [1.0, 4.0]
    assert layers(chart)[0]["encoding"]["strokeWidth"]["field"] == "_weight"
    shapes = layers(chart)[2]["encoding"]["shape"]["scale"]
    assert dict(zip(shapes["domain"], shapes["range"])) == {"word": "circle", "context": "square"}


def test_the_edges_of_a_graph_are_a_table_too():
    found = plots.graph(joined([0, 0, 1, 3], [1, 10, 2, 4], [1.0, 4.0, 9.0, 9.0]), "war").frame
    assert found.columns.tolist() == ["one", "one_kind", "two", "two_kind", "weight", "sign", "directed"]
    assert sorted(found[["one", "two", "two_kind", "weight"]].itertuples(index=False, name=None)) == [
        ("war", "army", "context", 4.0),
        ("war", "peace", "word", 1.0),
    ]
    with pytest.raises(lx.InputError, match='the prior joins "war" to nothing'):
        plots.graph(joined([3], [4]), "war")


def test_a_graph_goes_as_deep_as_asked():
    fitted = joined([0, 1, 2, 3], [1, 2, 3, 4])
    assert list(drawn_graph(plots.graph(fitted, "war", depth=2))[0].index) == ["war", "peace", "army"]
    assert list(drawn_graph(plots.graph(fitted, "war", depth=9))[0].index) == ["war", "peace", "army", "tax", "bank"]


def test_of_many_neighbors_those_with_the_strongest_edges_are_drawn():
    fitted = joined([0] * 6, [1, 2, 3, 4, 5, 6], [1.0, 6.0, 2.0, 5.0, 3.0, 4.0])
    chart = plots.graph(fitted, "war", most=3)
    assert list(drawn_graph(chart)[0].index) == ["war", "army", "bank", "canal"]
    assert "3 of 6 neighbors" in chart.to_dict()["title"]["subtitle"]


def test_signs_directions_and_fixed_vectors_are_seen(tmp_path):
    fitted = joined([0, 0, 0], [1, 2, 16], sign=[-1, 1, 1], directed=[False, True, False], targets=np.ones((1, 6)))
    chart = plots.graph(fitted, "war")
    nodes, _, lines = drawn_graph(chart)
    assert nodes["_kind"].to_dict() == {"war": "word", "peace": "word", "army": "word", "fixed vector": "fixed vector"}
    assert lines["_sign"].tolist() == ["apart", "together", "together"]
    dashes = layers(chart)[0]["encoding"]["strokeDash"]
    assert dict(zip(dashes["scale"]["domain"], dashes["scale"]["range"])) == {"together": [1, 0], "apart": [5, 3]}
    assert dashes["legend"] is not None
    heads = data(chart, layers(chart)[1])
    assert len(heads) == 1
    position = nodes[["_x", "_y"]]
    assert np.allclose(heads[["_x", "_y"]], position.loc["war"] + 0.6 * (position.loc["army"] - position.loc["war"]))
    assert {"apart", "army"} <= set(texts(svg(chart, tmp_path)))


def test_slices_are_told_apart_in_a_graph():
    fitted = lx.fit(
        lx.Model(vary=["party"], prior=lx.Ridge(1.0) + lx.Groups("party", 7.0), dimensions=3),
        lx.read([{"text": "war peace war peace tax", "party": party} for party in "DRI"], metadata=["party"]),
        min_count=1,
        epochs=1,
        quiet=True,
    )
    nodes, edges, lines = drawn_graph(plots.graph(fitted, "war"))
    assert sorted(nodes.index) == ["D", "I", "R"]
    assert edges == {frozenset(pair) for pair in combinations("DIR", 2)}
    assert set(lines["_weight"]) == {7.0}
    alone, _, _ = drawn_graph(plots.graph(fitted, "war", at={"party": "R"}))
    assert alone["_asked"].to_dict() == {"D": False, "I": False, "R": True}
    with pytest.raises(lx.InputError, match=r'"war" has 4 vectors, more than most=2: choose some by "party"'):
        plots.graph(fitted, "war", most=2)


def test_tied_vectors_are_one_node():
    fitted = some_vectors(("party",), [("D",), ("R",)])
    count = len(WORDS)
    slot = np.r_[np.arange(count), np.arange(count), count + np.arange(count)].astype(np.int32)
    graph = lx.Graph.of(2 * count, [0], [1])
    tied = lx.Embeddings(fitted.rows, fitted.theta[: 2 * count], slot, fitted.counts, graph, {}, [])
    assert list(drawn_graph(plots.graph(tied, "war"))[0].index) == ["war", "peace"]


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"word": "wra"}, '"wra" is not in the vocabulary'),
        ({"word": "gold"}, 'joins "gold" to nothing'),
        ({"word": "war", "depth": 0}, "depth=0"),
        ({"word": "war", "most": 0}, "most=0"),
        ({"word": "war", "at": {"party": "D"}}, 'do not vary by "party"'),
    ],
)
def test_what_no_graph_can_be_drawn_of(choices, message):
    with pytest.raises(lx.InputError, match=re.escape(message)):
        plots.graph(joined([0], [1]), **choices)


def test_vectors_without_a_prior_have_no_graph():
    fitted = joined([0], [1])
    with pytest.raises(lx.InputError, match="without a graph"):
        plots.graph(Vectors(fitted.rows, fitted.theta, fitted.slot, fitted.counts), "war")


def test_a_layout_keeps_distances():
    points = _layout(np.array([0, 1, 2]), np.array([1, 2, 3]), 4)
    np.testing.assert_allclose(gaps(points), [1, 2, 3, 1, 2, 1], rtol=0.01)
    star = _layout(np.zeros(7, int), np.arange(1, 8), 8)
    assert gaps(star).min() > 0.3
    apart = _layout(np.array([0, 2]), np.array([1, 3]), 4)
    assert np.isfinite(apart).all()
