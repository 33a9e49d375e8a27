"""Text on a device: subsampled, cut into batches, documents so far apart that no window reaches from one to the next.

A piece of a million tokens or so is arranged at once, and a step takes a batch of it by slicing alone. Documents of one
slice stand together, and every G tokens, which share their negatives, are of one slice. Between documents, where the
slice changes and at both ends there is padding, which has a row of its own. Only here is the host waited for, once a
piece.

B tokens of a batch, G tokens that share negatives, M window, L positions of a piece.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

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


@dataclass(frozen=True, eq=False)
class Piece:
    """A part of the text, arranged. Arrays of length L have M more at both ends."""

    word: torch.Tensor
    context: torch.Tensor
    degree: torch.Tensor
    negative: torch.Tensor  # (L/G)
    vocabulary_start: torch.Tensor
    vocabulary: torch.Tensor
    tokens: int
    size: int  # B
    group: int  # G
    window: int  # M
    order: NDArray[np.int64]  # of the batches

    def __len__(self) -> int:
        return len(self.order)

    def batch(self, step: int) -> TokenBatch:
        """The batch of a step."""
        begin = int(self.order[step]) * self.size
        wide = slice(begin, begin + self.size + 2 * self.window)
        inner = slice(begin + self.window, begin + self.window + self.size)
        groups = slice(begin // self.group, (begin + self.size) // self.group)
        return TokenBatch(
            self.word[inner],
            self.context[wide],
            self.degree[wide],
            self.negative[groups],
            self.vocabulary_start[groups],
            self.vocabulary[groups],
        )


class Pieces:
    """The text of a problem, to be read piece by piece in an order of its own for every epoch."""

    def __init__(self, problem: Problem, device: torch.device, batch: int, piece: int, group: int) -> None:
        self._problem = problem
        self._device = device
        self._group = group
        self._batch = max(group, batch // group * group)
        begins = np.arange(0, problem.offsets[-1], min(CHUNK_TOKENS, piece))
        edges = np.unique(np.searchsorted(problem.offsets, begins))
        self._chunks = np.stack([edges, np.append(edges[1:], len(problem.offsets) - 1)], axis=1)
        self.count = min(max(1, round(int(problem.offsets[-1]) / piece)), len(self._chunks))
        self._keep = torch.from_numpy(problem.keep).to(device)

    def read(self, seed: int, epoch: int, number: int, random: torch.Generator) -> Piece:
        """A piece of an epoch's order, on the device, subsampled anew."""
        shuffle = np.random.default_rng([seed, 3, epoch])
        chunks = self._chunks[np.array_split(shuffle.permutation(len(self._chunks)), self.count)[number]]
        documents = np.concatenate([np.arange(first, last) for first, last in chunks.tolist()] or [np.empty(0, int)])
        problem = self._problem
        documents = documents[~problem.held_out[documents]]
        documents = documents[np.argsort(problem.word_start[documents], kind="stable")]
        lengths = np.diff(problem.offsets)[documents]
        begin = problem.offsets[documents] - (np.cumsum(lengths) - lengths)
        ids = problem.ids[np.repeat(begin, lengths) + np.arange(lengths.sum())]
        return self._arrange(documents, lengths, ids, random, shuffle)

    def _arrange(
        self,
        documents: NDArray[np.int64],
        lengths: NDArray[np.int64],
        ids: NDArray[np.int32],
        random: torch.Generator,
        shuffle: np.random.Generator,
    ) -> Piece:
        problem, device, window = self._problem, self._device, self._problem.window
        group, size = self._group, self._batch
        starts = problem.vocabulary_start
        languages = problem.language[documents]
        word_start, context_start, vocabulary_start, vocabulary = (
            torch.from_numpy(np.ascontiguousarray(array, np.int64)).to(device)
            for array in (
                problem.word_start[documents],
                problem.context_start[documents],
                starts[languages],
                starts[languages + 1] - starts[languages],
            )
        )
        word = torch.from_numpy(ids.astype(np.int64)).to(device)
        document = torch.repeat_interleave(torch.from_numpy(lengths).to(device))
        kept = self._keep[vocabulary_start[document] + word]
        chosen = torch.rand(len(word), generator=random, device=device) < kept
        word, document = word[chosen], document[chosen]
        in_document = torch.bincount(document, minlength=len(documents))
        number = torch.arange(len(word), device=device) - _before(in_document)[document]  # of the token in its document
        place = number + _places(in_document, word_start, group, window)[document]
        positions = -(-int(place.max() + 1 if len(word) else 0) // size) * size
        degree = number.clamp(max=window) + (in_document[document] - 1 - number).clamp(max=window)
        padding = torch.full((positions + 2 * window,), len(problem.slot), device=device)
        first_of_group = torch.arange(0, positions, group, device=device)
        # the document of the first token of each group; padding at the end takes the last
        of_group = document[torch.searchsorted(place, first_of_group).clamp_(max=len(word) - 1)]
        return Piece(
            padding.scatter(0, place + window, word_start[document] + word),
            padding.scatter(0, place + window, context_start[document] + word),
            torch.zeros_like(padding).scatter_(0, place + window, degree).float(),
            word_start[of_group],
            vocabulary_start[of_group],
            vocabulary[of_group],
            len(word),
            size,
            group,
            window,
            shuffle.permutation(positions // size),
        )


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
