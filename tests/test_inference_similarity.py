"""Similarities and neighbors with intervals: their columns, and whether they hold in the other half of the speakers."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
import speakers

import laplex as lx
from laplex.inference.cosines import CosineIntervals, neighbors, similarity
from laplex.inference.units import Options

pytestmark = pytest.mark.usefixtures("shared_cache")

ADDED = ["estimate", "se", "lower", "upper", "n", "clusters"]
OPTIONS = {"cluster": "speaker", "min_clusters": 10, "min_count": 50, "quiet": True, "threads": 2}


@pytest.fixture(scope="module")
def fitted(shared_cache):
    return speakers.fit(speakers.read(speakers.speeches(1, swap=0.6)))


def test_the_table_is_that_of_the_plain_question_with_more_columns(fitted):
    found = similarity(fitted, "w6", "w12", **OPTIONS)
    plain = fitted.similarity("w6", "w12")
    pd.testing.assert_frame_equal(found[plain.columns], plain)
    assert list(found.columns) == [*plain.columns, *ADDED]
    assert (found["lower"] < found["estimate"]).all()
    assert (found["estimate"] <= found["upper"]).all()
    assert found["n"].tolist() == plain[["count", "count_other"]].min(axis=1).tolist()


def test_clusters_are_the_speakers_of_the_word_that_fewer_use(fitted):
    found = similarity(fitted, "w6", "w40", **OPTIONS, at={"party": "D"})
    texts = [row for row in speakers.speeches(1, swap=0.6) if row["party"] == "D"]
    users = [len({row["speaker"] for row in texts if word in row["text"]}) for word in ("w6", "w40")]
    assert found["clusters"].tolist() == [min(users)]
    with pytest.warns(UserWarning, match='write cluster="speaker"'):
        documents = similarity(fitted, "w6", "w40", **OPTIONS | {"cluster": None}, at={"party": "D"})
    assert documents["clusters"].tolist() == [min(sum(word in row["text"] for row in texts) for word in ("w6", "w40"))]


def test_intervals_tell_the_parties_of_a_word_that_changes_sides_apart(fitted):
    found = similarity(fitted, "w6", "w12", **OPTIONS).set_index("party")
    assert found.loc["D", "lower"] > found.loc["R", "upper"]
    same = similarity(fitted, "w2", "w8", **OPTIONS).set_index("party")
    assert same.loc["D", "lower"] < same.loc["R", "upper"]
    assert same.loc["R", "lower"] < same.loc["D", "upper"]


def test_a_wider_interval_holds_the_narrower_one(fitted):
    narrow, wide = (similarity(fitted, "w2", "w8", **OPTIONS, interval=share) for share in (0.5, 0.95))
    assert (wide["lower"] <= narrow["lower"]).all()
    assert (wide["upper"] >= narrow["upper"]).all()
    pd.testing.assert_series_equal(wide["estimate"], narrow["estimate"])


def test_a_word_is_like_itself(fitted):
    found = similarity(fitted, "w2", "w2", **OPTIONS)
    np.testing.assert_allclose(found[["estimate", "lower", "upper"]], 1.0)
    np.testing.assert_allclose(found["se"], 0.0, atol=1e-9)


def test_neighbors_are_the_plain_ones_with_the_similarities_of_pairs(fitted):
    found = neighbors(fitted, "w6", 3, **OPTIONS)
    plain = fitted.neighbors("w6", 3)
    pd.testing.assert_frame_equal(found[plain.columns], plain)
    assert list(found.columns) == [*plain.columns, *ADDED]
    for row in (found.iloc[0], found.iloc[-1]):
        pair = similarity(fitted, "w6", row["neighbor"], **OPTIONS, at={"party": row["party"]}).iloc[0]
        np.testing.assert_allclose(row[ADDED].astype(float), pair[ADDED].astype(float), rtol=1e-3)
    here = neighbors(fitted, "w6", 3, **OPTIONS, at={"party": "R"})
    pd.testing.assert_frame_equal(here, found[found["party"] == "R"].reset_index(drop=True), rtol=1e-3)


def test_words_with_too_little_text_have_their_counts_alone(fitted):
    found = similarity(fitted, "w6", "w40", **OPTIONS | {"min_count": 200})
    assert found[["estimate", "se", "lower", "upper"]].isna().all(axis=None)
    assert (found["n"] > 0).all()
    assert found["similarity"].notna().all()
    assert similarity(fitted, "w6", "w0", **OPTIONS | {"min_clusters": 31})["se"].isna().all()


def test_intervals_of_one_half_hold_in_the_other():
    tokens = speakers.read(speakers.speeches(5, speakers=120, each=4))
    free = speakers.fit(tokens, vary=())
    options = Options("speaker", min_clusters=10, min_count=30, tokens=tokens, threads=2, quiet=True)
    z, cosines = [], []
    for seed in range(2):
        text = CosineIntervals(speakers.in_halves(free, tokens, seed), options)
        text.read(range(40))
        for i in range(40):
            j = (i + 6) % 40
            (a, se_a, *_), (b, se_b, *_) = (text.of_pair(i, j, slice) for slice in (0, 1))
            z.append((a - b) / np.hypot(se_a, se_b))
            (x, y), (v, w) = text.vectors[i].vectors, text.vectors[j].vectors
            cross = (x @ w + y @ v) / 2 / np.sqrt((x @ y) * (v @ w))
            cosines.append([x @ v / np.linalg.norm(x) / np.linalg.norm(v), (a + b) / 2, cross])
    assert np.isfinite(z).all()
    assert 0.7 < np.mean(np.square(z)) < 1.35
    assert 0.04 < np.mean(np.abs(z) > 1.645) < 0.17
    plain, estimate, cross = np.abs(np.array(cosines)).sum(0)
    assert abs(estimate / cross - 1) < 0.04
    assert plain < estimate


def test_documents_are_taken_for_independent_with_a_warning(fitted):
    with pytest.warns(UserWarning, match='write cluster="speaker"'):
        alone = similarity(fitted, "w2", "w8", **OPTIONS | {"cluster": None})
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        clustered = similarity(fitted, "w2", "w8", **OPTIONS)
    np.testing.assert_allclose(alone["estimate"], clustered["estimate"], atol=0.05)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"interval": 90}, "interval=90 must be between 0 and 1"),
        ({"min_clusters": 1}, "min_clusters"),
        ({"min_count": 0}, "min_count"),
        ({"cluster": "senator"}, 'no column "senator"'),
        ({"cluster": "party"}, 'cluster="party" is what vectors vary by'),
        ({"at": {"party": "X"}}, "\"party\" has no value 'X'"),
        ({"language": "xx"}, "language"),
    ],
)
def test_bad_questions_are_named(fitted, options, message):
    with pytest.raises(lx.InputError, match=message):
        similarity(fitted, "w6", "w12", **OPTIONS | options)
    with pytest.raises(lx.InputError, match=message):
        neighbors(fitted, "w6", **OPTIONS | options)


def test_bad_words_and_models_are_named(fitted):
    with pytest.raises(lx.InputError, match='"nosuchword" is not in the vocabulary'):
        similarity(fitted, "w6", "nosuchword", **OPTIONS)
    with pytest.raises(lx.InputError, match="k=0"):
        neighbors(fitted, "w6", 0, **OPTIONS)
    made = lx.Embeddings.of(fitted.rows.vocabularies, [np.ones((len(fitted), 4))])
    with pytest.raises(lx.InputError, match="were not fitted here"):
        similarity(made, "w6", "w12", **OPTIONS)
