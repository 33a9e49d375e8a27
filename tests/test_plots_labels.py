"""Where labels go: apart, in order, and over nothing else."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from laplex.plots.labels import place, spread, text_width


@given(st.lists(st.floats(0, 300), min_size=1, max_size=12), st.floats(1, 30))
def test_spread_heights_are_apart_in_the_same_order(heights, gap):
    heights = np.array(heights)
    moved = spread(heights, gap)
    order = np.argsort(heights, kind="stable")
    assert (np.diff(moved[order]) >= gap - 1e-6).all()
    assert moved.mean() == pytest.approx(heights.mean(), abs=1e-6)
    np.testing.assert_allclose(spread(moved, gap - 1e-3), moved, atol=1e-6)


def box(point, text, found, size):
    left = {"left": 0.0, "right": 1.0, "center": 0.5}[found.align]
    width = text_width(text, size)
    x, y = point[0] + found.dx - left * width, point[1] + found.dy
    return x, y - size / 2, x + width, y + size / 2


@settings(max_examples=40)
@given(st.lists(st.tuples(st.floats(0, 400), st.floats(0, 300)), min_size=1, max_size=25), st.integers(0, 9))
def test_placed_labels_cover_nothing(points, length):
    points = np.array(points)
    names = [f"w{i}" * (1 + (i + length) % 4) for i in range(len(points))]
    found = place(points, names, (400, 300), size=10)
    boxes = [box(p, n, f, 10) for p, n, f in zip(points, names, found) if f is not None]
    for one, two in combinations(boxes, 2):
        shared = [min(one[2 + i], two[2 + i]) - max(one[i], two[i]) for i in (0, 1)]
        assert min(shared) <= 1e-9 or shared[0] * shared[1] < 1
    for left, top, right, bottom in boxes:
        assert (left >= -0.05, top >= -0.05, right <= 400.05, bottom <= 300.05) == (True,) * 4
        assert not ((points > [left, top]) & (points < [right, bottom])).all(axis=1).any()
    assert None not in place(points, names, (400, 300), size=10, always=True)


def test_wide_letters_need_more_room():
    assert text_width("東京", 10) == 20
    assert text_width("e\u0301", 10) == text_width("e", 10)
    assert text_width("ill", 10) < text_width("www", 10)
