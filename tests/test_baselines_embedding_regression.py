"""Embedding regression: the numbers of a plain computation, noise that is taken out, and p-values that are honest."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pandas as pd
import pytest

import laplex as lx
from laplex.baselines.regression import coefficient_norms, debiased_squares, permutation_p

WINDOW, MIN_COUNT = 2, 20
COLUMNS = ["word", "term", "norm", "estimate", "square", "standard_error", "p", "uses", "units"]


def speeches(count=60):
    """Documents of six speakers, three of each party; a word that only one party has, and a document of one word."""
    random = np.random.default_rng(3)
    rows = []
    for _ in range(count):
        speaker = int(random.integers(6))
        party, chance = "DR"[speaker % 2], 1.0 / (2.0 + (np.arange(14) + speaker) % 14)
        text = [f"w{k}" for k in random.choice(14, int(random.integers(2, 20)), p=chance / chance.sum())]
        rows.append({"text": text + ["left"] * (party == "D"), "party": party, "speaker": f"s{speaker}"})
    rows.append({"text": ["w0"], "party": "D", "speaker": "s0"})
    return rows


@pytest.fixture(scope="module")
def fitted(shared_cache):
    corpus = lx.read(speeches(), metadata=["party", "speaker"])
    model = lx.Model(dimensions=4, window=3, subsample=0.0)
    return lx.fit(model, corpus, min_count=1, epochs=5, threads=1, holdout=0.0, quiet=True)


@pytest.fixture
def x():
    rows = speeches()
    return pd.DataFrame({"R": [row["party"] == "R" for row in rows], "age": [float(row["speaker"][1]) for row in rows]})


def ask(fitted, words, x, **options):
    options = {"window": WINDOW, "min_count": MIN_COUNT, "permutations": 99, "quiet": True} | options
    return lx.baselines.embedding_regression(fitted, words, x, **options)


def contexts(rows, vector):
    """(word, document, mean vector of the words around it) of every occurrence."""
    for m, row in enumerate(rows):
        text = row["text"]
        for i, word in enumerate(text):
            around = [text[j] for j in range(max(0, i - WINDOW), min(len(text), i + WINDOW + 1)) if j != i]
            if around:
                yield word, m, np.mean([vector[other] for other in around], axis=0)


def plain_transformation(found, vector, counts):
    """The weighted least squares of vectors on mean contexts, by its normal equations."""
    left, right = np.zeros((4, 4)), np.zeros((4, 4))
    for word in sorted({word for word, _, _ in found}):
        if counts[word] >= MIN_COUNT:
            mean = np.mean([context for other, _, context in found if other == word], axis=0)
            left += np.log(counts[word]) * np.outer(mean, mean)
            right += np.log(counts[word]) * np.outer(vector[word], mean)
    return right @ np.linalg.inv(left)


def plain_norms(y, x, unit, weight):
    """Norms, debiased squares and standard errors of coefficients, by fitting again without each unit."""

    def fit(inside):
        design, w = np.column_stack([np.ones(inside.sum()), x[inside]]), weight[inside, None]
        return np.linalg.solve(design.T @ (w * design), design.T @ (w * y[inside]))[1:]

    whole, names = fit(np.ones(len(y), bool)), np.unique(unit)
    without = np.array([fit(unit != name) for name in names])
    share = (len(names) - 1) / len(names)
    noise = share * ((without - without.mean(0)) ** 2).sum((0, 2))
    lengths = (without**2).sum(2)
    error = np.sqrt(share * ((lengths - lengths.mean(0)) ** 2).sum(0))
    return np.linalg.norm(whole, axis=1), (whole**2).sum(1) - noise, error


@pytest.mark.parametrize("unit", ["occurrences", "documents", "speaker"])
def test_the_numbers_are_those_of_a_plain_computation(fitted, x, unit):
    rows = speeches()
    vector = {word: fitted.vector(word).astype(float) for word in fitted.words()}
    found = list(contexts(rows, vector))
    matrix = plain_transformation(found, vector, {word: fitted.count(word) for word in fitted.words()})
    table = ask(fitted, ["w3", "w0"], x, unit=unit, permutations=0)
    assert list(table.columns) == COLUMNS
    assert table["word"].tolist() == ["w3", "w3", "w0", "w0"]
    assert table["term"].tolist() == ["R", "age", "R", "age"]
    assert table["p"].isna().all()
    for word, mine in table.groupby("word"):
        documents = np.array([m for other, m, _ in found if other == word])
        y = np.array([matrix @ context for other, _, context in found if other == word])
        units = {"occurrences": np.arange(len(y)), "documents": documents}
        units["speaker"] = np.array([rows[m]["speaker"] for m in documents])
        weight = np.array([1 / np.sum(units[unit] == name) if unit == "speaker" else 1.0 for name in units[unit]])
        norm, square, error = plain_norms(y, x.to_numpy(float)[documents], units[unit], weight)
        np.testing.assert_allclose(mine["norm"], norm, rtol=1e-4)
        np.testing.assert_allclose(mine["square"], square, rtol=1e-3, atol=1e-5)
        np.testing.assert_allclose(mine["standard_error"], error, rtol=1e-3)
        np.testing.assert_allclose(mine["estimate"], np.sqrt(np.maximum(square, 0)), rtol=1e-3, atol=1e-5)
        assert (mine["uses"] == len(y)).all()
        assert (mine["units"] == len(np.unique(units[unit]))).all()


def test_units_that_count_the_same_are_one_observation_each():
    """With covariates that do not vary within units, these have the coefficients and p of their means."""
    y, x, unit = simulated(np.random.default_rng(8), 0.0)
    mean = np.array([y[unit == u].mean(0) for u in range(40)])
    row = np.array([x[unit == u][0] for u in range(40)])
    np.testing.assert_allclose(coefficient_norms(y, x, unit, even=True), coefficient_norms(mean, row, np.arange(40)))
    p = permutation_p(y, x, unit, 199, [1], even=True)
    assert p == permutation_p(mean, row, np.arange(40), 199, [1])
    assert p != permutation_p(y, x, unit, 199, [1])


@pytest.mark.parametrize("even", [False, True])
def test_p_is_the_share_of_all_permutations_of_whole_rows_between_units(even):
    """Seven clusters of unequal size with two covariates: all 5,040 orders are counted."""
    random = np.random.default_rng(0)
    unit = np.repeat(np.arange(7), [1, 2, 9, 3, 4, 2, 6])
    rows = np.column_stack([np.arange(7) % 2, random.normal(size=7)])
    y = random.normal(size=(len(unit), 3)) + 0.8 * rows[unit][:, :1]

    def squares(order):
        return coefficient_norms(y, rows[list(order)][unit], unit, even=even).square

    every = np.array([squares(order) for order in permutations(range(7))])
    expected = (every >= squares(range(7)) - 1e-9).mean(0)
    p = permutation_p(y, rows[unit], unit, 19_999, [1], even=even)
    np.testing.assert_allclose(p, expected, atol=0.015)
    assert 0.01 < expected.min() < expected.max() < 0.99


@pytest.mark.parametrize("sizes", [[1] * 30, [4] * 12, [1, 2, 9, 3, 4, 2, 6, 40, 1, 1]])
@pytest.mark.parametrize("covariates", [1, 3])
def test_permutations_have_the_noise_taken_out_as_what_is_observed_has(sizes, covariates):
    random = np.random.default_rng(6)
    units, unit = len(sizes), np.repeat(np.arange(len(sizes)), sizes)
    rows = np.column_stack([np.arange(units) % 2, random.normal(size=(units, 2))])[:, :covariates]
    y = random.normal(size=(len(unit), 5)) + random.normal(size=(units, 5))[unit] + rows[unit][:, :1]
    y -= y.mean(0)
    size, sums = np.array(sizes, float), np.array([y[unit == u].sum(0) for u in range(units)], np.float32)
    drawn = np.array([rows[random.permutation(units)] for _ in range(5)])  # (P, U, K)
    total, gram = np.einsum("u,puk->pk", size, drawn), np.einsum("u,puk,pul->pkl", size, drawn, drawn)
    square, norm = debiased_squares(drawn.transpose(2, 0, 1).astype(np.float32), total, gram, sums, size)
    expected = [coefficient_norms(y, one[unit], unit) for one in drawn]
    np.testing.assert_allclose(norm, [one.norm for one in expected], rtol=1e-5)
    np.testing.assert_allclose(square, [one.square for one in expected], atol=1e-5 * norm.max() ** 2)
    assert (square < 0.99 * norm**2).all()


def test_where_a_value_hangs_on_one_unit_there_is_no_p():
    """Whether β is determined without each unit depends on the rows of x, which permutations leave the same."""
    random = np.random.default_rng(7)
    unit = np.repeat(np.arange(8), random.integers(1, 6, 8))
    rows = np.eye(3)[[0, 0, 0, 0, 1, 1, 2, 2]][:, 1:]
    y = random.normal(size=(len(unit), 3))
    assert np.isfinite(permutation_p(y, rows[unit], unit, 99, [1])).all()
    alone = (np.arange(8) == 3).astype(float)[unit][:, None]
    assert np.isnan(coefficient_norms(y, alone, unit).square).all()
    assert np.isnan(permutation_p(y, alone, unit, 99, [1])).all()


def simulated(random, shift, between=0.0, clusters=40, dimensions=20):
    """Embeddings of occurrences in clusters of unequal size; the covariate of a cluster moves each by `shift`."""
    unit = np.repeat(np.arange(clusters), random.integers(1, 12, clusters))
    x = (np.arange(clusters) % 2).astype(float)[unit][:, None]
    y = random.normal(size=(len(unit), dimensions)) + between * random.normal(size=(clusters, dimensions))[unit]
    return y + shift * x / np.sqrt(dimensions), x, unit


@pytest.mark.parametrize("shift", [0.0, 1.5])
def test_the_noise_of_the_square_is_taken_out(shift):
    random = np.random.default_rng(1)
    samples = [simulated(random, shift, between=0.5) for _ in range(200)]
    found = [coefficient_norms(*sample) for sample in samples]
    square, plain = (np.array([getattr(one, name)[0] for one in found]) for name in ("square", "norm"))
    allowed = 4 * square.std() / np.sqrt(len(square))
    assert abs(square.mean() - shift**2) < allowed
    assert (plain**2).mean() > shift**2 + 3 * allowed
    single = [coefficient_norms(y, x, np.arange(len(y))).square[0] for y, x, _ in samples]
    assert np.mean(single) > shift**2 + allowed  # what a cluster has in common is not seen without it
    if shift:
        assert np.mean([one.standard_error[0] for one in found]) == pytest.approx(square.std(), rel=0.3)


def test_a_shift_is_found_and_noise_is_not():
    random = np.random.default_rng(2)
    p = {
        shift: [permutation_p(*simulated(random, shift, between=0.5), 199, [seed])[0] for seed in range(100)]
        for shift in (0.0, 1.5)
    }
    assert np.mean(np.array(p[0.0]) <= 0.1) < 0.2
    assert np.mean(np.array(p[1.5]) <= 0.1) > 0.8


def test_covariates_of_any_scale_give_the_same_p():
    y, x, unit = simulated(np.random.default_rng(4), 0.7)
    moved = 1e6 + 1e-3 * x
    np.testing.assert_allclose(permutation_p(y, moved, unit, 199, [1]), permutation_p(y, x, unit, 199, [1]))
    one, two = coefficient_norms(y, x, unit), coefficient_norms(y, moved, unit)
    np.testing.assert_allclose(1e-3 * two.norm, one.norm, rtol=1e-6)
    np.testing.assert_allclose(1e-6 * two.square, one.square, rtol=1e-6)


@pytest.mark.slow
def test_p_is_uniform_where_labels_are_permuted(shared_cache):
    corpus = lx.demo().where(year=[str(year) for year in range(1940, 2025)])
    model = lx.Model(dimensions=10)
    fitted = lx.fit(model, corpus, min_count=5, epochs=3, threads=1, holdout=0.0, quiet=True)
    documents = len(lx.Tokens.of(corpus, min_count=5, quiet=True).offsets) - 1
    random = np.random.default_rng(5)
    words, p = fitted.words()[50:90], []
    for _ in range(5):
        x = pd.DataFrame({"one": random.permutation(documents) % 2})
        p.append(ask(fitted, words, x, permutations=199, min_count=50)["p"])
    share = np.mean(np.array(p) <= np.array([0.1, 0.25, 0.5, 0.75])[:, None, None], axis=(1, 2))
    np.testing.assert_allclose(share, [0.1, 0.25, 0.5, 0.75], atol=0.12)


def test_results_depend_neither_on_threads_nor_on_other_words(fitted, x):
    several = ask(fitted, ["w1", "w2", "w5"], x, unit="speaker", threads=3)
    alone = ask(fitted, "w5", x, unit="speaker", threads=1)
    pd.testing.assert_frame_equal(several[several["word"] == "w5"].reset_index(drop=True), alone, rtol=1e-5)


def test_words_are_read_in_batches_that_fit_into_memory(fitted, x, monkeypatch):
    whole = ask(fitted, ["w1", "w2", "w5"], x)
    monkeypatch.setattr("laplex.baselines.a_la_carte.BATCH_BYTES", 5000)
    pd.testing.assert_frame_equal(ask(fitted, ["w1", "w2", "w5"], x), whole)


def test_a_word_of_one_party_has_no_coefficient_of_party(fitted, x):
    table = ask(fitted, ["left", "w1"], x[["R"]])
    assert table.loc[0, ["norm", "estimate", "square", "standard_error", "p"]].isna().all()
    assert table.loc[1, ["norm", "estimate", "square", "standard_error", "p"]].notna().all()
    assert table["uses"].tolist()[0] == fitted.count("left")


def test_a_coefficient_that_hangs_on_one_unit_has_no_jackknife(fitted, x):
    only = pd.DataFrame({"first": np.arange(len(x)) == 0})
    word = speeches()[0]["text"][0]
    row = ask(fitted, word, only).iloc[0]
    assert row["norm"] > 0
    assert row[["estimate", "square", "standard_error", "p"]].isna().all()


def test_covariates_may_vary_within_a_column_if_nothing_is_permuted(fitted, x):
    x["late"] = np.arange(len(x)) % 2
    assert ask(fitted, "w1", x, unit="speaker", permutations=0)["square"].notna().all()
    with pytest.raises(lx.InputError, match=r'speaker "s\d".*unit="documents", or permutations=0'):
        ask(fitted, "w1", x, unit="speaker")


def test_bad_input_says_what_is_wrong(fitted, x):
    for words, covariates, options, said in [
        ("nope", x, {}, '"nope" is not in the vocabulary'),
        ([], x, {}, "no words"),
        ("w1", x.to_numpy(), {}, "x=ndarray must be a data frame"),
        ("w1", x[[]], {}, "must be a data frame with columns"),
        ("w1", x.head(5), {}, "x has 5 rows, the text 61 documents"),
        ("w1", x.rename(columns={"age": "R"}), {}, "share a name"),
        ("w1", x.assign(age="old"), {}, r'"age" of x has the type .*get_dummies'),
        ("w1", x.assign(age=np.nan), {}, '"age" of x has values that are missing'),
        ("w1", x.assign(age=3), {}, '"age" of x is 3 in all documents'),
        ("w1", x.assign(D=~x["R"]), {}, "a sum of others"),
        ("w1", x, {"unit": "senator"}, 'no column "senator"'),
        ("w1", x, {"window": 0}, "window=0"),
        ("w1", x, {"permutations": -1}, "permutations=-1"),
        ("w1", x, {"min_count": 10_000}, "lower min_count=10000"),
    ]:
        with pytest.raises(lx.InputError, match=said):
            ask(fitted, words, covariates, **options)


def test_vectors_with_slices_or_without_text_are_refused(fitted, x):
    corpus = lx.read(speeches(), metadata=["party", "speaker"])
    model = lx.Model(vary=["party"], prior=lx.Ridge(1.0) + lx.Groups("party", 10.0), dimensions=4)
    sliced = lx.fit(model, corpus, min_count=1, epochs=1, threads=1, holdout=0.0, quiet=True, tests=False)
    with pytest.raises(lx.InputError, match=r"2 slices.*lx\.inference\.pooled\(fitted\)"):
        ask(sliced, "w1", x)
    assert ask(lx.inference.pooled(sliced, quiet=True), "w1", x)["p"].notna().all()
    elsewhere = lx.Embeddings.of(fitted.rows.vocabularies, [fitted.matrix()])
    with pytest.raises(lx.InputError, match="not fitted here"):
        ask(elsewhere, "w1", x)
