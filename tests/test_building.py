"""A prior and a likelihood of one's own, as docs/building.md shows: each is one class, and everything else follows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
import small
from scipy.special import log_expit
from test_objective import check_gradient

import laplex as lx
from laplex.fitting.grid import Grid
from laplex.model.likelihoods import CBOW, Likelihood
from laplex.model.objective import HeldOutDocuments, log_likelihood
from laplex.reports import describing


@dataclass(frozen=True)
class SameRemainder(lx.Prior):
    """Words whose numbers have the same remainder are alike, in every slice."""

    divisor: int
    strength: float = 1.0

    in_words = "Words {divisor:g} apart are alike ({strength})."

    def graph(self, rows):
        first, second = [], []
        for language, vocabulary in enumerate(rows.vocabularies):
            for word in vocabulary:
                other = str(int(word) + self.divisor)
                for slice in range(len(rows.slices) if other in vocabulary else 0):
                    first.append(rows.words(language, slice)[vocabulary[word]])
                    second.append(rows.words(language, slice)[vocabulary[other]])
        return lx.Graph.of(len(rows), first, second, self.strength)


class Nearer(CBOW):
    """CBOW in which a context word counts by one over its distance."""

    name = "nearer"
    description = "a word is predicted from the words around it, the nearer ones counting more"

    def window_weights(self, inside, distance):
        return inside / np.abs(distance)


class Mean(CBOW):
    """CBOW with the mean of the contexts instead of their sum."""

    name = "mean"
    description = "a word is predicted from the mean of the words around it"

    def window_weights(self, inside, distance):
        return inside / inside.sum(1, keepdims=True)


def weights(likelihood, distances):
    """What each context word of a token counts."""
    if likelihood == "nearer":
        return 1.0 / np.abs(distances)
    return np.full(len(distances), 1.0 / len(distances))


@pytest.fixture
def texts():
    return small.documents(count=30, length=9, words=9)


def model(**choices):
    prior = lx.Ridge(1.0) + lx.Groups("party", 5.0) + SameRemainder(3, 20.0)
    choices = {"dimensions": 3, "window": 3, "negatives": 3, "subsample": 0.0} | choices
    return lx.Model(vary=["party"], prior=prior, **choices)


def fit(texts, engine="reference", holdout=0.2, **choices):
    return lx.fit(model(**choices), small.corpus(texts), engine=engine, holdout=holdout, min_count=1, quiet=True)


# A prior


def test_a_prior_of_ones_own_pulls_its_words_together(texts):
    problem = small.problem(texts, SameRemainder(3, 2.0) + lx.Ridge(1.0), ["party"])
    assert problem.graph.edges == 2 * 6
    np.testing.assert_array_equal(problem.graph.weight, 2.0)
    check_gradient(problem)


@pytest.mark.parametrize("engine", ["reference", "cpu"])
def test_a_prior_of_ones_own_is_fitted_saved_and_described(texts, engine, tmp_path):
    fitted = fit(texts, engine)
    assert any("SameRemainder" in name for name in fitted.history["priors"].iloc[-1])
    fitted.save(tmp_path / "model")
    again = lx.load(tmp_path / "model")
    np.testing.assert_array_equal(again.theta, fitted.theta)
    assert again.settings["model"]["beliefs"][2] == {"kind": "SameRemainder", "divisor": 3.0, "strength": 20.0}
    assert "Words 3 apart are alike (strength 20)." in describing.describe_prior(again)


def test_the_strength_of_a_prior_of_ones_own_can_be_tuned():
    candidates = Grid.of(model(), {"sameremainder": "auto"}).candidates
    assert [candidate.model.prior.parts[2].strength for candidate in candidates] == [0.2, 2.0, 20.0, 200.0, 2e3, 2e4]


def test_a_prior_that_joins_words_says_nothing_of_absent_ones(texts):
    with pytest.raises(lx.InputError, match=r"not with SameRemainder\(divisor=3"):
        fit(texts, absent="filled")


# A likelihood


def written_out(texts, name, theta):
    """The log likelihood token by token, with the exact expectation of three negatives."""
    rows = small.layout(texts, ["party"])
    tokens = lx.Tokens.of(small.corpus(texts), min_count=1, quiet=True)
    noise, total = tokens.vocabularies[0].noise(0.75), 0.0
    for number in range(tokens.documents):
        ids = tokens.document(number)
        rho, alpha = theta[list(rows.words(0, rows.slices.of_document[number]))], theta[list(rows.contexts(0))]
        for i, word in enumerate(ids):
            near = np.array([j for j in range(i - 3, i + 4) if j != i and 0 <= j < len(ids)])
            h = weights(name, near - i) @ alpha[ids[near]]
            total += log_expit(rho[word] @ h) + 3 * noise @ log_expit(-rho @ h)
    return total


@pytest.mark.parametrize("name", ["nearer", "mean"])
def test_a_likelihood_of_ones_own_is_what_its_weights_say(texts, name):
    problem = small.problem(texts, lx.Ridge(1.0), ["party"], likelihood=name, window=3)
    theta = small.some_theta(problem, scale=1.0)
    assert log_likelihood(problem, theta)[0] == pytest.approx(written_out(texts, name, theta), rel=1e-10)
    held_out = HeldOutDocuments.of(problem, ~problem.held_out)
    judged = [held_out.log_likelihood(theta, seed) for seed in range(60)]
    exact = log_likelihood(problem, theta)[0] / len(problem.ids)
    assert np.mean(judged) == pytest.approx(exact, abs=4 * np.std(judged) / np.sqrt(60))
    check_gradient(problem)


@pytest.mark.parametrize("name", ["nearer", "mean"])
def test_a_likelihood_of_ones_own_is_fitted_judged_saved_and_described(texts, name, tmp_path):
    fitted = fit(texts, likelihood=name)
    assert fitted.history["held_out"].iloc[-1] < 0
    fitted.save(tmp_path / "model")
    again = lx.load(tmp_path / "model")
    assert again.settings["model"]["likelihood"] == name
    assert Likelihood.of(name).description in describing.describe_fit(again)[0]
    other = small.corpus(small.documents(count=30, length=9, words=9, seed=5))
    judged = lx.evaluation.held_out({"fitted": fitted, "again": again}, other, quiet=True)
    assert judged["log_likelihood"][0] == judged["log_likelihood"][1] < 0
    with pytest.raises(lx.InputError, match="likelihood='cbow'"):
        lx.evaluation.held_out({"one": fit(texts, likelihood="cbow"), "two": fitted}, other, quiet=True)


def test_a_likelihood_may_be_given_as_an_object():
    assert lx.Model(likelihood=Nearer()) == lx.Model(likelihood="nearer")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"engine": "cpu"}, 'engine="cpu" has no kernel for likelihood="mean", only for cbow, sgns'),
        ({"engine": "cpu", "inference": "variational"}, 'has no kernel for likelihood="mean"'),
        ({"engine": "reference", "inference": "variational"}, 'inference="variational" has no kernel'),
    ],
)
def test_engines_without_a_kernel_for_a_likelihood_refuse_it(texts, options, message):
    with pytest.raises(lx.InputError, match=message):
        lx.fit(model(likelihood="mean"), small.corpus(texts), min_count=1, quiet=True, **options)


def test_tests_do_not_take_weights_for_equal(texts):
    with pytest.raises(lx.InputError, match='likelihood="mean" weighs the words of a window'):
        fit(texts, likelihood="mean").posterior("0", quiet=True)


def test_a_likelihood_needs_a_name_of_its_own():
    with pytest.raises(TypeError, match="needs a name"):
        type("Nameless", (CBOW,), {})
    with pytest.raises(TypeError, match='the name "sgns" is that of SGNS'):
        type("Other", (CBOW,), {"name": "sgns", "description": "something else"})
