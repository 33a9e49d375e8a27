"""Baselines that change fitted vectors: mappings between languages, and retrofitting to pairs of words.

A mapping brings one language into the space of another by known translations (paper, "Cross-lingual PELP"):

    min Σ_pairs weight ‖x_v W − z_w‖²,   W orthogonal (Proposition 5), or any matrix, perhaps with a ridge

Retrofitting (Faruqui et al. 2015) brings the words of a pair closer. Its fixed point, which others iterate towards, is

    unweighted   q_i = (q̂_i + strength · mean of q_j over the neighbors j of i) / (1 + strength)
    weighted     q_i = (q̂_i + strength Σ_j w_ij q_j) / (1 + strength Σ_j w_ij),
                 the minimum of Σ_i ‖q_i − q̂_i‖² + strength Σ_pairs w_ij ‖q_i − q_j‖²

The first is the second if word i has the weight n_i of its neighbors in the first sum, so that both are one linear
system, (diag(a) + strength · L) q = a q̂, with L the graph's Laplacian; conjugate gradients solve it for all dimensions
together. A pair of negative weight should be unlike, ‖q_i + q_j‖². n words in pairs, S slices, V words, D dimensions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, cg

from laplex.embeddings import Embeddings
from laplex.errors import InputError, explain_keywords
from laplex.fitting.rotation import rotation
from laplex.lexicons.pairs import read_pairs
from laplex.lexicons.wordpairs import WordPairs
from laplex.questions import cosine
from laplex.runtime.display import Bar, bar, say
from laplex.text.vocabulary import Vocabulary

Floats = NDArray[np.float64]
RELATIVE_TOLERANCE = 1e-9  # of retrofitting's solution; vectors are float32


@explain_keywords
def only(embeddings: Embeddings, language: str | None = None, *, at: Mapping[str, Any] | None = None) -> Embeddings:
    """The vectors of one language in one slice, and its contexts.

    Args:
        embeddings: Vectors of several languages or slices.
        language: The language, if there are several.
        at: The value of every column that the vectors vary by.

    Returns:
        Embeddings of one language and one slice, with the standard deviations of a variational fit.

    Example:
        lx.baselines.only(fitted, at={"party": "D"})
    """
    index, number = embeddings.language(language), embeddings.slice(at)
    known = embeddings.rows.vocabularies[index]
    vocabulary = Vocabulary(known.words, embeddings.counts[index][number], known.language, known.phrases.values())
    contexts = contexts_of(embeddings)[index : index + 1]
    spread, vectors = None, [embeddings.block(index, number)]
    if embeddings.spread is not None:
        slots = [embeddings.slots(index, place) for place in ([number, None] if contexts else [number])]
        spread = embeddings.spread[np.concatenate(slots)]
    return Embeddings.of([vocabulary], vectors, contexts=contexts, settings=embeddings.settings, spread=spread)


def stacks_of(embeddings: Embeddings) -> list[NDArray[np.float32]]:
    """(S, V, D) The word vectors of each language."""
    languages, slices = range(len(embeddings.languages)), range(len(embeddings.rows.slices))
    return [np.stack([embeddings.block(index, slice) for slice in slices]) for index in languages]


def contexts_of(embeddings: Embeddings) -> list[NDArray[np.float32]]:
    """(V, D) The context vectors of each language; an empty list if there are none."""
    if (embeddings.slot[embeddings.rows.context_start(0) :] < 0).any():
        return []
    return [embeddings.block(index, None) for index in range(len(embeddings.languages))]


def orthogonal_mapping(
    source: Embeddings, target: Embeddings, pairs: Any, *, center: bool = False, normalize: bool = False
) -> Embeddings:
    """Both languages in one space: the source rotated onto the target by the pairs of words.

    Nothing changes within the source language. Context vectors are rotated too, if both languages have them.

    Args:
        source: Vectors of one language.
        target: Vectors of another language, with the same number of dimensions.
        pairs: A file, a frame or tuples (source word, target word[, weight]), or the other way around.
        center: Subtract the mean of each language first; the result stays centered.
        normalize: Scale all word vectors to length one first (before centering); the result stays so.

    Returns:
        Embeddings of both languages, without the standard deviations of a variational fit.

    Example:
        lx.baselines.orthogonal_mapping(italian, english, "it-en.txt")
    """
    _check_single(source, target)
    if source.dimensions != target.dimensions:
        raise InputError(
            f"the source has {source.dimensions} dimensions, the target {target.dimensions}: "
            "a rotation needs the same, linear_mapping does not"
        )
    x, z = (one.block(0, 0).astype(np.float64) for one in (source, target))
    if normalize:
        x, z = np.nan_to_num(cosine.normalize(x)), np.nan_to_num(cosine.normalize(z))
    if center:
        x, z = x - x.mean(0), z - z.mean(0)
    left, right, weight = _known_pairs(read_pairs(pairs), source, target, source.dimensions)
    scale = np.sqrt(weight)[:, None]
    matrix = rotation(scale * x[left], scale * z[right])
    contexts: list[Any] = contexts_of(source) + contexts_of(target)
    contexts = [contexts[0] @ matrix, contexts[1]] if len(contexts) == 2 else []
    record = {"name": "orthogonal mapping", "pairs": len(left), "center": center, "normalize": normalize}
    return _joined(source, target, x @ matrix, z, contexts, record)


def linear_mapping(source: Embeddings, target: Embeddings, pairs: Any, *, ridge: float = 0.0) -> Embeddings:
    """Both languages in one space: the source mapped by the matrix that minimizes squared distances of the pairs.

    Lengths and angles within the source change, and its products with contexts too: these are left out.

    Args:
        source: Vectors of one language.
        target: Vectors of another language.
        pairs: A file, a frame or tuples (source word, target word[, weight]), or the other way around.
        ridge: The weight of the penalty ‖W‖².

    Returns:
        Embeddings of both languages, without contexts and without the standard deviations of a variational fit.

    Example:
        lx.baselines.linear_mapping(italian, english, "it-en.txt", ridge=1.0)
    """
    _check_single(source, target)
    if not np.isfinite(ridge) or ridge < 0:
        raise InputError(f"ridge={ridge!r} must be a number from 0")
    x, z = source.block(0, 0).astype(np.float64), target.block(0, 0)
    left, right, weight = _known_pairs(read_pairs(pairs), source, target, 1 if ridge else source.dimensions)
    scale, size = np.sqrt(weight)[:, None], source.dimensions
    one = np.concatenate([scale * x[left], np.sqrt(ridge) * np.eye(size)])
    two = np.concatenate([scale * z[right], np.zeros((size, target.dimensions))])
    matrix = np.linalg.lstsq(one, two, rcond=None)[0]
    record = {"name": "linear mapping", "pairs": len(left), "ridge": float(ridge)}
    return _joined(source, target, x @ matrix, z, [], record)


def _check_single(source: Embeddings, target: Embeddings) -> None:
    for name, one in (("source", source), ("target", target)):
        if len(one.languages) > 1 or len(one.rows.slices) > 1:
            raise InputError(
                f"the {name} has {len(one.languages)} languages and {len(one.rows.slices)} slices, a map is between "
                'single ones: choose with baselines.only(vectors, language="en", at={"party": "D"})'
            )
    if source.languages == target.languages:
        raise InputError(
            f'both vectors are of the language "{source.languages[0]}": read them with language="en" and language="it" '
            "to map them, or align() them if they are of the same"
        )


def _known_pairs(
    pairs: WordPairs, source: Embeddings, target: Embeddings, needed: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats]:
    """Ids and weights of the pairs whose words are known, in the order of languages that knows more of them."""
    here, there = source.rows.vocabularies[0], target.rows.vocabularies[0]
    (left, right), (second, first) = pairs.ids(here, there), pairs.ids(there, here)
    known, swapped = (left >= 0) & (right >= 0), (first >= 0) & (second >= 0)
    languages = here, there
    if swapped.sum() > known.sum():
        left, right, known, languages = first, second, swapped, (there, here)
    if (pairs.weight[known] < 0).any():
        raise InputError(f"{pairs.name} has negative weights: a map can only bring words together")
    if known.sum() < needed:
        raise InputError(
            f"{known.sum():,} of {len(pairs):,} pairs of {pairs.name} have both words in the vocabularies "
            f"({len(here):,} and {len(there):,} words), the map needs {needed:,}: check the languages, or give more "
            "pairs; linear_mapping with a ridge needs only one"
        )
    if 2 * known.sum() < len(pairs):
        say(pairs.coverage(*languages))
    return left[known], right[known], pairs.weight[known]


def _joined(
    source: Embeddings, target: Embeddings, x: Any, z: Any, contexts: list[Any], record: dict[str, Any]
) -> Embeddings:
    """Embeddings of both languages, with the vectors x of the source and z of the target."""
    vocabularies = [
        Vocabulary(one.words(), one.counts[0][0], one.languages[0], one.rows.vocabularies[0].phrases.values())
        for one in (source, target)
    ]
    settings = {"baseline": record, "source": source.settings, "target": target.settings}
    return Embeddings.of(vocabularies, [x, z], contexts=contexts, settings=settings)


def retrofit(
    embeddings: Embeddings,
    pairs: Any,
    *,
    strength: float = 1.0,
    weighted: bool = False,
    language: str | None = None,
    quiet: bool = False,
) -> Embeddings:
    """Retrofit the word vectors of each slice to pairs of words; words without a pair and contexts stay as they are.

    Args:
        embeddings: The vectors.
        pairs: A file, a frame or tuples (word, word[, weight]).
        strength: How strongly a word is drawn to the words it is paired with; Faruqui et al. take 1.
        weighted: Let pairs count by their weights, so that a word with many pairs is drawn more. Otherwise each pair
            counts once, and a word is drawn to the mean of its neighbors, as in Faruqui et al.
        language: The language of the pairs, if there are several.
        quiet: Print nothing.

    Returns:
        Embeddings with the same words and slices, without the standard deviations of a variational fit.

    Example:
        lx.baselines.retrofit(fitted, lx.lexicons.synonyms("thesaurus.txt"))
    """
    if not np.isfinite(strength) or strength < 0:
        raise InputError(f"strength={strength!r} must be a number from 0")
    index = embeddings.language(language)
    pairs, vocabulary = read_pairs(pairs), embeddings.rows.vocabularies[index]
    ids, weights = _adjacency(pairs, vocabulary, weighted)
    say(pairs.coverage(vocabulary, vocabulary), quiet=quiet)
    degree = np.asarray(abs(weights).sum(axis=1)).reshape(-1)
    own_weight = np.ones(len(degree)) if weighted else np.maximum(degree, 1.0)  # the degree is 0 where pairs cancel
    system = sparse.csr_array(sparse.diags_array(own_weight + strength * degree) - strength * weights)
    stacks = stacks_of(embeddings)
    with bar("retrofitting", quiet=quiet) as progress:
        for slice in stacks[index]:
            slice[ids] = _solve(system, own_weight, slice[ids].astype(np.float64), progress)
    record = {"name": "retrofit", "pairs": weights.nnz // 2, "strength": float(strength), "weighted": weighted}
    return Embeddings.of(
        embeddings.rows.vocabularies,
        stacks,
        slices=embeddings.rows.slices,
        counts=embeddings.counts,
        contexts=contexts_of(embeddings),
        settings={**embeddings.settings, "baseline": record},
    )


def _adjacency(pairs: WordPairs, vocabulary: Vocabulary, weighted: bool) -> tuple[NDArray[np.int64], sparse.csr_array]:
    """The ids of the words in pairs, and the matrix of weights among them (n, n)."""
    left, right = pairs.ids(vocabulary, vocabulary)
    known = (left >= 0) & (right >= 0) & (left != right) & (pairs.weight != 0)
    if not known.any():
        one = np.count_nonzero((left >= 0) | (right >= 0))
        raise InputError(
            f"no pair of {pairs.name} has both words in the vocabulary ({len(vocabulary):,} words; {one:,} of "
            f"{len(pairs):,} pairs have one): check the language"
        )
    ids, place = np.unique(np.stack([left[known], right[known]]), return_inverse=True)
    first, second = place.reshape(2, -1)
    # weights of pairs that are listed twice, or in both orders, are added
    half = sparse.coo_array((pairs.weight[known], (first, second)), shape=(len(ids), len(ids))).tocsr()
    weights = sparse.csr_array(half + half.T)
    if not weighted:
        weights.data = np.sign(weights.data)
    weights.eliminate_zeros()
    return ids, weights


def _solve(system: sparse.csr_array, own_weight: Floats, start: Floats, progress: Bar) -> Floats:
    """The q of system · q = own_weight · start, (n, D)."""
    shape, size = start.shape, (start.size, start.size)
    diagonal = system.diagonal()[:, None]
    steps = 0

    def count(_: Floats) -> None:
        nonlocal steps
        steps += 1
        progress.update(None, f"step {steps:,}")

    product = LinearOperator(size, lambda q: (system @ q.reshape(shape)).reshape(-1), dtype=float)
    preconditioner = LinearOperator(size, lambda q: (q.reshape(shape) / diagonal).reshape(-1), dtype=float)
    right = (own_weight[:, None] * start).reshape(-1)
    solution, failed = cg(
        product, right, start.reshape(-1), rtol=RELATIVE_TOLERANCE, maxiter=100_000, M=preconditioner, callback=count
    )
    if failed:
        raise InputError(f"retrofitting does not settle in {failed:,} steps: lower its strength or the pairs' weights")
    return np.asarray(solution, np.float64).reshape(shape)
