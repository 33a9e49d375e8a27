"""Speakers within parties: a star of stars, the means of which no text is about."""

from __future__ import annotations

import numpy as np
import pytest
import small
from engine_runs import run_cpu, run_torch, vectors

import laplex as lx
from laplex.engines import reference
from laplex.engines.state import State
from laplex.model.objective import log_posterior, log_prior
from laplex.model.priors.prior import saved_prior

SPEAKERS = 5  # of each party


@pytest.fixture(scope="module")
def texts():
    rows = small.documents(count=100, length=16)
    for number, row in enumerate(rows):
        row["year"] = f"{row['party']}{number // 2 % SPEAKERS}"  # the column of speakers here
        row["text"] = [word for word in row["text"] if (7 * int(word) + number // 2 % SPEAKERS) % 6 > 0]
    return rows


def prior(strength=20.0, outer=8.0):
    return lx.Ridge(1.0) + lx.Nested(["party", "year"], strength, outer)


def problem(texts, **choices):
    return small.problem(texts, prior(), ["party", "year"], **choices)


def at_their_optimum(problem, theta):
    """The vectors, with the means where they are best."""
    matrix, own = small.full_laplacian(problem.graph), problem.graph.own
    return np.concatenate([theta, -np.linalg.solve(matrix[own:, own:], matrix[own:, :own] @ theta)])


def test_it_is_the_hierarchical_model(texts):
    """−½ γ Σ ‖ρ_s − m_p‖² − ½ γ₀ Σ ‖m_p − m‖², and nothing holds the means but their groups."""
    whole, where = problem(texts), small.layout(texts, ["party", "year"])
    words = len(where.vocabularies[0])
    graph = prior().parts[1].graph(where)
    assert graph.latent == 3 * words  # of two parties, and of both
    theta = at_their_optimum(whole, small.some_theta(whole)[: whole.graph.own])
    rho = theta[: 2 * SPEAKERS * words].reshape(2, SPEAKERS, words, -1)  # slices are in order
    assert [key[0] for key in where.slices.keys] == ["D"] * SPEAKERS + ["R"] * SPEAKERS
    parties, root = theta[-3 * words : -words].reshape(2, words, -1), theta[-words:]
    value = -0.5 * 20.0 * ((rho - parties[:, None]) ** 2).sum() - 0.5 * 8.0 * ((parties - root) ** 2).sum()
    assert log_prior(graph, theta) == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(root, parties.mean(0), atol=1e-9)
    weight = 20.0 * SPEAKERS
    np.testing.assert_allclose(parties[0], (weight * rho[0].mean(0) + 8.0 * root) / (weight + 8.0), atol=1e-9)


def test_other_columns_are_apart_and_three_levels_nest():
    keys = [(c, p, s, y) for c in "ab" for p in "DR" for s in "xyz" for y in ("1", "2")]
    slices = lx.text.tokens.Slices(("chamber", "party", "speaker", "year"), tuple(keys), np.empty(0, np.int32))
    where = lx.model.rows.Rows([lx.Vocabulary(["a"], np.array([1]))], slices)
    graph = lx.Nested(["chamber", "party", "speaker"], 3.0, 2.0).graph(where)
    assert graph.latent == 2 * (4 + 2 + 1)
    assert sorted(graph.weight.tolist()) == [2.0] * 12 + [3.0] * 24
    assert len(set(graph.spread_to_latent(np.array([int(key[3]) for key in keys] + [9]))[-14:])) == 2


@pytest.mark.slow
@pytest.mark.parametrize(("likelihood", "engine"), [("cbow", run_cpu), ("sgns", run_cpu), ("cbow", run_torch)])
@pytest.mark.parametrize("absent", ["kept", "filled"])
def test_engines_find_the_maximum(texts, likelihood, engine, absent):
    if engine is run_torch:
        pytest.importorskip("torch")
    whole = problem(texts, likelihood=likelihood, absent=absent)
    start = vectors(whole, State.initial(whole, 1))
    found = engine(whole, 200)
    best = log_posterior(whole, reference.maximize(whole, found, steps=400, tolerance=1e-6))[0]
    gap = best - log_posterior(whole, found)[0]
    assert gap < 0.01 * abs(best)
    assert gap < 0.04 * (best - log_posterior(whole, start)[0])


def test_absent_words_are_near_their_party(texts):
    model = lx.Model(["party", "year"], prior(200.0), dimensions=4, window=2, subsample=0.0, absent="filled")
    fitted = lx.fit(model, small.corpus(texts), min_count=1, epochs=3, tests=False, quiet=True, threads=1)
    assert (fitted.slot < 0).any()
    precision = small.full_laplacian(model.prior.graph(fitted.rows))
    own = len(fitted.rows)
    precision = precision[:own, :own] - precision[:own, own:] @ np.linalg.solve(
        precision[own:, own:], precision[own:, :own]
    )
    blocks = [fitted.block(0, slice) for slice in [*range(len(fitted.slices)), None]]
    gradient = precision @ np.concatenate(blocks).astype(np.float64)
    assert np.abs(gradient[fitted.slot < 0]).max() < 1e-4
    assert np.abs(gradient).max() > 1e-2


def test_a_saved_model_knows_its_prior(texts, tmp_path):
    model = lx.Model(["party", "year"], prior(), dimensions=4)
    lx.fit(model, small.corpus(texts), min_count=1, epochs=2, tests=False, quiet=True).save(tmp_path / "model")
    fitted = lx.load(tmp_path / "model")
    assert repr(saved_prior(fitted.settings)) == repr(model.prior)
    described = fitted.settings["model"]["beliefs"][1]
    assert lx.Nested.sentence(described) == (
        "Words vary by year within party, the inner groups around the mean of the outer ones (strength 20)."
    )


def test_its_strength_is_chosen_by_held_out_text(texts):
    model = lx.Model(["party", "year"], lx.Ridge(1.0) + lx.Nested(["party", "year"]), dimensions=4)
    tuning = lx.tune(
        model, small.corpus(texts), {"year": [1.0, 100.0]}, min_count=1, epochs=2, holdout=0.3, tests=False, quiet=True
    )
    assert tuning.model.prior.parts[1].strength in (1.0, 100.0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: lx.Nested("party", 1.0), "name two columns or more"),
        (lambda: lx.Nested(["party"], 1.0), "for one column, write lx.Groups"),
        (lambda: lx.Nested(["party", "party"], 1.0), "name two columns or more"),
        (lambda: lx.Nested(["party", "year"], np.inf), "cannot be infinite"),
        (lambda: lx.Nested(["party", "year"], -1.0), "a number from 0"),
    ],
)
def test_bad_arguments_are_refused(make, message):
    with pytest.raises(lx.InputError, match=message):
        make()


def test_columns_that_vectors_do_not_vary_by_are_refused(texts):
    with pytest.raises(lx.InputError, match='about "party", by which vectors do not vary'):
        small.problem(texts, prior(), ["year"])
