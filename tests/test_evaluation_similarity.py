"""Word similarity: against scipy and gensim, what is counted, and what is wrong with the input."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from gensim.models import KeyedVectors
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

import laplex as lx
from laplex.evaluation.word_similarity import _weighted_spearman, bootstrap_spearman, similarity, spearman
from laplex.model.vectors import Vectors
from laplex.text.slices import Slices

WORDS = [f"w{i}" for i in range(40)]


def vectors(seed=0, words=WORDS, contexts=True, dimensions=6):
    random = np.random.default_rng(seed)
    counts = np.arange(len(words), 0, -1)
    made = random.standard_normal((2, len(words), dimensions))
    return lx.Embeddings.of([lx.Vocabulary(words, counts)], [made[0]], contexts=[made[1]] if contexts else None)


def by_party(seed=0):
    slices = Slices(("party",), (("D",), ("R",)), np.empty(0, np.int32))
    made = np.random.default_rng(seed).standard_normal((2, len(WORDS), 6))
    counts = [np.ones((2, len(WORDS)), np.int64)]
    return lx.Embeddings.of([lx.Vocabulary(WORDS, counts[0].sum(0))], [made], slices=slices, counts=counts)


def rated(count=60, seed=1, words=WORDS):
    random = np.random.default_rng(seed)
    pairs = [random.choice(words, 2, replace=False) for _ in range(count)]
    return [(str(one), str(two), float(random.integers(10))) for one, two in pairs]


def expected(matrix, words, pairs):
    row = {word: vector / np.linalg.norm(vector) for word, vector in zip(words, matrix, strict=True)}
    return spearmanr([row[a] @ row[b] for a, b, _ in pairs], [score for _, _, score in pairs]).statistic


lists = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=2, max_size=30)


@given(lists, st.integers(0, 100))
def test_the_correlation_of_a_resample_is_that_of_its_pairs_written_out(pairs, seed):
    one, two = np.array(pairs, float).T
    drawn = np.random.default_rng(seed).integers(0, len(one), len(one))
    counts = np.bincount(drawn, minlength=len(one)).astype(float)[None]
    a, b = one[drawn], two[drawn]
    constant = len(set(a)) == 1 or len(set(b)) == 1
    whole = np.nan if constant else spearmanr(a, b).statistic
    assert _weighted_spearman(one, two, counts)[0] == pytest.approx(whole, nan_ok=True)


@given(lists)
def test_the_correlation_is_that_of_scipy(pairs):
    one, two = np.array(pairs, float).T
    constant = len(set(one)) == 1 or len(set(two)) == 1
    assert spearman(one, two) == pytest.approx(np.nan if constant else spearmanr(one, two).statistic, nan_ok=True)


def test_too_few_pairs_have_no_correlation():
    assert np.isnan(spearman(np.array([]), np.array([])))
    assert np.isnan(spearman(np.array([1.0]), np.array([2.0])))
    assert np.isnan(bootstrap_spearman(np.array([]), np.array([]), 3, 1)).all()


def test_resamples_vary_as_scipys_do_and_repeat_with_their_seed():
    random = np.random.default_rng(3)
    one = random.standard_normal(80)
    two = np.round(one + random.standard_normal(80))
    ours = bootstrap_spearman(one, two, 4000, 1)
    theirs = [
        spearmanr(one[d], two[d]).statistic for d in (np.random.default_rng(s).integers(0, 80, 80) for s in range(1000))
    ]
    assert np.percentile(ours, [2.5, 50, 97.5]) == pytest.approx(np.percentile(theirs, [2.5, 50, 97.5]), abs=0.02)
    assert (ours == bootstrap_spearman(one, two, 4000, 1)).all()
    assert (ours != bootstrap_spearman(one, two, 4000, 2)).any()


@pytest.mark.parametrize("by", ["words", "contexts", "both"])
def test_the_correlation_is_that_of_cosines_and_scores(by):
    model = vectors()
    words, contexts = model.matrix(), model.contexts()
    matrix = {"words": words, "contexts": contexts, "both": words + contexts}[by]
    frame = similarity(model, {"set": rated()}, by=by)
    assert list(frame.columns) == ["set", "model", "spearman", "lower", "upper", "pairs", "missing"]
    assert list(frame["set"]) == ["set", "mean", "weighted mean"]
    assert frame["spearman"].to_numpy() == pytest.approx([expected(matrix, WORDS, rated())] * 3)
    assert (frame["lower"] < frame["spearman"]).all()
    assert (frame["spearman"] < frame["upper"]).all()


def test_the_correlation_is_that_of_gensim(write):
    model = vectors(dimensions=20)
    theirs = KeyedVectors(20)
    theirs.add_vectors(WORDS, model.matrix())
    pairs = rated() + [("w0", "unknown", 3.0)]
    path = write("set.tsv", "".join(f"{a}\t{b}\t{score}\n" for a, b, score in pairs))
    _, correlation, missing = theirs.evaluate_word_pairs(str(path))
    ours = similarity(model, path, bootstrap=0).iloc[0]
    assert ours["spearman"] == pytest.approx(correlation.statistic, abs=1e-6)
    assert ours["missing"] / (ours["pairs"] + ours["missing"]) == pytest.approx(missing / 100)


def test_plain_vectors_are_enough():
    model = vectors()
    plain = Vectors(model.rows, model.theta, model.slot, model.counts)
    pd.testing.assert_frame_equal(similarity(plain, {"a": rated()}), similarity(model, {"a": rated()}))


def test_means_over_sets_plain_and_by_known_pairs():
    sets = {
        "big": rated(50, 1),
        "small": rated(10, 2),
        "strange": [("x", "y", 1.0)],
        "half": rated(9, 3) + [("x", "w1", 2)],
    }
    frame = similarity(vectors(), sets).set_index("set")
    assert list(frame["pairs"]) == [50, 10, 0, 9, 69, 69]
    assert list(frame["missing"]) == [0, 0, 1, 1, 2, 2]
    assert np.isnan(frame.loc["strange", ["spearman", "lower", "upper"]].to_numpy(float)).all()
    found = frame.loc[["big", "small", "half"], "spearman"]
    assert frame.loc["mean", "spearman"] == pytest.approx(found.mean())
    assert frame.loc["weighted mean", "spearman"] == pytest.approx(np.average(found, weights=[50, 10, 9]))
    assert frame.loc["weighted mean", "upper"] - frame.loc["weighted mean", "lower"] < 0.7


def test_the_interval_of_a_mean_is_narrower_by_the_root_of_the_number_of_sets():
    sets = {f"set {i}": rated(100, i) for i in range(9)}
    frame = similarity(vectors(), sets, bootstrap=3000).set_index("set")
    width = frame["upper"] - frame["lower"]
    assert width["mean"] == pytest.approx(width[:9].mean() / 3, rel=0.1)


def test_the_interval_is_the_middle_of_resamples_and_each_set_has_its_own():
    frame = similarity(vectors(), {"a": rated(), "b": rated()}, bootstrap=4000)
    unit = vectors().matrix() / np.linalg.norm(vectors().matrix(), axis=1, keepdims=True)
    cosine = np.array([unit[WORDS.index(one)] @ unit[WORDS.index(two)] for one, two, _ in rated()])
    score = np.array([pair[2] for pair in rated()])
    drawn = [np.random.default_rng(seed).integers(0, 60, 60) for seed in range(1000)]
    ends = np.percentile([spearmanr(cosine[d], score[d]).statistic for d in drawn], [2.5, 97.5])
    assert frame.loc[0, ["lower", "upper"]].to_numpy(float) == pytest.approx(ends, abs=0.03)
    assert frame["lower"][0] != frame["lower"][1]


def test_an_interval_does_not_depend_on_the_sets_beside_it_and_repeats_with_the_seed():
    model = vectors()
    alone = similarity(model, {"b": rated(30, 2)}).iloc[0]
    beside = similarity(model, {"a": rated(30, 3), "b": rated(30, 2)}).iloc[1]
    assert (alone["lower"], alone["upper"]) == (beside["lower"], beside["upper"])
    other = similarity(model, {"b": rated(30, 2)}, seed=2).iloc[0]
    assert other["spearman"] == alone["spearman"]
    assert other["lower"] != alone["lower"]


def test_there_is_no_interval_without_resamples_or_of_two_pairs():
    frame = similarity(vectors(), {"few": rated(2)}, bootstrap=200)
    assert frame["lower"].isna().all()
    assert abs(frame["spearman"][0]) == 1.0
    frame = similarity(vectors(), {"a": rated()}, bootstrap=0)
    assert frame[["lower", "upper"]].isna().all(axis=None)
    assert frame["spearman"].notna().all()


def test_models_side_by_side_each_with_what_it_knows():
    models = {"whole": vectors(), "half": vectors(0, WORDS[:20])}
    frame = similarity(models, {"a": rated(), "b": rated(60, 5)}).set_index(["set", "model"])
    assert list(frame.index)[:4] == [("a", "whole"), ("a", "half"), ("b", "whole"), ("b", "half")]
    inside = [pair for pair in rated() if {pair[0], pair[1]} <= set(WORDS[:20])]
    assert frame.loc[("a", "half"), "pairs"] == len(inside) < 60
    assert frame.loc[("a", "half"), "spearman"] == pytest.approx(expected(models["half"].matrix(), WORDS[:20], inside))
    shared = similarity(models, {"a": rated()}, shared=True).set_index(["set", "model"])
    assert set(shared["pairs"]) == {len(inside)}
    whole = expected(models["whole"].matrix(), WORDS, inside)
    assert shared.loc[("a", "whole"), "spearman"] == pytest.approx(whole)


def test_pairs_that_the_prior_was_told_are_left_out_in_either_order():
    pairs = rated(30)
    told = [(pairs[0][1], pairs[0][0]), (pairs[1][0], pairs[1][1], -1.0), ("w0", "unknown")]
    keys = {frozenset(pair[:2]) for pair in told}
    kept = [pair for pair in pairs if frozenset(pair[:2]) not in keys]
    model = vectors()
    frame = similarity(model, {"a": [*pairs, ("w1", "unknown", 1)]}, leave_out=told)
    assert frame["spearman"][0] == pytest.approx(expected(model.matrix(), WORDS, kept))
    assert (frame["pairs"][0], frame["missing"][0], frame["left_out"][0]) == (len(kept), 1, 30 - len(kept))
    assert len(kept) <= 28


def test_words_are_looked_up_in_lower_case_if_the_vocabulary_is(capsys):
    pairs = [(a.upper(), b, score) for a, b, score in rated()]
    model = vectors()
    frame = similarity(model, {"a": pairs}, leave_out=[(rated()[0][1], rated()[0][0].upper())])
    assert (frame["missing"][0], frame["left_out"][0]) == (0, 1)
    lowered = len({pair[0] for pair in pairs})
    assert f"{lowered} words with capitals are looked up in lower case" in capsys.readouterr().err
    mixed = vectors(0, [*WORDS[:-1], "Paris"])
    with pytest.raises(lx.InputError, match="knows none of the 60 pairs"):
        similarity(mixed, {"a": pairs})
    similarity(model, {"a": pairs}, quiet=True)
    assert capsys.readouterr().err == ""


def test_slices_are_chosen_and_models_without_them_stand_beside():
    model = by_party()
    frame = similarity({"parties": model, "plain": vectors()}, {"a": rated()}, at={"party": "R"}).set_index(
        ["set", "model"]
    )
    matrix = model.matrix(at={"party": "R"})
    assert frame.loc[("a", "parties"), "spearman"] == pytest.approx(expected(matrix, WORDS, rated()))
    assert frame.loc[("a", "plain"), "spearman"] == pytest.approx(expected(vectors().matrix(), WORDS, rated()))


def test_a_vector_of_zeros_is_like_nothing():
    matrix = np.eye(3)
    matrix[2] = 0
    model = lx.Embeddings.of([lx.Vocabulary(["a", "b", "c"], np.ones(3, np.int64))], [matrix])
    frame = similarity(model, {"x": [("a", "a", 3), ("a", "b", 1), ("a", "c", 1)]}, bootstrap=0)
    assert frame["spearman"][0] == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"by": "word"}, 'by="word": write one of words, contexts, both'),
        ({"bootstrap": -1}, "bootstrap=-1 must be a whole number"),
        ({"bootstrap": 10.5}, "bootstrap=10.5 must be a whole number"),
        ({"language": "fr"}, "language"),
        ({"at": {"year": 2000}}, 'do not vary by "year"; they vary by: party'),
        ({"at": {"party": "X"}}, "X"),
        ({}, 'parties has 2 slices: say which by a value of "party", such as {.party.: .D.}, {.party.: .R.}'),
        ({"at": {"party": "D"}, "by": "contexts"}, "context"),
    ],
)
def test_choices_that_cannot_be_made(options, message):
    with pytest.raises(lx.InputError, match=message):
        similarity({"parties": by_party()}, {"a": rated()}, **options)


def test_models_and_sets_that_cannot_be_used():
    with pytest.raises(lx.InputError, match="no model to evaluate"):
        similarity({}, {"a": rated()})
    with pytest.raises(lx.InputError, match='"x" is no model but int'):
        similarity({"x": 3}, {"a": rated()})
    with pytest.raises(lx.InputError, match=r"model knows none of the 1 pairs of words \(40 words, such as w0, w1"):
        similarity(vectors(), {"a": [("x", "y", 1.0)]})
    with pytest.raises(lx.InputError, match="knows none of the 1 pairs of words once 1 are left out"):
        similarity(vectors(), {"a": [("w1", "w2", 1.0)]}, leave_out=[("w2", "w1")])
    models = {"one": vectors(0, ["a", "b"]), "two": vectors(0, ["c", "d"])}
    with pytest.raises(lx.InputError, match="no pair of words that all of one, two know"):
        similarity(models, {"x": [("a", "b", 1.0), ("c", "d", 1.0)]}, shared=True)
    empty = lx.Embeddings.of([lx.Vocabulary([], np.empty(0, np.int64), "en")], [np.empty((0, 3))])
    with pytest.raises(lx.InputError, match='the language "en" has no words'):
        similarity(empty, {"a": rated()})


def test_the_shipped_set_is_the_default():
    words = ["love", "sex", "tiger", "cat", "book", "paper", "computer", "keyboard", "plane", "car", "train"]
    frame = similarity(vectors(0, words), bootstrap=100)
    assert list(frame["set"]) == ["WordSim-353", "mean", "weighted mean"]
    assert frame["pairs"][0] + frame["missing"][0] == 353
    assert frame["pairs"][0] >= 5
