"""Score tables whose truth is known, and the tests of two labels on them."""

from __future__ import annotations

import numpy as np

from laplex.inference.score_test import (
    difference_effect,
    difference_p,
    difference_statistic,
    newton_scale,
    permuted_statistics,
    rotate,
)
from laplex.inference.statistics import ScoreTable

CLUSTERS, SIZE = 90, 6


def table(random, tilt=(0.0, 0.0, 0.0), more=(1.0, 1.0, 1.0), clusters=CLUSTERS):
    """Clusters of unequal size with topics of their own. In each group the word is `more` frequent and leans in a
    direction by `tilt`."""
    label = np.arange(clusters) % len(tilt)
    size = random.gamma(2.0, 40.0, clusters)
    topic = random.normal(0, 0.3, (clusters, SIZE))
    n = random.poisson(size * np.array(more)[label] * 0.2) + 1.0
    lean = np.array(tilt)[label][:, None] * np.eye(SIZE)[0]
    here = n[:, None] * (topic + lean) + np.sqrt(n)[:, None] * random.normal(size=(clusters, SIZE))
    around = size[:, None] * topic + np.sqrt(size)[:, None] * random.normal(0, 0.3, (clusters, SIZE))
    curvature = np.diag(n.sum() * np.linspace(0.5, 1.5, SIZE))
    return rotate(ScoreTable(0, label, np.arange(clusters), here, n, around, size, curvature)), label


def pair_p(made, one, prior):
    """p between the rows `one` and the others by the formula."""
    return difference_p(made, np.where(one, 0, 1), 2, newton_scale(made.spectrum, prior, 0.25))


def pair_effect(made, one, prior):
    """The effect between the rows `one` and the others."""
    return difference_effect(made, np.where(one, 0, 1), 2, {(0, 1): prior})


def pair_statistics(made, one, prior, labellings):
    """T between the rows `one` and the others, and under other labellings (P, m)."""
    scale = newton_scale(made.spectrum, prior, 0.25)
    labels = np.where(one, 0, 1), np.where(labellings, 0, 1)
    return permuted_statistics(made, *labels, scale, 2, difference_statistic)
