"""Dense products in registers, against NumPy."""

import numpy as np
import pytest
from numba import njit

from laplex.engines import kernels, tiles

LINES = [1, 7, 19, 40]  # cache lines of a row


def invented(rows, columns, seed):
    return np.random.default_rng(seed).normal(size=(rows, columns)).astype(np.float32)


@njit
def combine(lanes, out, left, right, dots, squares):
    tiles.dots_and_squares(lanes, left, 2, right, 4, dots, squares)
    factor = np.float32(0.5)
    return tiles.sum_of_two(lanes, out, 1, None, left, 0, factor, right, 3)


@njit
def take_steps(lanes, theta, total, rows, rate, inverse):
    half, one = np.float32(0.5), np.float32(1.0)
    accumulated = tiles.window_step(lanes, theta, 2, total, rows, one, 1, -half, 3, -one, 2, one, rate, inverse)
    return accumulated, tiles.adagrad_step(lanes, theta, 5, rows, 4, half, rate, inverse)


@pytest.mark.parametrize("lines", LINES)
def test_tiles_are_products_of_matrices(lines):
    lanes, width = (np.int8(0),) * lines, kernels.LANE * lines
    left, right = invented(32, width, 1), invented(16, width, 2)
    out = np.zeros((32, 16), np.float32)
    kernels.products(lanes, left, right, out, 32, 16)
    np.testing.assert_allclose(out, left @ right.T, atol=1e-3)


@pytest.mark.parametrize("lines", LINES)
def test_weighted_sums_are_products_of_matrices(lines):
    """Of some rows and terms only, and with the weights transposed."""
    lanes, width = (np.int8(0),) * lines, kernels.LANE * lines
    weights, rows, before = invented(32, 16, 3), invented(32, width, 4), invented(32, width, 5)
    out, expected = before.copy(), before.copy()
    expected[4:24] = 0.5 * before[4:24] + weights[:20, 8:] @ rows[8:16]
    kernels._combine(lanes, weights, rows, out, 4, 20, 8, 16, np.float32(0.5))
    np.testing.assert_allclose(out, expected, atol=1e-4)
    out, carry = before.copy(), invented(1, 16, 6)[0]
    kernels._combine(lanes, weights.T, rows, out, 0, 16, 0, 16, carry)
    np.testing.assert_allclose(out[:16], carry[:, None] * before[:16] + weights[:16].T @ rows[:16], atol=1e-4)
    np.testing.assert_array_equal(out[16:], before[16:])
    out = np.ones((16, width), np.float32)
    kernels._combine(lanes, weights.T, rows, out, 0, 16, 0, 32, np.float32(0.0))
    np.testing.assert_allclose(out, weights.T @ rows, atol=1e-4)


@pytest.mark.parametrize("lines", LINES)
def test_sums_of_rows_and_their_squares(lines):
    lanes, width = (np.int8(0),) * lines, kernels.LANE * lines
    left, right, out = invented(8, width, 6), invented(8, width, 7), np.zeros((2, width), np.float32)
    dots, squares = np.zeros(8, np.float32), np.zeros(8, np.float32)
    total = combine(lanes, out, left, right, dots, squares)
    row = left[0] + 0.5 * right[3]
    np.testing.assert_allclose(out, [np.zeros(width), row], atol=1e-5)
    np.testing.assert_allclose(total, row @ row, rtol=1e-4)
    np.testing.assert_allclose(dots, [0] * 4 + [*np.sum(left[2:6] * right[4:], 1)], atol=1e-3)
    np.testing.assert_allclose(squares, [0] * 4 + [*np.sum(right[4:] ** 2, 1)], rtol=1e-4)


@pytest.mark.parametrize("lines", LINES)
def test_steps_are_those_of_adagrad(lines):
    lanes, width, rate, inverse = (np.int8(0),) * lines, kernels.LANE * lines, np.float32(0.3), np.float32(0.01)
    theta, total, rows = invented(6, width, 8), invented(1, width, 9), invented(6, width, 10)
    after, sums = theta.copy(), total[0] + rows[1] - 0.5 * rows[3]
    accumulated = take_steps(lanes, after, total, rows, rate, inverse)
    gradients = {2: sums - rows[2], 5: rows[4]}
    expected = [before + inverse * (g @ g) for before, g in zip((1.0, 0.5), gradients.values())]
    for (row, gradient), square in zip(gradients.items(), expected):
        theta[row] += rate / np.sqrt(square) * gradient
    np.testing.assert_allclose(total[0], sums, atol=1e-5)
    np.testing.assert_allclose(accumulated, expected, rtol=1e-4)
    np.testing.assert_allclose(after, theta, atol=1e-4)
