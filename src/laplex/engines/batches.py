"""Text on a device: subsampled, cut into batches, documents so far apart that no window reaches from one to the next.

A piece of a million tokens or so is arranged at once, the only time that the host is waited for; a step slices a batch
from it. Documents of one slice stand together, and every G tokens, which share their negatives, are of one slice.
Between documents, where the slice changes and at both ends there is padding, which has a row of its own.

B tokens of a batch, G tokens that share negatives, M window, L positions of a piece.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from laplex.engines.sampling import cut
from laplex.model.problem import Problem

CHUNK_TOKENS = 20_000  # of neighboring documents that stay together


@dataclass(frozen=True, eq=False)
class TokenBatch:
    """B tokens and the M positions before and behind them."""

    word: torch.Tensor  # (B) rows
    context: torch.Tensor  # (B + 2M) rows
    degree: torch.Tensor  # (B + 2M) number of tokens in the window; 0 for padding
    negative: torch.Tensor  # (B/G) first word row of the negatives
    vocabulary_start: torch.Tensor  # (B/G) where the noise distribution of the language begins
    vocabulary: torch.Tensor  # (B/G) and the number of its words


class Pieces:
    """The text of a problem, to be read piece by piece in an order of its own for every epoch."""

    def __init__(self, problem: Problem, device: torch.device, batch: int, piece: int, group: int) -> None:
        self._problem = problem
        self._device = device
        self._group = group
        self._batch = max(group, batch // group * group)
        self._chunks = cut(problem.offsets, min(CHUNK_TOKENS, piece))
        self.count = min(max(1, round(int(problem.offsets[-1]) / piece)), len(self._chunks))
        self._keep = torch.from_numpy(problem.keep).to(device)

    def _choose(self, shuffle: np.random.Generator, number: int) -> NDArray[np.int64]:
        """The documents of a piece, by slice."""
        problem = self._problem
        chunks = self._chunks[np.array_split(shuffle.permutation(len(self._chunks)), self.count)[number]]
        documents = np.concatenate([np.arange(first, last) for first, last in chunks.tolist()] or [np.empty(0, int)])
        documents = documents[~problem.held_out[documents]]
        by_slice: NDArray[np.int64] = documents[np.argsort(problem.word_start[documents], kind="stable")]
        return by_slice

    def read(self, seed: int, epoch: int, number: int, random: torch.Generator) -> tuple[int, list[TokenBatch]]:
        """The number of tokens and the batches of a piece of an epoch's order, on the device, subsampled anew."""
        problem, device, window = self._problem, self._device, self._problem.window
        group, size = self._group, self._batch
        shuffle = np.random.default_rng([seed, 3, epoch])
        documents = self._choose(shuffle, number)
        languages = problem.language[documents]
        starts = [problem.word_start[documents], problem.context_start[documents]]
        starts += [problem.vocabulary_start[languages], problem.vocabulary_start[languages + 1]]
        word_start, context_start, vocabulary_start, vocabulary_end = torch.from_numpy(np.stack(starts)).to(device)
        lengths = np.diff(problem.offsets)[documents]
        begin = problem.offsets[documents] - (np.cumsum(lengths) - lengths)
        ids = problem.ids[np.repeat(begin, lengths) + np.arange(lengths.sum())]
        word = torch.from_numpy(ids.astype(np.int64)).to(device)
        document = torch.repeat_interleave(torch.from_numpy(lengths).to(device))
        kept = self._keep[vocabulary_start[document] + word]
        chosen = torch.rand(len(word), generator=random, device=device) < kept
        word, document = word[chosen], document[chosen]
        in_document = torch.bincount(document, minlength=len(documents))
        before = torch.arange(len(word), device=device) - _before(in_document)[document]  # tokens of the same document
        place = before + _places(in_document, word_start, group, window)[document]
        positions = -(-int(place.max() + 1 if len(word) else 0) // size) * size
        degree = before.clamp(max=window) + (in_document[document] - 1 - before).clamp(max=window)
        padding = torch.full((positions + 2 * window,), len(problem.slot), device=device)
        first_of_group = torch.arange(0, positions, group, device=device)
        # the document of the first token of each group; padding at the end takes the last
        of_group = document[torch.searchsorted(place, first_of_group).clamp_(max=len(word) - 1)]
        words = padding.scatter(0, place + window, word_start[document] + word)
        contexts = padding.scatter(0, place + window, context_start[document] + word)
        degrees = torch.zeros_like(padding).scatter_(0, place + window, degree).float()
        vocabulary = vocabulary_end - vocabulary_start
        of_groups = [array[of_group] for array in (word_start, vocabulary_start, vocabulary)]
        batches = []
        for first in (shuffle.permutation(positions // size) * size).tolist():
            end = first + size
            around = slice(first, end + 2 * window)
            groups = (array[first // group : end // group] for array in of_groups)
            own = words[first + window : end + window]
            batches.append(TokenBatch(own, contexts[around], degrees[around], *groups))
        return len(word), batches


def _before(sizes: torch.Tensor) -> torch.Tensor:
    """The sum of all sizes before each."""
    return sizes.cumsum(0) - sizes


def _places(tokens: torch.Tensor, word_start: torch.Tensor, group: int, window: int) -> torch.Tensor:
    """Where each document begins: padding is behind each, and slices begin with a group."""
    room = tokens + window * (tokens > 0)
    slice_of = torch.unique_consecutive(word_start, return_inverse=True)[1]
    in_slice = torch.zeros_like(room).index_add_(0, slice_of, room)
    padded = -(-in_slice // group) * group
    return _before(room) + (_before(padded) - _before(in_slice))[slice_of]
