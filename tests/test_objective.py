"""The log posterior is what the formulas say, and its gradient is its gradient."""

from __future__ import annotations

from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
import small
from scipy.special import expit, log_expit

import laplex as lx
from laplex.model.objective import log_likelihood, log_posterior, log_prior, log_prior_gradient, slice_texts

ALL = ("party", "year")
UNLIKE = [("0", "1"), ("2", "3", 0.5), ("1", "4", -2.0)]


def own_graph():
    graph = nx.Graph()
    graph.add_edge("0", ("1", "context"), weight=0.5)
    graph.add_edge(("2", "word", ("D", "2000")), ("3", "word", ("R", "2001")), weight=-1.5)
    return lx.Graph.from_networkx(graph)


def vectors(dimensions=3):
    random = np.random.default_rng(7)
    return {str(k): random.standard_normal(dimensions) for k in (0, 2, 5, 99)}


PRIORS = {
    "ridge": lx.Ridge(2.0),
    "ridge on words": lx.Ridge(2.0, on="words") + lx.Ridge(0.5, on="contexts"),
    "groups": lx.Ridge(1.0) + lx.Groups("party", 3.0),
    "group mean": lx.Ridge(1.0, on="contexts") + lx.GroupMean("party", 3.0, 0.7),
    "chain": lx.Ridge(1.0, on="contexts") + lx.Chain("year", 3.0, start=0.5),
    "chain by gap": lx.Ridge(1.0) + lx.Chain("year", 3.0, by_gap=True),
    "word-word": lx.Ridge(1.0) + lx.Pairs(UNLIKE, 3.0),
    "word-context": lx.Ridge(1.0) + lx.Pairs(UNLIKE, 3.0, joins="word-context"),
    "context-context": lx.Ridge(1.0) + lx.Pairs(UNLIKE, 3.0, joins="context-context"),
    "anchor": lx.Ridge(1.0) + lx.Anchor(vectors(), 3.0) + lx.Anchor(vectors(), 2.0, on="contexts"),
    "edges": lx.Ridge(1.0) + lx.Edges(own_graph(), 2.0),
    "ties": lx.Ridge(1.0) + lx.Groups("party", np.inf) + lx.Chain("year", 3.0),
}


def differences(function, theta, step=1e-5):
    """The gradient by central differences."""
    gradient = np.empty_like(theta)
    for place in np.ndindex(theta.shape):
        moved = theta.copy()
        moved[place] += step
        up = function(moved)
        moved[place] -= 2 * step
        gradient[place] = (up - function(moved)) / (2 * step)
    return gradient


def check_gradient(problem):
    theta = small.some_theta(problem)
    text = list(slice_texts(problem))
    numeric = differences(lambda x: log_posterior(problem, x, text)[0], theta)
    assert np.abs(numeric).max() > 1.0
    np.testing.assert_allclose(log_posterior(problem, theta, text)[1], numeric, rtol=1e-6, atol=1e-6)


@pytest.fixture
def few():
    return small.documents(count=12, length=7, words=7)


@pytest.mark.parametrize("likelihood", ["cbow", "sgns"])
@pytest.mark.parametrize("name", PRIORS)
def test_the_gradient_is_that_of_the_value(few, name, likelihood):
    check_gradient(small.problem(few, PRIORS[name], ALL, likelihood=likelihood, dimensions=3))


@pytest.mark.parametrize("likelihood", ["cbow", "sgns"])
def test_the_gradient_with_two_languages(likelihood):
    rows = small.documents(count=16, length=6, words=6, languages=("x", "y"))
    prior = lx.Ridge(1.0) + lx.Translations([("x0", "y0"), ("x1", "y2")], 3.0)
    check_gradient(small.problem(rows, prior, ["party"], likelihood=likelihood, dimensions=3))


def test_a_directed_edge_pulls_its_first_end_only():
    graph = lx.Graph.of(3, [0, 1], [1, 2], [2.0, 3.0], sign=[1, -1], directed=[True, True])
    theta = np.array([[1.0, 0.0], [0.0, 2.0], [5.0, 1.0]])
    expected = np.array([[-2.0, 4.0], [-15.0, -9.0], [0.0, 0.0]])
    np.testing.assert_allclose(log_prior_gradient(graph, theta), expected)


def test_a_directed_pair_pulls_the_first_word_only(few):
    straight = small.problem(few, lx.Ridge(1.0) + lx.Pairs([("0", "1")], 4.0, directed=True))
    ridge = small.problem(few, lx.Ridge(1.0))
    theta = small.some_theta(straight)
    pull = log_posterior(straight, theta)[1] - log_posterior(ridge, theta)[1]
    words = small.layout(few).vocabularies[0]
    expected = np.zeros_like(theta)
    expected[words["0"]] = 4.0 * (theta[words["1"]] - theta[words["0"]])
    np.testing.assert_allclose(pull, expected, atol=1e-12)


@pytest.mark.parametrize("name", [name for name in PRIORS if name != "anchor"])
def test_the_log_prior_is_the_quadratic_form_of_the_laplacian(few, name):
    problem = small.problem(few, PRIORS[name], ALL)
    theta = small.some_theta(problem)
    precision = small.full_laplacian(problem.graph)
    assert log_prior(problem.graph, theta) == pytest.approx(-0.5 * np.trace(theta.T @ precision @ theta), rel=1e-12)
    np.testing.assert_allclose(log_prior_gradient(problem.graph, theta), -precision @ theta, atol=1e-12)


def test_an_anchored_vector_is_pulled_to_its_target(few):
    problem = small.problem(few, lx.Ridge(1.0) + lx.Anchor({"3": np.arange(4.0)}, 5.0))
    row = small.layout(few).vocabularies[0]["3"]
    theta = small.some_theta(problem)
    expected = -theta
    expected[row] += 5.0 * (np.arange(4.0) - theta[row])
    np.testing.assert_allclose(log_prior_gradient(problem.graph, theta), expected)


# The likelihood, against one written out token by token


def written_out(rows, problem, theta, expected_of_negatives):
    """log p(x | θ) by loops over documents, tokens and contexts; `expected_of_negatives(ρ, x)` is its second part."""
    where = small.layout(rows, ["party"])
    tokens = lx.Tokens.of(small.corpus(rows), min_count=1, quiet=True)
    total = 0.0
    for m in range(tokens.documents):
        ids, slice, language = tokens.document(m), where.slices.of_document[m], tokens.languages[m]
        rho = theta[np.array(where.words(language, slice))]
        alpha = theta[np.array(where.contexts(language))]
        for i, word in enumerate(ids):
            around = [ids[j] for j in range(i - problem.window, i + problem.window + 1) if j != i and 0 <= j < len(ids)]
            inputs = [alpha[around].sum(0)] if problem.likelihood.context_is_window_sum else list(alpha[around])
            for x in inputs:
                total += log_expit(rho[word] @ x) + expected_of_negatives(tokens.vocabularies[language], rho, x)
    return total


@pytest.mark.parametrize("likelihood", ["cbow", "sgns"])
@pytest.mark.parametrize("languages", [("",), ("x", "y")])
def test_the_likelihood_is_the_sum_over_tokens_of_their_own_slice_and_language(likelihood, languages):
    rows = small.documents(count=16, length=7, words=6, languages=languages)
    problem = small.problem(rows, lx.Ridge(1.0), ["party"], likelihood=likelihood, negatives=2)
    theta = small.some_theta(problem, scale=1.0)

    def exact(vocabulary, rho, x):
        share = vocabulary.counts**0.75 / (vocabulary.counts**0.75).sum()
        return 2 * share @ log_expit(-rho @ x)

    assert log_likelihood(problem, theta)[0] == pytest.approx(written_out(rows, problem, theta, exact), rel=1e-10)


@pytest.mark.parametrize("likelihood", ["cbow", "sgns"])
def test_the_exact_expectation_is_the_mean_over_sampled_negatives(likelihood):
    rows = small.documents(count=10, length=8, words=8)
    negatives, times = 4, 3000
    problem = small.problem(rows, lx.Ridge(1.0), ["party"], likelihood=likelihood, negatives=negatives)
    theta = small.some_theta(problem, scale=1.0)
    random = np.random.default_rng(3)
    variance = []

    def sampled(vocabulary, rho, x):
        unigram = np.repeat(np.arange(len(vocabulary)), np.round(1e4 * vocabulary.counts**0.75).astype(int))
        drawn = log_expit(-rho @ x)[random.choice(unigram, (times, negatives))].sum(1)
        variance.append(drawn.var() / times)
        return drawn.mean()

    estimate = written_out(rows, problem, theta, sampled)
    error = np.sqrt(np.sum(variance))
    assert log_likelihood(problem, theta)[0] == pytest.approx(estimate, abs=4 * error)
    # the check is sharp: one negative more, or another distribution of them, is far away
    others = (
        replace(problem, negatives=negatives + 1),
        replace(problem, noise=problem.noise**2 / (problem.noise**2).sum()),
    )
    for other in others:
        assert abs(log_likelihood(other, theta)[0] - estimate) > 12 * error


def test_windows_do_not_cross_documents():
    rows = [{"text": [f"{m}{letter}" for letter in "abc"], "party": "D", "year": "1", "lang": ""} for m in range(4)]
    problem = small.problem(rows, lx.Ridge(1.0), window=5)
    words = small.layout(rows).vocabularies[0].words
    [group] = slice_texts(problem)
    assert group.around.sum() == 4 * 3 * 2  # both other words of a document, once each
    for token, word in zip(*group.around.nonzero()):
        assert words[group.tokens[token]][0] == words[word][0]


def test_a_window_longer_than_the_document_sees_all_of_it_once():
    rows = [{"text": ["a", "b", "a"], "party": "D", "year": "1", "lang": ""}]
    [group] = slice_texts(small.problem(rows, lx.Ridge(1.0), window=50))
    np.testing.assert_array_equal(group.around.toarray(), [[1, 1], [2, 0], [1, 1]])


def test_a_document_of_one_word_says_nothing(few):
    problem = small.problem(few, lx.Ridge(1.0))
    theta = small.some_theta(problem)
    more = small.problem([*few, {"text": ["0"], "party": "D", "year": "2000", "lang": ""}], lx.Ridge(1.0))
    same_noise = replace(more, noise=problem.noise)
    assert log_likelihood(same_noise, theta)[0] == log_likelihood(problem, theta)[0]


def test_the_step_of_one_token_is_right_by_hand():
    rows = [{"text": ["a", "b"], "party": "D", "year": "1", "lang": ""}]
    problem = small.problem(rows, lx.Ridge(1.0), dimensions=1, negatives=1)
    rho, alpha = np.array([[0.3], [-0.2]]), np.array([[0.7], [1.1]])
    gradient = log_likelihood(problem, np.concatenate([rho, alpha]))[1]
    # ρ_a meets α_b as a token, and α_b and α_a with probability ½ as a negative
    by_hand = expit(-0.3 * 1.1) * 1.1 - 0.5 * (expit(0.3 * 1.1) * 1.1 + expit(0.3 * 0.7) * 0.7)
    assert gradient[0, 0] == pytest.approx(by_hand, rel=1e-12)
