"""What PELP is compared with: closed forms are exact, retrofitting is the fixed point, slices end up in one space."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.linalg
import small
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ortho_group

import laplex as lx
from laplex import baselines
from laplex.tokens import Slices

few = settings(max_examples=25)
seeds = st.integers(0, 10_000)


def made(vectors, language="", words=None, contexts=None, keys=((),), columns=()):
    """Embeddings of an array (V, D) or (S, V, D)."""
    stack = np.asarray(vectors).reshape(len(keys), -1, np.shape(vectors)[-1])
    words = words or [f"{language}{i}" for i in range(stack.shape[1])]
    return lx.Embeddings.of(
        [lx.Vocabulary(words, np.full(len(words), len(keys)), language)],
        [stack],
        slices=Slices(columns, keys, np.empty(0, np.int32)),
        counts=[np.ones((len(keys), len(words)), np.int64)],
        contexts=None if contexts is None else [contexts],
    )


def normal(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape)


def turned(seed, dimensions):
    return ortho_group.rvs(dimensions, random_state=seed)


def pairs(count, shift=0):
    return [(f"it{i}", f"en{(i + shift)}") for i in range(count)]


def italian(vectors, **more):
    return made(vectors, "it", **more)


def english(vectors, **more):
    return made(vectors, "en", **more)


# Alignment


@few
@given(seeds, st.integers(2, 12))
def test_a_known_rotation_is_undone(seed, dimensions):
    target = normal(seed, 40, dimensions)
    turn = turned(seed, dimensions)
    source = made(target @ turn, contexts=normal(1, 40, dimensions))
    aligned = baselines.align(source, made(target))
    np.testing.assert_allclose(aligned.matrix(), target, atol=1e-5)
    np.testing.assert_allclose(aligned.contexts(), source.contexts() @ turn.T, atol=1e-5)


def test_one_rotation_serves_all_slices_so_that_nothing_changes_among_them():
    keys, columns = (("D",), ("R",)), ("party",)
    stack = normal(0, 2, 30, 4)
    source = made(stack @ turned(1, 4), keys=keys, columns=columns)
    noisy = made((stack + 0.1 * normal(2, 2, 30, 4))[::-1], keys=keys[::-1], columns=columns)
    aligned = baselines.align(source, noisy)
    before = source.matrix(party="D") @ source.matrix(party="R").T
    np.testing.assert_allclose(aligned.matrix(party="D") @ aligned.matrix(party="R").T, before, atol=1e-4)
    np.testing.assert_allclose(aligned.matrix(party="D"), stack[0], atol=0.5)
    x = np.concatenate([source.matrix(party=party) for party in "DR"]).astype(float)
    z = np.concatenate([noisy.matrix(party=party) for party in "DR"]).astype(float)
    expected = x @ scipy.linalg.orthogonal_procrustes(x, z)[0]
    np.testing.assert_allclose(np.concatenate([aligned.matrix(party=p) for p in "DR"]), expected, atol=1e-5)


def test_slices_can_be_laid_upon_vectors_without_slices():
    target = normal(0, 30, 4)
    turn = turned(3, 4)
    source = made(np.stack([target @ turn, target @ turn]), keys=(("D",), ("R",)), columns=("party",))
    np.testing.assert_allclose(baselines.align(source, made(target)).matrix(party="R"), target, atol=1e-5)


def test_words_chosen_for_alignment_are_the_only_ones_that_count():
    target, turn = normal(0, 30, 4), turned(3, 4)
    vectors = target @ turn
    vectors[10:] = normal(5, 20, 4)  # these have changed their meaning
    stable = [str(i) for i in range(10)]
    aligned = baselines.align(made(vectors), made(target), words=[*stable, "unknown"])
    np.testing.assert_allclose(aligned.matrix()[:10], target[:10], atol=1e-5)
    everything = baselines.align(made(vectors), made(target))
    assert np.abs(everything.matrix()[:10] - target[:10]).max() > 0.01


def test_words_without_a_vector_do_not_count():
    target, turn = normal(0, 30, 4), turned(3, 4)
    source, other = target @ turn, target.copy()
    source[:5], other[5:10] = 0, 0
    aligned = baselines.align(made(source), made(other))
    np.testing.assert_allclose(aligned.matrix()[10:], target[10:], atol=1e-5)
    assert not aligned.matrix()[:5].any()


def test_what_cannot_be_aligned_says_why():
    with pytest.raises(lx.InputError, match="4 dimensions cannot be rotated onto 5"):
        baselines.align(made(normal(0, 30, 4)), made(normal(0, 30, 5)))
    with pytest.raises(lx.InputError, match="0 vectors of words that both have"):
        baselines.align(italian(normal(0, 30, 4)), english(normal(0, 30, 4)))
    with pytest.raises(lx.InputError, match="3 vectors of words that both have"):
        baselines.align(made(normal(0, 30, 4)), made(normal(0, 30, 4)), words=["1", "2", "3"])
    nearly_empty = normal(0, 30, 4)
    nearly_empty[3:] = 0
    with pytest.raises(lx.InputError, match="3 vectors of words that both have"):
        baselines.align(made(normal(0, 30, 4)), made(nearly_empty))
    with pytest.raises(lx.InputError, match="write words="):
        baselines.align(made(normal(0, 30, 4)), made(normal(0, 30, 4)), words="tax")
    parties = made(normal(0, 2, 30, 4), keys=(("D",), ("R",)), columns=("party",))
    years = made(normal(0, 2, 30, 4), keys=(("1",), ("2",)), columns=("year",))
    with pytest.raises(lx.InputError, match="the slices are not the same"):
        baselines.align(parties, years)


def test_one_slice_can_be_taken_out():
    whole = made(normal(0, 2, 30, 4), keys=(("D",), ("R",)), columns=("party",), contexts=normal(1, 30, 4))
    part = baselines.only(whole, party="R")
    np.testing.assert_array_equal(part.matrix(), whole.matrix(party="R"))
    np.testing.assert_array_equal(part.contexts(), whole.contexts())
    assert (part.columns, part.count("3")) == ((), 1)
    with pytest.raises(lx.InputError, match="say which slice"):
        baselines.only(whole)


# Maps between languages


@few
@given(seeds, st.integers(2, 12))
def test_translations_of_a_rotated_language_are_found_exactly(seed, dimensions):
    target = normal(seed, 60, dimensions)
    source = target @ turned(seed, dimensions)
    both = baselines.orthogonal_mapping(italian(source), english(target), pairs(20))
    assert both.languages == ["it", "en"]
    np.testing.assert_allclose(both.matrix("it"), target, atol=1e-5)
    np.testing.assert_array_equal(both.matrix("en"), target.astype(np.float32))


@pytest.mark.parametrize("choices", [{}, {"center": True}, {"normalize": True}, {"center": True, "normalize": True}])
def test_the_orthogonal_map_does_not_depend_on_how_the_source_is_rotated(choices):
    source, target = normal(0, 60, 5), normal(1, 60, 5)
    straight = baselines.orthogonal_mapping(italian(source), english(target), pairs(30), **choices)
    rotated = baselines.orthogonal_mapping(italian(source @ turned(7, 5)), english(target), pairs(30), **choices)
    np.testing.assert_allclose(straight.matrix("it"), rotated.matrix("it"), atol=1e-5)


def test_the_linear_map_does_not_depend_on_any_invertible_map_of_the_source():
    source, target = normal(0, 60, 5), normal(1, 60, 5)
    straight = baselines.linear_mapping(italian(source), english(target), pairs(30))
    other = baselines.linear_mapping(italian(source @ normal(7, 5, 5)), english(target), pairs(30))
    np.testing.assert_allclose(straight.matrix("it"), other.matrix("it"), atol=1e-4)


def test_no_rotation_is_better_than_the_map():
    source, target = normal(0, 60, 3), normal(1, 60, 3)
    both = baselines.orthogonal_mapping(italian(source), english(target), pairs(30))
    best = np.sum((both.matrix("it")[:30] - target[:30]) ** 2)
    for seed in range(200):
        assert np.sum((source[:30] @ turned(seed, 3) - target[:30]) ** 2) >= best - 1e-4


def test_within_the_source_nothing_changes():
    source, contexts = normal(0, 60, 5), normal(2, 60, 5)
    target = english(normal(1, 60, 5), contexts=normal(3, 60, 5))
    both = baselines.orthogonal_mapping(italian(source, contexts=contexts), target, pairs(30))
    np.testing.assert_allclose(both.matrix("it") @ both.matrix("it").T, source @ source.T, atol=1e-4)
    np.testing.assert_allclose(both.matrix("it") @ both.contexts("it").T, source @ contexts.T, atol=1e-4)
    np.testing.assert_array_equal(both.contexts("en"), target.contexts())


def test_contexts_are_left_out_if_one_language_has_none():
    both = baselines.orthogonal_mapping(
        italian(normal(0, 30, 3)), english(normal(1, 30, 3), contexts=normal(2, 30, 3)), pairs(20)
    )
    with pytest.raises(lx.InputError, match="without context vectors"):
        both.contexts("en")


def test_normalized_and_centered_vectors_are_mapped_as_such():
    source, target = normal(0, 60, 5) + 3, normal(1, 60, 5) - 2
    both = baselines.orthogonal_mapping(italian(source), english(target), pairs(30), center=True, normalize=True)
    prepared = []
    for vectors in (source, target):
        unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        prepared.append(unit - unit.mean(0))
    left, _, right = np.linalg.svd(prepared[0][:30].T @ prepared[1][:30])
    np.testing.assert_allclose(both.matrix("it"), prepared[0] @ left @ right, atol=1e-5)
    np.testing.assert_allclose(both.matrix("en"), prepared[1], atol=1e-6)


def test_a_weight_of_two_is_a_pair_listed_twice():
    source, target = italian(normal(0, 60, 5)), english(normal(1, 60, 5))
    listed = [*pairs(30), *pairs(10)]
    weighted = [(v, w, 2.0 if i < 10 else 1.0) for i, (v, w) in enumerate(pairs(30))]
    for method in (baselines.orthogonal_mapping, baselines.linear_mapping):
        twice, heavy = method(source, target, listed), method(source, target, weighted)
        np.testing.assert_allclose(twice.matrix("it"), heavy.matrix("it"), atol=1e-5)
        assert np.abs(twice.matrix("it") - method(source, target, pairs(30)).matrix("it")).max() > 1e-3


def test_pairs_may_stand_the_other_way_around():
    source, target = italian(normal(0, 60, 5)), english(normal(1, 60, 5))
    there = baselines.orthogonal_mapping(source, target, pairs(30))
    back = baselines.orthogonal_mapping(source, target, [(w, v) for v, w in pairs(30)])
    np.testing.assert_array_equal(there.matrix("it"), back.matrix("it"))


@pytest.mark.parametrize("ridge", [0.0, 3.0])
def test_the_linear_map_solves_the_normal_equations(ridge):
    source, target = normal(0, 60, 5), normal(1, 60, 7)
    both = baselines.linear_mapping(italian(source), english(target), pairs(30), ridge=ridge)
    x, z = source[:30], target[:30]
    expected = source @ np.linalg.solve(x.T @ x + ridge * np.eye(5), x.T @ z)
    np.testing.assert_allclose(both.matrix("it"), expected, atol=1e-4)
    assert both.dimensions == 7


def test_a_mapping_answers_questions_and_can_be_saved(tmp_path):
    target = normal(0, 60, 5)
    both = baselines.orthogonal_mapping(italian(target @ turned(0, 5)), english(target), pairs(30))
    both.save(tmp_path / "both")
    loaded = lx.load(tmp_path / "both")
    np.testing.assert_array_equal(loaded.matrix("it"), both.matrix("it"))
    assert loaded.settings["baseline"]["pairs"] == 30
    assert loaded.count("it3", language="it") == 1


def test_what_cannot_be_mapped_says_why(write):
    source, target = italian(normal(0, 60, 5)), english(normal(1, 60, 5))
    for method in (baselines.orthogonal_mapping, baselines.linear_mapping):
        with pytest.raises(lx.InputError, match=r"0 of 1 pairs of .* have both words .*60 and 60 words"):
            method(source, target, [("chien", "dog")])
        with pytest.raises(lx.InputError, match=r"4 of 5 pairs of .*, the map needs 5"):
            method(source, target, [*pairs(4), ("it5", "unknown")])
        with pytest.raises(lx.InputError, match="negative weights"):
            method(source, target, [(v, w, -1.0) for v, w in pairs(10)])
        with pytest.raises(lx.InputError, match="both vectors are of the language"):
            method(target, target, pairs(10))
        with pytest.raises(lx.InputError, match="has no pairs"):
            method(source, target, write("empty.tsv", ""))
        sliced = italian(normal(0, 2, 30, 5), keys=(("D",), ("R",)), columns=("party",))
        with pytest.raises(lx.InputError, match="1 languages and 2 slices"):
            method(sliced, target, pairs(10))
    with pytest.raises(lx.InputError, match="the source has 5 dimensions, the target 6"):
        baselines.orthogonal_mapping(source, english(normal(1, 60, 6)), pairs(10))
    for ridge in (-1.0, float("nan")):
        with pytest.raises(lx.InputError, match="ridge="):
            baselines.linear_mapping(source, target, pairs(10), ridge=ridge)
    baselines.linear_mapping(source, target, pairs(1), ridge=1.0)


# Retrofitting


def chosen_pairs(seed, words, count, negative=False):
    """Pairs with weights, some listed twice or the other way around, some with unknown words."""
    random = np.random.default_rng(seed)
    ends = [pair for pair in random.integers(0, words, (count, 2)).tolist() if pair[0] != pair[1]]
    sign = random.choice([-1, 1], len(ends)) if negative else np.ones(len(ends))
    listed = [(str(v), str(w), s * x) for (v, w), s, x in zip(ends, sign, random.uniform(0.1, 3, len(ends)))]
    return [*listed, *listed[:2], *((w, v, x) for v, w, x in listed[:2]), ("0", "unknown", 1.0), ("1", "1", 1.0)]


def betas(pairs, words, strength, weighted):
    """β as Faruqui et al. have it, in the plainest way."""
    whole = np.zeros((words, words))
    for v, w, weight in pairs:
        if w != "unknown" and v != w:
            whole[int(v), int(w)] += weight
            whole[int(w), int(v)] += weight
    if weighted:
        return strength * whole
    signs = np.sign(whole)
    return strength * signs / np.maximum(np.abs(signs).sum(1, keepdims=True), 1)


@few
@given(seeds, st.sampled_from([0.0, 0.3, 1.0, 1e6]), st.booleans(), st.booleans())
def test_retrofitting_is_the_dense_solution(seed, strength, weighted, negative):
    vectors = normal(seed, 30, 4)
    listed = chosen_pairs(seed, 30, 25, negative)
    beta = betas(listed, 30, strength, weighted)
    expected = np.linalg.solve(np.eye(30) + np.diag(np.abs(beta).sum(1)) - beta, vectors)
    found = baselines.retrofit(made(vectors), listed, strength=strength, weighted=weighted)
    np.testing.assert_allclose(found.matrix(), expected, atol=2e-5)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_published_iteration_stays_there_and_goes_there(weighted):
    vectors = normal(0, 40, 5)
    listed = chosen_pairs(0, 40, 40)
    beta = betas(listed, 40, 1.0, weighted)
    found = baselines.retrofit(made(vectors), listed, weighted=weighted).matrix().astype(np.float64)

    def update(q):
        return (beta @ q + vectors) / (beta.sum(1, keepdims=True) + 1.0)

    np.testing.assert_allclose(update(found), found, atol=1e-6)
    q = vectors
    for _ in range(300):
        q = update(q)
    np.testing.assert_allclose(found, q, atol=1e-6)


def test_weighted_retrofitting_is_a_minimum():
    vectors = normal(0, 30, 4)
    listed = chosen_pairs(0, 30, 25)
    beta = betas(listed, 30, 2.0, True)
    found = baselines.retrofit(made(vectors), listed, strength=2.0, weighted=True).matrix().astype(np.float64)

    def cost(q):
        apart = ((q[:, None] - q[None]) ** 2).sum(2)
        return ((q - vectors) ** 2).sum() + 0.5 * (beta * apart).sum()

    for seed in range(20):
        step = 1e-2 * normal(seed, 30, 4)
        assert cost(found + step) > cost(found)


def test_words_without_pairs_and_contexts_stay_in_every_slice():
    keys, columns = (("D",), ("R",)), ("party",)
    whole = made(normal(0, 2, 30, 4), keys=keys, columns=columns, contexts=normal(1, 30, 4))
    before = whole.theta.copy()
    found = baselines.retrofit(whole, [("3", "4"), ("4", "5")])
    np.testing.assert_array_equal(whole.theta, before)
    np.testing.assert_array_equal(found.contexts(), whole.contexts())
    for party in "DR":
        alone = baselines.retrofit(baselines.only(whole, party=party), [("3", "4"), ("4", "5")])
        np.testing.assert_allclose(found.matrix(party=party), alone.matrix(), atol=1e-6)
        same = (found.matrix(party=party) == whole.matrix(party=party)).all(1)
        assert np.flatnonzero(~same).tolist() == [3, 4, 5]


def test_only_the_language_of_the_pairs_is_retrofitted():
    both = baselines.orthogonal_mapping(italian(normal(0, 30, 4)), english(normal(1, 30, 4)), pairs(20))
    found = baselines.retrofit(both, [("en1", "en2")], language="en")
    np.testing.assert_array_equal(found.matrix("it"), both.matrix("it"))
    assert (found.matrix("en") != both.matrix("en")).any(1).sum() == 2


def test_pairs_that_cancel_out_leave_their_words_alone():
    vectors = normal(0, 10, 3)
    found = baselines.retrofit(made(vectors), [("1", "2", 1.0), ("2", "1", -1.0), ("3", "4", 1.0)])
    np.testing.assert_array_equal(found.matrix()[1:3], vectors.astype(np.float32)[1:3])


def test_what_cannot_be_retrofitted_says_why():
    vectors = made(normal(0, 10, 3))
    with pytest.raises(lx.InputError, match=r"no pair of .* \(10 words; 1 of 2 pairs have one\)"):
        baselines.retrofit(vectors, [("1", "dog"), ("cat", "dog")])
    for strength in (-1.0, float("inf"), float("nan")):
        with pytest.raises(lx.InputError, match="strength="):
            baselines.retrofit(vectors, [("1", "2")], strength=strength)
    with pytest.raises(lx.InputError, match="leave out language='en'"):
        baselines.retrofit(vectors, [("1", "2")], language="en")


# A model for each slice


def model(**choices):
    prior = lx.Ridge(1.0) + lx.Groups("party", 30.0)
    given = {"vary": ["party"], "prior": prior, "dimensions": 6, "window": 3, "subsample": 0.0}
    return lx.Model(**(given | choices))


OPTIONS = {"min_count": 1, "epochs": 20, "threads": 1, "holdout": 0.0, "quiet": True}


@pytest.fixture(scope="module")
def speeches():
    """The words 0, 1 and 2 change their topics from one party to the other."""
    return small.documents(count=300)


def planted(count=400):
    """Documents about one of three topics; the words 27, 28 and 29 change their topics from one party to the other."""
    random = np.random.default_rng(0)
    rows = []
    for m in range(count):
        topic = np.arange(30) % 3
        topic[27:] = (topic[27:] + m % 2) % 3
        chance = np.where(topic == random.integers(3), 8.0, 1.0)
        text = [str(k) for k in random.choice(30, 30, p=chance / chance.sum())]
        rows.append({"text": text, "party": "DR"[m % 2], "year": "2000", "lang": ""})
    return rows


@pytest.mark.parametrize("method", [baselines.independent, baselines.compass])
def test_words_that_swap_their_roles_are_found(method):
    found = method(model(), small.corpus(planted()), **OPTIONS)
    assert found.columns == ("party",)
    contrast = found.contrast("party", top=4)
    assert set(contrast["word"][:3]) == {"27", "28", "29"}
    assert contrast["distance"][2] > 1.1 * contrast["distance"][3]


def test_independent_slices_are_fits_of_their_text_alone():
    """Exact fits of each, so that all products among the words of a slice are the same up to a rotation."""
    rows = small.documents(count=30)
    options = {"min_count": 1, "holdout": 0.0, "quiet": True, "engine": "reference"}
    found = baselines.independent(model(dimensions=3), small.corpus(rows), align_to="R", **options)
    assert found.settings["baseline"] == {"name": "independent", "aligned to": ["R"]}
    alone = replace(model(dimensions=3), vary=(), prior=lx.Ridge(1.0))
    for party in "DR":
        fitted = lx.fit(alone, small.corpus([row for row in rows if row["party"] == party]), **options)
        counts = [found.count(word, party=party) for word in fitted.words()]
        assert counts == [fitted.count(word) for word in fitted.words()]
        ours = np.array([found.vector(word, party=party) for word in fitted.words()])
        np.testing.assert_allclose(ours @ ours.T, fitted.matrix() @ fitted.matrix().T, atol=1e-3)


def test_the_slice_that_others_are_rotated_onto_is_not_rotated(speeches):
    tokens = lx.Tokens.of(small.corpus(speeches), min_count=1, quiet=True)
    options = {"epochs": 3, "threads": 1, "quiet": True}
    onto_d = baselines.independent(model(), tokens, align_to="D", **options)
    onto_r = baselines.independent(model(), tokens, align_to={"party": "R"}, **options)
    for party in "DR":
        one, two = onto_d.matrix(party=party), onto_r.matrix(party=party)
        np.testing.assert_allclose(one @ one.T, two @ two.T, atol=1e-4)
    turn = scipy.linalg.orthogonal_procrustes(onto_d.matrix(party="D"), onto_r.matrix(party="D"))[0]
    np.testing.assert_allclose(onto_d.matrix(party="R") @ turn, onto_r.matrix(party="R"), atol=1e-4)
    x, z = onto_r.matrix(party="D").astype(float), onto_r.matrix(party="R").astype(float)
    np.testing.assert_allclose(scipy.linalg.orthogonal_procrustes(x, z)[0], np.eye(6), atol=1e-4)


def test_a_word_that_a_slice_lacks_has_no_count_and_a_zero_vector_there():
    rows = small.documents(count=60)
    for row in rows:
        if row["party"] == "R":
            row["text"] = [word for word in row["text"] if word != "4"]
    found = baselines.independent(model(), small.corpus(rows), **OPTIONS | {"epochs": 2})
    assert found.count("4", party="R") == 0 < found.count("4", party="D")
    assert not found.vector("4", party="R").any()
    assert found.vector("4", party="D").any()


def test_slices_may_be_of_another_column_or_of_several(speeches):
    corpus = small.corpus(speeches)
    by_year = baselines.independent(model(), corpus, column="year", **OPTIONS | {"epochs": 1})
    assert (by_year.columns, by_year.values("year")) == (("year",), list(small.YEARS))
    both = baselines.compass(model(vary=["party", "year"]), corpus, **OPTIONS | {"epochs": 1})
    assert len(both.slices) == 6
    assert both.count("0", party="D", year="2000") > 0


def test_the_compass_holds_the_contexts_of_the_whole_text(speeches):
    found = baselines.compass(model(), small.corpus(speeches), **OPTIONS)
    alone = replace(model(), vary=(), prior=lx.Ridge(1.0))
    whole = lx.fit(alone, small.corpus(speeches), **OPTIONS)
    np.testing.assert_array_equal(found.contexts(), whole.contexts())


def test_an_anchor_on_contexts_is_what_holds_the_compass(speeches):
    corpus = small.corpus(speeches)
    found = baselines.compass(model(), corpus, **OPTIONS)
    anchor = lx.Anchor(dict(zip(found.words(), found.contexts())), 1e6, on="contexts")
    held = lx.fit(model(prior=lx.Ridge(1.0) + anchor), corpus, **OPTIONS)
    np.testing.assert_allclose(held.contexts(), found.contexts(), atol=0.005)
    np.testing.assert_array_equal(held.matrix(party="D"), found.matrix(party="D"))
    assert np.abs(found.contexts()).max() > 0.5


@pytest.mark.parametrize("method", [baselines.independent, baselines.compass])
def test_slices_that_cannot_be_compared_say_why(speeches, method, tmp_path):
    corpus = small.corpus(speeches)
    tokens = lx.Tokens.of(corpus, min_count=1, quiet=True)
    for choices, options, said in [
        ({"vary": [], "prior": lx.Ridge(1.0)}, {}, 'column="party"'),
        ({}, {"column": "chamber"}, 'no column "chamber"'),
        ({"prior": lx.Groups("party", 1.0)}, {}, r"add lx\.Ridge"),
        ({}, {"checkpoint": tmp_path}, "checkpoint"),
        ({}, {"training": lx.Training(checkpoint=tmp_path)}, "checkpoint"),
        ({}, {"min_count": 2}, "min_count were chosen"),
        ({}, {"sg": 1}, "fit has no sg="),
    ]:
        with pytest.raises(lx.InputError, match=said):
            method(model(**choices), tokens, **{"quiet": True} | options)
    with pytest.raises(lx.InputError, match="one slice only"):
        method(model(), corpus.where(party="D"), **OPTIONS)


def test_independent_slices_that_cannot_be_aligned_say_why(speeches):
    corpus = small.corpus(speeches)
    for wanted in ("X", {"party": "D", "year": "2000"}, {"year": "2000"}):
        with pytest.raises(lx.InputError, match="align_to="):
            baselines.independent(model(), corpus, align_to=wanted, **OPTIONS)
    with pytest.raises(lx.InputError, match=r"share 18 words, which do not fix a rotation of 20 dimensions"):
        baselines.independent(model(dimensions=20), corpus, **OPTIONS)
    bilingual = small.corpus(small.documents(count=40, languages=("en", "it")))
    with pytest.raises(lx.InputError, match="2 languages"):
        baselines.independent(model(), bilingual, **OPTIONS)
    single = [{**row, "text": row["text"] if row["party"] == "D" else row["text"][:1]} for row in speeches]
    with pytest.raises(lx.InputError, match="party=R: no document has two words"):
        baselines.independent(model(dimensions=2), small.corpus(single), **OPTIONS)
