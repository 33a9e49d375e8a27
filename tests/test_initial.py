"""Fits that start from vectors of other tools, or of another model, and anchors to them."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import small
from interruption import stopped_after

import laplex as lx
from laplex.engines.state import INITIAL_ACCUMULATOR, State
from laplex.fitting.initial import CONTEXT_LENGTH, FIRST_STEP, LENGTH, InitialVectors
from laplex.model.pretrained import Pretrained, mean_over_slices

WORDS = [str(k) for k in range(18)]


def topical(dimensions=6, seed=0):
    """Vectors by which words of one topic are alike, as they are in the small documents."""
    random = np.random.default_rng(seed)
    return np.eye(3)[np.arange(18) % 3] @ random.standard_normal((3, dimensions)) + 0.1 * random.standard_normal(
        (18, dimensions)
    )


def given(dimensions=6):
    return dict(zip(WORDS, topical(dimensions), strict=True))


def fit(start=None, prior=None, vary=(), rows=None, **options):
    options = {"min_count": 1, "epochs": 2, "threads": 1, "tests": False, "quiet": True, "holdout": 0.1} | options
    dimensions = options.pop("dimensions", 6)
    model = lx.Model(vary, prior or lx.Ridge(1.0), dimensions=dimensions, window=3, subsample=0.0)
    return lx.fit(model, small.corpus(rows or small.documents(count=40)), start=start, **options)


def initial(source, dimensions=6, vocabulary=None):
    vocabulary = vocabulary or small.layout(small.documents()).vocabularies[0]
    return InitialVectors.of(source, [vocabulary], dimensions, quiet=True)


def topic_margin(fitted):
    """By how much words of a topic are more alike than others."""
    unit = fitted.matrix() / np.linalg.norm(fitted.matrix(), axis=1, keepdims=True)
    topic = np.array([int(word) % 3 for word in fitted.words()])
    same = topic[:, None] == topic
    cosine = unit @ unit.T
    return cosine[same & ~np.eye(len(topic), dtype=bool)].mean() - cosine[~same].mean()


# Where vectors come from


@pytest.mark.parametrize("kind", ["text", "binary", "glove", "keyed", "dict", "embeddings", "folder"])
def test_all_sources_give_the_same_start(tmp_path, kind):
    matrix = topical().astype(np.float32)
    source = given()
    if kind in ("text", "binary"):
        source = tmp_path / "vectors.vec"
        lx.word2vec.write(source, WORDS, matrix, binary=kind == "binary", quiet=True)
    elif kind == "glove":  # has no header
        source = tmp_path / "glove.txt"
        source.write_text("".join(f"{w} {' '.join(map(str, v))}\n" for w, v in zip(WORDS, matrix.tolist())))
    elif kind == "keyed":
        source = SimpleNamespace(index_to_key=WORDS, vectors=matrix)
    elif kind in ("embeddings", "folder"):
        source = lx.Embeddings.of([lx.Vocabulary(WORDS, np.arange(18, 0, -1))], [matrix])
        if kind == "folder":
            source.save(tmp_path / "model")
            source = tmp_path / "model"
    np.testing.assert_allclose(initial(source).vectors, initial(given()).vectors, atol=1e-5)
    anchored = lx.Anchor(source, 2.0).graph(small.layout(small.documents()))
    expected = lx.Anchor(given(), 2.0).graph(small.layout(small.documents()))
    np.testing.assert_allclose(anchored.targets, expected.targets, atol=1e-6)


def test_vectors_of_other_tools_are_centered_and_brought_to_one_length():
    shifted = {word: 40.0 * vector + 7.0 for word, vector in given().items()}
    one, two = initial(given()), initial(shifted)
    np.testing.assert_allclose(one.vectors, two.vectors, atol=1e-5)
    words, contexts = np.split(one.vectors.astype(np.float64), 2)
    assert np.sqrt((words**2).sum(1).mean()) == pytest.approx(LENGTH)
    np.testing.assert_allclose(contexts, CONTEXT_LENGTH * words, atol=1e-6)
    np.testing.assert_allclose(words.mean(0), 0.0, atol=1e-6)


def test_a_model_gives_its_own_contexts_and_the_mean_of_its_slices():
    rows = small.documents(count=60)
    other = fit(vary=["party"], prior=lx.Ridge(1.0) + lx.Groups("party", 5.0), rows=rows)
    start = initial(other, vocabulary=other.rows.vocabularies[0])
    share = other.counts[0] / other.counts[0].sum(0)
    mean = sum(share[slice, :, None] * other.block(0, slice) for slice in (0, 1))
    np.testing.assert_allclose(start.vectors[:18], mean, atol=1e-5)
    np.testing.assert_array_equal(start.vectors[18:], other.contexts())
    contexts = lx.Anchor(other, 1.0, on="contexts").graph(other.rows)
    np.testing.assert_array_equal(contexts.targets.astype(np.float32), other.contexts())


def test_absent_words_have_no_part_in_the_mean_of_slices():
    rows = small.documents(count=60)
    for row in rows:
        row["text"] = [word for word in row["text"] if row["party"] == "D" or word != "5"]
    model = lx.Model(["party"], lx.Ridge(1.0) + lx.Groups("party", 5.0), dimensions=4, absent="filled")
    other = lx.fit(model, small.corpus(rows), min_count=1, epochs=1, threads=1, tests=False, quiet=True)
    word = other.rows.vocabularies[0]["5"]
    np.testing.assert_allclose(mean_over_slices(other, 0)[word], other.vector("5", at={"party": "D"}), atol=1e-6)


# What a start does


@pytest.mark.parametrize("engine", ["cpu", "torch"])
def test_little_text_keeps_what_the_start_knows(engine):
    if engine == "torch":
        pytest.importorskip("torch")
    options = {"epochs": 1, "engine": engine, "rows": small.documents(count=6, length=6), "holdout": 0.0}
    assert topic_margin(fit(given(), **options)) > topic_margin(fit(**options)) + 0.3


def test_the_first_steps_of_known_vectors_are_short():
    problem = small.problem(small.documents(), lx.Ridge(1.0), dimensions=6)
    state = State.initial(problem, 1)
    some = {word: vector for word, vector in given().items() if word != "3"}
    rate = 0.13
    initial(some).begin(state, problem, rate)
    unknown = small.layout(small.documents()).vocabularies[0]["3"]
    known = np.setdiff1d(np.arange(36), [unknown, 18 + unknown])
    np.testing.assert_allclose(rate / np.sqrt(state.accumulator[known]), FIRST_STEP, rtol=1e-3)
    np.testing.assert_array_equal(state.accumulator[[unknown, 18 + unknown]], np.float32(INITIAL_ACCUMULATOR))
    np.testing.assert_array_equal(state.theta[unknown], State.initial(problem, 1).theta[unknown])


def test_epochs_without_slices_begin_there_and_tests_take_them():
    options = {"epochs": 5, "vary": ["party"], "prior": lx.Ridge(1.0) + lx.Groups("party", 30.0)}
    started, random = fit(given(), **options), fit(**options)
    assert started.pooled.tobytes() != random.pooled.tobytes()
    permuted = [row | {"party": "D" if number % 3 else "R"} for number, row in enumerate(small.documents(count=40))]
    assert fit(given(), rows=permuted, **options).pooled.tobytes() == started.pooled.tobytes()


@pytest.mark.parametrize("dimensions", [4, 9])
def test_dimensions_may_differ_and_this_is_said(dimensions, capfd):
    options = {"dimensions": dimensions, "quiet": False, "holdout": 0.0}
    fitted = fit(given(), rows=small.documents(count=6, length=6), epochs=1, **options)
    said = " ".join(capfd.readouterr().err.split())
    assert "starts from the 18 given vectors: " in said
    assert " words are known (100% of the tokens)" in said
    assert ("6 dimensions projected to 4, which keeps" if dimensions == 4 else "6 of 9 dimensions") in said
    assert topic_margin(fitted) > 0.3
    assert fitted.settings["start"]["dimensions"] == 6
    if dimensions == 9:  # the other dimensions are learned, which they would not be from zeros
        assert (np.abs(fitted.matrix()[:, 6:]).max(0) > 1e-3).all()


def test_a_projection_keeps_products_as_well_as_a_matrix_of_its_rank_can():
    words, contexts = np.split(initial(given(), 3).vectors, 2)
    full = np.split(initial(given(), 6).vectors, 2)[0].astype(np.float64)
    rank = np.linalg.svd(full)[1]
    lost = np.linalg.norm(full @ full.T - words.astype(np.float64) @ words.T)
    assert lost == pytest.approx(np.linalg.norm(rank[3:] ** 2), rel=1e-3)
    np.testing.assert_allclose(contexts, CONTEXT_LENGTH * words, atol=1e-5)


@pytest.mark.parametrize("dimensions", [4, 9])
def test_anchors_of_other_dimensions_are_projected_alike(dimensions):
    rows = small.documents()
    both = lx.Anchor(given(), 2.0) + lx.Anchor(given(), 3.0, on="contexts")
    problem = small.problem(rows, lx.Ridge(1.0) + both, dimensions=dimensions)
    one, two = np.split(problem.graph.targets, 2)
    assert one.shape == (18, dimensions)
    np.testing.assert_array_equal(one, two)
    known = topical()[[int(word) for word in small.layout(rows).vocabularies[0]]]
    share = np.linalg.norm(one) / np.linalg.norm(known)
    assert share == pytest.approx(1.0) if dimensions == 9 else 0.9 < share < 1.0


# Going on


def test_a_checkpoint_belongs_to_a_start(tmp_path):
    whole = fit(given(), epochs=3)
    with stopped_after(1):
        fit(given(), epochs=3, checkpoint=tmp_path / "run")
    resumed = fit(given(), epochs=3, checkpoint=tmp_path / "run")
    assert resumed.theta.tobytes() == whole.theta.tobytes()
    for other in (None, {word: vector[::-1] for word, vector in given().items()}):
        with pytest.raises(lx.InputError, match="checkpoint of another model"):
            fit(other, epochs=3, checkpoint=tmp_path / "run")


def test_a_start_is_kept_in_the_settings(tmp_path):
    fit(given()).save(tmp_path / "model")
    start = lx.load(tmp_path / "model").settings["start"]
    assert (start["words"], start["of"], start["name"]) == (18, 18, "the 18 given vectors")


# Languages


def test_a_start_of_one_language_of_two():
    rows = small.documents(count=40, languages=("x", "y"))
    vectors = [f"x{k}" for k in range(18)], topical()
    named = lx.Embeddings.of([lx.Vocabulary(vectors[0], np.ones(18, np.int64), "x")], [vectors[1]])
    fitted = fit(named, rows=rows)
    assert fitted.settings["start"]["words"] == 18
    assert fitted.settings["start"]["of"] == 36
    with pytest.raises(lx.InputError, match=r"several languages .x, y.*language="):
        fit(given(), rows=rows)


# Bad input


def test_a_start_without_common_words_is_refused():
    with pytest.raises(
        lx.InputError, match=r"none of the 18 words of the vocabulary has a vector in the 1 given.*language"
    ):
        fit({"cane": np.ones(6)})
    with pytest.raises(lx.InputError, match=r"none of the 18 words.*language"):
        fit(prior=lx.Ridge(1.0) + lx.Anchor({"cane": np.ones(6)}))


def test_few_common_words_are_said_to_be_of_another_language(capfd):
    few = {word: vector for word, vector in given().items() if int(word) < 5}
    fit(few, quiet=False)
    said = " ".join(capfd.readouterr().err.split())
    assert "5 of 18 words are known" in said
    assert "that is only 28%, as with vectors of another language" in said
    fit(prior=lx.Ridge(1.0) + lx.Anchor(few), quiet=False)
    assert "only 28%, as with vectors of another language" in " ".join(capfd.readouterr().err.split())


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (3, "int has no vectors of words"),
        ({"0": np.ones(6), "1": np.ones(5)}, "not all of one length"),
        ({"0": np.full(6, np.nan)}, "not finite"),
    ],
)
def test_a_start_that_is_none(source, message):
    with pytest.raises(lx.InputError, match=message):
        fit(source)


def test_the_exact_engine_takes_no_start():
    with pytest.raises(lx.InputError, match="finds the maximum wherever it starts"):
        fit(given(), engine="reference")


def test_a_folder_that_is_no_model(tmp_path):
    (tmp_path / "folder").mkdir()
    with pytest.raises(lx.StorageError, match="folder"):
        fit(tmp_path / "folder")
    with pytest.raises(lx.InputError, match=r"vectors\.txt"):
        Pretrained.of(tmp_path / "vectors.txt")


def test_a_corpus_of_two_hundred_words(capfd):
    """Little text is no error: what is left out and not tested is said, and the vectors are there."""
    sentence = "the house sat in peace and the senate sat in war while the people of the house spoke of peace"
    corpus = lx.read([{"text": sentence, "party": "DR"[i % 2]} for i in range(10)], metadata=["party"])
    model = lx.Model(["party"], lx.Ridge(1.0) + lx.Groups("party", 100.0), dimensions=10)
    fitted = lx.fit(model, corpus, threads=1)
    assert "200 tokens of 12 words" in " ".join(capfd.readouterr().err.split())
    assert fitted.contrast("party", test=False)["distance"].notna().all()
    with pytest.raises(lx.InputError, match="no word occurs 100 times: lower min_count"):
        fitted.contrast("party")
