"""A belief about vectors, and what follows from it: draws, projections, distances.

It is a Gaussian, or draws beside it if they were asked for, which then take its place.

These are beliefs of a model, not tests: they say what it does not know under its own assumptions, and nothing about
what another sample would show. S slices, W words, n vectors (rows that are tied share one), D dimensions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from laplex.errors import InputError, quote
from laplex.tokens import Slices

DRAWS = 10_000  # of a difference, for the interval of its length

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Posterior:
    """The joint Gaussian of a word's vectors. `mean[place[s]]` is that of slice s."""

    word: str
    slices: Slices
    place: NDArray[np.int64]  # (S)
    mean: Floats  # (n, D)
    covariance: Floats  # (n D, n D), vectors one after the other
    draws: Floats | None = None  # (N, n, D) from the posterior itself

    def sample(self, count: int, seed: int = 1) -> Floats:
        """(count, S, D) Draws of the vectors in all slices."""
        return _draw(self, count, seed)[:, self.place]

    def project(self, axis: Sequence[float] | NDArray[Any], *, interval: float = 0.9) -> pd.DataFrame:
        """The product of the word's vector with an axis, in each slice: what is believed about it.

        An axis is a vector as long as those of the words, such as a difference of two; its length counts.

            belief.project(fitted.vector("rich", party="D") - fitted.vector("poor", party="D"))
        """
        direction, size, half = self._direction(axis), self.mean.shape[1], _quantile(interval)
        if self.draws is None:
            estimate = self.mean @ direction
            blocks = self.covariance.reshape(len(self.mean), size, len(self.mean), size)
            se = np.sqrt(np.einsum("d,idie,e->i", direction, blocks, direction))
            lower, upper = estimate - half * se, estimate + half * se
        else:
            drawn = self.draws @ direction
            estimate, se = drawn.mean(0), drawn.std(0, ddof=1)
            lower, upper = np.quantile(drawn, [(1 - interval) / 2, (1 + interval) / 2], axis=0)
        frame = pd.DataFrame(list(self.slices.keys), columns=list(self.slices.columns))
        frame.insert(0, "word", self.word)
        found = {"estimate": estimate, "se": se, "lower": lower, "upper": upper}
        return frame.assign(**{name: values[self.place] for name, values in found.items()})

    def distance(self, one: Mapping[str, Any], other: Mapping[str, Any], *, interval: float = 0.9) -> pd.DataFrame:
        """How far apart the word's vectors of two slices are: what is believed about it.

        The estimate is the median. A length is never negative, and that of an uncertain difference is longer than
        that of its mean: where little is known, this is mostly what the prior says.

            belief.distance({"party": "D", "year": 2010}, {"party": "R", "year": 2010})
        """
        _quantile(interval)
        keys = [self._key(one), self._key(other)]
        i, j = (int(self.place[self.slices.keys.index(key)]) for key in keys)
        lengths = np.linalg.norm(self._differences(i, j), axis=1)
        lower, median, upper = np.quantile(lengths, [(1 - interval) / 2, 0.5, (1 + interval) / 2])
        columns = {name: a if a == b else f"{a} – {b}" for name, a, b in zip(self.slices.columns, *keys, strict=True)}
        found = {"estimate": median, "se": lengths.std(ddof=1), "lower": lower, "upper": upper}
        return pd.DataFrame([{"word": self.word, **columns, **found}])

    def _direction(self, axis: Any) -> Floats:
        size = self.mean.shape[1]
        try:
            direction = np.asarray(axis, np.float64)
        except (TypeError, ValueError):
            raise InputError(f"an axis is a vector of {size} numbers, not {axis!r}: fitted.vector(…) is one") from None
        if direction.shape != (size,) or not np.isfinite(direction).all():
            raise InputError(f"an axis is {size} numbers, as a vector has, not an array of shape {direction.shape}")
        return direction

    def _differences(self, i: int, j: int) -> Floats:
        """(N, D) Draws of the difference of two vectors, turned by an angle that its length does not depend on."""
        if self.draws is not None:
            return np.asarray(self.draws[:, i] - self.draws[:, j])
        size = self.mean.shape[1]
        blocks = self.covariance.reshape(len(self.mean), size, len(self.mean), size)
        spread = blocks[i, :, i] + blocks[j, :, j] - blocks[i, :, j] - blocks[j, :, i]
        values, axes = np.linalg.eigh(spread)  # of a strong prior, a difference is certain but for rounding
        noise = np.random.default_rng([1, 8]).standard_normal((DRAWS, size)) * np.sqrt(np.maximum(values, 0.0))
        return np.asarray((self.mean[i] - self.mean[j]) @ axes + noise)

    def _key(self, values: Mapping[str, Any]) -> tuple[str, ...]:
        """The one slice with these values."""
        columns = self.slices.columns
        if not isinstance(values, Mapping):
            raise InputError(f"a slice is given by its values, such as {dict(zip(columns, self.slices.keys[0]))}")
        for name in values:
            if name not in columns:
                raise InputError(f'vectors do not vary by "{name}"; they vary by: {quote(columns) or "nothing"}')
        found = [
            key for key in self.slices.keys if all(key[columns.index(name)] == str(values[name]) for name in values)
        ]
        if not found:
            raise InputError(f"there is no slice {dict(values)}; there are {quote(self.slices.keys, 12)}")
        if len(found) > 1:
            missing = quote(name for name in columns if name not in values)
            raise InputError(f"{dict(values)} are {len(found)} slices: give {missing} as well")
        return found[0]


@dataclass(frozen=True, eq=False)
class Joint(Mapping[str, Posterior]):
    """The joint Gaussian of the vectors of several words. `joint["health"]` is what it says of one of them.

    `mean[place[w, s]]` is that of word w in slice s.
    """

    words: tuple[str, ...]
    slices: Slices
    place: NDArray[np.int64]  # (W, S)
    mean: Floats  # (n, D)
    covariance: Floats  # (n D, n D), vectors one after the other
    draws: Floats | None = None  # (N, n, D) from the posterior itself

    def sample(self, count: int, seed: int = 1) -> Floats:
        """(count, W, S, D) Draws of the vectors of all words in all slices."""
        return _draw(self, count, seed)[:, self.place]

    def __getitem__(self, word: str) -> Posterior:
        if word not in self.words:
            raise KeyError(f'"{word}" is not one of {quote(self.words)}')
        own, place = np.unique(self.place[self.words.index(word)], return_inverse=True)
        size = self.mean.shape[1]
        numbers = (own[:, None] * size + np.arange(size)).reshape(-1)
        draws = None if self.draws is None else self.draws[:, own]
        covariance = self.covariance[np.ix_(numbers, numbers)]
        return Posterior(word, self.slices, place.reshape(-1), self.mean[own], covariance, draws)

    def __iter__(self) -> Iterator[str]:
        return iter(self.words)

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self.words


def _draw(belief: Posterior | Joint, count: int, seed: int) -> Floats:
    if count < 1:
        raise InputError(f"sample({count}): at least one draw")
    random, mean = np.random.default_rng([seed, 6]), belief.mean
    if belief.draws is not None:
        if count > len(belief.draws):
            raise InputError(f"sample({count:,}): there are {len(belief.draws):,} draws; ask for more with draws=")
        return belief.draws[random.permutation(len(belief.draws))[:count]]
    noise = random.standard_normal((count, mean.size))
    drawn: Floats = mean.reshape(-1) + noise @ np.linalg.cholesky(belief.covariance).T
    return drawn.reshape(count, *mean.shape)


def _quantile(interval: float) -> float:
    if not 0 < interval < 1:
        raise InputError(f"interval={interval} must be between 0 and 1: 0.9 is what is believed with 90%")
    return float(stats.norm.ppf((1 + interval) / 2))
