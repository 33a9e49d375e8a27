"""The posterior of a word's vectors, against the log posterior of the reference and its numerical curvature."""

from __future__ import annotations

import numpy as np
import pytest
import small

import laplex as lx
from laplex.objective import groups, log_posterior
from laplex.posterior import posterior
from laplex.problem import make_problem
from laplex.rows import Rows

PRIORS = {
    "groups and chain": lx.Ridge(0.5) + lx.Groups("party", 3.0) + lx.Chain("year", 2.0),
    "pairs": lx.Ridge(0.5) + lx.Pairs([("0", "3"), ("3", "6")], 2.0, joins="word-context"),
    "a tie": lx.Ridge(0.5) + lx.Groups("party", float("inf")) + lx.Chain("year", 2.0),
}


def fit(prior, likelihood="cbow"):
    tokens = lx.Tokens.of(small.corpus(small.documents(60)), min_count=1, quiet=True)
    model = lx.Model(
        vary=["party", "year"], prior=prior, likelihood=likelihood, dimensions=3, window=2, negatives=3, subsample=0.0
    )
    fitted = lx.fit(model, tokens, engine="reference", holdout=0.0, quiet=True)
    return fitted, make_problem(model, tokens, Rows(tokens.vocabularies, tokens.slices(model.vary)), 0.0, 1)


def curvature(problem, theta, own):
    """Minus the second derivatives of the log posterior with respect to some parameters."""
    text, step = list(groups(problem)), 1e-4
    rows = []
    for slot in own:
        for d in range(theta.shape[1]):
            ends = []
            for sign in (1, -1):
                moved = theta.copy()
                moved[slot, d] += sign * step
                ends.append(log_posterior(problem, moved, text)[1][own].reshape(-1))
            rows.append((ends[1] - ends[0]) / (2 * step))
    return np.array(rows)


@pytest.mark.parametrize("likelihood", ["cbow", "sgns"])
@pytest.mark.parametrize("prior", PRIORS.values(), ids=PRIORS)
def test_mean_and_covariance_are_those_of_the_log_posterior(prior, likelihood):
    fitted, problem = fit(prior, likelihood)
    found = posterior(fitted, ["3"], quiet=True)["3"]
    word = fitted.id("3", 0)
    slots = np.array([fitted.slots(0, slice)[word] for slice in range(6)])
    own = np.unique(slots)
    np.testing.assert_array_equal(own[found.place], slots)
    np.testing.assert_allclose(found.mean, fitted.theta[own], atol=0.01)
    expected = np.linalg.inv(curvature(problem, fitted.theta.astype(np.float64), own))
    assert abs(found.covariance - expected).max() < 0.03 * abs(expected).max()


def test_the_mean_is_found_from_vectors_that_are_not_there_yet():
    fitted, _ = fit(PRIORS["groups and chain"])
    expected = fitted.theta[np.unique([fitted.slots(0, slice)[2] for slice in range(6)])].copy()
    moved = fitted.theta.copy()
    moved[[fitted.slots(0, slice)[2] for slice in range(6)]] += 0.05
    other = lx.Embeddings(fitted.rows, moved, fitted.slot, fitted.counts, fitted.graph, fitted.settings, [])
    found = posterior(other, fitted.words()[2], quiet=True)[fitted.words()[2]]
    assert abs(found.mean - expected).max() < 0.03


def test_draws_have_the_mean_and_the_covariance():
    fitted, _ = fit(PRIORS["groups and chain"])
    found = posterior(fitted, ["3", "5"], quiet=True)["5"]
    drawn = found.sample(40_000)
    assert drawn.shape == (40_000, 6, 3)
    np.testing.assert_allclose(drawn.mean(0), found.mean[found.place], atol=0.02)
    flat = drawn[:, np.argsort(found.place)].reshape(len(drawn), -1)
    spread = np.sqrt(np.diag(found.covariance))
    assert (abs(np.cov(flat.T) - found.covariance) < 0.04 * np.outer(spread, spread)).all()


def test_a_stronger_belief_is_a_narrower_one():
    wide, narrow = (
        posterior(fit(lx.Ridge(0.5) + lx.Groups("party", strength))[0], "3", quiet=True)["3"].sample(2000)
        for strength in (1.0, 100.0)
    )

    def gap(drawn):
        return np.linalg.norm(drawn[:, 0] - drawn[:, 3], axis=1).mean()

    assert gap(narrow) < 0.5 * gap(wide)


def test_bad_questions_are_named():
    fitted, _ = fit(PRIORS["groups and chain"])
    with pytest.raises(lx.InputError, match='"99" is not in the vocabulary'):
        posterior(fitted, "99")
    with pytest.raises(lx.InputError, match="at least one draw"):
        posterior(fitted, "3", quiet=True)["3"].sample(0)
