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
def add_squared_lengths(sums, rest, total, least_share, found):
    """Add ‖sum‖² / f of a group under each permutation to `found` (P), and take its sums (P, D + 1) from the `rest`.

    The last column is that of τ, whose share in `total` is f; a group with next to nothing of it adds nothing.
    """
    last = sums.shape[1] - 1
    for p in range(len(sums)):
        square, share = F(0.0), sums[p, last] / total
        for d in range(last):
            square += sums[p, d] * sums[p, d]
        if share > least_share:
            found[p] += square / share
        for d in range(last + 1):
            rest[p, d] -= sums[p, d]
