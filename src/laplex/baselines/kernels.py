"""The inner loops of embedding regression: contexts of occurrences, permutations of a design matrix, and the jackknife.

Rows of vectors are padded to W floats, a multiple of 16, and W is passed as the length of a tuple, `lanes`, as in
`laplex.engines.kernels`. V words, n occurrences, W padded dimensions, U units, K covariates, P permutations.
"""

# mypy: ignore-errors
# (typed by Numba, when it is compiled)

from __future__ import annotations

import numpy as np

from laplex.engines.kernels import LANE, F, fast, seeded, uniform


@fast
def _mean_of_window(lanes, vectors, ids, position, low, high, mean):
    """The mean of the vectors from `low` up to `high`, without that at `position`; at least one is left."""
    for d in range(LANE * len(lanes)):
        mean[d] = F(0.0)
    for j in range(low, high):
        if j != position:
            word = ids[j]
            for d in range(LANE * len(lanes)):
                mean[d] += vectors[word, d]
    weight = F(1.0) / F(high - low - 1)
    for d in range(LANE * len(lanes)):
        mean[d] *= weight


@fast
def sum_contexts_by_word(lanes, vectors, ids, offsets, first, last, window, place, total, number):
    """Add the contexts in documents `first` up to `last` by word: `total` (n, W), and in `number` how many they are."""
    mean = np.empty(LANE * len(lanes), np.float32)
    for document in range(first, last):
        start, end = offsets[document], offsets[document + 1]
        for i in range(start, end):
            word = place[ids[i]]
            if word < 0 or end - start < 2:
                continue
            _mean_of_window(lanes, vectors, ids, i, max(start, i - window), min(end, i + window + 1), mean)
            for d in range(LANE * len(lanes)):
                total[word, d] += mean[d]
            number[word] += 1


@fast
def contexts_at(lanes, vectors, ids, positions, low, high, first, last, contexts):
    """Write the contexts of some positions, numbers `first` up to `last`, whose windows are from `low` to `high`."""
    for row in range(first, last):
        _mean_of_window(lanes, vectors, ids, positions[row], low[row], high[row], contexts[row])


@fast
def permute_rows(rows, label, size, seed, drawn, sums, squares):
    """Permute which of the `rows` (m, K) each of U units has; the design matrices are written to `drawn` (K, P, U).

    Added up over the units, with weights `size`, are the covariates, `sums` (P, K), and their products, `squares`
    (P, K, K).
    """
    state, order = seeded(seed), label.copy()
    for p in range(drawn.shape[1]):
        for i in range(len(order) - 1, 0, -1):
            j = min(np.int64(uniform(state) * (i + 1)), i)
            order[i], order[j] = order[j], order[i]
        for k in range(rows.shape[1]):
            for i in range(len(order)):
                value = rows[order[i], k]
                drawn[k, p, i] = value
                sums[p, k] += size[i] * value
        for k in range(rows.shape[1]):
            for m in range(k + 1):
                product = 0.0
                for i in range(len(order)):
                    product += size[i] * drawn[k, p, i] * drawn[m, p, i]
                squares[p, k, m] = squares[p, m, k] = product


@fast
def leave_units_out(drawn, mean, inverse, outer, size, length, least, weight, squares, moments, left):
    """The jackknife of coefficients β under P design matrices, `drawn` (K, P, U), whose rows are x_u.

    Without unit u, of weight n_u (`size`), whose weighted y add up to Y_u, a coefficient changes by −w_u r_u, where
    r_u = Y_u − n_u βᵀx_u is the residual. Before, `weight` (K, P, U) has β·Y_u; then w. Given are the `mean` (P, K) and
    the `inverse` (P, K, K) of XᵀX, weighted, once x is centered, β·β as `outer` (P, K, K), and ‖Y_u‖² as `length` (U).

    Added up over the units are w²‖r‖² in `squares` (P, K) and w n x in `moments` (P, K, K). `left` (P) is the least
    share of a row that is not determined by the row's own unit; w is zero where it is under `least`.
    """
    covariates, units = drawn.shape[0], drawn.shape[2]
    x, a = np.empty(covariates), np.empty(covariates)
    total = size.sum()
    for p in range(drawn.shape[1]):
        for u in range(units):
            for k in range(covariates):
                x[k] = drawn[k, p, u] - mean[p, k]
            leverage, residual = 1.0 / total, length[u]
            for k in range(covariates):
                a[k], fitted = 0.0, 0.0
                for m in range(covariates):
                    a[k] += inverse[p, k, m] * x[m]
                    fitted += outer[p, k, m] * x[m]
                leverage += a[k] * x[k]
                residual += size[u] * x[k] * (size[u] * fitted - 2.0 * weight[k, p, u])
            rest = 1.0 - size[u] * leverage
            left[p] = min(left[p], rest)
            for k in range(covariates):
                w = a[k] / rest if rest > least else 0.0
                weight[k, p, u] = w
                squares[p, k] += w * w * residual
                for m in range(covariates):
                    moments[p, k, m] += w * size[u] * x[m]
