"""Tables of units in clusters that have several, where units of clusters without the word share rows."""

from __future__ import annotations

import numpy as np
import pytest
import small

import laplex as lx
from laplex.inference import kernels, scores
from laplex.inference.partial_scores import PartialScores
from laplex.inference.scores import ScorePass
from laplex.inference.units import Options, Units

SUMS = ("score", "tau", "background", "weight")
SPEAKERS, LABELS = 40, 6


def text_of(monkeypatch, *, shared, kernel=False, likelihood="cbow", words=range(6, 18)):
    """A pass over documents of speakers, each of whom has some of six labels."""
    rows = small.documents(160, length=5)
    tokens = lx.Tokens.of(small.corpus(rows), min_count=1, quiet=True)
    model = lx.Model(likelihood=likelihood, dimensions=4, window=2, negatives=3, subsample=0.0)
    fitted = lx.fit(model, tokens, epochs=2, threads=1, quiet=True)
    label = tokens.codes("party").astype(np.int64) * 3 + tokens.codes("year")
    cluster = np.random.default_rng(1).permutation(160) % SPEAKERS
    units = Units.group(np.arange(160), cluster, label, [str(number) for number in range(LABELS)])
    monkeypatch.setattr(scores, "MAX_CLUSTERS_WITH_ROWS", 20 if shared else 1_000)
    monkeypatch.setattr(scores, "BLOCKS", 4)
    monkeypatch.setattr(scores, "CELLS_PER_KERNEL", 1 if kernel else 10**9)
    text = ScorePass(tokens, units, fitted, list(words), 0, Options(threads=2, quiet=True))
    assert text.cells.shared == shared
    return text, list(text.run(range(len(words)), lambda table: table, with_sigma=True))


@pytest.mark.parametrize("likelihood", ["cbow", "sgns"])
def test_shared_rows_change_no_sum(monkeypatch, likelihood):
    one, plain = text_of(monkeypatch, shared=False, likelihood=likelihood)
    two, shared = text_of(monkeypatch, shared=True, likelihood=likelihood)
    assert not one.units.nested
    fewer = 0
    for a, b in zip(plain, shared, strict=True):
        assert a.id == b.id
        having = np.unique(a.cluster[a.tau > 0])
        assert 0 < len(having) < SPEAKERS
        own = b.size[b.cluster < SPEAKERS]
        assert (own == 1).all()
        fewer += len(b.tau) < len(a.tau)
        # rows of clusters that have the word are the units of these, under their numbers and labels
        assert set(b.cluster[b.cluster < SPEAKERS]) == set(having)
        for cluster in having:
            x, y = (sorted(table.label[table.cluster == cluster].tolist()) for table in (a, b))
            assert x == y
            for label in x:
                rows = [(table.cluster == cluster) & (table.label == label) for table in (a, b)]
                for name in SUMS:
                    mine = [getattr(table, name)[row].sum(0) for table, row in zip((a, b), rows)]
                    np.testing.assert_allclose(*mine, rtol=1e-3, atol=1e-4, err_msg=name)
        others = b.cluster >= SPEAKERS
        assert not b.tau[others].any()
        assert b.size.sum() == len(one.units)
        for label in range(LABELS):
            for name in SUMS:
                total = [getattr(table, name)[table.label == label].sum(0) for table in (a, b)]
                np.testing.assert_allclose(*total, rtol=1e-3, atol=1e-3, err_msg=name)
    assert fewer
    assert len(two.units) == len(one.units)


def test_a_cluster_is_in_one_block_and_a_row_of_it_has_one_label(monkeypatch):
    text, tables = text_of(monkeypatch, shared=True)
    block = text.cells.block[text.cells.of_unit]
    for cluster in range(SPEAKERS):
        assert len(np.unique(block[text.units.cluster == cluster])) == 1
    assert (text.cells.label[text.cells.of_unit] == text.units.label).all()
    for table in tables:
        shared = table.cluster >= SPEAKERS
        assert set(table.cluster[shared] - SPEAKERS) <= set(range(4))
        pairs = np.stack([table.cluster, table.label])
        assert len(np.unique(pairs, axis=1).T) == len(table.label)
        np.testing.assert_array_equal(np.unique(table.cluster, return_inverse=True)[1], table.piece)


def test_partial_scores_are_much_the_same_with_shared_rows(monkeypatch):
    """The total is the same; what clusters without the word say is by block."""
    matrix = np.array([[1.0, party, year] for party in (0, 1) for year in (-1.0, 0.0, 1.0)])
    plain, shared = (text_of(monkeypatch, shared=shared)[1] for shared in (False, True))
    squares = []
    for a, b in zip(plain, shared, strict=True):
        one, two = PartialScores.of(a, matrix), PartialScores.of(b, matrix)
        np.testing.assert_allclose(one.gram, two.gram, rtol=1e-3, atol=1e-3)
        np.testing.assert_allclose(one.total, two.total, rtol=1e-2, atol=2e-3)
        squares.append([found.effect((1,), *found.residual_columns((1,), [0, 2])).square for found in (one, two)])
    first, second = np.array(squares).T
    np.testing.assert_allclose(first, second, atol=0.3 * first.std())


@pytest.mark.parametrize("likelihood", ["cbow", "sgns"])
@pytest.mark.parametrize("shared", [False, True])
def test_the_kernel_of_cells_gives_what_products_do(monkeypatch, likelihood, shared):
    called = []
    plain = kernels.cell_sums
    monkeypatch.setattr(kernels, "cell_sums", lambda *arguments: called.append(1) or plain(*arguments))
    _, one = text_of(monkeypatch, shared=shared, likelihood=likelihood)
    assert not called
    _, two = text_of(monkeypatch, shared=shared, likelihood=likelihood, kernel=True)
    assert called
    for a, b in zip(one, two, strict=True):
        for name in (*SUMS, "sigma", "covariance", "unit_weight"):
            np.testing.assert_allclose(getattr(a, name), getattr(b, name), rtol=1e-4, atol=1e-4, err_msg=name)


def test_sums_of_cells_are_those_of_a_plain_loop():
    random = np.random.default_rng(0)
    width = kernels.LANE
    contexts, sigma = random.normal(size=(50, width)).astype(np.float32), random.random((20, 50)).astype(np.float32)
    start = np.array([0, 0, 7, 30, 30, 50])
    sums, weights = np.zeros((5, 20, width), np.float32), np.zeros((5, 20), np.float32)
    kernels.cell_sums((np.int8(0),), contexts, start, sigma, sums, weights)
    for cell in range(5):
        inside = slice(start[cell], start[cell + 1])
        np.testing.assert_allclose(sums[cell], sigma[:, inside] @ contexts[inside], rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(weights[cell], sigma[:, inside].sum(1), rtol=1e-5)
