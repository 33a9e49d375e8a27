"""One language laid into the space of another by a map that known translations determine.

    min Σ_pairs weight ‖x_v W − z_w‖²                    (paper, "Cross-lingual PELP": mapping methods)

orthogonal   W Wᵀ = I, in closed form: nothing changes within the source language (Proposition 5)
linear       any W, by least squares, perhaps with a ridge

Embeddings of two languages and pairs of words come in; Embeddings with both languages go out, those of the target as
they were. X (N, D) are the source's vectors in N pairs, Z (N, D) those of the target.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from laplex.baselines.alignment import contexts_of
from laplex.embeddings import Embeddings
from laplex.errors import InputError
from laplex.lexicons.pairs import WordPairs, read_pairs
from laplex.rotation import rotation
from laplex.vocabulary import Vocabulary

Floats = NDArray[np.float64]


def orthogonal_mapping(
    source: Embeddings, target: Embeddings, pairs: Any, *, center: bool = False, normalize: bool = False
) -> Embeddings:
    """Both languages in one space: the source rotated onto the target, as well as the pairs of words allow.

    With `normalize` all word vectors of both are brought to length one before, and with `center` the mean of each
    language is then taken off; they stay so in the result. Context vectors are rotated too, if both have them.
    `pairs` is a file, a frame or tuples (source word, target word[, weight]), or the other way around.
    """
    _check_ends(source, target)
    if source.dimensions != target.dimensions:
        raise InputError(
            f"the source has {source.dimensions} dimensions, the target {target.dimensions}: "
            "a rotation needs the same, linear_mapping does not"
        )
    x, z = (_prepared(one.block(0, 0), center, normalize) for one in (source, target))
    left, right, weight = _known(read_pairs(pairs), source, target, source.dimensions)
    by = np.sqrt(weight)[:, None]
    turn = rotation(by * x[left], by * z[right])
    ours, theirs = contexts_of(source), contexts_of(target)
    contexts = [ours[0] @ turn, theirs[0]] if ours and theirs else None
    said = {"name": "orthogonal mapping", "pairs": len(left), "center": center, "normalize": normalize}
    return _both(source, target, x @ turn, z, contexts, said)


def linear_mapping(source: Embeddings, target: Embeddings, pairs: Any, *, ridge: float = 0.0) -> Embeddings:
    """Both languages in one space: the source mapped by the matrix W that minimises the squared distances of the pairs.

    `ridge` adds ridge · ‖W‖². Lengths and angles within the source change, and so do the products of its words and
    contexts: context vectors are left out.
    """
    _check_ends(source, target)
    if not np.isfinite(ridge) or ridge < 0:
        raise InputError(f"ridge={ridge!r} must be a number from 0")
    x, z = source.block(0, 0).astype(np.float64), target.block(0, 0)
    left, right, weight = _known(read_pairs(pairs), source, target, 1 if ridge else source.dimensions)
    by = np.sqrt(weight)[:, None]
    size = source.dimensions
    one = np.concatenate([by * x[left], np.sqrt(ridge) * np.eye(size)])
    two = np.concatenate([by * z[right], np.zeros((size, target.dimensions))])
    matrix = np.linalg.lstsq(one, two, rcond=None)[0]
    return _both(
        source, target, x @ matrix, z, None, {"name": "linear mapping", "pairs": len(left), "ridge": float(ridge)}
    )


def _check_ends(source: Embeddings, target: Embeddings) -> None:
    for name, one in (("source", source), ("target", target)):
        if len(one.languages) > 1 or len(one.rows.slices) > 1:
            raise InputError(
                f"the {name} has {len(one.languages)} languages and {len(one.rows.slices)} slices, a map is between "
                'single ones: choose with baselines.only(vectors, language="en", party="D")'
            )
    if source.languages == target.languages:
        raise InputError(
            f'both vectors are of the language "{source.languages[0]}": read them with language="en" and language="it" '
            "to map them, or align() them if they are of the same"
        )


def _prepared(block: NDArray[np.float32], center: bool, normalize: bool) -> Floats:
    vectors = block.astype(np.float64)
    if normalize:
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        vectors /= np.where(lengths > 0, lengths, 1.0)
    return vectors - vectors.mean(0) if center else vectors


def _known(
    pairs: WordPairs, source: Embeddings, target: Embeddings, needed: int
) -> tuple[list[int], list[int], NDArray[np.float64]]:
    """Ids and weights of the pairs whose words are known, in the order of languages that knows more of them."""
    here, there = source.rows.vocabularies[0], target.rows.vocabularies[0]
    straight = _found(pairs.left, pairs.right, here, there)
    turned = _found(pairs.right, pairs.left, here, there)
    numbers, left, right = max(straight, turned, key=lambda found: len(found[0]))
    weight = pairs.weight[numbers]
    if (weight < 0).any():
        raise InputError(f"{pairs.name} has negative weights: a map can only bring words together")
    if len(numbers) < needed:
        raise InputError(
            f"{len(numbers):,} of {len(pairs):,} pairs of {pairs.name} have both words in the vocabularies "
            f"({len(here):,} and {len(there):,} words), the map needs {needed:,}: check the languages, or give more "
            "pairs; linear_mapping with a ridge needs only one"
        )
    return left, right, weight


def _found(
    one: list[str], two: list[str], here: Vocabulary, there: Vocabulary
) -> tuple[list[int], list[int], list[int]]:
    numbers = [i for i, (v, w) in enumerate(zip(one, two, strict=True)) if v in here and w in there]
    return numbers, [here[one[i]] for i in numbers], [there[two[i]] for i in numbers]


def _both(
    source: Embeddings, target: Embeddings, x: Any, z: Any, contexts: list[Any] | None, said: dict[str, Any]
) -> Embeddings:
    ends = (source, target)
    vocabularies = [
        Vocabulary(one.rows.vocabularies[0].words, one.counts[0][0], one.rows.vocabularies[0].language) for one in ends
    ]
    settings = {"baseline": said, "source": source.settings, "target": target.settings}
    return Embeddings.of(vocabularies, [x, z], contexts=contexts, settings=settings)
