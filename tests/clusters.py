"""Tables of what clusters say about a word, whose truth is known."""

from __future__ import annotations

import numpy as np

from laplex.posterior.evidence import rotate
from laplex.posterior.tables import Table

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
    return rotate(Table(0, label, np.arange(clusters), here, n, around, size, curvature)), label
