"""What an epoch reads and samples is what it is expected to, so that every row takes its prior once."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import small
from engine_runs import documents_of, make_cpu, make_torch, on_ranks

import laplex as lx
from laplex.engines import dealing
from laplex.engines.cpu import PRIOR_VISITS
from laplex.engines.sampling import AliasTables, Segments, count_visits
from laplex.engines.state import Epoch, State
from laplex.engines.variational import Variational

SUBSAMPLING = [0.0, 1e-2, 1e-3, 1e-4, 1e-5]  # the last keeps one token in 45 of this small vocabulary


def documents(lengths=(1, 2, 3, 5, 9, 17, 40, 90), count=72, words=60):
    """Documents of many lengths by two parties, one of which lacks a tenth of the words."""
    rows = []
    for number in range(count):
        row = small.documents(1, lengths[number // 2 % len(lengths)], words, seed=number)[0]
        party = "DR"[number % 2]
        text = [word for word in row["text"] if party == "D" or int(word) % 10]
        rows.append(row | {"party": party, "text": text or ["1"]})
    return rows


def make_problem(subsample=0.0, likelihood="cbow", **options):
    return small.problem(documents(**options), lx.Ridge(1.0), ["party"], subsample=subsample, likelihood=likelihood)


def simulated(problem, block, negatives, epochs=1500):
    """(P) Mean reads and negatives of many epochs, as the kernels read documents that are not cut."""
    random = np.random.default_rng(0)
    reads, draws = np.zeros(problem.parameters), np.zeros(problem.parameters)
    for m in range(len(problem.offsets) - 1):
        ids = problem.ids[problem.offsets[m] : problem.offsets[m + 1]]
        kept = random.random((epochs, len(ids))) < problem.keep[ids]
        kept &= kept.sum(1, keepdims=True) > 1
        np.add.at(reads, problem.slot[problem.word_start[m] + ids], kept.mean(0))
        np.add.at(reads, problem.slot[problem.context_start[m] + ids], kept.mean(0))
        noise = problem.negatives_of(0)
        slots = problem.slot[problem.word_start[m] : problem.word_start[m] + len(noise)]
        draws[slots] += negatives * np.ceil(kept.sum(1) / block).mean() * noise
    return reads, draws


@pytest.mark.parametrize("subsample", SUBSAMPLING)
@pytest.mark.parametrize(("block", "negatives"), [(8, 8), (22, 8), (8, 32)])
def test_expected_visits_are_those_of_many_epochs(subsample, block, negatives):
    problem = make_problem(subsample)
    visits = count_visits(problem, block, negatives)
    reads, draws = simulated(problem, block, negatives)
    np.testing.assert_allclose(visits.reads, reads, rtol=0.1, atol=0.05)
    assert visits.reads.sum() == pytest.approx(reads.sum(), rel=0.01)
    np.testing.assert_allclose(visits.draws, draws, rtol=0.03)
    if not subsample:
        np.testing.assert_allclose(visits.reads, reads, rtol=1e-12)
        np.testing.assert_allclose(visits.draws, draws, rtol=1e-12)


def test_documents_are_cut_into_equal_parts():
    offsets = np.array([0, 3, 3, 13, 20])
    segments = Segments.of(offsets, 4)
    assert segments.offsets.tolist() == [0, 3, 3, 6, 9, 13, 16, 20]
    assert segments.document.tolist() == [0, 1, 2, 2, 2, 3, 3]
    assert segments.is_whole.tolist() == [True, True, False, False, False, False, False]
    np.testing.assert_array_equal(Segments.of(offsets).offsets, offsets)


def test_alias_tables_have_the_distribution_of_the_negatives():
    problem = make_problem()
    tables = AliasTables.of(problem)
    size = len(problem.noise)
    found = np.bincount(tables.other, 1.0 - tables.chance, size) + tables.chance
    np.testing.assert_allclose(found / size, problem.noise, rtol=1e-5)


# How much of the prior a row takes in an epoch

STEP, STRENGTH = 1e-9, 1e6  # so short a step that the text moves nothing, and a prior that does all the same


def taken(engine, epochs):
    """(P) The share of its ridge, or (E) of its edges, that was applied in an epoch, on average."""
    graph, state = engine.problem.graph, engine.state
    state.accumulator[:] = STEP**-2
    state.theta[:] = 1.0
    state.theta[graph.first] = 2.0
    engine.push(np.arange(len(state.theta)))
    before = measured(graph, state)
    for number in range(epochs):
        engine.run(Epoch(number, 10**9, 1.0, 1, 1), lambda share: None)
    engine.pull()
    ends = 2.0 if graph.edges else 1.0  # both ends of an edge move
    return np.log(before / measured(graph, state)) / (ends * STEP * STRENGTH * epochs)


def measured(graph, state):
    theta = state.theta.astype(np.float64)
    return np.abs(theta[graph.first] - theta[graph.second])[:, 0] if graph.edges else theta[:, 0]


def with_prior(problem, edges):
    """A ridge of all rows; or an edge between each word of one party and the same word of the other."""
    if not edges:
        graph = lx.Graph.of(problem.parameters, diagonal=STRENGTH)
    else:
        words = len(problem.noise)
        graph = lx.Graph.of(problem.parameters, np.arange(words), words + np.arange(words), STRENGTH)
    return replace(problem, graph=graph, parts={"prior": graph})


def check_taken_once(problem, visits, shares, epochs, negatives):
    """Within the noise: for every row, and for the mean of all that are read, and of all that are not."""
    graph = problem.graph
    count = visits.count[graph.first] + visits.count[graph.second] if graph.edges else visits.count
    deviation = 1.0 / np.sqrt(epochs * np.minimum(count, PRIOR_VISITS))
    assert (np.abs(shares - 1.0) < 5.0 * deviation + 0.01).all()
    only_drawn = visits.reads[graph.first if graph.edges else slice(None)] == 0
    only_drawn |= visits.reads[graph.second if graph.edges else slice(None)] == 0
    assert 0 < only_drawn.sum() < len(only_drawn)
    for part in (only_drawn, ~only_drawn):
        weight = deviation[part] ** -2
        mean = (shares[part] * weight).sum() / weight.sum()
        # rows share the blocks of an epoch, so that their noise is not independent
        blocks = epochs * visits.draws.sum() / negatives
        assert mean == pytest.approx(1.0, abs=4.0 / np.sqrt(weight.sum()) + 4.0 / np.sqrt(blocks))


def make_variational(problem, state, block, negatives):
    means = np.zeros((problem.parameters, problem.dimensions), np.float32)
    return Variational(problem, means, block, negatives, 500)


ENGINES = {
    "cpu": lambda *of: make_cpu(*of[:2], block=of[2], negatives=of[3]),
    "variational": make_variational,
}


@pytest.mark.slow
@pytest.mark.parametrize("edges", [False, True])
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("likelihood", "subsample", "block", "negatives"),
    [
        ("cbow", 0.0, 8, 8),
        ("cbow", 1e-3, 8, 32),
        ("cbow", 1e-4, 16, 8),
        ("sgns", 1e-2, 16, 16),
        ("sgns", 1e-3, 16, 8),
        ("sgns", 1e-4, 8, 24),
        ("cbow", 1e-5, 8, 32),
        ("sgns", 1e-5, 16, 24),
    ],
)
def test_every_row_takes_its_prior_once(likelihood, subsample, block, negatives, engine, edges):
    problem = with_prior(make_problem(subsample, likelihood), edges)
    made = ENGINES[engine](problem, State.initial(problem, 1), block, negatives)
    epochs = 600
    check_taken_once(problem, made.visits, taken(made, epochs), epochs, negatives)


@pytest.mark.parametrize("likelihood", ["cbow", "sgns"])
@pytest.mark.parametrize("subsample", [0.0, 1e-3])
def test_every_row_takes_its_prior_once_from_documents_that_are_cut(subsample, likelihood, monkeypatch):
    monkeypatch.setattr("laplex.engines.sampling.SEGMENT_TOKENS", 50)
    problem = with_prior(make_problem(subsample, likelihood), edges=False)
    engine = make_cpu(problem, State.initial(problem, 1))
    assert len(engine._segments.document) > len(problem.held_out)
    check_taken_once(problem, engine.visits, taken(engine, 600), 600, problem.likelihood.block)


@pytest.mark.parametrize("owned", [True, False])
@pytest.mark.parametrize(("subsample", "block", "negatives"), [(0.0, 8, 8), (1e-3, 8, 32), (1e-4, 16, 8)])
def test_ranks_together_take_the_prior_once(subsample, block, negatives, owned):
    """A party is read by one rank alone, or by both."""
    problem = with_prior(make_problem(subsample), edges=False)
    epochs = 600

    def work(communicator):
        here = np.arange(len(problem.held_out)) // 2 % 2 == communicator.rank
        part = documents_of(problem, here)
        part = dealing.deal(part, communicator)[0] if owned else part
        state = State.initial(part, 1)
        engine = make_cpu(part, state, block=block, negatives=negatives, total=communicator.allreduce)
        assert len(np.unique(part.word_start)) == (1 if owned else 2)
        return engine.visits, taken(engine, epochs), engine.visits.share

    (visits, first, share), (_, second, other) = on_ranks(2, work)
    check_taken_once(problem, visits, first + second, epochs, negatives)
    np.testing.assert_allclose(share + other, 1.0)


@pytest.mark.parametrize("edges", [False, True])
@pytest.mark.parametrize("size", [1, 2])
def test_a_device_takes_the_prior_once(edges, size):
    pytest.importorskip("torch")
    problem = with_prior(make_problem(1e-4), edges)

    def work(communicator):
        part = documents_of(problem, np.arange(len(problem.held_out)) // 2 % size == communicator.rank)
        return taken(make_torch(part, State.initial(part, 1), total=communicator.allreduce), 3)

    np.testing.assert_allclose(sum(on_ranks(size, work)), 1.0, rtol=0.01)
