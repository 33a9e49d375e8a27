"""Vectors only where words occur: the same model as with all of them, absent words being what the prior says."""

from __future__ import annotations

import importlib
import shutil
from argparse import Namespace
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import engine_runs
import numpy as np
import pandas as pd
import pytest
import small
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

import laplex as lx
from laplex.engines import reference
from laplex.engines.sampling import AliasTables, count_visits
from laplex.engines.state import State
from laplex.fitting.estimation import Estimation
from laplex.fitting.held_out import HeldOutText
from laplex.fitting.stability import refitted
from laplex.inference.conditional import joined_words
from laplex.inference.jackknife import jackknife_vectors
from laplex.inference.posteriors import posterior
from laplex.inference.units import Options
from laplex.model import absent, elimination
from laplex.model.likelihoods import Likelihood
from laplex.model.objective import log_posterior, slice_texts
from laplex.model.priors.prior import WordPrior
from laplex.model.problem import make_problem
from laplex.model.rows import Rows
from laplex.runtime import storage
from laplex.text.tokens import Slices

YEARS = [str(year) for year in range(2000, 2007)]
PRIORS = {
    "chain": (lambda: lx.Ridge(0.5) + lx.Chain("year", 4.0), ["year"]),
    "chain by gap": (lambda: lx.Ridge(1.0) + lx.Chain("year", 9.0, start=2.0, by_gap=True), ["year"]),
    "groups": (lambda: lx.Ridge(0.5) + lx.Groups("year", 2.0), ["year"]),
    "group mean": (lambda: lx.Ridge(0.3) + lx.GroupMean("year", 3.0, 0.5), ["year"]),
    "both": (lambda: lx.Ridge(0.5) + lx.Groups("party", 3.0) + lx.Chain("year", 5.0), ["party", "year"]),
    "chains apart": (lambda: lx.Ridge(0.5) + lx.Chain("year", 5.0), ["party", "year"]),
    "ridge alone": (lambda: lx.Ridge(1.5), ["year"]),
    "ridge by word": (lambda: lx.Ridge(0.2) + lx.Ridge({"3": 4.0, "5": 1.0}) + lx.Chain("year", 4.0), ["year"]),
    "no ridge on words": (lambda: lx.Ridge(1.0, on="contexts") + lx.Chain("year", 4.0, start=0.5), ["year"]),
}


def sparse_documents(count=28, words=20, languages=("",), seed=1):
    """Short documents, so that most words are absent from most slices."""
    rows = small.documents(count, 5, words, seed, languages)
    for number, row in enumerate(rows):
        row["year"] = YEARS[number // (2 * len(languages)) % len(YEARS)]
    return rows


@pytest.fixture
def texts():
    return sparse_documents()


@pytest.fixture
def lacking():
    """More text, in each slice without some of the words."""
    rows = small.documents(84)
    for number, row in enumerate(rows):
        row["year"] = YEARS[number // 2 % len(YEARS)]
        shift = 3 * int(row["year"]) + (row["party"] == "D")
        row["text"] = [word for word in row["text"] if (7 * int(word) + shift) % 5 > 1]
    return rows


def both(rows, name, **choices):
    """The problem with vectors where words occur, the one with all vectors and the same negatives, and the layout."""
    make, vary = PRIORS[name]
    filled = small.problem(rows, make(), vary, absent="filled", **choices)
    where = small.layout(rows, vary)
    return filled, with_negatives_of(filled, small.problem(rows, make(), vary, **choices), where), where


def present(filled, where):
    """(word rows) Which words occur in which slices."""
    return filled.model_slot[: where.context_start(0)] >= 0


def with_negatives_of(filled, whole, where):
    """The problem with a vocabulary for each slice, of which only those words are drawn that occur there."""
    sizes = np.repeat([len(vocabulary) for vocabulary in where.vocabularies], len(where.slices))
    start = np.concatenate([[0], np.cumsum(sizes)])
    block = np.searchsorted(start, whole.word_start, "right") - 1
    noise, keep = (
        np.concatenate([np.tile(values[a:b], len(where.slices)) for a, b in pairwise(whole.vocabulary_start.tolist())])
        for values in (whole.noise, whole.keep)
    )
    noise = noise * present(filled, where)
    of_block = np.repeat(np.arange(len(sizes)), sizes)
    noise /= np.maximum(np.bincount(of_block, noise, len(sizes)), 1e-300)[of_block]
    return replace(whole, language=block, vocabulary_start=start, noise=noise, keep=keep)


def parts(filled):
    return np.flatnonzero(filled.model_slot >= 0), np.flatnonzero(filled.model_slot < 0)


def expanded(filled, whole, theta):
    """The vectors of all rows, the absent ones at their optimum under the whole prior."""
    here, gone = parts(filled)
    laplacian = small.full_laplacian(whole.graph)
    full = np.zeros((whole.parameters, theta.shape[1]))
    full[here] = theta[filled.model_slot[here]]
    gone = np.append(gone, np.arange(len(filled.model_slot), whole.parameters))  # and what is latent
    full[gone] = -np.linalg.solve(laplacian[np.ix_(gone, gone)], laplacian[np.ix_(gone, here)] @ full[here])
    return full


# The graph that is left


@pytest.mark.parametrize("name", PRIORS)
def test_the_graph_that_is_left_is_schurs_complement(texts, name):
    filled, whole, _ = both(texts, name)
    here, gone = parts(filled)
    assert 0.3 < len(gone) / (len(here) + len(gone)) < 0.9
    gone = np.append(gone, np.arange(len(filled.model_slot), whole.parameters))
    left, found = (
        matrix[np.ix_(one, one)]
        - matrix[np.ix_(one, two)] @ np.linalg.solve(matrix[np.ix_(two, two)], matrix[np.ix_(two, one)])
        for matrix, one, two in (
            (small.full_laplacian(whole.graph), here, gone),
            (
                small.full_laplacian(filled.graph),
                np.arange(filled.graph.own),
                np.arange(filled.graph.own, filled.parameters),
            ),
        )
    )
    np.testing.assert_allclose(found, left, atol=1e-12)
    assert (filled.graph.weight > 0).all()


def test_over_a_gap_springs_are_in_series():
    rows = [{"text": ["a", "b"], "party": "D", "year": year, "lang": ""} for year in YEARS]
    for row in rows[1:4]:
        row["text"] = ["b", "b"]
    prior = lx.Chain("year", 12.0, start=1.0) + lx.Ridge(1.0, on="contexts")
    problem = small.problem(rows, prior, ["year"], absent="filled")
    where = small.layout(rows, ["year"])
    a = where.vocabularies[0]["a"]
    first, second = problem.model_slot[[where.words(0, 0)[a], where.words(0, 4)[a]]]
    edge = (problem.graph.first == first) & (problem.graph.second == second)
    np.testing.assert_allclose(problem.graph.weight[edge], [12.0 / 4])
    assert problem.graph.diagonal[first] == 1.0


def random_prior(random, slices, latent, edges, words):
    """A prior over slices and latent nodes, each of which joins a few slices, with ridges that differ by word."""
    first, second = np.sort(random.integers(0, slices, (edges, 2)), axis=1)[:, ::-1].T
    first, second = first[first != second], second[first != second]
    of_latent = [random.choice(slices, min(slices, 4), replace=False) for _ in range(latent)]
    first = np.concatenate([first, *of_latent])
    second = np.concatenate([second, np.repeat(slices + np.arange(latent), [len(part) for part in of_latent])])
    weight = 10.0 ** random.uniform(-2, 3, len(first))
    diagonal = np.append(random.random(slices), np.zeros(latent))
    graph = lx.Graph.of(slices + latent, first, second, weight, diagonal=diagonal, latent=latent).merge_ties()[0]
    return WordPrior(graph, random.choice([0.5, 2.0], words), np.ones(words))


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.integers(1, 9), st.integers(0, 3), st.integers(0, 20), st.sampled_from([2, 12]))
def test_what_is_left_is_schurs_complement_for_every_graph(seed, slices, latent, edges, most):
    """Also where some nodes have so many edges that they stay."""
    random = np.random.default_rng(seed)
    prior = random_prior(random, slices, latent, edges, words=5)
    here = random.random((slices, 5)) < 0.4
    slice, word = np.nonzero(here)
    parameters = np.arange(len(slice))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(elimination, "MAX_DEGREE", most)
        for name in (
            "_find",
            "_added_edges",
            "_add",
            "new_graph",
            "_take_out",
            "_take_out_leaf",
            "reduce_word",
            "reduce_words",
        ):
            patch.setattr(elimination, name, getattr(elimination, name).py_func)
        contexts = len(slice) + np.arange(5)
        graph, latent_word = absent.eliminate(
            prior, absent.WordPlaces.of(word, slice, parameters, 5), contexts, len(slice) + 5
        )
    assert graph.latent == len(latent_word)
    assert (graph.weight > 0).all()
    found = small.full_laplacian(graph)
    for number in range(5):
        own = np.append(np.flatnonzero(word == number), graph.own + np.flatnonzero(latent_word == number))
        precision = prior.precision(number)
        gone = np.flatnonzero(~np.append(here[:, number], np.zeros(len(precision) - slices, bool)))
        there = np.flatnonzero(here[:, number])
        across = precision[np.ix_(there, gone)]
        left = precision[np.ix_(there, there)] - across @ np.linalg.pinv(precision[np.ix_(gone, gone)]) @ across.T
        size, block = len(there), found[np.ix_(own, own)]
        inner = np.linalg.pinv(block[size:, size:])
        np.testing.assert_allclose(
            block[:size, :size] - block[:size, size:] @ inner @ block[size:, :size], left, rtol=1e-6, atol=1e-8
        )
        np.testing.assert_allclose(found[own].sum(1), block.sum(1), atol=1e-9)  # joined to no other word


def test_a_star_remains_a_star_and_a_chain_a_chain(texts):
    for prior in ("groups", "group mean", "chain"):
        filled = both(texts, prior)[0]
        vectors = len(filled.slot) // 2
        often = np.bincount(filled.pooled_row[:vectors]) > 5  # a mean of fewer is no saving
        assert filled.graph.edges <= vectors + 5 * (~often).sum() * (prior != "chain")
        assert filled.graph.latent == (0 if prior == "chain" else often.sum())
        if prior != "chain":
            assert often.any()


def test_means_of_speakers_within_periods_stay_if_there_are_many():
    """The memory of a word grows with the slices that it occurs in, not with all of them."""
    random = np.random.default_rng(1)
    speakers, years = [f"s{i}" for i in range(40)], YEARS
    keys = [(speaker, year) for speaker in speakers for year in years]
    slices = Slices(("speaker", "year"), tuple(keys), np.arange(len(keys), dtype=np.int32))
    where = Rows([lx.Vocabulary(["a"], np.array([5]))], slices)
    parts = lx.Ridge(1.0), lx.Groups("speaker", 5.0), lx.Chain("year", 20.0)
    first, *others = [part.word_prior(where) for part in parts]
    prior = sum(others, start=first)
    slice = np.sort(random.choice(len(keys), 12, replace=False))
    occurrences = absent.WordPlaces.of(np.zeros(12, int), slice, np.arange(12), 1)
    graph, latent = absent.eliminate(prior, occurrences, np.array([12], np.int32), 13)
    assert graph.edges < 13 * 13 + len(years) * len(years)
    assert len(latent) <= len(years)


# The same maximum


@pytest.mark.parametrize("likelihood", ["cbow", "sgns"])
@pytest.mark.parametrize("name", ["chain", "groups", "both"])
def test_the_mode_is_that_of_the_model_with_all_vectors(texts, name, likelihood):
    """With the same negatives. What is filled is where the whole posterior is highest, and nothing else moves."""
    filled, whole, _ = both(texts, name, likelihood=likelihood)
    best = reference.maximize(filled, small.some_theta(filled, scale=0.1), tolerance=1e-10)
    full = expanded(filled, whole, best)
    assert log_posterior(whole, full)[0] == pytest.approx(log_posterior(filled, best)[0], rel=1e-12)
    assert np.abs(log_posterior(whole, full)[1]).max() < 1e-3
    again = reference.maximize(whole, full, tolerance=1e-10)
    np.testing.assert_allclose(again, full, atol=1e-3)
    assert log_posterior(whole, again)[0] == pytest.approx(log_posterior(whole, full)[0], rel=1e-9)


@pytest.mark.parametrize("likelihood", ["cbow", "sgns"])
@pytest.mark.parametrize("name", ["chain", "groups", "both"])
def test_the_gradient_is_that_of_the_model_with_all_vectors(texts, name, likelihood):
    filled, whole, _ = both(texts, name, likelihood=likelihood)
    theta = small.some_theta(filled)
    here, gone = parts(filled)
    latent = np.arange(filled.graph.own, filled.parameters)
    if len(latent):  # at their optimum, too
        matrix = small.full_laplacian(filled.graph)
        rest = np.arange(filled.graph.own)
        theta[latent] = -np.linalg.solve(matrix[np.ix_(latent, latent)], matrix[np.ix_(latent, rest)] @ theta[rest])
    gradient = log_posterior(whole, expanded(filled, whole, theta))[1]
    np.testing.assert_allclose(gradient[here], log_posterior(filled, theta)[1][filled.model_slot[here]], atol=1e-9)
    np.testing.assert_allclose(gradient[gone], 0.0, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "likelihood", "engine", "epochs"),
    [
        ("chain", "cbow", engine_runs.run_cpu, 300),
        ("groups", "sgns", engine_runs.run_cpu, 300),
        ("groups", "cbow", engine_runs.run_cpu, 300),
        ("both", "sgns", engine_runs.run_cpu, 400),
        ("groups", "cbow", engine_runs.run_torch, 200),
    ],
)
def test_engines_come_within_a_hundredth(lacking, name, likelihood, engine, epochs):
    problem, _, where = both(lacking, name, likelihood=likelihood)
    assert 0.2 < 1.0 - present(problem, where).mean() < 0.5
    if engine is engine_runs.run_torch:
        pytest.importorskip("torch")
    found = engine(problem, epochs, piece=100)
    start = engine_runs.vectors(problem, State.initial(problem, 1))
    best = log_posterior(problem, reference.maximize(problem, found, steps=400, tolerance=1e-6))[0]
    gap = best - log_posterior(problem, found)[0]
    assert gap < 0.01 * abs(best)
    assert gap < 0.03 * (best - log_posterior(problem, start)[0])


def test_negatives_are_words_of_the_slice(texts):
    """None else is drawn, and each as often as its share among them."""
    filled, _, where = both(texts, "chain")
    tables = AliasTables.of(filled)
    drawn = np.zeros(filled.parameters)
    for start in np.unique(filled.word_start):
        table = tables.table[filled.word_start == start][0]
        low, high = tables.start[table : table + 2]
        own = filled.slot[start : start + high - low]
        np.add.at(drawn, own, tables.chance[low:high] / (high - low))
        np.add.at(drawn, own[tables.other[low:high]], (1.0 - tables.chance[low:high]) / (high - low))
    noise, occurs = where.vocabularies[0].noise(0.75), present(filled, where)
    for slice in range(len(where.slices)):
        words = where.words(0, slice)
        own = noise * occurs[words.start : words.stop]
        slots = filled.model_slot[words.start : words.stop]
        np.testing.assert_allclose(drawn[slots[slots >= 0]], (own / own.sum())[slots >= 0], atol=1e-6)


@pytest.mark.parametrize("likelihood", ["cbow", "sgns"])
def test_absent_words_that_are_kept_are_where_the_posterior_is_highest(lacking, likelihood):
    """They are drawn as negatives alone, and take all of their prior there: nothing but the posterior moves them."""
    problem = small.problem(lacking, lx.Ridge(0.5) + lx.Chain("year", 4.0), ["year"], likelihood=likelihood)
    absent = parts(small.problem(lacking, lx.Ridge(0.5) + lx.Chain("year", 4.0), ["year"], absent="filled"))[1]
    found = engine_runs.run_cpu(problem, 150, piece=100).astype(np.float64)
    texts = list(slice_texts(problem))

    def minus(flat):
        theta = found.copy()
        theta[absent] = flat.reshape(len(absent), -1)
        value, gradient = log_posterior(problem, theta, texts)
        return -value, -gradient[absent].reshape(-1)

    best = minimize(minus, found[absent].reshape(-1), jac=True, method="L-BFGS-B").x.reshape(len(absent), -1)
    start = engine_runs.vectors(problem, State.initial(problem, 1))[absent]
    assert len(absent) > 10
    assert np.linalg.norm(found[absent] - best) < 0.1 * np.linalg.norm(best)
    assert np.linalg.norm(start - best) > 0.5 * np.linalg.norm(best)


# What a fitted model says


def fit(rows, name="chain", **options):
    make, vary = PRIORS[name]
    options = {"engine": "cpu", "epochs": 3, "threads": 1, "holdout": 0.1, "min_count": 1, "quiet": True} | options
    return lx.fit(lx.Model(vary, make(), dimensions=6, subsample=0.0, absent="filled"), small.corpus(rows), **options)


def with_all_vectors(fitted):
    """The same vectors, each of them kept."""
    slices, languages = range(len(fitted.rows.slices)), range(len(fitted.languages))
    return lx.Embeddings.of(
        fitted.rows.vocabularies,
        [np.stack([fitted.block(i, slice) for slice in slices]) for i in languages],
        slices=fitted.rows.slices,
        counts=fitted.counts,
        contexts=[fitted.block(i, None) for i in languages],
        settings=fitted.settings,
    )


def without_latent(graph):
    """The precision of the vectors of words and contexts."""
    whole, own = small.full_laplacian(graph), graph.own
    return whole[:own, :own] - whole[:own, own:] @ np.linalg.solve(whole[own:, own:], whole[own:, :own])


@pytest.mark.parametrize("name", PRIORS)
def test_absent_words_have_the_vectors_that_the_whole_graph_gives_them(texts, name):
    fitted = fit(texts, name)
    make, _ = PRIORS[name]
    laplacian = without_latent(make().graph(fitted.rows))
    rows = np.concatenate([fitted.block(0, slice) for slice in range(len(fitted.rows.slices))]).astype(np.float64)
    gone = np.flatnonzero(fitted.slot < 0)
    words = laplacian[: len(rows), : len(rows)] @ rows
    assert len(gone)
    assert np.abs(words[gone]).max() < 1e-5
    assert np.abs(words).max() > 1e-2
    assert np.abs(rows[gone]).max() > 0.0 or name == "ridge alone"
    assert not np.concatenate([count.reshape(-1) for count in fitted.counts])[gone].any()


def test_a_word_alone_is_filled_as_all_of_them_are(texts):
    fitted = fit(texts, "both")
    for slice, key in enumerate(fitted.rows.slices.keys):
        where = dict(zip(fitted.columns, key, strict=True))
        for word in fitted:
            np.testing.assert_array_equal(fitted.vector(word, at=where), fitted.matrix(at=where)[fitted.id(word, 0)])
        assert not fitted.matrix(at=where).flags.writeable
        np.testing.assert_allclose(
            fitted.lengths(0, slice), np.linalg.norm(fitted.matrix(at=where), axis=1), rtol=1e-5, atol=1e-7
        )


@pytest.mark.parametrize("name", ["chain", "both"])
def test_questions_are_answered_as_if_all_vectors_were_kept(texts, name):
    fitted = fit(texts, name)
    kept = with_all_vectors(fitted)
    assert (kept.slot >= 0).all()
    where = {"party": "D"} if name == "both" else {}
    word = fitted.words()[-1]
    assert fitted.count(word, at={"year": "2003", **where}) == 0
    counts = fitted.counts[0][fitted.chosen(where)]
    together = counts[counts[:, fitted.id(word, 0)] > 0].all(axis=0)
    partner = next(other for other in fitted.words() if together[fitted.id(other, 0)])  # is used wherever the word is
    for ask in (
        lambda model: model.inference(min_uses=0).neighbors(word, at=where, test=False),
        lambda model: model.similarity(word, partner, at=where, test=False),
        lambda model: model.contrast("year", [word, "0"], values=["2000", "2006"], at=where, test=False),
        lambda model: model.distance([word, "0"], across="year", at=where, test=False),
        lambda model: model.drift("year", [word, "0"], at=where, test=False),
        lambda model: model.trajectory(word, along="year", at=where, test=False),
        lambda model: model.inference(min_uses=0).project([word, "1"], ("0", "2"), at=where, test=False),
        lambda model: model.to_frame(),
        lambda model: model.slices,
    ):
        pd.testing.assert_frame_equal(ask(fitted), ask(kept), rtol=1e-4, atol=1e-6)
    assert (
        fitted.at({"year": "2003", **where})[word].tobytes()
        == fitted.vector(word, at={"year": "2003", **where}).tobytes()
    )


def test_held_out_text_is_judged_as_if_all_vectors_were_kept(texts):
    fitted = fit(texts, "both")
    other = small.corpus(sparse_documents(28, seed=9))
    models = {"filled": fitted, "kept": with_all_vectors(fitted)}
    table = lx.evaluation.held_out(models, other, quiet=True)
    one, two = table["log_likelihood"]
    assert one == pytest.approx(two, rel=1e-6)


def test_findings_are_the_same_whatever_becomes_of_absent_words():
    """Tests are about the text, by contexts that have not seen which slice a word is in."""
    rows = small.documents(160, 20, 18)
    for row in rows:
        lacks = 5 if row["party"] == "D" else 0
        row["text"] = [word for word in row["text"] if int(word) < 8 or int(word) % 6 != lacks]
    tokens = lx.Tokens.of(small.corpus(rows), min_count=1, quiet=True)
    tables = []
    for kind in ("kept", "filled"):
        model = lx.Model(["party"], lx.Ridge(1.0) + lx.Groups("party", 10.0), dimensions=6, absent=kind)
        fitted = lx.fit(model, tokens, epochs=5, threads=1, engine="cpu", quiet=True)
        assert (fitted.slot < 0).any() == (kind == "filled")
        tables.append(fitted.contrast("party"))
    assert len(tables[0]) > 3
    pd.testing.assert_frame_equal(*tables)


@pytest.mark.parametrize("languages", [("",), ("x", "y")])
def test_strengths_are_chosen_by_the_same_text(languages):
    tokens = lx.Tokens.of(small.corpus(sparse_documents(160, languages=languages)), min_count=1, quiet=True)
    where = Rows(tokens.vocabularies, tokens.slices(["year"]))
    found = []
    for kind in ("kept", "filled"):
        model = lx.Model(["year"], lx.Ridge(0.5) + lx.Chain("year", 4.0), dimensions=6, subsample=0.01, absent=kind)
        found.append(HeldOutText.of_problem(tokens, make_problem(model, tokens, where, 0.3, 1), 1))
    for name in ("ids", "lengths", "documents", "language"):
        np.testing.assert_array_equal(getattr(found[0], name), getattr(found[1], name))
    assert len(found[0].ids) < np.diff(tokens.offsets)[found[0].documents].sum()
    tuning = lx.tune(model, tokens, {"year": [1.0, 10.0]}, epochs=2, holdout=0.3, tests=False, quiet=True)
    assert tuning.model.prior.parts[1].strength in (1.0, 10.0)


def test_two_languages(texts):
    rows = sparse_documents(56, languages=("x", "y"))
    fitted = fit(rows, "both")
    kept = with_all_vectors(fitted)
    assert (fitted.slot < 0).any()
    for language in ("x", "y"):
        word = fitted.words(language)[-1]
        where = {"party": "R", "year": "2004"}
        np.testing.assert_array_equal(fitted.vector(word, language, at=where), kept.vector(word, language, at=where))
    belief = lx.Ridge(0.5) + lx.Groups("party", 3.0) + lx.Chain("year", 5.0)
    precision = belief.graph(fitted.rows).laplacian()
    stacks = [fitted.block(i, slice) for i in (0, 1) for slice in range(len(fitted.rows.slices))]
    words = np.concatenate(stacks).astype(np.float64)
    assert np.abs((precision[: len(words), : len(words)] @ words)[fitted.slot[: len(words)] < 0]).max() < 1e-5


def test_the_reference_engine_fits_it_too(texts):
    fitted = fit(texts, engine="reference", holdout=0.0)
    problem, whole, _ = both(texts, "chain", dimensions=6, window=5, negatives=5)
    full = np.concatenate([*(fitted.block(0, slice) for slice in range(len(YEARS))), fitted.block(0, None)])
    gradient = log_posterior(whole, full.astype(np.float64))[1]
    assert np.abs(gradient).max() < 0.01
    assert fitted.theta.shape == (problem.parameters, 6)


def test_where_every_word_is_everywhere_nothing_changes():
    rows = small.documents(count=48)
    prior = lx.Ridge(1.0) + lx.Groups("party", 10.0)
    kept, filled = (small.problem(rows, prior, ["party"], absent=absent) for absent in ("kept", "filled"))
    np.testing.assert_array_equal(kept.slot, filled.model_slot)
    np.testing.assert_allclose(small.full_laplacian(kept.graph), small.full_laplacian(filled.graph), atol=1e-12)
    np.testing.assert_allclose(count_visits(kept, 8, 8).draws, count_visits(filled, 8, 8).draws)
    theta = small.some_theta(kept)
    assert log_posterior(kept, theta)[0] == pytest.approx(log_posterior(filled, theta)[0], rel=1e-12)


def test_words_of_held_out_text_have_vectors(texts):
    tokens = lx.Tokens.of(small.corpus(texts), min_count=1, quiet=True)
    make, vary = PRIORS["chain"]
    where = Rows(tokens.vocabularies, tokens.slices(vary))
    problem = make_problem(lx.Model(vary, make(), absent="filled"), tokens, where, 0.4, 1)
    assert problem.held_out.any()
    document = np.repeat(np.arange(tokens.documents), np.diff(tokens.offsets))
    rows = np.array(where.everywhere("word", 0))[where.slices.of_document][document] + tokens.ids
    slots = problem.slot[problem.word_start[document] + problem.ids]
    np.testing.assert_array_equal(slots, problem.model_slot[rows])
    contexts = problem.slot[problem.context_start[document] + problem.ids]
    np.testing.assert_array_equal(contexts, problem.model_slot[where.context_start(0) + tokens.ids])
    assert (count_visits(problem, 8, 8).reads == 0).any()


def test_one_thread_and_one_seed_give_the_same_bits_and_a_checkpoint_goes_on(texts, tmp_path):
    model = lx.Model(["year"], PRIORS["chain"][0](), dimensions=6, absent="filled")
    tokens = lx.Tokens.of(small.corpus(texts), min_count=1, quiet=True)
    training = lx.Training(engine="cpu", epochs=4, threads=1, seed=3).with_defaults(Likelihood.of("cbow"))
    whole = lx.fit(model, tokens, training, quiet=True)
    kept = replace(training, checkpoint=tmp_path / "state")
    Estimation(model, tokens, kept, quiet=True).run(2)
    assert lx.fit(model, tokens, kept, quiet=True).theta.tobytes() == whole.theta.tobytes()


def test_rotations_turn_filled_vectors_as_well(texts):
    fitted = fit(texts)
    turned = lx.normalize_rotation(fitted, quiet=True)
    one, two = (model.matrix(at={"year": "2003"}).astype(np.float64) for model in (fitted, turned))
    np.testing.assert_allclose(one @ one.T, two @ two.T, atol=1e-5)
    assert np.abs(one - two).max() > 1e-3


# Saved


def test_a_saved_model_fills_as_before(texts, tmp_path):
    fitted = fit(texts, "both")
    fitted.save(tmp_path / "model")
    again = lx.load(tmp_path / "model")
    for slice in range(len(fitted.rows.slices)):
        np.testing.assert_array_equal(again.block(0, slice), fitted.block(0, slice))
    assert again.settings["model"]["absent"] == "filled"
    again.save(tmp_path / "copy")
    np.testing.assert_array_equal(lx.load(tmp_path / "copy").block(0, 3), fitted.block(0, 3))


def damaged(folder, change):
    """The saved model with other arrays, their hash and size put right."""
    saved = storage.load(folder)
    arrays = {name: np.array(array) for name, array in saved.arrays.items()}
    change(arrays)
    settings = saved.settings
    shutil.rmtree(folder)
    storage.save(folder, "embeddings", settings, arrays)


@pytest.mark.parametrize(
    "change",
    [
        lambda arrays: arrays.update({"filling/weight": arrays["filling/weight"][1:]}),
        lambda arrays: arrays["filling/weight"].fill(np.nan),
        lambda arrays: arrays["filling/words"].fill(-1.0),
        lambda arrays: arrays["filling/second"].fill(len(YEARS)),
        lambda arrays: arrays.update({"filling/words": arrays["filling/words"][1:]}),
        lambda arrays: arrays.update({"filling/diagonal": arrays["filling/diagonal"][1:]}),
        lambda arrays: arrays.pop("filling/contexts"),
        lambda arrays: arrays.update({"filling/covariance": np.ones(1)}),
        lambda arrays: arrays["graph/first"].sort() or arrays["graph/first"][::-1].sort(),
        lambda arrays: arrays["graph/second"].fill(len(arrays["theta"]) - 1),
        lambda arrays: arrays["graph/sign"].fill(-1),
        lambda arrays: arrays["slot"].__setitem__(np.flatnonzero(arrays["slot"] >= 0)[:2], 0),
    ],
)
def test_a_damaged_model_says_so(texts, tmp_path, change):
    fit(texts).save(tmp_path / "model")
    damaged(tmp_path / "model", change)
    with pytest.raises(lx.StorageError, match="damaged"):
        [lx.load(tmp_path / "model").block(0, slice) for slice in range(len(YEARS))]


# Bad input


@pytest.mark.parametrize(
    ("prior", "message"),
    [
        (lx.Ridge(1.0) + lx.Pairs([("0", "1")], 1.0), r"not with Pairs\(.*absent=\"kept\""),
        (lx.Ridge(1.0) + lx.Anchor({"0": np.ones(6)}, 1.0), "not with Anchor"),
        (lx.Ridge(1.0) + lx.Edges(lx.Graph.of(2, [0], [1], names=["0", "1"])), "not with Edges"),
        (lx.Ridge(1.0) + lx.Chain("year", np.inf), "finite strengths"),
        (
            lx.Ridge(1.0, on="contexts") + lx.Chain("year", 1.0),
            r"says nothing about 7 of 7 rows, such as .*2000.*Ridge",
        ),
        (lx.Ridge(1.0, on="words") + lx.Chain("year", 1.0), "says nothing about .* rows, such as .*context.*Ridge"),
        (lx.Ridge(1.0) + lx.Chain("party", 1.0), 'about "party", by which vectors do not vary'),
    ],
)
def test_priors_that_it_does_not_go_with(texts, prior, message):
    model = lx.Model(["year"], prior, dimensions=6, absent="filled")
    with pytest.raises(lx.InputError, match=message):
        lx.fit(model, small.corpus(texts), min_count=1, engine="cpu", quiet=True)


def test_other_ways_to_compute_refuse_it(texts):
    model = lx.Model(["year"], absent="filled")
    for options, message in (({"engine": "cpu", "inference": "variational"}, 'inference="map"'),):
        with pytest.raises(lx.InputError, match=message):
            lx.fit(model, small.corpus(texts), min_count=1, quiet=True, **options)
    with pytest.raises(lx.InputError, match='absent="gone": write "kept" or "filled"'):
        lx.Model(absent="gone")


def test_what_needs_a_vector_of_its_own_for_every_word_refuses_it(texts):
    with pytest.raises(lx.InputError, match='absent="kept"'):
        fit(texts, "both").slots(0, 3)


# Inference


def at_its_maximum(rows, name, likelihood):
    """A fit by the reference engine, its text, and the problem with all vectors at the same place."""
    make, vary = PRIORS[name]
    tokens = lx.Tokens.of(small.corpus(rows), min_count=1, quiet=True)
    model = lx.Model(vary, make(), likelihood, dimensions=3, window=2, negatives=3, subsample=0.0, absent="filled")
    fitted = lx.fit(model, tokens, engine="reference", holdout=0.0, quiet=True)
    _, whole, where = both(rows, name, likelihood=likelihood, dimensions=3)
    blocks = [fitted.block(0, slice) for slice in [*range(len(where.slices)), None]]
    return fitted, tokens, whole, np.concatenate(blocks).astype(np.float64)


def hessian(problem, theta, own):
    """Minus the second derivatives of the log posterior with respect to some parameters."""
    rows, step = [], 1e-4
    for slot in own:
        for d in range(theta.shape[1]):
            ends = []
            for sign in (1, -1):
                there = theta.copy()
                there[slot, d] += sign * step
                ends.append(log_posterior(problem, there)[1][own].reshape(-1))
            rows.append((ends[1] - ends[0]) / (2 * step))
    return np.array(rows)


@pytest.mark.parametrize("likelihood", ["cbow", "sgns"])
@pytest.mark.parametrize("name", ["chain", "both", "ridge by word"])
def test_the_posterior_is_that_of_the_model_with_all_vectors(lacking, name, likelihood):
    fitted, tokens, whole, theta = at_its_maximum(lacking, name, likelihood)
    for word in ("3", "7"):
        found = posterior(fitted, word, center="mode", tokens=tokens, quiet=True)[word]
        own = np.array([fitted.rows.words(*place)[fitted.id(word, 0)] for place in slices_of(fitted)])
        assert (fitted.slot[own] < 0).any()
        np.testing.assert_allclose(found.mean[found.place], theta[own], atol=0.01)
        covariance = np.linalg.inv(hessian(whole, theta, own))
        size = len(own), theta.shape[1]
        by_slice = found.covariance.reshape(len(found.mean), size[1], len(found.mean), size[1])
        by_slice = by_slice[found.place][:, :, found.place].reshape(covariance.shape)
        np.testing.assert_allclose(by_slice, covariance, atol=0.02 * np.abs(covariance).max())
        assert found.sample(3).shape == (3, *size)


def slices_of(fitted):
    return [(0, slice) for slice in range(len(fitted.rows.slices))]


def test_two_words_have_a_joint_posterior_and_are_joined_to_none_other(lacking):
    fitted, tokens, _, _ = at_its_maximum(lacking, "chain", "cbow")
    assert joined_words(fitted, "3") == ["3"]
    joint = posterior(fitted, ["3", "7"], coupled=True, center="mode", tokens=tokens, quiet=True)
    alone = posterior(fitted, ["3", "7"], center="mode", tokens=tokens, quiet=True)
    for word in ("3", "7"):
        one, two = joint[word], alone[word]
        np.testing.assert_allclose(one.mean[one.place], two.mean[two.place], atol=1e-3)
        one, two = (part.project([1.0, 0.5, 0.0])["se"] for part in (one, two))
        np.testing.assert_allclose(one, two, rtol=1e-3)


@pytest.mark.parametrize("likelihood", ["cbow", "sgns"])
def test_the_jackknife_moves_absent_words_with_those_that_are_there(lacking, likelihood):
    fitted, tokens, whole, theta = at_its_maximum(lacking, "both", likelihood)
    number = fitted.id("3", 0)
    found = jackknife_vectors(fitted, [number], 0, tokens, Options(quiet=True, threads=1))[number]
    own = np.array([fitted.rows.words(*place)[number] for place in slices_of(fitted)])
    np.testing.assert_allclose(found.vectors, theta[own], atol=0.01)
    gone = fitted.slot[own] < 0
    precision = small.full_laplacian(whole.graph)[np.ix_(own, own)]
    follows = -np.linalg.solve(precision[np.ix_(gone, gone)], precision[np.ix_(gone, ~gone)])
    assert gone.any()
    assert np.abs(found.influence).max() > 1e-3
    np.testing.assert_allclose(found.influence[gone], np.tensordot(follows, found.influence[~gone], 1), atol=1e-7)


def test_stability_fits_it_again(texts):
    fitted = fit(texts, "both", seed=1)
    same, other = refitted(fitted, [1, 2], threads=1, quiet=True)
    np.testing.assert_array_equal(same.slot, fitted.slot)
    np.testing.assert_allclose(same.graph.weight, fitted.graph.weight, rtol=1e-9)
    np.testing.assert_allclose(same.theta, fitted.theta, atol=1e-3)
    assert np.abs(other.theta - fitted.theta).max() > 1e-2


# The benchmark that decided what the default is


@pytest.mark.parametrize("likelihood", ["cbow", "sgns"])
def test_the_benchmark_tells_both_apart(likelihood, monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parent.parent / "benchmarks")
    benchmark = importlib.import_module("absent")
    data = benchmark.DATA["sotu"]
    arguments = Namespace(min_count=20, seeds=[1, 2], dimensions=6, epochs=2)
    table = benchmark.measure(data, data.read(None, 1_500), likelihood, arguments).set_index("absent=")
    assert list(table.index) == ["kept", "filled"]
    assert (table["log P(w)"] < 0).all()
    assert table["overlap"].between(0, 1).all()
    assert table.loc["filled", "cosine with nearest"] > table.loc["kept", "cosine with nearest"]
    assert table.loc["filled", "MB"] < table.loc["kept", "MB"]
