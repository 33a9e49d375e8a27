"""The map of a vocabulary: neighbors stay together, moves between slices are found, and what was computed is kept."""

from __future__ import annotations

import numpy as np
import pytest

import laplex as lx
from laplex.questions import word_map
from laplex.questions.layout import neighbor_layout, repulsion
from laplex.text.slices import Slices

TOPICS, WORDS_PER_TOPIC = 8, 25


def planted(seed=0, noise=0.8):
    """Words of eight topics, which more than two dimensions are needed to tell apart."""
    random = np.random.default_rng(seed)
    centers = np.repeat(np.eye(TOPICS, 16), WORDS_PER_TOPIC, axis=0)
    return centers + noise / 4 * random.standard_normal((TOPICS * WORDS_PER_TOPIC, 16))


def share_of_topic(points):
    """The share of the ten nearest points that are of the same topic."""
    topics = np.repeat(np.arange(TOPICS), WORDS_PER_TOPIC)
    distances = np.linalg.norm(points[:, None] - points, axis=2) + np.diag(np.full(len(points), np.inf))
    return float((topics[distances.argsort(1)[:, :10]] == topics[:, None]).mean())


def test_neighbors_stay_together_where_principal_components_mix_them():
    vectors = planted()
    centered = vectors - vectors.mean(0)
    components = centered @ np.linalg.eigh(centered.T @ centered)[1][:, ::-1][:, :2]
    points = neighbor_layout(vectors)
    assert share_of_topic(points) > 0.9 > 0.7 > share_of_topic(components)
    np.testing.assert_array_equal(points, neighbor_layout(vectors))


@pytest.mark.parametrize("size", [1, 2, 3, 4, 12])
def test_few_words_and_words_without_a_vector_have_a_place(size):
    vectors = planted()[:size]
    vectors[size // 2 :] = 0.0
    assert np.isfinite(neighbor_layout(vectors)).all()
    assert neighbor_layout(vectors).shape == (size, 2)


@pytest.mark.parametrize("spread", [1e-4, 1.0, 10.0])
def test_the_repulsion_on_a_grid_is_that_of_all_pairs(spread):
    points = spread * np.random.default_rng(1).standard_normal((400, 2))
    steps = points[:, None] - points
    weights = 1 / (1 + (steps**2).sum(2))
    exact = (weights[..., None] ** 2 * steps).sum(1) / (weights.sum() - len(points))
    error = np.linalg.norm(repulsion(points) - exact) / np.linalg.norm(exact)
    assert error < 0.05


@pytest.fixture(scope="module")
def moving():
    """The first word is used like the first topic at first, and like the last one later; the rarest word is rare."""
    early, late = planted(1), planted(1)
    early[0], late[0] = early[1], late[-1]
    counts = np.full((2, len(early)), 100)
    counts[1, -1] = 2
    words = [f"word{i}" for i in range(len(early))]
    slices = Slices(("year",), (("1900",), ("2000",)), np.empty(0, np.int32))
    vocabulary = lx.Vocabulary(words, counts.sum(0))
    return lx.Embeddings.of([vocabulary], [np.stack([early, late])], slices=slices, counts=[counts])


def test_a_word_moves_to_its_neighbors_at_each_value(moving):
    points = word_map.word_points(moving, 0)
    ids, moved = word_map.moved_points(moving, 0, points, "year")
    middles = [np.median(points[topic], axis=0) for topic in (slice(1, WORDS_PER_TOPIC), slice(-WORDS_PER_TOPIC, -1))]
    row = ids.tolist().index(0)
    distances = [[float(np.linalg.norm(moved[value, row] - middle)) for middle in middles] for value in (0, 1)]
    assert distances[0][0] < distances[0][1] / 3
    assert distances[1][1] < distances[1][0] / 3
    steps = np.linalg.norm(moved - points[ids], axis=2)
    assert np.median(steps) < 0.05 * np.ptp(points)
    assert steps[1, ids.tolist().index(len(points) - 1)] == 0.0  # two uses say nothing
    near, cosines = word_map.nearest_words(word_map.mean_directions(moving, 0, [1]), moving.counts[0][1], 0, 5)
    assert near.min() >= len(points) - WORDS_PER_TOPIC
    assert (np.diff(cosines) <= 0).all()
    assert len(points) - 1 not in near


def test_regions_are_named_by_typical_words_that_may_be_in_a_name(moving):
    points = word_map.word_points(moving, 0)
    allowed = np.arange(len(points)) % 2 == 0
    first, regions = word_map.regions(moving, 0, points, allowed)
    assert first.shape == (len(points),)
    assert [word for region in regions for word in region.words if not allowed[word]] == []
    for region in regions:
        topics = [word // WORDS_PER_TOPIC for word in region.words if word]
        assert len(set(topics)) == 1 or region.level == 0


def test_points_are_kept_and_a_stopped_layout_is_not(moving, monkeypatch, tmp_path):
    monkeypatch.setenv("LAPLEX_CACHE", str(tmp_path))

    def stop(share):
        if share > 0.5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        word_map.word_points(moving, 0, stop)
    assert list(tmp_path.iterdir()) == []
    points = word_map.word_points(moving, 0)
    monkeypatch.setattr(word_map, "neighbor_layout", None)  # it is not called again
    np.testing.assert_array_equal(word_map.word_points(moving, 0), points)
    (kept,) = tmp_path.iterdir()
    (kept / "laplex.json").write_text("damaged")
    monkeypatch.setattr(word_map, "neighbor_layout", neighbor_layout)
    np.testing.assert_array_equal(word_map.word_points(moving, 0), points)
