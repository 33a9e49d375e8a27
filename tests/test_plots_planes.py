"""Words in two dimensions: the path of one through time, and a map of many."""

from __future__ import annotations

import re
import sys
from itertools import product

import numpy as np
import pytest
from charts import PERIODS, WORDS, data, gaps, layers, some_vectors, svg, texts

import laplex as lx
from laplex import plots


def by_covariance(vectors):
    """The points of principal component analysis, another way than by the package."""
    centered = vectors - vectors.mean(0)
    return centered @ np.linalg.eigh(centered.T @ centered)[1][:, ::-1][:, :2]


def at_length_one(vectors):
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def test_a_trajectory_is_a_path_among_neighbors():
    fitted = some_vectors()
    chart = plots.trajectory(fitted, "war", k=4, party="R")
    neighbors, names, line, _, dots, _ = layers(chart)
    own = np.stack([fitted.vector("war", party="R", period=period) for period in PERIODS])
    ranked = []
    for period, vector in zip(PERIODS, own):
        similarity = at_length_one(fitted.matrix(party="R", period=period)) @ vector
        ranked.append([WORDS[i] for i in np.argsort(-similarity) if WORDS[i] != "war"])
    expected = list(dict.fromkeys(word for rank in zip(*ranked) for word in rank))[:4]
    assert data(chart, names)["_text"].tolist() == expected
    means = [
        np.mean([at_length_one(fitted.vector(word, party="R", period=p)[None])[0] for p in PERIODS], axis=0)
        for word in expected
    ]
    points = by_covariance(np.concatenate([at_length_one(own), means]).astype(float))
    path = data(chart, line)
    drawn = np.concatenate([path[["_x", "_y"]], data(chart, neighbors)[["_x", "_y"]]])
    np.testing.assert_allclose(gaps(drawn), gaps(points), rtol=1e-4)
    assert path["_text"].tolist() == list(PERIODS)
    assert path["_count"].tolist() == [fitted.count("war", party="R", period=p) for p in PERIODS]
    assert path["_count"].tolist()[-1] == 0
    assert dots["encoding"]["fill"]["condition"]["test"] == "datum._count > 0"
    assert chart.to_dict()["title"]["text"] == "war"


def test_a_trajectory_points_from_early_to_late():
    chart = plots.trajectory(some_vectors(), "war", party="R")
    _, _, line, arrows, _, _ = layers(chart)
    path, heads = data(chart, line)[["_x", "_y"]].to_numpy(), data(chart, arrows)
    for (across, up), angle in zip(np.diff(path, axis=0), heads["_angle"]):
        length = np.hypot(across, up)
        assert (np.sin(np.radians(angle)), np.cos(np.radians(angle))) == pytest.approx((across / length, up / length))
    assert len(heads) == 2


def test_a_trajectory_has_a_path_for_each_party(tmp_path):
    chart = plots.trajectory(some_vectors(), "war")
    line = layers(chart)[2]
    assert line["encoding"]["color"]["scale"]["domain"] == ["D", "R"]
    assert len(data(chart, line)) == 6
    assert {"D", "R", "1861", "東京"} <= set(texts(svg(chart, tmp_path)))


def test_planes_have_one_scale_for_both_axes():
    for chart in (plots.trajectory(some_vectors(), "war"), plots.map(some_vectors(), party="D", period="1861")):
        spec = chart.to_dict()
        encoding = spec["layer"][0]["encoding"]
        across, up = (np.ptp(encoding[axis]["scale"]["domain"]) for axis in "xy")
        assert across / spec["width"] == pytest.approx(up / spec["height"])
        drawn = data(chart, spec["layer"][0])
        for axis in "xy":
            assert drawn[f"_{axis}"].between(*encoding[axis]["scale"]["domain"]).all()


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"word": "wra"}, '"wra" is not in the vocabulary'),
        ({"party": "X"}, "has no value 'X'"),
        ({"place": "X"}, 'do not vary by "place"'),
        ({"along": "party"}, '"party" has no order'),
        ({"along": "period", "period": "1861"}, "leave out period='1861'"),
        ({"k": 0}, "k=0"),
        ({"language": "en"}, "language"),
    ],
)
def test_what_no_trajectory_can_be_drawn_of(choices, message):
    with pytest.raises(lx.InputError, match=re.escape(message)):
        plots.trajectory(some_vectors(), **({"word": "war"} | choices))


def test_a_trajectory_needs_time_and_not_too_many_paths():
    with pytest.raises(lx.InputError, match="no time"):
        plots.trajectory(some_vectors(("party",), [("D",), ("R",)]), "war")
    crossed = some_vectors(keys=[("D", "1861"), ("R", "1901")])
    with pytest.raises(lx.InputError, match='differ by "period"'):
        plots.trajectory(crossed, "war")
    many = some_vectors(("state", "period"), list(product("abcdefgh", PERIODS)))
    with pytest.raises(lx.InputError, match="8 paths are too many: choose by state="):
        plots.trajectory(many, "war")


def test_a_map_shows_the_most_frequent_words_of_a_slice():
    fitted = some_vectors()
    chart = plots.map(fitted, top=5, party="R", period="1941")
    points, _ = layers(chart)
    drawn = data(chart, points)
    counts = {word: fitted.count(word, party="R", period="1941") for word in WORDS}
    assert drawn["_text"].tolist() == sorted(WORDS, key=lambda word: -counts[word])[:5]
    assert drawn["_count"].tolist() == [counts[word] for word in drawn["_text"]]
    vectors = np.stack([fitted.vector(word, party="R", period="1941") for word in drawn["_text"]])
    expected = by_covariance(at_length_one(vectors).astype(float))
    np.testing.assert_allclose(gaps(drawn[["_x", "_y"]]), gaps(expected), rtol=1e-4)
    assert points["encoding"]["size"]["field"] == "_count"
    assert [tip["title"] for tip in points["encoding"]["tooltip"]] == ["Word", "Occurrences"]
    assert chart.to_dict()["title"]["text"] == "R, 1941"


def test_a_map_of_some_words(tmp_path):
    chart = plots.map(some_vectors((), [()]), words=["tax", "bank", "東京", "tax"])
    assert sorted(data(chart, layers(chart)[0])["_text"]) == ["bank", "tax", "東京"]
    assert {"tax", "bank", "東京"} <= set(texts(svg(chart, tmp_path)))
    assert "title" not in chart.to_dict()


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({}, "say which slice: party="),
        ({"party": "D", "words": ["war", "tax"]}, "three words or more, not 2"),
        ({"party": "D", "words": []}, "no words are given"),
        ({"party": "D", "words": ["war", "tax", "wra"]}, '"wra" is not in the vocabulary'),
        ({"party": "D", "top": 2}, "three words or more"),
        ({"party": "D", "top": -1}, "top=-1"),
        ({"party": "D", "method": "tsne"}, 'method="tsne" is not known: write "pca" or "umap"'),
    ],
)
def test_what_no_map_can_be_drawn_of(choices, message):
    with pytest.raises(lx.InputError, match=re.escape(message)):
        plots.map(some_vectors(("party",), [("D",), ("R",)]), **choices)


def test_umap_is_asked_for_by_name_if_it_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "umap", None)
    with pytest.raises(lx.InputError, match="pip install umap-learn"):
        plots.map(some_vectors((), [()]), method="umap")


def test_umap():
    pytest.importorskip("umap")
    chart = plots.map(some_vectors((), [()]), method="umap")
    assert np.isfinite(data(chart, layers(chart)[0])[["_x", "_y"]].to_numpy()).all()
