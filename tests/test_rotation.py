"""Rotations: one fit is laid upon another, dimensions get an order, and nothing that the model says changes."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.linalg
import small
from hypothesis import given, settings
from hypothesis import strategies as st
from invented import made, normal, rotation

import laplex as lx
from laplex.fitting.rotation import align, normalize_rotation, rotated
from laplex.model.objective import log_likelihood, log_prior

few = settings(max_examples=25)
seeds = st.integers(0, 10_000)


# groups, a tie, and a pair of negative weight
PRIOR = lx.Ridge(1.0) + lx.Groups("party", 10.0)
PRIOR = PRIOR + lx.Pairs([("3", "4", 1.0), ("5", "6", -1.0)], 2.0) + lx.Pairs([("7", "8")], math.inf)


@pytest.fixture(scope="module")
def fitted(shared_cache):
    model = lx.Model(vary=["party"], prior=PRIOR, dimensions=4, window=2, subsample=0.0)
    options = {"engine": "reference", "min_count": 1, "holdout": 0.0}
    return lx.fit(model, small.corpus(small.documents(40)), quiet=True, **options)


@pytest.fixture(scope="module")
def problem(shared_cache):
    return small.problem(small.documents(40), PRIOR, ["party"], dimensions=4)


# Alignment


@few
@given(seeds, st.integers(2, 12))
def test_a_known_rotation_is_undone_for_words_and_contexts(seed, dimensions):
    target = normal(seed, 40, dimensions)
    turn = rotation(seed, dimensions)
    source = made(target @ turn, contexts=normal(1, 40, dimensions))
    aligned = align(source, made(target), quiet=True)
    np.testing.assert_allclose(aligned.matrix(), target, atol=1e-5)
    np.testing.assert_allclose(aligned.contexts(), source.contexts() @ turn.T, atol=1e-5)


@few
@given(seeds)
def test_no_rotation_lies_closer(seed):
    source, target = normal(seed, 30, 4), normal(seed + 1, 30, 4)
    aligned = align(made(source), made(target), quiet=True).matrix()
    other = source @ rotation(seed + 2, 4)
    assert np.linalg.norm(aligned - target) <= np.linalg.norm(other - target) + 1e-4
    expected = source @ scipy.linalg.orthogonal_procrustes(source, target)[0]
    np.testing.assert_allclose(aligned, expected, atol=1e-5)


def test_one_rotation_serves_all_slices():
    keys, columns = (("D",), ("R",)), ("party",)
    stack = normal(0, 2, 30, 4)
    source = made(stack @ rotation(1, 4), keys=keys, columns=columns)
    noisy = made((stack + 0.01 * normal(2, 2, 30, 4))[::-1], keys=keys[::-1], columns=columns)
    aligned = align(source, noisy, quiet=True)
    for party, block in zip("DR", stack, strict=True):
        np.testing.assert_allclose(aligned.matrix(at={"party": party}), block, atol=0.05)
    alone = align(source, made(stack[0]), quiet=True)  # both slices upon the only one
    x, z = source.theta.astype(float), np.concatenate([stack[0], stack[0]])
    np.testing.assert_allclose(alone.theta, x @ scipy.linalg.orthogonal_procrustes(x, z)[0], atol=1e-5)


def test_languages_are_laid_upon_those_of_the_same_name():
    def two(x, y, names):
        words = [lx.Vocabulary([str(i) for i in range(20)], np.ones(20, np.int64), name) for name in names]
        return lx.Embeddings.of(words, [x, y])

    x, y, turn = normal(0, 20, 4), normal(1, 20, 4), rotation(2, 4)
    aligned = align(two(x @ turn, y @ turn, ("en", "it")), two(y, x, ("it", "en")), quiet=True)
    np.testing.assert_allclose(aligned.matrix("en"), x, atol=1e-5)
    np.testing.assert_allclose(aligned.matrix("it"), y, atol=1e-5)


def test_it_is_said_and_kept_over_how_many_words(capfd):
    target, turn = normal(0, 40, 4), rotation(0, 4)
    words = [f"w{i}" for i in range(40)]
    source = made((target @ turn)[5:], words=words[5:])
    aligned = align(source, made(target, words=words))
    assert "rotated by 35 words, 35 vectors; their mean cosine is 1.000" in capfd.readouterr().err
    assert aligned.settings["rotation"]["words"] == 35
    align(source, made(target, words=words), words=[*words[:20], "unknown"])
    assert "rotated by 15 of 21 words" in capfd.readouterr().err


def test_chosen_words_alone_decide():
    target = normal(3, 40, 4)
    vectors = np.concatenate([target[:10], normal(4, 30, 4)]) @ rotation(5, 4)
    aligned = align(made(vectors), made(target), words=[str(i) for i in range(10)], quiet=True)
    np.testing.assert_allclose(aligned.matrix()[:10], target[:10], atol=1e-5)


def test_words_without_a_vector_are_not_looked_at():
    target = normal(6, 30, 4)
    vectors = target @ rotation(7, 4)
    vectors[:5] = 0
    np.testing.assert_allclose(align(made(vectors), made(target), quiet=True).matrix()[5:], target[5:], atol=1e-5)


def test_two_seeds_of_one_model_lie_closer_once_aligned():
    rows = small.documents(30)
    model = lx.Model(vary=["party"], prior=lx.Ridge(1.0) + lx.Groups("party", 10.0), dimensions=4, window=2)
    one, two = (
        lx.fit(model, small.corpus(rows), engine="reference", min_count=1, seed=seed, holdout=0.0, quiet=True)
        for seed in (1, 2)
    )
    apart = np.linalg.norm(two.theta - one.theta)
    aligned = align(two, one, quiet=True)
    assert np.linalg.norm(aligned.theta - one.theta) < 0.5 * apart


def test_what_cannot_be_aligned_says_why():
    vectors = normal(0, 30, 4)
    with pytest.raises(lx.InputError, match="4 dimensions cannot be rotated onto 5"):
        align(made(vectors), made(normal(0, 30, 5)))
    with pytest.raises(lx.InputError, match="0 vectors of words that both have"):
        align(made(vectors, "it"), made(vectors, "en"))
    with pytest.raises(lx.InputError, match="3 vectors of words that both have"):
        align(made(vectors), made(vectors), words=["1", "2", "3"])
    with pytest.raises(lx.InputError, match="words is a list"):
        align(made(vectors), made(vectors), words="tax")
    parties = made(normal(0, 2, 30, 4), keys=(("D",), ("R",)), columns=("party",))
    years = made(normal(0, 2, 30, 4), keys=(("1",), ("2",)), columns=("year",))
    with pytest.raises(lx.InputError, match="the first vectors vary by party, the second by year"):
        align(parties, years)


# Principal axes


@few
@given(seeds, st.integers(2, 8))
def test_principal_axes_do_not_depend_on_the_rotation_they_are_found_from(seed, dimensions):
    spread = np.linspace(2.0, 1.0, dimensions)
    vectors = np.random.default_rng(seed).gamma(1.0, size=(80, dimensions)) * spread - 0.5
    one = normalize_rotation(made(vectors), quiet=True).matrix()
    two = normalize_rotation(made(vectors @ rotation(seed + 1, dimensions)), quiet=True).matrix()
    gaps = np.diff(np.sort(np.linalg.eigvalsh(vectors.T @ vectors)))
    skew = np.abs((one.astype(float) ** 3).sum(0))
    if gaps.min() > 1.0 and skew.min() > 1.0:  # else the text leaves an axis or its sign open
        np.testing.assert_allclose(one, two, atol=1e-3)
    gram = one.T.astype(float) @ one
    np.testing.assert_allclose(gram, np.diag(np.diag(gram)), atol=1e-2)
    assert (np.diff(np.diag(gram)) <= 1e-2).all()
    assert ((one.astype(float) ** 3).sum(0) >= -1e-2).all()


def test_axes_are_those_of_the_singular_value_decomposition():
    vectors = normal(0, 50, 5) * [5, 4, 3, 2, 1]
    normalized = normalize_rotation(made(vectors), quiet=True)
    left, values, _ = np.linalg.svd(vectors.astype(np.float32).astype(float), full_matrices=False)
    np.testing.assert_allclose(np.abs(normalized.matrix()), np.abs(left * values), atol=1e-4)
    np.testing.assert_allclose(normalized.settings["rotation"]["spread"], values**2 / (values**2).sum(), rtol=1e-5)


def test_chosen_words_fix_the_axes_of_all():
    vectors = normal(0, 50, 3)
    vectors[:20] *= [1, 10, 100]
    normalized = normalize_rotation(made(vectors), words=[str(i) for i in range(20)], quiet=True).matrix()
    gram = normalized[:20].T.astype(float) @ normalized[:20]
    np.testing.assert_allclose(gram / gram.max(), np.diag(np.diag(gram)) / gram.max(), atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(normalized, axis=1), np.linalg.norm(vectors, axis=1), rtol=1e-5)


def test_axes_that_spread_alike_are_named(capfd):
    vectors = np.concatenate([np.eye(3), -np.eye(3)]) * [1.0, 1.0, 2.0]
    normalize_rotation(made(vectors))
    assert "words spread alike on axes 1 and 2" in capfd.readouterr().err


def test_what_cannot_be_normalized_says_why():
    with pytest.raises(lx.InputError, match="3 vectors do not span the 4 dimensions"):
        normalize_rotation(made(normal(0, 30, 4)), words=["1", "2", "3"])
    with pytest.raises(lx.InputError, match="do not span"):
        normalize_rotation(made(normal(0, 30, 4) * [1, 1, 1, 0]))
    with pytest.raises(lx.InputError, match="words is a list"):
        normalize_rotation(made(normal(0, 30, 4)), words="tax")
    with pytest.raises(lx.InputError, match='"tax" is not in the vocabulary'):
        normalize_rotation(made(normal(0, 30, 4)), words=["1", "2", "3", "4", "5", "tax"])


# What stays


@settings(max_examples=10)
@given(seeds)
def test_likelihood_prior_cosines_and_distances_stay(fitted, problem, seed):
    other = rotated(fitted, rotation(seed, 4), {})
    for moved in (align(fitted, other, quiet=True), normalize_rotation(fitted, quiet=True), other):
        one, two = fitted.theta.astype(float), moved.theta.astype(float)
        likelihood = [log_likelihood(problem, theta)[0] for theta in (one, two)]
        assert likelihood[1] == pytest.approx(likelihood[0], rel=1e-6)
        assert log_prior(moved.graph, two) == pytest.approx(log_prior(fitted.graph, one), rel=1e-5)
        np.testing.assert_allclose(two @ two.T, one @ one.T, atol=1e-5)
        for word in ("0", "3", "7"):
            for ask in (
                lambda e, w=word: e.contrast("party", w, test=False),
                lambda e, w=word: e.distance(w, "party", test=False),
            ):
                np.testing.assert_allclose(ask(moved)["distance"], ask(fitted)["distance"], atol=1e-5)
            before, after = fitted.neighbors(word, at={"party": "D"}), moved.neighbors(word, at={"party": "D"})
            np.testing.assert_allclose(after["similarity"], before["similarity"], atol=1e-5)


def test_input_graph_ties_and_history_stay(fitted):
    before = fitted.theta.copy()
    moved = normalize_rotation(fitted, quiet=True)
    np.testing.assert_array_equal(fitted.theta, before)
    assert "rotation" not in fitted.settings
    assert moved.graph is fitted.graph
    np.testing.assert_array_equal(moved.slot, fitted.slot)
    assert moved.history.equals(fitted.history)
    np.testing.assert_array_equal(moved.vector("7", at={"party": "D"}), moved.vector("8", at={"party": "D"}))


@few
@given(seeds)
def test_variances_are_those_of_the_rotated_vectors(seed):
    """Of vectors whose numbers are independent: the diagonal of the rotated covariance matrix."""
    deviations = np.random.default_rng(seed).uniform(0.1, 2.0, (60, 4)).astype(np.float32)
    words = lx.Vocabulary([str(i) for i in range(30)], np.ones(30, np.int64))
    source = lx.Embeddings.of([words], [normal(seed, 30, 4)], contexts=[normal(seed, 30, 4)], spread=deviations)
    moved = align(source, made(normal(seed + 1, 30, 4)), quiet=True)
    matrix = scipy.linalg.orthogonal_procrustes(source.theta, moved.theta)[0]
    for before, after in zip(deviations.astype(float), moved.spread, strict=True):
        np.testing.assert_allclose(after**2, np.diag(matrix.T @ np.diag(before**2) @ matrix), rtol=1e-4)
    normalized = normalize_rotation(moved, quiet=True)
    np.testing.assert_allclose((normalized.spread**2).sum(1), (deviations**2).sum(1), rtol=1e-4)
    assert normalized.deviation("3").shape == (4,)


def test_a_rotated_model_is_saved_and_opened(fitted, tmp_path):
    moved = normalize_rotation(fitted, quiet=True)
    moved.save(tmp_path / "moved")
    opened = lx.load(tmp_path / "moved")
    np.testing.assert_array_equal(opened.theta, moved.theta)
    assert opened.settings["rotation"]["name"] == "principal axes"
    assert normalize_rotation(opened, quiet=True).matrix(at={"party": "D"}) == pytest.approx(
        moved.matrix(at={"party": "D"}), abs=1e-4
    )


def test_fixed_vectors_are_rotated_along_and_that_is_said(capfd):
    rows = small.documents(40)
    held = {str(i): normal(i, 4) for i in range(18)}
    model = lx.Model(prior=lx.Ridge(1.0) + lx.Anchor(held, 5.0), dimensions=4, window=2)
    anchored = lx.fit(model, small.corpus(rows), engine="reference", min_count=1, holdout=0.0, quiet=True)
    capfd.readouterr()
    for move in (normalize_rotation, lambda one: align(one, made(normal(0, 18, 4)))):
        moved = move(anchored)
        assert "fixed ones that an Anchor drew them to" in capfd.readouterr().err
        before, after = (log_prior(one.graph, one.theta.astype(float)) for one in (anchored, moved))
        assert after == pytest.approx(before, rel=1e-5)
        assert not np.allclose(moved.graph.targets, anchored.graph.targets)
