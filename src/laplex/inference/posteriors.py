"""The posterior of a word's vectors in all its slices together, given the contexts, and what follows from it.

Given the contexts, the vectors of a word are a logistic regression with a Gaussian prior that couples the slices. The
posterior is nearly Gaussian, with the curvature at its maximum (Laplace) or its mean (the nearest Gaussian); see
`conditional.py`. It says what the model does not know under its own assumptions, all occurrences independent, and not
what another sample would show: see `differences.py` and `cosines.py` for that.
S slices, w words, n vectors (rows that are tied share one), D dimensions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, overload

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from laplex.embeddings import Embeddings
from laplex.errors import InputError, quote
from laplex.fitting.provenance import tokens_of
from laplex.inference.conditional import (
    BlockContexts,
    Maximum,
    NotConvergedError,
    VectorBlock,
    find_maxima,
    fit_gaussian,
    make_blocks,
    weigh_background,
)
from laplex.inference.statistics import OCCURRENCE_BYTES, ContextReader, Contexts, thread_pool
from laplex.inference.units import Floats, Ints, Options, interval_quantile
from laplex.runtime.display import bar, say
from laplex.text.occurrences import Occurrences
from laplex.text.slices import Slices
from laplex.text.tokens import Tokens

BLOCKS_PER_TILE = 8  # for which the background is read at once
MIN_BACKGROUND_CONTEXTS = 50_000  # of a slice, for a rare word
DISTANCE_DRAWS = 10_000  # of a difference, for the interval of its length

Center = Literal["mean", "mode"]


class _Gaussian:
    """The joint Gaussian of some vectors, each of which may stand at several places."""

    place: Ints
    mean: Floats  # (n, D)
    covariance: Floats  # (n D, n D), vectors one after the other

    def sample(self, count: int, seed: int = 1) -> Floats:
        """Draw the vectors in all slices.

        Args:
            count: How many draws.
            seed: Of the draws.

        Returns:
            An array of draws by slices by dimensions; of a Joint, of draws by words by slices by dimensions.

        Example:
            posterior(fitted, "health")["health"].sample(1000)
        """
        if count < 1:
            raise InputError(f"sample({count}): at least one draw")
        noise = np.random.default_rng([seed, 6]).standard_normal((count, self.mean.size))
        draws: Floats = self.mean.reshape(-1) + noise @ np.linalg.cholesky(self.covariance).T
        return draws.reshape(count, *self.mean.shape)[:, self.place]


@dataclass(frozen=True, eq=False)
class Posterior(_Gaussian):
    """The joint Gaussian of a word's vectors. `mean[place[s]]` is that of slice s."""

    word: str
    slices: Slices
    place: Ints  # (S)
    mean: Floats
    covariance: Floats

    def project(self, axis: Sequence[float] | NDArray[Any], *, interval: float = 0.9) -> pd.DataFrame:
        """Compute the product of the word's vector with an axis, in each slice.

        Args:
            axis: A vector as long as those of the words, such as a difference of two; its length counts.
            interval: The posterior probability that the product lies between "lower" and "upper".

        Returns:
            A row for each slice with "estimate", "se", "lower" and "upper".

        Example:
            democrats = fitted.at({"party": "D"})
            posterior["health"].project(democrats["rich"] - democrats["poor"])
        """
        size, z = self.mean.shape[1], interval_quantile(interval)
        try:
            direction = np.asarray(axis, np.float64)
        except (TypeError, ValueError):
            raise InputError(f"an axis is a vector of {size} numbers, not {axis!r}: fitted.vector(…) is one") from None
        if direction.shape != (size,) or not np.isfinite(direction).all():
            raise InputError(f"an axis is {size} numbers, as a vector has, not an array of shape {direction.shape}")
        estimate = self.mean @ direction
        se = np.sqrt(np.einsum("d,idie,e->i", direction, self._blocks(), direction))
        columns = {"estimate": estimate, "se": se, "lower": estimate - z * se, "upper": estimate + z * se}
        frame = pd.DataFrame(list(self.slices.keys), columns=list(self.slices.columns))
        frame.insert(0, "word", self.word)
        return frame.assign(**{name: values[self.place] for name, values in columns.items()})

    def distance(self, one: Mapping[str, Any], other: Mapping[str, Any], *, interval: float = 0.9) -> pd.DataFrame:
        """Compute how far apart the word's vectors of two slices are.

        The length of an uncertain difference is longer than that of its mean: where little is known, this is mostly
        what the prior says.

        Args:
            one: The values of the columns that name a slice.
            other: Those of another slice.
            interval: The posterior probability that the distance lies between "lower" and "upper".

        Returns:
            One row; "estimate" is the median.

        Example:
            posterior["health"].distance({"party": "D", "year": 2010}, {"party": "R", "year": 2010})
        """
        interval_quantile(interval)
        keys = [self._key(one), self._key(other)]
        i, j = (int(self.place[self.slices.keys.index(key)]) for key in keys)
        blocks = self._blocks()
        covariance = blocks[i, :, i] + blocks[j, :, j] - blocks[i, :, j] - blocks[j, :, i]
        values, axes = np.linalg.eigh(covariance)  # of a strong prior, a difference is certain but for rounding
        noise = np.random.default_rng([1, 8]).standard_normal((DISTANCE_DRAWS, len(values)))
        # in the directions of the eigenvectors, on which the length does not depend
        draws = (self.mean[i] - self.mean[j]) @ axes + noise * np.sqrt(np.maximum(values, 0.0))
        lengths = np.linalg.norm(draws, axis=1)
        lower, median, upper = np.quantile(lengths, [(1 - interval) / 2, 0.5, (1 + interval) / 2])
        names = {name: a if a == b else f"{a} – {b}" for name, a, b in zip(self.slices.columns, *keys, strict=True)}
        columns = {"estimate": median, "se": lengths.std(ddof=1), "lower": lower, "upper": upper}
        return pd.DataFrame([{"word": self.word, **names, **columns}])

    def _blocks(self) -> Floats:
        """(n, D, n, D) The covariance by vectors."""
        return self.covariance.reshape(*self.mean.shape, *self.mean.shape)

    def _key(self, values: Mapping[str, Any]) -> tuple[str, ...]:
        """The one slice with these values."""
        columns = self.slices.columns
        if not isinstance(values, Mapping):
            raise InputError(f"a slice is given by its values, such as {dict(zip(columns, self.slices.keys[0]))}")
        for name in values:
            if name not in columns:
                raise InputError(f'vectors do not vary by "{name}"; they vary by: {quote(columns) or "nothing"}')
        wanted = {columns.index(name): str(value) for name, value in values.items()}
        keys = [key for key in self.slices.keys if all(key[place] == value for place, value in wanted.items())]
        if not keys:
            raise InputError(f"there is no slice {dict(values)}; there are {quote(self.slices.keys, 12)}")
        if len(keys) > 1:
            missing = quote(name for name in columns if name not in values)
            raise InputError(f"{dict(values)} are {len(keys)} slices: give {missing} as well")
        return keys[0]


@dataclass(frozen=True, eq=False)
class Joint(_Gaussian, Mapping[str, Posterior]):
    """The joint Gaussian of the vectors of several words. `joint["health"]` is the Posterior of one of them.

    `mean[place[w, s]]` is that of word w in slice s.
    """

    words: tuple[str, ...]
    slices: Slices
    place: Ints  # (w, S)
    mean: Floats
    covariance: Floats

    def __getitem__(self, word: str) -> Posterior:
        if word not in self.words:
            raise KeyError(f'"{word}" is not one of {quote(self.words)}')
        vectors, place = np.unique(self.place[self.words.index(word)], return_inverse=True)
        size = self.mean.shape[1]
        numbers = (vectors[:, None] * size + np.arange(size)).reshape(-1)
        covariance = self.covariance[np.ix_(numbers, numbers)]
        return Posterior(word, self.slices, place.reshape(-1), self.mean[vectors], covariance)

    def __iter__(self) -> Iterator[str]:
        return iter(self.words)

    def __len__(self) -> int:
        return len(self.words)


@overload
def posterior(
    fitted: Embeddings, words: str | Sequence[str], *, coupled: Literal[False] = False, **options: Any
) -> dict[str, Posterior]: ...


@overload
def posterior(fitted: Embeddings, words: str | Sequence[str], *, coupled: Literal[True], **options: Any) -> Joint: ...


def posterior(  # type: ignore[misc]  # the overloads leave the other keywords to this signature
    fitted: Embeddings,
    words: str | Sequence[str],
    *,
    coupled: bool = False,
    center: Center = "mean",
    memory: float = 4.0,
    tokens: Tokens | None = None,
    language: str | None = None,
    seed: int = 1,
    threads: int | None = None,
    quiet: bool = False,
) -> dict[str, Posterior] | Joint:
    """Compute the Gaussian posterior of words in all slices jointly, given the contexts.

    Args:
        fitted: The model.
        words: The words.
        coupled: Whether the vectors of all words move together, as they should if a dictionary joins them
            (`joined_words` says which those are), or each word has a posterior of its own, all others held.
        center: "mean" for the Gaussian nearest to the posterior; "mode" for that at its maximum, which is faster, but
            believes in vectors that are too short where a word is rare.
        memory: How many GB the covariances may take.
        tokens: The text, if it is no longer where the model was fitted on it.
        language: The language, if the model has several.
        seed: Of what is left of the text after subsampling.
        threads: How many threads; all processors of this process by default.
        quiet: Whether to say nothing on the way.

    Returns:
        A Posterior for each word, or with `coupled` one Joint of them all, which has a Posterior for each word as well.

    Example:
        posterior(fitted, "health")["health"].sample(1000)
        posterior(fitted, joined_words(fitted, "health"), coupled=True)["health"]
    """
    tokens = tokens_of(fitted, tokens)
    index = fitted.language(language)
    ids = fitted.ids(words, index)
    if isinstance(tokens, Occurrences):
        raise InputError(
            "the vectors of this model are the means of their exact posterior: fitted.deviation(word) has the rest"
        )
    blocks = make_blocks(fitted, index, [ids] if coupled else [[i] for i in ids])
    names, slices = fitted.rows.vocabularies[index].words, fitted.rows.slices
    sizes = np.array([block.with_absent(block.vectors).size for block in blocks], np.float64)
    need = 8 * ((sizes**2).sum() + 3 * np.sort(sizes**2)[-BLOCKS_PER_TILE:].sum()) / 2**30  # also on the way to them
    if not need <= memory:
        what = f"{blocks[0].vectors.size:,} numbers" if len(blocks) == 1 else f"{len(blocks):,} words"
        raise InputError(
            f'the posterior of {what} ("{names[ids[0]]}" …) needs {need:.3g} GB, more than memory={memory:g}: ask '
            "about fewer words at once, or give more memory"
        )
    if center not in ("mean", "mode"):
        raise InputError(f'center="{center}": write "mean" or "mode"')
    result: dict[str, Posterior] = {}
    with bar("posterior", quiet=quiet) as progress:

        def report() -> None:
            progress.update(len(result) / len(ids), f"{len(result):,} of {len(ids):,} words")

        options = Options(seed=seed, threads=threads)
        reader = ContextReader(tokens, slices.of_document, len(slices), fitted, index, options, report)
        for block, mean, covariance in _solve_all(blocks, reader, fitted, index, center, quiet):
            if coupled:
                return Joint(tuple(names[i] for i in ids), slices, block.place, mean, covariance)
            name = names[block.words[0]]
            result[name] = Posterior(name, slices, block.place[0], mean, covariance)
            report()
    return {names[i]: result[names[i]] for i in ids}


class GaussianFit(NamedTuple):
    """The Gaussian of a block."""

    block: VectorBlock
    mean: Floats
    covariance: Floats


def _solve_all(
    blocks: Sequence[VectorBlock],
    reader: ContextReader,
    fitted: Embeddings,
    language: int,
    center: Center,
    quiet: bool,
) -> Iterator[GaussianFit]:
    """The Gaussians of blocks: those whose contexts fit into memory together, tile by tile."""
    names = fitted.rows.vocabularies[language].words
    by_frequency = sorted(blocks, key=lambda block: float(reader.negatives[block.words].max()))
    for batch in _batches(by_frequency, reader, names, quiet):
        words = sorted({cell.word for block in batch for cell in block.cells})
        by_word = zip(words, reader.contexts(words))
        occurrences = {(word, slice): part for word, parts in by_word for slice, part in enumerate(parts)}
        background = weigh_background(fitted, language, reader.background)
        text = BlockContexts(occurrences, background, {word: float(reader.negatives[word]) for word in words})
        tiles = [batch[i : i + BLOCKS_PER_TILE] for i in range(0, len(batch), BLOCKS_PER_TILE)]

        def work(tile: Sequence[VectorBlock], text: BlockContexts = text) -> list[GaussianFit]:
            try:
                return solve(tile, thin_background(text, tile), center, reader.report)
            except NotConvergedError as error:
                shown = ", ".join(f'"{names[word]}"' for block in tile for word in block.words)
                raise NotConvergedError(f"among the posteriors of {shown}: {error}") from None

        with thread_pool(reader.threads) as pool:
            for fits in pool.map(work, tiles):
                yield from fits


def thin_background(text: BlockContexts, tile: Sequence[VectorBlock]) -> BlockContexts:
    """As much of the background as these words need, which for rare ones is little.

    A position that stands for k others adds k·K·P(w)·σ of what a word does not know to the error of its mean.
    """
    rate = max(text.negatives[cell.word] for block in tile for cell in block.cells)
    background = []
    for contexts in text.background:
        step = 1
        if isinstance(contexts.weight, float):
            step = max(1, min(len(contexts) // MIN_BACKGROUND_CONTEXTS, int(0.1 / (rate * contexts.weight))))
        kept = contexts.vectors[::step]
        background.append(Contexts(kept, contexts.weight * (len(contexts) / max(len(kept), 1))))
    return replace(text, background=background)


def solve(
    blocks: Sequence[VectorBlock], text: BlockContexts, center: Center, report: Callable[[], None] = lambda: None
) -> list[GaussianFit]:
    """The Gaussian of each block, given the contexts."""
    fits, maxima = [], [Maximum(block) for block in blocks]
    find_maxima(maxima, text, report)
    for maximum in maxima:
        mean, covariance = maximum.point, maximum.covariance
        assert covariance is not None
        if center == "mean":
            mean, covariance = fit_gaussian(maximum.block, mean, covariance, text)
            report()
        block = maximum.block
        fits.append(GaussianFit(block, block.with_absent(mean), block.covariance_with_absent(covariance)))
    return fits


def _batches(
    blocks: Sequence[VectorBlock], reader: ContextReader, names: Sequence[str], quiet: bool
) -> Iterator[Sequence[VectorBlock]]:
    """Blocks, in batches whose contexts fit into memory."""
    words = sorted({cell.word for block in blocks for cell in block.cells})
    counts = dict(zip(words, reader.count(words).tolist()))
    room, batch, taken = OCCURRENCE_BYTES // (4 * reader.dimensions), list[VectorBlock](), 0
    for block in blocks:
        need = sum(counts[word] for word in {cell.word for cell in block.cells})
        if need > room and reader.text.sums_window:
            what = ", ".join(f'"{names[word]}"' for word in block.words[:3])
            say(f"{what}: {need:,} occurrences, of which {room / need:.0%} are looked at", quiet=quiet)
        if batch and taken + need > room:
            yield batch
            batch, taken = [], 0
        batch.append(block)
        taken += need
    yield batch
