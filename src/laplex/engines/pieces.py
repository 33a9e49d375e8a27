"""Text on a device: subsampled, cut into batches, with the window of every token.

A Problem comes in; Pieces of it go out, each a Text of a million tokens or so, from which a step takes a Batch by
slicing alone. Documents of one slice stand together, and every G tokens, which share their negatives, are of one
slice: where it changes there is padding, as there is at both ends. Only here is the host waited for, once a piece.

B tokens of a batch, G tokens that share negatives, M window, L positions of a piece.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from laplex.problem import Problem

CHUNK = 20_000  # tokens of neighboring documents that stay together


@dataclass(frozen=True, eq=False)
class Batch:
    """B tokens and the M positions before and behind them."""

    word: torch.Tensor  # (B) rows
    context: torch.Tensor  # (B + 2M) rows
    low: torch.Tensor  # (B + 2M) where the window of a position begins, from the first of these
    high: torch.Tensor  # (B + 2M) and ends; the same for padding
    degree: torch.Tensor  # (B + 2M) how many tokens are in the window
    real: torch.Tensor  # (B) 1 if there are any, else 0
    negative: torch.Tensor  # (B/G) first word row of the negatives
    vocabulary_start: torch.Tensor  # (B/G) where the noise distribution of the language begins
    vocabulary: torch.Tensor  # (B/G) and how many words it has

    def near(self, group: int, window: int) -> torch.Tensor:
        """(B/G, G, G + 2M) 1 where a position is in the window of a token of its group, else 0."""
        first = torch.arange(len(self.negative), device=self.low.device)[:, None, None] * group
        other = first + torch.arange(group + 2 * window, device=self.low.device)
        own = slice(window, window + len(self.word))
        low, high = (ends[own].view(-1, group, 1) for ends in (self.low, self.high))
        here = first + window + torch.arange(group, device=self.low.device)[:, None]
        return ((other >= low) & (other < high) & (other != here)).to(self.real.dtype)


@dataclass(frozen=True, eq=False)
class Text:
    """A piece. Arrays are M longer than L at both ends."""

    word: torch.Tensor
    context: torch.Tensor
    low: torch.Tensor
    high: torch.Tensor
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

    def batch(self, step: int) -> Batch:
        begin = int(self.order[step]) * self.size
        wide = slice(begin, begin + self.size + 2 * self.window)
        own = slice(begin + self.window, begin + self.window + self.size)
        groups = slice(begin // self.group, (begin + self.size) // self.group)
        low, high = self.low[wide] - begin, self.high[wide] - begin
        degree = (high - low - 1).clamp_(min=0).float()
        most = self.size + 2 * self.window
        return Batch(
            self.word[own],
            self.context[wide],
            low.clamp_(0, most),
            high.clamp_(0, most),
            degree,
            (degree[self.window : self.window + self.size] > 0).float(),
            self.negative[groups],
            self.vocabulary_start[groups],
            self.vocabulary[groups],
        )


class Pieces:
    """The text of a problem, to be read piece by piece in an order of its own for every epoch."""

    def __init__(self, problem: Problem, device: torch.device, batch: int, piece: int) -> None:
        self._problem = problem
        self._device = device
        self._batch = batch
        begins = np.arange(0, problem.offsets[-1], min(CHUNK, piece))
        edges = np.unique(np.searchsorted(problem.offsets, begins))
        self._chunks = np.stack([edges, np.append(edges[1:], len(problem.offsets) - 1)], axis=1)
        self.count = min(max(1, round(int(problem.offsets[-1]) / piece)), len(self._chunks))
        self._keep = torch.from_numpy(problem.keep).to(device)

    def read(self, seed: int, epoch: int, number: int, group: int, random: torch.Generator) -> Text:
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
        return self._arranged(documents, lengths, ids, group, random, shuffle)

    def _arranged(
        self,
        documents: NDArray[np.int64],
        lengths: NDArray[np.int64],
        ids: NDArray[np.int32],
        group: int,
        random: torch.Generator,
        shuffle: np.random.Generator,
    ) -> Text:
        problem, device, window = self._problem, self._device, self._problem.window
        size = max(group, self._batch // group * group)
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
        slice_of = torch.unique_consecutive(word_start[document], return_inverse=True)[1]
        in_slice = torch.bincount(slice_of)
        room = -(-in_slice // group) * group
        shift = room.cumsum(0) - room - (in_slice.cumsum(0) - in_slice)
        place = torch.arange(len(word), device=device) + shift[slice_of]
        positions = -(-int(room.sum()) // size) * size
        in_document = torch.bincount(document, minlength=len(documents))
        ends = in_document.cumsum(0)[document]
        own_shift = shift[slice_of]
        low = torch.maximum(place - window, ends - in_document[document] + own_shift)
        high = torch.minimum(place + window + 1, ends + own_shift)
        nothing = len(problem.slot)  # the row of padding
        everywhere = torch.arange(positions + 2 * window, device=device)
        first_of_group = torch.arange(0, positions, group, device=device)
        # the document of the first token of each group; padding at the end takes the last
        own = document[torch.searchsorted(place, first_of_group).clamp_(max=len(word) - 1)]
        return Text(
            _laid(torch.full_like(everywhere, nothing), place + window, word_start[document] + word),
            _laid(torch.full_like(everywhere, nothing), place + window, context_start[document] + word),
            _laid(everywhere.clone(), place + window, low + window),
            _laid(everywhere.clone(), place + window, high + window),
            word_start[own],
            vocabulary_start[own],
            vocabulary[own],
            len(word),
            size,
            group,
            window,
            shuffle.permutation(positions // size),
        )


def _laid(ground: torch.Tensor, place: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    ground[place] = values
    return ground
