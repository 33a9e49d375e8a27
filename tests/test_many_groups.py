"""Many groups are joined through their mean: the same maximum as a complete graph, with as many edges as groups."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import small
from engine_runs import run_cpu, run_ranks, run_torch, vectors

import laplex as lx
from laplex.embeddings import Embeddings
from laplex.engines import reference
from laplex.engines.state import State
from laplex.fitting.stability import refitted
from laplex.inference.posteriors import posterior
from laplex.model.likelihoods import Likelihood
from laplex.model.objective import log_posterior, log_prior
from laplex.model.priors import slices
from laplex.model.problem import Problem

GROUPS = 7
PRIORS = {
    "groups": lambda: lx.Groups("year", 30.0),
    "group mean": lambda: lx.GroupMean("year", 30.0, 0.5),
    "groups crossed with a chain": lambda: lx.Groups("year", 30.0) + lx.Chain("party", 10.0),
}


@pytest.fixture(scope="module")
def texts():
    rows = small.documents(count=84, length=16)
    for number, row in enumerate(rows):
        row["year"] = str(2000 + number // 2 % GROUPS)
    return rows


def of(texts, name, **choices) -> Problem:
    vary = ["party", "year"] if "chain" in name else ["year"]
    return small.problem(texts, lx.Ridge(1.0) + PRIORS[name](), vary, **choices)


@pytest.fixture
def complete(monkeypatch):
    """A function that makes a problem with complete graphs."""

    def make(*arguments, **choices):
        with monkeypatch.context() as patch:
            patch.setattr(slices, "MAX_COMPLETE", 100)
            return of(*arguments, **choices)

    return make


def with_means(problem: Problem, theta):
    """The vectors with the latent ones at their optimum."""
    state = State.zeros(problem)
    state.theta[: len(theta)] = theta
    state.accumulator[: len(theta)] += 1.0
    state.fill(problem.graph)
    return vectors(problem, state)


@pytest.mark.parametrize("name", PRIORS)
def test_the_star_has_the_prior_of_the_complete_graph(texts, complete, name):
    star, whole = of(texts, name), complete(texts, name)
    assert whole.graph.latent == 0
    assert star.graph.own == whole.parameters
    words = int(star.vocabulary_start[-1])
    cells = 2 if "chain" in name else 1
    assert star.graph.latent == cells * words
    chained = GROUPS * words if "chain" in name else 0
    assert star.graph.edges == cells * GROUPS * words + chained
    for seed in range(3):
        theta = small.some_theta(whole, seed).astype(np.float32).astype(np.float64)
        best = with_means(star, theta)
        assert log_prior(star.graph, best) == pytest.approx(log_prior(whole.graph, theta), rel=1e-5)
        other = best.copy()
        other[star.graph.own :] += 0.05
        assert log_prior(star.graph, other) < log_prior(star.graph, best)


@pytest.mark.parametrize("name", PRIORS)
def test_the_parts_of_the_prior_add_up(texts, name):
    problem = of(texts, name)
    theta = small.some_theta(problem)
    parts = [log_prior(part, theta) for part in problem.parts.values()]
    assert sum(parts) == pytest.approx(log_prior(problem.graph, theta), rel=1e-12)
    assert all(part < 0 for part in parts)


@pytest.mark.parametrize("likelihood", ["cbow", "sgns"])
@pytest.mark.parametrize("name", PRIORS)
def test_maxima_are_the_same(texts, complete, name, likelihood):
    star, whole = (make(texts, name, likelihood=likelihood) for make in (of, complete))
    found = reference.maximize(star, vectors(star, State.initial(star, 1)), tolerance=1e-8)
    best = reference.maximize(whole, found[: whole.parameters], tolerance=1e-8)
    value, gradient = log_posterior(whole, found[: whole.parameters])
    assert value == pytest.approx(log_posterior(whole, best)[0], rel=1e-7)
    assert value == pytest.approx(log_posterior(star, found)[0], rel=1e-6)
    assert np.abs(gradient).max() < 0.05
    start = log_posterior(whole, vectors(whole, State.initial(whole, 1)))[0]
    assert value > 0.9 * start  # there was a way to go


ENGINES = {"cpu": run_cpu, "torch": run_torch, "two ranks": run_ranks}


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("name", "likelihood"), [("groups", "sgns"), ("group mean", "cbow"), ("groups crossed with a chain", "cbow")]
)
def test_every_engine_finds_the_maximum(texts, complete, name, likelihood, engine):
    """Judged by the complete graph, which knows of no mean."""
    if engine == "torch":
        pytest.importorskip("torch")
    star, whole = (make(texts, name, likelihood=likelihood) for make in (of, complete))
    start = vectors(whole, State.initial(whole, 1))
    best, begin = log_posterior(whole, reference.maximize(whole, start, steps=400))[0], log_posterior(whole, start)[0]
    gap = best - log_posterior(whole, ENGINES[engine](star, epochs=200)[: whole.parameters])[0]
    assert gap < 0.01 * abs(best)
    assert gap < 0.04 * (best - begin)


def test_the_prior_counts_once(texts):
    problem = of(texts, "groups")
    edges = replace(problem.graph, diagonal=np.zeros(problem.parameters))
    found = run_cpu(problem, 300)
    best = reference.maximize(problem, found, steps=200, tolerance=1e-5)
    assert log_prior(edges, found) == pytest.approx(log_prior(edges, best), rel=0.2)


def test_strengths_of_their_own_are_a_complete_graph():
    texts = small.documents()
    rows = small.layout(texts, ["year"])
    graph = lx.Groups("year", {("2000", "2001"): 5.0}).graph(rows)
    assert graph.latent == 0
    assert sorted(set(graph.weight)) == [0.0, 5.0]


@pytest.mark.parametrize("strength", [0.0, np.inf])
def test_no_strength_and_an_infinite_one_need_no_mean(texts, strength):
    problem = small.problem(texts, lx.Ridge(1.0) + lx.Groups("year", strength), ["year"])
    words = int(problem.vocabulary_start[-1])
    assert problem.graph.latent == 0
    assert problem.parameters == words * (1 + (GROUPS if strength == 0 else 1))


def fit(texts, **options):
    model = lx.Model(["year"], lx.Ridge(1.0) + lx.Groups("year", 30.0), dimensions=4, window=2, subsample=0.0)
    defaults = {"min_count": 1, "tests": False, "quiet": True, "threads": 1, "holdout": 0.0}
    return lx.fit(model, small.corpus(texts), **{**defaults, **options})


def test_users_see_no_mean(texts, tmp_path):
    fitted = fit(texts, epochs=4)
    words = len(fitted)
    assert len(fitted.slices) == GROUPS
    assert fitted.slot.max() == len(fitted.rows) - 1 == (GROUPS + 1) * words - 1
    assert len(fitted.theta) == len(fitted.rows) + words
    fitted.save(tmp_path / "model")
    loaded = lx.load(tmp_path / "model")
    assert loaded.graph.latent == words
    np.testing.assert_array_equal(loaded.theta, fitted.theta)
    # the latent ones are the means
    mean = np.mean([fitted.matrix(at={"year": year}) for year in fitted.values("year")], axis=0)
    np.testing.assert_allclose(fitted.theta[-words:], mean, atol=1e-5)
    frame = lx.plots.graph(fitted, "0", at={"year": "2000"}).frame
    assert "mean of slices" in frame.to_numpy()


def test_a_checkpoint_goes_on_bit_for_bit(texts, tmp_path):
    from laplex.fitting.estimation import Estimation

    whole = fit(texts, epochs=4)
    options = {"epochs": 4, "threads": 1, "holdout": 0.0, "checkpoint": tmp_path / "state", "engine": "cpu"}
    model = lx.Model(["year"], lx.Ridge(1.0) + lx.Groups("year", 30.0), dimensions=4, window=2, subsample=0.0)
    tokens = lx.Tokens.of(small.corpus(texts), min_count=1, quiet=True)
    training = lx.Training(**options).with_defaults(Likelihood.of("cbow"))
    for stop in (1, 3, None):
        fitted = Estimation(model, tokens, training, True).run(stop)
    np.testing.assert_array_equal(fitted.theta, whole.theta)


def test_a_posterior_knows_that_the_mean_is_not_known(texts, complete):
    star = fit(texts, engine="reference")
    graph = complete(texts, "groups").graph
    whole = Embeddings(star.rows, star.theta[: len(graph)], star.slot, star.counts, graph, star.settings, [])
    one, other = (posterior(fitted, "0")["0"] for fitted in (star, whole))
    np.testing.assert_allclose(one.mean, other.mean, atol=1e-5)
    np.testing.assert_allclose(one.covariance, other.covariance, rtol=1e-4, atol=1e-6)


def test_other_seeds_fit_the_same_prior(texts):
    fitted = fit(texts, epochs=3)
    again = next(refitted(fitted, [2], quiet=True))
    assert again.graph.latent == fitted.graph.latent
    np.testing.assert_allclose(sorted(again.graph.weight), sorted(fitted.graph.weight))


def test_a_new_group_joins_the_mean(texts):
    fitted = fit(texts, epochs=6)
    new = [{**row, "year": "2020"} for row in small.documents(count=20, seed=5)]
    updated = fitted.update(small.corpus(new), epochs=3, quiet=True)
    assert len(updated.slices) == GROUPS + 1
    order = [fitted.words().index(word) for word in updated.words()]
    matrices = [fitted.matrix(at={"year": year})[order] for year in fitted.values("year")]
    for year, matrix in zip(fitted.values("year"), matrices, strict=True):
        np.testing.assert_allclose(updated.matrix(at={"year": year}), matrix, atol=1e-6)
    old = np.mean(matrices, axis=0)
    distance = np.linalg.norm(updated.matrix(at={"year": "2020"}) - old, axis=1)
    assert np.median(distance / np.linalg.norm(old, axis=1)) < 0.5
