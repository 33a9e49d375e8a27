"""Linear systems of the vectors of a word in all its slices, which the prior couples.

The matrix is that of the log posterior's second derivatives,

    H = Q ⊗ I + diag(A_1, …, A_n),   Q (n, n) the prior's precision, A_s (D, D) the curvature of the text of vector s,

whose factors would take (n D)³ operations. Conjugate gradients take n D (n + D) for each right side and iteration, and
few iterations, since the curvatures are much the same but for their size: with A_s ≈ w_s Σ the matrix is
Q ⊗ I + diag(w) ⊗ Σ, which two small eigenproblems diagonalize. That is the preconditioner.
n vectors, C right sides, D dimensions.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy

from laplex.errors import InputError
from laplex.inference.units import Floats

MAX_ITERATIONS = 1_000
TOLERANCE = 1e-5  # of the distance to the solution, relative to its length, in the metric of H


class CoupledSystem:
    """H, made ready for solving."""

    def __init__(self, precision: Floats, curvature: Floats) -> None:
        self.precision, self.curvature = precision, curvature
        size = curvature.shape[1]
        weight = np.trace(curvature, axis1=1, axis2=2) / size
        shape = curvature.sum(0) / (float(weight.sum()) or 1.0)
        weight = np.maximum(weight, 1e-6 * (float(weight.max()) or 1e6))  # of a slice without text
        values, self._left = scipy.linalg.eigh(precision, np.diag(weight))
        others, self._right = scipy.linalg.eigh(shape)
        self._scale = values[:, None, None] + others
        if not self._scale.min() > 1e-10 * self._scale.max():
            raise InputError("the prior and the text leave a direction free: give the model a Ridge")

    def multiply(self, x: Floats) -> Floats:
        """(n, C, D) H x."""
        return np.asarray(np.matmul(x, self.curvature) + np.tensordot(self.precision, x, 1))

    def _precondition(self, x: Floats) -> Floats:
        rotated = np.tensordot(self._left.T, x @ self._right, 1) / self._scale
        return np.asarray(np.tensordot(self._left, rotated, 1) @ self._right.T)

    def solve(self, right: Floats, subtracted: Callable[[Floats], Floats] | None = None) -> Floats:
        """(n, C, D) The solutions x of H x = right, or of (H − A) x = right if `subtracted` gives A x."""
        x = np.zeros_like(right)
        residual = right.copy()
        towards = self._precondition(residual)
        direction, error = towards.copy(), _products(residual, towards)
        enough = TOLERANCE**2 * error
        for _ in range(MAX_ITERATIONS):
            if (error <= enough).all():
                return x
            image = self.multiply(direction)
            if subtracted is not None:
                image -= subtracted(direction)
            length = np.where(error > enough, error / _positive(_products(direction, image)), 0.0)[:, None]
            x += length * direction
            residual -= length * image
            towards = self._precondition(residual)
            before, error = error, _products(residual, towards)
            direction = towards + (error / _positive(before))[:, None] * direction
        raise InputError("the prior and the text leave a direction nearly free: give the model a stronger Ridge")


def _products(one: Floats, two: Floats) -> Floats:
    """(C) The inner product for each right side."""
    return np.asarray(np.einsum("ncd,ncd->c", one, two))


def _positive(values: Floats) -> Floats:
    return np.maximum(values, 1e-300)
