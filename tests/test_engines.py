"""Every engine finds the maximum of the same log posterior: one suite for all of them, with subsampling on and off."""

from __future__ import annotations

import itertools
import math
import threading
import time
from dataclasses import replace
from functools import cache

import networkx as nx
import numpy as np
import pytest
import small
from engine_runs import make_cpu, make_torch, run_cpu, run_ranks, run_reference, run_torch, train, vectors

import laplex as lx
from laplex.engines import reference
from laplex.engines.sampling import Segments, count_visits
from laplex.engines.state import Epoch, State
from laplex.model.objective import log_likelihood, log_posterior, log_prior, log_prior_gradient

LIKELIHOODS = ["cbow", "sgns"]
PAIRS = [("0", "4"), ("1", "7", 2.0), ("2", "5"), ("3", "9", 0.5)]
TRANSLATIONS = [(f"x{k}", f"y{k}") for k in range(12)]
SPEECHES = small.documents(count=48)
IN_TWO_LANGUAGES = small.documents(count=60, words=14, languages=("x", "y"))
LACKING = [  # in the text of one party three words are missing
    row | {"text": [w for w in row["text"] if row["party"] == "D" or w not in ("6", "8", "9")]} for row in SPEECHES
]


def crossed(strength):
    return lx.Groups("party", strength) + lx.Chain("year", 2 * strength)


def signed(strength):
    """Words that are to be unlike cannot be tied."""
    return lx.Pairs(PAIRS, strength) + lx.Pairs([("6", "8", -1.0), ("0", "10", -2.0)], min(strength, 1e6))


def directed(strength):
    """Weak: strong ones have no potential, and so need not come to rest anywhere."""
    return lx.Pairs([("0", "4"), ("4", "1"), ("5", "2", -1.0)], min(strength, 5.0), directed=True)


def mixed(strength):
    """All kinds at once."""
    graph = nx.Graph()
    graph.add_edge(("6", "word", ("D",)), ("8", "context"), weight=2.0)
    anchor = lx.Anchor({"11": np.array([1.0, -1.0, 0.5, 0.0])}, 3.0)
    own = lx.Edges(lx.Graph.from_networkx(graph), strength)
    return lx.GroupMean("party", min(strength, 1e6), 0.5) + signed(3.0) + directed(1.0) + own + anchor


PRIORS = {
    "ridge": (lambda _: lx.Ridge(4.0), []),
    "groups": (lambda s: lx.Groups("party", s), ["party"]),
    "chain": (lambda s: lx.Chain("year", s, start=0.5), ["year"]),
    "groups and chain": (crossed, ["party", "year"]),
    "word-context": (lambda s: lx.Pairs(PAIRS, s, joins="word-context"), []),
    "signed": (signed, []),
    "directed": (directed, []),
    "mixed": (mixed, ["party"]),
    "absent words": (lambda s: lx.Groups("party", s), ["party"]),
    "translations": (lambda s: lx.Translations(TRANSLATIONS, s), []),
}
DOCUMENTS = {"absent words": LACKING, "translations": IN_TWO_LANGUAGES}
CASES = [  # every prior and every strength, each of them more than once
    ("groups", 0.0, "cbow"),
    ("groups", 100.0, "sgns"),
    ("groups", 1e4, "cbow"),
    ("chain", 1.0, "sgns"),
    ("chain", 1e6, "cbow"),
    ("groups and chain", 100.0, "cbow"),
    ("groups and chain", math.inf, "sgns"),
    ("word-context", 1e4, "sgns"),
    ("word-context", math.inf, "cbow"),
    ("signed", 1.0, "cbow"),
    ("signed", 1e6, "sgns"),
    ("directed", 100.0, "cbow"),
    ("directed", 1.0, "sgns"),
    ("mixed", 100.0, "cbow"),
    ("mixed", 1e4, "sgns"),
    ("absent words", 1.0, "sgns"),
    ("absent words", 100.0, "cbow"),
    ("translations", 100.0, "cbow"),
    ("translations", math.inf, "sgns"),
]
SUBSAMPLED = [
    ("ridge", 0.0, "cbow"),
    ("groups", 100.0, "cbow"),
    ("mixed", 1.0, "sgns"),
    ("absent words", 30.0, "sgns"),
    ("absent words", 30.0, "cbow"),
]
ENGINES = {
    "reference": lambda problem: run_reference(problem, seed=2),  # from another start than the one it is judged by
    "cpu": run_cpu,
    "torch": run_torch,
    "two ranks": run_ranks,
}


def make_problem(name, strength, likelihood, subsample=0.0):
    make, vary = PRIORS[name]
    prior = lx.Ridge(1.0) + make(strength)
    return small.problem(DOCUMENTS.get(name, SPEECHES), prior, vary, likelihood=likelihood, subsample=subsample)


def expected(problem, copies=24):
    """A problem whose objective is the mean over subsampled copies of the text: what stochastic engines maximize."""
    if (problem.keep >= 1.0).all():
        return problem
    random = np.random.default_rng(0)
    lengths = np.diff(problem.offsets)
    document = np.repeat(np.arange(len(lengths)), lengths)
    words = problem.vocabulary_start[problem.language[document]] + problem.ids
    kept = random.random((copies, len(words))) < problem.keep[words]
    sizes = np.concatenate([np.bincount(document[copy], minlength=len(lengths)) for copy in kept])
    columns = ("word_start", "context_start", "language", "held_out")
    return replace(
        problem,
        ids=np.concatenate([problem.ids[copy] for copy in kept]),
        offsets=np.concatenate([[0], np.cumsum(sizes)]),
        keep=np.ones_like(problem.keep),
        graph=problem.graph.scaled(float(copies)),
        **{name: np.tile(getattr(problem, name), copies) for name in columns},
    )


@cache
def solved(name, strength, likelihood, subsample):
    """A problem, the one that it is judged by, the log posterior at the start, and its maximum."""
    problem = make_problem(name, strength, likelihood, subsample)
    judge = expected(problem)
    start = vectors(problem, State.initial(problem, 1))
    best = reference.maximize(judge, start, steps=400, tolerance=1e-6)
    return problem, judge, log_posterior(judge, start)[0], log_posterior(judge, best)[0]


def check_near_the_maximum(problem_key, run):
    """Within 1% of the reference's log posterior, and 4% of the way that there was to go."""
    problem, judge, start, best = solved(*problem_key)
    found = run(problem)
    assert np.isfinite(found).all()
    gap = best - log_posterior(judge, found)[0]
    gap = abs(gap) if problem.graph.directed.any() else gap  # no maximum when directed
    assert gap < 0.01 * abs(best)
    assert gap < 0.04 * (best - start)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("name", "strength", "likelihood"), CASES)
def test_every_engine_finds_the_maximum(name, strength, likelihood, engine):
    if engine == "torch":
        pytest.importorskip("torch")
    check_near_the_maximum((name, strength, likelihood, 0.0), ENGINES[engine])


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["cpu", "torch", "two ranks"])
@pytest.mark.parametrize(("name", "strength", "likelihood"), SUBSAMPLED)
def test_every_engine_finds_the_maximum_of_subsampled_text(name, strength, likelihood, engine):
    if engine == "torch":
        pytest.importorskip("torch")
    problem = make_problem(name, strength, likelihood, 1e-2)
    assert 0.4 < problem.keep[problem.ids].mean() < 0.8
    check_near_the_maximum((name, strength, likelihood, 1e-2), ENGINES[engine])


# How often the prior counts


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
@pytest.mark.parametrize("name", ["groups", "ridge", "word-context", "signed"])
def test_the_prior_counts_once(name, likelihood):
    """Twice or half the strength would show in what it costs."""
    prior, vary = {
        "groups": (lx.Ridge(1.0) + lx.Groups("party", 100.0), ["party"]),
        "ridge": (lx.Ridge(20.0), []),
        "word-context": (lx.Ridge(1.0) + lx.Pairs(PAIRS, 100.0, joins="word-context"), []),
        "signed": (lx.Ridge(1.0) + lx.Pairs([("0", "4", -1.0), ("5", "1", -1.0)], 100.0), []),
    }[name]
    problem = small.problem(SPEECHES, prior, vary, likelihood=likelihood)
    edges = problem.graph if name == "ridge" else replace(problem.graph, diagonal=np.zeros(problem.parameters))
    found = [run_cpu(problem, 300, seed=seed) for seed in (1, 2, 3)]
    best = reference.maximize(problem, found[0], steps=200, tolerance=1e-5)
    cost = np.mean([log_prior(edges, theta) for theta in found])
    assert cost == pytest.approx(log_prior(edges, best), rel=0.35)


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
def test_a_directed_edge_counts_once(likelihood):
    """What all else pulls an end by is what the edge holds it by, nearly: it never comes quite to rest."""
    prior = lx.Ridge(1.0) + lx.Pairs([("0", "4"), ("5", "1")], 30.0, directed=True)
    problem = small.problem(SPEECHES, prior, [], likelihood=likelihood)
    graph = problem.graph
    found = run_cpu(problem, 300)
    difference = found[graph.first] - found[graph.second]
    rest = replace(problem, graph=replace(graph, weight=np.zeros(len(graph.weight))))
    pull = log_posterior(rest, found)[1][graph.first]
    assert 0.65 * 30 < (pull * difference).sum() / (difference * difference).sum() < 1.5 * 30


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
@pytest.mark.parametrize("strength", [100, 1e4, 1e12])
def test_strong_directed_edges_lead_and_do_not_follow(strength, likelihood):
    """The first word goes to where the second is, which is where it would be without the edge."""
    alone, led = (
        run_cpu(small.problem(SPEECHES, lx.Ridge(1.0) + prior, likelihood=likelihood), 150)
        for prior in (lx.Ridge(0.0), lx.Pairs([("12", "13"), ("14", "13", -1.0)], strength, directed=True))
    )
    words = small.layout(SPEECHES).vocabularies[0]
    first, leader, unlike = (led[words[word]] for word in ("12", "13", "14"))
    size = np.linalg.norm(leader)
    loose = max(0.02, 50 / strength)
    assert np.linalg.norm(first - leader) < loose * size
    assert np.linalg.norm(unlike + leader) < loose * size
    assert size > 0.3 * np.linalg.norm(alone[words["13"]])
    assert np.linalg.norm(alone[words["12"]] - alone[words["13"]]) > 0.3 * size


def test_stronger_groups_are_more_alike():
    distance = []
    for strength in (0, 1, 100, 1e4, 1e12):
        problem = small.problem(SPEECHES, lx.Ridge(1.0) + lx.Groups("party", strength), ["party"])
        found = run_cpu(problem)
        where = small.layout(SPEECHES, ["party"])
        distance.append(np.linalg.norm(found[where.words(0, 0)] - found[where.words(0, 1)]))
    assert (np.diff(distance) < 0).all()
    assert distance[-1] < 1e-3 * distance[0]


def test_an_infinite_strength_gives_identical_vectors():
    problem = small.problem(SPEECHES, lx.Ridge(1.0) + lx.Groups("party", math.inf), ["party"])
    where = small.layout(SPEECHES, ["party"])
    found = run_cpu(problem, 5)[problem.slot]
    np.testing.assert_array_equal(found[where.words(0, 0)], found[where.words(0, 1)])
    assert len(np.unique(found[where.words(0, 0)], axis=0)) == len(where.words(0, 0))


def test_an_infinite_strength_ties_words_to_contexts():
    """The suite has what comes of it."""
    problem = make_problem("word-context", math.inf, "cbow")
    where = small.layout(SPEECHES)
    one, two = where.vocabularies[0]["0"], where.vocabularies[0]["4"]
    assert problem.slot[where.words(0, 0)[one]] == problem.slot[where.contexts(0)[two]]


def test_all_slices_of_a_word_start_from_one_vector():
    prior = lx.Ridge(1.0) + lx.Chain("year", 1.0)
    problem = small.problem(SPEECHES, prior, ["party", "year"])
    where = small.layout(SPEECHES, ["party", "year"])
    start = vectors(problem, State.initial(problem, 1))
    first = start[where.words(0, 0)]
    assert len(np.unique(first, axis=0)) == len(first)
    for slice in range(1, len(where.slices)):
        np.testing.assert_array_equal(start[where.words(0, slice)], first)
    assert not (start[where.contexts(0)] == first).any()


def test_a_word_that_a_slice_lacks_is_never_read_but_drawn():
    """Its absence is evidence, too: the suite has where it is then."""
    problem = make_problem("absent words", 1.0, "cbow")
    where = small.layout(LACKING, ["party"])
    absent = [where.words(0, 1)[where.vocabularies[0][word]] for word in ("6", "8", "9")]
    visits = count_visits(problem, 8, 8)
    np.testing.assert_array_equal(np.flatnonzero(visits.reads == 0), sorted(absent))
    np.testing.assert_array_equal(np.flatnonzero(visits.by_draws), sorted(absent))
    assert (visits.count > 0).all()


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
def test_rows_that_nothing_has_touched_are_filled_by_the_prior_exactly(likelihood):
    anchor = lx.Anchor({"8": np.array([1.0, -1.0, 0.5, 0.0])}, 3.0)
    pairs = lx.Pairs([("6", "8", -1.0), ("9", "0")], 2.0) + lx.Pairs([("6", "1")], 4.0, directed=True)
    prior = lx.Ridge(0.5) + lx.Groups("party", 5.0) + pairs + anchor
    problem = small.problem(SPEECHES, prior, ["party"], likelihood=likelihood)
    where = small.layout(SPEECHES, ["party"])
    untouched = np.array(where.words(0, 1))
    found = run_cpu(replace(problem, held_out=problem.word_start == where.word_start(0, 1)), 20)
    gradient = log_prior_gradient(problem.graph, found)
    assert np.abs(gradient[untouched]).max() < 1e-4
    assert np.abs(found[untouched]).min() > 0.0
    assert np.abs(gradient).max() > 0.1


def test_the_log_prior_of_a_state_is_that_of_the_objective():
    problem = make_problem("mixed", 3.0, "cbow")
    state = State.initial(problem, 1)
    state.theta[: problem.parameters] = small.some_theta(problem)
    wanted = log_prior(problem.graph, vectors(problem, state))
    assert state.log_prior(problem.graph) == pytest.approx(wanted, rel=1e-5)
    rest = problem.parameters - 3
    np.testing.assert_array_equal(state.first(rest).theta, state.theta[:rest])
    before = vectors(problem, state)
    np.testing.assert_array_equal(state.unpadded(problem.parameters), before)


# The same again


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
def test_one_thread_and_one_seed_give_the_same_bits(likelihood):
    problem = make_problem("groups", 10.0, likelihood, 1e-2)
    once, again, other = (run_cpu(problem, 4, seed=seed) for seed in (1, 1, 2))
    assert once.tobytes() == again.tobytes()
    assert once.tobytes() != other.tobytes()


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
def test_two_threads_find_the_same_maximum(likelihood):
    check_near_the_maximum(("groups", 100.0, likelihood, 0.0), lambda problem: run_cpu(problem, threads=2))


@pytest.mark.parametrize("seed", [0, 2**31, 2**62])
def test_any_seed_will_do(seed):
    assert np.isfinite(run_cpu(make_problem("ridge", 0.0, "cbow"), 1, seed=seed)).all()


def test_more_than_one_vector_register_of_dimensions():
    """The padding behind the dimensions stays empty, and changes nothing."""
    problem = small.problem(SPEECHES, lx.Ridge(1.0), dimensions=18)
    state = State.initial(problem, 1)
    train(make_cpu(problem, state), 1, rate=0.1)
    assert state.memory.shape[1] == 32
    assert not state.memory[:, 18:].any()
    assert np.isfinite(state.theta).all()


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
def test_accumulators_grow_by_the_mean_square_over_the_dimensions_of_the_model(likelihood):
    """Not over those of padded rows, of which there are four times as many here."""
    pytest.importorskip("torch")
    growth = []
    for make in (make_cpu, make_torch):
        problem = small.problem(SPEECHES, lx.Ridge(1.0), likelihood=likelihood)
        state = State.initial(problem, 1)
        train(make(problem, state, block=16, negatives=16), 1, rate=1e-6)
        growth.append(float(np.log(state.accumulator).mean()))
    assert growth[0] == pytest.approx(growth[1], abs=0.2)


GOLDEN = {
    "cbow": [-2.52066, -2.029146, -2.327498, -2.110497, -2.154784, -2.268003, -2.056777, -2.063331],
    "sgns": [-10.911135, -8.60624, -8.847383, -8.531457, -8.758206, -8.526881, -8.337658, -8.372567],
}


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
def test_the_log_likelihoods_on_the_way_are_those_of_before(likelihood):
    """On another processor sums are of another order, and the differences grow with every step."""
    problem = make_problem("groups", 10.0, likelihood)
    history = train(make_cpu(problem, State.initial(problem, 1)), 8)
    np.testing.assert_allclose(history, GOLDEN[likelihood], rtol=0.01)


# Threads


def test_a_thread_that_fails_stops_the_others(monkeypatch):
    problem = make_problem("ridge", 0.0, "cbow")
    engine = make_cpu(problem, State.initial(problem, 1), piece=1)
    assert engine.pieces > 40
    calls, done, run_kernel = itertools.count(), [], engine._run_kernel

    def run_or_fail(segments, *rest):
        if next(calls) == 3:  # of one thread alone
            raise MemoryError("no room")
        time.sleep(0.02)
        run_kernel(segments, *rest)
        done.append(segments)

    monkeypatch.setattr(engine, "_run_kernel", run_or_fail)
    with pytest.raises(MemoryError, match="no room"):
        engine.run(Epoch(0, 1, 0.1, 1, 3), lambda share: None)
    assert len(done) < 10


# Documents that are cut


def long_text(tokens, seed=0):
    """One text whose topic changes every 20 tokens."""
    return [word for row in small.documents(tokens // 20, seed=seed) for word in row["text"]]


def test_a_long_document_is_learned_by_all_threads_at_a_falling_rate_as_well_as_short_ones(monkeypatch):
    """Other text is as likely under the vectors of one text as under those of the same text in parts."""
    words = long_text(200_000)
    judged = small.documents(60, seed=7)
    judge = small.problem(judged, lx.Ridge(1.0))
    values = []
    for size in (len(words), 200):
        parts = [words[i : i + size] for i in range(0, len(words), size)]
        rows = [{"text": part, "party": "D", "year": "2000", "lang": ""} for part in parts]
        problem = small.problem(rows, lx.Ridge(1.0))
        state = State.initial(problem, 1)
        engine = make_cpu(problem, state, piece=20_000)
        assert engine.pieces == 10
        rates, threads, run_kernel = [], set(), engine._run_kernel

        def watch(segments, rate, *rest, rates=rates, threads=threads, run_kernel=run_kernel):
            rates.append(rate)
            threads.add(threading.get_ident())
            run_kernel(segments, rate, *rest)

        monkeypatch.setattr(engine, "_run_kernel", watch)
        tokens = engine.run(Epoch(0, 1, 0.12, 1, 2), lambda share: None)[1][0]
        assert tokens == len(words)
        assert len(threads) == 2
        np.testing.assert_allclose(sorted(rates, reverse=True), 0.12 * (1.0 - np.arange(10) / 10))
        names, others = (small.layout(documents).vocabularies[0].words for documents in (rows, judged))
        place = np.array([names.index(word) for word in others])
        theta = vectors(problem, state)[np.concatenate([place, len(names) + place])]
        values.append(log_likelihood(judge, theta)[0])
    assert values[0] == pytest.approx(values[1], rel=0.01)


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
@pytest.mark.parametrize("subsample", [0.0, 1e-2])
def test_windows_are_whole_where_a_document_is_cut(likelihood, subsample, monkeypatch):
    """Cut or not, all centers and pairs are read, and the gradients of an epoch are the same on average."""
    text = [{"text": long_text(600), "party": "D", "year": "2000", "lang": ""}]
    problem = small.problem(text, lx.Ridge(1.0), likelihood=likelihood, subsample=subsample, window=3)
    moved, read = [], []
    for most in (10_000, 20):
        monkeypatch.setattr("laplex.engines.sampling.SEGMENT_TOKENS", most)
        total = np.zeros((problem.parameters, problem.dimensions))
        tokens = 0.0
        for seed in range(300):
            state = State.initial(problem, 1)
            state.theta[:] = small.some_theta(problem)
            state.accumulator[:] = 1e6  # steps so short that gradients add up
            before = state.theta.copy()
            engine = make_cpu(problem, state, piece=10_000)
            engine._row_state[:, 1:] = 0.0  # no prior
            tokens += float(engine.run(Epoch(0, 10**9, 1.0, seed, 1), lambda share: None)[1][0])
            total += (state.theta - before) * 1e3
        moved.append(total / 300)
        read.append(tokens / 300)
        assert (len(Segments.of(problem.offsets).document) > 1) == (most == 20)
    assert read[1] == pytest.approx(read[0], rel=0.01)
    assert np.linalg.norm(moved[1] - moved[0]) < 0.05 * np.linalg.norm(moved[0])  # without the pairs at cuts it is 0.1
