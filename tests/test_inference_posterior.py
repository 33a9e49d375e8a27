"""The posterior of a word's vectors, against the log posterior of the reference, its numerical curvature, and integrals
over a grid."""

from __future__ import annotations

import importlib.util
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import small
from scipy import integrate, stats
from scipy.special import expit, log_expit

import laplex as lx
from laplex.inference import conditional, posteriors, statistics
from laplex.inference.conditional import (
    BlockCell,
    BlockContexts,
    NotConvergedError,
    VectorBlock,
    expected_logistic,
    joined_words,
)
from laplex.inference.posteriors import posterior, solve
from laplex.inference.statistics import ContextReader, Contexts
from laplex.inference.units import Options
from laplex.model.objective import log_posterior, slice_texts
from laplex.model.problem import make_problem
from laplex.model.rows import Rows

INFINITE = float("inf")
PRIORS = {
    "groups and chain": lx.Ridge(0.5) + lx.Groups("party", 3.0) + lx.Chain("year", 2.0),
    "pairs": lx.Ridge(0.5) + lx.Pairs([("0", "3"), ("3", "6")], 2.0, joins="word-context"),
    "slices tied": lx.Ridge(0.5) + lx.Groups("party", INFINITE) + lx.Chain("year", 2.0),
    "words tied": lx.Ridge(0.5) + lx.Pairs([("3", "5")], INFINITE) + lx.Chain("year", 2.0),
}
STRENGTHS = [0.0, 1.0, 1e3, 1e6, INFINITE]
OTHERS = {
    "dictionary": lx.Ridge(0.5) + lx.Pairs([("3", "6"), ("6", "9")], 4.0) + lx.Chain("year", 2.0),
    "context tied": lx.Ridge(0.5) + lx.Pairs([("3", "5")], INFINITE, joins="word-context"),
    "directed": lx.Ridge(0.5) + lx.Pairs([("3", "5")], 2.0, directed=True),
    "weak": lx.Ridge(0.5) + lx.Groups("party", 1.0),
    "strong": lx.Ridge(0.5) + lx.Groups("party", 100.0),
    **{f"chain {strength}": lx.Ridge(0.5) + lx.Chain("year", strength) for strength in STRENGTHS},
}


@cache
def fit(name="groups and chain", likelihood="cbow"):
    """A model, its tokens, and what the reference sees of it."""
    tokens = lx.Tokens.of(small.corpus(small.documents(60)), min_count=1, quiet=True)
    model = lx.Model(
        vary=["party", "year"],
        prior=(PRIORS | OTHERS)[name],
        likelihood=likelihood,
        dimensions=3,
        window=2,
        negatives=3,
        subsample=0.0,
    )
    asked = name in PRIORS or name == "dictionary"  # whether it is at its maximum
    engine = "reference" if asked else "cpu"
    fitted = lx.fit(model, tokens, engine=engine, holdout=0.0, quiet=True)
    return fitted, tokens, make_problem(model, tokens, Rows(tokens.vocabularies, tokens.slices(model.vary)), 0.0, 1)


def slots_of(fitted, *words):
    """(W, S) Which parameters are the vectors of words."""
    slices = range(len(fitted.rows.slices))
    return np.array([[fitted.slots(0, slice)[fitted.id(word, 0)] for slice in slices] for word in words])


def moved(fitted, own, by):
    """The same model with other vectors somewhere."""
    theta = fitted.theta.copy()
    theta[own] += by
    return lx.Embeddings(fitted.rows, theta, fitted.slot, fitted.counts, fitted.graph, fitted.settings, [])


def curvature(problem, theta, own):
    """Minus the second derivatives of the log posterior with respect to some parameters."""
    text, step = list(slice_texts(problem)), 1e-4
    rows = []
    for slot in own:
        for d in range(theta.shape[1]):
            ends = []
            for sign in (1, -1):
                there = theta.copy()
                there[slot, d] += sign * step
                ends.append(log_posterior(problem, there, text)[1][own].reshape(-1))
            rows.append((ends[1] - ends[0]) / (2 * step))
    return np.array(rows)


@pytest.mark.parametrize("likelihood", ["cbow", "sgns"])
@pytest.mark.parametrize("prior", PRIORS)
def test_mode_and_covariance_are_those_of_the_log_posterior(prior, likelihood):
    fitted, tokens, problem = fit(prior, likelihood)
    found = posterior(fitted, ["3"], center="mode", tokens=tokens, quiet=True)["3"]
    slots = slots_of(fitted, "3")[0]
    own = np.unique(slots)
    np.testing.assert_array_equal(own[found.place], slots)
    np.testing.assert_allclose(found.mean, fitted.theta[own], atol=0.005)
    expected = np.linalg.inv(curvature(problem, fitted.theta.astype(np.float64), own))
    assert abs(found.covariance - expected).max() < 0.01 * abs(expected).max()


@pytest.mark.parametrize("strength", STRENGTHS)
@pytest.mark.parametrize("far", [3.0, 1e3, 1e6])
def test_the_maximum_is_found_from_anywhere(strength, far):
    fitted, tokens, _ = fit(f"chain {strength}")
    own = np.unique(slots_of(fitted, "3"))
    near = posterior(fitted, "3", center="mode", tokens=tokens, quiet=True)["3"]
    by = far * np.random.default_rng(3).standard_normal((len(own), 3))
    found = posterior(moved(fitted, own, by), "3", center="mode", tokens=tokens, quiet=True)["3"]
    np.testing.assert_allclose(found.mean, near.mean, atol=0.005)
    np.testing.assert_allclose(found.covariance, near.covariance, atol=0.002 * near.covariance.max())


def test_a_maximum_that_is_not_found_is_an_error_that_names_the_words(monkeypatch):
    fitted, tokens, _ = fit()
    monkeypatch.setattr(conditional, "MAX_EVALUATIONS", 2)
    with pytest.raises(NotConvergedError, match=r'posteriors of "3".*not found at 2 points'):
        posterior(moved(fitted, np.unique(slots_of(fitted, "3")), 30.0), "3", tokens=tokens, quiet=True)


def test_vectors_that_are_no_numbers_are_named():
    fitted, tokens, _ = fit()
    with pytest.raises(lx.InputError, match="not finite"):
        posterior(moved(fitted, fitted.slots(0, None), np.nan), "3", tokens=tokens, quiet=True)


@pytest.mark.parametrize("likelihood", ["cbow", "sgns"])
def test_the_contexts_of_words_are_those_of_the_reference(likelihood):
    fitted, tokens, problem = fit("groups and chain", likelihood)
    slices = fitted.rows.slices
    text = ContextReader(tokens, slices.of_document, len(slices), fitted, 0, Options(threads=3))
    words = [4, 0]
    found = text.contexts(words)
    for slice, group in enumerate(slice_texts(problem)):
        alpha = fitted.contexts().astype(np.float64)
        for word, contexts in [*zip(words, (parts[slice] for parts in found)), (None, text.background[slice])]:
            around = group.around if word is None else group.around[group.tokens == word]
            h = np.repeat(alpha, np.asarray(around.sum(0), int), axis=0) if likelihood == "sgns" else around @ alpha
            weight = np.broadcast_to(contexts.weight, len(contexts))
            assert weight.sum() == len(h)
            np.testing.assert_allclose(weight @ contexts.vectors, h.sum(0), rtol=1e-4, atol=1e-4)
            squares = (contexts.vectors * weight[:, None]).T @ contexts.vectors
            np.testing.assert_allclose(squares, h.T @ h, rtol=1e-4, atol=1e-3)


def test_a_share_of_the_background_and_of_the_occurrences_is_enough(monkeypatch):
    fitted, tokens, _ = fit()
    whole = posterior(fitted, "0", tokens=tokens, quiet=True)["0"]
    monkeypatch.setattr(statistics, "BACKGROUND_BYTES", 4 * 3 * 600)
    monkeypatch.setattr(statistics, "OCCURRENCE_BYTES", 4 * 3 * 120)
    part = posterior(fitted, "0", tokens=tokens, quiet=True)["0"]
    assert not np.array_equal(part.mean, whole.mean)
    spread = np.sqrt(np.diag(whole.covariance)).reshape(whole.mean.shape)
    assert (abs(part.mean - whole.mean) < 1.5 * spread).all()
    assert 0.7 < np.trace(part.covariance) / np.trace(whole.covariance) < 1.4


@pytest.mark.parametrize(("noise", "each"), [(1.0, 1), (0.01, 5), (1e-9, 20)])
def test_a_rare_word_needs_less_of_the_background(monkeypatch, noise, each):
    monkeypatch.setattr(posteriors, "MIN_BACKGROUND_CONTEXTS", 50)
    contexts = np.random.default_rng(1).standard_normal((1_000, 3)).astype(np.float32)
    block, _ = few()
    counted = Contexts(contexts, np.ones(1_000, np.float32))
    text = BlockContexts({}, [Contexts(contexts, 2.0), counted], {0: noise})
    thinned = posteriors.thin_background(text, [block])
    np.testing.assert_array_equal(thinned.background[0].vectors, contexts[::each])
    assert len(thinned.background[0]) * thinned.background[0].weight == pytest.approx(2_000)
    np.testing.assert_array_equal(thinned.background[1].vectors, contexts)  # which are counted, not sampled


def test_words_do_not_depend_on_the_company_they_are_asked_about_in(monkeypatch):
    fitted, tokens, _ = fit()
    alone = posterior(fitted, "7", tokens=tokens, quiet=True)["7"]
    monkeypatch.setattr(posteriors, "OCCURRENCE_BYTES", 4 * 3 * 100)  # several readings
    among = posterior(fitted, [str(k) for k in range(12)], tokens=tokens, threads=2, quiet=True)
    assert list(among) == [str(k) for k in range(12)]
    np.testing.assert_allclose(among["7"].mean, alone.mean, atol=1e-5)
    np.testing.assert_allclose(among["7"].covariance, alone.covariance, atol=1e-5)


# few contexts, two dimensions: everything about the posterior is known from a grid

FEW = 1.5 * np.random.default_rng(5).standard_normal((14, 2)).astype(np.float32) + np.float32(1.0)
STANDS = np.array([1] * 9 + [0] * 5, bool)


def few():
    text = BlockContexts({(0, 0): Contexts(FEW[STANDS])}, [Contexts(FEW[~STANDS], 2.0)], {0: 0.7})
    prior = np.array([[0.3]]), np.array([[0.5, 0.0]])
    return VectorBlock([0], np.array([[0]]), [BlockCell(0, 0, 0)], np.zeros((1, 2)), *prior), text


def moments_on_a_grid():
    axis = np.linspace(-14, 18, 801)
    points = np.stack(np.meshgrid(axis, axis, indexing="ij"), -1).reshape(-1, 2)
    log = log_expit(points @ FEW[STANDS].T).sum(1) + 1.4 * log_expit(-points @ FEW[~STANDS].T).sum(1)
    log += -0.15 * (points**2).sum(1) + 0.5 * points[:, 0]
    weight = np.exp(log - log.max())
    weight /= weight.sum()
    mean = weight @ points
    return mean, (points - mean).T @ ((points - mean) * weight[:, None])


def test_the_nearest_gaussian_has_the_mean_and_nearly_the_spread_of_the_posterior():
    block, text = few()
    mean, covariance = moments_on_a_grid()
    near, at_mode = (solve([block], text, center)[0] for center in ("mean", "mode"))
    spread = np.sqrt(np.diag(covariance))
    assert (abs(near.mean[0] - mean) < 0.06 * spread).all()
    assert abs(at_mode.mean[0] - mean).max() > 4 * abs(near.mean[0] - mean).max()
    assert abs(near.covariance - covariance).max() < 0.12 * covariance.max()


@pytest.mark.parametrize(("mean", "variance"), [(0.0, 0.0), (1.0, 0.1), (-3.0, 4.0), (2.0, 50.0), (-12.0, 30.0)])
def test_expectations_of_the_logistic_function_are_its_integrals(mean, variance):
    off, bend = (float(part[0]) for part in expected_logistic(np.array([mean]), np.array([variance])))
    if variance == 0:
        exact = expit(mean), expit(mean) * expit(-mean)
    else:
        scores = stats.norm(mean, np.sqrt(variance))
        exact = tuple(
            integrate.quad(lambda s, f=f: f(s) * scores.pdf(s), *scores.interval(1 - 1e-12), limit=200)[0]
            for f in (expit, lambda s: expit(s) * expit(-s))
        )
    assert (off, bend) == pytest.approx(exact, abs=3e-4)


# several words at once


def test_coupled_words_have_the_curvature_of_the_log_posterior():
    fitted, tokens, problem = fit("dictionary")
    joint = posterior(fitted, ["6", "3"], coupled=True, center="mode", tokens=tokens, quiet=True)
    slots = slots_of(fitted, "6", "3")
    own = np.unique(slots)
    np.testing.assert_array_equal(own[joint.place], slots)
    np.testing.assert_allclose(joint.mean, fitted.theta[own], atol=0.005)
    expected = np.linalg.inv(curvature(problem, fitted.theta.astype(np.float64), own))
    assert abs(joint.covariance - expected).max() < 0.01 * abs(expected).max()


def test_a_word_is_less_certain_if_its_neighbors_may_move_as_well():
    fitted, tokens, _ = fit("dictionary")
    joint = posterior(fitted, ["6", "3", "9"], coupled=True, tokens=tokens, quiet=True)
    alone = posterior(fitted, "6", tokens=tokens, quiet=True)["6"]
    assert list(joint) == ["6", "3", "9"]
    assert "3" in joint
    assert "4" not in joint
    assert len(joint) == 3
    with pytest.raises(KeyError, match='"4" is not one of 6, 3, 9'):
        joint["4"]
    assert (np.diag(joint["6"].covariance) > np.diag(alone.covariance)).all()
    drawn = joint.sample(20_000)
    assert drawn.shape == (20_000, 3, 6, 3)
    one, two = 3 * joint.place[0, 0], 3 * joint.place[1, 0]
    together = joint.covariance[one, two] / np.sqrt(joint.covariance[one, one] * joint.covariance[two, two])
    assert together > 0.05  # which the dictionary says
    assert np.corrcoef(drawn[:, 0, 0, 0], drawn[:, 1, 0, 0])[0, 1] == pytest.approx(together, abs=0.03)
    flat = joint["3"].sample(20_000)
    np.testing.assert_allclose(drawn[:, 1].std(0), flat.std(0), rtol=0.05)


def test_words_that_a_dictionary_joins_are_found():
    fitted, _, _ = fit("dictionary")
    assert joined_words(fitted, "3") == ["3", "6"]
    assert set(joined_words(fitted, "6")) == {"3", "6", "9"}
    assert joined_words(fitted, ["4"]) == ["4"]


def test_a_covariance_that_is_too_large_is_said_with_its_size():
    fitted, tokens, _ = fit("dictionary")
    need = 8 * 4 * (18 * 6 * 3) ** 2 / 2**30  # the covariance, and three of its size on the way
    words = fitted.words()
    with pytest.raises(lx.InputError, match=f"posterior of 324 numbers .* needs {need:.3g} GB, more than memory=0.001"):
        posterior(fitted, words, coupled=True, memory=0.001, tokens=tokens, quiet=True)
    with pytest.raises(lx.InputError, match="posterior of 18 words"):
        posterior(fitted, words, memory=1e-6, tokens=tokens, quiet=True)


# what follows from a posterior


def test_draws_have_the_mean_and_the_covariance():
    fitted, tokens, _ = fit()
    found = posterior(fitted, ["3", "5"], tokens=tokens, quiet=True)["5"]
    drawn = found.sample(40_000)
    assert drawn.shape == (40_000, 6, 3)
    np.testing.assert_allclose(drawn.mean(0), found.mean[found.place], atol=0.02)
    flat = drawn[:, np.argsort(found.place)].reshape(len(drawn), -1)
    spread = np.sqrt(np.diag(found.covariance))
    assert (abs(np.cov(flat.T) - found.covariance) < 0.04 * np.outer(spread, spread)).all()


def test_projections_and_distances_are_those_of_draws():
    fitted, tokens, _ = fit()
    found = posterior(fitted, "3", tokens=tokens, quiet=True)["3"]
    drawn = found.sample(60_000)
    axis = np.array([1.0, -2.0, 0.5])
    table = found.project(axis, interval=0.8)
    assert list(table) == ["word", "party", "year", "estimate", "se", "lower", "upper"]
    assert list(zip(table["party"], table["year"])) == list(fitted.rows.slices.keys)
    products = drawn @ axis
    exact = [products.mean(0), products.std(0), *np.quantile(products, [0.1, 0.9], axis=0)]
    for name, values in zip(["estimate", "se", "lower", "upper"], exact):
        np.testing.assert_allclose(table[name], values, atol=0.03 * products.std())
    gap = found.distance({"party": "D", "year": 2000}, {"party": "R", "year": "2000"}, interval=0.8).iloc[0]
    assert list(gap[:3]) == ["3", "D – R", "2000"]
    keys = fitted.rows.slices.keys
    lengths = np.linalg.norm(drawn[:, keys.index(("D", "2000"))] - drawn[:, keys.index(("R", "2000"))], axis=1)
    exact = [np.median(lengths), lengths.std(), *np.quantile(lengths, [0.1, 0.9])]
    np.testing.assert_allclose(gap[["estimate", "se", "lower", "upper"]].astype(float), exact, rtol=0.04)


def test_tied_slices_are_at_no_distance():
    fitted, tokens, _ = fit("slices tied")
    found = posterior(fitted, "3", tokens=tokens, quiet=True)["3"]
    gap = found.distance({"party": "D", "year": "2000"}, {"party": "R", "year": "2000"})
    assert (gap[["estimate", "se", "lower", "upper"]] == 0.0).all(axis=None)


def test_a_stronger_belief_is_a_narrower_one():
    gaps = []
    for prior in ("weak", "strong"):
        fitted, tokens, _ = fit(prior)
        found = posterior(fitted, "3", tokens=tokens, quiet=True)["3"]
        gaps.append(found.distance({"party": "D", "year": "2000"}, {"party": "R", "year": "2000"}).iloc[0])
    assert gaps[1]["estimate"] < 0.5 * gaps[0]["estimate"]
    assert gaps[1]["se"] < 0.5 * gaps[0]["se"]


def test_bad_questions_are_named():
    fitted, tokens, _ = fit()
    with pytest.raises(lx.InputError, match='"99" is not in the vocabulary'):
        posterior(fitted, "99", tokens=tokens)
    with pytest.raises(lx.InputError, match='center="median": write'):
        posterior(fitted, "3", center="median", tokens=tokens)
    found = posterior(fitted, "3", tokens=tokens, quiet=True)["3"]
    with pytest.raises(lx.InputError, match="at least one draw"):
        found.sample(0)
    with pytest.raises(lx.InputError, match="an axis is 3 numbers"):
        found.project([1.0, 2.0])
    with pytest.raises(lx.InputError, match="an axis is a vector of 3 numbers, not 'rich'"):
        found.project("rich")
    with pytest.raises(lx.InputError, match="interval=90 must be between 0 and 1"):
        found.project([1.0, 2.0, 3.0], interval=90)
    with pytest.raises(lx.InputError, match="interval=2 must be"):
        found.distance({"party": "D", "year": 2000}, {"party": "R", "year": 2000}, interval=2)
    with pytest.raises(lx.InputError, match="are 3 slices: give year as well"):
        found.distance({"party": "D"}, {"party": "R"})
    with pytest.raises(lx.InputError, match=r"there is no slice \{'party': 'X'\}"):
        found.distance({"party": "X"}, {"party": "R"})
    with pytest.raises(lx.InputError, match='do not vary by "color"'):
        found.distance({"color": "red"}, {"party": "R"})
    with pytest.raises(lx.InputError, match=r"a slice is given by its values, such as \{'party': 'D'"):
        found.distance("D", "R")


def test_vectors_that_are_more_than_words_have_no_posterior():
    fitted, tokens, _ = fit("context tied")
    with pytest.raises(lx.InputError, match='tied to "5", a context'):
        posterior(fitted, "3", tokens=tokens, quiet=True)
    fitted, tokens, _ = fit("directed")
    assert posterior(fitted, "3", tokens=tokens, quiet=True)["3"].mean.shape == (6, 3)
    with pytest.raises(lx.InputError, match="directed edges between vectors are a penalty"):
        posterior(fitted, ["3", "5"], coupled=True, tokens=tokens, quiet=True)


# data from the model: a small version of benchmarks/posterior_coverage.py


def benchmark():
    path = Path(__file__).parent.parent / "benchmarks" / "posterior_coverage.py"
    spec = importlib.util.spec_from_file_location("coverage_benchmark", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
@pytest.mark.parametrize(("slices", "strength", "frequency"), [(2, 0.0, 60), (2, 10.0, 600), (5, 2.0, 300)])
def test_intervals_hold_the_truth_as_often_as_they_say(slices, strength, frequency):
    coverage = benchmark()
    random = np.random.default_rng(1)
    contexts = (0.6 * random.standard_normal((20_000, 8)) + 0.3).astype(np.float32)
    world = coverage.World(contexts, slices, 1.0, strength)
    found = [coverage.ask(world, frequency, seed, "mean", "drawn") for seed in range(120)]
    for what in ("projection", "distance"):
        assert 0.82 < np.mean([each[what] for each in found]) < 0.97
