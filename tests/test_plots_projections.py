"""Words in two dimensions: the path of one through time, a map of many, and the colors of a map."""

from __future__ import annotations

import re
from itertools import product

import numpy as np
import pytest
from charts import PERIODS, WORDS, data, gaps, layers, some_vectors, svg, texts

import laplex as lx
from laplex import plots
from laplex.text.slices import Slices


def by_covariance(vectors):
    """The points of principal component analysis, another way than by the package."""
    centered = vectors - vectors.mean(0)
    return centered @ np.linalg.eigh(centered.T @ centered)[1][:, ::-1][:, :2]


def normalize(vectors):
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def test_a_trajectory_is_a_path_among_neighbors():
    fitted = some_vectors()
    chart = plots.trajectory(fitted, "war", k=4, at={"party": "R"})
    neighbors, names, line, _, dots, _ = layers(chart)
    own = np.stack([fitted.vector("war", at={"party": "R", "period": period}) for period in PERIODS])
    ranked = []
    for period, vector in zip(PERIODS, own):
        similarity = normalize(fitted.matrix(at={"party": "R", "period": period})) @ vector
        ranked.append([WORDS[i] for i in np.argsort(-similarity) if WORDS[i] != "war"])
    expected = list(dict.fromkeys(word for rank in zip(*ranked) for word in rank))[:4]
    assert data(chart, names)["_text"].tolist() == expected
    means = [
        np.mean([normalize(fitted.vector(word, at={"party": "R", "period": p})[None])[0] for p in PERIODS], axis=0)
        for word in expected
    ]
    points = by_covariance(np.concatenate([normalize(own), means]).astype(float))
    path = data(chart, line)
    drawn = np.concatenate([path[["_x", "_y"]], data(chart, neighbors)[["_x", "_y"]]])
    np.testing.assert_allclose(gaps(drawn), gaps(points), rtol=1e-4)
    assert path["_text"].tolist() == list(PERIODS)
    assert path["_count"].tolist() == [fitted.count("war", at={"party": "R", "period": p}) for p in PERIODS]
    assert path["_count"].tolist()[-1] == 0
    assert dots["encoding"]["fill"]["condition"]["test"] == "datum._count > 0"
    assert chart.to_dict()["title"]["text"] == "war"


def test_a_trajectory_points_from_early_to_late():
    chart = plots.trajectory(some_vectors(), "war", at={"party": "R"})
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
    for chart in (
        plots.trajectory(some_vectors(), "war"),
        plots.map(some_vectors(), at={"party": "D", "period": "1861"}),
    ):
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
        ({"at": {"party": "X"}}, "has no value 'X'"),
        ({"at": {"place": "X"}}, 'do not vary by "place"'),
        ({"along": "party"}, '"party" has no order'),
        ({"along": "period", "at": {"period": "1861"}}, 'the path runs along "period": leave it out of at='),
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
    with pytest.raises(lx.InputError, match='8 paths are too many: choose some by "state"'):
        plots.trajectory(many, "war")


def test_a_map_shows_the_most_frequent_words_of_a_slice():
    fitted = some_vectors()
    chart = plots.map(fitted, top=5, at={"party": "R", "period": "1941"})
    points, _ = layers(chart)
    drawn = data(chart, points)
    counts = {word: fitted.count(word, at={"party": "R", "period": "1941"}) for word in WORDS}
    assert drawn["_text"].tolist() == sorted(WORDS, key=lambda word: -counts[word])[:5]
    assert drawn["_count"].tolist() == [counts[word] for word in drawn["_text"]]
    vectors = np.stack([fitted.vector(word, at={"party": "R", "period": "1941"}) for word in drawn["_text"]])
    expected = by_covariance(normalize(vectors).astype(float))
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
        ({}, 'say which slice: no value of "party" is given'),
        ({"at": {"party": "D"}, "words": ["war", "tax"]}, "three words or more, not 2"),
        ({"at": {"party": "D"}, "words": []}, "no words are given"),
        ({"at": {"party": "D"}, "words": ["war", "tax", "wra"]}, '"wra" is not in the vocabulary'),
        ({"at": {"party": "D"}, "top": 2}, "three words or more"),
        ({"at": {"party": "D"}, "top": -1}, "top=-1"),
        ({"at": {"party": "D"}, "method": "umap"}, 'method="umap" is not known: write "pca" or "tsne"'),
    ],
)
def test_what_no_map_can_be_drawn_of(choices, message):
    with pytest.raises(lx.InputError, match=re.escape(message)):
        plots.map(some_vectors(("party",), [("D",), ("R",)]), **choices)


def test_a_map_of_nearest_neighbors():
    chart = plots.map(some_vectors((), [()]), method="tsne")
    assert np.isfinite(data(chart, layers(chart)[0])[["_x", "_y"]].to_numpy()).all()


MAP_WORDS = ["war", "peace", "tax", "money", "school", "child", "<b>x</b>"]
KEYS = (("D", "2000"), ("D", "2001"), ("R", "2000"), ("R", "2001"))


def vectors(keys=KEYS, columns=("party", "x")):
    random = np.random.default_rng(1)
    counts = random.integers(1, 500, (len(keys), len(MAP_WORDS)))
    order = np.argsort(-counts.sum(0))
    made = random.standard_normal((len(keys), len(MAP_WORDS), 5))
    vocabulary = lx.Vocabulary([MAP_WORDS[i] for i in order], counts.sum(0)[order])
    slices = Slices(columns, keys, np.empty(0, np.int32))
    return lx.Embeddings.of([vocabulary], [made], slices=slices, counts=[counts[:, order]])


def drawn(chart, place):
    layer = layers(chart)[place]
    return data(chart, layer), layer


def test_a_word_has_a_point_at_each_value_of_a_column():
    fitted = vectors(columns=("party", "year"))
    frame = plots.map(fitted, MAP_WORDS, color="party", at={"year": "2001"}).frame
    assert len(frame) == 2 * len(MAP_WORDS)
    assert frame.groupby("word")["party"].agg(list).map(tuple).unique().tolist() == [("D", "R")]
    for row in frame.itertuples():
        assert row.count == fitted.count(row.word, at={"party": row.party, "year": "2001"})
    matrix = np.stack([fitted.vector(row.word, at={"party": row.party, "year": "2001"}) for row in frame.itertuples()])
    unit = matrix / np.linalg.norm(matrix, axis=1, keepdims=True)
    centered = unit - unit.mean(0)
    _, directions = np.linalg.eigh(centered.T @ centered)
    expected = np.abs(centered @ directions[:, [-1, -2]])
    np.testing.assert_allclose(np.abs(frame[["x", "y"]]), expected, atol=1e-5)


def test_the_colors_of_groups_and_of_time():
    fitted = vectors(columns=("party", "year"))
    _, points = drawn(plots.map(fitted, color="party", at={"year": "2001"}), 1)
    scale = points["encoding"]["color"]["scale"]
    assert scale == {"domain": ["D", "R"], "range": ["#0072B2", "#D55E00"]}
    _, points = drawn(plots.map(fitted, color="year", at={"party": "D"}), 1)
    assert points["encoding"]["color"]["scale"] == {"domain": ["2000", "2001"], "range": ["#e69f00", "#0072b2"]}
    assert [tip["title"] for tip in points["encoding"]["tooltip"]] == ["Word", "Year", "Occurrences"]


def test_the_points_of_a_word_are_joined_in_order():
    fitted = vectors(tuple((str(2000 + i),) for i in range(9)), ("year",))
    frame, lines = drawn(plots.map(fitted, color="year"), 0)
    assert lines["mark"]["type"] == "line"
    assert lines["encoding"]["detail"]["field"] == "_text"
    assert frame[frame["_text"] == "war"]["_order"].tolist() == list(range(9))
    assert frame[frame["_text"] == "war"]["_color"].tolist() == [str(2000 + i) for i in range(9)]
    _, points = drawn(plots.map(fitted, color="year"), 1)
    assert len(set(points["encoding"]["color"]["scale"]["range"])) == 9


def test_words_stand_between_two_poles():
    fitted = vectors(columns=("party", "year"))
    axis = (["war"], ["tax", "money"])
    frame = plots.map(fitted, MAP_WORDS, color=axis, at={"party": "D", "year": "2000"}).frame
    expected = fitted.project(frame["word"].tolist(), axis, at={"party": "D", "year": "2000"})
    assert frame["position"].tolist() == pytest.approx(expected["position"].tolist())
    chart = plots.map(fitted, MAP_WORDS, color=axis, at={"party": "D", "year": "2000"})
    points, layer = drawn(chart, 0)
    assert sorted(points["_color"]) == pytest.approx(sorted(expected["position"]))
    low, middle, high = layer["encoding"]["color"]["scale"]["domain"]
    assert (low, middle) == (-high, 0)
    assert layer["encoding"]["color"]["legend"]["title"] == ["↑ war", "↓ tax, money"]
    assert chart.to_dict()["title"]["text"] == "D, 2000"


def test_a_map_with_colors_becomes_a_picture_with_markup_as_text(tmp_path):
    fitted = vectors(columns=("party", "year"))
    for color, at in (("party", {}), (("war", "tax"), {"party": "D"})):
        path = tmp_path / f"{len(at)}.svg"
        plots.map(fitted, color=color, at={"year": "2000"} | at).save(path)
        assert "&lt;b&gt;x&lt;/b&gt;" in path.read_text(encoding="utf-8")


def test_a_column_may_have_the_name_of_a_coordinate():
    chart = plots.map(vectors(columns=("party", "x")), color="x", at={"party": "D"})
    assert drawn(chart, 1)[0]["_color"].unique().tolist() == ["2000", "2001"]


def test_a_slice_that_is_not_there_has_no_point():
    fitted = vectors((("D", "2000"), ("D", "2001"), ("R", "2001")), ("party", "year"))
    frame = plots.map(fitted, color="party", at={"year": "2000"}).frame
    assert set(frame["party"]) == {"D"}


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"color": "sex", "at": {"party": "D", "year": "2000"}}, 'color="sex" is no column that vectors vary by'),
        ({"color": "party"}, 'say which slice: no value of "year" is given'),
        ({"color": "party", "at": {"party": "D", "year": "2000"}}, 'leave "party" out of at='),
        ({"color": ("war", "wra"), "at": {"party": "D", "year": "2000"}}, '"wra" is not in the vocabulary'),
        ({"color": ("war", "war"), "at": {"party": "D", "year": "2000"}}, "at both poles"),
        ({"color": ("war",), "at": {"party": "D", "year": "2000"}}, "two poles"),
    ],
)
def test_what_cannot_be_a_color(choices, message):
    with pytest.raises(lx.InputError, match=re.escape(message)):
        plots.map(vectors(columns=("party", "year")), **choices)
