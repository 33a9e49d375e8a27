"""Score tables whose truth is known, and the tests of their labels."""

from __future__ import annotations

from functools import cache

import numpy as np

from laplex.inference.permutations import Difference, Permutations
from laplex.inference.score_test import difference_effect, formula_p, group_scores
from laplex.inference.scores import COVARIANCE_POSITIONS, ScoreTable

CLUSTERS, SIZE = 90, 6
COVARIANCE = np.diag(np.linspace(0.5, 1.5, SIZE))
BIAS = 1 - (SIZE + 1) / COVARIANCE_POSITIONS  # the inverse of a covariance from a sample is too large by 1 / BIAS


def table(random, tilt=(0.0, 0.0), more=1.0, apart=0.0, absent=0.0, thin=1.0, clusters=CLUSTERS):
    """Clusters of unequal size with topics of their own.

    In each group the word is `more` frequent and leans in a direction by `tilt`. Topics of groups are `apart`, but the
    word is used alike in each. A share `absent` of the clusters lacks the word, and a share `thin` of it is kept.
    """
    label, more = np.arange(clusters) % len(tilt), np.ones(len(tilt)) * more
    size = random.gamma(2.0, 40.0, clusters)
    topic = random.normal(0, 0.3, (clusters, SIZE)) + apart * np.outer(label, np.eye(SIZE)[1])
    n = np.where(random.random(clusters) < absent, 0.0, random.poisson(size * more[label] * 0.2) + 1.0)
    n = random.binomial(n.astype(int), thin).astype(float)
    lean = np.array(tilt)[label][:, None] * np.eye(SIZE)[0]
    here = n[:, None] * (topic + lean) + np.sqrt(n)[:, None] * random.normal(size=(clusters, SIZE))
    around = size[:, None] * topic + np.sqrt(size)[:, None] * random.normal(0, 0.3, (clusters, SIZE))
    rows = np.arange(clusters)
    return ScoreTable(0, 0, label, rows, rows, np.ones_like(rows), here, n, around, size, COVARIANCE)


def seeds(count, **choices):
    """The tables of some seeds."""
    for seed in range(count):
        yield table(np.random.default_rng(seed), **choices)


def scores(made):
    """The scores between all labels of a table."""
    found = group_scores(made, [[label] for label in range(int(made.label.max()) + 1)])
    assert found is not None
    return found


def effect(made):
    return difference_effect(scores(made))


@cache
def _draws(clusters, groups):
    return Permutations(np.arange(clusters) % groups, True, True, [3])


def counted(made, draws=199, design=None):
    """p by permutations of the labels of a table, those of all tables of its size being the same."""
    found = scores(made)
    groups = len(found.score)
    permuted = _draws(len(made.tau), groups).of_word(found.residuals(), design or Difference(groups), 0)
    return (permuted.exceedances(0, draws) + 1) / (draws + 1)


def formula(made, design=None):
    """p by the formula."""
    found = scores(made)
    return formula_p(found.residuals(), design or Difference(len(found.score)))


def rejected(p, level=0.05):
    """The share of tests whose p is at most the level."""
    return float((np.array(list(p)) <= level).mean())
