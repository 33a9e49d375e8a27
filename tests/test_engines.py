"""Every engine finds the maximum of the same log posterior."""

from __future__ import annotations

import math
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
import small

import laplex as lx
from laplex.engines import cpu, reference
from laplex.objective import log_posterior, log_prior, log_prior_gradient
from laplex.training import BLOCKS

PAIRS = [("0", "4"), ("1", "7", 2.0), ("2", "5"), ("3", "9", 0.5)]
TRANSLATIONS = [(f"x{k}", f"y{k}") for k in range(12)]


def values(problem, state):
    """The vectors without their padding."""
    return state.theta[: problem.parameters, : problem.dimensions].astype(np.float64)


def start_of(problem, seed=1):
    return values(problem, cpu.initial(problem, seed))


def run_cpu(problem, epochs=300, rate=0.3, seed=1, threads=1, history=None):
    state = cpu.initial(problem, seed)
    engine = cpu.Cpu(problem, state, piece=500)
    block = BLOCKS[problem.likelihood]
    for number in range(epochs):
        _, totals = engine.run(cpu.Epoch(number, epochs, rate, seed, threads, block, block), lambda share: None)
        if history is not None:
            history.append(totals[1] / totals[2])
    state.fill(problem.graph)
    return values(problem, state)


def check_near_the_maximum(problem):
    """Within 1% of the reference's log posterior, and of 3% of the way that there was to go."""
    found = run_cpu(problem)
    assert np.isfinite(found).all()
    value, start = log_posterior(problem, found)[0], log_posterior(problem, start_of(problem))[0]
    best = reference.maximize(problem, found, steps=400, tolerance=1e-6)
    best_value = log_posterior(problem, best)[0]
    gap = abs(best_value - value) if problem.graph.directed.any() else best_value - value  # no maximum when directed
    assert gap < 0.01 * abs(best_value)
    assert gap < 0.03 * (best_value - start)


@pytest.fixture
def speeches():
    return small.documents(count=48)


@pytest.mark.parametrize("likelihood", ["cbow", "sgns"])
@pytest.mark.parametrize("name", ["groups", "ridge", "word-context", "signed"])
def test_the_prior_counts_once(speeches, name, likelihood):
    """Twice or half the strength would show in what it costs."""
    prior, vary = {
        "groups": (lx.Ridge(1.0) + lx.Groups("party", 100.0), ["party"]),
        "ridge": (lx.Ridge(20.0), []),
        "word-context": (lx.Ridge(1.0) + lx.Pairs(PAIRS, 100.0, joins="word-context"), []),
        "signed": (lx.Ridge(1.0) + lx.Pairs([("0", "4", -1.0), ("5", "1", -1.0)], 100.0), []),
    }[name]
    problem = small.problem(speeches, prior, vary, likelihood=likelihood)
    edges = problem.graph if name == "ridge" else replace(problem.graph, diagonal=np.zeros(problem.parameters))
    found = run_cpu(problem)
    best = reference.maximize(problem, found, steps=400, tolerance=1e-6)
    assert log_prior(edges, found) == pytest.approx(log_prior(edges, best), rel=0.2)


@pytest.mark.parametrize("likelihood", ["cbow", "sgns"])
def test_a_directed_edge_counts_once(speeches, likelihood):
    """What all else pulls an end by is what the edge holds it by, nearly: it never comes quite to rest."""
    prior = lx.Ridge(1.0) + lx.Pairs([("0", "4"), ("5", "1")], 30.0, directed=True)
    problem = small.problem(speeches, prior, [], likelihood=likelihood)
    graph = problem.graph
    found = run_cpu(problem)
    apart = found[graph.first] - found[graph.second]
    rest = replace(problem, graph=replace(graph, weight=np.zeros(len(graph.weight))))
    pull = log_posterior(rest, found)[1][graph.first]
    assert 0.65 * 30 < (pull * apart).sum() / (apart * apart).sum() < 1.5 * 30


def crossed(strength):
    return lx.Groups("party", strength) + lx.Chain("year", 2 * strength)


def signed(strength):
    """Words that are to be unlike cannot be tied."""
    return lx.Pairs(PAIRS, strength) + lx.Pairs([("6", "8", -1.0), ("0", "10", -2.0)], min(strength, 1e6))


def directed(strength):
    """Weak: strong ones have no potential, and so need not come to rest anywhere."""
    return lx.Pairs([("0", "4"), ("4", "1"), ("5", "2", -1.0)], min(strength, 5.0), directed=True)


def mixed(strength):
    """All kinds at once."""
    graph = nx.Graph()
    graph.add_edge(("6", "word", ("D",)), ("8", "context"), weight=2.0)
    anchor = lx.Anchor({"11": np.array([1.0, -1.0, 0.5, 0.0])}, 3.0)
    own = lx.Edges(lx.Graph.from_networkx(graph), strength)
    return lx.GroupMean("party", min(strength, 1e6), 0.5) + signed(3.0) + directed(1.0) + own + anchor


GRAPHS = {
    "grouped": (lambda s: lx.Groups("party", s), ["party"]),
    "dynamic": (lambda s: lx.Chain("year", s, start=0.5), ["year"]),
    "grouped and dynamic": (crossed, ["party", "year"]),
    "dictionary": (lambda s: lx.Pairs(PAIRS, s, joins="word-context"), []),
    "signed": (signed, []),
    "directed": (directed, []),
    "mixed": (mixed, ["party"]),
}
STRENGTHS = [0, 1, 100, 1e4, 1e6, math.inf]


@pytest.mark.parametrize("likelihood", ["cbow", "sgns"])
@pytest.mark.parametrize("strength", STRENGTHS)
@pytest.mark.parametrize("name", GRAPHS)
def test_graphs_of_every_kind_and_strength(speeches, name, strength, likelihood):
    make, vary = GRAPHS[name]
    check_near_the_maximum(small.problem(speeches, lx.Ridge(1.0) + make(strength), vary, likelihood=likelihood))


@pytest.mark.parametrize("likelihood", ["cbow", "sgns"])
@pytest.mark.parametrize("strength", [100, 1e4, 1e6, 1e12])
def test_strong_directed_edges_lead_and_do_not_follow(speeches, strength, likelihood):
    """The first word goes to where the second is, which is where it would be without the edge."""
    alone, led = (
        run_cpu(small.problem(speeches, lx.Ridge(1.0) + prior, likelihood=likelihood))
        for prior in (lx.Ridge(0.0), lx.Pairs([("12", "13"), ("14", "13", -1.0)], strength, directed=True))
    )
    words = small.layout(speeches).vocabularies[0]
    first, leader, unlike = (led[words[word]] for word in ("12", "13", "14"))
    size = np.linalg.norm(leader)
    loose = max(0.02, 50 / strength)
    assert np.linalg.norm(first - leader) < loose * size
    assert np.linalg.norm(unlike + leader) < loose * size
    assert size > 0.3 * np.linalg.norm(alone[words["13"]])
    assert np.linalg.norm(alone[words["12"]] - alone[words["13"]]) > 0.3 * size


@pytest.mark.parametrize("likelihood", ["cbow", "sgns"])
@pytest.mark.parametrize("strength", STRENGTHS)
def test_two_languages(strength, likelihood):
    rows = small.documents(count=60, words=14, languages=("x", "y"))
    prior = lx.Ridge(1.0) + lx.Translations(TRANSLATIONS, strength)
    check_near_the_maximum(small.problem(rows, prior, likelihood=likelihood))


def test_stronger_groups_are_more_alike(speeches):
    distance = []
    for strength in (0, 1, 100, 1e4, 1e12):
        problem = small.problem(speeches, lx.Ridge(1.0) + lx.Groups("party", strength), ["party"])
        found = run_cpu(problem)
        where = small.layout(speeches, ["party"])
        distance.append(np.linalg.norm(found[where.words(0, 0)] - found[where.words(0, 1)]))
    assert (np.diff(distance) < 0).all()
    assert distance[-1] < 1e-3 * distance[0]


def test_an_infinite_strength_gives_identical_vectors(speeches):
    problem = small.problem(speeches, lx.Ridge(1.0) + lx.Groups("party", math.inf), ["party"])
    where = small.layout(speeches, ["party"])
    found = run_cpu(problem, epochs=5)[problem.slot]
    np.testing.assert_array_equal(found[where.words(0, 0)], found[where.words(0, 1)])
    assert len(np.unique(found[where.words(0, 0)], axis=0)) == len(where.words(0, 0))


@pytest.mark.parametrize("likelihood", ["cbow", "sgns"])
def test_an_infinite_strength_ties_words_to_contexts(speeches, likelihood):
    prior = lx.Ridge(1.0) + lx.Pairs(PAIRS[:1], math.inf, joins="word-context")
    problem = small.problem(speeches, prior, likelihood=likelihood)
    where = small.layout(speeches)
    one, two = where.vocabularies[0]["0"], where.vocabularies[0]["4"]
    assert problem.slot[where.words(0, 0)[one]] == problem.slot[where.contexts(0)[two]]
    check_near_the_maximum(problem)


def test_all_slices_of_a_word_start_from_one_vector(speeches):
    prior = lx.Ridge(1.0) + lx.Chain("year", 1.0)
    problem = small.problem(speeches, prior, ["party", "year"])
    where = small.layout(speeches, ["party", "year"])
    start = start_of(problem)
    first = start[where.words(0, 0)]
    assert len(np.unique(first, axis=0)) == len(first)
    for slice in range(1, len(where.slices)):
        np.testing.assert_array_equal(start[where.words(0, slice)], first)
    assert not (start[where.contexts(0)] == first).any()


@pytest.fixture
def absent(speeches):
    """In the text of one party some words are missing."""
    return [
        row | {"text": [w for w in row["text"] if row["party"] == "D" or w not in ("6", "8", "9")]} for row in speeches
    ]


@pytest.mark.parametrize("likelihood", ["cbow", "sgns"])
@pytest.mark.parametrize("strength", [1, 100])
def test_a_word_that_a_slice_lacks_is_where_the_posterior_is_highest(absent, strength, likelihood):
    """It is never read there, but drawn as a negative: its absence is evidence, too."""
    prior = lx.Ridge(1.0) + lx.Groups("party", strength)
    problem = small.problem(absent, prior, ["party"], likelihood=likelihood)
    where = small.layout(absent, ["party"])
    unread = [where.words(0, 1)[where.vocabularies[0][word]] for word in ("6", "8", "9")]
    np.testing.assert_array_equal(np.flatnonzero(problem.visits == 0), sorted(unread))
    check_near_the_maximum(problem)


@pytest.mark.parametrize("likelihood", ["cbow", "sgns"])
def test_rows_that_nothing_has_touched_are_filled_by_the_prior_exactly(speeches, likelihood):
    anchor = lx.Anchor({"8": np.array([1.0, -1.0, 0.5, 0.0])}, 3.0)
    pairs = lx.Pairs([("6", "8", -1.0), ("9", "0")], 2.0) + lx.Pairs([("6", "1")], 4.0, directed=True)
    prior = lx.Ridge(0.5) + lx.Groups("party", 5.0) + pairs + anchor
    problem = small.problem(speeches, prior, ["party"], likelihood=likelihood)
    where = small.layout(speeches, ["party"])
    of_republicans = problem.word_start == where.word_start(0, 1)
    unread = np.array(where.words(0, 1))
    visits = problem.visits.copy()
    visits[unread] = 0.0
    found = run_cpu(replace(problem, held_out=of_republicans, visits=visits), epochs=20)
    gradient = log_prior_gradient(problem.graph, found)
    assert np.abs(gradient[unread]).max() < 1e-4
    assert np.abs(found[unread]).min() > 0.0
    assert np.abs(gradient).max() > 0.1


# The same again


@pytest.mark.parametrize("likelihood", ["cbow", "sgns"])
def test_one_thread_and_one_seed_give_the_same_bits(speeches, likelihood):
    problem = small.problem(speeches, lx.Ridge(1.0) + lx.Groups("party", 10.0), ["party"], likelihood=likelihood)
    once, again, other = (run_cpu(problem, epochs=4, seed=seed) for seed in (1, 1, 2))
    assert once.tobytes() == again.tobytes()
    assert once.tobytes() != other.tobytes()


@pytest.mark.parametrize("likelihood", ["cbow", "sgns"])
def test_two_threads_find_the_same_maximum(speeches, likelihood):
    problem = small.problem(speeches, lx.Ridge(1.0) + lx.Groups("party", 1e4), ["party"], likelihood=likelihood)
    one, two = (run_cpu(problem, threads=threads) for threads in (1, 2))
    assert np.isfinite(two).all()
    assert log_posterior(problem, two)[0] == pytest.approx(log_posterior(problem, one)[0], rel=0.01)


@pytest.mark.parametrize("seed", [0, 2**31, 2**62])
def test_any_seed_will_do(speeches, seed):
    problem = small.problem(speeches, lx.Ridge(1.0))
    assert np.isfinite(run_cpu(problem, epochs=1, seed=seed)).all()


def test_more_than_one_vector_register_of_dimensions(speeches):
    """The padding behind the dimensions stays empty, and changes nothing."""
    problem = small.problem(speeches, lx.Ridge(1.0), dimensions=18)
    state = cpu.initial(problem, 1)
    cpu.Cpu(problem, state, piece=500).run(cpu.Epoch(0, 1, 0.1, 1, 1, 8, 8), lambda share: None)
    assert state.theta.shape[1] == 32
    assert not state.theta[:, 18:].any()
    assert np.isfinite(state.theta).all()


GOLDEN = {
    "cbow": [-2.87176, -2.08269, -2.20023, -2.38881, -2.30345, -2.1553, -2.17337, -2.11238],
    "sgns": [-10.034036, -8.579288, -8.501415, -8.42344, -8.833998, -8.588431, -8.349554, -8.457168],
}


@pytest.mark.parametrize("likelihood", ["cbow", "sgns"])
def test_the_log_likelihoods_on_the_way_are_those_of_before(speeches, likelihood):
    problem = small.problem(speeches, lx.Ridge(1.0) + lx.Groups("party", 10.0), ["party"], likelihood=likelihood)
    history = []
    run_cpu(problem, epochs=8, history=history)
    np.testing.assert_allclose(history, GOLDEN[likelihood], rtol=1e-4)
