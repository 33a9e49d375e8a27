"""Slices are dealt to ranks, which hold and send no more of them than they need."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import small
from engine_runs import documents_of, make_cpu, make_ranks, on_ranks
from scipy import sparse

import laplex as lx
from laplex.engines.dealing import block_starts, choose_owners, joined_blocks
from laplex.engines.sampling import count_visits
from laplex.engines.shares import Share
from laplex.engines.state import Epoch, State
from laplex.model.graph import Graph

WORDS = 18


def grid(groups: int, periods: int) -> sparse.csr_array:
    """Groups in periods: a chain along the periods of each group, and a star over the groups of each period."""
    number = np.arange(groups * periods).reshape(groups, periods)
    first = np.concatenate([number[:, :-1].ravel(), number[:-1].ravel()])
    second = np.concatenate([number[:, 1:].ravel(), number[1:].ravel()])
    joined = sparse.coo_array((np.full(len(first), 10), (first, second)), shape=(number.size,) * 2).tocsr()
    return joined + joined.T


@pytest.mark.parametrize(("groups", "periods", "ranks"), [(1, 8, 2), (1, 32, 4), (2, 12, 4), (3, 30, 4), (2, 9, 3)])
def test_chains_are_cut_as_rarely_as_they_can_be_and_stars_stay_whole(groups, periods, ranks):
    tokens = np.random.default_rng(1).integers(90, 110, groups * periods)
    owners = choose_owners(tokens, grid(groups, periods), ranks).reshape(groups, periods)
    assert (owners == owners[0]).all()  # every star is whole
    assert (np.diff(owners[0]) != 0).sum() == ranks - 1  # every chain is in as many pieces as there are ranks
    load = np.bincount(owners.ravel(), tokens, ranks)
    assert load.max() <= 1.25 * load.mean()


def test_slices_that_nothing_joins_are_dealt_out_evenly():
    tokens = np.array([100, 1, 90, 10, 50, 49])
    owners = choose_owners(tokens, sparse.csr_array((6, 6), dtype=np.int64), 3)
    assert sorted(np.bincount(owners, tokens).tolist()) == [100, 100, 100]


def test_a_chain_whose_text_is_in_few_slices_is_cut_where_the_text_is():
    tokens = np.array([1, 1, 1, 500, 500, 1, 1, 1, 1, 1])
    owners = choose_owners(tokens, grid(1, 10), 2)
    assert np.bincount(owners, tokens).max() < 510
    assert owners[3] != owners[4]


def test_every_rank_has_text_and_a_slice_without_text_goes_where_it_is_joined_to():
    tokens = np.array([10, 0, 10, 10, 0])
    owners = choose_owners(tokens, grid(1, 5), 3)
    assert len(np.unique(owners[tokens > 0])) == 3
    assert owners[1] in (owners[0], owners[2])
    assert owners[4] == owners[3]


def documents(slices: int, count: int = 640) -> list[dict[str, str]]:
    """The same documents, cut into some number of periods."""
    rows = small.documents(count=count, length=20)
    for number, row in enumerate(rows):
        row["year"] = str(1900 + number * slices // count)
        row["party"] = "DR"[number % 2]
    return rows


def chain_problem(slices: int):
    prior = lx.Ridge(1.0) + lx.Chain("year", 10.0)
    return small.problem(documents(slices), prior, ["year"], dimensions=8)


def grouped_problem():
    prior = lx.Ridge(1.0) + lx.Groups("party", 20.0) + lx.Chain("year", 10.0)
    return small.problem(documents(6, 120), prior, ["party", "year"], dimensions=8)


def with_means(problem, weight: float = 5.0):
    """The problem with a latent mean of each word, to which its vectors in all slices are joined."""
    slices = len(problem.slot) // WORDS - 1
    vectors, old = np.arange(slices * WORDS), problem.graph
    size = len(old) + WORDS
    diagonal = np.append(np.zeros(len(old)), np.ones(WORDS))
    graph = old + Graph.of(size, vectors, len(old) + vectors % WORDS, weight, diagonal=diagonal, latent=WORDS)
    latent = np.full(WORDS, len(problem.slot) - 1)
    return replace(
        problem,
        graph=graph,
        parts={"all": graph},
        initial_row=np.append(problem.initial_row, latent),
        pooled_row=np.append(problem.pooled_row, np.arange(WORDS)),
    )


def part_of_text(problem, communicator):
    return documents_of(problem, np.arange(len(problem.held_out)) % communicator.size == communicator.rank)


PROBLEMS = {
    "chain": lambda: chain_problem(8),
    "groups and chain": grouped_problem,
    "star around means": lambda: with_means(chain_problem(8)),
}


@pytest.fixture(params=[*PROBLEMS])
def problem(request):
    return PROBLEMS[request.param]()


@pytest.mark.parametrize("size", [2, 3])
def test_shares_together_are_the_whole(problem, size):
    """The log prior, the visits and the vectors of all ranks are those of one process."""
    whole = State.zeros(problem)
    whole.theta[: problem.parameters] = small.some_theta(problem)
    whole.accumulator[: problem.parameters] += np.arange(problem.parameters)

    def work(communicator):
        share = Share.of(part_of_text(problem, communicator), communicator)
        state = share.of_whole(whole)
        visits = count_visits(share.problem, 8, 8, share.total)
        log_prior = sum(state.log_prior(graph) for graph in share.problem.parts.values())
        by_word = share.total_by(share.problem.pooled_row, visits.reads, 2 * WORDS)
        return share, share.complete(state), visits, log_prior, by_word

    results = on_ranks(size, work)
    expected = count_visits(problem, 8, 8)
    assert np.isclose(sum(result[3] for result in results), whole.log_prior(problem.graph))
    tokens = sum(len(share.problem.ids) for share, *_ in results)
    assert tokens == len(problem.ids)
    owned = np.concatenate([np.unique(share.problem.word_start) for share, *_ in results])
    assert len(owned) == len(np.unique(owned)) == len(block_starts(problem)) - 1  # each slice is read by one rank
    for share, complete, visits, _, by_word in results:
        np.testing.assert_array_equal(complete.theta, whole.theta)
        np.testing.assert_array_equal(complete.accumulator, whole.accumulator)
        np.testing.assert_allclose(visits.reads, expected.reads[share.rows])
        np.testing.assert_allclose(visits.draws, expected.draws[share.rows])
        np.testing.assert_allclose(by_word, np.bincount(problem.pooled_row, expected.reads, 2 * WORDS))
        assert share.rows[share.problem.slot[share.problem.slot >= 0]].tolist() == sorted(
            problem.slot[share.problem.slot >= 0].tolist()
        )


def test_a_rank_holds_its_own_slices_the_contexts_and_what_is_joined_to_them():
    problem = chain_problem(32)
    shares = on_ranks(2, lambda communicator: Share.of(part_of_text(problem, communicator), communicator))
    for share in shares:
        slices = len(np.unique(share.problem.word_start))
        assert share.problem.parameters == (slices + 1 + 1) * WORDS  # the contexts, and the slice behind the border
        assert len(share.common) == 3 * WORDS  # the contexts, and the slices on both sides of the border


def test_a_latent_mean_is_common_to_the_ranks_whose_slices_it_joins():
    problem = with_means(small.problem(documents(8), lx.Ridge(1.0), ["year"], dimensions=8))
    starts = block_starts(problem)
    joined = joined_blocks(problem, starts).toarray()
    assert (np.diag(joined, 1) == WORDS).all()  # a star counts as its slices one after the other
    assert joined.sum() == 2 * 7 * WORDS
    shares = on_ranks(2, lambda communicator: Share.of(part_of_text(problem, communicator), communicator))
    for share in shares:
        assert set(share.rows[share.common]) == {*range(8 * WORDS, 10 * WORDS)}  # contexts and means
        assert len(share.rows) == 4 * WORDS + 2 * WORDS
    counts = np.bincount(shares[0].home[9 * WORDS :], minlength=2)
    assert counts.min() >= WORDS // 3  # no rank is the home of all means


def bytes_of_training(problem, size: int = 2) -> list[int]:
    def work(communicator):
        share = Share.of(part_of_text(problem, communicator), communicator)
        state = State.initial(share.problem, 1)
        engine = make_ranks(share, state, make_cpu)
        before = communicator.bytes_sent
        for number in range(2):
            engine.run(Epoch(number, 2, 0.1, 1, 1), lambda share: None)
        return communicator.bytes_sent - before

    return on_ranks(size, work)


@pytest.mark.parametrize("means", [False, True])
def test_what_is_sent_does_not_grow_with_the_number_of_slices(means):
    few, many = (chain_problem(slices) for slices in (8, 32))
    if means:
        few, many = map(with_means, (few, many))
    before, after = (np.array(bytes_of_training(each)) for each in (few, many))
    assert (before > 0).all()
    assert after.max() <= 1.05 * before.max()


def test_ranks_that_are_joined_by_nothing_but_contexts_send_these_alone():
    problem = small.problem(documents(8), lx.Ridge(1.0), ["year"], dimensions=8)
    shares = on_ranks(2, lambda communicator: Share.of(part_of_text(problem, communicator), communicator))
    for share in shares:
        assert set(share.rows[share.common]) == {*range(8 * WORDS, 9 * WORDS)}


def test_one_process_has_the_problem_itself():
    problem = chain_problem(8)
    share = on_ranks(1, lambda communicator: Share.of(problem, communicator))[0]
    state = State.initial(problem, 1)
    assert share.problem is problem
    assert share.complete(state) is state
