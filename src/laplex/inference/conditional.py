"""The posterior of some vectors while all others and the contexts are held: its prior, its maximum, its curvature.

Vectors that move together form a VectorBlock, whose Gaussian prior given the rest of θ is

    log p(x | rest) = −½ tr xᵀ Q x + tr pullᵀ x + constant,   Q the block's part of L + D.

With h a context, K P(w) the negatives of word w at a position,

    log p(x | text) = Σ_where the word stands log σ(x·h) + K P(w) Σ_everywhere log σ(−x·h) + log p(x | rest),

which has one maximum. Newton's steps are halved until the log posterior rises. The curvature is that of some of the
contexts, chosen in proportion to what they add to it; the log posterior and its gradient are those of all of them.

With few occurrences the maximum is nearer to zero than the mean is, in each of many dimensions: a little in each, but
much in the length. So a Gaussian q is fitted for which KL(q ‖ posterior) is least: there the posterior's gradient is
zero on average, and the precision is the average of its curvature,

    E_q ∇ log p(x | text) = 0,    Σ⁻¹ = E_q [−∇² log p(x | text)].

A score x·h is Gaussian under q, and the logistic function is a mixture of normal distribution functions (their scales
twice those of Kolmogorov's distribution), so that expectations are sums. Of many contexts a sample says how the
expectations differ from what is known at the maximum.
With absent="filled" a word moves where it occurs; elsewhere it follows, x_a = C_ap C_pp⁻¹ x_p plus prior noise.
S slices, w words of a block, n vectors of a block (rows that are tied share one), a absent ones, k vectors evaluated
at once, m contexts, D dimensions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import NamedTuple, TypeVar

import numpy as np
import scipy
from numpy.typing import NDArray

from laplex.embeddings import Embeddings
from laplex.errors import InputError, LaplexError
from laplex.inference.statistics import Contexts
from laplex.inference.units import Floats, Ints

AnyContexts = TypeVar("AnyContexts", bound=Contexts)
CURVATURE_CONTEXTS = 20_000  # that make up the curvature of a side, or all if there are fewer
CONTEXTS_PER_CHUNK = 65_536  # whose scores are held at once
MAX_EVALUATIONS = 100  # of the log posterior of a block
TOLERANCE = 1e-6  # squared distance to the maximum, or to the mean, for each number, in standard deviations
GAUSSIAN_CONTEXTS = 5_000  # of a side of a cell, from which the Gaussian is fitted
MAX_GAUSSIAN_ROUNDS = 200
NORMALS = 8  # distribution functions of the normal that add up to the logistic one, within 2e-4


class AbsentPart(NamedTuple):
    """Vectors x_a of words where they do not occur, given those where they do: x_a = shares · x + prior noise."""

    shares: Floats  # (a, n)
    covariance: Floats  # (a, a) of the noise in each dimension


class BlockCell(NamedTuple):
    """A word in a slice, and the place of its vector in the block."""

    word: int
    slice: int
    place: int


@dataclass(frozen=True, eq=False)
class VectorBlock:
    """Vectors that move together, and their prior given all others."""

    words: Sequence[int]
    place: Ints  # (w, S) the vector of each word in each slice; from n on, absent ones
    cells: Sequence[BlockCell]  # all whose text is about these vectors
    vectors: Floats  # (n, D)
    precision: Floats  # (n, n) Q
    pull: Floats  # (n, D)
    absent: AbsentPart | None = None  # with absent="filled"

    def with_absent(self, vectors: Floats) -> Floats:
        """(n + a, …) Vectors, or whatever is linear in them, and those of words where they do not occur."""
        if self.absent is None:
            return vectors
        return np.concatenate([vectors, np.tensordot(self.absent.shares, vectors, 1)])

    def covariance_with_absent(self, covariance: Floats) -> Floats:
        """((n + a) D, (n + a) D) The covariance of all vectors, from that of those that the text is about."""
        if self.absent is None:
            return covariance
        count, size = self.vectors.shape
        half = self.with_absent(covariance.reshape(count, size, -1))  # (n + a, D, n D)
        whole = self.with_absent(half.reshape(-1, count, size).transpose(1, 2, 0))  # (n + a, D, (n + a) D)
        whole = whole.reshape(len(whole) * size, -1)
        whole[count * size :, count * size :] += np.kron(self.absent.covariance, np.eye(size))
        return whole

    def hessian(self, curvature: Floats) -> Floats:
        """(n D, n D) Minus the second derivatives of the log posterior, from those of the log likelihood (n, D, D)."""
        size = curvature.shape[1]
        hessian = np.kron(self.precision, np.eye(size))
        for i, part in enumerate(curvature):
            hessian[i * size : (i + 1) * size, i * size : (i + 1) * size] += part
        return np.asarray(hessian)


def make_blocks(fitted: Embeddings, language: int, sets: Sequence[Sequence[int]]) -> list[VectorBlock]:
    """A block for each set of words."""
    slots = slots_by_slice(fitted, language)
    requested = np.unique(slots[np.unique([word for words in sets for word in words])])
    requested = requested[requested >= 0]
    rows = np.flatnonzero(np.isin(fitted.slot, requested))
    first, last = fitted.rows.words(language, 0).start, fitted.rows.words(language, len(fitted.rows.slices) - 1).stop
    for row in rows[(rows < first) | (rows >= last)][:1]:  # tied to a context, a word cannot move while that is held
        name, role, _ = fitted.rows.name(int(row))
        what = "a context" if role == "context" else "a word of another language"
        raise InputError(f'a word that is asked about is tied to "{name}", {what}: there is no posterior of it alone')
    rows = rows[np.argsort(fitted.slot[rows], kind="stable")]
    edges = np.flatnonzero(np.isin(fitted.graph.first, requested) | np.isin(fitted.graph.second, requested))
    blocks = []
    for words in sets:
        own = slots[list(words)]
        parameters = np.unique(own[own >= 0])
        place = np.searchsorted(parameters, own)
        place[own < 0] = len(parameters) + np.arange((own < 0).sum())
        inside = [np.arange(*np.searchsorted(fitted.slot[rows], [slot, slot + 1])) for slot in parameters]
        cells = []
        for row in rows[np.concatenate(inside)]:
            slice, word = divmod(int(row) - first, len(slots))
            cells.append(BlockCell(word, slice, int(np.searchsorted(parameters, fitted.slot[row]))))
        vectors = fitted.theta[parameters].astype(np.float64)
        prior = _prior_given_rest(fitted, parameters, edges)
        absent = _absent_part(fitted, language, words, place, len(parameters)) if (own < 0).any() else None
        blocks.append(VectorBlock(list(words), place, cells, vectors, *prior, absent))
    return blocks


def _absent_part(fitted: Embeddings, language: int, words: Sequence[int], place: Ints, count: int) -> AbsentPart:
    """−L_aa⁻¹ L_ap and L_aa⁻¹ of a word's prior precision L, for places from `count` on; means are integrated out."""
    assert fitted.filling is not None
    before = sum(map(len, fitted.rows.vocabularies[:language]))
    total = int((place >= count).sum())
    shares, covariance = np.zeros((total, count)), np.zeros((total, total))
    for word, own in zip(words, place):
        precision = fitted.filling.prior.precision(before + word)
        here, gone = np.flatnonzero(own < count), np.flatnonzero(own >= count)
        unknown = np.append(gone, np.arange(len(own), len(precision)))  # and what is latent
        inverse = np.linalg.inv(precision[np.ix_(unknown, unknown)])[: len(gone)]
        rows = own[gone] - count
        shares[np.ix_(rows, own[here])] = -inverse @ precision[np.ix_(unknown, here)]
        covariance[np.ix_(rows, rows)] = inverse[:, : len(gone)]
    return AbsentPart(shares, covariance)


def slots_by_slice(fitted: Embeddings, language: int) -> NDArray[np.int32]:
    """(V, S) The parameters of each word in each slice, −1 where absent="filled" leaves it without one."""
    words = [fitted.rows.words(language, slice) for slice in range(len(fitted.rows.slices))]
    return np.array([fitted.slot[rows.start : rows.stop] for rows in words]).T


def weigh_background(fitted: Embeddings, language: int, background: Sequence[AnyContexts]) -> list[AnyContexts]:
    """The background of each slice, counting more where negatives are drawn from its own words: K P(w) / Σ_v P(v)."""
    if fitted.filling is None:
        return list(background)
    noise = fitted.rows.vocabularies[language].noise(fitted.settings["model"]["noise_power"])
    drawn = noise @ (slots_by_slice(fitted, language) >= 0)  # (S) the share of the negatives that are left
    shares = np.where(drawn > 0, drawn, 1.0).tolist()  # a slice may have no text of this language
    return [replace(part, weight=part.weight / share) for part, share in zip(background, shares, strict=True)]


def _prior_given_rest(fitted: Embeddings, parameters: NDArray[np.int32], edges: Ints) -> tuple[Floats, Floats]:
    """(n, n) The vectors' part of L + D, and (n, D) the pull of all other vectors, which are held.

    Latent vectors that they are joined to, such as their mean, are not held but integrated out.
    """
    graph, own = fitted.graph, len(parameters)
    while graph.latent:
        beyond = graph.second[np.isin(graph.first, parameters) & graph.to_latent()]
        if not len(new := np.setdiff1d(beyond, parameters)):
            break
        parameters = np.append(parameters, new.astype(parameters.dtype))  # latent ones are the last: still in order
    if len(parameters) > own:
        edges = np.flatnonzero(np.isin(graph.first, parameters) | np.isin(graph.second, parameters))
    edges = edges[np.isin(graph.first[edges], parameters) | np.isin(graph.second[edges], parameters)]
    weight, sign, directed = graph.weight[edges], graph.sign[edges], graph.directed[edges]
    ends = [end[edges] for end in (graph.first, graph.second)]
    inside = [np.isin(end, parameters) for end in ends]
    place = [np.searchsorted(parameters, end).clip(max=len(parameters) - 1) for end in ends]
    if (directed & inside[0] & inside[1]).any():
        raise InputError("directed edges between vectors are a penalty, not a prior: there is no posterior of them")
    precision = np.diag(graph.diagonal[parameters].astype(np.float64))
    pull = np.zeros((len(parameters), fitted.dimensions))
    for one, two in ((0, 1), (1, 0)):
        moves = inside[one] & ~(directed & (one == 1))  # the second end of a directed edge feels nothing
        np.add.at(precision, (place[one][moves], place[one][moves]), weight[moves])
        both, one_end = moves & inside[two], moves & ~inside[two]
        np.add.at(precision, (place[one][both], place[two][both]), -(weight * sign)[both])
        others = ends[two][one_end]  # parameters, or fixed targets behind them
        is_target = others >= len(graph)
        vectors = np.empty((len(others), fitted.dimensions))
        vectors[~is_target] = fitted.theta[others[~is_target]]
        if is_target.any():
            vectors[is_target] = graph.targets[others[is_target] - len(graph)]
        np.add.at(pull, place[one][one_end], (weight * sign)[one_end, None] * vectors)
    known = np.concatenate([precision[:own, own:], pull[own:].T]).T  # (latent, n + D)
    through = precision[:own, own:] @ np.linalg.solve(precision[own:, own:], known)
    return precision[:own, :own] - through[:, :own], pull[:own] - through[:, own:]


def joined_words(fitted: Embeddings, words: str | Sequence[str], language: str | None = None) -> list[str]:
    """List the given words and those that an edge of the prior joins to one of them as words.

    Args:
        fitted: The model.
        words: Some words.
        language: Their language, if the model has several.

    Returns:
        The words themselves, then the others.

    Example:
        posterior(fitted, joined_words(fitted, "health"), coupled=True)
    """
    index = fitted.language(language)
    ids, slots, graph = fitted.ids(words, index), slots_by_slice(fitted, index), fitted.graph
    from_first, from_second = (np.isin(end, slots[ids]) for end in (graph.first, graph.second))
    ends = np.concatenate([graph.second[from_first], graph.first[from_second]])
    joined = np.flatnonzero(np.isin(slots, ends).any(1))
    names = fitted.rows.vocabularies[index].words
    return [names[i] for i in dict.fromkeys([*ids, *joined.tolist()])]


@dataclass(frozen=True, eq=False)
class BlockContexts:
    """What the text says about the words of some blocks."""

    occurrences: Mapping[tuple[int, int], Contexts]  # by word and slice
    background: Sequence[Contexts]  # by slice
    negatives: Mapping[int, float]  # of each word at a position: K P(w)


class NotConvergedError(LaplexError):
    """The maximum of a posterior was not found."""


class Maximum:
    """Newton's method for a block: `trial` is the next point, and `update` takes the derivatives there."""

    tolerance = TOLERANCE

    def __init__(self, block: VectorBlock) -> None:
        self.block = block
        self.found = False
        self.trial = self.point = block.vectors
        self.value = -np.inf
        self.covariance: Floats | None = None  # at the maximum, once it is reached
        self._step = np.zeros_like(block.vectors)
        self._expected_rise = 0.0  # of the step, at first order
        self._step_size = 1.0
        self._evaluations_left = MAX_EVALUATIONS

    def update(self, value: float, gradient: Floats, curvature: Floats) -> None:
        """Take the log likelihood at the trial point, its gradient (n, D) and minus its Hessian (n, D, D)."""
        precision, pull = self.block.precision, self.block.pull
        value += float(((pull - 0.5 * precision @ self.trial) * self.trial).sum())
        self._evaluations_left -= 1
        if not np.isfinite(value) and self.value == -np.inf:
            raise InputError("the vectors or the contexts of the model are not finite numbers")
        rounding = 1e-6 * abs(value)  # contexts are in single precision
        if np.isfinite(value) and value >= self.value + 1e-4 * self._step_size * self._expected_rise - rounding:
            self.point, self.value, self._step_size = self.trial, value, 1.0
            self._set_step(gradient + (pull - precision @ self.trial), curvature)
        else:
            self._step_size /= 2
        if not self.found:
            if not self._evaluations_left:
                raise NotConvergedError(
                    f"the maximum was not found at {MAX_EVALUATIONS} points: the vectors of the model are too far from "
                    f"it (the longest is {np.linalg.norm(self.block.vectors, axis=1).max():.3g}); fit it with a lower "
                    "rate"
                )
            self.trial = self.point + self._step_size * self._step

    def _set_step(self, gradient: Floats, curvature: Floats) -> None:
        """Set the next step, or if it is a small one, take it and end."""
        self._step = self.newton_step(gradient, curvature)
        self._expected_rise = float((gradient * self._step).sum())
        if self._expected_rise <= self.tolerance * gradient.size:
            self.point, self.found = self.point + self._step, True
            self.finish()

    def newton_step(self, gradient: Floats, curvature: Floats) -> Floats:
        """(n, D) Newton's step, from the gradient of the log posterior and the curvature of the log likelihood."""
        hessian = self.block.hessian(curvature)
        try:
            self._factor = scipy.linalg.cho_factor(hessian, lower=True, overwrite_a=True, check_finite=False)
        except scipy.linalg.LinAlgError:
            raise InputError("the prior and the text leave a direction free: give the model a Ridge") from None
        return np.asarray(scipy.linalg.cho_solve(self._factor, gradient.reshape(-1)).reshape(gradient.shape))

    def finish(self) -> None:
        """Compute what is wanted at the maximum: the covariance."""
        self.covariance = scipy.linalg.cho_solve(self._factor, np.eye(self.point.size), overwrite_b=True)


def find_maxima(maxima: Sequence[Maximum], text: BlockContexts, report: Callable[[], None] = lambda: None) -> None:
    """Find the maxima of blocks side by side, so that the background is read for all of them at once."""
    while moving := [maximum for maximum in maxima if not maximum.found]:
        derivatives = log_likelihoods([maximum.block for maximum in moving], [m.trial for m in moving], text)
        for maximum, values in zip(moving, derivatives):
            maximum.update(*values)
        report()


def log_likelihoods(
    blocks: Sequence[VectorBlock], points: Sequence[Floats], text: BlockContexts
) -> list[tuple[float, Floats, Floats]]:
    """For each block the log likelihood at a point, its gradient, and minus its second derivatives."""
    value = np.zeros(len(blocks))
    gradient = [np.zeros_like(point) for point in points]
    curvature = [np.zeros((*point.shape, point.shape[1])) for point in points]
    for slice, background in enumerate(text.background):
        cells = [(i, cell) for i, block in enumerate(blocks) for cell in block.cells if cell.slice == slice]
        if not cells:
            continue
        vectors = np.array([points[i][cell.place] for i, cell in cells])
        for (i, cell), vector, against in zip(cells, vectors, logistic_derivatives(background, vectors, -1)):
            rate = text.negatives[cell.word]
            (towards,) = logistic_derivatives(text.occurrences[cell.word, slice], vector[None], 1)
            value[i] += towards[0] + rate * against[0]
            gradient[i][cell.place] += towards[1] + rate * against[1]
            curvature[i][cell.place] += towards[2] + rate * against[2]
    return list(zip(value.tolist(), gradient, curvature))


def logistic_derivatives(contexts: Contexts, vectors: Floats, sign: int) -> list[tuple[float, Floats, Floats]]:
    """For each vector x: Σ log σ(±x·h) over contexts h, its gradient (D), and minus its second derivatives (D, D)."""
    narrow = vectors.astype(np.float32)
    value, gradient = np.zeros(len(vectors)), np.zeros(vectors.shape)
    bend = np.empty((len(vectors), len(contexts)), np.float32)  # σ(1−σ)
    for first in range(0, len(contexts), CONTEXTS_PER_CHUNK):
        chunk = slice(first, first + CONTEXTS_PER_CHUNK)
        h = contexts.vectors[chunk]
        scores = narrow @ h.T  # (k, chunk)
        weight = contexts.weight if isinstance(contexts.weight, float) else contexts.weight[chunk]
        small = np.exp(-np.abs(scores))
        log_sigma = np.minimum(sign * scores, np.float32(0.0)) - np.log1p(small)
        residual = np.where(sign * scores > 0, small, np.float32(1.0)) / (1 + small)  # σ(∓x·h)
        value += (log_sigma * weight).sum(1, dtype=np.float64)
        gradient += sign * ((residual * weight).astype(np.float32) @ h)
        bend[:, chunk] = residual * (1 - residual) * weight
    return [(float(value[i]), gradient[i], _curvature(contexts.vectors, bend[i])) for i in range(len(vectors))]


def _curvature(h: NDArray[np.float32], bend: NDArray[np.float32]) -> Floats:
    """(D, D) Σ bend h hᵀ, from contexts chosen in proportion to `bend` if there are many."""
    if len(h) > CURVATURE_CONTEXTS:
        total = float(bend.sum(dtype=np.float64))
        chance = np.minimum(bend * np.float32(CURVATURE_CONTEXTS / max(total, 1e-30)), np.float32(1.0))
        chosen = np.flatnonzero(np.random.default_rng([1, 7]).random(len(h), np.float32) < chance)
        h, bend = h[chosen], bend[chosen] / chance[chosen]
    scaled = h * np.sqrt(bend)[:, None]
    return np.asarray((scaled.T @ scaled).astype(np.float64))


def fit_gaussian(block: VectorBlock, mode: Floats, covariance: Floats, text: BlockContexts) -> tuple[Floats, Floats]:
    """Mean and covariance of the Gaussian nearest to a posterior, from the maximum and the covariance there."""
    sides = []
    for cell in block.cells:
        occurrences, background = text.occurrences[cell.word, cell.slice], text.background[cell.slice]
        for contexts, sign, rate in ((occurrences, 1, 1.0), (background, -1, text.negatives[cell.word])):
            if len(contexts):
                sides.append((cell.place, sign, *_sample_side(contexts, mode[cell.place], sign, rate)))
    size = mode.shape[1]
    before = at_mode = scipy.linalg.inv(covariance)
    mean = mode
    for _ in range(MAX_GAUSSIAN_ROUNDS):
        gradient, precision = -block.precision @ (mean - mode), at_mode.copy()
        for place, sign, h, weight, residual_at_mode, bend_at_mode in sides:
            inside = slice(place * size, (place + 1) * size)
            scores, variance = h @ mean[place], ((h @ covariance[inside, inside]) * h).sum(1)
            residual, bend = expected_logistic(-sign * scores, variance)
            gradient[place] += sign * (weight * (residual - residual_at_mode)) @ h
            precision[inside, inside] += (h * (weight * (bend - bend_at_mode))[:, None]).T @ h
        before = precision = 0.5 * (before + precision)  # half way, or it may swing to and fro
        try:
            factor = scipy.linalg.cho_factor(precision, lower=True)
        except scipy.linalg.LinAlgError:
            break
        step = scipy.linalg.cho_solve(factor, gradient.reshape(-1)).reshape(mode.shape)
        variances, covariance = np.diag(covariance), scipy.linalg.cho_solve(factor, np.eye(mode.size))
        mean = mean + step
        if (gradient * step).sum() <= TOLERANCE * mode.size and abs(np.diag(covariance) / variances - 1).max() < 1e-3:
            return mean, covariance
    raise NotConvergedError('the Gaussian nearest to it was not found: write center="mode"')


def _sample_side(contexts: Contexts, vector: Floats, sign: int, rate: float) -> tuple[Floats, Floats, Floats, Floats]:
    """(m, D) Contexts, or a sample in proportion to what they add to curvature and sum; (m) weight, σ(∓x·h), σ(1−σ)."""
    h = contexts.vectors
    weight: Floats = np.broadcast_to(np.asarray(contexts.weight, np.float64), len(h)) * rate
    if len(h) > GAUSSIAN_CONTEXTS:
        sigma = scipy.special.expit(h @ vector.astype(np.float32))
        bend = sigma * (1 - sigma) * weight
        share = 0.5 * bend / max(bend.sum(), 1e-30) + 0.5 * weight / weight.sum()
        chance = np.minimum(1.0, GAUSSIAN_CONTEXTS * share)
        chosen = np.flatnonzero(np.random.default_rng([1, 9]).random(len(h)) < chance)
        h, weight = h[chosen], weight[chosen] / chance[chosen]
    wide = h.astype(np.float64)
    return wide, weight, *expected_logistic(-sign * (wide @ vector), np.zeros(len(wide)))


@cache
def _logistic_as_normals() -> tuple[Floats, Floats]:
    """Weights and scales of normal distribution functions that add up to the logistic one."""
    nodes, weights = np.polynomial.legendre.leggauss(NORMALS)
    return weights / 2, 2 * scipy.special.kolmogi((1 - nodes) / 2)


def expected_logistic(mean: Floats, variance: Floats) -> tuple[Floats, Floats]:
    """(m), (m) E σ(s) and E σ(s)(1 − σ(s)) of Gaussian scores s.

    >>> sigma, bend = expected_logistic(np.array([0.0, 1.0]), np.array([4.0, 0.0]))
    >>> sigma.round(3).tolist(), bend.round(3).tolist()
    ([0.5, 0.731], [0.151, 0.197])
    """
    sigma, bend = np.zeros_like(mean), np.zeros_like(mean)
    for weight, scale in zip(*_logistic_as_normals()):
        wide = np.sqrt(scale * scale + variance)
        z = mean / wide
        sigma += weight * scipy.special.ndtr(z)
        bend += weight / np.sqrt(2 * np.pi) * np.exp(-0.5 * z * z) / wide
    return sigma, bend
