"""What does the model believe about a word's vectors, in all its slices together, once it has read the text?

A fitted model comes in; for each word a Posterior goes out, or one Joint for all. Given the contexts, the vectors of
a word are a logistic regression with a Gaussian prior that couples the slices. The posterior is nearly Gaussian:

    precision = blocks A_s of the likelihood's curvature in each slice + (L + D of the word's part of the graph) ⊗ I

with the curvature at the maximum (Laplace, `ascent.py`), or its mean (the nearest Gaussian, `nearest.py`).

This is not what another sample would show: it says how much the model still does not know under its own
assumptions, all occurrences independent. For tests and intervals of that kind see `contrast.py`.
n vectors of a block, D dimensions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple, overload

import numpy as np

from laplex.embeddings import Embeddings
from laplex.errors import InputError, whole
from laplex.posterior.ascent import NotSettledError, Text, climb
from laplex.posterior.block import Block, Floats, blocks, joined_words
from laplex.posterior.chains import draw
from laplex.posterior.gaussian import Joint, Posterior
from laplex.posterior.nearest import approach
from laplex.posterior.pool import pool_of
from laplex.posterior.reading import OCCURRENCES, Contexts, Reading
from laplex.progress import bar, say
from laplex.provenance import tokens_of
from laplex.tokens import Tokens

TILE = 8  # blocks for which the background is read at once
ENOUGH = 50_000  # positions of the background of a slice for a rare word

Center = Literal["mean", "mode"]

__all__ = ["Joint", "Posterior", "joined_words", "posterior"]


class Solved(NamedTuple):
    block: Block
    mean: Floats
    covariance: Floats
    draws: Floats | None


@overload
def posterior(
    fitted: Embeddings,
    words: str | Sequence[str],
    *,
    coupled: Literal[False] = False,
    center: Center = ...,
    draws: int = ...,
    memory: float = ...,
    tokens: Tokens | None = ...,
    language: str | None = ...,
    seed: int = ...,
    threads: int | None = ...,
    quiet: bool = ...,
) -> dict[str, Posterior]: ...


@overload
def posterior(
    fitted: Embeddings,
    words: str | Sequence[str],
    *,
    coupled: Literal[True],
    center: Center = ...,
    draws: int = ...,
    memory: float = ...,
    tokens: Tokens | None = ...,
    language: str | None = ...,
    seed: int = ...,
    threads: int | None = ...,
    quiet: bool = ...,
) -> Joint: ...


def posterior(
    fitted: Embeddings,
    words: str | Sequence[str],
    *,
    coupled: bool = False,
    center: Center = "mean",
    draws: int = 0,
    memory: float = 4.0,
    tokens: Tokens | None = None,
    language: str | None = None,
    seed: int = 1,
    threads: int | None = None,
    quiet: bool = False,
) -> dict[str, Posterior] | Joint:
    """The posterior of words in all slices jointly, given the contexts: mean, covariance, draws.

    Each word has one of its own, in which all others are held where they are. With `coupled`, the vectors of all
    words move together, as they should if a dictionary joins them; `joined_words` says which those are. The Gaussian
    is the one nearest to the posterior; center="mode" gives that at its maximum, which is faster, but believes in
    vectors that are too short where a word is rare. With `draws`, so many are taken from the posterior itself, which
    takes about a second a word, and intervals come from them: for distances of rare words, whose posterior is no
    Gaussian. `memory` is how many GB the covariances may take.

        posterior(fitted, "health")["health"].sample(1000)
        posterior(fitted, joined_words(fitted, "health"), coupled=True)["health"]
    """
    tokens = tokens_of(fitted, tokens)
    index = fitted.language(language)
    ids = fitted.ids(words, index)
    asked = blocks(fitted, index, [ids] if coupled else [[i] for i in ids])
    names, slices = fitted.rows.vocabularies[index].words, fitted.rows.slices
    _check_size(asked, [names[i] for i in ids], memory)
    if center not in ("mean", "mode"):
        raise InputError(f'center="{center}": write "mean" or "mode"')
    draws = whole("draws", draws, 0)
    found: dict[str, Posterior] = {}
    with bar("posterior", quiet=quiet) as progress:

        def report() -> None:
            progress.update(len(found) / len(ids), f"{len(found):,} of {len(ids):,} words")

        reading = Reading(tokens, fitted, index, seed=seed, threads=threads, report=report)
        for block, mean, covariance, drawn in _solve_all(asked, reading, names, center, draws, quiet):
            if coupled:
                return Joint(tuple(names[i] for i in ids), slices, block.place, mean, covariance, drawn)
            name = names[block.words[0]]
            found[name] = Posterior(name, slices, block.place[0], mean, covariance, drawn)
            report()
    return {names[i]: found[names[i]] for i in ids}


def _check_size(asked: Sequence[Block], words: Sequence[str], memory: float) -> None:
    """Would the covariances, and what is needed on the way to them, fit into memory?"""
    sizes = np.array([block.vectors.size for block in asked], np.float64)
    need = 8 * ((sizes**2).sum() + 3 * np.sort(sizes**2)[-TILE:].sum()) / 2**30
    if not need <= memory:
        what = f"{asked[0].vectors.size:,} numbers" if len(asked) == 1 else f"{len(asked):,} words"
        raise InputError(
            f'the posterior of {what} ("{words[0]}" …) needs {need:.3g} GB, more than memory={memory:g}: ask about '
            "fewer words at once, or give more memory"
        )


def _solve_all(
    asked: Sequence[Block], reading: Reading, names: Sequence[str], center: Center, draws: int, quiet: bool
) -> Iterator[Solved]:
    """Means and covariances of blocks: those whose contexts fit into memory together, tile by tile."""
    by_noise = sorted(asked, key=lambda block: float(reading.noise[block.words].max()))
    for batch in _batches(by_noise, reading, names, quiet):
        words = sorted({cell.word for block in batch for cell in block.cells})
        around = reading.around(words)
        here = {(word, slice): part for word, parts in zip(words, around) for slice, part in enumerate(parts)}
        text = Text(here, reading.background(), {word: float(reading.noise[word]) for word in words})
        tiles = [batch[i : i + TILE] for i in range(0, len(batch), TILE)]

        def work(tile: Sequence[Block], text: Text = text) -> list[Solved]:
            try:
                return solve(tile, _thinned(text, tile), center, draws, reading.report)
            except NotSettledError as error:
                shown = ", ".join(f'"{names[word]}"' for block in tile for word in block.words)
                raise NotSettledError(f"among the posteriors of {shown}: {error}") from None

        with pool_of(reading.threads) as pool:
            for solved in pool.map(work, tiles):
                yield from solved


def _thinned(text: Text, tile: Sequence[Block]) -> Text:
    """As much of the background as these words need.

    A position that stands for k others adds k·K·P(w)·σ of what a word does not know to the error of its mean; a tenth
    is not much. Of rare words that leaves few positions.
    """
    noise = max(text.noise[cell.word] for block in tile for cell in block.cells)
    around = []
    for contexts in text.around:
        each = 1
        if isinstance(contexts.weight, float):
            each = max(1, min(len(contexts) // ENOUGH, int(0.1 / (noise * contexts.weight))))
        kept = contexts.vectors[::each]
        around.append(Contexts(kept, contexts.weight * (len(contexts) / max(len(kept), 1))))
    return replace(text, around=around)


def solve(
    asked: Sequence[Block],
    text: Text,
    center: Center = "mean",
    draws: int = 0,
    report: Callable[[], None] = lambda: None,
) -> list[Solved]:
    """Mean, covariance and draws of each block, given what the text says."""
    found = []
    for ascent in climb(asked, text, report):
        block, mode, covariance = ascent.block, ascent.point, ascent.covariance
        assert covariance is not None
        mean, drawn = mode, None
        if center == "mean":
            mean, covariance = approach(block, mode, covariance, text)
            report()
        if draws:
            drawn = draw(block, mode, mean, covariance, text, draws, report=report)
        found.append(Solved(block, mean, covariance, drawn))
    return found


def _batches(asked: Sequence[Block], reading: Reading, names: Sequence[str], quiet: bool) -> Iterator[Sequence[Block]]:
    """Blocks, in portions whose contexts fit into memory."""
    words = sorted({cell.word for block in asked for cell in block.cells})
    counts = dict(zip(words, reading.count(words).tolist()))
    room, batch, taken = OCCURRENCES // (4 * reading.dimensions), list[Block](), 0
    for block in asked:
        need = sum(counts[word] for word in {cell.word for cell in block.cells})
        if need > room and not reading.single:
            what = ", ".join(f'"{names[word]}"' for word in block.words[:3])
            say(f"{what}: {need:,} occurrences, of which {room / need:.0%} are looked at", quiet=quiet)
        if batch and taken + need > room:
            yield batch
            batch, taken = [], 0
        batch.append(block)
        taken += need
    yield batch
