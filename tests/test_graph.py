"""Graphs as arrays: their Laplacians, their sums, ties, and where they come from."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import laplex as lx
from laplex.model.objective import log_prior

ARRAYS = ("first", "second", "weight", "sign", "directed", "diagonal")


@st.composite
def graphs(draw, nodes=None, weights=(0.0, 0.5, 1.0, 2.0), signs=(1, -1), directed=False):
    """Small graphs, often in several parts, with few diagonal entries."""
    nodes = draw(st.integers(1, 7)) if nodes is None else nodes
    possible = [(i, j) for i in range(nodes) for j in range(nodes) if i != j]
    edges = draw(st.lists(st.sampled_from(possible), max_size=9)) if possible else []

    def each(values):
        return draw(st.lists(st.sampled_from(values), min_size=len(edges), max_size=len(edges)))

    weight = each(weights)
    sign = [1 if np.isinf(a) else s for a, s in zip(weight, each(signs))]
    diagonal = draw(st.lists(st.sampled_from([0.0, 0.0, 0.0, 0.3, 2.0]), min_size=nodes, max_size=nodes))
    first, second = [i for i, _ in edges], [j for _, j in edges]
    toward = each([True, False]) if directed else False
    return lx.Graph.of(nodes, first, second, weight, sign=sign, directed=toward, diagonal=diagonal)


def dense(graph):
    return graph.laplacian().toarray()


def vectors(count, seed=0):
    return np.random.default_rng(seed).standard_normal((count, 3))


@given(graphs())
def test_the_laplacian_is_symmetric_and_positive_semidefinite_also_when_signed(graph):
    laplacian = dense(graph)
    np.testing.assert_array_equal(laplacian, laplacian.T)
    assert np.linalg.eigvalsh(laplacian).min() > -1e-9


@given(graphs(signs=(1,)))
def test_the_rows_of_an_unsigned_laplacian_sum_to_the_diagonal(graph):
    np.testing.assert_allclose(dense(graph).sum(1), graph.diagonal, atol=1e-12)


@given(graphs(nodes=5), graphs(nodes=5))
def test_adding_is_the_sum_of_laplacians_in_either_order(one, two):
    np.testing.assert_allclose(dense(one + two), dense(one) + dense(two), atol=1e-12)
    np.testing.assert_allclose(dense(one + two), dense(two + one), atol=1e-12)


@given(graphs(nodes=5, directed=True), graphs(nodes=5))
def test_nothing_changes_its_input(one, two):
    before = [[getattr(graph, name).copy() for name in ARRAYS] for graph in (one, two)]
    one + two
    one.scaled(3.0)
    one.merge_ties()
    one.unanchored()
    two.laplacian()
    for graph, arrays in zip((one, two), before):
        for name, array in zip(ARRAYS, arrays):
            np.testing.assert_array_equal(getattr(graph, name), array)


def test_a_graph_does_not_share_memory_with_the_arrays_it_was_made_of():
    weight = np.array([1.0, 2.0])
    graph = lx.Graph.of(3, [0, 1], [1, 2], weight)
    weight[:] = 9.0
    np.testing.assert_array_equal(graph.weight, [1.0, 2.0])


@given(graphs(weights=(0.5, 1.0, np.inf)))
def test_merging_ties_keeps_the_log_prior_of_tied_vectors(graph):
    merged, slot = graph.merge_ties()
    theta = vectors(len(merged))
    free = lx.Graph.of(
        len(graph),
        graph.first,
        graph.second,
        np.where(np.isinf(graph.weight), 0.0, graph.weight),  # ‖θ − θ‖² of tied vectors is nothing
        sign=graph.sign,
        diagonal=graph.diagonal,
    )
    assert log_prior(merged, theta) == pytest.approx(log_prior(free, theta[slot]), rel=1e-12, abs=1e-12)
    tied = np.isinf(graph.weight)
    assert (slot[graph.first[tied]] == slot[graph.second[tied]]).all()
    assert not np.isinf(merged.weight).any()


@given(graphs(weights=(1.0, np.inf)))
def test_only_tied_nodes_become_one(graph):
    merged, slot = graph.merge_ties()
    tied = np.isinf(graph.weight)
    ties = nx.Graph(zip(graph.first[tied].tolist(), graph.second[tied].tolist()))
    ties.add_nodes_from(range(len(graph)))
    assert len(merged) == nx.number_connected_components(ties)
    for part in nx.connected_components(ties):
        assert len(set(slot[list(part)])) == 1


@given(graphs())
def test_unanchored_nodes_are_those_of_the_null_space(graph):
    values, vectors = np.linalg.eigh(dense(graph))
    null = vectors[:, values < 1e-9]
    expected = np.flatnonzero((np.abs(null) > 1e-9).any(1))
    np.testing.assert_array_equal(graph.unanchored(), expected)


def test_a_fixed_target_anchors_its_part():
    graph = lx.Graph.of(4, [0, 1], [1, 4], 1.0, targets=np.ones((1, 2)))
    np.testing.assert_array_equal(graph.unanchored(), [2, 3])


def test_targets_of_two_graphs_stay_apart_when_added():
    one = lx.Graph.of(2, [0], [2], 1.0, targets=np.array([[1.0, 0.0]]))
    two = lx.Graph.of(2, [0, 1], [1, 2], [5.0, 3.0], targets=np.array([[0.0, 2.0]]))
    theta = np.array([[0.5, 0.5], [1.0, -1.0]])
    assert log_prior(one + two, theta) == pytest.approx(log_prior(one, theta) + log_prior(two, theta))


def test_a_negative_edge_within_a_tie_shrinks_the_vector():
    merged, _ = lx.Graph.of(2, [0, 0], [1, 1], [np.inf, 0.5], sign=[1, -1]).merge_ties()
    np.testing.assert_array_equal(merged.diagonal, [2.0])  # ½ · 0.5 ‖2θ‖² = ½ · 2 ‖θ‖²


# Where graphs come from


def matrix_of(graph, names):
    """The signed adjacency matrix in the order of `names`, an edge in both directions unless directed."""
    place = [list(names).index(name) for name in graph.names]
    matrix = np.zeros((len(names), len(names)))
    for i, j, a, s, directed in zip(graph.first, graph.second, graph.weight, graph.sign, graph.directed):
        matrix[place[i], place[j]] += s * a
        if not directed:
            matrix[place[j], place[i]] += s * a
    return matrix


def test_from_a_networkx_graph():
    source = nx.Graph()
    source.add_edge("a", "b", weight=2.0)
    source.add_edge("b", "c", weight=-0.5)
    source.add_edge("a", "c")
    source.add_node("alone")
    graph = lx.Graph.from_networkx(source)
    assert set(graph.names) == {"a", "b", "c", "alone"}
    assert not graph.directed.any()
    expected = [[0, 2, 1, 0], [2, 0, -0.5, 0], [1, -0.5, 0, 0], [0, 0, 0, 0]]
    np.testing.assert_array_equal(matrix_of(graph, ["a", "b", "c", "alone"]), expected)


def test_from_a_networkx_digraph():
    source = nx.DiGraph()
    source.add_edge("a", "b", trust=2.0)
    source.add_edge("c", "b", trust=1.0)
    graph = lx.Graph.from_networkx(source, weight="trust")
    assert graph.directed.all()
    np.testing.assert_array_equal(matrix_of(graph, "abc"), [[0, 2, 0], [0, 0, 0], [0, 1, 0]])


def test_from_an_adjacency_matrix():
    matrix = np.array([[0, 2, 0], [2, 0, 1], [0, 1, 0]])
    graph = lx.Graph.from_sparse(sparse.csr_array(matrix), "abc")
    assert graph.edges == 2
    assert not graph.directed.any()
    np.testing.assert_array_equal(matrix_of(graph, "abc"), matrix)


def test_from_a_signed_adjacency_matrix():
    matrix = np.array([[0, -2.0], [-2.0, 0]])
    graph = lx.Graph.from_sparse(matrix, "ab")
    np.testing.assert_array_equal(dense(graph), [[2.0, 2.0], [2.0, 2.0]])


def test_an_asymmetric_matrix_gives_directed_edges():
    matrix = np.array([[0, 2, 0], [1, 0, 0], [0, -3, 0]])
    graph = lx.Graph.from_sparse(sparse.coo_array(matrix), "abc")
    assert graph.directed.all()
    np.testing.assert_array_equal(matrix_of(graph, "abc"), matrix)


@given(graphs(signs=(1,)))
def test_a_laplacian_comes_back_as_it_was(graph):
    again = lx.Graph.from_sparse(graph.laplacian(), range(len(graph)), laplacian=True)
    np.testing.assert_allclose(dense(again), dense(graph), atol=1e-9)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_from_a_frame_of_edges(frame):
    graph = lx.Graph.from_frame(frame({"one": ["a", "b"], "two": ["b", "c"], "how": [2.0, -1.0]}))
    np.testing.assert_array_equal(matrix_of(graph, "abc"), [[0, 2, 0], [2, 0, -1], [0, -1, 0]])
    directed = lx.Graph.from_frame(frame({"one": ["a", "b"], "two": ["b", "c"]}), directed=True)
    np.testing.assert_array_equal(matrix_of(directed, "abc"), [[0, 1, 0], [0, 0, 1], [0, 0, 0]])


# What is refused


def test_duplicate_edges_add_up():
    once = lx.Graph.of(3, [0, 1], [1, 2], [3.5, 1.0])
    twice = lx.Graph.of(3, [0, 1, 1], [1, 0, 2], [1.5, 2.0, 1.0])
    np.testing.assert_array_equal(dense(once), dense(twice))
    merged, _ = twice.merge_ties()
    assert merged.edges == 2
    np.testing.assert_array_equal(dense(merged), dense(once))


def test_duplicate_entries_of_a_matrix_add_up():
    matrix = sparse.coo_array(([1.0, 2.0, 3.0], ([0, 0, 1], [1, 1, 0])), shape=(2, 2))
    graph = lx.Graph.from_sparse(matrix, "ab")
    np.testing.assert_array_equal(dense(graph), [[3.0, -3.0], [-3.0, 3.0]])


def test_edges_of_both_signs_between_two_nodes_stay_apart():
    both, _ = lx.Graph.of(2, [0, 0], [1, 1], [1.0, 2.0], sign=[1, -1]).merge_ties()
    np.testing.assert_array_equal(dense(both), [[3.0, 1.0], [1.0, 3.0]])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: lx.Graph.of(2, [1], [1]), "from a node to itself"),
        (lambda: lx.Graph.from_networkx(nx.Graph([("dog", "dog")])), "to itself.*dog"),
        (lambda: lx.Graph.from_sparse(np.eye(2), "ab"), "joins a to itself"),
        (lambda: lx.Graph.from_frame(pd.DataFrame({"a": ["x"], "b": ["x"]})), "to itself.*x"),
        (lambda: lx.Graph.of(2, [0], [1], np.nan), "not numbers, such as nan"),
        (lambda: lx.Graph.of(2, [0], [1], -1.0), "sign of −1"),
        (lambda: lx.Graph.of(2, diagonal=[0.0, -1.0]), "1 diagonal entries are negative.*-1.0 of node 1"),
        (lambda: lx.Graph.of(2, diagonal=[0.0, np.nan]), "not numbers"),
        (lambda: lx.Graph.of(2, diagonal=[0.0, np.inf]), "node 1 is infinite"),
        (lambda: lx.Graph.of(2, [0], [1], np.inf, sign=-1), "cannot be infinite"),
        (lambda: lx.Graph.of(2, [0], [1], np.inf, directed=True), "cannot be infinite"),
        (lambda: lx.Graph.of(1, [0], [1], np.inf, targets=np.ones((1, 2))), "cannot be infinite"),
        (lambda: lx.Graph.of(2, [0], [2]), "node 2.*only 2 nodes"),
        (lambda: lx.Graph.of(2, [-1], [0]), "node -1"),
        (lambda: lx.Graph.of(3, [0, 1], [2]), "2 first and 1 second"),
        (lambda: lx.Graph.from_sparse(np.array([[0, np.nan], [np.nan, 0]]), "ab"), "not finite"),
        (lambda: lx.Graph.from_sparse(np.array([[0, np.inf], [np.inf, 0]]), "ab"), "not finite"),
        (lambda: lx.Graph.from_sparse(np.zeros((2, 3)), "ab"), r"\(2, 3\) for 2 names"),
        (lambda: lx.Graph.from_sparse(np.array([[1, 1], [1, 1]]), "ab", laplacian=True), "not a Laplacian.*a and b"),
        (lambda: lx.Graph.from_sparse(np.array([[1, -1], [0, 1]]), "ab", laplacian=True), "symmetric"),
        (lambda: lx.Graph.from_sparse(np.array([[1, -2], [-2, 2]]), "ab", laplacian=True), "negative"),
        (lambda: lx.Graph.from_frame(pd.DataFrame({"a": ["x"]})), "two or three columns.*1"),
        (lambda: lx.Graph.of(2) + lx.Graph.of(3), "2 and 3 nodes"),
        (lambda: lx.Graph.of(2, [0], [1], directed=True).laplacian(), "no Laplacian"),
        (lambda: lx.Graph.of(2, [0], [1], np.inf).laplacian(), "merge"),
    ],
)
def test_what_is_no_graph_is_refused(make, message):
    with pytest.raises(lx.InputError, match=message):
        make()


def test_the_signed_graph_taken_for_a_laplacian_is_told_what_to_do():
    signed = lx.Graph.of(2, [0], [1], 1.0, sign=-1).laplacian()
    with pytest.raises(lx.InputError, match="adjacency matrix, with laplacian=False"):
        lx.Graph.from_sparse(signed, "ab", laplacian=True)


def test_a_singular_prior_names_the_rows():
    with pytest.raises(lx.InputError, match=r"2 of 3 rows, such as row 0, row 1: .* singular.*lx.Ridge"):
        lx.Graph.of(3, [0], [1], diagonal=[0, 0, 1]).check_positive_definite(lambda row: f"row {row}")
