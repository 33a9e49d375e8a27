"""The sums of a pass over the text, against loops in plain NumPy; units."""

from __future__ import annotations

import numpy as np
import pytest
import small
from scipy.special import expit
from threadpoolctl import threadpool_info, threadpool_limits

import laplex as lx
from laplex.inference import scores
from laplex.inference.scores import ScorePass
from laplex.inference.statistics import thread_pool
from laplex.inference.units import Options, gather

WORDS = [1, 4, 5]


def read(rows):
    return lx.Tokens.of(small.corpus(rows), min_count=1, quiet=True)


def fit(tokens, likelihood="cbow", **choices):
    choices = {"dimensions": 4, "window": 2, "negatives": 3, "subsample": 0.0} | choices
    return lx.fit(lx.Model(likelihood=likelihood, **choices), tokens, epochs=2, threads=1, quiet=True)


def run(tokens, units, fitted, words=WORDS, **options):
    options = Options(**{"seed": 1, "threads": 2, "quiet": True} | options)
    text = ScorePass(tokens, units, fitted, words, 0, options)
    return text, list(text.run(range(len(words)), lambda table: table))


def positions(tokens, fitted, document):
    """Each position of a document: its word, and what stands around it."""
    ids, alpha = tokens.document(document), fitted.contexts().astype(float)
    for i, word in enumerate(ids):
        around = [j for j in range(max(0, i - 2), min(len(ids), i + 3)) if j != i]
        if fitted.settings["model"]["likelihood"] == "cbow":
            yield word, alpha[ids[around]].sum(0)
        else:
            for j in around:
                yield word, alpha[ids[j]]


@pytest.mark.parametrize("likelihood", ["cbow", "sgns"])
@pytest.mark.parametrize("unit", ["year", None])
def test_the_sums_are_those_of_a_plain_loop(likelihood, unit):
    tokens = read(small.documents(30))
    fitted = fit(tokens, likelihood)
    units = gather(tokens, "party", unit, 0, {})
    text, found = run(tokens, units, fitted)
    noise = 3 * tokens.vocabularies[0].noise(0.75)
    for table in found:
        word = WORDS[table.word]
        rho, rate = fitted.matrix()[word].astype(float), noise[word]
        here, around = np.zeros((2, len(units), 4))
        tau, weight = np.zeros((2, len(units)))
        contexts, sigmas = [], []
        for unit in range(len(units)):
            for document in units.documents[units.start[unit] : units.start[unit + 1]]:
                for other, h in positions(tokens, fitted, document):
                    sigma, is_here = expit(rho @ h), other == word
                    here[unit] += is_here * (1 - sigma) * h
                    tau[unit] += is_here * (1 - sigma)
                    around[unit] += rate * sigma * h
                    weight[unit] += rate * sigma
                    contexts.append(h)
                    sigmas.append(sigma)
        of_cluster = np.array([tau[units.cluster == cluster].sum() for cluster in units.cluster])
        mean = tau.sum() / len(np.unique(units.cluster[of_cluster > 0]))
        factor = 1 / (1 + of_cluster / (3 * mean))
        np.testing.assert_allclose(table.score, factor[:, None] * here, atol=1e-4)
        np.testing.assert_allclose(table.tau, factor * tau, atol=1e-4)
        np.testing.assert_allclose(table.background, factor[:, None] * around, atol=1e-4)
        np.testing.assert_allclose(table.weight, factor * weight, atol=1e-4)
        covariance = np.cov(np.array(contexts).T, aweights=sigmas, ddof=0)
        np.testing.assert_allclose(table.covariance, covariance, atol=0.03 * abs(covariance).max())
        np.testing.assert_array_equal(table.label, units.label)
    counts = tokens.counts(tokens.slices(["party"]))[:, WORDS].T
    np.testing.assert_array_equal(text.counts()[0], counts)


def test_sampled_background_and_covariance_are_right_on_average(monkeypatch):
    tokens = read(small.documents(200))
    fitted = fit(tokens)
    units = gather(tokens, "party", None, 0, {})
    monkeypatch.setattr(scores, "COVARIANCE_POSITIONS", 10**6)
    _, exact = run(tokens, units, fitted)
    monkeypatch.setattr(scores, "BACKGROUND_POSITIONS", 1000)
    monkeypatch.setattr(scores, "COVARIANCE_POSITIONS", 400)
    sampled = [run(tokens, units, fitted, seed=seed)[1] for seed in range(20)]
    for k, table in enumerate(exact):
        around = np.array([one[k].background.sum(0) for one in sampled])
        error = around.std(0) / np.sqrt(len(sampled))
        assert (error > 0).all()
        assert (abs(around.mean(0) - table.background.sum(0)) < 4 * error).all()
        trace = np.array([np.trace(one[k].covariance) for one in sampled])
        assert trace.std() > 0
        assert abs(trace.mean() - np.trace(table.covariance)) < 4 * trace.std() / np.sqrt(len(sampled))


def test_shared_rows_batches_and_threads_change_no_total(monkeypatch):
    tokens = read(small.documents(60, length=8))
    fitted = fit(tokens, subsample=1e-2)
    units = gather(tokens, "party", None, 0, {})
    _, one = run(tokens, units, fitted, range(12), threads=1)
    monkeypatch.setattr(scores, "MAX_CLUSTERS_WITH_ROWS", 50)
    monkeypatch.setattr(scores, "BLOCKS", 4)
    monkeypatch.setattr(scores, "BATCH_BYTES", 4_000)
    text, two = run(tokens, units, fitted, range(12), threads=3)
    assert len(text.batches(range(12))) > 1
    for a, b in zip(one, two, strict=True):
        assert (a.word, len(a.tau)) == (b.word, 60)
        owners = int(text.start[b.word + 1] - text.start[b.word])
        assert owners < len(b.tau) <= owners + 2 * 4  # a row for each block and party
        np.testing.assert_allclose(a.covariance, b.covariance, rtol=1e-4, atol=1e-6)
        for label in (0, 1):
            for name in ("score", "tau", "background", "weight"):
                x, y = (getattr(table, name)[table.label == label].sum(0) for table in (a, b))
                np.testing.assert_allclose(x, y, rtol=1e-4, atol=1e-4)
        with_word = b.tau > 0
        assert not with_word[owners:].any()
        np.testing.assert_allclose(np.sort(a.tau[a.tau > 0]), np.sort(b.tau[with_word]), rtol=1e-5)
        assert len(np.unique(b.piece[:owners])) == owners
        blocks = b.piece[owners:]
        assert len(np.unique(blocks)) < len(blocks)  # both labels of a block always have the same one
        assert set(blocks).isdisjoint(b.piece[:owners])
        assert text.exchanged(b.word) == owners + 4


def test_the_same_seed_gives_the_same_table():
    tokens = read(small.documents(60))
    fitted = fit(tokens, subsample=1e-2)
    units = gather(tokens, "party", "year", 0, {})
    one, two, other = (run(tokens, units, fitted, seed=seed)[1][0] for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.score, two.score)
    np.testing.assert_array_equal(one.background, two.background)
    assert not np.array_equal(one.score, other.score)


def test_units_are_clusters_under_one_label():
    tokens = read(small.documents(24))
    units = gather(tokens, "party", "year", 0, {})
    assert len(units) == 6
    assert not units.nested
    assert sorted(units.documents.tolist()) == list(range(24))
    for unit in range(6):
        mine = units.documents[units.start[unit] : units.start[unit + 1]]
        assert set(tokens.codes("party")[mine]) == {units.label[unit]}
        assert set(tokens.codes("year")[mine]) == {units.cluster[unit]}
    assert gather(tokens, "party", None, 0, {}).nested
    assert len(gather(tokens, "party", None, 0, {"year": 2000}).documents) == 8


def test_bad_units_are_named():
    tokens = read(small.documents(24))
    with pytest.raises(lx.InputError, match='unit="party" is the column that is compared'):
        gather(tokens, "party", "party", 0, {})
    with pytest.raises(lx.InputError, match='there is no column "senator"'):
        gather(tokens, "party", "senator", 0, {})
    with pytest.raises(lx.InputError, match="\"year\" has no value '1999'"):
        gather(tokens, "party", None, 0, {"year": 1999})
    with pytest.raises(lx.InputError, match='"party" has one value only'):
        gather(tokens, "party", None, 0, {"party": "D"})


def test_a_column_that_determines_the_label_is_found():
    rows = [
        {"text": "a b", "party": "DR"[m % 2], "senator": f"s{m % 6}", "id": str(m), "name": ["Dem", "Rep"][m % 2]}
        for m in range(24)
    ]
    corpus = lx.read(rows, metadata=["party", "senator", "id", "name"])
    tokens = lx.Tokens.of(corpus, min_count=1, quiet=True)
    assert tokens.determining_columns("party") == ["senator"]
    assert tokens.determining_columns("senator") == []


def blas_threads() -> set[int]:
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


def test_linear_algebra_takes_one_thread_inside_and_as_many_as_before_afterwards():
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        with thread_pool(2) as pool:
            assert pool.submit(blas_threads).result() == {1}
        assert blas_threads() == before == {2}
