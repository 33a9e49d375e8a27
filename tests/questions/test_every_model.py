"""Every question is answered by every shape of model: tied, saved, with missing slices, with words that are absent."""

from __future__ import annotations

import numpy as np
import pandas as pd
import planted
import pytest
import small

import laplex as lx

WORDS = ["0", "1"]


def fit(prior, vary=("party", "year"), documents=None, **options):
    corpus = small.corpus(small.documents() if documents is None else documents)
    model = lx.Model(vary=vary, prior=prior, dimensions=4, window=2, subsample=0.0)
    return lx.fit(model, corpus, min_count=1, epochs=2, threads=1, holdout=0, quiet=True, **options)


def missing_cells():
    kept = [text for text in small.documents() if (text["party"], text["year"]) != ("R", "2001")]
    return fit(lx.Ridge(1.0) + lx.Groups("party", 3.0) + lx.Chain("year", 3.0), documents=kept)


def absent_words():
    texts = small.documents()
    texts = [text | {"text": [w for w in text["text"] if w != "1"]} if text["party"] == "R" else text for text in texts]
    return fit(lx.Ridge(1.0) + lx.Groups("party", 3.0), documents=texts)


def no_slices():
    return fit(lx.Ridge(1.0), vary=())


MODELS = {
    "no slices": no_slices,
    "one column": lambda: fit(lx.Ridge(1.0) + lx.Groups("party", 3.0), vary=["party"]),
    "time alone": lambda: fit(lx.Ridge(1.0) + lx.Chain("year", 3.0), vary=["year"]),
    "missing cells": missing_cells,
    "absent words": absent_words,
    "tied parties": lambda: fit(lx.Ridge(1.0) + lx.Groups("party", np.inf)),
    "tied words": lambda: fit(lx.Ridge(1.0) + lx.Pairs([("2", "5"), ("0", "4")], np.inf)),
}


@pytest.fixture(scope="module", params=MODELS)
def fitted(request, shared_cache):
    return MODELS[request.param]()


def answers(made):
    """Every question that can be asked of these vectors."""
    yield made.neighbors(WORDS[0], 5)
    yield made.neighbors(WORDS, 99, by="both")
    yield made.neighbors("0", 3, by="contexts")
    yield made.similarity("0", "1")
    yield made.project("3", axis=("0", ["1", "2"]))
    for column in made.columns:
        yield made.contrast(column, top=4)
        yield made.contrast(column, words=WORDS, each=True, measure="cosine")
    if made.columns == ("party", "year"):
        yield made.distance(WORDS, across="party", along="year")
        yield made.distance(WORDS, across="year")
    if "year" in made.columns:
        yield made.drift("year", top=4)
        yield made.drift("year", words=WORDS, steps=True)
        yield made.trajectory("0", to=WORDS)


def test_every_answer_is_a_table_without_gaps(fitted):
    for answer in answers(fitted):
        assert len(answer)
        assert not answer.isna().to_numpy().any()
        assert isinstance(answer.index, pd.RangeIndex)
        assert {"word"} <= set(answer.columns)
        assert any(name.startswith(("count", "uses")) for name in answer.columns)
    plain = {column: fitted.values(column)[0] for column in fitted.columns}
    assert len(fitted.at(plain).most_similar("0", topn=3)) == 3
    for column in fitted.columns:
        others = {name: value for name, value in plain.items() if name != column}
        assert np.isfinite(fitted.group_mean("0", column, at=others)).all()


def test_answers_are_the_same_after_saving_and_loading(fitted, tmp_path):
    fitted.save(tmp_path / "saved")
    loaded = lx.load(tmp_path / "saved")
    assert not loaded.theta.flags.writeable
    for one, two in zip(answers(fitted), answers(loaded), strict=True):
        pd.testing.assert_frame_equal(one, two)


def test_tied_rows_answer_as_if_each_had_its_own_vector(fitted):
    """The same vectors, one for each row."""
    every = fitted.theta[fitted.slot]
    free = lx.Embeddings(
        fitted.rows,
        every,
        np.arange(len(every), dtype=np.int32),
        fitted.counts,
        lx.Graph.of(len(every)),
        fitted.settings,
        [],
    )
    for one, two in zip(answers(fitted), answers(free), strict=True):
        pd.testing.assert_frame_equal(one, two)


def test_asking_changes_nothing(fitted):
    before = fitted.theta.copy(), fitted.slot.copy(), [counts.copy() for counts in fitted.counts]
    list(answers(fitted))
    np.testing.assert_array_equal(fitted.theta, before[0])
    np.testing.assert_array_equal(fitted.slot, before[1])
    for counts, old in zip(fitted.counts, before[2], strict=True):
        np.testing.assert_array_equal(counts, old)


def test_tied_parties_do_not_differ(tmp_path):
    tied = MODELS["tied parties"]()
    assert len(tied.theta) < len(tied.slot)
    assert tied.contrast("party", top=99)["distance"].max() == 0
    assert (tied.distance(WORDS, "party", "year")["distance"] == 0).all()


def test_absent_words_have_a_count_of_zero_and_are_not_ranked():
    made = absent_words()
    assert np.isfinite(made.vector("1", at={"party": "R", "year": "2000"})).all()  # the prior gives it a vector
    assert made.count("1", at={"party": "R"}) == 0
    for ask in (made.neighbors, lambda word, **where: made.similarity(word, "0", **where)):
        with pytest.raises(lx.InputError, match="1 has no use in R, 2000"):
            ask("1", at={"party": "R"})
        assert set(ask("1")["party"]) == {"D"}
    assert "1" not in set(made.contrast("party", top=99)["word"])
    assert made.contrast("party", words="1")["count_two"].tolist() == [0]


def test_missing_slices_are_not_in_the_answers():
    made = missing_cells()
    found = made.neighbors("0", 1)
    assert ("R", "2001") not in set(zip(found["party"], found["year"]))
    assert len(found) == 5
    assert made.distance("0", "party", "year")["year"].tolist() == ["2000", "2003"]
    with pytest.raises(lx.InputError, match="there is no slice"):
        made.neighbors("0", at={"party": "R", "year": "2001"})


def test_two_languages_tied_by_translations(tmp_path):
    texts = small.documents(count=80, languages=("x", "y"))
    pairs = [(f"x{i}", f"y{i}") for i in (0, 4, 7, 9)]
    prior = lx.Ridge(1.0) + lx.Groups("party", 3.0) + lx.Translations(pairs, np.inf)
    made = fit(prior, documents=texts)
    made.save(tmp_path / "saved")
    for model in (made, lx.load(tmp_path / "saved")):
        found = model.neighbors("x4", 1, language="x", to_language="y", min_uses=0)
        assert set(found["neighbor"]) == {"y4"}
        np.testing.assert_allclose(found["similarity"], 1, atol=1e-6)
        assert len(found) == 6
        assert "y4" not in set(model.neighbors("y4", 99, language="y")["neighbor"])
        for ask in (
            lambda m: m.contrast("party", language="y"),
            lambda m: m.distance("y4", "party", "year", language="y"),
            lambda m: m.drift("year", language="y"),
            lambda m: m.trajectory("y4", language="y"),
            lambda m: m.project("y4", ("y1", "y2"), language="y"),
            lambda m: m.similarity("y4", "y5", language="y"),
        ):
            answer = ask(model)
            assert len(answer)
            assert answer["word"].str.startswith("y").all()
        both = model.similarity("y4", "x4", language="y", to_language="x")
        np.testing.assert_allclose(both["similarity"], 1, atol=1e-6)
        np.testing.assert_array_equal(
            model.at({"party": "D", "year": "2000"}, "y")["y4"], model.at({"party": "D", "year": "2000"}, "x")["x4"]
        )


def test_vectors_in_a_row_are_not_copied():
    made = planted.plant().embeddings
    assert np.shares_memory(made.block(0, 3), made.theta)
    assert np.shares_memory(made.contexts(), made.theta)
    scattered = lx.Embeddings(made.rows, made.theta, made.slot[::-1].copy(), made.counts, made.graph, {}, [])
    assert not np.shares_memory(scattered.block(0, 3), made.theta)
    np.testing.assert_array_equal(scattered.block(0, 3), made.theta[scattered.slots(0, 3)])
