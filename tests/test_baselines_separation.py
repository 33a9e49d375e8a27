"""A model for each slice, as others do it: the slices end up in one space, and what differs is found."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.linalg
import small

import laplex as lx
from laplex import baselines

OPTIONS = {"min_count": 1, "epochs": 20, "threads": 1, "holdout": 0.0, "quiet": True}


def model(**choices):
    prior = lx.Ridge(1.0) + lx.Groups("party", 30.0)
    given = {"vary": ["party"], "prior": prior, "dimensions": 6, "window": 3, "subsample": 0.0}
    return lx.Model(**(given | choices))


@pytest.fixture(scope="module")
def speeches():
    """The words 0, 1 and 2 change their topics from one party to the other."""
    return small.documents(count=300)


def planted():
    """Documents about one of three topics; the words 27, 28 and 29 change their topics from one party to the other."""
    random = np.random.default_rng(0)
    rows = []
    for m in range(400):
        topic = np.arange(30) % 3
        topic[27:] = (topic[27:] + m % 2) % 3
        chance = np.where(topic == random.integers(3), 8.0, 1.0)
        text = [str(k) for k in random.choice(30, 30, p=chance / chance.sum())]
        rows.append({"text": text, "party": "DR"[m % 2], "year": "2000", "lang": ""})
    return rows


@pytest.mark.slow
@pytest.mark.parametrize("method", [baselines.independent, baselines.compass])
def test_words_that_swap_their_roles_are_found(method):
    found = method(model(), small.corpus(planted()), **OPTIONS)
    assert found.columns == ("party",)
    contrast = found.contrast("party", test=False)
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
        counts = [found.count(word, at={"party": party}) for word in fitted.words()]
        assert counts == [fitted.count(word) for word in fitted.words()]
        ours = np.array([found.vector(word, at={"party": party}) for word in fitted.words()])
        np.testing.assert_allclose(ours @ ours.T, fitted.matrix() @ fitted.matrix().T, atol=1e-3)


def test_the_slice_that_others_are_rotated_onto_is_not_rotated(speeches):
    tokens = lx.Tokens.of(small.corpus(speeches), min_count=1, quiet=True)
    options = {"epochs": 3, "threads": 1, "quiet": True}
    onto_d = baselines.independent(model(), tokens, align_to="D", **options)
    onto_r = baselines.independent(model(), tokens, align_to={"party": "R"}, **options)
    for party in "DR":
        one, two = onto_d.matrix(at={"party": party}), onto_r.matrix(at={"party": party})
        np.testing.assert_allclose(one @ one.T, two @ two.T, atol=1e-4)
    turn = scipy.linalg.orthogonal_procrustes(onto_d.matrix(at={"party": "D"}), onto_r.matrix(at={"party": "D"}))[0]
    np.testing.assert_allclose(onto_d.matrix(at={"party": "R"}) @ turn, onto_r.matrix(at={"party": "R"}), atol=1e-4)
    x, z = onto_r.matrix(at={"party": "D"}).astype(float), onto_r.matrix(at={"party": "R"}).astype(float)
    np.testing.assert_allclose(scipy.linalg.orthogonal_procrustes(x, z)[0], np.eye(6), atol=1e-4)


def test_a_word_that_a_slice_lacks_has_no_count_and_a_zero_vector_there():
    rows = small.documents(count=60)
    for row in rows:
        if row["party"] == "R":
            row["text"] = [word for word in row["text"] if word != "4"]
    found = baselines.independent(model(), small.corpus(rows), **OPTIONS | {"epochs": 2})
    assert found.count("4", at={"party": "R"}) == 0 < found.count("4", at={"party": "D"})
    assert not found.vector("4", at={"party": "R"}).any()
    assert found.vector("4", at={"party": "D"}).any()


def test_slices_may_be_of_another_column_or_of_several(speeches):
    corpus = small.corpus(speeches)
    by_year = baselines.independent(model(), corpus, column="year", **OPTIONS | {"epochs": 1})
    assert (by_year.columns, by_year.values("year")) == (("year",), list(small.YEARS))
    both = baselines.compass(model(vary=["party", "year"]), corpus, **OPTIONS | {"epochs": 1})
    assert len(both.slices) == 6
    assert both.count("0", at={"party": "D", "year": "2000"}) > 0


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
    np.testing.assert_array_equal(held.matrix(at={"party": "D"}), found.matrix(at={"party": "D"}))
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
