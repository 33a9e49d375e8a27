"""The search for nearest neighbors, against a full sort."""

from __future__ import annotations

import numpy as np
import pytest

from laplex.questions.cosine import csls_penalty, nearest, search, top_k


@pytest.mark.parametrize("size", [5, 32, 33, 700, 3000])
@pytest.mark.parametrize("k", [1, 4])
def test_the_nearest_are_those_of_a_full_sort(size, k, monkeypatch):
    monkeypatch.setattr("laplex.questions.cosine.SIMILARITIES_IN_MEMORY", 20_000)  # several blocks
    random = np.random.default_rng(size)
    queries, rows = (random.standard_normal((n, 8)).astype(np.float32) for n in (50, size))
    penalty = random.random(size).astype(np.float32)
    shares = []
    ids, scores = search(queries, rows, k, penalty=penalty, report=shares.append)
    everything = queries @ rows.T - penalty
    assert (ids == np.argsort(-everything, axis=1)[:, :k]).all()
    assert scores == pytest.approx(-np.sort(-everything, axis=1)[:, :k], abs=1e-5)
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


@pytest.mark.parametrize("size", [6, 3000])
def test_excluded_rows_are_never_found(size):
    random = np.random.default_rng(size)
    queries, rows = (random.standard_normal((n, 8)).astype(np.float32) for n in (20, size))
    exclude = np.argsort(-(queries @ rows.T), axis=1)[:, :3]  # the best three
    ids, scores = search(queries, rows, 4, exclude=exclude)
    finite = np.isfinite(scores)
    assert finite.sum(1).tolist() == [min(4, size - 3)] * 20
    assert not (ids[:, :, None] == exclude[:, None, :]).any(2)[finite].any()
    expected = np.argsort(-(queries @ rows.T), axis=1)[:, 3:7]
    assert (ids[finite] == expected[:, : min(4, size - 3)].reshape(-1)).all()


def test_of_equals_the_more_frequent_is_nearer():
    rows = np.zeros((10, 2), np.float32)
    rows[[7, 2]] = [1, 1]
    assert search(np.ones((1, 2), np.float32), rows, 2)[0].tolist() == [[2, 7]]
    assert top_k(np.zeros((1, 3000), np.float32), 1)[1].tolist() == [[0.0]]


def test_words_without_a_similarity_are_not_near():
    similarity = np.array([0.1, np.nan, 0.9, 0.5, -np.inf], np.float32)
    assert nearest(similarity, 10).tolist() == [2, 3, 0]
    assert nearest(similarity, 2, exclude=[2]).tolist() == [3, 0]
    assert similarity[2] == np.float32(0.9)  # as it was
    assert nearest(np.empty(0, np.float32), 3).tolist() == []


def test_csls_ranks_by_twice_the_cosine_less_the_means():
    random = np.random.default_rng(0)
    one, two = (random.standard_normal((200, 5)).astype(np.float32) + 0.5 for _ in range(2))
    one, two = (matrix / np.linalg.norm(matrix, axis=1, keepdims=True) for matrix in (one, two))
    cosine = one @ two.T
    csls = 2 * cosine - np.sort(cosine, 1)[:, -10:].mean(1)[:, None] - np.sort(cosine, 0)[-10:].mean(0)
    ids, _ = search(one, two, 3, penalty=csls_penalty(two, one, 10))
    assert (ids == np.argsort(-csls, axis=1)[:, :3]).all()
