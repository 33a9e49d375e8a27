"""The inner loops over the rows of one word's table, and over its statistics under permuted labels.

Threads that each have a word of their own would wait for one another if these were many small steps of the interpreter.
m rows of a table, D dimensions, G groups of labels, P permutations.
"""

# mypy: ignore-errors
# (typed by Numba, when it is compiled)

from __future__ import annotations

import numpy as np

from laplex.engines.kernels import F, fast


@fast
def fill_table(pairs, taus, row_of_pair, piece, limit, around, around_weight, scale, score, tau, background, weight):
    """Fill in the weighted sums of a word, from those of the units that have it and the background of all rows.

    Rows of one `piece` have the same weight, in which text that is `limit` times that of the mean piece counts half.
    Returns the weight of each row.
    """
    size, factor, total = score.shape[1], np.empty(len(piece)), np.zeros(piece.max() + 1)
    for k in range(len(row_of_pair)):
        tau[row_of_pair[k]] = taus[k]
    for row in range(len(piece)):
        total[piece[row]] += tau[row]
    whole, number = 0.0, 0
    for value in total:
        whole += value
        number += value > 0
    most = limit * max(whole / max(number, 1), 1e-300)
    for row in range(len(piece)):
        factor[row] = 1 / (1 + total[piece[row]] / most)
        tau[row] *= factor[row]
        weight[row] = scale * factor[row] * around_weight[row]
        for d in range(size):
            background[row, d] = scale * factor[row] * around[row, d]
    for k in range(len(row_of_pair)):
        row = row_of_pair[k]
        for d in range(size):
            score[row, d] = factor[row] * pairs[k, d]
    return factor


@fast
def inverse_root(matrix, ridge):
    """M, with M Mᵀ the inverse of a matrix with a ridge: the transposed inverse of its Cholesky factor."""
    size, ridged = len(matrix), matrix.copy()
    for i in range(size):
        ridged[i, i] += ridge
    root, inverse = np.linalg.cholesky(ridged), np.zeros((size, size))
    for i in range(size):
        inverse[i, i] = 1.0
        for k in range(i):
            for j in range(k + 1):
                inverse[i, j] -= root[i, k] * inverse[k, j]
        for j in range(i + 1):
            inverse[i, j] /= root[i, i]
    return inverse.T.copy()


@fast
def without_common(influence, metric, tau):
    """(m, D) Influences in a metric, without the share in their sum that each row has in τ."""
    residual = np.dot(influence, metric)
    common, total = np.zeros(residual.shape[1]), 0.0
    for row in range(len(tau)):
        total += tau[row]
        for d in range(len(common)):
            common[d] += residual[row, d]
    for row in range(len(tau)):
        for d in range(len(common)):
            residual[row, d] -= tau[row] / total * common[d]
    return residual


@fast
def group_influence(group, score, tau, background, weight, least_others, influence, sums, used):
    """Write the influence (m, D) of each row on the score of its group (m, −1 for none), and the scores (G, D).

    The mean of the background is that of the other rows of the group, if these have `least_others` of its weight.
    Only groups that have the word and a background are `used` (G); others are left as they are.
    """
    groups, size = sums.shape
    taus, weights, around = np.zeros(groups), np.zeros(groups), np.zeros((groups, size))
    for row in range(len(group)):
        g = group[row]
        if g >= 0:
            taus[g] += tau[row]
            weights[g] += weight[row]
            for d in range(size):
                around[g, d] += background[row, d]
    for g in range(groups):
        used[g] = taus[g] * weights[g] > 0
    for row in range(len(group)):
        g = group[row]
        if g < 0 or not used[g]:
            continue
        rate, others = taus[g] / weights[g], weights[g] - weight[row]
        own = 1.0 if others > least_others * weights[g] else 0.0  # whether the row's own is left out
        scale = 1.0 / (others if own > 0 else weights[g])
        excess = tau[row] - rate * weight[row]
        for d in range(size):
            center = (around[g, d] - own * background[row, d]) * scale
            influence[row, d] = score[row, d] - rate * background[row, d] - excess * center
            sums[g, d] += score[row, d] - rate * background[row, d]


@fast
def without_predicted(influence, tau, group, groups, least_others, rest, others):
    """Write what the mean of the other rows of a group does not predict (m, D), and the share of these in τ (m)."""
    size = influence.shape[1]
    taus, sums = np.zeros(groups), np.zeros((groups, size))
    for row in range(len(group)):
        taus[group[row]] += tau[row]
        for d in range(size):
            sums[group[row], d] += influence[row, d]
    for row in range(len(group)):
        g = group[row]
        share = tau[row] / max(taus[g], 1e-300)
        others[row] = max(1.0 - share, least_others)
        scale = 1.0 / others[row]
        for d in range(size):
            rest[row, d] = (influence[row, d] - share * sums[g, d]) * scale


@fast
def noise_by_cluster(y, rest, others, cluster, clusters):
    """Σ y·rest by cluster, z = √others · rest by cluster (C, n), and its squared lengths (C)."""
    size = y.shape[1]
    a, b, z = np.zeros((clusters, size)), np.zeros((clusters, size)), np.zeros((clusters, size))
    for row in range(len(cluster)):
        c, root = cluster[row], np.sqrt(others[row])
        for d in range(size):
            a[c, d] += y[row, d]
            b[c, d] += rest[row, d]
            z[c, d] += root * rest[row, d]
    noise, lengths = 0.0, np.zeros(clusters)
    for c in range(clusters):
        for d in range(size):
            noise += a[c, d] * b[c, d]
            lengths[c] += z[c, d] * z[c, d]
    return noise, z, lengths


@fast
def add_squared_lengths(sums, rest, total, least_share, last, found):
    """Add ‖sum‖² / f of a group under each permutation to `found` (P), and take its sums (P, D + 1) from the `rest`.

    The last column is that of τ, whose share in `total` is f; a group with next to nothing of it adds nothing. If it is
    the `last` group but one, what is left is the last group, and is added as well.
    """
    size = sums.shape[1] - 1
    for p in range(len(sums)):
        share, left = sums[p, size] / total, (rest[p, size] - sums[p, size]) / total
        square, other = F(0.0), F(0.0)
        for d in range(size):
            square += sums[p, d] * sums[p, d]
        if share > least_share:
            found[p] += square / share
        if last:
            for d in range(size):
                other += (rest[p, d] - sums[p, d]) * (rest[p, d] - sums[p, d])
            if left > least_share:
                found[p] += other / left
            continue
        for d in range(size + 1):
            rest[p, d] -= sums[p, d]


@fast
def sample_places(weights, offset, places):
    """Fill `places` with numbers of weights, sampled systematically in proportion to them."""
    total = 0.0
    for i in range(len(weights)):
        total += weights[i]
    step, seen, number = total / len(places), 0.0, 0
    for i in range(len(weights)):
        seen += weights[i]
        while number < len(places) and (number + offset) * step < seen:
            places[number] = i
            number += 1
    places[number:] = len(weights) - 1  # which rounding may leave over


@fast
def take_rows(vectors, places, rows):
    """Write the vectors at some places into `rows`."""
    for i in range(len(places)):
        place = places[i]  # read in the inner loop, it would keep it from being vectorized
        for d in range(vectors.shape[1]):
            rows[i, d] = vectors[place, d]


@fast
def cluster_moments(x, start, weights, score, rate, background, squares, plain, around):
    """By cluster, whose rows begin at `start`: Σ w x xᵀ (2, C, K, K) of two weights, and of s − r B and r B, with rates
    r (m), Σ x ⊗ value (C, K, D).
    """
    for c in range(len(start) - 1):
        for i in range(start[c], start[c + 1]):
            for k in range(x.shape[1]):
                if x[i, k] != 0.0:
                    for j in range(x.shape[1]):
                        both = x[i, k] * x[i, j]
                        squares[0, c, k, j] += weights[0, i] * both
                        squares[1, c, k, j] += weights[1, i] * both
                    scaled = x[i, k] * rate[i]
                    for d in range(score.shape[1]):
                        plain[c, k, d] += x[i, k] * score[i, d] - scaled * background[i, d]
                        around[c, k, d] += scaled * background[i, d]
