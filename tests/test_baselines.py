"""What PELP is compared with: closed forms are exact, retrofitting is the fixed point."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given, settings
from hypothesis import strategies as st
from invented import made, normal, rotation

import laplex as lx
from laplex import baselines
from laplex.text.slices import Slices

few = settings(max_examples=25)
seeds = st.integers(0, 10_000)


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
    turn = rotation(seed, dimensions)
    source = made(target @ turn, contexts=normal(1, 40, dimensions))
    aligned = baselines.align(source, made(target))
    np.testing.assert_allclose(aligned.matrix(), target, atol=1e-5)
    np.testing.assert_allclose(aligned.contexts(), source.contexts() @ turn.T, atol=1e-5)


def test_one_rotation_serves_all_slices_so_that_nothing_changes_among_them():
    keys, columns = (("D",), ("R",)), ("party",)
    stack = normal(0, 2, 30, 4)
    source = made(stack @ rotation(1, 4), keys=keys, columns=columns)
    noisy = made((stack + 0.1 * normal(2, 2, 30, 4))[::-1], keys=keys[::-1], columns=columns)
    aligned = baselines.align(source, noisy)
    before = source.matrix(at={"party": "D"}) @ source.matrix(at={"party": "R"}).T
    np.testing.assert_allclose(
        aligned.matrix(at={"party": "D"}) @ aligned.matrix(at={"party": "R"}).T, before, atol=1e-4
    )
    np.testing.assert_allclose(aligned.matrix(at={"party": "D"}), stack[0], atol=0.5)
    x = np.concatenate([source.matrix(at={"party": party}) for party in "DR"]).astype(float)
    z = np.concatenate([noisy.matrix(at={"party": party}) for party in "DR"]).astype(float)
    expected = x @ scipy.linalg.orthogonal_procrustes(x, z)[0]
    np.testing.assert_allclose(np.concatenate([aligned.matrix(at={"party": p}) for p in "DR"]), expected, atol=1e-5)


def test_slices_can_be_laid_upon_vectors_without_slices():
    target = normal(0, 30, 4)
    turn = rotation(3, 4)
    source = made(np.stack([target @ turn, target @ turn]), keys=(("D",), ("R",)), columns=("party",))
    np.testing.assert_allclose(baselines.align(source, made(target)).matrix(at={"party": "R"}), target, atol=1e-5)


def test_words_chosen_for_alignment_are_the_only_ones_that_count():
    target, turn = normal(0, 30, 4), rotation(3, 4)
    vectors = target @ turn
    vectors[10:] = normal(5, 20, 4)  # these have changed their meaning
    stable = [str(i) for i in range(10)]
    aligned = baselines.align(made(vectors), made(target), words=[*stable, "unknown"])
    np.testing.assert_allclose(aligned.matrix()[:10], target[:10], atol=1e-5)
    everything = baselines.align(made(vectors), made(target))
    assert np.abs(everything.matrix()[:10] - target[:10]).max() > 0.01


def test_words_without_a_vector_do_not_count():
    target, turn = normal(0, 30, 4), rotation(3, 4)
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
    part = baselines.only(whole, at={"party": "R"})
    np.testing.assert_array_equal(part.matrix(), whole.matrix(at={"party": "R"}))
    np.testing.assert_array_equal(part.contexts(), whole.contexts())
    assert (part.columns, part.count("3")) == ((), 1)
    with pytest.raises(lx.InputError, match="say which slice"):
        baselines.only(whole)


def test_one_slice_keeps_its_deviations():
    deviations = np.random.default_rng(0).uniform(0.1, 2.0, (90, 4)).astype(np.float32)
    words = lx.Vocabulary([str(i) for i in range(30)], np.ones(30, np.int64))
    slices = Slices(("party",), (("D",), ("R",)), np.empty(0, np.int32))
    counts, vectors, contexts = [np.ones((2, 30), np.int64)], [normal(0, 2, 30, 4)], [normal(1, 30, 4)]
    both = lx.Embeddings.of([words], vectors, slices=slices, counts=counts, contexts=contexts, spread=deviations)
    taken = baselines.only(both, at={"party": "R"})
    np.testing.assert_array_equal(taken.deviation("7"), both.deviation("7", at={"party": "R"}))
    np.testing.assert_array_equal(taken.spread, deviations[30:])


# Maps between languages


@few
@given(seeds, st.integers(2, 12))
def test_translations_of_a_rotated_language_are_found_exactly(seed, dimensions):
    target = normal(seed, 60, dimensions)
    source = target @ rotation(seed, dimensions)
    both = baselines.orthogonal_mapping(italian(source), english(target), pairs(20))
    assert both.languages == ["it", "en"]
    np.testing.assert_allclose(both.matrix("it"), target, atol=1e-5)
    np.testing.assert_array_equal(both.matrix("en"), target.astype(np.float32))


@pytest.mark.parametrize("choices", [{}, {"center": True}, {"normalize": True}, {"center": True, "normalize": True}])
def test_the_orthogonal_map_does_not_depend_on_how_the_source_is_rotated(choices):
    source, target = normal(0, 60, 5), normal(1, 60, 5)
    straight = baselines.orthogonal_mapping(italian(source), english(target), pairs(30), **choices)
    rotated = baselines.orthogonal_mapping(italian(source @ rotation(7, 5)), english(target), pairs(30), **choices)
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
        assert np.sum((source[:30] @ rotation(seed, 3) - target[:30]) ** 2) >= best - 1e-4


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
    both = baselines.orthogonal_mapping(italian(target @ rotation(0, 5)), english(target), pairs(30))
    both.save(tmp_path / "both")
    loaded = lx.load(tmp_path / "both")
    np.testing.assert_array_equal(loaded.matrix("it"), both.matrix("it"))
    assert loaded.settings["baseline"]["pairs"] == 30
    assert loaded.count("it3", language="it") == 1


def test_lists_of_which_few_words_are_known_are_said(capsys):
    source, target = italian(normal(0, 60, 5)), english(normal(1, 60, 5))
    unknown = [(f"Cane{k}", f"Dog{k}") for k in range(7)]
    said = "have both words in the vocabulary{}; not in it are Cane0, Dog0, Cane1, Dog1, Cane2, Dog2 and 8 more"
    capitals = [(one.upper(), two.title()) for one, two in pairs(6)]
    baselines.orthogonal_mapping(source, target, [(two, one) for one, two in unknown + capitals])
    assert (
        "6 of 13 pairs of the list of pairs "
        + said.format(" (en – it)").replace(
            "Cane0, Dog0, Cane1, Dog1, Cane2, Dog2", "Dog0, Cane0, Dog1, Cane1, Dog2, Cane2"
        )
        in capsys.readouterr().err
    )
    baselines.retrofit(source, [("IT1", "it2"), *unknown], quiet=False)
    assert "1 of 8 pairs of the list of pairs " + said.format("") in capsys.readouterr().err
    baselines.orthogonal_mapping(source, target, unknown[:6] + capitals)
    assert "pairs" not in capsys.readouterr().err


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
        alone = baselines.retrofit(baselines.only(whole, at={"party": party}), [("3", "4"), ("4", "5")])
        np.testing.assert_allclose(found.matrix(at={"party": party}), alone.matrix(), atol=1e-6)
        same = (found.matrix(at={"party": party}) == whole.matrix(at={"party": party})).all(1)
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
