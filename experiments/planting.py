"""Known differences between groups, planted into a real text.

Labels are permuted among the clusters (the senators), so that words differ between the groups only by chance. Then
words are exchanged in one group: each occurrence of either word of a pair becomes the other with a given probability.
A method should find these words and no others. V words, M documents.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import laplex as lx
from laplex.runtime import storage

MIN_CLUSTERS, MIN_COUNT = 25, 100


@dataclass(frozen=True, eq=False)
class Planted:
    tokens: lx.Tokens
    candidates: NDArray[np.int64]  # the words to rank, which enough clusters of both groups use
    changed: NDArray[np.bool_]  # (candidates) whether the word was planted


def permute_labels(tokens: lx.Tokens, column: str, cluster: str, seed: int) -> NDArray[np.int32]:
    """(M) The codes of `column`, permuted among the clusters."""
    owner, label = tokens.codes(cluster), tokens.codes(column)
    clusters, first = np.unique(owner, return_index=True)
    of_cluster = np.zeros(int(owner.max()) + 1, np.int32)
    of_cluster[clusters] = np.random.default_rng([seed, 1]).permutation(label[first])
    permuted: NDArray[np.int32] = of_cluster[owner]
    return permuted


def plant(
    tokens: lx.Tokens, column: str, cluster: str, share: float, words: int, seed: int, min_clusters: int = MIN_CLUSTERS
) -> Planted:
    """Permute the labels, and exchange pairs of words of nearly the same frequency in the first group."""
    label = permute_labels(tokens, column, cluster, seed)
    candidates = _used(tokens, label, tokens.codes(cluster), min_clusters)
    counts = tokens.vocabularies[0].counts
    order = candidates[np.argsort(-counts[candidates], kind="stable")]
    random = np.random.default_rng([seed, 2])
    # partners are neighbors in the order of frequency, at even places of the list, so that all frequencies occur
    starts = np.linspace(0, len(order) - 2, words // 2).astype(np.int64) // 2 * 2
    starts = np.unique(starts)
    partner = np.arange(len(tokens.vocabularies[0]), dtype=np.int32)
    partner[order[starts]], partner[order[starts + 1]] = order[starts + 1], order[starts]
    position_label = np.repeat(label, np.diff(tokens.offsets))
    ids = np.array(tokens.ids)
    moved = (partner[ids] != ids) & (position_label == 0) & (random.random(len(ids), np.float32) < share)
    ids[moved] = partner[ids[moved]]
    changed = partner[candidates] != candidates
    name = f"{tokens.digest}/planted/{seed}/{share}"
    return Planted(_with(tokens, ids, column, label, name), candidates, changed)


def _used(
    tokens: lx.Tokens, label: NDArray[np.int32], owner: NDArray[np.int32], min_clusters: int
) -> NDArray[np.int64]:
    """The words that occur often enough, and in enough clusters of each group."""
    size = len(tokens.vocabularies[0])
    lengths = np.diff(tokens.offsets)
    cells = np.unique(np.repeat(owner.astype(np.int64), lengths) * size + tokens.ids)
    group = np.zeros(int(owner.max()) + 1, np.int64)
    group[owner] = label
    groups = int(label.max()) + 1
    clusters = np.bincount(group[cells // size] * size + cells % size, minlength=groups * size).reshape(groups, size)
    used = (clusters.min(0) >= min_clusters) & (tokens.vocabularies[0].counts >= MIN_COUNT)
    return np.flatnonzero(used)


def _with(tokens: lx.Tokens, ids: NDArray[np.int32], column: str, label: NDArray[np.int32], digest: str) -> lx.Tokens:
    """The same documents with other words and labels."""
    vocabulary = tokens.vocabularies[0]
    arrays = {"ids": ids, "offsets": tokens.offsets, "languages": tokens.languages}
    arrays["words/0/text"], arrays["words/0/starts"] = storage.pack(vocabulary.words)
    arrays["counts/0"] = np.bincount(ids, minlength=len(vocabulary))
    for name in tokens.columns:
        arrays[f"codes/{name}"] = label if name == column else tokens.codes(name)
        arrays[f"values/{name}/text"], arrays[f"values/{name}/starts"] = storage.pack(tokens.values(name))
    return lx.Tokens(storage.Saved(tokens.folder, "tokens", dict(tokens.settings), arrays, digest))


def average_precision(score: NDArray[np.float64], changed: NDArray[np.bool_]) -> float:
    """The mean, over the planted words, of the share of planted words among those ranked at least as high."""
    order = np.argsort(-score, kind="stable")
    hit = changed[order]
    return float((np.cumsum(hit) / np.arange(1, len(hit) + 1))[hit].mean())


def precision_at(score: NDArray[np.float64], changed: NDArray[np.bool_], top: int) -> float:
    return float(changed[np.argsort(-score, kind="stable")[:top]].mean())
