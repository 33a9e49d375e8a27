"""The influence of clusters on a word's vectors, against refits without them; cosines without noise, against draws."""

from __future__ import annotations

import numpy as np
import pytest
import small
import speakers
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize
from scipy.special import expit, log_expit

import laplex as lx
from laplex.inference import jackknife
from laplex.inference.jackknife import cosine, jackknife_vectors
from laplex.inference.units import Options

WORD = "w3"


def contexts(fitted, tokens, word):
    """For each position: its speaker, slice, how often the word is there, and what stands around it."""
    alpha, ids = fitted.contexts().astype(float), tokens.ids
    noise = 5 * tokens.vocabularies[0].noise(0.75)[word]
    found = []
    for m in range(tokens.documents):
        for i in range(tokens.offsets[m], tokens.offsets[m + 1]):
            low, high = max(tokens.offsets[m], i - 3), min(tokens.offsets[m + 1], i + 4)
            around = alpha[[ids[j] for j in range(low, high) if j != i]]
            for h in [around.sum(0)] if fitted.settings["model"]["likelihood"] == "cbow" else around:
                found.append((tokens.codes("speaker")[m], fitted.rows.slices.of_document[m], ids[i] == word, h))
    speaker, slice, here, h = map(np.array, zip(*found))
    return speaker, slice, here, h, noise


def best(text, prior, start, without=None):
    """The vectors of a word at the maximum of its log posterior, by a general method."""
    speaker, slice, here, h, noise = text
    kept = np.full(len(speaker), True) if without is None else speaker != without
    slice, here, h = slice[kept], here[kept], h[kept]

    def minus(flat):
        x = flat.reshape(start.shape)
        scores = (h * x[slice]).sum(1)
        value = (here * log_expit(scores) + noise * log_expit(-scores)).sum() - 0.5 * (x * (prior @ x)).sum()
        pull = here * expit(-scores) - noise * expit(scores)
        gradient = np.array([pull[slice == s] @ h[slice == s] for s in range(len(x))]) - prior @ x
        return -value, -gradient.reshape(-1)

    return optimize.minimize(minus, start.reshape(-1), jac=True, method="BFGS", tol=1e-6).x.reshape(start.shape)


def newton(text, prior, x, without):
    """What the vectors lose in one step without a speaker."""
    speaker, slice, here, h, noise = text
    size, sigma = x.shape[1], expit((h * x[slice]).sum(1))
    pull, bend = here * (1 - sigma) - noise * sigma, (here + noise) * sigma * (1 - sigma)
    curvature, score = np.kron(prior, np.eye(size)), np.zeros_like(x)
    for s in range(len(x)):
        mine, rest = (slice == s) & (speaker == without), (slice == s) & (speaker != without)
        score[s] = pull[mine] @ h[mine]
        curvature[s * size : (s + 1) * size, s * size : (s + 1) * size] += (h[rest].T * bend[rest]) @ h[rest]
    return np.linalg.solve(curvature, score.reshape(-1)).reshape(x.shape)


@pytest.fixture(scope="module")
def tokens(shared_cache):
    return speakers.read(speakers.speeches(1, speakers=24, each=2))


@pytest.mark.parametrize("likelihood", ["cbow", "sgns"])
def test_influence_is_what_a_refit_without_the_cluster_loses(tokens, likelihood):
    fitted = speakers.fit(tokens, likelihood=likelihood, dimensions=4)
    word = fitted.id(WORD, 0)
    found = jackknife_vectors(fitted, [word], 0, tokens, Options(unit="speaker", quiet=True))[word]
    prior = np.array([[11.0, -10.0], [-10.0, 11.0]])
    text = contexts(fitted, tokens, word)
    start = fitted.take([word], 0, 0).repeat(2, 0).astype(float)
    whole = best(text, prior, start)
    np.testing.assert_allclose(found.vectors, whole, atol=2e-3)
    refits = np.array([whole - best(text, prior, whole, without=c) for c in range(24)])
    steps = np.array([newton(text, prior, whole, without=c) for c in range(24)])
    np.testing.assert_allclose(found.influence, steps.transpose(1, 0, 2), atol=1e-4)
    assert np.linalg.norm(steps - refits) < 0.2 * np.linalg.norm(refits)
    assert (np.linalg.norm(refits, axis=2) > 0).all()  # speakers of one party tell about the other through the prior
    assert (found.influence**2).sum() == pytest.approx((refits**2).sum(), rel=0.2)


def test_words_do_not_depend_on_what_is_asked_along_with_them(tokens, monkeypatch):
    fitted = speakers.fit(tokens)
    together = jackknife_vectors(fitted, [2, 9, 4], 0, tokens, Options(unit="speaker", quiet=True))
    monkeypatch.setattr(jackknife, "WORDS_PER_BATCH", 1)
    alone = jackknife_vectors(fitted, [9, 2], 0, tokens, Options(unit="speaker", quiet=True))
    for word in (2, 9):
        np.testing.assert_allclose(alone[word].vectors, together[word].vectors, atol=1e-4)
        np.testing.assert_allclose(alone[word].influence, together[word].influence, atol=1e-3)


def test_tied_slices_have_one_vector(tokens):
    fitted = speakers.fit(tokens, strength=float("inf"))
    found = jackknife_vectors(fitted, [5], 0, tokens, Options(unit="speaker", quiet=True))[5]
    np.testing.assert_array_equal(found.vectors[0], found.vectors[1])
    np.testing.assert_array_equal(found.influence[0], found.influence[1])


@pytest.mark.parametrize("likelihood", ["cbow", "sgns"])
def test_only_documents_of_the_language_have_a_say(likelihood):
    tokens = lx.Tokens.of(small.corpus(small.documents(40, languages=("en", "it"))), min_count=1, quiet=True)
    model = lx.Model(vary=["party"], dimensions=3, window=2, subsample=0.0, likelihood=likelihood)
    fitted = lx.fit(model, tokens, epochs=2, threads=1, quiet=True)
    found = jackknife_vectors(fitted, [2], 1, tokens, Options(quiet=True))[2]
    said = found.influence.any(2)  # (parties, documents)
    assert not said[:, tokens.languages == 0].any()
    assert said[:, tokens.languages == 1].any(0).sum() > 15
    assert not (said[0] & said[1]).any()  # a ridge alone does not join the parties


@pytest.mark.parametrize("likelihood", ["cbow", "sgns"])
def test_many_clusters_are_put_into_groups_without_a_change_in_spread(tokens, likelihood, monkeypatch):
    fitted = speakers.fit(tokens, vary=(), likelihood=likelihood)
    ids = list(range(20))
    each = jackknife_vectors(fitted, ids, 0, tokens, Options(quiet=True))
    assert each[0].influence.shape[1] == 48
    monkeypatch.setattr(jackknife, "MAX_GROUPS", 16)
    grouped = [jackknife_vectors(fitted, ids, 0, tokens, Options(seed=seed, quiet=True)) for seed in range(4)]
    assert grouped[0][0].influence.shape[1] == 16
    before = sum((each[i].influence ** 2).sum() for i in ids)
    after = np.mean([sum((some[i].influence ** 2).sum() for i in ids) for some in grouped])
    assert after == pytest.approx(before, rel=0.2)


def test_a_thinned_background_is_right_on_average(tokens, monkeypatch):
    fitted = speakers.fit(tokens, vary=())
    ids = list(range(20))
    whole = jackknife_vectors(fitted, ids, 0, tokens, Options(unit="speaker", quiet=True))
    monkeypatch.setattr(jackknife, "BACKGROUND_CONTEXTS", 1200)  # of 2,400
    thinned = jackknife_vectors(fitted, ids, 0, tokens, Options(unit="speaker", quiet=True))
    vectors, others = (np.concatenate([some[i].vectors for i in ids]) for some in (whole, thinned))
    assert not np.array_equal(vectors, others)
    assert np.linalg.norm(vectors - others) < 0.15 * np.linalg.norm(vectors)
    spread, other = (sum((some[i].influence ** 2).sum() for i in ids) for some in (whole, thinned))
    assert spread == pytest.approx(other, rel=0.25)


def test_sgns_has_fewer_groups_where_memory_is_short(tokens, monkeypatch):
    fitted = speakers.fit(tokens, vary=(), likelihood="sgns")
    monkeypatch.setattr(jackknife, "CONTEXT_WORD_BYTES", 4 * len(fitted) * 6 * 20)
    monkeypatch.setattr(jackknife, "MIN_GROUPS", 8)
    assert jackknife_vectors(fitted, [1], 0, tokens, Options(quiet=True))[1].influence.shape[1] == 20


def test_the_cosine_is_free_of_noise_and_its_error_is_right():
    random = np.random.default_rng(0)
    clusters, size = 40, 30
    one, two = random.standard_normal((2, size)) + 0.7 * random.standard_normal(size)
    truth = one @ two / np.linalg.norm(one) / np.linalg.norm(two)
    found, plain = [], []
    for _ in range(2000):
        shared = random.standard_normal((clusters, size))
        noise = [(0.8 * random.standard_normal((clusters, size)) + 0.2 * shared) * 0.1 for _ in range(2)]
        a, b = one + noise[0].sum(0), two + noise[1].sum(0)
        found.append(cosine(a, noise[0], b, noise[1]))
        plain.append(a @ b / np.linalg.norm(a) / np.linalg.norm(b))
    estimate, error = np.array(found).T
    assert abs(estimate.mean() - truth) < 0.01
    assert abs(np.mean(plain) - truth) > 0.02
    standardised = (estimate - truth) / error
    assert 0.85 < standardised.var() < 1.15
    assert 0.87 < (abs(standardised) < 1.645).mean() < 0.93


@given(st.integers(0, 10**6), st.floats(0.01, 100.0))
def test_a_cosine_knows_no_lengths_and_a_word_is_like_itself(seed, scale):
    random = np.random.default_rng(seed)
    a, b = random.standard_normal((2, 5)) + 3.0
    noise = 0.05 * random.standard_normal((2, 7, 5))
    assert cosine(a, noise[0], a, noise[0]) == pytest.approx((1.0, 0.0), abs=1e-9)
    one, two = cosine(a, noise[0], b, noise[1]), cosine(scale * a, scale * noise[0], b, noise[1])
    assert one == pytest.approx(two)
    assert cosine(b, noise[1], a, noise[0]) == pytest.approx(one)


def test_a_vector_that_is_mostly_noise_has_no_cosine():
    assert np.isnan(cosine(np.ones(3), np.ones((2, 3)), np.ones(3), np.zeros((2, 3)))).all()


def test_bad_questions_are_named(tokens, monkeypatch):
    fitted = speakers.fit(tokens)
    with pytest.raises(lx.InputError, match='unit="party" is what vectors vary by'):
        jackknife_vectors(fitted, [1], 0, tokens, Options(unit="party"))
    with pytest.raises(lx.InputError, match='there is no column "senator"'):
        jackknife_vectors(fitted, [1], 0, tokens, Options(unit="senator"))
    monkeypatch.setattr(jackknife, "MAX_NUMBERS_PER_WORD", 11)
    with pytest.raises(lx.InputError, match="a word has 12 numbers in all its slices together, more than the 11"):
        jackknife_vectors(fitted, [1], 0, tokens, Options(unit="speaker"))
