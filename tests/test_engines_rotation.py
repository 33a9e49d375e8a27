"""Languages that the prior joins are estimated apart at first, then rotated onto each other once."""

from __future__ import annotations

import math
from dataclasses import replace

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import small
from engine_runs import make_cpu, train
from interruption import stopped_after
from scipy.linalg import orthogonal_procrustes
from scipy.stats import ortho_group

import laplex as lx
from laplex.engines import languages as rotation
from laplex.engines.sampling import count_visits
from laplex.engines.state import State
from laplex.model.objective import log_likelihood

WORDS = 30
DIMENSIONS = 8


def translations(count, one="x", two="y"):
    return [(f"{one}{k}", f"{two}{k}") for k in range(count)]


def text(languages=("x", "y"), count=60):
    return small.documents(count=count, words=WORDS, languages=languages)


def joined(strength=100.0, known=12, languages=("x", "y")):
    """A ridge, and translations from each language to the next."""
    prior = lx.Ridge(1.0)
    for one, two in zip(languages, languages[1:]):
        prior = prior + lx.Translations(translations(known, one, two), strength, languages=(one, two))
    return prior


def problem_of(prior, languages=("x", "y"), vary=()):
    return small.problem(text(languages), prior, vary, dimensions=DIMENSIONS)


def model(prior, **choices):
    return lx.Model(**({"prior": prior, "dimensions": DIMENSIONS, "window": 3, "subsample": 0.0} | choices))


def fit(prior, corpus=None, **options):
    corpus = small.corpus(text()) if corpus is None else corpus
    options = {"min_count": 1, "epochs": 4, "threads": 1, "holdout": 0.1} | options
    return lx.fit(model(prior), corpus, quiet=True, **options)


def run_first_epoch(turning):
    state = State.initial(turning.apart, 1)
    train(make_cpu(turning.apart, state, block=8, negatives=8), 1, of=4)
    return state


# What is found to turn


def test_edges_between_languages_are_told_from_those_within():
    prior = joined() + lx.Groups("party", 5.0) + lx.Pairs([("x1", "x5")], 2.0, language="x")
    problem = problem_of(prior, vary=["party"])
    turning = rotation.find_rotation(problem)
    assert len(turning.pull) == 12 * (2 + 1)  # in both slices, and as contexts
    assert turning.apart.graph.edges == problem.graph.edges - len(turning.pull)
    assert (turning.language[turning.first] != turning.language[turning.second]).all()
    graph = turning.apart.graph
    assert (turning.language[graph.first] == turning.language[graph.second]).all()
    np.testing.assert_array_equal(graph.diagonal, problem.graph.diagonal)
    np.testing.assert_array_equal(turning.apart.initial_row, problem.initial_row)
    np.testing.assert_array_equal(turning.apart.pooled_row, problem.pooled_row)
    np.testing.assert_array_equal(turning.apart.slot, problem.slot)


def test_every_row_has_its_language_and_role():
    rows = small.layout(text(("x", "y", "z")), ["party", "year"])
    problem = problem_of(joined(languages=("x", "y", "z")), ("x", "y", "z"), ["party", "year"])
    turning = rotation.find_rotation(problem)
    for row in range(len(rows)):
        word, role, _ = rows.name(row)
        assert "xyz"[turning.language[problem.slot[row]]] == word[0]
        assert turning.is_word[problem.slot[row]] == (role == "word")


@pytest.mark.parametrize(
    ("languages", "prior"),
    [
        (("x",), lx.Ridge(1.0)),
        (("x", "y"), lx.Ridge(1.0)),
        (("x", "y"), lx.Ridge(1.0) + lx.Pairs([("x0", "x1")], 3.0, language="x")),
        (("x", "y"), joined(0.0)),
    ],
)
def test_where_nothing_joins_languages_there_is_nothing_to_rotate(languages, prior):
    if languages == ("x",):
        assert rotation.find_rotation(small.problem(small.documents(), prior)) is None
    else:
        assert rotation.find_rotation(problem_of(prior, languages)) is None


def test_a_graph_of_ones_own_may_join_languages():
    own = nx.DiGraph()
    own.add_edge(("x0", "word", (), "x"), ("y0", "context", (), "y"), weight=2.0)
    own.add_edge(("x1", "word", (), "x"), ("y2", "word", (), "y"), weight=-3.0)
    own.add_edge(("x1", "word", (), "x"), ("x2", "word", (), "x"), weight=1.0)
    turning = rotation.find_rotation(problem_of(lx.Ridge(1.0) + lx.Edges(lx.Graph.from_networkx(own), 5.0)))
    assert sorted(turning.pull) == [-15.0, 10.0]
    assert turning.apart.graph.edges == 1


def anchor(language, seed=0):
    random = np.random.default_rng(seed)
    fixed = {f"{language}{k}": random.standard_normal(DIMENSIONS) for k in range(5)}
    return lx.Anchor(fixed, 3.0, language=language)


def test_a_language_that_is_anchored_stays_and_the_other_turns():
    turning = rotation.find_rotation(problem_of(joined() + anchor("y")))
    assert set(turning.rotations(run_first_epoch(turning))) == {0}
    turning = rotation.find_rotation(problem_of(joined() + anchor("x")))
    assert set(turning.rotations(run_first_epoch(turning))) == {1}


def test_two_anchored_languages_are_not_free_to_turn():
    assert rotation.find_rotation(problem_of(joined() + anchor("x") + anchor("y"))) is None


# What the rotation does


def unit(vectors):
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def test_it_is_the_orthogonal_procrustes_of_centered_words_and_contexts():
    strengths = np.linspace(1.0, 5.0, 12)
    problem = problem_of(lx.Ridge(1.0) + lx.Translations(translations(12), strengths))
    rows = small.layout(text())
    turning = rotation.find_rotation(problem)
    state = run_first_epoch(turning)
    theta = state.theta.astype(np.float64)
    ends = []
    for language, name in enumerate("xy"):
        ids = [rows.vocabularies[language][f"{name}{k}"] for k in range(12)]
        blocks = [unit(theta[list(block)]) for block in (rows.words(language, 0), rows.contexts(language))]
        ends.append(np.concatenate([(block - block.mean(0))[ids] for block in blocks]))
    weight = np.sqrt(np.tile(strengths, 2))[:, None]
    wanted = orthogonal_procrustes(weight * ends[1], weight * ends[0])[0]
    found = turning.rotations(state)
    assert list(found) == [1]
    np.testing.assert_allclose(found[1], wanted, atol=1e-8)


def test_likelihood_lengths_and_step_sizes_are_as_before():
    turning = rotation.find_rotation(problem_of(joined()))
    state = run_first_epoch(turning)
    before, accumulator = state.theta.copy(), state.accumulator.copy()
    after = turning.join(state)
    np.testing.assert_array_equal(after.accumulator, accumulator)
    apart = turning.apart
    values = [log_likelihood(apart, theta.astype(np.float64))[0] for theta in (before, after.theta)]
    assert values[0] == pytest.approx(values[1], rel=1e-5)
    np.testing.assert_allclose(np.linalg.norm(after.theta, axis=1), np.linalg.norm(before, axis=1), rtol=1e-5)
    turned = turning.language == 1
    assert np.abs(after.theta - before)[turned].max() > 0.01
    np.testing.assert_array_equal(after.theta[~turned], before[~turned])
    assert not after.memory[:, DIMENSIONS:].any()


@pytest.mark.parametrize("links", [[("x", "y"), ("y", "z")], [("x", "z"), ("z", "y")], [("x", "y"), ("x", "z")]])
@pytest.mark.parametrize("strength", [50.0, math.inf])
def test_three_languages_that_differ_by_rotations_alone_come_to_lie_on_each_other(links, strength):
    """Along whichever tree they are joined, and reflected or not."""
    prior = lx.Ridge(1.0)
    for one, two in links:
        prior = prior + lx.Translations(translations(WORDS, one, two), strength, languages=(one, two))
    turning = rotation.find_rotation(problem_of(prior, ("x", "y", "z")))
    rows = small.layout(text(("x", "y", "z")))
    state = State.initial(turning.apart, 1)
    state.accumulator[:] = 1.0
    random = np.random.default_rng(3)
    words, contexts = random.standard_normal((2, WORDS, DIMENSIONS))
    for language, name in enumerate("xyz"):
        turn = ortho_group.rvs(DIMENSIONS, random_state=language)
        ids = [rows.vocabularies[language][f"{name}{k}"] for k in range(WORDS)]
        for block, start in ((words, rows.word_start(language, 0)), (contexts, rows.context_start(language))):
            state.theta[turning.apart.slot[start + np.array(ids)]] = block @ turn
    turns = turning.rotations(state)
    assert sorted(turns) == [1, 2]
    joint = problem_of(prior, ("x", "y", "z"))
    theta = turning.join(state).theta
    found = theta[joint.slot]
    for start in (rows.word_start, lambda language, _: rows.context_start(language)):
        lain = [
            found[start(language, 0) + np.array([rows.vocabularies[language][f"{name}{k}"] for k in range(WORDS)])]
            for language, name in enumerate("xyz")
        ]
        np.testing.assert_allclose(lain[1], lain[0], atol=1e-4)
        np.testing.assert_allclose(lain[2], lain[0], atol=1e-4)


def test_words_that_are_to_be_unlike_are_turned_away_from_each_other():
    pairs = [(*pair, -1.0) for pair in translations(20)]
    turning = rotation.find_rotation(problem_of(lx.Ridge(1.0) + lx.Translations(pairs, 10.0)))
    cosines = []
    for seed in (1, 2, 3):  # seeds differ much with so few words
        state = State.initial(turning.apart, seed)
        train(make_cpu(turning.apart, state, block=8, negatives=8), 4)  # after one epoch words are hardly apart yet
        theta = turning.join(state).theta
        cosines.append((unit(theta[turning.first]) * unit(theta[turning.second])).sum(1).mean())
    assert max(cosines) < 0
    assert np.mean(cosines) < -0.2


# Ties between languages


def test_ties_are_undone_for_the_first_epoch():
    problem = problem_of(joined(math.inf) + lx.Pairs([("x0", "x20")], 4.0, language="x"))
    turning = rotation.find_rotation(problem)
    apart = turning.apart
    assert len(turning.shared) == 24
    assert apart.parameters == problem.parameters + 24
    assert apart.graph.diagonal.tolist() == [1.0] * apart.parameters
    assert apart.graph.weight.tolist() == [4.0]
    free = problem_of(lx.Ridge(1.0))
    np.testing.assert_allclose(count_visits(apart, 8, 8).reads[apart.slot], count_visits(free, 8, 8).reads)
    np.testing.assert_array_equal(State.initial(apart, 1).theta[apart.slot], State.initial(free, 1).theta)


def test_without_its_joins_the_first_epoch_is_that_of_languages_on_their_own():
    free = problem_of(lx.Ridge(1.0))
    alone = State.initial(free, 1)
    train(make_cpu(free, alone, block=8, negatives=8), 1, of=4)
    for strength in (100.0, math.inf):
        turning = rotation.find_rotation(problem_of(joined(strength)))
        found = run_first_epoch(turning)
        np.testing.assert_array_equal(found.theta[turning.apart.slot], alone.theta)


def test_tied_rows_meet_between_where_they_were_and_fixed_vectors_stay():
    prior = joined(math.inf, known=WORDS) + anchor("x")
    problem = problem_of(prior)
    turning = rotation.find_rotation(problem)
    state = run_first_epoch(turning)
    targets = state.theta[-5:].copy()
    turn = turning.rotations(state)[1]
    apart = state.theta[turning.apart.slot].astype(np.float64)
    acc = state.accumulator[turning.apart.slot].astype(np.float64)
    state = turning.join(state)
    assert len(state.theta) == problem.parameters + 5
    np.testing.assert_array_equal(state.theta[-5:], targets)
    rows = small.layout(text())
    for k in (0, 7, WORDS - 1):
        i, j = (rows.words(n, 0)[rows.vocabularies[n][f"{name}{k}"]] for n, name in enumerate("xy"))
        a, b = np.sqrt(acc[i]), np.sqrt(acc[j])
        wanted = (a * apart[i] + b * (apart[j] @ turn)) / (a + b)
        np.testing.assert_allclose(state.theta[problem.slot[i]], wanted, rtol=1e-4, atol=1e-6)
        assert state.accumulator[problem.slot[i]] == pytest.approx(acc[i] + acc[j], rel=0.01)


# In a fit


@pytest.mark.parametrize("likelihood", ["cbow", "sgns"])
@pytest.mark.parametrize("strength", [100.0, 1e6, math.inf])
def test_translations_that_were_not_told_are_found(strength, likelihood):
    """Word k is alike in both languages: the others of its topic are the nearest."""
    corpus = small.corpus(text(count=300))
    fitted = lx.fit(
        model(joined(strength, known=15), likelihood=likelihood),
        corpus,
        min_count=1,
        epochs=15,
        threads=1,
        quiet=True,
        holdout=0.0,
    )
    right = 0
    for k in range(15, WORDS):
        nearest = fitted.neighbors(f"x{k}", 3, language="x", to_language="y")["neighbor"]
        right += sum(int(name[1:]) % 3 == k % 3 for name in nearest)
    assert right > 0.8 * 3 * 15


def test_three_languages_are_fitted_at_once():
    languages = ("x", "y", "z")
    fitted = fit(joined(100.0, 15, languages), small.corpus(text(languages, 450)), epochs=15, holdout=0.0)
    right = 0
    for k in range(15, WORDS):  # x and z are joined by way of y alone
        nearest = fitted.neighbors(f"x{k}", 3, language="x", to_language="z")["neighbor"]
        right += sum(int(name[1:]) % 3 == k % 3 for name in nearest)
    assert right > 0.8 * 3 * 15


def test_history_says_when_languages_were_rotated():
    assert fit(joined()).history["rotated"].tolist() == [True, False, False, False]
    assert "rotated" not in fit(joined(), rotate=False).history
    assert "rotated" not in fit(joined(), epochs=1).history
    assert "rotated" not in fit(lx.Ridge(1.0)).history


def test_it_is_said_once(capsys):
    lx.fit(model(joined()), small.corpus(text()), min_count=1, epochs=3, holdout=0.0)
    assert capsys.readouterr().err.count("2 languages rotated onto each other, by 24 edges") == 1


def test_without_rotation_it_is_the_run_from_a_random_start():
    """The edges hold from the first epoch on, and every option says so."""
    start, turned = (fit(joined(1e4), rotate=rotate, holdout=0.0) for rotate in (False, True))
    auto = fit(joined(1e4), holdout=0.0)
    assert turned.theta.tobytes() == auto.theta.tobytes() != start.theta.tobytes()


def test_patience_does_not_compare_with_the_epoch_before_the_languages_met():
    """Wrong translations make the text less likely as soon as they hold."""
    wrong = [(f"x{k}", f"y{j}") for k, j in enumerate(np.random.default_rng(0).permutation(WORDS))]
    prior = lx.Ridge(1.0) + lx.Translations(wrong, 1e6)
    history = fit(prior, small.corpus(text(count=1500)), epochs=6, rate=0.05, patience=1).history
    assert history["held_out"][1] < history["held_out"][0]
    assert len(history) > 2


COLUMNS = ["epoch", "log_likelihood", "log_prior", "held_out", "priors", "rotated"]


@pytest.mark.parametrize("strength", [100.0, math.inf])
@pytest.mark.parametrize("stop", [2, 5, 9])
def test_a_run_that_stops_before_or_after_the_rotation_goes_on_bit_for_bit(tmp_path, monkeypatch, strength, stop):
    monkeypatch.setattr("laplex.engines.cpu.PIECE", 300)
    prior = joined(strength) + anchor("x")
    whole = fit(prior, epochs=3)
    run = {"epochs": 3, "checkpoint": tmp_path / "run", "checkpoint_minutes": 1e-9}
    with stopped_after(stop) as positions:
        fit(prior, **run)
    resumed = fit(prior, **run)
    assert (len(positions[-1]["history"]), positions[-1]["piece"]) == {2: (0, 2), 5: (1, 1), 9: (2, 1)}[stop]
    assert resumed.theta.tobytes() == whole.theta.tobytes()
    pd.testing.assert_frame_equal(resumed.history[COLUMNS], whole.history[COLUMNS])


# What is refused


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({"rotate": "yes"}, "rotate='yes'"),
        ({"rotate": 1}, "rotate=1"),
        ({"rotate": None}, "rotate=None"),
        ({"rotate": True, "engine": "reference"}, "rotate=True.*reference"),
        ({"rotate": True, "epochs": 1}, "rotate=True.*epochs=1"),
    ],
)
def test_impossible_rotations(choice, message):
    with pytest.raises(lx.InputError, match=message):
        lx.Training(**choice)


def test_a_rotation_of_what_nothing_joins():
    with pytest.raises(lx.InputError, match="rotate=True: no edge of the prior joins two languages"):
        fit(lx.Ridge(1.0), rotate=True)


def test_the_reference_engine_starts_at_random():
    few = small.corpus(small.documents(count=8, length=6, words=6, languages=("x", "y")))
    one, two = (fit(joined(10.0, 2), few, engine="reference", rotate=rotate, holdout=0.0) for rotate in ("auto", False))
    assert one.theta.tobytes() == two.theta.tobytes()


def test_a_problem_is_not_changed_by_asking():
    problem = problem_of(joined(math.inf))
    slot, graph = problem.slot.copy(), replace(problem.graph, weight=problem.graph.weight.copy())
    rotation.find_rotation(problem)
    np.testing.assert_array_equal(problem.slot, slot)
    np.testing.assert_array_equal(problem.graph.weight, graph.weight)
