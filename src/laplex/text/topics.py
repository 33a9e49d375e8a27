"""Topics of documents: a quick clustering that knows no labels, only words.

Each document is the vector of its words, log(1 + count) · log(M / documents with the word), of length one. Words that
are rare, of one letter, or in more than half of the documents are left out. Its place among the 50 dimensions in which
documents differ most (latent semantic analysis, by a randomized singular value decomposition) is clustered by direction
(spherical k-means). All of this is estimated from a sample of documents, then every document gets the nearest topic.
Each language has topics of its own. M documents, V words, K topics.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import takewhile
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from threadpoolctl import threadpool_limits

from laplex.errors import InputError, check_int
from laplex.runtime.display import bar
from laplex.text.tokens import Tokens

TOPIC = "topic"  # the column that tests know, also if the text has none
DEFAULT_COUNT = 20
MIN_COUNT = 20  # of a word that tells topics apart
MAX_SHARE = 0.5  # of the documents that have such a word
SAMPLE_DOCUMENTS = 20_000
DIMENSIONS = 50
MORE_DIMENSIONS = 10  # than are kept, which makes the decomposition more exact
POWER_ITERATIONS = 3
STARTS = 8
MAX_ITERATIONS = 50
WORDS_IN_NAME = 3
MIN_STEM = 7  # letters at the beginning that forms of one word share
MAX_RANKED = 50  # words among which those of a name are found

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Topics:
    """The topic of document m is `names[code[m]]`.

    Attributes:
        code: (M) int32. The topic of each document.
        names: The three words that are most typical of each topic.
    """

    code: NDArray[np.int32]
    names: list[str]


def document_topics(tokens: Tokens, count: int, seed: int = 1, quiet: bool = False) -> Topics:
    """Cluster documents by their words.

    Args:
        tokens: The tokens of a corpus.
        count: The number of topics, in each language.
        seed: The random seed. The same seed gives the same topics.
        quiet: Show no progress.

    Returns:
        The topic of each document. Documents without a word that counts have the largest topic of their language.

    Example:
        >>> import laplex as lx
        >>> rows = [{"text": text} for text in ("tax budget spending", "school teacher college")] * 30
        >>> document_topics(lx.Tokens.of(lx.read(rows), quiet=True), 2).names
        ['budget, spending, tax', 'college, school, teacher']
    """
    count = check_int("count", count, 2)
    code, names = np.zeros(tokens.documents, np.int32), list[str]()
    languages = len(tokens.vocabularies)
    with bar("finding topics", quiet=quiet) as progress, threadpool_limits(1, user_api="blas"):  # to be repeatable
        for language in range(languages):

            def advance(share: float, detail: str, done: int = language) -> None:
                progress.update((done + share) / languages, detail)

            space = _WordSpace(tokens, language, seed)
            advance(0.3, "counting words")
            clusters = _Clusters(space, count, seed, advance)
            occurring, found = np.unique(clusters.of_all_documents(advance), return_inverse=True)
            code[space.documents] = found + len(names)
            named = clusters.names(names)
            names += [named[cluster] for cluster in occurring]
    return Topics(code, names)


_KEPT: WeakKeyDictionary[Tokens, Tokens] = WeakKeyDictionary()  # with topics, so that these are found once


def with_topics(tokens: Tokens, *, quiet: bool = False) -> Tokens:
    """The same text with a column "topic" of 20 topics, if it has none; they are kept while the text is in memory.

    Args:
        tokens: The tokens of a corpus.
        quiet: Show no progress.

    Returns:
        The tokens with that column.

    Example:
        with_topics(lx.Tokens.of(lx.demo())).values("topic")
    """
    if TOPIC not in tokens.columns and tokens not in _KEPT:
        found = document_topics(tokens, DEFAULT_COUNT, quiet=quiet)
        _KEPT[tokens] = tokens.with_column(TOPIC, found.code, found.names)
    return _KEPT.get(tokens, tokens)


class _WordSpace:
    """The words of a language by which its documents are told apart, and documents as vectors of these.

    Attributes:
        documents: The documents of the language.
        sample: (sampled documents, V) Some of these as vectors.
    """

    def __init__(self, tokens: Tokens, language: int, seed: int) -> None:
        self._tokens, vocabulary = tokens, tokens.vocabularies[language]
        self.language = vocabulary.language
        self.documents = np.flatnonzero(tokens.languages == language)
        chosen = self.documents
        if len(chosen) > SAMPLE_DOCUMENTS:
            chosen = np.sort(np.random.default_rng(seed).choice(chosen, SAMPLE_DOCUMENTS, replace=False))
        self._size = len(vocabulary)
        counts = sparse.vstack([self._counts(part) for part in self._pieces(chosen)], format="csr")
        having = np.bincount(counts.indices, minlength=self._size)
        long = np.array([len(word) > 1 for word in vocabulary.words])
        kept = long & (vocabulary.counts >= MIN_COUNT) & (having > 0) & (having <= MAX_SHARE * len(chosen))
        self._columns = np.flatnonzero(kept)
        self.words = [vocabulary.words[i] for i in self._columns]
        self._weights = np.log(len(chosen) / having[kept]).astype(np.float32)
        sample = self._vectors(counts)
        self.sample = sample[np.diff(sample.indptr) > 0]

    def vectors(self) -> Iterator[sparse.csr_matrix]:
        """(documents, V) The vectors of all documents, some at a time."""
        for part in self._pieces(self.documents):
            yield self._vectors(self._counts(part))

    def _pieces(self, documents: Ints) -> Iterator[Ints]:
        """Documents in pieces of about as many tokens."""
        from laplex.text.slices import spans

        ends = np.concatenate([[0], np.cumsum(np.diff(self._tokens.offsets)[documents])])
        for first, last in spans(ends):
            yield documents[first:last]

    def _counts(self, documents: Ints) -> sparse.csr_matrix:
        """(documents, V) How often each document has each word."""
        ids = [self._tokens.document(m) for m in documents.tolist()]
        starts = np.concatenate([[0], np.cumsum([len(each) for each in ids])])
        flat = np.concatenate([np.empty(0, np.int32), *ids])
        counts = sparse.csr_matrix((np.ones(len(flat), np.float32), flat, starts), (len(ids), self._size))
        counts.sum_duplicates()
        return counts

    def _vectors(self, counts: sparse.csr_matrix) -> sparse.csr_matrix:
        vectors = counts[:, self._columns]
        vectors.data = np.log1p(vectors.data) * self._weights[vectors.indices]
        squares = np.add.reduceat(np.append(vectors.data**2, 0), vectors.indptr[:-1])
        lengths = np.sqrt(np.where(np.diff(vectors.indptr) > 0, squares, 1))
        vectors.data /= np.repeat(lengths, np.diff(vectors.indptr)).astype(np.float32)
        return vectors


class _Clusters:
    """Clusters of documents by direction, estimated from a sample."""

    def __init__(self, space: _WordSpace, count: int, seed: int, advance: Callable[[float, str], None]) -> None:
        self._space, self._count = space, count
        available = space.sample.shape[0]
        if available < count:
            of = f' of "{space.language}"' if space.language else ""
            raise InputError(
                f"count={count}: only {available:,} documents{of} have words that tell topics apart, which occur "
                f"{MIN_COUNT} times and in at most half of the documents: give more text or fewer topics"
            )
        rng = np.random.default_rng(seed)
        self._axes = _axes(space.sample, min(DIMENSIONS, available, space.sample.shape[1]), rng)
        points = _normalized(space.sample @ self._axes)
        starts = []
        for start in range(STARTS):
            starts.append(_k_means(points, count, rng))
            advance(0.3 + 0.2 * (start + 1) / STARTS, "clustering")
        _, centers = max(starts, key=lambda found: found[0])
        nearest = (points @ centers.T).argmax(1)
        sizes = np.bincount(nearest, minlength=count)
        order = np.argsort(-sizes, kind="stable")
        self._centers = centers[order]
        self._nearest = np.argsort(order)[nearest]

    def of_all_documents(self, advance: Callable[[float, str], None]) -> Ints:
        """The cluster of each document of the language."""
        clusters, done = [], 0
        for vectors in self._space.vectors():
            found = (_normalized(vectors @ self._axes) @ self._centers.T).argmax(1)
            found[np.diff(vectors.indptr) == 0] = 0  # the largest
            clusters.append(found)
            done += len(found)
            advance(0.5 + 0.5 * done / len(self._space.documents), f"{done:,} documents")
        return np.concatenate(clusters)

    def names(self, others: list[str]) -> list[str]:
        """The words of each cluster whose weight exceeds that in all documents most, unlike the names of `others`."""
        sample, member = self._space.sample, _indicators(self._nearest, self._count)
        sizes = np.maximum(np.asarray(member.sum(1)), 1)
        inside, mean = (member @ sample).toarray() / sizes, np.asarray(sample.mean(0))
        typical = inside * np.log(np.maximum(inside / mean, 1)) ** 2
        typical *= 1 + (typical == typical.max(0))  # a word names the topic that it is most typical of
        names: list[str] = []
        for cluster in range(self._count):
            ranked = [self._space.words[i] for i in np.argsort(-typical[cluster], kind="stable")[:MAX_RANKED]]
            names.append(_name(ranked, {*others, *names}))
        return names


def _name(ranked: list[str], taken: set[str]) -> str:
    """The first words, without other forms of those before them (farm, farmers); more of them if the name is taken."""
    words = [word for i, word in enumerate(ranked) if not any(_same_stem(word, other) for other in ranked[:i])]
    lengths = range(WORDS_IN_NAME, max(len(words), WORDS_IN_NAME) + 1)
    names = [", ".join(words[:length]) for length in lengths]
    return next((name for name in names if name not in taken), f"{names[0]} ({len(taken) + 1})")


def _same_stem(one: str, two: str) -> bool:
    """Whether two words seem to be forms of one: one is the beginning of the other, or both begin alike.

    >>> _same_stem("farm", "farmers"), _same_stem("immigrants", "immigration"), _same_stem("transit", "transport")
    (True, True, False)
    """
    common = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, two)))
    return common >= MIN_STEM or (common == min(len(one), len(two)) and common > 2)


def _axes(vectors: sparse.csr_matrix, count: int, rng: np.random.Generator) -> Floats:
    """(V, count) The right singular vectors of the largest singular values, by a randomized range finder."""
    width = min(count + MORE_DIMENSIONS, *vectors.shape)
    basis = rng.standard_normal((vectors.shape[1], width), np.float32)
    transposed = vectors.T.tocsr()
    for _ in range(POWER_ITERATIONS):
        basis = np.linalg.qr(transposed @ (vectors @ basis))[0]
    right = np.linalg.svd(vectors @ basis, full_matrices=False)[2]
    return np.ascontiguousarray((basis @ right.T)[:, :count])


def _k_means(points: Floats, count: int, rng: np.random.Generator) -> tuple[float, Floats]:
    """Spherical k-means from one k-means++ start: the mean cosine of points to their centers, and the centers."""
    centers = points[[int(rng.integers(len(points)))]]
    distance = np.full(len(points), np.inf)
    for _ in range(count - 1):
        distance = np.minimum(distance, np.maximum(1.0 - points @ centers[-1], 1e-12))
        shares = distance / distance.sum(dtype=np.float64)
        centers = np.vstack([centers, points[rng.choice(len(points), p=shares / shares.sum())]])
    score = -np.inf
    for _ in range(MAX_ITERATIONS):
        cosines = points @ centers.T
        nearest = cosines.argmax(1)
        best = cosines[np.arange(len(points)), nearest]
        if best.mean() <= score + 1e-6:
            break
        score = float(best.mean())
        centers = _indicators(nearest, count) @ points
        empty = np.flatnonzero(np.bincount(nearest, minlength=count) == 0)
        centers[empty] = points[np.argsort(best)[: len(empty)]]  # those that fit worst
        centers = _normalized(centers)
    return score, centers


def _indicators(cluster: Ints, count: int) -> sparse.csr_matrix:
    """(count, points) One where a point is in a cluster."""
    ones, points = np.ones(len(cluster), np.float32), np.arange(len(cluster))
    return sparse.csr_matrix((ones, (cluster, points)), (count, len(cluster)))


def _normalized(rows: Floats) -> Floats:
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, None]
    lengths[lengths == 0] = 1
    normalized: Floats = rows / lengths
    return normalized
