"""The jackknife for occurrences with vectors: how the vectors of a word would come out in another sample of units.

The posterior mean m of a word's rows is linear in its occurrences, so the influence of a unit c is exact. With M the
rows and columns of (P + N)⁻¹ that are the word's, N_c the part of N that c has, and vectors of other words held,

    influence_c = (M⁻¹ − N_c)⁻¹ s_c,    s_c = Σ_{i in c} (z_i − m) / σ²

S slices, C units, D dimensions.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from laplex.embeddings import Embeddings
from laplex.engines.gaussian import GaussianPosterior, OccurrenceSums
from laplex.inference.units import Floats, Ints
from laplex.text.occurrences import Occurrences


def occurrence_influences(
    fitted: Embeddings, ids: Sequence[int], occurrences: Occurrences, unit: Ints, units: int
) -> dict[int, tuple[Floats, Floats]]:
    """The vectors (S, D) of words, and the influence (S, C, D) of each unit on them; `unit` (N) is of occurrences."""
    vectors = occurrences.projected(fitted.dimensions)
    word = np.asarray(occurrences.ids, np.int64)
    slice_of = fitted.rows.slices.of_document.astype(np.int64)
    slices, size = len(fitted.rows.slices), len(occurrences.vocabularies[0])
    row = fitted.slot[fitted.rows.word_start(0, 0) + slice_of * size + word].astype(np.int64)
    sums = OccurrenceSums.of(vectors, row, word, fitted.graph.own, size)
    posterior = GaussianPosterior(fitted.graph, sums)
    inverse = np.linalg.inv(sums.root)
    found = {}
    for id in ids:
        mine = np.flatnonzero(word == id)
        slots = fitted.slot[fitted.rows.word_start(0, 0) + np.arange(slices) * size + id].astype(np.int64)
        nodes, place = np.unique(slots, return_inverse=True)  # tied slices share one
        node = place[slice_of[mine]]
        z = (np.asarray(vectors[mine], np.float64) - sums.center) @ inverse
        noise = float(sums.word_noise[id])
        score = np.zeros((units, len(nodes), z.shape[1]))
        np.add.at(score, (unit[mine], node), (z - posterior.mean[nodes][node]) / noise)
        count = np.zeros((units, len(nodes)))
        np.add.at(count, (unit[mine], node), 1 / noise)
        covariance = posterior.covariance(nodes)
        influence = np.zeros_like(score)
        for c in np.unique(unit[mine]).tolist():
            influence[c] = np.linalg.solve(np.eye(len(nodes)) - covariance * count[c], covariance @ score[c])
        mean = posterior.mean[nodes] @ sums.root
        found[id] = mean[place], (influence @ sums.root).transpose(1, 0, 2)[place]
    return found


def units_of(occurrences: Occurrences, cluster: NDArray[np.integer]) -> tuple[Ints, int]:
    """The number of the unit of each occurrence, and how many there are."""
    names, number = np.unique(cluster, return_inverse=True)
    return number.astype(np.int64), len(names)
