"""The five propositions of the paper ("Generalization of Previous Methods"), with exact optima."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import small
from scipy.optimize import minimize
from scipy.special import expit, log_expit
from scipy.stats import norm, ortho_group

import laplex as lx
from laplex.engines.reference import maximize
from laplex.model.objective import log_likelihood, log_posterior, log_prior

TRANSLATIONS = [(f"x{k}", f"y{k}") for k in range(8)]


@pytest.fixture
def texts():
    return small.documents(count=36, words=12)


@pytest.fixture
def bilingual():
    return small.documents(count=60, words=10, languages=("x", "y"))


def climb(function, theta):
    """The maximum of a function that gives its value and gradient."""

    def downhill(flat):
        value, gradient = function(flat.reshape(theta.shape))
        return -value, -gradient.reshape(-1)

    options = {"maxiter": 3000, "maxfun": 5000, "ftol": 1e-14, "gtol": 1e-7, "maxcor": 20}
    return minimize(downhill, theta.reshape(-1), jac=True, method="L-BFGS-B", options=options).x.reshape(theta.shape)


def value(problem, theta):
    return log_posterior(problem, theta)[0]


@pytest.mark.parametrize("likelihood", ["cbow", "sgns"])
def test_1_dict2vec_is_a_graph_of_its_own_weights(texts, likelihood):
    """At the optimum with strong pairs as positive samples, edges of weight σ(−ρ·α) pull as those samples do."""
    ridge = 4.0
    problem = small.problem(texts, lx.Ridge(ridge), likelihood=likelihood)
    where = small.layout(texts)
    ids = [(where.vocabularies[0][v], where.vocabularies[0][w]) for v, w in [("0", "4"), ("1", "7"), ("0", "5")]]
    words, contexts = where.words(0, 0), where.contexts(0)
    first = np.array([words[i] for pair in ids for i in pair])
    second = np.array([contexts[i] for v, w in ids for i in (w, v)])

    def dict2vec(theta):
        total, gradient = log_posterior(problem, theta)
        scores = (theta[first] * theta[second]).sum(1)
        pull = expit(-scores)[:, None]
        np.add.at(gradient, first, pull * theta[second])
        np.add.at(gradient, second, pull * theta[first])
        return total + log_expit(scores).sum(), gradient

    found = climb(dict2vec, small.some_theta(problem))
    assert np.abs(log_posterior(problem, found)[1]).max() > 0.1  # the pairs matter
    weight = expit(-(found[first] * found[second]).sum(1))
    diagonal = ridge - np.bincount(first, weight, len(found)) - np.bincount(second, weight, len(found))
    graph = lx.Graph.of(len(found), first, second, weight, diagonal=diagonal)
    assert np.abs(log_posterior(replace(problem, graph=graph), found)[1]).max() < 1e-3


def random_walk(where, theta, start, strength):
    """The log density of the dynamic Bernoulli model's word vectors, from its definition."""
    slices = [theta[where.words(0, s)] for s in range(len(where.slices))]
    total = norm.logpdf(slices[0], scale=start**-0.5).sum()
    for before, after in zip(slices, slices[1:]):
        total += norm.logpdf(after, loc=before, scale=strength**-0.5).sum()
    return total


def test_2_the_dynamic_bernoulli_model_is_a_chain(texts):
    """A random walk from N(0, γ₀⁻¹) with steps N(0, γ₁⁻¹) has the density of Chain(γ₁, start=γ₀)."""
    prior = lx.Chain("year", 7.0, start=0.4)
    whole = small.problem(texts, prior + lx.Ridge(1.0, on="contexts"), ["year"])
    where = small.layout(texts, ["year"])
    graph = prior.graph(where)
    thetas = [small.some_theta(whole, seed) for seed in range(4)]
    constants = [random_walk(where, theta, 0.4, 7.0) - log_prior(graph, theta) for theta in thetas]
    np.testing.assert_allclose(constants, constants[0], rtol=1e-12)

    def dynamic(theta):
        contexts = -0.5 * (theta[where.contexts(0)] ** 2).sum()
        return log_likelihood(whole, theta)[0] + contexts + random_walk(where, theta, 0.4, 7.0)

    best = maximize(whole, thetas[0], tolerance=1e-7)
    for direction in thetas[1:]:
        slope = (dynamic(best + 1e-4 * direction) - dynamic(best - 1e-4 * direction)) / 2e-4
        assert abs(slope) < 1e-2
        assert dynamic(best + 0.1 * direction) < dynamic(best)


def test_3_the_grouped_bernoulli_model_is_a_complete_graph(texts):
    """Group vectors around a mean vector, the mean at its maximum, are GroupMean: a complete graph and a diagonal."""
    strength, spread = 6.0, 0.8
    contexts = lx.Ridge(1.0, on="contexts")
    problem = small.problem(texts, lx.GroupMean("year", strength, spread) + contexts, ["year"])
    where = small.layout(texts, ["year"])
    groups, words = len(where.slices), len(where.vocabularies[0])
    whole = spread + groups * strength
    mixed = lx.Groups("year", strength**2 / whole) + lx.Ridge(spread * strength / whole, on="words") + contexts
    laplacian = small.full_laplacian(problem.graph)
    np.testing.assert_allclose(laplacian, small.full_laplacian(mixed.graph(where)), atol=1e-12)

    # the model with its means as further nodes, one a word
    first = np.concatenate([np.array(where.words(0, s)) for s in range(groups)])
    second = len(where) + np.tile(np.arange(words), groups)
    diagonal = np.concatenate([contexts.graph(where).diagonal, np.full(words, spread)])
    explicit = lx.Graph.of(len(where) + words, first, second, strength, diagonal=diagonal)
    theta = small.some_theta(problem)
    mean = strength * sum(theta[where.words(0, s)] for s in range(groups)) / whole
    best_mean = np.concatenate([theta, mean])
    assert log_prior(problem.graph, theta) == pytest.approx(log_prior(explicit, best_mean), rel=1e-12)
    for seed in range(3):
        other = np.concatenate([theta, mean + 0.1 * small.some_theta(problem, seed)[:words]])
        assert log_prior(explicit, other) < log_prior(explicit, best_mean)

    joint = replace(problem, graph=explicit)
    grouped, with_means = maximize(problem, theta, tolerance=1e-8), maximize(joint, best_mean, tolerance=1e-8)
    assert value(joint, with_means) == pytest.approx(value(problem, grouped), rel=1e-3)
    # each is a stationary point of the other
    assert np.abs(log_posterior(problem, with_means[: len(where)])[1]).max() < 0.1


def test_4_infinitely_strong_translations_are_shared_parameters(bilingual):
    """As λ₁ → ∞ the optimum of the cross-lingual model is that of one parameter for a word and its translation."""
    tied = small.problem(bilingual, lx.Ridge(1.0) + lx.Translations(TRANSLATIONS, np.inf), likelihood="sgns")
    where = small.layout(bilingual)
    shared = maximize(tied, small.some_theta(tied), tolerance=1e-7)
    limit = value(tied, shared)

    # the pseudo-multilingual model: the same words' rows made one by hand
    free = small.problem(bilingual, lx.Ridge(1.0), likelihood="sgns")
    of = np.arange(len(where))
    for rows in (lambda language: where.words(language, 0), where.contexts):
        for one, two in TRANSLATIONS:
            of[rows(1)[where.vocabularies[1][two]]] = rows(0)[where.vocabularies[0][one]]

    def pseudo_multilingual(theta):
        total, gradient = log_posterior(free, theta[of])
        gathered = np.zeros_like(theta)
        np.add.at(gathered, of, gradient)
        return total, gathered

    start = shared[tied.slot]
    assert pseudo_multilingual(climb(pseudo_multilingual, start))[0] == pytest.approx(limit, abs=1e-4)
    assert pseudo_multilingual(climb(pseudo_multilingual, small.some_theta(free)))[0] == pytest.approx(limit, rel=2e-3)

    gaps = []
    for strength in (1e2, 1e4, 1e6):
        problem = small.problem(bilingual, lx.Ridge(1.0) + lx.Translations(TRANSLATIONS, strength), likelihood="sgns")
        gaps.append(value(problem, maximize(problem, start, steps=500, tolerance=1e-6)) - limit)
    assert gaps[0] > 1.0
    assert 20 * gaps[1] < gaps[0]
    assert -1e-6 < gaps[2] < 0.01


def rotated(theta, rows, turn):
    theta = theta.copy()
    theta[rows] = theta[rows] @ turn
    return theta


def test_5_infinitely_weak_translations_are_an_orthogonal_mapping(bilingual):
    """As λ₁ → 0 the languages keep their own optima, turned to one another by orthogonal Procrustes."""
    where = small.layout(bilingual)
    theta, separate = np.zeros((len(where), 4)), 0.0
    for language, name in enumerate("xy"):
        own = [row for row in bilingual if row["lang"] == name]
        alone = small.problem(own, lx.Ridge(1.0), likelihood="sgns")
        best = maximize(alone, small.some_theta(alone, language), tolerance=1e-7)
        separate += value(alone, best)
        rows = [*where.words(language, 0), *where.contexts(language)]
        theta[rows] = best
    free = small.problem(bilingual, lx.Ridge(1.0), likelihood="sgns")
    assert value(free, theta) == pytest.approx(separate, rel=1e-10)

    strength = 1e-3
    problem = small.problem(bilingual, lx.Ridge(1.0) + lx.Translations(TRANSLATIONS, strength), likelihood="sgns")
    edges = lx.Translations(TRANSLATIONS, 1.0).graph(where)
    ours = [*where.words(0, 0), *where.contexts(0)]
    turn = ortho_group.rvs(4, random_state=1)
    assert value(free, rotated(theta, ours, turn)) == pytest.approx(value(free, theta), rel=1e-12)

    u, _, v = np.linalg.svd(theta[edges.first].T @ theta[edges.second])
    mapped = rotated(theta, ours, u @ v)
    least = -2 * log_prior(edges, mapped)
    assert all(
        -2 * log_prior(edges, rotated(theta, ours, ortho_group.rvs(4, random_state=seed))) > least for seed in range(20)
    )
    # from where the mapping leads, and from a little beside it
    beside = np.linalg.qr(np.eye(4) + 0.2 * np.random.default_rng(0).standard_normal((4, 4)))[0]
    for start in (mapped, rotated(mapped, ours, beside * np.sign(np.diag(beside)))):
        joint = maximize(problem, start, tolerance=1e-8)
        assert value(free, joint) == pytest.approx(separate, rel=1e-5)
        assert -2 * log_prior(edges, joint) == pytest.approx(least, rel=0.03)
