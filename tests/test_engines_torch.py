"""The Torch engine finds the same maximum as the others, on any device, without waiting for the host."""

from __future__ import annotations

import numpy as np
import pytest
import small
from engine_runs import make_torch, run_torch

import laplex as lx
from laplex.engines.state import Epoch, State
from laplex.engines.torch import matchings
from laplex.model.objective import log_posterior

torch = pytest.importorskip("torch")
from laplex.engines.batches import Pieces  # noqa: E402
from laplex.engines.torch import _Rows, device_of  # noqa: E402


@pytest.fixture
def speeches():
    return small.documents(count=48)


def test_mixed_precision_comes_close(speeches):
    problem = small.problem(speeches, lx.Ridge(1.0) + lx.Groups("party", 10.0), ["party"])
    full, mixed = (log_posterior(problem, run_torch(problem, 30, precision=p))[0] for p in ("full", "mixed"))
    assert mixed == pytest.approx(full, rel=0.01)
    assert mixed != full


def test_the_same_seed_gives_the_same_vectors(speeches):
    problem = small.problem(speeches, lx.Ridge(1.0))
    one, two, other = (run_torch(problem, 3, seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, two)
    assert (one != other).any()


def test_a_run_goes_on_from_its_arrays_as_if_nothing_had_happened(speeches):
    problem = small.problem(speeches, lx.Ridge(1.0) + lx.Groups("party", 10.0), ["party"])
    whole = make_torch(problem, State.initial(problem, 1), batch=64, piece=300)
    assert whole.pieces > 2
    epochs = [Epoch(number, 2, 0.3, 1, 1) for number in range(2)]
    for epoch in epochs:
        whole.run(epoch, lambda share: None)
    first = make_torch(problem, State.initial(problem, 1), batch=64, piece=300)
    first.run(epochs[0], lambda share: None)
    stopped, _ = first.run(epochs[1], lambda share: None, seconds=0.0)
    assert stopped == 1
    first.pull()
    second = make_torch(problem, first.state, batch=64, piece=300)
    second.run(epochs[1], lambda share: None, stopped)
    assert torch.equal(second.theta, whole.theta)


@pytest.mark.parametrize("likelihood", ["cbow", "sgns"])
def test_a_batch_has_the_gradient_of_the_objective(speeches, likelihood):
    """With every word drawn as a negative as often as expected, the gradient is the exact one."""
    problem = small.problem(speeches, lx.Ridge(1.0), [], likelihood=likelihood)
    engine = make_torch(problem, State.initial(problem, 1), batch=2048, piece=10_000)
    theta = small.some_theta(problem)
    engine.theta[:-1] = torch.from_numpy(theta.astype(np.float32))
    words = len(problem.noise)
    weights = torch.from_numpy(problem.noise.astype(np.float32) * words)
    (batch,) = engine._texts.read(1, 0, 0, torch.Generator())[1]
    every = (batch.negative[:, None] + torch.arange(words)).expand(len(batch.negative), words)
    summed = torch.zeros_like(engine.theta)
    product = engine._product

    def weighted(one, two, out=None):
        """The scores of negatives are kept; what follows from them is weighted by how likely they are."""
        if one.shape[1:] == (8, words):
            one = one * weights
        elif one.shape[1:] == (words, 8):
            one = one * weights[:, None]
        return product(one, two, out)

    engine._product = weighted
    rows = torch.cat([engine._slot[part].reshape(-1) for part in (batch.word, batch.context, every)])
    read = _Rows.of(engine.theta[rows], len(batch.word), every.shape)
    gradients = torch.empty_like(read.all)
    getattr(engine, f"_{likelihood}")(batch, read, _Rows.of(gradients, len(batch.word), every.shape), None)
    summed.index_add_(0, rows, gradients)
    exact = log_posterior(problem, theta)[1] + problem.graph.diagonal[:, None] * theta
    np.testing.assert_allclose(summed[:-1].numpy(), exact, atol=2e-3 * np.abs(exact).max())


def test_windows_end_with_documents_and_negatives_are_of_the_slice(speeches):
    problem = small.problem(speeches, lx.Ridge(1.0) + lx.Groups("party", 1.0), ["party", "year"])
    tokens, batches = Pieces(problem, torch.device("cpu"), 64, 10_000, 8).read(1, 0, 0, torch.Generator())
    starts = np.unique(problem.word_start)
    seen = 0
    for batch in batches:
        words = batch.word.numpy()
        real = batch.degree[2:-2].numpy() > 0
        base = starts[np.searchsorted(starts, np.minimum(words, problem.word_start.max() + 17), "right") - 1]
        assert (base[real] == batch.negative.numpy().repeat(8)[real]).all()
        seen += real.sum()
    assert seen == tokens == len(problem.ids)
    lengths = np.diff(problem.offsets)
    expected = sum(min(i, 2) + min(n - 1 - i, 2) for n in lengths for i in range(n))
    degrees = sum(float(batch.degree[2:-2].sum()) for batch in batches)
    assert degrees == expected


@pytest.mark.slow
def test_a_step_does_not_wait_for_the_host(speeches):
    """On a device without values: none can be read back, and nothing can be copied from the host."""
    there = torch.device("meta")
    for likelihood in ("cbow", "sgns"):
        problem = small.problem(speeches, lx.Ridge(1.0) + lx.Groups("party", 1.0), ["party"], likelihood=likelihood)
        engine = make_torch(problem, State.initial(problem, 1), batch=64, piece=10_000)
        batch = engine._texts.read(1, 0, 0, torch.Generator())[1][0]
        for name in ("theta", "acc", "_visits", "_slot", "_chance", "_other", "_ridge"):
            setattr(engine, name, getattr(engine, name).to(there))
        engine._edges = [type(part)(**{k: v.to(there) for k, v in vars(part).items()}) for part in engine._edges]
        engine.device = there
        pretended = type(batch)(**{name: value.to(there) for name, value in vars(batch).items()})
        totals = torch.zeros(2, device=there)
        engine.step(pretended, 0.1, None, totals)
        engine.sweep(0, 0.1)
        assert engine.theta.device == totals.device == there
        with pytest.raises(NotImplementedError):
            totals.tolist()


def allocated(problem):
    engine = make_torch(problem, State.initial(problem, 1), batch=256, piece=10_000)
    batch = engine._texts.read(1, 0, 0, torch.Generator())[1][0]
    random = torch.Generator()
    engine.step(batch, 0.1, random)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as profile:
        engine.step(batch, 0.1, random)
    return sum(max(event.self_cpu_memory_usage, 0) for event in profile.events())


def test_what_a_step_allocates_does_not_grow_with_the_rows(speeches):
    few = small.problem(speeches, lx.Ridge(1.0))
    many = small.problem(speeches, lx.Ridge(1.0) + lx.Groups("party", 1.0), ["party", "year"])
    assert many.parameters > 3 * few.parameters
    assert allocated(many) == pytest.approx(allocated(few), rel=0.1)


def test_matchings_share_no_end_and_hold_every_edge_once():
    random = np.random.default_rng(0)
    first, second = random.integers(0, 50, 400), 50 + random.integers(0, 40, 400)
    found = matchings(first, second, 90)
    assert sorted(np.concatenate(found).tolist()) == list(range(400))
    for part in found:
        ends = np.concatenate([first[part], second[part]])
        assert len(np.unique(ends)) == len(ends)
    degree = np.bincount(np.concatenate([first, second])).max()
    assert degree <= len(found) <= 2 * degree
    assert matchings(first[:0], second[:0], 90) == []


def test_a_device_that_is_not_there():
    with pytest.raises(lx.InputError, match="quantum"):
        device_of("quantum")
    if not torch.cuda.is_available():
        with pytest.raises(lx.InputError, match='device="cuda" is not there'):
            device_of("cuda")
    assert device_of(None).type in ("cpu", "cuda", "mps")
